/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers with units, as people write them, and back.
 *
 *   count   65536                            no unit
 *   size    512 4K 2M 8G 1T  (also KiB ...)  powers of 1024, in bytes
 *           1KB 16MB 8GB 1TB                 powers of 1000
 *   time    25us 1.5ms 0                     in nanoseconds
 *   rate    41MB/s 400MT/s                   powers of 1000, in bytes a second
 *   share   7% 12.5%                         in parts per million, 1 ppm = 0.0001%
 *
 * Decimals are taken where they come out whole in the stored unit and refused
 * elsewhere: nothing is rounded and no floating point is involved.  No function here
 * looks at the locale.
 */
#ifndef FE_PROFILE_VALUE_H
#define FE_PROFILE_VALUE_H

#include "flashemu/err.h"

#include <stddef.h>
#include <stdint.h>

enum fe_quantity { FE_COUNT, FE_SIZE, FE_TIME, FE_RATE, FE_SHARE, FE_N_QUANTITIES };

/* Enough for the text of any value of any option, its NUL included. */
#define FE_VALUE_MAX 128

/* *ret = the number.  Blanks around it and before the unit are ignored.  -EINVAL with
 * the reason ("has no unit ..."; neither key nor text are repeated) and *ret unchanged. */
int fe_value_parse(enum fe_quantity q, const char *text, uint64_t *ret, struct fe_err *err);

/* In the largest unit that divides it; fe_value_parse gives the same number again. */
void fe_value_print(enum fe_quantity q, uint64_t value, char *buf, size_t len);

/* The units, for messages: "ns us ms s". */
const char *fe_value_units(enum fe_quantity q);

#endif
