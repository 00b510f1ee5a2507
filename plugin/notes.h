/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notes to the user: what the server does, and the user may not expect.  A note is no error, so it
 * does not go through nbdkit_error, which calls everything an error.
 *
 *     standard error   as long as somebody may read it: before the fork, and with -f, --run, -v
 *     syslog           afterwards, as a notice: nbdkit in the background has no standard error
 */
#pragma once

/* To be called first, before nbdkit forks, and when it has forked. */
void fe_notes_init(void);
void fe_notes_after_fork(void);

/* Prints "nbdkit: flashemu: note: TEXT".  Any thread may call it. */
void fe_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
