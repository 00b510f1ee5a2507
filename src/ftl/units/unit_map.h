/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The map from logical to physical units: what block, segment, bast and fast share.
 *
 * A logical unit (leb) has at most one data unit, in which page i of the unit is page i of the
 * leb.  A data unit can only be appended to, so newer versions of its pages go to log units.
 * fe_unit_map_newer says for each logical page where the newest copy is, if a log unit holds it:
 *
 *   leb              0                     1
 *   data[leb]        | 0 1 2 3 4 5 6 7 |   | 0 1 2 3 4 . . . |     page 5 is appended here
 *   log unit         | 2 5 2'5'. . . . |                           newer(2) and newer(5) are
 *                                                                  the pages of 2' and 5'
 *
 * A merge brings a leb together in one data unit again:
 *
 *   switch    the log is whole and in order: it becomes the data unit             0 copies
 *   partial   the log is in order, but has only i of N pages: the others are
 *             copied behind them                                                  N - i copies
 *   full      in all other cases: every page is copied to a new unit              N copies
 *
 * Then the units that are no longer needed are erased.  Which write goes to which log unit, and
 * which log has to be merged to make room, is what distinguishes the strategies.
 *
 * A unit can only be filled in order.  Where a page has never been written, a page of padding is
 * programmed instead; its logical page is FE_LPN_NONE.
 *
 * The struct of a strategy begins with its fe_unit_map, which begins with the struct fe_ftl.
 */
#pragma once

#include "ftl/ftl.h"
#include "ftl/mapping.h"
#include "ftl/units/unit.h"

/* A page of a merge between its source and its place. */
struct fe_in_copy {
    fe_ppn from, to;     /* from FE_PPN_NONE: padding */
    bool is_held;        /* it has been read into memory; else it stays in the die's register */
    struct fe_held held;
};

struct fe_unit_map {
    struct fe_ftl base;
    struct fe_units units;
    struct fe_fastdiv by_pages; /* divides by the pages of a unit */
    uint32_t n_lebs;
    uint32_t *data;             /* leb -> its data unit, or FE_UNIT_NONE */
    struct fe_mapping *newer;   /* by lpn: see fe_unit_map_newer */
    uint32_t *logs;             /* the log units; FE_UNIT_NONE where there is none at present */
    uint32_t n_logs;
    uint32_t reach;             /* pages that a write to a unit in order may skip */
    bool switch_merge;          /* a log unit may become a data unit */
    struct fe_in_copy *buffer;  /* the controller's memory for merges */
    uint32_t copy_buffer;       /* pages that it holds */
    uint64_t copy_page_ns;      /* additional time for each page that is copied */
};

/* For `start` of these strategies: an empty map, which can have n_logs log units.  -ENOMEM. */
int fe_unit_map_init(struct fe_unit_map *map, const struct fe_ftl_params *p, uint32_t n_logs,
                     struct fe_err *err);

/* fe_ftl_ops that serve for all these strategies; one with tables of its own frees them, too. */
void fe_unit_map_fini(struct fe_ftl *ftl);
enum fe_status fe_unit_map_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                void *buf);
fe_ppn fe_unit_map_where(const struct fe_ftl *ftl, fe_lpn lpn);
uint32_t fe_unit_map_free_blocks(const struct fe_ftl *ftl);

static inline fe_leb fe_unit_map_leb(const struct fe_unit_map *map, fe_lpn lpn)
{
    return fe_fastdiv(lpn, map->by_pages);
}

static inline fe_lpn fe_unit_map_lpn(const struct fe_unit_map *map, fe_leb leb, uint32_t page)
{
    return leb * map->units.unit_pages + page;
}

/* The number of pages in the data unit; 0 if there is none. */
static inline uint32_t fe_unit_map_fill(const struct fe_unit_map *map, fe_leb leb)
{
    return map->data[leb] == FE_UNIT_NONE ? 0 : map->units.fill[map->data[leb]];
}

/* The number of pages in log i, which must have a unit. */
static inline uint32_t fe_unit_map_log_fill(const struct fe_unit_map *map, uint32_t i)
{
    return map->units.fill[map->logs[i]];
}

/* The newest copy of a page if a log unit holds it; FE_PPN_NONE if the newest copy is in the data
 * unit, or if there is none.  An entry is written only if it changes, so that the host's memory is
 * used only for pages that were in a log. */
static inline fe_ppn fe_unit_map_newer(const struct fe_unit_map *map, fe_lpn lpn)
{
    return fe_mapped(map->newer[lpn]);
}

static inline void fe_unit_map_set_newer(struct fe_unit_map *map, fe_lpn lpn, fe_ppn ppn)
{
    if (ppn != fe_unit_map_newer(map, lpn))
        map->newer[lpn] = fe_mapping(ppn);
}

/* Whether this page can be appended to a unit that has `fill` pages in order: it comes next, or
 * at most `reach` pages later. */
static inline bool fe_unit_map_reaches(const struct fe_unit_map *map, uint32_t fill, uint32_t page)
{
    return page >= fill && page - fill <= map->reach;
}

/* Where the newest copy of a page of the leb lies; FE_PPN_NONE if it was never written. */
static inline fe_ppn fe_unit_map_find(const struct fe_unit_map *map, fe_leb leb, uint32_t page)
{
    fe_ppn newer = fe_unit_map_newer(map, fe_unit_map_lpn(map, leb, page));
    if (newer != FE_PPN_NONE)
        return newer;
    if (page >= fe_unit_map_fill(map, leb))
        return FE_PPN_NONE;
    fe_ppn ppn = fe_unit_ppn(&map->units, map->data[leb], page);
    return fe_medium_lpn(map->base.medium, ppn) == FE_LPN_NONE ? FE_PPN_NONE : ppn;
}

/* The same, by the logical page. */
static inline fe_ppn fe_unit_map_locate(const struct fe_unit_map *map, fe_lpn lpn)
{
    fe_leb leb = fe_unit_map_leb(map, lpn);
    return fe_unit_map_find(map, leb, lpn - fe_unit_map_lpn(map, leb, 0));
}

/* The number of pages of a leb up to the last one that was ever written. */
uint32_t fe_unit_map_top(const struct fe_unit_map *map, fe_leb leb);

/* The data unit of a leb; an erased one if the leb had none; FE_UNIT_NONE if no unit is free. */
static inline uint32_t fe_unit_map_data_unit(struct fe_unit_map *map, fe_leb leb)
{
    if (map->data[leb] == FE_UNIT_NONE)
        map->data[leb] = fe_unit_alloc(&map->units);
    return map->data[leb];
}

/* Gives log i, which has no unit, an erased one.  FE_UNIT_NONE if no unit is free. */
uint32_t fe_unit_map_open_log(struct fe_unit_map *map, uint32_t i);

/* Appends a page that the host writes to a unit: the leb's data unit, where the page must be the
 * next one in order, or a log unit.  The bytes that the host does not write come from the newest
 * copy.  The rest as in fe_ftl_ops.write. */
enum fe_status fe_unit_map_append(struct fe_unit_map *map, uint32_t unit, enum fe_tag tag,
                                  fe_lpn lpn, uint32_t off, uint32_t len, const void *data);

/* Copies the newest pages of a leb into a unit that holds this leb in order, from its fill up to
 * page `to`, which is further on; pages that were never written become padding.  The copies count
 * as the newest from now on.  Barriers keep other operations apart from the copies. */
enum fe_status fe_unit_map_copy_gap(struct fe_unit_map *map, fe_leb leb, uint32_t unit,
                                    uint32_t to, enum fe_tag tag);

/* The same if the unit does not reach that far already.  If it does, nothing happens, and there is
 * no barrier either: pages of one command may be programmed in parallel. */
static inline enum fe_status fe_unit_map_fill_gap(struct fe_unit_map *map, fe_leb leb,
                                                  uint32_t unit, uint32_t to, enum fe_tag tag)
{
    return map->units.fill[unit] < to ? fe_unit_map_copy_gap(map, leb, unit, to, tag) : FE_OK;
}

/* A switch or partial merge, which the caller counts: copies what the unit lacks of the leb, makes
 * it the data unit and erases the previous one.  The unit must hold pages [0, fill) of the leb in
 * order.  Pages among them that have a newer copy in another log keep it.  Copies have the tag;
 * the last copy of FE_TAG_MERGE gets FE_TAG_MERGE_END.  Not yet complete at an error. */
enum fe_status fe_unit_map_adopt(struct fe_unit_map *map, fe_leb leb, uint32_t unit,
                                 enum fe_tag tag);

/* A full merge, which is counted: a new data unit; the previous one is erased.  Logs have only
 * stale pages of this leb afterwards, and the caller erases those that it no longer needs. */
enum fe_status fe_unit_map_merge_full(struct fe_unit_map *map, fe_leb leb);

/* Merges a leb that has log i for itself, and ends that log.  With in_order, page n of the log is
 * page n of the leb; then the log unit becomes the data unit, unless switch_merge is off. */
enum fe_status fe_unit_map_close_log(struct fe_unit_map *map, uint32_t i, fe_leb leb,
                                     bool in_order);

/* unit_map_check.c: checks that every unit is free, a data unit or a log unit, and only one of
 * them; that data units hold their own pages in place; that fe_unit_map_newer names exactly the
 * pages of logs that are the newest copies on the chip.  0, -EIO with a message, or -ENOMEM. */
int fe_unit_map_check(const struct fe_unit_map *map, struct fe_err *err);

/* Checks that log i holds pages of this leb only, and with in_order each one in its place.
 * *ret_stale, if not NULL, says whether one of them has a newer copy elsewhere.  0 or -EIO. */
int fe_unit_map_check_log(const struct fe_unit_map *map, uint32_t i, fe_leb leb, bool in_order,
                          bool *ret_stale, struct fe_err *err);
