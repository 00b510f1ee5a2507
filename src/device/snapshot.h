/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a snapshot holds, for those who work sums out of it.
 */
#pragma once

#include "flashemu/health.h"
#include "nand/chip.h"

struct fe_snapshot {
    struct fe_stats stats;   /* without the wear */
    struct fe_health health; /* without what follows from the blocks */
    struct fe_hist latency[FE_N_REQ_TYPES], commits;
    uint32_t n_blocks, n_pebs;
    struct fe_peb_info blocks[]; /* of the whole chip, by peb */
};

/* Sums over blocks, and the statistics that they give. */
struct fe_sums {
    uint64_t n, min, max;
    double sum, sum_sq;
};

void fe_sums_add(struct fe_sums *s, uint64_t erases);
struct fe_wear_stats fe_sums_stats(const struct fe_sums *s);

/* Adds the wear and the bad blocks to *ret, in which they are 0.  blocks has the records of all
 * n_blocks blocks of the chip, by peb; those from n_pebs on are the reserve.  The first
 * ret->enhanced_blocks good ones hold the enhanced area. */
void fe_device_wear_stats(const struct fe_peb_info *blocks, uint32_t n_blocks, uint32_t n_pebs,
                          struct fe_stats *ret);
