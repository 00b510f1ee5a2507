/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The free blocks of a strategy, and the order in which they are used again.
 *
 *   wear levelling off       first in, first out
 *                  dynamic   the block with the fewest erases first
 *                  static    the same; and the most worn block for static data
 *
 * Each die has free blocks of its own, so that a stream can keep all dies busy.  A die that
 * has none borrows from the die that has most.  O(log n) a block.  No lock.
 *
 * Blocks of a new chip are used in the order of their numbers.  That needs no table:
 *
 *     die 0    0   3   6 | 9  12  15 |      next_new[0] = 9, n_new[0] = 3
 *     die 1    1   4 | 7  10   x     |      next_new[1] = 7, n_new[1] = 2      x: bad
 *     die 2    2   5 | 8  11  14     |
 *                                    new_end = 16
 */
#pragma once

#include "ftl/blocks/heap.h"
#include "ftl/ftl.h"

struct fe_block_pool {
    const struct fe_medium *medium;
    uint32_t levelling;        /* enum fe_wear_levelling */
    uint32_t n;                /* free blocks */
    uint64_t order;            /* the number of the next arrival */
    struct fe_heap *fresh;     /* per die: the block that is used next comes first */
    struct fe_heap worn;       /* static only: all free blocks, the most worn first */
    struct fe_heap_item *items;
    /* The blocks that have been free since fe_block_pool_fill are in no heap.  They come before
     * those that are, because they have been there longest and have no erase. */
    uint32_t *n_new;           /* per die */
    fe_peb *next_new, new_end; /* per die: good ones from next_new on, below new_end */
    uint32_t *fresh_place, *worn_place;
};

/* An empty pool.  The medium must outlive it.  -ENOMEM. */
int fe_block_pool_init(struct fe_block_pool *p, const struct fe_medium *m, uint32_t levelling,
                      struct fe_err *err);
void fe_block_pool_fini(struct fe_block_pool *p);

/* All good blocks of [first, end) join the pool, which is empty, in this order.  They are erased.
 * Returns the most erases that any of them has.  O(blocks), but only looks at memory if none has
 * any. */
uint32_t fe_block_pool_fill(struct fe_block_pool *p, fe_peb first, fe_peb end);

/* An erased block joins the pool. */
void fe_block_pool_put(struct fe_block_pool *p, fe_peb peb);

/* Takes the next block of this die, or of the die that has most if this one has none.
 * FE_PEB_NONE if the pool is empty. */
fe_peb fe_block_pool_take(struct fe_block_pool *p, uint32_t die);

/* Takes the most worn block of all; with static levelling only. */
fe_peb fe_block_pool_take_worn(struct fe_block_pool *p);

/* The key of a block in an order by erases: the fewest erases first; of equal blocks, the one
 * that came first. */
static inline uint64_t fe_wear_key(const struct fe_medium *m, fe_peb peb, uint64_t order)
{
    return (uint64_t)fe_medium_erase_count(m, peb) << 32 | (uint32_t)order;
}

/* Heaps and counts are right, and the blocks are erased; 0 or -EIO. */
int fe_block_pool_check(const struct fe_block_pool *p, struct fe_err *err);
