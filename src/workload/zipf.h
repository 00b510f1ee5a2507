/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact samples from Zipf's law: the k-th of n ranks has a probability proportional to
 * k^-theta.
 */
#pragma once

#include <stdint.h>

struct fe_zipf {
    uint64_t n;
    double theta, h_first, h_last, accept;
};

/* n > 0, theta >= 0.  theta = 0 gives the uniform distribution.  Takes O(1) time and has no
 * table. */
void fe_zipf_init(struct fe_zipf *z, uint64_t n, double theta);

/* Returns a rank in [0, n), where 0 is the most frequent one.  The randomness comes from
 * draw(ctx, 0), draw(ctx, 1) ..., which return 64 uniform bits each; on average at most 1.1
 * of them are needed.  The distribution is exact except for the rounding of doubles.  Machines
 * with equal libm give equal ranks. */
uint64_t fe_zipf_sample(const struct fe_zipf *z, uint64_t (*draw)(const void *ctx, uint64_t i),
                        const void *ctx);
