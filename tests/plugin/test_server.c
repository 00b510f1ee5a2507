/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The server's shared state under many threads, without nbdkit around it, so that a
 * thread sanitizer sees every lock.  Readers and writers check their own sectors, while other
 * threads do what the control socket does.
 */
#include "server_helper.h"

#include "server_internal.h"

#include <errno.h>
#include <pthread.h>

enum { THREADS = 8, REQUESTS = 150, SECTOR = 512 };

struct worker {
    pthread_t thread;
    struct fe_server *server;
    uint32_t id;
};

/* What nbdkit asks of each new connection, while `set` changes the profile. */
static void expect_constants(struct fe_server *s)
{
    assert_true(fe_server_capacity(s) >= THREADS * REQUESTS * SECTOR);
    assert_int_equal(fe_server_page_bytes(s) % SECTOR, 0);
    assert_null(fe_server_image_note(s));
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

/* A request of pages of 4 KiB, whose memory is the caller's again afterwards. */
static void write_pages(struct fe_server *s, uint64_t offset, uint8_t *data, uint64_t len, int want)
{
    struct fe_request req = {FE_REQ_WRITE, .offset = offset, .len = len, .buf = data};
    struct fe_outcome out;
    assert_int_equal(fe_server_submit(s, &req, NULL, NULL, &out), want);
    memset(data, 0xff, len);
}

/* A device that keeps pages has the data, and so has one that does not.  Nothing is lent any more
 * when requests have ended, whatever became of them. */
static void whole_pages(const char *cache, bool keeps)
{
    enum { PAGE = 4096, PAGES = 300, LENT = 256 };
    static uint8_t want[(PAGES + 2) * PAGE], data[sizeof want];
    struct fe_outcome out;
    struct fe_server *s = ft_server_make((const char *[]){"clock=virtual", cache, NULL});
    assert_int_equal(fe_server_page_bytes(s), PAGE);
    memset(want, 0, sizeof want);
    for (uint32_t i = 0; i < PAGES; i++) {
        uint64_t offset = i % 10 == 9 ? i * PAGE - PAGE / 2 : i * PAGE;
        memset(data, (int)i, PAGE);
        if (i % 10 == 5) {
            write_pages(s, fe_server_capacity(s), data, PAGE, -EINVAL);
        } else {
            memcpy(want + offset, data, PAGE);
            write_pages(s, offset, data, PAGE, 0);
        }
    }
    memset(data, 1, PAGE);
    memset(data + PAGE, 2, PAGE);
    memcpy(want + PAGES * PAGE, data, 2 * PAGE);
    write_pages(s, PAGES * PAGE, data, 2 * PAGE, 0);
    struct fe_request all = {FE_REQ_READ, .len = sizeof data, .buf = data};
    assert_int_equal(fe_server_submit(s, &all, NULL, NULL, &out), 0);
    assert_memory_equal(data, want, sizeof want);
    assert_int_equal(s->keeps_pages, keeps);
    for (uint32_t i = 0; i < LENT; i++)
        assert_non_null(fe_device_lend(s->dev, NULL));
    assert_null(fe_device_lend(s->dev, NULL));
    fe_server_destroy(s);
}

static void test_server_a_device_keeps_whole_pages(void **state)
{
    (void)state;
    whole_pages("cache.size=none", true);
}

static void test_server_a_cache_keeps_no_pages(void **state)
{
    (void)state;
    whole_pages("cache.size=64K", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_many_threads_one_slot),
        cmocka_unit_test(test_server_many_threads_many_slots),
        cmocka_unit_test(test_server_many_threads_virtual_clock),
        cmocka_unit_test(test_server_a_device_keeps_whole_pages),
        cmocka_unit_test(test_server_a_cache_keeps_no_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
