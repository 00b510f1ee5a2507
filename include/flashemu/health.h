/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Health: what devices report of their wear, and the truth.
 *
 *     an eMMC             EXT_CSD [267] to [269], in their steps (JEDEC JESD84-B51)
 *     an industrial card  what CMD56 gives: counts of blocks and erases, by name
 *     the emulator        the endurance of this device, and what is left of it
 *
 * A device knows how long its cells are built for, and not how long they will live: its estimates
 * count nand.endurance, and the truth counts what faults.life_spread makes of it.
 */
#pragma once

#include "flashemu/stats.h"

/* PRE_EOL_INFO: how much of the reserve is used up. */
enum fe_pre_eol {
    FE_PRE_EOL_UNDEFINED, /* there is no reserve, and the device works */
    FE_PRE_EOL_NORMAL,
    FE_PRE_EOL_WARNING,   /* 80 % */
    FE_PRE_EOL_URGENT,    /* 90 %, or the end of life */
    FE_N_PRE_EOLS
};

/* The name of a step: "undefined", "normal", "warning" or "urgent". */
const char *fe_pre_eol_name(uint32_t step);

/* The wear of the blocks of one sort.  `endurance` is what the cells are built for, and `own` what
 * those of this device bear; 0: without limit. */
struct fe_health_cells {
    uint64_t blocks;
    struct fe_wear_stats cycles;
    uint64_t endurance, own;
};

struct fe_health {
    uint32_t life_a, life_b;       /* DEVICE_LIFE_TIME_EST_TYP_A and _B: 1 to 11, 0: not defined */
    uint32_t pre_eol;              /* enum fe_pre_eol */
    struct fe_health_cells slc;    /* blocks in use that are in SLC mode at present: type A */
    struct fe_health_cells others; /* the other ones: type B */
    uint64_t blocks;               /* of the chip, with the bad ones */
    uint64_t total_erases;         /* of all of them */
    uint64_t reserve, spare;       /* good blocks that were set aside; those of them that are left */
    uint64_t bad_factory, bad_grown;
    uint64_t power_ups, cuts;      /* since the device was made; starts of a server do not count */
    uint64_t refreshed, retired;   /* blocks, in this run, because of bits that flipped */
    enum fe_condition condition;
};

/* The step of DEVICE_LIFE_TIME_EST for a mean of cycles: 1 for up to 10 % of the endurance, and so
 * on to 10, and 11 for more than all of it.  0 without an endurance. */
uint32_t fe_life_step(double cycles, uint64_t endurance);

/* From a snapshot (flashemu/stats.h).  O(blocks). */
void fe_snapshot_health(const struct fe_snapshot *s, struct fe_health *ret);
