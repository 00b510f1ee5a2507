/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Randomness for tests: a counter over the core's addressed generator.  A case is determined by its
 * seed alone.
 */
#pragma once

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ft_rand {
    uint64_t seed, n;
};

/* 64 random bits.  Must not be called twice in one expression, because the compiler would choose
 * the order. */
static inline uint64_t ft_rand(struct ft_rand *r)
{
    return fe_rng(r->seed, FE_RNG_TEST, r->n++, 0);
}

/* Uniform in [0, n). */
static inline uint64_t ft_below(struct ft_rand *r, uint64_t n)
{
    return fe_rng_below(ft_rand(r), n);
}

/* Uniform in [lo, hi]. */
static inline uint64_t ft_between(struct ft_rand *r, uint64_t lo, uint64_t hi)
{
    return lo + ft_below(r, hi - lo + 1);
}

static inline bool ft_chance(struct ft_rand *r, unsigned percent)
{
    return ft_below(r, 100) < percent;
}

/* Fills buf with bytes that are different at each call. */
static inline void ft_fill(struct ft_rand *r, void *buf, size_t len)
{
    uint8_t *p = buf;
    uint64_t x = ft_rand(r);
    for (size_t i = 0; i < len; i += 8, x = x * UINT64_C(6364136223846793005) + 1442695040888963407)
        memcpy(p + i, &x, len - i < 8 ? len - i : 8);
}

/* Adds bytes to a running hash (FNV-1a, a word at a time). */
static inline uint64_t ft_hash(uint64_t h, const void *buf, size_t len)
{
    const uint8_t *p = buf;
    for (size_t i = 0; i < len; i += 8) {
        uint64_t w = 0;
        memcpy(&w, p + i, len - i < 8 ? len - i : 8);
        h = (h ^ w) * UINT64_C(0x100000001b3);
        h ^= h >> 29;
    }
    return h;
}

static inline uint64_t ft_hash_u64(uint64_t h, uint64_t v)
{
    return ft_hash(h, &v, sizeof v);
}

#define FT_HASH_START UINT64_C(0xcbf29ce484222325)
