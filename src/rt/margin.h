/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An estimate of one quantile of a stream of durations, which is updated with each value.
 *
 * It is a pure function of the values that it was given: no clock, no allocation, no lock (one
 * owner at a time).  It needs 16 bytes of state for a stream of any length, and learning is O(1).
 *
 * The estimate follows the stream in both directions.  A value above it raises it by at most a
 * half (an eighth once it has settled), so that a single outlier of seconds counts no more than one
 * of microseconds.  Every other value lowers it slowly.
 */
#pragma once

#include <stdint.h>

/* Which quantile to estimate, and the bounds of the estimate. */
struct fe_margin_rule {
    uint32_t quantile_ppm; /* 1 .. 999999; 990000 is p99 */
    uint64_t min_ns;       /* > 0, because proportional steps could never leave 0 */
    uint64_t max_ns;       /* >= min_ns, below 2^40 */
};

struct fe_margin {
    uint64_t ns; /* the estimate, for everybody to read */
    uint64_t n_learnt;
};

/* Begins at start_ns, which is brought within the bounds.  n_learnt says on how many values
 * start_ns is based: 0 for a guess, which large steps then correct, or the n_learnt of another
 * estimate of the same stream. */
void fe_margin_init(struct fe_margin *m, const struct fe_margin_rule *rule,
                    uint64_t start_ns, uint64_t n_learnt);

/* Learns one value. */
void fe_margin_learn(struct fe_margin *m, const struct fe_margin_rule *rule,
                     uint64_t value_ns);

/* Reduces the estimate by a quarter, within the bounds.  For an owner who finds that acting on
 * the estimate costs too much.  Learning brings it back at its own pace. */
void fe_margin_cut(struct fe_margin *m, const struct fe_margin_rule *rule);
