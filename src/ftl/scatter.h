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
 * Hosts write to several groups in turn.  If these have more units than there is room for, the
 * oldest group is always the one that the host comes to next.  On some controllers a group that was
 * written lately stays, and the one that finds no room is gathered itself, as soon as it has a
 * second unit that would be scattered.
 *
 *     room for 4 units; A and B stay       A  B  C  A  B  C  A  B  C
 *     units replaced                       2  2  1        1        1
 *     gathered                                            C        C
 *
 * (flashbench: a card takes 4 units open.  With 5, 6 and 7 of them, a part of a unit that is
 * replaced costs 1/5, 2/6 and 3/7 of a unit's copy.)  `stay` says how lately, in units that are
 * replaced.
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
    uint32_t max, n; /* n are scattered, of at most max; max 0: nothing is ever gathered */
    uint32_t stay;   /* the oldest group stays if so many units were replaced since its last one */
    uint32_t more;   /* room beyond max for one unit each of groups that have found no room */
    uint64_t tick;   /* counts replaced units */
    struct fe_scattered {
        fe_leb leb;
        uint64_t at; /* its tick */
    } *units;        /* max + more entries, the oldest first */
};

/* All zeros but group_units (0 counts as 1), switching, max, stay and more.  -ENOMEM. */
int fe_scatter_init(struct fe_scatter *s, const struct fe_scatter *as, struct fe_err *err);
void fe_scatter_fini(struct fe_scatter *s);

/* Whether the unit can be replaced without gathering a group first.  If not, *ret_first is the
 * first unit of the group to be gathered next.  O(max). */
bool fe_scatter_has_room(const struct fe_scatter *s, fe_leb leb, fe_leb *ret_first);

/* Notes that the unit is replaced, which makes it the newest of the list.  There must be room.
 * O(max). */
void fe_scatter_add(struct fe_scatter *s, fe_leb leb);

/* Takes the group that begins with this unit off the list: it lies together again. */
void fe_scatter_gathered(struct fe_scatter *s, fe_leb first);

#endif
