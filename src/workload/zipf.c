/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rejection-inversion after W. Hoermann and G. Derflinger, "Rejection-inversion to
 * generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996.
 *
 * The usual generators either need a table of n sums, or they invert the integral instead of
 * the sum and are wrong for the most frequent ranks.  This one inverts the integral H of
 * h(x) = x^-theta, and then corrects the difference.  Rank k should have the area of a bar of
 * height h(k) between k - 1/2 and k + 1/2.  The area under h there is a little larger, because
 * h is convex.  A sample that falls into the difference is rejected, and the next one is drawn.
 * That happens rarely.
 *
 * H is written with expm1 and log1p.  Its usual formula is 0/0 for theta = 1; written like
 * this, theta = 1 needs no special case.
 */
#include "workload/zipf.h"

#include <math.h>

/* (e^x - 1) / x, also at 0. */
static double expm1_over(double x)
{
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

/* log(1 + x) / x, also at 0. */
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
        t = -1; /* only rounding gets there: H is bounded for theta > 1 */
    return exp(log1p_over(t) * y);
}

void fe_zipf_init(struct fe_zipf *z, uint64_t n, double theta)
{
    z->n = n;
    z->theta = theta;
    z->h_first = big_h(theta, 1.5) - 1; /* then rank 1 has its full area h(1) = 1 */
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
