/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The statistics of a device as the JSON object of the control socket's `stats`.
 *
 * The server and `flashemu replay --json` both print this object, so that a script
 * reads either.  Keys come in the order of the documentation.
 */
#ifndef FE_OBS_STATS_JSON_H
#define FE_OBS_STATS_JSON_H

#include "flashemu/device.h"
#include "flashemu/hist.h"

#include <jansson.h>

/* How to print it (or anything built of it): numbers as people expect them, 1.1 rather
 * than 1.1000000000000001; keys in the order in which they were set. */
#define FE_STATS_JSON_FLAGS JSON_REAL_PRECISION(12)

/* A new reference, or NULL if there is no memory.  `clock` is "real" or "virtual";
 * `lateness` (ns of real time) may be NULL: counted as empty.  O(blocks). */
json_t *fe_stats_json(const struct fe_device *dev, const char *clock,
                      const struct fe_hist *lateness);

#endif
