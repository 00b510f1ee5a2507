/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces: sequences of host requests in files.
 *
 * There are several formats.  Each of them is one file, formats/NAME.c, or a description of columns
 * in formats/tables.c, and one line of the table in formats/format.h.  Everything else (the tool's
 * options, its help, its shell completion, the tests) walks that table.
 *
 * flashemu's own format is called "text".  It keeps every field of struct fe_trace_rec, as does
 * its compact form, "binary" (formats/binary.c):
 *
 *     # flashemu trace 1
 *     TIME_NS OP OFFSET LEN [fua] [stream=N] [depth=N] [think=NS] [done=NS] [programmed=BYTES]
 *         [collections=N] [merges=N] [status=WORD] [data=PLACE]
 *     TIME_NS mark TEXT
 *
 * A mark is no request: it says what the host relies on from here on, behind everything in front of
 * it.  data= is the place of what was written in a file beside the trace (data.h).
 *
 * Comments "# version: ..." between the first line and the first request say where the trace comes
 * from; struct fe_origin has their keys.
 *
 * OP is read, write, trim or flush; the OFFSET and LEN of a flush are 0.  Offsets and
 * lengths are in bytes, and all numbers are plain decimals.  Empty lines and lines that
 * start with '#' are comments.
 *
 * Reader and writer work record by record, so that the memory they need does not depend on the
 * length of the trace.  A line that does not belong to the format, a number that
 * overflows, or a range that is not whole sectors is an error "FILE:LINE: message".  A line
 * may also be correct and still not be one of the requests that were asked for: an event of
 * another kind, or a request to another device.  Such lines are counted; see
 * fe_trace_skipped.
 *
 * Times count from the trace's start.  Some formats have such times in the file; for those with
 * dates, or times since the host was started, the first request is the start.  Times may run
 * backwards.  A device handles that by taking each request no earlier than the one before it.
 *
 * Thread rule: one caller at a time for each reader or writer.
 */
#pragma once

#include "base/origin.h"
#include "flashemu/err.h"
#include "flashemu/request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fe_data_reader; /* data.h */
struct fe_data_writer;

struct fe_trace_rec {
    uint64_t time_ns;
    uint64_t offset, len; /* bytes, whole sectors; both are 0 for a flush */
    uint64_t think_ns;    /* in a closed loop the host waits this long before it asks */
    uint64_t done_ns;     /* recorded completion; 0 = not recorded */
    uint64_t programmed;  /* recorded: bytes that the chip programmed meanwhile; 0 = not recorded */
    uint64_t data;        /* of a write: the place of its bytes (data.h); 0 = not recorded */
    const char *mark;     /* the text of a mark.  A reader keeps it until it is closed */
    uint64_t line;        /* line of the file, from 1; in a pattern the record's number */
    uint32_t stream;      /* which of the host's tasks made it; 0 = not recorded */
    uint32_t collections, merges; /* recorded: how many the request brought about */
    uint16_t depth;       /* requests in flight when it was made; 0 = not recorded */
    uint8_t type;         /* enum fe_req_type, or FE_TRACE_MARK */
    uint8_t status;       /* recorded enum fe_status */
    bool fua;
};

/* The type of a mark, which has a time and a text only.  The text is 1 to FE_TRACE_MARK_MAX bytes
 * without control characters, and neither begins nor ends with a blank. */
enum { FE_TRACE_MARK = FE_N_REQ_TYPES, FE_TRACE_MARK_MAX = 400 };

/* Whether a mark may have this text. */
bool fe_trace_mark_ok(const char *text, size_t len);

/* Offsets and ends stay below this, so that they fit a file offset. */
#define FE_TRACE_MAX_END ((uint64_t)INT64_MAX)

/* --- formats --- */

struct fe_trace_format; /* formats/format.h says what is inside */

/* The i-th format of the table; NULL after the last one. */
const struct fe_trace_format *fe_trace_format_at(unsigned i);

/* Behind the summary of a format that is not written, or not always. */
const char *fe_trace_format_written(const struct fe_trace_format *f);

/* Whether all of a trace is text; whether it has in itself what was written. */
bool fe_trace_format_is_text(const struct fe_trace_format *f);
bool fe_trace_format_has_data(const struct fe_trace_format *f);

/* Finds a format by its name.  -EINVAL with a message that lists the names of all formats;
 * *ret is then unchanged. */
int fe_trace_format_find(const struct fe_trace_format **ret, const char *name,
                         struct fe_err *err);

/* Prints a line "NAME  what it is" for each format. */
void fe_trace_format_help(FILE *out);

/* --- reading --- */

struct fe_trace_reader;

struct fe_trace_options {
    const struct fe_trace_format *format; /* NULL: the first line tells */
    uint32_t sector_size; /* ranges must be multiples of this; 0 = 512 */
    const char *device;   /* takes only requests of this device, in the words of the format:
                             a file (iolog), "MAJ,MIN" (blkparse) or "HOST.DISK" (msr).  NULL:
                             requests of a second device are an error */
    bool marks;           /* delivers marks; otherwise they are skipped and counted */
    struct fe_data_writer *data; /* gets what was written, of a format that has it; NULL: nobody */
    char event;           /* formats/event.h: the kind of event that is a request: Q, G, I, D or C;
                             0 = D */
};

/* A FILE that decompresses what it reads can only tell by errno why it fails.  These two have
 * messages of their own. */
#define FE_TRACE_CUT_OFF ENODATA
#define FE_TRACE_DAMAGED EBADMSG

/* Reads from f.  The caller keeps f, name (for messages) and opt->device and must not free
 * them before the reader.  -EINVAL if the first line is of no known format, -ENOMEM, or the
 * host's read error, with message. */
int fe_trace_reader_open(struct fe_trace_reader **ret, FILE *f, const char *name,
                         const struct fe_trace_options *opt, struct fe_err *err);
void fe_trace_reader_close(struct fe_trace_reader *r);

/* Reads up to max (> 0) records.  Returns how many, 0 at the end, or a negative errno with
 * message.  The good records in front of a bad line are delivered first.  After an error
 * every further call returns the same error. */
int fe_trace_read(struct fe_trace_reader *r, struct fe_trace_rec *recs, uint32_t max,
                  struct fe_err *err);

/* What the text format's comments in front of the requests say about its origin, "" if nothing.
 * Those comments have been read when the first record has.  Valid as long as the reader is. */
const char *fe_trace_origin(const struct fe_trace_reader *r, enum fe_origin_key key);

/* How many events so far were not the requests that were asked for. */
uint64_t fe_trace_skipped(const struct fe_trace_reader *r);

/* At the end of a trace: whether requests are missing there, because what wrote it was stopped.  A text
 * that says it has an end lacks it, or its last line is not whole.  Other formats do not tell. */
bool fe_trace_is_cut(const struct fe_trace_reader *r);

/* Whether the trace says that it has an end; known when its origin is.  Whether it has in itself what
 * was written. */
bool fe_trace_says_end(const struct fe_trace_reader *r);
bool fe_trace_has_data(const struct fe_trace_reader *r);

/* Bytes taken from the file so far, for a progress bar. */
uint64_t fe_trace_consumed(const struct fe_trace_reader *r);

/* --- writing --- */

struct fe_trace_writer;

struct fe_trace_writer_options {
    const struct fe_trace_format *format; /* NULL: text */
    const char *device; /* iolog: the name of the file; NULL = "/dev/flashemu" */
    const struct fe_origin *origin; /* text: written behind the first line; NULL = none.  Used
                                       while the writer is opened only */
    struct fe_data_reader *data; /* of the records, for a format that has it; NULL = they have none */
    bool lossy;         /* leaves out what the format cannot hold instead of failing */
    bool says_end;      /* text: says in front that there will be an end, so that a reader knows
                           when it is missing */
};

/* Writes to f, which stays the caller's.  Opening writes the first lines of the format.  -EINVAL with
 * message if the format is read only.
 *
 * Times are rounded down to the unit of the format: 1 us in iolog (in version 2, where only
 * waits of 100 us and more count, to such waits), 100 ns in msr, 1 us in alibaba.  Which other fields of a
 * record survive depends on the format: text and binary keep them all, msr and systor keep
 * done_ns, and blkparse keeps stream (as the process). */
int fe_trace_writer_open(struct fe_trace_writer **ret, FILE *f, const char *name,
                         const struct fe_trace_writer_options *opt, struct fe_err *err);

/* -EINVAL with message for a record that the format cannot hold: only text and binary have think
 * time, only these and blkparse have FUA, and formats with columns have neither trim nor flush.  Writes are
 * buffered. */
int fe_trace_write(struct fe_trace_writer *w, const struct fe_trace_rec *recs, uint32_t n,
                   struct fe_err *err);

/* Hands to the file what is buffered: -EIO etc. with message. */
int fe_trace_flush(struct fe_trace_writer *w, struct fe_err *err);

/* Behind the last record of a text that says_end, unless records are missing: the line that a reader
 * looks for.  Does nothing for other writers.  The host's error with message. */
int fe_trace_write_end(struct fe_trace_writer *w, struct fe_err *err);

/* Writes the last lines of the format, flushes and frees; err may be NULL.  After a failed
 * write it only frees. */
int fe_trace_writer_close(struct fe_trace_writer *w, struct fe_err *err);
