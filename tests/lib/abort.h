/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests of rules that only a bug can break.  The core aborts then, so the test lets it abort in a
 * child process.
 */
#pragma once

#include <stdbool.h>

/* Runs fn(ctx) in a child process without its messages.  Returns whether SIGABRT ended it. */
bool ft_aborts(void (*fn)(void *ctx), void *ctx);
