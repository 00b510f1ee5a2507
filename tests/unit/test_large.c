/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sizes and places that do not fit into 32 bits: bytes on both sides of 4 GiB, of 2^32 sectors
 * (2 TiB) and at the very end, in a store and in a device, in memory and in a sparse image.
 * Whatever is computed with too few bits puts two of these places at the same one.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "ftl/ftl.h"
#include "nand/geometry.h"
#include "store/image.h"
#include "store/image_extra.h"
#include "store/image_page.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SECTOR = 512 };

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

static char path[64];

static const uint8_t *bytes(uint64_t at)
{
    static uint64_t words[SECTOR / 8];
    for (uint32_t i = 0; i < SECTOR / 8; i++)
        words[i] = at + i * 8 + 1;
    return (const uint8_t *)words;
}

/* The last sector before each border and the first one behind it, and the ends; 0: no more. */
static uint32_t places(uint64_t size, uint64_t *ret)
{
    const uint64_t borders[] = {2 * GIB, 4 * GIB, 2 * TIB, size};
    uint32_t n = 0;
    ret[n++] = 0;
    for (uint32_t i = 0; i < sizeof borders / sizeof borders[0]; i++) {
        if (borders[i] > size)
            continue;
        ret[n++] = borders[i] - SECTOR;
        if (borders[i] < size)
            ret[n++] = borders[i];
    }
    return n;
}

/* ---- stores ---- */

static void check_store(struct fe_store *s, uint64_t n_pages, uint32_t page_bytes)
{
    uint64_t at[16];
    uint8_t buf[SECTOR];
    uint32_t n = places(n_pages * page_bytes, at);
    for (uint32_t i = 0; i < n; i++) {
        fe_ppn ppn = (fe_ppn)(at[i] / page_bytes);
        fe_store_write(s, ppn, FE_PPN_NONE, (uint32_t)(at[i] % page_bytes), SECTOR, bytes(at[i]));
        fe_store_set_oob(s, ppn, &(struct fe_store_oob){i + 1, ppn, 0, FE_STORE_PROGRAMMED, 0});
    }
    for (uint32_t i = 0; i < n; i++) {
        fe_ppn ppn = (fe_ppn)(at[i] / page_bytes);
        assert_int_equal(
            fe_store_read(s, ppn, (uint32_t)(at[i] % page_bytes), SECTOR, buf), 0);
        if (i + 1 == n || at[i + 1] / page_bytes != ppn)
            assert_memory_equal(buf, bytes(at[i]), SECTOR);
    }
}

/* Whether the host can have files and memory of this size; a test of large sizes needs that. */
static bool is_possible(int r, const struct fe_err *err)
{
    if (r == -EFBIG || r == -ENOMEM || r == -EOVERFLOW) {
        print_message("not run: %s\n", err->text);
        return false;
    }
    if (r < 0)
        fail_msg("%s", err->text);
    return true;
}

static void test_large_store_in_memory(void **state)
{
    static const struct {
        uint64_t n_pages;
        uint32_t page_bytes, ppb;
    } sizes[] = {
        {3 * TIB / MIB, MIB, 1},
        {5 * GIB / SECTOR, SECTOR, 64},
        {(UINT64_C(1) << 32) - 4096, 2 * SECTOR, 4096}, /* the most pages: page 2^32 is none */
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct fe_err err = {""};
        struct fe_store *s = NULL;
        int r = fe_store_create(&s, sizes[i].n_pages, sizes[i].page_bytes, sizes[i].ppb, true,
                                &err);
        if (!is_possible(r, &err))
            continue;
        check_store(s, sizes[i].n_pages, sizes[i].page_bytes);
        fe_store_destroy(s);
    }
}

/* Memory is given to pages in the order in which they are written, so only large pages lie far
 * apart.  No chip has such. */
static void test_large_frames(void **state)
{
    enum { PAGES = 5 };
    const uint32_t page = 1u << 31;
    struct fe_store *s = NULL;
    struct fe_err err = {""};
    uint8_t got[SECTOR];
    (void)state;
    int r = fe_store_create(&s, PAGES, page, 1, true, &err);
    if (!is_possible(r, &err))
        skip();
    for (fe_ppn p = 0; p < PAGES; p++)
        fe_store_write(s, p, FE_PPN_NONE, page - SECTOR, SECTOR, bytes(p * GIB));
    for (fe_ppn p = 0; p < PAGES; p++) {
        assert_int_equal(fe_store_read(s, p, page - SECTOR, SECTOR, got), 0);
        assert_memory_equal(got, bytes(p * GIB), SECTOR);
    }
    fe_store_destroy(s);
}

/* Pages of 1 MiB, the largest that there are, so that the tables stay small.  Each place is in a
 * page of its own, except for those around a border. */
static void test_large_store_in_an_image(void **state)
{
    static const char text[] = "[device]\n";
    const struct fe_store_file f = {.path = path};
    const struct fe_store_what what = {.n_pages = 3 * TIB / MIB, .page_bytes = MIB,
                                       .pages_per_block = 1, .profile = text,
                                       .profile_bytes = sizeof text - 1};
    struct fe_err err = {""};
    struct fe_store *s = NULL;
    struct fe_store_block b;
    struct fe_store_oob oob;
    uint64_t at[16];
    uint8_t buf[SECTOR];
    uint32_t n = places(what.n_pages * what.page_bytes, at);
    (void)state;
    if (!is_possible(fe_store_image_create(&s, &f, &what, &err), &err))
        return;
    assert_int_equal(fe_store_image_ready(s, &err), 0);
    check_store(s, what.n_pages, what.page_bytes);
    fe_store_destroy(s);
    assert_int_equal(fe_store_image_open(&s, &f, &err), 0);
    for (uint32_t i = 0; i < n; i++) {
        fe_ppn ppn = (fe_ppn)(at[i] / MIB);
        assert_int_equal(fe_store_load_block(s, ppn, &b, &oob, &err), 0);
        assert_int_equal(oob.state, FE_STORE_PROGRAMMED);
        assert_int_equal(oob.lpn, ppn);
        assert_int_equal(fe_store_read(s, ppn, (uint32_t)(at[i] % MIB), SECTOR, buf), 0);
        assert_memory_equal(buf, bytes(at[i]), SECTOR);
    }
    fe_store_destroy(s);
}

/* Every part of the largest images that the format has. */
static void test_large_layout(void **state)
{
    static const uint64_t n_pages[] = {1, 1 << 20, UINT32_MAX - 1};
    static const uint32_t page_bytes[] = {512, 4096, 1 << 20};
    static const uint32_t n_entries[] = {0, 1 << 24};
    (void)state;
    for (uint32_t i = 0; i < 18; i++) {
        struct fe_image_layout at;
        struct fe_image_header h = {
            .version = FE_IMAGE_VERSION, .n_pages = n_pages[i % 3], .pages_per_block = 1,
            .page_bytes = page_bytes[i / 3 % 3], .n_entries = n_entries[i / 9],
            .profile_bytes = 5000};
        unsigned __int128 next = 3 * 4096;
        assert_int_equal(fe_image_layout(&at, &h, NULL), 0);
        const struct {
            uint64_t begin;
            unsigned __int128 bytes;
        } parts[] = {
            {at.profile, 5000},
            {at.blocks, (unsigned __int128)h.n_pages * 64},
            {at.trims, (unsigned __int128)h.n_pages * 16},
            {at.entries, (unsigned __int128)h.n_entries * 128},
            {at.cache, (unsigned __int128)h.n_entries * 2 * h.page_bytes},
            {at.oob, (unsigned __int128)h.n_pages * 32},
            {at.pages, (unsigned __int128)h.n_pages * h.page_bytes},
        };
        for (uint32_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
            assert_true(parts[p].begin == next);
            next += (parts[p].bytes + 4095) / 4096 * 4096;
        }
        assert_true(at.end == at.pages + parts[6].bytes && at.end < INT64_MAX);
    }
}

/* ---- devices ---- */

/* Pages of 1 MiB in blocks of 8. */
static struct fe_profile profile(uint64_t capacity)
{
    struct fe_profile p = ft_device_profile("page");
    p.device.capacity = capacity;
    p.device.discard = true;
    p.nand.page_size = 64 * KIB;
    p.nand.planes_per_die = 16;
    p.nand.multiplane = true;
    p.nand.pages_per_block = 8;
    p.nand.blocks_per_plane = (uint32_t)(capacity / (8 * MIB)) + 40;
    return p;
}

static struct fe_device *make_device(const struct fe_profile *p, bool image)
{
    const struct fe_store_file file = {.path = path};
    struct fe_device_options opt = {.seed = 1, .payload = true, .file = image ? &file : NULL};
    struct fe_device *dev = NULL;
    struct fe_err err = {""};
    return is_possible(fe_device_create(&dev, p, &opt, &err), &err) ? dev : NULL;
}

static void submit(struct fe_device *dev, enum fe_req_type type, uint64_t at, uint64_t len,
                   void *buf)
{
    struct fe_request req = {.type = type, .offset = at, .len = len, .buf = buf};
    struct fe_reply reply;
    assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &req, &reply), 0);
    assert_int_equal(reply.status, FE_OK);
}

static void check_bytes(struct fe_device *dev, const uint64_t *at, uint32_t n)
{
    uint8_t buf[SECTOR];
    for (uint32_t i = 0; i < n; i++) {
        submit(dev, FE_REQ_READ, at[i], SECTOR, buf);
        assert_memory_equal(buf, bytes(at[i]), SECTOR);
    }
}

static void write_places(struct fe_device *dev, const uint64_t *at, uint32_t n)
{
    uint8_t buf[SECTOR];
    for (uint32_t i = 0; i < n; i++) {
        memcpy(buf, bytes(at[i]), SECTOR);
        submit(dev, FE_REQ_WRITE, at[i], SECTOR, buf);
    }
}

static void test_large_device_in_memory(void **state)
{
    static const uint8_t zeros[SECTOR];
    uint64_t at[16], size = 2 * TIB + GIB;
    struct fe_profile p = profile(size);
    uint32_t n = places(size, at);
    uint8_t buf[SECTOR];
    (void)state;
    p.device.used = size; /* so the new copies lie behind 2 TiB of the chip */
    struct fe_device *dev = make_device(&p, false);
    if (!dev)
        return;
    assert_true(fe_device_capacity(dev) == size);
    write_places(dev, at, n);
    check_bytes(dev, at, n);
    submit(dev, FE_REQ_TRIM, 4 * MIB, size - 4 * MIB - MIB, NULL); /* all but the two ends */
    for (uint32_t i = 1; i < n - 1; i++) {
        submit(dev, FE_REQ_READ, at[i], SECTOR, buf);
        assert_memory_equal(buf, zeros, SECTOR);
    }
    check_bytes(dev, at, 1);
    check_bytes(dev, at + n - 1, 1);
    struct fe_request beyond = {.type = FE_REQ_READ, .offset = size, .len = SECTOR, .buf = buf};
    assert_int_equal(fe_device_submit(dev, 0, &beyond, &(struct fe_reply){0}), -EINVAL);
    fe_device_destroy(dev);
}

static void test_large_device_in_an_image(void **state)
{
    uint64_t at[16], size = 2 * TIB + GIB;
    struct fe_profile p = profile(size);
    uint32_t n = places(size, at);
    struct fe_err err = {""};
    (void)state;
    struct fe_device *dev = make_device(&p, true);
    if (!dev)
        return;
    write_places(dev, at, n);
    check_bytes(dev, at, n);
    submit(dev, FE_REQ_TRIM, 4 * GIB, MIB, NULL); /* the page behind one of the borders */
    fe_device_destroy(dev);
    dev = make_device(&p, true);
    write_places(dev, at + 4, 1);
    assert_true(at[4] == 4 * GIB);
    check_bytes(dev, at, n);
    assert_int_equal(fe_device_check(dev, &err), 0);
    fe_device_destroy(dev);
}

/* The largest numbers that the options have do not pass for small ones. */
static void test_large_geometry(void **state)
{
    struct fe_nand_params n = profile(GIB).nand;
    struct fe_geometry geo;
    (void)state;
    n.channels = 64;
    n.dies_per_channel = 64;
    n.multiplane = false;
    n.pages_per_block = 8192;
    n.blocks_per_plane = 7; /* 2^32 pages are 8 of these */
    assert_int_equal(fe_geometry_init(&geo, &n, NULL), 0);
    assert_true(geo.n_ppns == UINT64_C(7) << 29);
    assert_true(geo.n_pebs == 7u << 16 && geo.page_bytes == 64 * KIB);
    n.blocks_per_plane = 8;
    assert_int_equal(fe_geometry_init(&geo, &n, NULL), -EOVERFLOW);
    n.blocks_per_plane = UINT32_MAX;
    assert_int_equal(fe_geometry_init(&geo, &n, NULL), -EOVERFLOW);
}

static int remove_image(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_store_in_memory),
        cmocka_unit_test(test_large_frames),
        cmocka_unit_test_teardown(test_large_store_in_an_image, remove_image),
        cmocka_unit_test(test_large_layout),
        cmocka_unit_test(test_large_device_in_memory),
        cmocka_unit_test_teardown(test_large_device_in_an_image, remove_image),
        cmocka_unit_test(test_large_geometry),
    };
    snprintf(path, sizeof path, "/tmp/flashemu-large-%d.img", (int)getpid());
    return cmocka_run_group_tests_name("large", tests, NULL, NULL);
}
