/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture of the wear, in which each block of the chip is a square.
 */
#pragma once

#include "flashemu/device.h"

#include <stdio.h>

/* Writes the picture to a file.  Returns 0, or -ENOMEM with message.  The caller checks whether the
 * file could be written. */
int wear_svg_write(const struct fe_device *dev, FILE *out, struct fe_err *err);
