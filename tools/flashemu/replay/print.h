/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What came out of a replay, for people and for programs.
 */
#pragma once

#include "replay/replay.h"

#include <jansson.h>

/* The object of `replay --json` without its origin.  NULL without memory. */
json_t *replay_json(const struct replay *r);

/* Prints a summary.  Returns an exit code. */
int replay_print(const struct replay *r);
