/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of what commands cost: each rule alone, with what it pays and what it leaves alone; and the
 * regions whose map is held, against a plain simulation of LRU, which remembers when each region was
 * used and looks for the oldest one.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "ftl/cost.h"

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
    static struct fe_costs c;
    static uint64_t used[REGIONS];
    struct fe_ftl_params p = {.region = {.map_region = PAGES * PAGE, .map_held = n_held,
                                         .map_switch_ns = write ? 7 : 0,
                                         .map_read_ns = write ? 0 : 7}};
    struct ft_rand rand = {.seed = n_held * 1000 + range};
    fe_lpn last = FE_LPN_NONE;
    uint32_t total = 0;

    fe_ops_init(&ops, count, NULL);
    fe_costs_init(&c, &p, PAGE, 0);
    memset(used, 0, sizeof used);
    for (uint32_t i = 1; i <= rounds; i++) {
        bool goes_on = last != FE_LPN_NONE && last + 1 < range * PAGES && ft_chance(&rand, 20);
        fe_lpn lpn = goes_on ? last + 1 : (fe_lpn)ft_below(&rand, range * PAGES);
        bool pays = changes(used, i, n_held, lpn / PAGES) && !(goes_on || lpn == last + 1);
        n_busy = 0;
        fe_costs_page(&c, &ops, write, lpn, PAGE);
        fe_costs_page(&c, &ops, !write, lpn, PAGE); /* the other kind is free */
        fe_ops_drain(&ops);
        assert_int_equal(n_busy, pays);
        total += pays;
        last = lpn;
    }
    return total;
}

static void test_region_is_lru(void **state)
{
    static const uint32_t held[] = {1, 2, 3, 16, 255, FE_COST_HELD};
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
    static struct fe_costs c;
    struct fe_ftl_params p = {.region = {
        .map_region = PAGES * PAGE, .map_held = 1, .map_switch_ns = 7, .map_read_ns = 7}};
    (void)state;
    fe_ops_init(&ops, count, NULL);
    fe_costs_init(&c, &p, PAGE, 0);
    n_busy = 0;
    for (uint32_t i = 0; i < 5; i++) {
        fe_costs_page(&c, &ops, true, 9 * i, PAGE);
        fe_costs_page(&c, &ops, false, 5 * PAGES + 9 * i, PAGE);
    }
    fe_ops_drain(&ops);
    assert_int_equal(n_busy, 2);
}

/* What a command of these bytes pays before its first page. */
static uint64_t paid_ns;

static void add(void *ctx, struct fe_op *ops, uint32_t n)
{
    (void)ctx;
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ops[i].kind, FE_OP_BUSY);
        paid_ns += ops[i].cell_ns;
    }
}

static struct fe_oplist paid_ops;
static struct fe_costs costs;

/* A device of the default parameters but for those of p, with units of 16 pages. */
static void begin_test(struct fe_ftl_params *p)
{
    p->region.map_held = 1;
    p->region.map_region = 16 * PAGE;
    fe_ops_init(&paid_ops, add, NULL);
    fe_costs_init(&costs, p, PAGE, 16 * PAGE);
}

static uint64_t command(bool write, uint64_t offset, uint64_t len)
{
    paid_ns = 0;
    fe_costs_begin(&costs, &paid_ops, write, offset, len);
    fe_ops_drain(&paid_ops);
    return paid_ns;
}

static uint64_t page(bool write, fe_lpn lpn, uint32_t len)
{
    paid_ns = 0;
    fe_costs_page(&costs, &paid_ops, write, lpn, len);
    fe_ops_drain(&paid_ops);
    return paid_ns;
}

/* Commands of more than 4 KiB, unless they continue the one before. */
static void test_cost_of_streams(void **state)
{
    (void)state;
    struct fe_ftl_params p = {.region.stream_read_ns = 7};
    begin_test(&p);
    assert_int_equal(command(false, 0, 4608), 7); /* nothing was read before */
    assert_int_equal(command(false, 4608, 9 * 4096), 0);
    assert_int_equal(command(false, 50 * 4096, 4608), 7);
    assert_int_equal(command(true, 90 * 4096, 4608), 0); /* writes neither pay nor count */
    assert_int_equal(command(false, 50 * 4096 + 4608, 4608), 0);
    assert_int_equal(command(false, 90 * 4096, 4096), 0);
    assert_int_equal(command(false, 91 * 4096, 4608), 0);
    assert_int_equal(command(false, 91 * 4096, 4608), 7); /* again */
    p.region.stream_read_ns = 0;
    begin_test(&p);
    assert_int_equal(command(false, 0, 9 * 4096), 0);
}

/* Only writes that end inside a piece, and are longer than a piece and than a page. */
static void test_cost_of_tails(void **state)
{
    (void)state;
    struct fe_ftl_params p = {.part = {.tail_write_ns = 11, .tail_align = 4 * PAGE}};
    begin_test(&p);
    assert_int_equal(command(true, 0, 8 * PAGE), 0);
    assert_int_equal(command(true, 512, 8 * PAGE), 11);
    assert_int_equal(command(true, 512, 4 * PAGE), 0);
    assert_int_equal(command(true, 512, 4 * PAGE + 512), 11);
    assert_int_equal(command(true, 512, 8 * PAGE - 512), 0);
    assert_int_equal(command(false, 512, 8 * PAGE), 0);
    p.part.tail_align = 512; /* less than a page: what fits into a page is short nevertheless */
    begin_test(&p);
    assert_int_equal(command(true, 0, PAGE + 256), 11);
    assert_int_equal(command(true, 0, PAGE - 256), 0);
    p.part.tail_align = 0; /* the page */
    begin_test(&p);
    assert_int_equal(command(true, 512, PAGE + 512), 11);
    assert_int_equal(command(true, 512, 2 * PAGE - 512), 0);
}

/* The share of what is left, but not for what the read before has fetched. */
static void test_cost_of_what_reads_fetch(void **state)
{
    (void)state;
    struct fe_ftl_params p = {.part = {.rest_read_ns = 800, .rest_align = 2 * PAGE}};
    begin_test(&p);
    assert_int_equal(command(false, 0, PAGE), 400);
    assert_int_equal(command(false, PAGE, 1024), 0); /* fetched */
    assert_int_equal(command(false, 0, PAGE), 400);
    assert_int_equal(command(true, 0, PAGE), 0);
    assert_int_equal(command(false, PAGE, PAGE + 512), 750); /* goes on into the next piece */
    assert_int_equal(command(false, 512, 2 * PAGE - 512), 0); /* to the end */
    assert_int_equal(command(false, 2 * PAGE, 2048), 600); /* goes on, but there nothing was fetched */
}

/* Reads up to the end of a unit, and reads that go on into another one. */
static void test_cost_of_units(void **state)
{
    (void)state;
    struct fe_ftl_params p = {.segment = {.end_read_ns = 13, .unit_read_ns = 17}};
    begin_test(&p);
    assert_int_equal(command(false, 15 * PAGE, PAGE), 13);
    assert_int_equal(command(false, 15 * PAGE, PAGE - 512), 0);
    assert_int_equal(command(true, 15 * PAGE, PAGE), 0);
    assert_int_equal(command(false, 15 * PAGE, 3 * PAGE), 0);
    assert_int_equal(page(false, 15, PAGE), 0);
    assert_int_equal(page(false, 16, PAGE), 17);
    assert_int_equal(page(false, 17, PAGE), 0);
    assert_int_equal(command(false, 40 * PAGE, PAGE), 0);
    assert_int_equal(page(false, 40, PAGE), 0); /* another command: it does not go on */
    p.segment.unit_read_ns = 19;
    fe_costs_set_delays(&costs, &p);
    assert_int_equal(page(false, 48, PAGE), 19);
    assert_int_equal(page(true, 64, PAGE), 0);
    fe_costs_init(&costs, &p, PAGE, 0); /* a strategy without units */
    assert_int_equal(command(false, 15 * PAGE, 2 * PAGE), 0);
    assert_int_equal(page(false, 15, PAGE), 0);
    assert_int_equal(page(false, 16, PAGE), 0);
}

/* Each part of a page, and the bytes of the page that it leaves. */
static void test_cost_of_parts(void **state)
{
    (void)state;
    struct fe_ftl_params p = {.part = {.part_write_ns = 1000, .rest_write_ns = 800}};
    begin_test(&p);
    assert_int_equal(page(true, 3, PAGE), 0);
    assert_int_equal(page(true, 3, 512), 1000 + 700);
    assert_int_equal(page(true, 3, 3072), 1000 + 200);
    assert_int_equal(page(false, 3, 512), 0);
}

/* New delays leave what is held as it is. */
static void test_cost_of_regions_with_new_delays(void **state)
{
    (void)state;
    struct fe_ftl_params p = {.region = {.map_switch_ns = 5}};
    begin_test(&p);
    assert_int_equal(page(true, 0, PAGE), 5);
    p.segment.unit_read_ns = 3;
    fe_costs_set_delays(&costs, &p);
    assert_int_equal(page(true, 9, PAGE), 0);
    fe_costs_fill(&costs, 0, 48);
    assert_int_equal(page(true, 48, PAGE), 0); /* it follows */
    assert_int_equal(page(true, 2, PAGE), 5);
    fe_costs_fill(&costs, 16, 0);
    assert_int_equal(page(true, 3, PAGE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_region_is_lru),
        cmocka_unit_test(test_region_speed_depends_on_the_range),
        cmocka_unit_test(test_region_reads_and_writes_are_apart),
        cmocka_unit_test(test_cost_of_streams),
        cmocka_unit_test(test_cost_of_tails),
        cmocka_unit_test(test_cost_of_what_reads_fetch),
        cmocka_unit_test(test_cost_of_units),
        cmocka_unit_test(test_cost_of_parts),
        cmocka_unit_test(test_cost_of_regions_with_new_delays),
    };
    return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
