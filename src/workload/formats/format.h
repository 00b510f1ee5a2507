/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside traces: the table of formats, what one format provides, and what a format may use.
 *
 * A format is one file, NAME.c of this folder, or if it is only columns a table of tables.c, that
 * defines
 *
 *     const struct fe_trace_format fe_trace_NAME = { ... };
 *
 * and one line FORMAT(NAME) in the table below.  ../trace.c reads lines and hands them to the
 * format; ../trace_write.c hands records to the format and writes the text.
 */
#pragma once

#include "workload/span.h"
#include "workload/trace.h"

struct fe_columns; /* columns.h */

struct fe_trace_format {
    const char *name;    /* what users type; lower case, no blanks */
    const char *summary; /* less than one line; also says what names a device, if any does */

    /* Bytes of memory that the format wants while it reads or writes.  They are zeroed, and
     * r->state or w->state points to them. */
    size_t reader_state, writer_state;

    /* The lines are columns: then detect and parse are not asked.  NULL = they are. */
    const struct fe_columns *columns;

    /* Whether a trace that begins with this line is in this format. */
    bool (*detect)(struct fe_span line);

    /* For files without lines: whether the file begins with these bytes, which are as many as have
     * been read.  NULL = there are lines. */
    bool (*starts)(const uint8_t *p, size_t n);

    /* Parses one line, which comes without its end.  Returns 1 if *ret is a record, 0 if the
     * line gives none, or a negative errno with message.  The format sets time_ns, type, offset,
     * len and what else it knows.  Everything except `line` is zero before, and the caller
     * checks the range afterwards.  Instead of returning 1 it may hand in records with
     * fe_trace_hold. */
    int (*parse)(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *ret,
                 struct fe_err *err);

    /* For records that are not lines: when parse has set r->has_records, or there is `starts`,
     * this takes each record off the front of the buffer and moves r->start, r->consumed and
     * r->line.  There are take_bytes bytes, or all that are left, but at least one.  Returns as
     * parse does.  NULL = all records are lines. */
    int (*take)(struct fe_trace_reader *r, struct fe_trace_rec *ret, struct fe_err *err);
    size_t take_bytes;

    /* The file has ended.  May still fail, with message.  NULL = nothing to do. */
    int (*end)(struct fe_trace_reader *r, struct fe_err *err);
    /* Free what r->state or w->state points to; NULL = nothing. */
    void (*free_state)(void *state), (*free_writer)(void *state);

    /* Write the first lines, one record, and the last lines, with fe_trace_room and
     * fe_trace_used.  begin and finish: NULL = there are no such lines.  put: NULL = the format
     * is read only.  0 or a negative errno with message. */
    bool holds_marks, wants_data; /* `put` takes marks, too; writes with w->opt.data only */
    int (*begin)(struct fe_trace_writer *w, struct fe_err *err);
    int (*put)(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err);
    int (*finish)(struct fe_trace_writer *w, struct fe_err *err);
};

/* The table of all formats.  A reader that has to find out the format asks all of them; if two say
 * yes, the user must say which. */
#define FE_TRACE_FORMATS(FORMAT) \
    FORMAT(text)                 \
    FORMAT(binary)               \
    FORMAT(iolog)                \
    FORMAT(iolog2)               \
    FORMAT(blkparse)             \
    FORMAT(blktrace)             \
    FORMAT(ftrace)               \
    FORMAT(biosnoop)             \
    FORMAT(dmlogwrites)          \
    FORMAT(msr)                  \
    FORMAT(systor)               \
    FORMAT(alibaba)              \
    FORMAT(tencent)              \
    FORMAT(spc)                  \
    FORMAT(mqsim)                \
    FORMAT(disksim)              \
    FORMAT(fiu)                  \
    FORMAT(biotracer)

#define FE_TRACE_DECLARE(name) extern const struct fe_trace_format fe_trace_##name;
FE_TRACE_FORMATS(FE_TRACE_DECLARE)
#undef FE_TRACE_DECLARE

#define FE_TRACE_DEVICE 128 /* characters of a device's name, with the NUL */

struct fe_trace_held; /* hold.c */

struct fe_trace_reader {
    FILE *file;
    const char *name;
    struct fe_trace_options opt; /* format and sector_size are filled in */
    void *state;

    char *buf; /* [start, end) has been read and not yet been parsed */
    size_t start, end, cap;
    bool eof, has_records;
    bool is_torn;              /* the last line has no line end */
    bool says_end, has_end;    /* text: there is to be an end; it has been read */
    uint64_t line, consumed, skipped, n_read;

    char origin[FE_N_ORIGIN_KEYS][256]; /* empty = the trace does not say */

    char device[FE_TRACE_DEVICE]; /* of all requests so far; empty = none yet */
    bool has_first;
    uint64_t first_ns; /* of fe_trace_since_first */
    struct fe_trace_held *held; /* NULL = nothing was held yet */
    struct fe_trace_text *marks; /* the texts of all marks so far */

    bool ended; /* nothing more comes but what is held, and then `late`, 0 or an error */
    int late;
    int failed; /* negative errno; returned after the good records, and from then on */
    struct fe_err failure;
};

struct fe_trace_writer {
    FILE *file;
    const char *name;
    struct fe_trace_writer_options opt; /* format is filled in */
    void *state;
    char *buf;
    size_t used;
    uint64_t n_written;
    int broken; /* negative errno of the first failure */
};

/* Fails with "NAME:LINE: message", -EINVAL. */
int fe_trace_bad(const struct fe_trace_reader *r, struct fe_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The format cannot hold `what` of this record.  Returns 0 if the writer may leave things
 * out; otherwise it fails with "NAME: record N: message", -EINVAL. */
int fe_trace_cannot(const struct fe_trace_writer *w, struct fe_err *err, const char *what);

/* Keeps what a comment "# KEY: VALUE" in front of the requests says about the trace's origin.  Of
 * two the last one counts. */
void fe_trace_take_origin(struct fe_trace_reader *r, struct fe_span line);

/* Writes a first line, and a line "# KEY: VALUE" for each thing that is known about the origin.  0
 * or a negative errno with message. */
int fe_trace_put_header(struct fe_trace_writer *w, const char *first, struct fe_err *err);

/* Returns 1 if requests of this device are wanted, 0 if not, or -EINVAL with message: a second
 * device, and nobody said which one.  The name is shorter than FE_TRACE_DEVICE, without NUL. */
int fe_trace_wanted(struct fe_trace_reader *r, struct fe_span device, struct fe_err *err);

/* The time since the first call, for formats whose clock does not start with the trace.  0 for an
 * earlier time. */
uint64_t fe_trace_since_first(struct fe_trace_reader *r, uint64_t ns);

/* Makes *rec a mark with this text, which is copied.  Returns 1, 0 if marks are not wanted, or a
 * negative errno with message. */
int fe_trace_take_mark(struct fe_trace_reader *r, struct fe_span text, struct fe_trace_rec *rec,
                       struct fe_err *err);

/* Frees the texts of all marks. */
void fe_trace_free_marks(struct fe_trace_reader *r);

/* Counts an event that is not one of the requests asked for.  Returns what parse returns
 * then. */
static inline int fe_trace_skip(struct fe_trace_reader *r)
{
    r->skipped++;
    return 0;
}

#define FE_TRACE_ROOM   512
#define FE_TRACE_BUFFER (1 << 16) /* bytes that a writer keeps before it writes them */

/* Returns where to put at least FE_TRACE_ROOM characters.  NULL with message, and w->broken
 * set, if the file cannot be written. */
char *fe_trace_room(struct fe_trace_writer *w, struct fe_err *err);

/* Must follow fe_trace_room: `end` is the end of the text that was put there.  Returns 0. */
static inline int fe_trace_used(struct fe_trace_writer *w, const char *end)
{
    w->used = (size_t)(end - w->buf);
    return 0;
}
