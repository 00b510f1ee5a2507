/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of the map that the controller holds.
 *
 * Cheap controllers have room for the map of one stretch of the device.  A write that
 * does not go on where the last one ended, and lies in another stretch, first has the old
 * part stored and the new one fetched.  From outside that is a fixed time for each change
 * of stream, whatever the size of the writes (flashbench: 2 streams instead of 1 cost
 * 0.9 to 2.5 ms a write on cards that have no limit of open units otherwise).
 *
 * Reads, which have a part of their own, are the same: a small read somewhere costs 0.4 to 1 ms
 * on cards whose flash needs 0.05.
 *
 * A stream that runs across the end of a region pays nothing: the next part is fetched
 * meanwhile.
 */
#ifndef FE_FTL_REGION_H
#define FE_FTL_REGION_H

#include "base/num.h"
#include "nand/ops.h"

struct fe_region {
    struct fe_fastdiv by_pages;
    uint64_t write_ns, read_ns;     /* of a change; 0: it costs nothing */
    fe_lpn last_write, last_read;   /* page, or FE_LPN_NONE */
};

static inline void fe_region_init(struct fe_region *r, uint64_t bytes, uint64_t write_ns,
                                  uint64_t read_ns, uint32_t page_bytes)
{
    uint64_t pages = bytes / page_bytes;
    r->by_pages = fe_fastdiv_init((uint32_t)fe_min_u64(fe_max_u64(pages, 1), UINT32_MAX));
    r->write_ns = write_ns;
    r->read_ns = read_ns;
    r->last_write = r->last_read = FE_LPN_NONE;
}

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

/* The host writes or reads this page: the time of a change goes to the op list, as a
 * barrier. */
static inline void fe_region_write(struct fe_region *r, fe_lpn lpn, struct fe_oplist *ops)
{
    fe_region_go(r, &r->last_write, r->write_ns, lpn, ops);
}

static inline void fe_region_read(struct fe_region *r, fe_lpn lpn, struct fe_oplist *ops)
{
    fe_region_go(r, &r->last_read, r->read_ns, lpn, ops);
}

#endif
