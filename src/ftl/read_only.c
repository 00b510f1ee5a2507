/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A map from logical pages to their newest copies.  It is made once and stays right, because
 * nothing changes any more.
 */
#include "ftl/read_only.h"

#include "base/table.h"
#include "ftl/blocks/blocks.h"
#include "ftl/recover.h"

#include <errno.h>

static int read_only_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                           struct fe_err *err)
{
    (void)p;
    (void)used;
    ftl->map = fe_table_alloc(ftl->n_lpns, sizeof *ftl->map);
    if (!ftl->map)
        return fe_err_nomem(err, "mapping at the end of life", ftl->n_lpns * sizeof *ftl->map);
    fe_recover_newest(ftl->medium, ftl->map, ftl->n_lpns, NULL);
    return 0;
}

static const struct fe_ftl_ops read_only = {
    .name = "read-only",
    .summary = "any of them at the end of its life",
    .size = sizeof(struct fe_ftl),
    .start = read_only_start,
    .read = fe_mapped_read,
    .locate = fe_mapped_locate,
};

int fe_ftl_read_only(struct fe_ftl **ret, struct fe_medium *m, uint32_t n_lpns, struct fe_err *err)
{
    return fe_ftl_create(ret, &read_only, NULL, m, n_lpns, true, err);
}

int fe_ftl_power_on(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                    uint32_t n_lpns, struct fe_err *err)
{
    const struct fe_ftl_ops *ops = fe_ftl_registry[p->type];
    if (!m->eol || ops->no_medium) {
        int r = fe_ftl_create(ret, ops, p, m, n_lpns, true, err);
        if (r != -EIO || !m->eol)
            return r;
    } else {
        (void)fe_recover_scan(m); /* it erases nothing now, so it cannot fail */
    }
    return fe_ftl_read_only(ret, m, n_lpns, err);
}
