/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/registry.h"

#include <stdlib.h>
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

int fe_ftl_create(struct fe_ftl **ret, const struct fe_ftl_ops *ops, const struct fe_ftl_params *p,
                  struct fe_medium *m, uint32_t n_lpns, bool used, struct fe_err *err)
{
    struct fe_ftl *f = calloc(1, ops->size);
    if (!f)
        return fe_err_nomem(err, "translation layer", ops->size);
    *f = (struct fe_ftl){.ops = ops, .medium = m, .n_lpns = n_lpns};
    int r = ops->start(f, p, used, err);
    if (r < 0)
        fe_ftl_destroy(f);
    else
        *ret = f;
    return r;
}

void fe_ftl_destroy(struct fe_ftl *f)
{
    if (f->ops->fini)
        f->ops->fini(f);
    free(f->map);
    free(f);
}
