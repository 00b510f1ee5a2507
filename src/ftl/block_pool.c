/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each die has a heap, in every mode.  Without wear levelling the key is only the order of
 * arrival, which makes the heap a queue.
 *
 *   die 0   [ 3 erases ] [ 4 ] [ 4 ]
 *   die 1   [ 2 ]                        take(1) twice gives 2 of die 1, then 3 of die 0
 *   worn    [ 4 ] [ 4 ] [ 3 ] [ 2 ]      static levelling: all of them, the other way round
 */
#include "ftl/block_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fe_block_pool_init(struct fe_block_pool *p, const struct fe_medium *m, uint32_t levelling,
                      struct fe_err *err)
{
    *p = (struct fe_block_pool){.medium = m, .levelling = levelling};
    const struct fe_geometry *g = &m->geo;
    bool worn = levelling == FE_WEAR_STATIC;
    p->items = calloc((size_t)g->n_pebs * (worn ? 2 : 1), sizeof *p->items);
    p->fresh = calloc(g->n_dies, sizeof *p->fresh);
    if (worn) {
        p->fresh_place = calloc(g->n_pebs, sizeof *p->fresh_place);
        p->worn_place = calloc(g->n_pebs, sizeof *p->worn_place);
    }
    if (!p->items || !p->fresh || (worn && (!p->fresh_place || !p->worn_place))) {
        fe_block_pool_fini(p);
        return fe_err_nomem(err, "table of free blocks", g->n_pebs * 16ull);
    }
    for (uint32_t die = 0; die < g->n_dies; die++)
        fe_heap_init(&p->fresh[die], p->items + (size_t)die * g->blocks_per_die, p->fresh_place);
    fe_heap_init(&p->worn, p->items + g->n_pebs, p->worn_place);
    return 0;
}

void fe_block_pool_fini(struct fe_block_pool *p)
{
    free(p->items);
    free(p->fresh);
    free(p->fresh_place);
    free(p->worn_place);
    memset(p, 0, sizeof *p);
}

void fe_block_pool_put(struct fe_block_pool *p, fe_peb peb)
{
    uint64_t order = p->order++;
    uint64_t key = p->levelling == FE_WEAR_OFF ? order : fe_wear_key(p->medium, peb, order);
    fe_heap_push(&p->fresh[fe_die_of(&p->medium->geo, peb)], peb, key);
    if (p->levelling == FE_WEAR_STATIC)
        fe_heap_push(&p->worn, peb, ~key);
    p->n++;
}

fe_peb fe_block_pool_take(struct fe_block_pool *p, uint32_t die)
{
    if (p->n == 0)
        return FE_PEB_NONE;
    if (p->fresh[die].n == 0) {
        for (uint32_t d = 0; d < p->medium->geo.n_dies; d++)
            if (p->fresh[d].n > p->fresh[die].n)
                die = d;
    }
    fe_peb peb = fe_heap_pop(&p->fresh[die]);
    if (p->levelling == FE_WEAR_STATIC)
        fe_heap_remove(&p->worn, peb);
    p->n--;
    return peb;
}

fe_peb fe_block_pool_take_worn(struct fe_block_pool *p)
{
    fe_peb peb = fe_heap_pop(&p->worn);
    if (peb == FE_PEB_NONE)
        return peb;
    fe_heap_remove(&p->fresh[fe_die_of(&p->medium->geo, peb)], peb);
    p->n--;
    return peb;
}

int fe_block_pool_check(const struct fe_block_pool *p, struct fe_err *err)
{
    uint32_t n = 0;
    for (uint32_t die = 0; die < p->medium->geo.n_dies; die++) {
        const struct fe_heap *h = &p->fresh[die];
        n += h->n;
        if (!fe_heap_check(h))
            return fe_err_set(err, EIO, "free blocks of die %u are out of order", die);
        for (uint32_t i = 0; i < h->n; i++) {
            fe_peb peb = h->item[i].peb;
            if (fe_die_of(&p->medium->geo, peb) != die || fe_medium_next_page(p->medium, peb))
                return fe_err_set(err, EIO, "free block %u is not erased, or not of die %u", peb,
                                  die);
        }
    }
    if (n != p->n || !fe_heap_check(&p->worn) ||
        (p->levelling == FE_WEAR_STATIC && p->worn.n != n))
        return fe_err_set(err, EIO, "%u free blocks, counted are %u", n, p->n);
    return 0;
}
