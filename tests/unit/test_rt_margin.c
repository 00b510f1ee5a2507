/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of waiting that need no clock: the quantile estimate, and the rules and
 * tickets by which spinning is rationed.  Nothing here depends on time; the threads
 * only contend.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/rng.h"
#include "rt/late.h"
#include "rt/margin.h"
#include "rt/spin.h"

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

/* Wake-ups that are 3 us late at least, usually up to 33 us, and hardly ever more than 60 us. */
static const struct fe_spin_lateness late = {60 * US, 33 * US, 3 * US};

static void test_spin_allowance_is_whole_up_to_the_processors(void **state)
{
    (void)state;

    for (unsigned n = 1; n <= 8; n++)
        assert_int_equal(fe_spin_allowance(late, 10 * US, n, 8), 60 * US);
}

static void test_spin_allowance_falls_with_waiters(void **state)
{
    (void)state;
    uint64_t last = 60 * US;

    for (unsigned n = 3; n <= 1000; n++) {
        uint64_t a = fe_spin_allowance(late, 1000 * US, n, 2);
        assert_in_range(a, 3 * US, last);
        last = a;
    }
    assert_int_equal(last, 3 * US);
    /* two thirds of the margin, which is too much of a wait of 100 us; what is usual is not */
    assert_int_equal(fe_spin_allowance(late, 1000 * US, 3, 2), 40 * US);
    assert_int_equal(fe_spin_allowance(late, 100 * US, 3, 2), 33 * US);
}

/* Each thread spins for 30 us in a wait of 1 ms.  33 of them do that for 990 us, which one of the
 * two processors may do.  34 get a share of the margin, which is 3.5 us. */
static void test_spin_allowance_is_what_is_usual_while_half_of_the_processors_do(void **state)
{
    (void)state;

    for (unsigned n = 4; n <= 33; n++)
        assert_int_equal(fe_spin_allowance(late, 1000 * US, n, 2), 33 * US);
    assert_in_range(fe_spin_allowance(late, 1000 * US, 34, 2), 35 * US / 10, 36 * US / 10);
    /* and of more processors more */
    assert_int_equal(fe_spin_allowance(late, 1000 * US, 66, 4), 33 * US);
    assert_in_range(fe_spin_allowance(late, 1000 * US, 67, 4), 35 * US / 10, 36 * US / 10);
    /* a thread whose usual lateness is not more than its lowest one spins for nothing */
    const struct fe_spin_lateness even = {60 * US, 3 * US, 3 * US};
    assert_int_equal(fe_spin_allowance(even, 10 * US, 1000, 2), 3 * US);
}

static void test_spin_tickets_leave_one_processor(void **state)
{
    (void)state;
    const struct {
        unsigned n_processors, tickets;
    } cases[] = {{1, 1}, {2, 1}, {3, 2}, {64, 63}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fe_spin_ration r;
        fe_spin_ration_init(&r, cases[i].n_processors);
        for (unsigned n = 0; n < cases[i].tickets; n++)
            assert_true(fe_spin_take(&r));
        assert_false(fe_spin_take(&r));
        assert_false(fe_spin_take(&r)); /* a refusal takes nothing */
        fe_spin_give(&r);
        assert_true(fe_spin_take(&r));
    }
}

struct contention {
    struct fe_spin_ration ration;
    atomic_uint holders, most, n_taken;
};

static void *contend(void *arg)
{
    struct contention *c = arg;

    for (int i = 0; i < 20000; i++) {
        if (!fe_spin_take(&c->ration))
            continue;
        unsigned n = 1 + atomic_fetch_add(&c->holders, 1);
        unsigned most = atomic_load(&c->most);
        while (n > most && !atomic_compare_exchange_weak(&c->most, &most, n))
            ;
        atomic_fetch_add(&c->n_taken, 1);
        atomic_fetch_sub(&c->holders, 1);
        fe_spin_give(&c->ration);
    }
    return NULL;
}

static void test_spin_tickets_hold_under_contention(void **state)
{
    (void)state;
    struct contention c = {0};
    pthread_t threads[8];

    fe_spin_ration_init(&c.ration, 4);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, contend, &c), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_in_range(atomic_load(&c.most), 1, 3);
    assert_true(atomic_load(&c.n_taken) > 0);
    assert_int_equal(atomic_load(&c.ration.taken), 0);
}

static void test_spin_counts_waiters(void **state)
{
    (void)state;
    struct fe_spin_ration r;

    fe_spin_ration_init(&r, 2);
    assert_int_equal(fe_spin_enter(&r), 1);
    assert_int_equal(fe_spin_enter(&r), 2);
    fe_spin_leave(&r);
    assert_int_equal(fe_spin_enter(&r), 2);
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
        cmocka_unit_test(test_spin_allowance_is_whole_up_to_the_processors),
        cmocka_unit_test(test_spin_allowance_falls_with_waiters),
        cmocka_unit_test(test_spin_allowance_is_what_is_usual_while_half_of_the_processors_do),
        cmocka_unit_test(test_spin_tickets_leave_one_processor),
        cmocka_unit_test(test_spin_tickets_hold_under_contention),
        cmocka_unit_test(test_spin_counts_waiters),
        cmocka_unit_test(test_late_when_half_of_a_window_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
