/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The map of the log region is a plain array over all logical pages, four bytes each.  A
 * controller keeps a small table that it searches; what it finds is the same, and here
 * finding it costs one load in merges of a thousand pages.
 *
 * Not modelled: the table's own pages on the chip, and partial page programs (NOP > 1),
 * with which old controllers wrote a data unit in any order.
 */
#include "ftl/logblock.h"

#include "ftl/unit_recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t fe_logblock_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                              uint32_t least, struct fe_err *err)
{
    uint32_t pages = fe_units_pages(geo, p->unit.unit_size, err);
    if (pages == 0)
        return 0;
    uint32_t units = fe_units_count(geo, pages);
    if (units < least + 2) {
        fe_err_set(err, EINVAL,
                   "ftl.unit_size=%llu: the chip has %u blocks of that size; at least %u are "
                   "needed, for data, ftl.log_blocks=%u and a spare one",
                   (unsigned long long)p->unit.unit_size, units, least + 2, least);
        return 0;
    }
    if (p->log.log_blocks < least || p->log.log_blocks > units - 2) {
        fe_err_set(
            err, EINVAL,
            "ftl.log_blocks=%u: must be %u to %u; the chip has %u blocks of "
            "ftl.unit_size=%llu, of which one is spare and one at least holds data",
            p->log.log_blocks, least, units - 2, units,
            (unsigned long long)p->unit.unit_size);
        return 0;
    }
    return (uint64_t)(units - 1 - p->log.log_blocks) * pages;
}

int fe_logblock_init(struct fe_logblock *b, const struct fe_ftl_ops *ops,
                     const struct fe_ftl_params *p, struct fe_medium *m, uint32_t n_lpns,
                     struct fe_err *err)
{
    uint32_t pages = fe_units_pages(&m->geo, p->unit.unit_size, err);
    b->base = (struct fe_ftl){.ops = ops, .medium = m, .n_lpns = n_lpns};
    b->by_pages = fe_fastdiv_init(pages);
    b->n_lebs = (uint32_t)fe_div_up(n_lpns, pages);
    b->gap_fill = p->unit.gap_fill;
    b->switch_merge = p->unit.switch_merge;
    b->n_logs = p->log.log_blocks;

    uint64_t n_newest = (uint64_t)b->n_lebs * pages;
    b->data = malloc(b->n_lebs * sizeof *b->data);
    b->newest = malloc(n_newest * sizeof *b->newest);
    b->logs = malloc(b->n_logs * sizeof *b->logs);
    if (!b->data || !b->newest || !b->logs)
        return fe_err_nomem(err, "map of data and log blocks",
                            (n_newest + b->n_lebs + b->n_logs) * 4);
    memset(b->data, 0xff, b->n_lebs * sizeof *b->data);
    memset(b->newest, 0xff, n_newest * sizeof *b->newest);
    memset(b->logs, 0xff, b->n_logs * sizeof *b->logs);
    return fe_units_init(&b->units, m, pages, p->unit.copy_buffer, err);
}

void fe_logblock_fini(struct fe_logblock *b)
{
    fe_units_fini(&b->units);
    free(b->data);
    free(b->newest);
    free(b->logs);
}

int fe_logblock_recover(struct fe_ftl **ret, struct fe_err *err)
{
    struct fe_logblock *b = (struct fe_logblock *)*ret;
    int r = fe_units_recover(&b->units, b->data, b->n_lebs, &b->base.counters, err);
    if (r < 0) {
        b->base.ops->destroy(&b->base);
        *ret = NULL;
    }
    return r;
}

/* The page of the data unit; FE_PPN_NONE if that does not reach so far, or has padding
 * there. */
static fe_ppn in_data(const struct fe_logblock *b, fe_leb leb, uint32_t page)
{
    if (page >= fe_logblock_fill(b, leb))
        return FE_PPN_NONE;
    fe_ppn ppn = fe_unit_ppn(&b->units, b->data[leb], page);
    return fe_medium_lpn(b->base.medium, ppn) == FE_LPN_NONE ? FE_PPN_NONE : ppn;
}

fe_ppn fe_logblock_locate(const struct fe_logblock *b, fe_lpn lpn)
{
    fe_ppn ppn = b->newest[lpn];
    if (ppn != FE_PPN_NONE)
        return ppn;
    fe_leb leb = fe_logblock_leb(b, lpn);
    return in_data(b, leb, lpn - leb * b->units.unit_pages);
}

enum fe_status fe_logblock_append_data(struct fe_logblock *b, fe_lpn lpn, uint32_t off,
                                       uint32_t len, const void *data)
{
    fe_leb leb = fe_logblock_leb(b, lpn);
    uint32_t page = lpn - leb * b->units.unit_pages;
    if (b->data[leb] == FE_UNIT_NONE)
        b->data[leb] = fe_unit_alloc(&b->units);
    uint32_t unit = b->data[leb];
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;

    enum fe_status st = FE_OK;
    while (b->units.fill[unit] < page && st == FE_OK)
        st = fe_unit_append(&b->units, unit, FE_LPN_NONE, FE_TAG_DATA, FE_PPN_NONE, 0, 0, NULL);
    if (st == FE_OK)
        st = fe_unit_append(&b->units, unit, lpn, FE_TAG_DATA, b->newest[lpn], off, len, data);
    if (st == FE_OK)
        b->newest[lpn] = FE_PPN_NONE;
    return st;
}

enum fe_status fe_logblock_append_log(struct fe_logblock *b, uint32_t unit, enum fe_tag tag,
                                      fe_lpn lpn, uint32_t off, uint32_t len, const void *data)
{
    fe_ppn ppn = fe_unit_ppn(&b->units, unit, b->units.fill[unit]);
    fe_ppn base = fe_logblock_locate(b, lpn);
    enum fe_status st = fe_unit_append(&b->units, unit, lpn, (uint8_t)tag, base, off, len, data);
    if (st == FE_OK)
        b->newest[lpn] = ppn;
    return st;
}

/* Pages of a logical block up to the last one that was ever written. */
static uint32_t top_of(const struct fe_logblock *b, fe_leb leb)
{
    uint32_t top = b->units.unit_pages, fill = fe_logblock_fill(b, leb);
    const fe_ppn *newest = &b->newest[leb * b->units.unit_pages];
    while (top > fill && newest[top - 1] == FE_PPN_NONE)
        top--;
    return top;
}

struct of_leb {
    const struct fe_logblock *b;
    fe_leb leb;
};

static fe_ppn source(const void *ctx, uint32_t page)
{
    const struct of_leb *of = ctx;
    fe_ppn ppn = of->b->newest[of->leb * of->b->units.unit_pages + page];
    return ppn != FE_PPN_NONE ? ppn : in_data(of->b, of->leb, page);
}

/* Copies the newest pages of leb behind what the unit holds, up to page `to`; the last
 * one says so if this is a full merge. */
static enum fe_status copy_up_to(struct fe_logblock *b, fe_leb leb, uint32_t unit, uint32_t to,
                                 enum fe_tag tag)
{
    struct of_leb of = {b, leb};
    struct fe_copies c = {
        .source = source,
        .ctx = &of,
        .first = leb * b->units.unit_pages,
        .tag = (uint8_t)tag,
        .last_tag = (uint8_t)(tag == FE_TAG_MERGE ? FE_TAG_MERGE_END : tag),
        .n_copied = &b->base.counters.pages_copied,
    };
    return fe_unit_copy_up_to(&b->units, unit, to, &c);
}

/* The unit holds the newest copy of every page of leb, in place. */
static enum fe_status replace_data(struct fe_logblock *b, fe_leb leb, uint32_t unit)
{
    uint32_t old = b->data[leb], pages = b->units.unit_pages;
    b->data[leb] = unit;
    memset(&b->newest[leb * pages], 0xff, pages * sizeof *b->newest);
    return old == FE_UNIT_NONE ? FE_OK : fe_unit_release(&b->units, old);
}

static enum fe_status merge_in_place(struct fe_logblock *b, fe_leb leb, uint32_t unit)
{
    uint32_t top = top_of(b, leb);
    if (b->units.fill[unit] >= top)
        b->base.counters.merges_switch++;
    else
        b->base.counters.merges_partial++;
    fe_units_barrier(&b->units);
    enum fe_status st = copy_up_to(b, leb, unit, top, FE_TAG_COPY);
    if (st == FE_OK)
        st = replace_data(b, leb, unit);
    fe_units_barrier(&b->units);
    return st;
}

enum fe_status fe_logblock_merge_full(struct fe_logblock *b, fe_leb leb)
{
    uint32_t unit = fe_unit_alloc(&b->units);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    b->base.counters.merges_full++;
    fe_units_barrier(&b->units);
    enum fe_status st = copy_up_to(b, leb, unit, top_of(b, leb), FE_TAG_MERGE);
    if (st == FE_OK)
        st = replace_data(b, leb, unit);
    fe_units_barrier(&b->units);
    return st;
}

enum fe_status fe_logblock_merge_own(struct fe_logblock *b, fe_leb leb, uint32_t unit,
                                     bool in_order)
{
    if (in_order && b->switch_merge)
        return merge_in_place(b, leb, unit);
    enum fe_status st = fe_logblock_merge_full(b, leb);
    return st == FE_OK ? fe_unit_release(&b->units, unit) : st;
}

enum fe_status fe_logblock_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                void *buf)
{
    fe_ppn ppn = fe_logblock_locate((const struct fe_logblock *)ftl, lpn);
    if (ppn != FE_PPN_NONE)
        return fe_medium_read(ftl->medium, ppn, off, len, buf);
    if (buf)
        memset(buf, 0, len);
    return FE_OK;
}

uint32_t fe_logblock_free_blocks(const struct fe_ftl *ftl)
{
    const struct fe_logblock *b = (const struct fe_logblock *)ftl;
    return b->units.n_free * b->units.blocks_per_unit;
}

/* Marks a unit as seen; it must not have been before. */
static int claim(const struct fe_logblock *b, uint8_t *seen, uint32_t unit, const char *as,
                 struct fe_err *err)
{
    if (unit >= b->units.n_units)
        return fe_err_set(err, EIO, "%s unit %u: there are only %u", as, unit, b->units.n_units);
    if (seen[unit]++)
        return fe_err_set(err, EIO, "unit %u is %s and something else", unit, as);
    return 0;
}

static int check_roles(const struct fe_logblock *b, uint8_t *seen, struct fe_err *err)
{
    uint32_t in_use = 0;
    int r = 0;
    for (fe_leb leb = 0; leb < b->n_lebs && r == 0; leb++) {
        if (b->data[leb] == FE_UNIT_NONE)
            continue;
        r = claim(b, seen, b->data[leb], "data", err);
        in_use++;
    }
    for (uint32_t i = 0; i < b->n_logs && r == 0; i++) {
        if (b->logs[i] == FE_UNIT_NONE)
            continue;
        r = claim(b, seen, b->logs[i], "log", err);
        in_use++;
    }
    for (uint32_t i = 0; i < b->units.n_free && r == 0; i++)
        r = claim(b, seen, b->units.queue[(b->units.head + i) % b->units.n_units], "free", err);
    if (r == 0 && in_use + b->units.n_free != b->units.n_units)
        r = fe_err_set(err, EIO, "%u units in use and %u free are not %u", in_use,
                       b->units.n_free, b->units.n_units);
    return r;
}

/* The page is the newest copy or was programmed before it. */
static int check_age(const struct fe_logblock *b, fe_ppn ppn, fe_lpn lpn, struct fe_err *err)
{
    const uint64_t *seq = b->base.medium->oob_seq;
    fe_ppn newest = fe_logblock_locate(b, lpn);
    if (newest == ppn || (newest != FE_PPN_NONE && seq[newest] > seq[ppn]))
        return 0;
    return fe_err_set(err, EIO, "logical page %u is mapped to %u, but %u is newer", lpn, newest,
                      ppn);
}

static int check_data(const struct fe_logblock *b, struct fe_err *err)
{
    for (fe_leb leb = 0; leb < b->n_lebs; leb++) {
        for (uint32_t page = 0; page < fe_logblock_fill(b, leb); page++) {
            fe_lpn lpn = leb * b->units.unit_pages + page;
            fe_ppn ppn = in_data(b, leb, page);
            if (ppn == FE_PPN_NONE)
                continue;
            if (fe_medium_lpn(b->base.medium, ppn) != lpn)
                return fe_err_set(err, EIO, "unit %u page %u holds logical page %u, not %u",
                                  b->data[leb], page, fe_medium_lpn(b->base.medium, ppn), lpn);
            int r = check_age(b, ppn, lpn, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* As many pages of logs are the newest as the map names. */
static int check_logs(const struct fe_logblock *b, struct fe_err *err)
{
    uint64_t n_lpns = (uint64_t)b->n_lebs * b->units.unit_pages, n_mapped = 0, n_found = 0;
    for (uint64_t lpn = 0; lpn < n_lpns; lpn++)
        n_mapped += b->newest[lpn] != FE_PPN_NONE;
    for (uint32_t i = 0; i < b->n_logs; i++) {
        uint32_t fill = b->logs[i] == FE_UNIT_NONE ? 0 : b->units.fill[b->logs[i]];
        for (uint32_t page = 0; page < fill; page++) {
            fe_ppn ppn = fe_unit_ppn(&b->units, b->logs[i], page);
            fe_lpn lpn = fe_medium_lpn(b->base.medium, ppn);
            if (lpn >= b->base.n_lpns)
                return fe_err_set(err, EIO, "log unit %u page %u holds logical page %u of %u",
                                  b->logs[i], page, lpn, b->base.n_lpns);
            n_found += b->newest[lpn] == ppn;
            int r = check_age(b, ppn, lpn, err);
            if (r < 0)
                return r;
        }
    }
    if (n_mapped != n_found)
        return fe_err_set(err, EIO, "%llu pages are mapped to logs, which hold %llu of them",
                          (unsigned long long)n_mapped, (unsigned long long)n_found);
    return 0;
}

int fe_logblock_check(const struct fe_logblock *b, struct fe_err *err)
{
    uint8_t *seen = calloc(b->units.n_units, 1);
    if (!seen)
        return fe_err_nomem(err, "check of units", b->units.n_units);
    int r = check_roles(b, seen, err);
    free(seen);
    if (r == 0)
        r = check_data(b, err);
    if (r == 0)
        r = check_logs(b, err);
    return r == 0 ? fe_units_check(&b->units, err) : r;
}
