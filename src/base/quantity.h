/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers with units: how people type them, and how they are printed again.
 *
 *   count    65536                            no unit
 *   size     512 4K 2M 8G 1T  (also KiB ...)  powers of 1024, in bytes
 *            1KB 16MB 8GB 1TB                 powers of 1000
 *   time     25us 1.5ms 0                     in nanoseconds
 *   rate     41MB/s 400MT/s                   powers of 1000, in bytes a second
 *   share    7% 12.5%                         in parts per million, 1 ppm = 0.0001%
 *   decimal  0.99 100.05                      no unit, in parts of 10^-9
 *
 * Decimals are accepted if the result is a whole number of the stored unit, and refused
 * otherwise: nothing is rounded, and parsing involves no floating point.  No function here
 * depends on the locale.  All functions are pure; any thread may call them.
 */
#pragma once

#include "flashemu/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fe_quantity {
    FE_COUNT,
    FE_SIZE,
    FE_TIME,
    FE_RATE,
    FE_SHARE,
    FE_DECIMAL,
    FE_N_QUANTITIES
};

/* Enough for the text of any value of any option, including the NUL. */
#define FE_VALUE_MAX 128

/* Parses text, which ends with a NUL, and stores the number in *ret.  Blanks around the number
 * and before its unit are ignored.  A zero needs no unit.  On failure returns -EINVAL with the
 * reason and leaves *ret unchanged.  The reason ("has no unit ...") repeats neither the text nor
 * the name of what was parsed: the caller puts those in front. */
int fe_quantity_parse(enum fe_quantity q, const char *text, uint64_t *ret, struct fe_err *err);

/* The same for the len bytes at p, which need not end with a NUL and may contain no blanks.
 * Returns false, and leaves *ret unchanged, if they are not exactly one number. */
bool fe_quantity_parse_span(enum fe_quantity q, const char *p, size_t len, uint64_t *ret);

/* Prints the canonical form: a whole number of the largest unit that divides the value.
 * fe_quantity_parse reads the same value back. */
void fe_quantity_print(enum fe_quantity q, uint64_t value, char *buf, size_t len);

/* A unit for people: divide by size, then print name. */
struct fe_unit {
    double size;
    const char *name;
};

/* The largest of the units that people like to read (B KiB MiB ..., ns us ms s, MB/s, %) that
 * is not larger than value; the smallest of them if all are larger. */
struct fe_unit fe_quantity_unit(enum fe_quantity q, double value);

/* Prints a rounded form for people into buf and returns buf: "11.72 MiB", "1.25 ms". */
#define FE_ROUNDED_MAX 32
const char *fe_quantity_round(enum fe_quantity q, double value, char buf[static FE_ROUNDED_MAX]);

/* How many decimals show a number with this many digits, at most 9: with three digits 2 for 4, 1 for
 * 49.07, 0 for 818, 4 for 0.0141, and 0 for 0. */
int fe_decimals(double value, int digits);

/* Prints a number with this many digits, and whole if it is larger: with three "4.00", "49.1", "818",
 * "0.0141", "12345", "0".  Numbers that a reader compares have as many digits, so this prints them
 * wherever they stand side by side. */
const char *fe_digits_text(double value, int digits, char buf[static FE_ROUNDED_MAX]);

static inline const char *fe_size_text(double bytes, char buf[static FE_ROUNDED_MAX])
{
    return fe_quantity_round(FE_SIZE, bytes, buf);
}

static inline const char *fe_time_text(double ns, char buf[static FE_ROUNDED_MAX])
{
    return fe_quantity_round(FE_TIME, ns, buf);
}

static inline const char *fe_rate_text(double bytes_per_s, char buf[static FE_ROUNDED_MAX])
{
    return fe_quantity_round(FE_RATE, bytes_per_s, buf);
}
