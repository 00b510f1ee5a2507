/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A chip that fails: blocks that wear out or are bad from the factory, programs and
 * erases that fail, bits that flip, and the controller's answer to each of them.
 *
 * It is a layer under the translation layer, whose blocks never fail while spares last:
 *
 *   what strategies see   [0, n_pebs)    slot: a place for a block
 *   reserve               [n_pebs, n_chip_blocks)   spares and bad blocks
 *   m->phys[slot]         the block of the chip that stands there; no table: itself
 *
 * When a block fails, another takes its slot (bbm.h).  A slot's pages, OOB and bytes
 * stay where they are: only the block's own things (cycles, flags) change places.  So a
 * replacement is one exchange of two records, and nothing above needs translation.
 *
 * The end of life: a block fails and no spare is left.  What follows is the profile's
 * choice (enum fe_end_of_life).
 *
 * A medium without fe_wear_attach never fails, and pays nothing for this.
 */
#ifndef FE_NAND_WEAR_H
#define FE_NAND_WEAR_H

#include "flashemu/nand_params.h"
#include "nand/ber.h"
#include "nand/medium.h"

/* Pages whose data could not be read when they were copied. */
#define FE_FLIPS_LOST   UINT16_MAX       /* and the controller knows: uncorrectable */
#define FE_FLIPS_SILENT (UINT16_MAX - 1) /* it does not: wrong bytes, no error */
#define FE_FLIPS_MAX    (UINT16_MAX - 2)

#define FE_REFRESH_MAX 64

/* What the medium keeps for it.  Beside fe_peb_info, `phys` and `m->eol` these are what
 * outlives a power cut: reads, since_ns, flips. */
struct fe_wear {
    struct fe_wear_params p;
    uint64_t seed, endurance;
    uint32_t *reads;    /* per slot, since its erase; NULL: bits do not flip by themselves.  An
                           image has them as they were when the block's record was written */
    uint64_t *since_ns; /* per slot: when its first page was programmed; with reads */
    uint32_t *difference; /* per slot: how far the erases of the slot are ahead of those of its
                             block, modulo 2^32, which only an image asks for; NULL: not at all */
    uint16_t *flips;    /* per page: bits of its first codeword that were flipped for good, or
                           FE_FLIPS_...; NULL: no page has any */
    uint64_t n_programs, n_erases; /* so far, for fail_program and fail_erase */
    uint32_t n_failed;             /* blocks that stayed in their slots as failed ones */
    fe_peb pending[FE_REFRESH_MAX]; /* slots to be refreshed */
    uint32_t n_pending;
};

/* Blocks that the parameters set aside on a chip with this geometry: its factory bad ones
 * and the spares, up to whole rows of dies.  For fe_geometry_reserve. */
uint64_t fe_wear_reserve(const struct fe_wear_params *p, const struct fe_geometry *chip);

/* Gives a new, erased medium its failures.  Its geometry has the reserve taken off.
 * endurance in cycles, 0 for no limit.  -ENOMEM. */
int fe_wear_attach(struct fe_medium *m, const struct fe_wear_params *p, uint64_t endurance,
                   uint64_t seed, struct fe_err *err);

/* What fe_wear_attach has decided goes to a new image; an old one has its own. */
void fe_wear_save(struct fe_medium *m);
void fe_wear_detach(struct fe_medium *m);

/* Takes the parameters that may change while running; shape and tables stay. */
void fe_wear_set(struct fe_medium *m, const struct fe_wear_params *p);

/* Refreshes one block that gave too many corrected bits: its pages go to a spare, and it
 * becomes a spare itself, or a grown bad block if its data were younger than a day and
 * it had been read less than 10 000 times.  False if there is nothing to do. */
bool fe_wear_refresh(struct fe_medium *m);

/* Faults on purpose; peb and ppn count blocks and pages of the chip.  -EINVAL with a
 * message if there is no such block or page, or it is bad already. */

/* The block is retired as after a failure, its data saved: grown bad, or the end of life. */
int fe_wear_mark_bad(struct fe_medium *m, fe_peb peb, struct fe_err *err);

/* That many bits of the page's first codeword are wrong until its next program.  The page
 * must be programmed. */
int fe_wear_flip(struct fe_medium *m, fe_ppn ppn, uint32_t bits, struct fe_err *err);

/* The block has this many cycles behind it. */
int fe_wear_set_cycles(struct fe_medium *m, fe_peb peb, uint32_t cycles, struct fe_err *err);

/* --- for medium.c, medium_image.c and bbm.c --- */

/* The page as an image has it: lost, silently or not.  -ENOMEM. */
int fe_wear_restore_page(struct fe_medium *m, fe_ppn ppn, bool lost, bool silent,
                         struct fe_err *err);

/* `difference` is there.  -ENOMEM. */
int fe_wear_make_difference(struct fe_medium *m, struct fe_err *err);

/* All blocks are as an image has them.  Where the server was killed between the two records
 * of a replacement, one block stands in two slots: the reserve's slot gets the block that
 * is left over. */
void fe_wear_restored(struct fe_medium *m);

/* The page at base is being copied: what its copy will have in `flips`. */
uint16_t fe_wear_copied(struct fe_medium *m, fe_ppn base);

/* The page's program has been issued.  FE_OK: done, on this block or another that took
 * its slot, and what is to be remembered of the page has been.  FE_PROG_FAILED: the end
 * of life, the page is as before. */
enum fe_status fe_wear_programmed(struct fe_medium *m, fe_ppn ppn, uint16_t flips);

/* The block's erase has been issued and counted.  FE_OK: an erased block is in the slot.
 * FE_ERASE_FAILED: the end of life, its pages are as before. */
enum fe_status fe_wear_erased(struct fe_medium *m, fe_peb peb);

/* Bytes [off, off + len) of the page have been read into buf, which may be NULL: counts,
 * corrects, or flips bits in it. */
enum fe_status fe_wear_read(struct fe_medium *m, fe_ppn ppn, uint32_t off, uint32_t len,
                            uint8_t *buf);

/* The program of a page into a spare has been issued: whether it fails. */
bool fe_wear_copy_fails(struct fe_medium *m, fe_peb spare, uint32_t page);

/* The page has been read from the block that leaves its slot, and written to the next. */
void fe_wear_moved(struct fe_medium *m, fe_ppn ppn);

/* Another block is in the slot, programmed now. */
void fe_wear_renewed(struct fe_medium *m, fe_peb slot);

#endif
