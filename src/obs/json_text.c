/* SPDX-License-Identifier: BSD-3-Clause
 *
 * jansson refuses text that is not UTF-8, and reports a lack of memory in the same way.  So a
 * refusal leads to a second attempt with ASCII, which fails only without memory.
 */
#include "obs/json_text.h"

#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

json_t *fe_json_text(const char *text, size_t len)
{
    json_t *ret = json_stringn(text, len);

    if (ret)
        return ret;
    char *ascii = malloc(len + 1);
    for (size_t i = 0; ascii && i < len; i++)
        ascii[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    ret = ascii ? json_stringn(ascii, len) : NULL;
    free(ascii);
    return ret;
}

json_t *fe_json_u64(uint64_t n)
{
    char digits[24];

    if (n <= INT64_MAX)
        return json_integer((json_int_t)n);
    snprintf(digits, sizeof digits, "%" PRIu64, n);
    return json_string(digits);
}

bool fe_json_to_u64(const json_t *o, uint64_t *ret)
{
    uint64_t n = 0;

    if (json_is_integer(o) && json_integer_value(o) >= 0) {
        *ret = (uint64_t)json_integer_value(o);
        return true;
    }
    if (!json_is_string(o) || json_string_length(o) == 0)
        return false;
    for (const char *c = json_string_value(o); *c; c++)
        if (*c < '0' || *c > '9' || !fe_mul_ok(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*c - '0'), &n))
            return false;
    if (n > INT64_MAX)
        *ret = n;
    return n > INT64_MAX;
}
