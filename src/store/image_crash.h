/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a crash of the host has left of an image is put right.
 */
#pragma once

#include "flashemu/err.h"

struct fe_store;

/* The host has crashed since the image was served, or is another one.  Afterwards the image has
 * a state that the chip has been in, with everything that was synced; a note for people is in
 * img->note.  An image that is only read is left as it is, or refused (-EROFS).  -EIO or
 * -ENOMEM. */
int fe_image_mend(struct fe_store *s, struct fe_err *err);
