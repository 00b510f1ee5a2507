/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip: pages that hold data and OOB, and the rules for changing them.
 *
 * Each rule is an assertion, because breaking one is a bug of the translation layer:
 *   - a page is programmed once between two erases of its block;
 *   - pages of a block are programmed in order, without gaps;
 *   - only a programmed or torn page is read, and only a programmed one copied;
 *   - an erase takes a whole block;
 *   - an unstable block is erased before anything else happens to it;
 *   - a bad block is not touched.
 *
 * A block of a chip with several bits a cell can be used in SLC mode from one erase to
 * the next.  It then holds one page for each group of cells, fe_slc_pages() in all,
 * numbered from 0 without gaps, and these pages have times of their own.
 *
 * The state changes immediately; the time that an operation takes is what the op list says.
 * Memory: 13 bytes of OOB a page, 12 bytes a block.
 *
 * No lock: the owner serialises.
 */
#pragma once

#include "nand/medium_read.h"

/* All blocks erased.  store and ops must outlive the medium, and the store must have
 * the pages of all n_chip_blocks blocks, of geo->page_bytes.  -ENOMEM.
 *
 * If the store is an image, nothing goes there until the owner has called
 * fe_chip_begin_image (a new image) or fe_medium_load. */
int fe_medium_create(struct fe_medium **ret, const struct fe_nand_params *p,
                     const struct fe_geometry *geo, struct fe_store *store,
                     struct fe_oplist *ops, struct fe_err *err);
void fe_medium_destroy(struct fe_medium *m);

/* The chip as the image has it; m is fresh, its failures attached.  As fe_chip_load. */
int fe_medium_load(struct fe_medium *m, bool raw, struct fe_err *err);

/* Takes tR, tPROG and tBERS from *p, for operations from now on. */
void fe_medium_set_times(struct fe_medium *m, const struct fe_nand_params *p);

/* Reads bytes [off, off + len) of a page; buf NULL reads for the time only.  The read takes the
 * cell's tR, and then as many bytes cross the channel as were asked for.  FE_UNCORRECTABLE,
 * and zeros, of a torn page; FE_CORRECTED is as good as FE_OK; FE_UNCORRECTABLE with wrong bits
 * in buf if the page has more of them than the code corrects.  If the medium copies late, the bytes may
 * be in buf only when the owner has settled the store; they are what the page holds now. */
enum fe_status fe_medium_read(struct fe_medium *m, fe_ppn ppn, uint32_t off, uint32_t len,
                              void *buf);

/* Programs the next page of its block, with lpn and tag in its OOB: base's bytes (zeros if
 * FE_PPN_NONE) with data[0, len) laid over [off, off + len).  data NULL stands for zeros.
 * Where base shows through, base is read first, in full, and the program waits for that: so
 * len 0 is a copy, and a part of a page is a read-modify-write.  With nand.copyback a copy
 * inside a die stays in its register and does not cross the channel.  A base that cannot be
 * corrected makes the new page one that cannot be corrected, too.  FE_PROG_FAILED, and the
 * page still erased, at the end of life: no program and no erase may follow. */
enum fe_status fe_medium_prog(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn, uint8_t tag,
                              fe_ppn base, uint32_t off, uint32_t len, const void *data);

/* Whether programs change nothing but the page: they do not fail, and nothing takes them back or
 * keeps them in a file. */
static inline bool fe_medium_is_plain(const struct fe_medium *m)
{
    return !m->prog_hook && !m->undo && !m->eol && !fe_medium_has_flips(m) &&
           !fe_medium_has_image(m);
}

/* Programs all pages of n erased blocks, in turn, for logical pages `first`, first + 1 and so on,
 * as fe_medium_prog does without base and data, but without operations: for the life that a device
 * has had before.  The medium must be plain, and none of the logical pages trimmed. */
void fe_medium_prog_stripe(struct fe_medium *m, const fe_peb *pebs, uint32_t n, fe_lpn first,
                           uint8_t tag);

/* A page in the controller's memory, on its way to another place. */
struct fe_held {
    fe_ppn ppn;     /* where it comes from */
    uint16_t flips; /* wrong bits that the copy will have, see FE_FLIPS_... */
};

/* Whether a copy stays in the register of a die: nand.copyback, and both are on one. */
bool fe_medium_is_copyback(const struct fe_medium *m, fe_ppn from, fe_ppn to);

/* The two halves of a copy for a controller that reads several pages before it programs one:
 * hold reads the whole page, whatever wrong bits it has, and prog_held programs what was read.
 * Nobody may have erased the page in between.  The order of the two in time is the caller's
 * business. */
struct fe_held fe_medium_hold(struct fe_medium *m, fe_ppn ppn);
enum fe_status fe_medium_prog_held(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn, uint8_t tag,
                                   struct fe_held held);

/* All pages ERASED, one more cycle on the block, which is stable then; SLC mode ends.
 * FE_ERASE_FAILED, and the pages still there, at the end of life, as for a program. */
enum fe_status fe_medium_erase(struct fe_medium *m, fe_peb peb);

/* What follows belongs to another command of the host: it joins no program before it, and no read
 * finds its page in the register. */
void fe_medium_begin_command(struct fe_medium *m);

/* The block, which is erased, is in SLC mode until its next erase.  Only on a chip where
 * fe_slc_pages() is not 0. */
void fe_medium_use_slc(struct fe_medium *m, fe_peb peb);

/* Nobody will ask for the bytes of this programmed page again.  let_go: the host has trimmed it,
 * and they go now.  replaced: the page that was programmed last is a newer copy, and they go when
 * no cut can take that back.  Where a cut could bring the page back even then, and in an image,
 * they stay until the block is erased. */
void fe_medium_let_go(struct fe_medium *m, fe_ppn ppn);
void fe_medium_replaced(struct fe_medium *m, fe_ppn ppn);

/* A strategy begins to empty a block. */
static inline void fe_medium_begin_emptying(struct fe_medium *m)
{
    m->emptying_since = fe_medium_last_seq(m);
}
