/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip: pages that hold data and OOB, and the rules for changing them.
 *
 * Rules, each an assertion (breaking one is a bug of the translation layer):
 *   - a page is programmed once between two erases of its block;
 *   - pages of a block are programmed in order, without gaps;
 *   - only a programmed page is read;
 *   - an erase takes a whole block;
 *   - a bad block is not touched.
 *
 * A block of a chip with several bits a cell can be used in SLC mode from one erase to
 * the next: it holds one page for each group of cells then, fe_slc_pages() in all,
 * numbered from 0 without gaps, and they have times of their own.
 *
 * State changes at once; the time that it takes is what the op list says.  A page's
 * state needs no memory of its own: those below next_page are PROGRAMMED, the others
 * ERASED.  Memory: 12 bytes of OOB a page, 8 bytes a block.
 *
 * No lock: the owner serialises.
 */
#ifndef FE_NAND_MEDIUM_H
#define FE_NAND_MEDIUM_H

#include "nand/geometry.h"
#include "nand/ops.h"
#include "store/store.h"

struct fe_peb_info {
    uint32_t erase_count;
    uint16_t next_page; /* pages [0, next_page) are PROGRAMMED */
    uint8_t factory_bad : 1, grown_bad : 1;
    uint8_t slc : 1; /* in SLC mode until the next erase */
};

struct fe_nand_counters {
    uint64_t page_reads, page_programs, block_erases; /* of single planes */
    uint64_t bytes_programmed;                        /* data, without OOB */
};

struct fe_medium {
    struct fe_geometry geo;
    uint64_t tR_ns[3], tPROG_ns[3], tBERS_ns; /* of a whole page, of a block */
    uint64_t slc_tR_ns, slc_tPROG_ns;
    bool copyback;
    uint8_t *page_bit;         /* per page of a block: index in tR_ns and tPROG_ns */
    struct fe_oplist *ops;     /* not owned */
    struct fe_store *store;    /* not owned */
    struct fe_peb_info *pebs;
    fe_lpn *oob_lpn;           /* OOB: whose data a page holds; FE_LPN_NONE for padding */
    uint64_t *oob_seq;         /* OOB: grows with every program, the newest copy wins */
    uint64_t seq;              /* of the last program */
    struct fe_nand_counters counters;
};

/* All blocks erased.  store and ops must outlive the medium, and the store must have
 * geo->n_ppns pages of geo->page_bytes.  -ENOMEM. */
int fe_medium_create(struct fe_medium **ret, const struct fe_nand_params *p,
                     const struct fe_geometry *geo, struct fe_store *store,
                     struct fe_oplist *ops, struct fe_err *err);
void fe_medium_destroy(struct fe_medium *m);

/* Takes tR, tPROG and tBERS from *p, for operations from now on. */
void fe_medium_set_times(struct fe_medium *m, const struct fe_nand_params *p);

/* Reads bytes [off, off + len) of a page; buf NULL reads for the time only.  The
 * cell's tR, then as many bytes on the channel as asked for. */
enum fe_status fe_medium_read(struct fe_medium *m, fe_ppn ppn, uint32_t off, uint32_t len,
                              void *buf);

/* Programs the next page of its block: base's bytes (zeros if FE_PPN_NONE) with
 * data[0, len) laid over [off, off + len).  Where base shows through, it is read
 * first, in full, and the program waits for that: so len 0 is a copy, and a part of
 * a page a read-modify-write.  data NULL stands for zeros.  With nand.copyback a copy
 * inside a die stays in its register and does not cross the channel. */
enum fe_status fe_medium_prog(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn, fe_ppn base,
                              uint32_t off, uint32_t len, const void *data);

/* All pages ERASED, one more cycle on the block; SLC mode ends. */
enum fe_status fe_medium_erase(struct fe_medium *m, fe_peb peb);

/* The block, which is erased, is in SLC mode until its next erase.  Only on a chip where
 * fe_slc_pages() is not 0. */
void fe_medium_use_slc(struct fe_medium *m, fe_peb peb);

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

static inline bool fe_medium_is_bad(const struct fe_medium *m, fe_peb peb)
{
    return m->pebs[peb].factory_bad || m->pebs[peb].grown_bad;
}

#endif
