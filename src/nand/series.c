/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is the same for all pages of a row is done once: the checks of the blocks, the counters, and
 * the tables of the chip.  What is left for each page is a sum of two times.
 */
#include "nand/series.h"

/* What the cells take for n pages of the row from i on, which are a buffer, or less at the end.
 * They are read and then programmed, so the parts of a page in them are sensed once and programmed
 * once.  What stays on its die is programmed behind its read, page by page and part by part. */
static uint64_t buffer_ns(struct fe_medium *m, const struct fe_series_row *row, uint32_t i, uint32_t n)
{
    uint32_t from_page = fe_page_of(&m->geo, row->from), to_page = fe_page_of(&m->geo, row->to);
    uint32_t parts = m->copyback ? 1 : UINT32_C(1) << m->geo.parts_log2;
    fe_series_barrier(m);
    bool sensed = fe_issue_is_sensed(m, row->from + i, from_page + i);
    uint64_t ns = 0;
    for (uint32_t k = i; k < i + n; k += parts - ((to_page + k) & (parts - 1))) {
        uint64_t read_ns = sensed ? 0 : m->tR_ns[m->page_bit[from_page + k]];
        ns = fe_time_add(ns, read_ns + m->tPROG_ns[m->page_bit[to_page + k]]);
        sensed = false;
    }
    fe_issue_note(m, row->to + i + n - 1, false);
    return ns;
}

static void check_row(const struct fe_medium *m, const struct fe_series_row *row)
{
    fe_peb source = fe_peb_of(&m->geo, row->from), peb = fe_peb_of(&m->geo, row->to);
    assert(row->n > 0 && row->buffer > 0 && fe_chip_is_bare(&m->chip));
    assert(fe_part_of(&m->geo, row->from) == fe_part_of(&m->geo, row->to));
    assert(fe_page_of(&m->geo, row->from) + row->n <= fe_medium_next_page(m, source));
    assert(fe_page_of(&m->geo, row->to) == fe_medium_next_page(m, peb));
    assert(row->n <= m->geo.pages_per_block - fe_medium_next_page(m, peb));
    assert(!fe_medium_is_slc(m, source) && !fe_medium_is_slc(m, peb));
    assert(!fe_medium_is_bad(m, peb) && !fe_medium_is_unstable(m, peb));
    (void)source, (void)peb;
}

void fe_series_copy(struct fe_medium *m, struct fe_series *r, const struct fe_series_row *row)
{
    uint64_t ns = 0;
    uint32_t n;
    check_row(m, row);
    for (uint32_t i = 0, left = row->n; left > 0; i += n, left -= n) {
        n = left < row->buffer ? left : row->buffer;
        ns = fe_time_add(ns, buffer_ns(m, row, i, n));
    }
    fe_series_add(m, r, row->n, fe_series_bytes(m, true), 0); /* the reads, with the programs' time */
    fe_series_add(m, r, row->n, fe_series_bytes(m, true), ns);
    m->counters.page_reads += (uint64_t)row->n * m->geo.planes_ganged;
    fe_issue_count_programs(m, row->n);
    uint32_t last = row->n - 1;
    fe_chip_program_row(&m->chip, row->to, last, row->lpn, row->tag);
    fe_chip_program_row(&m->chip, row->to + last, 1, row->lpn + last, row->last_tag);
}
