/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment strategy's small-write log, its zone, and the time that reading on into
 * another unit takes: what each costs in hand-made cases, to the last page.
 *
 * The chip is the one of test_segment.c: one die, pages of 512 bytes, units of 8 pages.  Two
 * linear units can be open and one random; the small-write log is one unit, where
 * a test does not say otherwise.
 */
#include "lib/layer.h"
#include "lib/unit.h"

#include "ftl/registry.h"

enum { N = 8 }; /* pages of a unit */

static struct fe_ftl_params params(uint32_t small_log, uint64_t small_write, uint32_t zone_units)
{
    struct fe_nand_params nand = ft_nand(1, 15, N, 512);
    struct fe_ftl_params p = ft_params("segment", &nand, 1);
    p.segment.small_log = small_log;
    p.segment.small_write = small_write;
    p.segment.zone_units = zone_units;
    p.unit.switch_merge = true;
    return p;
}

static void setup(struct ft_layer *l, struct fe_ftl_params p)
{
    struct fe_nand_params nand = ft_nand(1, 15, N, 512);
    ft_layer_init(l, &nand, &p);
}

/* Units [first, first + n) in one command each, which is no small write. */
static void write_units(struct ft_layer *l, uint32_t first, uint32_t n)
{
    for (uint32_t unit = first; unit < first + n; unit++)
        assert_int_equal(ft_layer_command(l, unit * N, N), FE_OK);
}

/* Units [0, n) full, none of them open to be merged later. */
static void fill(struct ft_layer *l, uint32_t n)
{
    write_units(l, 0, n);
    ft_layer_clear(l);
}

/* Units [0, 4) full, and the log full of every second page of units 0 and 1. */
static void setup_full_log(struct ft_layer *l)
{
    setup(l, params(1, 512, 0));
    fill(l, 4);
    for (uint32_t i = 0; i < N; i++)
        ft_layer_write_each(l, (i % 2) * N + i, 1);
    ft_layer_clear(l);
}

static void test_segment_small_writes_cost_a_page_each(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, params(1, 512, 0));
    fill(&l, 3);
    for (uint32_t i = 0; i < N; i++)
        ft_layer_write_each(&l, (i % 3) * N + 5, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = N}, "as many as the log takes");
    ft_layer_end(&l);
}

static void test_segment_small_log_full_merges_what_it_holds(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full_log(&l);
    ft_layer_write_each(&l, 3 * N, 1); /* units 0 and 1 are merged, the log is erased */
    ft_layer_expect(&l, (struct ft_cost){.reads = 2 * N, .programs = 2 * N + 1, .erases = 3,
                                         .copied = 2 * N, .fulls = 2}, "the log overflows");
    assert_int_equal(l.ftl->counters.gc_runs, 1);
    ft_layer_end(&l);
}

static void test_segment_small_pages_that_a_large_write_replaced_cost_no_merge(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full_log(&l);
    write_units(&l, 0, 1);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 3 * N, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = N + 1, .erases = 2, .copied = N,
                                         .fulls = 1}, "only unit 1 is left to merge");
    ft_layer_end(&l);
}

/* A small log of two units takes pages of any unit; when it is full, the units that its
 * oldest unit holds pages of are merged. */
static void test_segment_small_log_merges_what_its_oldest_unit_holds(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, params(2, 512, 0));
    write_units(&l, 0, 3);
    ft_layer_expect(&l, (struct ft_cost){.programs = 3 * N}, "large commands");
    for (uint32_t i = 0; i < 2 * N; i++)
        assert_int_equal(ft_layer_write(&l, i < N ? (i % 2) * N + i / 2 : 2 * N), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = 2 * N}, "small commands");
    /* the oldest log unit holds four pages each of units 0 and 1: two merges */
    assert_int_equal(ft_layer_write(&l, 2 * N), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.reads = 2 * N, .programs = 2 * N + 1, .erases = 3,
                                         .copied = 2 * N, .fulls = 2}, "the log is full");
    for (uint32_t i = 1; i < N; i++)
        assert_int_equal(ft_layer_write(&l, 2 * N), FE_OK);
    ft_layer_clear(&l);
    /* the next one holds stale copies only: no merge, one erase */
    assert_int_equal(ft_layer_write(&l, 2 * N), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = 1, .erases = 1}, "all stale");
    ft_layer_end(&l);
}

/* With small_pace, no write waits for more than one merge, however many units the log holds. */
static void test_segment_small_pace_spreads_the_merges(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = params(2, 512, 0);
    p.segment.small_pace = 1;
    setup(&l, p);
    fill(&l, 4);
    for (uint32_t i = 0; i < N; i++)
        ft_layer_write_each(&l, (i % 4) * N + i, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = N}, "the first unit of the log");
    for (uint32_t i = 0; i < N; i++) {
        ft_layer_write_each(&l, (i % 4) * N + i, 1);
        bool merges = i < 4; /* the other pages of each unit were merged with its first */
        ft_layer_expect(&l, merges ? (struct ft_cost){.reads = N, .programs = N + 1, .erases = 1,
                                                      .copied = N, .fulls = 1}
                                   : (struct ft_cost){.programs = 1, .erases = i == N - 1},
                        "a page of the second");
    }
    assert_int_equal(l.ftl->counters.gc_runs, 1);
    ft_layer_end(&l);
}

static void test_segment_small_pace_needs_two_units(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand(1, 15, N, 512);
    struct fe_geometry geo;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_geometry_init(&geo, &nand, &err), 0);
    for (uint32_t n = 0; n < 3; n++) {
        struct fe_ftl_params p = params(n, 0, 0);
        assert_true(fe_ftl_registry[p.type]->max_lpns(&p, &geo, &err) > 0);
        p.segment.small_pace = 1;
        assert_int_equal(fe_ftl_registry[p.type]->max_lpns(&p, &geo, &err) > 0, n == 2);
        assert_true(n == 2 || strstr(err.text, "need small_log >= 2"));
    }
}

static void test_segment_merge_takes_the_copy_in_the_small_log(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, params(1, 512, 0));
    fill(&l, 4);
    ft_layer_write_each(&l, 6, 1);                          /* to the log */
    assert_int_equal(ft_layer_command(&l, 0, 3), FE_OK);     /* linear, closed early */
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_command(&l, N, 2), FE_OK);
    assert_int_equal(ft_layer_command(&l, 2 * N, 2), FE_OK); /* the third linear unit */
    ft_layer_expect(&l, (struct ft_cost){.reads = 5, .programs = 9, .erases = 1, .copied = 5,
                                         .partials = 1}, "partial merge over the log");
    for (uint32_t i = 0; i < N; i++) /* page 6 in the log is stale: seven more and one */
        ft_layer_write_each(&l, 3 * N + i, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = 2 * N, .erases = 2, .copied = N,
                                         .fulls = 1}, "only unit 3 had pages there");
    ft_layer_end(&l);
}

/* A page of the log that is newer than the open linear unit's stays in the log, and the
 * unit is switched all the same. */
static void test_segment_switch_merge_leaves_newer_small_pages_alone(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, params(1, 512, 0));
    fill(&l, 2);
    assert_int_equal(ft_layer_command(&l, 0, 4), FE_OK);
    ft_layer_write_each(&l, 2, 1);
    assert_int_equal(ft_layer_command(&l, 4, 4), FE_OK);
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_command(&l, 0, 2), FE_OK); /* closes the whole linear unit */
    ft_layer_expect(&l, (struct ft_cost){.programs = 2, .erases = 1, .switches = 1}, "switch");
    ft_layer_end(&l);
}

static void test_segment_small_write_bounds_the_command(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, params(1, 2 * 512, 0));
    fill(&l, 2);
    assert_int_equal(ft_layer_command(&l, 5, 2), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = 2}, "two pages: the log");
    assert_int_equal(ft_layer_command(&l, N + 4, 3), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = 3}, "three pages: a random unit");
    for (int i = 0; i < 3; i++) /* eight pages in the log with these: it had two of them */
        assert_int_equal(ft_layer_command(&l, 0, 2), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = 6}, "the log has room for six more");
    ft_layer_end(&l);
}

static void test_segment_zone_takes_every_write_to_the_log(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, params(1, 0, 1));
    write_units(&l, 0, 1); /* fills the log */
    ft_layer_expect(&l, (struct ft_cost){.programs = N}, "bulk into the zone");
    write_units(&l, 0, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = 2 * N, .erases = 1, .copied = N,
                                         .fulls = 1}, "bulk again: first the log is merged");
    write_units(&l, 1, 1);
    ft_layer_write_each(&l, N, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = N + 1}, "beyond it: small ones, too, go by");
    ft_layer_end(&l);
}

/* With a log larger than the zone, what leaves the log has been replaced there: no copy. */
static void test_segment_zone_begins_where_it_is_said_to(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = params(2, 0, 1);
    p.segment.zone_start = 2;
    setup(&l, p);
    write_units(&l, 0, 4);
    ft_layer_expect(&l, (struct ft_cost){.programs = 4 * N}, "fresh");
    write_units(&l, 2, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = N}, "the log's second unit");
    for (int i = 0; i < 3; i++) {
        write_units(&l, 2, 1);
        ft_layer_expect(&l, (struct ft_cost){.programs = N, .erases = 1}, "the oldest is stale");
    }
    ft_layer_write_each(&l, N, 1);
    ft_layer_write_each(&l, 3 * N, 1);
    ft_layer_write_each(&l, 0, 1); /* the third linear unit: two can be open */
    ft_layer_expect(&l, (struct ft_cost){.reads = N - 1, .programs = N + 2, .erases = 1,
                                         .copied = N - 1, .partials = 1}, "not in the zone");
    ft_layer_end(&l);
}

/* The time for the map's next part is the controller's, once a unit within a command. */
static void test_segment_reading_on_into_another_unit_takes_time(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = params(0, 0, 0);
    p.segment.unit_read_ns = 7000;
    setup(&l, p);
    fill(&l, 3);
    ft_rig_clear(&l.rig);
    for (int command = 0; command < 2; command++) {
        l.ftl->ops->begin_command(l.ftl, false, 6 * 512, 4 * 512);
        for (fe_lpn lpn = N - 2; lpn < N + 2; lpn++)
            assert_int_equal(l.ftl->ops->read(l.ftl, lpn, 0, 512, NULL), FE_OK);
    }
    assert_string_equal(ft_layer_text(&l), "RRYRRRRYRR");
    uint32_t n;
    const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
    assert_int_equal(ops[2].cell_ns, 7000);
    p.segment.unit_read_ns = 0;
    l.ftl->ops->set_delays(l.ftl, &p);
    ft_rig_clear(&l.rig);
    l.ftl->ops->begin_command(l.ftl, false, 7 * 512, 2 * 512);
    for (fe_lpn lpn = N - 1; lpn <= N; lpn++)
        assert_int_equal(l.ftl->ops->read(l.ftl, lpn, 0, 512, NULL), FE_OK);
    assert_string_equal(ft_layer_text(&l), "RR");
    ft_layer_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segment_small_writes_cost_a_page_each),
        cmocka_unit_test(test_segment_small_log_full_merges_what_it_holds),
        cmocka_unit_test(test_segment_small_pages_that_a_large_write_replaced_cost_no_merge),
        cmocka_unit_test(test_segment_small_log_merges_what_its_oldest_unit_holds),
        cmocka_unit_test(test_segment_small_pace_spreads_the_merges),
        cmocka_unit_test(test_segment_small_pace_needs_two_units),
        cmocka_unit_test(test_segment_merge_takes_the_copy_in_the_small_log),
        cmocka_unit_test(test_segment_switch_merge_leaves_newer_small_pages_alone),
        cmocka_unit_test(test_segment_small_write_bounds_the_command),
        cmocka_unit_test(test_segment_zone_takes_every_write_to_the_log),
        cmocka_unit_test(test_segment_zone_begins_where_it_is_said_to),
        cmocka_unit_test(test_segment_reading_on_into_another_unit_takes_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
