/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact sampling from Zipf's law: rank k of n with probability proportional to k^-theta.
 */
#ifndef FE_WORKLOAD_ZIPF_H
#define FE_WORKLOAD_ZIPF_H

#include <stdint.h>

struct fe_zipf {
    uint64_t n;
    double theta, h_first, h_last, accept;
};

/* n > 0, theta >= 0 (0 is uniform).  O(1), no table. */
void fe_zipf_init(struct fe_zipf *z, uint64_t n, double theta);

/* A rank in [0, n), 0 the most frequent, from draw(ctx, 0), draw(ctx, 1) ...: 64 uniform
 * bits each, 1.1 draws on average at most.  The distribution is exact but for the
 * rounding of doubles; equal on machines with equal libm. */
uint64_t fe_zipf_sample(const struct fe_zipf *z, uint64_t (*draw)(const void *ctx, uint64_t i),
                        const void *ctx);

#endif
