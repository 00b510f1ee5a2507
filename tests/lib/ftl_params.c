/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/ftl_params.h"

#include "ftl/ftl.h"
#include "profile/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets every key of [ftl] and [step] that has a default to it. */
static void set_defaults(struct fe_profile *p)
{
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        struct fe_err err = {""};
        bool wanted = (o->section == FE_SEC_FTL || o->section == FE_SEC_STEP) && o->def;
        if (wanted && fe_option_parse(o, o->def, p, &err) < 0) {
            fprintf(stderr, "src/profile/options.c: the default of %s.%s: %s\n",
                    fe_section_name(o->section), o->key, err.text);
            abort();
        }
    }
}

struct fe_ftl_params ft_ftl_params(uint32_t type, uint64_t unit_size)
{
    static struct fe_profile p; /* large, and only [ftl] and [step] of it count */

    set_defaults(&p);
    p.ftl.type = type;
    p.ftl.unit.unit_size = unit_size;
    p.ftl.unit.copy_buffer = 4;
    p.ftl.clean.wear_levelling = FE_WEAR_OFF;
    p.ftl.segment.open_random = 1;
    p.ftl.log.log_blocks = 3;
    p.ftl.log.fast_sequential = false;
    p.ftl.dftl.map_cache = 64;
    return p.ftl;
}

/* A value for the option, as text. */
static void draw_value(const struct fe_option *o, struct ft_rand *r, char *buf, size_t len)
{
    uint64_t n = 0, step = o->multiple ? o->multiple : o->type == FE_OPT_TIME ? 100000 : 1;

    if (o->type == FE_OPT_BOOL) {
        snprintf(buf, len, "%s", ft_chance(r, 50) ? "yes" : "no");
    } else if (o->type == FE_OPT_ENUM) {
        while (o->names[n])
            n++;
        snprintf(buf, len, "%s", o->names[ft_below(r, n)]);
    } else {
        n = (o->min + step - 1) / step * step + ft_below(r, 9) * step;
        snprintf(buf, len, "%llu%s", (unsigned long long)(n < o->max ? n : o->max),
                 o->type == FE_OPT_TIME ? "ns" : "");
    }
}

void ft_ftl_draw_own(struct fe_ftl_params *p, struct ft_rand *r)
{
    static struct fe_profile profile;
    char text[FE_VALUE_MAX];

    profile.ftl = *p;
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const struct fe_option *o = &fe_options[i];
        struct fe_err err = {""};
        bool own = o->section == FE_SEC_FTL && o->def && o->used_by &&
                   strcmp(o->used_by, fe_ftl_registry[p->type]->name) == 0;
        if (!own || o->type == FE_OPT_DETAILS || o->type == FE_OPT_SHARE || o->type == FE_OPT_RATE ||
            o->pow2)
            continue; /* details have rows of their own */
        draw_value(o, r, text, sizeof text);
        if (fe_option_parse(o, text, &profile, &err) < 0) {
            fprintf(stderr, "%s.%s: %s\n", fe_section_name(o->section), o->key, err.text);
            abort();
        }
    }
    *p = profile.ftl;
}
