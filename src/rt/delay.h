/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting until an absolute instant, precisely, from many threads at the same time.
 *
 * A sleep ends some tens of microseconds after its deadline, because the timer interrupt, the
 * wake-up and the way back to user space take that long.  So a thread sleeps until a margin before
 * the deadline, and spins over the rest.  Each thread learns its margin, 5 to 250 us, from its own
 * wake-ups (rt/margin.h).
 *
 * Spinning is rationed, so that a server with many requests in flight does not take the machine
 * from its own client.  At most max(1, processors - 1) threads spin and keep their processor,
 * but for the last microseconds of a wait.
 * Others spin behind all threads that want the processor, or, where that makes them late, sleep on
 * and wake up a few microseconds early.  Processors that nobody else wants may so be busy with
 * spinning: during short waits (four margins and less), and while many requests are in flight.
 *
 * No wait ends early: fe_delay_until() returns 0 at or after the deadline, by fe_clock_now_ns().
 *
 * Threads: any thread may call any function at any time, except create and destroy.  The first
 * wait of a thread makes what the thread needs (an io_uring: a file descriptor and a few pages),
 * which is freed when the thread exits.
 *
 * Fork: a process may create the object, fork, and then wait in the child.  To wait both before
 * and after the fork is a bug, because the child would share the parent's ring.
 */
#pragma once

#include <stdint.h>

#include "flashemu/err.h"

enum fe_delay_kind {
    FE_DELAY_AUTO = 0,  /* io_uring where it works, otherwise nanosleep */
    FE_DELAY_IO_URING,  /* io_uring; an error where it does not work */
    FE_DELAY_NANOSLEEP, /* clock_nanosleep with a timer slack of 1 ns */
};

enum fe_delay_spin {
    FE_DELAY_SPIN_AUTO = 0, /* over a learnt margin, and rationed */
    FE_DELAY_SPIN_OFF,      /* not at all: sleep until the deadline and wake up late */
    FE_DELAY_SPIN_FIXED,    /* every thread for spin_ns, without a ration, as the user said */
};

#define FE_DELAY_SPIN_MAX_NS UINT64_C(100000000) /* the largest spin_ns: 100 ms */

/* Zeros are the defaults. */
struct fe_delay_params {
    enum fe_delay_kind kind;
    enum fe_delay_spin spin;
    uint64_t spin_ns; /* only for FE_DELAY_SPIN_FIXED */
};

/* What the object holds, and what it had to give up. */
struct fe_delay_counts {
    uint64_t threads;   /* threads that have waited and still live */
    uint64_t rings;     /* open io_urings, at most one for each of these threads */
    uint64_t fallbacks; /* threads so far for which the chosen kind failed */
};

struct fe_delay;

/* An interruptible sleep of about ns nanoseconds, which the adapter provides.  It returns 0 to go
 * on waiting, and anything else to give up (the server shuts down, the client is gone).  It must
 * really sleep: a function that returns 0 immediately would turn the wait into a busy loop.  With
 * ns 0 it only says whether to go on, and does not sleep at all: a nap of 1 ns takes some 60 us. */
typedef int (*fe_delay_coarse_fn)(void *ctx, uint64_t ns);

/* Creates the object.  Tries out the kind with a real wait of 50 us, and counts the processors
 * that this process may use.  Leaves nothing open.
 *
 * Errors, with message: -EINVAL for a spin_ns above its maximum; with FE_DELAY_IO_URING the
 * kernel's error (-EPERM, -ENOSYS, -ENOMEM, ...) where io_uring does not work; -ENOMEM, -EAGAIN. */
int fe_delay_create(struct fe_delay **ret, const struct fe_delay_params *params,
                    struct fe_err *reterr);

/* Frees everything, including the rings of threads that still live.  NULL is allowed.  Meanwhile
 * no thread may wait, and no thread that has waited may exit. */
void fe_delay_destroy(struct fe_delay *d);

/* Waits until deadline_ns in the time of fe_clock_now_ns(); returns immediately if that has
 * passed.  Returns 0, and in *ret_lateness_ns (which may be NULL) how long ago the deadline was.
 * Returns -ESHUTDOWN, and leaves *ret_lateness_ns alone, if coarse ended the wait.
 *
 * coarse (which may be NULL) is called only while the deadline is more than 100 ms away, for at
 * most 250 ms each time.  So a wait holds its thread for at most some 100 ms after coarse was
 * told to stop.
 *
 * A wait costs one system call that sleeps, or two if the ration of spinning was used up, and the
 * spin; or a call of sched_yield for each time that others may go first.  The first wait of a
 * thread also makes the ring, which takes some tens of microseconds of the wait.  A signal does not
 * end a wait.  A lack of resources does not make it fail: a thread that gets no ring waits with
 * clock_nanosleep. */
int fe_delay_until(struct fe_delay *d, uint64_t deadline_ns, fe_delay_coarse_fn coarse,
                   void *ctx, uint64_t *ret_lateness_ns);

/* "io_uring" or "nanosleep": what threads use as long as it works for them. */
const char *fe_delay_kind_name(const struct fe_delay *d);

/* One line that says what had to be given up and why; the adapter prints it once.  NULL as long
 * as everything is as the user wished.  The line may appear when the object is created (AUTO fell
 * back to nanosleep) or later (a thread got no ring).  It never changes afterwards and lives as
 * long as the object. */
const char *fe_delay_notice(const struct fe_delay *d);

/* Counts what the object holds now, under a lock; O(threads).  For tests. */
void fe_delay_get_counts(struct fe_delay *d, struct fe_delay_counts *ret);
