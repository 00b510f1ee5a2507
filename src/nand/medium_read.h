/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Readers of the chip's state for everybody: what the controller knows without an operation.
 *
 * None of them changes anything or takes any of the device's time; each is O(1).
 */
#pragma once

#include "nand/medium_core.h"

enum fe_page_state { FE_PAGE_ERASED, FE_PAGE_PROGRAMMED, FE_PAGE_TORN };

/* The chip is kept in the store's image. */
static inline bool fe_medium_has_image(const struct fe_medium *m)
{
    return m->chip.has_image;
}

/* What the controller knows without an operation: how far a block is programmed, and what is
 * in the OOB of a page that is programmed or torn (it keeps that table, or has just read it). */
static inline uint32_t fe_medium_next_page(const struct fe_medium *m, fe_peb peb)
{
    return m->chip.pebs[peb].next_page;
}

static inline fe_lpn fe_medium_lpn(const struct fe_medium *m, fe_ppn ppn)
{
    return m->chip.oob_lpn[ppn];
}

static inline uint8_t fe_medium_tag(const struct fe_medium *m, fe_ppn ppn)
{
    return m->chip.oob_tag[ppn];
}

/* The number of the program: numbers grow with every program, so the newest copy of a page has
 * the highest.  0 of a torn page. */
static inline uint64_t fe_medium_seq(const struct fe_medium *m, fe_ppn ppn)
{
    return m->chip.oob_seq[ppn];
}

/* The number of the latest program of the chip; 0 before the first. */
static inline uint64_t fe_medium_last_seq(const struct fe_medium *m)
{
    return m->chip.seq;
}

/* Fetches early what is known of pages [first, first + n) that are going to be copied: whose data
 * they hold, their roles, and where their bytes are. */
static inline void fe_medium_fetch(const struct fe_medium *m, fe_ppn first, uint32_t n)
{
    enum { LPNS_A_LINE = 64 / sizeof *m->chip.oob_lpn };
    for (uint32_t i = 0; i < n; i += LPNS_A_LINE)
        fe_fetch(&m->chip.oob_lpn[first + i]);
    fe_fetch(&m->chip.oob_tag[first]);
    fe_store_fetch(m->store, first, n);
}

/* Fetches early what reading a page will need: what is known of it, and where its bytes are. */
static inline void fe_medium_fetch_read(const struct fe_medium *m, fe_ppn ppn)
{
    fe_fetch(&m->chip.pebs[fe_peb_of(&m->geo, ppn)]);
    fe_fetch(&m->chip.oob_tag[ppn]);
    fe_store_fetch(m->store, ppn, 1);
}

/* A page's state needs no memory of its own: pages below next_page are PROGRAMMED, or TORN if
 * their tag says so, and the others are ERASED. */
static inline enum fe_page_state fe_medium_state(const struct fe_medium *m, fe_ppn ppn)
{
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    if (ppn - peb * m->geo.pages_per_block >= m->chip.pebs[peb].next_page)
        return FE_PAGE_ERASED;
    return m->chip.oob_tag[ppn] == FE_TAG_TORN ? FE_PAGE_TORN : FE_PAGE_PROGRAMMED;
}

/* Wrong bits of the first codeword, or FE_FLIPS_...; 0 if the chip does not keep them. */
static inline uint16_t fe_medium_flips(const struct fe_medium *m, fe_ppn ppn)
{
    return m->chip.flips ? m->chip.flips[ppn] : 0;
}

/* All that is kept of a block besides its pages. */
static inline const struct fe_peb_info *fe_medium_block(const struct fe_medium *m, fe_peb peb)
{
    return &m->chip.pebs[peb];
}

/* Erases that the chip block there has behind it. */
static inline uint32_t fe_medium_erase_count(const struct fe_medium *m, fe_peb peb)
{
    return m->chip.pebs[peb].erase_count;
}

static inline bool fe_medium_is_slc(const struct fe_medium *m, fe_peb peb)
{
    return m->chip.pebs[peb].marks & FE_MARK_SLC;
}

/* The block's erase was interrupted: it must be erased before anything else happens to it. */
static inline bool fe_medium_is_unstable(const struct fe_medium *m, fe_peb peb)
{
    return m->chip.pebs[peb].marks & FE_MARK_UNSTABLE;
}

static inline bool fe_medium_is_bad(const struct fe_medium *m, fe_peb peb)
{
    return m->chip.pebs[peb].marks & FE_MARKS_BAD;
}

/* The chip block that stands behind a peb. */
static inline fe_chip_block fe_medium_chip_block(const struct fe_medium *m, fe_peb peb)
{
    return m->chip.blocks ? m->chip.blocks[peb] : peb;
}

/* The die that a block's operations go to. */
static inline uint32_t fe_medium_die(const struct fe_medium *m, fe_peb peb)
{
    return fe_die_of(&m->geo, fe_medium_chip_block(m, peb));
}

/* Reads of the block since its erase, and when its first page was programmed. */
static inline bool fe_medium_has_ages(const struct fe_medium *m)
{
    return m->chip.reads != NULL;
}

static inline uint32_t fe_medium_reads(const struct fe_medium *m, fe_peb peb)
{
    return m->chip.reads[peb];
}

/* How long the data of the block have been there; nothing is dated behind the present. */
static inline uint64_t fe_medium_age_ns(const struct fe_medium *m, fe_peb peb)
{
    assert(m->chip.since_ns[peb] <= m->now_ns);
    return m->now_ns - m->chip.since_ns[peb];
}

static inline bool fe_medium_has_flips(const struct fe_medium *m)
{
    return m->chip.flips != NULL;
}

/* Whether the controller's log of trims has the page: all copies of it are dead. */
static inline bool fe_medium_is_trimmed(const struct fe_medium *m, fe_lpn lpn)
{
    return fe_chip_is_trimmed(&m->chip, lpn);
}

/* What the device has behind it. */
static inline struct fe_lifetime fe_medium_lifetime(const struct fe_medium *m)
{
    struct fe_lifetime l = m->chip.life;
    l.n_programs = m->chip.seq + m->chip.unnumbered;
    return l;
}

/* What the controller knows of power cuts, and its journal of the last one. */
static inline const struct fe_cut_log *fe_medium_cuts(const struct fe_medium *m)
{
    return &m->chip.cuts;
}

static inline struct fe_interrupted fe_medium_interrupted(const struct fe_medium *m)
{
    return m->chip.interrupted;
}
