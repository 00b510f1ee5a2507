/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules by which spinning is rationed, its tickets, and the spin behind others.  The clock is
 * read, but no test depends on how fast the machine is: sched_yield is this file's own, and stands
 * for the threads that get the processor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "rt/ration.h"
#include "rt/spin.h"

#define US FE_NS_PER_US
#define MS FE_NS_PER_MS

/* What others do when a spin lets them go first: each takes the processor for so long. */
static uint64_t others_take_ns;
static unsigned n_yields;

int sched_yield(void)
{
    uint64_t end = fe_clock_now_ns() + others_take_ns;
    n_yields++;
    while (fe_clock_now_ns() < end)
        continue;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    others_take_ns = n_yields = 0;
    return 0;
}

/* Wake-ups that are 3 us late at least, usually up to 33 us, and hardly ever more than 60 us. */
static const struct fe_spin_lateness late = {60 * US, 33 * US, 3 * US};

static void test_spin_allowance_is_whole_up_to_the_processors(void **state)
{
    (void)state;

    for (unsigned n = 1; n <= 8; n++)
        assert_int_equal(fe_spin_allowance(late, 10 * US, n, 8, true), 60 * US);
}

static void test_spin_allowance_falls_with_waiters(void **state)
{
    (void)state;
    uint64_t last = 60 * US;

    for (unsigned n = 3; n <= 1000; n++) {
        uint64_t a = fe_spin_allowance(late, 1000 * US, n, 2, true);
        assert_in_range(a, 3 * US, last);
        last = a;
    }
    assert_int_equal(last, 3 * US);
    /* two thirds of the margin, which is too much of a wait of 100 us; what is usual is not */
    assert_int_equal(fe_spin_allowance(late, 1000 * US, 3, 2, true), 40 * US);
    assert_int_equal(fe_spin_allowance(late, 100 * US, 3, 2, true), 33 * US);
}

/* Each thread spins for 30 us in a wait of 1 ms.  33 of them do that for 990 us, which one of the
 * two processors may do.  34 get a share of the margin, which is 3.5 us. */
static void test_spin_allowance_is_what_is_usual_while_half_of_the_processors_do(void **state)
{
    (void)state;

    for (unsigned n = 4; n <= 33; n++)
        assert_int_equal(fe_spin_allowance(late, 1000 * US, n, 2, true), 33 * US);
    assert_in_range(fe_spin_allowance(late, 1000 * US, 34, 2, true), 35 * US / 10, 36 * US / 10);
    /* and of more processors more */
    assert_int_equal(fe_spin_allowance(late, 1000 * US, 66, 4, true), 33 * US);
    assert_in_range(fe_spin_allowance(late, 1000 * US, 67, 4, true), 35 * US / 10, 36 * US / 10);
    /* a thread whose usual lateness is not more than its lowest one spins for nothing */
    const struct fe_spin_lateness even = {60 * US, 3 * US, 3 * US};
    assert_int_equal(fe_spin_allowance(even, 10 * US, 1000, 2, true), 3 * US);
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

/* With free processors a crowd wakes up as early as is usual, however large it is. */
static void test_spin_allowance_is_what_is_usual_on_free_processors(void **state)
{
    (void)state;
    for (unsigned n = 4; n <= 1000; n++)
        assert_int_equal(fe_spin_allowance(late, 1000 * US, n, 2, false), 33 * US);
    assert_int_equal(fe_spin_allowance(late, 1000 * US, 3, 2, false), 40 * US);
    assert_int_equal(fe_spin_allowance(late, 10 * US, 2, 2, false), 60 * US);
}

/* Margins of 60 us: a wait of less than 240 us is spent awake.  In a crowd on two processors a wait
 * of 100 us has 200 us / n of them for each thread, and what is usual is 33 us. */
static void test_sleep_that_saves_nothing(void **state)
{
    (void)state;
    assert_true(fe_spin_saves_nothing(late, 239 * US, 1, 2));
    assert_false(fe_spin_saves_nothing(late, 240 * US, 1, 2));
    assert_true(fe_spin_saves_nothing(late, 239 * US, 2, 2));
    for (unsigned n = 3; n <= 6; n++)
        assert_false(fe_spin_saves_nothing(late, 100 * US, n, 2));
    for (unsigned n = 7; n <= 64; n++)
        assert_true(fe_spin_saves_nothing(late, 100 * US, n, 2));
    assert_false(fe_spin_saves_nothing(late, 1000 * US, 16, 2));
    assert_false(fe_spin_saves_nothing(late, 100 * US, 7, 4));
}

/* Busy for 10 ms, then for twice as long as before if that is soon again, at most for 2.56 s. */
static void test_busy_for_longer_each_time(void **state)
{
    (void)state;
    struct fe_spin_ration r;
    uint64_t now = 5 * FE_NS_PER_S, for_ns = 10 * MS;

    fe_spin_ration_init(&r, 2);
    assert_false(fe_spin_is_busy(&r, 0));
    for (int i = 0; i < 12; i++) {
        fe_spin_note_busy(&r, now);
        fe_spin_note_busy(&r, now + for_ns - 1); /* known already */
        assert_true(fe_spin_is_busy(&r, now + for_ns - 1));
        assert_false(fe_spin_is_busy(&r, now + for_ns));
        now += 5 * for_ns - 1;
        for_ns = i < 8 ? 2 * for_ns : 2560 * MS;
    }
    now += 1000 * MS * 15;
    fe_spin_note_busy(&r, now); /* not soon */
    assert_true(fe_spin_is_busy(&r, now + 10 * MS - 1));
    assert_false(fe_spin_is_busy(&r, now + 10 * MS));
}

/* Two thirds of the spins end in time: not busy.  One more of each hundred is late: busy. */
static void test_busy_if_more_than_a_third_is_late(void **state)
{
    (void)state;
    struct fe_spin_ration r;

    fe_spin_ration_init(&r, 2);
    for (int i = 0; i < 3000; i++)
        fe_spin_note_lateness(&r, MS, i % 3 ? 10 * US : 10 * US + 1);
    assert_false(fe_spin_is_busy(&r, MS));
    for (int i = 0; i < 10000; i++)
        fe_spin_note_lateness(&r, MS, i % 100 == 1 || i % 3 == 0 ? UINT64_MAX : 0);
    assert_true(fe_spin_is_busy(&r, MS));
    /* a single bad moment is not enough, and is forgotten */
    fe_spin_ration_init(&r, 2);
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 60; k++)
            fe_spin_note_lateness(&r, MS, k < 20 ? 20 * US : 0);
        assert_false(fe_spin_is_busy(&r, MS));
    }
}

/* Others who take little time each: the spin asks them all the time, and ends at its instant. */
static void test_spin_behind_others_lets_them_go_first(void **state)
{
    (void)state;
    struct fe_spin_ration r;

    others_take_ns = 3 * US;
    for (int i = 0; i < 50 && n_yields == 0; i++) { /* this thread may lose its processor, too */
        fe_spin_ration_init(&r, 2);
        uint64_t at = fe_clock_now_ns() + 20 * MS;
        uint64_t end = fe_spin_behind_others(&r, at);
        assert_true(end >= at || fe_spin_is_busy(&r, end));
    }
    assert_true(n_yields > 0);
}

/* Shortly before its end it keeps the processor. */
static void test_spin_behind_others_keeps_the_end(void **state)
{
    (void)state;
    struct fe_spin_ration r;

    fe_spin_ration_init(&r, 2);
    uint64_t at = fe_clock_now_ns() + FE_SPIN_LAST_NS;
    assert_true(fe_spin_behind_others(&r, at) >= at);
    assert_int_equal(n_yields, 0);
    assert_true(fe_spin_behind_others(&r, 1) >= at); /* what has passed is not waited for */
    assert_int_equal(n_yields, 0);
}

/* Somebody who keeps the processor: the spin gives up after the first time, long before its end,
 * and the next one does not try. */
static void test_spin_behind_others_ends_where_they_keep_the_processor(void **state)
{
    (void)state;
    struct fe_spin_ration r;

    fe_spin_ration_init(&r, 2);
    others_take_ns = FE_SPIN_GAP_NS + US;
    uint64_t at = fe_clock_now_ns() + 10 * FE_NS_PER_S;
    uint64_t end = fe_spin_behind_others(&r, at);
    assert_true(end < at);
    assert_int_equal(n_yields, 1);
    assert_true(fe_spin_is_busy(&r, end));
    atomic_store(&r.busy_until_ns, at);
    assert_true(fe_spin_behind_others(&r, at) < at);
    assert_int_equal(n_yields, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spin_allowance_is_whole_up_to_the_processors),
        cmocka_unit_test(test_spin_allowance_falls_with_waiters),
        cmocka_unit_test(test_spin_allowance_is_what_is_usual_while_half_of_the_processors_do),
        cmocka_unit_test(test_spin_tickets_leave_one_processor),
        cmocka_unit_test(test_spin_tickets_hold_under_contention),
        cmocka_unit_test(test_spin_counts_waiters),
        cmocka_unit_test(test_spin_allowance_is_what_is_usual_on_free_processors),
        cmocka_unit_test(test_sleep_that_saves_nothing),
        cmocka_unit_test(test_busy_for_longer_each_time),
        cmocka_unit_test(test_busy_if_more_than_a_third_is_late),
        cmocka_unit_test_setup(test_spin_behind_others_lets_them_go_first, setup),
        cmocka_unit_test_setup(test_spin_behind_others_keeps_the_end, setup),
        cmocka_unit_test_setup(test_spin_behind_others_ends_where_they_keep_the_processor, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
