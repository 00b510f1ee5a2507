/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nbdkit's command line: what it says that nbdkit does not tell to plugins.
 *
 * It is read from /proc, once for each question, before the server serves.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The command line as one text, cut to size - 1 bytes; empty if it cannot be read. */
void fe_cmdline_text(char *buf, size_t size);

/* Whether nbdkit was started with -r.  nbdkit tells a plugin only when a client comes, and an image
 * is opened before that.  An argument of another option that looks like -r counts, too; false if
 * the command line cannot be read. */
bool fe_cmdline_is_read_only(void);
