/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cleaning empties the block with the fewest valid pages, which holds data or pages of the
 * table.
 *
 *   victim of data      | x a x x b x c |      x invalid; a is cached, b and c are not
 *                           |     |   |
 *   open blocks         | . . a . b . c ' |    a: its entry gets the new place and is dirty
 *                                              b, c: their translation pages are outdated
 *   table               read, program          once each, even if b and c share one
 *
 * A page that the cache knows costs nothing more now, because its entry will be written when
 * the entry leaves the cache (the paper's lazy copying).  The translation pages of the others
 * are written when all pages have moved, each of them once.  Each write includes all other
 * dirty entries of that translation page (batch updates).  A victim of the table costs only
 * its copies, because the directory is in memory.
 *
 * The choice looks at valid pages alone, as in the paper, although a victim of data costs more
 * than its copies.  dftl_limits.c says why this ends.
 */
#include "ftl/pages/dftl_core.h"

/* A page of data has moved to ppn. */
static void remap(struct dftl *f, fe_lpn lpn, fe_ppn ppn)
{
    f->table[lpn] = ppn;
    if (fe_map_has(&f->cache, lpn)) {
        fe_map_mark(&f->cache, lpn);
        return;
    }
    uint32_t tp = fe_map_page(&f->cache, lpn);
    if (!f->is_outdated[tp]) {
        f->is_outdated[tp] = 1;
        f->outdated[f->n_outdated++] = tp;
    }
}

enum fe_status fe_dftl_move(struct fe_ftl *ftl, bool is_static, fe_lpn tag, fe_ppn from)
{
    struct dftl *f = dftl_of(ftl);
    enum dftl_kind kind = tag < ftl->n_lpns ? DFTL_DATA : DFTL_MAP;
    fe_ppn to;
    (void)is_static;
    enum fe_status st = fe_dftl_place(f, kind, tag, from, 0, 0, NULL, &to);
    if (st != FE_OK)
        return st;
    if (kind == DFTL_DATA)
        remap(f, tag, to);
    else
        f->directory[tag - ftl->n_lpns] = to;
    return FE_OK;
}

/* The entries of a block's pages lie anywhere in memory: asks for all of them immediately. */
static void fetch_entries(const struct dftl *f, fe_peb peb)
{
    uint32_t b = f->blocks.geo.pages_per_block;
    for (fe_ppn ppn = peb * b; ppn < (peb + 1) * b; ppn++) {
        if (!fe_bit(f->blocks.valid_bits, ppn))
            continue;
        fe_lpn lpn = fe_medium_lpn(f->base.medium, ppn);
        fe_fetch(&f->cache.entry_of[lpn]);
        fe_fetch(&f->table[lpn]);
    }
}

static enum fe_status write_outdated(struct dftl *f)
{
    enum fe_status st = FE_OK;
    for (uint32_t i = 0; i < f->n_outdated; i++) {
        f->is_outdated[f->outdated[i]] = 0;
        if (st == FE_OK)
            st = fe_dftl_write_tp(f, f->outdated[i]);
    }
    f->n_outdated = 0;
    return st;
}

/* The block with the fewest valid pages; of equal ones the block of the table, which costs
 * less to clean.  If the free blocks are too few to clean a block of data, a block of the table
 * if there is one. */
static fe_peb choose(struct dftl *f)
{
    struct fe_blocks *b = &f->blocks;
    fe_peb data = fe_victims_choose(&b->full[DFTL_DATA]);
    fe_peb map = fe_victims_choose(&b->full[DFTL_MAP]);
    bool take_map = map != FE_PEB_NONE && (data == FE_PEB_NONE || b->pool.n < 2 ||
                                           b->valid[map] <= b->valid[data]);
    if (!take_map && data != FE_PEB_NONE)
        fetch_entries(f, data);
    return take_map ? map : data;
}

static enum fe_status clean(struct dftl *f)
{
    fe_peb victim = choose(f);
    if (victim == FE_PEB_NONE)
        return FE_NO_SPACE;
    f->base.counters.gc_runs++;
    enum fe_status st = fe_blocks_move(&f->blocks, victim, false);
    if (st == FE_OK)
        st = write_outdated(f);
    return st == FE_OK ? fe_blocks_erase(&f->blocks, victim) : st;
}

enum fe_status fe_dftl_make_room(struct dftl *f)
{
    enum fe_status st = FE_OK;
    while (f->blocks.pool.n < f->blocks.reserve && st == FE_OK)
        st = clean(f);
    return st;
}
