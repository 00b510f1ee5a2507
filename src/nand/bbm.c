/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots and blocks, after block 2 has failed and block 9 has taken its place:
 *
 *   slot     0  1  2  3  4  5  6  7 | 8  9        n_pebs = 8, n_chip_blocks = 10
 *   block    0  1  9  3  4  5  6  7 | 8  2
 *                  ^                  s  bad      s: spare
 *
 * The controller learns of a failed program when the program has ended, so a barrier
 * stands before the copies, and one behind them, before the program is tried again.
 *
 * A power cut in the middle of the copies is not modelled: until the last of them the
 * old block has all its data, and nobody above can tell which of the two is in use.
 */
#include "nand/bbm.h"

#include "base/rng.h"
#include "nand/medium_image.h"
#include "nand/wear.h"

#include <stdlib.h>

static void swap_blocks(struct fe_medium *m, fe_peb a, fe_peb b)
{
    struct fe_peb_info *x = &m->pebs[a], *y = &m->pebs[b], old = *x;
    fe_peb block = m->phys[a];
    /* What belongs to the block moves; how far the slot is programmed, and how, stays. */
    x->erase_count = y->erase_count;
    x->factory_bad = y->factory_bad;
    x->grown_bad = y->grown_bad;
    y->erase_count = old.erase_count;
    y->factory_bad = old.factory_bad;
    y->grown_bad = old.grown_bad;
    m->phys[a] = m->phys[b];
    m->phys[b] = block;
    uint32_t ahead = y->erase_count - x->erase_count; /* of the slots, which go on counting */
    m->wear->difference[a] += ahead;
    m->wear->difference[b] -= ahead;
}

/* To the image, in the order that fe_bbm_restore wants. */
static void save_swap(struct fe_medium *m, fe_peb slot, fe_peb spare)
{
    fe_medium_save_block(m, spare);
    fe_medium_save_block(m, slot);
}

/* A good block in the reserve, of this die if there is one. */
static fe_peb find_spare(const struct fe_medium *m, uint32_t die)
{
    fe_peb any = FE_PEB_NONE;
    for (fe_peb s = m->geo.n_pebs; s < m->geo.n_chip_blocks; s++) {
        if (fe_medium_is_bad(m, s))
            continue;
        if (fe_medium_die(m, s) == die)
            return s;
        if (any == FE_PEB_NONE)
            any = s;
    }
    return any;
}

/* n different blocks behind block 0, each choice among those not yet chosen. */
static void choose_bad(struct fe_medium *m, uint32_t n, uint64_t seed)
{
    uint32_t left = m->geo.n_chip_blocks - 1;
    for (uint32_t i = 0; i < n; i++, left--) {
        uint64_t k = fe_rng_below(fe_rng(seed, FE_RNG_FACTORY_BAD, i, 0), left);
        fe_peb peb = 1;
        while (m->pebs[peb].factory_bad || k-- > 0)
            peb++;
        m->pebs[peb].factory_bad = 1;
    }
}

int fe_bbm_init(struct fe_medium *m, uint32_t n_bad, uint64_t seed, struct fe_err *err)
{
    const struct fe_geometry *g = &m->geo;
    assert(n_bad <= g->n_chip_blocks - g->n_pebs);
    if (g->n_chip_blocks == g->n_pebs)
        return 0;
    m->phys = calloc(g->n_chip_blocks, sizeof *m->phys);
    if (!m->phys)
        return fe_err_nomem(err, "table of bad blocks", g->n_chip_blocks * sizeof *m->phys);
    for (fe_peb i = 0; i < g->n_chip_blocks; i++)
        m->phys[i] = i;
    choose_bad(m, n_bad, seed);
    for (fe_peb slot = 0; slot < g->n_pebs; slot++)
        if (m->pebs[slot].factory_bad)
            swap_blocks(m, slot, find_spare(m, fe_medium_die(m, slot)));
    return 0;
}

/* O(n^2) only in the blocks that stand twice, of which a kill leaves one. */
void fe_bbm_restore(struct fe_medium *m)
{
    uint32_t n = m->geo.n_chip_blocks;
    for (fe_peb slot = 0; slot < n; slot++) {
        if (slot < m->geo.n_pebs && m->phys[slot] == slot)
            continue;
        fe_peb first = fe_bbm_slot(m, m->phys[slot]), free_block = 0;
        if (first == slot)
            continue;
        while (fe_bbm_slot(m, free_block) < n)
            free_block++;
        m->phys[slot] = free_block;
    }
}

/* Pages [0, n) of the slot into the spare; false if one of the programs fails. */
static bool copy_pages(struct fe_medium *m, fe_peb slot, fe_peb spare, uint32_t n)
{
    fe_ppn first = slot * m->geo.pages_per_block;
    for (uint32_t page = 0; page < n; page++) {
        fe_medium_add_copy(m, slot, spare, page);
        if (fe_wear_copy_fails(m, spare, page))
            return false;
    }
    for (uint32_t page = 0; page < n; page++)
        fe_wear_moved(m, first + page);
    return true;
}

fe_peb fe_bbm_replace(struct fe_medium *m, fe_peb slot, uint32_t n)
{
    fe_peb spare;
    fe_ops_barrier(m->ops);
    while ((spare = find_spare(m, fe_medium_die(m, slot))) != FE_PEB_NONE) {
        if (copy_pages(m, slot, spare, n))
            break;
        m->pebs[spare].grown_bad = 1;
        fe_medium_save_block(m, spare);
        fe_ops_barrier(m->ops);
    }
    if (spare == FE_PEB_NONE)
        return FE_PEB_NONE;
    swap_blocks(m, slot, spare);
    fe_wear_renewed(m, slot);
    save_swap(m, slot, spare);
    fe_ops_barrier(m->ops);
    return spare;
}

fe_peb fe_bbm_slot(const struct fe_medium *m, fe_peb peb)
{
    fe_peb slot = 0;
    while (m->phys && slot < m->geo.n_chip_blocks && m->phys[slot] != peb)
        slot++;
    return m->phys ? slot : peb;
}
