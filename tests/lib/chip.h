/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second chip that knows only the operations that a device reports.  It follows what is
 * programmed, counts what is done, and checks the time of every operation against the rules of
 * dies, channels and barriers.  It takes nothing from the device except the geometry and the
 * state at the beginning.
 */
#pragma once

#include "flashemu/device.h"
#include "nand/geometry.h"
#include "nand/ops.h"

#include <stdbool.h>

struct ft_chip {
    struct fe_nand_params nand;
    struct fe_geometry geo;
    uint32_t *filled, *erases;    /* per block: programmed pages, erases */
    uint64_t reads, programs, blocks_erased;
    uint64_t pages_erased;        /* programmed pages that have been erased */
    uint64_t *die_free, *chan_free; /* when each array and each channel is free */
    uint64_t *reg_free;             /* the same of the cache registers, with nand.cached */
    uint64_t held, all_end, prev_end, prog_end;
    uint32_t prev_die;
    uint64_t loaded; /* the data of the last program were in the register by then */
    fe_ppn prev_ppn; /* of the last operation on the chip, and its kind */
    uint8_t prev_kind;
    uint64_t max_end;             /* latest end of an operation since this was last set to 0 */
    uint64_t hash;                /* of all operations and their times */
    char wrong[256];              /* the first broken rule; empty if none */
};

/* Makes a chip in the state of the device's chip.  From now on it follows the device. */
void ft_chip_init(struct ft_chip *c, struct fe_device *dev);
void ft_chip_fini(struct ft_chip *c);

/* Whether state, wear and counters of the device are those of this chip.  The statistics of the
 * device must have been reset when this chip was made.  False with c->wrong. */
bool ft_chip_agrees(struct ft_chip *c, const struct fe_device *dev);
