/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fast: log blocks that all logical blocks share (fully associative sector translation;
 * Lee et al., "A log buffer-based flash translation layer using fully-associative sector
 * translation", 2007).
 *
 *   sequential log     | 0 1 2 . . . . . |             of one logical block, from page 0 on
 *   random logs        | 5 13 21 5'40 2 7 9 |  | 13'8 . . . . . . |
 *                        oldest: merged next     newest: appended to
 *
 * An overwrite of page 0 starts the sequential log anew.  The pages that follow in order go there
 * as well, and when the log is whole, it becomes the data block.  Every other overwrite is
 * appended to the random logs (shared_log.h).  They fill up completely before anything has to be
 * merged, whatever the addresses are.  So there is no log block thrashing as in `bast`.
 *
 * The price is paid when the random logs are full.  The oldest is given up, and every logical block
 * that has a newest page in it is merged: k blocks for one log, which are k * N copies and k + 1
 * erases.  In the picture, with N = 8, these are blocks 0, 1, 2 and 5.  The newer logs lose the
 * pages that they hold of these blocks, here 13' and 8.  So k falls the more logs there are.
 *
 * ftl.log_blocks counts the sequential log.  With ftl.fast_sequential=no there is none, and all
 * logs are random logs, as most analyses of this method assume.
 *
 * The original leaves some questions open.  The answers here:
 * - A page out of turn does not end the sequential log of its logical block but goes to a random
 *   log.  If the sequential log held this page, its copy is no longer the newest, and the log will
 *   end with a full merge.
 * - When a random log is given up and the sequential log belongs to one of the logical blocks, the
 *   sequential log is merged as well, so that its pages are not copied twice.
 * - gc_runs counts random logs that were given up, merges_full the logical blocks that were merged
 *   for them.
 *
 * Not modelled: isolation of pages that are written often (a later variant).
 */
#include "ftl/units/logblock.h"
#include "ftl/registry.h"
#include "ftl/units/shared_log.h"
#include "ftl/units/unit_recover.h"

#include <errno.h>

struct fast {
    struct fe_unit_map map;
    struct fe_shared_log random;
    bool has_seq;   /* log 0 is the sequential log */
    fe_leb seq_leb; /* whose pages it holds, or FE_LEB_NONE: it has no unit */
    bool seq_stale; /* one of these pages has a newer copy elsewhere */
};

static struct fast *fast_of(struct fe_ftl *ftl)
{
    return (struct fast *)ftl;
}

static enum fe_status close_seq(struct fast *f)
{
    enum fe_status st = fe_unit_map_close_log(&f->map, 0, f->seq_leb, !f->seq_stale);
    if (st == FE_OK)
        f->seq_leb = FE_LEB_NONE;
    return st;
}

static enum fe_status open_seq(struct fast *f, fe_leb leb)
{
    enum fe_status st = f->seq_leb == FE_LEB_NONE ? FE_OK : close_seq(f);
    if (st != FE_OK)
        return st;
    if (fe_unit_map_open_log(&f->map, 0) == FE_UNIT_NONE)
        return FE_NO_SPACE;
    f->seq_leb = leb;
    f->seq_stale = false;
    return FE_OK;
}

/* Appends a page to the sequential log; a log that is whole then becomes the data block. */
static enum fe_status append_seq(struct fast *f, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *data)
{
    uint32_t unit = f->map.logs[0];
    enum fe_status st = fe_unit_map_append(&f->map, unit, FE_TAG_LOG, lpn, off, len, data);
    if (st == FE_OK && fe_unit_is_full(&f->map.units, unit))
        st = close_seq(f);
    return st;
}

/* What the random logs do with a logical block when its log is given up.  If the sequential log
 * belongs to the block, it would hold only stale pages after the merge, so it is merged and ended
 * at the same time. */
static enum fe_status merge(struct fe_unit_map *map, fe_leb leb)
{
    struct fast *f = fast_of(&map->base);
    return leb == f->seq_leb ? close_seq(f) : fe_unit_map_merge_full(map, leb);
}

static enum fe_status fast_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *data)
{
    struct fast *f = fast_of(ftl);
    fe_leb leb = fe_unit_map_leb(&f->map, lpn);
    uint32_t page = lpn - fe_unit_map_lpn(&f->map, leb, 0);
    bool takes = fe_logblock_takes(&f->map, leb, page);
    enum fe_status st;

    if (leb == f->seq_leb && page == fe_unit_map_log_fill(&f->map, 0))
        return append_seq(f, lpn, off, len, data);
    if (f->has_seq && page == 0 && !takes) {
        st = open_seq(f, leb);
        return st != FE_OK ? st : append_seq(f, lpn, off, len, data);
    }
    if (!takes) {
        st = fe_shared_log_make_room(&f->random, merge);
        if (st != FE_OK)
            return st;
    }
    if (leb == f->seq_leb && page < fe_unit_map_log_fill(&f->map, 0))
        f->seq_stale = true;
    return takes ? fe_logblock_append_data(&f->map, lpn, off, len, data)
                 : fe_shared_log_append(&f->random, lpn, off, len, data);
}

static uint64_t fast_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                              struct fe_err *err)
{
    if (p->log.fast_sequential && p->log.log_blocks == 1)
        return fe_no_pages(err, "ftl.log_blocks=1: fast needs at least 2, one of them for "
                                "sequential writes, or ftl.fast_sequential=no");
    return fe_logblock_max_lpns(p, geo, p->log.fast_sequential ? 2 : 1, err);
}

static int fast_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                      struct fe_err *err)
{
    struct fast *f = fast_of(ftl);
    f->has_seq = p->log.fast_sequential;
    f->seq_leb = FE_LEB_NONE;
    f->random = (struct fe_shared_log){
        .map = &f->map, .first = f->has_seq, .n_max = p->log.log_blocks - f->has_seq};
    int r = fe_unit_map_init(&f->map, p, p->log.log_blocks, err);
    return r == 0 && used ? fe_units_recover(&f->map, err) : r;
}

/* The sequential log holds pages 0, 1, ... of its logical block and is not full.  The pages are
 * the newest copies unless it is stale. */
static int check_seq(const struct fast *f, struct fe_err *err)
{
    bool stale;
    if (f->seq_leb == FE_LEB_NONE) {
        bool none = !f->has_seq || f->map.logs[0] == FE_UNIT_NONE;
        return none ? 0 : fe_err_set(err, EIO, "sequential log of no logical block: unit %u",
                                     f->map.logs[0]);
    }
    int r = fe_unit_map_check_log(&f->map, 0, f->seq_leb, true, &stale, err);
    if (r == 0 && (stale != f->seq_stale || fe_unit_is_full(&f->map.units, f->map.logs[0])))
        r = fe_err_set(err, EIO, "sequential log of logical block %u is%s stale and has %u pages",
                       f->seq_leb, stale ? "" : " not", fe_unit_map_log_fill(&f->map, 0));
    return r;
}

static int fast_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct fast *f = (const struct fast *)ftl;
    int r = check_seq(f, err);
    if (r == 0)
        r = fe_shared_log_check(&f->random, err);
    return r == 0 ? fe_unit_map_check(&f->map, err) : r;
}

const struct fe_ftl_ops fe_ftl_fast = {
    .name = "fast",
    .summary = "log blocks shared by all data blocks, one for sequential writes (later hybrid "
               "layers)",
    .max_lpns = fast_max_lpns,
    .size = sizeof(struct fast),
    .start = fast_start,
    .fini = fe_unit_map_fini,
    .may_hold = fe_units_may_hold,
    .read = fe_unit_map_read,
    .locate = fe_unit_map_where,
    .write = fast_write,
    .free_blocks = fe_unit_map_free_blocks,
    .check = fast_check,
};
