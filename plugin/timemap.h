/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The relation between real time and device time: a straight line, computed exactly.
 *
 *   device = device0 + (real - real0) / scale          scale R: every wait takes R times as long
 *
 * The scale is a ratio of integers, namely the decimal number that the user wrote.  Each instant
 * is computed from the anchor of the line and rounded once, so that no rounding error grows with
 * the run time.  Pure functions; the owner serialises.
 */
#pragma once

#include "flashemu/err.h"

#include <stddef.h>
#include <stdint.h>

#define FE_SCALE_ALLOWED "a decimal number from 0.0001 to 10000"

/* num / den.  den is a power of ten, and as small as possible: 0.25 is 25 / 100. */
struct fe_scale {
    uint64_t num, den;
};

#define FE_SCALE_ONE ((struct fe_scale){1, 1})

/* Parses a decimal number with at most nine decimals (zeros at their end do not count).
 * -EINVAL with a message that says what is allowed; it does not repeat the text. */
int fe_scale_parse(const char *text, struct fe_scale *ret, struct fe_err *err);

/* Prints the decimal number; fe_scale_parse reads the same scale back. */
void fe_scale_print(struct fe_scale s, char *buf, size_t len);

struct fe_timemap {
    uint64_t real0_ns, device0_ns; /* the anchor: the same instant in both times */
    struct fe_scale scale;
};

/* Convert an instant.  Both round up, so that no wait is shorter than the device says.  A result
 * that does not fit becomes UINT64_MAX.  An instant before the anchor counts as the anchor. */
uint64_t fe_timemap_device(const struct fe_timemap *m, uint64_t real_ns);
uint64_t fe_timemap_real(const struct fe_timemap *m, uint64_t device_ns);

/* From real_ns on another scale applies.  Device time does not jump. */
void fe_timemap_rescale(struct fe_timemap *m, uint64_t real_ns, struct fe_scale scale);
