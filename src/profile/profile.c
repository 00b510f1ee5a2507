/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be done with a finished profile: copy, set a key, get a key, print, free.
 *
 * fe_profile_set changes a copy, derives the defaults anew and checks everything.  Only if all of
 * that is good, the copy replaces the profile.  The notes are not copied: they belong to the
 * profile before and after.
 *
 *     profile --copy, open times--> changed --parse, drop, derive, check, close--> profile
 *                                      |
 *                                      '--> the first complaint; the profile stays as it was
 *
 * These are the steps of fe_settle, with one difference: nobody looks for missing keys, because
 * the profile was complete before.  So a change of ftl.type does not notice that the new strategy
 * requires a key that the old one did not use.  given[] decides what is derived anew.  A key that
 * has been set once stays as it was set, however other keys change later.
 *
 * Printing is the inverse of parsing, and images depend on that: an image stores the printed text.
 * Keys that the strategy does not use are not printed, because the parser would refuse them.
 */
#include "flashemu/profile.h"

#include "ftl/ftl.h"
#include "profile/notes.h"
#include "profile/old_keys.h"
#include "profile/parse.h"

#include <errno.h>
#include <string.h>

void fe_profile_fini(struct fe_profile *p)
{
    fe_notes_free(p->provenance, p->n_provenance);
    fe_notes_free(p->fidelity, p->n_fidelity);
    memset(p, 0, sizeof *p);
}

/* *ret is written at the end only, so a failure leaves nothing in it to free. */
int fe_profile_copy(struct fe_profile *ret, const struct fe_profile *p, struct fe_err *err)
{
    struct fe_profile copy = *p;

    int r = fe_notes_copy(&copy.provenance, &copy.n_provenance, p->provenance, p->n_provenance,
                          err);
    if (r < 0)
        return r;
    r = fe_notes_copy(&copy.fidelity, &copy.n_fidelity, p->fidelity, p->n_fidelity, err);
    if (r < 0) {
        fe_notes_free(copy.provenance, copy.n_provenance);
        return r;
    }
    *ret = copy;
    return 0;
}

/* Collects the first complaint about a changed profile.  There is no file and line to name here,
 * so the message names the key only if it is another one than the user has changed. */
struct blame {
    const struct fe_profile *p;
    const struct fe_option *changed;
    struct fe_err why;
};

/* Takes complaints of fe_check.  fe_err_set keeps the message that is there already, so the first
 * complaint stays. */
static void blame(void *ctx, const struct fe_option *o, const struct fe_option *other,
                  const char *why)
{
    (void)other;
    struct blame *b = ctx;
    char value[FE_VALUE_MAX];

    fe_option_print(o, b->p, value, sizeof value);
    if (o == b->changed)
        fe_err_set(&b->why, EINVAL, "%s", why);
    else
        fe_err_set(&b->why, EINVAL, "%s.%s = %s %s", fe_section_name(o->section), o->key, value,
                   why);
}

/* The times are opened before the new value is parsed.  Otherwise the profile would have three
 * values for each time, and the check could not tell how many of them were given. */
int fe_profile_set(struct fe_profile *p, const char *key, const char *value, struct fe_err *err)
{
    const struct fe_option *o = fe_option_find(key);
    const struct fe_old_key *old = fe_old_key_find(key);
    struct fe_profile changed = *p;
    struct blame b = {.p = &changed};
    char hint[160], why[160];

    if (!o && old) {
        if (fe_old_key_read(old, value, &o, &b.why) < 0)
            return fe_err_set(err, EINVAL, "%s=%.60s: %s", key, value, b.why.text);
        if (!o)
            return 0;
    }
    if (!o) {
        fe_option_hint(FE_N_SECTIONS, key, hint, sizeof hint);
        return fe_err_set(err, EINVAL, "unknown key %.60s%s", key, hint);
    }
    b.changed = o;
    fe_times_open(&changed.nand);
    changed.given[o - fe_options] = true;
    if (!fe_option_is_used(o, p->ftl.type)) {
        fe_option_why_unused(o, p->ftl.type, why, sizeof why);
        fe_err_set(&b.why, EINVAL, "%s", why);
    } else if (fe_option_parse(o, value, &changed, &b.why) == 0) {
        fe_drop_unused(&changed);
        if (fe_derive(&changed, true, &b.why) == 0)
            fe_check(&changed, blame, &b);
    }
    fe_times_close(&changed.nand);
    if (b.why.text[0])
        return fe_err_set(err, EINVAL, "%s=%.60s: %s", key, value, b.why.text);
    *p = changed;
    return 0;
}

/* The caller decides whether to print this: it is a remark and not a mistake. */
bool fe_profile_unused(const struct fe_profile *p, char *buf, size_t len)
{
    buf[0] = '\0';
    for (uint32_t i = 0; i < fe_n_options; i++) {
        if (!p->unused[i])
            continue;
        if (!buf[0])
            snprintf(buf, len, "ftl.type=%s does not use these keys of profile %s:",
                     fe_ftl_registry[p->ftl.type]->name, p->name);
        fe_text_add(buf, len, " %s.%s", fe_section_name(fe_options[i].section), fe_options[i].key);
    }
    return buf[0];
}

bool fe_profile_renamed(const struct fe_profile *p, char *buf, size_t len)
{
    buf[0] = '\0';
    for (uint32_t i = 0; i < fe_n_old_keys; i++) {
        const struct fe_old_key *old = &fe_old_keys[i];
        if (!p->renamed[i])
            continue;
        if (!buf[0])
            snprintf(buf, len, "keys of profile %s have other names now:", p->name);
        fe_text_add(buf, len, " %s.%s is %s", fe_section_name(old->section), old->key, old->heir);
    }
    return buf[0];
}

bool fe_profile_get(const struct fe_profile *p, const char *key, char *buf, size_t len)
{
    const struct fe_option *o = fe_option_or_heir(key);
    if (o)
        fe_option_print(o, p, buf, len);
    return o != NULL;
}

/* A line of a value that continues the one above is indented, so that the parser sees it as
 * such. */
static void print_notes(const char *section, const struct fe_profile_note *notes, uint32_t n,
                        FILE *out)
{
    if (n > 0)
        fprintf(out, "\n[%s]\n", section);
    for (uint32_t i = 0; i < n; i++) {
        fprintf(out, "%s = ", notes[i].key);
        for (const char *c = notes[i].value; *c; c++) {
            fputc(*c, out);
            if (*c == '\n')
                fputs("    ", out);
        }
        fputc('\n', out);
    }
}

/* Derived defaults are printed like keys that were given.  Thus the text means the same in a later
 * version that derives other numbers, and an image keeps its geometry. */
int fe_profile_print(const struct fe_profile *p, FILE *out, struct fe_err *err)
{
    char value[FE_VALUE_MAX];
    const struct fe_option *last = NULL;

    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        if (!fe_option_is_used(o, p->ftl.type) || fe_option_is_detail(o))
            continue;
        if (!last || o->section != last->section)
            fprintf(out, "%s[%s]\n", last ? "\n" : "", fe_section_name(o->section));
        last = o;
        fe_option_print(o, p, value, sizeof value);
        fprintf(out, "%s =%s%s\n", o->key, value[0] ? " " : "", value);
    }
    print_notes("provenance", p->provenance, p->n_provenance, out);
    print_notes("fidelity", p->fidelity, p->n_fidelity, out);
    if (fflush(out) != 0 || ferror(out))
        return fe_err_set(err, EIO, "the profile could not be written");
    return 0;
}
