/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests of rules whose breaking is a bug: the core aborts, in a child process here.
 */
#ifndef FT_ABORT_H
#define FT_ABORT_H

#include <stdbool.h>

/* Runs fn(ctx) in a child, silently; whether it ended by SIGABRT. */
bool ft_aborts(void (*fn)(void *ctx), void *ctx);

#endif
