/* SPDX-License-Identifier: BSD-3-Clause
 *
 * flashbench's pseudo-random order: a linear feedback shift register that visits every
 * number below 2^bits exactly once.  All functions are pure; any thread may call them.
 */
#pragma once

#include <stdint.h>

enum { FE_LFSR_MIN_BITS = 8, FE_LFSR_MAX_BITS = 16 };

/* By width, the bits whose parity enters the register; 0 for other widths. */
extern const uint16_t fe_lfsr_taps[FE_LFSR_MAX_BITS + 1];

/* The first state after 0, which the shift register itself could never leave. */
static inline uint32_t fe_lfsr_start(unsigned bits)
{
    return 0xace1u & ((1u << bits) - 1);
}

/* The next state of the register.  v > 0. */
static inline uint32_t fe_lfsr_step(uint32_t v, unsigned bits)
{
    uint32_t in = (uint32_t)__builtin_parity(v & fe_lfsr_taps[bits]);
    return v >> 1 | in << (bits - 1);
}

/* The next number in the order of flashbench's -O and -f.  There 0 follows fe_lfsr_start, and
 * all 2^bits numbers form one cycle. */
static inline uint32_t fe_lfsr_next(uint32_t v, unsigned bits)
{
    if (v == fe_lfsr_start(bits))
        return 0;
    return fe_lfsr_step(v ? v : fe_lfsr_start(bits), bits);
}

/* How many bits flashbench uses for numbers below n.  If they are more than FE_LFSR_MAX_BITS,
 * flashbench gives up. */
unsigned fe_lfsr_bits(uint64_t n);
