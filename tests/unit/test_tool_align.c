/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The conclusion of `flashemu align`, from results that are made by hand.
 */
#include "align/align.h"
#include "lib/unit.h"

#include <string.h>

enum { N = 4 };

/* Starts at 63 sectors, 64 KiB, 1 MiB and 4 MiB.  Each cell has the same rate in both rounds. */
static void make(struct align_result *a, const uint64_t ns[N])
{
    static const uint64_t starts[N] = {63 * 512, 64 << 10, 1 << 20, 4 << 20};

    memset(a, 0, sizeof *a);
    a->n_starts = N;
    for (uint32_t i = 0; i < N; i++) {
        a->start[i] = starts[i];
        for (uint32_t p = 0; p < ALIGN_N_PATTERNS; p++)
            for (uint32_t r = 0; r < ALIGN_N_ROUNDS; r++)
                a->cell[i][p].round[r] = (struct align_round){
                    .bytes = 1000000, .ns = ns[i], .programmed = 2000000};
    }
}

static void test_equal_starts_do_not_matter(void **state)
{
    (void)state;
    struct align_result a;
    make(&a, (uint64_t[N]){1040, 1000, 1000, 1010});
    struct align_advice v = align_advise(&a);
    assert_false(v.matters);
    assert_int_equal(v.multiple, 0);
    assert_true(align_rate(&a.cell[1][0]) == 1e12);
    assert_true(align_waf(&a.cell[1][0]) == 2);
}

static void test_good_starts_are_the_multiples_of_one(void **state)
{
    (void)state;
    struct align_result a;
    make(&a, (uint64_t[N]){2000, 1000, 1000, 990});
    struct align_advice v = align_advise(&a);
    assert_true(v.matters);
    assert_int_equal(v.multiple, 64 << 10);
    assert_int_equal(v.worst_start, 0);
    assert_int_equal(v.best, 3);
    assert_int_equal(v.best_for_worst, 3);

    make(&a, (uint64_t[N]){2000, 1500, 1000, 990});
    assert_int_equal(align_advise(&a).multiple, 1 << 20);
}

static void test_no_rule_where_there_is_none(void **state)
{
    (void)state;
    struct align_result a;

    make(&a, (uint64_t[N]){1000, 2000, 1000, 1000}); /* sector 63 is good as well */
    assert_true(align_advise(&a).matters);
    assert_int_equal(align_advise(&a).multiple, 0);
    make(&a, (uint64_t[N]){2000, 1000, 2000, 1000}); /* 1 MiB is a multiple of 64 KiB */
    assert_int_equal(align_advise(&a).multiple, 0);
    make(&a, (uint64_t[N]){2000, 2000, 2000, 1000}); /* one start proves nothing */
    assert_true(align_advise(&a).matters);
    assert_int_equal(align_advise(&a).multiple, 0);
}

/* What differs by as much between two rounds of one start is no difference between starts. */
static void test_rounds_tell_what_is_chance(void **state)
{
    (void)state;
    struct align_result a;

    make(&a, (uint64_t[N]){1300, 1000, 1000, 1000});
    assert_true(align_advise(&a).matters);
    for (uint32_t p = 0; p < ALIGN_N_PATTERNS; p++)
        a.cell[0][p].round[1].ns = 1000;
    assert_false(align_advise(&a).matters);
    for (uint32_t i = 0; i < N; i++) /* one pattern is slow, by more than the mean may differ */
        for (uint32_t r = 0; r < ALIGN_N_ROUNDS; r++)
            a.cell[i][2].round[r].ns = i == 0 ? 1200 : 1000;
    struct align_advice v = align_advise(&a);
    assert_true(v.matters);
    assert_int_equal(v.worst_pattern, 2);
    assert_int_equal(v.multiple, 64 << 10);
}

/* Without delays the write amplification decides.  A pattern that was not run decides nothing. */
static void test_devices_without_delays(void **state)
{
    (void)state;
    struct align_result a;

    make(&a, (uint64_t[N]){0, 0, 0, 0});
    assert_false(align_advise(&a).matters);
    a.cell[0][4].round[0].programmed = a.cell[0][4].round[1].programmed = 4000000;
    struct align_advice v = align_advise(&a);
    assert_int_equal(v.multiple, 64 << 10);
    assert_int_equal(v.worst_pattern, 4);
    for (uint32_t i = 0; i < N; i++)
        a.cell[i][4] = (struct align_cell){0};
    assert_false(align_advise(&a).matters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_starts_do_not_matter),
        cmocka_unit_test(test_good_starts_are_the_multiples_of_one),
        cmocka_unit_test(test_no_rule_where_there_is_none),
        cmocka_unit_test(test_rounds_tell_what_is_chance),
        cmocka_unit_test(test_devices_without_delays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
