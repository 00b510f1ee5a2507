/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The statistics of a device as OpenMetrics text (version 1.0.0), which Prometheus and others read.
 *
 * All names begin with flashemu_, all times are in seconds and all sizes in bytes.  Counters start
 * at zero again when the statistics are reset, as such systems expect of a program that has been
 * started again.
 */
#pragma once

#include "flashemu/device.h"
#include "flashemu/hist.h"

#include <jansson.h>

/* Returns the text, which ends with "# EOF" and a newline; the caller frees it.  NULL without
 * memory.  `origin` has the members version, profile and seed (obs/origin_json.h).  `clock` is
 * "real" or "virtual", and `lateness` is a histogram in ns of real time.  `late` as for
 * fe_stats_json.  O(blocks). */
char *fe_metrics_text(const struct fe_snapshot *now, const json_t *origin, const char *clock,
                      const struct fe_hist *lateness, bool late);
