/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Emptying a block: its valid pages move on and it is erased.  Everything that the strategy
 * does besides the host's wishes is this, on different blocks for different reasons:
 *
 *   clean   a full block that the policy chooses     free blocks run short
 *   fold    the oldest full block of the SLC cache   the cache has no place left, or idle
 *   level   the full block with the fewest erases    it lags behind the most worn one
 *
 *     victim  | x a x x b x |                 x invalid
 *                 |     |
 *     stream  | . . a . b ' |      -> erased -> its pool
 *
 * A dynamic SLC cache takes its blocks from the common pool.  When that runs short, folding
 * comes first: at worst it packs two or three blocks into one, which no cleaning can do.
 *
 * Levelling follows each cleaning when the most worn block is more than wl_threshold erases
 * ahead of the least worn full one, and moves that one's pages, which have been lying
 * longest, to the most worn free block.  One block a cleaning keeps the host's wait
 * bounded, and nearly suffices: the block that it frees is used next, so that blocks that
 * wear are exchanged for blocks that did not as fast as they wear.  The spread stays within
 * one or two erases of the threshold; with victims drawn at random, which may be the most
 * worn ones, within a handful.
 *
 * Why all this ends, and finds room, is in page_limits.c.
 */
#include "ftl/page_core.h"

/* The block counts as its new self: erased, and in its pool. */
static void put_free(struct page_ftl *f, fe_peb peb, bool was_slc)
{
    f->state[peb] = BLOCK_FREE;
    f->n_slc -= was_slc;
    if (was_slc && f->p.page.slc_mode == FE_SLC_STATIC) {
        fe_block_pool_put(&f->cache_pool, peb);
        return;
    }
    fe_block_pool_put(&f->pool, peb);
    uint32_t erases = fe_medium_erase_count(f->base.medium, peb);
    if (erases > f->most_erases)
        f->most_erases = erases;
}

/* Moves every valid page of a full block, each to its stream, or all to STREAM_REST. */
static enum fe_status move_pages(struct page_ftl *f, fe_peb peb, bool to_rest)
{
    fe_ppn ppn = peb * f->geo.pages_per_block;
    while (f->valid[peb]) {
        ppn = (fe_ppn)fe_bits_next(f->valid_bits, ppn, f->geo.n_ppns);
        fe_lpn lpn = fe_medium_lpn(f->base.medium, ppn);
        enum stream stream = to_rest ? STREAM_REST : fe_page_stream_of_moved(f, lpn);
        enum fe_status st = fe_page_place(f, stream, lpn, ppn, 0, 0, NULL);
        if (st != FE_OK)
            return st;
        fe_bit_clear(f->valid_bits, ppn);
        f->valid[peb]--;
        f->base.counters.pages_copied++;
        ppn++;
    }
    return FE_OK;
}

enum fe_status fe_page_empty(struct page_ftl *f, fe_peb peb, bool to_rest)
{
    bool slc = f->state[peb] == BLOCK_CACHED;
    fe_victims_remove(victims_of(f, peb), peb);
    if (!slc && f->p.clean.wear_levelling == FE_WEAR_STATIC)
        fe_heap_remove(&f->rested, peb);
    f->state[peb] = BLOCK_OPEN;
    fe_medium_begin_emptying(f->base.medium);
    enum fe_status st = move_pages(f, peb, to_rest);
    if (st == FE_OK)
        st = fe_medium_erase(f->base.medium, peb);
    if (st == FE_OK)
        put_free(f, peb, slc);
    return st;
}

static enum fe_status fold(struct page_ftl *f)
{
    f->base.counters.slc_folds++;
    return fe_page_empty(f, fe_victims_oldest(&f->cached), false);
}

static enum fe_status level(struct page_ftl *f)
{
    if (f->p.clean.wear_levelling != FE_WEAR_STATIC || f->rested.n == 0)
        return FE_OK;
    fe_peb coldest = f->rested.item[0].peb;
    uint32_t least = fe_medium_erase_count(f->base.medium, coldest);
    if (f->most_erases < least || f->most_erases - least <= f->p.clean.wl_threshold)
        return FE_OK;
    f->base.counters.wear_moves++;
    return fe_page_empty(f, coldest, true);
}

static enum fe_status clean(struct page_ftl *f)
{
    fe_peb victim = fe_victims_choose(&f->full);
    if (victim == FE_PEB_NONE)
        return FE_NO_SPACE;
    f->base.counters.gc_runs++;
    enum fe_status st = fe_page_empty(f, victim, false);
    return st == FE_OK ? level(f) : st;
}

/* One step towards more free blocks. */
static enum fe_status reclaim(struct page_ftl *f)
{
    if (f->p.page.slc_mode == FE_SLC_DYNAMIC && f->cached.n)
        return fold(f);
    return clean(f);
}

enum fe_status fe_page_make_room(struct page_ftl *f)
{
    enum fe_status st = FE_OK;
    while (f->pool.n < f->reserve && st == FE_OK)
        st = reclaim(f);
    if (st == FE_OK && f->p.page.slc_mode != FE_SLC_OFF && fe_page_cache_must_fold(f))
        st = fold(f);
    return st;
}

/* The cache first, so that the next burst finds it empty; then cleaning, as long as it
 * could win a whole block.  Each step wins an invalid page, or brings the policy nearer
 * to one, so this comes to an end. */
bool fe_page_idle(struct fe_ftl *ftl)
{
    struct page_ftl *f = page_of(ftl);
    bool can_fold = f->p.page.slc_mode != FE_SLC_OFF && f->cached.n;
    if (can_fold && f->pool.n >= f->reserve)
        return fold(f) == FE_OK;
    uint32_t goal = f->p.clean.idle_free;
    if (can_fold && goal < f->reserve)
        goal = f->reserve;
    bool can_win = can_fold || f->full.n_invalid >= f->geo.pages_per_block;
    return f->pool.n < goal && can_win && reclaim(f) == FE_OK;
}
