/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What flashbench measured on the real cards of some shipped profiles: the table
 * profiles/curves.csv, which tools/embed_curves.py compiles in.
 */
#pragma once

#include <stdint.h>

#define CURVE_MAX  21
#define CURVE_NONE INT32_MIN /* not measured */

struct curve {
    const char *card; /* the profile's name */
    const char *test; /* linear, random, find-fat, align-pre, align-diff */
    uint32_t number;  /* of open units; for find-fat, which unit; for align-*, 0 */
    uint32_t n;
    /* Bytes a second for each chunk from 4 MiB down; for align-*, ns for each alignment from
     * 2 KiB up. */
    int32_t values[CURVE_MAX];
};

/* The last entry has no card. */
extern const struct curve curves[];
