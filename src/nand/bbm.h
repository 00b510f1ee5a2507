/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bad block management: which chip block stands behind which peb, and what it takes to put
 * another one there.
 *
 * A spare of the same die is preferred, so that stripes stay stripes.
 */
#pragma once

#include "nand/medium_core.h"

/* Chooses n_bad factory bad blocks by seed, never block 0, and puts good blocks behind all
 * pebs that strategies see.  n_bad is less than the number of blocks and at most the reserve;
 * without a reserve the function does nothing. */
void fe_bbm_init(struct fe_medium *m, uint32_t n_bad, uint64_t seed);

/* The chip block behind peb has failed, or shall go: pages [0, n) are copied to a spare, at the
 * cost of reads and programs, and the spare takes the peb.  A spare that fails itself becomes a
 * grown bad block and the next one is taken.  Returns the peb in the reserve where the old chip
 * block is now, unmarked; FE_PEB_NONE if no spare is left, and nothing has changed then. */
fe_peb fe_bbm_replace(struct fe_medium *m, fe_peb peb, uint32_t n);

/* The same for a chip block whose erase has failed: the peb is erased afterwards, and the old
 * chip block has one cycle more. */
fe_peb fe_bbm_replace_erased(struct fe_medium *m, fe_peb peb);
