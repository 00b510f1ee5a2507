/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams: pages of one kind fill blocks of their own, on all dies in turn.
 *
 *   die         0     1     2     3
 *   MAIN      [8 .] [9 .] [6 .] [3 .]    one open block a die
 *   COLD      [4 .] [1 .]   -   [7 .]    a slot without a block takes one when its turn comes
 *   REST      [2 .]                      one at a time, on whichever die it is
 *   CACHE     [5 s] [0 s]   -     -      blocks in SLC mode
 *
 * When no block is free, a page takes what is open in another slot, of its own stream
 * first: mixing pages costs a little later, running out of space costs everything.  Only
 * the cache neither lends nor borrows.  So all erased pages outside the cache count as
 * room, wherever they are, and the proof in page_limits.c needs nothing else.
 */
#include "ftl/page_core.h"

void fe_page_slots(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                   uint32_t n[static N_STREAMS])
{
    n[STREAM_MAIN] = geo->n_dies;
    n[STREAM_COLD] = p->page.hot_cold == FE_HOT_COLD_OFF ? 0 : geo->n_dies;
    n[STREAM_REST] = p->clean.wear_levelling == FE_WEAR_STATIC;
    n[STREAM_CACHE] = 0;
    if (p->page.slc_mode != FE_SLC_OFF)
        n[STREAM_CACHE] = p->page.slc_blocks && p->page.slc_blocks < geo->n_dies
                              ? p->page.slc_blocks
                              : geo->n_dies;
}

/* Whether the cache may take one more block.  A dynamic one takes no block that the
 * others could need before the next cleaning. */
static bool cache_can_grow(const struct page_ftl *f)
{
    if (f->p.page.slc_mode == FE_SLC_STATIC)
        return f->cache_pool.n > 0;
    return f->pool.n > f->reserve && (f->p.page.slc_blocks == 0 || f->n_slc < f->p.page.slc_blocks);
}

bool fe_page_cache_must_fold(const struct page_ftl *f)
{
    const struct frontier *front = &f->fronts[STREAM_CACHE];
    return front->slots[front->turn] == FE_PEB_NONE && !cache_can_grow(f) && f->cached.n;
}

/* An open block of the stream; NULL if there is none. */
static fe_peb *open_slot(const struct frontier *front)
{
    for (uint32_t i = 0; i < front->n; i++)
        if (front->slots[i] != FE_PEB_NONE)
            return &front->slots[i];
    return NULL;
}

enum stream fe_page_stream_of_host(struct page_ftl *f, fe_lpn lpn)
{
    bool two_pool = f->p.page.hot_cold == FE_HOT_COLD_TWO_POOL;
    if (two_pool)
        fe_page_heat_touch(&f->heat, lpn, f->map[lpn] == FE_PPN_NONE);
    if (f->p.page.slc_mode != FE_SLC_OFF &&
        (cache_can_grow(f) || open_slot(&f->fronts[STREAM_CACHE])))
        return STREAM_CACHE;
    return two_pool && !fe_page_is_hot(&f->heat, lpn) ? STREAM_COLD : STREAM_MAIN;
}

enum stream fe_page_stream_of_moved(const struct page_ftl *f, fe_lpn lpn)
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

static fe_peb take_block(struct page_ftl *f, enum stream stream, uint32_t slot)
{
    fe_peb peb;
    if (stream == STREAM_REST)
        peb = fe_block_pool_take_worn(&f->pool);
    else if (stream == STREAM_CACHE && f->p.page.slc_mode == FE_SLC_STATIC)
        peb = fe_block_pool_take(&f->cache_pool, slot);
    else
        peb = fe_block_pool_take(&f->pool, slot);
    if (peb == FE_PEB_NONE)
        return peb;
    f->state[peb] = BLOCK_OPEN;
    if (stream == STREAM_CACHE) {
        fe_medium_use_slc(f->base.medium, peb);
        f->n_slc++;
    }
    return peb;
}

/* The slot whose block takes the stream's next page; NULL if there is no room. */
static fe_peb *next_slot(struct page_ftl *f, enum stream stream)
{
    struct frontier *front = &f->fronts[stream];
    uint32_t i = front->turn;
    fe_peb *slot = &front->slots[i];
    front->turn = i + 1 == front->n ? 0 : i + 1;
    if (*slot != FE_PEB_NONE)
        return slot;
    *slot = take_block(f, stream, i);
    if (*slot == FE_PEB_NONE)
        slot = open_slot(front);
    for (enum stream s = STREAM_MAIN; !slot && stream != STREAM_CACHE && s < STREAM_CACHE; s++)
        slot = open_slot(&f->fronts[s]);
    return slot;
}

void fe_page_close_block(struct page_ftl *f, fe_peb peb)
{
    if (fe_medium_is_slc(f->base.medium, peb)) {
        f->state[peb] = BLOCK_CACHED;
        fe_victims_add(&f->cached, peb);
        return;
    }
    f->state[peb] = BLOCK_FULL;
    fe_victims_add(&f->full, peb);
    if (f->p.clean.wear_levelling == FE_WEAR_STATIC)
        fe_heap_push(&f->rested, peb, fe_wear_key(f->base.medium, peb, f->rested_order++));
}

/* By the stream, not by the block: a page that borrowed a place says so. */
static uint8_t tag_of(enum stream stream, bool moved)
{
    switch (stream) {
    case STREAM_COLD:
        return moved ? FE_TAG_COLD_COPY : FE_TAG_COLD;
    case STREAM_REST:
        return FE_TAG_REST;
    case STREAM_CACHE:
        return FE_TAG_SLC;
    default:
        return moved ? FE_TAG_COPY : FE_TAG_DATA;
    }
}

enum fe_status fe_page_place(struct page_ftl *f, enum stream stream, fe_lpn lpn, fe_ppn base,
                             uint32_t off, uint32_t len, const void *data)
{
    fe_peb *slot = next_slot(f, stream);
    if (!slot)
        return FE_NO_SPACE;
    fe_peb peb = *slot;
    uint32_t page = fe_medium_next_page(f->base.medium, peb);
    fe_ppn ppn = peb * f->geo.pages_per_block + page;
    enum fe_status st = fe_medium_prog(f->base.medium, ppn, lpn, tag_of(stream, len == 0),
                                       base, off, len, data);
    if (st != FE_OK)
        return st;
    f->valid[peb]++;
    fe_bit_set(f->valid_bits, ppn);
    f->map[lpn] = ppn;
    if (page + 1 == (stream == STREAM_CACHE ? f->slc_pages : f->geo.pages_per_block))
        fe_page_close_block(f, peb);
    if (f->state[peb] != BLOCK_OPEN)
        *slot = FE_PEB_NONE;
    return FE_OK;
}
