/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of mistakes in a profile.
 *
 * Mistakes are found in any order and printed in the order of the file's lines.  Loading a profile
 * needs only the first mistake, so only that one is kept.  `flashemu check` needs all of them.
 */
#pragma once

#include "flashemu/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A mistake that was kept.  The list owns the text. */
struct fe_mistake {
    unsigned line;
    uint32_t seq; /* keeps the order of mistakes of one line */
    char *text;
};

/* `first` is always kept, so loading needs no memory for messages.  If `all` is false, `list` stays
 * NULL and nomem stays false. */
struct fe_mistakes {
    bool all;             /* keep every mistake, not only the first */
    bool nomem;           /* there was no memory for a mistake; the list is not complete */
    uint32_t n;           /* mistakes added */
    size_t n_max;         /* room in list */
    struct fe_err first;  /* the mistake in the lowest line so far */
    unsigned first_line;
    struct fe_mistake *list;
};

/* Begins an empty list; fini frees what it holds.  Neither can fail. */
void fe_mistakes_init(struct fe_mistakes *m, bool all);
void fe_mistakes_fini(struct fe_mistakes *m);

/* Adds a mistake.  text is the whole message, with file and line; line only says where the mistake
 * belongs in the order.  UINT32_MAX puts it at the end: overrides have no line.  The text is
 * copied.  If there is no memory for it, nomem is set, and later mistakes are ignored. */
void fe_mistakes_add(struct fe_mistakes *m, unsigned line, const struct fe_err *text);

/* Prints all mistakes, each on a line of its own.  Needs `all`.  The caller checks
 * nomem before, and `out` for errors after. */
void fe_mistakes_print(struct fe_mistakes *m, FILE *out);
