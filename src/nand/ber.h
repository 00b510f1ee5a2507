/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many bits of a page read wrong: the rate, and a draw.
 *
 * The rate is the model of a fit to many chips (FAST'19, docslib 1113778), whose three
 * exponent pairs are those found for 72-layer TLC:
 *
 *   fresh + worn x (c/E)^2.05 + retention x (c/E)^0.14 x (t/a)^0.54
 *         + disturb x (c/E)^0.33 x (r/100000)^1.71
 *
 * with c cycles of the block, E nand.endurance, t the age of its data, a a year of 365
 * days and r reads of the block since its erase.  The four rates are what a profile
 * gives: each is that term at E cycles, after a year, after 100 000 reads.
 *
 * Integers throughout, so that every machine draws the same bits: a rate is a number of
 * 2^-64; powers are good to 2^-20 of their value.  No state.
 */
#pragma once

#include "flashemu/nand_params.h"

#include <stdbool.h>
#include <stdint.h>

#define FE_BER_YEAR_NS UINT64_C(31536000000000000)
#define FE_BER_READS   UINT64_C(100000)
#define FE_BER_MAX     (UINT64_C(1) << 63) /* one half: nothing is worse */

static inline bool fe_ber_any(const struct fe_ber_params *p)
{
    return p->fresh || p->worn || p->retention || p->disturb;
}

/* The rate in 2^-64, at most FE_BER_MAX.  endurance 0 is without limit: such blocks do
 * not age, and only `fresh` counts. */
uint64_t fe_ber_rate(const struct fe_ber_params *p, uint64_t cycles, uint64_t endurance,
                     uint64_t age_ns, uint64_t reads);

/* How many of n_bits are wrong: the smallest k with P(at most k) > u / 2^64 for n_bits
 * independent bits at this rate, but never more than max.  With u fixed it grows with the
 * rate: bits that were wrong stay wrong.  O(k). */
uint32_t fe_ber_draw(uint64_t u, uint32_t n_bits, uint64_t rate, uint32_t max);
