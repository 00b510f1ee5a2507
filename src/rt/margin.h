/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An online estimate of one quantile of a stream of durations.
 *
 * A pure function of what it was told: no clock, no allocation, no lock (one owner
 * at a time).  16 bytes of state for a stream of any length, O(1) to learn.
 *
 * It follows the stream both ways: up by at most half of itself (an eighth once it
 * has settled) for each value above it, so that a single outlier of seconds counts
 * no more than one of microseconds, and down slowly for each value at or below it.
 */
#ifndef FE_RT_MARGIN_H
#define FE_RT_MARGIN_H

#include <stdint.h>

/* Which quantile, and between which bounds the estimate stays. */
struct fe_margin_rule {
    uint32_t quantile_ppm; /* 1 .. 999999; 990000 is p99 */
    uint64_t min_ns;       /* > 0, so that proportional steps can leave it again */
    uint64_t max_ns;       /* >= min_ns, below 2^40 */
};

struct fe_margin {
    uint64_t ns; /* the estimate; read it freely */
    uint64_t n_learnt;
};

/* Begins at start_ns, brought within the bounds.  n_learnt is how many values that
 * start rests on: 0 for a guess, which large steps then correct, or what another
 * estimate of the same stream had. */
void fe_margin_init(struct fe_margin *m, const struct fe_margin_rule *rule,
                    uint64_t start_ns, uint64_t n_learnt);

/* Takes one value into account. */
void fe_margin_learn(struct fe_margin *m, const struct fe_margin_rule *rule,
                     uint64_t value_ns);

/* Takes a quarter off the estimate, within the bounds: for an owner that finds that
 * acting on it costs too much.  Learning brings it back at its own pace. */
void fe_margin_cut(struct fe_margin *m, const struct fe_margin_rule *rule);

#endif
