/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each die has a heap, in every mode.  Without wear levelling the key is only the order of
 * arrival, which makes the heap a queue.
 *
 *   die 0   [ 3 erases ] [ 4 ] [ 4 ]
 *   die 1   [ 2 ]                        take(1) twice gives 2 of die 1, then 3 of die 0
 *   worn    [ 4 ] [ 4 ] [ 3 ] [ 2 ]      static levelling: all of them, the other way round
 */
#include "ftl/blocks/pool.h"

#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fe_block_pool_init(struct fe_block_pool *p, const struct fe_medium *m, uint32_t levelling,
                      struct fe_err *err)
{
    *p = (struct fe_block_pool){.medium = m, .levelling = levelling};
    const struct fe_geometry *g = &m->geo;
    bool worn = levelling == FE_WEAR_STATIC;
    p->items = fe_table_alloc((size_t)g->n_pebs * (worn ? 2 : 1), sizeof *p->items);
    p->fresh = calloc(g->n_dies, sizeof *p->fresh);
    p->n_new = calloc(g->n_dies, sizeof *p->n_new);
    p->next_new = calloc(g->n_dies, sizeof *p->next_new);
    if (worn) {
        p->fresh_place = calloc(g->n_pebs, sizeof *p->fresh_place);
        p->worn_place = calloc(g->n_pebs, sizeof *p->worn_place);
    }
    if (!p->items || !p->fresh || !p->n_new || !p->next_new ||
        (worn && (!p->fresh_place || !p->worn_place))) {
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
    free(p->n_new);
    free(p->next_new);
    free(p->fresh_place);
    free(p->worn_place);
    memset(p, 0, sizeof *p);
}

uint32_t fe_block_pool_fill(struct fe_block_pool *p, fe_peb first, fe_peb end)
{
    const struct fe_medium *m = p->medium;
    uint32_t most = 0;
    for (fe_peb peb = first; peb < end; peb++)
        if (!fe_medium_is_bad(m, peb))
            most = (uint32_t)fe_max_u64(most, fe_medium_erase_count(m, peb));
    for (fe_peb peb = first; peb < end && most > 0; peb++)
        if (!fe_medium_is_bad(m, peb))
            fe_block_pool_put(p, peb);
    if (most > 0)
        return most;
    for (uint32_t die = 0; die < m->geo.n_dies; die++)
        p->next_new[die] = end;
    for (fe_peb peb = first; peb < end; peb++) {
        uint32_t die = fe_die_of(&m->geo, peb);
        if (peb - first < m->geo.n_dies)
            p->next_new[die] = peb;
        p->n_new[die] += !fe_medium_is_bad(m, peb);
        p->n += !fe_medium_is_bad(m, peb);
    }
    p->order = p->n;
    p->new_end = end;
    return 0;
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

/* The first new block of a die that has one. */
static fe_peb take_new(struct fe_block_pool *p, uint32_t die)
{
    fe_peb peb = p->next_new[die];
    while (fe_medium_is_bad(p->medium, peb))
        peb += p->medium->geo.n_dies;
    p->next_new[die] = peb + p->medium->geo.n_dies;
    p->n_new[die]--;
    return peb;
}

/* The new block that came last; FE_PEB_NONE if there is none.  As long as a die has new blocks,
 * those of its blocks that have been taken have lower numbers. */
static fe_peb take_last_new(struct fe_block_pool *p)
{
    const struct fe_geometry *g = &p->medium->geo;
    while (p->new_end > 0) {
        fe_peb peb = --p->new_end;
        uint32_t die = fe_die_of(g, peb);
        if (p->n_new[die] == 0 || fe_medium_is_bad(p->medium, peb))
            continue;
        p->n_new[die]--;
        return peb;
    }
    return FE_PEB_NONE;
}

static uint32_t n_of(const struct fe_block_pool *p, uint32_t die)
{
    return p->n_new[die] + p->fresh[die].n;
}

fe_peb fe_block_pool_take(struct fe_block_pool *p, uint32_t die)
{
    if (p->n == 0)
        return FE_PEB_NONE;
    if (n_of(p, die) == 0) {
        for (uint32_t d = 0; d < p->medium->geo.n_dies; d++)
            if (n_of(p, d) > n_of(p, die))
                die = d;
    }
    p->n--;
    if (p->n_new[die] > 0)
        return take_new(p, die);
    fe_peb peb = fe_heap_pop(&p->fresh[die]);
    if (p->levelling == FE_WEAR_STATIC)
        fe_heap_remove(&p->worn, peb);
    return peb;
}

fe_peb fe_block_pool_take_worn(struct fe_block_pool *p)
{
    fe_peb peb = fe_heap_pop(&p->worn);
    if (peb != FE_PEB_NONE)
        fe_heap_remove(&p->fresh[fe_die_of(&p->medium->geo, peb)], peb);
    else
        peb = take_last_new(p);
    p->n -= peb != FE_PEB_NONE;
    return peb;
}

/* The new blocks of a die are as many as are counted, and erased. */
static int check_new(const struct fe_block_pool *p, uint32_t die, struct fe_err *err)
{
    const struct fe_medium *m = p->medium;
    uint32_t n = 0;
    for (fe_peb peb = p->next_new[die]; peb < p->new_end; peb += m->geo.n_dies) {
        if (fe_medium_is_bad(m, peb))
            continue;
        if (fe_medium_next_page(m, peb))
            return fe_err_set(err, EIO, "new block %u is not erased", peb);
        n++;
    }
    if (n != p->n_new[die])
        return fe_err_set(err, EIO, "%u new blocks on die %u, counted are %u", n, die,
                          p->n_new[die]);
    return 0;
}

int fe_block_pool_check(const struct fe_block_pool *p, struct fe_err *err)
{
    uint32_t n = 0, n_new = 0;
    for (uint32_t die = 0; die < p->medium->geo.n_dies; die++) {
        const struct fe_heap *h = &p->fresh[die];
        int r = check_new(p, die, err);
        if (r < 0)
            return r;
        n_new += p->n_new[die];
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
    if (n + n_new != p->n || !fe_heap_check(&p->worn) ||
        (p->levelling == FE_WEAR_STATIC && p->worn.n != n))
        return fe_err_set(err, EIO, "%u free blocks, counted are %u", n + n_new, p->n);
    return 0;
}
