/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleeping with an io_uring that belongs to the thread.
 *
 * An IORING_OP_TIMEOUT is an hrtimer that ignores the thread's timer slack, and a single
 * io_uring_enter both arms it and waits for it.  It costs one system call, as clock_nanosleep does,
 * and has half of the lateness that clock_nanosleep has with the default slack.
 *
 * Each thread has a ring of its own.  A single ring for all threads would need a thread that
 * collects completions and wakes up the others, and such a thread becomes a queue: with 16 waiting
 * threads it was late by 350 us.
 *
 * The rings are plain.  IORING_SETUP_DEFER_TASKRUN, COOP_TASKRUN and registered ring descriptors
 * were measured.  They change nothing here, and each of them needs a newer kernel.
 *
 * After any surprise (an entry cannot be had or submitted, or a result is not -ETIME) the state of
 * the ring is unknown, because a late completion may still arrive.  Then sleep_until returns an
 * error, and the caller closes the ring for good.
 */
#include "rt/delay_way.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

#include "base/num.h"

#define RING_ENTRIES 2

static int uring_open(void **ret_state)
{
    struct io_uring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return -ENOMEM;

    int r = io_uring_queue_init(RING_ENTRIES, ring, 0);
    if (r < 0) {
        free(ring);
        return r;
    }
    *ret_state = ring;
    return 0;
}

static void uring_close(void *state)
{
    struct io_uring *ring = state;

    io_uring_queue_exit(ring);
    free(ring);
}

/* Submits the pending entry and returns the result of its completion. */
static int submit_and_reap(struct io_uring *ring, int *ret_res)
{
    for (;;) {
        struct io_uring_cqe *cqe;
        int r = io_uring_submit_and_wait(ring, 1);

        /* A signal may end the call before or after the kernel took the entry.  Both look the
         * same from here, and in both cases calling again is right: liburing submits what the
         * kernel has not consumed, and nothing twice. */
        if (r < 0 && r != -EINTR)
            return r;
        r = io_uring_peek_cqe(ring, &cqe);
        if (r == 0) {
            *ret_res = cqe->res;
            io_uring_cqe_seen(ring, cqe);
            return 0;
        }
        if (r != -EAGAIN)
            return r;
    }
}

static int uring_sleep_until(void *state, uint64_t at_ns)
{
    struct io_uring *ring = state;
    /* The kernel reads this while it takes the entry, which is during the call. */
    struct __kernel_timespec at = {
        .tv_sec = (long long)(at_ns / FE_NS_PER_S),
        .tv_nsec = (long long)(at_ns % FE_NS_PER_S),
    };
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    if (!sqe)
        return -EBUSY;
    io_uring_prep_timeout(sqe, &at, 0, IORING_TIMEOUT_ABS);

    int res = 0;
    int r = submit_and_reap(ring, &res);
    if (r < 0)
        return r;
    if (res == -ETIME)
        return 0;
    return res < 0 ? res : -EPROTO; /* the timeout has neither expired nor failed */
}

const struct fe_delay_way fe_delay_way_uring = {
    .name = "io_uring",
    .open = uring_open,
    .sleep_until = uring_sleep_until,
    .close = uring_close,
};
