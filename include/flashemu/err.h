/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One bounded message beside a negative errno.
 *
 * Functions that can fail for a reason that a person has to mend (bad input, no
 * memory, the host's I/O) return a negative errno and fill one of these.  The
 * first message wins: a caller that passes an error on must not overwrite what
 * the place that knew best has said.
 */
#ifndef FLASHEMU_ERR_H
#define FLASHEMU_ERR_H

struct fe_err {
    char text[384]; /* one line, no newline at the end, empty = no error yet */
};

/* Starts with no message. */
static inline void fe_err_init(struct fe_err *err)
{
    err->text[0] = '\0';
}

/* Stores the message unless one is there already; err may be NULL.  Too long a
 * message is cut and ends in "...".  Control characters of the arguments become
 * '?', so that a hostile name cannot forge a second line.  Returns -errnum. */
int fe_err_set(struct fe_err *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for memory: "out of memory: what (bytes)", -ENOMEM. */
int fe_err_nomem(struct fe_err *err, const char *what, unsigned long long bytes);

#endif
