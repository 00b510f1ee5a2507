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
#include "report.h"
#include "source.h"
#include "svg.h"
#include "tool.h"

#include "base/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024, N_BINS = 140, N_CURVE = 200, N_SIZES = 40 };

struct req {
    uint64_t time_ns, done_ns; /* done_ns 0: not recorded */
    uint64_t offset, len;
    uint8_t type;
};

struct trace {
    struct req *reqs;
    size_t n, room;
    uint64_t count[FE_N_REQ_TYPES], bytes[FE_N_REQ_TYPES], in_order[FE_N_REQ_TYPES];
    uint64_t *latency[FE_N_REQ_TYPES]; /* of the requests with a completion, sorted */
    size_t n_latency[FE_N_REQ_TYPES];
    uint64_t begin_ns, end_ns, max_end, failed;
    bool timed; /* false: the x axis is the number of the request */
};

static const char *const names[] = {
    [FE_REQ_READ] = "read", [FE_REQ_WRITE] = "write", [FE_REQ_TRIM] = "trim",
    [FE_REQ_FLUSH] = "flush"};
static const char *const classes[] = {
    [FE_REQ_READ] = "read", [FE_REQ_WRITE] = "write", [FE_REQ_TRIM] = "other",
    [FE_REQ_FLUSH] = "other"};

/* --- reading --- */

static int keep(struct trace *t, const struct fe_trace_rec *rec, struct fe_err *err)
{
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 4096;
        struct req *reqs = reallocarray(t->reqs, room, sizeof *reqs);
        if (!reqs)
            return fe_err_nomem(err, "requests", room * sizeof *reqs);
        t->reqs = reqs;
        t->room = room;
    }
    t->reqs[t->n++] = (struct req){rec->time_ns, rec->done_ns, rec->offset, rec->len, rec->type};
    t->failed += rec->status != 0;
    return 0;
}

/* Reads the trace and begins its table with the origin. */
static int read_all(struct trace *t, FILE *out, const char *path, struct report_figures *ret,
                    struct fe_err *err)
{
    struct source_origin from;
    struct fe_trace_options options = {.format = NULL};
    struct fe_pattern_env env = {.sector_size = 512};
    struct fe_trace_rec recs[BATCH];
    struct source source;
    int n, r = source_open(&source, path, &options, &env, err);

    if (r < 0)
        return r;
    while ((n = source_read(&source, recs, BATCH, err)) > 0)
        for (int i = 0; i < n && r == 0; i++)
            r = keep(t, &recs[i], err);
    if (n == 0 && r == 0) {
        report_table_begin(out);
        if (source_origin(&source, &from))
            report_origin(out, &from.origin, ret);
    }
    source_close(&source);
    r = n < 0 ? n : r;
    return r == 0 && t->n == 0 ? fe_err_set(err, EINVAL, "%.200s: no requests in it", path) : r;
}

static void count(struct trace *t)
{
    uint64_t next[FE_N_REQ_TYPES] = {0};

    t->begin_ns = UINT64_MAX;
    for (size_t i = 0; i < t->n; i++) {
        const struct req *q = &t->reqs[i];
        t->in_order[q->type] += t->count[q->type] > 0 && q->offset == next[q->type];
        next[q->type] = q->offset + q->len;
        t->count[q->type]++;
        t->bytes[q->type] += q->len;
        t->n_latency[q->type] += q->done_ns > 0;
        t->begin_ns = q->time_ns < t->begin_ns ? q->time_ns : t->begin_ns;
        t->end_ns = q->time_ns > t->end_ns ? q->time_ns : t->end_ns;
        t->end_ns = q->done_ns > t->end_ns ? q->done_ns : t->end_ns;
        t->max_end = q->offset + q->len > t->max_end ? q->offset + q->len : t->max_end;
    }
    t->timed = t->end_ns > t->begin_ns;
}

static int sort_latencies(struct trace *t, struct fe_err *err)
{
    size_t at[FE_N_REQ_TYPES] = {0};

    for (int type = 0; type < FE_N_REQ_TYPES; type++) {
        size_t n = t->n_latency[type];
        t->latency[type] = calloc(n ? n : 1, sizeof *t->latency[type]);
        if (!t->latency[type])
            return fe_err_nomem(err, "latencies", n * sizeof *t->latency[type]);
    }
    for (size_t i = 0; i < t->n; i++) {
        const struct req *q = &t->reqs[i];
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

/* The latency that the given share of the requests does not exceed. */
static double quantile(const struct trace *t, int type, double share)
{
    size_t n = t->n_latency[type];
    size_t i = (size_t)ceil(share * (double)n);
    return n ? (double)t->latency[type][i ? i - 1 : 0] : NAN;
}

static double rate(const struct trace *t, int type)
{
    return t->timed && t->bytes[type]
               ? (double)t->bytes[type] * 1e9 / (double)(t->end_ns - t->begin_ns)
               : NAN;
}

static void print_type(FILE *out, const struct trace *t, int type)
{
    char size[FE_ROUNDED_MAX], mean[FE_ROUNDED_MAX], speed[FE_ROUNDED_MAX], p50[FE_ROUNDED_MAX],
        p99[FE_ROUNDED_MAX], most[FE_ROUNDED_MAX], what[32];
    double n = (double)t->count[type];

    if (t->count[type] == 0)
        return;
    snprintf(what, sizeof what, "%s requests", names[type]);
    if (t->bytes[type])
        report_row(out, what, "%.0f, %s, %s on average, %.0f %% in order", n,
                   fe_size_text((double)t->bytes[type], size),
                   fe_size_text((double)t->bytes[type] / n, mean),
                   100 * (double)t->in_order[type] / n);
    else
        report_row(out, what, "%.0f", n);
    if (isfinite(rate(t, type))) {
        snprintf(what, sizeof what, "%s rate", names[type]);
        report_row(out, what, "%s", fe_rate_text(rate(t, type), speed));
    }
    if (t->n_latency[type]) {
        snprintf(what, sizeof what, "%s latency", names[type]);
        report_row(out, what, "half within %s, 99 %% within %s, at most %s",
                   fe_time_text(quantile(t, type, 0.5), p50),
                   fe_time_text(quantile(t, type, 0.99), p99),
                   fe_time_text(quantile(t, type, 1), most));
    }
}

static void print_numbers(FILE *out, const struct trace *t)
{
    char span[FE_ROUNDED_MAX];

    if (t->timed)
        report_row(out, "time", "%s", fe_time_text((double)(t->end_ns - t->begin_ns), span));
    for (int type = 0; type < FE_N_REQ_TYPES; type++)
        print_type(out, t, type);
    if (t->failed)
        report_row(out, "answered with an error", "%llu", (unsigned long long)t->failed);
    report_table_end(out);
}

/* --- figures --- */

/* Makes the time axis from 0, or the axis of the requests' numbers.  Returns its unit's size. */
static double x_axis(const struct trace *t, struct svg_axis *x, char label[static 24])
{
    struct fe_unit unit = {1, ""};

    if (t->timed) {
        unit = fe_quantity_unit(FE_TIME, (double)(t->end_ns - t->begin_ns) / 2);
        snprintf(label, 24, "time, %s", unit.name);
        *x = (struct svg_axis){0, (double)(t->end_ns - t->begin_ns) / unit.size, false, label};
    } else {
        snprintf(label, 24, "request");
        *x = (struct svg_axis){0, (double)t->n, false, label};
    }
    return unit.size;
}

/* The place of request i on that axis: its completion, or its arrival. */
static double x_of(const struct trace *t, size_t i, double unit, bool at_end)
{
    const struct req *q = &t->reqs[i];
    uint64_t ns = at_end && q->done_ns ? q->done_ns : q->time_ns;
    return t->timed ? (double)(ns - t->begin_ns) / unit : (double)i;
}

static void draw_rates(FILE *out, const struct trace *t)
{
    double bytes[2][N_BINS] = {{0}}, x[N_BINS + 1], most = 0;
    char label[24];
    struct svg_plot p = {.out = out};

    if (!t->timed)
        return;
    double unit = x_axis(t, &p.x, label), bin = p.x.max / N_BINS;
    for (size_t i = 0; i < t->n; i++) {
        int type = t->reqs[i].type, at = (int)(x_of(t, i, unit, true) / bin);
        if (type == FE_REQ_READ || type == FE_REQ_WRITE)
            bytes[type == FE_REQ_WRITE][at < N_BINS ? at : N_BINS - 1] += (double)t->reqs[i].len;
    }
    for (int i = 0; i <= N_BINS; i++)
        x[i] = i * bin;
    for (int i = 0; i < N_BINS; i++)
        for (int w = 0; w < 2; w++) {
            bytes[w][i] = bytes[w][i] / (bin * unit / 1e9) / 1e6;
            most = fmax(most, bytes[w][i]);
        }
    if (most == 0)
        return;
    p.y = (struct svg_axis){0, most * 1.05, false, "MB/s"};
    svg_begin(&p, "Rate");
    for (int w = 0; w < 2; w++)
        if (t->bytes[w ? FE_REQ_WRITE : FE_REQ_READ])
            svg_steps(&p, w ? "write" : "read", x, bytes[w], N_BINS);
    svg_end(&p);
}

/* Draws a cloud for each type of request.  y() gives the height of a request, NAN for none. */
static int draw_clouds(struct svg_plot *p, const struct trace *t, double unit, const char *title,
                       double (*y)(const struct req *q, double unit), double y_unit,
                       struct fe_err *err)
{
    struct svg_cloud *cloud = malloc(sizeof *cloud);

    if (!cloud)
        return fe_err_nomem(err, "a figure", sizeof *cloud);
    svg_begin(p, title);
    for (int type = 0; type < FE_N_REQ_TYPES; type++) {
        bool any = false;
        memset(cloud, 0, sizeof *cloud);
        for (size_t i = 0; i < t->n; i++) {
            double value = t->reqs[i].type == type ? y(&t->reqs[i], y_unit) : NAN;
            if (!isfinite(value))
                continue;
            svg_cloud_add(cloud, p, x_of(t, i, unit, false), value);
            any = true;
        }
        if (any)
            svg_cloud_draw(p, classes[type], cloud);
    }
    svg_end(p);
    free(cloud);
    return 0;
}

static double address(const struct req *q, double unit)
{
    return q->len ? (double)q->offset / unit : NAN;
}

static double latency(const struct req *q, double unit)
{
    return q->done_ns > q->time_ns ? (double)(q->done_ns - q->time_ns) / unit : NAN;
}

static int draw_addresses(FILE *out, const struct trace *t, struct fe_err *err)
{
    struct fe_unit size = fe_quantity_unit(FE_SIZE, (double)t->max_end / 2);
    char label[24], y_label[32];
    struct svg_plot p = {.out = out};

    if (t->max_end == 0)
        return 0;
    double unit = x_axis(t, &p.x, label);
    snprintf(y_label, sizeof y_label, "address, %s", size.name);
    p.y = (struct svg_axis){0, (double)t->max_end / size.size, false, y_label};
    return draw_clouds(&p, t, unit, "Addresses", address, size.size, err);
}

/* An axis in decades of ms for all latencies; false if there are none. */
static bool latency_axis(const struct trace *t, struct svg_axis *a)
{
    double least = INFINITY, most = 0;

    for (int type = 0; type < FE_N_REQ_TYPES; type++)
        if (t->n_latency[type]) {
            least = fmin(least, fmax(1, (double)t->latency[type][0]));
            most = fmax(most, quantile(t, type, 1));
        }
    if (most < 1)
        return false;
    *a = (struct svg_axis){pow(10, floor(log10(least))) / 1e6, pow(10, ceil(log10(most))) / 1e6,
                           true, "latency, ms"};
    if (a->max <= a->min)
        a->max = 10 * a->min;
    return true;
}

static int draw_latencies(FILE *out, const struct trace *t, struct fe_err *err)
{
    struct svg_plot p = {.out = out};
    char label[24];
    double x[N_CURVE + 1], y[N_CURVE + 1];

    if (!latency_axis(t, &p.y))
        return 0;
    double unit = x_axis(t, &p.x, label);
    int r = draw_clouds(&p, t, unit, "Latency of each request", latency, 1e6, err);
    if (r < 0)
        return r;
    p.x = p.y;
    p.y = (struct svg_axis){0, 100, false, "% of requests"};
    svg_begin(&p, "Latency: share of the requests within");
    for (int type = 0; type < FE_N_REQ_TYPES; type++) {
        if (t->n_latency[type] == 0)
            continue;
        for (int i = 0; i <= N_CURVE; i++) {
            y[i] = 100.0 * i / N_CURVE;
            x[i] = quantile(t, type, y[i] / 100) / 1e6;
        }
        svg_line(&p, classes[type], x, y, N_CURVE + 1);
    }
    svg_end(&p);
    return 0;
}

static void draw_sizes(FILE *out, const struct trace *t)
{
    uint64_t sizes[N_SIZES] = {0};
    struct svg_bar bars[N_SIZES];
    char labels[N_SIZES][FE_ROUNDED_MAX + 16];
    uint32_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        int bin = 0;
        while (bin < N_SIZES - 1 && (UINT64_C(512) << bin) < t->reqs[i].len)
            bin++;
        sizes[bin] += t->reqs[i].len > 0;
    }
    for (int bin = 0; bin < N_SIZES; bin++)
        if (sizes[bin]) {
            char value[FE_ROUNDED_MAX];
            snprintf(labels[n], sizeof labels[n], "up to %s",
                     fe_size_text((double)(UINT64_C(512) << bin), value));
            bars[n] = (struct svg_bar){labels[n], (double)sizes[bin], NULL};
            n++;
        }
    if (n)
        svg_bars(out, "Sizes of requests", bars, n);
}

int report_trace(FILE *out, const char *path, struct report_figures *ret, struct fe_err *err)
{
    struct trace t = {0};
    int r = read_all(&t, out, path, ret, err);

    if (r == 0) {
        count(&t);
        r = sort_latencies(&t, err);
    }
    if (r == 0) {
        print_numbers(out, &t);
        draw_rates(out, &t);
        r = draw_addresses(out, &t, err);
    }
    if (r == 0)
        r = draw_latencies(out, &t, err);
    if (r == 0) {
        draw_sizes(out, &t);
        ret->read_rate = rate(&t, FE_REQ_READ);
        ret->write_rate = rate(&t, FE_REQ_WRITE);
        ret->waf = NAN;
        ret->read_p99_ns = quantile(&t, FE_REQ_READ, 0.99);
        ret->write_p99_ns = quantile(&t, FE_REQ_WRITE, 0.99);
    }
    for (int type = 0; type < FE_N_REQ_TYPES; type++)
        free(t.latency[type]);
    free(t.reqs);
    return r;
}
