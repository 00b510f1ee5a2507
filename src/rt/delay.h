/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting until an absolute instant, precisely, from many threads at once.
 *
 * A sleep ends some tens of microseconds after its deadline: the timer interrupt,
 * the wake-up and the way back to user space take that long.  So a thread sleeps
 * until a margin before the deadline and spins over the rest.  The margin is what
 * this thread has learnt from its own wake-ups (rt/margin.h), 5 to 250 us.  Spinning
 * is rationed: at most max(1, processors - 1) threads do it at a time, margins shrink
 * as more threads wait than there are processors, and those left over sleep on with
 * a compensation of a few microseconds, so that a server with many requests in flight
 * does not take the machine from its own client.
 *
 * Never early: fe_delay_until() returns 0 at or after the deadline, by
 * fe_clock_now_ns().
 *
 * Threads: all functions but create and destroy may be called from any thread at
 * any time.  What a thread needs (an io_uring: a file descriptor and a few pages) is
 * made by its first wait and freed when it exits.  Fork: a process may create, fork and
 * then wait in the child; waiting before the fork and after it is a bug, because the
 * child would share the parent's ring.
 */
#ifndef FE_RT_DELAY_H
#define FE_RT_DELAY_H

#include <stdint.h>

#include "flashemu/err.h"

enum fe_delay_kind {
    FE_DELAY_AUTO = 0,  /* io_uring where it works, else nanosleep */
    FE_DELAY_IO_URING,  /* io_uring or an error */
    FE_DELAY_NANOSLEEP, /* clock_nanosleep with a timer slack of 1 ns */
};

enum fe_delay_spin {
    FE_DELAY_SPIN_AUTO = 0, /* a learnt margin, rationed */
    FE_DELAY_SPIN_OFF,      /* sleep to the deadline and wake up late */
    FE_DELAY_SPIN_FIXED,    /* spin_ns, by every thread: the user's word, not rationed */
};

#define FE_DELAY_SPIN_MAX_NS UINT64_C(100000000) /* the largest spin_ns: 100 ms */

/* All zero is the default. */
struct fe_delay_params {
    enum fe_delay_kind kind;
    enum fe_delay_spin spin;
    uint64_t spin_ns; /* with FE_DELAY_SPIN_FIXED; not looked at otherwise */
};

/* What the waits of one process hold and have come to. */
struct fe_delay_counts {
    uint64_t threads;   /* that have waited and still live */
    uint64_t rings;     /* open io_urings, at most one for each of these threads */
    uint64_t fallbacks; /* threads so far that had to do without the chosen kind */
};

struct fe_delay;

/* An interruptible sleep of about ns nanoseconds, given by the adapter.  0 to go on
 * waiting, anything else to give up (the server shuts down, the client is gone).
 * It must really sleep: one that returns 0 at once turns the wait into a loop. */
typedef int (*fe_delay_coarse_fn)(void *ctx, uint64_t ns);

/* Tries out the kind (a real wait of 50 us) and counts the processors that this
 * process may use.  -EINVAL for spin_ns above its maximum; with FE_DELAY_IO_URING
 * the kernel's error (-EPERM, -ENOSYS, -ENOMEM, ...) where io_uring does not work;
 * -ENOMEM, -EAGAIN.  Opens nothing that lasts. */
int fe_delay_create(struct fe_delay **ret, const struct fe_delay_params *params,
                    struct fe_err *reterr);

/* Frees everything, the rings of threads that still live included; NULL is fine.
 * No thread may be waiting, or exit at the same time after having waited. */
void fe_delay_destroy(struct fe_delay *d);

/* Waits until deadline_ns (fe_clock_now_ns() time); returns at once if that has
 * passed.  Returns 0, and in *ret_lateness_ns (may be NULL) how long ago the
 * deadline was.  Returns -ESHUTDOWN, *ret_lateness_ns untouched, if coarse said stop.
 *
 * coarse (may be NULL) is called, in slices of at most 250 ms, only while the
 * deadline is more than 100 ms away, so a wait holds its thread for some 100 ms at
 * most after coarse has been told to stop.
 *
 * Costs one system call that sleeps, or two where the ration of spinning was used
 * up, and the spin; a thread's first wait also makes the ring, some tens of
 * microseconds that count towards the wait.  Signals do not end a wait.  Lack of
 * resources never fails one: a thread that gets no ring waits with clock_nanosleep. */
int fe_delay_until(struct fe_delay *d, uint64_t deadline_ns, fe_delay_coarse_fn coarse,
                   void *ctx, uint64_t *ret_lateness_ns);

/* "io_uring" or "nanosleep": what threads use unless it fails them. */
const char *fe_delay_kind_name(const struct fe_delay *d);

/* One line on what had to be given up and why, for the adapter to print once: NULL
 * so long as all is as wished.  It may appear when the object is created (AUTO fell
 * back) or later (a thread got no ring); once there it never changes, and it lives
 * as long as the object. */
const char *fe_delay_notice(const struct fe_delay *d);

/* What the object holds now; walks the threads under a lock. */
void fe_delay_get_counts(struct fe_delay *d, struct fe_delay_counts *ret);

#endif
