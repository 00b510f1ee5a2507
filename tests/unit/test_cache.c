/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The write cache above a translation layer that is an array of bytes: contents always,
 * and which writes reach the layer, in which order and in which pieces.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "host/cache.h"

#include <errno.h>
#include <stdio.h>

enum { SECTOR = 512, SECTORS = 8, PAGE = SECTOR * SECTORS, LPNS = 64, BYTES = LPNS * PAGE };

/* What the cache writes below: bytes, and a line for each call. */
struct below {
    struct fe_ftl ftl;
    struct fe_medium medium;
    uint8_t bytes[BYTES];
    char log[4096];
    size_t n_log;
    uint32_t n_reads;
    bool above[BYTES / SECTOR]; /* the cache has some of this page, as random_step sees it */
    enum fe_status answer;
};

static enum fe_status below_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off,
                                 uint32_t len, void *buf)
{
    struct below *b = (struct below *)ftl;
    b->n_reads++;
    if (buf)
        memcpy(buf, b->bytes + lpn * b->medium.geo.page_bytes + off, len);
    return FE_OK;
}

static enum fe_status below_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                  const void *data)
{
    struct below *b = (struct below *)ftl;
    uint8_t *at = b->bytes + lpn * b->medium.geo.page_bytes + off;
    assert_true(len > 0 && off % SECTOR == 0 && len % SECTOR == 0);
    assert_true(off + len <= b->medium.geo.page_bytes);
    if (data)
        memcpy(at, data, len);
    else
        memset(at, 0, len);
    b->above[lpn] = false;
    if (b->n_log + 32 < sizeof b->log)
        b->n_log += (size_t)snprintf(b->log + b->n_log, 32, "%u:%u+%u ", lpn, off / SECTOR,
                                     len / SECTOR);
    return b->answer;
}

static const struct fe_ftl_ops below_ops = {
    .name = "bytes", .read = below_read, .write = below_write};

struct bench {
    struct below below;
    struct fe_cache *cache;
};

static struct bench *make_pages(uint32_t n_pages, uint32_t page_sectors, bool payload)
{
    struct bench *b = calloc(1, sizeof *b);
    struct fe_cache_params p = {.size = (uint64_t)n_pages * page_sectors * SECTOR};
    struct fe_err err;
    assert_non_null(b);
    fe_err_init(&err);
    b->below.medium.geo.page_bytes = page_sectors * SECTOR;
    b->below.ftl = (struct fe_ftl){.ops = &below_ops, .medium = &b->below.medium, .n_lpns = LPNS};
    if (fe_cache_create(&b->cache, &p, &b->below.ftl, SECTOR, payload, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static struct bench *make(uint32_t n_pages, bool payload)
{
    return make_pages(n_pages, SECTORS, payload);
}

static void end(struct bench *b)
{
    fe_cache_destroy(b->cache);
    free(b);
}

static void write_sectors(struct bench *b, fe_lpn lpn, uint32_t first, uint32_t n, int byte)
{
    uint8_t data[PAGE];
    memset(data, byte, sizeof data);
    assert_int_equal(fe_cache_write(b->cache, lpn, first * SECTOR, n * SECTOR, data), FE_OK);
}

static void expect_log(struct bench *b, const char *want)
{
    b->below.log[b->below.n_log] = '\0';
    assert_string_equal(b->below.log, want);
    b->below.n_log = 0;
    b->below.log[0] = '\0';
}

static void write_all_out(struct bench *b)
{
    enum fe_status st;
    while (fe_cache_write_out(b->cache, &st))
        assert_int_equal(st, FE_OK);
}

static void test_cache_below_a_page_is_none(void **state)
{
    (void)state;
    struct below below = {.medium.geo.page_bytes = PAGE};
    struct fe_cache_params p = {.size = PAGE - 1};
    struct fe_cache *c = (struct fe_cache *)&below;
    below.ftl.medium = &below.medium;
    assert_int_equal(fe_cache_create(&c, &p, &below.ftl, SECTOR, true, NULL), 0);
    assert_null(c);
    fe_cache_destroy(NULL);
}

static void test_cache_refuses_pages_of_more_than_64_sectors(void **state)
{
    (void)state;
    struct below below = {.medium.geo.page_bytes = 65 * SECTOR};
    struct fe_cache_params p = {.size = 1 << 20};
    struct fe_cache *c;
    struct fe_err err;
    fe_err_init(&err);
    below.ftl.medium = &below.medium;
    assert_int_equal(fe_cache_create(&c, &p, &below.ftl, SECTOR, true, &err), -EINVAL);
    assert_non_null(strstr(err.text, "33280 bytes has 65"));
    below.medium.geo.page_bytes = 64 * SECTOR;
    fe_err_init(&err);
    assert_int_equal(fe_cache_create(&c, &p, &below.ftl, SECTOR, true, &err), 0);
    fe_cache_destroy(c);
}

static void test_cache_gathers_sectors_and_writes_runs(void **state)
{
    (void)state;
    struct bench *b = make(4, true);
    write_sectors(b, 3, 0, 2, 1);
    write_sectors(b, 3, 5, 1, 2);
    write_sectors(b, 3, 6, 2, 3);
    write_sectors(b, 3, 1, 1, 4);
    expect_log(b, "");
    write_all_out(b);
    expect_log(b, "3:0+2 3:5+3 ");
    const uint8_t want[SECTORS] = {1, 4, 0, 0, 0, 2, 3, 3};
    for (int i = 0; i < SECTORS; i++)
        assert_int_equal(b->below.bytes[3 * PAGE + i * SECTOR + 100], want[i]);
    enum fe_status st;
    assert_false(fe_cache_write_out(b->cache, &st));
    end(b);
}

static void test_cache_full_writes_the_oldest_page_out(void **state)
{
    (void)state;
    struct bench *b = make(3, true);
    write_sectors(b, 10, 0, 1, 1);
    write_sectors(b, 11, 0, 1, 1);
    write_sectors(b, 12, 0, 1, 1);
    write_sectors(b, 10, 1, 1, 1); /* a page does not get younger by that */
    expect_log(b, "");
    write_sectors(b, 13, 0, 8, 1);
    expect_log(b, "10:0+2 ");
    write_sectors(b, 14, 0, 8, 1);
    expect_log(b, "11:0+1 ");
    write_all_out(b);
    expect_log(b, "12:0+1 13:0+8 14:0+8 ");
    end(b);
}

static void test_cache_writes_one_page_out_for_fua(void **state)
{
    (void)state;
    struct bench *b = make(3, true);
    for (fe_lpn lpn = 1; lpn <= 3; lpn++)
        write_sectors(b, lpn, 0, 1, 1);
    assert_int_equal(fe_cache_write_out_page(b->cache, 2), FE_OK);
    expect_log(b, "2:0+1 ");
    assert_int_equal(fe_cache_write_out_page(b->cache, 2), FE_OK);
    assert_int_equal(fe_cache_write_out_page(b->cache, 40), FE_OK);
    expect_log(b, "");
    write_sectors(b, 2, 3, 1, 1); /* a new entry, younger than 3 */
    write_all_out(b);
    expect_log(b, "1:0+1 3:0+1 2:3+1 ");
    end(b);
}

static void test_cache_place_of_a_page_written_out_is_free(void **state)
{
    (void)state;
    struct bench *b = make(3, true);
    for (fe_lpn lpn = 1; lpn <= 3; lpn++)
        write_sectors(b, lpn, 0, 1, 1);
    fe_cache_write_out_page(b->cache, 1);
    expect_log(b, "1:0+1 ");
    write_sectors(b, 4, 0, 1, 1);
    expect_log(b, "");
    write_sectors(b, 5, 0, 1, 1);
    expect_log(b, "2:0+1 ");
    end(b);
}

static void test_cache_trim_drops_pages(void **state)
{
    (void)state;
    struct bench *b = make(4, true);
    for (fe_lpn lpn = 1; lpn <= 4; lpn++)
        write_sectors(b, lpn, 0, 8, 1);
    fe_cache_trim(b->cache, 2, 2);
    write_all_out(b);
    expect_log(b, "1:0+8 4:0+8 ");
    end(b);
}

static void test_cache_read_asks_below_only_for_what_it_lacks(void **state)
{
    (void)state;
    struct bench *b = make(4, true);
    uint8_t buf[PAGE];
    memset(b->below.bytes, 9, sizeof b->below.bytes);
    write_sectors(b, 5, 2, 2, 7);
    fe_cache_read(b->cache, 5, 2 * SECTOR, 2 * SECTOR, buf);
    assert_int_equal(b->below.n_reads, 0);
    assert_int_equal(buf[0], 7);
    fe_cache_read(b->cache, 5, 0, PAGE, buf);
    assert_int_equal(b->below.n_reads, 1);
    for (int i = 0; i < SECTORS; i++)
        assert_int_equal(buf[i * SECTOR], i == 2 || i == 3 ? 7 : 9);
    fe_cache_read(b->cache, 6, 0, SECTOR, buf);
    assert_int_equal(b->below.n_reads, 2);
    fe_cache_read(b->cache, 6, 0, SECTOR, NULL); /* for the time only */
    assert_int_equal(b->below.n_reads, 3);
    end(b);
}

static void test_cache_error_of_the_layer_is_passed_on(void **state)
{
    (void)state;
    struct bench *b = make(1, true);
    enum fe_status st;
    uint8_t data[PAGE] = {0};
    write_sectors(b, 1, 0, 1, 1);
    b->below.answer = FE_READ_ONLY;
    assert_int_equal(fe_cache_write(b->cache, 2, 0, SECTOR, data), FE_READ_ONLY);
    assert_false(fe_cache_write_out(b->cache, &st));
    assert_int_equal(st, FE_READ_ONLY);
    assert_int_equal(fe_cache_write_out_page(b->cache, 1), FE_READ_ONLY);
    /* what could not be written is still there */
    assert_int_equal(fe_cache_read(b->cache, 1, 0, SECTOR, data), FE_OK);
    assert_int_equal(data[0], 1);
    b->below.answer = FE_OK;
    assert_true(fe_cache_write_out(b->cache, &st));
    assert_int_equal(st, FE_OK);
    end(b);
}

static void test_cache_without_payload_reads_zeros(void **state)
{
    (void)state;
    struct bench *b = make(4, false);
    uint8_t buf[SECTOR];
    write_sectors(b, 1, 0, 1, 7);
    memset(buf, 1, sizeof buf);
    fe_cache_read(b->cache, 1, 0, SECTOR, buf);
    assert_int_equal(buf[0], 0);
    write_all_out(b);
    expect_log(b, "1:0+1 ");
    end(b);
}

static uint32_t pages_above(const struct bench *b)
{
    uint32_t n = 0;
    for (fe_lpn lpn = 0; lpn < ft_array_len(b->below.above); lpn++)
        n += b->below.above[lpn];
    return n;
}

static void random_step(struct bench *b, struct ft_rand *r, uint8_t *want)
{
    static uint8_t data[64 * SECTOR];
    uint32_t page = b->below.medium.geo.page_bytes, sectors = page / SECTOR, lpns = BYTES / page;
    fe_lpn lpn = (fe_lpn)ft_below(r, lpns);
    uint32_t first = ft_chance(r, 30) ? 0 : (uint32_t)ft_below(r, sectors);
    uint32_t n = ft_chance(r, 30) ? sectors - first : (uint32_t)ft_between(r, 1, sectors - first);
    uint8_t *at = want + lpn * page + first * SECTOR;
    enum fe_status st;
    switch (ft_below(r, 12)) {
    case 0:
        fe_cache_write_out(b->cache, &st);
        break;
    case 1:
        fe_cache_write_out_page(b->cache, lpn);
        break;
    case 2: /* as the device does: below, too */
        n = (uint32_t)ft_below(r, lpns - lpn);
        fe_cache_trim(b->cache, lpn, n);
        memset(b->below.above + lpn, 0, n * sizeof b->below.above[0]);
        memset(b->below.bytes + lpn * page, 0, n * page);
        memset(want + lpn * page, 0, n * page);
        break;
    case 3:
        fe_cache_write(b->cache, lpn, first * SECTOR, n * SECTOR, NULL);
        memset(at, 0, n * SECTOR);
        b->below.above[lpn] = true;
        break;
    case 4: case 5: case 6: case 7:
        ft_fill(r, data, n * SECTOR);
        fe_cache_write(b->cache, lpn, first * SECTOR, n * SECTOR, data);
        memcpy(at, data, n * SECTOR);
        b->below.above[lpn] = true;
        break;
    default:
        fe_cache_read(b->cache, lpn, first * SECTOR, n * SECTOR, data);
        assert_memory_equal(data, at, n * SECTOR);
    }
}

static void test_cache_random_operations_equal_plain_bytes(void **state)
{
    (void)state;
    static uint8_t want[BYTES];
    static const uint32_t page_sectors[] = {1, 7, 8, 63, 64};
    for (size_t k = 0; k < ft_array_len(page_sectors); k++)
        for (uint32_t n_pages = 1; n_pages <= LPNS + 1; n_pages = n_pages * 2 + 1) {
            struct bench *b = make_pages(n_pages, page_sectors[k], true);
            struct ft_rand r = {.seed = n_pages};
            memset(want, 0, sizeof want);
            for (int i = 0; i < 3000; i++) {
                random_step(b, &r, want);
                assert_true(pages_above(b) <= n_pages);
            }
            write_all_out(b);
            assert_memory_equal(b->below.bytes, want, sizeof want);
            end(b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_below_a_page_is_none),
        cmocka_unit_test(test_cache_refuses_pages_of_more_than_64_sectors),
        cmocka_unit_test(test_cache_gathers_sectors_and_writes_runs),
        cmocka_unit_test(test_cache_full_writes_the_oldest_page_out),
        cmocka_unit_test(test_cache_writes_one_page_out_for_fua),
        cmocka_unit_test(test_cache_place_of_a_page_written_out_is_free),
        cmocka_unit_test(test_cache_trim_drops_pages),
        cmocka_unit_test(test_cache_read_asks_below_only_for_what_it_lacks),
        cmocka_unit_test(test_cache_error_of_the_layer_is_passed_on),
        cmocka_unit_test(test_cache_without_payload_reads_zeros),
        cmocka_unit_test(test_cache_random_operations_equal_plain_bytes),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
