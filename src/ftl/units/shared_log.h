/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A log that all logical units share: a ring of log units that take pages of any leb in the
 * order in which they are written.  fast uses one for random writes, segment for small ones.
 *
 *     logs        | oldest, full | full | filling > | no unit yet |
 *                   ^ head                ^ newest: appended to       n = 3, n_max = 4
 *
 * When all n_max units are full, every leb that has a newest page in the oldest unit is merged,
 * whatever else the leb consists of.  After that the oldest unit holds only stale pages and is
 * erased.  A few busy pages make this cheap: their older copies are stale already.
 *
 * With `pace`, the oldest unit gives up so many pages with each page that is written to the newest
 * one, early enough that it is erased when the newest one is full:
 *
 *     pace 2      | - - - - - - 6 7 |   ...   | a b c d e f g > |
 *                   given up, then what is left 2 at a time       the last page of 8 is free
 *
 * Then no write pays for more than a few merges.
 */
#pragma once

#include "ftl/units/unit_map.h"

struct fe_shared_log {
    struct fe_unit_map *map;
    uint32_t first;   /* logs [first, first + n_max) of the map belong to this log */
    uint32_t n_max;   /* 0: there is no such log */
    uint32_t head, n; /* the oldest log is first + head; n logs have a unit */
    uint32_t pace;    /* 0: the oldest unit is given up at once; otherwise n_max is 2 or more */
    uint32_t given_up; /* pages at the beginning of the oldest unit of which none is a newest one */
};

/* Merges a leb for the strategy, and with it whatever log the leb has for itself. */
typedef enum fe_status (*fe_merge_leb)(struct fe_unit_map *map, fe_leb leb);

/* Makes sure that a page can be appended, and does what `pace` asks for before that.  If that takes
 * the oldest unit, it counts in gc_runs. */
enum fe_status fe_shared_log_make_room(struct fe_shared_log *l, fe_merge_leb merge);

/* Appends a page that the host writes, as fe_unit_map_append; there must be room. */
enum fe_status fe_shared_log_append(struct fe_shared_log *l, fe_lpn lpn, uint32_t off,
                                    uint32_t len, const void *data);

/* Whether the newest copy of the page is in this log. */
bool fe_shared_log_holds(const struct fe_shared_log *l, fe_lpn lpn);

/* Checks that n logs have a unit, and that all of these units but the newest are full.
 * 0 or -EIO with a message. */
int fe_shared_log_check(const struct fe_shared_log *l, struct fe_err *err);
