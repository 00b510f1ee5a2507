/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A binary heap in an array: item i has the children 2i + 1 and 2i + 2.
 *
 *            0
 *        1       2          no child has a smaller key than its parent
 *      3   4   5   6
 */
#include "ftl/blocks/heap.h"

#include <assert.h>

static void put(struct fe_heap *h, uint32_t i, struct fe_heap_item item)
{
    h->item[i] = item;
    if (h->place)
        h->place[item.peb] = i;
}

static void sift_up(struct fe_heap *h, uint32_t i, struct fe_heap_item item)
{
    while (i > 0 && h->item[(i - 1) / 2].key > item.key) {
        put(h, i, h->item[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(h, i, item);
}

static void sift_down(struct fe_heap *h, uint32_t i, struct fe_heap_item item)
{
    for (uint32_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->item[child + 1].key < h->item[child].key)
            child++;
        if (h->item[child].key >= item.key)
            break;
        put(h, i, h->item[child]);
    }
    put(h, i, item);
}

void fe_heap_push(struct fe_heap *h, fe_peb peb, uint64_t key)
{
    h->n++;
    sift_up(h, h->n - 1, (struct fe_heap_item){key, peb});
}

/* Removes item i: the last item fills the hole, and moves up or down from there. */
static void take_out(struct fe_heap *h, uint32_t i)
{
    struct fe_heap_item last = h->item[--h->n];
    if (i == h->n)
        return;
    if (i > 0 && h->item[(i - 1) / 2].key > last.key)
        sift_up(h, i, last);
    else
        sift_down(h, i, last);
}

fe_peb fe_heap_pop(struct fe_heap *h)
{
    if (h->n == 0)
        return FE_PEB_NONE;
    fe_peb peb = h->item[0].peb;
    take_out(h, 0);
    return peb;
}

void fe_heap_remove(struct fe_heap *h, fe_peb peb)
{
    uint32_t i = h->place[peb];
    assert(i < h->n && h->item[i].peb == peb);
    take_out(h, i);
}

bool fe_heap_check(const struct fe_heap *h)
{
    for (uint32_t i = 0; i < h->n; i++)
        if ((i > 0 && h->item[(i - 1) / 2].key > h->item[i].key) ||
            (h->place && h->place[h->item[i].peb] != i))
            return false;
    return true;
}
