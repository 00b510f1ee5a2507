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
};

static const char begin[] = "taken from ", end[] = ", not measured";

static bool is_taken(const char *value)
{
    size_t len = strlen(value), tail = sizeof end - 1;
    return strncmp(value, begin, sizeof begin - 1) == 0 && len > sizeof begin - 1 + tail &&
           strcmp(value + len - tail, end) == 0;
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
    struct unmeasured u = {.few = provenance_of(profile, "figures")};

    u.decides = u.few != NULL;
    for (uint32_t i = 0; i < UNMEASURED_MAX; i++) {
        const char *value = provenance_of(profile, structure[i].key);
        if (!value || !is_taken(value) || is_overridden(structure[i].key, overrides, n_overrides))
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

void unmeasured_say(FILE *out, const struct unmeasured *u)
{
    if (u->few)
        fprintf(out, "%s.  ", u->few);
    if (u->n == 0)
        return;
    fprintf(out, "Not measured, but taken from %.*s: ",
            (int)(strlen(u->value[0]) - (sizeof begin - 1) - (sizeof end - 1)),
            u->value[0] + sizeof begin - 1);
    for (uint32_t i = 0; i < u->n; i++)
        fprintf(out, "%s%s", i == 0 ? "" : i + 1 < u->n ? ", " : " and ", words_of(u->key[i]));
    fputs(".  ", out);
}
