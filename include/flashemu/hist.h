/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A histogram of durations whose percentiles have a bounded relative error.
 *
 * Buckets are log-linear: each power of two is divided into 32 buckets.  A reported percentile is
 * therefore at most 1/32 above the true one.  It never exceeds the maximum.  The maximum, the
 * count and the sum are exact.
 *
 * The size is fixed (about 15 KiB), and adding a value is O(1).  There is no lock: the owner
 * serialises all calls.
 */
#pragma once

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

/* Returns the percentile of ppm / 10^4 percent, for example the median for 500000 and p99.9 for
 * 999000: the upper end of the bucket in which it lies, but at most the maximum.  0 when empty. */
uint64_t fe_hist_quantile(const struct fe_hist *h, uint32_t ppm);

/* How many values are below 2^exponent; exact.  exponent < 64. */
uint64_t fe_hist_below(const struct fe_hist *h, unsigned exponent);

/* The arithmetic mean; 0 when empty. */
double fe_hist_mean(const struct fe_hist *h);
