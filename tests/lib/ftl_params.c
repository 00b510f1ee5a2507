/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/ftl_params.h"

#include "profile/options.h"

#include <stdio.h>
#include <stdlib.h>

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
