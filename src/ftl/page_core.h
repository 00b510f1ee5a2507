/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page strategy's state, shared by its files only:
 *
 *   page.c         the map: read, write, trim
 *   page_place.c   streams: where the next page goes
 *   page_clean.c   emptying blocks: cleaning, folding, levelling, idle time
 *   page_limits.c  how much room all that needs, and which parameters contradict
 *   page_check.c   every invariant
 *   page_recover.c power-on
 *   block_pool.c    the free blocks;  victim.c  the full ones;  page_heat.h  hot and cold
 *
 * The life of a block:
 *
 *                   +--------------------- erased ---------------------+
 *                   v                                                  |
 *   FREE  -----> OPEN  -- last page of it programmed --> FULL ---------+
 *   (a pool)     (a slot of a stream)                   (a victim set)
 *
 * A block that a stream takes in SLC mode lives the same life with fewer pages, and has
 * a victim set of its own.
 */
#ifndef FE_FTL_PAGE_CORE_H
#define FE_FTL_PAGE_CORE_H

#include "ftl/page_heat.h"
#include "ftl/block_pool.h"
#include "ftl/region.h"
#include "ftl/registry.h"
#include "ftl/victim.h"

enum block_state { BLOCK_FREE, BLOCK_OPEN, BLOCK_FULL, BLOCK_CACHED, BLOCK_BAD };

/* Pages of one kind, which go to blocks of their own.  The SLC cache stands last, for
 * it cannot lend its blocks to the others. */
enum stream {
    STREAM_MAIN,  /* the host's pages, and all that have no other stream */
    STREAM_COLD,  /* with hot_cold: pages that cleaning moves, or that are written rarely */
    STREAM_REST,  /* with static levelling: the coldest, to the most worn blocks */
    STREAM_CACHE, /* with an SLC cache: the host's pages, in SLC mode */
    N_STREAMS
};

struct frontier {
    fe_peb *slots; /* an open block each, or FE_PEB_NONE; filled in turn */
    uint32_t n, turn;
};

struct page_ftl {
    struct fe_ftl base;
    struct fe_ftl_params p;
    struct fe_geometry geo;
    fe_ppn *map;          /* lpn -> ppn */
    uint64_t *valid_bits; /* bit per ppn */
    uint16_t *valid;      /* per block: how many of them */
    uint8_t *state;       /* per block: enum block_state */

    struct fe_block_pool pool;
    struct frontier fronts[N_STREAMS];
    struct fe_victims full;
    bool recovered;       /* since power-on: full blocks may have pages that are still erased */
    uint32_t reserve;     /* free blocks below which a write cleans first */
    struct fe_region region;

    uint32_t slc_pages;   /* of a block in SLC mode */
    uint32_t n_slc;       /* blocks in SLC mode, open or full */
    struct fe_block_pool cache_pool; /* static cache: its free blocks */
    struct fe_victims cached;       /* full blocks in SLC mode, fifo */

    struct fe_page_heat heat;       /* two-pool */

    struct fe_heap rested;          /* static levelling: full blocks, fewest erases first */
    struct fe_heap_item *rested_items;
    uint32_t *rested_place;
    uint64_t rested_order;
    uint32_t most_erases;           /* of any block but those of a static cache */
};

static inline struct page_ftl *page_of(struct fe_ftl *ftl)
{
    return (struct page_ftl *)ftl;
}

static inline bool page_is_valid(const struct page_ftl *f, fe_ppn ppn)
{
    return fe_bit(f->valid_bits, ppn);
}

/* The full blocks that this one belongs to; NULL if it is not full. */
static inline struct fe_victims *victims_of(struct page_ftl *f, fe_peb peb)
{
    return f->state[peb] == BLOCK_FULL     ? &f->full
           : f->state[peb] == BLOCK_CACHED ? &f->cached
                                           : NULL;
}

/* page.c: the strategy with all its tables, and no block in any set yet. */
int fe_page_new(struct page_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                uint32_t n_lpns, struct fe_err *err);

/* page_place.c */

/* A block takes no more pages: it joins the full ones of its mode. */
void fe_page_close_block(struct page_ftl *f, fe_peb peb);

/* How many slots each stream has with these parameters. */
void fe_page_slots(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                   uint32_t n[static N_STREAMS]);

/* The cache has no block for its next page, and could win one by folding. */
bool fe_page_cache_must_fold(const struct page_ftl *f);

/* Where a page goes that the host writes now. */
enum stream fe_page_stream_of_host(struct page_ftl *f, fe_lpn lpn);

/* Where a page goes that is moved because its block is emptied. */
enum stream fe_page_stream_of_moved(const struct page_ftl *f, fe_lpn lpn);

/* Programs a page at the stream's frontier and maps it there; base as in
 * fe_medium_prog, and valid until this returns.  The page's former copy keeps its valid
 * bit: the caller drops it. */
enum fe_status fe_page_place(struct page_ftl *f, enum stream stream, fe_lpn lpn, fe_ppn base,
                             uint32_t off, uint32_t len, const void *data);

/* The page is valid no more. */
static inline void page_invalidate(struct page_ftl *f, fe_ppn ppn)
{
    fe_peb peb = fe_peb_of(&f->geo, ppn);
    fe_bit_clear(f->valid_bits, ppn);
    f->valid[peb]--;
    struct fe_victims *set = victims_of(f, peb);
    if (set)
        fe_victims_invalidated(set, peb);
}

/* page_clean.c */

/* Moves the valid pages of a full block, each to its stream or all to STREAM_REST, and erases
 * it. */
enum fe_status fe_page_empty(struct page_ftl *f, fe_peb peb, bool to_rest);

/* What must happen before the host's next page: cleans until `reserve` blocks are free,
 * then folds if the cache has no place.  Any page may have moved afterwards. */
enum fe_status fe_page_make_room(struct page_ftl *f);
bool fe_page_idle(struct fe_ftl *ftl);

/* page_limits.c: free blocks below which a write cleans; blocks that hold no data of the
 * host's capacity; the most logical pages. */
uint32_t fe_page_reserve(const struct fe_ftl_params *p, const struct fe_geometry *geo);
uint64_t fe_page_kept(const struct fe_ftl_params *p, const struct fe_geometry *geo);
uint64_t fe_page_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                          struct fe_err *err);

/* page_recover.c */
int fe_page_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                    uint32_t n_lpns, struct fe_err *err);

/* page_check.c */
int fe_page_check(const struct fe_ftl *ftl, struct fe_err *err);

#endif
