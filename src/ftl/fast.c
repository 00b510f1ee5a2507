/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fast: log blocks that all logical blocks share (fully associative sector translation;
 * Lee et al., "A log buffer-based flash translation layer using fully-associative sector
 * translation", 2007).
 *
 *   sequential log     | 0 1 2 . . . . . |             of one logical block, from page 0 on
 *   random logs        | 5 13 21 5'40 2 7 9 |  | 13'8 . . . . . . |
 *                        oldest: merged next     appended to
 *
 * An overwrite of page 0 starts the sequential log anew, the pages that follow it in
 * order go there too; whole, it becomes the data block.  Every other overwrite is
 * appended to the random logs, which fill up completely before anything has to be
 * merged, whatever the addresses: the log block thrashing of `bast` is gone.
 *
 * The price is paid when the random logs are full: the oldest is given up, and each
 * logical block with a newest page in it is merged, k blocks for one log: k * N copies,
 * k + 1 erases.  Above, with N = 8, those are blocks 0, 1, 2 and 5.  Newer logs lose what
 * they hold of those blocks, as 13' and 8 here, so that k falls the more logs there are.
 *
 * ftl.log_blocks counts the sequential log, which ftl.fast_sequential=no takes away:
 * then all logs are random ones, as most analyses have it.
 *
 * Choices made here: a page out of turn does not end the sequential log of its logical
 * block but goes to a random one; if the sequential log held that page, it is no longer
 * all newest and ends with a full merge.  A merge for a random log that meets the logical
 * block of the sequential one uses that up, so that its pages are not copied twice.
 * gc_runs counts random logs, merges_full the logical blocks that were merged for them.
 *
 * Not modelled: isolation of pages that are written often, and giving cold pages of the
 * victim a second chance (later variants).
 */
#include "ftl/logblock.h"
#include "ftl/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fast {
    struct fe_logblock lb;
    bool has_seq;
    fe_leb seq_leb;     /* whose pages logs[0] holds, or FE_LEB_NONE */
    bool seq_stale;     /* one of them has a newer copy elsewhere */
    uint32_t *ring;     /* the random logs, a part of lb.logs */
    uint32_t n_ring, head, n_used; /* ring[head] is the oldest */
};

static struct fast *fast_of(struct fe_ftl *ftl)
{
    return (struct fast *)ftl;
}

static uint32_t seq_fill(const struct fast *f)
{
    return f->lb.units.fill[f->lb.logs[0]];
}

static enum fe_status close_seq(struct fast *f)
{
    enum fe_status st = fe_logblock_merge_own(&f->lb, f->seq_leb, f->lb.logs[0], !f->seq_stale);
    if (st == FE_OK) {
        f->lb.logs[0] = FE_UNIT_NONE;
        f->seq_leb = FE_LEB_NONE;
    }
    return st;
}

static enum fe_status open_seq(struct fast *f, fe_leb leb)
{
    enum fe_status st = f->seq_leb == FE_LEB_NONE ? FE_OK : close_seq(f);
    if (st != FE_OK)
        return st;
    uint32_t unit = fe_unit_alloc(&f->lb.units);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    f->lb.logs[0] = unit;
    f->seq_leb = leb;
    f->seq_stale = false;
    return FE_OK;
}

static enum fe_status append_seq(struct fast *f, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *data)
{
    enum fe_status st = fe_logblock_append_log(&f->lb, f->lb.logs[0], FE_TAG_LOG, lpn, off, len,
                                               data);
    if (st == FE_OK && seq_fill(f) == f->lb.units.unit_pages)
        st = close_seq(f);
    return st;
}

/* Merges every logical block that has a newest page in the oldest random log, and
 * erases that. */
static enum fe_status reclaim(struct fast *f)
{
    struct fe_logblock *lb = &f->lb;
    uint32_t victim = f->ring[f->head];
    lb->base.counters.gc_runs++;
    for (uint32_t page = 0; page < lb->units.unit_pages; page++) {
        fe_ppn ppn = fe_unit_ppn(&lb->units, victim, page);
        fe_lpn lpn = fe_medium_lpn(lb->base.medium, ppn);
        if (lb->newest[lpn] != ppn)
            continue;
        /* With it go all newest pages of the same block, here and in other logs.  Those
         * in the sequential log would leave that one useless, so it is used up now. */
        fe_leb leb = fe_logblock_leb(lb, lpn);
        enum fe_status st = leb == f->seq_leb ? close_seq(f) : fe_logblock_merge_full(lb, leb);
        if (st != FE_OK)
            return st;
    }
    enum fe_status st = fe_unit_release(&lb->units, victim);
    if (st != FE_OK)
        return st;
    f->ring[f->head] = FE_UNIT_NONE;
    f->head = f->head + 1 == f->n_ring ? 0 : f->head + 1;
    f->n_used--;
    return FE_OK;
}

/* Finds the random log to append to, with room. */
static enum fe_status random_log(struct fast *f, uint32_t *ret)
{
    uint32_t last = (f->head + f->n_used + f->n_ring - 1) % f->n_ring;
    if (f->n_used && f->lb.units.fill[f->ring[last]] < f->lb.units.unit_pages) {
        *ret = f->ring[last];
        return FE_OK;
    }
    enum fe_status st = f->n_used == f->n_ring ? reclaim(f) : FE_OK;
    if (st != FE_OK)
        return st;
    uint32_t unit = fe_unit_alloc(&f->lb.units);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    f->ring[(f->head + f->n_used++) % f->n_ring] = unit;
    *ret = unit;
    return FE_OK;
}

static enum fe_status fast_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *data)
{
    struct fast *f = fast_of(ftl);
    fe_leb leb = fe_logblock_leb(&f->lb, lpn);
    uint32_t page = lpn - leb * f->lb.units.unit_pages;
    bool takes = fe_logblock_takes(&f->lb, leb, page);
    enum fe_status st;

    if (leb == f->seq_leb && page == seq_fill(f))
        return append_seq(f, lpn, off, len, data);
    if (f->has_seq && page == 0 && !takes) {
        st = open_seq(f, leb);
        return st != FE_OK ? st : append_seq(f, lpn, off, len, data);
    }
    uint32_t unit = FE_UNIT_NONE;
    if (!takes) {
        st = random_log(f, &unit);
        if (st != FE_OK)
            return st;
    }
    if (leb == f->seq_leb && page < seq_fill(f))
        f->seq_stale = true;
    if (takes)
        return fe_logblock_append_data(&f->lb, lpn, off, len, data);
    return fe_logblock_append_log(&f->lb, unit, FE_TAG_SHARED_LOG, lpn, off, len, data);
}

static uint64_t fast_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                              struct fe_err *err)
{
    if (p->log.fast_sequential && p->log.log_blocks == 1) {
        fe_err_set(err, EINVAL,
                   "ftl.log_blocks=1: fast needs at least 2, one of them for sequential writes, "
                   "or ftl.fast_sequential=no");
        return 0;
    }
    return fe_logblock_max_lpns(p, geo, p->log.fast_sequential ? 2 : 1, err);
}

static void fast_destroy(struct fe_ftl *ftl)
{
    struct fast *f = fast_of(ftl);
    if (!f)
        return;
    fe_logblock_fini(&f->lb);
    free(f);
}

static int fast_create(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                       uint32_t n_lpns, struct fe_err *err)
{
    struct fast *f = calloc(1, sizeof *f);
    if (!f)
        return fe_err_nomem(err, "fast translation layer", sizeof *f);
    int r = fe_logblock_init(&f->lb, &fe_ftl_fast, p, m, n_lpns, err);
    if (r < 0) {
        fast_destroy(&f->lb.base);
        return r;
    }
    f->has_seq = p->log.fast_sequential;
    f->seq_leb = FE_LEB_NONE;
    f->ring = f->lb.logs + f->has_seq;
    f->n_ring = f->lb.n_logs - f->has_seq;
    *ret = &f->lb.base;
    return 0;
}

static int fast_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                        uint32_t n_lpns, struct fe_err *err)
{
    int r = fast_create(ret, p, m, n_lpns, err);
    return r == 0 ? fe_logblock_recover(ret, err) : r;
}

/* The sequential log holds pages 0, 1, ... of its logical block, the newest copies
 * unless it is stale. */
static int check_seq(const struct fast *f, struct fe_err *err)
{
    bool stale = false;
    if (!f->has_seq || f->lb.logs[0] == FE_UNIT_NONE || f->seq_leb == FE_LEB_NONE) {
        bool none = f->seq_leb == FE_LEB_NONE && (!f->has_seq || f->lb.logs[0] == FE_UNIT_NONE);
        return none ? 0 : fe_err_set(err, EIO, "sequential log of logical block %u: unit %u",
                                     f->seq_leb, f->lb.logs[0]);
    }
    if (f->seq_leb >= f->lb.n_lebs || seq_fill(f) == f->lb.units.unit_pages)
        return fe_err_set(err, EIO, "sequential log of logical block %u holds %u pages",
                          f->seq_leb, seq_fill(f));
    for (uint32_t page = 0; page < seq_fill(f); page++) {
        fe_ppn ppn = fe_unit_ppn(&f->lb.units, f->lb.logs[0], page);
        fe_lpn lpn = f->seq_leb * f->lb.units.unit_pages + page;
        if (fe_medium_lpn(f->lb.base.medium, ppn) != lpn)
            return fe_err_set(err, EIO, "sequential log of logical block %u: page %u is %u",
                              f->seq_leb, page, fe_medium_lpn(f->lb.base.medium, ppn));
        stale = stale || f->lb.newest[lpn] != ppn;
    }
    if (stale != f->seq_stale)
        return fe_err_set(err, EIO, "sequential log of logical block %u is%s stale", f->seq_leb,
                          stale ? "" : " not");
    return 0;
}

/* All random logs but the last are full; those not in use have no unit. */
static int check_ring(const struct fast *f, struct fe_err *err)
{
    for (uint32_t i = 0; i < f->n_ring; i++) {
        uint32_t unit = f->ring[(f->head + i) % f->n_ring];
        if ((unit != FE_UNIT_NONE) != (i < f->n_used))
            return fe_err_set(err, EIO, "random log %u of %u has unit %u", i, f->n_used, unit);
        if (i + 1 < f->n_used && f->lb.units.fill[unit] != f->lb.units.unit_pages)
            return fe_err_set(err, EIO, "random log %u of %u holds only %u pages", i, f->n_used,
                              f->lb.units.fill[unit]);
    }
    return 0;
}

static int fast_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct fast *f = (const struct fast *)ftl;
    int r = check_seq(f, err);
    if (r == 0)
        r = check_ring(f, err);
    return r == 0 ? fe_logblock_check(&f->lb, err) : r;
}

const struct fe_ftl_ops fe_ftl_fast = {
    .name = "fast",
    .summary = "log blocks shared by all data blocks, one for sequential writes (later hybrid "
               "layers)",
    .max_lpns = fast_max_lpns,
    .create = fast_create,
    .recover = fast_recover,
    .destroy = fast_destroy,
    .read = fe_logblock_read,
    .write = fast_write,
    .free_blocks = fe_logblock_free_blocks,
    .check = fast_check,
};
