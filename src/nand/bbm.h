/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bad block management: which block of the chip stands in which slot (wear.h), and what
 * it takes to put another one there.
 *
 * A spare of the same die is preferred, so that stripes stay stripes.
 */
#ifndef FE_NAND_BBM_H
#define FE_NAND_BBM_H

#include "nand/medium.h"

/* Places n_bad factory bad blocks by seed, never block 0, and puts good blocks into all
 * slots that strategies see.  n_bad is less than the blocks and at most the reserve; with
 * no reserve it does nothing.  -ENOMEM. */
int fe_bbm_init(struct fe_medium *m, uint32_t n_bad, uint64_t seed, struct fe_err *err);

/* Makes every block of the chip stand in exactly one slot: where two slots have the same
 * block, the later one, which is in the reserve, gets one that stands nowhere. */
void fe_bbm_restore(struct fe_medium *m);

/* The block of the slot has failed, or shall go: pages [0, n) of the slot are copied to a
 * spare, at the cost of reads and programs, and the spare takes the slot.  A spare that
 * fails itself becomes a grown bad block and the next one is taken.  Returns the slot in
 * the reserve where the old block is now, unmarked; FE_PEB_NONE if no spare is left, and
 * nothing has changed then. */
fe_peb fe_bbm_replace(struct fe_medium *m, fe_peb slot, uint32_t n);

/* The slot in which this block of the chip stands.  O(blocks). */
fe_peb fe_bbm_slot(const struct fe_medium *m, fe_peb peb);

#endif
