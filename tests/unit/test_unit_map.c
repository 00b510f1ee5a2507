/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The map of units alone, without a strategy: where the newest copy of a page is, what each
 * merge does to the chip, and what the check finds.
 *
 * The chip: 2 dies, 6 units of 2 erase blocks, 8 pages of 512 bytes in a unit.  The map offers 3
 * logical units and has 2 logs.  Operations are written as letters (ft_rig_text): R read,
 * P program, Rp a copy in the register, E erase, B wait.
 */
#include "lib/layer.h"
#include "lib/unit.h"

#include "ftl/registry.h"
#include "ftl/units/unit_map.h"
#include "sched/sched.h"

#include <errno.h>

enum { N = 8, N_LEBS = 3 };

struct bench {
    struct ft_rig rig;
    struct fe_unit_map *map;
    struct fe_ftl_counters *c;
};

static void setup(struct bench *b)
{
    struct fe_nand_params nand = ft_nand(2, 6, 4, 512);
    struct fe_ftl_params p = ft_params("bast", &nand, 2);
    struct fe_err err;
    fe_err_init(&err);
    p.unit.gap_fill = 2;
    ft_rig_init(&b->rig, &nand);
    b->map = calloc(1, sizeof *b->map);
    assert_non_null(b->map);
    b->map->base = (struct fe_ftl){
        .ops = &fe_ftl_bast, .medium = b->rig.medium, .n_lpns = N_LEBS * N};
    assert_int_equal(fe_unit_map_init(b->map, &p, 2, &err), 0);
    b->c = &b->map->base.counters;
    assert_int_equal(b->map->units.n_units, 6);
}

static void teardown(struct bench *b)
{
    fe_unit_map_fini(&b->map->base);
    free(b->map);
    ft_rig_fini(&b->rig);
}

static void check(struct bench *b)
{
    struct fe_err err;
    fe_err_init(&err);
    if (fe_unit_map_check(b->map, &err) < 0)
        fail_msg("%s", err.text);
}

static const char *text(struct bench *b)
{
    static char buf[128];
    return ft_rig_text(&b->rig, buf, sizeof buf);
}

static void append(struct bench *b, uint32_t unit, enum fe_tag tag, fe_lpn lpn)
{
    assert_int_equal(fe_unit_map_append(b->map, unit, tag, lpn, 0, 512, NULL), FE_OK);
}

/* Pages [0, n) of a logical unit in its data unit. */
static void fill_data(struct bench *b, fe_leb leb, uint32_t n)
{
    for (uint32_t page = 0; page < n; page++)
        append(b, fe_unit_map_data_unit(b->map, leb), FE_TAG_DATA, leb * N + page);
}

/* Log i takes n pages of logical unit 0. */
static void fill_log(struct bench *b, uint32_t i, const fe_lpn *lpns, uint32_t n)
{
    assert_true(fe_unit_map_open_log(b->map, i) != FE_UNIT_NONE);
    for (uint32_t page = 0; page < n; page++)
        append(b, b->map->logs[i], FE_TAG_LOG, lpns[page]);
}

static const fe_lpn in_order[N] = {0, 1, 2, 3, 4, 5, 6, 7};

static void test_unit_map_a_fresh_map_is_empty(void **state)
{
    (void)state;
    struct bench b;
    uint8_t buf[512], zeros[512] = {0};
    setup(&b);
    check(&b);
    memset(buf, 1, sizeof buf);
    for (fe_lpn lpn = 0; lpn < N_LEBS * N; lpn++) {
        assert_int_equal(fe_unit_map_locate(b.map, lpn), FE_PPN_NONE);
        assert_int_equal(fe_unit_map_read(&b.map->base, lpn, 0, 512, buf), FE_OK);
        assert_memory_equal(buf, zeros, sizeof buf);
    }
    assert_string_equal(text(&b), "-");
    assert_int_equal(fe_unit_map_free_blocks(&b.map->base), 12);
    for (fe_leb leb = 0; leb < N_LEBS; leb++)
        assert_int_equal(fe_unit_map_top(b.map, leb), 0);
    teardown(&b);
}

static void test_unit_map_locates_the_newest_copy(void **state)
{
    (void)state;
    struct bench b;
    const fe_lpn pages[] = {2, 5, 2};
    setup(&b);
    fill_data(&b, 0, 4);
    fill_log(&b, 1, pages, 3);
    check(&b);
    uint32_t data = b.map->data[0], log = b.map->logs[1];
    assert_int_equal(fe_unit_map_locate(b.map, 1), fe_unit_ppn(&b.map->units, data, 1));
    assert_int_equal(fe_unit_map_locate(b.map, 2), fe_unit_ppn(&b.map->units, log, 2));
    assert_int_equal(fe_unit_map_locate(b.map, 5), fe_unit_ppn(&b.map->units, log, 1));
    assert_int_equal(fe_unit_map_locate(b.map, 4), FE_PPN_NONE);
    assert_int_equal(fe_unit_map_top(b.map, 0), 6);
    append(&b, data, FE_TAG_DATA, 4); /* appended to the data unit: newest there */
    assert_int_equal(fe_unit_map_locate(b.map, 4), fe_unit_ppn(&b.map->units, data, 4));
    append(&b, data, FE_TAG_DATA, 5); /* newer than the copy in the log */
    assert_int_equal(fe_unit_map_locate(b.map, 5), fe_unit_ppn(&b.map->units, data, 5));
    check(&b);
    teardown(&b);
}

static void test_unit_map_reaches_the_next_page_and_some_more(void **state)
{
    (void)state;
    struct bench b;
    setup(&b); /* gap_fill=2 */
    assert_false(fe_unit_map_reaches(b.map, 3, 2));
    assert_true(fe_unit_map_reaches(b.map, 3, 3));
    assert_true(fe_unit_map_reaches(b.map, 3, 5));
    assert_false(fe_unit_map_reaches(b.map, 3, 6));
    teardown(&b);
}

/* Copies pages of logical unit 0 up to `to` into log 1, and says as letters what that was. */
static const char *copy_up_to(struct bench *b, uint32_t to)
{
    ft_rig_clear(&b->rig);
    assert_int_equal(fe_unit_map_fill_gap(b->map, 0, b->map->logs[1], to, FE_TAG_COPY), FE_OK);
    return text(b);
}

/* Log 0 has the first n pages, log 1 is empty. */
static void setup_copy(struct bench *b, uint32_t n)
{
    setup(b);
    fill_log(b, 0, in_order, n);
    fill_log(b, 1, NULL, 0);
}

static fe_ppn in_log(const struct bench *b, uint32_t i, uint32_t page)
{
    return fe_unit_ppn(&b->map->units, b->map->logs[i], page);
}

static void test_unit_map_a_copy_reads_the_buffer_then_programs_it(void **state)
{
    (void)state;
    struct bench b;
    setup_copy(&b, 5);
    assert_string_equal(copy_up_to(&b, 5), "BRRBPPBRRBPPBRBPB");
    assert_int_equal(b.c->pages_copied, 5);
    append(&b, b.map->logs[0], FE_TAG_LOG, 6);
    assert_string_equal(copy_up_to(&b, 7), "BRBPPB"); /* padding is not read */
    assert_int_equal(b.c->pages_copied, 6);
    assert_string_equal(copy_up_to(&b, 7), "-"); /* it is there already */
    for (uint32_t i = 0; i < 7; i++) {
        fe_ppn ppn = in_log(&b, 1, i);
        assert_int_equal(fe_medium_lpn(b.rig.medium, ppn), i == 5 ? FE_LPN_NONE : i);
        assert_int_equal(fe_medium_tag(b.rig.medium, ppn), FE_TAG_COPY);
        assert_int_equal(fe_unit_map_locate(b.map, i), i == 5 ? FE_PPN_NONE : ppn);
    }
    check(&b);
    teardown(&b);
}

/* Where a log lies a page aside, each page comes from the other die than it goes to: the
 * dies must not wait for each other. */
static void test_unit_map_a_shifted_copy_takes_no_longer(void **state)
{
    (void)state;
    uint64_t took[2];
    for (uint32_t shift = 0; shift < 2; shift++) {
        struct bench b;
        struct fe_sched sched;
        struct fe_err err;
        fe_err_init(&err);
        setup_copy(&b, 8);
        for (uint32_t i = 0; i < 8; i++)
            fe_unit_map_set_newer(b.map, i, in_log(&b, 0, (i + shift) % 8));
        copy_up_to(&b, 8);
        assert_int_equal(fe_sched_init(&sched, &b.rig.nand, &b.rig.geo, &err), 0);
        fe_sched_begin(&sched, 0);
        fe_sched_place(&sched, b.rig.log, b.rig.n_log);
        took[shift] = sched.all_end_ns;
        fe_sched_fini(&sched);
        teardown(&b);
    }
    assert_true(took[0] > 0);
    assert_int_equal(took[0], took[1]);
}

/* What stays in a die's register is read when it is its turn; the rest goes through the
 * buffer. */
static void test_unit_map_copyback_does_not_fill_the_buffer(void **state)
{
    (void)state;
    struct bench b;
    setup_copy(&b, 5);
    b.rig.medium->copyback = true;
    assert_string_equal(copy_up_to(&b, 4), "BRpRpBRpRpB");
    fe_unit_map_set_newer(b.map, 4, in_log(&b, 0, 3)); /* of the other die */
    fe_unit_map_set_newer(b.map, 5, in_log(&b, 0, 1)); /* of the same */
    assert_string_equal(copy_up_to(&b, 6), "BRBPRpB");
    teardown(&b);
}

static void expect_merges(struct bench *b, uint64_t switches, uint64_t partials, uint64_t fulls,
                          uint64_t copied)
{
    assert_int_equal(b->c->merges_switch, switches);
    assert_int_equal(b->c->merges_partial, partials);
    assert_int_equal(b->c->merges_full, fulls);
    assert_int_equal(b->c->pages_copied, copied);
    check(b);
}

/* A full data unit and a log with these pages: what closing the log does, as letters. */
static const char *close_log(struct bench *b, const fe_lpn *pages, uint32_t n, bool is_in_order)
{
    setup(b);
    fill_data(b, 0, N);
    fill_log(b, 0, pages, n);
    ft_rig_clear(&b->rig);
    assert_int_equal(fe_unit_map_close_log(b->map, 0, 0, is_in_order), FE_OK);
    assert_int_equal(b->map->logs[0], FE_UNIT_NONE);
    assert_int_equal(b->map->units.n_free, 5);
    for (uint32_t page = 0; page < N; page++)
        assert_int_equal(fe_unit_map_locate(b->map, page),
                         fe_unit_ppn(&b->map->units, b->map->data[0], page));
    return text(b);
}

static void test_unit_map_a_whole_log_becomes_the_data_unit(void **state)
{
    (void)state;
    struct bench b;
    assert_string_equal(close_log(&b, in_order, N, true), "BEEB");
    expect_merges(&b, 1, 0, 0, 0);
    teardown(&b);
}

static void test_unit_map_a_log_in_order_is_completed(void **state)
{
    (void)state;
    struct bench b;
    assert_string_equal(close_log(&b, in_order, 5, true), "BRRBPPBRBPBEEB");
    expect_merges(&b, 0, 1, 0, 3);
    teardown(&b);
}

static void test_unit_map_a_log_out_of_order_takes_a_full_merge(void **state)
{
    (void)state;
    struct bench b;
    const fe_lpn pages[] = {3, 1};
    assert_string_equal(close_log(&b, pages, 2, false), "BRRBPPBRRBPPBRRBPPBRRBPPBEEBEEB");
    expect_merges(&b, 0, 0, 1, N);
    for (uint32_t page = 0; page < N; page++)
        assert_int_equal(fe_medium_tag(b.rig.medium, fe_unit_map_locate(b.map, page)),
                         page == N - 1 ? FE_TAG_MERGE_END : FE_TAG_MERGE);
    teardown(&b);
}

static void test_unit_map_without_switch_merge_all_is_copied(void **state)
{
    (void)state;
    struct bench b;
    setup(&b);
    b.map->switch_merge = false;
    fill_log(&b, 0, in_order, N);
    assert_int_equal(fe_unit_map_close_log(b.map, 0, 0, true), FE_OK);
    expect_merges(&b, 0, 0, 1, N);
    teardown(&b);
}

/* Log 0 is in order.  Log 1 has newer copies of two of its pages and of one that it lacks. */
static void test_unit_map_adopting_a_log_keeps_newer_copies(void **state)
{
    (void)state;
    struct bench b;
    const fe_lpn newer[] = {1, 3, 6};
    setup(&b);
    fill_log(&b, 0, in_order, 4);
    fill_log(&b, 1, newer, 3);
    assert_int_equal(fe_unit_map_close_log(b.map, 0, 0, true), FE_OK);
    assert_int_equal(fe_unit_map_locate(b.map, 1), in_log(&b, 1, 0));
    assert_int_equal(fe_unit_map_locate(b.map, 3), in_log(&b, 1, 1));
    assert_int_equal(fe_unit_map_locate(b.map, 6),
                     fe_unit_ppn(&b.map->units, b.map->data[0], 6)); /* copied */
    assert_int_equal(fe_unit_map_fill(b.map, 0), 7);
    expect_merges(&b, 0, 1, 0, 1);
    teardown(&b);
}

static void test_unit_map_runs_out_of_units(void **state)
{
    (void)state;
    struct bench b;
    setup(&b);
    for (int i = 0; i < 6; i++)
        fe_unit_alloc(&b.map->units);
    assert_int_equal(fe_unit_map_open_log(b.map, 0), FE_UNIT_NONE);
    assert_int_equal(fe_unit_map_data_unit(b.map, 0), FE_UNIT_NONE);
    assert_int_equal(fe_unit_map_merge_full(b.map, 0), FE_NO_SPACE);
    teardown(&b);
}

static void expect_wrong(struct bench *b, const char *says)
{
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_unit_map_check(b->map, &err), -EIO);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
}

static void test_unit_map_check_finds_what_is_wrong(void **state)
{
    (void)state;
    struct bench b;
    const fe_lpn pages[] = {2, 5};
    setup(&b);
    fill_data(&b, 0, 4);
    fill_log(&b, 0, pages, 2);
    fe_ppn newest = fe_unit_map_newer(b.map, 2);
    fe_unit_map_set_newer(b.map, 2, FE_PPN_NONE);
    expect_wrong(&b, "is newer");
    fe_unit_map_set_newer(b.map, 2, newest);
    fe_unit_map_set_newer(b.map, N, newest);
    expect_wrong(&b, "3 pages are mapped to logs, which hold 2 of them");
    fe_unit_map_set_newer(b.map, N, FE_PPN_NONE);
    b.map->data[1] = b.map->logs[0];
    expect_wrong(&b, "unit 1 is log and something else");
    b.map->data[1] = 6;
    expect_wrong(&b, "data unit 6: there are only 6");
    b.map->data[1] = FE_UNIT_NONE;
    b.map->units.n_free--;
    expect_wrong(&b, "2 units in use and 3 free are not 6");
    b.map->units.n_free++;
    fe_lpn *lpn = &b.rig.medium->chip.oob_lpn[fe_unit_map_locate(b.map, 1)];
    *lpn = 3;
    expect_wrong(&b, "unit 0 page 1 holds logical page 3, not 1");
    *lpn = 1;
    check(&b);
    teardown(&b);
}

static void test_unit_map_check_log_finds_what_is_wrong(void **state)
{
    (void)state;
    struct bench b;
    struct fe_err err;
    bool stale;
    const fe_lpn pages[] = {0, 1, 1};
    setup(&b);
    fe_err_init(&err);
    fill_log(&b, 0, pages, 2);
    assert_int_equal(fe_unit_map_check_log(b.map, 0, 0, true, &stale, &err), 0);
    assert_false(stale);
    append(&b, b.map->logs[0], FE_TAG_LOG, 1);
    assert_int_equal(fe_unit_map_check_log(b.map, 0, 0, false, &stale, &err), 0);
    assert_true(stale);
    assert_int_equal(fe_unit_map_check_log(b.map, 0, 0, true, NULL, &err), -EIO);
    assert_non_null(strstr(err.text, "log 0 is in order, but page 2 is logical page 1"));
    fe_err_init(&err);
    assert_int_equal(fe_unit_map_check_log(b.map, 0, 1, false, NULL, &err), -EIO);
    assert_non_null(strstr(err.text, "log 0 of logical unit 1 holds logical page 0"));
    assert_int_equal(fe_unit_map_check_log(b.map, 1, 0, false, NULL, &err), -EIO); /* no unit */
    assert_int_equal(fe_unit_map_check_log(b.map, 0, N_LEBS, false, NULL, &err), -EIO);
    teardown(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unit_map_a_fresh_map_is_empty),
        cmocka_unit_test(test_unit_map_locates_the_newest_copy),
        cmocka_unit_test(test_unit_map_reaches_the_next_page_and_some_more),
        cmocka_unit_test(test_unit_map_a_copy_reads_the_buffer_then_programs_it),
        cmocka_unit_test(test_unit_map_a_shifted_copy_takes_no_longer),
        cmocka_unit_test(test_unit_map_copyback_does_not_fill_the_buffer),
        cmocka_unit_test(test_unit_map_a_whole_log_becomes_the_data_unit),
        cmocka_unit_test(test_unit_map_a_log_in_order_is_completed),
        cmocka_unit_test(test_unit_map_a_log_out_of_order_takes_a_full_merge),
        cmocka_unit_test(test_unit_map_without_switch_merge_all_is_copied),
        cmocka_unit_test(test_unit_map_adopting_a_log_keeps_newer_copies),
        cmocka_unit_test(test_unit_map_runs_out_of_units),
        cmocka_unit_test(test_unit_map_check_finds_what_is_wrong),
        cmocka_unit_test(test_unit_map_check_log_finds_what_is_wrong),
    };
    return cmocka_run_group_tests_name("unit_map", tests, NULL, NULL);
}
