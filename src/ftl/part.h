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
 * The more of a page a command brings, the less has to be read and written again, and some
 * controllers take time in proportion to that.  (flashbench -f: in order a card takes 5.3, 5.2,
 * 4.8, 4.2 and 3.0 ms for 1, 2, 4, 8 and 16 KiB, which is 0.15 ms for each KiB that is left of 16.)
 *
 * Some controllers gather short commands in order, but stream long ones.  If a stream ends inside a
 * page, or inside a group of pages that are programmed together, it has to be stopped: that is the
 * tail's time.  (flashbench: a card behind a USB reader, whose host cuts after 120 KiB, writes
 * pieces of 64 KiB at 6.6 MB/s and larger ones at 4.9 MB/s, and yet gathers commands of 4 KiB in
 * order without loss.)
 *
 * A controller that reads a part of a page may fetch what is behind it as well, up to the end of
 * the page, before it takes the next command:
 *
 *     pages       |-------|-------|-------|
 *     reads        [].....                       most of the time of a page
 *                       [].                      a little of it
 *                       [===]......              what is left of the second page
 *
 * A read that goes on where the one before has ended finds there what was fetched.  (flashbench -a:
 * in seven of 48 logs the first 1 KiB of 8 or 16 KiB takes 1.2 to 1.6 times as long as the last
 * 1 KiB, and the times between them lie on a line.)
 */
#ifndef FE_FTL_PART_H
#define FE_FTL_PART_H

#include "base/num.h"
#include "flashemu/ftl_params.h"
#include "nand/medium.h"

/* Says that a command begins that writes [offset, offset + len).  The time of a tail goes to the op
 * list, as a barrier.  What fits into a page, or into a group of pages, is short. */
static inline void fe_part_begin_write(struct fe_medium *m, const struct fe_part_params *p,
                                       uint64_t offset, uint64_t len)
{
    uint64_t page = m->geo.page_bytes, align = p->tail_align ? p->tail_align : page;
    if (p->tail_write_ns && len > fe_max_u64(page, align) && (offset + len) % align != 0)
        fe_ops_busy(m->ops, p->tail_write_ns);
}

/* Says that a command begins that reads [offset, offset + len), and that the read before it has
 * ended at `before`.  The time of the rest goes to the op list, as a barrier. */
static inline void fe_part_begin_read(struct fe_medium *m, const struct fe_part_params *p,
                                      uint64_t before, uint64_t offset, uint64_t len)
{
    uint64_t align = p->rest_align ? p->rest_align : m->geo.page_bytes;
    uint64_t last = offset + len - 1, rest = align - 1 - last % align;
    if (p->rest_read_ns == 0 || (offset == before && (before - 1) / align == last / align))
        return;
    if (rest)
        fe_ops_busy(m->ops, fe_muldiv(p->rest_read_ns, rest, align));
}

/* Says that the host writes `len` bytes of a page, at least one.  If that is not all of the page,
 * its time as a part and the time of what is left go to the op list, as one barrier. */
static inline void fe_part_write(struct fe_medium *m, const struct fe_part_params *p, uint32_t len)
{
    uint32_t page = m->geo.page_bytes;
    if (len == page || (p->part_write_ns == 0 && p->rest_write_ns == 0))
        return;
    uint64_t rest_ns = fe_muldiv(p->rest_write_ns, page - len, page);
    if (p->part_write_ns + rest_ns)
        fe_ops_busy(m->ops, p->part_write_ns + rest_ns);
}

#endif
