/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the map that the controller holds in its memory.
 *
 * A cheap controller has room for the map of one region of the device, a better one for several.
 * When a write goes to a region that it does not hold, the controller first stores the part of the
 * map that was used longest ago, and fetches the new one:
 *
 *     writes at     0   1   2   900   3   901      (regions of 256 pages)
 *     region        0   0   0   3     0   3
 *     extra time    #           #     #   #        it holds one region
 *     extra time    #           #                  it holds two
 *
 * Seen from outside, each change of the stream costs a fixed time, whatever the size of the writes.
 * (flashbench: with 2 streams instead of 1, a write takes 0.9 to 2.5 ms longer on cards that have
 * no other limit of open units.)  Reads have parts of the map for themselves and behave alike: a
 * small read in a new place takes 0.4 to 1 ms on cards whose flash needs 0.05 ms.
 *
 * So random requests are quick in a range of as many regions as the controller holds.  In a range
 * of n times as many, all but one in n of them pay.
 *
 * A stream that runs across the end of a region pays nothing, because the controller fetches the
 * next part meanwhile.
 *
 * A read command of more than FE_REGION_DIRECT bytes may have to set up a stream besides, unless it
 * continues the read before (ftl.stream_read).  Such reads wait for each other.
 */
#ifndef FE_FTL_REGION_H
#define FE_FTL_REGION_H

#include "base/num.h"
#include "flashemu/ftl_params.h"
#include "nand/ops.h"

#include <string.h>

#define FE_REGION_MAX 256
#define FE_REGION_DIRECT 4096

/* The regions held for one kind of request, the latest one first. */
struct fe_region_set {
    fe_lpn last; /* the previous page, or FE_LPN_NONE */
    uint32_t n;
    uint32_t held[FE_REGION_MAX];
};

struct fe_region {
    struct fe_fastdiv by_pages;
    uint32_t n_held;            /* how many there is room for */
    uint64_t write_ns, read_ns; /* the time of a change; 0: there are no regions */
    struct fe_region_set writes, reads;
    uint64_t stream_ns;         /* the time of a stream that begins */
    uint64_t read_end;          /* where the host's last read ended */
};

/* Regions of p->map_region bytes, at least one page each. */
static inline void fe_region_init(struct fe_region *r, const struct fe_region_params *p,
                                  uint32_t page_bytes)
{
    uint64_t pages = p->map_region / page_bytes;
    r->by_pages = fe_fastdiv_init((uint32_t)fe_min_u64(fe_max_u64(pages, 1), UINT32_MAX));
    r->n_held = p->map_held;
    r->write_ns = p->map_switch_ns;
    r->read_ns = p->map_read_ns;
    r->writes.last = r->reads.last = FE_LPN_NONE;
    r->writes.n = r->reads.n = 0;
    r->stream_ns = p->stream_read_ns;
    r->read_end = UINT64_MAX;
}

/* A read command of bytes [offset, offset + len) begins.  If it begins a stream, the time of that
 * goes to the op list, as a barrier. */
static inline void fe_region_begin_read(struct fe_region *r, uint64_t offset, uint64_t len,
                                        struct fe_oplist *ops)
{
    if (r->stream_ns && len > FE_REGION_DIRECT && offset != r->read_end)
        fe_ops_busy(ops, r->stream_ns);
    r->read_end = offset + len;
}

/* Region g becomes the latest one.  Returns whether it was held already. */
static inline bool fe_region_touch(struct fe_region_set *s, uint32_t n_held, uint32_t g)
{
    uint32_t i = 0;
    while (i < s->n && s->held[i] != g)
        i++;
    bool held = i < s->n;
    if (!held && s->n < n_held)
        s->n++;
    else if (!held)
        i--; /* the oldest one goes */
    memmove(s->held + 1, s->held, i * sizeof *s->held);
    s->held[0] = g;
    return held;
}

/* For the two functions below. */
static inline void fe_region_go(const struct fe_region *r, struct fe_region_set *s, uint64_t ns,
                                fe_lpn lpn, struct fe_oplist *ops)
{
    if (ns == 0)
        return;
    bool follows = s->last != FE_LPN_NONE && lpn == s->last + 1;
    if (!fe_region_touch(s, r->n_held, fe_fastdiv(lpn, r->by_pages)) && !follows)
        fe_ops_busy(ops, ns);
    s->last = lpn;
}

/* Says that the host writes or reads this page.  If that needs another part of the map, the time
 * goes to the op list, as a barrier. */
static inline void fe_region_write(struct fe_region *r, fe_lpn lpn, struct fe_oplist *ops)
{
    fe_region_go(r, &r->writes, r->write_ns, lpn, ops);
}

static inline void fe_region_read(struct fe_region *r, fe_lpn lpn, struct fe_oplist *ops)
{
    fe_region_go(r, &r->reads, r->read_ns, lpn, ops);
}

/* Does what fe_region_write does for n pages in order, but leaves out their time.  O(regions). */
static inline void fe_region_fill(struct fe_region *r, fe_lpn first, fe_lpn n)
{
    if (r->write_ns == 0 || n == 0)
        return;
    uint32_t last = fe_fastdiv(first + n - 1, r->by_pages);
    for (uint32_t g = fe_fastdiv(first, r->by_pages); g <= last; g++)
        (void)fe_region_touch(&r->writes, r->n_held, g);
    r->writes.last = first + n - 1;
}

#endif
