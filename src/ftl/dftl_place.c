/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frontiers: pages of the host's data and pages of the table fill blocks of their own, each
 * kind on all dies in turn.
 *
 *   die       0     1     2     3
 *   DATA    [8 .] [9 .] [6 .] [3 .]     one open block a die
 *   MAP     [4 .]   -     -   [7 .]     a slot without a block takes one when its turn comes
 *
 * While few blocks are free, a frontier goes on in what it has open on other dies and takes
 * a block only when it has none: so the last blocks are not handed out for one page each,
 * and each kind's erased pages are room for that kind wherever they are.  The kinds never
 * mix, and the proof in dftl_limits.c counts with that.
 */
#include "ftl/dftl_core.h"

/* Free blocks that no frontier takes for the sake of its dies: cleaning a block of data
 * may need one for data and one for the table. */
enum { LAST_BLOCKS = 2 };

/* The slot whose block takes the next page; NULL if there is no room. */
static fe_peb *next_slot(struct dftl *f, struct dftl_front *front)
{
    uint32_t n = f->geo.n_dies, die = front->turn;
    front->turn = die + 1 == n ? 0 : die + 1;
    if (front->slots[die] == FE_PEB_NONE && (f->pool.n > LAST_BLOCKS || front->n_open == 0)) {
        fe_peb peb = fe_block_pool_take(&f->pool, die);
        if (peb == FE_PEB_NONE)
            return NULL;
        front->slots[die] = peb;
        front->n_open++;
        f->state[peb] = DFTL_OPEN;
    }
    while (front->slots[die] == FE_PEB_NONE)
        die = die + 1 == n ? 0 : die + 1;
    return &front->slots[die];
}

enum fe_status fe_dftl_place(struct dftl *f, enum dftl_kind kind, fe_lpn tag, fe_ppn base,
                             uint32_t off, uint32_t len, const void *data, fe_ppn *ret)
{
    fe_peb *slot = next_slot(f, &f->fronts[kind]);
    if (!slot)
        return FE_NO_SPACE;
    fe_peb peb = *slot;
    uint32_t page = fe_medium_next_page(f->base.medium, peb);
    fe_ppn ppn = peb * f->geo.pages_per_block + page;
    enum fe_tag role = kind == DFTL_MAP ? FE_TAG_MAP : FE_TAG_DATA;
    enum fe_status st =
        fe_medium_prog(f->base.medium, ppn, tag, (uint8_t)role, base, off, len, data);
    if (st != FE_OK)
        return st;
    f->valid[peb]++;
    fe_bit_set(f->valid_bits, ppn);
    if (page + 1 == f->geo.pages_per_block) {
        *slot = FE_PEB_NONE;
        f->fronts[kind].n_open--;
        f->state[peb] = (uint8_t)(DFTL_FULL + kind);
        fe_victims_add(&f->full[kind], peb);
    }
    *ret = ppn;
    return FE_OK;
}

enum fe_status fe_dftl_read_tp(struct dftl *f, uint32_t tp)
{
    f->base.counters.map_reads++;
    enum fe_status st =
        fe_medium_read(f->base.medium, f->directory[tp], 0, f->geo.page_bytes, NULL);
    /* Controllers keep a second copy of their table. */
    return st == FE_CORRECTED || st == FE_UNCORRECTABLE ? FE_OK : st;
}

enum fe_status fe_dftl_write_tp(struct dftl *f, uint32_t tp)
{
    fe_ppn old = f->directory[tp], ppn;
    enum fe_status st = old == FE_PPN_NONE ? FE_OK : fe_dftl_read_tp(f, tp);
    if (st != FE_OK)
        return st;
    fe_map_write_back(&f->cache, tp, f->table);
    if (old != FE_PPN_NONE)
        fe_ops_wait(f->base.medium->ops);
    st = fe_dftl_place(f, DFTL_MAP, dftl_tag(f, tp), FE_PPN_NONE, 0,
                       f->per_page * (uint32_t)sizeof *f->table,
                       f->table + (size_t)tp * f->per_page, &ppn);
    if (st != FE_OK)
        return st;
    f->base.counters.map_writes++;
    f->directory[tp] = ppn;
    if (old != FE_PPN_NONE)
        dftl_invalidate(f, old);
    return FE_OK;
}
