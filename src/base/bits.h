/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays of bits: bit i is bit i % 64 of word i / 64.
 *
 * The caller owns the words and guarantees that there are enough of them: fe_bits_words(n)
 * for n bits.  No function here checks a bound.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The number of words that hold n bits. */
static inline uint64_t fe_bits_words(uint64_t n)
{
    return n / 64 + (n % 64 != 0);
}

static inline bool fe_bit(const uint64_t *bits, uint64_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static inline void fe_bit_set(uint64_t *bits, uint64_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void fe_bit_clear(uint64_t *bits, uint64_t i)
{
    bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

static inline void fe_bit_put(uint64_t *bits, uint64_t i, bool value)
{
    if (value)
        fe_bit_set(bits, i);
    else
        fe_bit_clear(bits, i);
}

/* Sets bits [from, from + n). */
static inline void fe_bits_set(uint64_t *bits, uint64_t from, uint64_t n)
{
    for (; n > 0 && from % 64 != 0; n--)
        fe_bit_set(bits, from++);
    for (; n >= 64; n -= 64, from += 64)
        bits[from / 64] = UINT64_MAX;
    for (; n > 0; n--)
        fe_bit_set(bits, from++);
}

/* Bits [from, from + n) as the low bits of a word; 0 < n <= 64. */
static inline uint64_t fe_bits_get(const uint64_t *bits, uint64_t from, uint32_t n)
{
    uint64_t shift = from % 64, word = bits[from / 64] >> shift;
    if (shift + n > 64)
        word |= bits[from / 64 + 1] << (64 - shift);
    return n < 64 ? word & ((UINT64_C(1) << n) - 1) : word;
}
