/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The distance between two names is the number of edits that turn one into the other.  An edit
 * inserts, drops or replaces a letter, or swaps two neighbours (optimal string alignment).  Upper and
 * lower case are the same letter.
 *
 * A name is near enough if its distance is at most a quarter of the length of the longer name, and at
 * most MOST_EDITS.  Who types "bandw" has not finished: a word of FEWEST letters and more also stands
 * for the names that begin with it, with half as many edits, though a slip of the pen is nearer.
 * A suggestion that is farther away would mislead people.
 *
 * flashemu_lab/core/text.py has the same rule, and tests/data/guesses.tsv the examples of both.
 */
#include "base/guess.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 40   /* names beyond this are not compared */
#define MOST_EDITS 3
#define FEWEST 3     /* letters of the beginning of a name */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* rows[i % 3][j] is the distance between the first i letters of a and the first j letters of b.
 * Three rows of this table are enough: a swap looks back two rows.  Neither name may be longer than
 * LONGEST.  *ret_begun is the distance to the nearest beginning of b. */
static unsigned distance(const char *a, size_t la, const char *b, size_t lb, unsigned *ret_begun)
{
    unsigned rows[3][LONGEST + 1];

    for (size_t j = 0; j <= lb; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            row[j] = min3(row[j - 1] + 1, above[j] + 1, above[j - 1] + !same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]) &&
                above2[j - 2] + 1 < row[j])
                row[j] = above2[j - 2] + 1;
        }
    }
    *ret_begun = UINT_MAX;
    for (size_t j = 0; j <= lb; j++)
        if (rows[la % 3][j] < *ret_begun)
            *ret_begun = rows[la % 3][j];
    return rows[la % 3][lb];
}

/* A word of two or three letters may have one edit, of which a quarter would allow none. */
static unsigned most_edits(size_t longer)
{
    unsigned quarter = longer < 2 ? 0 : longer < 4 ? 1 : (unsigned)(longer / 4);
    return quarter < MOST_EDITS ? quarter : MOST_EDITS;
}

void fe_guess_try(struct fe_guess *g, const char *typed, size_t len, const char *name)
{
    size_t other = strlen(name), longer = len > other ? len : other;
    unsigned begun;

    if (len == 0 || longer > LONGEST)
        return;
    unsigned d = distance(typed, len, name, other, &begun);
    if (d > most_edits(longer)) {
        if (len < FEWEST || len >= other || begun > most_edits(len) / 2)
            return;
        d = MOST_EDITS + begun + (unsigned)(other - len);
    }
    if (d < g->distance)
        *g = (struct fe_guess){name, d};
}

const char *fe_guess_word(const char *typed, size_t len, const char *names,
                          char buf[static FE_GUESS_MAX])
{
    struct fe_guess guess = FE_GUESS_NONE;

    buf[0] = '\0';
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, " ,|");
        char word[LONGEST + 1];
        unsigned before = guess.distance;
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        if (n > 0 && n <= LONGEST)
            fe_guess_try(&guess, typed, len, word);
        if (guess.distance < before)
            snprintf(buf, FE_GUESS_MAX, "did you mean %s? ", word);
        p += n + strspn(p + n, " ,|");
    }
    return buf;
}

bool fe_name_is(const char *typed, const char *name)
{
    while (*typed && (*typed == *name || (strchr("-_", *typed) && *name && strchr("-_", *name)))) {
        typed++;
        name++;
    }
    return *typed == '\0' && *name == '\0';
}
