/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/theory.h"

#include <math.h>

double ft_root(double (*fn)(double x, const double *arg), const double *arg, double lo, double hi)
{
    for (int i = 0; i < 80; i++) {
        double mid = (lo + hi) / 2;
        if (fn(mid, arg) > 0)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + hi) / 2;
}

/* arg: alpha, r, f. */
static double fifo_gap(double a, const double *arg)
{
    double alpha = arg[0], r = arg[1], f = arg[2];
    return 1 + r / expm1(r / f * alpha / a) + (1 - r) / expm1((1 - r) / (1 - f) * alpha / a) - a;
}

double ft_theory_fifo(double alpha, double r, double f)
{
    const double arg[] = {alpha, r, f};
    return ft_root(fifo_gap, arg, 1.0001, 200);
}

double ft_theory_greedy(double alpha, double r, double f, uint32_t b)
{
    double k = 1 + 1 / (2.0 * b);
    return ft_theory_fifo(k * alpha, r, f) / k;
}
