/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a chip that outlives a run: what is in its pages and blocks, and what the
 * controller has written down about trims and power cuts.
 *
 * The state exists twice: in memory, and in an image if the device is kept in one.
 *
 *     memory (struct fe_chip)                    image (src/store)
 *     -----------------------                    -----------------
 *     oob_lpn, oob_seq, oob_tag, flips   ----->  OOB record of each page
 *     pebs, blocks, difference,          ----->  record of each block
 *       reads, since_ns
 *     trims                              ----->  list of trimmed pages
 *     interrupted, cuts                  ----->  control bytes
 *     life, unnumbered                   ----->  record of the lifetime (nand/chip_lifetime.h)
 *
 * Every function of this header that changes the state changes both, in an order that allows
 * the server to be killed between any two writes: the image is then a state that the chip has
 * been in.  For this reason nobody else may touch the fields of struct fe_chip:
 *   - the functions below and those of chip_undo.h and chip_lifetime.h change them (chip.c,
 *     chip_lifetime.c, and chip_load.c when a run begins);
 *   - the readers of nand/medium_read.h read them.
 * tests/unit/check_private.sh checks that.
 *
 * The functions know nothing of the chip's rules, of time or of costs: the medium does.
 *
 * No lock: part of the medium.
 */
#pragma once

#include "base/bits.h"
#include "base/fetch.h"
#include "nand/geometry.h"
#include "nand/state.h"
#include "store/store.h"

struct fe_chip {
    const struct fe_geometry *geo; /* not owned */
    struct fe_store *store;        /* not owned */
    bool has_image;                /* changes go to the store's image, too */

    struct fe_peb_info *pebs; /* by peb, n_chip_blocks of them */
    fe_chip_block *blocks;    /* by peb: the chip block behind it; NULL: itself */
    uint32_t *difference;     /* by peb: erases of the peb - erases of its chip block, mod 2^32 */
    uint32_t *reads;          /* by peb: reads since the erase; NULL: not counted.  An image has
                                 them as they were when the block's record was written, or at
                                 the end of the run */
    uint64_t *since_ns;       /* by peb: when the first page was programmed; with reads */

    fe_lpn *oob_lpn;          /* whose data a page holds; FE_LPN_NONE: padding */
    uint64_t *oob_seq;        /* number of the program */
    uint8_t *oob_tag;         /* the page's role in its strategy, or FE_TAG_TORN */
    uint16_t *flips;          /* bits of the first codeword that are wrong for good, or
                                 FE_FLIPS_...; NULL: no page has any */
    uint64_t seq;             /* number of the last program */

    uint64_t *trims;          /* a bit for each logical page that was trimmed and not programmed
                                 since: its copies are dead; NULL: the controller keeps no log */
    uint32_t n_trims;         /* number of bits */
    struct fe_interrupted interrupted;
    struct fe_cut_log cuts;
    struct fe_lifetime life;  /* n_programs of it is here: */
    uint64_t unnumbered;      /* programs of the lifetime - seq, mod 2^64 */
};

/* All blocks erased and good, chip block n behind peb n, nothing in an image yet.  geo and
 * store must outlive the chip.  -ENOMEM; fe_chip_fini is allowed after that, and after zeros. */
int fe_chip_init(struct fe_chip *c, const struct fe_geometry *geo, struct fe_store *store,
                 struct fe_err *err);
void fe_chip_fini(struct fe_chip *c);

/* From now on the chip keeps a log of trims of pages [0, n_lpns), counts reads and dates
 * blocks, or remembers flipped bits of pages.  -ENOMEM. */
int fe_chip_log_trims(struct fe_chip *c, uint32_t n_lpns, struct fe_err *err);
int fe_chip_keep_ages(struct fe_chip *c, struct fe_err *err);
int fe_chip_keep_flips(struct fe_chip *c, struct fe_err *err);

/* Connects the chip with the store's image; without an image they do nothing.  begin_image:
 * the image is new, and gets what has been changed so far.  load: the chip, which is fresh,
 * becomes what the image says; raw: its pages are no flash (fe_store_overwrite).  -EIO with a
 * message if a record is damaged or cannot be of this chip; O(pages log pages). */
void fe_chip_begin_image(struct fe_chip *c);
int fe_chip_load(struct fe_chip *c, bool raw, struct fe_err *err);

/* ---- pages ---- */

struct fe_chip_oob {
    fe_lpn lpn;
    uint16_t flips; /* ignored unless the chip keeps them */
    uint8_t tag;
};

static inline bool fe_chip_is_trimmed(const struct fe_chip *c, fe_lpn lpn)
{
    return lpn < c->n_trims && fe_bit(c->trims, lpn);
}

/* For fe_chip_program only. */
void fe_chip_end_trim(struct fe_chip *c, fe_lpn lpn);
void fe_chip_save_page(struct fe_chip *c, fe_ppn ppn);

/* Fetches early where the OOB of a page that is going to be programmed lies. */
static inline void fe_chip_fetch(const struct fe_chip *c, fe_ppn ppn)
{
    fe_fetch(&c->oob_lpn[ppn]);
    fe_fetch(&c->oob_seq[ppn]);
    fe_fetch(&c->oob_tag[ppn]);
}

/* The pages of a block are programmed in order, but pages of other blocks come in between. */
static inline void fe_chip_fetch_after(const struct fe_chip *c, fe_ppn ppn)
{
    enum { AHEAD = 8 }; /* a cache line of the table with the largest entries */
    if (ppn < c->geo->n_ppns - AHEAD)
        fe_chip_fetch(c, ppn + AHEAD);
}

/* Programs the next page of a block; bytes as for fe_store_write. */
static inline void fe_chip_program(struct fe_chip *c, fe_ppn ppn, struct fe_chip_oob oob,
                                   fe_ppn base, uint32_t off, uint32_t len, const void *data)
{
    if (fe_chip_is_trimmed(c, oob.lpn))
        fe_chip_end_trim(c, oob.lpn);
    fe_chip_fetch_after(c, ppn);
    c->pebs[fe_peb_of(c->geo, ppn)].next_page++;
    c->oob_lpn[ppn] = oob.lpn;
    c->oob_seq[ppn] = ++c->seq;
    c->oob_tag[ppn] = oob.tag;
    if (c->flips)
        c->flips[ppn] = oob.flips;
    fe_store_write(c->store, ppn, base, off, len, data);
    if (c->has_image)
        fe_chip_save_page(c, ppn);
}

/* Whether nothing is kept of a page besides its OOB: there are no bytes, no flipped bits, no log of
 * trims and no image. */
static inline bool fe_chip_is_bare(const struct fe_chip *c)
{
    return !c->flips && !c->trims && !c->has_image && !fe_store_has_payload(c->store);
}

/* Programs the next n pages of a block for the logical pages from lpn on; n may be 0.  Only if the
 * chip is bare. */
void fe_chip_program_row(struct fe_chip *c, fe_ppn ppn, uint32_t n, fe_lpn lpn, uint8_t tag);

/* Programs all pages of n erased blocks without bytes: page 0 of each block with all its parts, then
 * page 1 of each, and so on, for logical pages `first`, first + 1 and so on, none of which has been
 * trimmed.  Memory only: there must be no image. */
void fe_chip_program_stripe(struct fe_chip *c, const fe_peb *pebs, uint32_t n, fe_lpn first,
                            uint8_t tag);

/* A page whose program was done is torn.  If its logical page was trimmed before the program,
 * that trim does not come back. */
void fe_chip_lose(struct fe_chip *c, fe_ppn ppn);

/* Bits of a programmed page are wrong for good; only if the chip keeps them. */
void fe_chip_set_flips(struct fe_chip *c, fe_ppn ppn, uint16_t flips);

/* ---- blocks ---- */

/* All pages erased, one cycle more on the chip block; SLC mode, instability, reads and a wish
 * for refresh are gone.  The store's bytes stay.  If spare is not FE_PEB_NONE, the erase has
 * failed: the chip block that has one cycle more goes to peb `spare`, and the chip block from
 * there takes its place. */
void fe_chip_erase(struct fe_chip *c, fe_peb peb, fe_peb spare);

/* The chip blocks of a peb and of a spare change places; the pages stay where they are, which
 * a copy has made true.  Reads and age of peb begin anew. */
void fe_chip_exchange(struct fe_chip *c, fe_peb peb, fe_peb spare, uint64_t now_ns);

void fe_chip_mark(struct fe_chip *c, fe_peb peb, enum fe_mark mark, bool on);
void fe_chip_set_cycles(struct fe_chip *c, fe_peb peb, uint32_t cycles); /* of its chip block */

/* The first peb that has this chip block; n_chip_blocks if none has.  O(blocks). */
fe_peb fe_chip_find_block(const struct fe_chip *c, fe_chip_block block);

/* The first page is being programmed: reads and age begin anew, if the chip keeps them. */
void fe_chip_begin_age(struct fe_chip *c, fe_peb peb, uint64_t now_ns);
void fe_chip_count_read(struct fe_chip *c, fe_peb peb);

/* ---- what the controller writes down ---- */

/* Pages [first, first + n) were trimmed; all trims are forgotten.  Nothing without a log. */
void fe_chip_note_trim(struct fe_chip *c, fe_lpn first, uint32_t n);
void fe_chip_forget_trims(struct fe_chip *c);

/* Power fails.  interrupted: the block that was next to be erased, or none; NULL if power-on was
 * not complete: then the journal of the cut before stays.  With an image that syncs, nothing that
 * follows gets to the disk before the journal. */
void fe_chip_begin_cut(struct fe_chip *c, const struct fe_interrupted *interrupted);

/* Pages of this cut come back stale, and the disk knows that before any of them; the device is dead;
 * power-on is complete, and what it has done gets to the disk before the journal goes. */
void fe_chip_set_stale(struct fe_chip *c);
void fe_chip_set_dead(struct fe_chip *c);
void fe_chip_end_cut(struct fe_chip *c);
