/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces whose lines are columns: one description for each format, one reader and one writer for
 * all of them.
 *
 * Such a format is a table (tables.c).  `layout` has one letter for each column:
 *
 *     t  the time at which the request was made      o  where it starts
 *     c  the time at which it was completed          l  its length
 *     r  how long it took; empty = not recorded      w  read or write
 *     d  the device, or a part of its name           p  the process
 *     n  a number that says nothing here             -  anything else
 *     x  text that may hold blanks
 *
 * A line belongs to a format if it has as many columns, a known word where the operation stands,
 * and numbers where numbers stand.  So formats of equal width differ by the place of the operation,
 * by the decimal point of their times, or by the range of their times.  Where two fit, the reader
 * asks for the format's name.
 *
 * Pure; any thread.
 */
#pragma once

#include "workload/formats/format.h"

enum { FE_COLUMNS_MAX = 12 };

struct fe_columns {
    const char *names;  /* of the columns.  A first line may be this one; messages quote it */
    const char *layout;
    char separator;     /* ',', around which blanks may stand; or ' ', any number of blanks */
    bool more;          /* columns that follow are passed over */

    /* The words for both operations, with blanks between them.  NULL: the column is a hexadecimal
     * number whose lowest bit is set for `odd`. */
    const char *read, *write;
    enum fe_req_type odd;

    uint64_t time_ns;   /* the unit of times */
    uint64_t took_ns;   /* the unit of r */
    unsigned decimals;  /* of times, as they are written; 0 = whole numbers only */
    uint32_t offset_bytes, length_bytes; /* their units */

    bool relative;      /* the first request is the start; otherwise times count from the start */
    bool has_range;     /* a first line's time is in [least, most], in units */
    uint64_t least, most;

    char joint;         /* stands between the parts of a device's name */
    uint64_t first;     /* writing: the time of the start, in units */
    const char *device; /* writing: the device's name */
};

/* Whether a trace may begin with this line. */
bool fe_columns_detect(const struct fe_columns *c, struct fe_span line);

/* Reads a line, by the contract of struct fe_trace_format. */
int fe_columns_parse(struct fe_trace_reader *r, const struct fe_columns *c, struct fe_span line,
                     struct fe_trace_rec *rec, struct fe_err *err);

/* Writes a line, by the same contract. */
int fe_columns_put(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err);

/* A time or a duration in units of unit_ns: digits, and up to 18 decimals if `point`.  Rounds down
 * to ns.  False, and *ret alone, if it is something else, or 2^64 ns and more. */
bool fe_columns_time(struct fe_span s, uint64_t unit_ns, bool point, uint64_t *ret);
