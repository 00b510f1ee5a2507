/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The regions whose map is held, against a plain simulation of LRU, which remembers when each
 * region was used and looks for the oldest one.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "ftl/region.h"

enum { PAGES = 64, REGIONS = 600, PAGE = 4096 };

static uint32_t n_busy;

static void count(void *ctx, struct fe_op *ops, uint32_t n)
{
    (void)ctx;
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ops[i].kind, FE_OP_BUSY);
        assert_int_equal(ops[i].cell_ns, 7);
        n_busy++;
    }
}

/* Whether this access changes the region, by what was used when; 0 is never. */
static bool changes(uint64_t *used, uint64_t now, uint32_t n_held, uint32_t g)
{
    uint32_t younger = 0;
    bool held = used[g] > 0;
    for (uint32_t i = 0; i < REGIONS; i++)
        younger += used[i] > used[g];
    used[g] = now;
    return !held || younger >= n_held;
}

/* Returns how many of `rounds` random pages of the first `range` regions change the region. */
static uint32_t run(uint32_t n_held, uint32_t range, uint32_t rounds, bool write)
{
    static struct fe_oplist ops;
    static struct fe_region r;
    static uint64_t used[REGIONS];
    struct fe_region_params p = {.map_region = PAGES * PAGE, .map_held = n_held,
                                 .map_switch_ns = write ? 7 : 0, .map_read_ns = write ? 0 : 7};
    struct ft_rand rand = {.seed = n_held * 1000 + range};
    fe_lpn last = FE_LPN_NONE;
    uint32_t total = 0;

    fe_ops_init(&ops, count, NULL);
    fe_region_init(&r, &p, PAGE);
    memset(used, 0, sizeof used);
    for (uint32_t i = 1; i <= rounds; i++) {
        bool goes_on = last != FE_LPN_NONE && last + 1 < range * PAGES && ft_chance(&rand, 20);
        fe_lpn lpn = goes_on ? last + 1 : (fe_lpn)ft_below(&rand, range * PAGES);
        bool pays = changes(used, i, n_held, lpn / PAGES) && !(goes_on || lpn == last + 1);
        n_busy = 0;
        (write ? fe_region_write : fe_region_read)(&r, lpn, &ops);
        (write ? fe_region_read : fe_region_write)(&r, lpn, &ops); /* the other kind is free */
        fe_ops_drain(&ops);
        assert_int_equal(n_busy, pays);
        total += pays;
        last = lpn;
    }
    return total;
}

static void test_region_is_lru(void **state)
{
    static const uint32_t held[] = {1, 2, 3, 16, 255, FE_REGION_MAX};
    (void)state;
    for (size_t i = 0; i < ft_array_len(held); i++)
        for (uint32_t range = 1; range <= REGIONS; range = range * 3 + 1) {
            run(held[i], range, 3000, true);
            run(held[i], range, 3000, false);
        }
}

/* Random requests are quick in the range that is held; in n times as much, all but one in n pay. */
static void test_region_speed_depends_on_the_range(void **state)
{
    (void)state;
    assert_int_equal(run(16, 16, 20000, true), 16);
    uint32_t twice = run(16, 32, 20000, true), ten = run(16, 160, 20000, true);
    /* a fifth of the requests continues the last one; one in 64 of the others would do so anyway */
    assert_in_range(twice, 20000 * 2 / 5 - 300, 20000 * 2 / 5 + 300);
    assert_in_range(ten, 20000 * 18 / 25 - 300, 20000 * 18 / 25 + 300);
}

/* Each of the two kinds has its own regions and its own time: only the first write and the first
 * read pay. */
static void test_region_reads_and_writes_are_apart(void **state)
{
    static struct fe_oplist ops;
    static struct fe_region r;
    struct fe_region_params p = {
        .map_region = PAGES * PAGE, .map_held = 1, .map_switch_ns = 7, .map_read_ns = 7};
    (void)state;
    fe_ops_init(&ops, count, NULL);
    fe_region_init(&r, &p, PAGE);
    n_busy = 0;
    for (uint32_t i = 0; i < 5; i++) {
        fe_region_write(&r, 9 * i, &ops);
        fe_region_read(&r, 5 * PAGES + 9 * i, &ops);
    }
    fe_ops_drain(&ops);
    assert_int_equal(n_busy, 2);
}

/* Whether a read command of these bytes begins a stream. */
static bool begins_stream(struct fe_region *r, struct fe_oplist *ops, uint64_t offset, uint64_t len)
{
    n_busy = 0;
    fe_region_begin_read(r, offset, len, ops);
    fe_ops_drain(ops);
    return n_busy;
}

/* Commands of more than 4 KiB, unless they continue the one before. */
static void test_region_streams_begin_with_long_reads(void **state)
{
    static struct fe_oplist ops;
    static struct fe_region r;
    (void)state;
    struct fe_region_params p = {.map_region = PAGE, .map_held = 1, .stream_read_ns = 7};
    fe_ops_init(&ops, count, NULL);
    fe_region_init(&r, &p, PAGE);
    assert_true(begins_stream(&r, &ops, 0, 4608)); /* nothing was read before */
    assert_false(begins_stream(&r, &ops, 4608, 9 * 4096));
    assert_true(begins_stream(&r, &ops, 50 * 4096, 4608));
    assert_false(begins_stream(&r, &ops, 90 * 4096, 4096));
    assert_false(begins_stream(&r, &ops, 91 * 4096, 4608));
    assert_true(begins_stream(&r, &ops, 91 * 4096, 4608)); /* again */
    fe_region_init(&r, &(struct fe_region_params){.map_region = PAGE, .map_held = 1}, PAGE);
    assert_false(begins_stream(&r, &ops, 0, 9 * 4096));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_region_is_lru),
        cmocka_unit_test(test_region_speed_depends_on_the_range),
        cmocka_unit_test(test_region_reads_and_writes_are_apart),
        cmocka_unit_test(test_region_streams_begin_with_long_reads),
    };
    return cmocka_run_group_tests_name("region", tests, NULL, NULL);
}
