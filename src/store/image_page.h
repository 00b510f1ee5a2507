/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages and blocks in an image: what an image keeps of a chip besides the bytes.
 *
 * For a store in memory the functions that write do nothing.
 */
#pragma once

#include "store/image_format.h"

struct fe_store;

struct fe_store_oob {
    uint64_t seq;
    fe_lpn lpn;
    uint8_t tag, state; /* the strategy's; enum fe_store_page_state */
    uint8_t mode;       /* the chip's; 0 in images that were made before there was one */
};

struct fe_store_block {
    uint32_t erase_count;
    uint32_t flags;     /* the chip's */
    uint32_t extra[9];  /* the chip's */
    uint32_t kept_flags; /* only when it is loaded: of the cycle that the disk surely has */
};

/* Each record is written immediately: the OOB after the page's bytes and before anything later.
 * It belongs to the block's present cycle, and pages of another cycle are erased. */
void fe_store_set_oob(struct fe_store *s, fe_ppn ppn, const struct fe_store_oob *oob);
void fe_store_set_block(struct fe_store *s, fe_peb peb, const struct fe_store_block *block);

/* An erase never happened.  First this function writes the OOB of all the block's pages, with
 * the cycle before the erase; then fe_store_set_block writes that cycle.  In between the block
 * counts as erased.  With `sync` all of this is on the disk when set_block returns, because the
 * copies of these pages may be taken back next. */
void fe_store_put_back_oob(struct fe_store *s, fe_ppn ppn, const struct fe_store_oob *oob,
                           uint32_t cycle);

/* A block as the image has it: *ret and pages[0, pages_per_block).  -EIO with a message if
 * a record is damaged.  O(pages of the block). */
int fe_store_load_block(struct fe_store *s, fe_peb peb, struct fe_store_block *ret,
                        struct fe_store_oob *pages, struct fe_err *err);

/* ---- for store.c: the functions of store.h for an image ---- */

int fe_image_read(const struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len, void *buf);
void fe_image_write(struct fe_store *s, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                    const void *data);
void fe_image_overwrite(struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len,
                        const void *data);
void fe_image_give_back(struct fe_store *s, fe_peb peb);
