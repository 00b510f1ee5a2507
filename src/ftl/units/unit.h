/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Units: erase blocks of several dies that are striped and used as one.
 *
 * A controller that maps whole blocks or segments does not move one erase block about, but
 * a row of them, so that all dies work on one stream of data:
 *
 *   page of the unit    0   1   2   3   4   5 ...        (stripe of 2)
 *   erase block         0   1   0   1   0   1
 *   page of that block  0   0   1   1   2   2
 *
 * Where pages have parts (nand.page_parts), all parts of a page stay on its block.
 *
 * A unit is always filled in this order; fill[unit] is the number of pages that are
 * programmed.  Unit n consists of the erase blocks [n * blocks_per_unit,
 * (n + 1) * blocks_per_unit).
 *
 * Units that are free wait in a queue.  They are erased already.  The queue is first in, first
 * out, so that wear spreads over all of them:
 *
 *   queue   | 7 | 2 |   |   | 4 | 9 | 1 |      n_units places
 *                             ^ head, n_free = 5: the next ones are 4, 9, 1, 7, 2
 */
#pragma once

#include "nand/medium.h"

#define FE_UNIT_NONE UINT32_MAX

struct fe_units {
    struct fe_medium *medium; /* not owned */
    uint32_t n_units, unit_pages, blocks_per_unit;
    uint32_t stripe;             /* blocks across which neighbouring pages are spread */
    struct fe_fastdiv by_stripe; /* divides by the pages of a stripe, with their parts */
    struct fe_fastdiv by_row;    /* divides by the pages of a row of `stripe` blocks */
    uint32_t *fill;              /* per unit: how many of its pages are programmed */
    uint32_t *queue;             /* ring of the free units, the oldest at `head` */
    uint32_t head, n_free;
};

/* The number of pages in a unit of unit_size bytes; 0 with a message if unit_size is not a
 * multiple of the erase block. */
uint32_t fe_units_pages(const struct fe_geometry *geo, uint64_t unit_size, struct fe_err *err);

/* The number of units that the medium holds.  Blocks that do not make up a whole unit are
 * left unused. */
uint32_t fe_units_count(const struct fe_geometry *geo, uint32_t unit_pages);

/* Begins with all units free.  -ENOMEM. */
int fe_units_init(struct fe_units *u, struct fe_medium *m, uint32_t unit_pages,
                  struct fe_err *err);
void fe_units_fini(struct fe_units *u);

/* The unit's erase block i, 0 <= i < blocks_per_unit. */
static inline fe_peb fe_unit_peb(const struct fe_units *u, uint32_t unit, uint32_t i)
{
    return unit * u->blocks_per_unit + i;
}

/* The physical page behind page i of a unit. */
static inline fe_ppn fe_unit_ppn(const struct fe_units *u, uint32_t unit, uint32_t i)
{
    uint32_t row = fe_fastdiv(i, u->by_row);
    uint32_t in_row = i - row * u->by_row.d;
    uint32_t page = fe_fastdiv(in_row, u->by_stripe), parts_log2 = u->medium->geo.parts_log2;
    uint32_t column = (in_row - page * u->by_stripe.d) >> parts_log2;
    fe_peb peb = fe_unit_peb(u, unit, row * u->stripe + column);
    return peb * u->medium->geo.pages_per_block + (page << parts_log2) +
           fe_part_of(&u->medium->geo, in_row);
}

/* Whether a physical page belongs to this unit. */
static inline bool fe_unit_has(const struct fe_units *u, uint32_t unit, fe_ppn ppn)
{
    return ppn - unit * u->unit_pages < u->unit_pages;
}

static inline bool fe_unit_is_full(const struct fe_units *u, uint32_t unit)
{
    return u->fill[unit] == u->unit_pages;
}

/* Takes an erased unit from the queue; FE_UNIT_NONE if no unit is free. */
uint32_t fe_unit_alloc(struct fe_units *u);

/* Erases a unit and appends it to the queue of free units.  The erases start when everything
 * before them has ended, and nothing that follows starts before the erases have ended.  A power
 * cut therefore interrupts either programs or the erases of one release, never both, and
 * power-on can tell which merges were complete (unit_recover.c).  FE_ERASE_FAILED at the end
 * of life. */
enum fe_status fe_unit_release(struct fe_units *u, uint32_t unit);

/* The physical page that the unit gets next; the unit must not be full. */
static inline fe_ppn fe_unit_next_ppn(const struct fe_units *u, uint32_t unit)
{
    assert(!fe_unit_is_full(u, unit));
    return fe_unit_ppn(u, unit, u->fill[unit]);
}

/* Programs the unit's next page; there must be one.  Parameters and result as in
 * fe_medium_prog. */
static inline enum fe_status fe_unit_append(struct fe_units *u, uint32_t unit, fe_lpn lpn,
                                            uint8_t tag, fe_ppn base, uint32_t off, uint32_t len,
                                            const void *data)
{
    fe_ppn ppn = fe_unit_next_ppn(u, unit);
    enum fe_status st = fe_medium_prog(u->medium, ppn, lpn, tag, base, off, len, data);
    u->fill[unit] += st == FE_OK;
    return st;
}

/* Operations that follow start when all earlier ones have ended.  Does nothing directly behind
 * another barrier. */
void fe_units_barrier(struct fe_units *u);

/* Checks that every free unit is erased and stands in the queue once, and that each fill is
 * what the medium says.  0, -EIO with a message, or -ENOMEM. */
int fe_units_check(const struct fe_units *u, struct fe_err *err);
