/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spinning until an instant, and the ration of spinning.
 *
 * Private to src/rt and its tests.  A ration consists of two counters that all threads of one
 * fe_delay share: how many threads wait, and how many of them spin.  Each step is one atomic
 * operation with relaxed order, because the ration protects processors and no data.
 */
#ifndef FE_RT_SPIN_H
#define FE_RT_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "rt/clock.h"

struct fe_spin_ration {
    atomic_uint waiting; /* threads between the start and the end of a precise wait */
    atomic_uint taken;   /* tickets that are taken: threads that spin */
    unsigned n_processors, limit;
};

/* If there is more than one processor, one of them is left to the client and the kernel. */
static inline void fe_spin_ration_init(struct fe_spin_ration *r, unsigned n_processors)
{
    atomic_init(&r->waiting, 0);
    atomic_init(&r->taken, 0);
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
 * than the usual lateness would make most waits late, whoever spins.  So it is the usual lateness
 * at least, if the processors can afford that: in most waits a thread then spins at most for the
 * usual lateness without the low one, and all of the waiting threads together may spin on half of
 * the processors.  The low quantile it is in any case. */
static inline uint64_t fe_spin_allowance(struct fe_spin_lateness late, uint64_t left_ns,
                                         unsigned n_waiting, unsigned n_processors)
{
    if (n_waiting <= n_processors)
        return late.high_ns;
    uint64_t share = fe_muldiv(late.high_ns, n_processors, n_waiting);
    uint64_t spin = late.usual_ns - fe_min_u64(late.low_ns, late.usual_ns);
    bool is_cheap = spin <= fe_muldiv(left_ns, n_processors, 2 * (uint64_t)n_waiting);
    uint64_t least = fe_max_u64(late.low_ns, is_cheap ? late.usual_ns : 0);
    return share > left_ns / 4 ? least : fe_max_u64(share, least);
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

/* Tells the processor that this is a spin.  The processor saves power, and a core with several
 * hardware threads leaves its execution units to the other threads. */
static inline void fe_spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield");
#endif
}

/* If more than this passes between two looks at the clock, the thread was taken off its processor
 * in between. */
#define FE_SPIN_GAP_NS (500 * FE_NS_PER_US)

/* A pause takes up to 50 ns, and a spin that pauses ends late by as much.  So a spin does not pause
 * when it is so near its end. */
#define FE_SPIN_NEAR_NS (2 * FE_NS_PER_US)

/* Returns at or after at_ns, immediately if that has passed, what the clock said last.  Says in
 * *ret_interrupted, which may be NULL, whether the thread was taken off its processor meanwhile. */
static inline uint64_t fe_spin_until(uint64_t at_ns, bool *ret_interrupted)
{
    uint64_t last = fe_clock_now_ns();
    bool interrupted = false;

    while (last < at_ns) {
        if (at_ns - last > FE_SPIN_NEAR_NS)
            fe_spin_pause();
        uint64_t now = fe_clock_now_ns();
        interrupted |= now - last > FE_SPIN_GAP_NS;
        last = now;
    }
    if (ret_interrupted)
        *ret_interrupted = interrupted;
    return last;
}

#endif
