/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What flashbench measured on the real cards behind some of the shipped profiles:
 * profiles/curves.csv, compiled in by tools/embed_curves.py.
 */
#ifndef FLASHEMU_CURVES_H
#define FLASHEMU_CURVES_H

#include <stdint.h>

#define CURVE_MAX  21
#define CURVE_NONE INT32_MIN /* not measured */

struct curve {
    const char *card; /* the profile's name */
    const char *test; /* linear, random, find-fat, align-pre, align-diff */
    uint32_t number;  /* open units; the unit (find-fat); 0 */
    uint32_t n;
    /* bytes a second by chunk from 4 MiB down; ns by alignment from 2 KiB up */
    int32_t values[CURVE_MAX];
};

/* Ended by one without a card. */
extern const struct curve curves[];

#endif
