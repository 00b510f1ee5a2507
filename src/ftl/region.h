/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of the map that the controller holds while it writes.
 *
 * Cheap controllers have room for the map of one stretch of the device.  A write that
 * does not go on where the last one ended, and lies in another stretch, first has the old
 * part stored and the new one fetched.  From outside that is a fixed time for each change
 * of stream, whatever the size of the writes (flashbench: 2 streams instead of 1 cost
 * 0.9 to 2.5 ms a write on cards that have no limit of open units otherwise).
 *
 * A stream that runs across the end of a region pays nothing: the next part is fetched
 * meanwhile.
 */
#ifndef FE_FTL_REGION_H
#define FE_FTL_REGION_H

#include "base/num.h"
#include "nand/ops.h"

struct fe_region {
    uint64_t switch_ns;      /* 0: changes cost nothing */
    struct fe_fastdiv by_pages;
    fe_lpn last;             /* page written last, or FE_LPN_NONE */
};

static inline void fe_region_init(struct fe_region *r, uint64_t bytes, uint64_t switch_ns,
                                  uint32_t page_bytes)
{
    uint64_t pages = bytes / page_bytes;
    r->switch_ns = switch_ns;
    r->by_pages = fe_fastdiv_init((uint32_t)fe_min_u64(fe_max_u64(pages, 1), UINT32_MAX));
    r->last = FE_LPN_NONE;
}

/* The host writes this page: the time of a change goes to the op list, as a barrier. */
static inline void fe_region_write(struct fe_region *r, fe_lpn lpn, struct fe_oplist *ops)
{
    if (r->switch_ns == 0)
        return;
    if (r->last != FE_LPN_NONE && lpn != r->last && lpn != r->last + 1 &&
        fe_fastdiv(lpn, r->by_pages) != fe_fastdiv(r->last, r->by_pages))
        fe_ops_busy(ops, r->switch_ns);
    r->last = lpn;
}

#endif
