/* SPDX-License-Identifier: BSD-3-Clause
 *
 * strtoull() accepts signs, leading blanks and a locale's idea of digits, and it needs a NUL
 * behind the number.  A number in a line of a trace has none of these.
 */
#include "workload/number.h"

#include <string.h>

bool fe_number_u64(const char *p, size_t len, uint64_t *ret)
{
    uint64_t n = 0;

    if (len == 0)
        return false;
    for (size_t i = 0; i < len; i++)
        if (p[i] < '0' || p[i] > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(p[i] - '0'), &n))
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

/* Two digits for each division, which is what takes the time. */
size_t fe_number_put(char *to, uint64_t n)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digits[20];
    size_t i = sizeof digits;

    for (; n >= 10; n /= 100) {
        i -= 2;
        memcpy(digits + i, pairs + 2 * (n % 100), 2);
    }
    if (n > 0 || i == sizeof digits)
        digits[--i] = (char)('0' + n);
    memcpy(to, digits + i, sizeof digits - i);
    return sizeof digits - i;
}
