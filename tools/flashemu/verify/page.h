/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A page about published and measured figures.
 */
#pragma once

#include "flashemu/err.h"

#include <jansson.h>
#include <stdio.h>

/* Writes the page of `profiles`, an array of at least one object that verify_json or
 * against_page_json returns: a sentence with the outliers' names, a row for each figure, or with several profiles one
 * for each of them, and everything else folded.  `source` is the measurement's file, NULL for rows
 * of [fidelity].  -ENOMEM with message.  The caller looks for errors of the
 * stream. */
int verify_page_write(FILE *out, const json_t *profiles, const char *source, struct fe_err *err);
