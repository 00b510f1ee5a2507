/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where requests come from: a trace file, which may be compressed by gzip, or of which blktrace has
 * made one for each processor; standard input ("-"); a pattern ("gen:PATTERN[,KEY=VALUE...]"); or a
 * recording ("rec:NAME[,KEY=VALUE...]", recording.h).  All of them are read in the same way.
 */
#pragma once

#include "replay/recording.h"

#include "workload/pattern.h"
#include "workload/trace.h"

#include <stdbool.h>
#include <stdio.h>

struct source {
    const char *name; /* for messages; belongs to the caller */
    FILE *file;
    struct fe_trace_reader *reader;
    struct fe_pattern *pattern;
    struct recording *recording; /* of the reader's file; NULL = it is another trace */
    uint64_t n_read; /* records */
    uint64_t total, done; /* bytes of a file, records of a pattern; total 0 = not known */

    bool keeps;                /* those that count, for source_again() */
    struct fe_trace_rec *kept;
    size_t n_kept, room, next; /* next: the one to be read again, if `again` */
    bool whole, again;
};

/* What is said of a trace that is cut. */
#define SOURCE_CUT \
    "requests are missing at its end: what wrote it still runs, was killed, or could not write more, " \
    "as on a full disk"

/* The letters that --event takes. */
#define SOURCE_EVENTS "D Q G I C"

/* Sets the format and the event of *ret to what --format and --event say; NULL if the option was
 * not given.  -EINVAL with a message that lists what is allowed. */
int source_choose(struct fe_trace_options *ret, const char *format, const char *event,
                  struct fe_err *err);

/* Opens a source.  arg and options must outlive it.  max_transfer is the longest command of the
 * device that the requests are for, 0 = there is no device.  Negative errno with message. */
int source_open(struct source *s, const char *arg, const struct fe_trace_options *options,
                const struct fe_pattern_env *env, uint64_t max_transfer, struct fe_err *err);
void source_close(struct source *s);

/* Goes back to the first record that counts, of a source that keeps them and has been read to its
 * end.  Returns false, and changes nothing, if they are not kept: nobody asked for that when it was
 * opened, they are more than SOURCE_KEPT, or there is only a pattern, which costs nothing. */
bool source_again(struct source *s);
enum { SOURCE_KEPT = 1 << 20 };

/* At the end: says in notes on standard error how many events of the trace were not the requests asked
 * for, if any, and whether requests are missing at its end. */
void source_report_rest(const struct source *s);

/* What that note says; NULL = none is missing, as far as the trace tells. */
const char *source_missing(const struct source *s);

/* Reads records; the same contract as fe_trace_read.  Of a recording, a call delivers either
 * records that count or records of the warm-up. */
int source_read(struct source *s, struct fe_trace_rec *recs, uint32_t max, struct fe_err *err);

/* Whether the records so far were warm-up and the next one is the first that counts. */
bool source_counts_now(const struct source *s);

/* An origin whose texts are in the source, or in the structure itself. */
struct source_origin {
    struct fe_origin origin;
    const char *overrides;
};

/* What a trace says about its origin, after the first record has been read.  Returns false if it
 * says nothing, and for a pattern: then the origin is this command.  Valid as long as the source
 * and *ret are. */
bool source_origin(const struct source *s, struct source_origin *ret);

/* Prints "FILE:12" or "gen:random record 12" into buf, and returns buf. */
const char *source_where(const struct source *s, const struct fe_trace_rec *rec, char *buf,
                         size_t len);
