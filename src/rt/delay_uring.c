/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleeping with an io_uring of the thread's own.
 *
 * An IORING_OP_TIMEOUT is an hrtimer that ignores the thread's timer slack, and one
 * io_uring_enter both arms it and waits for it: half of the lateness of
 * clock_nanosleep with default slack, for the same one system call.  A ring per
 * thread, because a ring for all needs a thread that reaps and wakes, and that one
 * is a queue: at 16 waiters it was late by 350 us.
 *
 * Plain rings: IORING_SETUP_DEFER_TASKRUN, COOP_TASKRUN and registered ring fds
 * were measured and change nothing here, and each asks for a newer kernel.
 *
 * After any surprise (an entry that cannot be had or submitted, a result other than
 * -ETIME) the state of the ring is unknown, a late completion may still come; so
 * sleep_until returns an error and the caller closes the ring for good.
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

/* Submits what is pending and returns the one completion's result. */
static int submit_and_reap(struct io_uring *ring, int *ret_res)
{
    for (;;) {
        struct io_uring_cqe *cqe;
        int r = io_uring_submit_and_wait(ring, 1);

        /* A signal may end the call before or after the entry was taken.  Both look
         * alike from here and both are mended by calling again: liburing submits
         * what the kernel has not consumed, and nothing twice. */
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
    /* Read by the kernel while it takes the entry, and so only during the call. */
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
    return res < 0 ? res : -EPROTO; /* a timeout that neither expired nor failed */
}

const struct fe_delay_way fe_delay_way_uring = {
    .name = "io_uring",
    .open = uring_open,
    .sleep_until = uring_sleep_until,
    .close = uring_close,
};
