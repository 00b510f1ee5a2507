/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spinning to an instant, and the ration of it.
 *
 * Private to src/rt and its tests.  A ration is two counters shared by all threads of
 * one fe_delay: who waits, and who spins.  Each step costs one atomic operation and
 * orders nothing, because a ration protects processors and no data.
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
    atomic_uint taken;   /* tickets: threads that spin */
    unsigned n_processors, limit;
};

/* Leaves one processor to the client and the kernel, where there is more than one. */
static inline void fe_spin_ration_init(struct fe_spin_ration *r, unsigned n_processors)
{
    atomic_init(&r->waiting, 0);
    atomic_init(&r->taken, 0);
    r->n_processors = n_processors;
    r->limit = n_processors > 1 ? n_processors - 1 : 1;
}

/* Counts the caller in, or out again; fe_spin_enter returns how many wait now. */
static inline unsigned fe_spin_enter(struct fe_spin_ration *r)
{
    return 1 + atomic_fetch_add_explicit(&r->waiting, 1, memory_order_relaxed);
}

static inline void fe_spin_leave(struct fe_spin_ration *r)
{
    atomic_fetch_sub_explicit(&r->waiting, 1, memory_order_relaxed);
}

/* How long before its deadline a thread may be woken up to spin: all of the margin
 * while no more threads wait than there are processors, a share of it beyond that,
 * and only the nap where even the share would be over a quarter of the wait.  Pure. */
static inline uint64_t fe_spin_allowance(uint64_t margin_ns, uint64_t nap_ns,
                                         uint64_t left_ns, unsigned n_waiting,
                                         unsigned n_processors)
{
    if (n_waiting <= n_processors)
        return margin_ns;
    uint64_t share = fe_muldiv(margin_ns, n_processors, n_waiting);
    return share > left_ns / 4 ? nap_ns : fe_max_u64(share, nap_ns);
}

/* True with a ticket, to be given back; false, at once, if all are taken. */
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

/* Tells the processor that this is a spin: it saves power, and on a core with
 * several threads it leaves the execution units to the others. */
static inline void fe_spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield");
#endif
}

/* Between two looks at the clock no more than this passes unless the thread was
 * taken off its processor. */
#define FE_SPIN_GAP_NS (500 * FE_NS_PER_US)

/* Returns at or after at_ns; at once if that has passed.  True if the thread was
 * taken off its processor meanwhile. */
static inline bool fe_spin_until(uint64_t at_ns)
{
    uint64_t last = fe_clock_now_ns();
    bool interrupted = false;

    while (last < at_ns) {
        fe_spin_pause();
        uint64_t now = fe_clock_now_ns();
        interrupted |= now - last > FE_SPIN_GAP_NS;
        last = now;
    }
    return interrupted;
}

#endif
