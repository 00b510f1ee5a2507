/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The server without memory, and with a system that refuses: each allocation and each call fails
 * in turn.  Whatever fails, there is one message or one line of JSON, nothing is lost, and the
 * server goes on.
 *
 * The linker replaces the calls below (--wrap); jansson is given an allocator that fails, too.
 * With offsets of 64 bits, pread, ftruncate and lstat have other names for the linker.
 */
#include "server_helper.h"

#include "commands.h"
#include "control.h"
#include "debug.h"
#include "recorder.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int flashemu_debug_control; /* of plugin.c */

void fe_debug(const char *fmt, ...)
{
    (void)fmt;
}

/* The allocation that fails, counted down; 0: none.  With `for_good` all later ones fail, too. */
static atomic_int fail_alloc;
static atomic_bool for_good;

/* The errno of the next call of each function; 0: it works. */
static struct {
    atomic_int eventfd, pthread_create, accept4, send, recv, pread64, ftruncate64, fdopen, fclose,
        lstat64, listen, socket;
} fails;

static bool refuse(atomic_int *errnum)
{
    int r = atomic_exchange(errnum, 0);
    if (r)
        errno = r;
    return r;
}

static bool refuse_alloc(void)
{
    int n = atomic_load(&fail_alloc);
    if (n > 1)
        atomic_fetch_sub(&fail_alloc, 1);
    else if (n == 1 && !for_good)
        atomic_store(&fail_alloc, 0);
    if (n == 1)
        errno = ENOMEM;
    return n == 1;
}

#define REPLACE(result, name, failure, params, args)                                         \
    result __real_##name params;                                                             \
    result __wrap_##name params;                                                             \
    result __wrap_##name params                                                              \
    {                                                                                        \
        return refuse(&fails.name) ? (failure) : __real_##name args;                         \
    }

REPLACE(int, eventfd, -1, (unsigned n, int flags), (n, flags))
REPLACE(int, accept4, -1, (int fd, struct sockaddr *a, socklen_t *len, int flags),
        (fd, a, len, flags))
REPLACE(ssize_t, send, -1, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags))
REPLACE(ssize_t, recv, -1, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags))
REPLACE(ssize_t, pread64, -1, (int fd, void *buf, size_t n, off_t at), (fd, buf, n, at))
REPLACE(int, ftruncate64, -1, (int fd, off_t len), (fd, len))
REPLACE(FILE *, fdopen, NULL, (int fd, const char *mode), (fd, mode))
REPLACE(int, lstat64, -1, (const char *path, struct stat *ret), (path, ret))
REPLACE(int, listen, -1, (int fd, int n), (fd, n))
REPLACE(int, socket, -1, (int family, int type, int protocol), (family, type, protocol))

int __real_fclose(FILE *f);
int __wrap_fclose(FILE *f);
int __wrap_fclose(FILE *f)
{
    int r = __real_fclose(f);
    return refuse(&fails.fclose) ? EOF : r;
}

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    return refuse(&fails.pthread_create) ? errno : __real_pthread_create(t, a, fn, arg);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return refuse_alloc() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return refuse_alloc() ? NULL : __real_calloc(n, size);
}

char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__wrap_strdup(const char *s)
{
    return refuse_alloc() ? NULL : __real_strdup(s);
}

int __wrap_asprintf(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **ret, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int r = refuse_alloc() ? -1 : vasprintf(ret, fmt, ap);
    va_end(ap);
    return r;
}

/* ---- commands ---- */

static char trace_path[] = "/tmp/fe-server-faults-XXXXXX";

static struct fe_server *make_server(void)
{
    char trace[64];
    snprintf(trace, sizeof trace, "trace=%s", trace_path);
    return ft_server_make((const char *[]){"clock=virtual", trace, "faults.spare_blocks=0", NULL});
}

/* A reply is a line of JSON that says whether it is ok; NULL without memory. */
static void expect_reply(char *reply)
{
    json_t *o = reply ? json_loads(reply, 0, NULL) : NULL;
    if (reply) {
        assert_true(json_is_boolean(json_object_get(o, "ok")));
        assert_true(json_is_true(json_object_get(o, "ok")) ||
                    json_is_string(json_object_get(o, "error")));
    }
    json_decref(o);
    free(reply);
}

static void test_commands_without_memory(void **state)
{
    static const char *const lines[] = {
        "{\"cmd\":\"stats\"}", "{\"cmd\":\"get\",\"args\":[\"clock\"]}",
        "{\"cmd\":\"set\",\"args\":[\"time-scale\",2.5]}", "{\"cmd\":\"idle\",\"args\":[\"1ms\"]}",
        "{\"cmd\":\"power-cut\"}", "{\"cmd\":\"power-on\"}", "{\"cmd\":\"events\"}", "garbage",
    };
    (void)state;
    struct fe_server *s = make_server();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (int good = 0; good < 2; good++)
            for (int n = 1, left = 0; left == 0; n++) {
                struct fe_command_wish wish;
                for_good = good;
                fail_alloc = n;
                char *reply = fe_command_run(s, lines[i], strlen(lines[i]), FE_BY_CLIENT, &wish);
                left = fail_alloc > 1; /* fewer allocations than that */
                fail_alloc = 0;
                for_good = false;
                expect_reply(reply);
            }
    assert_int_equal(fe_server_close(s, NULL), 0);
    fe_server_destroy(s);
}

static void test_events_without_memory(void **state)
{
    uint64_t next, ready, now;
    (void)state;
    struct fe_server *s = make_server();
    for (int n = 1; n <= 2; n++) {
        struct fe_err err = {""};
        fail_alloc = n;
        assert_int_equal(fe_server_listen(s, &next, &err), -ENOMEM);
        assert_non_null(strstr(err.text, "out of memory: events"));
    }
    assert_int_equal(fe_server_listen(s, &next, NULL), 0);
    assert_int_equal(fe_server_cut_power(s, 0, 0, &now, NULL), 0);
    assert_int_equal(fe_server_power_on(s, &ready, NULL), 0);
    for (int n = 1, left = 0; left == 0; n++) {
        uint64_t from = next;
        char *lines = NULL;
        fail_alloc = n;
        assert_true(fe_command_events(s, &from, &lines));
        left = fail_alloc > 1;
        fail_alloc = 0;
        assert_int_equal(from, next + 2);
        free(lines);
    }
    fe_server_unlisten(s);
    fe_server_destroy(s);
}

/* ---- start ---- */

static void test_server_cannot_start(void **state)
{
    struct fe_err err = {""};
    struct fe_params params;
    struct fe_profile profile;
    struct fe_server *s = NULL;
    (void)state;
    fe_params_init(&params);
    assert_int_equal(fe_params_set(&params, "profile", "ideal", &err), 0);
    assert_int_equal(fe_params_set(&params, "clock", "virtual", &err), 0);
    assert_int_equal(fe_params_set(&params, "trace", trace_path, &err), 0);
    assert_int_equal(fe_params_load_profile(&params, &profile, &err), 0);
    int n = 1;
    for (;; n++) {
        fe_err_init(&err);
        fail_alloc = n;
        int r = fe_server_create(&s, &params, &profile, &err);
        fail_alloc = 0;
        if (r == 0)
            break;
        assert_int_equal(r, -ENOMEM);
        assert_non_null(strstr(err.text, "out of memory"));
    }
    assert_true(n > 5);
    fe_server_destroy(s);
    fails.eventfd = EMFILE;
    assert_int_equal(fe_server_create(&s, &params, &profile, &err), -EMFILE);
    fe_profile_fini(&profile);
    fe_params_fini(&params);
}

/* ---- the trace ---- */

static void expect_trace_refused(atomic_int *call, int errnum)
{
    struct fe_recorder *r = NULL;
    struct fe_err err = {""}, want = {""};
    fe_err_set(&want, errnum, "trace=%s: %s", trace_path, strerror(errnum));
    *call = errnum;
    assert_int_equal(fe_recorder_open(&r, trace_path, NULL, NULL, &err), -errnum);
    assert_string_equal(err.text, want.text);
}

static void test_trace_cannot_start(void **state)
{
    struct fe_recorder *r = NULL;
    struct fe_err err = {""};
    (void)state;
    expect_trace_refused(&fails.pread64, EIO);
    expect_trace_refused(&fails.ftruncate64, EIO);
    expect_trace_refused(&fails.fdopen, ENOMEM);
    assert_int_equal(fe_recorder_open(&r, trace_path, NULL, NULL, &err), 0);
    fails.pthread_create = EAGAIN;
    assert_int_equal(fe_recorder_start(r, &err), -EAGAIN);
    assert_non_null(strstr(err.text, "thread: "));
    fe_err_init(&err);
    fails.fclose = EIO;
    assert_int_equal(fe_recorder_close(r, &err), -EIO);
    assert_non_null(strstr(err.text, strerror(EIO)));
}

/* ---- the control socket ---- */

static char socket_path[64];

/* How many files this process has open ("fd"), or threads ("task"), and a few. */
static unsigned n_own(const char *kind)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/%s", kind);
    DIR *dir = opendir(path);
    unsigned n = 0;
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* A thread that was joined is seen for a moment longer. */
static void expect_threads(unsigned n)
{
    for (int i = 0; i < 5000 && n_own("task") != n; i++)
        usleep(1000);
    assert_int_equal(n_own("task"), n);
}

static struct fe_control *open_control(struct fe_server *s)
{
    struct fe_control *c = NULL;
    assert_int_equal(fe_control_create(&c, s, socket_path, NULL), 0);
    return c;
}

static int connect_client(void)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = __real_socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(addr.sun_path, socket_path);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    return fd;
}

/* Sends a line and receives one; "" at the end of the connection. */
static const char *ask(int fd, const char *line)
{
    static char reply[65536];
    size_t n = 0;
    assert_int_equal(write(fd, line, strlen(line)), strlen(line));
    while (n < sizeof reply - 1 && read(fd, reply + n, 1) == 1 && reply[n] != '\n')
        n++;
    reply[n] = '\0';
    return reply;
}

static void test_control_cannot_start(void **state)
{
    static const struct {
        atomic_int *call;
        int errnum;
    } calls[] = {{&fails.eventfd, EMFILE}, {&fails.socket, EMFILE}, {&fails.lstat64, EACCES},
                 {&fails.listen, ENOMEM}, {&fail_alloc, 1}};
    (void)state;
    struct fe_server *s = make_server();
    unsigned n_files = n_own("fd"), n_threads = n_own("task");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct fe_control *c = NULL;
        struct fe_err err = {""};
        *calls[i].call = calls[i].errnum;
        int want = calls[i].call == &fail_alloc ? -ENOMEM : -calls[i].errnum;
        assert_int_equal(fe_control_create(&c, s, socket_path, &err), want);
        assert_true(err.text[0] != '\0');
        unlink(socket_path); /* lstat has failed: nobody knows whether it is ours */
    }
    struct fe_control *c = open_control(s);
    fails.pthread_create = EAGAIN;
    assert_int_equal(fe_control_start(c, NULL, NULL), -EAGAIN);
    fe_control_destroy(c);
    assert_int_equal(access(socket_path, F_OK), -1);
    assert_int_equal(n_own("fd"), n_files);
    expect_threads(n_threads);
    fe_server_destroy(s);
}

static void test_control_clients_without_resources(void **state)
{
    static const char get[] = "{\"cmd\":\"get\",\"args\":[\"clock\"]}\n";
    (void)state;
    struct fe_server *s = make_server();
    unsigned n_files = n_own("fd"), n_threads = n_own("task");
    struct fe_control *c = open_control(s);
    assert_int_equal(fe_control_start(c, NULL, NULL), 0);

    fails.accept4 = EMFILE; /* the client is accepted a moment later */
    int fd = connect_client();
    assert_non_null(strstr(ask(fd, get), "virtual"));
    fails.send = EINTR;
    assert_non_null(strstr(ask(fd, get), "virtual"));
    fails.recv = EINTR;
    assert_non_null(strstr(ask(fd, get), "virtual"));

    fail_alloc = 1; /* the memory for a client's line */
    int poor = connect_client();
    assert_non_null(strstr(ask(poor, "\n"), "out of memory"));
    close(poor);

    for_good = true; /* not even the error can be said: the connection ends */
    fail_alloc = 1;
    assert_string_equal(ask(fd, get), "");
    fail_alloc = 0;
    for_good = false;
    close(fd);

    fd = connect_client();
    assert_non_null(strstr(ask(fd, get), "virtual"));
    close(fd);
    fe_control_destroy(c);
    assert_int_equal(n_own("fd"), n_files);
    expect_threads(n_threads);
    fe_server_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands_without_memory),
        cmocka_unit_test(test_events_without_memory),
        cmocka_unit_test(test_server_cannot_start),
        cmocka_unit_test(test_trace_cannot_start),
        cmocka_unit_test(test_control_cannot_start),
        cmocka_unit_test(test_control_clients_without_resources),
    };
    int fd = mkstemp(trace_path);
    if (fd < 0)
        return 1;
    close(fd);
    snprintf(socket_path, sizeof socket_path, "%s.ctl", trace_path);
    json_set_alloc_funcs(__wrap_malloc, free);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(trace_path);
    return failed;
}
