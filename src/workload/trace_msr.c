/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CSV of the MSR Cambridge block traces (Narayanan, Donnelly, Rowstron, FAST 2008).
 *
 *     128166372003061629,usr,0,Read,7014609920,24576,41286
 *     Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
 *
 * Timestamp and ResponseTime are Windows file times, in units of 100 ns.  Offset and size are in
 * bytes.  The first line may hold the names of the columns.
 *
 * Times become relative to the first request.  The traces of several hosts are not perfectly
 * ordered: a request with an earlier date than the first one counts as simultaneous with it.
 */
#include "workload/trace_format.h"

#include "base/num.h"
#include "workload/number.h"

#include <errno.h>

enum { N_COLUMNS = 7, TICK_NS = 100, MAX_DISK = 128 };

/* The date of the first request in a trace that is written: February 2007, as in the published
 * traces. */
#define FIRST_TICK UINT64_C(128166372000000000)

static const char header[] = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

struct msr_reader {
    bool have_first;
    uint64_t first_tick;
    char disk[MAX_DISK]; /* the "HOST.DISK" of all requests so far; empty = none yet */
};

/* Splits a line at its commas.  Returns false if it does not have N_COLUMNS columns. */
static bool split(struct fe_span line, struct fe_span *column)
{
    const char *p = line.p, *end = line.p + line.len;

    for (int i = 0; i < N_COLUMNS; i++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        if ((comma == NULL) != (i == N_COLUMNS - 1))
            return false;
        const char *stop = comma ? comma : end;
        column[i] = (struct fe_span){p, (size_t)(stop - p)};
        p = comma ? comma + 1 : end;
    }
    return true;
}

static bool is_type(struct fe_span s)
{
    return fe_span_is(s, "Read") || fe_span_is(s, "Write");
}

static bool detect(struct fe_span line)
{
    struct fe_span column[N_COLUMNS];
    return fe_span_is(line, header) || (split(line, column) && is_type(column[3]));
}

/* Returns 1 if requests of this disk are wanted, 0 if not, or -EINVAL with message. */
static int wanted(struct fe_trace_reader *r, struct fe_span host, struct fe_span number,
                  struct fe_err *err)
{
    struct msr_reader *s = r->state;
    char disk[MAX_DISK];

    if (host.len == 0 || number.len == 0 || host.len + number.len + 2 > sizeof disk ||
        memchr(host.p, '\0', host.len) || memchr(number.p, '\0', number.len))
        return fe_trace_bad(r, err, "the host name or the disk number is empty, too long or "
                                    "holds a NUL");
    memcpy(disk, host.p, host.len);
    disk[host.len] = '.';
    memcpy(disk + host.len + 1, number.p, number.len);
    disk[host.len + 1 + number.len] = '\0';
    if (r->opt.device)
        return strcmp(disk, r->opt.device) == 0;
    if (s->disk[0] == '\0')
        memcpy(s->disk, disk, sizeof disk);
    if (strcmp(disk, s->disk) != 0)
        return fe_trace_bad(r, err, "requests of a second disk %s after %s; say which one", disk,
                            s->disk);
    return 1;
}

static int set_times(struct fe_trace_reader *r, uint64_t tick, uint64_t response,
                     struct fe_trace_rec *rec, struct fe_err *err)
{
    struct msr_reader *s = r->state;

    if (!s->have_first) {
        s->have_first = true;
        s->first_tick = tick;
    }
    uint64_t since = tick > s->first_tick ? tick - s->first_tick : 0;
    uint64_t wait_ns;
    if (!fe_mul_ok(since, TICK_NS, &rec->time_ns) || !fe_mul_ok(response, TICK_NS, &wait_ns) ||
        __builtin_add_overflow(rec->time_ns, wait_ns, &rec->done_ns))
        return fe_trace_bad(r, err, "more than 2^64 ns after the first request");
    return 1;
}

static int parse(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *rec,
                 struct fe_err *err)
{
    struct fe_span c[N_COLUMNS];
    uint64_t tick, response;

    if (r->line == 1 && fe_span_is(line, header))
        return 0;
    if (line.len == 0)
        return 0;
    if (!split(line, c))
        return fe_trace_bad(r, err, "expected %d columns: %s", N_COLUMNS, header);
    if (!is_type(c[3]))
        return fe_trace_bad(r, err, "'%.*s' is not Read or Write", fe_span_shown(c[3]), c[3].p);
    if (!fe_number_u64(c[0].p, c[0].len, &tick) ||
        !fe_number_u64(c[4].p, c[4].len, &rec->offset) ||
        !fe_number_u64(c[5].p, c[5].len, &rec->len) ||
        !fe_number_u64(c[6].p, c[6].len, &response))
        return fe_trace_bad(r, err, "timestamp, offset, size and response time must be plain "
                                    "numbers below 2^64");
    int ret = wanted(r, c[1], c[2], err);
    if (ret <= 0)
        return ret < 0 ? ret : fe_trace_skip(r);
    rec->type = fe_span_is(c[3], "Read") ? FE_REQ_READ : FE_REQ_WRITE;
    return set_times(r, tick, response, rec, err);
}

static int put(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err)
{
    int code = 0;

    if (rec->type != FE_REQ_READ && rec->type != FE_REQ_WRITE) {
        code = fe_trace_cannot(w, err, rec->type == FE_REQ_TRIM ? "trim" : "flush");
        return code; /* 0 with `lossy`: the record is left out */
    }
    if (rec->fua)
        code = fe_trace_cannot(w, err, "FUA");
    if (code == 0 && rec->think_ns)
        code = fe_trace_cannot(w, err, "think time");
    char *p = fe_trace_room(w, err);
    if (code < 0 || !p)
        return code < 0 ? code : w->broken;
    uint64_t took = rec->done_ns > rec->time_ns ? rec->done_ns - rec->time_ns : 0;
    p += fe_number_put(p, FIRST_TICK + rec->time_ns / TICK_NS);
    p = fe_put_text(p, ",flashemu,0,");
    p = fe_put_text(p, rec->type == FE_REQ_READ ? "Read," : "Write,");
    p += fe_number_put(p, rec->offset);
    *p++ = ',';
    p += fe_number_put(p, rec->len);
    *p++ = ',';
    p += fe_number_put(p, took / TICK_NS);
    *p++ = '\n';
    return fe_trace_used(w, p);
}

const struct fe_trace_format fe_trace_msr = {
    .name = "msr",
    .summary = "the CSV of the MSR Cambridge traces (--from-device HOST.DISK)",
    .reader_state = sizeof(struct msr_reader),
    .detect = detect,
    .parse = parse,
    .put = put,
};
