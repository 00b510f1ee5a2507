/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's calls over a file that must stay as it is: what is written is kept in memory, and
 * reads see it.  So an image can be looked at by the code that serves it, mending included.
 */
#pragma once

#include "flashemu/err.h"
#include "store/io.h"

struct fe_overlay;

/* Over one file, which `below` reads; below must outlive it.  -ENOMEM with a message. */
int fe_overlay_create(struct fe_overlay **ret, const struct fe_io *below, struct fe_err *err);
void fe_overlay_destroy(struct fe_overlay *o); /* NULL is allowed */

/* Its calls: pwrite may fail with ENOMEM,
 * fdatasync has nothing to do, ftruncate is refused with EROFS, and a hole is not punched. */
const struct fe_io *fe_overlay_io(const struct fe_overlay *o);
