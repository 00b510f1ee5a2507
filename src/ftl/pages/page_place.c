/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams: the pages of one kind fill blocks of their own, on all dies in turn.
 *
 *   die         0     1     2     3
 *   MAIN      [8 .] [9 .] [6 .] [3 .]    one open block a die
 *   COLD      [4 .] [1 .]   -   [7 .]    a place without a block takes one in its turn
 *   STATIC    [2 .]                      one block at a time, on whichever die it is
 *   CACHE     [5 s] [0 s]   -     -      blocks in SLC mode
 *
 * When no block is free, a page goes to any open block: of its own stream if possible, of
 * another one otherwise.  Mixing pages costs a little later; running out of space costs
 * everything.  Only the cache neither lends nor borrows.  So all erased pages outside the
 * cache count as room, wherever they are, and the proof in page_limits.c needs nothing else.
 *
 * The pages of an enhanced area go to the area's own blocks, where the same streams are once more,
 * except the cache.
 */
#include "ftl/pages/page_core.h"

#include "ftl/recover.h"

void fe_page_places(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                    uint32_t n[static N_STREAMS])
{
    n[STREAM_MAIN] = geo->n_dies;
    n[STREAM_COLD] = p->page.hot_cold == FE_HOT_COLD_OFF ? 0 : geo->n_dies;
    n[STREAM_STATIC] = p->clean.wear_levelling == FE_WEAR_STATIC;
    n[STREAM_CACHE] = 0;
    if (p->page.slc_mode == FE_SLC_OFF)
        return;
    n[STREAM_CACHE] = geo->n_dies;
    if (p->page.slc_blocks && p->page.slc_blocks < n[STREAM_CACHE])
        n[STREAM_CACHE] = p->page.slc_blocks;
    if (p->page.slc_dies && p->page.slc_dies < n[STREAM_CACHE])
        n[STREAM_CACHE] = p->page.slc_dies;
}

/* By the tag of a page that came first, which may have borrowed its place. */
uint32_t fe_page_stream_of_block(const struct fe_ftl *ftl, fe_peb peb)
{
    if (fe_medium_is_slc(ftl->medium, peb) && peb >= ((const struct page_ftl *)ftl)->area.end)
        return STREAM_CACHE;
    fe_ppn first = fe_recover_first(ftl->medium, peb);
    uint8_t tag = first == FE_PPN_NONE ? FE_TAG_DATA : fe_medium_tag(ftl->medium, first);
    if (tag == FE_TAG_COLD || tag == FE_TAG_COLD_COPY)
        return STREAM_COLD;
    return tag == FE_TAG_STATIC ? STREAM_STATIC : STREAM_MAIN;
}

/* Whether the cache may take one more block.  A dynamic cache takes no block that the
 * others could need before the next cleaning. */
static bool cache_can_grow(const struct page_ftl *f)
{
    const struct fe_blocks *b = &f->blocks;
    if (f->p.page.slc_mode == FE_SLC_STATIC)
        return b->aside.n > 0;
    return b->pool.n > b->reserve &&
           (f->p.page.slc_blocks == 0 ||
            b->full[SET_CACHED].n + b->fronts[STREAM_CACHE].n_open < f->p.page.slc_blocks);
}

bool fe_page_cache_takes(const struct page_ftl *f)
{
    return cache_can_grow(f) || f->blocks.fronts[STREAM_CACHE].n_open;
}

bool fe_page_cache_must_fold(const struct page_ftl *f)
{
    const struct fe_frontier *front = &f->blocks.fronts[STREAM_CACHE];
    return front->open[front->turn] == FE_PEB_NONE && !cache_can_grow(f) &&
           f->blocks.full[SET_CACHED].n;
}

/* Where a page goes that is moved because its block is emptied. */
static enum stream stream_of_moved(const struct page_ftl *f, fe_lpn lpn)
{
    switch ((enum fe_hot_cold)f->p.page.hot_cold) {
    case FE_HOT_COLD_GC:
        return STREAM_COLD;
    case FE_HOT_COLD_TWO_POOL:
        return fe_page_is_hot(&f->heat, lpn) ? STREAM_MAIN : STREAM_COLD;
    default:
        return STREAM_MAIN;
    }
}

/* A free block for the place whose turn it is; false if there is none. */
static bool take_block(struct page_ftl *f, struct fe_blocks *b, enum stream stream,
                       struct fe_frontier *front)
{
    bool is_aside = stream == STREAM_CACHE && f->p.page.slc_mode == FE_SLC_STATIC;
    fe_peb peb = stream == STREAM_STATIC
                     ? fe_block_pool_take_worn(&b->pool)
                     : fe_block_pool_take(is_aside ? &b->aside : &b->pool, front->at);
    if (peb == FE_PEB_NONE)
        return false;
    fe_blocks_open(b, front, peb);
    if (stream == STREAM_CACHE)
        fe_medium_use_slc(f->base.medium, peb);
    return true;
}

/* The frontier whose place `at` takes the stream's next page; NULL if there is no room. */
static struct fe_frontier *next_place(struct page_ftl *f, struct fe_blocks *b,
                                      enum stream stream)
{
    struct fe_frontier *fronts = b->fronts, *front = &fronts[stream];
    if (fe_frontier_turn(front) != FE_PEB_NONE || take_block(f, b, stream, front) ||
        fe_frontier_seek(front, 0))
        return front;
    for (enum stream s = STREAM_MAIN; stream != STREAM_CACHE && s < STREAM_CACHE; s++)
        if (fe_frontier_seek(&fronts[s], 0))
            return &fronts[s];
    return NULL;
}

/* By the stream, not by the block: a page that borrowed a place says so. */
static enum fe_tag tag_of(enum stream stream, bool moved)
{
    switch (stream) {
    case STREAM_COLD:
        return moved ? FE_TAG_COLD_COPY : FE_TAG_COLD;
    case STREAM_STATIC:
        return FE_TAG_STATIC;
    case STREAM_CACHE:
        return FE_TAG_SLC;
    default:
        return moved ? FE_TAG_COPY : FE_TAG_DATA;
    }
}

enum fe_status fe_page_place(struct page_ftl *f, enum stream stream, fe_lpn lpn, fe_ppn base,
                             uint32_t off, uint32_t len, const void *data)
{
    struct fe_blocks *b = fe_page_blocks_for(f, lpn);
    struct fe_frontier *front = next_place(f, b, stream);
    if (!front)
        return FE_NO_SPACE;
    fe_ppn ppn;
    enum fe_status st = fe_blocks_append(b, front, lpn, tag_of(stream, len == 0), base, off, len,
                                         data, &ppn);
    if (st == FE_OK)
        f->base.map[lpn] = fe_mapping(ppn);
    return st;
}

enum fe_status fe_page_place_kept(struct page_ftl *f, enum stream stream, fe_lpn lpn, fe_ppn from)
{
    struct fe_frontier *front = next_place(f, &f->blocks, stream);
    if (!front)
        return FE_NO_SPACE;
    struct fe_medium *m = f->base.medium;
    fe_ppn ppn = fe_blocks_next(&f->blocks, front);
    uint16_t flips = fe_medium_flips(m, from);
    struct fe_held held = {from, flips >= FE_FLIPS_SILENT ? flips : 0};
    enum fe_status st = fe_medium_prog_held(m, ppn, lpn, tag_of(stream, true), held);
    if (st != FE_OK)
        return st;
    fe_blocks_appended(&f->blocks, front, ppn);
    f->base.map[lpn] = fe_mapping(ppn);
    return FE_OK;
}

__attribute__((flatten)) enum fe_status fe_page_move(struct fe_ftl *ftl, bool is_static, fe_lpn lpn,
                                                     fe_ppn from)
{
    struct page_ftl *f = page_of(ftl);
    enum stream stream = is_static ? STREAM_STATIC : stream_of_moved(f, lpn);
    return fe_page_place(f, stream, lpn, from, 0, 0, NULL);
}
