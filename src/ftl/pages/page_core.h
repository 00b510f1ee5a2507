/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of the page strategy, shared by its files only:
 *
 *   page.c         the map: read, write, trim; power-on; the check
 *   page_fill.c    the pages that a new device has been written with before
 *   page_route.c   where the host's page goes: to the SLC cache or past it, alone or with others
 *   page_clean.c   when and why blocks are emptied: cleaning, folding, levelling, idle time
 *   page_place.c   streams: the place of the next page of each
 *   page_heat.h    which pages are hot
 *   page_limits.c  how much room all that needs, the enhanced area, and which parameters contradict
 *                  each other
 *   blocks.h       the states of blocks and pages, which dftl and norlog share
 *
 * Each file calls those below it only.
 *
 * Plain full blocks form victim set 0.  A block that the SLC cache takes holds fewer pages,
 * and joins set 1 when it is full.  A static cache has its blocks aside, in a pool of their
 * own.  An enhanced area has a struct fe_blocks of its own, with all streams but the cache.
 */
#pragma once

#include "ftl/blocks/blocks.h"
#include "ftl/cost.h"
#include "ftl/pages/page_heat.h"
#include "ftl/registry.h"

/* Pages of one kind, which go to blocks of their own; the number of their frontier.  The SLC
 * cache comes last because it cannot lend its blocks to the others. */
enum stream {
    STREAM_MAIN,  /* the host's pages, and all that have no other stream */
    STREAM_COLD,  /* with hot_cold: pages that cleaning moves, or that are written rarely */
    STREAM_STATIC,  /* with static levelling: the coldest pages, to the most worn blocks */
    STREAM_CACHE, /* with an SLC cache: the host's pages, in SLC mode */
    N_STREAMS
};

enum page_set { SET_PLAIN, SET_CACHED };

struct page_ftl {
    struct fe_ftl base;
    struct fe_ftl_params p;
    struct fe_blocks blocks; /* frontiers: by stream; sets: enum page_set */
    struct fe_blocks area;   /* the same for the enhanced area; zeros if there is none */
    fe_lpn area_first;       /* the area is [area_first, area_first + area_pages) */
    uint32_t area_pages;
    struct fe_costs costs;
    fe_lpn run_last;         /* the host's previous page, or FE_LPN_NONE */
    uint32_t run_pages;      /* pages in order before the present one */
    uint64_t command_at;     /* where the host's present write command begins */
    uint64_t command_bytes;  /* of it */
    bool page_ends;          /* the present write brings the last bytes of its page */
    uint32_t gather_pages;   /* pages that go past the cache together; 0: each by itself */
    struct fe_page_heat heat; /* two-pool */
};

static inline struct page_ftl *page_of(struct fe_ftl *ftl)
{
    return (struct page_ftl *)ftl;
}

static inline bool fe_page_in_area(const struct page_ftl *f, fe_lpn lpn)
{
    return lpn - f->area_first < f->area_pages;
}

/* The blocks that take this page. */
static inline struct fe_blocks *fe_page_blocks_for(struct page_ftl *f, fe_lpn lpn)
{
    return fe_page_in_area(f, lpn) ? &f->area : &f->blocks;
}

/* page_place.c */

/* How many places the frontier of each stream has with these parameters. */
void fe_page_places(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                    uint32_t n[static N_STREAMS]);

/* The stream that a block belongs to, by the first page that can be read. */
uint32_t fe_page_stream_of_block(const struct fe_ftl *ftl, fe_peb peb);

/* The cache has room for a page. */
bool fe_page_cache_takes(const struct page_ftl *f);

/* The cache has no block for its next page, and could win one by folding. */
bool fe_page_cache_must_fold(const struct page_ftl *f);

/* Programs a page at the frontier of a stream and maps it there; base as in fe_medium_prog,
 * and valid until this returns.  The former copy of the page keeps its valid bit: the caller
 * invalidates it. */
enum fe_status fe_page_place(struct page_ftl *f, enum stream stream, fe_lpn lpn, fe_ppn base,
                             uint32_t off, uint32_t len, const void *data);

/* The same for a whole page that is in the flash at `from`, and that the controller still has in its
 * memory: it is not read.  What could not be read when that page was written is lost here, too. */
enum fe_status fe_page_place_kept(struct page_ftl *f, enum stream stream, fe_lpn lpn,
                                  fe_ppn from);

/* The `move` of struct fe_block_ops: each page to its stream, or all to STREAM_STATIC. */
enum fe_status fe_page_move(struct fe_ftl *ftl, bool is_static, fe_lpn lpn, fe_ppn from);

/* page_clean.c */

/* What must happen before the host's next page goes to the area or to the other blocks: cleans
 * these until `reserve` blocks are free, then folds if the page wants to go to the cache and that
 * has no place.  Any page may have moved afterwards. */
enum fe_status fe_page_make_room(struct page_ftl *f, struct fe_blocks *b, bool to_cache);
bool fe_page_idle(struct fe_ftl *ftl);

/* page_route.c */

/* The host writes this page next: notes whether it continues a run. */
void fe_page_follow_run(struct page_ftl *f, fe_lpn lpn);

/* There is an SLC cache, and the host's next page goes there if it has room and the page is outside
 * the enhanced area, which the caller knows. */
bool fe_page_wants_cache(const struct page_ftl *f);

/* Where a page goes that the host writes now. */
enum stream fe_page_stream_of_host(struct page_ftl *f, fe_lpn lpn);

/* Before the host's page is written to a stream: if it completes what goes past the cache together,
 * the others follow first.  Any page may have moved afterwards. */
enum fe_status fe_page_take_along(struct page_ftl *f, enum stream stream, fe_lpn lpn);

/* page_fill.c: as in struct fe_ftl_ops */
fe_lpn fe_page_fill(struct fe_ftl *ftl, fe_lpn first, fe_lpn end);

/* page_limits.c */

/* Free blocks below which a write cleans first.  This and the next number leave the area out. */
uint32_t fe_page_reserve(const struct fe_ftl_params *p, const struct fe_geometry *geo);

/* Blocks that hold no data when the host has written all logical pages. */
uint64_t fe_page_kept(const struct fe_ftl_params *p, const struct fe_geometry *geo);

/* As in struct fe_ftl_ops. */
uint64_t fe_page_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                          struct fe_err *err);

/* The parameters by which the blocks of the enhanced area work: without a cache. */
struct fe_ftl_params fe_page_area_params(const struct fe_ftl_params *p);

/* Good blocks that the area takes; 0 if there is none. */
uint64_t fe_page_area_blocks(const struct fe_ftl_params *p, const struct fe_geometry *geo);

/* Whether an area with good keys fits into so many logical pages.  0 or -EINVAL. */
int fe_page_area_fits_range(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                            uint64_t n_lpns, struct fe_err *err);
