/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces: sequences of host requests in text files of several formats.
 *
 *   text      flashemu's own, which loses nothing.  First line "# flashemu trace 1",
 *             then TIME_NS OP OFFSET LEN [fua] [stream=N] [depth=N] [think=NS] [done=NS]
 *             [status=WORD]; OP is read, write, trim or flush (OFFSET and LEN 0);
 *             offsets and lengths are bytes, all numbers plain decimals; lines that
 *             start with '#' and empty lines are comments.
 *   iolog     fio's, version 2 (no times but `wait`) and 3 (microseconds)
 *   blkparse  the default output of blkparse: one kind of event, by default D (issued to
 *             the driver: what the device sees)
 *   msr       the CSV of the MSR Cambridge traces
 *
 * Reader and writer stream: memory does not depend on the length of the trace.  A line
 * that is not of the format, a number that overflows, or a range that is not whole
 * sectors is an error "FILE:LINE: message".  Events that the format defines but that are
 * not the requests asked for (a plug, another device) are counted: fe_trace_skipped.
 *
 * Times are relative to the trace's start (blkparse, iolog, text: as written; msr: to its
 * first line).  They may run backwards; a device takes a request no earlier than the one
 * before it.
 *
 * Thread rule: one caller at a time for each reader or writer.
 */
#ifndef FE_WORKLOAD_TRACE_H
#define FE_WORKLOAD_TRACE_H

#include "flashemu/err.h"
#include "flashemu/request.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum fe_trace_format {
    FE_TRACE_AUTO, /* reading: by the first line; writing: text */
    FE_TRACE_TEXT,
    FE_TRACE_IOLOG,  /* either version when reading, 3 when writing */
    FE_TRACE_IOLOG2, /* writing only: as IOLOG when reading */
    FE_TRACE_BLKPARSE,
    FE_TRACE_MSR,
    FE_N_TRACE_FORMATS
};

struct fe_trace_rec {
    uint64_t time_ns;
    uint64_t offset, len; /* bytes, whole sectors; both 0 for flush */
    uint64_t think_ns;    /* in a closed loop: the host waits this long before it asks */
    uint64_t done_ns;     /* recorded completion; 0 = not recorded */
    uint64_t line;        /* of the file, from 1; of a generator, the record's number */
    uint32_t stream;      /* which of the host's tasks; 0 = not recorded */
    uint16_t depth;       /* requests in flight when it was made; 0 = not recorded */
    uint8_t type;         /* enum fe_req_type */
    uint8_t status;       /* recorded enum fe_status */
    bool fua;
};

/* Offsets and ends stay below this, so that they fit a file offset. */
#define FE_TRACE_MAX_END ((uint64_t)INT64_MAX)

struct fe_trace_reader;
struct fe_trace_writer;

struct fe_trace_options {
    enum fe_trace_format format;
    uint32_t sector_size; /* ranges must be multiples of this; 0 = 512 */
    const char *device;   /* only this file (iolog), "MAJ,MIN" (blkparse), "HOST.DISK"
                             (msr); NULL: a second one is an error */
    char event;           /* blkparse: Q, G, I, D or C; 0 = D */
};

/* "text", "iolog", ...; FE_N_TRACE_FORMATS if there is no such format. */
enum fe_trace_format fe_trace_format_find(const char *name);
const char *fe_trace_format_name(enum fe_trace_format format);

/* Reads from f, which stays the caller's, as do name (used in messages) and
 * opt->device for the reader's life.  -EINVAL if the first line is of no known format,
 * -ENOMEM, or the host's read error, with message. */
int fe_trace_reader_open(struct fe_trace_reader **ret, FILE *f, const char *name,
                         const struct fe_trace_options *opt, struct fe_err *err);
void fe_trace_reader_close(struct fe_trace_reader *r);

/* Up to max (> 0) records: how many, 0 at the end, or a negative errno with message.
 * Records in front of a bad line are delivered first; an error stays. */
int fe_trace_read(struct fe_trace_reader *r, struct fe_trace_rec *recs, uint32_t max,
                  struct fe_err *err);

enum fe_trace_format fe_trace_reader_format(const struct fe_trace_reader *r);

/* Events so far that made no record because they are not the requests asked for. */
uint64_t fe_trace_skipped(const struct fe_trace_reader *r);

/* Bytes taken from the file so far, for a progress bar. */
uint64_t fe_trace_consumed(const struct fe_trace_reader *r);

struct fe_trace_writer_options {
    enum fe_trace_format format;
    const char *device; /* iolog: the file's name; NULL = "/dev/flashemu" */
    bool lossy;         /* leave out what the format cannot say instead of failing */
};

/* Writes to f, which stays the caller's, the format's first lines.  Times are rounded
 * down to the format's unit: iolog 1 us (version 2: waits of 100 us and more), msr 100
 * ns; stream, depth, done and status exist in text only, done in msr and stream (the
 * process) in blkparse too. */
int fe_trace_writer_open(struct fe_trace_writer **ret, FILE *f, const char *name,
                         const struct fe_trace_writer_options *opt, struct fe_err *err);

/* -EINVAL with message for a record that the format cannot hold: FUA and think time
 * outside text (blkparse has FUA), trim and flush in msr.  Buffered. */
int fe_trace_write(struct fe_trace_writer *w, const struct fe_trace_rec *recs, uint32_t n,
                   struct fe_err *err);

/* Hands what is buffered to the file: -EIO etc. with message. */
int fe_trace_flush(struct fe_trace_writer *w, struct fe_err *err);

/* Writes the format's last lines, flushes and frees; err may be NULL.  After a failed
 * write it only frees. */
int fe_trace_writer_close(struct fe_trace_writer *w, struct fe_err *err);

#endif
