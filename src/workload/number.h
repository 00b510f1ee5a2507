/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The digits of traces, of which a large file has millions.
 *
 * Strict and independent of the locale: no blank, no empty string, nothing behind the number,
 * no silent overflow.  The text need not end with a NUL.  A function that parses returns false,
 * and leaves *ret alone, if the text is not exactly one such number.  Pure; any thread.
 *
 * Numbers with units, as options have them, are the business of base/quantity.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only. */
bool fe_number_u64(const char *p, size_t len, uint64_t *ret);

/* The same with one leading '-' allowed. */
bool fe_number_i64(const char *p, size_t len, int64_t *ret);

/* Writes n in decimal, at most 20 characters, without a NUL; returns how many characters.
 * Several times as fast as printf, which matters for traces. */
size_t fe_number_put(char *to, uint64_t n);
