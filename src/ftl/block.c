/* SPDX-License-Identifier: BSD-3-Clause
 *
 * block: one map entry a block and nothing else, as in the oldest sticks.
 *
 * A block with room behind its last page is appended to.  Anything else needs a
 * replacement block: the pages before are copied into it, the host's pages follow, and
 * when the host's command is over the rest is copied behind them and the old block
 * erased.  So an overwrite costs a whole block however small it is, and a command that
 * covers a whole block costs no copy at all.
 *
 *     old          | 0 1 2 3 4 5 6 7 |
 *     replacement  | 0 1 2 3'4'. . . |    copied, written, copied at the command's end
 */
#include "ftl/registry.h"
#include "ftl/unit.h"
#include "ftl/unit_recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct block_ftl {
    struct fe_ftl base;
    struct fe_units units;
    uint32_t n_lebs;
    struct fe_fastdiv by_pages;
    uint32_t *data;           /* leb -> unit */
    fe_leb leb;               /* being replaced, or FE_LEB_NONE */
    uint32_t replacement;
    uint64_t copied_before;   /* pages_copied when the replacement began */
};

static struct block_ftl *block_of(struct fe_ftl *ftl)
{
    return (struct block_ftl *)ftl;
}

static uint32_t fill_of(const struct block_ftl *b, fe_leb leb)
{
    return b->data[leb] == FE_UNIT_NONE ? 0 : b->units.fill[b->data[leb]];
}

static fe_ppn locate(const struct block_ftl *b, fe_leb leb, uint32_t page)
{
    uint32_t unit = b->data[leb];
    if (leb == b->leb && page < b->units.fill[b->replacement])
        unit = b->replacement;
    if (unit == FE_UNIT_NONE || page >= b->units.fill[unit])
        return FE_PPN_NONE;
    fe_ppn ppn = fe_unit_ppn(&b->units, unit, page);
    return fe_medium_lpn(b->base.medium, ppn) == FE_LPN_NONE ? FE_PPN_NONE : ppn;
}

/* A replacement is a merge that takes pages of the host on its way. */
static enum fe_tag tag_of(const struct block_ftl *b, fe_leb leb)
{
    return b->leb == leb ? FE_TAG_MERGE : FE_TAG_DATA;
}

struct of_leb {
    const struct block_ftl *b;
    fe_leb leb;
};

static fe_ppn source(const void *ctx, uint32_t page)
{
    const struct of_leb *of = ctx;
    return locate(of->b, of->leb, page);
}

/* Copies pages of leb behind what the unit holds, up to page `to`; `whole`: then the
 * replacement is. */
static enum fe_status copy_up_to(struct block_ftl *b, fe_leb leb, uint32_t unit, uint32_t to,
                                 bool whole)
{
    if (b->units.fill[unit] >= to)
        return FE_OK; /* not even a barrier: pages of a command may go to several dies */
    struct of_leb of = {b, leb};
    struct fe_copies c = {
        .source = source,
        .ctx = &of,
        .first = leb * b->units.unit_pages,
        .tag = (uint8_t)tag_of(b, leb),
        .last_tag = (uint8_t)(whole ? FE_TAG_MERGE_END : tag_of(b, leb)),
        .n_copied = &b->base.counters.pages_copied,
    };
    enum fe_status st = fe_unit_copy_up_to(&b->units, unit, to, &c);
    fe_units_barrier(&b->units);
    return st;
}

/* Completes the replacement from the old block, which is erased. */
static enum fe_status finish(struct fe_ftl *ftl)
{
    struct block_ftl *b = block_of(ftl);
    if (b->leb == FE_LEB_NONE)
        return FE_OK;
    uint32_t old = b->data[b->leb];
    enum fe_status st = copy_up_to(b, b->leb, b->replacement, fill_of(b, b->leb), true);
    if (st != FE_OK)
        return st;
    if (ftl->counters.pages_copied == b->copied_before)
        ftl->counters.merges_switch++;
    else
        ftl->counters.merges_partial++;
    b->data[b->leb] = b->replacement;
    b->leb = FE_LEB_NONE;
    return fe_unit_release(&b->units, old);
}

static enum fe_status block_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                  const void *data)
{
    struct block_ftl *b = block_of(ftl);
    fe_leb leb = fe_fastdiv(lpn, b->by_pages);
    uint32_t page = lpn - leb * b->units.unit_pages;
    enum fe_status st = FE_OK;

    if (b->leb != FE_LEB_NONE && (b->leb != leb || page < b->units.fill[b->replacement]))
        st = finish(ftl);
    if (st != FE_OK)
        return st;

    uint32_t unit = b->leb == leb ? b->replacement : b->data[leb];
    bool append = b->leb != leb && page >= fill_of(b, leb);
    if (b->leb != leb && (!append || unit == FE_UNIT_NONE)) {
        unit = fe_unit_alloc(&b->units);
        if (unit == FE_UNIT_NONE)
            return FE_NO_SPACE;
        if (append) {
            b->data[leb] = unit;
        } else {
            b->leb = leb;
            b->replacement = unit;
            b->copied_before = ftl->counters.pages_copied;
        }
    }
    st = copy_up_to(b, leb, unit, page, false);
    if (st != FE_OK)
        return st;
    return fe_unit_append(&b->units, unit, lpn, (uint8_t)tag_of(b, leb), locate(b, leb, page), off,
                          len, data);
}

static enum fe_status block_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                 void *buf)
{
    struct block_ftl *b = block_of(ftl);
    fe_leb leb = fe_fastdiv(lpn, b->by_pages);
    fe_ppn ppn = locate(b, leb, lpn - leb * b->units.unit_pages);
    if (ppn != FE_PPN_NONE)
        return fe_medium_read(ftl->medium, ppn, off, len, buf);
    if (buf)
        memset(buf, 0, len);
    return FE_OK;
}

static uint64_t block_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                               struct fe_err *err)
{
    uint32_t pages = fe_units_pages(geo, p->unit.unit_size, err);
    if (pages == 0)
        return 0;
    uint32_t units = fe_units_count(geo, pages);
    if (units < 2) {
        fe_err_set(err, EINVAL,
                   "ftl.unit_size=%llu: block needs at least 2 blocks, one of them spare; the "
                   "chip has %u of that size",
                   (unsigned long long)p->unit.unit_size, units);
        return 0;
    }
    return (uint64_t)(units - 1) * pages;
}

static void block_destroy(struct fe_ftl *ftl)
{
    struct block_ftl *b = block_of(ftl);
    if (!b)
        return;
    fe_units_fini(&b->units);
    free(b->data);
    free(b);
}

static int block_create(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                        uint32_t n_lpns, struct fe_err *err)
{
    uint32_t pages = fe_units_pages(&m->geo, p->unit.unit_size, err);
    struct block_ftl *b = calloc(1, sizeof *b);
    if (!b)
        return fe_err_nomem(err, "block translation layer", sizeof *b);
    b->base = (struct fe_ftl){.ops = &fe_ftl_block, .medium = m, .n_lpns = n_lpns};
    b->by_pages = fe_fastdiv_init(pages);
    b->n_lebs = (uint32_t)fe_div_up(n_lpns, pages);
    b->leb = FE_LEB_NONE;
    b->data = malloc(b->n_lebs * sizeof *b->data);
    int r = b->data ? fe_units_init(&b->units, m, pages, p->unit.copy_buffer, err)
                    : fe_err_nomem(err, "block map", b->n_lebs * 4ull);
    if (r < 0) {
        block_destroy(&b->base);
        return r;
    }
    memset(b->data, 0xff, b->n_lebs * sizeof *b->data);
    *ret = &b->base;
    return 0;
}

static int block_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                         uint32_t n_lpns, struct fe_err *err)
{
    int r = block_create(ret, p, m, n_lpns, err);
    if (r < 0)
        return r;
    struct block_ftl *b = block_of(*ret);
    r = fe_units_recover(&b->units, b->data, b->n_lebs, &b->base.counters, err);
    if (r < 0)
        block_destroy(&b->base);
    return r;
}

static uint32_t block_free_blocks(const struct fe_ftl *ftl)
{
    const struct block_ftl *b = (const struct block_ftl *)ftl;
    return b->units.n_free * b->units.blocks_per_unit;
}

static int block_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct block_ftl *b = (const struct block_ftl *)ftl;
    uint32_t in_use = b->leb != FE_LEB_NONE;
    for (fe_leb leb = 0; leb < b->n_lebs; leb++) {
        in_use += b->data[leb] != FE_UNIT_NONE;
        for (uint32_t page = 0; page < fill_of(b, leb); page++) {
            fe_lpn lpn = fe_medium_lpn(ftl->medium, fe_unit_ppn(&b->units, b->data[leb], page));
            if (lpn != FE_LPN_NONE && lpn != leb * b->units.unit_pages + page)
                return fe_err_set(err, EIO, "block %u page %u holds logical page %u",
                                  b->data[leb], page, lpn);
        }
    }
    if (in_use + b->units.n_free != b->units.n_units)
        return fe_err_set(err, EIO, "%u blocks in use and %u free are not %u", in_use,
                          b->units.n_free, b->units.n_units);
    return fe_units_check(&b->units, err);
}

const struct fe_ftl_ops fe_ftl_block = {
    .name = "block",
    .summary = "one map entry a block, every overwrite copies it (the oldest sticks)",
    .max_lpns = block_max_lpns,
    .create = block_create,
    .recover = block_recover,
    .destroy = block_destroy,
    .read = block_read,
    .write = block_write,
    .end_command = finish,
    .free_blocks = block_free_blocks,
    .check = block_check,
};
