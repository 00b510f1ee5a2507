/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleeping with clock_nanosleep, which every Linux has and no sandbox forbids.
 *
 * The kernel may delay the timers of a thread by the thread's slack, 50 us by default, in order to
 * batch wake-ups.  A slack of 1 ns removes this delay (0 would mean the default).  The slack is a
 * property of the thread and remains after the wait.  That does no harm: a worker of the server
 * needs all of its timers punctual, and when the thread exits, the slack is gone with it.
 */
#include "rt/delay_way.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/num.h"

static int nanosleep_open(void **ret_state)
{
    /* If a sandbox refuses this, wake-ups are 50 us later, and the margin learns that.  The wait
     * still works, which is the purpose of this way of sleeping. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    *ret_state = NULL;
    return 0;
}

static int nanosleep_sleep_until(void *state, uint64_t at_ns)
{
    const struct timespec at = {
        .tv_sec = (time_t)(at_ns / FE_NS_PER_S),
        .tv_nsec = (long)(at_ns % FE_NS_PER_S),
    };
    int r; /* a positive errno, because clock_nanosleep does not set errno */

    (void)state;
    do
        r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    while (r == EINTR);
    return -r;
}

static void nanosleep_close(void *state)
{
    (void)state;
}

const struct fe_delay_way fe_delay_way_nanosleep = {
    .name = "nanosleep",
    .open = nanosleep_open,
    .sleep_until = nanosleep_sleep_until,
    .close = nanosleep_close,
};
