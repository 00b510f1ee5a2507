/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `nbdkit -v -D flashemu.LAYER=1` switches on.  nbdkit finds these variables by their names.
 */
#pragma once

extern int flashemu_debug_request; /* each request: arrival, completion, status, lateness */
extern int flashemu_debug_nand;    /* each operation of the chip, with its times */
extern int flashemu_debug_control; /* each line of the control socket */

/* Writes a line to nbdkit's debug output. */
void fe_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
