/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who holds which lock.  The linker replaces the calls that lock and unlock (--wrap), so that each
 * thread knows what it holds: nothing is unlocked that this thread has not locked, nothing is
 * locked twice, the two locks of the server are never held together, and whoever comes back from
 * the server holds none.  A forgotten lock does no harm in nearly every run, so neither a count of
 * results nor a client would notice.
 *
 * Every command of the control socket is run, and every type of request.
 */
#include "server_helper.h"

#include "commands.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static _Thread_local pthread_mutex_t *held;
static unsigned n_locked;
static long lock_takes_ns; /* how long the next locks take */
static _Thread_local void (*after_unlock)(void); /* called after each */

int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    if (held)
        fail_msg("a second lock is taken");
    nanosleep(&(struct timespec){.tv_nsec = lock_takes_ns}, NULL);
    int r = __real_pthread_mutex_lock(m);
    held = m;
    n_locked++;
    return r;
}

int __real_pthread_mutex_trylock(pthread_mutex_t *m);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *m);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *m)
{
    if (held)
        fail_msg("a second lock is tried");
    nanosleep(&(struct timespec){.tv_nsec = lock_takes_ns}, NULL);
    int r = __real_pthread_mutex_trylock(m);
    if (r == 0) {
        held = m;
        n_locked++;
    }
    return r;
}

int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    if (held != m)
        fail_msg("a lock is given back that is not held");
    held = NULL;
    int r = __real_pthread_mutex_unlock(m);
    if (after_unlock)
        after_unlock();
    return r;
}

/* After a call that must have locked something. */
static void expect_unlocked(const char *what)
{
    if (held || n_locked == 0)
        fail_msg("%s: %s", what, held ? "keeps a lock" : "takes no lock");
    n_locked = 0;
}

static void run_commands(struct fe_server *s)
{
    static const char *const lines[] = {
        "{\"cmd\":\"stats\"}",
        "{\"cmd\":\"metrics\"}",
        "{\"cmd\":\"map\"}",
        "{\"cmd\":\"reset\"}",
        "{\"cmd\":\"get\",\"args\":[\"time-scale\"]}",
        "{\"cmd\":\"get\",\"args\":[\"transport-overhead\"]}",
        "{\"cmd\":\"get\",\"args\":[\"nand.tR\"]}",
        "{\"cmd\":\"set\",\"args\":[\"time-scale\",2.5]}",
        "{\"cmd\":\"set\",\"args\":[\"transport-overhead\",\"1us\"]}",
        "{\"cmd\":\"set\",\"args\":[\"nand.tR\",\"30us\"]}",
        "{\"cmd\":\"idle\",\"args\":[\"1ms\"]}",
        "{\"cmd\":\"mark-bad\",\"args\":[3]}",
        "{\"cmd\":\"flip\",\"args\":[0,1]}",
        "{\"cmd\":\"wear\",\"args\":[4,100]}",
        "{\"cmd\":\"hang\",\"args\":[\"1us\"]}",
        "{\"cmd\":\"disconnect\"}",
        "{\"cmd\":\"connect\"}",
        "{\"cmd\":\"power-cut\"}",
        "{\"cmd\":\"power-on\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct fe_command_wish wish;
        char *reply = fe_command_run(s, lines[i], strlen(lines[i]), FE_BY_CLIENT, &wish);
        assert_non_null(reply);
        if (!strstr(reply, "\"ok\":true") && !strstr(reply, "\"ok\": true"))
            fail_msg("%s: %s", lines[i], reply);
        free(reply);
        expect_unlocked(lines[i]);
    }
}

static void run_requests(struct fe_server *s)
{
    static uint8_t buf[4096];
    static const enum fe_req_type types[] = {FE_REQ_WRITE, FE_REQ_READ, FE_REQ_TRIM, FE_REQ_FLUSH};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct fe_request req = {.type = types[i],
                                 .len = types[i] == FE_REQ_FLUSH ? 0 : sizeof buf,
                                 .buf = types[i] == FE_REQ_TRIM || types[i] == FE_REQ_FLUSH ? NULL
                                                                                            : buf};
        struct fe_outcome out;
        assert_int_equal(fe_server_submit(s, &req, NULL, NULL, &out), 0);
        expect_unlocked("a request");
    }
}

static void run_events(struct fe_server *s)
{
    struct fe_event e[4];
    uint64_t next, dropped;
    assert_int_equal(fe_server_listen(s, &next, NULL), 0);
    expect_unlocked("listen");
    fe_server_take_events(s, &next, e, 4, &dropped);
    expect_unlocked("take_events");
    fe_server_unlisten(s);
    expect_unlocked("unlisten");
}

static void test_locks_with(const char *const *params)
{
    struct fe_server *s = ft_server_make(params);
    n_locked = 0;
    run_requests(s);
    assert_int_equal(fe_server_failure(s, NULL), 0);
    expect_unlocked("failure");
    fe_server_observe(s, NULL, NULL);
    expect_unlocked("observe");
    run_commands(s);
    run_requests(s);
    run_events(s);
    assert_int_equal(fe_server_close(s, NULL), 0);
    assert_null(held);
    fe_server_destroy(s);
}

/* With an image, a flush leaves the lock while the host's disk works. */
static void test_server_locks_clock_virtual(void **state)
{
    char path[] = "/tmp/fe-server-locks-XXXXXX", file[64];
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    snprintf(file, sizeof file, "file=%s", path);
    test_locks_with((const char *const[]){"clock=virtual", file, NULL});
    unlink(path);
}

static void test_server_locks_clock_real(void **state)
{
    (void)state;
    test_locks_with((const char *const[]){"clock=real", NULL});
}

/* A request that takes no time has its queue slot and gives it back while the lock is held once: so
 * nobody ever queues for it.  The other lock is that of the lateness. */
static void test_server_locks_of_a_request_without_time(void **state)
{
    static uint8_t buf[4096];
    struct fe_server *s = ft_server_make((const char *const[]){"clock=real", NULL});
    struct fe_request req = {.type = FE_REQ_WRITE, .len = sizeof buf, .buf = buf};
    struct fe_outcome out;
    (void)state;
    n_locked = 0;
    assert_int_equal(fe_server_submit(s, &req, NULL, NULL, &out), 0);
    assert_int_equal(out.reply.complete_ns, out.reply.arrival_ns);
    assert_int_equal(n_locked, 2);
    fe_server_destroy(s);
}

static struct fe_server *trimming;
static unsigned n_pauses;
static atomic_bool changed;
static pthread_t changer;

static void *look_at_device(void *unused)
{
    json_decref(fe_server_stats(trimming));
    return unused;
}

static void *change_device(void *unused)
{
    struct fe_err err;
    assert_int_equal(fe_server_hang(trimming, 1000000, &err), 0);
    changed = true;
    return unused;
}

/* In each pause somebody else can look.  Who wants to change something in the first one has not done
 * so in the last one. */
static void in_a_pause(void)
{
    pthread_t looker;
    if (changed || n_pauses == 3)
        return; /* this is not a pause, but the end of the request */
    if (n_pauses++ == 0)
        assert_int_equal(pthread_create(&changer, NULL, change_device, NULL), 0);
    assert_int_equal(pthread_create(&looker, NULL, look_at_device, NULL), 0);
    assert_int_equal(pthread_join(looker, NULL), 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_false(changed);
}

/* A trim of 64 MiB has four parts with a pause between each two. */
static void test_server_locks_of_a_long_trim(void **state)
{
    struct fe_request req = {.type = FE_REQ_TRIM, .len = 64 << 20};
    struct fe_outcome out;
    (void)state;
    trimming = ft_server_make((const char *const[]){"size=64M", "clock=virtual", NULL});
    n_pauses = 0;
    after_unlock = in_a_pause;
    assert_int_equal(fe_server_submit(trimming, &req, NULL, NULL, &out), 0);
    after_unlock = NULL;
    assert_int_equal(pthread_join(changer, NULL), 0);
    assert_int_equal(n_pauses, 3);
    assert_true(changed);
    assert_int_equal(out.reply.complete_ns, 0); /* the hang is for the next request */
    fe_server_destroy(trimming);
}

/* Requests may be answered while a cut waits for the lock.  They ended before the cut, so its time
 * is that at which the lock was got. */
static void test_server_locks_and_the_time_of_a_cut(void **state)
{
    struct fe_server *s = ft_server_make((const char *const[]){"clock=real", NULL});
    struct fe_err err = {""};
    uint64_t before_ns, ready_ns, cut_ns;
    (void)state;
    assert_int_equal(fe_server_cut_power(s, 0, 0, &before_ns, &err), 0);
    assert_int_equal(fe_server_power_on(s, &ready_ns, &err), 0);
    lock_takes_ns = 200000000;
    assert_int_equal(fe_server_cut_power(s, 0, 0, &cut_ns, &err), 0);
    lock_takes_ns = 0;
    assert_true(cut_ns >= before_ns + 200000000);
    fe_server_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_locks_clock_virtual),
        cmocka_unit_test(test_server_locks_clock_real),
        cmocka_unit_test(test_server_locks_of_a_long_trim),
        cmocka_unit_test(test_server_locks_of_a_request_without_time),
        cmocka_unit_test(test_server_locks_and_the_time_of_a_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
