/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of the map that the controller holds in its memory.
 *
 * A cheap controller has room for the map of one region of the device.  When a write goes to
 * another region, the controller first stores the old part of the map and fetches the new one:
 *
 *     writes at     0   1   2   900   3   901      (regions of 256 pages)
 *     region        0   0   0   3     0   3
 *     extra time    #           #     #   #
 *
 * Seen from outside, each change of the stream costs a fixed time, whatever the size of the writes.
 * (flashbench: with 2 streams instead of 1, a write takes 0.9 to 2.5 ms longer on cards that have
 * no other limit of open units.)  Reads have a part of the map for themselves and behave alike: a
 * small read in a new place takes 0.4 to 1 ms on cards whose flash needs 0.05 ms.
 *
 * A stream that runs across the end of a region pays nothing, because the controller fetches the
 * next part meanwhile.
 */
#ifndef FE_FTL_REGION_H
#define FE_FTL_REGION_H

#include "base/num.h"
#include "nand/ops.h"

struct fe_region {
    struct fe_fastdiv by_pages;
    uint64_t write_ns, read_ns;   /* the time of a change; 0: there are no regions */
    fe_lpn last_write, last_read; /* the previous page, or FE_LPN_NONE */
};

/* Regions of `bytes`, at least one page each. */
static inline void fe_region_init(struct fe_region *r, uint64_t bytes, uint64_t write_ns,
                                  uint64_t read_ns, uint32_t page_bytes)
{
    uint64_t pages = bytes / page_bytes;
    r->by_pages = fe_fastdiv_init((uint32_t)fe_min_u64(fe_max_u64(pages, 1), UINT32_MAX));
    r->write_ns = write_ns;
    r->read_ns = read_ns;
    r->last_write = r->last_read = FE_LPN_NONE;
}

/* For the two functions below. */
static inline void fe_region_go(struct fe_region *r, fe_lpn *last, uint64_t ns, fe_lpn lpn,
                                struct fe_oplist *ops)
{
    if (ns == 0)
        return;
    if (*last == FE_LPN_NONE ||
        (lpn != *last + 1 && fe_fastdiv(lpn, r->by_pages) != fe_fastdiv(*last, r->by_pages)))
        fe_ops_busy(ops, ns);
    *last = lpn;
}

/* Says that the host writes or reads this page.  If that needs another part of the map, the time
 * goes to the op list, as a barrier. */
static inline void fe_region_write(struct fe_region *r, fe_lpn lpn, struct fe_oplist *ops)
{
    fe_region_go(r, &r->last_write, r->write_ns, lpn, ops);
}

static inline void fe_region_read(struct fe_region *r, fe_lpn lpn, struct fe_oplist *ops)
{
    fe_region_go(r, &r->last_read, r->read_ns, lpn, ops);
}

#endif
