/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on: finding the mapping again from what is on the chip.
 *
 * Of all copies of a logical page that can be read, the newest one counts: the one with the
 * highest sequence number.  That is right whatever was interrupted, because a copy is only
 * erased after a newer one, or the same bytes elsewhere, have been programmed in full.
 * What remains to do is each strategy's: to bring blocks and units back into a shape that
 * it could have made itself.
 *
 * Pages that the controller has trimmed by its log count as never written; so do torn ones.
 */
#ifndef FE_FTL_RECOVER_H
#define FE_FTL_RECOVER_H

#include "ftl/ftl.h"

/* What looking at the chip costs: of a full block one page, in which the controller has
 * written down what the others are; of one that is not full, each page.  Finding that a
 * block is erased costs nothing.  Unstable blocks are erased, and nothing follows before
 * that is done; at the end of life they stay. */
enum fe_status fe_recover_scan(struct fe_medium *m);

/* newest[lpn] = where the newest copy of the page lies, FE_PPN_NONE if there is none, for
 * lpn in [0, n).  skip, if not NULL, has a byte for each block: those with one other than
 * 0 do not count.  O(pages). */
void fe_recover_newest(const struct fe_medium *m, fe_ppn *newest, uint32_t n, const uint8_t *skip);

/* The page is programmed and not torn. */
static inline bool fe_recover_readable(const struct fe_medium *m, fe_ppn ppn)
{
    return fe_medium_state(m, ppn) == FE_PAGE_PROGRAMMED;
}

/* Pages that a block has room for in its present mode. */
static inline uint32_t fe_recover_room(const struct fe_medium *m, fe_peb peb)
{
    return fe_medium_is_slc(m, peb) ? fe_slc_pages(&m->geo) : m->geo.pages_per_block;
}

/* The highest sequence number in a block, 0 if nothing in it can be read: when it was
 * written last. */
uint64_t fe_recover_last_seq(const struct fe_medium *m, fe_peb peb);

/* The first page of a block that can be read, FE_PPN_NONE if there is none. */
fe_ppn fe_recover_first(const struct fe_medium *m, fe_peb peb);

/* Sorts blocks by when they were written last, oldest first. */
struct fe_recover_age {
    uint64_t seq;
    fe_peb peb;
};
void fe_recover_sort(struct fe_recover_age *a, uint32_t n);

#endif
