/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an image keeps of the controller: its write cache, its list of trimmed pages, what the
 * device has behind it, and a few bytes of its own.
 *
 * For a store in memory the functions that write do nothing.
 */
#pragma once

#include "store/image_format.h"

struct fe_store;
struct fe_image;

/* An entry of the device's write cache. */
struct fe_store_entry {
    uint64_t order, sectors; /* a lower order is older; a bit a sector */
    fe_lpn lpn;              /* FE_LPN_NONE: the entry is empty, when it is loaded */
};

/* Bytes [off, off + len) have come into the entry, and it holds now what v says; page is all of
 * it. */
void fe_store_entry_put(struct fe_store *s, uint32_t entry, const struct fe_store_entry *v,
                        uint32_t off, uint32_t len, const void *page);

/* The entry is empty: its page was written out to the flash, or is trimmed.  A trimmed page is in the
 * list of trims from here on, and fe_store_set_trims comes next. */
void fe_store_entry_end(struct fe_store *s, uint32_t entry, bool trimmed);

/* A power cut has emptied the cache: neither what the entry holds nor what it has held comes back.
 */
void fe_store_entry_lose(struct fe_store *s, uint32_t entry);

/* Loads an entry; each of them once.  data: its page, or NULL to leave the bytes alone.  -EIO
 * with a message if the entry's record or its bytes are damaged. */
int fe_store_entry_load(struct fe_store *s, uint32_t entry, struct fe_store_entry *ret, void *data,
                        struct fe_err *err);

/* The controller's list of trimmed logical pages is an array of n_pages bits.  set writes its
 * words [first, first + n) of 64 bits.  A page that is programmed leaves the list in the file by
 * that alone, so that no kill comes between.  forget is for pages [first, first + n) that shall
 * be as they were before they were trimmed.  load comes after all blocks; -EIO with a message if
 * a record is damaged.
 *
 * Neighbouring pages are written together: set of n pages takes n / 4096 + 2 calls of the host at
 * most if all of them are trimmed. */
void fe_store_set_trims(struct fe_store *s, const uint64_t *words, uint64_t first, uint64_t n);
void fe_store_forget_trims(struct fe_store *s, uint64_t first, uint64_t n);
int fe_store_load_trims(struct fe_store *s, uint64_t *words, struct fe_err *err);

/* At most FE_STORE_CONTROL_BYTES of the controller's own, which are written in one step. */
#define FE_STORE_CONTROL_BYTES FE_IMAGE_CONTROL_BYTES
void fe_store_set_control(struct fe_store *s, const void *data, uint32_t len);
uint32_t fe_store_get_control(const struct fe_store *s, void *data);

/* The clock and the counters of the device.  A kill of the server leaves what was set last.  With
 * `sync`, a crash of the host leaves what had been set at the last sync, or something later.  The
 * same numbers again cost nothing, others one write of the host.  get: zeros if none were ever
 * set. */
void fe_store_set_lifetime(struct fe_store *s, const uint64_t numbers[FE_IMAGE_LIFETIME_NUMBERS]);
void fe_store_get_lifetime(const struct fe_store *s,
                           uint64_t ret[FE_IMAGE_LIFETIME_NUMBERS]);

/* ---- for image.c ---- */

/* Loads the record of the lifetime.  has_crashed: the host has, so that a record may be torn.  -EIO
 * with a message if there are records, and none is valid. */
int fe_image_load_lifetime(struct fe_image *g, bool has_crashed, struct fe_err *err);

/* ---- for image_crash.c ---- */

/* The numbers of the trims of all logical pages; 0: was never trimmed.  -EIO with a message. */
int fe_image_read_trims(struct fe_store *s, uint64_t *seqs, struct fe_err *err);

/* Where the record and the bytes of half [0, 2) of an entry are. */
uint64_t fe_image_entry_at(const struct fe_image *g, uint32_t entry, uint32_t half);
uint64_t fe_image_entry_bytes_at(const struct fe_image *g, uint32_t entry, uint32_t half);
