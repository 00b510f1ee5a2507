/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a published figure and what a device does stand in one row.
 */
#pragma once

#include "base/quantity.h"

struct verify_pair {
    char published[FE_ROUNDED_MAX], measured[FE_ROUNDED_MAX];
};

/* Both numbers with as many decimals: those of the published one, and three digits at least; whole
 * published numbers of the unit "count" stay whole.  `measured` is 0 if there is nothing yet. */
struct verify_pair verify_pair(double published, double measured, const char *unit);
