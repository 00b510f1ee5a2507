/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is wrong with a profile, found in any order, told in the order of its lines.
 *
 * Loading wants the first mistake only and keeps no more than that one; checking wants
 * them all.
 */
#ifndef FE_PROFILE_MISTAKES_H
#define FE_PROFILE_MISTAKES_H

#include "flashemu/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fe_mistake {
    unsigned line;
    uint32_t seq; /* keeps the order of mistakes of one line */
    char *text;
};

struct fe_mistakes {
    bool all;             /* keep every one */
    bool nomem;           /* one was lost for want of memory */
    uint32_t n, n_max;
    struct fe_err first;  /* of the lowest line so far */
    unsigned first_line;
    struct fe_mistake *list;
};

void fe_mistakes_init(struct fe_mistakes *m, bool all);
void fe_mistakes_fini(struct fe_mistakes *m);

/* text is the whole message, with file and line. */
void fe_mistakes_add(struct fe_mistakes *m, unsigned line, const struct fe_err *text);

/* One a line. */
void fe_mistakes_print(struct fe_mistakes *m, FILE *out);

#endif
