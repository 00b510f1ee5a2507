/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sections of a report: one for each file, and one that compares the files.
 */
#ifndef REPORT_H
#define REPORT_H

#include "base/origin.h"
#include "flashemu/err.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* The figures of a file for the comparison.  NAN means not known. */
struct report_figures {
    const char *name; /* set by the caller */
    char label[128];  /* the profile and its overrides; "" = not known */
    double read_rate, write_rate; /* bytes a second of device time */
    double waf;
    double read_p99_ns, write_p99_ns;
};

/* A table of two columns. */
void report_table_begin(FILE *out);
void report_row(FILE *out, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_table_end(FILE *out);

/* Rows with the origin of a file, and its label for the comparison. */
void report_origin(FILE *out, const struct fe_origin *origin, struct report_figures *ret);

/* Writes the section of a trace in any format that `flashemu trace` reads.  Reads the whole trace
 * into memory, which takes 40 bytes for each request.  Negative errno with message. */
int report_trace(FILE *out, const char *path, struct report_figures *ret, struct fe_err *err);

/* Writes the section of statistics, as `ctl SOCKET stats` and `replay --json` print them. */
int report_stats(FILE *out, const char *path, const json_t *stats, struct report_figures *ret,
                 struct fe_err *err);

#endif
