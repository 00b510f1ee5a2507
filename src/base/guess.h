/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of some names a person may have meant who typed one that does not exist.
 *
 *     struct fe_guess g = FE_GUESS_NONE;
 *     for (each name)
 *         fe_guess_try(&g, typed, strlen(typed), name);
 *     if (g.name)
 *         printf("did you mean %s?", g.name);
 *
 * A guess is only made for a message that is about to be printed, so its cost does not matter.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct fe_guess {
    const char *name; /* NULL: none is near enough */
    unsigned distance;
};

#define FE_GUESS_NONE ((struct fe_guess){NULL, UINT_MAX})

/* Takes `name`, which the caller keeps, if it is near enough to what was typed and nearer than what
 * *g has. */
void fe_guess_try(struct fe_guess *g, const char *typed, size_t len, const char *name);

enum { FE_GUESS_MAX = 80 };

/* The same for names that stand in one text with blanks, commas or '|' between them.  Writes
 * "did you mean NAME? " into buf, or "" if none is near enough, and returns buf. */
const char *fe_guess_word(const char *typed, size_t len, const char *names,
                          char buf[static FE_GUESS_MAX]);

/* Whether two names are the same but for '-' and '_', of which nobody remembers which it was. */
bool fe_name_is(const char *typed, const char *name);
