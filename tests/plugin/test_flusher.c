/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flushes of many threads on a host whose disk is slow, or loses data.  The host reports lost data
 * as a kernel does: to one fdatasync of each open file.
 */
#include "lib/unit.h"

#include "flashemu/image.h"
#include "server.h"
#include "store/io.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 16, PAGE = 4096, MAX_FD = 1024 };

static char folder[64], path[96];

static struct {
    struct fe_io io;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool lost;              /* data were lost; reported[fd] says who has heard of that */
    bool reported[MAX_FD];
    bool is_stalled;        /* fdatasync does not return */
    uint32_t n_begun, n_running[MAX_FD], most; /* most: calls at the same time for one open file */
} host;

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* A call that has an error to report returns after all others that run at the same time. */
static int host_fdatasync(void *ctx, int fd)
{
    (void)ctx;
    assert_true(fd < MAX_FD);
    pthread_mutex_lock(&host.lock);
    bool fails = host.lost && !host.reported[fd];
    host.reported[fd] = host.lost;
    host.n_begun++;
    if (++host.n_running[fd] > host.most)
        host.most = host.n_running[fd];
    pthread_cond_broadcast(&host.changed);
    while (host.is_stalled)
        pthread_cond_wait(&host.changed, &host.lock);
    pthread_mutex_unlock(&host.lock);
    pause_ms(fails ? 100 : 2);
    pthread_mutex_lock(&host.lock);
    host.n_running[fd]--;
    pthread_mutex_unlock(&host.lock);
    errno = EIO;
    return fails ? -1 : 0;
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fe-flusher-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/stick", folder);
    memset(&host, 0, sizeof host);
    host.io = fe_io_host;
    host.io.fdatasync = host_fdatasync;
    pthread_mutex_init(&host.lock, NULL);
    pthread_cond_init(&host.changed, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pthread_cond_destroy(&host.changed);
    pthread_mutex_destroy(&host.lock);
    unlink(path);
    return rmdir(folder);
}

static struct fe_server *make(void)
{
    static const char *const given[][2] = {
        {"profile", "ideal"}, {"clock", "virtual"}, {"size", "4M"},
        {"nand.blocks_per_plane", "128"}, {"nand.pages_per_block", "16"}, {"nand.page_size", "4K"}};
    struct fe_err err = {""};
    struct fe_params params;
    struct fe_profile profile;
    struct fe_server *s = NULL;
    fe_params_init(&params);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        assert_int_equal(fe_params_set(&params, given[i][0], given[i][1], &err), 0);
    assert_int_equal(fe_params_set(&params, "file", path, &err), 0);
    params.io = &host.io;
    assert_int_equal(fe_params_load_profile(&params, &profile, &err), 0);
    if (fe_server_create(&s, &params, &profile, &err) < 0)
        fail_msg("%s", err.text);
    fe_profile_fini(&profile);
    fe_params_fini(&params);
    assert_int_equal(fe_server_start(s, &err), 0);
    return s;
}

struct client {
    pthread_t thread;
    struct fe_server *server;
    uint32_t id;
    bool by_fua;         /* the last write has FUA, instead of a flush that follows */
    enum fe_status status;
    uint32_t n_begun;    /* calls of fdatasync that had begun when the answer came */
};

static enum fe_status submit(struct fe_server *s, enum fe_req_type type, uint32_t page, bool fua)
{
    uint8_t data[PAGE];
    struct fe_outcome out;
    struct fe_request req = {
        .type = type, .fua = fua, .offset = (uint64_t)page * PAGE, .len = PAGE, .buf = data};
    if (type == FE_REQ_FLUSH)
        req = (struct fe_request){.type = type};
    memset(data, (int)page + 1, sizeof data);
    assert_int_equal(fe_server_submit(s, &req, NULL, NULL, &out), 0);
    if (type == FE_REQ_READ)
        assert_int_equal(data[PAGE - 1], page + 1);
    return out.reply.status;
}

static void *write_and_flush(void *arg)
{
    struct client *c = arg;
    c->status = submit(c->server, FE_REQ_WRITE, c->id, c->by_fua);
    if (!c->by_fua)
        c->status = submit(c->server, FE_REQ_FLUSH, 0, false);
    pthread_mutex_lock(&host.lock);
    c->n_begun = host.n_begun;
    pthread_mutex_unlock(&host.lock);
    return NULL;
}

static void start_clients(struct client *c, uint32_t n, struct fe_server *s)
{
    for (uint32_t i = 0; i < n; i++) {
        c[i] = (struct client){.server = s, .id = i, .by_fua = i % 2};
        assert_int_equal(pthread_create(&c[i].thread, NULL, write_and_flush, &c[i]), 0);
    }
}

static void join(struct client *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pthread_join(c[i].thread, NULL), 0);
}

static void test_flusher_everybody_hears_of_lost_data(void **state)
{
    (void)state;
    struct fe_server *s = make();
    struct client c[THREADS];
    struct fe_err err = {""};
    struct fe_err why = {""};
    assert_int_equal(submit(s, FE_REQ_WRITE, 20, true), FE_OK);
    host.lost = true;
    start_clients(c, THREADS, s);
    join(c, THREADS);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(c[i].status, FE_HOST_FAILED);

    host.lost = false; /* the host forgets about it; the server does not */
    assert_int_equal(submit(s, FE_REQ_FLUSH, 0, false), FE_HOST_FAILED);
    assert_int_equal(submit(s, FE_REQ_WRITE, 3, true), FE_HOST_FAILED);
    assert_int_equal(submit(s, FE_REQ_WRITE, 3, false), FE_HOST_FAILED);
    assert_int_equal(submit(s, FE_REQ_TRIM, 3, true), FE_HOST_FAILED);
    assert_int_equal(submit(s, FE_REQ_READ, 20, false), FE_OK);
    assert_int_equal(fe_server_failure(s, &why), -EIO);
    assert_non_null(strstr(why.text, "fdatasync"));
    assert_int_equal(fe_server_close(s, &err), -EIO);
    fe_server_destroy(s);
}

/* Two calls for one open file at the same time could not both learn of lost data. */
static void test_flusher_one_sync_at_a_time(void **state)
{
    (void)state;
    struct fe_server *s = make();
    struct client c[THREADS];
    struct fe_err err = {""};
    start_clients(c, THREADS, s);
    join(c, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(c[i].status, FE_OK);
        assert_int_equal(submit(s, FE_REQ_READ, i, false), FE_OK);
    }
    assert_int_equal(host.most, 1);
    assert_int_equal(fe_server_close(s, &err), 0);
    fe_server_destroy(s);
}

/* What is written during a sync is not on the disk when that sync ends. */
static void test_flusher_a_running_sync_is_not_for_those_who_come_later(void **state)
{
    (void)state;
    struct fe_server *s = make();
    struct client first, later[4];
    uint32_t before = host.n_begun;
    host.is_stalled = true;
    start_clients(&first, 1, s);
    pthread_mutex_lock(&host.lock);
    while (host.n_begun == before)
        pthread_cond_wait(&host.changed, &host.lock);
    pthread_mutex_unlock(&host.lock);
    start_clients(later, 4, s);
    pause_ms(50); /* most of them wait by now; if one does not, the test is only weaker */
    pthread_mutex_lock(&host.lock);
    uint32_t n_begun = host.n_begun;
    host.is_stalled = false;
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
    join(&first, 1);
    join(later, 4);
    assert_int_equal(n_begun, before + 1);
    assert_int_equal(first.status, FE_OK);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(later[i].status, FE_OK);
        assert_true(later[i].n_begun >= before + 2);
    }
    fe_server_destroy(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_flusher_everybody_hears_of_lost_data),
        T(test_flusher_one_sync_at_a_time),
        T(test_flusher_a_running_sync_is_not_for_those_who_come_later),
    };
    return cmocka_run_group_tests_name("flusher", tests, NULL, NULL);
}
