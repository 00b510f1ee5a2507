/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The server's shared state under many threads, without nbdkit around it, so that a
 * thread sanitizer sees every lock.  Readers and writers check their own sectors, while other
 * threads do what the control socket does.
 */
#include "server_helper.h"

#include <pthread.h>

enum { THREADS = 8, REQUESTS = 150, SECTOR = 512 };

struct worker {
    pthread_t thread;
    struct fe_server *server;
    uint32_t id;
};

/* What nbdkit asks of each new connection, while `set` changes the profile. */
static void expect_constants(const struct fe_server *s)
{
    assert_true(fe_server_capacity(s) >= THREADS * REQUESTS * SECTOR);
    assert_int_equal(fe_server_page_bytes(s) % SECTOR, 0);
    assert_null(fe_server_crash_note(s));
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct fe_outcome out;
    uint8_t data[SECTOR], back[SECTOR];
    for (uint32_t i = 0; i < REQUESTS; i++) {
        uint64_t offset = (uint64_t)(w->id * REQUESTS + i) * SECTOR;
        memset(data, (int)(w->id * 31 + i), sizeof data);
        struct fe_request req = {FE_REQ_WRITE, .offset = offset, .len = SECTOR, .buf = data};
        assert_int_equal(fe_server_submit(w->server, &req, NULL, NULL, &out), 0);
        assert_true(out.reply.complete_ns >= out.reply.arrival_ns);
        req.type = FE_REQ_READ;
        req.buf = back;
        assert_int_equal(fe_server_submit(w->server, &req, NULL, NULL, &out), 0);
        assert_memory_equal(back, data, SECTOR);
        expect_constants(w->server);
    }
    return NULL;
}

static void hammer(const char *clock, const char *depth)
{
    struct worker w[THREADS];
    struct fe_err err;
    struct fe_server *s =
        ft_server_make((const char *[]){clock, depth, "link.command_overhead=20us", NULL});
    for (uint32_t i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.server = s, .id = i};
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        char value[64];
        uint64_t now;
        fe_err_init(&err);
        json_t *stats = fe_server_stats(s);
        assert_non_null(stats);
        json_decref(stats);
        const char *overhead = i % 2 ? "10us" : "30us";
        assert_int_equal(fe_server_set(s, "link.command_overhead", overhead, &err), 0);
        assert_int_equal(fe_server_get(s, "link.command_overhead", value, sizeof value, &err), 0);
        assert_int_equal(fe_server_idle(s, 1000, &now, &err), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);

    json_t *stats = fe_server_stats(s);
    json_t *host = json_object_get(stats, "host");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(host, "read"), "ops")),
                     THREADS * REQUESTS);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(host, "write"), "ops")),
                     THREADS * REQUESTS);
    json_decref(stats);
    fe_server_destroy(s);
}

static void test_server_many_threads_one_slot(void **state)
{
    (void)state;
    hammer("clock=real", "link.queue_depth=1");
}

static void test_server_many_threads_many_slots(void **state)
{
    (void)state;
    hammer("clock=real", "link.queue_depth=16");
}

static void test_server_many_threads_virtual_clock(void **state)
{
    (void)state;
    hammer("clock=virtual", "link.queue_depth=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_many_threads_one_slot),
        cmocka_unit_test(test_server_many_threads_many_slots),
        cmocka_unit_test(test_server_many_threads_virtual_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
