/* SPDX-License-Identifier: BSD-3-Clause
 *
 * log2 by squaring: one bit of the result for each square.  2^f is a product of the numbers
 * 2^(2^-i) for the bits of f.
 *
 * The quantile is the rational approximation 26.2.23 of Abramowitz and Stegun, "Handbook of
 * Mathematical Functions": with t = sqrt(-2 ln p) for a share p below one half,
 *
 *     -z = t - (2.515517 + 0.802853 t + 0.010328 t^2)
 *              / (1 + 1.432788 t + 0.189269 t^2 + 0.001308 t^3)
 */
#include "base/powers.h"

#include <assert.h>
#include <stdbool.h>

#define ONE (INT64_C(1) << FE_LOG_BITS)

int64_t fe_log2_fine(uint64_t x)
{
    unsigned whole = 63u - (unsigned)__builtin_clzll(x);
    uint64_t m = x << (63 - whole); /* [1, 2) with 63 bits behind the point */
    int64_t r = whole;
    for (int i = 0; i < FE_LOG_BITS; i++) {
        unsigned __int128 square = (unsigned __int128)m * m >> 63;
        bool two = square >> 64;
        m = (uint64_t)(square >> two);
        r = 2 * r + two;
    }
    return r;
}

/* 2^(2^-i), i = 1, 2 ..., with 63 bits behind the point. */
static const uint64_t root_of_two[FE_LOG_BITS] = {
    UINT64_C(0xb504f333f9de6484), UINT64_C(0x9837f0518db8a96f), UINT64_C(0x8b95c1e3ea8bd6e6),
    UINT64_C(0x85aac367cc487b14), UINT64_C(0x82cd8698ac2ba1d7), UINT64_C(0x8164d1f3bc030773),
    UINT64_C(0x80b1ed4fd999ab6c), UINT64_C(0x8058d7d2d5e5f6b0), UINT64_C(0x802c6436d0e04f50),
    UINT64_C(0x8016302f17467628), UINT64_C(0x800b179c82028fd0), UINT64_C(0x80058baf7fee3b5d),
    UINT64_C(0x8002c5d00fdcfcb6), UINT64_C(0x800162e61bed4a48), UINT64_C(0x8000b17292f702a3),
    UINT64_C(0x800058b92abbae02), UINT64_C(0x80002c5c8dade4d7), UINT64_C(0x8000162e44eaf636),
    UINT64_C(0x80000b1721fa7c18), UINT64_C(0x8000058b90de7e4c), UINT64_C(0x800002c5c8678f36),
    UINT64_C(0x80000162e431db9f), UINT64_C(0x800000b1721872d0), UINT64_C(0x80000058b90c1aa8),
};

uint64_t fe_times_exp2(uint64_t x, int64_t log)
{
    int64_t whole = log >> FE_LOG_BITS; /* rounded down */
    uint64_t m = UINT64_C(1) << 63;
    for (int i = 0; i < FE_LOG_BITS; i++)
        if (log >> (FE_LOG_BITS - 1 - i) & 1)
            m = (uint64_t)((unsigned __int128)m * root_of_two[i] >> 63);
    if (whole < -64 || x == 0)
        return 0;
    if (whole > 63)
        return UINT64_MAX;
    unsigned __int128 v = (unsigned __int128)x * m >> (63 - whole);
    return v < UINT64_MAX ? (uint64_t)v : UINT64_MAX;
}

/* A coefficient in millionths. */
static int64_t part(int64_t millionths)
{
    return millionths * ONE / 1000000;
}

static int64_t times(int64_t a, int64_t b)
{
    return a * b >> FE_LOG_BITS;
}

/* The root of x / 2^FE_LOG_BITS; x below 2^38. */
static int64_t root(int64_t x)
{
    uint64_t square = (uint64_t)x << FE_LOG_BITS, r = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
        if ((r + bit) * (r + bit) <= square)
            r += bit;
    return (int64_t)r;
}

int64_t fe_normal(uint64_t u)
{
    bool above = u >> 63;
    uint64_t share = above ? ~u : u; /* of 2^64, in the tail; half a step more than nothing */
    int64_t tail = (INT64_C(65) << FE_LOG_BITS) - fe_log2_fine(2 * share + 1); /* -log2 */
    int64_t t = root(times(tail, part(1386294))), t2 = times(t, t);
    int64_t above_line = part(2515517) + times(t, part(802853)) + times(t2, part(10328));
    int64_t below_line = ONE + times(t, part(1432788)) + times(t2, part(189269)) +
                         times(times(t2, t), part(1308));
    int64_t z = t - above_line * ONE / below_line;
    return above ? z : -z;
}

uint64_t fe_lognormal(uint64_t u, uint64_t median, uint64_t sigma_ppm)
{
    assert(sigma_ppm <= 3000000);
    int64_t sigma = (int64_t)sigma_ppm * part(1442695) / 1000000; /* of log2: times log2(e) */
    return fe_times_exp2(median, times(fe_normal(u), sigma));
}
