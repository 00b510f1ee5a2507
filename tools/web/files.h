/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files in memory: recordings, and what somebody has dropped onto the page.  A browser has no file
 * system, so JavaScript hands in each content, decompressed, with a name.
 */
#pragma once

#include <stddef.h>

/* Where recordings are looked up by their names; the build sets FLASHEMU_RECORDINGS_DIR to it. */
#define WEB_RECORDINGS "/recordings"

/* Keeps a file, and takes over its content, which is malloc's.  A file of the same name is replaced.
 * Returns 0, or -ENOMEM; then the content stays the caller's. */
int web_files_keep(const char *name, char *content, size_t len);

/* The content of a file, and its length; NULL if there is none. */
const char *web_files_find(const char *name, size_t *ret_len);
