/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The erase blocks of a strategy that maps every page by itself: page, dftl and norlog.
 *
 * This module keeps the state of each block and the valid bit of each page.  It takes blocks
 * from free to open to full and, by emptying them, back to free.
 *
 *           +------------------------ emptied and erased ------------------------+
 *           v                                                                    |
 *         FREE ------------> OPEN ------ its last page is programmed ------> FULL + set
 *     in a block pool    in a frontier                                    in a victim set
 *
 * Full blocks of one kind form a victim set, from which cleaning chooses.  The blocks of
 * set 0 are the plain ones.  Set 1 is for the strategy's special blocks: those in SLC mode
 * (page), or those that hold the table (dftl).
 *
 * The strategy decides where a page goes, which block is emptied, and when.  The module asks
 * the strategy two things only: to move one page, and to which frontier a block belongs.
 *
 * Usually all blocks of the chip are the strategy's in one struct fe_blocks.  A strategy may also
 * divide the chip, with one struct for each part (page does so for an enhanced area).  Each part
 * has pools, sets, frontiers and a reserve of its own, and no page goes from one to the other.
 *
 * blocks.c has the life of a block, recover.c power-on, check.c the invariants.
 *
 * Memory: one bit a page, and about 30 bytes a block.  No lock: the owner serialises.
 */
#pragma once

#include "ftl/blocks/config.h"
#include "ftl/blocks/frontier.h"
#include "ftl/blocks/pool.h"
#include "ftl/blocks/victim.h"
#include "ftl/ftl.h"

enum fe_block_state {
    FE_BLOCK_FREE, /* in a pool */
    FE_BLOCK_OPEN, /* in a frontier, or being emptied */
    FE_BLOCK_BAD,
    FE_BLOCK_FULL, /* + the number of its victim set */
};

struct fe_blocks {
    struct fe_ftl *ftl; /* the owner */
    const struct fe_block_ops *ops;
    struct fe_geometry geo;
    fe_peb first, end;         /* the part: blocks [first, end), and those of them that are good */
    bool slc;                  /* as in the config */
    uint32_t reserve, threshold;
    uint32_t n_good;           /* blocks of the part that are not bad */
    const struct fe_mapping *map; /* as in the config; not owned */
    uint64_t *valid_bits;      /* bit per ppn */
    uint16_t *valid;           /* per block: valid pages */
    uint8_t *state;            /* per block: enum fe_block_state */
    bool closes_early;         /* full blocks may have pages that are still erased */

    struct fe_block_pool pool, aside;
    fe_peb aside_end;          /* blocks [first, aside_end) belong to `aside`, others to `pool` */
    struct fe_victims full[FE_BLOCK_SETS];
    struct fe_frontier fronts[FE_BLOCK_FRONTIERS];

    bool levels;               /* static levelling: `least_worn` is in use */
    struct fe_heap least_worn; /* the blocks of set 0, the fewest erases first */
    uint64_t least_worn_order;
    uint32_t most_erases;      /* of any block that has been in `pool` */
};

/* All good blocks are free, but in no pool yet: fe_blocks_fill or fe_blocks_sort puts them
 * there.  ftl->medium must be set.  -ENOMEM.  fe_blocks_fini is due after an error, too. */
int fe_blocks_init(struct fe_blocks *b, struct fe_ftl *ftl, const struct fe_block_ops *ops,
                   const struct fe_blocks_config *config, struct fe_err *err);
void fe_blocks_fini(struct fe_blocks *b);

/* On an erased medium: puts all good blocks in their pools.  -EINVAL if there are fewer than
 * `need`. */
int fe_blocks_fill(struct fe_blocks *b, uint64_t need, struct fe_err *err);

/* An erased block becomes free.  O(log blocks). */
void fe_blocks_put_free(struct fe_blocks *b, fe_peb peb);

/* A block that was taken from a pool becomes the open one of the frontier's place `at`, in SLC mode
 * if all blocks are. */
void fe_blocks_open(struct fe_blocks *b, struct fe_frontier *front, fe_peb peb);

/* A block in no frontier takes no more pages: it becomes full and joins a set. */
void fe_blocks_add_full(struct fe_blocks *b, fe_peb peb, uint32_t set);

/* The same for the open block of the frontier's place `at`, which leaves the frontier. */
void fe_blocks_close(struct fe_blocks *b, struct fe_frontier *front);

/* Moves the valid pages of a full block by ops->move, in order, and counts them as copied.
 * The block is in no set any more. */
enum fe_status fe_blocks_move(struct fe_blocks *b, fe_peb peb, bool is_static);

/* Erases a block whose valid pages fe_blocks_move has moved: it is free then. */
enum fe_status fe_blocks_erase(struct fe_blocks *b, fe_peb peb);

/* Both. */
enum fe_status fe_blocks_empty(struct fe_blocks *b, fe_peb peb, bool is_static);

/* Static levelling: the full block of set 0 that has the fewest erases, if those and
 * `threshold` are less than `most`; else FE_PEB_NONE. */
fe_peb fe_blocks_lagging(const struct fe_blocks *b, uint32_t most);

/* Pages [first, first + n) of a map are mapped no more. */
void fe_blocks_trim(struct fe_blocks *b, struct fe_mapping *map, fe_lpn first, uint32_t n);

/* A mapping names FE_PPN_NONE, or a valid page whose OOB says `lpn`; the latter is counted in
 * *n_mapped.  0 or -EIO, with a message that calls the mapping "`what` page i". */
int fe_blocks_check_entry(const struct fe_blocks *b, const char *what, uint32_t i, fe_ppn ppn,
                          fe_lpn lpn, uint64_t *n_mapped, struct fe_err *err);

/* Every invariant of states, valid pages, pools, sets and frontiers, if n_mapped pages are
 * mapped.  0 or -EIO.  O(pages). */
int fe_blocks_check(const struct fe_blocks *b, uint64_t n_mapped, struct fe_err *err);

/* The page that the frontier's place `at` takes next. */
static inline fe_ppn fe_blocks_next(const struct fe_blocks *b, const struct fe_frontier *front)
{
    fe_peb peb = front->open[front->at];
    return peb * b->geo.pages_per_block + fe_medium_next_page(b->ftl->medium, peb);
}

/* That page has been programmed: it becomes valid, and the block is closed if this was its last
 * page. */
static inline void fe_blocks_appended(struct fe_blocks *b, struct fe_frontier *front, fe_ppn ppn)
{
    fe_peb peb = front->open[front->at];
    uint32_t page = ppn - peb * b->geo.pages_per_block;
    b->valid[peb]++;
    fe_bit_set(b->valid_bits, ppn);
    if (fe_part_of(&b->geo, page + 1) != 0)
        front->turn = front->at;
    else if (page + 1 == front->pages)
        fe_blocks_close(b, front);
}

/* Programs the next page of the open block at the frontier's place `at`.  The page becomes
 * valid, and the block is closed if this was its last page.  base to data: as for
 * fe_medium_prog.  *ret: the page.  A former copy keeps its valid bit. */
static inline enum fe_status fe_blocks_append(struct fe_blocks *b, struct fe_frontier *front,
                                              fe_lpn lpn, enum fe_tag tag, fe_ppn base,
                                              uint32_t off, uint32_t len, const void *data,
                                              fe_ppn *ret)
{
    *ret = fe_blocks_next(b, front);
    enum fe_status st =
        fe_medium_prog(b->ftl->medium, *ret, lpn, (uint8_t)tag, base, off, len, data);
    if (st == FE_OK)
        fe_blocks_appended(b, front, *ret);
    return st;
}

/* A valid page becomes invalid; its bytes stay until its block is erased.  O(1). */
static inline void fe_blocks_invalidate(struct fe_blocks *b, fe_ppn ppn)
{
    fe_peb peb = fe_peb_of(&b->geo, ppn);
    fe_bit_clear(b->valid_bits, ppn);
    b->valid[peb]--;
    if (b->state[peb] >= FE_BLOCK_FULL)
        fe_victims_invalidated(&b->full[b->state[peb] - FE_BLOCK_FULL], peb);
}

/* A valid page becomes invalid, and nobody asks for its bytes again: the host has trimmed it, or all
 * that it maps; or the page that was programmed last is a newer copy of it.  O(1). */
static inline void fe_blocks_trimmed(struct fe_blocks *b, fe_ppn ppn)
{
    fe_blocks_invalidate(b, ppn);
    fe_medium_let_go(b->ftl->medium, ppn);
}

static inline void fe_blocks_replaced(struct fe_blocks *b, fe_ppn ppn)
{
    fe_blocks_invalidate(b, ppn);
    fe_medium_replaced(b->ftl->medium, ppn);
}

/* Fetches early what fe_blocks_invalidate will need, in steps 1 and 2 of fe_device_fetch, or what
 * reading the page will need (FE_FETCH_PAGE); changes nothing. */
static inline void fe_blocks_fetch(const struct fe_blocks *b, fe_ppn ppn, uint32_t step)
{
    fe_peb peb = fe_peb_of(&b->geo, ppn);
    if (step == FE_FETCH_PAGE) {
        fe_medium_fetch_read(b->ftl->medium, ppn);
        return;
    }
    if (step > 1) {
        fe_victims_fetch(&b->full[0], peb);
        return;
    }
    fe_fetch(&b->valid_bits[ppn / 64]);
    fe_fetch(&b->valid[peb]);
    fe_fetch(&b->state[peb]);
    fe_store_fetch(b->ftl->medium->store, ppn, 1);
    if (b->full[0].links)
        fe_fetch(&b->full[0].links[peb]);
}
