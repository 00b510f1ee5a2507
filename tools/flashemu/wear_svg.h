/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture of the wear: every block of the chip as a square.
 */
#ifndef WEAR_SVG_H
#define WEAR_SVG_H

#include "flashemu/device.h"

/* Writes it to a file.  0, or the host's errno with a message. */
int wear_svg_write(const struct fe_device *dev, const char *path, struct fe_err *err);

#endif
