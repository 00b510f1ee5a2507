/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/registry.h"

#include <string.h>

const struct fe_ftl_ops *const fe_ftl_registry[] = {
    &fe_ftl_page,
    &fe_ftl_segment,
    &fe_ftl_block,
    &fe_ftl_bast,
    &fe_ftl_fast,
    &fe_ftl_norlog,
    &fe_ftl_step,
    &fe_ftl_dftl,
    NULL,
};

int fe_ftl_find(const char *name)
{
    for (int i = 0; fe_ftl_registry[i]; i++)
        if (strcmp(fe_ftl_registry[i]->name, name) == 0)
            return i;
    return -1;
}
