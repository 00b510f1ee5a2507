/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pebs and chip blocks, after chip block 2 has failed and chip block 9 has taken its place:
 *
 *   peb          0  1  2  3  4  5  6  7 | 8  9        n_pebs = 8, n_chip_blocks = 10
 *   chip block   0  1  9  3  4  5  6  7 | 8  2
 *                      ^                  s  bad      s: spare
 *
 * The controller learns of a failed program when the program has ended.  So a barrier stands
 * before the copies, and another one behind them, before the program is tried again.
 *
 * A power cut in the middle of the copies is not modelled: until the last of them the old
 * chip block has all its data, and nobody above can tell which of the two is in use.
 */
#include "nand/bbm.h"

#include "base/rng.h"
#include "nand/chip_lifetime.h"
#include "nand/failures.h"
#include "nand/issue.h"

/* A good block in the reserve, of this die if there is one; FE_PEB_NONE. */
static fe_peb find_spare(const struct fe_medium *m, uint32_t die)
{
    fe_peb any = FE_PEB_NONE;
    for (fe_peb peb = m->geo.n_pebs; peb < m->geo.n_chip_blocks; peb++) {
        if (fe_medium_is_bad(m, peb))
            continue;
        if (fe_medium_die(m, peb) == die)
            return peb;
        if (any == FE_PEB_NONE)
            any = peb;
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
        while (fe_medium_is_bad(m, peb) || k-- > 0)
            peb++;
        fe_chip_mark(&m->chip, peb, FE_MARK_FACTORY_BAD, true);
    }
}

void fe_bbm_init(struct fe_medium *m, uint32_t n_bad, uint64_t seed)
{
    const struct fe_geometry *g = &m->geo;
    assert(n_bad <= g->n_chip_blocks - g->n_pebs);
    if (g->n_chip_blocks == g->n_pebs)
        return;
    choose_bad(m, n_bad, seed);
    for (fe_peb peb = 0; peb < g->n_pebs; peb++)
        if (fe_medium_is_bad(m, peb))
            fe_chip_exchange(&m->chip, peb, find_spare(m, fe_medium_die(m, peb)), m->now_ns);
}

/* The operations that copy a page of peb to the spare, on whose die the program takes place. */
static void issue_copy(struct fe_medium *m, fe_peb peb, fe_peb spare, uint32_t page)
{
    uint32_t bytes = fe_issue_page_bytes(m);
    fe_issue_read(m, peb, page, bytes);
    fe_issue_prog(m, peb, page, FE_PPN_NONE, fe_medium_die(m, spare), bytes, FE_OP_AFTER_PREV);
    fe_issue_count_programs(m, 1);
}

/* Pages [0, n) of peb into the spare; false if one of the programs fails. */
static bool copy_pages(struct fe_medium *m, fe_peb peb, fe_peb spare, uint32_t n)
{
    fe_ppn first = peb * m->geo.pages_per_block;
    for (uint32_t page = 0; page < n; page++) {
        issue_copy(m, peb, spare, page);
        if (fe_failures_program(m, spare, page))
            return false;
        fe_chip_count_unnumbered(&m->chip);
    }
    for (fe_ppn ppn = first; ppn < first + n && fe_failures_of_bits(m); ppn++)
        fe_chip_set_flips(&m->chip, ppn, fe_failures_copied(m, ppn));
    return true;
}

fe_peb fe_bbm_replace(struct fe_medium *m, fe_peb peb, uint32_t n)
{
    fe_peb spare;
    fe_ops_barrier(m->ops);
    while ((spare = find_spare(m, fe_medium_die(m, peb))) != FE_PEB_NONE) {
        if (copy_pages(m, peb, spare, n))
            break;
        fe_chip_mark(&m->chip, spare, FE_MARK_GROWN_BAD, true);
        fe_ops_barrier(m->ops);
    }
    if (spare == FE_PEB_NONE)
        return FE_PEB_NONE;
    fe_chip_exchange(&m->chip, peb, spare, m->now_ns);
    fe_ops_barrier(m->ops);
    return spare;
}

fe_peb fe_bbm_replace_erased(struct fe_medium *m, fe_peb peb)
{
    fe_peb spare = find_spare(m, fe_medium_die(m, peb));
    fe_ops_barrier(m->ops);
    if (spare == FE_PEB_NONE)
        return FE_PEB_NONE;
    fe_chip_erase(&m->chip, peb, spare);
    fe_ops_barrier(m->ops);
    return spare;
}
