/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the trace reader and writer: what one format provides, and what it may use.
 *
 * A format is one file that fills a struct fe_trace_codec.  Lines come without their end;
 * they are not terminated, and stay valid only until the next one.
 */
#ifndef FE_WORKLOAD_TRACE_FORMAT_H
#define FE_WORKLOAD_TRACE_FORMAT_H

#include "workload/trace.h"

#include <stddef.h>
#include <string.h>

struct fe_span {
    const char *p;
    size_t len;
};

struct fe_trace_codec {
    size_t reader_state, writer_state; /* bytes, zeroed, behind r->state / w->state */

    /* Is this the first line of such a file? */
    bool (*detect)(struct fe_span line);

    /* One line: 1 = *ret is a record, 0 = none, or -EINVAL with message.  time_ns, type,
     * offset, len are set by the codec, the rest is zero before; the caller checks ranges
     * and has set `line`.  A line that gives two records hands in the second by
     * fe_trace_push. */
    int (*parse)(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *ret,
                 struct fe_err *err);

    /* The file ended: may still object.  NULL = nothing to say. */
    int (*end)(struct fe_trace_reader *r, struct fe_err *err);
    void (*free_state)(void *state); /* NULL = nothing to free */

    /* First lines, one record, last lines.  Put text with fe_trace_room. */
    int (*begin)(struct fe_trace_writer *w, struct fe_err *err);
    int (*put)(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err);
    int (*finish)(struct fe_trace_writer *w, struct fe_err *err);
};

extern const struct fe_trace_codec fe_trace_text, fe_trace_iolog, fe_trace_iolog2,
    fe_trace_blkparse, fe_trace_msr;

const struct fe_trace_codec *fe_trace_codec_of(enum fe_trace_format format);

struct fe_trace_reader {
    FILE *file;
    const char *name;
    struct fe_trace_options opt;
    const struct fe_trace_codec *codec;
    void *state;

    char *buf; /* [start, end) holds what is read and not yet parsed */
    size_t start, end, cap;
    bool eof;
    uint64_t line, consumed, skipped, n_read;

    struct fe_trace_rec pushed;
    bool has_pushed;

    int failed; /* delivered once the good records are out, and ever after */
    struct fe_err failure;
};

struct fe_trace_writer {
    FILE *file;
    const char *name;
    struct fe_trace_writer_options opt;
    const struct fe_trace_codec *codec;
    void *state;
    char *buf;
    size_t used;
    uint64_t n_written;
    int broken; /* negative errno of the first failure */
};

/* "NAME:LINE: message", -EINVAL. */
int fe_trace_bad(const struct fe_trace_reader *r, struct fe_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* "NAME: record N: message", -EINVAL, or 0 if the writer may leave things out. */
int fe_trace_cannot(const struct fe_trace_writer *w, struct fe_err *err, const char *what);

/* Hands in a record that follows the one that the line gives; rec->line is set. */
void fe_trace_push(struct fe_trace_reader *r, const struct fe_trace_rec *rec);

/* One more event that is not a request asked for. */
static inline int fe_trace_skip(struct fe_trace_reader *r)
{
    r->skipped++;
    return 0;
}

#define FE_TRACE_ROOM 512

/* Room for at least FE_TRACE_ROOM characters; NULL with a message and w->broken set when
 * the file cannot be written.  Say with fe_trace_used how many were put there. */
char *fe_trace_room(struct fe_trace_writer *w, struct fe_err *err);

static inline int fe_trace_used(struct fe_trace_writer *w, const char *end)
{
    w->used = (size_t)(end - w->buf);
    return 0;
}

static inline bool fe_span_is(struct fe_span s, const char *word)
{
    return s.len == strlen(word) && memcmp(s.p, word, s.len) == 0;
}

/* How much of s to show in a message. */
static inline int fe_span_shown(struct fe_span s)
{
    return s.len > 80 ? 80 : (int)s.len;
}

/* The next word of *rest (blanks and tabs separate), which loses it; empty at the end. */
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

/* Appends text at p; the new end. */
static inline char *fe_put_text(char *p, const char *text)
{
    size_t len = strlen(text);
    memcpy(p, text, len);
    return p + len;
}

#endif
