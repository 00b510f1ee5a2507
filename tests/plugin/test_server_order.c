/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In which order the server carries out requests that come at the same time, and what becomes of
 * them when power fails: with the real clock, one thread for each request.
 *
 * Threads may be late by any time.  So each test looks at what the device says about the requests
 * (arrival, completion, status), and at the data, and never at the wall clock.
 */
#include "server_helper.h"

#include <pthread.h>
#include <stdatomic.h>

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
        cmocka_unit_test(test_server_power_at_several_depths),
        cmocka_unit_test(test_server_reads_and_writes_of_the_same_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
