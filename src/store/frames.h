/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of pages in memory, for store.c: pages name frames (frames.c).
 *
 * Pages of the chip have bytes only if they name a frame.  A page that is written must not name
 * one yet, except in fe_frames_overwrite.
 *
 * No lock: the owner serialises.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/types.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_frames;

/* For n_pages pages of page_bytes bytes, together at most INT64_MAX bytes.  -ENOMEM or the errno of
 * the host, with a message.  fe_frames_destroy ends it; NULL is allowed. */
int fe_frames_create(struct fe_frames **ret, uint64_t n_pages, uint32_t page_bytes,
                     struct fe_err *err);
void fe_frames_destroy(struct fe_frames *f);

/* The bytes of a page, valid until the next change; NULL: it has none. */
const uint8_t *fe_frames_at(const struct fe_frames *f, fe_ppn ppn);

/* As fe_store_write.  A plain copy (len 0) costs O(1); anything else O(page_bytes). */
void fe_frames_write(struct fe_frames *f, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                     const void *data);

/* As fe_store_lend and fe_store_take_back. */
uint8_t *fe_frames_lend(struct fe_frames *f, const void *data);
bool fe_frames_take_back(struct fe_frames *f, const uint8_t *data);

/* As fe_store_overwrite.  Pages that have the same frame keep their bytes. */
void fe_frames_overwrite(struct fe_frames *f, fe_ppn ppn, uint32_t off, uint32_t len,
                         const void *data);

/* As fe_store_put_aside and its two ends, for a page that has bytes; *ret_name is never 0.  O(1).
 * -ENOMEM: as many pages as there are names for are aside already. */
int fe_frames_put_aside(struct fe_frames *f, fe_ppn ppn, uint32_t *ret_name);
void fe_frames_put_back(struct fe_frames *f, fe_ppn ppn, uint32_t name);
void fe_frames_drop_aside(struct fe_frames *f, uint32_t name);

/* As fe_store_fetch. */
void fe_frames_fetch(const struct fe_frames *f, fe_ppn first, uint32_t n);

/* Pages [first, first + n) have no bytes from now on.  O(n). */
void fe_frames_forget(struct fe_frames *f, fe_ppn first, uint32_t n);
