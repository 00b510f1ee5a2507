/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of the units that lie apart from their group, for the segment strategy.
 *
 * The unit that a controller maps may be smaller than the allocation unit that the device shows.
 * Then group_units small units are a group, and they belong side by side.  A small unit that is
 * replaced lies elsewhere: it is scattered.  The controller has room for `max` scattered units.
 * When it needs room for another one, it gathers the group of the oldest: the group is copied as a
 * whole, and none of its units is scattered any more.
 *
 *     group 0        group 1            max = 4; scattered, oldest first: 1 3 7
 *     | 0 1'2 3' |   | 4 5 6 7' |       5 is replaced:           1 3 7 5
 *                                       then 6: group 0 is gathered:  7 5 6
 *
 * This is only the list, oldest first; copying is the strategy's task.
 *
 * With `switching`, a group that is replaced unit by unit, from the first to the last, with no
 * unit of another group between, lies side by side again without a copy.
 */
#ifndef FE_FTL_SCATTER_H
#define FE_FTL_SCATTER_H

#include "flashemu/err.h"
#include "flashemu/types.h"

#include <stdbool.h>

struct fe_scatter {
    uint32_t group_units;
    bool switching;
    uint32_t max, n; /* n of at most max are scattered; max 0: nothing is ever gathered */
    fe_leb *lebs;    /* max entries, the oldest first */
};

/* group_units 0 counts as 1.  -ENOMEM. */
int fe_scatter_init(struct fe_scatter *s, uint32_t group_units, uint32_t max, bool switching,
                    struct fe_err *err);
void fe_scatter_fini(struct fe_scatter *s);

/* Whether the unit can be replaced without gathering a group first.  O(max). */
bool fe_scatter_has_room(const struct fe_scatter *s, fe_leb leb);

/* Notes that the unit is replaced, which makes it the newest of the list.  There must be room.
 * O(max). */
void fe_scatter_add(struct fe_scatter *s, fe_leb leb);

/* The first unit of the group to be gathered next; the list must not be empty. */
fe_leb fe_scatter_oldest_group(const struct fe_scatter *s);

/* Takes the group that begins with this unit off the list: it lies together again. */
void fe_scatter_gathered(struct fe_scatter *s, fe_leb first);

#endif
