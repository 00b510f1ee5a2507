/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One bounded message that accompanies a negative errno.
 *
 * A function that can fail for a reason that a person has to fix (bad input, no memory, the
 * host's I/O) returns a negative errno and fills one of these structures.  The first message
 * wins: the place that found the error knows most about it, so a caller that passes the error on
 * must not overwrite the message.
 */
#pragma once

#include <stddef.h>

struct fe_err {
    char text[512]; /* one line, no newline at the end, empty = no error yet */
};

/* Starts with no message. */
static inline void fe_err_init(struct fe_err *err)
{
    err->text[0] = '\0';
}

/* Stores the message, unless err has one already.  err may be NULL: then nothing is stored.
 * A message that is too long is cut and ends in "...".  Control characters become '?', so that a
 * hostile file name cannot forge a second line.  Returns -errnum. */
int fe_err_set(struct fe_err *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends to the text in buf, of len bytes in all.  What does not fit is left out. */
void fe_text_add(char *buf, size_t len, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Stores "out of memory: WHAT (BYTES bytes)" in the same way; returns -ENOMEM. */
int fe_err_nomem(struct fe_err *err, const char *what, unsigned long long bytes);
