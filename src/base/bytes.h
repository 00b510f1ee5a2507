/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of 1 to 8 bytes in files that other programs read, whatever the host's own order; and bytes
 * that say nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number in p[0, n), n <= 8; big: the highest byte first. */
static inline uint64_t fe_bytes_get(const uint8_t *p, unsigned n, bool big)
{
    uint64_t ret = 0;
    for (unsigned i = 0; i < n; i++)
        ret = ret << 8 | p[big ? i : n - 1 - i];
    return ret;
}

/* Stores the n lowest bytes of a number, the lowest first. */
static inline void fe_bytes_put(uint8_t *p, unsigned n, uint64_t number)
{
    for (unsigned i = 0; i < n; i++)
        p[i] = (uint8_t)(number >> 8 * i);
}

/* Whether all n bytes are zero. */
static inline bool fe_bytes_are_zeros(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}
