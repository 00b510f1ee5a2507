/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers as people type them and as traces hold them.
 *
 * Strict and independent of the locale: no sign, no space, no empty string, nothing
 * behind the number, no silent overflow.  All functions take a span that need not be
 * terminated; they return false, and leave *ret alone, when the text is not exactly one
 * such number.  Pure; any thread.
 */
#ifndef FE_WORKLOAD_NUMBER_H
#define FE_WORKLOAD_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only. */
bool fe_number_u64(const char *p, size_t len, uint64_t *ret);

/* The same with one leading '-' allowed. */
bool fe_number_i64(const char *p, size_t len, int64_t *ret);

/* A number and a unit: none, B, K M G T, also KiB or k ... (powers of 1024), KB MB GB TB
 * (powers of 1000).  Here and below decimals are taken where the result is whole: "1.5K"
 * is 1536, "1.5" is nothing.  The profile layer has the same rules. */
bool fe_number_size(const char *p, size_t len, uint64_t *ret);

/* A number and ns, us, ms or s; the unit may be left out only for "0".  Nanoseconds. */
bool fe_number_time(const char *p, size_t len, uint64_t *ret_ns);

/* A number in millionths: "0.99" is 990000. */
bool fe_number_decimal(const char *p, size_t len, uint64_t *ret_ppm);

/* A share from 0% to 100% in millionths: "12.5%" is 125000. */
bool fe_number_share(const char *p, size_t len, uint32_t *ret_ppm);

/* Writes n in decimal without a terminator; the number of characters, at most 20.
 * Several times as fast as printf, which matters for traces. */
size_t fe_number_put(char *to, uint64_t n);

#endif
