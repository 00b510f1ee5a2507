/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that are gathered in a list and made together (gather.c says why).
 *
 * From fe_gather_add to fe_gather_settle the sources keep their bytes, and nobody looks at the
 * targets or changes them.  No target overlaps another target or a source: the order of the copies
 * is not promised, and a full list is settled by the add that finds it full.
 *
 * No lock: the owner serialises.
 */
#ifndef FE_STORE_GATHER_H
#define FE_STORE_GATHER_H

#include <stddef.h>
#include <stdint.h>

enum { FE_GATHER_PIECES = 256 }; /* a request of 1 MiB in pages of 4 KiB */

struct fe_piece {
    uint8_t *to;
    const uint8_t *from;
    size_t len;
};

/* All zeros is an empty list. */
struct fe_gather {
    uint32_t n;
    struct fe_piece pieces[FE_GATHER_PIECES];
};

/* Makes the copies of a list that is not empty; the list is empty then. */
void fe_gather_copy(struct fe_gather *g);

static inline void fe_gather_settle(struct fe_gather *g)
{
    if (g->n > 0)
        fe_gather_copy(g);
}

/* to[0, len) will be from[0, len) when the list has been settled. */
void fe_gather_add(struct fe_gather *g, void *to, const uint8_t *from, size_t len);

#endif
