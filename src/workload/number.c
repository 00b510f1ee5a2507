/* SPDX-License-Identifier: BSD-3-Clause
 *
 * strtoull() accepts signs, leading blanks and a locale's idea of digits, and needs a
 * terminator; a trace line has none of these.  Everything here is built on one loop
 * that reads digits and notices overflow.
 */
#include "workload/number.h"

#include "base/num.h"

#include <string.h>

/* Reads digits from p on; the number of them, 0 if there is none or they overflow. */
static size_t take_digits(const char *p, size_t len, uint64_t *ret)
{
    uint64_t n = 0;
    size_t i;

    for (i = 0; i < len && p[i] >= '0' && p[i] <= '9'; i++)
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(p[i] - '0'), &n))
            return 0;
    *ret = n;
    return i;
}

bool fe_number_u64(const char *p, size_t len, uint64_t *ret)
{
    uint64_t n;

    if (len == 0 || take_digits(p, len, &n) != len)
        return false;
    *ret = n;
    return true;
}

bool fe_number_i64(const char *p, size_t len, int64_t *ret)
{
    bool minus = len > 0 && p[0] == '-';
    uint64_t n;

    if (!fe_number_u64(p + minus, len - minus, &n) || n > INT64_MAX)
        return false;
    *ret = minus ? -(int64_t)n : (int64_t)n;
    return true;
}

struct unit {
    const char *name;
    uint64_t factor;
};

/* Digits, perhaps a point and more digits: mantissa / 10^decimals.  How many characters,
 * 0 if there is no such number. */
static size_t take_number(const char *p, size_t len, uint64_t *ret_mantissa,
                          unsigned *ret_decimals)
{
    uint64_t whole = 0, part = 0;
    size_t digits = take_digits(p, len, &whole);

    *ret_decimals = 0;
    *ret_mantissa = whole;
    if (digits == 0 || digits == len || p[digits] != '.')
        return digits;
    size_t n = take_digits(p + digits + 1, len - digits - 1, &part);
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!fe_mul_ok(whole, 10, &whole))
            return 0;
    if (__builtin_add_overflow(whole, part, ret_mantissa))
        return 0;
    *ret_decimals = (unsigned)n;
    return digits + 1 + n;
}

/* mantissa / 10^decimals * factor, if that is a whole number that fits. */
static bool scale(uint64_t mantissa, unsigned decimals, uint64_t factor, uint64_t *ret)
{
    unsigned __int128 n = (unsigned __int128)mantissa * factor;

    for (; decimals > 0; decimals--) {
        if (n % 10 != 0)
            return false;
        n /= 10;
    }
    if (n > UINT64_MAX)
        return false;
    *ret = (uint64_t)n;
    return true;
}

/* A number followed by one of the units, the last of which has no name. */
static bool number_with_unit(const char *p, size_t len, const struct unit *units, uint64_t *ret)
{
    uint64_t mantissa;
    unsigned decimals;
    size_t used = take_number(p, len, &mantissa, &decimals);

    if (used == 0)
        return false;
    for (const struct unit *u = units; u->name; u++)
        if (strlen(u->name) == len - used && memcmp(u->name, p + used, len - used) == 0)
            return scale(mantissa, decimals, u->factor, ret);
    return false;
}

#define K2 (UINT64_C(1) << 10)
#define M2 (UINT64_C(1) << 20)
#define G2 (UINT64_C(1) << 30)
#define T2 (UINT64_C(1) << 40)

bool fe_number_size(const char *p, size_t len, uint64_t *ret)
{
    static const struct unit units[] = {
        {"", 1},   {"B", 1},    {"K", K2},  {"k", K2},   {"KiB", K2},
        {"M", M2}, {"m", M2},   {"MiB", M2}, {"G", G2},  {"g", G2},
        {"GiB", G2}, {"T", T2}, {"t", T2},  {"TiB", T2}, {"KB", UINT64_C(1000)},
        {"kB", UINT64_C(1000)}, {"MB", UINT64_C(1000000)}, {"GB", UINT64_C(1000000000)},
        {"TB", UINT64_C(1000000000000)}, {NULL, 0},
    };
    return number_with_unit(p, len, units, ret);
}

bool fe_number_time(const char *p, size_t len, uint64_t *ret_ns)
{
    static const struct unit units[] = {
        {"ns", 1}, {"us", FE_NS_PER_US}, {"ms", FE_NS_PER_MS}, {"s", FE_NS_PER_S}, {NULL, 0},
    };
    if (len == 1 && *p == '0') {
        *ret_ns = 0;
        return true;
    }
    return number_with_unit(p, len, units, ret_ns);
}

bool fe_number_decimal(const char *p, size_t len, uint64_t *ret_ppm)
{
    static const struct unit units[] = {{"", 1000000}, {NULL, 0}};
    return number_with_unit(p, len, units, ret_ppm);
}

bool fe_number_share(const char *p, size_t len, uint32_t *ret_ppm)
{
    static const struct unit units[] = {{"%", 10000}, {NULL, 0}};
    uint64_t ppm;

    if (!number_with_unit(p, len, units, &ppm) || ppm > 1000000)
        return false;
    *ret_ppm = (uint32_t)ppm;
    return true;
}

size_t fe_number_put(char *to, uint64_t n)
{
    char digits[20];
    size_t i = sizeof digits;

    do
        digits[--i] = (char)('0' + n % 10);
    while ((n /= 10) != 0);
    memcpy(to, digits + i, sizeof digits - i);
    return sizeof digits - i;
}
