/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In which order the server carries out requests that come at the same time, and what becomes of
 * them when power fails: with the real clock, one thread for each request.
 *
 * Threads may be late by any time.  So each test looks at what the device says about the requests
 * (arrival, completion, status), and at the data, and never at the wall clock.
 */
#include "server_helper.h"

#include "server_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { PAGE = 4096, MAX = 64 };

struct task {
    pthread_t thread;
    struct fe_server *server;
    struct fe_request req;
    struct fe_outcome out;
    uint8_t data[PAGE];
};

static void *carry_out(void *arg)
{
    struct task *t = arg;
    t->req.buf = t->data;
    assert_int_equal(fe_server_submit(t->server, &t->req, NULL, NULL, &t->out), 0);
    return NULL;
}

static void start(struct task *t, struct fe_server *s, enum fe_req_type type, uint64_t page)
{
    *t = (struct task){.server = s, .req = {.type = type, .offset = page * PAGE, .len = PAGE}};
    memset(t->data, (int)(page + 1), PAGE);
    assert_int_equal(pthread_create(&t->thread, NULL, carry_out, t), 0);
}

static void join(struct task *t)
{
    assert_int_equal(pthread_join(t->thread, NULL), 0);
}

/* Waits until n requests of a kind are in the device. */
static void wait_for(struct fe_server *s, const char *kind, json_int_t n)
{
    json_int_t ops;
    do {
        json_t *stats = fe_server_stats(s);
        ops = json_integer_value(json_object_get(json_object_get(json_object_get(stats, "host"),
                                                                 kind), "ops"));
        json_decref(stats);
    } while (ops < n);
}

/* ---- the queue slot ---- */

/* Page 0 is being read, and pages 2 and 1 wait, in this order.  Page 1 must go first, because it
 * continues page 0.  Returns whether both came while page 0 was in the device. */
static bool swapped_reads(const char *overhead)
{
    static struct task t[3];
    struct fe_server *s = ft_server_make((const char *[]){"link.queue_depth=1", overhead, NULL});
    start(&t[0], s, FE_REQ_READ, 0);
    wait_for(s, "read", 1);
    start(&t[2], s, FE_REQ_READ, 2);
    start(&t[1], s, FE_REQ_READ, 1);
    for (int i = 0; i < 3; i++)
        join(&t[i]);
    fe_server_destroy(s);
    const struct fe_reply *first = &t[0].out.reply;
    bool waited = t[1].out.reply.arrival_ns < first->complete_ns &&
                  t[2].out.reply.arrival_ns < first->complete_ns;
    return waited && t[1].out.reply.complete_ns < t[2].out.reply.complete_ns;
}

/* A request keeps its queue slot until its completion.  On a very slow machine the threads may
 * come too late, and then the wait becomes longer. */
static void test_server_a_slot_is_free_at_the_completion(void **state)
{
    (void)state;
    assert_true(swapped_reads("link.command_overhead=200ms") ||
                swapped_reads("link.command_overhead=1s") ||
                swapped_reads("link.command_overhead=5s"));
}

/* ---- a queue in front of the slot ---- */

enum { QUEUED = 6 };
#define HANG_NS  UINT64_C(3600000000000)
#define SLEEP_NS UINT64_C(10000000) /* rt/delay.c has no shorter sleep that ends early */

/* A request of which the server asks whether its client is still there. */
struct asked {
    struct task task;
    bool gone_when_asked;    /* the client is gone when the server only asks */
    atomic_bool *gone; /* and so it is when the server sleeps */
    unsigned n_asked, n_slept;
    uint64_t shortest_ns;
    int result;
};

static int coarse(void *ctx, uint64_t ns)
{
    struct asked *a = ctx;
    if (ns == 0) {
        a->n_asked++;
        return a->gone_when_asked;
    }
    a->n_slept++;
    a->shortest_ns = ns < a->shortest_ns ? ns : a->shortest_ns;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return *a->gone;
}

static void *carry_out_asked(void *arg)
{
    struct asked *a = arg;
    a->task.req.buf = a->task.data;
    a->result = fe_server_submit(a->task.server, &a->task.req, coarse, a, &a->task.out);
    return NULL;
}

static void start_asked(struct asked *a, struct fe_server *s, uint64_t page, atomic_bool *gone,
                        bool gone_when_asked)
{
    *a = (struct asked){.gone = gone, .gone_when_asked = gone_when_asked, .shortest_ns = UINT64_MAX,
                        .task.server = s, .task.req = {.offset = page * PAGE, .len = PAGE}};
    assert_int_equal(pthread_create(&a->task.thread, NULL, carry_out_asked, a), 0);
}

/* Until one more request stands in the queue than when `before` was its end. */
static void wait_for_queue(struct fe_server *s, struct fe_hostq_entry **before)
{
    for (bool queued = false; !queued;) {
        pthread_mutex_lock(&s->lock);
        queued = s->queue.last != before;
        pthread_mutex_unlock(&s->lock);
    }
}

/* The device hangs, with one request in it, and others queue for its slot.  Then the client of the
 * first one hangs up.  The others have their turn one by one, and an hour to wait each. */
static void run_queue(struct asked *first, struct asked *others, bool gone_when_asked)
{
    static atomic_bool first_gone, gone;
    struct fe_err err = {""};
    struct fe_server *s = ft_server_make((const char *[]){"link.queue_depth=1", NULL});
    first_gone = false;
    gone = true;
    assert_int_equal(fe_server_hang(s, HANG_NS, &err), 0);
    start_asked(first, s, 2 * QUEUED, &first_gone, false);
    wait_for(s, "read", 1);
    for (uint32_t i = 0; i < QUEUED; i++) {
        struct fe_hostq_entry **last = s->queue.last; /* nobody moves it now */
        start_asked(&others[i], s, 2 * i, &gone, gone_when_asked);
        wait_for_queue(s, last);
    }
    first_gone = true;
    join(&first->task);
    assert_int_equal(first->result, -ESHUTDOWN);
    assert_int_equal(first->n_asked, 0); /* it did not queue */
    for (uint32_t i = 0; i < QUEUED; i++) {
        join(&others[i].task);
        assert_int_equal(others[i].result, -ESHUTDOWN);
        assert_int_equal(others[i].n_asked, 1);
    }
    fe_server_destroy(s);
}

/* Whoever comes out of the queue has the slot, and all others wait for it.  So it is asked without
 * a nap whether its client is still there: there is no sleep but the long one of its own wait. */
static void test_server_nobody_naps_in_the_slot(void **state)
{
    static struct asked first, others[QUEUED];
    (void)state;
    run_queue(&first, others, false);
    for (uint32_t i = 0; i < QUEUED; i++) {
        assert_int_equal(others[i].n_slept, 1);
        assert_true(others[i].shortest_ns >= SLEEP_NS);
    }
}

/* Requests whose client is gone leave the queue before they wait at all. */
static void test_server_a_queue_without_a_client_is_let_go(void **state)
{
    static struct asked first, others[QUEUED];
    (void)state;
    run_queue(&first, others, true);
    for (uint32_t i = 0; i < QUEUED; i++)
        assert_int_equal(others[i].n_slept, 0);
}

/* ---- power ---- */

static void check_outcome(const struct fe_reply *r, uint64_t cut_ns, uint64_t ready_ns)
{
    if (r->arrival_ns < cut_ns)
        assert_int_equal(r->status, r->complete_ns <= cut_ns ? FE_OK : FE_NO_POWER);
    else if (r->status != FE_NO_POWER)
        assert_true(r->status == FE_OK && r->complete_ns >= ready_ns);
}

/* Power is off and on again while writes are in the device and more of them wait for a slot.
 * Every one ends, and says the truth. */
static void check_power(const char *depth)
{
    static struct task t[MAX];
    struct fe_err err = {""};
    uint64_t cut_ns, ready_ns;
    struct fe_server *s = ft_server_make((const char *[]){depth, "link.command_overhead=10ms",
                                                          "nand.tPROG=1ms", NULL});
    for (uint32_t i = 0; i < MAX; i++)
        start(&t[i], s, FE_REQ_WRITE, i);
    wait_for(s, "write", 8);
    assert_int_equal(fe_server_cut_power(s, 0, 0, &cut_ns, &err), 0);
    assert_int_equal(fe_server_power_on(s, &ready_ns, &err), 0);
    for (uint32_t i = 0; i < MAX; i++)
        join(&t[i]);
    for (uint32_t i = 0; i < MAX; i++) {
        static struct task back;
        check_outcome(&t[i].out.reply, cut_ns, ready_ns);
        start(&back, s, FE_REQ_READ, i);
        join(&back);
        assert_int_equal(back.out.reply.status, FE_OK);
        if (t[i].out.reply.status == FE_OK)
            assert_memory_equal(back.data, t[i].data, PAGE);
    }
    fe_server_destroy(s);
}

static void test_server_power_at_several_depths(void **state)
{
    (void)state;
    check_power("link.queue_depth=1");
    check_power("link.queue_depth=4");
    check_power("link.queue_depth=32");
}

/* ---- the same offset ---- */

enum { THREADS = 8, ROUNDS = 60, WRITES = THREADS * ROUNDS };

/* When each write began and had its answer, and each read, in ticks of one counter.  Write 0 is
 * the state at the beginning. */
static atomic_uint tick, n_writes;
static unsigned write_began[WRITES + 1], write_ended[WRITES + 1];
static struct {
    unsigned began, value;
} reads[WRITES];
static atomic_uint n_reads;

static void *write_and_read(void *arg)
{
    static _Thread_local uint32_t data[PAGE / 4];
    struct fe_server *s = arg;
    struct fe_outcome out;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned w = ++n_writes, r = n_reads++;
        struct fe_request req = {FE_REQ_WRITE, .len = PAGE, .buf = data};
        for (int k = 0; k < PAGE / 4; k++)
            data[k] = w;
        write_began[w] = ++tick;
        assert_int_equal(fe_server_submit(s, &req, NULL, NULL, &out), 0);
        write_ended[w] = ++tick;
        req.type = FE_REQ_READ;
        reads[r].began = ++tick;
        assert_int_equal(fe_server_submit(s, &req, NULL, NULL, &out), 0);
        for (int k = 1; k < PAGE / 4; k++)
            assert_int_equal(data[k], data[0]); /* of one write */
        reads[r].value = data[0];
    }
    return NULL;
}

/* No read returns what had been overwritten before it began: a write that began when the write
 * with that value was answered, and was answered before the read began. */
static void check_reads(void)
{
    for (unsigned r = 0; r < n_reads; r++)
        for (unsigned w = 1; w <= n_writes; w++)
            assert_false(write_began[w] > write_ended[reads[r].value] &&
                         write_ended[w] < reads[r].began);
}

static void test_server_reads_and_writes_of_the_same_offset(void **state)
{
    static const char *const depths[] = {"link.queue_depth=1", "link.queue_depth=4",
                                         "link.queue_depth=32"};
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        pthread_t threads[THREADS];
        struct fe_server *s = ft_server_make((const char *[]){depths[i], "nand.tPROG=50us",
                                                              "link.command_overhead=50us", NULL});
        tick = n_writes = n_reads = 0;
        for (int k = 0; k < THREADS; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, write_and_read, s), 0);
        for (int k = 0; k < THREADS; k++)
            assert_int_equal(pthread_join(threads[k], NULL), 0);
        check_reads();
        fe_server_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_a_slot_is_free_at_the_completion),
        cmocka_unit_test(test_server_nobody_naps_in_the_slot),
        cmocka_unit_test(test_server_a_queue_without_a_client_is_let_go),
        cmocka_unit_test(test_server_power_at_several_depths),
        cmocka_unit_test(test_server_reads_and_writes_of_the_same_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
