/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A way of sleeping: what delay.c needs from io_uring and from clock_nanosleep.
 *
 * Private to src/rt.  A state belongs to one thread, and only this thread sleeps with it.  Any
 * thread may close the state when its thread no longer uses it.
 */
#pragma once

#include <stdint.h>

struct fe_delay_way {
    const char *name;

    /* Makes what the calling thread needs.  Returns 0 or a negative errno. */
    int (*open)(void **ret_state);

    /* Sleeps until at_ns in the time of fe_clock_now_ns(); signals do not end the sleep.  It may
     * end late, and the caller looks at the clock afterwards in any case.  A negative errno means
     * that this way does not work, or works no longer: then the caller closes it. */
    int (*sleep_until)(void *state, uint64_t at_ns);

    void (*close)(void *state);
};

extern const struct fe_delay_way fe_delay_way_uring;
extern const struct fe_delay_way fe_delay_way_nanosleep;
