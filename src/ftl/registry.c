/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/registry.h"

#include <string.h>

#define ROW(name) &fe_ftl_##name,
const struct fe_ftl_ops *const fe_ftl_registry[] = {FE_FTL_STRATEGIES(ROW) NULL};
#undef ROW

int fe_ftl_find(const char *name)
{
    for (int i = 0; fe_ftl_registry[i]; i++)
        if (strcmp(fe_ftl_registry[i]->name, name) == 0)
            return i;
    return -1;
}
