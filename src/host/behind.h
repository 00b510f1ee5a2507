/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writing behind: the buffer for pages that the host has sent and that the flash is still writing.
 *
 * A card that writes behind answers a write as soon as it has the data.  The buffer has n places of
 * one page each, which are used in turn.  A page occupies its place until everything that its write
 * brought about has ended; the data of a page wait until its place is free.  With n = 2 and a flash
 * that takes three times as long as the link:
 *
 *     link        |a|b|     |c| |d|          c waits for the place of a, d for that of b
 *     flash         |==a==|==b==|==c==|==d==|
 *
 * With cache.mode=off the buffer is still there, but the host has its answer when the flash has
 * everything.
 *
 * So n pages arrive at the speed of the link, and all others at that of the flash.
 *
 * This is about time only.  The data are where the strategy has put them; a power cut takes back
 * what the flash had not finished (nand/undo.h).
 *
 * Not modelled: places that become free in another order than they were taken.
 */
#pragma once

#include "base/num.h"
#include "flashemu/err.h"
#include "flashemu/host_params.h"

#include <stdlib.h>
#include <string.h>

struct fe_behind {
    uint64_t *free_ns; /* when each place is free */
    uint32_t n, next;  /* n = 0: the device does not write behind */
};

/* Room for p->write_behind bytes in pages.  0 or -ENOMEM, with message. */
static inline int fe_behind_init(struct fe_behind *b, const struct fe_cache_params *p,
                                 uint32_t page_bytes, struct fe_err *err)
{
    uint64_t n = p->write_behind / page_bytes;
    *b = (struct fe_behind){.n = (uint32_t)fe_min_u64(n, 1u << 24)};
    if (b->n == 0)
        return 0;
    b->free_ns = calloc(b->n, sizeof *b->free_ns);
    return b->free_ns ? 0 : fe_err_nomem(err, "places for writing behind", b->n * 8ull);
}

static inline void fe_behind_fini(struct fe_behind *b)
{
    free(b->free_ns);
    b->free_ns = NULL;
}

/* Nothing is on its way any more. */
static inline void fe_behind_reset(struct fe_behind *b)
{
    if (b->n)
        memset(b->free_ns, 0, b->n * sizeof *b->free_ns);
}

/* When the next page may come in. */
static inline uint64_t fe_behind_room_ns(const struct fe_behind *b)
{
    return b->n ? b->free_ns[b->next] : 0;
}

/* A page has taken the next place, until end_ns. */
static inline void fe_behind_put(struct fe_behind *b, uint64_t end_ns)
{
    b->free_ns[b->next] = end_ns;
    b->next = b->next + 1 < b->n ? b->next + 1 : 0;
}

/* The page that came last keeps its place until end_ns at least. */
static inline void fe_behind_keep(struct fe_behind *b, uint64_t end_ns)
{
    uint64_t *last = &b->free_ns[(b->next ? b->next : b->n) - 1];
    *last = fe_max_u64(*last, end_ns);
}
