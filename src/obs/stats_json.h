/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The statistics of a device as a JSON object: the one that the control socket's `stats` returns.
 *
 * The server and `flashemu replay --json` both print this object, so that a script can read either.
 * The keys come in the order of the documentation.
 */
#pragma once

#include "flashemu/device.h"
#include "flashemu/hist.h"

#include <jansson.h>

/* How to print the object, and everything that contains it: numbers as people expect them, 1.1
 * instead of 1.1000000000000001, and keys in the order in which they were set. */
#define FE_STATS_JSON_FLAGS JSON_REAL_PRECISION(12)

/* Returns a new reference, or NULL without memory.  `name` is the profile's, and `clock` is "real"
 * or "virtual".  `lateness` is a histogram in ns of real time; NULL counts as an empty one.  `late`
 * says whether this machine keeps deadlines (rt/late.h).  O(blocks). */
json_t *fe_stats_json(const struct fe_snapshot *now, const char *name, const char *clock,
                      const struct fe_hist *lateness, bool late);

/* Its member `wear`: a new reference, or NULL without memory.  `enhanced` in it has the wear of an
 * enhanced area where there is one. */
json_t *fe_wear_json(const struct fe_stats *s);
