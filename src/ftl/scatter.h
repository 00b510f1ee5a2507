/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which units of the segment strategy lie apart from their group.
 *
 * Where the unit of mapping is smaller than the one that the device advertises, the units
 * of one group belong side by side.  A unit that was replaced lies elsewhere, scattered;
 * there is room for so many of them, and then the group of the oldest is gathered: copied
 * as a whole.  This is the list of the scattered ones only, oldest first; copying is the
 * strategy's business.
 *
 * With `switching`, units of a group that are replaced one after the other, first to last
 * and none of another group between them, lie side by side again without a copy.
 */
#ifndef FE_FTL_SCATTER_H
#define FE_FTL_SCATTER_H

#include "flashemu/err.h"
#include "flashemu/types.h"

#include <stdbool.h>

struct fe_scatter {
    uint32_t group_units;
    bool switching;
    uint32_t max, n; /* max 0: nothing is ever gathered */
    fe_leb *lebs;    /* max entries, oldest first */
};

/* group_units 0 counts as 1.  -ENOMEM. */
int fe_scatter_init(struct fe_scatter *s, uint32_t group_units, uint32_t max, bool switching,
                    struct fe_err *err);
void fe_scatter_fini(struct fe_scatter *s);

/* Whether the unit can be replaced without gathering a group first.  O(max). */
bool fe_scatter_has_room(const struct fe_scatter *s, fe_leb leb);

/* The unit is replaced: it is the newest of the list.  There must be room. */
void fe_scatter_add(struct fe_scatter *s, fe_leb leb);

/* The first unit of the group that comes next; there must be a scattered one. */
fe_leb fe_scatter_oldest_group(const struct fe_scatter *s);

/* The group that begins with this unit lies together again. */
void fe_scatter_gathered(struct fe_scatter *s, fe_leb first);

#endif
