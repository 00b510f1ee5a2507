/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that are kept in a list and made together (copy_list.c says why).
 *
 * From fe_copy_list_add to fe_copy_list_settle the sources keep their bytes, and nobody looks at the
 * targets or changes them.  No target overlaps another target or a source: the order of the copies
 * is not promised, and a full list is settled by the add that finds it full.
 *
 * No lock: the owner serialises.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { FE_COPY_LIST_PIECES = 256 }; /* a request of 1 MiB in pages of 4 KiB */

struct fe_piece {
    uint8_t *to;
    const uint8_t *from;
    size_t len;
};

/* All zeros is an empty list. */
struct fe_copy_list {
    uint32_t n;
    struct fe_piece pieces[FE_COPY_LIST_PIECES];
};

/* Makes the copies of a list that is not empty; the list is empty then. */
void fe_copy_list_copy(struct fe_copy_list *g);

static inline void fe_copy_list_settle(struct fe_copy_list *g)
{
    if (g->n > 0)
        fe_copy_list_copy(g);
}

/* to[0, len) will be from[0, len) when the list has been settled. */
void fe_copy_list_add(struct fe_copy_list *g, void *to, const uint8_t *from, size_t len);
