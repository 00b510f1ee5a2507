/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A line is split once, and then each letter of the layout takes its column.
 *
 * Detection is the same as reading without a trace: a line that would be an error at the top of a
 * file is none of this format.  That is what keeps formats apart that have nothing but numbers.
 */
#include "workload/formats/columns.h"

#include "base/num.h"
#include "workload/number.h"

#include <errno.h>

enum { MAX_DECIMALS = 18, MAX_DEVICE = FE_TRACE_DEVICE };

/* What the columns of a line say.  A column that the layout lacks stays 0. */
struct parsed {
    uint64_t time, took, done, offset, len, pid;
    char device[MAX_DEVICE];
    enum fe_req_type type;
    bool has_time, has_took, has_done;
};

bool fe_columns_time(struct fe_span s, uint64_t unit_ns, bool point, uint64_t *ret)
{
    const char *dot = memchr(s.p, '.', s.len);
    size_t whole_len = dot ? (size_t)(dot - s.p) : s.len;
    size_t n = dot ? s.len - whole_len - 1 : 0;
    uint64_t whole, fraction = 0, ns, scale = 1;

    if (dot && (!point || n == 0 || n > MAX_DECIMALS))
        return false;
    if (!fe_number_u64(s.p, whole_len, &whole) ||
        (dot && !fe_number_u64(dot + 1, n, &fraction)))
        return false;
    for (size_t i = 0; i < n; i++)
        scale *= 10;
    /* fraction < scale <= 10^18 and unit <= 10^9, so the product fits 128 bits */
    uint64_t part = (uint64_t)((unsigned __int128)fraction * unit_ns / scale);
    if (!fe_mul_ok(whole, unit_ns, &ns) || __builtin_add_overflow(ns, part, &ns))
        return false;
    *ret = ns;
    return true;
}

static struct fe_span trimmed(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (p < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (struct fe_span){p, (size_t)(end - p)};
}

/* Splits at the commas.  Returns how many columns there are; only the first `max` are stored. */
static size_t split_commas(struct fe_span line, struct fe_span *column, size_t max)
{
    const char *p = line.p, *end = line.p + line.len;

    for (size_t n = 0;;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        if (n < max)
            column[n] = trimmed(p, comma ? comma : end);
        n++;
        if (!comma)
            return n;
        p = comma + 1;
    }
}

static size_t count_words(struct fe_span line)
{
    size_t n = 0;

    while (fe_span_word(&line).len > 0)
        n++;
    return n;
}

/* Splits at the blanks.  The column of text takes the words that are too many. */
static size_t split_blanks(const struct fe_columns *c, struct fe_span line, struct fe_span *column)
{
    size_t want = strlen(c->layout), have = count_words(line);
    bool text = strchr(c->layout, 'x') != NULL;

    if (have < want)
        return have;
    for (size_t i = 0; i < want; i++) {
        column[i] = fe_span_word(&line);
        for (size_t k = want; c->layout[i] == 'x' && k < have; k++) {
            struct fe_span next = fe_span_word(&line);
            column[i].len = (size_t)(next.p + next.len - column[i].p);
        }
    }
    return text ? want : have;
}

static bool split(const struct fe_columns *c, struct fe_span line, struct fe_span *column)
{
    size_t want = strlen(c->layout);
    size_t have = c->separator == ',' ? split_commas(line, column, want)
                                      : split_blanks(c, line, column);

    return have == want || (c->more && have > want);
}

static bool is_among(struct fe_span s, const char *words)
{
    struct fe_span rest = {words, strlen(words)}, word;

    while ((word = fe_span_word(&rest)).len > 0)
        if (word.len == s.len && memcmp(word.p, s.p, s.len) == 0)
            return true;
    return false;
}

static bool take_type(const struct fe_columns *c, struct fe_span s, enum fe_req_type *ret)
{
    static const char digits[] = "0123456789abcdefABCDEF";

    if (c->read) {
        *ret = is_among(s, c->read) ? FE_REQ_READ : FE_REQ_WRITE;
        return *ret == FE_REQ_READ || is_among(s, c->write);
    }
    if (s.len == 0 || s.len > 8)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!memchr(digits, s.p[i], sizeof digits - 1))
            return false;
    char last = s.p[s.len - 1];
    bool is_odd = last <= '9' ? (last - '0') % 2 : (last | 32) % 2 == 0; /* b, d and f */
    *ret = is_odd == (c->odd == FE_REQ_READ) ? FE_REQ_READ : FE_REQ_WRITE;
    return true;
}

/* Appends a part of the device's name.  A name is a string, so it holds no NUL. */
static bool take_device(const struct fe_columns *c, struct fe_span s, char *device)
{
    size_t n = strlen(device);

    if (s.len == 0 || s.len + n + 2 > MAX_DEVICE || memchr(s.p, '\0', s.len))
        return false;
    if (n > 0)
        device[n++] = c->joint;
    memcpy(device + n, s.p, s.len);
    device[n + s.len] = '\0';
    return true;
}

static bool take_number(struct fe_span s, uint64_t unit, uint64_t *ret)
{
    return fe_number_u64(s.p, s.len, ret) && fe_mul_ok(*ret, unit, ret);
}

static bool take_column(const struct fe_columns *c, char letter, struct fe_span s,
                        struct parsed *ret)
{
    uint64_t any;

    switch (letter) {
    case 't':
        ret->has_time = true;
        return fe_columns_time(s, c->time_ns, c->decimals > 0, &ret->time);
    case 'c':
        ret->has_done = true;
        return fe_columns_time(s, c->time_ns, c->decimals > 0, &ret->done);
    case 'r':
        ret->has_took = s.len > 0;
        return s.len == 0 || fe_columns_time(s, c->took_ns, c->decimals > 0, &ret->took);
    case 'o':
        return take_number(s, c->offset_bytes, &ret->offset);
    case 'l':
        return take_number(s, c->length_bytes, &ret->len);
    case 'w':
        return take_type(c, s, &ret->type);
    case 'd':
        return take_device(c, s, ret->device);
    case 'p':
        return fe_number_u64(s.p, s.len, &ret->pid) && ret->pid <= UINT32_MAX;
    case 'n':
        return fe_columns_time(s, 1, true, &any);
    default:
        return true;
    }
}

/* Takes all columns.  Returns -1, or the number of the column that is wrong. */
static int take_all(const struct fe_columns *c, const struct fe_span *column, struct parsed *ret)
{
    *ret = (struct parsed){0};
    for (int i = 0; c->layout[i]; i++)
        if (!take_column(c, c->layout[i], column[i], ret))
            return i;
    return -1;
}

/* Whether the times of a first line look as the format's do. */
static bool times_fit(const struct fe_columns *c, const struct fe_span *column,
                      const struct parsed *p)
{
    for (int i = 0; c->layout[i]; i++)
        if (c->decimals && (c->layout[i] == 't' || c->layout[i] == 'c') &&
            !memchr(column[i].p, '.', column[i].len))
            return false;
    return !c->has_range || (p->time / c->time_ns >= c->least && p->time / c->time_ns <= c->most);
}

bool fe_columns_detect(const struct fe_columns *c, struct fe_span line)
{
    struct fe_span column[FE_COLUMNS_MAX];
    struct parsed p;

    if (fe_span_is(line, c->names))
        return true;
    return split(c, line, column) && take_all(c, column, &p) < 0 && p.len > 0 &&
           times_fit(c, column, &p);
}

/* The name of the i-th column. */
static struct fe_span name_of(const struct fe_columns *c, int i)
{
    struct fe_span rest = {c->names, strlen(c->names)}, name = {0};

    for (; i >= 0; i--) {
        if (c->separator == ' ') {
            name = fe_span_word(&rest);
            continue;
        }
        const char *comma = memchr(rest.p, ',', rest.len);
        name = (struct fe_span){rest.p, comma ? (size_t)(comma - rest.p) : rest.len};
        rest = (struct fe_span){name.p + name.len + (comma != NULL),
                                rest.len - name.len - (comma != NULL)};
    }
    return name;
}

static int wrong_column(struct fe_trace_reader *r, const struct fe_columns *c, int i,
                        struct fe_span s, struct fe_err *err)
{
    struct fe_span name = name_of(c, i);

    switch (c->layout[i]) {
    case 'w':
        return fe_trace_bad(r, err, "%.*s '%.*s' is not %s%s%s", fe_span_shown(name), name.p,
                            fe_span_shown(s), s.p, c->read ? c->read : "a hexadecimal number",
                            c->read ? " or " : "", c->read ? c->write : "");
    case 'd':
        return fe_trace_bad(r, err, "%.*s '%.*s' is empty, too long or holds a NUL",
                            fe_span_shown(name), name.p, fe_span_shown(s), s.p);
    default:
        return fe_trace_bad(r, err, "%.*s '%.*s' is not a plain number (no exponent) below "
                                    "2^64 ns or bytes", fe_span_shown(name), name.p,
                            fe_span_shown(s), s.p);
    }
}

/* Turns the times of a line into those of a record. */
static int set_times(struct fe_trace_reader *r, const struct fe_columns *c, const struct parsed *p,
                     struct fe_trace_rec *rec, struct fe_err *err)
{
    rec->time_ns = c->relative ? fe_trace_since_first(r, p->time) : p->time;
    uint64_t took = p->has_done ? (p->done > p->time ? p->done - p->time : 0) : p->took;
    if (!p->has_done && !p->has_took)
        return 1;
    if (__builtin_add_overflow(rec->time_ns, took, &rec->done_ns))
        return fe_trace_bad(r, err, "more than 2^64 ns after the first request");
    return 1;
}

int fe_columns_parse(struct fe_trace_reader *r, const struct fe_columns *c, struct fe_span line,
                     struct fe_trace_rec *rec, struct fe_err *err)
{
    struct fe_span column[FE_COLUMNS_MAX];
    struct parsed p;

    if (line.len == 0 || (r->line == 1 && fe_span_is(line, c->names)))
        return 0;
    if (!split(c, line, column))
        return fe_trace_bad(r, err, "expected %zu columns%s: %s", strlen(c->layout),
                            c->more ? " or more" : "", c->names);
    int wrong = take_all(c, column, &p);
    if (wrong >= 0)
        return wrong_column(r, c, wrong, column[wrong], err);
    int ret = fe_trace_wanted(r, (struct fe_span){p.device, strlen(p.device)}, err);
    if (ret <= 0)
        return ret < 0 ? ret : fe_trace_skip(r);
    rec->type = (uint8_t)p.type;
    rec->offset = p.offset;
    rec->len = p.len;
    rec->stream = (uint32_t)p.pid;
    return set_times(r, c, &p, rec, err);
}

/* --- writing --- */

/* Writes ns in units of unit_ns, with the decimals of the format, rounded down. */
static char *put_time(const struct fe_columns *c, char *p, uint64_t unit_ns, uint64_t first,
                      uint64_t ns)
{
    uint64_t part = ns % unit_ns;

    p += fe_number_put(p, first + ns / unit_ns);
    if (c->decimals == 0)
        return p;
    *p++ = '.';
    for (unsigned i = 0; i < c->decimals; i++) {
        unit_ns /= 10;
        *p++ = (char)('0' + part / unit_ns);
        part %= unit_ns;
    }
    return p;
}

/* The next part of the device's name. */
static char *put_device(const struct fe_columns *c, char *p, const char **part)
{
    while (**part && **part != c->joint)
        *p++ = *(*part)++;
    *part += **part != '\0';
    return p;
}

static char *put_word(char *p, const char *words)
{
    while (*words && *words != ' ')
        *p++ = *words++;
    return p;
}

static int cannot_hold(struct fe_trace_writer *w, const struct fe_columns *c,
                       const struct fe_trace_rec *rec, struct fe_err *err)
{
    int code = 0;

    if (rec->fua)
        code = fe_trace_cannot(w, err, "FUA");
    if (code == 0 && rec->think_ns)
        code = fe_trace_cannot(w, err, "think time");
    if (code == 0 && (rec->offset % c->offset_bytes || rec->len % c->length_bytes))
        code = fe_err_set(err, EINVAL, "%s: record %llu: the format %s counts in sectors of 512 "
                          "bytes", w->name, (unsigned long long)w->n_written + 1,
                          w->opt.format->name);
    return code;
}

int fe_columns_put(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err)
{
    const struct fe_columns *c = w->opt.format->columns;
    const char *device = c->device;

    if (rec->type != FE_REQ_READ && rec->type != FE_REQ_WRITE) /* 0 with `lossy`: left out */
        return fe_trace_cannot(w, err, rec->type == FE_REQ_TRIM ? "trim" : "flush");
    if (rec->time_ns > UINT64_MAX - c->first * c->time_ns)
        return fe_trace_cannot(w, err, "a date 300 years and more from now");
    int code = cannot_hold(w, c, rec, err);
    char *p = code < 0 ? NULL : fe_trace_room(w, err);
    if (!p)
        return code < 0 ? code : w->broken;
    for (const char *l = c->layout; *l; l++) {
        if (l > c->layout)
            *p++ = c->separator;
        if (*l == 't')
            p = put_time(c, p, c->time_ns, c->first, rec->time_ns);
        else if (*l == 'r')
            p = put_time(c, p, c->took_ns, 0,
                         rec->done_ns > rec->time_ns ? rec->done_ns - rec->time_ns : 0);
        else if (*l == 'o')
            p += fe_number_put(p, rec->offset / c->offset_bytes);
        else if (*l == 'l')
            p += fe_number_put(p, rec->len / c->length_bytes);
        else if (*l == 'd')
            p = put_device(c, p, &device);
        else
            p = put_word(p, c->read ? (rec->type == FE_REQ_READ ? c->read : c->write)
                                    : (rec->type == c->odd ? "1" : "0"));
    }
    *p++ = '\n';
    return fe_trace_used(w, p);
}
