/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a thread spends a wait: a coarse sleep, a precise sleep, and a spin.
 *
 *      now            deadline - 100 ms        deadline - margin     deadline
 *       |--- coarse(), interruptible ---|--- way->sleep_until() ---|-- spin --|
 *
 * The margin.  A precise sleep ends 20 to 100 us after its time, and now and then much later.
 * So a thread learns how late its sleeps are, and arms each of them to end a margin before the
 * deadline.  The margin is a high quantile of that lateness.  In all but a few waits the thread
 * is then awake in time, and it spins over what is left.  The spin ends at the deadline, give or
 * take one reading of the clock.  It costs processor time: in every wait the margin minus the
 * mean lateness.
 *
 * Tickets.  A thread that spins takes a processor from the client, from the kernel and from
 * other waits, and a spinner that was preempted is later than a sleeper that was woken.  So
 * there are only max(1, processors - 1) tickets for spinning.  A thread without a ticket yields
 * in a loop instead: it lets every other thread that wants the processor go first, and looks at
 * the clock at each of its turns.  (The code calls that spinning behind others.)  When more
 * threads wait than there are processors, all of them yield, and each has its turn every few us.
 * Margins are shorter then: only as long as a wake-up is usually late.
 *
 * When other programs want the processors.  A thread that yields may wait long for its next
 * turn.  If a turn takes long to come, or if too many yielding threads end late, nobody yields
 * for a while (rt/ration.h).  A thread that wakes up and gets no ticket then sleeps once more,
 * which is called the nap.  A nap is armed early by only a low quantile of the lateness, so
 * three of four naps end after the deadline.  If the deadline is so near that even a nap would
 * usually end too late, the thread spins without a ticket.
 *
 * When a sleep would save nothing.  A thread that would be awake for a quarter of its wait in
 * any case yields during all of it.  So does every thread of a crowd whose wake-ups alone would
 * use up the processors.  Such waits are treated like the short waits below.  One in 64 of them
 * sleeps all the same, so that a margin that grew in a burst of noise can shrink again.
 *
 * What must not teach the margin.  On a busy machine a wake-up can be milliseconds late, because
 * another program has its turn.  A larger margin does not help: the scheduler shares the
 * processor out, so a thread that spins longer is preempted earlier and for longer.  Lateness
 * and margin would drive each other up until all threads only spin.  (Measured: a p99 of 20 ms,
 * where plain sleeping had 3 ms.)  Four rules prevent that.  Lateness beyond CONTENTION_NS does
 * not count.  The margin never exceeds 250 us.  A spin that was interrupted makes the margin
 * smaller.  And each thread asks the scheduler for short turns (rt/slice.h).
 *
 * Short waits.  A wait that is shorter than the margin is spun as a whole, so it cannot tell how
 * late a sleep would have been.  It counts as a wake-up in time.  Otherwise a margin that grew
 * in a burst of noise would never shrink while all deadlines are near, and the thread would only
 * spin.
 *
 * Ownership.  What a thread owns hangs on a pthread key of the object, whose destructor runs
 * when the thread exits.  It is also in a list of the object, because no destructor runs when
 * the key is deleted, as it is when the plugin is unloaded.
 */
#include "rt/delay.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "rt/clock.h"
#include "rt/delay_way.h"
#include "rt/margin.h"
#include "rt/ration.h"
#include "rt/slice.h"
#include "rt/spin.h"

#define COARSE_GUARD_NS (100 * FE_NS_PER_MS)
#define COARSE_LEAST_NS (10 * FE_NS_PER_MS) /* a shorter sleep is not worth a call */
#define COARSE_SLICE_NS (250 * FE_NS_PER_MS)
#define PROBE_NS        (50 * FE_NS_PER_US)
#define START_MARGIN_NS (100 * FE_NS_PER_US) /* of the first thread; the others inherit */
#define START_NAP_NS    (5 * FE_NS_PER_US) /* and of what is usual */
#define CONTENTION_NS   (500 * FE_NS_PER_US)
#define AWAKE_WAITS     64 /* one of so many such waits is slept, to learn from it */

static const struct fe_margin_rule margin_rule = {
    .quantile_ppm = 995000,
    .min_ns = 5 * FE_NS_PER_US,
    .max_ns = 250 * FE_NS_PER_US,
};
static const struct fe_margin_rule usual_rule = {
    .quantile_ppm = 850000,
    .min_ns = 1 * FE_NS_PER_US,
    .max_ns = 100 * FE_NS_PER_US,
};
static const struct fe_margin_rule nap_rule = {
    .quantile_ppm = 250000,
    .min_ns = 1 * FE_NS_PER_US,
    .max_ns = 20 * FE_NS_PER_US,
};

/* What one thread owns. */
struct waiter {
    struct fe_delay *owner;
    const struct fe_delay_way *way;
    void *way_state;
    struct fe_margin margin, usual, nap; /* quantiles of how late it woke up */
    uint64_t n_awake; /* waits for which it need not have slept */
    struct waiter *prev, *next; /* guarded by owner->lock */
};

struct fe_delay {
    struct fe_delay_params params; /* constant after create */
    const struct fe_delay_way *way;
    pthread_key_t key;
    struct fe_spin_ration ration;
    /* Where the margin of a new thread starts: at what some thread learnt last.  The two are not
     * read and written together, which does not matter for a hint. */
    _Atomic uint64_t hint_ns, hint_n_learnt;

    pthread_mutex_t lock; /* guards the members below; has_notice only against writers */
    struct waiter *waiters;
    uint64_t fallbacks;
    struct fe_err notice;
    atomic_bool has_notice; /* set once, when notice is complete */
};

/* Why io_uring does not work, in words that say where the user should look. */
static const char *hint_for(int errnum)
{
    switch (errnum) {
    case EPERM:
    case EACCES:
        return "forbidden by a seccomp filter or by kernel.io_uring_disabled";
    case ENOSYS:
        return "this kernel has none, or a seccomp filter hides it";
    case ENOMEM:
        return "see RLIMIT_MEMLOCK, ulimit -l";
    case EMFILE:
    case ENFILE:
        return "see RLIMIT_NOFILE, ulimit -n";
    default:
        return "its timeouts do not work here";
    }
}

static void set_notice(struct fe_delay *d, const char *whom, int errnum)
{
    pthread_mutex_lock(&d->lock);
    if (!atomic_load_explicit(&d->has_notice, memory_order_relaxed)) {
        fe_err_set(&d->notice, errnum,
                   "%s with clock_nanosleep and 1 ns timer slack, as %s failed: %s (%s)",
                   whom, d->way->name, strerror(errnum), hint_for(errnum));
        atomic_store_explicit(&d->has_notice, true, memory_order_release);
    }
    pthread_mutex_unlock(&d->lock);
}

/* Makes this thread go on with clock_nanosleep, which can always be opened. */
static void fall_back(struct waiter *w, int errnum)
{
    struct fe_delay *d = w->owner;

    set_notice(d, "a thread waits", errnum);
    pthread_mutex_lock(&d->lock);
    w->way = &fe_delay_way_nanosleep;
    w->way_state = NULL;
    d->fallbacks++;
    pthread_mutex_unlock(&d->lock);
    (void)w->way->open(&w->way_state);
}

/* Sleeps until at_ns in a way that still works, and learns how late the thread woke up. */
static void sleep_until(struct waiter *w, uint64_t at_ns)
{
    int r = w->way->sleep_until(w->way_state, at_ns);

    if (r < 0 && w->way != &fe_delay_way_nanosleep) {
        w->way->close(w->way_state);
        fall_back(w, -r);
        r = w->way->sleep_until(w->way_state, at_ns);
    }
    if (r < 0) /* clock_nanosleep fails, too: only spinning is left */
        (void)fe_spin_until(at_ns, NULL);

    uint64_t now = fe_clock_now_ns();
    uint64_t late = now > at_ns ? now - at_ns : 0;
    if (late > CONTENTION_NS) /* another program had its turn: no margin heals that */
        return;
    fe_margin_learn(&w->margin, &margin_rule, late);
    fe_margin_learn(&w->usual, &usual_rule, late);
    fe_margin_learn(&w->nap, &nap_rule, late);
}

/* Spins until at_ns and keeps the processor.  False, and does nothing, without a ticket for it. */
static bool spin_with_ticket(struct waiter *w, uint64_t at_ns)
{
    bool interrupted;
    if (!fe_spin_take(&w->owner->ration))
        return false;
    (void)fe_spin_until(at_ns, &interrupted);
    fe_spin_give(&w->owner->ration);
    if (interrupted)
        fe_margin_cut(&w->margin, &margin_rule);
    return true;
}

/* Gets from a wake-up shortly before at_ns to at_ns, as the ration allows.  A thread of a crowd
 * lets others go first, and any other does so if it gets no ticket.  Where that is no way to wait,
 * a thread of a crowd may have a ticket, and the others nap. */
static void finish_auto(struct waiter *w, uint64_t at_ns, bool is_crowd)
{
    struct fe_spin_ration *ration = &w->owner->ration;

    if (!is_crowd && spin_with_ticket(w, at_ns))
        return;
    uint64_t now = fe_spin_behind_others(ration, at_ns);
    if (now >= at_ns || (is_crowd && spin_with_ticket(w, at_ns)))
        return;
    uint64_t near_ns = fe_max_u64(w->usual.ns, w->nap.ns);
    while (now < at_ns && at_ns - now > near_ns) {
        sleep_until(w, at_ns - w->nap.ns);
        now = fe_clock_now_ns();
    }
    (void)fe_spin_until(at_ns, NULL);
}

/* What there is to note at the end of a wait is noted shortly before it.  This and the other ways to
 * wait end before the deadline, or behind it: the last spin is the caller's, so that nothing is left
 * to do then but to return. */
static void wait_auto(struct waiter *w, uint64_t now, uint64_t deadline_ns)
{
    struct fe_delay *d = w->owner;
    unsigned n_waiting = fe_spin_enter(&d->ration), n_processors = d->ration.n_processors;
    struct fe_spin_lateness late = {w->margin.ns, w->usual.ns, w->nap.ns};
    uint64_t left_ns = deadline_ns - now;
    uint64_t early_ns = fe_spin_allowance(late, left_ns, n_waiting, n_processors,
                                          fe_spin_is_busy(&d->ration, now));

    bool awake = left_ns > early_ns &&
                 fe_spin_saves_nothing(late, left_ns, n_waiting, n_processors) &&
                 ++w->n_awake % AWAKE_WAITS != 0;
    if (awake)
        now = fe_spin_behind_others(&d->ration, deadline_ns - early_ns);
    if (awake || left_ns <= early_ns)
        fe_margin_learn(&w->margin, &margin_rule, 0);
    if (now < deadline_ns && deadline_ns - now > early_ns) {
        sleep_until(w, deadline_ns - early_ns);
        now = fe_clock_now_ns();
    }
    if (now < deadline_ns && deadline_ns - now > FE_SPIN_NEAR_NS)
        finish_auto(w, deadline_ns - FE_SPIN_NEAR_NS, n_waiting > n_processors);
    fe_spin_leave(&d->ration);
    atomic_store_explicit(&d->hint_ns, w->margin.ns, memory_order_relaxed);
    atomic_store_explicit(&d->hint_n_learnt, w->margin.n_learnt, memory_order_relaxed);
}

static void wait_fixed(struct waiter *w, uint64_t now, uint64_t deadline_ns, uint64_t margin_ns)
{
    if (deadline_ns - now > margin_ns)
        sleep_until(w, deadline_ns - margin_ns);
}

static void start_to_learn(struct waiter *w, uint64_t margin_ns, uint64_t n_learnt)
{
    fe_margin_init(&w->margin, &margin_rule, margin_ns, n_learnt);
    fe_margin_init(&w->usual, &usual_rule, START_NAP_NS, 0);
    fe_margin_init(&w->nap, &nap_rule, START_NAP_NS, 0);
}

static void waiter_open(struct waiter *w, struct fe_delay *d)
{
    w->owner = d;
    start_to_learn(w, atomic_load_explicit(&d->hint_ns, memory_order_relaxed),
                   atomic_load_explicit(&d->hint_n_learnt, memory_order_relaxed));
    (void)fe_slice_shorten(); /* only a wish */
    w->way = d->way;
    int r = w->way->open(&w->way_state);
    if (r < 0)
        fall_back(w, -r);
}

static void waiter_free(struct waiter *w)
{
    w->way->close(w->way_state);
    free(w);
}

/* The destructor of the key: the thread that owns the waiter exits. */
static void waiter_exit(void *value)
{
    struct waiter *w = value;
    struct fe_delay *d = w->owner;

    pthread_mutex_lock(&d->lock);
    *(w->prev ? &w->prev->next : &d->waiters) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    pthread_mutex_unlock(&d->lock);
    waiter_free(w);
}

/* Returns the waiter of this thread, and makes it if there is none; NULL without memory. */
static struct waiter *waiter_of_thread(struct fe_delay *d)
{
    struct waiter *w = pthread_getspecific(d->key);
    if (w)
        return w;

    w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    if (pthread_setspecific(d->key, w)) {
        free(w);
        return NULL;
    }
    waiter_open(w, d);
    pthread_mutex_lock(&d->lock);
    w->next = d->waiters;
    if (w->next)
        w->next->prev = w;
    d->waiters = w;
    pthread_mutex_unlock(&d->lock);
    return w;
}

static void wait_precisely(struct fe_delay *d, uint64_t deadline_ns)
{
    struct waiter *w = waiter_of_thread(d);
    struct waiter without_memory = {.owner = d, .way = &fe_delay_way_nanosleep};

    if (!w) { /* only for this wait: nothing is learnt, and nothing has to be freed */
        w = &without_memory;
        start_to_learn(w, START_MARGIN_NS, 0);
        (void)w->way->open(&w->way_state);
    }

    uint64_t now = fe_clock_now_ns(); /* making a ring has taken time */
    if (now >= deadline_ns)
        return;
    bool spins = d->params.spin == FE_DELAY_SPIN_FIXED;
    if (d->params.spin == FE_DELAY_SPIN_AUTO)
        wait_auto(w, now, deadline_ns);
    else
        wait_fixed(w, now, deadline_ns, spins ? d->params.spin_ns : 0);
}

int fe_delay_until(struct fe_delay *d, uint64_t deadline_ns, fe_delay_coarse_fn coarse,
                   void *ctx, uint64_t *ret_lateness_ns)
{
    uint64_t now = fe_clock_now_ns();

    while (coarse && now < deadline_ns &&
           deadline_ns - now >= COARSE_GUARD_NS + COARSE_LEAST_NS) {
        uint64_t ns = fe_min_u64(deadline_ns - now - COARSE_GUARD_NS, COARSE_SLICE_NS);
        if (coarse(ctx, ns))
            return -ESHUTDOWN;
        now = fe_clock_now_ns();
    }

    if (now < deadline_ns) {
        wait_precisely(d, deadline_ns);
        now = fe_spin_until(deadline_ns, NULL);
    }
    if (ret_lateness_ns)
        *ret_lateness_ns = now - deadline_ns;
    return 0;
}

/* Returns 0 if a thread can open this way of sleeping and sleep with it. */
static int probe(const struct fe_delay_way *way)
{
    void *state;
    int r = way->open(&state);
    if (r < 0)
        return r;

    uint64_t at = fe_clock_now_ns() + PROBE_NS;
    r = way->sleep_until(state, at);
    if (r == 0 && fe_clock_now_ns() < at)
        r = -EPROTO;
    way->close(state);
    return r;
}

static int choose_way(struct fe_delay *d, struct fe_err *reterr)
{
    d->way = &fe_delay_way_nanosleep;
    if (d->params.kind == FE_DELAY_NANOSLEEP)
        return 0;

    int r = probe(&fe_delay_way_uring);
    if (r < 0 && d->params.kind == FE_DELAY_IO_URING)
        return fe_err_set(reterr, -r, "delay=io_uring does not work here: %s (%s)",
                          strerror(-r), hint_for(-r));
    d->way = &fe_delay_way_uring;
    if (r < 0) {
        set_notice(d, "waiting", -r);
        d->way = &fe_delay_way_nanosleep;
    }
    return 0;
}

/* The processors that this process may run on; at least 1. */
static unsigned count_processors(void)
{
    cpu_set_t set;
    long n;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    else /* there are more than CPU_SETSIZE: an upper bound is enough */
        n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 1 ? (unsigned)n : 1;
}

int fe_delay_create(struct fe_delay **ret, const struct fe_delay_params *params,
                    struct fe_err *reterr)
{
    if (params->spin == FE_DELAY_SPIN_FIXED && params->spin_ns > FE_DELAY_SPIN_MAX_NS)
        return fe_err_set(reterr, EINVAL, "spin=%lluns is above the maximum of %llums",
                          (unsigned long long)params->spin_ns,
                          (unsigned long long)(FE_DELAY_SPIN_MAX_NS / FE_NS_PER_MS));

    struct fe_delay *d = calloc(1, sizeof *d);
    if (!d)
        return fe_err_nomem(reterr, "delay", sizeof *d);
    d->params = *params;
    fe_spin_ration_init(&d->ration, count_processors());
    atomic_init(&d->hint_ns, START_MARGIN_NS);
    atomic_init(&d->hint_n_learnt, 0);

    int r = -pthread_mutex_init(&d->lock, NULL);
    if (r < 0) {
        fe_err_set(reterr, -r, "delay: cannot make a lock: %s", strerror(-r));
        goto free_object;
    }
    r = -pthread_key_create(&d->key, waiter_exit);
    if (r < 0) {
        fe_err_set(reterr, -r, "delay: cannot make a key: %s", strerror(-r));
        goto free_lock;
    }
    r = choose_way(d, reterr);
    if (r < 0)
        goto free_key;
    *ret = d;
    return 0;

free_key:
    pthread_key_delete(d->key);
free_lock:
    pthread_mutex_destroy(&d->lock);
free_object:
    free(d);
    return r;
}

void fe_delay_destroy(struct fe_delay *d)
{
    if (!d)
        return;
    /* This comes first, so that a thread that exits later does not look for its waiter. */
    pthread_key_delete(d->key);
    while (d->waiters) {
        struct waiter *w = d->waiters;
        d->waiters = w->next;
        waiter_free(w);
    }
    pthread_mutex_destroy(&d->lock);
    free(d);
}

const char *fe_delay_kind_name(const struct fe_delay *d)
{
    return d->way->name;
}

const char *fe_delay_notice(const struct fe_delay *d)
{
    if (!atomic_load_explicit(&d->has_notice, memory_order_acquire))
        return NULL;
    return d->notice.text;
}

void fe_delay_get_counts(struct fe_delay *d, struct fe_delay_counts *ret)
{
    *ret = (struct fe_delay_counts){0};
    pthread_mutex_lock(&d->lock);
    for (const struct waiter *w = d->waiters; w; w = w->next) {
        ret->threads++;
        ret->rings += w->way == &fe_delay_way_uring;
    }
    ret->fallbacks = d->fallbacks;
    pthread_mutex_unlock(&d->lock);
}
