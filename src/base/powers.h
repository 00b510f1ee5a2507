/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Powers, logarithms and the normal distribution by integers, so that every machine draws the same.
 *
 * A logarithm is a number of 2^-FE_LOG_BITS, to base 2, and so is a quantile.  No state.
 */
#pragma once

#include <stdint.h>

#define FE_LOG_BITS 24

/* log2(x), rounded down; x > 0. */
int64_t fe_log2_fine(uint64_t x);

/* x times 2^log, good to 2^-20 of its value and rounded down; UINT64_MAX if it is more. */
uint64_t fe_times_exp2(uint64_t x, int64_t log);

/* The quantile of the standard normal distribution at u / 2^64: how many standard deviations lie
 * between it and the mean; good to 5 x 10^-4 of one, and to 10^-2 where |z| is above 7. */
int64_t fe_normal(uint64_t u);

/* The quantile at u / 2^64 of a lognormal distribution: its median is `median`, and sigma_ppm
 * millionths, at most 3 000 000, are the standard deviation of its natural logarithm. */
uint64_t fe_lognormal(uint64_t u, uint64_t median, uint64_t sigma_ppm);
