/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Units: erase blocks of several dies, striped and used as one.
 *
 * What a block-mapped or segment-mapped controller moves about is not one erase block
 * but a row of them, so that all dies work on one stream:
 *
 *   page of the unit    0   1   2   3   4   5 ...        (stripe of 2)
 *   erase block         0   1   0   1   0   1
 *   page of that block  0   0   1   1   2   2
 *
 * A unit is filled strictly in order; `fill` says how far.  Free units wait in a queue,
 * erased, so that wear spreads over all of them.
 */
#ifndef FE_FTL_UNIT_H
#define FE_FTL_UNIT_H

#include "nand/medium.h"

#define FE_UNIT_NONE UINT32_MAX

/* A page of a merge between its source and its place. */
struct fe_in_copy {
    fe_ppn from;
    bool is_held; /* it has been read; else it is padding, or read when it is programmed */
    struct fe_held held;
};

struct fe_units {
    struct fe_medium *medium;
    uint32_t n_units, unit_pages;
    uint32_t blocks_per_unit, stripe;
    struct fe_fastdiv by_stripe, by_group; /* pages across a stripe; pages of a stripe of blocks */
    fe_peb *pebs;     /* n_units * blocks_per_unit: which blocks a unit is made of */
    uint32_t *fill;   /* pages programmed */
    uint32_t *queue;  /* ring of free units */
    uint32_t head, n_free;
    struct fe_in_copy *buffer; /* what a merge is copying */
    uint32_t copy_buffer;      /* pages of it */
};

/* What is to be copied into a unit. */
struct fe_copies {
    fe_ppn (*source)(const void *ctx, uint32_t page); /* of the unit; FE_PPN_NONE: padding */
    const void *ctx;
    fe_lpn first;          /* the unit's page 0 */
    uint8_t tag, last_tag; /* of the last page */
    uint64_t *n_copied;    /* counts pages, padding left out */
};

/* Pages of a unit of unit_size bytes; 0 with a message if it is not whole blocks. */
uint32_t fe_units_pages(const struct fe_geometry *geo, uint64_t unit_size, struct fe_err *err);

/* Units that the medium holds. */
uint32_t fe_units_count(const struct fe_geometry *geo, uint32_t unit_pages);

/* All units free.  copy_buffer: pages that fe_unit_copy_up_to holds at a time, at least 1.
 * -ENOMEM. */
int fe_units_init(struct fe_units *u, struct fe_medium *m, uint32_t unit_pages,
                  uint32_t copy_buffer, struct fe_err *err);
void fe_units_fini(struct fe_units *u);

/* The physical page behind page i of a unit. */
static inline fe_ppn fe_unit_ppn(const struct fe_units *u, uint32_t unit, uint32_t i)
{
    uint32_t group = fe_fastdiv(i, u->by_group);
    uint32_t r = i - group * u->by_group.d;
    uint32_t page = fe_fastdiv(r, u->by_stripe);
    uint32_t column = r - page * u->stripe;
    fe_peb peb = u->pebs[unit * u->blocks_per_unit + group * u->stripe + column];
    return peb * u->medium->geo.pages_per_block + page;
}

/* An erased unit; FE_UNIT_NONE if none is free. */
uint32_t fe_unit_alloc(struct fe_units *u);

/* Erases a unit once everything before has ended, and queues it as free.  Nothing else
 * starts before that is done: so a power cut finds either pages half programmed or units
 * half erased, and power-on can tell which merges were whole. */
enum fe_status fe_unit_release(struct fe_units *u, uint32_t unit);

/* Programs the unit's next page as fe_medium_prog does. */
enum fe_status fe_unit_append(struct fe_units *u, uint32_t unit, fe_lpn lpn, uint8_t tag,
                              fe_ppn base, uint32_t off, uint32_t len, const void *data);

/* Copies as part of a merge: appends the pages from fill up to `to`, copy_buffer at a time:
 * reads them, programs them when all have been read, and reads on when all have been
 * programmed; no barrier follows the last.  A copy that stays on its die (nand.copyback) is
 * read when its turn to be programmed comes.  FE_PROG_FAILED in the middle: fill says how far
 * it came. */
enum fe_status fe_unit_copy_up_to(struct fe_units *u, uint32_t unit, uint32_t to,
                                  const struct fe_copies *c);

/* Nothing that comes starts before all that was has ended: where a merge begins and ends. */
void fe_units_barrier(struct fe_units *u);

/* Every free unit erased and in the queue once, fills as the medium says; 0, -EIO or
 * -ENOMEM. */
int fe_units_check(const struct fe_units *u, struct fe_err *err);

#endif
