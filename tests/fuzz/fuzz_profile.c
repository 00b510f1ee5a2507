/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The profile parser: any text gives a profile or one line of message; the canonical form
 * of a profile reads back as the same, also after a key has been set to the text that it has.
 */
#include "fuzz.h"

#include "flashemu/profile.h"
#include "profile/options.h"

#include <errno.h>

static char *print(const struct fe_profile *p, size_t *ret_len)
{
    struct fe_err err = {""};
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_len);
    FT_MUST(out, "no memory");
    FT_MUST(fe_profile_print(p, out, &err) == 0, "print: %s", err.text);
    FT_MUST(fclose(out) == 0, "no memory");
    return text;
}

static void check_message(int r, const struct fe_err *err)
{
    FT_MUST(r < 0 && r > -4096, "result %d", r);
    FT_MUST(err->text[0] && !strchr(err->text, '\n'), "message '%s'", err->text);
}

static void check_profile(const struct fe_profile *p)
{
    struct fe_profile again;
    struct fe_err err = {""};
    size_t len, len_again;
    char *text = print(p, &len);
    int r = fe_profile_parse(&again, "again.ini", text, len, NULL, 0, &err);
    FT_MUST(r == 0, "the canonical form is refused: %s\n%s", err.text, text);
    char *text_again = print(&again, &len_again);
    FT_MUST(len == len_again && memcmp(text, text_again, len) == 0,
            "the canonical form changes:\n%s---\n%s", text, text_again);
    free(text_again);
    fe_profile_fini(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fe_profile p;
    struct fe_err err = {""};
    int r = fe_profile_parse(&p, "fuzz.ini", (const char *)data, size, NULL, 0, &err);
    if (r < 0) {
        check_message(r, &err);
        return 0;
    }
    check_profile(&p);
    char key[80], value[FE_VALUE_MAX];
    const struct fe_option *o = &fe_options[size % fe_n_options];
    snprintf(key, sizeof key, "%s.%s", fe_section_name(o->section), o->key);
    fe_option_print(o, &p, value, sizeof value);
    r = fe_profile_set(&p, key, value, &err);
    if (r < 0)
        check_message(r, &err);
    else
        check_profile(&p);
    fe_profile_fini(&p);
    return 0;
}
