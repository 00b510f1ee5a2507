/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's request queue: in which order requests that had to wait are let in.
 *
 * Each request is a thread.  The next one is started only when the one before stands in
 * the queue (it has released the lock in its wait), so the order of coming is exact; the
 * order of entering is then what the rule says, on any machine.
 */
#include "lib/unit.h"

#include "hostq.h"

#include <pthread.h>
#include <string.h>

enum { MAX = 40 };

static struct fe_hostq queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t n_entered, entered[MAX];

struct waiter {
    pthread_t thread;
    uint32_t id;
    struct fe_request req;
};

static struct fe_request write_at(uint64_t offset)
{
    return (struct fe_request){.type = FE_REQ_WRITE, .offset = offset, .len = 100};
}

static void *wait_and_note(void *arg)
{
    struct waiter *w = arg;
    pthread_mutex_lock(&lock);
    fe_hostq_enter(&queue, &lock, &w->req);
    entered[n_entered++] = w->id;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Threads that stand in the queue, by walking its links: the end moves with each. */
static void start(struct waiter *w, uint32_t id, struct fe_request req)
{
    w->id = id;
    w->req = req;
    pthread_mutex_lock(&lock);
    struct fe_hostq_entry **before = queue.last;
    pthread_mutex_unlock(&lock);
    assert_int_equal(pthread_create(&w->thread, NULL, wait_and_note, w), 0);
    for (bool queued = false; !queued;) {
        pthread_mutex_lock(&lock);
        queued = queue.last != before;
        pthread_mutex_unlock(&lock);
    }
}

static void leave_and_wait(uint32_t n)
{
    pthread_mutex_lock(&lock);
    fe_hostq_leave(&queue);
    pthread_mutex_unlock(&lock);
    for (bool done = false; !done;) {
        pthread_mutex_lock(&lock);
        done = n_entered >= n;
        pthread_mutex_unlock(&lock);
    }
}

/* Lets n waiters through one slot, after a first request [0, 100) that holds it. */
static void run_requests(const struct fe_request *reqs, uint32_t n)
{
    struct waiter w[MAX];
    struct fe_request first = write_at(0);
    fe_hostq_init(&queue, 1);
    n_entered = 0;
    pthread_mutex_lock(&lock);
    assert_false(fe_hostq_enter(&queue, &lock, &first));
    pthread_mutex_unlock(&lock);
    for (uint32_t i = 0; i < n; i++)
        start(&w[i], i, reqs[i]);
    for (uint32_t i = 0; i < n; i++)
        leave_and_wait(i + 1);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
    fe_hostq_leave(&queue);
    assert_int_equal(queue.in_device, 0);
    assert_null(queue.first);
    assert_ptr_equal(queue.last, &queue.first);
}

static void run(const uint64_t *offsets, uint32_t n)
{
    struct fe_request reqs[MAX];
    for (uint32_t i = 0; i < n; i++)
        reqs[i] = write_at(offsets[i]);
    run_requests(reqs, n);
}

/* Reads and writes of the same range are different streams.  Of equal requests the oldest goes
 * first. */
static void test_hostq_the_same_offset(void **state)
{
    (void)state;
    const struct fe_request reqs[] = {
        {FE_REQ_READ, .offset = 100, .len = 100},  {FE_REQ_WRITE, .offset = 100, .len = 100},
        {FE_REQ_WRITE, .offset = 100, .len = 100}, {FE_REQ_READ, .offset = 0, .len = 100},
        {FE_REQ_WRITE, .offset = 0, .len = 100},   {FE_REQ_READ, .offset = 100, .len = 100},
    };
    /* the write goes on; then the oldest read, but after the read that leads up to it; then the
     * oldest write, likewise */
    const uint32_t order[] = {1, 3, 0, 4, 2, 5};
    run_requests(reqs, 6);
    assert_memory_equal(entered, order, sizeof order);
}

static void test_hostq_free_slots_need_no_waiting(void **state)
{
    (void)state;
    struct fe_request req = write_at(0);
    fe_hostq_init(&queue, 2);
    assert_false(fe_hostq_enter(&queue, &lock, &req));
    assert_false(fe_hostq_enter(&queue, &lock, &req));
    fe_hostq_leave(&queue);
    assert_false(fe_hostq_enter(&queue, &lock, &req));
    fe_hostq_leave(&queue);
    fe_hostq_leave(&queue);
    assert_int_equal(queue.in_device, 0);
}

static void test_hostq_overtaken_requests_go_in_order(void **state)
{
    (void)state;
    const uint64_t offsets[] = {300, 100, 400, 200};
    const uint32_t order[] = {1, 3, 0, 2};
    run(offsets, 4);
    assert_memory_equal(entered, order, sizeof order);
}

static void test_hostq_without_a_continuation_the_oldest_goes(void **state)
{
    (void)state;
    const uint64_t offsets[] = {5000, 3000, 4000};
    const uint32_t order[] = {0, 1, 2};
    run(offsets, 3);
    assert_memory_equal(entered, order, sizeof order);
}

/* However long the stream: each that has been overtaken was so only once. */
static void test_hostq_swapped_neighbours_never_break_a_stream(void **state)
{
    (void)state;
    uint64_t offsets[MAX];
    for (uint32_t i = 0; i < MAX; i++)
        offsets[i] = 100 * (1 + (i ^ 1));
    run(offsets, MAX);
    for (uint32_t i = 0; i < MAX; i++)
        assert_int_equal(entered[i], i ^ 1);
}

static void test_hostq_another_stream_begins_at_its_start(void **state)
{
    (void)state;
    const uint64_t offsets[] = {5200, 9000, 5100, 5300, 5000};
    const uint32_t order[] = {4, 2, 0, 3, 1};
    run(offsets, 5);
    assert_memory_equal(entered, order, sizeof order);
}

static void test_hostq_a_stream_does_not_starve_others(void **state)
{
    (void)state;
    uint64_t offsets[MAX];
    offsets[0] = 100000; /* the oldest, elsewhere */
    for (uint32_t i = 1; i < 30; i++)
        offsets[i] = 100 * i;
    run(offsets, 30);
    for (uint32_t i = 0; i < FE_HOSTQ_BATCH; i++)
        assert_int_equal(entered[i], i + 1);
    assert_int_equal(entered[FE_HOSTQ_BATCH], 0);
    for (uint32_t i = FE_HOSTQ_BATCH + 1; i < 30; i++)
        assert_int_equal(entered[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostq_free_slots_need_no_waiting),
        cmocka_unit_test(test_hostq_the_same_offset),
        cmocka_unit_test(test_hostq_overtaken_requests_go_in_order),
        cmocka_unit_test(test_hostq_without_a_continuation_the_oldest_goes),
        cmocka_unit_test(test_hostq_swapped_neighbours_never_break_a_stream),
        cmocka_unit_test(test_hostq_another_stream_begins_at_its_start),
        cmocka_unit_test(test_hostq_a_stream_does_not_starve_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
