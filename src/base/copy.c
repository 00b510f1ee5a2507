/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stores past the cache, as wide as the processor has them.
 *
 * The width decides whether a copy is waited for.  A store leaves the processor through a queue of
 * some sixty entries.  A page of 4 KiB is 256 stores of 16 bytes: most of the copy is over when the
 * last one has found a place there.  It is 64 stores of 64 bytes, which wait in the queue while the
 * processor goes on with what the caller does next.  A whole line also is not put together on its
 * way (docs/SPEED.md has the figures).
 */
#include "base/copy.h"

#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

enum { LINE = 64 }; /* of the host's cache */

/* Each copies n bytes, a multiple of LINE, to the beginning of a line. */
__attribute__((target("avx512f"))) static void lines_by_64(uint8_t *to, const uint8_t *from,
                                                           size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(__m512i))
        _mm512_stream_si512((__m512i *)(to + i), _mm512_loadu_si512(from + i));
}

__attribute__((target("avx2"))) static void lines_by_32(uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(__m256i))
        _mm256_stream_si256((__m256i *)(to + i), _mm256_loadu_si256((const __m256i *)(from + i)));
}

static void lines_by_16(uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
}

typedef void lines_fn(uint8_t *to, const uint8_t *from, size_t n);

static lines_fn *lines_by(unsigned store_bytes)
{
    switch (store_bytes) {
    case 64:
        return __builtin_cpu_supports("avx512f") ? lines_by_64 : NULL;
    case 32:
        return __builtin_cpu_supports("avx2") ? lines_by_32 : NULL;
    case 16:
        return lines_by_16;
    default:
        return NULL;
    }
}

/* Whole lines past the cache; what is before and behind them by plain stores. */
static void copy_by(lines_fn *lines, uint8_t *to, const uint8_t *from, size_t n)
{
    size_t head = -(uintptr_t)to & (LINE - 1);
    if (n < head + LINE) {
        memcpy(to, from, n);
        return;
    }
    size_t end = head + (n - head) / LINE * LINE;
    memcpy(to, from, head);
    lines(to + head, from + head, end - head);
    memcpy(to + end, from + end, n - end);
}

bool fe_copy_by(unsigned store_bytes, uint8_t *to, const uint8_t *from, size_t n)
{
    lines_fn *lines = lines_by(store_bytes);
    if (lines)
        copy_by(lines, to, from, n);
    return lines;
}

void fe_copy_past_cache(uint8_t *to, const uint8_t *from, size_t n)
{
    lines_fn *lines = lines_by(64);
    if (!lines)
        lines = lines_by(32);
    if (!lines)
        lines = lines_by(16);
    copy_by(lines, to, from, n);
}
#else
bool fe_copy_by(unsigned store_bytes, uint8_t *to, const uint8_t *from, size_t n)
{
    (void)store_bytes;
    (void)to;
    (void)from;
    (void)n;
    return false;
}

void fe_copy_past_cache(uint8_t *to, const uint8_t *from, size_t n)
{
    memcpy(to, from, n);
}
#endif
