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
#include <stdlib.h>

struct reader {
    struct fe_ftl base;
    struct fe_mapping *map;
};

static int read_only_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                           struct fe_err *err)
{
    struct reader *f = (struct reader *)ftl;
    (void)p;
    (void)used;
    f->map = fe_table_alloc(ftl->n_lpns, sizeof *f->map);
    if (!f->map)
        return fe_err_nomem(err, "mapping at the end of life", ftl->n_lpns * sizeof *f->map);
    fe_recover_newest(ftl->medium, f->map, ftl->n_lpns, NULL);
    return 0;
}

static void read_only_fini(struct fe_ftl *ftl)
{
    free(((struct reader *)ftl)->map);
}

static enum fe_status read_only_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                     void *buf)
{
    const struct reader *f = (const struct reader *)ftl;
    assert(lpn < ftl->n_lpns);
    return fe_read_mapped(ftl->medium, fe_mapped(f->map[lpn]), off, len, buf);
}

static fe_ppn read_only_locate(const struct fe_ftl *ftl, fe_lpn lpn)
{
    return fe_mapped(((const struct reader *)ftl)->map[lpn]);
}

static uint32_t read_only_free_blocks(const struct fe_ftl *ftl)
{
    (void)ftl;
    return 0;
}

static const struct fe_ftl_ops read_only = {
    .name = "read-only",
    .summary = "any of them at the end of its life",
    .size = sizeof(struct reader),
    .start = read_only_start,
    .fini = read_only_fini,
    .read = read_only_read,
    .locate = read_only_locate,
    .free_blocks = read_only_free_blocks,
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
