/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Write amplification of cleaning, by analysis.  alpha = physical / logical pages, free and
 * open blocks not counted; b pages a block.
 *
 *   fifo     A = 1 + r / (exp(r/f alpha/A) - 1) + (1-r) / (exp((1-r)/(1-f) alpha/A) - 1)
 *            share r of the writes to a share f of the pages; uniform: A = 1 / (1 -
 *            exp(-alpha/A)).  Any b.
 *   greedy   A = fifo(k alpha) / k, k = 1 + 1/(2b)
 */
#ifndef FT_THEORY_H
#define FT_THEORY_H

#include <stdint.h>

/* The root between lo and hi of fn, which falls from lo to hi. */
double ft_root(double (*fn)(double x, const double *arg), const double *arg, double lo, double hi);

double ft_theory_fifo(double alpha, double r, double f);
double ft_theory_greedy(double alpha, double r, double f, uint32_t b);

#endif
