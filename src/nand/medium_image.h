/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a chip in its image: written as it changes, read when a run begins.
 */
#ifndef FE_NAND_MEDIUM_IMAGE_H
#define FE_NAND_MEDIUM_IMAGE_H

#include "nand/medium.h"

/* What an image keeps of a block and of a page's OOB, written as it is here now.  The
 * functions of nand/medium.h do that themselves; whoever changes `pebs` or `oob_*` in another
 * way calls these, blocks first.  Without an image they do nothing. */
void fe_medium_save_block(struct fe_medium *m, fe_peb peb);
void fe_medium_save_page(struct fe_medium *m, fe_ppn ppn);

/* The same for a block whose erase never happened, with all of its pages. */
void fe_medium_put_back_block(struct fe_medium *m, fe_peb peb);

/* `cuts`, and what the journal has of a power cut (`interrupted`), go to the image; the
 * latter from there when power-on has done its work: in memory it stays until the next cut. */
void fe_medium_save_journal(struct fe_medium *m);
void fe_medium_end_journal(struct fe_medium *m);

/* The chip as the image has it; m is fresh.  -EIO with a message if a record of it is
 * damaged or cannot be of this chip.  O(pages). */
int fe_medium_load(struct fe_medium *m, struct fe_err *err);

#endif
