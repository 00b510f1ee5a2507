/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many blocks `dftl` keeps besides data and table, and why that is enough.
 *
 *   | data: max_lpns                    | table | 1 | open: 2 a die | reserve: a die + 3 |
 *   |<--------------------------- good blocks of the chip ---------------------------->|
 *
 * b is the number of pages in a block, d the number of dies, p the number of free blocks.
 * Cleaning is due while p < reserve.  Each cleaning empties a full block that has an invalid
 * page, so it moves at most b - 1 valid ones.
 *
 * It ends.  A cleaning of data removes the invalid data pages of its victim and makes no new
 * ones.  But it writes the table, which makes up to b - 1 invalid translation pages.  A
 * cleaning of the table removes invalid translation pages and makes no new ones.  So the pair
 * (invalid data pages, invalid translation pages) falls with each cleaning in the order of a
 * dictionary, and that cannot go on for ever.  Cleaning stops at p >= reserve, and not for
 * want of a victim: if no full block held an invalid page, data and table would fill at most
 * as many blocks as they need, 2d would be open, and reserve + 1 would be free.
 *
 * There is room.  A cleaning of data takes at most b - 1 pages of each kind, and a cleaning of
 * the table takes b - 1 pages of its own kind.  A frontier takes one of the last two free
 * blocks only when it has no open one (dftl_place.c).  So of those two blocks a cleaning of
 * data takes at most two and a cleaning of the table at most one, and each gives one back.
 * Hence data can be cleaned from p = 2 on, the table from p = 1 on, and p >= 1 holds after
 * either.  The host's operations start at p >= reserve and take at most two blocks: for a page
 * of data, and for a page of the table when an entry leaves the cache.
 *
 * At p = 1 the table is cleaned.  It remains to show that the table then has a full block with
 * an invalid page.  Let Q be the number of erased pages and invalid translation pages
 * together.  Cleaning the table and rewriting translation pages leave Q as it is, and cleaning
 * data only adds to it.  The host's operation took at most 2 (a page of data, and a
 * translation page that did not exist before) of the reserve * b or more that there were.  So
 * Q >= reserve * b - 2.  If cleaning data needed two blocks, its frontier has at most b - 2
 * pages left.  The free block has b pages, and open blocks of the table have d * b.  So at most
 * (d + 2) * b - 2 pages of Q can be anywhere except in full blocks of the table.  With
 * reserve >= d + 3, full blocks of the table hold at least b of them, so there is such a
 * block.  If cleaning data does not need two blocks, data can be cleaned with one.
 */
#include "ftl/pages/dftl_core.h"

static uint32_t per_page(const struct fe_geometry *geo)
{
    return geo->page_bytes / (uint32_t)sizeof(fe_ppn);
}

uint32_t fe_dftl_reserve(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    uint32_t need = geo->n_dies + 3;
    return p->clean.gc_reserve > need ? p->clean.gc_reserve : need;
}

/* Blocks that hold neither data nor table when the host has written all logical pages. */
uint64_t fe_dftl_kept(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    return (uint64_t)fe_dftl_reserve(p, geo) + 2ull * geo->n_dies + 1;
}

/* How many blocks n_lpns logical pages and their table fill. */
uint64_t fe_dftl_blocks_of(uint64_t n_lpns, const struct fe_geometry *geo)
{
    uint64_t n_tps = fe_div_up(n_lpns, per_page(geo));
    return fe_div_up(n_lpns, geo->pages_per_block) + fe_div_up(n_tps, geo->pages_per_block);
}

uint64_t fe_dftl_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                          struct fe_err *err)
{
    uint64_t kept = fe_dftl_kept(p, geo), b = geo->pages_per_block;
    if (p->dftl.map_cache < FE_MAP_ENTRY_BYTES)
        return fe_no_pages(err, "ftl.map_cache=%llu: an entry takes %u bytes, so dftl needs at "
                                "least %u; %llu hold an entry for each page of the chip",
                                (unsigned long long)p->dftl.map_cache, FE_MAP_ENTRY_BYTES,
                                FE_MAP_ENTRY_BYTES,
                                (unsigned long long)geo->n_ppns * FE_MAP_ENTRY_BYTES);
    if (per_page(geo) == 0)
        return fe_no_pages(err, "nand.page_size=%u: dftl keeps page numbers of 4 bytes in pages",
                                geo->page_bytes);
    if (geo->n_pebs < kept + 2)
        return fe_no_pages(err, "ftl.gc_reserve=%u: with %u dies dftl keeps %llu blocks besides "
                                "data and table, %u of them free; the chip has %u and needs %llu",
                                p->clean.gc_reserve, geo->n_dies, (unsigned long long)kept,
                                fe_dftl_reserve(p, geo), geo->n_pebs, (unsigned long long)kept + 2);
    uint64_t room = geo->n_pebs - kept;
    uint64_t data = room - (fe_dftl_blocks_of(room * b, geo) - room); /* a table for too many */
    while (fe_dftl_blocks_of((data + 1) * b, geo) <= room)
        data++;
    return data * b;
}
