/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copying bytes to where nobody looks soon.
 *
 * A plain store reads the cache line that it changes first, and a copy of 4 KiB pushes 4 KiB of
 * something else out of the cache.  Where the target is not in the cache and will not be read soon,
 * both are waste: a store that goes past the cache takes half the time.  Where the target is in the
 * cache, the plain store is faster.  The caller has to know.
 *
 * Such stores may reach memory later than plain ones that follow.  Another thread must therefore
 * not read the target before the owner has given a lock to it: every processor that has these
 * stores waits for them in a locked instruction.  A fence behind each copy would wait every time.
 */
#ifndef FE_BASE_COPY_H
#define FE_BASE_COPY_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* As memcpy, past the cache if the processor offers that. */
static inline void fe_copy_past_cache(uint8_t *to, const uint8_t *from, size_t n)
{
#ifdef __SSE2__
    enum { LINE = 64, PART = sizeof(__m128i) };
    if (n >= 2 * LINE) {
        size_t head = -(uintptr_t)to & (LINE - 1);
        memcpy(to, from, head);
        size_t end = head + (n - head) / LINE * LINE;
        for (size_t i = head; i < end; i += PART)
            _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
        to += end;
        from += end;
        n -= end;
    }
#endif
    memcpy(to, from, n);
}

#endif
