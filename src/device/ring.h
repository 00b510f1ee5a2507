/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A controller's memory for the sectors that were written last: a ring, with a hash table over it.
 *
 *     sectors   [ ][a][b][c][b][ ]     b was put twice; the second copy counts
 *                              ^next
 *
 * It keeps the last n sectors that were put, whatever their order; the next one takes the place of
 * the oldest.  It is memory: a power cut empties it, and an image does not have it.
 *
 * host/cache.c cannot serve here: its entries are logical pages of a strategy.
 */
#pragma once

#include "flashemu/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fe_ring {
    uint32_t n, next, sector_size; /* n places for sectors, 0: none; `next` is used next */
    uint64_t *sectors;             /* the number of the sector in each place, or FE_NO_SECTOR */
    uint32_t *chain;               /* the next place with the same hash */
    uint32_t *heads;               /* n_heads, a power of two */
    uint32_t n_heads;
    uint8_t *data;                 /* NULL: only their numbers are kept */
};

#define FE_NO_SECTOR UINT64_MAX
#define FE_NO_PLACE  UINT32_MAX

/* A ring for so many bytes, at least a sector.  `what` names them if memory is short: -ENOMEM with
 * message, and *r is as with 0 places. */
int fe_ring_init(struct fe_ring *r, uint64_t bytes, uint32_t sector_size, bool data,
                 const char *what, struct fe_err *err);
void fe_ring_fini(struct fe_ring *r);

/* The place of the sector's newest copy, or FE_NO_PLACE; the bytes in a place. */
uint32_t fe_ring_find(const struct fe_ring *r, uint64_t sector);
static inline const uint8_t *fe_ring_at(const struct fe_ring *r, uint32_t place)
{
    return r->data + (size_t)place * r->sector_size;
}

/* Keeps a copy of the sector; data NULL means zeros. */
void fe_ring_put(struct fe_ring *r, uint64_t sector, const void *data);

/* Forgets n sectors from `first` on. */
void fe_ring_forget(struct fe_ring *r, uint64_t first, uint64_t n);
