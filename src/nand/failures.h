/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a chip fails: which programs and erases fail, and which bits are read wrong.
 *
 * All draws are addressed by chip block, page and cycle, so that a second read gives the
 * same wrong bits until the rate has grown, and none depends on how often others were made.
 * What the controller does about a failure is in nand/wear.h.
 */
#pragma once

#include "nand/ber.h"
#include "nand/medium_read.h"

#define FE_REFRESH_MAX 64

/* What the medium keeps for its failures.  Nothing of it is in an image: what outlives a power
 * cut belongs to the chip (nand/chip.h). */
struct fe_wear {
    struct fe_wear_params p;
    uint64_t seed;
    uint64_t endurance, slc_endurance; /* of this device, in cycles; of blocks in SLC mode; 0: no
                                          limit */
    uint32_t n_failed;              /* blocks that stayed in use after their failure */
    fe_peb pending[FE_REFRESH_MAX]; /* blocks that ask for a refresh, oldest first */
    uint32_t n_pending;
};

/* The endurance of the device with this seed, of those that are built for so many cycles: one factor
 * for all its blocks, whatever their mode.  At least 1; 0, which is without limit, stays. */
uint64_t fe_failures_endurance(const struct fe_wear_params *p, uint64_t cycles, uint64_t seed);

/* Whether reads have to look for wrong bits: bits flip by themselves, or have been flipped. */
static inline bool fe_failures_of_bits(const struct fe_medium *m)
{
    return fe_medium_has_ages(m) || fe_medium_has_flips(m);
}

/* How long an operation on a block takes, whose cycles count, if it takes ns on a new one.  ppm: how
 * much longer it takes at the endurance; fe_slowdown says how that grows. */
uint64_t fe_failures_slowed(const struct fe_medium *m, fe_peb peb, uint64_t ns, uint64_t ppm);

/* Whether an operation fails that has been issued: the program of a page on the chip block
 * behind peb, or the erase of that chip block, which would end its present cycle.  slc: in that
 * cycle it has been in SLC mode.  A program that fails is counted here, one that does not fail by its
 * number, and an erase has been counted by fe_chip_count_erase. */
bool fe_failures_program(struct fe_medium *m, fe_peb peb, uint32_t page);
bool fe_failures_erase(struct fe_medium *m, fe_peb peb, bool slc);

/* Bytes [off, off + len) of the page have been read into buf, which may be NULL, by the operation
 * that was issued last, which takes longer if the page has to be sensed again: counts wrong bits, corrects them, or flips them in buf.  The block may ask for a refresh. */
enum fe_status fe_failures_read(struct fe_medium *m, fe_ppn ppn, uint32_t off, uint32_t len,
                                uint8_t *buf);

/* The page at base is being copied: what its copy will have in `flips`. */
uint16_t fe_failures_copied(struct fe_medium *m, fe_ppn base);
