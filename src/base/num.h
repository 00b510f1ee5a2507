/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whole-number arithmetic that cannot go wrong silently.
 *
 * Time and ratios are integers everywhere in the core.  A product that may not fit is either
 * checked (fe_mul_ok) or computed in 128 bits and rounded once (fe_muldiv, fe_muldiv_up).
 * Rounding at every step instead would lose whole bus cycles.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define FE_NS_PER_US UINT64_C(1000)
#define FE_NS_PER_MS UINT64_C(1000000)
#define FE_NS_PER_S  UINT64_C(1000000000)

/* Stores a * b in *ret.  Returns false, with *ret unspecified, if the product does not fit. */
static inline bool fe_mul_ok(uint64_t a, uint64_t b, uint64_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}

/* The last instant, after 584 years.  UINT64_MAX is not an instant: it stands for "never". */
#define FE_TIME_MAX (UINT64_MAX - 1)

/* The instant that lies so many ns later, or FE_TIME_MAX if there is none. */
static inline uint64_t fe_time_add(uint64_t at_ns, uint64_t ns)
{
    uint64_t sum;
    return __builtin_add_overflow(at_ns, ns, &sum) || sum > FE_TIME_MAX ? FE_TIME_MAX : sum;
}

/* n times so many ns, or FE_TIME_MAX. */
static inline uint64_t fe_time_mul(uint64_t ns, uint64_t n)
{
    uint64_t product;
    return fe_mul_ok(ns, n, &product) && product < FE_TIME_MAX ? product : FE_TIME_MAX;
}

/* a / b rounded up; b > 0. */
static inline uint64_t fe_div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* a * b / c rounded up, computed in 128 bits.  The result must fit 64 bits; otherwise the caller
 * has a bug.  Most products fit 64 bits, and dividing these costs a third. */
static inline uint64_t fe_muldiv_up(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t p;
    if (!__builtin_mul_overflow(a, b, &p) && !__builtin_add_overflow(p, c - 1, &p))
        return p / c;
    unsigned __int128 q = ((unsigned __int128)a * b + (c - 1)) / c;
    assert(q <= UINT64_MAX);
    return (uint64_t)q;
}

/* The same, rounded down. */
static inline uint64_t fe_muldiv(uint64_t a, uint64_t b, uint64_t c)
{
    unsigned __int128 q = (unsigned __int128)a * b / c;
    assert(q <= UINT64_MAX);
    return (uint64_t)q;
}

static inline uint64_t fe_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t fe_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline bool fe_is_pow2(uint64_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

/* Division of 32-bit numbers by a divisor that does not change, by one multiplication.  The
 * result is exact for every n (Lemire, Kaser, Kurz 2019: with c = floor(2^64/d) + 1, n/d is
 * c*n >> 64).  d = 1 is a special case, because c would not fit. */
struct fe_fastdiv {
    uint64_t c;
    uint32_t d;
};

static inline struct fe_fastdiv fe_fastdiv_init(uint32_t d)
{
    assert(d > 0);
    return (struct fe_fastdiv){.c = d > 1 ? UINT64_MAX / d + 1 : 0, .d = d};
}

static inline uint32_t fe_fastdiv(uint32_t n, struct fe_fastdiv f)
{
    return f.d == 1 ? n : (uint32_t)(((unsigned __int128)f.c * n) >> 64);
}

static inline uint32_t fe_fastmod(uint32_t n, struct fe_fastdiv f)
{
    return n - fe_fastdiv(n, f) * f.d;
}

/* floor(log2(x)); x > 0. */
static inline unsigned fe_log2(uint64_t x)
{
    return 63u - (unsigned)__builtin_clzll(x);
}
