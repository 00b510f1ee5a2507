/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The picture of `flashemu align`: a panel for each pattern, with a bar for each start.
 */
#pragma once

#include "align/align.h"

/* Writes the picture to the file `path`.  `title` names the device, and `note` stands below it: what
 * nobody has measured, or "".  `profile` is what the user gave
 * as the profile: if that is a file, it is not overwritten.  Negative errno with message; an
 * incomplete file does not stay. */
int align_svg_write(const struct align_result *a, const char *title, const char *note,
                    const char *path, const char *profile, struct fe_err *err);
