/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting when the system fails, in a time of our own.
 *
 * The linker replaces the calls below (--wrap).  The clock stands still, except that each look at
 * it takes `look_ns`, and that a sleep ends `late_ns` after its deadline.  So all numbers are
 * exact.  Our time lies in the past of the kernel's, so a real io_uring ends each timeout
 * immediately.
 *
 *     test  -->  fe_delay_until  -->  __wrap_clock_gettime           our time
 *                                -->  __wrap_sched_yield            nobody else runs: at once
 *                                -->  __wrap_io_uring_submit_and_wait
 *                                     __wrap_clock_nanosleep         fail, or set our time
 */
#include "lib/unit.h"

#include "rt/clock.h"
#include "rt/delay.h"
#include "rt/slice.h"

#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define US FE_NS_PER_US
#define MS FE_NS_PER_MS

#define SPURIOUS 1000 /* the kernel returns, and there is no completion */

static struct {
    uint64_t now_ns, look_ns, late_ns;
    uint64_t armed_ns;     /* what the last sleep was to end at */
    int sleeps, rings;     /* sleeps so far; open rings */
    int fail_alloc;        /* the allocation that fails, counted down; 0: none */
    int init, submit, result, nanosleep;    /* errno of the next call; 0: it works */
    int mutex, key, specific, affinity, getattr, setattr;
    int processors;        /* that this process may use; 0: as it is */
    void (*during)(void);  /* what happens while the next thread sleeps */
    uint32_t policy;
    bool is_full;          /* rings are made without room for an entry */
} sys;

static void sys_reset(void)
{
    memset(&sys, 0, sizeof sys);
    sys.now_ns = FE_NS_PER_S;
}

/* The error that was ordered for this call, once. */
static int take(int *errnum)
{
    int r = *errnum;
    *errnum = 0;
    return r;
}

/* ---- what the linker puts in the place of the system ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *at,
                           struct timespec *left);
int __wrap_sched_yield(void);
int __real_io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags);
int __wrap_io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags);
void __real_io_uring_queue_exit(struct io_uring *ring);
void __wrap_io_uring_queue_exit(struct io_uring *ring);
int __real_io_uring_submit_and_wait(struct io_uring *ring, unsigned n);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
int __real_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr);
int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr);
int __real_pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
long __wrap_syscall(long nr, ...);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    sys.now_ns += sys.look_ns;
    ret->tv_sec = (time_t)(sys.now_ns / FE_NS_PER_S);
    ret->tv_nsec = (long)(sys.now_ns % FE_NS_PER_S);
    return 0;
}

/* A real one would give a busy machine's processor away, at each look at the clock. */
int __wrap_sched_yield(void)
{
    return 0;
}

static void sleep_until(uint64_t at_ns)
{
    void (*during)(void) = sys.during;
    sys.during = NULL;
    if (during)
        during();
    sys.sleeps++;
    sys.armed_ns = at_ns;
    sys.now_ns = fe_max_u64(sys.now_ns, at_ns + sys.late_ns);
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *at,
                           struct timespec *left)
{
    int r = take(&sys.nanosleep);
    assert_int_equal(clock, CLOCK_MONOTONIC);
    assert_int_equal(flags, TIMER_ABSTIME);
    assert_null(left);
    if (r == 0)
        sleep_until((uint64_t)at->tv_sec * FE_NS_PER_S + (uint64_t)at->tv_nsec);
    return r;
}

int __wrap_io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
    int r = take(&sys.init);
    r = r ? -r : __real_io_uring_queue_init(entries, ring, flags);
    sys.rings += r == 0;
    if (r == 0 && sys.is_full)
        ring->sq.sqe_tail += entries;
    return r;
}

void __wrap_io_uring_queue_exit(struct io_uring *ring)
{
    sys.rings--;
    __real_io_uring_queue_exit(ring);
}

int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned n)
{
    const struct io_uring_sqe *sqe = &ring->sq.sqes[*ring->sq.khead & (ring->sq.ring_entries - 1)];
    const struct __kernel_timespec *at = (const void *)(uintptr_t)sqe->addr;
    int r = take(&sys.submit);
    if (r)
        return r == SPURIOUS ? 0 : -r;
    uint64_t at_ns = (uint64_t)at->tv_sec * FE_NS_PER_S + (uint64_t)at->tv_nsec;
    unsigned done = *ring->cq.khead & (ring->cq.ring_entries - 1);
    r = __real_io_uring_submit_and_wait(ring, n);
    sleep_until(at_ns);
    int result = take(&sys.result);
    if (result)
        ring->cq.cqes[done].res = result;
    return r;
}

void *__wrap_calloc(size_t n, size_t size)
{
    if (sys.fail_alloc && --sys.fail_alloc == 0)
        return NULL;
    return __real_calloc(n, size);
}

int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
    int r = take(&sys.mutex);
    return r ? r : __real_pthread_mutex_init(m, attr);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    int r = take(&sys.key);
    return r ? r : __real_pthread_key_create(key, destroy);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    int r = take(&sys.specific);
    return r ? r : __real_pthread_setspecific(key, value);
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    errno = take(&sys.affinity);
    if (errno)
        return -1;
    if (!sys.processors)
        return __real_sched_getaffinity(pid, size, set);
    CPU_ZERO(set);
    for (int i = 0; i < sys.processors; i++)
        CPU_SET(i, set);
    return 0;
}

/* Of a thread's scheduling: the policy is the second word of the structure. */
long __wrap_syscall(long nr, ...)
{
    va_list ap;
    va_start(ap, nr);
    (void)va_arg(ap, int);
    uint32_t *attr = va_arg(ap, uint32_t *);
    va_end(ap);
    errno = take(nr == SYS_sched_getattr ? &sys.getattr : &sys.setattr);
    if (errno)
        return -1;
    if (nr == SYS_sched_getattr)
        attr[1] = sys.policy;
    return 0;
}

/* ---- tests ---- */

static struct fe_delay *create(enum fe_delay_kind kind, enum fe_delay_spin spin)
{
    const struct fe_delay_params p = {.kind = kind, .spin = spin};
    struct fe_delay *d = NULL;
    struct fe_err err = {""};
    if (fe_delay_create(&d, &p, &err) < 0)
        fail_msg("%s", err.text);
    return d;
}

/* A wait; how late it was. */
static uint64_t wait_for(struct fe_delay *d, uint64_t ns)
{
    uint64_t late;
    assert_int_equal(fe_delay_until(d, sys.now_ns + ns, NULL, NULL, &late), 0);
    return late;
}

static uint64_t wait_1ms(struct fe_delay *d)
{
    return wait_for(d, MS);
}

/* How many of n waits were slept. */
static int sleeps_in(struct fe_delay *d, int n, uint64_t ns)
{
    sys.sleeps = 0;
    for (int i = 0; i < n; i++)
        wait_for(d, ns);
    return sys.sleeps;
}

static struct fe_delay_counts counts(struct fe_delay *d)
{
    struct fe_delay_counts c;
    fe_delay_get_counts(d, &c);
    return c;
}

static void need_uring(void)
{
    struct io_uring ring;
    sys_reset();
    if (__real_io_uring_queue_init(2, &ring, 0) < 0)
        skip();
    __real_io_uring_queue_exit(&ring);
}

/* Lateness is the time between the deadline and the end of the wait, and nothing else. */
static void test_rt_lateness_is_exact(void **state)
{
    (void)state;
    sys_reset();
    struct fe_delay *d = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_OFF);
    for (sys.late_ns = 0; sys.late_ns < 100 * US; sys.late_ns += 7 * US) {
        assert_int_equal(wait_1ms(d), sys.late_ns);
        assert_int_equal(sys.armed_ns, sys.now_ns - sys.late_ns);
    }
    fe_delay_destroy(d);

    sys.late_ns = 20 * US; /* less than the margin: the thread wakes up early and spins */
    sys.look_ns = 1;
    d = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_AUTO);
    for (int i = 0; i < 100; i++)
        assert_true(wait_1ms(d) <= 5); /* looks at the clock */
    fe_delay_destroy(d);
}

/* The margin learns from wake-ups, but not from those of a busy machine. */
static void test_rt_what_the_margin_learns(void **state)
{
    (void)state;
    sys_reset();
    sys.look_ns = 50;
    sys.late_ns = 20 * US;
    struct fe_delay *d = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_AUTO);
    for (int i = 0; i < 3000; i++)
        wait_1ms(d);
    uint64_t margin_ns = sys.now_ns - sys.armed_ns;
    assert_true(margin_ns >= 20 * US && margin_ns < 25 * US);

    sys.late_ns = 501 * US;
    for (int i = 0; i < 100; i++)
        assert_true(wait_1ms(d) > 400 * US);
    sys.late_ns = 20 * US;
    wait_1ms(d);
    assert_true(sys.now_ns - sys.armed_ns <= margin_ns + US);

    sys.late_ns = 0; /* the thread is taken off its processor in each spin */
    sys.look_ns = 600 * US;
    for (int i = 0; i < 20; i++)
        assert_int_equal(fe_delay_until(d, sys.now_ns + 10 * MS, NULL, NULL, NULL), 0);
    sys.look_ns = 50;
    wait_1ms(d);
    assert_true(sys.now_ns - sys.armed_ns < margin_ns);
    fe_delay_destroy(d);
}

/* Wake-ups were late for a while, so that sleeping saves nothing in waits of 350 us.  When they are
 * in time again, the thread finds out, and sleeps. */
static void test_rt_a_margin_falls_again(void **state)
{
    (void)state;
    sys_reset();
    sys.look_ns = US;
    sys.late_ns = 200 * US;
    struct fe_delay *d = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_AUTO);
    assert_int_equal(sleeps_in(d, 1000, 3 * MS), 1000);
    assert_true(sys.now_ns - sys.armed_ns > 200 * US);
    sys.late_ns = 20 * US;
    assert_true(sleeps_in(d, 200, 350 * US) < 20);
    (void)sleeps_in(d, 4000, 350 * US);
    assert_true(sleeps_in(d, 500, 350 * US) > 450);
    fe_delay_destroy(d);
}

static struct fe_delay *crowded;

/* The same thread again, as if it were another one: two wait then. */
static void wait_in_a_crowd(void)
{
    sys.late_ns = 90 * US;
    (void)sleeps_in(crowded, 500, 3 * MS);
    sys.late_ns = 5 * US;
    assert_true(sleeps_in(crowded, 50, 100 * US) <= 1);
    (void)sleeps_in(crowded, 8000, 100 * US);
    assert_true(sleeps_in(crowded, 500, 100 * US) > 400);
}

/* What is usual is learnt by sleeping only, so a crowd that stays awake sleeps once in a while. */
static void test_rt_a_crowd_learns_again(void **state)
{
    (void)state;
    sys_reset();
    sys.look_ns = US;
    sys.processors = 1;
    crowded = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_AUTO);
    sys.during = wait_in_a_crowd;
    (void)wait_for(crowded, 10 * MS);
    assert_null(sys.during);
    fe_delay_destroy(crowded);
}

static void test_rt_nanosleep_fails(void **state)
{
    (void)state;
    sys_reset();
    struct fe_delay *d = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_OFF);
    sys.nanosleep = EINTR; /* a signal: it sleeps on */
    assert_int_equal(wait_1ms(d), 0);
    assert_int_equal(sys.sleeps, 1);
    sys.nanosleep = EINVAL; /* it works no more: only spinning is left */
    sys.look_ns = US;
    assert_true(wait_1ms(d) <= 5 * US); /* looks at the clock */
    assert_int_equal(sys.sleeps, 1);
    fe_delay_destroy(d);
}

/* Each reason has words that say where to look. */
static void test_rt_rings_cannot_be_made(void **state)
{
    static const struct {
        int errnum;
        const char *hint;
    } reasons[] = {{EPERM, "seccomp"},  {EACCES, "io_uring_disabled"}, {ENOSYS, "kernel has none"},
                   {ENOMEM, "MEMLOCK"}, {EMFILE, "NOFILE"},            {ENFILE, "NOFILE"},
                   {EINVAL, "its timeouts do not work"}};
    (void)state;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const struct fe_delay_params p = {.kind = FE_DELAY_IO_URING};
        struct fe_delay *d = NULL;
        struct fe_err err = {""};
        sys_reset();
        sys.init = reasons[i].errnum;
        assert_int_equal(fe_delay_create(&d, &p, &err), -reasons[i].errnum);
        assert_non_null(strstr(err.text, reasons[i].hint));
        sys.init = reasons[i].errnum;
        d = create(FE_DELAY_AUTO, FE_DELAY_SPIN_OFF);
        assert_string_equal(fe_delay_kind_name(d), "nanosleep");
        assert_non_null(strstr(fe_delay_notice(d), reasons[i].hint));
        assert_int_equal(wait_1ms(d), 0);
        fe_delay_destroy(d);
    }
}

/* A thread whose ring fails goes on with clock_nanosleep, in the same wait. */
static void expect_fallback(struct fe_delay *d, const char *why)
{
    assert_int_equal(wait_1ms(d), sys.late_ns);
    assert_int_equal(counts(d).fallbacks, 1);
    assert_int_equal(counts(d).rings, 0);
    assert_int_equal(sys.rings, 0);
    assert_non_null(strstr(fe_delay_notice(d), "a thread waits with clock_nanosleep"));
    assert_non_null(strstr(fe_delay_notice(d), why));
    fe_delay_destroy(d);
}

static struct fe_delay *create_uring(void)
{
    sys_reset();
    struct fe_delay *d = create(FE_DELAY_IO_URING, FE_DELAY_SPIN_OFF);
    sys.late_ns = 3 * US;
    return d;
}

static void test_rt_a_ring_breaks(void **state)
{
    (void)state;
    need_uring();
    struct fe_delay *d = create_uring();
    assert_int_equal(wait_1ms(d), 3 * US);
    assert_int_equal(counts(d).rings, 1);
    sys.submit = EINTR; /* a signal: it waits on */
    assert_int_equal(wait_1ms(d), 3 * US);
    sys.submit = SPURIOUS; /* nothing has happened: likewise */
    assert_int_equal(wait_1ms(d), 3 * US);
    assert_int_equal(counts(d).rings, 1);
    assert_null(fe_delay_notice(d));
    sys.submit = EIO;
    expect_fallback(d, strerror(EIO));

    d = create_uring();
    assert_int_equal(wait_1ms(d), 3 * US);
    sys.result = -EINVAL;
    expect_fallback(d, strerror(EINVAL));

    d = create_uring();
    sys.result = 1; /* the timeout has neither expired nor failed */
    expect_fallback(d, strerror(EPROTO));

    d = create_uring();
    sys.is_full = true;
    expect_fallback(d, strerror(EBUSY));

    d = create_uring();
    sys.init = EMFILE;
    expect_fallback(d, strerror(EMFILE));
}

/* A kernel whose timeouts end early is found out when the object is created. */
static void test_rt_timeouts_that_end_early(void **state)
{
    (void)state;
    need_uring();
    sys.late_ns = (uint64_t)0 - US;
    struct fe_delay *d = create(FE_DELAY_AUTO, FE_DELAY_SPIN_OFF);
    assert_string_equal(fe_delay_kind_name(d), "nanosleep");
    assert_non_null(strstr(fe_delay_notice(d), strerror(EPROTO)));
    fe_delay_destroy(d);
}

static void test_rt_no_memory(void **state)
{
    const struct fe_delay_params p = {.kind = FE_DELAY_IO_URING};
    struct fe_delay *d = NULL;
    struct fe_err err = {""};
    (void)state;
    sys_reset();
    sys.fail_alloc = 1;
    assert_int_equal(fe_delay_create(&d, &p, &err), -ENOMEM);
    assert_non_null(strstr(err.text, "out of memory: delay"));
    fe_err_init(&err);
    sys.fail_alloc = 2; /* the ring of the first trial */
    assert_int_equal(fe_delay_create(&d, &p, &err), -ENOMEM);
    assert_non_null(strstr(err.text, "MEMLOCK"));

    d = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_OFF);
    sys.fail_alloc = 1; /* what the thread owns */
    assert_int_equal(wait_1ms(d), 0);
    sys.specific = ENOMEM;
    assert_int_equal(wait_1ms(d), 0);
    assert_int_equal(counts(d).threads, 0);
    assert_int_equal(wait_1ms(d), 0);
    assert_int_equal(counts(d).threads, 1);
    assert_int_equal(sys.sleeps, 3);
    fe_delay_destroy(d);
}

static void test_rt_no_lock_and_no_key(void **state)
{
    const struct fe_delay_params p = {.kind = FE_DELAY_NANOSLEEP};
    struct fe_delay *d = NULL;
    struct fe_err err = {""};
    (void)state;
    sys_reset();
    sys.mutex = EAGAIN;
    assert_int_equal(fe_delay_create(&d, &p, &err), -EAGAIN);
    assert_non_null(strstr(err.text, "delay: cannot make a lock"));
    fe_err_init(&err);
    sys.key = EAGAIN;
    assert_int_equal(fe_delay_create(&d, &p, &err), -EAGAIN);
    assert_non_null(strstr(err.text, "delay: cannot make a key"));
    assert_null(d);
}

/* On a machine with more processors than a cpu_set_t has, the number is asked for elsewhere. */
static void test_rt_too_many_processors(void **state)
{
    (void)state;
    sys_reset();
    sys.affinity = EINVAL;
    sys.look_ns = 1;
    struct fe_delay *d = create(FE_DELAY_NANOSLEEP, FE_DELAY_SPIN_AUTO);
    assert_true(wait_1ms(d) <= 5);
    fe_delay_destroy(d);
}

static void test_rt_short_turns_are_only_a_wish(void **state)
{
    (void)state;
    sys_reset();
    assert_int_equal(fe_slice_shorten(), 0);
    sys.getattr = ENOSYS;
    assert_int_equal(fe_slice_shorten(), -ENOSYS);
    sys.setattr = EPERM;
    assert_int_equal(fe_slice_shorten(), -EPERM);
    sys.policy = SCHED_FIFO;
    assert_int_equal(fe_slice_shorten(), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rt_lateness_is_exact),
        cmocka_unit_test(test_rt_what_the_margin_learns),
        cmocka_unit_test(test_rt_a_margin_falls_again),
        cmocka_unit_test(test_rt_a_crowd_learns_again),
        cmocka_unit_test(test_rt_nanosleep_fails),
        cmocka_unit_test(test_rt_rings_cannot_be_made),
        cmocka_unit_test(test_rt_a_ring_breaks),
        cmocka_unit_test(test_rt_timeouts_that_end_early),
        cmocka_unit_test(test_rt_no_memory),
        cmocka_unit_test(test_rt_no_lock_and_no_key),
        cmocka_unit_test(test_rt_too_many_processors),
        cmocka_unit_test(test_rt_short_turns_are_only_a_wish),
    };
    return cmocka_run_group_tests_name("rt_faults", tests, NULL, NULL);
}
