/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words of a sector count in steps from the first one, which is drawn from the key, the offset
 * and the generation.  So one draw is enough for a sector, and the rest is as fast as the
 * processor stores.
 */
#include "replay/content.h"

#include "base/rng.h"

#include <string.h>

#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* A line of the host's cache.  It is stored to any address, by as few stores as there can be. */
typedef uint64_t line __attribute__((vector_size(64)));
typedef line unaligned_line __attribute__((aligned(1), may_alias));

/* A sector is a multiple of 512 bytes. */
__attribute__((always_inline)) static inline void fill_words(uint64_t first, uint8_t *to,
                                                             uint32_t n)
{
    line a = first + STEP * (line){0, 1, 2, 3, 4, 5, 6, 7};

    for (const uint8_t *end = to + n; to < end; to += sizeof a, a += 8 * STEP)
        *(unaligned_line *)to = a;
}

__attribute__((always_inline)) static inline bool has_words(uint64_t first, const uint8_t *data,
                                                            uint32_t n)
{
    line a = first + STEP * (line){0, 1, 2, 3, 4, 5, 6, 7}, wrong = {0};

    for (const uint8_t *end = data + n; data < end; data += sizeof a, a += 8 * STEP)
        wrong |= *(const unaligned_line *)data ^ a;
    uint64_t any = 0;
    for (unsigned i = 0; i < 8; i++)
        any |= wrong[i];
    return any == 0;
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static void fill_wide(uint64_t first, uint8_t *to, uint32_t n)
{
    fill_words(first, to, n);
}

__attribute__((target("avx512f"))) static bool has_wide(uint64_t first, const uint8_t *data,
                                                        uint32_t n)
{
    return has_words(first, data, n);
}

static bool is_wide(void)
{
    return __builtin_cpu_supports("avx512f");
}
#else
#define fill_wide fill_words
#define has_wide has_words

static bool is_wide(void)
{
    return false;
}
#endif

struct content content_make(uint32_t sector_size, uint64_t seed)
{
    return (struct content){sector_size, fe_rng(seed, FE_RNG_WORKLOAD, 0, 0), is_wide()};
}

static uint64_t first_word(const struct content *c, uint64_t offset, uint32_t generation)
{
    return fe_mix64(c->key + offset + generation * STEP);
}

void content_fill(const struct content *c, uint64_t offset, uint32_t generation, uint8_t *to)
{
    uint64_t first = first_word(c, offset, generation);
    if (c->is_wide)
        fill_wide(first, to, c->sector_size);
    else
        fill_words(first, to, c->sector_size);
}

bool content_is(const struct content *c, uint64_t offset, uint32_t generation,
                const uint8_t *data)
{
    if (generation == 0)
        return memcmp(data, data + 1, c->sector_size - 1) == 0;
    uint64_t first = first_word(c, offset, generation);
    return c->is_wide ? has_wide(first, data, c->sector_size)
                      : has_words(first, data, c->sector_size);
}
