/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text of the program's tables for manual pages.
 */
#pragma once

#include <stdio.h>

/* Writes text, which has no newline, so that roff prints it as it is.  The text must begin a line of
 * the page.  What follows a period and two blanks begins another. */
void fe_roff_put(FILE *out, const char *text);
