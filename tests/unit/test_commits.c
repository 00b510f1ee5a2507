/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Commits: which requests belong to one, and how long it takes.  All times are counted by hand.
 */
#include "lib/unit.h"

#include "flashemu/commits.h"

enum kind { R, W, F, T, FUA, FAIL };

struct step {
    enum kind kind;
    uint64_t arrival_ns, complete_ns;
};

/* The latencies of the commits of some requests: how many, their sum and the largest one. */
static void check(const struct step *steps, size_t n, uint64_t count, uint64_t sum, uint64_t max)
{
    static const enum fe_req_type types[] = {[R] = FE_REQ_READ, [W] = FE_REQ_WRITE,
                                             [F] = FE_REQ_FLUSH, [T] = FE_REQ_TRIM,
                                             [FUA] = FE_REQ_WRITE};
    static struct fe_commits c;
    static struct fe_hist h;

    memset(&c, 0, sizeof c);
    for (size_t i = 0; i < n; i++)
        if (steps[i].kind == FAIL)
            fe_commits_fail(&c);
        else
            fe_commits_add(&c, types[steps[i].kind], steps[i].kind == FUA, steps[i].arrival_ns,
                           steps[i].complete_ns);
    fe_commits_latency(&c, &h);
    assert_int_equal(h.count, count);
    assert_true(h.sum == sum);
    assert_int_equal(h.max, max);
    fe_commits_reset(&c);
    fe_commits_latency(&c, &h);
    assert_int_equal(h.count, 0);
}

#define CHECK(count, sum, max, ...)                                             \
    do {                                                                        \
        static const struct step steps_[] = {__VA_ARGS__};                      \
        check(steps_, ft_array_len(steps_), count, sum, max);                   \
    } while (0)

static void test_writes_and_a_flush(void **state)
{
    (void)state;
    CHECK(1, 60, 60, {W, 10, 30}, {W, 30, 50}, {F, 50, 70});
    /* The next write begins the next commit, and a read changes nothing. */
    CHECK(2, 60 + 17, 60, {W, 10, 30}, {R, 30, 40}, {F, 50, 70}, {W, 71, 75}, {F, 75, 88});
    /* A flush behind a flush makes nothing more durable, and one without writes commits nothing. */
    CHECK(1, 25, 25, {F, 5, 8}, {W, 10, 30}, {F, 30, 35}, {F, 35, 95});
    CHECK(0, 0, 0, {W, 10, 30}, {T, 30, 40}, {R, 40, 50});
}

static void test_the_commit_block_of_a_journal(void **state)
{
    (void)state;
    CHECK(1, 95, 95, {W, 10, 30}, {W, 30, 50}, {F, 50, 70}, {FUA, 80, 105});
    /* It ends the commit: what follows is another one. */
    CHECK(2, 95 + 41, 95, {W, 10, 30}, {F, 50, 70}, {FUA, 80, 105}, {W, 106, 110}, {F, 110, 147});
    /* Without a write in front there is only what FUA makes durable, and the flush is none. */
    CHECK(1, 25, 25, {F, 50, 70}, {FUA, 80, 105});
}

static void test_writes_that_are_durable_themselves(void **state)
{
    (void)state;
    CHECK(3, 20 + 30 + 7, 30, {FUA, 10, 30}, {FUA, 30, 60}, {FUA, 60, 67});
    /* They make nothing else durable: the write waits for its flush. */
    CHECK(2, 20 + 85, 85, {W, 5, 10}, {FUA, 10, 30}, {F, 60, 90});
}

static void test_a_pause(void **state)
{
    (void)state;
    /* Written back, and nobody waits; then a commit. */
    CHECK(1, 33, 33, {W, 10, 30}, {W, 30 + FE_COMMIT_PAUSE_NS + 1, FE_COMMIT_PAUSE_NS + 50},
          {F, FE_COMMIT_PAUSE_NS + 50, FE_COMMIT_PAUSE_NS + 64});
    /* One ns less is no pause. */
    CHECK(1, FE_COMMIT_PAUSE_NS + 54, FE_COMMIT_PAUSE_NS + 54, {W, 10, 30},
          {W, 30 + FE_COMMIT_PAUSE_NS, FE_COMMIT_PAUSE_NS + 50},
          {F, FE_COMMIT_PAUSE_NS + 50, FE_COMMIT_PAUSE_NS + 64});
    /* A commit ends with a pause; the next write with FUA is one of its own. */
    CHECK(2, 35 + 9, 35, {W, 10, 30}, {F, 30, 45},
          {FUA, 46 + FE_COMMIT_PAUSE_NS, 55 + FE_COMMIT_PAUSE_NS});
    /* Requests under way are no pause, however long they take. */
    CHECK(1, 3 * FE_COMMIT_PAUSE_NS, 3 * FE_COMMIT_PAUSE_NS, {W, 0, 2 * FE_COMMIT_PAUSE_NS},
          {F, 2 * FE_COMMIT_PAUSE_NS, 3 * FE_COMMIT_PAUSE_NS});
}

static void test_requests_in_flight(void **state)
{
    (void)state;
    /* The flush arrives while writes are under way, and a write behind it ends first. */
    CHECK(1, 60, 60, {W, 10, 40}, {W, 11, 35}, {F, 12, 70}, {W, 13, 50});
    /* A pause begins when the last of them is done, and not the one that came last. */
    CHECK(1, 2 * FE_COMMIT_PAUSE_NS + 30, 2 * FE_COMMIT_PAUSE_NS + 30, {W, 10, 2 * FE_COMMIT_PAUSE_NS},
          {W, 11, 35}, {W, 2 * FE_COMMIT_PAUSE_NS + 5, 2 * FE_COMMIT_PAUSE_NS + 20},
          {F, 2 * FE_COMMIT_PAUSE_NS + 20, 2 * FE_COMMIT_PAUSE_NS + 40});
}

static void test_failures(void **state)
{
    (void)state;
    CHECK(1, 21, 21, {W, 10, 30}, {FAIL, 0, 0}, {F, 31, 40}, {W, 41, 50}, {F, 50, 62});
    CHECK(0, 0, 0, {W, 10, 30}, {F, 30, 40}, {FAIL, 0, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_and_a_flush),
        cmocka_unit_test(test_the_commit_block_of_a_journal),
        cmocka_unit_test(test_writes_that_are_durable_themselves),
        cmocka_unit_test(test_a_pause),
        cmocka_unit_test(test_requests_in_flight),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests_name("commits", tests, NULL, NULL);
}
