/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A way of sleeping: what delay.c asks of io_uring and of clock_nanosleep.
 *
 * Private to src/rt.  A state belongs to one thread, which alone sleeps with it;
 * any thread may close it once that one is done.
 */
#ifndef FE_RT_DELAY_WAY_H
#define FE_RT_DELAY_WAY_H

#include <stdint.h>

struct fe_delay_way {
    const char *name;

    /* Makes what the calling thread needs; negative errno. */
    int (*open)(void **ret_state);

    /* Sleeps until at_ns of fe_clock_now_ns(), signals notwithstanding; may end
     * late, and the caller looks at the clock again in any case.  A negative errno
     * means that this way does not work (any more): the caller closes it. */
    int (*sleep_until)(void *state, uint64_t at_ns);

    void (*close)(void *state);
};

extern const struct fe_delay_way fe_delay_way_uring;
extern const struct fe_delay_way fe_delay_way_nanosleep;

#endif
