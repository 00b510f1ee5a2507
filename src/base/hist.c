/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which bucket a value belongs to: values below 32 have one bucket each.  Above that, the highest
 * bit of the value selects the octave, and the next five bits select the bucket within the octave.
 *
 *     value, in binary    1 xxxxx yyyyyy        6 = shift
 *                         |   |      '--------  dropped: the relative error
 *                         |   '---------------  bucket within the octave
 *                         '-------------------  octave: shift + 1
 *
 * The octaves of 0 to 31 and of 32 to 63 both have a resolution of one, so that the first 64
 * buckets are exact.
 */
#include "flashemu/hist.h"

#include "base/num.h"

#include <string.h>

/* The index of the bucket for v. */
static unsigned bucket_of(uint64_t v)
{
    if (v < (1u << FE_HIST_SUB_BITS))
        return (unsigned)v;
    unsigned shift = fe_log2(v) - FE_HIST_SUB_BITS;
    return ((shift + 1) << FE_HIST_SUB_BITS) + (unsigned)((v >> shift) - (1u << FE_HIST_SUB_BITS));
}

/* The largest value that belongs to bucket i. */
static uint64_t bucket_top(unsigned i)
{
    if (i < (2u << FE_HIST_SUB_BITS))
        return i;
    unsigned shift = (i >> FE_HIST_SUB_BITS) - 1;
    uint64_t base = (i & ((1u << FE_HIST_SUB_BITS) - 1)) + (1u << FE_HIST_SUB_BITS);
    return (base << shift) + ((UINT64_C(1) << shift) - 1);
}

void fe_hist_reset(struct fe_hist *h)
{
    memset(h, 0, sizeof *h);
}

void fe_hist_add(struct fe_hist *h, uint64_t value)
{
    h->count++;
    h->sum += value;
    h->max = fe_max_u64(h->max, value);
    h->bucket[bucket_of(value)]++;
}

uint64_t fe_hist_quantile(const struct fe_hist *h, uint32_t ppm)
{
    assert(ppm <= 1000000);
    if (h->count == 0)
        return 0;
    uint64_t rank = fe_muldiv_up(h->count, ppm, 1000000);
    uint64_t seen = 0;
    for (unsigned i = 0; i < FE_HIST_BUCKETS; i++) {
        seen += h->bucket[i];
        if (seen >= rank && h->bucket[i])
            return fe_min_u64(bucket_top(i), h->max);
    }
    return h->max;
}

uint64_t fe_hist_below(const struct fe_hist *h, unsigned exponent)
{
    assert(exponent < 64);
    uint64_t n = 0;
    for (unsigned i = 0; i < bucket_of(UINT64_C(1) << exponent); i++)
        n += h->bucket[i];
    return n;
}

double fe_hist_mean(const struct fe_hist *h)
{
    return h->count ? (double)h->sum / (double)h->count : 0.0;
}
