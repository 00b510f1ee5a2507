/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page around the sections of a report: its style, its script, its tables.
 *
 * Style and script are the files report.css and report.js, which are built into the program.  The
 * page asks for nothing else.  It reads and prints the same without the script, which only lets the
 * reader zoom and tells the value under the pointer.
 */
#include "report/embedded.h"
#include "report/report.h"
#include "svg.h"
#include "tool.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --- */

struct fe_unit report_byte_unit(double most)
{
    static const struct fe_unit units[] = {
        {1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}};

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (most >= units[i].size)
            return units[i];
    return (struct fe_unit){1, "B"};
}

const char *report_bytes(double bytes, char buf[static FE_ROUNDED_MAX])
{
    struct fe_unit unit = report_byte_unit(bytes < 10000 ? 0 : bytes);
    double value = bytes / unit.size;

    if (unit.size > 1 && value < 999.5)
        snprintf(buf, FE_ROUNDED_MAX, "%.3g %s", value, unit.name);
    else
        snprintf(buf, FE_ROUNDED_MAX, "%.0f %s", value, unit.name);
    return buf;
}

const char *report_number(double value, char buf[static FE_ROUNDED_MAX])
{
    snprintf(buf, FE_ROUNDED_MAX, fabs(value) < 1000 ? "%.4g" : "%.0f", value);
    return buf;
}

/* --- tables --- */

void report_table_begin(FILE *out)
{
    fputs("<table>\n", out);
}

void report_row(FILE *out, const char *name, const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fputs("<tr><th>", out);
    svg_text(out, name);
    fputs("</th><td>", out);
    svg_text(out, text);
    fputs("</td></tr>\n", out);
}

void report_latencies(FILE *out, const char *name, const char *intro, double p50_ns, double p99_ns,
                      double p999_ns, double most_ns)
{
    struct fe_unit unit = fe_quantity_unit(FE_TIME, most_ns);
    char p50[FE_ROUNDED_MAX], p99[FE_ROUNDED_MAX], p999[FE_ROUNDED_MAX], most[FE_ROUNDED_MAX];
    bool all = isfinite(p999_ns);

    report_row(out, name, "%shalf within %s %s, 99 %% within %s %s, %s%s%s%s%sat most %s %s", intro,
               fe_digits_text(p50_ns / unit.size, 4, p50), unit.name,
               fe_digits_text(p99_ns / unit.size, 4, p99), unit.name, all ? "99.9 % within " : "",
               all ? fe_digits_text(p999_ns / unit.size, 4, p999) : "", all ? " " : "",
               all ? unit.name : "", all ? ", " : "",
               fe_digits_text(most_ns / unit.size, 4, most), unit.name);
}

void report_table_end(FILE *out)
{
    fputs("</table>\n", out);
}

void report_origin(FILE *out, const struct fe_origin *origin, struct report_figures *ret)
{
    char text[512];
    size_t n = 0;

    ret->label[0] = '\0';
    for (int key = 0; key < FE_N_ORIGIN_KEYS; key++) {
        if (!fe_origin_text(origin, (enum fe_origin_key)key, text, sizeof text))
            continue;
        report_row(out, fe_origin_names[key], "%s", text);
        if ((key == FE_ORIGIN_PROFILE || key == FE_ORIGIN_OVERRIDES) && n < sizeof ret->label)
            n += (size_t)snprintf(ret->label + n, sizeof ret->label - n, "%s%s", n ? " " : "",
                                  text);
    }
    if (n >= sizeof ret->label)
        memcpy(ret->label + sizeof ret->label - 4, "...", 4);
}

/* --- what is compared --- */

static int natural(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *after_a, *after_b;
            unsigned long long n = strtoull(a, &after_a, 10), m = strtoull(b, &after_b, 10);
            if (n != m)
                return n < m ? -1 : 1;
            a = after_a;
            b = after_b;
        } else if (*a != *b) {
            return (unsigned char)*a - (unsigned char)*b;
        } else {
            a++;
            b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

int report_order(const struct report_figures *a, const struct report_figures *b)
{
    int r = natural(a->label, b->label);
    return r ? r : natural(a->name, b->name);
}

struct figure {
    const char *name, *class;
    size_t offset;
    enum { RATE, TIME, NUMBER } kind;
    bool more_is_better;
};

static double value_of(const struct report_figures *file, const struct figure *figure)
{
    double value = *(const double *)((const char *)file + figure->offset);
    return isfinite(value) && value > 0 ? value : NAN;
}

/* All cells of a row have the unit of the largest value, and as many digits. */
static void cell_text(const struct figure *figure, double value, double most,
                      char text[FE_ROUNDED_MAX])
{
    struct fe_unit unit = fe_quantity_unit(figure->kind == TIME ? FE_TIME : FE_RATE, most);
    char number[FE_ROUNDED_MAX];

    if (!isfinite(value))
        snprintf(text, FE_ROUNDED_MAX, "\xe2\x80\x93");
    else if (figure->kind == NUMBER)
        fe_digits_text(value, 4, text);
    else
        snprintf(text, FE_ROUNDED_MAX, "%.20s %s", fe_digits_text(value / unit.size, 4, number),
                 unit.name);
}

/* Whether a value is as good as the best one of its row; NAN is not. */
static bool is_best(const struct figure *figure, double value, double least, double most)
{
    return figure->more_is_better ? value > 0.99 * most : value < 1.01 * least;
}

/* A row, if a file has the figure.  A cell is the value, and a bar for its share of the largest.
   The best value is bold if no other comes within 1 % of it: the statistics and the trace of one run
   differ by less in their percentiles, and neither is better.  Returns whether one is bold. */
static bool compare_row(FILE *out, const struct figure *figure, const struct report_figures *files,
                        int n)
{
    char text[FE_ROUNDED_MAX];
    double least = INFINITY, most = 0;
    int n_best = 0, n_known = 0;

    for (int i = 0; i < n; i++) {
        least = fmin(least, value_of(&files[i], figure)); /* passes over NAN */
        most = fmax(most, value_of(&files[i], figure));
    }
    if (most == 0)
        return false;
    for (int i = 0; i < n; i++) {
        n_best += is_best(figure, value_of(&files[i], figure), least, most);
        n_known += isfinite(value_of(&files[i], figure));
    }
    bool bold = n_best == 1 && n_known > 1;
    fprintf(out, "<tr><th>%s</th>", figure->name);
    for (int i = 0; i < n; i++) {
        double value = value_of(&files[i], figure);
        cell_text(figure, value, most, text);
        fprintf(out, bold && is_best(figure, value, least, most) ? "<td><b>%s</b>" : "<td>%s", text);
        if (isfinite(value))
            fprintf(out, "<i class=\"bar %s\" style=\"width:%.0f%%\"></i>", figure->class,
                    100 * value / most);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
    return bold;
}

void report_compare(FILE *out, const struct report_figures *files, int n)
{
    static const struct figure figures[] = {
        {"writes", "write", offsetof(struct report_figures, write_rate), RATE, true},
        {"reads", "read", offsetof(struct report_figures, read_rate), RATE, true},
        {"write amplification", "write", offsetof(struct report_figures, waf), NUMBER, false},
        {"99 % of the writes within", "write", offsetof(struct report_figures, write_p99_ns),
         TIME, false},
        {"99 % of the reads within", "read", offsetof(struct report_figures, read_p99_ns),
         TIME, false},
        {"time in all", "other", offsetof(struct report_figures, span_ns), TIME, false},
    };

    fputs("<h2>Compared</h2>\n<div class=\"wide\"><table class=\"compared\">\n<tr><th></th>", out);
    for (int i = 0; i < n; i++) {
        const struct report_figures *file = &files[i];
        fputs("<th>", out);
        svg_text(out, file->label[0] ? file->label : file->name);
        if (file->label[0]) {
            fputs("<small>", out);
            svg_text(out, file->name);
            fputs("</small>", out);
        }
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
    bool bold = false;
    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++)
        bold |= compare_row(out, &figures[k], files, n);
    fprintf(out, "</table></div>\n<p>%sA bar is the share of the largest.</p>\n",
            bold ? "What is better than all others, by 1 % or more, is bold.  " : "");
}

/* --- the page --- */

void report_begin(FILE *out, const char *command, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>", out);
    svg_text(out, title);
    fprintf(out, "</title>\n<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"generator\" content=\"flashemu %s\"/>\n<meta name=\"viewport\" "
                 "content=\"width=device-width, initial-scale=1\"/>\n"
                 "<style>\n%s</style>\n</head>\n<body>\n<h1>", command, report_css);
    svg_text(out, title);
    fputs("</h1>\n", out);
}

void report_end(FILE *out, const char *script)
{
    fprintf(out, "<p class=\"foot\">flashemu %s: ", fe_version);
    svg_text(out, tool_origin().command);
    fputs("</p>\n", out);
    if (script)
        fprintf(out, "<script>\n%s</script>\n", script);
    fputs("</body>\n</html>\n", out);
}
