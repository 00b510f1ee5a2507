/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parser reads a number as an integer of 128 bits together with the count of its decimals.
 * It multiplies that integer by the unit and divides it once by the power of ten:
 *
 *     "1.216MB/s"   digits 1216, 3 decimals, unit 1000000   1216 * 1000000 / 10^3 = 1216000
 *     "0.3ns"       digits    3, 1 decimal,  unit       1      3 *       1 / 10^1: refused
 *
 * strtod and its relatives are not used because they round, follow the locale's decimal point,
 * and accept "0x1p3" and "nan".
 *
 * Each quantity has one table of units, which serves both directions.  The units are sorted
 * from large to small.  The canonical form uses the first unit marked CANONICAL that divides
 * the value.  For sizes, both families of units take part, so that 8000000000 becomes "8GB" and
 * 8589934592 becomes "8G".  The rounded form uses the first unit marked ROUNDED that is not
 * larger than the value.
 */
#include "base/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The forms in which a unit is printed; a unit with neither is only accepted. */
enum { CANONICAL = 1, ROUNDED = 2, BOTH = CANONICAL | ROUNDED };

struct unit {
    const char *name;
    uint64_t factor;
    unsigned forms;
};

#define K10  UINT64_C(1000)
#define M10  UINT64_C(1000000)
#define G10  UINT64_C(1000000000)
#define T10  UINT64_C(1000000000000)
#define K2   (UINT64_C(1) << 10)
#define M2   (UINT64_C(1) << 20)
#define G2   (UINT64_C(1) << 30)
#define T2   (UINT64_C(1) << 40)

static const struct unit count_units[] = {{"", 1, BOTH}, {NULL, 0, 0}};

static const struct unit size_units[] = {
    {"T", T2, CANONICAL}, {"t", T2, 0}, {"TiB", T2, ROUNDED}, {"TB", T10, CANONICAL},
    {"G", G2, CANONICAL}, {"g", G2, 0}, {"GiB", G2, ROUNDED}, {"GB", G10, CANONICAL},
    {"M", M2, CANONICAL}, {"m", M2, 0}, {"MiB", M2, ROUNDED}, {"MB", M10, CANONICAL},
    {"K", K2, CANONICAL}, {"k", K2, 0}, {"KiB", K2, ROUNDED}, {"KB", K10, CANONICAL},
    {"kB", K10, 0}, {"", 1, CANONICAL}, {"B", 1, ROUNDED}, {NULL, 0, 0},
};

static const struct unit time_units[] = {
    {"s", G10, BOTH}, {"ms", M10, BOTH}, {"us", K10, BOTH}, {"ns", 1, BOTH}, {NULL, 0, 0},
};

/* A transfer (T) is a byte, because the chips of this class have a bus of 8 bits. */
static const struct unit rate_units[] = {
    {"GB/s", G10, CANONICAL}, {"GT/s", G10, 0}, {"GiB/s", G2, 0},
    {"MB/s", M10, BOTH},      {"MT/s", M10, 0}, {"MiB/s", M2, 0},
    {"KB/s", K10, CANONICAL}, {"kB/s", K10, 0}, {"KT/s", K10, 0}, {"KiB/s", K2, 0},
    {"B/s", 1, CANONICAL},    {NULL, 0, 0},
};

static const struct unit share_units[] = {{"%", 10000, BOTH}, {NULL, 0, 0}};
static const struct unit decimal_units[] = {{"", G10, BOTH}, {NULL, 0, 0}};

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
    [FE_DECIMAL] = {decimal_units, "", "", " of 0.000000001"},
};

/* Text that is being read: [p, end). */
struct span {
    const char *p, *end;
};

struct decimal {
    unsigned __int128 digits; /* all digits, without the point */
    unsigned decimals;        /* how many of them stand behind the point */
};

/* A number with more decimals than this is never whole: no unit has that many factors of 10. */
#define MAX_DECIMALS 18

static bool is_digit(const struct span *s)
{
    return s->p < s->end && *s->p >= '0' && *s->p <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct span *s)
{
    while (s->p < s->end && is_blank(*s->p))
        s->p++;
}

static bool push_digit(struct decimal *d, char c)
{
    return !__builtin_mul_overflow(d->digits, 10, &d->digits) &&
           !__builtin_add_overflow(d->digits, (unsigned)(c - '0'), &d->digits);
}

/* Reads the digits behind the point.  Zeros at their end do not count, so that 1.50 is 1.5:
 * a zero is stored only when another digit follows it. */
static int read_fraction(struct span *s, struct decimal *d, struct fe_err *err)
{
    unsigned zeros = 0;

    if (!is_digit(s))
        return fe_err_set(err, EINVAL, "is not a number");
    for (; is_digit(s); s->p++) {
        if (*s->p == '0') {
            zeros++;
            continue;
        }
        for (d->decimals += zeros + 1; zeros > 0 && d->decimals <= MAX_DECIMALS; zeros--)
            if (!push_digit(d, '0'))
                return fe_err_set(err, EINVAL, "is too large");
        if (d->decimals > MAX_DECIMALS || !push_digit(d, *s->p))
            return fe_err_set(err, EINVAL, "has too many decimals");
    }
    return 0;
}

/* Reads digits, and perhaps a point and more digits; s moves behind them. */
static int read_decimal(struct span *s, struct decimal *d, struct fe_err *err)
{
    *d = (struct decimal){0};
    if (s->p < s->end && *s->p == '-')
        return fe_err_set(err, EINVAL, "is negative");
    if (!is_digit(s))
        return fe_err_set(err, EINVAL, "is not a number");
    for (; is_digit(s); s->p++)
        if (!push_digit(d, *s->p))
            return fe_err_set(err, EINVAL, "is too large");
    if (s->p == s->end || *s->p != '.')
        return 0;
    s->p++;
    return read_fraction(s, d, err);
}

static int find_unit(enum fe_quantity q, struct span name, bool zero, uint64_t *factor,
                     struct fe_err *err)
{
    size_t len = (size_t)(name.end - name.p);

    for (const struct unit *u = quantities[q].units; u->name; u++)
        if (strlen(u->name) == len && memcmp(u->name, name.p, len) == 0) {
            *factor = u->factor;
            return 0;
        }
    if (len == 0 && zero) {
        *factor = 1;
        return 0;
    }
    if (len == 0)
        return fe_err_set(err, EINVAL, "has no unit (%s)", quantities[q].a_unit);
    if (q == FE_COUNT || q == FE_DECIMAL)
        return fe_err_set(err, EINVAL, "is not a plain number");
    return fe_err_set(err, EINVAL, "has an unknown unit \"%.*s\" (known: %s)",
                      len > 16 ? 16 : (int)len, name.p, quantities[q].names);
}

static int parse(enum fe_quantity q, struct span s, uint64_t *ret, struct fe_err *err)
{
    struct decimal d;
    uint64_t factor = 1;
    unsigned __int128 total;

    skip_blanks(&s);
    while (s.end > s.p && is_blank(s.end[-1]))
        s.end--;
    if (s.p == s.end)
        return fe_err_set(err, EINVAL, "is empty");
    int r = read_decimal(&s, &d, err);
    if (r < 0)
        return r;
    skip_blanks(&s);
    r = find_unit(q, s, d.digits == 0, &factor, err);
    if (r < 0)
        return r;
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

int fe_quantity_parse(enum fe_quantity q, const char *text, uint64_t *ret, struct fe_err *err)
{
    return parse(q, (struct span){text, text + strlen(text)}, ret, err);
}

bool fe_quantity_parse_span(enum fe_quantity q, const char *p, size_t len, uint64_t *ret)
{
    for (size_t i = 0; i < len; i++)
        if (is_blank(p[i]))
            return false;
    return parse(q, (struct span){p, p + len}, ret, NULL) == 0;
}

/* A share and a decimal have only one unit, so decimals are the only exact way to print them. */
static void print_decimals(uint64_t value, const struct unit *u, char *buf, size_t len)
{
    uint64_t rest = value % u->factor;
    int digits = 0;

    for (uint64_t f = u->factor; f > 1; f /= 10)
        digits++;
    for (; rest > 0 && rest % 10 == 0; rest /= 10)
        digits--;
    if (rest == 0)
        snprintf(buf, len, "%" PRIu64 "%s", value / u->factor, u->name);
    else
        snprintf(buf, len, "%" PRIu64 ".%0*" PRIu64 "%s", value / u->factor, digits, rest, u->name);
}

void fe_quantity_print(enum fe_quantity q, uint64_t value, char *buf, size_t len)
{
    const struct unit *u = quantities[q].units;

    if (q == FE_SHARE || q == FE_DECIMAL) {
        print_decimals(value, u, buf, len);
        return;
    }
    if (value == 0) {
        snprintf(buf, len, "0");
        return;
    }
    while (!(u->forms & CANONICAL) || value % u->factor != 0)
        u++;
    snprintf(buf, len, "%" PRIu64 "%s", value / u->factor, u->name);
}

struct fe_unit fe_quantity_unit(enum fe_quantity q, double value)
{
    const struct unit *smallest = NULL;

    for (const struct unit *u = quantities[q].units; u->name; u++)
        if (u->forms & ROUNDED) {
            smallest = u;
            if (value >= (double)u->factor)
                break;
        }
    return (struct fe_unit){(double)smallest->factor, smallest->name};
}

const char *fe_quantity_round(enum fe_quantity q, double value, char buf[static FE_ROUNDED_MAX])
{
    struct fe_unit unit = fe_quantity_unit(q, value);

    value /= unit.size;
    snprintf(buf, FE_ROUNDED_MAX, value < 1000 ? "%.4g %s" : "%.0f %s", value, unit.name);
    return buf;
}

int fe_decimals(double value, int digits)
{
    double last = 1; /* of a number with one digit in front of the point: what its last one counts */
    int decimals = digits - 1;

    value = value < 0 ? -value : value;
    if (value == 0)
        return 0;
    for (int i = 1; i < digits; i++)
        last /= 10;
    while (value >= 10 - last / 2 && decimals > 0) {
        value /= 10;
        decimals--;
    }
    while (value < 1 - last / 20 && decimals < 9) {
        value *= 10;
        decimals++;
    }
    return decimals;
}

const char *fe_digits_text(double value, int digits, char buf[static FE_ROUNDED_MAX])
{
    snprintf(buf, FE_ROUNDED_MAX, "%.*f", fe_decimals(value, digits), value);
    return buf;
}
