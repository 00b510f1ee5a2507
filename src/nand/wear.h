/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the controller does about a chip that fails (nand/failures.h): blocks that wear out or
 * are bad from the factory, programs and erases that fail, bits that flip.
 *
 * It is a layer under the translation layer, whose blocks never fail while spares last:
 *
 *     strategies      peb  [0, n_pebs)                     always good
 *     reserve         peb  [n_pebs, n_chip_blocks)         spares and bad blocks
 *                            |
 *                            |  fe_medium_chip_block()     any order
 *                            v
 *     chip            chip block [0, n_chip_blocks)
 *
 * When a chip block fails, another one takes its peb (nand/bbm.h).  The pages, OOB and bytes of
 * the peb stay where they are in memory and in an image: only what belongs to the chip block
 * itself (cycles, marks of bad blocks) changes places.  So a replacement is one exchange of two
 * records, and no layer above needs to translate anything.
 *
 * The end of life: a block fails and no spare is left.  What follows is the profile's
 * choice (enum fe_end_of_life).
 *
 * A medium without fe_wear_attach never fails, and pays nothing for this.
 */
#pragma once

#include "nand/failures.h"

/* Blocks that the parameters set aside on a chip of this geometry: its factory bad ones
 * and the spares, up to whole rows of dies.  For fe_geometry_reserve. */
uint64_t fe_wear_reserve(const struct fe_wear_params *p, const struct fe_geometry *geo);

/* Gives a new, erased medium its failures.  Its geometry has the reserve taken off.
 * Of nand only endurance and slc_endurance count.  -ENOMEM. */
int fe_wear_attach(struct fe_medium *m, const struct fe_wear_params *p,
                   const struct fe_nand_params *nand, uint64_t seed, struct fe_err *err);
void fe_wear_detach(struct fe_medium *m);

/* The chip has been loaded from an image. */
void fe_wear_loaded(struct fe_medium *m);

/* Takes the parameters that may change while running; shape and tables stay. */
void fe_wear_set(struct fe_medium *m, const struct fe_wear_params *p);

/* Refreshes one block that gave too many corrected bits: its pages go to a spare, and its chip
 * block becomes a spare itself.  It becomes a grown bad block instead if its data were younger
 * than a day and it had been read less than 10 000 times.  False if there is nothing to do. */
bool fe_wear_refresh(struct fe_medium *m);

/* ---- for the medium ---- */

/* The page's program has been issued.  FE_OK: it was done, on this chip block or another one
 * that took the peb, and *flips, the wrong bits of what was programmed, is right for that
 * block.  FE_PROG_FAILED: the end of life, the page is as before. */
enum fe_status fe_wear_programmed(struct fe_medium *m, fe_ppn ppn, uint16_t *flips);

/* The block's erase has been issued.  True: the peb is erased, with this chip block or another.
 * False: the end of life, the pages are as before. */
bool fe_wear_erase(struct fe_medium *m, fe_peb peb);

/* ---- faults on purpose ----
 *
 * -EINVAL with a message if there is no such chip block, or it is bad already. */

/* The block is retired as after a failure, its data saved: grown bad, or the end of life. */
int fe_wear_mark_bad(struct fe_medium *m, fe_chip_block block, struct fe_err *err);

/* That many bits of the page's first codeword are wrong until its next program.  ppn counts
 * pages of chip blocks; the page must be programmed. */
int fe_wear_flip(struct fe_medium *m, fe_ppn ppn, uint32_t bits, struct fe_err *err);

/* The block has this many cycles behind it. */
int fe_wear_set_cycles(struct fe_medium *m, fe_chip_block block, uint32_t cycles,
                       struct fe_err *err);
