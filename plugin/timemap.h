/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between real time and device time: one straight line, in exact arithmetic.
 *
 *   device = device0 + (real - real0) / scale          scale = wait R times as long
 *
 * The scale is a decimal number as its user wrote it, a ratio of integers: no rounding
 * error grows with the run time, because each instant is computed from the line's
 * anchor and rounded once.  Pure functions; the owner serialises.
 */
#ifndef FLASHEMU_PLUGIN_TIMEMAP_H
#define FLASHEMU_PLUGIN_TIMEMAP_H

#include "flashemu/err.h"

#include <stddef.h>
#include <stdint.h>

#define FE_SCALE_ALLOWED "a decimal number from 0.0001 to 10000"

/* num / den with den a power of ten, without trailing zeros: 0.25 is 25 / 100. */
struct fe_scale {
    uint64_t num, den;
};

#define FE_SCALE_ONE ((struct fe_scale){1, 1})

/* Parses a decimal number with at most nine decimals (zeros at their end do not count).
 * -EINVAL with a message that says what is allowed; it does not repeat the text. */
int fe_scale_parse(const char *text, struct fe_scale *ret, struct fe_err *err);

/* Parsing the result gives the same scale again. */
void fe_scale_print(struct fe_scale s, char *buf, size_t len);

struct fe_timemap {
    uint64_t real0_ns, device0_ns; /* the anchor: one instant in both times */
    struct fe_scale scale;
};

/* Both round up, an arrival as well as a completion, so that no wait is shorter than the
 * device says; UINT64_MAX if the result lies beyond.  An instant before the anchor counts
 * as the anchor. */
uint64_t fe_timemap_device(const struct fe_timemap *m, uint64_t real_ns);
uint64_t fe_timemap_real(const struct fe_timemap *m, uint64_t device_ns);

/* From real_ns on another scale, without a jump of device time. */
void fe_timemap_rescale(struct fe_timemap *m, uint64_t real_ns, struct fe_scale scale);

#endif
