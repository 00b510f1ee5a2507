/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Suggestions for a key or a section that does not exist.  base/guess.h says which names are similar.
 *
 * The hint for a key is the first of these that applies:
 *   1. the full name of a key of this very section: the section's name is to be left out;
 *   2. a similar key of the section that the user named;
 *   3. a similar full name in any section, unless some section has exactly this key;
 *   4. the section that has exactly this key;
 *   5. the section has no options at all;
 *   6. where all keys are listed.
 * A key that went, under its full name, comes before all but the first.
 * The order matters.  A slip of the pen within the section (2) is more likely than the wrong
 * section (4).  An exact key elsewhere (4) is more likely than a similar one elsewhere (3).
 *
 * Hints are only made for a message that is about to be printed, so the cost (the whole table,
 * each time) does not matter.
 */
#include "profile/old_keys.h"

#include "base/guess.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 40 /* bytes of a full name */

/* Writes "; KEY belongs to [SECTION] or [SECTION]" with all sections that have exactly this key;
 * false if there is none. */
static bool elsewhere(const char *key, char *buf, size_t len)
{
    buf[0] = '\0';
    for (uint32_t i = 0; i < fe_n_options; i++) {
        if (strcmp(fe_options[i].key, key) != 0)
            continue; /* no detail: their names have a ':' */
        if (buf[0])
            fe_text_add(buf, len, " or");
        else
            snprintf(buf, len, "; %s belongs to", key);
        fe_text_add(buf, len, " [%s]", fe_section_name(fe_options[i].section));
    }
    return buf[0];
}

/* Writes what became of a key that went; false if it is none. */
static bool went(enum fe_section section, const char *key, char *buf, size_t len)
{
    const struct fe_old_key *old = section == FE_N_SECTIONS ? fe_old_key_find(key)
                                                            : fe_old_key_in(section, key);
    if (old && old->heir)
        snprintf(buf, len, "; it is %s now", old->heir);
    else if (old)
        snprintf(buf, len, "; there is no such key any more: %s", old->why);
    return old;
}

/* The nearest key of the section; if section is FE_N_SECTIONS, the nearest full name of all. */
static const struct fe_option *nearest(enum fe_section section, const char *key)
{
    const struct fe_option *best = NULL;
    struct fe_guess guess = FE_GUESS_NONE;

    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        unsigned before = guess.distance;
        char full[LONGEST];
        snprintf(full, sizeof full, "%s.%s", fe_section_name(o->section), o->key);
        if (section != FE_N_SECTIONS && o->section != section)
            continue;
        fe_guess_try(&guess, key, strlen(key), section == FE_N_SECTIONS ? full : o->key);
        if (guess.distance < before)
            best = o;
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
    const char *bare;
    enum fe_section named = fe_section_of(key, &bare);
    if (bare == key)
        named = section;
    const struct fe_option *o = fe_option_find(key);
    if (o && o->section == section) {
        snprintf(buf, len, "; inside [%s] write %s", fe_section_name(section), o->key);
        return;
    }
    if (went(section, key, buf, len) || elsewhere(bare, buf, len))
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
    struct fe_guess guess = FE_GUESS_NONE;

    for (; name_len > 0 && name[0] == ' '; name_len--)
        name++;
    while (name_len > 0 && name[name_len - 1] == ' ')
        name_len--;
    for (int s = 0; s < FE_N_SECTIONS; s++)
        fe_guess_try(&guess, name, name_len, fe_section_name((enum fe_section)s));
    if (guess.name) {
        snprintf(buf, len, "; did you mean [%s]?", guess.name);
        return;
    }
    snprintf(buf, len, "; known:");
    for (int s = 0; s < FE_N_SECTIONS; s++)
        fe_text_add(buf, len, " [%s]", fe_section_name((enum fe_section)s));
}
