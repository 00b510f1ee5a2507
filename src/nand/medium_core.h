/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a medium consists of, shared by the files of this folder, and readers of the chip's
 * state for everybody.
 *
 *     medium.c     the chip's rules, and what each operation changes
 *     undo.c       takes operations back when power is cut
 *     wear.c       what the controller does about failures
 *     bbm.c        puts another chip block behind a peb
 *     failures.c   which operations fail and which bits are wrong
 *     issue.h      the op list: what operations cost
 *     chip.c       the state that outlives a run
 *
 * Each file uses only files further down.
 */
#ifndef FE_NAND_MEDIUM_CORE_H
#define FE_NAND_MEDIUM_CORE_H

#include "nand/chip.h"
#include "nand/ops.h"

#include <stddef.h>

enum fe_page_state { FE_PAGE_ERASED, FE_PAGE_PROGRAMMED, FE_PAGE_TORN };

/* Since the medium was made; an image does not keep them. */
struct fe_nand_counters {
    uint64_t page_reads, page_programs, block_erases; /* of single planes */
    uint64_t bytes_programmed;                        /* data, without OOB */
    uint64_t ecc_corrected, ecc_uncorrectable;        /* codewords read */
    uint64_t program_failures, erase_failures;
    uint64_t refreshed, retired;                      /* blocks, because of bits that flipped */
};

struct fe_wear;
struct fe_undo;

struct fe_medium {
    struct fe_geometry geo;
    uint64_t tR_ns[3], tPROG_ns[3], tBERS_ns; /* of a whole page, of a block */
    uint64_t slc_tR_ns, slc_tPROG_ns;
    bool copyback;
    uint32_t program_passes;   /* times that the data of a program cross the channel; at least 1 */
    bool one_by_one;           /* one die, which does nothing at the same time and takes the data of
                                  a program once: see nand/run.h */
    bool read_hook, prog_hook; /* reads and programs have to ask `wear` */
    bool eol;                  /* end of life: no program and no erase any more */
    uint8_t *page_bit;         /* per page of a block: index in tR_ns and tPROG_ns */
    fe_ppn in_register;        /* with parts: the page that was programmed or read last, or
                                  FE_PPN_NONE if the next operation begins a page anyway */
    bool register_read;        /* it was read */
    struct fe_oplist *ops;     /* not owned */
    struct fe_store *store;    /* not owned */
    struct fe_chip chip;       /* changed by the functions of nand/chip.h only */
    struct fe_wear *wear;      /* how the chip fails (nand/wear.h); NULL: never */
    struct fe_undo *undo;      /* nand/undo.h; NULL: power is never cut */
    uint64_t now_ns;           /* device time, set by the owner: the age of data counts from it */
    uint64_t emptying_since;   /* number of the last program when the emptying of the present
                                  victim began, for the journal of a power cut */
    struct fe_nand_counters counters;
};

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

/* Fetches early what reading a page will need: what is known of it, or the beginning of its bytes. */
static inline void fe_medium_fetch_read(const struct fe_medium *m, fe_ppn ppn, bool bytes)
{
    if (bytes) {
        fe_store_fetch_bytes(m->store, ppn);
        return;
    }
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

static inline uint64_t fe_medium_since_ns(const struct fe_medium *m, fe_peb peb)
{
    return m->chip.since_ns[peb];
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

/* What the controller knows of power cuts, and its journal of the last one. */
static inline const struct fe_cut_log *fe_medium_cuts(const struct fe_medium *m)
{
    return &m->chip.cuts;
}

static inline struct fe_interrupted fe_medium_interrupted(const struct fe_medium *m)
{
    return m->chip.interrupted;
}

/* A strategy begins to empty a block. */
static inline void fe_medium_begin_emptying(struct fe_medium *m)
{
    m->emptying_since = fe_medium_last_seq(m);
}

#endif
