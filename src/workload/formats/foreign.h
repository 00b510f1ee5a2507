/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that are no traces and that people take for some.
 */
#pragma once

#include "workload/formats/format.h"

/* What a file is that begins with these bytes or this line and cannot be read, and what to do with
 * it.  NULL = not known. */
const char *fe_trace_foreign_bytes(const uint8_t *p, size_t n);
const char *fe_trace_foreign_line(struct fe_span line);
