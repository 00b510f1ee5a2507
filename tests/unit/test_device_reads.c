/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that read many pages, against an array of bytes: their bytes may be copied together when
 * the request ends (store/copy_list.h).
 */
#include "lib/device.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "device/internal.h"

enum { PAGE = 2048, SECTOR = 512, PAGES = 512, BYTES = PAGES * PAGE };

/* 512 pages, more than a list of copies holds. */
static struct fe_profile make_profile(uint32_t type)
{
    struct fe_profile p = ft_device_profile(fe_ftl_registry[type]->name);
    p.nand.blocks_per_plane = 96;
    p.device.capacity = BYTES;
    p.link.max_transfer = BYTES;
    return p;
}

struct host {
    struct ft_rand r;
    struct fe_device *dev;
    uint64_t now;
    bool trims;
    uint8_t *want, *buf; /* BYTES, and 64 more of buf */
};

static void submit(struct host *h, enum fe_req_type type, uint64_t from, uint64_t len, void *buf)
{
    h->now = ft_device_submit(h->dev, type, h->now, from, len, buf, false).complete_ns;
}

/* Reads into a buffer that lies anywhere; what is around it stays. */
static void read_back(struct host *h, uint64_t from, uint64_t len)
{
    size_t shift = ft_chance(&h->r, 50) ? 8 : 8 + ft_below(&h->r, 48);
    memset(h->buf, 0xaa, len + 64);
    submit(h, FE_REQ_READ, from, len, h->buf + shift);
    assert_memory_equal(h->buf + shift, h->want + from, len);
    assert_int_equal(h->buf[shift - 1], 0xaa);
    assert_int_equal(h->buf[shift + len], 0xaa);
}

static void step(struct host *h)
{
    uint64_t most = ft_chance(&h->r, 60) ? 8 : BYTES / SECTOR;
    uint64_t len = (ft_below(&h->r, most) + 1) * SECTOR;
    uint64_t from = ft_below(&h->r, (BYTES - len) / SECTOR + 1) * SECTOR;
    if (ft_chance(&h->r, 40)) {
        read_back(h, from, len);
    } else if (h->trims && ft_chance(&h->r, 10)) {
        submit(h, FE_REQ_TRIM, from, len, NULL);
        memset(h->want + from, 0, len);
    } else {
        ft_fill(&h->r, h->want + from, len);
        submit(h, FE_REQ_WRITE, from, len, h->want + from);
    }
}

static void check_reads(const struct fe_profile *p, uint64_t seed, int steps)
{
    struct host h = {.r = {.seed = seed}, .dev = ft_device_make(p, seed % 2)};
    h.want = calloc(1, BYTES);
    h.buf = malloc(BYTES + 64);
    assert_true(h.want && h.buf);
    h.trims = fe_ftl_registry[p->ftl.type]->trim;
    assert_int_equal(h.dev->medium->copies_late, !h.dev->cache);
    for (int i = 0; i < steps; i++)
        step(&h);
    read_back(&h, 0, BYTES);
    fe_device_destroy(h.dev);
    free(h.want);
    free(h.buf);
}

static void test_reads_of_many_pages_equal_plain_bytes(void **state)
{
    (void)state;
    for (uint32_t type = 0; fe_ftl_registry[type]; type++) {
        struct fe_profile p = make_profile(type);
        for (uint64_t seed = 0; seed < 3; seed++)
            check_reads(&p, seed, 150);
    }
}

/* The device of profiles/ideal.ini takes no time: all of its requests come at once. */
static void test_reads_of_an_ideal_device_equal_plain_bytes(void **state)
{
    (void)state;
    struct fe_profile p = make_profile((uint32_t)fe_ftl_find("page"));
    p.nand.tR_ns[0] = p.nand.tPROG_ns[0] = p.nand.tBERS_ns = p.nand.bus_rate = 0;
    for (uint64_t seed = 0; seed < 6; seed++)
        check_reads(&p, seed, 200);
}

/* The cache lays newer bytes over those of the flash. */
static void test_reads_behind_a_cache_equal_plain_bytes(void **state)
{
    (void)state;
    for (uint32_t type = 0; fe_ftl_registry[type]; type++) {
        struct fe_profile p = make_profile(type);
        if (fe_ftl_registry[type]->no_medium)
            continue;
        p.cache.size = 16 * PAGE;
        p.cache.mode = FE_CACHE_ON;
        check_reads(&p, 1, 150);
    }
}

/* A device that claims more than it has wraps around: one request reads the same pages twice. */
static void test_reads_of_the_same_pages_twice(void **state)
{
    (void)state;
    struct fe_profile p = make_profile((uint32_t)fe_ftl_find("page"));
    p.device.claimed_capacity = 2 * BYTES;
    p.device.beyond = FE_BEYOND_WRAP;
    struct fe_device *dev = ft_device_make(&p, false);
    struct ft_rand r = {.seed = 4};
    uint8_t *data = malloc(BYTES), *buf = malloc(2 * BYTES);
    assert_true(data && buf);
    ft_fill(&r, data, BYTES);
    ft_device_submit(dev, FE_REQ_WRITE, 0, 0, BYTES, data, false);
    ft_device_submit(dev, FE_REQ_READ, 0, 0, 2 * BYTES, buf, false);
    assert_memory_equal(buf, data, BYTES);
    assert_memory_equal(buf + BYTES, data, BYTES);
    fe_device_destroy(dev);
    free(data);
    free(buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_of_many_pages_equal_plain_bytes),
        cmocka_unit_test(test_reads_of_an_ideal_device_equal_plain_bytes),
        cmocka_unit_test(test_reads_behind_a_cache_equal_plain_bytes),
        cmocka_unit_test(test_reads_of_the_same_pages_twice),
    };
    return cmocka_run_group_tests_name("device_reads", tests, NULL, NULL);
}
