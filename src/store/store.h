/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of pages, by physical page number.
 *
 * A store knows nothing of flash rules: it keeps, overwrites and forgets bytes.
 * What was never written, and what was discarded, reads as zeros and takes no
 * memory (see fe_store_discard for the one delay in that).
 *
 * There are two kinds of store: in memory, or in an image (image.h).
 *
 * A store without payload (fe_store_create with payload = false) keeps nothing:
 * writes are accepted, reads give zeros.  Replay uses it.
 *
 * The host's failures.  After the first write to an image that fails (image_file.h), pages that
 * are written are lost and read as -EIO; all others can still be read.
 *
 * No lock: the owner serialises.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/types.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_store;

/* n_pages pages of page_bytes bytes in memory.  -EOVERFLOW if
 * the product does not fit, -ENOMEM or the errno of the host otherwise.  The
 * caller owns *ret and ends it with fe_store_destroy (NULL is allowed there). */
int fe_store_create(struct fe_store **ret, uint64_t n_pages, uint32_t page_bytes,
                    uint32_t pages_per_block, bool payload, struct fe_err *err);
void fe_store_destroy(struct fe_store *s);

/* Whether bytes are kept. */
bool fe_store_has_payload(const struct fe_store *s);

/* buf[0, len) = bytes [off, off + len) of the page; off + len <= page_bytes.  0, or -EIO
 * with zeros in buf if the host cannot read the page, or not the bytes that were written.
 * buf NULL reads nothing, but still says if the page is lost. */
int fe_store_read(const struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len, void *buf);

/* As fe_store_read, but what is in memory may be copied later, together with other pages
 * (copy_list.h): buf has the bytes that the page holds now when fe_store_settle returns, or earlier,
 * whatever happens to the page in between.  Until then buf must stay, nobody may look at it or
 * change it, and no other read may bring bytes there. */
int fe_store_read_later(struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len, void *buf);
void fe_store_settle(struct fe_store *s);

/* The page becomes base's bytes (zeros if base is FE_PPN_NONE) with data[0, len)
 * laid over [off, off + len); data NULL stands for zeros.  base != ppn, and ppn has no bytes of its
 * own.  In memory a plain copy (len 0) moves no bytes and takes no memory: O(1). */
void fe_store_write(struct fe_store *s, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                    const void *data);

/* Lends memory for the bytes of a page, which hold a copy of `data`, or anything if that is NULL.  A
 * page that is written with all of them keeps the memory instead of a copy: then nobody may change
 * it.  NULL: this store does not lend, or has lent 256 already.  fe_store_take_back, to be called
 * before anything else is lent, ends the loan of memory that no page keeps, and returns false if one
 * does, or if it was not lent.  O(1), and the copy. */
void *fe_store_lend(struct fe_store *s, const void *data);
bool fe_store_take_back(struct fe_store *s, const void *data);

/* Bytes [off, off + len) of the page become data (zeros if NULL), the others stay. */
void fe_store_overwrite(struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len,
                        const void *data);

/* Whether a page has bytes of its own; without them it reads as zeros. */
bool fe_store_is_written(const struct fe_store *s, fe_ppn ppn);

/* Bytes of a page that were put aside, because the page may have to get them back: by their name in
 * memory, or a copy of them.  All zeros: there are none. */
struct fe_aside {
    uint32_t name;
    uint32_t crc; /* with a copy: the page's checksum, which its bytes may not have */
    void *copy;
};

/* Puts the bytes of a page aside, which has none from then on.  Whoever puts them aside ends that
 * with one of the two functions that follow.  O(1) in memory; a copy of what an image has.  A page that
 * cannot be read cannot be read after it is put back, either.  -ENOMEM: nothing has changed. */
int fe_store_put_aside(struct fe_store *s, fe_ppn ppn, struct fe_aside *ret);
/* The page, which has none, gets the bytes back. */
void fe_store_put_back(struct fe_store *s, fe_ppn ppn, struct fe_aside *aside);
/* Forgets the bytes. */
void fe_store_drop_aside(struct fe_store *s, struct fe_aside *aside);

/* Fetches early what copying and forgetting pages [first, first + n) will need; changes nothing. */
void fe_store_fetch(const struct fe_store *s, fe_ppn first, uint32_t n);

/* Forgets pages [first, first + n). */
void fe_store_forget(struct fe_store *s, fe_ppn first, uint32_t n);

/* Forgets all pages of a block.  The host's memory, or room in the image, is given back when
 * FE_STORE_WARM_BYTES of what was discarded later have not been written again (warm.h). */
#define FE_STORE_WARM_BYTES (UINT64_C(32) << 20)
void fe_store_discard(struct fe_store *s, fe_peb peb);
