/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The option table for people, as the answer to `flashemu help`.
 *
 *     fe_options[] --------> print_one ------> flashemu help [KEY]
 *     fe_ftl_registry[] ---> print_strategy -> flashemu help STRATEGY
 *
 * Nothing about an option is written here: its help, range, default and users all come from its
 * row.  tools/make_manual.c shows the same facts in flashemu-profile(5), and whoever adds a column to
 * the table adds it to both.
 *
 * Writing is checked once at the end (finish), because stdio remembers an earlier failure.
 */
#include "profile/options.h"

#include "ftl/ftl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *fe_option_default_text(const struct fe_option *o)
{
    if (o->derived)
        return o->derived;
    if (o->def && o->def[0] == '\0')
        return "empty";
    return o->def ? o->def : "";
}

static int finish(FILE *out, struct fe_err *err)
{
    if (fflush(out) != 0 || ferror(out))
        return fe_err_set(err, EIO, "the option table could not be written");
    return 0;
}

/* The names of faults.lie, with what their arguments are when they are not given. */
static void print_lies(FILE *out)
{
    for (uint32_t i = 0; i < FE_N_LIES; i++) {
        char arg[FE_VALUE_MAX];
        fe_lie_argument(i, arg, sizeof arg);
        fprintf(out, "  %s%s%s\n      %s\n", fe_lie_name(i), *arg ? ":" : "", arg,
                fe_lie_sentence(i));
    }
}

/* The details of a key, as rows with their names cut off. */
static void print_details(const struct fe_option *o, FILE *out)
{
    for (const struct fe_option *d = o + 1; d <= o + o->n_details; d++) {
        char allowed[256];
        fe_option_allowed(d, allowed, sizeof allowed);
        fprintf(out, "  %s:%s\n      %s\n      allowed %s; default %s\n", strchr(d->key, ':') + 1,
                fe_option_type_name(d), d->help, allowed, fe_option_default_text(d));
    }
}

/* One option as a paragraph of `flashemu help`. */
static void print_one(const struct fe_option *o, FILE *out)
{
    char allowed[256], users[128];

    fe_option_allowed(o, allowed, sizeof allowed);
    fe_option_users(o, users, sizeof users);
    fprintf(out, "%s.%s: %s\n", fe_section_name(o->section), o->key, o->help);
    fprintf(out, "  type     %s\n", fe_option_type_name(o));
    fprintf(out, "  allowed  %s\n", allowed);
    if (o->zero)
        fprintf(out, "  0        means %s\n", o->zero);
    if (fe_option_required(o))
        fprintf(out, "  default  none, it must be given\n");
    else
        fprintf(out, "  default  %s\n", fe_option_default_text(o));
    if (fe_option_depends(o))
        fprintf(out, "  used by  %s\n", users);
    if (o->live)
        fprintf(out, "  live     may be set while the device runs\n");
    if (o->type == FE_OPT_LIES)
        print_lies(out);
    print_details(o, out);
}

/* A strategy: what it is, and the keys of [ftl] and [step] that it uses.  The keys of the other
 * sections are left out, although a strategy can use them as well; the full list has them. */
static void print_strategy(uint32_t type, FILE *out)
{
    fprintf(out, "ftl.type=%s: %s.\n", fe_ftl_registry[type]->name,
            fe_ftl_registry[type]->summary);
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        char key[64];
        snprintf(key, sizeof key, "%s.%s", fe_section_name(o->section), o->key);
        if (fe_option_is_own(o, type) && !fe_option_is_detail(o))
            fprintf(out, "  %-20s %s\n", key, o->help);
    }
}

/* The same for the strategy of a profile, with the profile's values: what somebody can change. */
int fe_options_help_profile(const struct fe_profile *p, FILE *out, struct fe_err *err)
{
    const char *strategy = fe_ftl_registry[p->ftl.type]->name;

    fprintf(out, "%s: %s\nftl.type=%s: %s.\n", p->name, p->device.model, strategy,
            fe_ftl_registry[p->ftl.type]->summary);
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        char key[160], value[96];
        if (!fe_option_is_own(o, p->ftl.type) || strcmp(o->key, "type") == 0 ||
            fe_option_is_detail(o))
            continue;
        snprintf(key, sizeof key, "%s.%s", fe_section_name(o->section), o->key);
        if (fe_profile_get(p, key, value, sizeof value))
            fprintf(out, "  %s = %s\n      %s\n", key, value, o->help);
    }
    return finish(out, err);
}

/* A strategy is looked for before a section, and a section before a key.  `step` is both of the
 * former, and its help as a strategy has the keys of the section.  A key has a dot. */
int fe_options_help(const char *key, FILE *out, struct fe_err *err)
{
    char hint[160];
    int type = key ? fe_ftl_find(key) : -1;
    enum fe_section section = key ? fe_section_find(key, strlen(key)) : FE_N_SECTIONS;
    bool first = true;

    if (type >= 0) {
        print_strategy((uint32_t)type, out);
        return finish(out, err);
    }
    if (section == FE_SEC_PROVENANCE || section == FE_SEC_FIDELITY)
        return fe_err_set(err, EINVAL, "[%s] has notes of the author and no options", key);
    if (key && section == FE_N_SECTIONS && !fe_option_find(key)) {
        fe_option_hint(FE_N_SECTIONS, key, hint, sizeof hint);
        return fe_err_set(err, EINVAL, "unknown key %.60s%s", key, hint);
    }
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        if (section != FE_N_SECTIONS ? o->section != section : key && o != fe_option_find(key))
            continue;
        if (!key || section != FE_N_SECTIONS ? fe_option_is_detail(o) : false)
            continue;
        if (!first)
            fputc('\n', out);
        first = false;
        print_one(o, out);
    }
    return finish(out, err);
}
