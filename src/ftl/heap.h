/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A heap of blocks, the one with the smallest key first: push, pop and removal from the
 * middle in O(log n).
 *
 * A key is stored when its block is pushed and does not change: whoever wants the largest
 * first pushes the complement.
 */
#ifndef FE_FTL_HEAP_H
#define FE_FTL_HEAP_H

#include "flashemu/types.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_heap_item {
    uint64_t key;
    fe_peb peb;
};

struct fe_heap {
    struct fe_heap_item *item;
    uint32_t *place; /* per block: where it stands in item; NULL if nothing is removed */
    uint32_t n;
};

/* item has room for every block that will be in the heap at once; place has an entry for
 * each block of the medium, and heaps without a block in common may share it. */
static inline void fe_heap_init(struct fe_heap *h, struct fe_heap_item *item, uint32_t *place)
{
    *h = (struct fe_heap){.item = item, .place = place};
}

void fe_heap_push(struct fe_heap *h, fe_peb peb, uint64_t key);

/* The block with the smallest key; FE_PEB_NONE if the heap is empty. */
fe_peb fe_heap_pop(struct fe_heap *h);

/* The block must be in the heap, and the heap have places. */
void fe_heap_remove(struct fe_heap *h, fe_peb peb);

/* Order and places are right. */
bool fe_heap_check(const struct fe_heap *h);

#endif
