/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of formats, and what all of them share when a trace is read: lines and ranges.
 *
 * The reader takes large blocks from the file and finds the ends of lines itself.  A replay
 * simulates millions of requests a second and must not wait for stdio.  A line is handed to
 * the format's parser where it lies in the buffer, without a copy:
 *
 *     buf  | parsed | line \n line \n li........ free ........ |
 *          0      start                 end                    cap
 *
 * The first line decides about the format, unless the caller has named one.  Then that line
 * is parsed like any other.
 *
 * An error does not throw away the good records of the same batch.  The reader keeps the
 * error and returns it from the next call, so that whoever replays a trace has replayed
 * everything in front of the bad line.
 */
#include "workload/formats/columns.h"
#include "workload/formats/foreign.h"
#include "workload/formats/hold.h"

#include "base/guess.h"

#include <errno.h>
#include <stdlib.h>

enum { READ_BYTES = 1 << 18, MAX_LINE = 1 << 16 };

const char *fe_trace_format_written(const struct fe_trace_format *f)
{
    return !f->put ? "; read only" : f->wants_data ? "; written with data only" : "";
}

#define ROW(name) &fe_trace_##name,
static const struct fe_trace_format *const formats[] = {FE_TRACE_FORMATS(ROW) NULL};
#undef ROW

const struct fe_trace_format *fe_trace_format_at(unsigned i)
{
    return i < sizeof formats / sizeof *formats ? formats[i] : NULL;
}

bool fe_trace_format_is_text(const struct fe_trace_format *f)
{
    return !f->take;
}

bool fe_trace_format_has_data(const struct fe_trace_format *f)
{
    return f->wants_data;
}

/* The names of all formats, each with the separator behind it except the last one. */
static const char *all_names(char *buf, size_t size, const char *separator)
{
    buf[0] = '\0';
    for (unsigned i = 0; formats[i]; i++)
        fe_text_add(buf, size, "%s%s", i ? separator : "", formats[i]->name);
    return buf;
}

int fe_trace_format_find(const struct fe_trace_format **ret, const char *name,
                         struct fe_err *err)
{
    char names[250], guess[FE_GUESS_MAX];

    for (unsigned i = 0; formats[i]; i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            *ret = formats[i];
            return 0;
        }
    }
    all_names(names, sizeof names, " ");
    const char *meant = strcmp(name, "fio") == 0 ? "iolog" : name; /* as fio calls it */
    fe_guess_word(meant, strlen(meant), names, guess);
    return fe_err_set(err, EINVAL, "format '%.80s': %sallowed are %s", name, guess, names);
}

void fe_trace_format_help(FILE *out)
{
    for (unsigned i = 0; formats[i]; i++)
        fprintf(out, "%-22s %s%s\n", formats[i]->name, formats[i]->summary, fe_trace_format_written(formats[i]));
}

/* Why a file cannot be read. */
static const char *read_error(int errnum)
{
    switch (errnum) {
    case FE_TRACE_CUT_OFF:
        return "ends in the middle of its compressed data";
    case FE_TRACE_DAMAGED:
        return "its compressed data are damaged";
    default:
        return strerror(errnum);
    }
}

/* Moves the rest of the buffer to its front and reads more behind it. */
static int refill(struct fe_trace_reader *r, struct fe_err *err)
{
    memmove(r->buf, r->buf + r->start, r->end - r->start);
    r->end -= r->start;
    r->start = 0;
    errno = 0;
    size_t got = fread(r->buf + r->end, 1, r->cap - r->end, r->file);
    r->end += got;
    if (got == 0) {
        int errnum = errno ? errno : EIO;
        if (ferror(r->file))
            return fe_err_set(err, errnum, "%s: %s", r->name, read_error(errnum));
        r->eof = true;
    }
    return 0;
}

/* Finds the next line and takes its end off.  Returns 1, 0 at the end of the file, or a
 * negative errno with message. */
static int next_line(struct fe_trace_reader *r, struct fe_span *ret, struct fe_err *err)
{
    size_t seen = 0;

    for (;;) {
        const char *p = r->buf + r->start;
        size_t have = r->end - r->start;
        const char *nl = have > seen ? memchr(p + seen, '\n', have - seen) : NULL;
        size_t len = nl ? (size_t)(nl - p) : have;

        if (nl || (r->eof && have > 0)) {
            r->is_torn = !nl;
            r->line++;
            r->start += len + (nl != NULL);
            r->consumed += len + (nl != NULL);
            if (len > 0 && p[len - 1] == '\r')
                len--;
            *ret = (struct fe_span){p, len};
            return 1;
        }
        if (r->eof)
            return 0;
        if (have > MAX_LINE) {
            r->line++;
            return fe_trace_bad(r, err, "line longer than %d characters", MAX_LINE);
        }
        seen = have; /* no line end in there: not to be searched again */
        int ret_code = refill(r, err);
        if (ret_code < 0)
            return ret_code;
    }
}

static bool knows(const struct fe_trace_format *f, struct fe_span line)
{
    return f->columns ? fe_columns_detect(f->columns, line) : f->detect && f->detect(line);
}

/* Finds the one format that knows the first line. */
static int detect_line(struct fe_trace_reader *r, struct fe_span line, struct fe_err *err)
{
    char names[250];

    for (unsigned i = 0; formats[i]; i++) {
        if (!knows(formats[i], line))
            continue;
        if (r->opt.format)
            return fe_trace_bad(r, err, "may be %s or %s; --format says which",
                                r->opt.format->name, formats[i]->name);
        r->opt.format = formats[i];
    }
    if (r->opt.format)
        return 0;
    if (fe_trace_foreign_line(line))
        return fe_trace_bad(r, err, "%s", fe_trace_foreign_line(line));
    return fe_trace_bad(r, err, "not the first line of a known trace format (%s)",
                        all_names(names, sizeof names, ", "));
}

/* Settles the format by the first bytes, if one of those without lines begins so. */
static int detect_bytes(struct fe_trace_reader *r, struct fe_err *err)
{
    int ret = refill(r, err);

    for (unsigned i = 0; ret == 0 && !r->opt.format && formats[i]; i++)
        if (formats[i]->starts && formats[i]->starts((const uint8_t *)r->buf, r->end))
            r->opt.format = formats[i];
    return ret;
}

/* Settles the format by the first line, and puts the line back, without the byte order mark of UTF-8
 * that some editors write. */
static int read_first_line(struct fe_trace_reader *r, struct fe_err *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct fe_span line;
    size_t skip = 0;
    int ret = next_line(r, &line, err);

    if (ret < 0)
        return ret;
    if (line.len >= 3 && memcmp(line.p, mark, 3) == 0)
        skip = 3;
    if (!r->opt.format)
        ret = detect_line(r, (struct fe_span){line.p + skip, line.len - skip}, err);
    r->start = skip;
    r->line = 0;
    r->consumed = skip;
    return ret < 0 ? ret : 0;
}

/* Settles the format, the one that was asked for or the one that the file begins like. */
static int choose_format(struct fe_trace_reader *r, struct fe_err *err)
{
    int ret = detect_bytes(r, err);

    const char *foreign = fe_trace_foreign_bytes((const uint8_t *)r->buf, r->end);
    if (ret == 0 && (r->end == 0 || foreign)) {
        r->line = 1;
        return fe_trace_bad(r, err, "%s", foreign ? foreign : "empty file, not a trace");
    }
    r->has_records = ret == 0 && r->opt.format && r->opt.format->starts;
    if (ret == 0 && !r->has_records)
        ret = read_first_line(r, err);
    if (ret < 0)
        return ret;
    r->state = calloc(1, r->opt.format->reader_state + 1);
    if (!r->state)
        return fe_err_nomem(err, "trace reader", r->opt.format->reader_state);
    return 0;
}

int fe_trace_reader_open(struct fe_trace_reader **ret, FILE *f, const char *name,
                         const struct fe_trace_options *opt, struct fe_err *err)
{
    struct fe_trace_reader *r = calloc(1, sizeof *r);

    if (!r)
        return fe_err_nomem(err, "trace reader", sizeof *r);
    r->file = f;
    r->name = name;
    r->opt = *opt;
    if (r->opt.sector_size == 0)
        r->opt.sector_size = 512;
    r->cap = READ_BYTES;
    r->buf = malloc(r->cap);
    int code = r->buf ? choose_format(r, err) : fe_err_nomem(err, "trace reader", r->cap);
    if (code < 0) {
        fe_trace_reader_close(r);
        return code;
    }
    *ret = r;
    return 0;
}

void fe_trace_reader_close(struct fe_trace_reader *r)
{
    if (!r)
        return;
    if (r->state && r->opt.format->free_state)
        r->opt.format->free_state(r->state);
    fe_trace_unhold(r);
    fe_trace_free_marks(r);
    free(r->state);
    free(r->buf);
    free(r);
}

/* Checks a record's range.  This is done here so that no format can forget it. */
static int check_range(const struct fe_trace_reader *r, const struct fe_trace_rec *rec,
                       struct fe_err *err)
{
    uint32_t sector = r->opt.sector_size;
    uint64_t end;

    if (rec->type == FE_REQ_FLUSH || rec->type == FE_TRACE_MARK) {
        if (rec->offset || rec->len)
            return fe_trace_bad(r, err, "flush takes offset 0 and length 0");
        return 0;
    }
    if (rec->len == 0)
        return fe_trace_bad(r, err, "length is 0");
    if (__builtin_add_overflow(rec->offset, rec->len, &end) || end > FE_TRACE_MAX_END)
        return fe_trace_bad(r, err, "offset %llu + length %llu is more than 2^63 - 1",
                            (unsigned long long)rec->offset, (unsigned long long)rec->len);
    /* If the sector size is a power of two, one test of the low bits does for both. */
    if ((sector & (sector - 1)) == 0 ? ((rec->offset | rec->len) & (sector - 1)) != 0
                                     : rec->offset % sector || rec->len % sector)
        return fe_trace_bad(r, err, "offset %llu and length %llu must be multiples of the "
                                    "sector size %u", (unsigned long long)rec->offset,
                            (unsigned long long)rec->len, sector);
    return 0;
}

static bool has_record(struct fe_trace_reader *r, int *ret, struct fe_err *err)
{
    while (r->end - r->start < r->opt.format->take_bytes && !r->eof && *ret >= 0)
        *ret = refill(r, err);
    return *ret >= 0 && r->end > r->start;
}

/* Reads from the file until a record or the end comes.  Returns 1, 0 at the end or if records are
 * held that are to be delivered, or a negative errno with message. */
static int read_file(struct fe_trace_reader *r, struct fe_trace_rec *rec, struct fe_err *err)
{
    struct fe_span line;
    int ret = 0;

    *rec = (struct fe_trace_rec){0};
    if (r->has_records) {
        r->ended = !has_record(r, &ret, err);
        return r->ended ? ret : r->opt.format->take(r, rec, err);
    }
    ret = next_line(r, &line, err);
    r->ended = ret <= 0;
    if (r->ended)
        return ret;
    rec->line = r->line;
    return r->opt.format->columns ? fe_columns_parse(r, r->opt.format->columns, line, rec, err)
                                  : r->opt.format->parse(r, line, rec, err);
}

/* Checks a record that was held, whose line is not the last one any more. */
static int check_held(struct fe_trace_reader *r, const struct fe_trace_rec *rec,
                      struct fe_err *err)
{
    uint64_t line = r->line;

    r->line = rec->line;
    int ret = check_range(r, rec, err);
    r->line = line;
    return ret < 0 ? ret : 1;
}

/* Reads one record.  Returns 1, 0 at the end, or a negative errno with message. */
static int read_one(struct fe_trace_reader *r, struct fe_trace_rec *rec, struct fe_err *err)
{
    int ret;

    for (;;) {
        if (fe_trace_release(r, rec))
            return check_held(r, rec, err);
        if (r->ended)
            break;
        ret = read_file(r, rec, &r->failure);
        if (ret > 0)
            return (ret = check_range(r, rec, err)) < 0 ? ret : 1;
        if (ret < 0) { /* what is held comes first */
            r->ended = true;
            r->late = ret;
        }
    }
    ret = r->late;
    if (ret == 0 && r->opt.format->end)
        ret = r->opt.format->end(r, err);
    if (ret == 0 && r->opt.device && r->n_read == 0)
        ret = fe_err_set(err, EINVAL, "%s: has no requests of '%s'", r->name, r->opt.device);
    return ret;
}

int fe_trace_read(struct fe_trace_reader *r, struct fe_trace_rec *recs, uint32_t max,
                  struct fe_err *err)
{
    uint32_t n = 0;
    int ret = 1;

    while (n < max && !r->failed && ret > 0) {
        ret = read_one(r, &recs[n], &r->failure);
        if (ret < 0)
            r->failed = ret;
        n += ret > 0;
        r->n_read += ret > 0;
    }
    if (n > 0 || !r->failed)
        return (int)n;
    return fe_err_set(err, -r->failed, "%s", r->failure.text);
}

const char *fe_trace_origin(const struct fe_trace_reader *r, enum fe_origin_key key)
{
    return r->origin[key];
}

uint64_t fe_trace_skipped(const struct fe_trace_reader *r)
{
    return r->skipped;
}

bool fe_trace_is_cut(const struct fe_trace_reader *r)
{
    bool is_ours = *r->origin[FE_ORIGIN_VERSION] != '\0';
    return (r->says_end && !r->has_end) || (is_ours && r->is_torn);
}

bool fe_trace_says_end(const struct fe_trace_reader *r)
{
    return r->says_end;
}

bool fe_trace_has_data(const struct fe_trace_reader *r)
{
    return r->opt.format->wants_data;
}

uint64_t fe_trace_consumed(const struct fe_trace_reader *r)
{
    return r->consumed;
}
