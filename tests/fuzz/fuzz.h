/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fuzz target is one function of bytes.  It is linked either with libFuzzer, which makes
 * up the bytes (meson setup -Dfuzz=true with clang), or with corpus.c, which takes
 * them from files and is what the tests run.
 *
 * A target aborts on what must never be; whatever else it returns counts for nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FT_MUST(ok, ...)                                                                     \
    do {                                                                                     \
        if (!(ok)) {                                                                         \
            fprintf(stderr, __VA_ARGS__);                                                    \
            fputc('\n', stderr);                                                             \
            abort();                                                                         \
        }                                                                                    \
    } while (0)

/* The bytes as a stream of numbers; zeros behind the end. */
struct ft_bytes {
    const uint8_t *p, *end;
};

static inline uint8_t ft_u8(struct ft_bytes *b)
{
    return b->p < b->end ? *b->p++ : 0;
}

static inline uint16_t ft_u16(struct ft_bytes *b)
{
    uint16_t low = ft_u8(b);
    return (uint16_t)(low | ft_u8(b) << 8);
}

static inline uint32_t ft_u32(struct ft_bytes *b)
{
    uint32_t low = ft_u16(b);
    return low | (uint32_t)ft_u16(b) << 16;
}
