/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on: finds the mapping again from what is on the chip.
 *
 * Of all readable copies of a logical page the newest one counts, which is the copy with the
 * highest sequence number.  This is right whatever was interrupted, because a copy is only
 * erased after a newer copy, or the same bytes in another place, have been programmed in full.
 * The rest is the task of each strategy: it brings blocks and units back into a shape that it
 * could have made itself (blocks/recover.h, units/unit_recover.h).
 *
 * A page counts as never written if it is torn, or if the controller's log says that it was
 * trimmed.
 */
#pragma once

#include "ftl/ftl.h"
#include "ftl/mapping.h"

/* Refuses a chip on which a page says what this strategy never writes, or a block is in SLC mode
 * that may not be: a damaged image.  Everything else relies on this, so it comes first.  -EIO with a
 * message; O(pages). */
int fe_recover_check(const struct fe_ftl *ftl, struct fe_err *err);

/* Pays for looking at the chip.  Of a full block one page is read, in which the controller has
 * written down what the other pages are.  Of an unfinished block each page is read.  To find
 * that a block is erased costs nothing.  Unstable blocks are erased, with a barrier behind the
 * last erase; at the end of life they stay as they are. */
enum fe_status fe_recover_scan(struct fe_medium *m);

/* newest[lpn] becomes the place of the newest copy of the page, or none if there is no copy, for
 * lpn in [0, n).  If skip is not NULL, it has a byte for each block, and blocks whose byte is not 0
 * are left out.  O(pages). */
void fe_recover_newest(const struct fe_medium *m, struct fe_mapping *newest, uint32_t n,
                       const uint8_t *skip);

/* The page is programmed and not torn. */
static inline bool fe_recover_readable(const struct fe_medium *m, fe_ppn ppn)
{
    return fe_medium_state(m, ppn) == FE_PAGE_PROGRAMMED;
}

/* How many pages a block has room for in its present mode. */
static inline uint32_t fe_recover_room(const struct fe_medium *m, fe_peb peb)
{
    return fe_medium_is_slc(m, peb) ? fe_slc_pages(&m->geo) : m->geo.pages_per_block;
}

/* When a block was written last: the highest sequence number in it, or 0 if no page of it can
 * be read. */
uint64_t fe_recover_last_seq(const struct fe_medium *m, fe_peb peb);

/* The first readable page of a block; FE_PPN_NONE if there is none. */
fe_ppn fe_recover_first(const struct fe_medium *m, fe_peb peb);

/* A block, and when it was written last. */
struct fe_recover_age {
    uint64_t seq;
    fe_peb peb;
};

/* The oldest first; of equal ones, the lowest number. */
void fe_recover_sort(struct fe_recover_age *a, uint32_t n);
