/* SPDX-License-Identifier: BSD-3-Clause
 *
 * flashemu's own trace format: one request a line, every field of a record.
 *
 *     # flashemu trace 1
 *     # command: flashemu gen random
 *     0 write 8388608 4096
 *     125000 write 8392704 512 fua stream=2
 *     250000 flush 0 0
 *     250000 mark the first record is safe
 *
 * A server cannot know whether its disk becomes full, or whether it is killed.  So its trace has a
 * line `# end: ...` in front, and `# end` as the last one; without that one, requests are missing.
 *
 * The four fixed fields come first.  They are parsed by hand, because a replay reads millions of
 * lines of this format a second.  The attributes behind them are rare and are looked up by
 * name.
 */
#include "workload/formats/format.h"

#include "workload/number.h"

static const char header[] = "# flashemu trace 1";
static const char header_any[] = "# flashemu trace ";
static const char promise[] = "# end: the last line is '# end'";
static const char end_line[] = "# end";

static const char *const op_names[] = {
    [FE_REQ_READ] = "read",
    [FE_REQ_WRITE] = "write",
    [FE_REQ_TRIM] = "trim",
    [FE_REQ_FLUSH] = "flush",
};

static const char *const status_names[] = {
    [FE_OK] = "ok",
    [FE_CORRECTED] = "corrected",
    [FE_UNCORRECTABLE] = "uncorrectable",
    [FE_PROG_FAILED] = "prog-failed",
    [FE_ERASE_FAILED] = "erase-failed",
    [FE_NO_SPACE] = "no-space",
    [FE_READ_ONLY] = "read-only",
    [FE_GONE] = "gone",
    [FE_NO_POWER] = "no-power",
    [FE_HOST_FAILED] = "host-failed",
};

static bool detect(struct fe_span line)
{
    return fe_span_begins(line, header_any);
}

static int find_word(struct fe_span s, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (fe_span_is(s, names[i]))
            return i;
    return -1;
}

/* Reads digits from *p on, and moves *p behind them.  A blank or the end must follow.  Returns
 * false, and leaves *p alone, if there is no such number below 2^64. */
static inline bool take_u64(const char **p, const char *end, uint64_t *ret)
{
    const char *q = *p;
    uint64_t n = 0;

    while (q < end && (*q == ' ' || *q == '\t'))
        q++;
    const char *first = q;
    /* 19 digits always fit.  Longer numbers are parsed again, with a check for overflow. */
    while (q < end && (unsigned char)(*q - '0') <= 9)
        n = n * 10 + (uint64_t)(*q++ - '0');
    if (q == first || (q < end && *q != ' ' && *q != '\t'))
        return false;
    if (q - first > 19 && !fe_number_u64(first, (size_t)(q - first), &n))
        return false;
    *p = q;
    *ret = n;
    return true;
}

static int bad_line(struct fe_trace_reader *r, struct fe_err *err)
{
    return fe_trace_bad(r, err, "expected TIME_NS OP OFFSET LEN [fua] [KEY=VALUE...], plain "
                                "numbers below 2^64");
}

static bool set_attribute(struct fe_trace_rec *rec, struct fe_span key, struct fe_span value)
{
    uint64_t n;

    if (fe_span_is(key, "status")) {
        int status = find_word(value, status_names, sizeof status_names / sizeof *status_names);
        rec->status = (uint8_t)status;
        return status >= 0;
    }
    if (!fe_number_u64(value.p, value.len, &n))
        return false;
    if (fe_span_is(key, "stream")) {
        rec->stream = (uint32_t)n;
        return n > 0 && n <= UINT32_MAX;
    }
    if (fe_span_is(key, "depth")) {
        rec->depth = (uint16_t)n;
        return n > 0 && n <= UINT16_MAX;
    }
    if (fe_span_is(key, "think")) {
        rec->think_ns = n;
        return true;
    }
    if (fe_span_is(key, "programmed")) {
        rec->programmed = n;
        return true;
    }
    if (fe_span_is(key, "collections")) {
        rec->collections = (uint32_t)n;
        return n <= UINT32_MAX;
    }
    if (fe_span_is(key, "merges")) {
        rec->merges = (uint32_t)n;
        return n <= UINT32_MAX;
    }
    if (fe_span_is(key, "done")) {
        rec->done_ns = n;
        return n >= rec->time_ns;
    }
    if (fe_span_is(key, "data")) {
        rec->data = n;
        return n > 0 && rec->type == FE_REQ_WRITE;
    }
    return false;
}

static int parse_attributes(struct fe_trace_reader *r, struct fe_span rest,
                            struct fe_trace_rec *rec, struct fe_err *err)
{
    for (;;) {
        struct fe_span word = fe_span_word(&rest);
        if (word.len == 0)
            return 1;
        const char *eq = memchr(word.p, '=', word.len);
        if (fe_span_is(word, "fua") && !rec->fua &&
            (rec->type == FE_REQ_WRITE || rec->type == FE_REQ_TRIM)) {
            rec->fua = true;
            continue;
        }
        struct fe_span key = {word.p, eq ? (size_t)(eq - word.p) : word.len};
        struct fe_span value = {word.p + key.len + 1, eq ? word.len - key.len - 1 : 0};
        if (!eq || !set_attribute(rec, key, value))
            return fe_trace_bad(r, err, "'%.*s' is not fua (writes and trims), stream=, depth=, "
                                        "think=, done=, programmed=, collections=, merges=, "
                                        "status= or data= (writes) with a value in range",
                                fe_span_shown(word), word.p);
    }
}

/* The text is all that follows, without the one blank in front of it. */
static int parse_mark(struct fe_trace_reader *r, struct fe_span rest, struct fe_trace_rec *rec,
                      struct fe_err *err)
{
    size_t blank = rest.len > 0;
    return fe_trace_take_mark(r, (struct fe_span){rest.p + blank, rest.len - blank}, rec, err);
}

static int parse(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *rec,
                 struct fe_err *err)
{
    const char *p = line.p, *end = line.p + line.len;

    if (line.len == 0)
        return 0;
    if (*p == '#') {
        if (r->line == 1 && detect(line) && !fe_span_is(line, header))
            return fe_trace_bad(r, err, "this flashemu reads version 1 of the format only");
        if (fe_span_is(line, promise)) { /* several traces in one file: the last one counts */
            r->says_end = true;
            r->has_end = false;
        } else if (fe_span_is(line, end_line)) {
            r->has_end = true;
        } else if (r->n_read == 0) {
            fe_trace_take_origin(r, line);
        }
        return 0;
    }
    if (!take_u64(&p, end, &rec->time_ns))
        return bad_line(r, err);
    struct fe_span rest = {p, (size_t)(end - p)};
    struct fe_span op = fe_span_word(&rest);
    if (fe_span_is(op, "mark"))
        return parse_mark(r, rest, rec, err);
    int type = find_word(op, op_names, FE_N_REQ_TYPES);
    if (type < 0)
        return fe_trace_bad(r, err, "'%.*s' is not read, write, trim, flush or mark",
                            fe_span_shown(op), op.p);
    rec->type = (uint8_t)type;
    p = rest.p;
    if (!take_u64(&p, end, &rec->offset) || !take_u64(&p, end, &rec->len))
        return bad_line(r, err);
    return p == end ? 1 : parse_attributes(r, (struct fe_span){p, (size_t)(end - p)}, rec, err);
}

static int put_line(struct fe_trace_writer *w, const char *line, struct fe_err *err)
{
    char *p = fe_trace_room(w, err);

    if (!p)
        return w->broken;
    p = fe_put_text(p, line);
    *p++ = '\n';
    return fe_trace_used(w, p);
}

static int begin(struct fe_trace_writer *w, struct fe_err *err)
{
    int code = fe_trace_put_header(w, header, err);
    return code == 0 && w->opt.says_end ? put_line(w, promise, err) : code;
}

int fe_trace_write_end(struct fe_trace_writer *w, struct fe_err *err)
{
    if (!w->opt.says_end || w->opt.format != &fe_trace_text)
        return 0;
    return w->broken ? w->broken : put_line(w, end_line, err);
}

static char *put_attribute(char *p, const char *key, uint64_t n)
{
    if (n == 0)
        return p;
    p = fe_put_text(p, key);
    return p + fe_number_put(p, n);
}

static int put(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err)
{
    char *p = fe_trace_room(w, err);

    if (!p)
        return w->broken;
    p += fe_number_put(p, rec->time_ns);
    if (rec->type == FE_TRACE_MARK) {
        p = fe_put_text(fe_put_text(p, " mark "), rec->mark);
        *p++ = '\n';
        return fe_trace_used(w, p);
    }
    *p++ = ' ';
    p = fe_put_text(p, op_names[rec->type]);
    *p++ = ' ';
    p += fe_number_put(p, rec->offset);
    *p++ = ' ';
    p += fe_number_put(p, rec->len);
    if (rec->fua)
        p = fe_put_text(p, " fua");
    p = put_attribute(p, " stream=", rec->stream);
    p = put_attribute(p, " depth=", rec->depth);
    p = put_attribute(p, " think=", rec->think_ns);
    p = put_attribute(p, " done=", rec->done_ns);
    p = put_attribute(p, " programmed=", rec->programmed);
    p = put_attribute(p, " collections=", rec->collections);
    p = put_attribute(p, " merges=", rec->merges);
    p = put_attribute(p, " data=", rec->data);
    if (rec->status != FE_OK)
        p = fe_put_text(fe_put_text(p, " status="), status_names[rec->status]);
    *p++ = '\n';
    return fe_trace_used(w, p);
}

const struct fe_trace_format fe_trace_text = {
    .name = "text",
    .summary = "flashemu's own: keeps everything, times in ns",
    .detect = detect,
    .parse = parse,
    .holds_marks = true,
    .begin = begin,
    .put = put,
};
