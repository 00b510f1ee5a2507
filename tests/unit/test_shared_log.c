/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The log that all logical units share: it takes pages of any of them, and gives up its oldest
 * unit by merging what that unit holds newest pages of.
 *
 * The chip: 8 units of 4 pages, one block each.  Log 0 belongs to nobody here; the shared log has
 * logs 1 and 2.
 */
#include "lib/layer.h"
#include "lib/unit.h"

#include "ftl/registry.h"
#include "ftl/units/shared_log.h"

#include <errno.h>

enum { N = 4, N_LEBS = 4 };

struct bench {
    struct ft_rig rig;
    struct fe_unit_map *map;
    struct fe_shared_log log;
};

static char merged[32]; /* the logical units that merge was called for, as digits */

static enum fe_status merge(struct fe_unit_map *map, fe_leb leb)
{
    size_t n = strlen(merged);
    assert_true(n + 1 < sizeof merged);
    merged[n] = (char)('0' + leb);
    return fe_unit_map_merge_full(map, leb);
}

static void setup(struct bench *b)
{
    struct fe_nand_params nand = ft_nand(1, 8, N, 512);
    struct fe_ftl_params p = ft_params("fast", &nand, 1);
    struct fe_err err;
    fe_err_init(&err);
    memset(merged, 0, sizeof merged);
    ft_rig_init(&b->rig, &nand);
    b->map = calloc(1, sizeof *b->map);
    assert_non_null(b->map);
    b->map->base = (struct fe_ftl){
        .ops = &fe_ftl_fast, .medium = b->rig.medium, .n_lpns = N_LEBS * N};
    assert_int_equal(fe_unit_map_init(b->map, &p, 3, &err), 0);
    b->log = (struct fe_shared_log){.map = b->map, .first = 1, .n_max = 2};
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
    if (fe_shared_log_check(&b->log, &err) < 0 || fe_unit_map_check(b->map, &err) < 0)
        fail_msg("%s", err.text);
}

static void append(struct bench *b, fe_lpn lpn)
{
    assert_int_equal(fe_shared_log_make_room(&b->log, merge), FE_OK);
    assert_int_equal(fe_shared_log_append(&b->log, lpn, 0, 512, NULL), FE_OK);
    assert_true(fe_shared_log_holds(&b->log, lpn));
    check(b);
}

static void test_shared_log_fills_one_unit_after_the_other(void **state)
{
    (void)state;
    struct bench b;
    setup(&b);
    check(&b);
    assert_false(fe_shared_log_holds(&b.log, 0));
    for (uint32_t i = 0; i < 2 * N; i++) {
        append(&b, i);
        assert_int_equal(b.log.n, i / N + 1);
        assert_int_equal(fe_unit_map_locate(b.map, i),
                         fe_unit_ppn(&b.map->units, b.map->logs[1 + i / N], i % N));
    }
    assert_int_equal(b.map->logs[0], FE_UNIT_NONE);
    assert_string_equal(merged, "");
    teardown(&b);
}

static void test_shared_log_merges_what_its_oldest_unit_holds(void **state)
{
    (void)state;
    struct bench b;
    const fe_lpn pages[2 * N] = {0, N, 2 * N, 1, /* the newer unit: */ 2 * N, 2, 3 * N, 3 * N};
    setup(&b);
    for (uint32_t i = 0; i < 2 * N; i++)
        append(&b, pages[i]);
    append(&b, 3 * N + 1);
    /* 0 once although it has two pages there; not 2, whose page is stale */
    assert_string_equal(merged, "01");
    assert_int_equal(b.map->base.counters.gc_runs, 1);
    assert_false(fe_shared_log_holds(&b.log, 2)); /* merged with logical unit 0 */
    assert_true(fe_shared_log_holds(&b.log, 2 * N));
    for (uint32_t i = 0; i < 3; i++)
        append(&b, 3 * N + 1);
    append(&b, 0); /* the ring goes round */
    assert_string_equal(merged, "0123");
    assert_int_equal(b.map->base.counters.gc_runs, 2);
    teardown(&b);
}

static void test_shared_log_of_stale_pages_costs_an_erase(void **state)
{
    (void)state;
    struct bench b;
    char text[32];
    setup(&b);
    for (uint32_t i = 0; i < 2 * N; i++)
        append(&b, 5);
    ft_rig_clear(&b.rig);
    append(&b, 5);
    assert_string_equal(ft_rig_text(&b.rig, text, sizeof text), "BEBP");
    assert_string_equal(merged, "");
    teardown(&b);
}

/* A page of each logical unit, then one page again and again: what is given up by then. */
static void gives_up(uint32_t pace, const char *const by_then[N])
{
    struct bench b;
    setup(&b);
    b.log.pace = pace;
    for (uint32_t i = 0; i < N; i++)
        append(&b, i * N);
    assert_string_equal(merged, "");
    for (uint32_t i = 0; i < N; i++) {
        append(&b, 5);
        if (strcmp(merged, by_then[i]) != 0)
            fail_msg("pace %u, page %u: merged %s, expected %s", pace, i, merged, by_then[i]);
        assert_int_equal(b.log.n, i + 1 < N ? 2 : 1); /* the oldest one is erased in time */
    }
    assert_int_equal(b.map->base.counters.gc_runs, 1);
    append(&b, 5); /* and the next one begins with what is stale */
    assert_string_equal(merged, by_then[N - 1]);
    teardown(&b);
}

static void test_shared_log_gives_up_a_few_pages_with_each(void **state)
{
    (void)state;
    gives_up(1, (const char *const[N]){"0", "01", "012", "0123"});
    gives_up(2, (const char *const[N]){"", "", "01", "0123"});
    gives_up(3, (const char *const[N]){"", "", "0", "0123"});
    gives_up(4, (const char *const[N]){"", "", "", "0123"});
    gives_up(UINT32_MAX, (const char *const[N]){"", "", "", "0123"});
}

static void test_shared_log_goes_on_after_a_power_cycle(void **state)
{
    (void)state;
    struct bench b;
    setup(&b);
    b.log.pace = 1;
    for (uint32_t i = 0; i < N; i++)
        append(&b, i * N);
    append(&b, 5);
    append(&b, 5);
    assert_string_equal(merged, "01");
    b.log.given_up = 0; /* nothing on the medium says it */
    append(&b, 5);
    assert_string_equal(merged, "012");
    b.log.pace = 0; /* and what is left can be given up at once */
    append(&b, 5);
    assert_string_equal(merged, "012");
    append(&b, 5);
    assert_string_equal(merged, "0123");
    teardown(&b);
}

static void test_shared_log_does_not_hold_what_other_logs_have(void **state)
{
    (void)state;
    struct bench b;
    setup(&b);
    append(&b, 7);
    assert_true(fe_unit_map_open_log(b.map, 0) != FE_UNIT_NONE);
    assert_int_equal(fe_unit_map_append(b.map, b.map->logs[0], FE_TAG_LOG, 7, 0, 512, NULL), FE_OK);
    assert_false(fe_shared_log_holds(&b.log, 7));
    teardown(&b);
}

static void expect_wrong(struct bench *b, const char *says)
{
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_shared_log_check(&b->log, &err), -EIO);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
}

static void test_shared_log_check_finds_what_is_wrong(void **state)
{
    (void)state;
    struct bench b;
    setup(&b);
    for (uint32_t i = 0; i < N + 1; i++)
        append(&b, i);
    b.log.n = 1;
    expect_wrong(&b, "shared log 1 of 1 has unit 1");
    b.log.n = 2;
    b.map->units.fill[b.map->logs[1]]--;
    expect_wrong(&b, "shared log 0 of 2 holds only 3 pages");
    teardown(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_log_fills_one_unit_after_the_other),
        cmocka_unit_test(test_shared_log_merges_what_its_oldest_unit_holds),
        cmocka_unit_test(test_shared_log_of_stale_pages_costs_an_erase),
        cmocka_unit_test(test_shared_log_gives_up_a_few_pages_with_each),
        cmocka_unit_test(test_shared_log_goes_on_after_a_power_cycle),
        cmocka_unit_test(test_shared_log_does_not_hold_what_other_logs_have),
        cmocka_unit_test(test_shared_log_check_finds_what_is_wrong),
    };
    return cmocka_run_group_tests_name("shared_log", tests, NULL, NULL);
}
