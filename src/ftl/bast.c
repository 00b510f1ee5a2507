/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bast: log blocks that belong to one data block each (block-associative sector
 * translation; Kim et al., "A space-efficient flash translation layer for CompactFlash
 * systems", 2002).
 *
 * An overwrite goes to the log block of its logical block, in whatever order pages come.
 * Only ftl.log_blocks logical blocks can have one; the next one takes the log of the
 * block whose last write is longest ago, which is merged for that.
 *
 *   logical block      0                   1                   2
 *   data block         | 0 1 2 3 4 5 6 7 | | 0 1 2 3 4 5 6 7 | | 0 1 2 3 4 5 6 7 |
 *   log block          | 0'1'2'. . . . . | | 5'5". . . . . . |        none
 *   when it has to go    partial: 3-7        full: all of it
 *                        are copied behind   is copied
 *
 * So a few streams in order cost nothing but their erases, one more than there are logs
 * costs a merge for every write, and so do random writes: a log block is given up with
 * hardly a page in it (log block thrashing, which `fast` is the answer to).
 *
 * A log that is full and in order becomes the data block at once.  A full one that is
 * not waits, in case its logical block is never written again before it is the oldest.
 */
#include "ftl/logblock.h"
#include "ftl/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_LOG UINT32_MAX

struct log {
    fe_leb leb;            /* FE_LEB_NONE: not in use */
    bool in_order;         /* page i of the log is the newest copy of page i, for all */
    uint32_t older, newer; /* neighbours by last use */
};

struct bast {
    struct fe_logblock lb;
    uint32_t *log_of; /* leb -> its log, or NO_LOG */
    /* n_logs logs and the anchor of the ring by last use, which is the last entry:
     * behind it comes the oldest one.  Logs not in use are the oldest. */
    struct log *log;
};

static struct bast *bast_of(struct fe_ftl *ftl)
{
    return (struct bast *)ftl;
}

static uint32_t oldest(const struct bast *b)
{
    return b->log[b->lb.n_logs].newer;
}

/* Moves a log to its new place in the ring. */
static void move_before(struct bast *b, uint32_t i, uint32_t before)
{
    struct log *log = b->log;
    if (i == before)
        return;
    log[log[i].older].newer = log[i].newer;
    log[log[i].newer].older = log[i].older;
    log[i].older = log[before].older;
    log[i].newer = before;
    log[log[before].older].newer = i;
    log[before].older = i;
}

static uint32_t fill_of(const struct bast *b, uint32_t i)
{
    return b->lb.units.fill[b->lb.logs[i]];
}

/* Merges the log, after which it is not in use. */
static enum fe_status close_log(struct bast *b, uint32_t i)
{
    fe_leb leb = b->log[i].leb;
    enum fe_status st = fe_logblock_merge_own(&b->lb, leb, b->lb.logs[i], b->log[i].in_order);
    if (st != FE_OK)
        return st;
    b->lb.logs[i] = FE_UNIT_NONE;
    b->log_of[leb] = NO_LOG;
    b->log[i].leb = FE_LEB_NONE;
    move_before(b, i, oldest(b));
    return FE_OK;
}

static enum fe_status open_log(struct bast *b, fe_leb leb, uint32_t *ret)
{
    uint32_t i = oldest(b);
    if (b->log[i].leb != FE_LEB_NONE) {
        enum fe_status st = close_log(b, i);
        if (st != FE_OK)
            return st;
    }
    uint32_t unit = fe_unit_alloc(&b->lb.units);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    b->lb.logs[i] = unit;
    b->log_of[leb] = i;
    b->log[i].leb = leb;
    b->log[i].in_order = true;
    *ret = i;
    return FE_OK;
}

static enum fe_status bast_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *data)
{
    struct bast *b = bast_of(ftl);
    uint32_t pages = b->lb.units.unit_pages;
    fe_leb leb = fe_logblock_leb(&b->lb, lpn);
    uint32_t page = lpn - leb * pages, i = b->log_of[leb];
    enum fe_status st = FE_OK;

    if (i != NO_LOG && fill_of(b, i) == pages) {
        st = close_log(b, i);
        i = NO_LOG;
    }
    if (st != FE_OK)
        return st;
    bool continues = i != NO_LOG && b->log[i].in_order && page == fill_of(b, i);
    if (!continues && fe_logblock_takes(&b->lb, leb, page)) {
        if (b->lb.newest[lpn] != FE_PPN_NONE)
            b->log[i].in_order = false; /* the copy in the log is no longer the newest */
        return fe_logblock_append_data(&b->lb, lpn, off, len, data);
    }
    if (i == NO_LOG)
        st = open_log(b, leb, &i);
    if (st != FE_OK)
        return st;
    b->log[i].in_order = b->log[i].in_order && page == fill_of(b, i);
    move_before(b, i, b->lb.n_logs);
    st = fe_logblock_append_log(&b->lb, b->lb.logs[i], FE_TAG_LOG, lpn, off, len, data);
    if (st == FE_OK && b->log[i].in_order && fill_of(b, i) == pages)
        st = close_log(b, i);
    return st;
}

static uint64_t bast_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                              struct fe_err *err)
{
    return fe_logblock_max_lpns(p, geo, 1, err);
}

static void bast_destroy(struct fe_ftl *ftl)
{
    struct bast *b = bast_of(ftl);
    if (!b)
        return;
    fe_logblock_fini(&b->lb);
    free(b->log_of);
    free(b->log);
    free(b);
}

static int alloc_logs(struct bast *b, struct fe_err *err)
{
    uint32_t n = b->lb.n_logs + 1;
    b->log_of = malloc(b->lb.n_lebs * sizeof *b->log_of);
    b->log = malloc(n * sizeof *b->log);
    if (!b->log_of || !b->log)
        return fe_err_nomem(err, "table of log blocks", b->lb.n_lebs * 4ull + n * 16ull);
    memset(b->log_of, 0xff, b->lb.n_lebs * sizeof *b->log_of);
    for (uint32_t i = 0; i < n; i++)
        b->log[i] = (struct log){
            .leb = FE_LEB_NONE, .older = (i + n - 1) % n, .newer = (i + 1) % n};
    return 0;
}

static int bast_create(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                       uint32_t n_lpns, struct fe_err *err)
{
    struct bast *b = calloc(1, sizeof *b);
    if (!b)
        return fe_err_nomem(err, "bast translation layer", sizeof *b);
    int r = fe_logblock_init(&b->lb, &fe_ftl_bast, p, m, n_lpns, err);
    if (r == 0)
        r = alloc_logs(b, err);
    if (r < 0) {
        bast_destroy(&b->lb.base);
        return r;
    }
    *ret = &b->lb.base;
    return 0;
}

static int bast_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                        uint32_t n_lpns, struct fe_err *err)
{
    int r = bast_create(ret, p, m, n_lpns, err);
    return r == 0 ? fe_logblock_recover(ret, err) : r;
}

/* What is said of a log: it holds pages of its logical block only, in order if so. */
static int check_log(const struct bast *b, uint32_t i, struct fe_err *err)
{
    const struct log *log = &b->log[i];
    if (log->leb >= b->lb.n_lebs || b->log_of[log->leb] != i)
        return fe_err_set(err, EIO, "log %u belongs to logical block %u, which does not know it",
                          i, log->leb);
    fe_lpn first = log->leb * b->lb.units.unit_pages;
    for (uint32_t page = 0; page < fill_of(b, i); page++) {
        fe_ppn ppn = fe_unit_ppn(&b->lb.units, b->lb.logs[i], page);
        fe_lpn lpn = fe_medium_lpn(b->lb.base.medium, ppn);
        if (fe_logblock_leb(&b->lb, lpn) != log->leb)
            return fe_err_set(err, EIO, "log %u of logical block %u holds logical page %u", i,
                              log->leb, lpn);
        if (log->in_order && (lpn != first + page || b->lb.newest[lpn] != ppn))
            return fe_err_set(err, EIO, "log %u is in order, but page %u is logical page %u%s",
                              i, page, lpn, lpn == first + page ? ", stale" : "");
    }
    return 0;
}

static int bast_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct bast *b = (const struct bast *)ftl;
    uint32_t n_used = 0, n_known = 0, n_ring = 0;
    for (uint32_t i = oldest(b); i != b->lb.n_logs && n_ring <= b->lb.n_logs; n_ring++) {
        bool used = b->log[i].leb != FE_LEB_NONE;
        if (used != (b->lb.logs[i] != FE_UNIT_NONE) || (n_used && !used))
            return fe_err_set(err, EIO, "log %u has unit %u and logical block %u, %u logs in "
                              "use are older", i, b->lb.logs[i], b->log[i].leb, n_used);
        int r = used ? check_log(b, i, err) : 0;
        if (r < 0)
            return r;
        n_used += used;
        if (b->log[b->log[i].newer].older != i)
            return fe_err_set(err, EIO, "log %u: the next newer one does not know it", i);
        i = b->log[i].newer;
    }
    for (fe_leb leb = 0; leb < b->lb.n_lebs; leb++)
        n_known += b->log_of[leb] != NO_LOG;
    if (n_ring != b->lb.n_logs || n_known != n_used)
        return fe_err_set(err, EIO, "%u of %u logs by age, %u in use, %u known", n_ring,
                          b->lb.n_logs, n_used, n_known);
    return fe_logblock_check(&b->lb, err);
}

const struct fe_ftl_ops fe_ftl_bast = {
    .name = "bast",
    .summary = "log blocks that belong to one data block each (early hybrid layers)",
    .max_lpns = bast_max_lpns,
    .create = bast_create,
    .recover = bast_recover,
    .destroy = bast_destroy,
    .read = fe_logblock_read,
    .write = bast_write,
    .free_blocks = fe_logblock_free_blocks,
    .check = bast_check,
};
