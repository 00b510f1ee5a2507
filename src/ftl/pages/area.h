/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an enhanced area takes of the chip.
 *
 * The enhanced user data area of an eMMC (JEDEC eMMC 4.4 and later) is a range of the bytes that
 * the host sees.  The device keeps it in blocks in SLC mode, which hold a half (MLC) or a third
 * (TLC) of their pages.  So each byte of the area takes two or three bytes of the chip:
 *
 *     host      |  plain  | area |      plain      |
 *     chip      |  plain  | area | extra |         plain      |      (MLC)
 *
 * Only the page strategy has such an area (page_limits.c); for the others the size is 0.
 */
#pragma once

#include "flashemu/ftl_params.h"
#include "nand/geometry.h"

/* Bytes of the chip that the area takes besides its own size, rounded up.  0 if there is no area,
 * or if blocks of this kind cannot be used in SLC mode, which the strategy refuses. */
static inline uint64_t fe_area_extra_bytes(const struct fe_ftl_params *p, uint32_t cell,
                                           uint32_t pages_per_block)
{
    uint64_t size = p->page.enhanced_size, slc = fe_cell_slc_pages(cell, pages_per_block);
    return slc ? fe_muldiv_up(size, pages_per_block, slc) - size : 0;
}
