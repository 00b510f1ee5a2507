/* SPDX-License-Identifier: BSD-3-Clause */
#include "align/unmeasured.h"

#include <string.h>

/* What decides where partitions should begin comes first; open units only decide how fast writes
 * are. */
static const struct {
    const char *key, *words;
    bool decides;
} structure[UNMEASURED_MAX] = {
    {"ftl.type", "how writes are mapped", true},
    {"ftl.unit_size", "the allocation unit", true},
    {"ftl.group_units", "how many units make an allocation unit", true},
    {"nand.page_size", "the page", true},
    {"ftl.open_linear", "how many units are open in order", false},
    {"ftl.open_random", "how many units are open in random order", false},
    {"ftl.open_units", "how many units are open in any order", false},
    {"ftl.random_log", "how much a unit takes in random order", false},
};

static const char taken[] = "taken from ", end[] = ", not measured";
static const char assumed[] = "assumed, not measured";

/* How long the part of a line is that says from where the number is, such as "taken from NAME"; 0 if
 * it was measured. */
static size_t source_of(const char *value)
{
    size_t len = strlen(value), tail = sizeof end - 1;

    if (strncmp(value, assumed, sizeof assumed - 1) == 0)
        return sizeof assumed - sizeof end;
    return strncmp(value, taken, sizeof taken - 1) == 0 && len > sizeof taken - 1 + tail &&
                   strcmp(value + len - tail, end) == 0
               ? len - tail : 0;
}

static const char *provenance_of(const struct fe_profile *profile, const char *key)
{
    for (uint32_t i = 0; i < profile->n_provenance; i++)
        if (strcmp(profile->provenance[i].key, key) == 0)
            return profile->provenance[i].value;
    return NULL;
}

static bool is_overridden(const char *key, const char *const *overrides, uint32_t n)
{
    size_t len = strlen(key);
    for (uint32_t i = 0; i < n; i++)
        if (strncmp(overrides[i], key, len) == 0 && overrides[i][len] == '=')
            return true;
    return false;
}

struct unmeasured unmeasured_of(const struct fe_profile *profile, const char *const *overrides,
                                uint32_t n_overrides)
{
    struct unmeasured u = {.few = provenance_of(profile, "figures"),
                           .worst = provenance_of(profile, "worst")};

    u.decides = u.few != NULL;
    for (uint32_t i = 0; i < UNMEASURED_MAX; i++) {
        const char *value = provenance_of(profile, structure[i].key);
        if (!value || !source_of(value) || is_overridden(structure[i].key, overrides, n_overrides))
            continue;
        u.key[u.n] = structure[i].key;
        u.value[u.n++] = value;
        u.decides |= structure[i].decides;
    }
    return u;
}

static const char *words_of(const char *key)
{
    uint32_t i = 0;
    while (strcmp(structure[i].key, key) != 0)
        i++;
    return structure[i].words;
}

/* Whether two lines name the same source. */
static bool same_source(const char *a, const char *b)
{
    return source_of(a) == source_of(b) && strncmp(a, b, source_of(a)) == 0;
}

/* The numbers with the source of number `first`. */
static void say_source(FILE *out, const struct unmeasured *u, uint32_t first)
{
    uint32_t n = 0, said = 0;

    for (uint32_t i = first; i < u->n; i++)
        n += same_source(u->value[first], u->value[i]);
    fprintf(out, "Not measured, but %.*s: ", (int)source_of(u->value[first]), u->value[first]);
    for (uint32_t i = first; i < u->n; i++)
        if (same_source(u->value[first], u->value[i])) {
            fprintf(out, "%s%s", said == 0 ? "" : said + 1 < n ? ", " : " and ", words_of(u->key[i]));
            said++;
        }
    fputs(".  ", out);
}

void unmeasured_say(FILE *out, const struct unmeasured *u)
{
    if (u->few)
        fprintf(out, "%s.  ", u->few);
    for (uint32_t i = 0; i < u->n; i++) {
        uint32_t first = 0;
        while (!same_source(u->value[first], u->value[i]))
            first++;
        if (first == i)
            say_source(out, u, i);
    }
    if (u->worst)
        fprintf(out, "%s.  ", u->worst);
}
