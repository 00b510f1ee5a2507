/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A histogram of durations with a bounded relative error.
 *
 * Buckets are log-linear: 32 per power of two, so a reported percentile lies at
 * most 1/32 above the true one, and never above the maximum, which is exact, as
 * are the count and the sum.  Fixed size (about 15 KiB), O(1) to add; no lock:
 * the owner serialises.
 */
#ifndef FLASHEMU_HIST_H
#define FLASHEMU_HIST_H

#include <stdint.h>

#define FE_HIST_SUB_BITS 5
#define FE_HIST_BUCKETS  ((64 - FE_HIST_SUB_BITS + 1) << FE_HIST_SUB_BITS)

struct fe_hist {
    uint64_t count;
    unsigned __int128 sum;
    uint64_t max;
    uint64_t bucket[FE_HIST_BUCKETS];
};

void fe_hist_reset(struct fe_hist *h);
void fe_hist_add(struct fe_hist *h, uint64_t value);

/* The smallest bucket top at or below which ppm / 10^6 of the values lie, e.g.
 * 500000 for the median, 999000 for p99.9; 0 when empty. */
uint64_t fe_hist_quantile(const struct fe_hist *h, uint32_t ppm);

/* The arithmetic mean; 0 when empty. */
double fe_hist_mean(const struct fe_hist *h);

#endif
