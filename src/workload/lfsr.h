/* SPDX-License-Identifier: BSD-3-Clause
 *
 * flashbench's pseudo-random order: a linear feedback shift register that visits every
 * number below 2^bits once.
 */
#ifndef FE_WORKLOAD_LFSR_H
#define FE_WORKLOAD_LFSR_H

#include <stdint.h>

enum { FE_LFSR_MIN_BITS = 8, FE_LFSR_MAX_BITS = 16 };

/* The state that stands for 0, which a shift register cannot leave. */
uint32_t fe_lfsr_start(unsigned bits);

/* The register's next state; v > 0. */
uint32_t fe_lfsr_step(uint32_t v, unsigned bits);

/* The order of flashbench's -O and -f: 0 follows fe_lfsr_start, so that all 2^bits
 * numbers form one cycle. */
uint32_t fe_lfsr_next(uint32_t v, unsigned bits);

/* Bits that flashbench takes for numbers below n; above FE_LFSR_MAX_BITS it gives up. */
unsigned fe_lfsr_bits(uint64_t n);

#endif
