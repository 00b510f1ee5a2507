/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many pages that are copied one after the other, as one operation of the op list.
 *
 * A merge on a single die has no overlap: each page is read when the one before it has been
 * programmed, or a few pages are read, and programmed when the last of them has been read.  So the
 * time of all of them is a sum, which needs no timelines:
 *
 *     read  program  read  program  read  program
 *     |-----|--------|-----|--------|-----|--------|        one FE_OP_SERIES
 *
 * Parts of one page share what the cells take: a read of another part that is in the register adds
 * its transfer alone, and so does a program that joins the part before it (nand/issue.h).
 *
 * The chip changes page by page, as by the functions of nand/medium.h; a row of pages that lie
 * together in one block and go together to another one changes it at once.  Where single operations
 * matter there are no series: a power cut may come between two of them, each may fail, and somebody
 * may look at them.  With several dies or cached operations pages overlap, a staged program transfers
 * more than a read, and operations that slow with wear take a time of their own in each block.
 */
#pragma once

#include "nand/issue.h"

/* Begins as all zeros. */
struct fe_series {
    uint64_t cell_ns;
    uint32_t n, bus_bytes; /* reads and programs, and what each of them transfers */
};

/* Whether copies may be a series at present.  O(1). */
static inline bool fe_series_allowed(const struct fe_medium *m)
{
    return m->one_by_one && !m->ops->watched && !m->undo && !m->read_hook && !m->prog_hook;
}

/* Hands the series to the op list.  It starts when everything before it has ended, and everything
 * that follows starts when it has ended. */
static inline void fe_series_end(struct fe_medium *m, struct fe_series *r)
{
    if (r->n > 0)
        *fe_ops_add(m->ops) = (struct fe_op){.kind = FE_OP_SERIES, .ppn = FE_PPN_NONE, .n = r->n,
                                             .cell_ns = r->cell_ns, .bus_bytes = r->bus_bytes};
    *r = (struct fe_series){0};
}

/* n reads or programs, which take the cells cell_ns together. */
static inline void fe_series_add(struct fe_medium *m, struct fe_series *r, uint32_t n,
                                 uint32_t bus_bytes, uint64_t cell_ns)
{
    if (bus_bytes != r->bus_bytes || n > UINT32_MAX - r->n)
        fe_series_end(m, r);
    r->bus_bytes = bus_bytes;
    r->cell_ns = fe_time_add(r->cell_ns, cell_ns);
    r->n += n;
}

/* What follows starts when everything before it has ended.  A program cannot join one in front of
 * that any more. */
static inline void fe_series_barrier(struct fe_medium *m)
{
    if (!m->register_read)
        fe_issue_note(m, FE_PPN_NONE, false);
}

/* What the cells take for a read or a program of a page of a block; then the page is in the
 * register. */
static inline uint64_t fe_series_read_ns(struct fe_medium *m, fe_ppn ppn, uint32_t page)
{
    uint64_t ns = fe_issue_is_sensed(m, ppn, page) ? 0 : m->tR_ns[m->page_bit[page]];
    fe_issue_note(m, ppn, true);
    return ns;
}

static inline uint64_t fe_series_prog_ns(struct fe_medium *m, fe_ppn ppn, uint32_t page)
{
    uint64_t ns = fe_issue_joins(m, ppn, page) ? 0 : m->tPROG_ns[m->page_bit[page]];
    fe_issue_note(m, ppn, false);
    return ns;
}

/* The bytes that a page crosses the channel with when it is read to be copied, or programmed. */
static inline uint32_t fe_series_bytes(const struct fe_medium *m, bool is_copy)
{
    return is_copy && m->copyback ? 0 : fe_issue_page_bytes(m);
}

/* Reads a page that is going to be copied.  Only if a series is allowed. */
static inline void fe_series_read(struct fe_medium *m, struct fe_series *r, fe_ppn from)
{
    fe_peb peb = fe_peb_of(&m->geo, from);
    uint32_t page = from - peb * m->geo.pages_per_block;
    assert(page < fe_medium_next_page(m, peb) && !fe_medium_is_slc(m, peb));
    fe_series_add(m, r, 1, fe_series_bytes(m, true), fe_series_read_ns(m, from, page));
    m->counters.page_reads += m->geo.planes_ganged;
}

/* Programs what was read from a page, or padding if `from` is FE_PPN_NONE, to the next page of a
 * block; lpn and tag as in fe_medium_prog.  Only if a series is allowed. */
static inline void fe_series_prog(struct fe_medium *m, struct fe_series *r, fe_ppn from, fe_ppn to,
                                  fe_lpn lpn, uint8_t tag)
{
    fe_peb peb = fe_peb_of(&m->geo, to);
    uint32_t page = to - peb * m->geo.pages_per_block;
    assert(page == fe_medium_next_page(m, peb) && !fe_medium_is_unstable(m, peb));
    assert(!fe_medium_is_bad(m, peb) && !fe_medium_is_slc(m, peb));
    fe_series_add(m, r, 1, fe_series_bytes(m, from != FE_PPN_NONE), fe_series_prog_ns(m, to, page));
    fe_issue_count_programs(m, 1);
    fe_chip_program(&m->chip, to, (struct fe_chip_oob){.lpn = lpn, .tag = tag}, from, 0, 0, NULL);
}

/* Pages [from, from + n) of one block, which are copied to [to, to + n), the next ones of another
 * block: `buffer` pages are read and then programmed, and so on.  They have the data of the logical
 * pages from lpn on.  The last copy gets last_tag, and the others get tag.  `from` and `to` are the
 * same part of their pages. */
struct fe_series_row {
    fe_ppn from, to;
    uint32_t n, buffer;
    fe_lpn lpn;
    uint8_t tag, last_tag;
};

/* Does for a row what fe_series_barrier, fe_series_read and fe_series_prog do page by page.  Only if a
 * series is allowed and the chip is bare (fe_chip_is_bare).  O(n). */
void fe_series_copy(struct fe_medium *m, struct fe_series *r, const struct fe_series_row *row);
