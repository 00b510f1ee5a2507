/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment strategy's state, shared by its files only:
 *
 *   segment.c        open units: what a write opens, appends to and leaves
 *   segment_merge.c  closing them: merges, and gathering of groups
 *   segment_check.c  every invariant
 *   small_log.c      the small-write log;  scatter.c  which units lie apart from their group
 */
#ifndef FE_FTL_SEGMENT_CORE_H
#define FE_FTL_SEGMENT_CORE_H

#include "ftl/region.h"
#include "ftl/registry.h"
#include "ftl/scatter.h"
#include "ftl/small_log.h"
#include "ftl/unit.h"

enum open_kind { OPEN_NOT, OPEN_APPEND, OPEN_LINEAR, OPEN_RANDOM };

struct open_unit {
    enum open_kind kind;
    bool in_order; /* page i of the log is page i of the unit, for all */
    fe_leb leb;
    uint32_t unit; /* the data unit itself for OPEN_APPEND */
    uint64_t used; /* for LRU */
    uint32_t top;  /* pages of the logical unit at or above this are not in the log */
    uint32_t *map; /* unit_pages entries: page of the log, or FE_PPN_NONE */
};

struct segment {
    struct fe_ftl base;
    struct fe_units units;
    uint32_t n_lebs;
    struct fe_fastdiv by_pages;
    uint32_t *data; /* leb -> unit */
    struct open_unit *open;
    uint32_t n_open_max;
    uint64_t tick;
    uint32_t max_linear, max_random, gap_fill;
    bool switch_merge, small_join;
    struct fe_small_log small;
    struct fe_scatter scatter;
    struct fe_region region;
    uint64_t small_write, unit_read_ns;
    uint32_t zone_start, zone_units;
    /* the host's command */
    bool command_is_small;
    fe_leb command_leb; /* group that was read last */
};

static inline struct segment *seg_of(struct fe_ftl *ftl)
{
    return (struct segment *)ftl;
}

static inline uint32_t data_fill(const struct segment *s, fe_leb leb)
{
    return s->data[leb] == FE_UNIT_NONE ? 0 : s->units.fill[s->data[leb]];
}

static inline fe_lpn lpn_at(const struct segment *s, fe_leb leb, uint32_t page)
{
    return leb * s->units.unit_pages + page;
}

/* segment_merge.c */

/* The open unit beside or of this logical unit; NULL if it has none. */
struct open_unit *fe_seg_find_open(const struct segment *s, fe_leb leb);

/* Where the newest copy of a page lies, o being the open unit of leb or NULL; FE_PPN_NONE
 * if it was never written. */
fe_ppn fe_seg_locate(const struct segment *s, const struct open_unit *o, fe_leb leb,
                     uint32_t page);

/* Pages [from, to) of the logical unit are somewhere else now than in the small-write log. */
void fe_seg_forget_range(struct segment *s, fe_leb leb, uint32_t from, uint32_t to);

/* Copies pages of the logical unit behind what `unit` holds, up to page `to`; the last one
 * says so if this is a full merge. */
enum fe_status fe_seg_copy_up_to(struct segment *s, const struct open_unit *o, fe_leb leb,
                                 uint32_t unit, uint32_t to, enum fe_tag tag);

/* Ends an open unit with the merge that it needs. */
enum fe_status fe_seg_close(struct segment *s, struct open_unit *o);

/* Gathers the newest copies of a logical unit in a new one; it has no open unit then. */
enum fe_status fe_seg_merge(struct segment *s, fe_leb leb);

/* Gathers groups until this unit can be replaced, and notes that it is. */
enum fe_status fe_seg_make_scatter_room(struct segment *s, fe_leb leb);

/* Closes what is open in the unit's group: one unit of a group is open at a time. */
enum fe_status fe_seg_close_neighbours(struct segment *s, fe_leb leb);

/* segment_check.c: as fe_ftl_ops.check */
int fe_seg_check(const struct fe_ftl *ftl, struct fe_err *err);

#endif
