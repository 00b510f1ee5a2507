/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting, against the real clock.
 *
 * What is promised and tested is "never early" and what happens on failure.  How
 * late waits end is a matter of the machine, so no test looks at it: the benchmark
 * tests/bench/lateness.c does.
 *
 * Where a kernel or a sandbox lacks io_uring, the tests of rings are skipped and all
 * others run on the fallback.  The sandboxes of the tests are seccomp filters in
 * child processes, which report by exit status, for cmocka cannot fail from there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "base/rng.h"
#include "rt/clock.h"
#include "rt/delay.h"

#define US        FE_NS_PER_US
#define MS        FE_NS_PER_MS
#define N_THREADS 16

static struct fe_delay *create(enum fe_delay_kind kind, enum fe_delay_spin spin,
                               uint64_t spin_ns)
{
    struct fe_delay_params params = {.kind = kind, .spin = spin, .spin_ns = spin_ns};
    struct fe_delay *d = NULL;
    struct fe_err err;

    fe_err_init(&err);
    int r = fe_delay_create(&d, &params, &err);
    if (r < 0)
        fail_msg("fe_delay_create: %d, %s", r, err.text);
    return d;
}

static bool uses_uring(const struct fe_delay *d)
{
    return strcmp(fe_delay_kind_name(d), "io_uring") == 0;
}

static bool uring_works(void)
{
    struct fe_delay *d = create(FE_DELAY_AUTO, FE_DELAY_SPIN_AUTO, 0);
    bool r = uses_uring(d);

    fe_delay_destroy(d);
    return r;
}

/* Waits until now + ns; false if that was early or the result is not consistent. */
static bool wait_is_right(struct fe_delay *d, uint64_t ns)
{
    uint64_t deadline = fe_clock_now_ns() + ns, late = UINT64_MAX;

    if (fe_delay_until(d, deadline, NULL, NULL, &late) != 0)
        return false;
    uint64_t now = fe_clock_now_ns();
    return now >= deadline && late <= now - deadline;
}

static unsigned count_open_files(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void test_clock_never_goes_back(void **state)
{
    (void)state;
    uint64_t last = fe_clock_now_ns();

    for (int i = 0; i < 10000; i++) {
        uint64_t now = fe_clock_now_ns();
        assert_true(now >= last);
        last = now;
    }
}

static void test_delay_is_never_early(void **state)
{
    (void)state;
    const enum fe_delay_kind kinds[] = {FE_DELAY_AUTO, FE_DELAY_NANOSLEEP};
    const struct {
        enum fe_delay_spin spin;
        uint64_t ns;
    } spins[] = {
        {FE_DELAY_SPIN_AUTO, 0},
        {FE_DELAY_SPIN_OFF, 0},
        {FE_DELAY_SPIN_FIXED, 0},
        {FE_DELAY_SPIN_FIXED, 50 * US},
        {FE_DELAY_SPIN_FIXED, FE_DELAY_SPIN_MAX_NS},
    };

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t s = 0; s < sizeof spins / sizeof *spins; s++) {
            struct fe_delay *d = create(kinds[k], spins[s].spin, spins[s].ns);
            for (uint64_t i = 0; i < 200; i++) {
                uint64_t bits = fe_rng(1, FE_RNG_TEST, i, s);
                assert_true(
                    wait_is_right(d, fe_rng_below(bits, i % 2 ? 20 * US : 800 * US)));
            }
            fe_delay_destroy(d);
        }
}

static void test_delay_past_deadline_makes_nothing(void **state)
{
    (void)state;
    struct fe_delay *d = create(FE_DELAY_AUTO, FE_DELAY_SPIN_AUTO, 0);
    struct fe_delay_counts counts;
    uint64_t before = fe_clock_now_ns(), late = 0;

    assert_int_equal(fe_delay_until(d, 0, NULL, NULL, &late), 0);
    assert_in_range(late, before, fe_clock_now_ns());
    assert_int_equal(fe_delay_until(d, before - MS, NULL, NULL, &late), 0);
    assert_true(late >= MS);
    assert_int_equal(fe_delay_until(d, before, NULL, NULL, NULL), 0);
    fe_delay_get_counts(d, &counts);
    assert_int_equal(counts.threads, 0);
    assert_int_equal(counts.rings, 0);
    fe_delay_destroy(d);
}

struct coarse {
    unsigned calls, stop_at; /* stop_at 0: never */
    uint64_t total_ns, longest_ns;
    bool sleeps;
};

static int coarse_sleep(void *ctx, uint64_t ns)
{
    struct coarse *c = ctx;

    c->calls++;
    c->total_ns += ns;
    c->longest_ns = fe_max_u64(c->longest_ns, ns);
    if (c->calls == c->stop_at)
        return -1;
    if (c->sleeps) {
        struct timespec ts = {(time_t)(ns / FE_NS_PER_S), (long)(ns % FE_NS_PER_S)};
        nanosleep(&ts, NULL);
    }
    return 0;
}

static void test_delay_stops_when_coarse_says_so(void **state)
{
    (void)state;
    struct fe_delay *d = create(FE_DELAY_AUTO, FE_DELAY_SPIN_AUTO, 0);
    uint64_t late = 12345;

    for (unsigned stop_at = 1; stop_at <= 3; stop_at++) {
        struct coarse c = {.stop_at = stop_at};
        uint64_t deadline = fe_clock_now_ns() + 60 * FE_NS_PER_S;
        assert_int_equal(fe_delay_until(d, deadline, coarse_sleep, &c, &late),
                         -ESHUTDOWN);
        assert_int_equal(c.calls, stop_at);
        assert_int_equal(c.longest_ns, 250 * MS);
        assert_int_equal(late, 12345);
    }
    struct coarse c = {.stop_at = 1};
    assert_int_equal(fe_delay_until(d, UINT64_MAX, coarse_sleep, &c, &late), -ESHUTDOWN);
    fe_delay_destroy(d);
}

static void test_delay_uses_coarse_for_long_waits_only(void **state)
{
    (void)state;
    struct fe_delay *d = create(FE_DELAY_AUTO, FE_DELAY_SPIN_AUTO, 0);
    struct coarse c = {.sleeps = true};

    uint64_t deadline = fe_clock_now_ns() + 20 * MS;
    assert_int_equal(fe_delay_until(d, deadline, coarse_sleep, &c, NULL), 0);
    assert_int_equal(c.calls, 0);
    assert_true(fe_clock_now_ns() >= deadline);

    deadline = fe_clock_now_ns() + 450 * MS;
    assert_int_equal(fe_delay_until(d, deadline, coarse_sleep, &c, NULL), 0);
    assert_true(fe_clock_now_ns() >= deadline);
    assert_true(c.calls > 0);
    assert_true(c.longest_ns <= 250 * MS);
    assert_true(c.total_ns <= 350 * MS); /* the last 100 ms are not coarse's */
    fe_delay_destroy(d);
}

struct crowd {
    struct fe_delay *delay;
    pthread_barrier_t waited, looked;
    atomic_uint wrong;
};

static void *crowd_thread(void *arg)
{
    struct crowd *c = arg;

    for (uint64_t i = 0; i < 60; i++)
        if (!wait_is_right(c->delay, i * 7919 % 500 * US))
            atomic_fetch_add(&c->wrong, 1);
    pthread_barrier_wait(&c->waited);
    pthread_barrier_wait(&c->looked);
    return NULL;
}

/* Starts the crowd and returns when every thread has waited and none has exited. */
static void crowd_start(struct crowd *c, pthread_t threads[N_THREADS], struct fe_delay *d)
{
    c->delay = d;
    atomic_init(&c->wrong, 0);
    assert_int_equal(pthread_barrier_init(&c->waited, NULL, N_THREADS + 1), 0);
    assert_int_equal(pthread_barrier_init(&c->looked, NULL, N_THREADS + 1), 0);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_thread, c), 0);
    pthread_barrier_wait(&c->waited);
}

static void crowd_join(struct crowd *c, pthread_t threads[N_THREADS])
{
    pthread_barrier_wait(&c->looked);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&c->waited);
    pthread_barrier_destroy(&c->looked);
    assert_int_equal(atomic_load(&c->wrong), 0);
}

static void check_crowd(enum fe_delay_kind kind, enum fe_delay_spin spin)
{
    unsigned files = count_open_files();
    struct fe_delay *d = create(kind, spin, 0);
    struct fe_delay_counts counts;
    struct crowd crowd;
    pthread_t threads[N_THREADS];

    for (int round = 0; round < 3; round++) {
        crowd_start(&crowd, threads, d);
        fe_delay_get_counts(d, &counts);
        assert_int_equal(counts.threads, N_THREADS);
        assert_int_equal(counts.rings + counts.fallbacks, uses_uring(d) ? N_THREADS : 0);
        crowd_join(&crowd, threads);
        fe_delay_get_counts(d, &counts);
        assert_int_equal(counts.threads, 0);
        assert_int_equal(counts.rings, 0);
        assert_int_equal(count_open_files(), files);
    }
    fe_delay_destroy(d);
}

static void test_delay_many_threads_free_what_they_made(void **state)
{
    (void)state;
    check_crowd(FE_DELAY_AUTO, FE_DELAY_SPIN_AUTO);
    check_crowd(FE_DELAY_AUTO, FE_DELAY_SPIN_OFF);
    check_crowd(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_AUTO);
}

static void test_delay_destroy_frees_rings_of_living_threads(void **state)
{
    (void)state;
    unsigned files = count_open_files();
    struct crowd crowd;
    pthread_t threads[N_THREADS];

    crowd_start(&crowd, threads, create(FE_DELAY_AUTO, FE_DELAY_SPIN_AUTO, 0));
    fe_delay_destroy(crowd.delay);
    assert_int_equal(count_open_files(), files);
    crowd_join(&crowd, threads); /* and their exits touch nothing freed */
    fe_delay_destroy(NULL);
}

static void test_delay_objects_are_independent(void **state)
{
    (void)state;
    struct fe_delay *a = create(FE_DELAY_AUTO, FE_DELAY_SPIN_AUTO, 0);
    struct fe_delay *b = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_OFF, 0);
    struct fe_delay_counts counts;

    assert_true(wait_is_right(a, 200 * US));
    assert_true(wait_is_right(b, 200 * US));
    fe_delay_destroy(a);
    assert_true(wait_is_right(b, 200 * US));
    fe_delay_get_counts(b, &counts);
    assert_int_equal(counts.threads, 1);
    assert_null(fe_delay_notice(b)); /* as wished: nothing to say */
    assert_string_equal(fe_delay_kind_name(b), "nanosleep");
    fe_delay_destroy(b);
    for (int i = 0; i <= PTHREAD_KEYS_MAX; i++) /* each gives its key back */
        fe_delay_destroy(create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_OFF, 0));
}

static volatile sig_atomic_t n_alarms;

static void on_alarm(int sig)
{
    (void)sig;
    n_alarms++;
}

static void test_delay_signals_end_no_wait(void **state)
{
    (void)state;
    const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    struct sigaction act = {.sa_handler = on_alarm}, old; /* and no SA_RESTART */
    const enum fe_delay_kind kinds[] = {FE_DELAY_AUTO, FE_DELAY_NANOSLEEP};

    assert_int_equal(sigaction(SIGALRM, &act, &old), 0);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct fe_delay *d = create(kinds[k], FE_DELAY_SPIN_OFF, 0);
        struct fe_delay_counts counts;

        n_alarms = 0;
        assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
        for (int i = 0; i < 20; i++)
            assert_true(wait_is_right(d, 5 * MS));
        assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
        assert_true(n_alarms > 0);
        fe_delay_get_counts(d, &counts);
        assert_int_equal(counts.fallbacks, 0); /* EINTR is no failure of the ring */
        fe_delay_destroy(d);
    }
    assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
}

static void test_delay_refuses_a_spin_too_long(void **state)
{
    (void)state;
    struct fe_delay_params params = {.spin = FE_DELAY_SPIN_FIXED,
                                     .spin_ns = FE_DELAY_SPIN_MAX_NS + 1};
    struct fe_delay *d;
    struct fe_err err;

    fe_err_init(&err);
    assert_int_equal(fe_delay_create(&d, &params, &err), -EINVAL);
    assert_non_null(strstr(err.text, "spin=100000001ns"));
    assert_non_null(strstr(err.text, "100ms"));
}

/* --- what may be missing: each in a child process --- */

#define SKIPPED 77

/* Fails the system call from now on, in the calling thread.  False where the
 * kernel has no seccomp. */
static bool forbid(unsigned nr, int errnum)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {.len = sizeof code / sizeof *code, .filter = code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

/* Runs the body in a child: 0 right, SKIPPED, anything else the line that failed. */
static void run_in_child(int (*body)(void))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("the child ended with signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    if (WEXITSTATUS(status) != 0)
        fail_msg("check %d of the child failed", WEXITSTATUS(status));
}

/* Without io_uring, for whatever reason: AUTO falls back and says so, the explicit
 * wish is an error that says so. */
static int check_without_uring(int errnum, const char *hint)
{
    struct fe_delay_params params = {.kind = FE_DELAY_AUTO};
    struct fe_delay *d;
    struct fe_err err;

    fe_err_init(&err);
    if (fe_delay_create(&d, &params, &err) != 0)
        return 1;
    if (strcmp(fe_delay_kind_name(d), "nanosleep") != 0)
        return 2;
    const char *notice = fe_delay_notice(d);
    if (!notice || !strstr(notice, "clock_nanosleep") || !strstr(notice, "io_uring") ||
        !strstr(notice, hint) || strchr(notice, '\n'))
        return 3;
    for (int i = 0; i < 20; i++)
        if (!wait_is_right(d, 300 * US))
            return 4;
    struct fe_delay_counts counts;
    fe_delay_get_counts(d, &counts);
    if (counts.threads != 1 || counts.rings != 0 || counts.fallbacks != 0)
        return 5; /* the kind in use is nanosleep, so no thread fell back from it */
    fe_delay_destroy(d);

    params.kind = FE_DELAY_IO_URING;
    if (fe_delay_create(&d, &params, &err) != -errnum)
        return 6;
    return strstr(err.text, "delay=io_uring") && strstr(err.text, hint) ? 0 : 7;
}

static struct {
    unsigned nr;
    int errnum;
    const char *hint;
} missing; /* for the child: fork hands it over */

static int child_without_uring(void)
{
    if (!forbid(missing.nr, missing.errnum))
        return SKIPPED;
    return check_without_uring(missing.errnum, missing.hint);
}

static void run_without(unsigned nr, int errnum, const char *hint)
{
    missing.nr = nr;
    missing.errnum = errnum;
    missing.hint = hint;
    run_in_child(child_without_uring);
}

static void test_delay_falls_back_where_setup_fails(void **state)
{
    (void)state;
    run_without(SYS_io_uring_setup, EPERM, "seccomp");
    run_without(SYS_io_uring_setup, ENOSYS, "kernel");
    run_without(SYS_io_uring_setup, ENOMEM, "MEMLOCK");
}

/* Rings can be made, but do nothing: only a real wait finds that out. */
static void test_delay_falls_back_where_enter_is_forbidden(void **state)
{
    (void)state;
    if (!uring_works())
        skip();
    run_without(SYS_io_uring_enter, EPERM, "seccomp");
}

/* After this the process has rings, and one thread has lost or never got its own. */
static int check_one_fallback(struct fe_delay *d)
{
    struct fe_delay_counts counts;

    for (int i = 0; i < 20; i++)
        if (!wait_is_right(d, 300 * US))
            return 1;
    fe_delay_get_counts(d, &counts);
    if (counts.threads != 1 || counts.rings != 0 || counts.fallbacks != 1)
        return 2;
    if (strcmp(fe_delay_kind_name(d), "io_uring") != 0 || !fe_delay_notice(d))
        return 3;
    const char *text = fe_delay_notice(d);
    if (!strstr(text, "a thread"))
        return 4;
    fe_delay_destroy(d);
    return 0;
}

static int child_ring_breaks(void)
{
    struct fe_delay *d = create(FE_DELAY_AUTO, FE_DELAY_SPIN_OFF, 0);

    if (!uses_uring(d) || !wait_is_right(d, 300 * US) || fe_delay_notice(d))
        return SKIPPED;
    if (!forbid(SYS_io_uring_enter, EPERM))
        return SKIPPED;
    return check_one_fallback(d);
}

static int child_no_files_left(void)
{
    struct fe_delay *d = create(FE_DELAY_IO_URING, FE_DELAY_SPIN_AUTO, 0);
    struct rlimit lim;
    int lowest = open("/dev/null", O_RDONLY);

    if (lowest < 0 || close(lowest) || getrlimit(RLIMIT_NOFILE, &lim))
        return SKIPPED;
    lim.rlim_cur = (rlim_t)lowest;
    if (setrlimit(RLIMIT_NOFILE, &lim))
        return SKIPPED;
    return check_one_fallback(d);
}

static void test_delay_survives_a_ring_that_breaks(void **state)
{
    (void)state;
    run_in_child(child_ring_breaks);
}

static void test_delay_survives_a_ring_that_cannot_be_made(void **state)
{
    (void)state;
    if (!uring_works())
        skip();
    run_in_child(child_no_files_left);
}

static int child_no_nanosleep(void)
{
    struct fe_delay *d = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_OFF, 0);

    if (!forbid(SYS_clock_nanosleep, EPERM) || !forbid(SYS_prctl, EPERM))
        return SKIPPED;
    for (int i = 0; i < 20; i++)
        if (!wait_is_right(d, 300 * US))
            return 1;
    fe_delay_destroy(d);
    return 0;
}

static void test_delay_spins_where_nothing_else_works(void **state)
{
    (void)state;
    run_in_child(child_no_nanosleep);
}

/* Created before the fork, used after it, as a server that goes to the background. */
static int child_fork_then_wait(void)
{
    struct fe_delay *d = create(FE_DELAY_AUTO, FE_DELAY_SPIN_AUTO, 0);
    int status;
    pid_t pid = fork();

    if (pid < 0)
        return 1;
    if (pid > 0)
        return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                    : 2;
    for (int i = 0; i < 20; i++)
        if (!wait_is_right(d, 300 * US))
            return 3;
    fe_delay_destroy(d);
    return 0;
}

static void test_delay_created_before_fork_works_after_it(void **state)
{
    (void)state;
    run_in_child(child_fork_then_wait);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_never_goes_back),
        cmocka_unit_test(test_delay_is_never_early),
        cmocka_unit_test(test_delay_past_deadline_makes_nothing),
        cmocka_unit_test(test_delay_stops_when_coarse_says_so),
        cmocka_unit_test(test_delay_uses_coarse_for_long_waits_only),
        cmocka_unit_test(test_delay_many_threads_free_what_they_made),
        cmocka_unit_test(test_delay_destroy_frees_rings_of_living_threads),
        cmocka_unit_test(test_delay_objects_are_independent),
        cmocka_unit_test(test_delay_signals_end_no_wait),
        cmocka_unit_test(test_delay_refuses_a_spin_too_long),
        cmocka_unit_test(test_delay_falls_back_where_setup_fails),
        cmocka_unit_test(test_delay_falls_back_where_enter_is_forbidden),
        cmocka_unit_test(test_delay_survives_a_ring_that_breaks),
        cmocka_unit_test(test_delay_survives_a_ring_that_cannot_be_made),
        cmocka_unit_test(test_delay_spins_where_nothing_else_works),
        cmocka_unit_test(test_delay_created_before_fork_works_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
