/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life that a device has had before, for millions of pages at once.
 *
 * Writing a new device in order fills one block after the other on each die, in turn.  It cleans
 * nothing, because free blocks run short only when pages have been overwritten (page_limits.c).
 * So the tables of a stripe of blocks are known without writing its pages one by one, as long as no
 * dynamic SLC cache has taken the blocks:
 *
 *   place        0    1    2    3
 *   block        8    9   10   11         a stripe of four blocks of three pages
 *   page 0       0    1    2    3
 *   page 1       4    5    6    7         the logical page that each page holds
 *   page 2       8    9   10   11
 *
 * Where pages have parts, a block takes all parts of a page before it is the next one's turn.  With
 * an SLC cache, stripes begin where the run has become so long that it goes past the cache.
 *
 * What is left over, and every page where a write has more to do, goes the usual way: with a cache
 * that takes all writes or an enhanced area, with an account of how often pages are written, and on a
 * chip that can fail or is kept in an image.
 */
#include "ftl/pages/page_core.h"

static bool can_fill(const struct page_ftl *f)
{
    return fe_medium_is_plain(f->base.medium) && f->area_pages == 0 &&
           f->p.page.hot_cold != FE_HOT_COLD_TWO_POOL;
}

/* Whether page `first`, and all that follow it in order, go to stripes of which it begins one. */
static bool begins_stripe(const struct page_ftl *f, fe_lpn first)
{
    const struct fe_page_params *p = &f->p.page;
    const struct fe_frontier *front = &f->blocks.fronts[STREAM_MAIN];
    if (p->slc_mode == FE_SLC_OFF)
        return first == 0;
    return first > 0 && p->slc_run &&
           (uint64_t)first * f->base.medium->geo.page_bytes >= p->slc_run &&
           f->gather_pages == 0 && front->n_open == 0 && front->turn == 0;
}

/* A free block for each place, in turn. */
static void open_all(struct fe_blocks *b, struct fe_frontier *front)
{
    for (uint32_t i = 0; i < front->n; i++) {
        (void)fe_frontier_turn(front);
        assert(front->at == i);
        fe_blocks_open(b, front, fe_block_pool_take(&b->pool, i));
    }
}

static void fill_stripe(struct page_ftl *f, struct fe_frontier *front, fe_lpn first)
{
    struct fe_blocks *b = &f->blocks;
    uint32_t pages = front->pages, n = front->n;
    uint32_t parts = UINT32_C(1) << f->base.medium->geo.parts_log2;
    open_all(b, front);
    fe_medium_prog_stripe(f->base.medium, front->open, n, first, FE_TAG_DATA);
    struct fe_mapping *map = &f->base.map[first];
    for (uint32_t page = 0; page < pages; page += parts)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t part = 0; part < parts; part++)
                *map++ = fe_mapping(front->open[i] * pages + page + part);
    for (uint32_t i = 0; i < n; i++) {
        fe_peb peb = front->open[i];
        fe_bits_set(b->valid_bits, (uint64_t)peb * pages, pages);
        b->valid[peb] = (uint16_t)pages;
        (void)fe_frontier_turn(front);
        fe_blocks_close(b, front);
    }
}

fe_lpn fe_page_fill(struct fe_ftl *ftl, fe_lpn first, fe_lpn end)
{
    struct page_ftl *f = page_of(ftl);
    struct fe_blocks *b = &f->blocks;
    struct fe_frontier *front = &b->fronts[STREAM_MAIN];
    uint64_t stripe = (uint64_t)front->n * front->pages;
    fe_lpn lpn = first;
    if (!begins_stripe(f, first) || !can_fill(f))
        return 0;
    while (end - lpn >= stripe && b->pool.n >= (uint64_t)b->reserve + front->n) {
        fill_stripe(f, front, lpn);
        lpn += (fe_lpn)stripe;
    }
    fe_costs_fill(&f->costs, first, lpn - first);
    if (lpn > first) {
        f->run_last = lpn - 1;
        f->run_pages = lpn - 1;
    }
    return lpn - first;
}
