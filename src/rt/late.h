/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether this machine keeps the deadlines of answers.
 *
 * A single late answer says little: another program had its turn.  When more than half of many
 * answers in a row are late, then the times that a client measures are those of the machine:
 *
 *     waits     |---- FE_LATE_WAITS ----|---- FE_LATE_WAITS ----|--- ...
 *     late               300                      620  -> the machine is late, until fe_late_reset
 *
 * A wait is late if it ends more than FE_LATE_NS after its deadline.  No lock, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FE_LATE_NS    UINT64_C(10000)
#define FE_LATE_WAITS 1000u

/* Begins as all zeros. */
struct fe_late {
    uint32_t n, n_late; /* waits of the present window, and those among them that were late */
    bool is_late;       /* more than half of the waits of some window were late */
};

/* A wait has ended so long after its deadline.  Returns whether it was this one that showed that
 * the machine is late. */
static inline bool fe_late_add(struct fe_late *l, uint64_t lateness_ns)
{
    l->n_late += lateness_ns > FE_LATE_NS;
    if (++l->n < FE_LATE_WAITS)
        return false;
    bool shows = !l->is_late && l->n_late > FE_LATE_WAITS / 2;
    l->is_late = l->is_late || shows;
    l->n = l->n_late = 0;
    return shows;
}

static inline void fe_late_reset(struct fe_late *l)
{
    *l = (struct fe_late){0};
}
