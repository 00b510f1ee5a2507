/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spinning until an instant: with the processor kept, or behind all others that want it.
 *
 * Private to src/rt and its tests.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "rt/clock.h"
#include "rt/ration.h"

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

/* Sixteen threads that let each other go first on two processors have their turn every few us.  So
 * near its end a spin keeps the processor. */
#define FE_SPIN_LAST_NS (8 * FE_NS_PER_US)

/* Spins, but lets all others who want the processor go first.  So it costs them nothing; only near
 * its end it keeps the processor.  If another thread keeps the processor for long, this is no way
 * to wait: the processors are noted as busy, and the spin is over.  Returns what the clock said
 * last, which is before at_ns only in that case. */
static inline uint64_t fe_spin_behind_others(struct fe_spin_ration *r, uint64_t at_ns)
{
    uint64_t last = fe_clock_now_ns();

    if (fe_spin_is_busy(r, last))
        return last;
    while (last < at_ns && at_ns - last > FE_SPIN_LAST_NS) {
        (void)sched_yield(); /* cannot fail on Linux */
        uint64_t now = fe_clock_now_ns();
        bool was_kept = now - last > FE_SPIN_GAP_NS;
        last = now;
        if (was_kept) {
            fe_spin_note_busy(r, now);
            return now;
        }
    }
    last = fe_spin_until(at_ns, NULL);
    fe_spin_note_lateness(r, last, last - at_ns);
    return last;
}
