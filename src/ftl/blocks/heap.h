/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A heap of blocks: the block with the smallest key comes first.  Push, pop and removal from
 * the middle take O(log n).
 *
 * The key is stored when its block is pushed, and does not change.  A user who wants the
 * largest key first pushes the complement.
 */
#pragma once

#include "flashemu/types.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_heap_item {
    uint64_t key;
    fe_peb peb;
};

struct fe_heap {
    struct fe_heap_item *item;
    uint32_t *place; /* per block: its index in `item`; NULL if no block is ever removed */
    uint32_t n;
};

/* `item` has room for as many blocks as will be in the heap at the same time.  `place` has an
 * entry for each block of the medium.  Heaps that have no block in common may share it. */
static inline void fe_heap_init(struct fe_heap *h, struct fe_heap_item *item, uint32_t *place)
{
    *h = (struct fe_heap){.item = item, .place = place};
}

void fe_heap_push(struct fe_heap *h, fe_peb peb, uint64_t key);

/* Takes out the block with the smallest key; FE_PEB_NONE if the heap is empty. */
fe_peb fe_heap_pop(struct fe_heap *h);

/* Takes out a block, which must be in the heap; `place` must not be NULL. */
void fe_heap_remove(struct fe_heap *h, fe_peb peb);

/* Order and places are right. */
bool fe_heap_check(const struct fe_heap *h);
