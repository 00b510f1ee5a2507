/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of one recording of blktrace, NAME.blktrace.CPU for each processor, as one stream.
 */
#pragma once

#include "flashemu/err.h"

#include <stdio.h>

/* If path is one of several such files that lie side by side, opens all of them: the stream has the
 * events of all in order of time.  Otherwise *ret is NULL.  Negative errno with message. */
int blktracefile_open(FILE **ret, const char *path, struct fe_err *err);
