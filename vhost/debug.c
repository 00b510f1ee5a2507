/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files that come from the plugin say for debugging; here nothing switches it on.
 */
#include "debug.h"

#include <stdarg.h>
#include <stdio.h>

int flashemu_debug_request, flashemu_debug_nand, flashemu_debug_control;

void fe_debug(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
}
