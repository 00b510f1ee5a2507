/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ration of spinning.
 *
 * Private to src/rt and its tests.  A ration is what all threads of one fe_delay share: how many of
 * them wait, how many spin and keep their processor, and whether others want the processors.  All
 * operations are relaxed, because the ration protects processors and no data.  What is noted about
 * others may be lost if two threads note it at the same time, which does no harm.
 *
 *     threads wait               no more than processors        a crowd
 *     processors are free        a ticket, or behind others     behind others
 *     others want them           a ticket, or a nap             a ticket, or a nap
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"

struct fe_spin_ration {
    atomic_uint waiting; /* threads between the start of a precise wait and shortly before its end */
    atomic_uint taken;   /* tickets that are taken: threads that spin and keep the processor */
    _Atomic uint64_t busy_until_ns; /* until then the processors count as wanted by others */
    _Atomic uint64_t busy_for_ns;   /* how long that was, when it was noted last */
    atomic_uint late; /* rises with spins behind others that end late, falls with the others */
    unsigned n_processors, limit;
};

/* If there is more than one processor, one of them is left to the client and the kernel. */
static inline void fe_spin_ration_init(struct fe_spin_ration *r, unsigned n_processors)
{
    atomic_init(&r->waiting, 0);
    atomic_init(&r->taken, 0);
    atomic_init(&r->busy_until_ns, 0);
    atomic_init(&r->busy_for_ns, 0);
    atomic_init(&r->late, 0);
    r->n_processors = n_processors;
    r->limit = n_processors > 1 ? n_processors - 1 : 1;
}

/* The caller begins and ends a precise wait.  fe_spin_enter returns how many threads wait now. */
static inline unsigned fe_spin_enter(struct fe_spin_ration *r)
{
    return 1 + atomic_fetch_add_explicit(&r->waiting, 1, memory_order_relaxed);
}

static inline void fe_spin_leave(struct fe_spin_ration *r)
{
    atomic_fetch_sub_explicit(&r->waiting, 1, memory_order_relaxed);
}

/* How late a thread's wake-ups have been: a high quantile, a usual one and a low one. */
struct fe_spin_lateness {
    uint64_t high_ns, usual_ns, low_ns;
};

/* How long before its deadline, which is left_ns away, a thread may be woken up to spin.  Pure.
 *
 * That is the high quantile as long as no more threads wait than there are processors.  More
 * threads get a share of it, or nothing if the share is more than a quarter of the wait.  But less
 * than the usual lateness would make most waits late.  So it is the usual lateness at least, if the
 * processors can afford that: they are free, or in most waits a thread spins for the usual lateness
 * without the low one, and all of the waiting threads together may spin on half of the processors.
 * The low quantile it is in any case. */
static inline uint64_t fe_spin_allowance(struct fe_spin_lateness late, uint64_t left_ns,
                                         unsigned n_waiting, unsigned n_processors, bool is_busy)
{
    if (n_waiting <= n_processors)
        return late.high_ns;
    uint64_t share = fe_muldiv(late.high_ns, n_processors, n_waiting);
    uint64_t spin = late.usual_ns - fe_min_u64(late.low_ns, late.usual_ns);
    bool is_cheap = spin <= fe_muldiv(left_ns, n_processors, 2 * (uint64_t)n_waiting);
    uint64_t least = fe_max_u64(late.low_ns, is_cheap || !is_busy ? late.usual_ns : 0);
    return share > left_ns / 4 ? least : fe_max_u64(share, least);
}

/* Whether sleeping saves so little that a thread may as well stay awake until its deadline, which
 * is left_ns away, and let others go first.  Pure.
 *
 * So it is if the thread would be awake for a quarter of the wait in any case.  And if more threads
 * wait than there are processors: if each wait's part of the processors' time is no more than a
 * wake-up is usually late, for then the wake-ups would take most of that time. */
static inline bool fe_spin_saves_nothing(struct fe_spin_lateness late, uint64_t left_ns,
                                         unsigned n_waiting, unsigned n_processors)
{
    if (n_waiting <= n_processors)
        return late.high_ns > left_ns / 4;
    return late.usual_ns >= fe_muldiv(left_ns, n_processors, n_waiting);
}

/* Returns true with a ticket, which has to be given back; false immediately if all are taken. */
static inline bool fe_spin_take(struct fe_spin_ration *r)
{
    unsigned n = atomic_load_explicit(&r->taken, memory_order_relaxed);

    while (n < r->limit)
        if (atomic_compare_exchange_weak_explicit(
                &r->taken, &n, n + 1, memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

static inline void fe_spin_give(struct fe_spin_ration *r)
{
    unsigned before = atomic_fetch_sub_explicit(&r->taken, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
}

/* Processors that others want count as busy for so long.  It is twice as long each time, up to the
 * maximum, if they are found so again within four times as long. */
#define FE_SPIN_BUSY_NS     (10 * FE_NS_PER_MS)
#define FE_SPIN_BUSY_MAX_NS (2560 * FE_NS_PER_MS)

static inline bool fe_spin_is_busy(const struct fe_spin_ration *r, uint64_t now_ns)
{
    return now_ns < atomic_load_explicit(&r->busy_until_ns, memory_order_relaxed);
}

/* Others want the processors.  Threads that find that at the same time count once, or twice if they
 * meet in here, which only makes the time longer. */
static inline void fe_spin_note_busy(struct fe_spin_ration *r, uint64_t now_ns)
{
    uint64_t until_ns = atomic_load_explicit(&r->busy_until_ns, memory_order_relaxed);
    uint64_t for_ns = atomic_load_explicit(&r->busy_for_ns, memory_order_relaxed);
    if (now_ns < until_ns)
        return;
    bool again = for_ns && now_ns - until_ns < 4 * for_ns;
    for_ns = again ? fe_min_u64(2 * for_ns, FE_SPIN_BUSY_MAX_NS) : FE_SPIN_BUSY_NS;
    atomic_store_explicit(&r->busy_for_ns, for_ns, memory_order_relaxed);
    atomic_store_explicit(&r->busy_until_ns, now_ns + for_ns, memory_order_relaxed);
}

/* A spin behind others has ended, late_ns after its time.  If more than a third of them end more
 * than FE_SPIN_LATE_NS late for a while, others want the processors. */
#define FE_SPIN_LATE_NS  (10 * FE_NS_PER_US)
#define FE_SPIN_LATE_MAX 64u

static inline void fe_spin_note_lateness(struct fe_spin_ration *r, uint64_t now_ns,
                                         uint64_t late_ns)
{
    unsigned late = atomic_load_explicit(&r->late, memory_order_relaxed), was = late;
    late = late_ns > FE_SPIN_LATE_NS ? late + 2 : late - (late > 0);
    if (late > FE_SPIN_LATE_MAX) {
        fe_spin_note_busy(r, now_ns);
        late = 0;
    }
    if (late != was) /* most often it is zero and stays so */
        atomic_store_explicit(&r->late, late, memory_order_relaxed);
}
