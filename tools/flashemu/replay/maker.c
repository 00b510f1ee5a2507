/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two counters connect the threads: `put`, which the caller writes, and `made`, which the thread
 * writes.  Each side keeps its own copy of the other's counter and looks at the original only when
 * the copy leaves it nothing to do, because that line of the cache then comes from the other
 * processor.  For the same reason the thread counts several jobs at a time.
 *
 * A thread that has nothing to do looks a while for new jobs, lets others go first, and then sleeps
 * until it is woken up.
 */
#include "replay/maker.h"

#include "base/copy.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    TOLD = 32,     /* jobs that the thread hears of at a time, unless the caller waits */
    TOGETHER = 16, /* jobs that are counted as made at a time */
    ASK = 8,       /* jobs that hints come for together, and between a hint and its use */
    LOOKS = 20000, /* for new jobs, before the thread sleeps */
    LOOKS_A_YIELD = 64
};

struct maker {
    maker_fn *make;
    maker_ask_fn *ask;
    void *ctx;
    pthread_t thread;
    _Alignas(64) struct maker_job jobs[MAKER_JOBS];

    /* The caller's: what it has put, what it has taken, and its copy of `made`. */
    uint64_t n_put, n_taken, seen_made;

    _Alignas(64) _Atomic uint64_t put;
    _Alignas(64) _Atomic uint64_t made;
    _Alignas(64) atomic_bool sleeps, ends;
    pthread_mutex_t lock; /* for falling asleep only */
    pthread_cond_t wake;
};

/* Waits until there are more than n jobs, and returns how many.  n: the thread ends. */
static uint64_t wait_for_jobs(struct maker *m, uint64_t n)
{
    uint64_t put;
    for (int i = 1; i < LOOKS; i++) {
        put = atomic_load_explicit(&m->put, memory_order_acquire);
        if (put != n)
            return put;
        if (i % LOOKS_A_YIELD == 0)
            (void)sched_yield();
    }
    pthread_mutex_lock(&m->lock);
    atomic_store(&m->sleeps, true);
    while ((put = atomic_load(&m->put)) == n && !atomic_load(&m->ends))
        pthread_cond_wait(&m->wake, &m->lock);
    atomic_store(&m->sleeps, false);
    pthread_mutex_unlock(&m->lock);
    return put;
}

/* What was stored past the cache is settled before it counts. */
static void count_made(struct maker *m, uint64_t n)
{
    fe_copy_settle();
    atomic_store_explicit(&m->made, n, memory_order_release);
}

static void *work(void *arg)
{
    struct maker *m = arg;
    uint64_t n = 0, put = 0;

    while ((put = wait_for_jobs(m, n)) != n) {
        for (uint64_t asked = n; n < put; n++) {
            for (; asked < put && asked < (n / ASK + 2) * ASK; asked++)
                m->ask(m->ctx, &m->jobs[asked % MAKER_JOBS]);
            m->make(m->ctx, &m->jobs[n % MAKER_JOBS]);
            if ((n + 1) % TOGETHER == 0)
                count_made(m, n + 1);
        }
        count_made(m, n);
        if (atomic_load_explicit(&m->ends, memory_order_relaxed))
            break;
    }
    return NULL;
}

/* Signals stay with the caller's thread, which may block them for a while (output.h). */
static int start_thread(struct maker *m)
{
    sigset_t all, old;
    sigfillset(&all);
    int r = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (r)
        return r;
    r = pthread_create(&m->thread, NULL, work, m);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL); /* was valid before */
    return r;
}

struct maker *maker_create(maker_fn *make, maker_ask_fn *ask, void *ctx)
{
    struct maker *m = aligned_alloc(64, (sizeof *m + 63) / 64 * 64);
    if (!m)
        return NULL;
    *m = (struct maker){.make = make, .ask = ask, .ctx = ctx};
    if (pthread_mutex_init(&m->lock, NULL))
        goto free_object;
    if (pthread_cond_init(&m->wake, NULL))
        goto free_lock;
    if (start_thread(m))
        goto free_wake;
    (void)pthread_setname_np(m->thread, "maker"); /* for whoever looks at threads */
    return m;

free_wake:
    pthread_cond_destroy(&m->wake);
free_lock:
    pthread_mutex_destroy(&m->lock);
free_object:
    free(m);
    return NULL;
}

/* If the thread sleeps or is about to: it holds the lock from its last look until it waits. */
static void wake_up(struct maker *m)
{
    pthread_mutex_lock(&m->lock);
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
}

void maker_destroy(struct maker *m)
{
    if (!m)
        return;
    atomic_store(&m->ends, true);
    wake_up(m);
    pthread_join(m->thread, NULL);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

unsigned maker_room(const struct maker *m)
{
    return MAKER_JOBS - (unsigned)(m->n_put - m->n_taken);
}

unsigned maker_next(const struct maker *m)
{
    return (unsigned)(m->n_put % MAKER_JOBS);
}

/* The thread hears of what was put.  What the caller has stored past the cache is settled before: the
 * thread may write to a frame that held a page until now. */
static void tell(struct maker *m)
{
    fe_copy_settle();
    atomic_store_explicit(&m->put, m->n_put, memory_order_release);
}

void maker_put(struct maker *m, const struct maker_job *job)
{
    m->jobs[m->n_put++ % MAKER_JOBS] = *job;
    if (m->n_put % TOLD == 0)
        tell(m);
}

/* Waits until a job is made.  Here the thread is woken up, and not for each job that is put: that
 * would cost a fence each time. */
static void wait_for_made(struct maker *m)
{
    tell(m);
    for (unsigned i = 1;; i++) {
        m->seen_made = atomic_load_explicit(&m->made, memory_order_acquire);
        if (m->seen_made != m->n_taken)
            return;
        if (atomic_load(&m->sleeps))
            wake_up(m);
        if (i % LOOKS_A_YIELD == 0)
            (void)sched_yield();
    }
}

struct maker_job *maker_take(struct maker *m)
{
    if (m->n_taken == m->n_put)
        return NULL;
    if (m->seen_made == m->n_taken)
        wait_for_made(m);
    return &m->jobs[m->n_taken % MAKER_JOBS];
}

void maker_done(struct maker *m)
{
    m->n_taken++;
}
