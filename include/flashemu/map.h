/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be seen of the blocks of a device's chip: how worn and how full they are, and how many
 * of their pages are valid.
 *
 *     programmed   | # # # # # # . . |      6 of 8 pages
 *     valid        | # x # x x # . . |      3 pages; of the others there are newer copies
 *
 * Pages that are programmed and not valid are what cleaning and merging win back.  Nobody else
 * needs this, so nothing of it is counted while requests run, except what a strategy counts for
 * itself.
 *
 * Thread rule: as for flashemu/device.h, the caller has the lock.
 */
#pragma once

#include "flashemu/device.h"

#include <stdbool.h>
#include <stdint.h>

/* What can be seen of a chip block. */
struct fe_block_wear {
    uint32_t cycles;
    uint16_t programmed; /* pages; 0: erased */
    bool slc;            /* erased for the SLC mode, whose cycles nand.slc_endurance counts */
    enum { FE_BLOCK_USED, FE_BLOCK_SPARE, FE_BLOCK_FACTORY_BAD, FE_BLOCK_GROWN_BAD } state;
};

/* The number of chip blocks, and of pages in each of them. */
uint32_t fe_device_blocks(const struct fe_device *dev);
uint32_t fe_device_block_pages(const struct fe_device *dev);

/* All chip blocks, ret[n] for chip block n.  ret must have room for that number.  O(blocks). */
void fe_device_get_blocks(const struct fe_device *dev, struct fe_block_wear *ret);

/* Whether the device knows which pages are valid: not without power, because the mapping is lost
 * and power-on finds it again; and not with ftl.type=step, which does not use the chip.  O(1). */
bool fe_device_knows_valid(const struct fe_device *dev);

/* The number of valid pages of n blocks: those that are at the places [first, first + n) of all
 * blocks in the controller's order.  ret[b] is set for chip block b and must have room for all
 * blocks.  A valid page holds the newest copy of what the host has written and not trimmed, or a
 * part of the mapping table.  What is only in the write cache is in no page.
 *
 * O(pages of these blocks); so a caller may ask for a few blocks at a time, and give up the lock
 * in between.  The device must know (fe_device_knows_valid). */
void fe_device_get_valid(const struct fe_device *dev, uint32_t first, uint32_t n, uint16_t *ret);
