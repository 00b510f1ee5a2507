/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bulk.h"

#include "lib/rig.h"
#include "lib/unit.h"

static void drop(void *ctx, struct fe_op *ops, uint32_t n)
{
    (void)ctx, (void)ops, (void)n;
}

static void must(bool ok, const struct fe_err *err)
{
    if (!ok)
        fail_msg("%s", err->text);
}

void ft_bulk_init(struct ft_bulk *t, const struct fe_ftl_ops *ftl, uint32_t blocks, uint32_t b,
                  uint32_t page, uint32_t n_lpns, const struct fe_ftl_params *p)
{
    struct fe_nand_params nand = ft_nand(1, blocks, b, page);
    struct fe_err err;
    fe_err_init(&err);
    memset(t, 0, sizeof *t);
    fe_ops_init(&t->ops, drop, t);
    must(fe_geometry_init(&t->geo, &nand, &err) == 0, &err);
    must(fe_store_create(&t->store, t->geo.n_ppns, page, b, false, &err) == 0, &err);
    must(fe_medium_create(&t->medium, &nand, &t->geo, t->store, &t->ops, &err) == 0, &err);
    uint64_t max = ftl->max_lpns(p, &t->geo, &err);
    must(max > 0, &err);
    if (n_lpns > max)
        fail_msg("%u pages, possible are %llu", n_lpns, (unsigned long long)max);
    must(fe_ftl_create(&t->ftl, ftl, p, t->medium, n_lpns, false, &err) == 0, &err);
}

void ft_bulk_fini(struct ft_bulk *t)
{
    struct fe_err err;
    fe_err_init(&err);
    must(t->ftl->ops->check(t->ftl, &err) == 0, &err);
    fe_ftl_destroy(t->ftl);
    fe_medium_destroy(t->medium);
    fe_store_destroy(t->store);
}

void ft_bulk_write(struct ft_bulk *t, fe_lpn lpn)
{
    t->host++;
    if (t->ftl->ops->write(t->ftl, lpn, 0, t->geo.page_bytes, NULL) != FE_OK)
        fail_msg("write %llu of page %u failed", (unsigned long long)t->host, lpn);
}

void ft_bulk_read(struct ft_bulk *t, fe_lpn lpn)
{
    t->host++;
    if (t->ftl->ops->read(t->ftl, lpn, 0, t->geo.page_bytes, NULL) != FE_OK)
        fail_msg("read %llu of page %u failed", (unsigned long long)t->host, lpn);
}

void ft_bulk_fill(struct ft_bulk *t)
{
    for (fe_lpn lpn = 0; lpn < t->ftl->n_lpns; lpn++)
        ft_bulk_write(t, lpn);
}

void ft_bulk_mark(struct ft_bulk *t)
{
    t->host0 = t->host;
    t->nand0 = t->medium->counters;
    t->ftl0 = t->ftl->counters;
}

double ft_bulk_amplification(const struct ft_bulk *t)
{
    return (double)(t->medium->counters.page_programs - t->nand0.page_programs) /
           (double)(t->host - t->host0);
}
