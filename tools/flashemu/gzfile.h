/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file that may be compressed by gzip, as a stream of its content.
 */
#pragma once

#include "flashemu/err.h"

#include <stdbool.h>
#include <stdio.h>

/* Opens a file for reading.  If it is compressed, the stream has the content and cannot be
 * rewound; a damaged file is a read error EIO of the stream.  *compressed says which it is.
 * Negative errno with message. */
int gzfile_open(FILE **ret, bool *compressed, const char *path, struct fe_err *err);

/* Whether there is a file of this name that may be read. */
bool gzfile_exists(const char *path);
