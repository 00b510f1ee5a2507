/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment strategy's state, shared by its files only:
 *
 *   segment.c        what a write opens, appends to and leaves; filling, limits, create
 *   segment_merge.c  how open units are closed, and how groups are gathered
 *   segment_check.c  every invariant
 *
 * and by the modules that it consists of:
 *
 *   unit_map.h       data units, log units and merges
 *   shared_log.h     the small-write log
 *   scatter.h        which units lie apart from their group
 */
#pragma once

#include "ftl/cost.h"
#include "ftl/registry.h"
#include "ftl/units/scatter.h"
#include "ftl/units/shared_log.h"

enum open_kind { OPEN_NOT, OPEN_APPEND, OPEN_LINEAR, OPEN_RANDOM };

/* Entry i of segment.open belongs to log i of the map.  The log has a unit if the kind is
 * OPEN_LINEAR or OPEN_RANDOM.  OPEN_APPEND writes to the data unit itself. */
struct open_unit {
    enum open_kind kind;
    bool in_order; /* page n of the log is page n of the leb, for all of them */
    fe_leb leb;
    uint32_t unit; /* that it appends to: the unit of the log, or the data unit */
    uint64_t used; /* `tick` of the last write to it */
    uint64_t record; /* the command whose record it took last; 0: none */
};

/* Logs [0, n_open_max) are those of open units, the others the small log's. */
struct segment {
    struct fe_unit_map map;
    struct open_unit *open;
    uint32_t n_open_max;
    uint64_t tick; /* counts writes to open units */
    uint32_t max_linear, max_random, max_open; /* max_open: of both sorts together */
    uint32_t random_pages; /* that a random unit takes */
    uint32_t record_pages; /* a command's record there ends at a multiple of these; 0: no records */
    bool small_join;
    struct fe_shared_log small;
    struct fe_scatter scatter;
    struct fe_costs costs;
    uint64_t small_write;
    uint32_t zone_start, zone_units;
    /* the host's command */
    bool command_is_small;
    uint64_t command;     /* its number, from 1 on */
    fe_lpn command_last;  /* the last page that it writes */
    fe_leb command_group; /* the group that it wrote last, or FE_LEB_NONE */
};

static inline struct segment *seg_of(struct fe_ftl *ftl)
{
    return (struct segment *)ftl;
}

/* The number of pages in the unit that an open unit appends to. */
static inline uint32_t fe_seg_fill(const struct segment *s, const struct open_unit *o)
{
    return s->map.units.fill[o->unit];
}

/* Whether everything that is written to this leb goes to the small log, if there is one. */
static inline bool fe_seg_in_zone(const struct segment *s, fe_leb leb)
{
    return leb >= s->zone_start && leb - s->zone_start < s->zone_units;
}

/* segment_merge.c */

/* The open unit of this leb; NULL if it has none. */
struct open_unit *fe_seg_find_open(const struct segment *s, fe_leb leb);

/* Ends an open unit with the merge that it needs. */
enum fe_status fe_seg_close(struct segment *s, struct open_unit *o);

/* An fe_merge_leb: a full merge of the leb, which ends its open unit if it has one. */
enum fe_status fe_seg_merge(struct fe_unit_map *map, fe_leb leb);

/* Gathers groups until there is room for one more scattered unit, and notes that the unit of this
 * leb is going to be one. */
enum fe_status fe_seg_make_scatter_room(struct segment *s, fe_leb leb);

/* Closes what is open in the group of this leb: one unit of a group is open at a time. */
enum fe_status fe_seg_close_neighbours(struct segment *s, fe_leb leb);

/* segment_check.c: as fe_ftl_ops.check */
int fe_seg_check(const struct fe_ftl *ftl, struct fe_err *err);
