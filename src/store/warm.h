/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that is free but not given back to the host yet: a ring of its pieces, oldest first.
 *
 *     free ---> [ 17 | 4 | 9 | 30 ] ---> give back, if still free
 *                newest      oldest
 *
 * Giving memory back immediately would cost a page fault and a cleared page for every page of a
 * log that circles through few blocks.  So a piece that becomes free enters the ring, and the
 * piece that it pushes out is given back, unless that one is in use again.  A piece is a block of
 * an image, or a group of frames in memory.
 */
#pragma once

#include "flashemu/err.h"

#include <stdint.h>

#define FE_WARM_NONE UINT32_MAX

struct fe_warm {
    uint32_t *ring;  /* capacity n_max + 1 */
    uint8_t *is_in;  /* per piece: it stands in the ring */
    uint32_t n_max, head, n;
};

/* A ring for n_pieces pieces of piece_bytes bytes each; it holds FE_STORE_WARM_BYTES, and at
 * least one piece.  -ENOMEM with a message; fe_warm_fini is right after that, too. */
int fe_warm_init(struct fe_warm *w, uint64_t piece_bytes, uint32_t n_pieces, struct fe_err *err);
void fe_warm_fini(struct fe_warm *w);

/* A piece has become free.  Returns the piece that leaves the ring, or FE_WARM_NONE.  O(1). */
uint32_t fe_warm_add(struct fe_warm *w, uint32_t piece);
