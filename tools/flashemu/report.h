/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sections of a report: one for each file, and what is compared between them.
 */
#ifndef REPORT_H
#define REPORT_H

#include "flashemu/err.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Of a file, for the comparison; NAN: not known. */
struct report_figures {
    const char *name; /* the caller's */
    double read_rate, write_rate; /* bytes a second of device time */
    double waf;
    double read_p99_ns, write_p99_ns;
};

/* A table of two columns. */
void report_table_begin(FILE *out);
void report_row(FILE *out, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_table_end(FILE *out);

/* A trace of any format that `flashemu trace` reads.  Reads all of it into memory, 40 bytes a
 * request.  Negative errno with message. */
int report_trace(FILE *out, const char *path, struct report_figures *ret, struct fe_err *err);

/* An object of `stats`, as `ctl SOCKET stats` and `replay --json` print it. */
int report_stats(FILE *out, const char *path, const json_t *stats, struct report_figures *ret,
                 struct fe_err *err);

#endif
