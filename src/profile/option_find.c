/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How to find a section, and a row of the table of options (options.c).  Names are compared one
 * after the other: a profile has some dozen keys, and is read once.
 */
#include "profile/options.h"

#include "base/guess.h"

#include <string.h>

/* By enum fe_section, whose order is the order in which sections are printed. */
static const char *const section_names[FE_N_SECTIONS] = {
    "device", "nand", "ftl", "cache", "link", "ecc", "faults", "step", "provenance", "fidelity",
};

const char *fe_section_name(enum fe_section s)
{
    return section_names[s];
}

enum fe_section fe_section_find(const char *name, size_t len)
{
    int s = 0;
    while (s < FE_N_SECTIONS &&
           (strlen(section_names[s]) != len || memcmp(section_names[s], name, len) != 0))
        s++;
    return (enum fe_section)s;
}

const struct fe_option *fe_option_in(enum fe_section s, const char *key)
{
    for (uint32_t i = 0; i < fe_n_options; i++)
        if (fe_options[i].section == s && fe_name_is(key, fe_options[i].key))
            return &fe_options[i];
    return NULL;
}

enum fe_section fe_section_of(const char *full_key, const char **ret_key)
{
    const char *dot = strchr(full_key, '.');
    *ret_key = dot ? dot + 1 : full_key;
    return dot ? fe_section_find(full_key, (size_t)(dot - full_key)) : FE_N_SECTIONS;
}

const struct fe_option *fe_option_find(const char *full_key)
{
    const char *key;
    enum fe_section s = fe_section_of(full_key, &key);
    return fe_option_in(s, key); /* no row has FE_N_SECTIONS */
}
