/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A number is read as an integer of 128 bits and a count of decimals, multiplied by its
 * unit, and divided once: so "1.216MB/s" is 1216000 exactly, and "0.3ns" has nowhere to
 * go and is refused.  strtod and friends would round, follow the locale's decimal point
 * and accept "0x1p3" and "nan".
 *
 * One table of units for each quantity serves both directions.  Its order is from large
 * to small, and printing takes the first canonical unit that divides the value.  For
 * sizes both families take part, so that 8000000000 is "8GB" and 8589934592 is "8G".
 */
#include "profile/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
    bool canonical;
};

#define K10  UINT64_C(1000)
#define M10  UINT64_C(1000000)
#define G10  UINT64_C(1000000000)
#define T10  UINT64_C(1000000000000)
#define K2   (UINT64_C(1) << 10)
#define M2   (UINT64_C(1) << 20)
#define G2   (UINT64_C(1) << 30)
#define T2   (UINT64_C(1) << 40)

static const struct unit count_units[] = {{"", 1, true}, {NULL, 0, false}};

static const struct unit size_units[] = {
    {"T", T2, true}, {"t", T2, false}, {"TiB", T2, false}, {"TB", T10, true},
    {"G", G2, true}, {"g", G2, false}, {"GiB", G2, false}, {"GB", G10, true},
    {"M", M2, true}, {"m", M2, false}, {"MiB", M2, false}, {"MB", M10, true},
    {"K", K2, true}, {"k", K2, false}, {"KiB", K2, false}, {"KB", K10, true},
    {"kB", K10, false}, {"", 1, true}, {"B", 1, false}, {NULL, 0, false},
};

static const struct unit time_units[] = {
    {"s", G10, true}, {"ms", M10, true}, {"us", K10, true}, {"ns", 1, true}, {NULL, 0, false},
};

/* A transfer is a byte: the chips of this class have a bus of 8 bits. */
static const struct unit rate_units[] = {
    {"GB/s", G10, true}, {"GT/s", G10, false},  {"GiB/s", G2, false},
    {"MB/s", M10, true}, {"MT/s", M10, false},  {"MiB/s", M2, false},
    {"KB/s", K10, true}, {"kB/s", K10, false},  {"KT/s", K10, false}, {"KiB/s", K2, false},
    {"B/s", 1, true},    {NULL, 0, false},
};

static const struct unit share_units[] = {{"%", 10000, true}, {NULL, 0, false}};

static const struct {
    const struct unit *units;
    const char *names;  /* for people */
    const char *a_unit; /* what a number without unit lacks */
    const char *whole;  /* " of what" the stored number counts */
} quantities[FE_N_QUANTITIES] = {
    [FE_COUNT] = {count_units, "", "", ""},
    [FE_SIZE] = {size_units, "K M G T, KB MB GB TB", "", " of bytes"},
    [FE_TIME] = {time_units, "ns us ms s", "ns, us, ms or s", " of ns"},
    [FE_RATE] = {rate_units, "B/s KB/s MB/s GB/s MT/s", "KB/s, MB/s, GB/s or MT/s",
                 " of bytes a second"},
    [FE_SHARE] = {share_units, "%", "%", " of 0.0001%"},
};

struct decimal {
    unsigned __int128 digits; /* without the point */
    unsigned decimals;        /* how many of them stand behind it */
};

/* More decimals than this cannot come out whole: no unit has so many factors of 10. */
#define MAX_DECIMALS 18

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

static bool push_digit(struct decimal *d, char c)
{
    return !__builtin_mul_overflow(d->digits, 10, &d->digits) &&
           !__builtin_add_overflow(d->digits, (unsigned)(c - '0'), &d->digits);
}

/* Digits, perhaps a point and more digits.  The place after them in *end.  Zeros at the
 * end of the decimals do not count, so that 1.50 is 1.5. */
static int read_decimal(const char *s, struct decimal *d, const char **end, struct fe_err *err)
{
    unsigned zeros = 0;

    *d = (struct decimal){0};
    if (*s == '-')
        return fe_err_set(err, EINVAL, "is negative");
    if (!is_digit(*s))
        return fe_err_set(err, EINVAL, "is not a number");
    for (; is_digit(*s); s++)
        if (!push_digit(d, *s))
            return fe_err_set(err, EINVAL, "is too large");
    if (*s == '.') {
        if (!is_digit(*++s))
            return fe_err_set(err, EINVAL, "is not a number");
        for (; is_digit(*s); s++) {
            if (*s == '0') {
                zeros++;
                continue;
            }
            for (d->decimals += zeros + 1; zeros > 0 && d->decimals <= MAX_DECIMALS; zeros--)
                if (!push_digit(d, '0'))
                    return fe_err_set(err, EINVAL, "is too large");
            if (d->decimals > MAX_DECIMALS || !push_digit(d, *s))
                return fe_err_set(err, EINVAL, "has too many decimals");
        }
    }
    *end = s;
    return 0;
}

static int find_unit(enum fe_quantity q, const char *name, size_t len, bool zero, uint64_t *factor,
                     struct fe_err *err)
{
    for (const struct unit *u = quantities[q].units; u->name; u++)
        if (strlen(u->name) == len && memcmp(u->name, name, len) == 0) {
            *factor = u->factor;
            return 0;
        }
    if (len == 0 && zero) {
        *factor = 1;
        return 0;
    }
    if (len == 0)
        return fe_err_set(err, EINVAL, "has no unit (%s)", quantities[q].a_unit);
    if (q == FE_COUNT)
        return fe_err_set(err, EINVAL, "is not a plain number");
    return fe_err_set(err, EINVAL, "has an unknown unit \"%.*s\" (known: %s)",
                      len > 16 ? 16 : (int)len, name, quantities[q].names);
}

int fe_value_parse(enum fe_quantity q, const char *text, uint64_t *ret, struct fe_err *err)
{
    struct decimal d;
    const char *unit = text;
    uint64_t factor = 1;

    text = skip_blanks(text);
    if (*text == '\0')
        return fe_err_set(err, EINVAL, "is empty");
    int r = read_decimal(text, &d, &unit, err);
    if (r < 0)
        return r;
    unit = skip_blanks(unit);
    size_t len = strlen(unit);
    while (len > 0 && (unit[len - 1] == ' ' || unit[len - 1] == '\t'))
        len--;
    r = find_unit(q, unit, len, d.digits == 0, &factor, err);
    if (r < 0)
        return r;

    unsigned __int128 total;
    if (__builtin_mul_overflow(d.digits, (unsigned __int128)factor, &total))
        return fe_err_set(err, EINVAL, "is too large");
    for (; d.decimals > 0; d.decimals--) {
        if (total % 10)
            return fe_err_set(err, EINVAL, "is not a whole number%s", quantities[q].whole);
        total /= 10;
    }
    if (total > UINT64_MAX)
        return fe_err_set(err, EINVAL, "is too large");
    *ret = (uint64_t)total;
    return 0;
}

/* A share has one unit, so its decimals are the only way to print it exactly. */
static void print_share(uint64_t ppm, char *buf, size_t len)
{
    unsigned rest = (unsigned)(ppm % 10000);
    int digits = 4;

    while (rest > 0 && rest % 10 == 0) {
        rest /= 10;
        digits--;
    }
    if (rest == 0)
        snprintf(buf, len, "%" PRIu64 "%%", ppm / 10000);
    else
        snprintf(buf, len, "%" PRIu64 ".%0*u%%", ppm / 10000, digits, rest);
}

void fe_value_print(enum fe_quantity q, uint64_t value, char *buf, size_t len)
{
    if (q == FE_SHARE) {
        print_share(value, buf, len);
        return;
    }
    if (value == 0) {
        snprintf(buf, len, "0");
        return;
    }
    const struct unit *u = quantities[q].units;
    while (!u->canonical || value % u->factor != 0)
        u++;
    snprintf(buf, len, "%" PRIu64 "%s", value / u->factor, u->name);
}

const char *fe_value_units(enum fe_quantity q)
{
    return quantities[q].names;
}
