/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When and why blocks are emptied.  All that the strategy does besides the host's requests is
 * to empty blocks (blocks.c), different blocks for different reasons:
 *
 *   clean   a full block that victim.h chooses       free blocks run short
 *   fold    the oldest full block of the SLC cache   the cache has no place left, or idle
 *   level   the full block with the fewest erases    it lags behind the most worn one
 *
 * A dynamic SLC cache takes its blocks from the common pool.  When that runs short, folding
 * comes first: at worst it packs two or three blocks into one, which no cleaning can do.
 *
 * Levelling follows each cleaning, if the most worn block is more than wl_threshold erases
 * ahead of the least worn full one.  It moves the pages of that one, which have been lying
 * longest, to the most worn free block.  One block a cleaning keeps the host's wait bounded,
 * and it nearly suffices: the freed block is used next, so blocks that did not wear replace
 * blocks that wear as fast as those do.  The spread stays within one or two erases of the
 * threshold.  If victims are drawn at random, they may be the most worn blocks, and the spread
 * stays within a handful.
 *
 * page_limits.c says why all this ends and finds room.
 */
#include "ftl/pages/page_core.h"

static enum fe_status fold(struct page_ftl *f)
{
    f->base.counters.slc_folds++;
    return fe_blocks_empty(&f->blocks, fe_victims_oldest(&f->blocks.full[SET_CACHED]), false);
}

static enum fe_status level(struct page_ftl *f, struct fe_blocks *b)
{
    fe_peb coldest = fe_blocks_lagging(b, b->most_erases);
    if (coldest == FE_PEB_NONE)
        return FE_OK;
    f->base.counters.wear_moves++;
    return fe_blocks_empty(b, coldest, true);
}

static enum fe_status clean(struct page_ftl *f, struct fe_blocks *b)
{
    fe_peb victim = fe_victims_choose(&b->full[SET_PLAIN]);
    if (victim == FE_PEB_NONE)
        return FE_NO_SPACE;
    f->base.counters.gc_runs++;
    enum fe_status st = fe_blocks_empty(b, victim, false);
    return st == FE_OK ? level(f, b) : st;
}

/* One step towards more free blocks. */
static enum fe_status reclaim(struct page_ftl *f, struct fe_blocks *b)
{
    if (f->p.page.slc_mode == FE_SLC_DYNAMIC && b->full[SET_CACHED].n)
        return fold(f);
    return clean(f, b);
}

enum fe_status fe_page_make_room(struct page_ftl *f, struct fe_blocks *b, bool to_cache)
{
    enum fe_status st = FE_OK;
    while (b->pool.n < b->reserve && st == FE_OK)
        st = reclaim(f, b);
    if (st == FE_OK && b == &f->blocks && to_cache && fe_page_cache_must_fold(f))
        st = fold(f);
    return st;
}

/* A step of cleaning, if it could win a whole block. */
static bool clean_in_advance(struct page_ftl *f, struct fe_blocks *b)
{
    bool can_fold = b->full[SET_CACHED].n > 0;
    uint32_t goal = f->p.clean.idle_free;
    if (can_fold && goal < b->reserve)
        goal = b->reserve;
    bool can_win = can_fold || b->full[SET_PLAIN].n_invalid >= b->full[SET_PLAIN].pages;
    return b->pool.n < goal && can_win && reclaim(f, b) == FE_OK;
}

/* The cache is emptied first, so that the next burst finds room there.  Then comes cleaning, in
 * the enhanced area last.  Each step wins an invalid page, or brings the policy nearer to one, so
 * this comes to an end. */
bool fe_page_idle(struct fe_ftl *ftl)
{
    struct page_ftl *f = page_of(ftl);
    if (f->blocks.full[SET_CACHED].n && f->blocks.pool.n >= f->blocks.reserve)
        return fold(f) == FE_OK;
    return clean_in_advance(f, &f->blocks) || (f->area_pages && clean_in_advance(f, &f->area));
}
