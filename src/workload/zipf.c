/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rejection-inversion after W. Hoermann and G. Derflinger, "Rejection-inversion to
 * generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996.
 *
 * The usual generators are wrong at the head (they invert the integral instead of the
 * sum) or need a table of n sums.  Here the integral H of h(x) = x^-theta is inverted and
 * the difference between bar k and the area under h around k is rejected, which happens
 * rarely.  H is written with expm1 and log1p, so that theta = 1, where the formula for H
 * is 0/0, is not a special case.
 */
#include "workload/zipf.h"

#include <math.h>

/* (e^x - 1) / x, log(1 + x) / x, and their limits at 0. */
static double expm1_over(double x)
{
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static double log1p_over(double x)
{
    return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

static double h(double theta, double x)
{
    return exp(-theta * log(x));
}

/* The integral of h from 1 to x. */
static double big_h(double theta, double x)
{
    double log_x = log(x);
    return expm1_over((1 - theta) * log_x) * log_x;
}

static double big_h_inverse(double theta, double y)
{
    double t = y * (1 - theta);

    if (t < -1)
        t = -1; /* rounding; H is bounded for theta > 1 */
    return exp(log1p_over(t) * y);
}

void fe_zipf_init(struct fe_zipf *z, uint64_t n, double theta)
{
    z->n = n;
    z->theta = theta;
    z->h_first = big_h(theta, 1.5) - 1; /* so that bar 1 has its full area h(1) = 1 */
    z->h_last = big_h(theta, (double)n + 0.5);
    z->accept = 2 - big_h_inverse(theta, big_h(theta, 2.5) - h(theta, 2));
}

uint64_t fe_zipf_sample(const struct fe_zipf *z, uint64_t (*draw)(const void *ctx, uint64_t i),
                        const void *ctx)
{
    for (uint64_t i = 0;; i++) {
        double uniform = (double)(draw(ctx, i) >> 11) * 0x1p-53;
        double u = z->h_last + uniform * (z->h_first - z->h_last);
        double x = big_h_inverse(z->theta, u);
        double k = floor(x + 0.5);

        if (k < 1)
            k = 1;
        if (k > (double)z->n)
            k = (double)z->n;
        if (k - x <= z->accept || u >= big_h(z->theta, k + 0.5) - h(z->theta, k))
            return (uint64_t)k - 1;
    }
}
