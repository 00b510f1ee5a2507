/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Images: stores in a file, which also keep what a chip has besides its bytes, so that the next
 * run finds it.
 *
 *     image.h         making, opening and closing; what the image is an image of
 *     image_file.h    syncs, and failures of the host
 *     image_page.h    records of pages and blocks
 *     image_extra.h   the controller's write cache, trims and journal
 */
#pragma once

#include "flashemu/image.h"
#include "store/image_format.h"

struct fe_store;

/* Makes an image: a new file, or one whose making was interrupted.  Nothing in it is
 * erased or programmed.  Until fe_store_image_ready it counts as not there, and what is
 * set stays in memory.  -EEXIST, or the host's errno; nothing is left behind. */
int fe_store_image_create(struct fe_store **ret, const struct fe_store_file *f,
                          const struct fe_store_what *what, struct fe_err *err);
int fe_store_image_ready(struct fe_store *s, struct fe_err *err);

/* Opens an image and locks it.  -ENOENT if there is none, or one whose making was
 * interrupted; -EBUSY if another process has it; -EINVAL for what is not an image or is of
 * another version; -EIO if it is damaged; else the host's errno.
 *
 * If the host has crashed since, what the disk has of the image is put right first.  read_only
 * cannot do that: see struct fe_store_file; -EROFS if it is refused. */
int fe_store_image_open(struct fe_store **ret, const struct fe_store_file *f, struct fe_err *err);

/* The end of a run: everything goes to the disk (with `sync`) and the image is clean.
 * Destroying a store without that is like killing the server, and loses as little. */
int fe_store_image_close(struct fe_store *s, struct fe_err *err);

/* NULL for a store in memory. */
const struct fe_store_what *fe_store_image(const struct fe_store *s);

/* Whether the last run has ended by fe_store_image_close, and none has begun since. */
bool fe_store_is_clean(const struct fe_store *s);

/* A line for people on what was found when it was opened, and is no damage: what a crash of the host
 * has cost, or that one of the two copies of its status, or of the device's clock and counters, is
 * damaged, and the other one, which may be older, is used.  NULL if there was nothing. */
const char *fe_store_image_note(const struct fe_store *s);

/* The highest number of a program that the image has seen, once all is loaded. */
uint64_t fe_store_last_seq(const struct fe_store *s);

/* All pages and trims have been loaded, and nothing was programmed meanwhile: the next program gets
 * the number after the highest one. */
void fe_store_loaded(struct fe_store *s);
