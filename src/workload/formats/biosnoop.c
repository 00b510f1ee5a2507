/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What biosnoop of bcc prints (iovisor/bcc: tools/biosnoop.py and libbpf-tools/biosnoop.c).
 *
 *     TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)
 *     0.000004    supervise      1950   xvda1   W 13092560   4096      0.01    0.74
 *
 * The first line names the columns, which differ between versions and options; without it they are
 * those above, with or without QUE(ms).  COMM may hold blanks.  T is R or W, or RWBS.  Sectors have 512
 * bytes.
 *
 * A line is printed when the request is done.  So TIME is its end, LAT(ms) in front of it the driver
 * got it, and that is its time here.  The first request is the start of the trace.  Lines come in
 * order of ends and are put in order of beginnings.
 */
#include "workload/formats/columns.h"
#include "workload/formats/event.h"

#include "base/num.h"
#include "workload/number.h"
#include "workload/formats/hold.h"

enum column { TIME, COMM, PID, DISK, TYPE, SECTOR, BYTES, QUEUED, LATENCY, N_COLUMNS };
enum { MAX_WORDS = 32, MOST = 16 };

static const char *const names[N_COLUMNS] = {
    "TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES", "QUE(ms)", "LAT(ms)",
};
static const char with_queue[] = "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)";
static const char without_queue[] = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)";

/* How many words a line has, COMM being one, and where each column is; -1 = nowhere. */
struct layout {
    int n, at[N_COLUMNS];
};

struct biosnoop_reader {
    struct layout layout; /* n = 0: not known yet */
};

struct request {
    uint64_t end_ns, took_ns, pid, offset, len;
    struct fe_span disk;
    struct fe_trace_rwbs rwbs;
};

static bool read_header(struct fe_span line, struct layout *ret)
{
    struct fe_span word;

    *ret = (struct layout){.n = 0};
    for (int i = 0; i < N_COLUMNS; i++)
        ret->at[i] = -1;
    while ((word = fe_span_word(&line)).len > 0 && ret->n < MOST) {
        for (int i = 0; i < N_COLUMNS; i++)
            if (fe_span_is(word, names[i]))
                ret->at[i] = ret->n;
        ret->n++;
    }
    return ret->at[TIME] == 0 && ret->at[COMM] == 1 && ret->at[DISK] >= 0 && ret->at[TYPE] >= 0 &&
           ret->at[SECTOR] >= 0 && ret->at[BYTES] >= 0 && ret->at[LATENCY] >= 0;
}

/* Splits a line; COMM takes the words that are too many, or has none. */
static bool split(const struct layout *l, struct fe_span line, struct fe_span *column)
{
    struct fe_span word[MAX_WORDS];
    int n = 0;

    while (n < MAX_WORDS && (word[n] = fe_span_word(&line)).len > 0)
        n++;
    int extra = n - l->n;
    if (extra < -1 || n == MAX_WORDS)
        return false;
    for (int i = 0; i < N_COLUMNS; i++) {
        int at = l->at[i];
        column[i] = at < 0 || (i == COMM && extra < 0) ? (struct fe_span){"", 0}
                                                       : word[at > 1 ? at + extra : at];
    }
    return true;
}

static bool read_request(const struct layout *l, struct fe_span line, struct request *ret)
{
    struct fe_span c[N_COLUMNS];
    uint64_t sector;

    *ret = (struct request){0};
    if (!split(l, line, c))
        return false;
    ret->disk = c[DISK];
    return fe_columns_time(c[TIME], FE_NS_PER_S, true, &ret->end_ns) &&
           fe_columns_time(c[LATENCY], FE_NS_PER_MS, true, &ret->took_ns) &&
           (l->at[PID] < 0 || fe_number_u64(c[PID].p, c[PID].len, &ret->pid)) &&
           ret->pid <= UINT32_MAX && c[DISK].len > 0 && c[DISK].len < FE_TRACE_DEVICE &&
           !memchr(c[DISK].p, '\0', c[DISK].len) && fe_trace_parse_rwbs(c[TYPE], &ret->rwbs) &&
           fe_number_u64(c[SECTOR].p, c[SECTOR].len, &sector) &&
           fe_number_u64(c[BYTES].p, c[BYTES].len, &ret->len) &&
           (ret->len == 0 || fe_mul_ok(sector, FE_SECTOR, &ret->offset));
}

/* Finds out the columns: those of a header, or those that this line fits. */
static bool find_layout(struct fe_span line, struct layout *ret)
{
    static const char *const usual[] = {without_queue, with_queue};
    struct request request;

    if (read_header(line, ret))
        return true;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        read_header((struct fe_span){usual[i], strlen(usual[i])}, ret);
        if (read_request(ret, line, &request))
            return true;
    }
    *ret = (struct layout){.n = 0};
    return false;
}

static bool detect(struct fe_span line)
{
    struct layout layout;
    return find_layout(line, &layout);
}

static int parse(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *rec,
                 struct fe_err *err)
{
    struct biosnoop_reader *s = r->state;
    struct fe_span rest = line;
    struct request q;
    struct layout header;

    if (fe_span_word(&rest).len == 0)
        return 0;
    if (s->layout.n == 0 && !find_layout(line, &s->layout))
        return fe_trace_bad(r, err, "expected the columns %s", with_queue);
    if (read_header(line, &header))
        return 0;
    if (!read_request(&s->layout, line, &q))
        return fe_trace_bad(r, err, "expected TIME(s), COMM, PID, DISK, T (R, W or RWBS), SECTOR, "
                                    "BYTES and LAT(ms) as the first line has them");
    bool data = q.len > 0 && q.rwbs.op != 'N';
    if (!data && !q.rwbs.flush)
        return fe_trace_skip(r);
    int ret = fe_trace_wanted(r, q.disk, err);
    if (ret <= 0)
        return ret < 0 ? ret : fe_trace_skip(r);
    /* the first end may be nearer to 0 than its latency */
    uint64_t far = UINT64_C(1) << 62, end;
    if (q.took_ns > far || __builtin_add_overflow(q.end_ns, far, &end))
        return fe_trace_bad(r, err, "times beyond 2^62 ns");
    rec->time_ns = fe_trace_since_first(r, end - q.took_ns);
    rec->done_ns = rec->time_ns + q.took_ns;
    rec->stream = (uint32_t)q.pid;
    struct fe_trace_rec flush = *rec;
    flush.type = FE_REQ_FLUSH;
    rec->type = q.rwbs.op == 'D' ? FE_REQ_TRIM : q.rwbs.op == 'W' ? FE_REQ_WRITE : FE_REQ_READ;
    rec->fua = q.rwbs.fua && rec->type != FE_REQ_READ;
    rec->offset = q.offset;
    rec->len = q.len;
    if (q.rwbs.flush)
        ret = fe_trace_hold(r, &flush, true, err);
    if (ret >= 0 && data)
        ret = fe_trace_hold(r, rec, true, err);
    return ret < 0 ? ret : 0;
}

const struct fe_trace_format fe_trace_biosnoop = {
    .name = "biosnoop",
    .summary = "what biosnoop of bcc prints (--from-device DISK)",
    .reader_state = sizeof(struct biosnoop_reader),
    .detect = detect,
    .parse = parse,
};
