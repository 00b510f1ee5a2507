/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A trace as numbers and figures: what was asked for (rates, addresses, sizes) and, where
 * completions were recorded, how long it took.
 *
 * Requests count at their completion, or at their arrival if the completion is not known.  A trace
 * without any times (from a generator, or fio's version 2) is drawn over the number of the
 * request.  The latency is the time from arrival to completion; in a closed loop it is that of the
 * device.
 */
#include "replay/source.h"
#include "report/trace.h"
#include "tool.h"

#include "base/quantity.h"
#include "base/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { BATCH = 1024 };

const char *const report_types[FE_N_REQ_TYPES] = {
    [FE_REQ_READ] = "read", [FE_REQ_WRITE] = "write", [FE_REQ_TRIM] = "trim",
    [FE_REQ_FLUSH] = "flush"};

/* --- reading --- */

static int keep(struct report_trace *t, const struct fe_trace_rec *rec, struct fe_err *err)
{
    struct report_req *reqs = fe_table_grow(t->reqs, t->n + 1, &t->room, sizeof *reqs);
    if (!reqs)
        return fe_err_nomem(err, "requests", (t->n + 1) * sizeof *reqs);
    t->reqs = reqs;
    uint64_t programmed = rec->programmed / 512;
    t->reqs[t->n++] = (struct report_req){
        .time_ns = rec->time_ns,
        .done_ns = rec->done_ns,
        .offset = rec->offset,
        .len = rec->len,
        .programmed = programmed > UINT32_MAX ? UINT32_MAX : (uint32_t)programmed,
        .type = rec->type,
        .fua = rec->fua,
        .collected = rec->collections > 0,
        .merged = rec->merges > 0,
    };
    t->programmed += (double)rec->programmed;
    t->failed += rec->status != 0;
    return 0;
}

/* Reads the trace and begins its table with the origin. */
static int read_all(struct report_trace *t, FILE *out, const char *path, struct report_figures *ret,
                    struct fe_err *err)
{
    struct source_origin from;
    struct fe_trace_options options = {.marks = true}; /* passed over, and nothing that is missing */
    struct fe_pattern_env env = {.sector_size = 512};
    struct fe_trace_rec recs[BATCH];
    struct source source;
    int n, r = source_open(&source, path, &options, &env, 0, err);

    if (r < 0)
        return r;
    while ((n = source_read(&source, recs, BATCH, err)) > 0)
        for (int i = 0; i < n && r == 0; i++)
            if (recs[i].type != FE_TRACE_MARK)
                r = keep(t, &recs[i], err);
    const char *missing = source_missing(&source);
    if (n == 0 && r == 0 && t->n == 0) {
        r = fe_err_set(err, EINVAL, "%.200s: no requests in it%s%s", path, missing ? "; " : "",
                       missing ? missing : "");
    } else if (n == 0 && r == 0) {
        report_table_begin(out);
        if (source_origin(&source, &from))
            report_origin(out, &from.origin, ret);
        t->missing = missing;
        source_report_rest(&source);
    }
    source_close(&source);
    return n < 0 ? n : r;
}

static void count(struct report_trace *t)
{
    uint64_t next[FE_N_REQ_TYPES] = {0};

    t->begin_ns = UINT64_MAX;
    for (size_t i = 0; i < t->n; i++) {
        const struct report_req *q = &t->reqs[i];
        t->in_order[q->type] += t->count[q->type] > 0 && q->offset == next[q->type];
        next[q->type] = q->offset + q->len;
        t->count[q->type]++;
        t->bytes[q->type] += q->len;
        t->n_latency[q->type] += q->done_ns > 0;
        if (q->done_ns > 0)
            fe_commits_add(&t->commits, q->type, q->fua, q->time_ns,
                           q->done_ns > q->time_ns ? q->done_ns : q->time_ns);
        t->begin_ns = q->time_ns < t->begin_ns ? q->time_ns : t->begin_ns;
        t->end_ns = q->time_ns > t->end_ns ? q->time_ns : t->end_ns;
        t->end_ns = q->done_ns > t->end_ns ? q->done_ns : t->end_ns;
        t->max_end = q->offset + q->len > t->max_end ? q->offset + q->len : t->max_end;
    }
    t->timed = t->end_ns > t->begin_ns;
}

static int sort_latencies(struct report_trace *t, struct fe_err *err)
{
    size_t at[FE_N_REQ_TYPES] = {0};

    for (int type = 0; type < FE_N_REQ_TYPES; type++) {
        size_t n = t->n_latency[type];
        t->latency[type] = calloc(n ? n : 1, sizeof *t->latency[type]);
        if (!t->latency[type])
            return fe_err_nomem(err, "latencies", n * sizeof *t->latency[type]);
    }
    for (size_t i = 0; i < t->n; i++) {
        const struct report_req *q = &t->reqs[i];
        if (q->done_ns > 0)
            t->latency[q->type][at[q->type]++] = q->done_ns > q->time_ns ? q->done_ns - q->time_ns
                                                                         : 0;
    }
    for (int type = 0; type < FE_N_REQ_TYPES; type++)
        qsort(t->latency[type], t->n_latency[type], sizeof *t->latency[type],
              tool_compare_u64);
    return 0;
}

/* --- numbers --- */

static double rate(const struct report_trace *t, int type)
{
    return t->timed && t->bytes[type]
               ? (double)t->bytes[type] * 1e9 / (double)(t->end_ns - t->begin_ns)
               : NAN;
}

static void print_type(FILE *out, const struct report_trace *t, int type)
{
    char size[FE_ROUNDED_MAX], mean[FE_ROUNDED_MAX], speed[FE_ROUNDED_MAX], what[32];
    double n = (double)t->count[type];

    if (t->count[type] == 0)
        return;
    snprintf(what, sizeof what, "%s requests", report_types[type]);
    if (t->bytes[type])
        report_row(out, what, "%.0f, %s, %s on average, %.0f %% in order", n,
                   report_bytes((double)t->bytes[type], size),
                   report_bytes((double)t->bytes[type] / n, mean),
                   100 * (double)t->in_order[type] / n);
    else
        report_row(out, what, "%.0f", n);
    if (isfinite(rate(t, type))) {
        snprintf(what, sizeof what, "%s rate", report_types[type]);
        report_row(out, what, "%s", fe_rate_text(rate(t, type), speed));
    }
    if (t->n_latency[type]) {
        snprintf(what, sizeof what, "%s latency", report_types[type]);
        report_latencies(out, what, "", report_quantile(t, type, 0.5),
                         report_quantile(t, type, 0.99), NAN, report_quantile(t, type, 1));
    }
}

static void print_commits(FILE *out, const struct report_trace *t)
{
    struct fe_hist h;
    char count[32];

    fe_commits_latency(&t->commits, &h);
    snprintf(count, sizeof count, "%llu: ", (unsigned long long)h.count);
    if (h.count)
        report_latencies(out, "commits", count, (double)fe_hist_quantile(&h, 500000),
                         (double)fe_hist_quantile(&h, 990000),
                         (double)fe_hist_quantile(&h, 999000), (double)h.max);
}

static void print_numbers(FILE *out, const struct report_trace *t)
{
    char span[FE_ROUNDED_MAX];

    if (t->missing)
        report_row(out, "incomplete", "%s", t->missing);
    if (t->timed)
        report_row(out, "time", "%s", fe_time_text((double)(t->end_ns - t->begin_ns), span));
    for (int type = 0; type < FE_N_REQ_TYPES; type++)
        print_type(out, t, type);
    print_commits(out, t);
    if (t->programmed > 0 && t->bytes[FE_REQ_WRITE])
        report_row(out, "write amplification", "%.3f",
                   t->programmed / (double)t->bytes[FE_REQ_WRITE]);
    if (t->failed)
        report_row(out, "answered with an error", "%llu", (unsigned long long)t->failed);
    report_table_end(out);
}

int report_trace(FILE *out, const char *path, struct report_figures *ret, struct fe_err *err)
{
    struct report_trace t = {0};
    int r = read_all(&t, out, path, ret, err);

    if (r == 0) {
        count(&t);
        r = sort_latencies(&t, err);
    }
    if (r == 0) {
        print_numbers(out, &t);
        r = report_figures_draw(out, &t, err);
    }
    if (r == 0) {
        ret->read_rate = rate(&t, FE_REQ_READ);
        ret->write_rate = rate(&t, FE_REQ_WRITE);
        ret->waf = t.programmed > 0 && t.bytes[FE_REQ_WRITE]
                       ? t.programmed / (double)t.bytes[FE_REQ_WRITE]
                       : NAN;
        ret->span_ns = t.timed ? (double)(t.end_ns - t.begin_ns) : NAN;
        ret->read_p99_ns = report_quantile(&t, FE_REQ_READ, 0.99);
        ret->write_p99_ns = report_quantile(&t, FE_REQ_WRITE, 0.99);
    }
    for (int type = 0; type < FE_N_REQ_TYPES; type++)
        free(t.latency[type]);
    free(t.reqs);
    return r;
}
