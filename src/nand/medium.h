/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip: pages that hold data and OOB, and the rules for changing them.
 *
 * Rules, each an assertion (breaking one is a bug of the translation layer):
 *   - a page is programmed once between two erases of its block;
 *   - pages of a block are programmed in order, without gaps;
 *   - only a programmed or torn page is read, and only a programmed one copied;
 *   - an erase takes a whole block;
 *   - an unstable block is erased before anything else happens to it;
 *   - a bad block is not touched.
 *
 * A block of a chip with several bits a cell can be used in SLC mode from one erase to
 * the next: it holds one page for each group of cells then, fe_slc_pages() in all,
 * numbered from 0 without gaps, and they have times of their own.
 *
 * State changes at once; the time that it takes is what the op list says.  A page's
 * state needs no memory of its own: those below next_page are PROGRAMMED, or TORN if
 * their tag says so, the others ERASED.  Memory: 13 bytes of OOB a page, 8 bytes a block.
 *
 * No lock: the owner serialises.
 */
#ifndef FE_NAND_MEDIUM_H
#define FE_NAND_MEDIUM_H

#include "base/bits.h"
#include "nand/geometry.h"
#include "nand/ops.h"
#include "nand/state.h"
#include "store/store.h"

enum fe_page_state { FE_PAGE_ERASED, FE_PAGE_PROGRAMMED, FE_PAGE_TORN };

/* The tag of a page whose program was interrupted: neither data nor OOB can be read, its
 * logical page is FE_LPN_NONE and its sequence number 0.  All other tags are the
 * strategy's (enum fe_tag in ftl/ftl.h). */
#define FE_TAG_TORN 0xff

struct fe_wear;
struct fe_undo; /* nand/undo.h */

struct fe_medium {
    struct fe_geometry geo;
    uint64_t tR_ns[3], tPROG_ns[3], tBERS_ns; /* of a whole page, of a block */
    uint64_t slc_tR_ns, slc_tPROG_ns;
    bool copyback;
    uint8_t *page_bit;         /* per page of a block: index in tR_ns and tPROG_ns */
    struct fe_oplist *ops;     /* not owned */
    struct fe_store *store;    /* not owned */
    bool image;                /* the store is an image: see nand/medium_image.h */
    struct fe_peb_info *pebs;  /* by slot: of n_chip_blocks, see nand/wear.h */
    fe_peb *phys;              /* by slot: the block of the chip that stands there; NULL: itself */
    struct fe_wear *wear;      /* how the chip fails; NULL: never */
    bool read_hook, prog_hook; /* what of that reads and programs have to ask for */
    bool eol;                  /* end of life: no program and no erase any more */
    uint64_t now_ns;           /* device time, set by the owner: data age by it */
    /* OOB of each page, as an image keeps it; of erased pages it means nothing. */
    fe_lpn *oob_lpn;           /* whose data a page holds; FE_LPN_NONE for padding */
    uint64_t *oob_seq;         /* grows with every program, the newest copy wins */
    uint8_t *oob_tag;          /* the page's role in its strategy, or FE_TAG_TORN */
    uint64_t seq;              /* of the last program */
    /* The controller's log of trims, NULL if it keeps none: a bit for each of n_trims logical
     * pages that were trimmed and not programmed since; copies of them are dead. */
    uint64_t *trims;
    uint32_t n_trims;
    struct fe_undo *undo;      /* NULL: power is never cut */
    /* The block that was next to be erased when power failed, as the controller's journal has
     * it: that it was being emptied, and still holds all that it did.  FE_PEB_NONE: none. */
    fe_peb interrupted;
    uint64_t interrupted_since, interrupted_until; /* seq when that began, and when it was done */
    uint64_t emptying_since;    /* set by who begins to empty a block, to `seq` */
    struct fe_cut_log cuts;     /* set by who cuts power; kept by fe_medium_save_journal */
    struct fe_nand_counters counters;
};

/* All blocks erased.  store and ops must outlive the medium, and the store must have
 * those of all n_chip_blocks blocks, of geo->page_bytes.  -ENOMEM. */
int fe_medium_create(struct fe_medium **ret, const struct fe_nand_params *p,
                     const struct fe_geometry *geo, struct fe_store *store,
                     struct fe_oplist *ops, struct fe_err *err);
void fe_medium_destroy(struct fe_medium *m);

/* From now on the controller keeps a log of trims of pages [0, n_lpns).  -ENOMEM. */
int fe_medium_log_trims(struct fe_medium *m, uint32_t n_lpns, struct fe_err *err);

/* Pages [first, first + n) were trimmed; nothing without a log. */
void fe_medium_note_trim(struct fe_medium *m, fe_lpn first, uint32_t n);

static inline bool fe_medium_is_trimmed(const struct fe_medium *m, fe_lpn lpn)
{
    return lpn < m->n_trims && fe_bit(m->trims, lpn);
}

/* Takes tR, tPROG and tBERS from *p, for operations from now on. */
void fe_medium_set_times(struct fe_medium *m, const struct fe_nand_params *p);

/* Reads bytes [off, off + len) of a page; buf NULL reads for the time only.  The
 * cell's tR, then as many bytes on the channel as asked for.  FE_UNCORRECTABLE, and zeros,
 * of a torn page; FE_CORRECTED is as good as FE_OK; FE_UNCORRECTABLE with wrong bits in
 * buf if the page has more of them than the code corrects. */
enum fe_status fe_medium_read(struct fe_medium *m, fe_ppn ppn, uint32_t off, uint32_t len,
                              void *buf);

/* Programs the next page of its block, lpn and tag in its OOB: base's bytes (zeros if
 * FE_PPN_NONE) with data[0, len) laid over [off, off + len).  Where base shows through, it
 * is read first, in full, and the program waits for that: so len 0 is a copy, and a part
 * of a page a read-modify-write.  data NULL stands for zeros.  With nand.copyback a copy
 * inside a die stays in its register and does not cross the channel.  A base that cannot
 * be corrected makes the page one that cannot, too.  FE_PROG_FAILED, and the page still
 * erased, at the end of life: no program and no erase may follow. */
enum fe_status fe_medium_prog(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn, uint8_t tag,
                              fe_ppn base, uint32_t off, uint32_t len, const void *data);

/* A page in the controller's memory, on its way to another place. */
struct fe_held {
    fe_ppn ppn;     /* where it comes from */
    uint16_t flips; /* wrong bits that the copy will have, see struct fe_wear */
};

/* Whether a copy stays in the register of a die: nand.copyback, and both are on one. */
bool fe_medium_is_copyback(const struct fe_medium *m, fe_ppn from, fe_ppn to);

/* The two halves of a copy for a controller that reads several pages before it programs one:
 * reads the whole page, whatever wrong bits it has, and programs what was read, which nobody
 * may have erased by then.  The order of the two in time is the caller's business. */
struct fe_held fe_medium_hold(struct fe_medium *m, fe_ppn ppn);
enum fe_status fe_medium_prog_held(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn, uint8_t tag,
                                   struct fe_held held);

/* All pages ERASED, one more cycle on the block, which is stable then; SLC mode ends.
 * FE_ERASE_FAILED, and the pages still there, at the end of life, as for a program. */
enum fe_status fe_medium_erase(struct fe_medium *m, fe_peb peb);

/* The block, which is erased, is in SLC mode until its next erase.  Only on a chip where
 * fe_slc_pages() is not 0. */
void fe_medium_use_slc(struct fe_medium *m, fe_peb peb);

/* For bad block management: the operations alone of copying a page of a slot to a block in
 * the reserve, and of erasing one there.  Blocks that strategies do not see are
 * FE_PPN_NONE in the op list. */
void fe_medium_add_copy(struct fe_medium *m, fe_peb slot, fe_peb spare, uint32_t page);
void fe_medium_add_erase(struct fe_medium *m, fe_peb spare);

static inline bool fe_medium_is_slc(const struct fe_medium *m, fe_peb peb)
{
    return m->pebs[peb].slc;
}

/* Pages that a block holds in SLC mode; 0 if the chip's cells have one bit anyway. */
static inline uint32_t fe_slc_pages(const struct fe_geometry *g)
{
    uint32_t bits = g->cell == FE_CELL_MLC ? 2 : g->cell == FE_CELL_TLC ? 3 : 0;
    return bits ? g->pages_per_block / bits : 0;
}

/* What the controller knows without an operation: how far a block is programmed, and
 * the logical page of a programmed page (it keeps that table, or has just read it). */
static inline uint32_t fe_medium_next_page(const struct fe_medium *m, fe_peb peb)
{
    return m->pebs[peb].next_page;
}

static inline fe_lpn fe_medium_lpn(const struct fe_medium *m, fe_ppn ppn)
{
    return m->oob_lpn[ppn];
}

/* The same of its role; only of a page that is programmed or torn. */
static inline uint8_t fe_medium_tag(const struct fe_medium *m, fe_ppn ppn)
{
    return m->oob_tag[ppn];
}

static inline enum fe_page_state fe_medium_state(const struct fe_medium *m, fe_ppn ppn)
{
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    if (ppn - peb * m->geo.pages_per_block >= m->pebs[peb].next_page)
        return FE_PAGE_ERASED;
    return m->oob_tag[ppn] == FE_TAG_TORN ? FE_PAGE_TORN : FE_PAGE_PROGRAMMED;
}

/* Numbers of programs: they grow with every program, so the newest copy of a page has the
 * highest.  Only of a page that is programmed or torn; 0 of a torn one. */
static inline uint64_t fe_medium_seq(const struct fe_medium *m, fe_ppn ppn)
{
    return m->oob_seq[ppn];
}

/* Erases that the block there has behind it. */
static inline uint32_t fe_medium_erase_count(const struct fe_medium *m, fe_peb peb)
{
    return m->pebs[peb].erase_count;
}

/* Its erase was interrupted: it must be erased before anything else happens to it. */
static inline bool fe_medium_is_unstable(const struct fe_medium *m, fe_peb peb)
{
    return m->pebs[peb].unstable;
}

/* The number of the latest program of the chip; 0 before the first. */
static inline uint64_t fe_medium_last_seq(const struct fe_medium *m)
{
    return m->seq;
}

/* The controller's journal of the last power cut: the block that was next to be erased. */
struct fe_interrupted {
    fe_peb peb;            /* FE_PEB_NONE: no block was */
    uint64_t since, until; /* sequence numbers when its emptying began, and when it was done */
};

static inline struct fe_interrupted fe_medium_interrupted(const struct fe_medium *m)
{
    return (struct fe_interrupted){m->interrupted, m->interrupted_since, m->interrupted_until};
}

/* A strategy begins to empty a block. */
static inline void fe_medium_begin_emptying(struct fe_medium *m)
{
    m->emptying_since = m->seq;
}

/* All that is kept of a block besides its pages, to read. */
static inline const struct fe_peb_info *fe_medium_block(const struct fe_medium *m, fe_peb peb)
{
    return &m->pebs[peb];
}

/* The number that the chip gives to the block there. */
static inline fe_peb fe_medium_chip_block(const struct fe_medium *m, fe_peb peb)
{
    return m->phys ? m->phys[peb] : peb;
}

/* The die that a slot's operations go to. */
static inline uint32_t fe_medium_die(const struct fe_medium *m, fe_peb peb)
{
    return fe_die_of(&m->geo, fe_medium_chip_block(m, peb));
}

static inline bool fe_medium_is_bad(const struct fe_medium *m, fe_peb peb)
{
    return m->pebs[peb].factory_bad || m->pebs[peb].grown_bad;
}

#endif
