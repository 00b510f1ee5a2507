/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's data and the pages of the table fill blocks of their own.  Each kind has a
 * frontier, which goes across all dies in turn.
 *
 *   die       0     1     2     3
 *   DATA    [8 .] [9 .] [6 .] [3 .]     one open block a die
 *   MAP     [4 .]   -     -   [7 .]     a place without a block takes one in its turn
 *
 * While few blocks are free, a frontier goes on in its open blocks on other dies, and takes a
 * free block only when it has no open one.  So the last free blocks are not handed out for one
 * page each, and the erased pages of a kind are room for that kind wherever they are.  The
 * kinds never mix.  The proof in dftl_limits.c relies on both.
 */
#include "ftl/pages/dftl_core.h"

/* Free blocks that no frontier takes only to use one more die.  Cleaning a block of data may
 * need one of them for data and one for the table. */
enum { LAST_BLOCKS = 2 };

/* The next turn of a frontier: `at` names the place of a block.  False if there is no room. */
static bool next_place(struct dftl *f, struct fe_frontier *front)
{
    struct fe_blocks *b = &f->blocks;
    if (fe_frontier_turn(front) != FE_PEB_NONE)
        return true;
    if (b->pool.n <= LAST_BLOCKS && fe_frontier_seek(front, front->at))
        return true;
    fe_peb peb = fe_block_pool_take(&b->pool, front->at);
    if (peb == FE_PEB_NONE)
        return false;
    fe_blocks_open(b, front, peb);
    return true;
}

enum fe_status fe_dftl_place(struct dftl *f, enum dftl_kind kind, fe_lpn tag, fe_ppn base,
                             uint32_t off, uint32_t len, const void *data, fe_ppn *ret)
{
    struct fe_frontier *front = &f->blocks.fronts[kind];
    if (!next_place(f, front))
        return FE_NO_SPACE;
    return fe_blocks_append(&f->blocks, front, tag, kind == DFTL_MAP ? FE_TAG_MAP : FE_TAG_DATA,
                            base, off, len, data, ret);
}

enum fe_status fe_dftl_read_tp(struct dftl *f, uint32_t tp)
{
    f->base.counters.map_reads++;
    enum fe_status st =
        fe_medium_read(f->base.medium, f->directory[tp], 0, f->blocks.geo.page_bytes, NULL);
    /* Controllers keep a second copy of their table. */
    return st == FE_CORRECTED || st == FE_UNCORRECTABLE ? FE_OK : st;
}

enum fe_status fe_dftl_write_tp(struct dftl *f, uint32_t tp)
{
    fe_ppn old = f->directory[tp], ppn;
    enum fe_status st = old == FE_PPN_NONE ? FE_OK : fe_dftl_read_tp(f, tp);
    if (st != FE_OK)
        return st;
    fe_map_write_back(&f->cache, tp);
    if (old != FE_PPN_NONE)
        fe_ops_wait(f->base.medium->ops);
    const fe_ppn *entries = f->table + (size_t)tp * f->per_page;
    st = fe_dftl_place(f, DFTL_MAP, dftl_tag(f, tp), FE_PPN_NONE, 0,
                       f->per_page * (uint32_t)sizeof *entries,
                       dftl_keeps_bytes(f) ? entries : NULL, &ppn);
    if (st != FE_OK)
        return st;
    f->base.counters.map_writes++;
    f->directory[tp] = ppn;
    if (old != FE_PPN_NONE)
        fe_blocks_replaced(&f->blocks, old);
    return FE_OK;
}
