/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Randomness that is addressed instead of streamed.
 *
 * A random number is a hash of (seed, stream, a, b), where a and b say what the number is for,
 * for example which block and which cycle.  It does not depend on the numbers that were drawn
 * before.  So an additional draw in one place changes no result elsewhere, and the same number
 * can be computed again at any time.
 *
 * The mixing function is the finaliser of splitmix64 (Steele, Lea, Flood 2014), applied to each
 * word in turn.
 */
#pragma once

#include <stdint.h>

/* What the numbers are for.  Images and golden traces depend on these values, so that new streams
 * go to the end. */
enum fe_rng_stream {
    FE_RNG_FACTORY_BAD = 1,
    FE_RNG_GC_VICTIM,
    FE_RNG_WORKLOAD,
    FE_RNG_TEST,
    FE_RNG_STEP,
    FE_RNG_POWER_CUT,
    FE_RNG_BIT_ERRORS,
    FE_RNG_FAILURE,
    FE_RNG_BIT_PLACES,
    FE_RNG_HOST_ASKS,
    FE_RNG_LIES,
};

static inline uint64_t fe_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Returns 64 uniform random bits for this address. */
static inline uint64_t fe_rng(uint64_t seed, enum fe_rng_stream stream, uint64_t a, uint64_t b)
{
    uint64_t x = fe_mix64(seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)stream);
    x = fe_mix64(x + UINT64_C(0x9e3779b97f4a7c15) + a);
    return fe_mix64(x + UINT64_C(0x9e3779b97f4a7c15) + b);
}

/* Maps 64 uniform bits to [0, n), n > 0, by multiply and shift.  The bias is below n / 2^64. */
static inline uint64_t fe_rng_below(uint64_t bits, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)bits * n) >> 64);
}
