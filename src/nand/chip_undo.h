/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations of a chip that a power cut takes back, or leaves half done.
 *
 * State runs ahead of time: a program changes the chip when it is issued, and ends later.  Whoever
 * may have to take it back asks first for what was there, and gives that back here.  The rules of
 * nand/chip.h hold: memory and image change together.
 */
#pragma once

#include "nand/chip.h"

/* What a page had before its program, which is to be of lpn. */
struct fe_chip_old_page {
    uint64_t seq;
    fe_lpn lpn;
    uint16_t flips;
    uint8_t tag;
    bool was_trimmed; /* the logical page stood in the log of trims */
};
struct fe_chip_old_page fe_chip_old_page(const struct fe_chip *c, fe_ppn ppn, fe_lpn lpn);

/* The last program of a block never happened: the page is as it was.  aside: what the page
 * held before an erase that may be taken back as well, or NULL. */
void fe_chip_take_back_program(struct fe_chip *c, fe_ppn ppn, const struct fe_chip_old_page *old,
                               struct fe_aside *aside);

/* The program was interrupted: the page is torn, and a trim that it has ended is back. */
void fe_chip_tear_program(struct fe_chip *c, fe_ppn ppn, const struct fe_chip_old_page *old);

/* What a block was before its erase, and the erase never happened: cycle, pages, flags and the age of
 * its data are back.  The store must still have the bytes. */
struct fe_chip_old_block {
    struct fe_peb_info info;
    fe_chip_block block;
    uint32_t reads; /* 0 if the chip does not count them */
    uint64_t since_ns;
};
struct fe_chip_old_block fe_chip_old_block(const struct fe_chip *c, fe_peb peb);
void fe_chip_take_back_erase(struct fe_chip *c, fe_peb peb, const struct fe_chip_old_block *old);

/* This chip block stands behind peb, which an image that is loaded does not say: a kill or a crash of the
 * host has left half an exchange. */
void fe_chip_put_behind(struct fe_chip *c, fe_peb peb, fe_chip_block block);
