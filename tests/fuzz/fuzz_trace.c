/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The trace readers and writers.  The input is the contents of a trace file:
 *
 *     bytes --read--> records --write--> a file in each format --read--> records
 *
 * Reading gives records that a device could take, and then the end or one message.  The result
 * does not depend on how many records are asked for at a time.
 *
 * workload/trace.h describes what each format keeps.  The table `rules` repeats it, and `expect`
 * computes from it which records have to come back.  A writer that may not leave anything out
 * refuses exactly the records that the format cannot hold.  A format without a rule is tested
 * less: records that were read from it must stay the same when they are written once more.
 *
 * Each input is read twice.  The first time the reader finds the format in the first line.  The
 * second time the length of the input chooses the format, a device and a kind of event.
 */
#include "fuzz.h"

#include "workload/formats/format.h"

#include <errno.h>

#define WAIT_MIN_US 100u /* fio ignores shorter waits */
#define SECTOR     512u

/* What a format keeps.  Every format keeps type, offset and length. */
static const struct rule {
    const char *format;
    const char *device;  /* a name of a device in this format, for the option `device` */
    uint64_t tick_ns;    /* times are rounded down to multiples of this */
    bool all;            /* every field */
    bool fua, stream, done;
    bool waits;          /* a time is a sum of waits, each of 100 us or more */
    bool relative;       /* times count from the first record; an earlier time becomes 0 */
    bool data_only;      /* the format has neither trim nor flush */
    bool sorted;         /* the reader puts requests in order of time */
    uint64_t first_ns;   /* of the first date: times that make 2^64 ns with it are left out */
} rules[] = {
    {.format = "text", .all = true, .fua = true, .tick_ns = 1},
    {.format = "binary", .all = true, .fua = true, .tick_ns = 1},
    {.format = "iolog", .device = "/dev/x", .tick_ns = 1000},
    {.format = "iolog2", .device = "/dev/x", .tick_ns = 1000, .waits = true},
    {.format = "blkparse", .device = "8,0", .tick_ns = 1, .fua = true, .stream = true,
     .sorted = true},
    {.format = "msr", .device = "usr.0", .tick_ns = 100, .done = true, .relative = true,
     .data_only = true, .first_ns = UINT64_C(12816637200000000000)},
    {.format = "systor", .device = "0", .tick_ns = 1, .done = true, .relative = true,
     .data_only = true, .first_ns = UINT64_C(1456095145000000000)},
    {.format = "alibaba", .device = "0", .tick_ns = 1000, .relative = true, .data_only = true,
     .first_ns = UINT64_C(1577808000000000000)},
    {.format = "spc", .device = "0", .tick_ns = 1, .data_only = true},
    {.format = "mqsim", .device = "0", .tick_ns = 1, .data_only = true},
    {.format = "disksim", .device = "0", .tick_ns = 1, .data_only = true},
};

/* The rule of a format, or NULL if the table has none. */
static const struct rule *rule_of(const struct fe_trace_format *format)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].format, format->name) == 0)
            return &rules[i];
    return NULL;
}

struct records {
    struct fe_trace_rec *rec;
    size_t n, room;
    int result; /* 0, or the negative errno */
    const struct fe_trace_format *format;
    uint64_t skipped;
};

/* last_line: 0 = lines may run backwards */
static void check_record(const struct fe_trace_rec *rec, uint64_t last_line, uint32_t sector)
{
    FT_MUST(rec->type < FE_N_REQ_TYPES && rec->status <= FE_HOST_FAILED, "type %u, status %u",
            rec->type, rec->status);
    FT_MUST(rec->line > 0 && rec->line >= last_line, "line %llu after %llu",
            (unsigned long long)rec->line, (unsigned long long)last_line);
    FT_MUST(!rec->fua || rec->type == FE_REQ_WRITE || rec->type == FE_REQ_TRIM, "FUA of a read");
    FT_MUST(!rec->done_ns || rec->done_ns >= rec->time_ns, "done before it began");
    if (rec->type == FE_REQ_FLUSH)
        FT_MUST(rec->offset == 0 && rec->len == 0, "a flush with a range");
    else
        FT_MUST(rec->len > 0 && rec->len % sector == 0 && rec->offset % sector == 0 &&
                    rec->len <= FE_TRACE_MAX_END && rec->offset <= FE_TRACE_MAX_END - rec->len,
                "range %llu+%llu", (unsigned long long)rec->offset, (unsigned long long)rec->len);
}

static void check_message(int result, const struct fe_err *err)
{
    FT_MUST(result == -EINVAL, "result %d", result);
    FT_MUST(strncmp(err->text, "t:", 2) == 0, "message '%s' does not name the file", err->text);
}

static void room_for(struct records *r, size_t more)
{
    if (r->n + more <= r->room)
        return;
    r->room = 2 * r->room + more;
    r->rec = reallocarray(r->rec, r->room, sizeof *r->rec);
    FT_MUST(r->rec, "no memory");
}

static void take_all(struct records *r, struct fe_trace_reader *reader, uint32_t batch,
                     uint32_t sector)
{
    struct fe_trace_rec more[1];
    struct fe_err err = {""}, again = {""};
    int n = 1;

    while (n > 0) {
        room_for(r, batch);
        n = fe_trace_read(reader, r->rec + r->n, batch, &err);
        FT_MUST(n <= (int)batch, "%d records of %u", n, batch);
        for (int i = 0; i < n; i++, r->n++)
            check_record(&r->rec[r->n], r->n && !reader->held ? r->rec[r->n - 1].line : 0, sector);
    }
    r->result = n;
    if (n == 0)
        return;
    check_message(n, &err);
    FT_MUST(fe_trace_read(reader, more, 1, &again) == n && strcmp(again.text, err.text) == 0,
            "the error does not stay: '%s', then '%s'", err.text, again.text);
}

static struct records read_trace(const void *data, size_t len, uint32_t batch,
                                 const struct fe_trace_options *opt)
{
    struct records r = {.n = 0};
    struct fe_trace_reader *reader = NULL;
    struct fe_err err = {""};
    FILE *f = len ? fmemopen((void *)data, len, "rb") : fopen("/dev/null", "rb");

    FT_MUST(f, "no memory");
    r.result = fe_trace_reader_open(&reader, f, "t", opt, &err);
    if (r.result < 0) {
        check_message(r.result, &err);
    } else {
        take_all(&r, reader, batch, opt->sector_size ? opt->sector_size : SECTOR);
        r.format = reader->opt.format;
        r.skipped = fe_trace_skipped(reader);
        FT_MUST(fe_trace_consumed(reader) <= len, "more than the file has");
        fe_trace_reader_close(reader);
    }
    fclose(f);
    return r;
}

/* Compares field by field, because the padding may differ.  lines: both come from the same file,
 * so the line numbers must be equal, too. */
static void check_same(const struct records *a, const struct records *b, bool lines)
{
    FT_MUST(a->n == b->n, "%zu records instead of %zu", b->n, a->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct fe_trace_rec *x = &a->rec[i], *y = &b->rec[i];
        FT_MUST(x->time_ns == y->time_ns && x->done_ns == y->done_ns, "record %zu: times", i);
        FT_MUST(x->offset == y->offset && x->len == y->len && x->type == y->type &&
                    x->fua == y->fua, "record %zu: request", i);
        FT_MUST(x->think_ns == y->think_ns && x->stream == y->stream && x->depth == y->depth &&
                    x->status == y->status, "record %zu: what else was recorded", i);
        FT_MUST(x->programmed == y->programmed && x->collections == y->collections &&
                    x->merges == y->merges, "record %zu: work", i);
        FT_MUST(!lines || x->line == y->line, "record %zu: line", i);
    }
}

static bool is_data(const struct fe_trace_rec *rec)
{
    return rec->type == FE_REQ_READ || rec->type == FE_REQ_WRITE;
}

/* Returns whether the format can hold the record without leaving anything out. */
static bool holds(const struct rule *k, const struct fe_trace_rec *rec)
{
    return (k->all || !rec->think_ns) && (k->fua || !rec->fua) &&
           (!k->data_only || is_data(rec)) && rec->time_ns <= UINT64_MAX - k->first_ns;
}

/* Computes the records that have to be read back after `in` was written. */
static struct records expect(const struct rule *k, const struct records *in)
{
    struct records out = {.n = 0};
    uint64_t wait_tick = 0, first_tick = 0;

    for (size_t i = 0; i < in->n; i++) {
        struct fe_trace_rec rec = in->rec[i], kept = rec;
        uint64_t took = rec.done_ns > rec.time_ns ? rec.done_ns - rec.time_ns : 0;
        uint64_t tick = rec.time_ns / k->tick_ns;
        if ((k->data_only && !is_data(&rec)) || rec.time_ns > UINT64_MAX - k->first_ns)
            continue;
        if (k->waits)
            tick = wait_tick = tick >= wait_tick + WAIT_MIN_US ? tick : wait_tick;
        if (k->relative) {
            first_tick = out.n ? first_tick : tick;
            tick = tick > first_tick ? tick - first_tick : 0;
        }
        if (!k->all) {
            kept = (struct fe_trace_rec){.offset = rec.offset, .len = rec.len, .type = rec.type};
            kept.time_ns = tick * k->tick_ns;
            kept.fua = k->fua && rec.fua;
            kept.stream = k->stream ? rec.stream : 0;
            kept.done_ns = k->done ? kept.time_ns + took / k->tick_ns * k->tick_ns : 0;
        }
        room_for(&out, 1);
        size_t at = out.n++;
        for (; k->sorted && at > 0 && out.rec[at - 1].time_ns > kept.time_ns; at--)
            out.rec[at] = out.rec[at - 1];
        out.rec[at] = kept;
    }
    return out;
}

static int write_trace(const struct records *in, const struct fe_trace_format *format, bool lossy,
                       char **ret_text, size_t *ret_len)
{
    struct fe_trace_writer_options opt = {.format = format, .lossy = lossy};
    struct fe_trace_writer *w;
    struct fe_err err = {""};
    FILE *f = open_memstream(ret_text, ret_len);

    FT_MUST(f && fe_trace_writer_open(&w, f, "w", &opt, &err) == 0, "writer: %s", err.text);
    int r = fe_trace_write(w, in->rec, (uint32_t)in->n, &err);
    FT_MUST(r == 0 || strncmp(err.text, "w: record ", 10) == 0, "message '%s'", err.text);
    FT_MUST(fe_trace_writer_close(w, NULL) == 0, "what was written cannot be ended");
    FT_MUST(fclose(f) == 0, "no memory");
    return r;
}

/* Writes the records, reads them, and checks that the format is recognised. */
static struct records write_and_read(const struct records *in, const struct fe_trace_format *format,
                                     uint32_t sector, bool *ret_whole)
{
    struct fe_trace_options opt = {.sector_size = sector};
    const char *name = format->name;
    char *text;
    size_t len;
    int r = write_trace(in, format, false, &text, &len);

    *ret_whole = r == 0;
    if (r < 0) {
        free(text);
        r = write_trace(in, format, true, &text, &len);
        FT_MUST(r == 0, "%s: refused though it may leave things out", name);
    }
    struct records got = read_trace(text, len, 16, &opt);
    FT_MUST(len == 0 || got.result == 0, "%s cannot be read again:\n%s", name, text);
    /* One reader reads both versions of iolog, and calls them iolog. */
    FT_MUST(len == 0 || strncmp(name, got.format->name,
                                strlen(got.format->name)) == 0,
            "%s is taken for %s", name, got.format->name);
    free(text);
    return got;
}

static void check_format(const struct records *in, const struct fe_trace_format *format,
                         uint32_t sector)
{
    const struct rule *k = rule_of(format);
    bool whole, again_whole, wanted_whole = true;
    struct records got = write_and_read(in, format, sector, &whole);

    if (k) {
        struct records wanted = expect(k, in);
        for (size_t i = 0; i < in->n; i++)
            wanted_whole = wanted_whole && holds(k, &in->rec[i]);
        FT_MUST(whole == wanted_whole, "%s: %s", k->format, whole ? "taken" : "refused");
        check_same(&wanted, &got, false);
        free(wanted.rec);
    } else {
        struct records again = write_and_read(&got, format, sector, &again_whole);
        FT_MUST(again_whole, "%s: what was read is refused", format->name);
        check_same(&got, &again, false);
        free(again.rec);
    }
    free(got.rec);
}

static void check_trace(const uint8_t *data, size_t size, const struct fe_trace_options *opt)
{
    struct records all = read_trace(data, size, 64, opt), single = read_trace(data, size, 1, opt);

    check_same(&all, &single, true);
    FT_MUST(all.result == single.result && all.skipped == single.skipped, "result by batch");
    for (unsigned i = 0; fe_trace_format_at(i); i++)
        if (fe_trace_format_at(i)->put)
            check_format(&all, fe_trace_format_at(i), opt->sector_size);
    free(all.rec);
    free(single.rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fe_trace_options plain = {.format = NULL};
    unsigned n = 0;

    while (fe_trace_format_at(n))
        n++;
    const struct fe_trace_format *format = fe_trace_format_at(size % n);
    const struct rule *k = rule_of(format);
    const struct fe_trace_options chosen = {
        .format = format, .sector_size = size & 8 ? 4096 : SECTOR,
        .device = size & 16 && k ? k->device : NULL, .event = "DQGIC"[size / 32 % 5]};

    check_trace(data, size, &plain);
    check_trace(data, size, &chosen);
    return 0;
}
