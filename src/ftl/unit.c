/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool behind every strategy that maps more than a page at a time.
 *
 * The stripe is the largest divisor of the unit's blocks that the dies allow: a unit of
 * 12 blocks on 8 dies is two rows of 6, never a ragged row.
 *
 * Merges go through a small memory: a controller with room for two pages reads two,
 * programs two, and only then reads again.  That rhythm is what makes a merge slower
 * than the same pages written by the host.
 *
 *     read     0 1 . . . . 2 3 . . . .
 *     program  . . 0 . 1 . . . 2 . 3 .
 */
#include "ftl/unit.h"

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

static uint32_t stripe_of(uint32_t blocks, uint32_t n_dies)
{
    uint32_t w = blocks < n_dies ? blocks : n_dies;
    while (blocks % w)
        w--;
    return w;
}

int fe_units_init(struct fe_units *u, struct fe_medium *m, uint32_t unit_pages,
                  uint32_t copy_buffer, struct fe_err *err)
{
    assert(copy_buffer > 0);
    memset(u, 0, sizeof *u);
    u->medium = m;
    u->unit_pages = unit_pages;
    u->blocks_per_unit = unit_pages / m->geo.pages_per_block;
    u->n_units = fe_units_count(&m->geo, unit_pages);
    u->stripe = stripe_of(u->blocks_per_unit, m->geo.n_dies);
    u->by_stripe = fe_fastdiv_init(u->stripe);
    u->by_group = fe_fastdiv_init(u->stripe * m->geo.pages_per_block);
    u->copy_buffer = copy_buffer < unit_pages ? copy_buffer : unit_pages;
    u->buffer = calloc(u->copy_buffer, sizeof *u->buffer);
    u->pebs = calloc((size_t)u->n_units * u->blocks_per_unit, sizeof *u->pebs);
    u->fill = calloc(u->n_units, sizeof *u->fill);
    u->queue = calloc(u->n_units, sizeof *u->queue);
    if (!u->buffer || !u->pebs || !u->fill || !u->queue) {
        fe_units_fini(u);
        return fe_err_nomem(err, "table of units", u->n_units * 12ull);
    }
    for (uint32_t i = 0; i < u->n_units * u->blocks_per_unit; i++)
        u->pebs[i] = i;
    for (uint32_t i = 0; i < u->n_units; i++)
        u->queue[i] = i;
    u->n_free = u->n_units;
    return 0;
}

void fe_units_fini(struct fe_units *u)
{
    free(u->buffer);
    free(u->pebs);
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

/* Two in a row are one. */
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
        enum fe_status st = fe_medium_erase(u->medium, u->pebs[unit * u->blocks_per_unit + i]);
        if (st != FE_OK)
            return st;
    }
    fe_units_barrier(u);
    u->fill[unit] = 0;
    u->queue[(u->head + u->n_free++) % u->n_units] = unit;
    return FE_OK;
}

enum fe_status fe_unit_append(struct fe_units *u, uint32_t unit, fe_lpn lpn, uint8_t tag,
                              fe_ppn base, uint32_t off, uint32_t len, const void *data)
{
    assert(u->fill[unit] < u->unit_pages);
    fe_ppn ppn = fe_unit_ppn(u, unit, u->fill[unit]);
    enum fe_status st = fe_medium_prog(u->medium, ppn, lpn, tag, base, off, len, data);
    u->fill[unit] += st == FE_OK;
    return st;
}

/* The n pages from `first` on, as many as the buffer holds, into it. */
static void fill_buffer(struct fe_units *u, uint32_t unit, uint32_t first, uint32_t n,
                        const struct fe_copies *c)
{
    for (uint32_t i = 0; i < n; i++) {
        fe_ppn from = c->source(c->ctx, first + i), to = fe_unit_ppn(u, unit, first + i);
        u->buffer[i] = (struct fe_in_copy){.from = from};
        if (from != FE_PPN_NONE && !fe_medium_is_copyback(u->medium, from, to)) {
            u->buffer[i].held = fe_medium_hold(u->medium, from);
            u->buffer[i].is_held = true;
        }
    }
}

static enum fe_status append_copy(struct fe_units *u, uint32_t unit, fe_lpn lpn, uint8_t tag,
                                  const struct fe_in_copy *in)
{
    if (in->from == FE_PPN_NONE)
        return fe_unit_append(u, unit, FE_LPN_NONE, tag, FE_PPN_NONE, 0, 0, NULL);
    if (!in->is_held)
        return fe_unit_append(u, unit, lpn, tag, in->from, 0, 0, NULL);
    fe_ppn ppn = fe_unit_ppn(u, unit, u->fill[unit]);
    enum fe_status st = fe_medium_prog_held(u->medium, ppn, lpn, tag, in->held);
    u->fill[unit] += st == FE_OK;
    return st;
}

enum fe_status fe_unit_copy_up_to(struct fe_units *u, uint32_t unit, uint32_t to,
                                  const struct fe_copies *c)
{
    assert(to <= u->unit_pages);
    while (u->fill[unit] < to) {
        uint32_t first = u->fill[unit], left = to - first;
        uint32_t n = left < u->copy_buffer ? left : u->copy_buffer;
        fe_units_barrier(u);
        fill_buffer(u, unit, first, n, c);
        fe_units_barrier(u);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t page = first + i;
            enum fe_status st = append_copy(u, unit, c->first + page,
                                            page + 1 == to ? c->last_tag : c->tag, &u->buffer[i]);
            if (st != FE_OK)
                return st;
            *c->n_copied += u->buffer[i].from != FE_PPN_NONE;
        }
    }
    return FE_OK;
}

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
            n += fe_medium_next_page(u->medium, u->pebs[unit * u->blocks_per_unit + i]);
        if (n != u->fill[unit])
            return fe_err_set(err, EIO, "unit %u: fill is %u, its blocks hold %u pages", unit,
                              u->fill[unit], n);
    }
    return 0;
}
