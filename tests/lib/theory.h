/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Formulas for the write amplification of cleaning.  alpha = physical / logical pages, where free
 * and open blocks do not count.  A block has b pages.
 *
 *   fifo     A = 1 + r / (exp(r/f alpha/A) - 1) + (1-r) / (exp((1-r)/(1-f) alpha/A) - 1)
 *            if a share r of the writes goes to a share f of the pages.  For uniform writes
 *            A = 1 / (1 - exp(-alpha/A)).  Both hold for any b.
 *   greedy   A = fifo(k alpha) / k, k = 1 + 1/(2b)
 */
#pragma once

#include <stdint.h>

/* The root of fn between lo and hi.  fn must fall from lo to hi. */
double ft_root(double (*fn)(double x, const double *arg), const double *arg, double lo, double hi);

double ft_theory_fifo(double alpha, double r, double f);
double ft_theory_greedy(double alpha, double r, double f, uint32_t b);
