/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations for the op list: which die, how long the cells take, how many bytes cross the
 * channel.  Only the medium, and bad block management for it, issue operations; their
 * counters are counted here as far as no program or erase can still fail.
 */
#pragma once

#include "nand/failures.h"
#include "nand/medium_read.h"

/* Bytes of a page with its OOB. */
static inline uint32_t fe_issue_page_bytes(const struct fe_medium *m)
{
    return m->geo.page_bytes + m->geo.oob_bytes;
}

/* Notes what is in the register of a die now, by page or FE_PPN_NONE. */
static inline void fe_issue_note(struct fe_medium *m, fe_ppn ppn, bool read)
{
    m->in_register = m->geo.parts_log2 ? ppn : FE_PPN_NONE;
    m->register_read = read;
}

/* Whether the operation before has read another part of the page that this one belongs to. */
static inline bool fe_issue_is_sensed(const struct fe_medium *m, fe_ppn ppn, uint32_t page)
{
    return m->in_register != FE_PPN_NONE && m->register_read &&
           m->in_register - (ppn - fe_part_of(&m->geo, page)) < UINT32_C(1) << m->geo.parts_log2;
}

/* Whether the operation before has programmed the part in front of this one. */
static inline bool fe_issue_joins(const struct fe_medium *m, fe_ppn ppn, uint32_t page)
{
    return m->in_register != FE_PPN_NONE && !m->register_read && m->in_register + 1 == ppn &&
           fe_part_of(&m->geo, page) != 0;
}

/* What an operation on the block takes of which a new block needs ns, and that is ppm slower at the
 * end of a life. */
static inline uint64_t fe_issue_worn(const struct fe_medium *m, fe_peb peb, uint64_t ns,
                                     uint64_t ppm)
{
    return m->slows && m->wear ? fe_failures_slowed(m, peb, ns, ppm) : ns;
}

static inline void fe_issue_read(struct fe_medium *m, fe_peb peb, uint32_t page,
                                 uint32_t bus_bytes)
{
    fe_ppn ppn = peb * m->geo.pages_per_block + page;
    uint64_t tR_ns = fe_medium_is_slc(m, peb) ? m->slc_tR_ns : m->tR_ns[m->page_bit[page]];
    *fe_ops_add(m->ops) = (struct fe_op){
        .kind = FE_OP_READ,
        .flags = fe_ops_take_flags(m->ops),
        .ppn = ppn,
        .die = (uint16_t)fe_medium_die(m, peb),
        .cell_ns = fe_issue_is_sensed(m, ppn, page)
                       ? 0
                       : fe_issue_worn(m, peb, tR_ns, m->worn.read_ppm),
        .bus_bytes = bus_bytes,
    };
    fe_issue_note(m, ppn, true);
    m->counters.page_reads += m->geo.planes_ganged;
}

/* Programs the page as blocks like peb are programmed, on a die.  ppn: FE_PPN_NONE for a block
 * of the reserve, which strategies do not see. */
static inline void fe_issue_prog(struct fe_medium *m, fe_peb peb, uint32_t page, fe_ppn ppn,
                                 uint32_t die, uint32_t bus_bytes, uint8_t flags)
{
    bool slc = fe_medium_is_slc(m, peb);
    uint64_t tPROG_ns = slc ? m->slc_tPROG_ns : m->tPROG_ns[m->page_bit[page]];
    if (flags == 0 && fe_issue_joins(m, ppn, page))
        flags = FE_OP_JOINS;
    fe_issue_note(m, ppn, false);
    *fe_ops_add(m->ops) = (struct fe_op){
        .kind = FE_OP_PROG,
        .flags = flags,
        .ppn = ppn,
        .die = (uint16_t)die,
        .cell_ns = fe_issue_worn(m, peb, tPROG_ns, m->worn.program_ppm),
        .bus_bytes = bus_bytes,
    };
}

static inline void fe_issue_erase(struct fe_medium *m, fe_peb peb, fe_ppn ppn)
{
    fe_issue_note(m, FE_PPN_NONE, false);
    *fe_ops_add(m->ops) = (struct fe_op){
        .kind = FE_OP_ERASE,
        .ppn = ppn,
        .die = (uint16_t)fe_medium_die(m, peb),
        .cell_ns = fe_issue_worn(m, peb, m->tBERS_ns, m->worn.erase_ppm),
    };
}

/* Pages were programmed: with success, in vain, or once more. */
static inline void fe_issue_count_programs(struct fe_medium *m, uint32_t n)
{
    m->counters.page_programs += (uint64_t)n * m->geo.planes_ganged;
    m->counters.bytes_programmed += (uint64_t)n * m->geo.page_bytes;
}
