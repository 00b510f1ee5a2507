/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many blocks `dftl` keeps beside data and table, and why that is enough.
 *
 *   | data: max_lpns                    | table | 1 | open: 2 a die | reserve: a die + 3 |
 *   |<--------------------------- good blocks of the chip ---------------------------->|
 *
 * b: pages per block, d: dies, p: free blocks.  Cleaning is due while p < reserve; each
 * cleaning empties a full block with an invalid page, so of at most b - 1 valid ones.
 *
 * It ends.  A cleaning of data makes its victim's invalid data pages vanish and no new
 * ones, but up to b - 1 invalid translation pages, because it writes the table.  One of the
 * table makes invalid translation pages vanish and no new ones.  So the pair (invalid data
 * pages, invalid translation pages) falls with each cleaning in the order of a dictionary,
 * which cannot go on for ever.  It stops at p >= reserve, not for want of a victim: if no
 * full block held an invalid page, data and table would fill at most as many blocks as they
 * need, 2d were open, and reserve + 1 free.
 *
 * There is room.  A cleaning of data takes at most b - 1 pages of each kind, one of the
 * table b - 1 of its own, and a frontier takes one of the last two free blocks only when it
 * has none open (dftl_place.c).  So the former takes at most two blocks of those, the
 * latter one, and each gives one back: data can be cleaned from p = 2 on, the table from
 * p = 1 on, and p >= 1 holds after either.  The host's operations start at p >= reserve and
 * take two blocks at most: a page of data, a page of the table for an entry that leaves.
 *
 * At p = 1 the table is cleaned.  What if it has no full block with an invalid page?  Let Q
 * be the erased pages and the invalid translation pages together.  Cleanings of the table
 * and writing translation pages anew leave Q alone, cleanings of data only add, and the
 * host's operation took at most 2 (a page of data, a translation page that did not exist
 * before) of the reserve b or more that there were: Q >= reserve b - 2.  If cleaning data
 * needed two blocks, its frontier has b - 2 pages left at most.  With the b pages of the
 * free block and the d b pages that open blocks of the table have, (d + 2) b - 2 pages of Q
 * can be anywhere but in full blocks of the table.  With reserve >= d + 3 those hold b of
 * them, so there is such a block; or else data can be cleaned with one.
 */
#include "ftl/dftl_core.h"

#include <errno.h>

static uint32_t per_page(const struct fe_geometry *geo)
{
    return geo->page_bytes / (uint32_t)sizeof(fe_ppn);
}

uint32_t fe_dftl_reserve(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    uint32_t need = geo->n_dies + 3;
    return p->clean.gc_reserve > need ? p->clean.gc_reserve : need;
}

/* Blocks that hold neither data nor table when the host has written everything. */
uint64_t fe_dftl_kept(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    return (uint64_t)fe_dftl_reserve(p, geo) + 2ull * geo->n_dies + 1;
}

/* Blocks that so many logical pages and their table fill. */
uint64_t fe_dftl_blocks_of(uint64_t n_lpns, const struct fe_geometry *geo)
{
    uint64_t n_tps = fe_div_up(n_lpns, per_page(geo));
    return fe_div_up(n_lpns, geo->pages_per_block) + fe_div_up(n_tps, geo->pages_per_block);
}

uint64_t fe_dftl_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                          struct fe_err *err)
{
    uint64_t kept = fe_dftl_kept(p, geo), b = geo->pages_per_block;
    if (p->dftl.map_cache < FE_MAP_ENTRY_BYTES) {
        fe_err_set(err, EINVAL,
                   "ftl.map_cache=%llu: an entry takes %u bytes, so dftl needs at least %u; %llu "
                   "hold an entry for each page of the chip",
                   (unsigned long long)p->dftl.map_cache, FE_MAP_ENTRY_BYTES, FE_MAP_ENTRY_BYTES,
                   (unsigned long long)geo->n_ppns * FE_MAP_ENTRY_BYTES);
        return 0;
    }
    if (per_page(geo) == 0) {
        fe_err_set(err, EINVAL, "nand.page_size=%u: dftl keeps page numbers of 4 bytes in pages",
                   geo->page_bytes);
        return 0;
    }
    if (geo->n_pebs < kept + 2) {
        fe_err_set(err, EINVAL,
                   "ftl.gc_reserve=%u: with %u dies dftl keeps %llu blocks beside data "
                   "and table, "
                   "%u of them free; the chip has %u and needs %llu",
                   p->clean.gc_reserve, geo->n_dies, (unsigned long long)kept,
                   fe_dftl_reserve(p, geo), geo->n_pebs, (unsigned long long)kept + 2);
        return 0;
    }
    uint64_t room = geo->n_pebs - kept;
    uint64_t data = room - (fe_dftl_blocks_of(room * b, geo) - room); /* a table for too many */
    while (fe_dftl_blocks_of((data + 1) * b, geo) <= room)
        data++;
    return data * b;
}
