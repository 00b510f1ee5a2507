/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bast: log blocks that belong to one data block each (block-associative sector
 * translation; Kim et al., "A space-efficient flash translation layer for CompactFlash
 * systems", 2002).
 *
 * An overwrite goes to the log block of its logical block, in whatever order the pages come.
 * Only ftl.log_blocks logical blocks can have a log block.  The next one takes the log block whose
 * last write was longest ago; that log block is merged first (unit_map.h).
 *
 *   logical block      0                   1                   2
 *   data block         | 0 1 2 3 4 5 6 7 | | 0 1 2 3 4 5 6 7 | | 0 1 2 3 4 5 6 7 |
 *   log block          | 0'1'2'. . . . . | | 5'5". . . . . . |        none
 *   its merge            partial: 3 to 7     full: all pages
 *                        are copied          are copied
 *
 * So a few streams in order cost nothing except their erases.  One stream more than there are log
 * blocks costs a merge for every write, and so do random writes: each log block is given up with
 * hardly a page in it.  This is called log block thrashing, and `fast` is the answer to it.
 *
 * A log that is full and in order becomes the data block immediately.  A log that is full and not
 * in order waits: its logical block may never be written again before the log is the oldest one.
 *
 * The logs form a ring by age, so that a log can be moved in constant time:
 *
 *     anchor (entry n_logs) <-> oldest <-> ... <-> newest <-> anchor
 */
#include "ftl/units/logblock.h"
#include "ftl/registry.h"
#include "ftl/units/unit_recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_LOG UINT32_MAX

struct log {
    fe_leb leb;            /* that it belongs to; FE_LEB_NONE: the log is not in use */
    bool in_order;         /* each page n of the log is the newest copy of page n of the leb */
    uint32_t older, newer; /* neighbours in the ring */
};

struct bast {
    struct fe_unit_map map;
    uint32_t *log_of; /* leb -> its log, or NO_LOG */
    struct log *log;  /* n_logs logs, and the anchor; logs that are not in use are the oldest */
};

static struct bast *bast_of(struct fe_ftl *ftl)
{
    return (struct bast *)ftl;
}

static uint32_t oldest(const struct bast *b)
{
    return b->log[b->map.n_logs].newer;
}

/* Moves log i to the place in the ring before another entry. */
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

/* Merges log i, which is not in use afterwards. */
static enum fe_status close_log(struct bast *b, uint32_t i)
{
    fe_leb leb = b->log[i].leb;
    enum fe_status st = fe_unit_map_close_log(&b->map, i, leb, b->log[i].in_order);
    if (st != FE_OK)
        return st;
    b->log_of[leb] = NO_LOG;
    b->log[i].leb = FE_LEB_NONE;
    move_before(b, i, oldest(b));
    return FE_OK;
}

/* *ret = a log for this leb, which has none; the oldest log is closed for it. */
static enum fe_status open_log(struct bast *b, fe_leb leb, uint32_t *ret)
{
    uint32_t i = oldest(b);
    enum fe_status st = b->log[i].leb == FE_LEB_NONE ? FE_OK : close_log(b, i);
    if (st != FE_OK)
        return st;
    if (fe_unit_map_open_log(&b->map, i) == FE_UNIT_NONE)
        return FE_NO_SPACE;
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
    struct fe_unit_map *map = &b->map;
    fe_leb leb = fe_unit_map_leb(map, lpn);
    uint32_t page = lpn - fe_unit_map_lpn(map, leb, 0), i = b->log_of[leb];
    enum fe_status st = FE_OK;

    if (i != NO_LOG && fe_unit_is_full(&map->units, map->logs[i])) {
        st = close_log(b, i);
        i = NO_LOG;
    }
    if (st != FE_OK)
        return st;
    bool continues = i != NO_LOG && b->log[i].in_order && page == fe_unit_map_log_fill(map, i);
    if (!continues && fe_logblock_takes(map, leb, page)) {
        if (fe_unit_map_newer(map, lpn) != FE_PPN_NONE)
            b->log[i].in_order = false; /* the copy in the log is no longer the newest */
        return fe_logblock_append_data(map, lpn, off, len, data);
    }
    if (i == NO_LOG)
        st = open_log(b, leb, &i);
    if (st != FE_OK)
        return st;
    b->log[i].in_order = b->log[i].in_order && page == fe_unit_map_log_fill(map, i);
    move_before(b, i, map->n_logs);
    st = fe_unit_map_append(map, map->logs[i], FE_TAG_LOG, lpn, off, len, data);
    if (st == FE_OK && b->log[i].in_order && fe_unit_is_full(&map->units, map->logs[i]))
        st = close_log(b, i);
    return st;
}

static uint64_t bast_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                              struct fe_err *err)
{
    return fe_logblock_max_lpns(p, geo, 1, err);
}

static void bast_fini(struct fe_ftl *ftl)
{
    free(bast_of(ftl)->log_of);
    free(bast_of(ftl)->log);
    fe_unit_map_fini(ftl);
}

static int alloc_logs(struct bast *b, struct fe_err *err)
{
    uint32_t n = b->map.n_logs + 1, n_lebs = b->map.n_lebs;
    b->log_of = malloc(n_lebs * sizeof *b->log_of);
    b->log = malloc(n * sizeof *b->log);
    if (!b->log_of || !b->log)
        return fe_err_nomem(err, "table of log blocks", n_lebs * 4ull + n * 16ull);
    memset(b->log_of, 0xff, n_lebs * sizeof *b->log_of);
    for (uint32_t i = 0; i < n; i++)
        b->log[i] = (struct log){
            .leb = FE_LEB_NONE, .older = (i + n - 1) % n, .newer = (i + 1) % n};
    return 0;
}

static int bast_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                      struct fe_err *err)
{
    struct bast *b = bast_of(ftl);
    int r = fe_unit_map_init(&b->map, p, p->log.log_blocks, err);
    if (r == 0)
        r = alloc_logs(b, err);
    return r == 0 && used ? fe_units_recover(&b->map, err) : r;
}

/* The log in use belongs to a logical block that knows it, and is in order if it says so. */
static int check_log(const struct bast *b, uint32_t i, struct fe_err *err)
{
    const struct log *log = &b->log[i];
    bool stale;
    if (log->leb >= b->map.n_lebs || b->log_of[log->leb] != i)
        return fe_err_set(err, EIO, "log %u belongs to logical block %u, which does not know it",
                          i, log->leb);
    int r = fe_unit_map_check_log(&b->map, i, log->leb, log->in_order, &stale, err);
    if (r == 0 && log->in_order && stale)
        r = fe_err_set(err, EIO, "log %u is in order, but has stale pages", i);
    return r;
}

static int bast_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct bast *b = (const struct bast *)ftl;
    uint32_t n_logs = b->map.n_logs, n_used = 0, n_known = 0, n_ring = 0;
    for (uint32_t i = oldest(b); i != n_logs && n_ring <= n_logs; n_ring++) {
        bool used = b->log[i].leb != FE_LEB_NONE;
        if (used != (b->map.logs[i] != FE_UNIT_NONE) || (n_used && !used))
            return fe_err_set(err, EIO, "log %u has unit %u and logical block %u, %u logs in "
                              "use are older", i, b->map.logs[i], b->log[i].leb, n_used);
        int r = used ? check_log(b, i, err) : 0;
        if (r < 0)
            return r;
        n_used += used;
        if (b->log[b->log[i].newer].older != i)
            return fe_err_set(err, EIO, "log %u: the next newer one does not know it", i);
        i = b->log[i].newer;
    }
    for (fe_leb leb = 0; leb < b->map.n_lebs; leb++)
        n_known += b->log_of[leb] != NO_LOG;
    if (n_ring != n_logs || n_known != n_used)
        return fe_err_set(err, EIO, "%u of %u logs by age, %u in use, %u known", n_ring, n_logs,
                          n_used, n_known);
    return fe_unit_map_check(&b->map, err);
}

const struct fe_ftl_ops fe_ftl_bast = {
    .name = "bast",
    .summary = "log blocks that belong to one data block each (early hybrid layers)",
    .max_lpns = bast_max_lpns,
    .size = sizeof(struct bast),
    .start = bast_start,
    .fini = bast_fini,
    .may_hold = fe_units_may_hold,
    .read = fe_unit_map_read,
    .locate = fe_unit_map_where,
    .write = bast_write,
    .free_blocks = fe_unit_map_free_blocks,
    .check = bast_check,
};
