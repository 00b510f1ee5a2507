/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the log-block strategies share: a data unit for each logical block, its pages in
 * order, and beside them a fixed number of log blocks that hold newer copies.
 *
 *   logical block     0                     1
 *   data unit         | 0 1 2 3 4 5 6 7 |   | 0 1 2 3 4 . . . |   appends at 5
 *   log blocks        | 2 5 2'5'. . . . |   newest[2] and newest[5] point here
 *
 * Merging brings a logical block together in one unit again:
 *
 *   switch    the log is in order and whole: it becomes the data unit      0 copies
 *   partial   in order up to page i: the rest is copied behind it      N - i copies
 *   full      anything else: every page is copied to a new unit            N copies
 *
 * and erases what is left over.  Which write goes to which log, and which log has to go,
 * is the strategy's business.
 *
 * A data unit with room takes its next page without any log, as on a fresh device.  Holes
 * are padded: those below such a page if it is at most gap_fill ahead, those below the
 * last written page of a logical block in a merge.
 *
 * Units in use: one for each logical block, the logs, and one that a merge fills.
 */
#ifndef FE_FTL_LOGBLOCK_H
#define FE_FTL_LOGBLOCK_H

#include "ftl/ftl.h"
#include "ftl/unit.h"

struct fe_logblock {
    struct fe_ftl base;
    struct fe_units units;
    struct fe_fastdiv by_pages;
    uint32_t n_lebs, gap_fill;
    bool switch_merge;
    uint32_t *data;   /* leb -> unit, or FE_UNIT_NONE */
    fe_ppn *newest;   /* lpn -> its newest copy if a log holds that, or FE_PPN_NONE */
    uint32_t *logs;   /* units that are logs now, FE_UNIT_NONE where there is none */
    uint32_t n_logs;
};

/* Turns a strategy that has just been created into one that has found its mapping again, with
 * no logs.  On failure, with a message, *ret is destroyed. */
int fe_logblock_recover(struct fe_ftl **ret, struct fe_err *err);

/* As fe_ftl_ops.max_lpns; the strategy needs at least `least` log blocks. */
uint64_t fe_logblock_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                              uint32_t least, struct fe_err *err);

/* *b is zeroed before; fe_logblock_fini ends it, after a failure too.  -ENOMEM. */
int fe_logblock_init(struct fe_logblock *b, const struct fe_ftl_ops *ops,
                     const struct fe_ftl_params *p, struct fe_medium *m, uint32_t n_lpns,
                     struct fe_err *err);
void fe_logblock_fini(struct fe_logblock *b);

static inline fe_leb fe_logblock_leb(const struct fe_logblock *b, fe_lpn lpn)
{
    return fe_fastdiv(lpn, b->by_pages);
}

/* Pages that a data unit holds, 0 if there is none. */
static inline uint32_t fe_logblock_fill(const struct fe_logblock *b, fe_leb leb)
{
    return b->data[leb] == FE_UNIT_NONE ? 0 : b->units.fill[b->data[leb]];
}

/* Whether the data unit can take this page itself. */
static inline bool fe_logblock_takes(const struct fe_logblock *b, fe_leb leb, uint32_t page)
{
    uint32_t fill = fe_logblock_fill(b, leb);
    return page >= fill && page - fill <= b->gap_fill;
}

/* Where the newest copy of a page lies; FE_PPN_NONE if it was never written. */
fe_ppn fe_logblock_locate(const struct fe_logblock *b, fe_lpn lpn);

/* A write to the data unit, which takes the page, or behind what a log holds, as
 * FE_TAG_LOG or FE_TAG_SHARED_LOG.  The rest as in fe_ftl_ops.write. */
enum fe_status fe_logblock_append_data(struct fe_logblock *b, fe_lpn lpn, uint32_t off,
                                       uint32_t len, const void *data);
enum fe_status fe_logblock_append_log(struct fe_logblock *b, uint32_t unit, enum fe_tag tag,
                                      fe_lpn lpn, uint32_t off, uint32_t len, const void *data);

/* Full merge: a new data unit, the old one is erased.  Logs keep only stale pages of
 * leb; the caller erases those that it no longer needs. */
enum fe_status fe_logblock_merge_full(struct fe_logblock *b, fe_leb leb);

/* Merges leb, whose own log the unit is, and does away with that.  in_order: page i of it
 * is the newest copy of page i, for all; then it becomes the data unit (switch or partial
 * merge), unless switch_merge=no. */
enum fe_status fe_logblock_merge_own(struct fe_logblock *b, fe_leb leb, uint32_t unit,
                                     bool in_order);

/* These are fe_ftl_ops of all log-block strategies. */
enum fe_status fe_logblock_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                void *buf);
uint32_t fe_logblock_free_blocks(const struct fe_ftl *ftl);

/* Every unit is free, data or log, once; data units hold their own pages in place; what
 * the map names lies in a log and is the newest copy on the chip.  0, -EIO or -ENOMEM. */
int fe_logblock_check(const struct fe_logblock *b, struct fe_err *err);

#endif
