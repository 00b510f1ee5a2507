/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/warm.h"

#include "base/num.h"
#include "store/store.h"

#include <stdlib.h>

int fe_warm_init(struct fe_warm *w, uint64_t piece_bytes, uint32_t n_pieces, struct fe_err *err)
{
    w->n_max =
        (uint32_t)fe_min_u64(fe_max_u64(FE_STORE_WARM_BYTES / piece_bytes, 1), n_pieces);
    w->ring = calloc((size_t)w->n_max + 1, sizeof *w->ring);
    w->is_in = calloc(n_pieces, 1);
    return w->ring && w->is_in
               ? 0
               : fe_err_nomem(err, "ring of free memory", (uint64_t)n_pieces + w->n_max * 4ull);
}

void fe_warm_fini(struct fe_warm *w)
{
    free(w->ring);
    free(w->is_in);
}

uint32_t fe_warm_add(struct fe_warm *w, uint32_t piece)
{
    uint32_t cap = w->n_max + 1;
    if (w->is_in[piece])
        return FE_WARM_NONE;
    w->ring[(w->head + w->n++) % cap] = piece;
    w->is_in[piece] = 1;
    if (w->n <= w->n_max)
        return FE_WARM_NONE;
    uint32_t oldest = w->ring[w->head];
    w->head = (w->head + 1) % cap;
    w->n--;
    w->is_in[oldest] = 0;
    return oldest;
}
