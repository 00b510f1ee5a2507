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
 * What makes such a group stay is that it is written more often than it is gathered.  With `hot`,
 * commands count: the group that finds no room takes that of the group to which the fewest were
 * written since it was gathered, if these are fewer than its own.  No more than `hot` commands count,
 * and a group that has had so many takes the place of an equal one, too: the oldest of these.
 *
 *     large writes, a unit each    C is gathered for each unit, and never has more than a command
 *     small ones, many for a unit  C soon counts as much as A and B, and the oldest is gathered,
 *                                  which makes room for several units
 *
 * (flashbench: with 5 open units, 8 parts of a unit that are replaced cost 8 gatherings if each is
 * written by one to four commands, and 2 to 3 if it is written by sixteen or more.)  A unit that is
 * half written is no reason to gather its group.
 *
 * This is only the list, oldest first; copying is the strategy's task.
 *
 * With `switching`, a group that is replaced unit by unit, from the first to the last, with no
 * unit of another group between, lies side by side again without a copy.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/types.h"

#include <stdbool.h>

struct fe_scatter {
    uint32_t group_units;
    bool switching;
    uint32_t max, n; /* n are scattered, of at most max; max 0: nothing is ever gathered */
    uint32_t stay;   /* the oldest group stays until so many were replaced after its last one */
    uint32_t more;   /* room beyond max for one unit each of groups that have found no room */
    uint32_t hot;    /* commands to a group that count; 0: none does */
    uint32_t n_lebs; /* units of the device, if there is `hot` */
    bool (*is_busy)(const void *ctx, fe_leb leb); /* whether this unit is half written */
    const void *ctx;
    uint16_t *writes; /* by group: commands since it was gathered, at most `hot` */
    uint64_t tick;   /* counts replaced units */
    struct fe_scattered {
        fe_leb leb;
        uint64_t at; /* its tick */
    } *units;        /* max + more entries, the oldest first */
};

/* All zeros but group_units (0 counts as 1), switching, max, and all from stay to ctx.  -ENOMEM. */
int fe_scatter_init(struct fe_scatter *s, const struct fe_scatter *as, struct fe_err *err);
void fe_scatter_fini(struct fe_scatter *s);

/* Notes that a command writes to the group of this unit.  Needed only with `hot`. */
void fe_scatter_written(struct fe_scatter *s, fe_leb leb);

/* Whether the unit can be replaced without gathering a group first.  If not, *ret_first is the
 * first unit of the group to be gathered next.  O(max). */
bool fe_scatter_has_room(const struct fe_scatter *s, fe_leb leb, fe_leb *ret_first);

/* Notes that the unit is replaced, which makes it the newest of the list.  There must be room.
 * O(max). */
void fe_scatter_add(struct fe_scatter *s, fe_leb leb);

/* Takes the group that begins with this unit off the list: it lies together again. */
void fe_scatter_gathered(struct fe_scatter *s, fe_leb first);
