/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The answer to `flashemu ctl SOCKET health`.
 */
#pragma once

#include "flashemu/health.h"

#include <jansson.h>

/* {"emmc":what EXT_CSD has, "sd":what an industrial card gives by CMD56, "truth":the rest}.  A new
 * reference, or NULL without memory. */
json_t *fe_health_json(const struct fe_health *h);
