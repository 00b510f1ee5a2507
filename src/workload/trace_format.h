/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside traces: the table of formats, what one format provides, and what a format may use.
 *
 * A format is one file, trace_NAME.c, that defines
 *
 *     const struct fe_trace_format fe_trace_NAME = { ... };
 *
 * and one line FORMAT(NAME) in the table below.  trace.c reads lines and hands them to the
 * format; trace_write.c hands records to the format and writes the text.
 */
#ifndef FE_WORKLOAD_TRACE_FORMAT_H
#define FE_WORKLOAD_TRACE_FORMAT_H

#include "workload/trace.h"

#include <stddef.h>
#include <string.h>

/* A piece of a line.  It has no NUL at its end, and stays valid until the next line. */
struct fe_span {
    const char *p;
    size_t len;
};

struct fe_trace_format {
    const char *name;    /* what users type; lower case, no blanks */
    const char *summary; /* less than one line; also says what names a device, if any does */

    /* Bytes of memory that the format wants while it reads or writes.  They are zeroed, and
     * r->state or w->state points to them. */
    size_t reader_state, writer_state;

    /* Whether a trace that begins with this line is in this format. */
    bool (*detect)(struct fe_span line);

    /* Parses one line, which comes without its end.  Returns 1 if *ret is a record, 0 if the
     * line gives none, or -EINVAL with message.  The format sets time_ns, type, offset, len
     * and what else it knows.  Everything except `line` is zero before, and the caller
     * checks the range afterwards.  If one line gives two records, fe_trace_push takes the
     * second. */
    int (*parse)(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *ret,
                 struct fe_err *err);

    /* For records that are not lines, behind first lines that are: when parse has set
     * r->has_records, this takes each record off the front of the buffer and moves r->start,
     * r->consumed and r->line.  There are take_bytes bytes, or all that are left, but at least one.
     * Returns 1, or -EINVAL with message.  NULL = all records are lines. */
    int (*take)(struct fe_trace_reader *r, struct fe_trace_rec *ret, struct fe_err *err);
    size_t take_bytes;

    /* The file has ended.  May still fail, with message.  NULL = nothing to do. */
    int (*end)(struct fe_trace_reader *r, struct fe_err *err);
    void (*free_state)(void *state); /* frees what r->state points to; NULL = nothing */

    /* Write the first lines, one record, and the last lines, with fe_trace_room and
     * fe_trace_used.  begin and finish: NULL = there are no such lines.  0 or a negative
     * errno with message. */
    int (*begin)(struct fe_trace_writer *w, struct fe_err *err);
    int (*put)(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err);
    int (*finish)(struct fe_trace_writer *w, struct fe_err *err);
};

/* The table of all formats.  A reader that has to find out the format asks them in this
 * order. */
#define FE_TRACE_FORMATS(FORMAT) \
    FORMAT(text)                 \
    FORMAT(binary)               \
    FORMAT(iolog)                \
    FORMAT(iolog2)               \
    FORMAT(blkparse)             \
    FORMAT(msr)

#define FE_TRACE_DECLARE(name) extern const struct fe_trace_format fe_trace_##name;
FE_TRACE_FORMATS(FE_TRACE_DECLARE)
#undef FE_TRACE_DECLARE

struct fe_trace_reader {
    FILE *file;
    const char *name;
    struct fe_trace_options opt; /* format and sector_size are filled in */
    void *state;

    char *buf; /* [start, end) has been read and not yet been parsed */
    size_t start, end, cap;
    bool eof, has_records;
    uint64_t line, consumed, skipped, n_read;

    char origin[FE_N_ORIGIN_KEYS][256]; /* empty = the trace does not say */

    struct fe_trace_rec pushed; /* the second record of a line */
    bool has_pushed;

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

/* Hands in the record that follows the one that parse returns; rec->line is set. */
void fe_trace_push(struct fe_trace_reader *r, const struct fe_trace_rec *rec);

/* Counts an event that is not one of the requests asked for.  Returns what parse returns
 * then. */
static inline int fe_trace_skip(struct fe_trace_reader *r)
{
    r->skipped++;
    return 0;
}

#define FE_TRACE_ROOM 512

/* Returns where to put at least FE_TRACE_ROOM characters.  NULL with message, and w->broken
 * set, if the file cannot be written. */
char *fe_trace_room(struct fe_trace_writer *w, struct fe_err *err);

/* Must follow fe_trace_room: `end` is the end of the text that was put there.  Returns 0. */
static inline int fe_trace_used(struct fe_trace_writer *w, const char *end)
{
    w->used = (size_t)(end - w->buf);
    return 0;
}

static inline bool fe_span_is(struct fe_span s, const char *word)
{
    return s.len == strlen(word) && memcmp(s.p, word, s.len) == 0;
}

/* How many characters of s a message shows. */
static inline int fe_span_shown(struct fe_span s)
{
    return s.len > 80 ? 80 : (int)s.len;
}

/* Takes the next word off the front of *rest.  Blanks and tabs separate words.  The word is
 * empty at the end. */
static inline struct fe_span fe_span_word(struct fe_span *rest)
{
    const char *p = rest->p, *end = rest->p + rest->len;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    const char *word = p;
    while (p < end && *p != ' ' && *p != '\t')
        p++;
    *rest = (struct fe_span){p, (size_t)(end - p)};
    return (struct fe_span){word, (size_t)(p - word)};
}

/* Puts text at p; returns its end. */
static inline char *fe_put_text(char *p, const char *text)
{
    size_t len = strlen(text);
    memcpy(p, text, len);
    return p + len;
}

#endif
