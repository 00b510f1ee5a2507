/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool of units behind every strategy that maps more than one page at a time.
 *
 * The stripe is the largest divisor of the unit's number of blocks that is not larger than
 * the number of dies.  A unit of 12 blocks on 8 dies therefore consists of two rows of 6
 * blocks, and no row is shorter than another.
 */
#include "ftl/units/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t fe_units_pages(const struct fe_geometry *geo, uint64_t unit_size, struct fe_err *err)
{
    uint64_t block_bytes = (uint64_t)geo->page_bytes * geo->pages_per_block;
    if (unit_size < block_bytes || unit_size % block_bytes ||
        unit_size / geo->page_bytes > UINT32_MAX / 2) {
        fe_err_set(err, EINVAL,
                   "ftl.unit_size=%llu: must be a multiple of the erase block, %llu bytes "
                   "(with its planes if nand.multiplane)",
                   (unsigned long long)unit_size, (unsigned long long)block_bytes);
        return 0;
    }
    return (uint32_t)(unit_size / geo->page_bytes);
}

uint32_t fe_units_count(const struct fe_geometry *geo, uint32_t unit_pages)
{
    return geo->n_pebs / (unit_pages / geo->pages_per_block);
}

/* The largest divisor of the number of blocks that is at most n_dies. */
static uint32_t stripe_of(uint32_t blocks, uint32_t n_dies)
{
    uint32_t w = blocks < n_dies ? blocks : n_dies;
    while (blocks % w)
        w--;
    return w;
}

int fe_units_init(struct fe_units *u, struct fe_medium *m, uint32_t unit_pages,
                  struct fe_err *err)
{
    memset(u, 0, sizeof *u);
    u->medium = m;
    u->unit_pages = unit_pages;
    u->blocks_per_unit = unit_pages / m->geo.pages_per_block;
    u->n_units = fe_units_count(&m->geo, unit_pages);
    u->stripe = stripe_of(u->blocks_per_unit, m->geo.n_dies);
    u->by_stripe = fe_fastdiv_init(u->stripe << m->geo.parts_log2);
    u->by_row = fe_fastdiv_init(u->stripe * m->geo.pages_per_block);
    u->fill = calloc(u->n_units, sizeof *u->fill);
    u->queue = calloc(u->n_units, sizeof *u->queue);
    if (!u->fill || !u->queue) {
        fe_units_fini(u);
        return fe_err_nomem(err, "table of units", fe_units_count(&m->geo, unit_pages) * 8ull);
    }
    for (uint32_t i = 0; i < u->n_units; i++)
        u->queue[i] = i;
    u->n_free = u->n_units;
    return 0;
}

void fe_units_fini(struct fe_units *u)
{
    free(u->fill);
    free(u->queue);
    memset(u, 0, sizeof *u);
}

uint32_t fe_unit_alloc(struct fe_units *u)
{
    if (u->n_free == 0)
        return FE_UNIT_NONE;
    uint32_t unit = u->queue[u->head];
    u->head = (u->head + 1) % u->n_units;
    u->n_free--;
    return unit;
}

void fe_units_barrier(struct fe_units *u)
{
    struct fe_oplist *ops = u->medium->ops;
    if (ops->n == 0 || ops->ops[ops->n - 1].kind != FE_OP_BARRIER)
        fe_ops_barrier(ops);
}

enum fe_status fe_unit_release(struct fe_units *u, uint32_t unit)
{
    fe_units_barrier(u);
    for (uint32_t i = 0; i < u->blocks_per_unit; i++) {
        enum fe_status st = fe_medium_erase(u->medium, fe_unit_peb(u, unit, i));
        if (st != FE_OK)
            return st;
    }
    fe_units_barrier(u);
    u->fill[unit] = 0;
    u->queue[(u->head + u->n_free++) % u->n_units] = unit;
    return FE_OK;
}

/* Every free unit is erased and stands in the queue once. */
static int check_queue(const struct fe_units *u, struct fe_err *err)
{
    uint8_t *seen = calloc(u->n_units, 1);
    if (!seen)
        return fe_err_nomem(err, "check of free units", u->n_units);
    int r = 0;
    for (uint32_t i = 0; i < u->n_free && r == 0; i++) {
        uint32_t unit = u->queue[(u->head + i) % u->n_units];
        if (u->fill[unit] != 0)
            r = fe_err_set(err, EIO, "free unit %u holds %u pages", unit, u->fill[unit]);
        else if (seen[unit]++)
            r = fe_err_set(err, EIO, "unit %u is free twice", unit);
    }
    free(seen);
    return r;
}

int fe_units_check(const struct fe_units *u, struct fe_err *err)
{
    int r = check_queue(u, err);
    if (r < 0)
        return r;
    for (uint32_t unit = 0; unit < u->n_units; unit++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < u->blocks_per_unit; i++)
            n += fe_medium_next_page(u->medium, fe_unit_peb(u, unit, i));
        if (n != u->fill[unit])
            return fe_err_set(err, EIO, "unit %u: fill is %u, its blocks hold %u pages", unit,
                              u->fill[unit], n);
    }
    return 0;
}
