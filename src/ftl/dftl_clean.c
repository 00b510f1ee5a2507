/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Emptying the block with the fewest valid pages, of data or of the table: its valid pages
 * move on and it is erased.
 *
 *   victim of data      | x a x x b x c |      x invalid; a is cached, b and c are not
 *                           |     |   |
 *   frontier            | . . a . b . c ' |    a: its entry gets the new place and is dirty
 *                                              b, c: their translation pages are outdated
 *   table               read, program          once each, even if b and c share one
 *
 * A page that the cache knows costs nothing more now: its entry will be written when it
 * leaves (the paper's lazy copying).  The others' translation pages are written when all
 * pages have moved, each once, and each takes with it what else is dirty there (batch
 * updates).  A victim of the table costs its copies only: the directory is in memory.
 *
 * Greedy looks at valid pages alone, as in the paper, though a victim of data costs more
 * than its copies.  Why this ends is in dftl_limits.c.
 */
#include "ftl/dftl_core.h"

/* A page of data has moved. */
static void remap(struct dftl *f, fe_lpn lpn, fe_ppn ppn)
{
    if (fe_map_has(&f->cache, lpn)) {
        fe_map_set(&f->cache, lpn, ppn);
        return;
    }
    uint32_t tp = fe_map_page(&f->cache, lpn);
    f->table[lpn] = ppn;
    if (!f->is_outdated[tp]) {
        f->is_outdated[tp] = 1;
        f->outdated[f->n_outdated++] = tp;
    }
}

static enum fe_status move_pages(struct dftl *f, enum dftl_kind kind, fe_peb peb)
{
    fe_ppn from = peb * f->geo.pages_per_block, to;
    if (kind == DFTL_DATA) /* entries lie anywhere in memory: asked for all at once */
        for (uint32_t i = 0; i < f->geo.pages_per_block; i++)
            if (dftl_is_valid(f, from + i))
                __builtin_prefetch(&f->cache.refs[fe_medium_lpn(f->base.medium, from + i)]);
    while (f->valid[peb]) {
        from = (fe_ppn)fe_bits_next(f->valid_bits, from, f->geo.n_ppns);
        fe_lpn tag = fe_medium_lpn(f->base.medium, from);
        enum fe_status st = fe_dftl_place(f, kind, tag, from, 0, 0, NULL, &to);
        if (st != FE_OK)
            return st;
        f->base.counters.pages_copied++;
        fe_bit_clear(f->valid_bits, from);
        f->valid[peb]--;
        if (kind == DFTL_DATA)
            remap(f, tag, to);
        else
            f->directory[tag - f->base.n_lpns] = to;
        from++;
    }
    return FE_OK;
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

/* The block with the fewest valid pages; of equal ones that of the table, which costs less.
 * When blocks are too few to clean one of data, one of the table if there is any. */
static fe_peb choose(struct dftl *f, enum dftl_kind *ret)
{
    fe_peb data = fe_victims_choose(&f->full[DFTL_DATA]);
    fe_peb map = fe_victims_choose(&f->full[DFTL_MAP]);
    bool take_map = map != FE_PEB_NONE &&
                    (data == FE_PEB_NONE || f->pool.n < 2 || f->valid[map] <= f->valid[data]);
    *ret = take_map ? DFTL_MAP : DFTL_DATA;
    return take_map ? map : data;
}

static enum fe_status clean(struct dftl *f)
{
    enum dftl_kind kind;
    fe_peb victim = choose(f, &kind);
    if (victim == FE_PEB_NONE)
        return FE_NO_SPACE;
    f->base.counters.gc_runs++;
    fe_victims_remove(&f->full[kind], victim);
    f->state[victim] = DFTL_OPEN;
    enum fe_status st = move_pages(f, kind, victim);
    if (st == FE_OK)
        st = write_outdated(f);
    if (st == FE_OK)
        st = fe_medium_erase(f->base.medium, victim);
    if (st != FE_OK)
        return st;
    f->state[victim] = DFTL_FREE;
    fe_block_pool_put(&f->pool, victim);
    return FE_OK;
}

enum fe_status fe_dftl_make_room(struct dftl *f)
{
    enum fe_status st = FE_OK;
    while (f->pool.n < f->reserve && st == FE_OK)
        st = clean(f);
    return st;
}
