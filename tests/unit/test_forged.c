/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the sectors of forged devices are, by hand, and what is kept of those that are nowhere.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "device/forged.h"
#include "flashemu/extents.h"
#include "ftl/ftl.h"

#include <errno.h>

enum { PAGE = 2048, SECTOR = 512, REAL = 64 * PAGE + 2 * SECTOR }; /* 132096, module 262144 */

struct place {
    uint64_t at, len, real, there;
};

static void expect_places(const struct fe_device_params *p, uint64_t capacity,
                          const struct place *places, uint32_t n)
{
    struct fe_forged f;
    assert_int_equal(fe_forged_init(&f, p, capacity, true, NULL), 0);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t len = places[i].len;
        assert_int_equal(fe_forged_place(&f, places[i].at, &len), places[i].real);
        assert_int_equal(len, places[i].there);
    }
    fe_forged_fini(&f);
}

#define EXPECT_PLACES(p, capacity, places) \
    expect_places(&(p), (capacity), (places), sizeof (places) / sizeof *(places))

/* A stick of 8 GB as it is sold: 8019509248 bytes; its address has 33 bits. */
#define STICK  UINT64_C(8019509248)
#define LINES  UINT64_C(8589934592)
#define ALL    UINT64_C(1000000000000)

static void test_forged_wraps_at_the_capacity(void **state)
{
    (void)state;
    const struct fe_device_params p = {.beyond = FE_BEYOND_WRAP, .sector_size = SECTOR};
    const struct place places[] = {
        {0, 512, 0, 512},
        {STICK - 512, 4096, STICK - 512, 512},
        {STICK, ALL, 0, STICK},
        {LINES, 512, 570425344, 512},
        {2 * STICK - 1024, 2048, STICK - 1024, 1024},
    };
    EXPECT_PLACES(p, STICK, places);
}

static void test_forged_loses_all_that_is_beyond(void **state)
{
    (void)state;
    const struct fe_device_params p = {.beyond = FE_BEYOND_DROP, .sector_size = SECTOR};
    const struct place places[] = {
        {512, ALL, 512, STICK - 512},
        {STICK - 512, 4096, STICK - 512, 512},
        {STICK, ALL, FE_NOWHERE, ALL},
        {LINES, 512, FE_NOWHERE, 512},
    };
    EXPECT_PLACES(p, STICK, places);
}

static void test_forged_comes_round_at_a_power_of_two(void **state)
{
    (void)state;
    struct fe_device_params p = {.beyond = FE_BEYOND_MODULE, .sector_size = SECTOR};
    const struct place places[] = {
        {STICK - 512, 4096, STICK - 512, 512},
        {STICK, ALL, FE_NOWHERE, 570425344},
        {LINES - 512, 4096, FE_NOWHERE, 512},
        {LINES, ALL, 0, STICK},
        {LINES + 4096, 512, 4096, 512},
        {LINES + STICK - 512, 1024, STICK - 512, 512},
        {LINES + STICK + 512, ALL, FE_NOWHERE, 570424832},
        {5 * LINES + 1536, 1024, 1536, 1024},
    };
    EXPECT_PLACES(p, STICK, places);
    p.beyond_module = LINES;
    EXPECT_PLACES(p, STICK, places);
}

/* One line more than the chip needs, exactly as many, and one less. */
static void test_forged_has_other_lines_than_the_chip_needs(void **state)
{
    (void)state;
    struct fe_device_params p = {.beyond = FE_BEYOND_MODULE, .sector_size = SECTOR};
    const struct place exact[] = {
        {8191, 2, 8191, 1}, {8192, ALL, 0, 8192}, {8193, 512, 1, 512}, {24575, 9, 8191, 1},
    };
    const struct place more[] = {
        {8191, 2, 8191, 1}, {8192, ALL, FE_NOWHERE, 8192}, {16383, 9, FE_NOWHERE, 1},
        {16384, 512, 0, 512}, {24575, 9, 8191, 1}, {24576, 9, FE_NOWHERE, 9},
    };
    const struct place less[] = {
        {4095, 2, 4095, 1}, {4096, ALL, 0, 4096}, {8191, 2, 4095, 1}, {12289, 9000, 1, 4095},
    };
    EXPECT_PLACES(p, 8192, exact);
    p.beyond_module = 16384;
    EXPECT_PLACES(p, 8192, more);
    p.beyond_module = 4096;
    EXPECT_PLACES(p, 8192, less);
}

/* ---- what is kept of lost sectors ---- */

static struct fe_profile forged(enum fe_beyond beyond, uint64_t claimed, uint64_t cache)
{
    struct fe_profile p = ft_device_profile("page");
    p.device.capacity = REAL;
    p.device.discard = true;
    p.device.claimed_capacity = claimed;
    p.device.beyond = beyond;
    p.device.beyond_cache = cache;
    return p;
}

static void submit(struct fe_device *dev, enum fe_req_type type, uint64_t offset, uint64_t len,
                   void *buf)
{
    ft_device_submit(dev, type, fe_device_now(dev), offset, len, buf, false);
}

/* Writes sector i, all bytes of which become `byte`. */
static void put(struct fe_device *dev, uint64_t i, int byte)
{
    uint8_t buf[SECTOR];
    memset(buf, byte, sizeof buf);
    submit(dev, FE_REQ_WRITE, i * SECTOR, SECTOR, buf);
}

/* One read from sector `first` on gives sectors of these bytes. */
static void expect(struct fe_device *dev, uint64_t first, const uint8_t *bytes, uint32_t n)
{
    uint8_t buf[16 * SECTOR];
    assert_true(n <= 16);
    memset(buf, 0x77, sizeof buf);
    submit(dev, FE_REQ_READ, first * SECTOR, (uint64_t)n * SECTOR, buf);
    for (uint32_t i = 0; i < n * SECTOR; i++)
        assert_int_equal(buf[i], bytes[i / SECTOR]);
}

#define EXPECT(dev, first, ...) \
    expect((dev), (first), (const uint8_t[]){__VA_ARGS__}, \
           sizeof (const uint8_t[]){__VA_ARGS__})

/* The device has sectors 0 to 257.  Four are kept: those written last, wherever they are. */
static void test_forged_keeps_what_was_written_last(void **state)
{
    (void)state;
    struct fe_profile p = forged(FE_BEYOND_DROP, 1 << 30, 4 * SECTOR);
    struct fe_device *dev = ft_device_make(&p, false);
    put(dev, 300, 1);
    put(dev, 2000000, 2);
    put(dev, 302, 3);
    put(dev, 0, 9); /* is there, and pushes nothing out */
    put(dev, 301, 4);
    EXPECT(dev, 299, 0, 1, 4, 3, 0);
    EXPECT(dev, 2000000, 2);
    put(dev, 258, 5); /* the first one that is lost, instead of the oldest one */
    EXPECT(dev, 257, 0, 5, 0);
    EXPECT(dev, 299, 0, 0, 4, 3, 0);
    EXPECT(dev, 2000000, 2);
    put(dev, 302, 6); /* again, instead of sector 2000000 */
    EXPECT(dev, 299, 0, 0, 4, 6, 0);
    EXPECT(dev, 2000000, 0);
    put(dev, 310, 7); /* the place of what 302 held first */
    EXPECT(dev, 299, 0, 0, 4, 6, 0);
    put(dev, 311, 8); /* the place of 301 */
    EXPECT(dev, 299, 0, 0, 0, 6, 0);
    EXPECT(dev, 258, 5);
    EXPECT(dev, 309, 0, 7, 8, 0);
    EXPECT(dev, 0, 9);
    fe_device_destroy(dev);
}

/* One write over the end: sectors 257 to 263, of which the last four of the lost ones stay. */
static void test_forged_keeps_the_end_of_a_long_write(void **state)
{
    (void)state;
    struct fe_profile p = forged(FE_BEYOND_DROP, 1 << 30, 4 * SECTOR);
    struct fe_device *dev = ft_device_make(&p, false);
    uint8_t buf[7 * SECTOR];
    for (int i = 0; i < 7; i++)
        memset(buf + i * SECTOR, 20 + i, SECTOR);
    submit(dev, FE_REQ_WRITE, 257 * SECTOR, sizeof buf, buf);
    EXPECT(dev, 256, 0, 20, 0, 0, 23, 24, 25, 26, 0);
    fe_device_destroy(dev);
}

static void test_forged_forgets_at_a_trim_and_at_a_power_cut(void **state)
{
    (void)state;
    struct fe_profile p = forged(FE_BEYOND_DROP, 1 << 30, 4 * SECTOR);
    struct fe_device *dev = ft_device_make(&p, true);
    struct fe_err err;
    uint64_t ready;
    for (int i = 0; i < 4; i++)
        put(dev, 400 + i, 11 + i);
    submit(dev, FE_REQ_TRIM, 401 * SECTOR, 2 * SECTOR, NULL);
    EXPECT(dev, 399, 0, 11, 0, 0, 14, 0);
    put(dev, 257, 15);
    assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev) + 1000000000, &err), 0);
    assert_int_equal(fe_device_power_on(dev, fe_device_now(dev), &ready, &err), 0);
    fe_device_idle(dev, ready);
    EXPECT(dev, 399, 0, 0, 0, 0, 0, 0);
    EXPECT(dev, 257, 15, 0);
    put(dev, 403, 16);
    EXPECT(dev, 402, 0, 16, 0);
    fe_device_destroy(dev);
}

/* The module is sector 512: sectors 258 to 511 are lost, then 0 to 257 come again. */
static void test_forged_module_with_all_requests(void **state)
{
    (void)state;
    struct fe_profile p = forged(FE_BEYOND_MODULE, 4 << 20, SECTOR);
    struct fe_device *dev = ft_device_make(&p, false);
    uint8_t buf[6 * SECTOR];
    for (int i = 0; i < 6; i++)
        memset(buf + i * SECTOR, 31 + i, SECTOR);
    submit(dev, FE_REQ_WRITE, 509 * SECTOR, sizeof buf, buf);
    EXPECT(dev, 0, 34, 35, 36, 0);
    EXPECT(dev, 508, 0, 0, 0, 33, 34, 35, 36, 0); /* 511 was kept */
    EXPECT(dev, 1023, 0, 34, 35, 36);             /* 1023 is another lost one */
    put(dev, 512 + 257, 40);
    EXPECT(dev, 256, 0, 40, 0);
    put(dev, 1, 41);
    EXPECT(dev, 5 * 512, 34, 41, 36);
    submit(dev, FE_REQ_TRIM, 1500 * SECTOR, 38 * SECTOR, NULL); /* lost ones, then 0 and 1 */
    EXPECT(dev, 0, 0, 0, 36, 0);
    submit(dev, FE_REQ_TRIM, 1500 * SECTOR, 40 * SECTOR, NULL); /* up to 3: a page */
    EXPECT(dev, 0, 0, 0, 0, 0);
    EXPECT(dev, 511, 33);
    fe_device_destroy(dev);
}

static void test_forged_keeps_only_what_is_lost(void **state)
{
    (void)state;
    struct fe_profile p = forged(FE_BEYOND_WRAP, 4 << 20, SECTOR);
    ft_device_refused(&p, EINVAL, "device.beyond:cache=512: no sector is lost");
    p = forged(FE_BEYOND_DROP, 0, SECTOR);
    ft_device_refused(&p, EINVAL, "device.beyond:cache=512: no sector is lost");
    p = forged(FE_BEYOND_MODULE, 4 << 20, SECTOR);
    p.device.beyond_module = 65536;
    ft_device_refused(&p, EINVAL, "device.beyond:cache=512: no sector is lost");
}

/* Address lines for 64 KiB of 129 KiB, and nothing claimed: what was never written at 64 KiB is what
 * was written at 0. */
static void test_forged_has_no_holes(void **state)
{
    (void)state;
    struct fe_profile p = forged(FE_BEYOND_MODULE, 0, 0);
    p.device.beyond_module = 65536;
    struct fe_device *dev = ft_device_make(&p, false);
    struct fe_extent extent;
    put(dev, 0, 51);
    EXPECT(dev, 128, 51, 0);
    assert_int_equal(fe_device_extent(dev, 0, 65536, 65536, &extent), FE_OK);
    assert_int_equal(extent.kind, FE_EXTENT_DATA);
    assert_int_equal(extent.len, 65536);
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forged_wraps_at_the_capacity),
        cmocka_unit_test(test_forged_loses_all_that_is_beyond),
        cmocka_unit_test(test_forged_comes_round_at_a_power_of_two),
        cmocka_unit_test(test_forged_has_other_lines_than_the_chip_needs),
        cmocka_unit_test(test_forged_keeps_what_was_written_last),
        cmocka_unit_test(test_forged_keeps_the_end_of_a_long_write),
        cmocka_unit_test(test_forged_forgets_at_a_trim_and_at_a_power_cut),
        cmocka_unit_test(test_forged_module_with_all_requests),
        cmocka_unit_test(test_forged_keeps_only_what_is_lost),
        cmocka_unit_test(test_forged_has_no_holes),
    };
    return cmocka_run_group_tests_name("forged", tests, NULL, NULL);
}
