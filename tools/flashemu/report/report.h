/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of a report: what is compared, and a section for each file.
 *
 * Numbers have one system of units: powers of 1000, so KB, MB, GB and MB/s.
 */
#pragma once

#include "base/origin.h"
#include "base/quantity.h"
#include "flashemu/err.h"

#include <jansson.h>
#include <stdio.h>

/* The figures of a file for the comparison.  NAN means not known. */
struct report_figures {
    const char *name; /* set by the caller */
    char label[256];  /* the profile and its overrides; "" = not known */
    double read_rate, write_rate; /* bytes a second of device time */
    double waf;
    double read_p99_ns, write_p99_ns;
    double span_ns; /* how long the device was busy, or the trace took */
};

/* --- page.c --- */

/* The page of a command up to its heading, and its end with a script; NULL = the page has none. */
void report_begin(FILE *out, const char *command, const char *title);
void report_end(FILE *out, const char *script);

/* The table of the n files in this order, with a column for each. */
void report_compare(FILE *out, const struct report_figures *files, int n);

/* The order in which a person sorts: by label, then by name, and numbers by their value, so that
 * "op=7%" comes before "op=15%".  Like strcmp. */
int report_order(const struct report_figures *a, const struct report_figures *b);

/* A table of two columns. */
void report_table_begin(FILE *out);
void report_row(FILE *out, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_table_end(FILE *out);

/* A row of latencies in one unit: what half, 99 % and 99.9 % of the requests take at most, and all.
 * p999 NAN: left out.  `intro` stands in front. */
void report_latencies(FILE *out, const char *name, const char *intro, double p50_ns, double p99_ns,
                      double p999_ns, double most_ns);

/* Rows with the origin of a file, and its label for the comparison. */
void report_origin(FILE *out, const struct fe_origin *origin, struct report_figures *ret);

/* "4096 B", "11.7 MB": whole bytes below 10000. */
const char *report_bytes(double bytes, char buf[static FE_ROUNDED_MAX]);

/* "0.1234", "1234567": four digits, and never an exponent for a large number. */
const char *report_number(double value, char buf[static FE_ROUNDED_MAX]);

/* The unit in which an axis up to `most` bytes is written. */
struct fe_unit report_byte_unit(double most);

/* --- the sections --- */

/* Writes the section of a trace in any format that `flashemu trace` reads.  Reads the whole trace
 * into memory, which takes 40 bytes for each request.  Negative errno with message. */
int report_trace(FILE *out, const char *path, struct report_figures *ret, struct fe_err *err);

/* Writes the section of statistics, as `ctl SOCKET stats` and `replay --json` print them. */
int report_stats(FILE *out, const char *path, const json_t *stats, struct report_figures *ret,
                 struct fe_err *err);
