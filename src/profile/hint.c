/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Suggestions for a name that does not exist.
 *
 * The distance between two names is the number of edits that turn one into the other.  An edit
 * inserts, drops or replaces a letter, or swaps two neighbours (optimal string alignment).  A
 * change of case counts as one replacement.
 *
 * A name is suggested only if its distance is at most a third of the length of the longer name.
 * A suggestion that is farther away would mislead people.
 *
 * The hint for a key is the first of these that applies:
 *   1. the full name of a key of this very section: the section's name is to be left out;
 *   2. a similar key of the section that the user named;
 *   3. a similar full name in any section, unless some section has exactly this key;
 *   4. the section that has exactly this key;
 *   5. the section has no options at all;
 *   6. where all keys are listed.
 * The order matters.  A slip of the pen within the section (2) is more likely than the wrong
 * section (4).  An exact key elsewhere (4) is more likely than a similar one elsewhere (3).
 *
 * Hints are only made for a message that is about to be printed, so the cost (the whole table,
 * each time) does not matter.
 */
#include "profile/options.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 40 /* names beyond this are not compared; the longest key has 20 */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* rows[i % 3][j] is the distance between the first i letters of a and the first j letters of b.
 * Three rows of this table are enough: a swap looks back two rows.  Neither name may be longer than
 * LONGEST. */
static unsigned distance(const char *a, size_t la, const char *b, size_t lb)
{
    unsigned rows[3][LONGEST + 1];

    for (size_t j = 0; j <= lb; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            row[j] = min3(row[j - 1] + 1, above[j] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                above2[j - 2] + 1 < row[j])
                row[j] = above2[j - 2] + 1;
        }
    }
    return rows[la % 3][lb];
}

/* The distance, if it is small enough for a suggestion and smaller than `worst`; else `worst`.
 *
 * The difference of the lengths is a lower bound of the distance, so most names are dismissed
 * before a table is filled.  A name of up to three letters may have one edit: a third of such a
 * length would allow less than one for the shortest names. */
static unsigned near(const char *a, size_t la, const char *b, unsigned worst)
{
    size_t lb = strlen(b);
    size_t longer = la > lb ? la : lb, shorter = la > lb ? lb : la;
    unsigned limit = longer <= 3 ? 1 : (unsigned)(longer / 3);

    if (la == 0 || longer > LONGEST || longer - shorter > limit)
        return worst;
    unsigned d = distance(a, la, b, lb);
    return d <= limit && d < worst ? d : worst;
}

static void full_name(const struct fe_option *o, char *buf, size_t len)
{
    snprintf(buf, len, "%s.%s", fe_section_name(o->section), o->key);
}

/* Writes "; KEY belongs to [SECTION] or [SECTION]" with all sections that have exactly this key;
 * false if there is none. */
static bool elsewhere(const char *key, char *buf, size_t len)
{
    size_t n = 0;

    for (uint32_t i = 0; i < fe_n_options; i++) {
        if (strcmp(fe_options[i].key, key) != 0)
            continue;
        if (n == 0)
            n = (size_t)snprintf(buf, len, "; %s belongs to", key);
        else if (n < len)
            n += (size_t)snprintf(buf + n, len - n, " or");
        if (n < len)
            n += (size_t)snprintf(buf + n, len - n, " [%s]",
                                  fe_section_name(fe_options[i].section));
    }
    return n > 0;
}

/* The nearest key of the section; if section is FE_N_SECTIONS, the nearest full name of all. */
static const struct fe_option *nearest(enum fe_section section, const char *key)
{
    const struct fe_option *best = NULL;
    unsigned worst = ~0u;

    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        char full[LONGEST];
        full_name(o, full, sizeof full);
        if (section != FE_N_SECTIONS && o->section != section)
            continue;
        unsigned d = near(key, strlen(key), section == FE_N_SECTIONS ? full : o->key, worst);
        if (d < worst) {
            best = o;
            worst = d;
        }
    }
    return best;
}

/* True for the sections that hold notes instead of options. */
static bool section_is_empty(enum fe_section s)
{
    for (uint32_t i = 0; i < fe_n_options; i++)
        if (fe_options[i].section == s)
            return false;
    return true;
}

void fe_option_hint(enum fe_section section, const char *key, char *buf, size_t len)
{
    const char *dot = strchr(key, '.');
    const char *bare = dot ? dot + 1 : key;
    enum fe_section named = section;
    if (dot)
        named = fe_section_find(key, (size_t)(dot - key));

    const struct fe_option *o = fe_option_find(key);
    if (o && o->section == section) {
        snprintf(buf, len, "; inside [%s] write %s", fe_section_name(section), o->key);
        return;
    }
    if (elsewhere(bare, buf, len))
        return;
    o = named != FE_N_SECTIONS ? nearest(named, bare) : NULL;
    if (!o)
        o = nearest(FE_N_SECTIONS, key);
    if (o)
        snprintf(buf, len, "; did you mean %s.%s?", fe_section_name(o->section), o->key);
    else if (named != FE_N_SECTIONS && section_is_empty(named))
        snprintf(buf, len, "; [%s] has no keys yet", fe_section_name(named));
    else
        snprintf(buf, len, "; 'flashemu help' lists all keys");
}

/* The name is not a string: it stands between the brackets of a line. */
void fe_section_hint(const char *name, size_t name_len, char *buf, size_t len)
{
    unsigned worst = ~0u;
    const char *best = NULL;

    for (int s = 0; s < FE_N_SECTIONS; s++) {
        const char *candidate = fe_section_name((enum fe_section)s);
        unsigned d = near(name, name_len, candidate, worst);
        if (d < worst) {
            best = candidate;
            worst = d;
        }
    }
    if (best) {
        snprintf(buf, len, "; did you mean [%s]?", best);
        return;
    }
    size_t n = (size_t)snprintf(buf, len, "; known:");
    for (int s = 0; s < FE_N_SECTIONS && n < len; s++)
        n += (size_t)snprintf(buf + n, len - n, " [%s]", fe_section_name((enum fe_section)s));
}
