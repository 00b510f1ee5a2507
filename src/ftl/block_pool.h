/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The free blocks of a strategy, and in which order they are used again.
 *
 *   wear levelling off       first in, first out
 *                  dynamic   the fewest erases first
 *                  static    the same, and the most worn for data that will rest
 *
 * Each die has its own, so that a stream can keep all dies busy; a die that has none
 * borrows from the one that has most.  O(log n) a block.
 */
#ifndef FE_FTL_BLOCK_POOL_H
#define FE_FTL_BLOCK_POOL_H

#include "ftl/ftl.h"
#include "ftl/heap.h"

struct fe_block_pool {
    const struct fe_medium *medium;
    uint32_t levelling;        /* enum fe_wear_levelling */
    uint32_t n;                /* free blocks */
    uint64_t order;            /* of the next block that comes in */
    struct fe_heap *fresh;     /* per die: what is used next comes first */
    struct fe_heap worn;       /* static only: all of them, the most worn first */
    struct fe_heap_item *items;
    uint32_t *fresh_place, *worn_place;
};

/* An empty pool.  The medium must outlive it.  -ENOMEM. */
int fe_block_pool_init(struct fe_block_pool *p, const struct fe_medium *m, uint32_t levelling,
                      struct fe_err *err);
void fe_block_pool_fini(struct fe_block_pool *p);

/* An erased block comes in. */
void fe_block_pool_put(struct fe_block_pool *p, fe_peb peb);

/* The next block of this die, or of the die that has most; FE_PEB_NONE if there is none. */
fe_peb fe_block_pool_take(struct fe_block_pool *p, uint32_t die);

/* The most worn block of all; static levelling only. */
fe_peb fe_block_pool_take_worn(struct fe_block_pool *p);

/* What a block counts in an order by erases: fewest first, then first come. */
static inline uint64_t fe_wear_key(const struct fe_medium *m, fe_peb peb, uint64_t order)
{
    return (uint64_t)fe_medium_erase_count(m, peb) << 32 | (uint32_t)order;
}

int fe_block_pool_check(const struct fe_block_pool *p, struct fe_err *err);

#endif
