/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on of blocks.h: brings the blocks back into states that the strategy could have made
 * itself.  The strategy calls these functions in this order, after it has looked at the chip
 * and found the newest copies of its pages (recover.h):
 *
 *   fe_blocks_drop_moved   throws away what an interrupted emptying has copied, if the free
 *                          blocks are too few
 *   fe_blocks_mark_valid   counts the pages that are mapped
 *   fe_blocks_sort         free, open or full, by how far each block is programmed
 *   fe_blocks_restore      goes on with emptying until the reserve is whole
 */
#pragma once

#include "ftl/blocks/blocks.h"

/* While fewer than `reserve` blocks are erased: erases blocks whose mapped pages all are
 * copies that were made when power failed, and that the block which was being emptied still
 * holds.  map: where each logical page lies; it is found anew after each such block.  Only
 * open blocks outside an SLC cache are considered, and only if the controller's journal names the
 * interrupted block.  `thorough` considers all blocks, and those without any mapped page even if
 * there is no journal. */
enum fe_status fe_blocks_drop_moved(struct fe_blocks *b, struct fe_mapping *map, bool thorough);

/* Each page that one of the n entries of a map names is valid. */
void fe_blocks_mark_valid(struct fe_blocks *b, const struct fe_mapping *map, uint32_t n);

/* Puts every good block into a pool, a frontier or a victim set, and erases those that hold
 * nothing readable.  Blocks join their sets in the order of their last programs if by_age is
 * set, and in the order of their numbers otherwise.  A place of a frontier that already names
 * a block is kept for that block.  From now on full blocks may have erased pages.  -ENOMEM, or
 * -EIO. */
int fe_blocks_sort(struct fe_blocks *b, bool by_age, struct fe_err *err);

/* Empties the full blocks that have the fewest valid pages, until `reserve` blocks are free
 * or none fits into the room that is left.  For strategies whose moved pages go to frontiers
 * of set 0.  -EIO. */
int fe_blocks_restore(struct fe_blocks *b, struct fe_err *err);

/* What a strategy's power-on returns after a status of the chip: 0 or -EIO. */
int fe_blocks_power_on_result(enum fe_status st, struct fe_err *err);
