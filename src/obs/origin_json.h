/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The origin of a result as members of a JSON object.
 */
#pragma once

#include "base/origin.h"

#include <jansson.h>

/* Adds version, command, profile, overrides (an array), image and seed to the object.  Members that
 * it has already stay; what is not known is left out, except that overrides are empty if the
 * profile is known.  Returns obj, or drops the reference and returns NULL without memory; also if
 * obj is NULL. */
json_t *fe_origin_json(json_t *obj, const struct fe_origin *origin);
