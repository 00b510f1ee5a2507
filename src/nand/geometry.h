/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a medium is divided, and how its pages are numbered.
 *
 *   channel > die (ONFI: LUN) > plane > block > page (data + OOB)
 *
 * With `multiplane`, the same block of every plane of a die is one multi-plane
 * block, and the same page of each plane is one multi-plane page.  One operation reads,
 * programs or erases it.  Everything above this layer counts multi-plane blocks and pages:
 * so do `n_pebs`, `n_ppns` and `page_bytes`.  Without `multiplane`, planes only add blocks to
 * their die.
 *
 * With `page_parts`, a page can be programmed in so many parts, one after the other.  Everything
 * above this layer counts parts as pages: so do `n_ppns`, `pages_per_block`, `page_bytes` and
 * `oob_bytes`.  Only what the cells do belongs to a whole page: its times, its type, its partner.
 *
 *   pages, of two parts     |   0   |   1   |   2   |
 *   what is counted         | 0 | 1 | 2 | 3 | 4 | 5 |
 *
 * Numbering goes across dies first, so that neighbouring blocks can work simultaneously:
 *
 *   peb = row * n_dies + die      channel of a die = die % channels
 *   ppn = peb * pages_per_block + page
 */
#pragma once

#include "base/num.h"
#include "flashemu/err.h"
#include "flashemu/nand_params.h"
#include "flashemu/types.h"

#include <stdint.h>

/* What one tPROG writes has a type by the bit of the cell that it uses. */
enum fe_page_type { FE_PAGE_LSB, FE_PAGE_CSB, FE_PAGE_MSB, FE_N_PAGE_TYPES };

struct fe_geometry {
    uint32_t n_dies, n_channels, blocks_per_die;
    uint32_t n_pebs, n_ppns, pages_per_block;
    uint32_t parts_log2;     /* a page of the cells has 2^parts_log2 of these pages */
    uint32_t n_chip_blocks;  /* n_pebs and the blocks set aside by fe_geometry_reserve */
    uint32_t page_bytes;     /* data bytes of a (multi-plane) page */
    uint32_t oob_bytes;      /* OOB bytes that travel with it */
    uint32_t planes_ganged;  /* flash pages in one (multi-plane) page */
    uint32_t cell;           /* enum fe_cell */
    struct fe_fastdiv by_ppb, by_dies;
};

/* Fills *geo.  -EOVERFLOW with the fields' values if a product does not fit or the
 * chip has 2^32 - 1 pages or more, more than 2^31 blocks, more than 65535 dies or blocks of more
 * than 65535 pages, -EINVAL if it has no page at all, or a page that cannot be divided into its
 * parts. */
int fe_geometry_init(struct fe_geometry *geo, const struct fe_nand_params *p, struct fe_err *err);

/* Takes the last n blocks, whole rows of dies, off n_pebs, n_ppns and blocks_per_die: bad
 * blocks and their replacements.  -EINVAL with the numbers if no block is left. */
int fe_geometry_reserve(struct fe_geometry *geo, uint64_t n, struct fe_err *err);

static inline fe_peb fe_peb_of(const struct fe_geometry *g, fe_ppn ppn)
{
    return fe_fastdiv(ppn, g->by_ppb);
}

static inline uint32_t fe_page_of(const struct fe_geometry *g, fe_ppn ppn)
{
    return fe_fastmod(ppn, g->by_ppb);
}

static inline uint32_t fe_die_of(const struct fe_geometry *g, fe_peb peb)
{
    return fe_fastmod(peb, g->by_dies);
}

/* The place of a page among the parts of its page of the cells. */
static inline uint32_t fe_part_of(const struct fe_geometry *g, uint32_t page)
{
    return page & ((UINT32_C(1) << g->parts_log2) - 1);
}

/* How many of its n pages a block holds in SLC mode; 0 if the cells have one bit anyway. */
static inline uint32_t fe_cell_slc_pages(uint32_t cell, uint32_t n)
{
    uint32_t bits = cell == FE_CELL_MLC ? 2 : cell == FE_CELL_TLC ? 3 : 0;
    return bits ? n / bits : 0;
}

static inline uint32_t fe_slc_pages(const struct fe_geometry *g)
{
    return fe_cell_slc_pages(g->cell, g->pages_per_block >> g->parts_log2) << g->parts_log2;
}

/* The type of a page by its place in the block.  MLC pairs pages as
 * 0-2, 1-4, 3-6, ... so that LSB pages are 0, 1, 3, 5, ... and MSB pages 2, 4, 6,
 * ..., last (the usual all-bit-line order); TLC repeats LSB, CSB, MSB. */
enum fe_page_type fe_page_type(const struct fe_geometry *g, uint32_t page);

/* The index in tR_ns and tPROG_ns: how many bits of the cell are below this one. */
uint32_t fe_page_bit(const struct fe_geometry *g, uint32_t page);

/* The LSB page that an interrupted program of this MSB page may take with it (MLC), by its first
 * part; the page itself where there is none. */
uint32_t fe_page_partner(const struct fe_geometry *g, uint32_t page);
