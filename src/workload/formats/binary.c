/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A compact form of the text format: it holds the same, in a third of the bytes or less, and
 * is read several times as fast.  The first lines are text, so that `head` says what the file is:
 *
 *     # flashemu binary trace 1
 *     # command: flashemu gen random
 *     # requests
 *     then records without anything between them
 *
 * A record says how many bytes each of its numbers has, so that none of them is looked at byte by
 * byte:
 *
 *     head      2 bytes: 2 bits each for the request's type and the sizes of time, offset, length;
 *               FUA; whether the offset counts in 512 bytes; whether there is `more`; whether it is a
 *               mark; whether there is `data`; zeros
 *     time      after the last record's, modulo 2^64
 *     offset    in units of 512 bytes or of one byte; size 0: the end of the last request
 *     length    in the same units; size 0: the length of the last request
 *     more      2 bytes: 2 bits each for the size of every field of `fields`, then these numbers
 *     data      8 bytes: the place of what was written
 *     mark      instead of all this but the time: 2 bytes, the length of the text, and the text; the
 *               type is that of a flush
 *
 * Sizes 0 to 3 mean 0, 2, 4 and 8 bytes; numbers are little endian.  A flush has neither offset nor
 * length, and leaves the last request as it is.
 *
 * In messages the number of the record stands where other formats have the line.
 */
#include "workload/formats/format.h"

#include <stddef.h>

static const char header[] = "# flashemu binary trace 1";
static const char header_any[] = "# flashemu binary trace ";
static const char last_line[] = "# requests";

enum {
    TIME_SHIFT = 2, OFFSET_SHIFT = 4, LEN_SHIFT = 6,
    FUA = 1 << 8, SECTORS = 1 << 9, MORE = 1 << 10, MARK = 1 << 11, DATA = 1 << 12,
    UNUSED = 0xe000,
    REQUEST_MAX = 2 + 3 * 8 + 2 + 8 * 8 + 8,
    RECORD_MAX = 2 + 8 + 2 + FE_TRACE_MARK_MAX > REQUEST_MAX ? 2 + 8 + 2 + FE_TRACE_MARK_MAX
                                                             : REQUEST_MAX,
};

/* The numbers of `more`. */
enum { THINK, DONE, PROGRAMMED, STREAM, DEPTH, STATUS, COLLECTIONS, MERGES, N_FIELDS };

static const uint64_t most[N_FIELDS] = {
    [THINK] = UINT64_MAX, [DONE] = UINT64_MAX, [PROGRAMMED] = UINT64_MAX, [STREAM] = UINT32_MAX,
    [DEPTH] = UINT16_MAX, [STATUS] = FE_HOST_FAILED, [COLLECTIONS] = UINT32_MAX,
    [MERGES] = UINT32_MAX,
};

static const uint8_t bytes_of[4] = {0, 2, 4, 8};
static const uint64_t mask_of[4] = {0, UINT16_MAX, UINT32_MAX, UINT64_MAX};

struct last {
    uint64_t time_ns, end, len;
};

static bool detect(struct fe_span line)
{
    return fe_span_begins(line, header_any);
}

/* --- reading --- */

static int parse(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *rec,
                 struct fe_err *err)
{
    (void)rec;
    if (r->line == 1 && !fe_span_is(line, header))
        return fe_trace_bad(r, err, "this flashemu reads version 1 of the format only");
    if (line.len == 0 || line.p[0] != '#')
        return fe_trace_bad(r, err, "expected a comment, or '%s' in front of the records",
                            last_line);
    fe_trace_take_origin(r, line);
    r->has_records = fe_span_is(line, last_line);
    if (r->has_records)
        r->line = 0;
    return 0;
}

/* Little endian, whatever the machine is.  Eight bytes are read for every number, so there must be
 * as many. */
static inline uint64_t take(const uint8_t **p, unsigned size)
{
    const uint8_t *q = *p;
    uint64_t n = (uint64_t)q[0] | (uint64_t)q[1] << 8 | (uint64_t)q[2] << 16 |
                 (uint64_t)q[3] << 24 | (uint64_t)q[4] << 32 | (uint64_t)q[5] << 40 |
                 (uint64_t)q[6] << 48 | (uint64_t)q[7] << 56;
    *p = q + bytes_of[size];
    return n & mask_of[size];
}

/* Returns NULL if a number is not one that the field can have. */
static const uint8_t *take_more(const uint8_t *p, struct fe_trace_rec *rec)
{
    uint64_t n[N_FIELDS] = {0};
    uint64_t sizes = take(&p, 1);

    for (uint64_t rest = sizes; rest;) {
        unsigned field = (unsigned)__builtin_ctzll(rest) / 2;
        n[field] = take(&p, sizes >> 2 * field & 3);
        if (n[field] > most[field])
            return NULL;
        rest &= ~(UINT64_C(3) << 2 * field);
    }
    rec->think_ns = n[THINK];
    if (sizes >> 2 * DONE & 3) {
        rec->done_ns = rec->time_ns + n[DONE] - 1;
        if (rec->done_ns == 0 || rec->done_ns < rec->time_ns)
            return NULL;
    }
    rec->programmed = n[PROGRAMMED];
    rec->stream = (uint32_t)n[STREAM];
    rec->depth = (uint16_t)n[DEPTH];
    rec->status = (uint8_t)n[STATUS];
    rec->collections = (uint32_t)n[COLLECTIONS];
    rec->merges = (uint32_t)n[MERGES];
    return p;
}

/* Takes one record from p.  Returns its end, or NULL if it is damaged. */
static inline const uint8_t *take_record(struct last *last, const uint8_t *p,
                                         struct fe_trace_rec *rec)
{
    unsigned head = (unsigned)p[0] | (unsigned)p[1] << 8;
    unsigned type = head & 3, offset = head >> OFFSET_SHIFT & 3, len = head >> LEN_SHIFT & 3;
    unsigned shift = head & SECTORS ? 9 : 0;

    p += 2;
    if (head & UNUSED)
        return NULL;
    rec->type = (uint8_t)type;
    rec->fua = (head & FUA) != 0;
    rec->time_ns = last->time_ns += take(&p, head >> TIME_SHIFT & 3);
    if (head & DATA && type != FE_REQ_WRITE)
        return NULL;
    if (type == FE_REQ_FLUSH) {
        if (offset || len || rec->fua || shift)
            return NULL;
    } else {
        uint64_t from = take(&p, offset), n = take(&p, len);
        if ((from | n) >> (63 - shift) || (type == FE_REQ_READ && rec->fua))
            return NULL;
        rec->offset = offset ? from << shift : last->end;
        rec->len = len ? n << shift : last->len;
        last->len = rec->len;
        last->end = rec->offset + rec->len;
    }
    if (head & MORE && !(p = take_more(p, rec)))
        return NULL;
    if (head & DATA && (rec->data = take(&p, 3)) == 0)
        return NULL;
    return p;
}

/* Takes a mark from p, where RECORD_MAX bytes can be read.  Returns its end, NULL if it is damaged;
 * *ret is as that of fe_trace_take_mark. */
static const uint8_t *take_mark(struct fe_trace_reader *r, const uint8_t *p,
                                struct fe_trace_rec *rec, int *ret, struct fe_err *err)
{
    struct last *last = r->state;
    unsigned head = (unsigned)p[0] | (unsigned)p[1] << 8;

    p += 2;
    if (head & ~(unsigned)(MARK | 3 | 3 << TIME_SHIFT) || (head & 3) != FE_REQ_FLUSH)
        return NULL;
    rec->time_ns = last->time_ns += take(&p, head >> TIME_SHIFT & 3);
    uint64_t len = take(&p, 1);
    if (len > FE_TRACE_MARK_MAX)
        return NULL;
    *ret = fe_trace_take_mark(r, (struct fe_span){(const char *)p, (size_t)len}, rec, err);
    return p + len;
}

/* The last records of the file have fewer than RECORD_MAX bytes behind them.  They are taken from a
 * copy with zeros at its end. */
static int take_binary(struct fe_trace_reader *r, struct fe_trace_rec *rec, struct fe_err *err)
{
    uint8_t copy[2 * RECORD_MAX];
    const uint8_t *from = (const uint8_t *)r->buf + r->start, *to;
    size_t have = r->end - r->start;
    int ret = 1;

    rec->line = ++r->line;
    if (have < RECORD_MAX + 8) {
        memcpy(copy, from, have);
        memset(copy + have, 0, sizeof copy - have);
        from = copy;
    }
    to = from[1] & MARK >> 8 ? take_mark(r, from, rec, &ret, err)
                             : take_record(r->state, from, rec);
    if (!to)
        return fe_trace_bad(r, err, "a damaged record of a binary trace");
    if ((size_t)(to - from) > have)
        return fe_trace_bad(r, err, "the trace ends in the middle of a record");
    r->start += (size_t)(to - from);
    r->consumed += (size_t)(to - from);
    return ret;
}

/* --- writing --- */

static int begin(struct fe_trace_writer *w, struct fe_err *err)
{
    int code = fe_trace_put_header(w, header, err);
    char *p = code == 0 ? fe_trace_room(w, err) : NULL;

    if (!p)
        return w->broken;
    p = fe_put_text(p, last_line);
    *p++ = '\n';
    return fe_trace_used(w, p);
}

static unsigned size_of(uint64_t n)
{
    return n == 0 ? 0 : n <= UINT16_MAX ? 1 : n <= UINT32_MAX ? 2 : 3;
}

static char *put_number(char *p, uint64_t n, unsigned size)
{
    for (unsigned i = 0; i < bytes_of[size]; i++)
        *p++ = (char)(n >> 8 * i);
    return p;
}

static char *put_more(char *p, const struct fe_trace_rec *rec, bool *ret_any)
{
    const uint64_t n[N_FIELDS] = {
        [THINK] = rec->think_ns, [DONE] = rec->done_ns ? rec->done_ns - rec->time_ns + 1 : 0,
        [PROGRAMMED] = rec->programmed, [STREAM] = rec->stream, [DEPTH] = rec->depth,
        [STATUS] = rec->status, [COLLECTIONS] = rec->collections, [MERGES] = rec->merges,
    };
    char *sizes_at = p;
    uint64_t sizes = 0;

    p += 2;
    for (unsigned i = 0; i < N_FIELDS; i++) {
        unsigned size = size_of(n[i]);
        if (i == DONE && rec->done_ns && size == 0)
            size = 1; /* the difference is 2^64 - 1 */
        sizes |= (uint64_t)size << 2 * i;
        p = put_number(p, n[i], size);
    }
    put_number(sizes_at, sizes, 1);
    *ret_any = sizes != 0;
    return sizes ? p : sizes_at;
}

static int put_mark(struct fe_trace_writer *w, const struct fe_trace_rec *rec, char *p)
{
    struct last *last = w->state;
    uint64_t time = rec->time_ns - last->time_ns;
    size_t len = strlen(rec->mark);

    p = put_number(p, FE_REQ_FLUSH | MARK | size_of(time) << TIME_SHIFT, 1);
    p = put_number(p, time, size_of(time));
    p = put_number(p, len, 1);
    memcpy(p, rec->mark, len);
    last->time_ns = rec->time_ns;
    return fe_trace_used(w, p + len);
}

static int put(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err)
{
    struct last *last = w->state;
    char *p = fe_trace_room(w, err), *head_at = p;
    bool is_flush = rec->type == FE_REQ_FLUSH, has_more;
    bool fua = rec->fua && (rec->type == FE_REQ_WRITE || rec->type == FE_REQ_TRIM);
    uint64_t time = rec->time_ns - last->time_ns;
    unsigned shift = !is_flush && ((rec->offset | rec->len) & 511) == 0 ? 9 : 0;

    if (!p)
        return w->broken;
    if (rec->type == FE_TRACE_MARK)
        return put_mark(w, rec, p);
    unsigned offset = is_flush || rec->offset == last->end ? 0 : size_of(rec->offset >> shift);
    unsigned len = is_flush || rec->len == last->len ? 0 : size_of(rec->len >> shift);
    if (!is_flush && rec->offset != last->end && offset == 0)
        offset = 1; /* offset 0 is a number here */
    unsigned head = rec->type | size_of(time) << TIME_SHIFT | offset << OFFSET_SHIFT |
                    len << LEN_SHIFT | (fua ? FUA : 0) | (shift ? SECTORS : 0);
    p = put_number(p + 2, time, size_of(time));
    p = put_number(p, rec->offset >> shift, offset);
    p = put_number(p, rec->len >> shift, len);
    p = put_more(p, rec, &has_more);
    if (rec->data)
        p = put_number(p, rec->data, 3);
    put_number(head_at, head | (has_more ? MORE : 0) | (rec->data ? DATA : 0), 1);
    last->time_ns = rec->time_ns;
    if (!is_flush) {
        last->end = rec->offset + rec->len;
        last->len = rec->len;
    }
    return fe_trace_used(w, p);
}

const struct fe_trace_format fe_trace_binary = {
    .name = "binary",
    .summary = "the same as text, small and read fastest",
    .reader_state = sizeof(struct last),
    .writer_state = sizeof(struct last),
    .detect = detect,
    .parse = parse,
    .take = take_binary,
    .take_bytes = RECORD_MAX + 8,
    .holds_marks = true,
    .begin = begin,
    .put = put,
};
