/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What it costs that a command begins or ends inside a page.
 *
 * The strategies program a whole page for it, with what the page held before.  Some controllers
 * need longer than that: they read the old page into a buffer of its own, or close the buffer that
 * the next command would have filled.
 *
 *     pages       |-------|-------|-------|
 *     a command       [===============]          two parts: twice the time of a part
 *     a command   [===============]              none
 *     a command   [====]                         one part
 *     a command   [===========]                  one part, and a tail
 *
 * Some controllers gather short commands in order, but stream long ones.  If a stream ends inside a
 * page, or inside a group of pages that are programmed together, it has to be stopped: that is the
 * tail's time.  (flashbench: a card behind a USB reader, whose host cuts after 120 KiB, writes
 * pieces of 64 KiB at 6.6 MB/s and larger ones at 4.9 MB/s, and yet gathers commands of 4 KiB in
 * order without loss.)
 */
#ifndef FE_FTL_PART_H
#define FE_FTL_PART_H

#include "flashemu/ftl_params.h"
#include "nand/medium.h"

/* Says that a command begins that writes or reads [offset, offset + len).  The time of a tail goes
 * to the op list, as a barrier.  What fits into a page, or into a group of pages, is short. */
static inline void fe_part_begin(struct fe_medium *m, const struct fe_part_params *p, bool write,
                                 uint64_t offset, uint64_t len)
{
    uint64_t page = m->geo.page_bytes, align = p->tail_align ? p->tail_align : page;
    if (p->tail_write_ns && write && len > fe_max_u64(page, align) && (offset + len) % align != 0)
        fe_ops_busy(m->ops, p->tail_write_ns);
}

/* Says that the host writes `len` bytes of a page.  The time of a part goes to the op list, as a
 * barrier. */
static inline void fe_part_write(struct fe_medium *m, const struct fe_part_params *p, uint32_t len)
{
    if (p->part_write_ns && len < m->geo.page_bytes)
        fe_ops_busy(m->ops, p->part_write_ns);
}

#endif
