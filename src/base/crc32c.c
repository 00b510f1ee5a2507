/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table has one entry for each value of four bits, so that a byte takes two look-ups.  The
 * compiler computes the entries from their definition: entry i is the remainder of i divided by the
 * polynomial 0x1edc6f41, with all bits reflected.
 */
#include "base/crc32c.h"

#include <string.h>

#define POLY UINT32_C(0x82f63b78)

#define BIT(c) ((c) & 1 ? (c) >> 1 ^ POLY : (c) >> 1)
#define BIT2(c) BIT(BIT(c))
#define BIT4(c) BIT2(BIT2(c))

#define N(i) BIT4(UINT32_C(i))
static const uint32_t nibble[16] = {
    N(0), N(1), N(2), N(3), N(4), N(5), N(6), N(7),
    N(8), N(9), N(10), N(11), N(12), N(13), N(14), N(15),
};

uint32_t fe_crc32c_table(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p,
                                                                 size_t len)
{
    uint64_t c = ~crc;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        c = __builtin_ia32_crc32di(c, word);
    }
    for (; len > 0; p++, len--)
        c = __builtin_ia32_crc32qi((uint32_t)c, *p);
    return ~(uint32_t)c;
}

uint32_t fe_crc32c(uint32_t crc, const void *data, size_t len)
{
    if (__builtin_cpu_supports("sse4.2"))
        return by_instruction(crc, data, len);
    return fe_crc32c_table(crc, data, len);
}
#else
uint32_t fe_crc32c(uint32_t crc, const void *data, size_t len)
{
    return fe_crc32c_table(crc, data, len);
}
#endif
