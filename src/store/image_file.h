/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of an image: writes to it, syncs of it, and its failures.
 *
 * The first write that fails (no space, an I/O error) is the last one tried.  From then on the
 * file stays as it is, which is a state that the chip has been in, and fe_store_failure says
 * why.  So a function that writes has no result: the owner asks fe_store_failure before it
 * answers anybody.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/image.h"

#include <stddef.h>

struct fe_store;
struct fe_image;

/* 0 while all is well.  Otherwise a negative errno (-ENOSPC, -EIO ...), with the reason why nothing
 * can be written any more. */
int fe_store_failure(const struct fe_store *s, struct fe_err *err);

/* Makes what has been written so far last through a crash of the host.  Without `sync` of
 * struct fe_store_file it does nothing.
 *
 * There are three steps, because the middle one takes long and needs no lock.  begin and end
 * belong to the owner, who holds the lock; everything except fe_store_destroy may go on
 * simultaneously with run, but the next begin comes after this end.  end is given run's result,
 * and returns 0 or a negative errno.  After a failure every end fails. */
struct fe_store_sync fe_store_sync_begin(struct fe_store *s);
int fe_store_sync_run(const struct fe_store *s);
int fe_store_sync_end(struct fe_store *s, struct fe_store_sync sync, int result);

/* A power cut may take back programs with a number above seq, and no others.  The image never
 * says of such a program that it is surely on the disk: taking it back changes its record and the
 * bytes in any order, so after a crash of the host its bytes have to be looked at.  UINT64_MAX,
 * which is also what it is at first: none. */
void fe_store_set_final(struct fe_store *s, uint64_t seq);

/* With `sync`, everything so far is on the disk when this returns, and the status there says so.  A
 * power cut needs it before the first program is taken back, and after the last one: numbers that
 * are missing then are not those of programs that a crash of the host has lost.  Nothing if that is
 * so already. */
void fe_store_sync_all(struct fe_store *s);

/* ---- for the files of this folder ---- */

/* Reads a part of the file, or says what could not be read.  0 or a negative errno. */
int fe_image_get(const struct fe_image *g, void *buf, size_t len, uint64_t at, const char *what,
                 struct fe_err *err);

/* Writes unless an earlier write has failed; `doing` says what, in words. */
void fe_image_put(struct fe_image *g, const void *buf, size_t len, uint64_t at,
                  const char *doing);

/* Remembers the first failure. */
void fe_image_fail(struct fe_image *g, int errnum, const char *doing);

/* Writes g->status into the older one of its two places.  0 or a negative errno. */
int fe_image_write_status(struct fe_image *g);

/* fdatasync now, inside an operation, because what comes next may only follow it. */
void fe_image_sync_now(struct fe_store *s);

/* The same, and when it returns the status on the disk says so, too. */
void fe_image_sync_and_tell(struct fe_store *s);

/* Closes the file and frees everything; removes the file if its making was not completed. */
void fe_image_destroy(struct fe_image *g);
