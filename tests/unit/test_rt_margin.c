/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of waiting that need no clock: the quantile estimate, and whether a machine is late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "rt/clock.h"
#include "rt/late.h"
#include "rt/margin.h"

#define US FE_NS_PER_US

static const struct fe_margin_rule p995 = {995000, 5 * US, 1000 * US};
static const struct fe_margin_rule p25 = {250000, 1 * US, 1000 * US};

/* The i-th of a sequence of lateness values: uniform in [0, range_ns). */
static uint64_t lateness(uint64_t i, uint64_t range_ns)
{
    return fe_rng_below(fe_rng(7, FE_RNG_TEST, i, 0), range_ns);
}

static void learn_uniform(struct fe_margin *m, const struct fe_margin_rule *rule,
                          uint64_t n, uint64_t range_ns)
{
    for (uint64_t i = 0; i < n; i++)
        fe_margin_learn(m, rule, lateness(i, range_ns));
}

/* The share of the next n values that lie above the estimate, in ppm, while it goes
 * on learning. */
static uint64_t share_above_ppm(struct fe_margin *m, const struct fe_margin_rule *rule,
                                uint64_t n, uint64_t range_ns)
{
    uint64_t above = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t value = lateness(1000000 + i, range_ns);
        above += value > m->ns;
        fe_margin_learn(m, rule, value);
    }
    return above * 1000000 / n;
}

static void test_margin_converges_from_below_and_above(void **state)
{
    (void)state;
    const uint64_t starts[] = {0, 1, 50 * US, 400 * US, UINT64_MAX};

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct fe_margin m;
        fe_margin_init(&m, &p995, starts[i], 0);
        learn_uniform(&m, &p995, 20000, 100 * US);
        assert_in_range(m.ns, 90 * US, 115 * US);
        uint64_t above = share_above_ppm(&m, &p995, 100000, 100 * US);
        assert_in_range(above, 3500, 7000); /* 5000 is p99.5 */
    }
}

static void test_margin_converges_to_low_quantile(void **state)
{
    (void)state;
    struct fe_margin m;

    fe_margin_init(&m, &p25, 500 * US, 0);
    learn_uniform(&m, &p25, 5000, 100 * US);
    uint64_t above = share_above_ppm(&m, &p25, 100000, 100 * US);
    assert_in_range(above, 720000, 800000);
}

static void test_margin_stays_within_bounds(void **state)
{
    (void)state;
    struct fe_margin m;

    fe_margin_init(&m, &p995, 0, 0);
    assert_int_equal(m.ns, p995.min_ns);
    fe_margin_init(&m, &p995, UINT64_MAX, 0);
    assert_int_equal(m.ns, p995.max_ns);
    for (int i = 0; i < 1000; i++) {
        fe_margin_learn(&m, &p995, UINT64_MAX);
        assert_int_equal(m.ns, p995.max_ns);
    }
    for (int i = 0; i < 100000; i++) {
        fe_margin_learn(&m, &p995, 0);
        assert_in_range(m.ns, p995.min_ns, p995.max_ns);
    }
    assert_int_equal(m.ns, p995.min_ns);
    fe_margin_learn(&m, &p995, p995.min_ns + 1); /* and it can leave the lower bound */
    assert_true(m.ns > p995.min_ns);
}

static void test_margin_forgets_a_noisy_time(void **state)
{
    (void)state;
    struct fe_margin m;

    fe_margin_init(&m, &p995, 50 * US, 0);
    learn_uniform(&m, &p995, 3000, 900 * US);
    assert_true(m.ns > 700 * US);
    learn_uniform(&m, &p995, 6000, 50 * US);
    assert_in_range(m.ns, 40 * US, 60 * US);
}

static void test_margin_bounds_the_weight_of_an_outlier(void **state)
{
    (void)state;
    struct fe_margin fresh, settled, copy;

    fe_margin_init(&fresh, &p995, 40 * US, 0);
    fe_margin_learn(&fresh, &p995, 10 * FE_NS_PER_S);
    assert_in_range(fresh.ns, 59 * US, 60 * US);

    fe_margin_init(&settled, &p995, 40 * US, 1000);
    copy = settled;
    fe_margin_learn(&settled, &p995, 10 * FE_NS_PER_S);
    fe_margin_learn(&copy, &p995, 41 * US);
    assert_in_range(settled.ns, 44 * US, 45 * US);
    assert_int_equal(settled.ns, copy.ns);
}

static void test_margin_is_a_function_of_its_input(void **state)
{
    (void)state;
    struct fe_margin a, b;

    fe_margin_init(&a, &p995, 40 * US, 0);
    fe_margin_init(&b, &p995, 40 * US, 0);
    learn_uniform(&a, &p995, 5000, 77 * US);
    learn_uniform(&b, &p995, 5000, 77 * US);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(a.n_learnt, 5000);
}

static void test_margin_cut_takes_a_quarter(void **state)
{
    (void)state;
    struct fe_margin m;

    fe_margin_init(&m, &p995, 40 * US, 0);
    fe_margin_cut(&m, &p995);
    assert_int_equal(m.ns, 30 * US);
    for (int i = 0; i < 100; i++)
        fe_margin_cut(&m, &p995);
    assert_int_equal(m.ns, p995.min_ns);
}

/* n waits that end so late; how many of them showed that the machine is late. */
static uint32_t wait_late(struct fe_late *l, uint32_t n, uint64_t lateness_ns)
{
    uint32_t shows = 0;
    for (uint32_t i = 0; i < n; i++)
        shows += fe_late_add(l, lateness_ns);
    return shows;
}

/* More than half of the waits of a window, more than 10 us: then once, and until the reset. */
static void test_late_when_half_of_a_window_is(void **state)
{
    (void)state;
    struct fe_late l = {0};
    assert_int_equal(wait_late(&l, 5000, 10000), 0); /* exactly 10 us is not late */
    assert_int_equal(wait_late(&l, 500, 10001), 0);
    assert_int_equal(wait_late(&l, 500, 0), 0); /* half of them is not more than half */
    assert_false(l.is_late);
    assert_int_equal(wait_late(&l, 499, 0), 0);
    assert_int_equal(wait_late(&l, 500, UINT64_MAX), 0);
    assert_false(l.is_late); /* the window is not over */
    assert_int_equal(wait_late(&l, 1, 10001), 1);
    assert_true(l.is_late);
    assert_int_equal(wait_late(&l, 3000, 20000), 0); /* it is known already */
    assert_int_equal(wait_late(&l, 3000, 0), 0);
    assert_true(l.is_late);
    wait_late(&l, 700, 20000);
    fe_late_reset(&l);
    assert_false(l.is_late);
    assert_int_equal(wait_late(&l, 700, 0), 0); /* and nothing is left of the window before */
    assert_int_equal(wait_late(&l, 300, 20000), 0);
    assert_false(l.is_late);
    assert_int_equal(wait_late(&l, 1000, 20000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_margin_converges_from_below_and_above),
        cmocka_unit_test(test_margin_converges_to_low_quantile),
        cmocka_unit_test(test_margin_stays_within_bounds),
        cmocka_unit_test(test_margin_forgets_a_noisy_time),
        cmocka_unit_test(test_margin_bounds_the_weight_of_an_outlier),
        cmocka_unit_test(test_margin_is_a_function_of_its_input),
        cmocka_unit_test(test_margin_cut_takes_a_quarter),
        cmocka_unit_test(test_late_when_half_of_a_window_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
