/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every invariant of blocks.h, from the outside in:
 *
 *   maps     an entry names a page whose OOB says so and whose valid bit is set; no other
 *            valid bit is set
 *   blocks   the valid bits of a block add up to its count; its state agrees with the chip
 *            (how far it is programmed, what it holds)
 *   places   pools, frontiers, victim sets and the heap for levelling hold as many blocks as
 *            there are in the state that belongs to them
 */
#include "ftl/blocks/blocks.h"

#include "ftl/recover.h"

#include <errno.h>

int fe_blocks_check_entry(const struct fe_blocks *b, const char *what, uint32_t i, fe_ppn ppn,
                          fe_lpn lpn, uint64_t *n_mapped, struct fe_err *err)
{
    if (ppn == FE_PPN_NONE)
        return 0;
    ++*n_mapped;
    fe_peb peb = fe_peb_of(&b->geo, ppn);
    if (peb >= b->first && peb < b->end && fe_bit(b->valid_bits, ppn) &&
        fe_medium_lpn(b->ftl->medium, ppn) == lpn)
        return 0;
    return fe_err_set(err, EIO, "%s page %u is mapped to %u, which holds another or is not valid",
                      what, i, ppn);
}

static int check_valid(const struct fe_blocks *b, fe_peb peb, struct fe_err *err)
{
    uint32_t n = 0, end = fe_medium_next_page(b->ftl->medium, peb);
    for (uint32_t i = 0; i < b->geo.pages_per_block; i++) {
        bool valid = fe_bit(b->valid_bits, (uint64_t)peb * b->geo.pages_per_block + i);
        if (valid && i >= end)
            return fe_err_set(err, EIO, "block %u: page %u is valid and erased", peb, i);
        n += valid;
    }
    if (n != b->valid[peb])
        return fe_err_set(err, EIO, "block %u: %u valid pages, its count says %u", peb, n,
                          b->valid[peb]);
    return 0;
}

static uint32_t set_of(const struct fe_blocks *b, fe_peb peb)
{
    return b->fronts[b->ops->frontier_of(b->ftl, peb)].set;
}

static bool state_fits(const struct fe_blocks *b, fe_peb peb)
{
    const struct fe_medium *m = b->ftl->medium;
    uint32_t end = fe_medium_next_page(m, peb), room = fe_recover_room(m, peb);
    switch (b->state[peb]) {
    case FE_BLOCK_FREE:
        return end == 0 && !fe_medium_is_slc(m, peb);
    case FE_BLOCK_OPEN:
        return end < room;
    case FE_BLOCK_BAD:
        return fe_medium_is_bad(m, peb) && b->valid[peb] == 0;
    default:
        return (end == room || (b->closes_early && end)) && (!b->slc || fe_medium_is_slc(m, peb)) &&
               b->state[peb] == FE_BLOCK_FULL + set_of(b, peb);
    }
}

static int check_frontiers(const struct fe_blocks *b, uint32_t n_open, struct fe_err *err)
{
    uint32_t all = 0;
    for (int i = 0; i < FE_BLOCK_FRONTIERS; i++) {
        const struct fe_frontier *front = &b->fronts[i];
        uint32_t n = 0;
        for (uint32_t place = 0; place < front->n; place++) {
            fe_peb peb = front->open[place];
            if (peb == FE_PEB_NONE)
                continue;
            n++;
            if (b->state[peb] != FE_BLOCK_OPEN || fe_medium_next_page(b->ftl->medium, peb) == 0 ||
                set_of(b, peb) != front->set)
                return fe_err_set(err, EIO, "block %u in frontier %d is not open, or of another "
                                  "kind", peb, i);
        }
        if (n != front->n_open)
            return fe_err_set(err, EIO, "%u open blocks in frontier %d, %u counted", n, i,
                              front->n_open);
        all += n;
    }
    return all == n_open ? 0 : fe_err_set(err, EIO, "%u blocks open, %u in frontiers", n_open, all);
}

static int check_states(const struct fe_blocks *b, uint64_t *n_valid, struct fe_err *err)
{
    uint32_t n[FE_BLOCK_FULL + FE_BLOCK_SETS] = {0};
    for (fe_peb peb = b->first; peb < b->end; peb++) {
        if (check_valid(b, peb, err) < 0)
            return -EIO;
        if (!state_fits(b, peb))
            return fe_err_set(err, EIO, "block %u in state %u has %u pages programmed, or of "
                              "another kind", peb, b->state[peb],
                              fe_medium_next_page(b->ftl->medium, peb));
        *n_valid += b->valid[peb];
        n[b->state[peb]]++;
    }
    if (n[FE_BLOCK_FREE] != b->pool.n + b->aside.n || n[FE_BLOCK_FULL] != b->full[0].n ||
        n[FE_BLOCK_FULL + 1] != b->full[1].n)
        return fe_err_set(err, EIO, "%u blocks free, %u and %u full; counted are %u, %u and %u",
                          n[FE_BLOCK_FREE], n[FE_BLOCK_FULL], n[FE_BLOCK_FULL + 1],
                          b->pool.n + b->aside.n, b->full[0].n, b->full[1].n);
    return check_frontiers(b, n[FE_BLOCK_OPEN], err);
}

int fe_blocks_check(const struct fe_blocks *b, uint64_t n_mapped, struct fe_err *err)
{
    uint64_t n_valid = 0;
    int r = check_states(b, &n_valid, err);
    if (r == 0 && n_mapped != n_valid)
        r = fe_err_set(err, EIO, "%llu pages mapped, %llu valid", (unsigned long long)n_mapped,
                       (unsigned long long)n_valid);
    if (r == 0)
        r = fe_block_pool_check(&b->pool, err);
    if (r == 0 && b->aside_end > b->first)
        r = fe_block_pool_check(&b->aside, err);
    for (int i = 0; i < FE_BLOCK_SETS && r == 0; i++)
        r = fe_victims_check(&b->full[i], err);
    if (r == 0 && b->levels && (b->least_worn.n != b->full[0].n || !fe_heap_check(&b->least_worn)))
        r = fe_err_set(err, EIO, "%u full blocks, %u in order of their erases, or out of order",
                       b->full[0].n, b->least_worn.n);
    return r;
}
