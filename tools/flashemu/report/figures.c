/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The figures of a trace.
 *
 *   over time       rates, write amplification, addresses, latencies
 *   of the device   how often each part was written
 *   of all          the tail of the latencies, the sizes
 *
 * A rate is one value for each of N_BINS parts of the time.  The clouds have every request, so
 * their cost is that of a pass over the trace for each kind of point.
 */
#include "report/trace.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_BINS = 170, N_SIZES = 40, MAP_COLUMNS = 40, MAP_ROWS = 10 };

/* The kinds of points and lines: a class of the style, and its text in the key. */
enum kind { READ, WRITE, OTHER, COLLECTION, MERGE, N_KINDS };
static const struct svg_key kinds[N_KINDS] = {
    {"read", "read"}, {"write", "write"}, {"other", "trim, flush"}, {"gc", "with collection"},
    {"merge", "with merge"}};

static enum kind kind_of_type(int type)
{
    return type == FE_REQ_READ ? READ : type == FE_REQ_WRITE ? WRITE : OTHER;
}

/* Copies to ret the keys of the kinds that are there, and returns how many they are. */
static uint32_t keys_of(const bool there[static N_KINDS], struct svg_key ret[static N_KINDS])
{
    uint32_t n = 0;
    for (int kind = 0; kind < N_KINDS; kind++)
        if (there[kind])
            ret[n++] = kinds[kind];
    return n;
}

/* --- the axis of time --- */

/* Makes the time axis from 0, or the axis of the requests' numbers.  Returns its unit's size. */
static double x_axis(const struct report_trace *t, struct svg_plot *p)
{
    struct fe_unit unit = {1, ""};

    if (t->timed) {
        static char label[24];
        unit = fe_quantity_unit(FE_TIME, (double)(t->end_ns - t->begin_ns) / 2);
        snprintf(label, sizeof label, "time, %s", unit.name);
        p->x = (struct svg_axis){.max = (double)(t->end_ns - t->begin_ns) / unit.size,
                                 .label = label, .name = unit.name};
    } else {
        p->x = (struct svg_axis){.max = (double)t->n, .label = "request", .name = ""};
    }
    p->zoom = true;
    return unit.size;
}

/* The place of request i on that axis: its completion, or its arrival. */
static double x_of(const struct report_trace *t, size_t i, double unit, bool at_end)
{
    const struct report_req *q = &t->reqs[i];
    uint64_t ns = at_end && q->done_ns ? q->done_ns : q->time_ns;
    return t->timed ? (double)(ns - t->begin_ns) / unit : (double)i;
}

/* --- rates and write amplification --- */

struct bins {
    double x[N_BINS + 1];                /* the edges, in units of the axis */
    double read[N_BINS], write[N_BINS];  /* bytes */
    double programmed[N_BINS];           /* bytes */
};

static void fill_bins(struct bins *b, const struct report_trace *t, double max, double unit)
{
    *b = (struct bins){0};
    for (int i = 0; i <= N_BINS; i++)
        b->x[i] = i * max / N_BINS;
    for (size_t i = 0; i < t->n; i++) {
        const struct report_req *q = &t->reqs[i];
        int at = (int)(x_of(t, i, unit, true) / max * N_BINS);
        at = at < N_BINS ? at : N_BINS - 1;
        if (q->type == FE_REQ_READ)
            b->read[at] += (double)q->len;
        if (q->type == FE_REQ_WRITE)
            b->write[at] += (double)q->len;
        b->programmed[at] += 512.0 * q->programmed;
    }
}

/* The axis for these two series.  It is logarithmic if phases differ by a hundred: at least a
 * twentieth of the parts of time, in which there was anything, have less than a hundredth of the
 * most.  NAN is passed over.  Some value must be above 0. */
static struct svg_axis bins_axis(const double *a, const double *b)
{
    double most = 0, least = INFINITY;
    int n = 0, low = 0;

    for (int i = 0; i < 2 * N_BINS; i++)
        most = fmax(most, i < N_BINS ? a[i] : b[i - N_BINS]);
    for (int i = 0; i < 2 * N_BINS; i++) {
        double rate = i < N_BINS ? a[i] : b[i - N_BINS];
        n += rate > 0;
        low += rate > 0 && rate < most / 100;
        least = rate > 0 ? fmin(least, rate) : least;
    }
    struct svg_axis axis = {.max = most * 1.05, .label = "MB/s", .name = "MB/s"};
    if (low > 0 && low * 20 >= n) {
        axis.log = true;
        axis.min = pow(10, floor(log10(fmax(least, most / 1e6))));
        axis.max = pow(10, ceil(log10(most)));
    }
    return axis;
}

/* Prints the time of a bin, "1 to 2 s:". */
static void print_bin(char *text, size_t len, const struct svg_plot *p, const struct bins *b, int i)
{
    char from[FE_ROUNDED_MAX], to[FE_ROUNDED_MAX];
    snprintf(text, len, "%s to %s %s:", report_number(b->x[i], from),
             report_number(b->x[i + 1], to), p->x.name);
}

static void hover_rates(struct svg_plot *p, const struct bins *b)
{
    for (int i = 0; i < N_BINS; i++) {
        char text[192], number[FE_ROUNDED_MAX];
        print_bin(text, sizeof text, p, b, i);
        if (b->read[i] > 0)
            fe_text_add(text, sizeof text, " read %s MB/s", report_number(b->read[i], number));
        if (b->write[i] > 0)
            fe_text_add(text, sizeof text, " write %s MB/s", report_number(b->write[i], number));
        if (b->read[i] > 0 || b->write[i] > 0)
            svg_hover(p, b->x[i], b->x[i + 1], text);
    }
}

static void draw_amplification(FILE *out, struct bins *b, const struct svg_plot *time)
{
    struct svg_plot p = *time;
    double waf[N_BINS];

    p.out = out;
    for (int i = 0; i < N_BINS; i++)
        waf[i] = b->write[i] > 0 ? b->programmed[i] / b->write[i] : NAN;
    p.y = bins_axis(waf, waf);
    p.y.label = "bytes programmed / written";
    p.y.name = "";
    svg_begin(&p, "Write amplification", NULL, 0);
    svg_steps(&p, "write", b->x, waf, N_BINS);
    for (int i = 0; i < N_BINS; i++) {
        char text[192];
        print_bin(text, sizeof text, &p, b, i);
        fe_text_add(text, sizeof text, " %.3f", waf[i]);
        if (isfinite(waf[i]))
            svg_hover(&p, b->x[i], b->x[i + 1], text);
    }
    svg_end(&p);
}

static void draw_rates(FILE *out, const struct report_trace *t)
{
    struct bins b;
    struct svg_plot p = {.out = out};
    struct svg_key keys[N_KINDS];
    const bool there[N_KINDS] = {[READ] = t->bytes[FE_REQ_READ] > 0,
                                 [WRITE] = t->bytes[FE_REQ_WRITE] > 0};

    if (!t->timed || (!there[READ] && !there[WRITE]))
        return;
    double unit = x_axis(t, &p);
    fill_bins(&b, t, p.x.max, unit);
    struct bins rates = b;
    for (int i = 0; i < N_BINS; i++) {
        rates.read[i] *= 1e3 / (unit * p.x.max / N_BINS); /* B/ns to MB/s */
        rates.write[i] *= 1e3 / (unit * p.x.max / N_BINS);
    }
    p.y = bins_axis(rates.read, rates.write);
    svg_begin(&p, "Rate", keys, keys_of(there, keys));
    if (there[READ])
        svg_steps(&p, "read", b.x, rates.read, N_BINS);
    if (there[WRITE])
        svg_steps(&p, "write", b.x, rates.write, N_BINS);
    hover_rates(&p, &rates);
    svg_end(&p);
    if (t->programmed > 0 && there[WRITE])
        draw_amplification(out, &b, &p);
}

/* --- clouds --- */

/* The height of a request in a cloud; NAN if it is not in it. */
typedef double height(const struct report_req *q, double unit);

static double address(const struct report_req *q, double unit)
{
    return q->len ? (double)q->offset / unit : NAN;
}

static double latency(const struct report_req *q, double unit)
{
    return q->done_ns > q->time_ns ? (double)(q->done_ns - q->time_ns) / unit : NAN;
}

/* What a point shows.  Only the cloud of latencies tells the work that a request brought about. */
static enum kind kind_of(const struct report_req *q, bool work)
{
    return work && q->merged ? MERGE : work && q->collected ? COLLECTION : kind_of_type(q->type);
}

static int draw_clouds(struct svg_plot *p, const struct report_trace *t, double unit,
                       const char *title, height *y, double y_unit, bool work, struct fe_err *err)
{
    struct svg_cloud *cloud = malloc(sizeof *cloud);
    struct svg_key keys[N_KINDS];
    bool there[N_KINDS] = {false};
    uint64_t n = 0;

    if (!cloud)
        return fe_err_nomem(err, "a figure", sizeof *cloud);
    for (size_t i = 0; i < t->n; i++)
        if (isfinite(y(&t->reqs[i], y_unit))) {
            there[kind_of(&t->reqs[i], work)] = true;
            n++;
        }
    svg_begin(p, title, keys, keys_of(there, keys));
    for (int kind = 0; kind < N_KINDS; kind++) {
        if (!there[kind])
            continue;
        memset(cloud, 0, sizeof *cloud);
        for (size_t i = 0; i < t->n; i++) {
            if ((int)kind_of(&t->reqs[i], work) != kind)
                continue;
            double value = y(&t->reqs[i], y_unit);
            if (isfinite(value))
                svg_cloud_add(cloud, p, x_of(t, i, unit, false), value);
        }
        svg_cloud_draw(p, kinds[kind].class, cloud, n);
    }
    svg_end(p);
    free(cloud);
    return 0;
}

static int draw_addresses(FILE *out, const struct report_trace *t, struct fe_err *err)
{
    struct fe_unit size = report_byte_unit((double)t->max_end / 2);
    struct svg_plot p = {.out = out};
    char label[32];

    if (t->max_end == 0)
        return 0;
    double unit = x_axis(t, &p);
    snprintf(label, sizeof label, "address, %s", size.name);
    p.y = (struct svg_axis){.max = (double)t->max_end / size.size, .label = label,
                            .name = size.name};
    return draw_clouds(&p, t, unit, "Addresses", address, size.size, false, err);
}

/* --- latencies --- */

/* An axis in decades for all latencies; false if there are none. */
static bool latency_axis(const struct report_trace *t, struct svg_axis *a)
{
    double least = INFINITY, most = 0;

    for (int type = 0; type < FE_N_REQ_TYPES; type++)
        if (t->n_latency[type]) {
            least = fmin(least, fmax(1, (double)t->latency[type][0]));
            most = fmax(most, report_quantile(t, type, 1));
        }
    if (most < 1)
        return false;
    *a = (struct svg_axis){.min = pow(10, floor(log10(least))), .max = pow(10, ceil(log10(most))),
                           .log = true, .unit = SVG_TIME, .label = "latency"};
    if (a->max <= a->min)
        a->max = 10 * a->min;
    return true;
}

/* The share of the requests that take at least as long, in steps of a twentieth of a decade: the
 * axis of the share is logarithmic, so that one request of a million can be seen. */
static void draw_tail(struct svg_plot *p, const struct report_trace *t, int type)
{
    enum { STEPS = 20, MAX_POINTS = 20 * STEPS };
    double x[MAX_POINTS], y[MAX_POINTS];
    size_t total = t->n_latency[type], last = total + 1;
    uint32_t n = 0;

    for (int i = 0; n < MAX_POINTS && last > 1; i++) {
        size_t slower = (size_t)ceil((double)total * pow(10, -(double)i / STEPS) - 1e-9);
        if (slower >= last)
            continue;
        last = slower;
        x[n] = (double)t->latency[type][total - slower];
        y[n++] = (double)slower / (double)total;
    }
    svg_line(p, kinds[kind_of_type(type)].class, x, y, n);
}

static int draw_latencies(FILE *out, const struct report_trace *t, struct fe_err *err)
{
    struct svg_plot p = {.out = out}, tail = {.out = out};
    struct svg_key keys[N_KINDS];
    bool there[N_KINDS] = {false};
    size_t most = 1;

    if (!latency_axis(t, &p.y))
        return 0;
    double unit = x_axis(t, &p);
    int r = draw_clouds(&p, t, unit, "Latency of each request", latency, 1, true, err);
    if (r < 0)
        return r;
    for (int type = 0; type < FE_N_REQ_TYPES; type++)
        if (t->n_latency[type]) {
            there[kind_of_type(type)] = true;
            most = t->n_latency[type] > most ? t->n_latency[type] : most;
        }
    tail.x = p.y;
    tail.y = (struct svg_axis){.min = pow(10, fmin(-1, -ceil(log10((double)most)))), .max = 1,
                               .log = true, .unit = SVG_SHARE,
                               .label = "requests that take at least as long"};
    svg_begin(&tail, "Tail of the latencies", keys, keys_of(there, keys));
    for (int type = 0; type < FE_N_REQ_TYPES; type++)
        if (t->n_latency[type])
            draw_tail(&tail, t, type);
    svg_end(&tail);
    return 0;
}

/* --- the map of the device --- */

/* Adds to each cell the share of it that the request writes. */
static void add_to_map(double *cells, const struct report_req *q, double cell)
{
    double from = (double)q->offset / cell, to = (double)(q->offset + q->len) / cell;
    int last = MAP_COLUMNS * MAP_ROWS - 1;

    for (int i = (int)from; i <= (int)to && i <= last; i++)
        cells[i] += fmin(to, i + 1) - fmax(from, i);
}

static void draw_map(FILE *out, const struct report_trace *t)
{
    double cells[MAP_COLUMNS * MAP_ROWS] = {0}, most = 0;
    double cell = fmax(1, (double)t->max_end / (MAP_COLUMNS * MAP_ROWS));
    char size[FE_ROUNDED_MAX], at[FE_ROUNDED_MAX], times[FE_ROUNDED_MAX];

    if (t->bytes[FE_REQ_WRITE] == 0)
        return;
    for (size_t i = 0; i < t->n; i++)
        if (t->reqs[i].type == FE_REQ_WRITE)
            add_to_map(cells, &t->reqs[i], cell);
    for (int i = 0; i < MAP_COLUMNS * MAP_ROWS; i++)
        most = fmax(most, cells[i]);
    fprintf(out, "<figure><figcaption><b>Map of the device</b> <span>each cell is %s, from the "
                 "upper left by rows; the stronger, the more often written, up to %s times</span>"
                 "</figcaption>\n<svg class=\"map\" viewBox=\"0 0 400 112\" role=\"img\" "
                 "aria-label=\"Map of the device\">\n", report_bytes(cell, size),
            report_number(most, times));
    for (int i = 0; i < MAP_COLUMNS * MAP_ROWS; i++) {
        double opacity = cells[i] > 0 ? 0.2 + 0.8 * log1p(cells[i]) / log1p(most) : 0;
        fprintf(out, "<rect class=\"cell\" x=\"%d\" y=\"%d\" width=\"9\" height=\"10\" "
                     "fill-opacity=\"%.2f\"><title>from %s: written %s times</title></rect>\n",
                i % MAP_COLUMNS * 10, i / MAP_COLUMNS * 11, opacity, report_bytes(i * cell, at),
                report_number(cells[i], times));
    }
    fputs("</svg></figure>\n", out);
}

/* --- sizes --- */

static void print_count(FILE *out, enum kind kind, uint64_t n, uint64_t most)
{
    fprintf(out, "<td>%llu<i class=\"bar %s\" style=\"width:%.0f%%\"></i></td>",
            (unsigned long long)n, kinds[kind].class, 100 * (double)n / (double)most);
}

static void print_sizes(FILE *out, const struct report_trace *t)
{
    uint64_t sizes[N_SIZES][N_KINDS] = {{0}}, most = 0;
    bool there[N_KINDS] = {false};
    char size[FE_ROUNDED_MAX];

    for (size_t i = 0; i < t->n; i++) {
        const struct report_req *q = &t->reqs[i];
        int bin = 0;
        while (bin < N_SIZES - 1 && (UINT64_C(512) << bin) < q->len)
            bin++;
        if (q->len == 0)
            continue;
        uint64_t n = ++sizes[bin][kind_of_type(q->type)];
        there[kind_of_type(q->type)] = true;
        most = n > most ? n : most;
    }
    if (most == 0)
        return;
    fputs("<h3>Sizes of requests</h3>\n<table class=\"sizes\">\n<tr><th></th>", out);
    for (int kind = 0; kind < N_KINDS; kind++)
        if (there[kind])
            fprintf(out, "<th>%s</th>", kind == OTHER ? "trim" : kinds[kind].text);
    fputs("</tr>\n", out);
    for (int bin = 0; bin < N_SIZES; bin++) {
        if (sizes[bin][READ] + sizes[bin][WRITE] + sizes[bin][OTHER] == 0)
            continue;
        fprintf(out, "<tr><th>up to %s</th>",
                report_bytes((double)(UINT64_C(512) << bin), size));
        for (int kind = 0; kind < N_KINDS; kind++)
            if (there[kind])
                print_count(out, (enum kind)kind, sizes[bin][kind], most);
        fputs("</tr>\n", out);
    }
    fputs("</table>\n", out);
}

int report_figures_draw(FILE *out, const struct report_trace *t, struct fe_err *err)
{
    fputs("<div class=\"figures\">\n", out);
    draw_rates(out, t);
    int r = draw_latencies(out, t, err);
    if (r == 0)
        r = draw_addresses(out, t, err);
    if (r < 0)
        return r;
    draw_map(out, t);
    fputs("</div>\n", out);
    print_sizes(out, t);
    return 0;
}
