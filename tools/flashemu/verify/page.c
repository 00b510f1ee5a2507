/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page of `verify`:
 *
 *     transcend8g: Transcend 8 GB USB stick
 *     7 of 8 published figures are met.  Off: tr8-read-fat32, 2.1 times as published.
 *
 *                          half        as published        twice
 *     tr8-read-fat32         |     [-------+-------]         o        33.4 -> 70.2 MB/s, off
 *     tr8-write-fat32        |     [-----o-+-------]         |        3.60 -> 3.41 MB/s, -5.2 %
 *     ...
 *     > All figures, with their procedures                            folded
 *     > Orderings
 *
 * The bracket is the tolerance.  The place of the mark is the logarithm of measured / published, and
 * all rows of a page have one scale.  Figures that are off come first, and those that were not
 * measured last.  A page opens with the rows that a screen has room for; the others are folded.  With
 * several profiles, the figure has a row for each of them, with all its marks in it.
 *
 * The page is made from what --json prints, so the two cannot say different things.
 */
#include "verify/page.h"
#include "verify/pair.h"

#include "report/report.h"
#include "svg.h"
#include "tool.h"

#include "base/quantity.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_LINES = 24, LONG_NAME = 34, NAMED = 3 };

struct row {
    const char *device; /* the profile, on a page of several; "" otherwise */
    const char *name, *procedure, *unit, *verdict, *reason, *note;
    double published, measured, tolerance; /* tolerance in percent */
    bool done;
};

struct page {
    FILE *out;
    double span; /* the right end of the scale is span times as published, the left one 1 / span */
    bool against;
};

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static struct row row_of(const char *device, const json_t *o)
{
    return (struct row){
        device, text_of(o, "id"), text_of(o, "procedure"), text_of(o, "unit"), text_of(o, "verdict"),
        text_of(o, "reason"), text_of(o, "note"), tool_json_number(o, "published", 0),
        tool_json_number(o, "measured", 0), tool_json_number(o, "tolerance_percent", 0),
        json_is_number(json_object_get(o, "measured"))};
}

/* --- how far off --- */

/* measured / published, kept away from what has no logarithm. */
static double ratio_of(const struct row *row)
{
    if (row->published <= 0)
        return row->measured <= 0 ? 1 : 1e6;
    return fmin(1e6, fmax(1e-6, row->measured / row->published));
}

static bool is_met(const struct row *row)
{
    return strcmp(row->verdict, "ok") == 0;
}

/* Greater for what a reader should see first. */
static double weight(const struct row *row)
{
    double far = fabs(log(ratio_of(row)));
    return !row->done ? -1 : far + (is_met(row) ? 0 : strcmp(row->verdict, "off") == 0 ? 2e3 : 1e3);
}

static int compare_rows(const void *a, const void *b)
{
    double x = weight(a), y = weight(b);
    return (x < y) - (x > y);
}

/* Adds the rows that were asked for to the n there are, which gets larger.  NULL: no memory, and the
 * old rows are free. */
static struct row *add_rows(struct row *rows, size_t *n, const char *device, const json_t *profile)
{
    const json_t *list = json_object_get(profile, "rows");
    struct row *more = realloc(rows, (*n + json_array_size(list) + 1) * sizeof *rows);

    if (!more)
        free(rows);
    for (size_t i = 0; more && i < json_array_size(list); i++) {
        struct row row = row_of(device, json_array_get(list, i));
        if (strcmp(row.verdict, "left out") != 0 || row.reason[0])
            more[(*n)++] = row;
    }
    return more;
}

/* "+2.8 %", or "2.31 times". */
static const char *error_text(const struct row *row, char buf[static 64])
{
    double ratio = ratio_of(row), error = 100 * (ratio - 1);
    char times[FE_ROUNDED_MAX];

    if (ratio < 2 && ratio > 0.5)
        snprintf(buf, 64, "%+.1f %%", fabs(error) < 0.05 ? 0.0 : error);
    else
        snprintf(buf, 64, "%s times", fe_digits_text(ratio, 3, times));
    return buf;
}

static struct verify_pair pair_of(const struct row *row)
{
    return verify_pair(row->published, row->done ? row->measured : 0, row->unit);
}

static const char *unit_text(const struct row *row)
{
    return strcmp(row->unit, "count") == 0 ? "" : row->unit;
}

/* --- the sentence --- */

struct counts {
    size_t all, met, off, known, missing;
    double largest; /* of the errors of those that are met, in percent */
};

static struct counts count(const struct row *rows, size_t n)
{
    struct counts c = {.all = n};

    for (size_t i = 0; i < n; i++) {
        bool met = is_met(&rows[i]), off = strcmp(rows[i].verdict, "off") == 0;
        c.met += met;
        c.off += off;
        c.missing += !rows[i].done;
        c.known += rows[i].done && !met && !off;
        if (met)
            c.largest = fmax(c.largest, fabs(100 * (ratio_of(&rows[i]) - 1)));
    }
    return c;
}

/* "Off: a, 2.1 times as published; b, -31.0 %; and 4 others.", of the rows with this verdict. */
static void name_outliers(const struct page *p, const char *intro, const char *verdict,
                          const struct row *rows, size_t n)
{
    size_t seen = 0, all = 0;
    char text[64];

    for (size_t i = 0; i < n; i++)
        all += strcmp(rows[i].verdict, verdict) == 0 && rows[i].done;
    for (size_t i = 0; i < n && seen < NAMED; i++) {
        if (strcmp(rows[i].verdict, verdict) != 0 || !rows[i].done)
            continue;
        fputs(seen ? "; <b>" : intro, p->out);
        if (!seen)
            fputs("<b>", p->out);
        svg_text(p->out, rows[i].device);
        fputs(rows[i].device[0] ? " " : "", p->out);
        svg_text(p->out, rows[i].name);
        error_text(&rows[i], text);
        fprintf(p->out, "</b>, %s%s", text, !strstr(text, "times") ? ""
                : p->against ? " as measured" : " as published");
        seen++;
    }
    if (all > seen)
        fprintf(p->out, "; and %zu more", all - seen);
    if (all)
        fputs(".  ", p->out);
}

static void say_met(const struct page *p, struct counts c)
{
    const char *what = p->against ? "point" : "published figure";
    size_t done = c.all - c.missing;

    if (done == 0)
        fprintf(p->out, "None of the %zu %s%s could be measured here", c.all, what,
                c.all == 1 ? "" : "s");
    else if (done == 1)
        fprintf(p->out, c.met ? "The one %s that was measured is %s.  "
                              : "The one %s that was measured is not %s.  ", what,
                p->against ? "within 10 %" : "met");
    else
        fprintf(p->out, "%zu of %zu %ss are %s.  ", c.met, done, what,
                p->against ? "within 10 %" : "met");
    if (c.met && !c.off && !c.known)
        fprintf(p->out, "The largest error is %.1f %%.  ", c.largest);
}

static void say_answer(const struct page *p, const struct row *rows, size_t n)
{
    struct counts c = count(rows, n);

    fputs("<p class=\"answer\">", p->out);
    say_met(p, c);
    name_outliers(p, p->against ? "Farthest off: " : "Off: ", "off", rows, n);
    name_outliers(p, "Off for a reason that the profile gives: ", "known", rows, n);
    if (c.missing && c.missing < n)
        fprintf(p->out, "%zu %s not measured here.", c.missing, c.missing == 1 ? "was" : "were");
    else if (c.missing) {
        fputs(rows[0].reason[0] ? ": " : "", p->out);
        svg_text(p->out, rows[0].reason);
        fputc('.', p->out);
    }
    fputs("</p>\n", p->out);
}

/* --- the figure --- */

/* The place on the scale, in percent of its width. */
static double place(const struct page *p, double ratio)
{
    double share = 0.5 + 0.5 * log(fmax(1e-9, ratio)) / log(p->span);
    return 100 * fmin(0.99, fmax(0.01, share));
}

/* The smallest scale that has room for all rows: those that end nowhere stand at its edge. */
static double span_for(double farthest)
{
    static const double spans[] = {1.25, 2, 5, 20};

    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
        if (farthest < 0.98 * log(spans[i]))
            return spans[i];
    return 100;
}

static const double *ticks_for(double span)
{
    static const double ticks[][5] = {{0.8, 0.9, 1, 1.1, 1.25}, {0.5, 0.7, 1, 1.4, 2},
                                      {0.2, 0.5, 1, 2, 5}, {0.05, 0.2, 1, 5, 20},
                                      {0.01, 0.1, 1, 10, 100}};
    size_t i = 0;

    while (i < 4 && ticks[i][4] < span)
        i++;
    return ticks[i];
}

static void write_scale(const struct page *p)
{
    const double *ticks = ticks_for(p->span);

    fputs("<li class=\"scale\" aria-hidden=\"true\"><span></span><svg>", p->out);
    for (int i = 0; i < 5; i++) {
        const char *anchor = i == 0 ? "start" : i == 4 ? "end" : "middle";
        fprintf(p->out, "<text x=\"%.1f%%\" y=\"12\" text-anchor=\"%s\">", i == 0 ? 0.0 : i == 4
                ? 100.0 : place(p, ticks[i]), anchor);
        if (i == 2)
            fprintf(p->out, p->against ? "as measured</text>" : "as published</text>");
        else
            fprintf(p->out, "%g times</text>", ticks[i]);
    }
    fputs("</svg><span></span></li>\n", p->out);
}

static void begin_track(const struct page *p, double low, double high)
{
    const double *ticks = ticks_for(p->span);

    fputs("<svg aria-hidden=\"true\">", p->out);
    if (high > low)
        fprintf(p->out, "<rect class=\"tolerance\" x=\"%.2f%%\" y=\"1\" width=\"%.2f%%\" "
                        "height=\"14\"><title>the tolerance</title></rect>", place(p, low),
                place(p, high) - place(p, low));
    for (int i = 0; i < 5; i++)
        fprintf(p->out, "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"16\"/>",
                i == 2 ? "frame" : "grid", place(p, ticks[i]), place(p, ticks[i]));
}

static void write_mark(const struct page *p, const struct row *row)
{
    char error[64];

    if (!row->done)
        return;
    const struct verify_pair pair = pair_of(row);
    fprintf(p->out, "<circle class=\"mark %s\" cx=\"%.2f%%\" cy=\"8\" r=\"4.5\"><title>",
            is_met(row) ? "met" : strcmp(row->verdict, "off") == 0 ? "off" : "known",
            place(p, ratio_of(row)));
    svg_text(p->out, row->name);
    fprintf(p->out, ": %s, and here %s %s, %s</title></circle>", pair.published,
            pair.measured, unit_text(row), error_text(row, error));
}

static void write_row(const struct page *p, const struct row *row)
{
    const struct verify_pair pair = pair_of(row);
    char error[64];

    fputs("<li><span>", p->out);
    svg_text(p->out, row->name);
    fputs("</span>", p->out);
    begin_track(p, 1 - row->tolerance / 100, 1 + row->tolerance / 100);
    write_mark(p, row);
    fprintf(p->out, "</svg><span>%s", pair.published);
    if (row->done)
        fprintf(p->out, " \xe2\x86\x92 %s", pair.measured);
    fprintf(p->out, "%s%s, ", unit_text(row)[0] ? " " : "", unit_text(row));
    if (!row->done)
        fprintf(p->out, "%s</span></li>\n", row->verdict);
    else if (is_met(row))
        fprintf(p->out, "%s</span></li>\n", error_text(row, error));
    else
        fprintf(p->out, "<b>%s, %s</b></span></li>\n", error_text(row, error),
                row->verdict);
}

static void write_rows(const struct page *p, const struct row *rows, size_t n)
{
    fputs("<ul class=\"rows\">\n", p->out);
    write_scale(p);
    for (size_t i = 0; i < n; i++)
        write_row(p, &rows[i]);
    fputs("</ul>\n", p->out);
}

/* How many of the rows a screen has room for; a long name takes two lines. */
static size_t shown_rows(const struct row *rows, size_t n)
{
    size_t lines = 0;

    for (size_t i = 0; i < n; i++) {
        lines += strlen(rows[i].name) > LONG_NAME ? 2 : 1;
        if (lines > SHOWN_LINES)
            return i;
    }
    return n;
}

/* --- what is folded --- */

static void begin_fold(FILE *out, const char *summary)
{
    fputs("<details>\n<summary>", out);
    svg_text(out, summary);
    fputs("</summary>\n", out);
}

static void write_cell(FILE *out, const char *text)
{
    fputs("<td>", out);
    svg_text(out, text);
    fputs("</td>", out);
}

static void write_table(const struct page *p, const struct row *rows, size_t n)
{
    char error[64];

    fprintf(p->out, "<div class=\"wide\"><table class=\"figures-table\">\n<tr><th>%s</th>"
                    "<th>procedure</th><th>%s</th><th>here</th><th>unit</th><th>error</th>"
                    "<th>tolerance</th><th>verdict</th></tr>\n",
            p->against ? "point" : "figure", p->against ? "measured" : "published");
    for (size_t i = 0; i < n; i++) {
        const struct row *row = &rows[i];
        const struct verify_pair pair = pair_of(row);
        fputs("<tr>", p->out);
        write_cell(p->out, row->name);
        write_cell(p->out, row->procedure);
        write_cell(p->out, pair.published);
        write_cell(p->out, row->done ? pair.measured : "\xe2\x80\x93");
        write_cell(p->out, unit_text(row));
        write_cell(p->out, row->done ? error_text(row, error) : "\xe2\x80\x93");
        fprintf(p->out, "<td>%g %%</td><td>", row->tolerance);
        svg_text(p->out, row->verdict);
        fputs(row->reason[0] ? ": " : "", p->out);
        svg_text(p->out, row->reason);
        if (row->note[0]) {
            fputs("<small>", p->out);
            svg_text(p->out, row->note);
            fputs("</small>", p->out);
        }
        fputs("</td></tr>\n", p->out);
    }
    fputs("</table></div>\n", p->out);
}

static void write_orderings(const struct page *p, const json_t *profile)
{
    const json_t *orderings = json_object_get(profile, "orderings");
    const json_t *wrong = json_object_get(orderings, "wrong");
    unsigned long long pairs = (unsigned long long)tool_json_number(orderings, "pairs", 0);
    char text[80];

    if (pairs == 0)
        return;
    snprintf(text, sizeof text, "%llu of %llu orderings are right", pairs - json_array_size(wrong),
             pairs);
    begin_fold(p->out, text);
    fputs("<p>An ordering is a pair of figures in one unit that differ by at least 3 %; it is right "
          "if the measured figures differ in the same direction.</p>\n", p->out);
    if (json_array_size(wrong)) {
        fputs("<p>The wrong way round:</p>\n<ul>\n", p->out);
        for (size_t i = 0; i < json_array_size(wrong); i++) {
            const json_t *pair = json_array_get(wrong, i);
            fputs("<li>", p->out);
            svg_text(p->out, json_string_value(json_array_get(pair, 0)));
            fputs(" and ", p->out);
            svg_text(p->out, json_string_value(json_array_get(pair, 1)));
            fputs("</li>\n", p->out);
        }
        fputs("</ul>\n", p->out);
    }
    fputs("</details>\n", p->out);
}

/* --- the page --- */

static void write_key(const struct page *p)
{
    fprintf(p->out, "<p class=\"foot\">A mark is what the emulated device does, by how many times it "
                    "is what was %s.  The band is the tolerance.  <span class=\"met\">\xe2\x97\x8f "
                    "%s</span>, <span class=\"off\">\xe2\x97\x8f off</span>%s</p>\n",
            p->against ? "measured" : "published", p->against ? "within 10 %" : "met",
            p->against ? "." : ", <span class=\"known\">\xe2\x97\x8b known (off, and the profile says "
                               "why)</span>.");
}

static void write_rest(const struct page *p, const struct row *rows, size_t n, size_t shown)
{
    char text[80];

    if (shown < n) {
        snprintf(text, sizeof text, "The other %zu, which are nearer", n - shown);
        begin_fold(p->out, text);
        write_rows(p, rows + shown, n - shown);
        fputs("</details>\n", p->out);
    }
    begin_fold(p->out, p->against ? "All points as numbers" : "All figures, with their procedures");
    write_table(p, rows, n);
    fputs("</details>\n", p->out);
}

/* Everything about one profile's sorted rows but the sentence. */
static void write_figures(const struct page *p, const json_t *profile, const struct row *rows,
                          size_t n, size_t shown)
{
    fputs("<div class=\"top\">\n", p->out);
    write_rows(p, rows, shown);
    fputs("</div>\n", p->out);
    write_key(p);
    write_rest(p, rows, n, shown);
    write_orderings(p, profile);
}

/* A row for each device, with all its marks in it. */
static void write_device(const struct page *p, const char *name, const struct row *rows, size_t n)
{
    struct counts c = count(rows, n);

    fputs("<li><span>", p->out);
    svg_text(p->out, name);
    fputs("</span>", p->out);
    begin_track(p, 0, 0);
    for (size_t i = n; i-- > 0;) /* so that those that are off lie above the others */
        write_mark(p, &rows[i]);
    if (c.all == c.missing)
        fputs("</svg><span>not measured here", p->out);
    else
        fprintf(p->out, "</svg><span>%zu of %zu met", c.met, c.all - c.missing);
    if (c.off)
        fprintf(p->out, ", <b>%zu off</b>", c.off);
    if (c.known)
        fprintf(p->out, ", %zu known", c.known);
    fputs("</span></li>\n", p->out);
}

/* `rows` are those of all profiles, in their order, and first[i] is where those of profile i begin. */
static void write_several(const struct page *p, const json_t *profiles, struct row *rows,
                          const size_t *first)
{
    size_t n = json_array_size(profiles);
    char text[200];

    fputs("<div class=\"top\">\n<ul class=\"rows\">\n", p->out);
    write_scale(p);
    for (size_t i = 0; i < n; i++)
        write_device(p, text_of(json_array_get(profiles, i), "profile"), rows + first[i],
                     first[i + 1] - first[i]);
    fputs("</ul>\n</div>\n", p->out);
    write_key(p);
    for (size_t i = 0; i < n; i++) {
        const json_t *profile = json_array_get(profiles, i);
        snprintf(text, sizeof text, "%.60s: %.130s", text_of(profile, "profile"),
                 text_of(profile, "model"));
        begin_fold(p->out, text);
        write_rows(p, rows + first[i], first[i + 1] - first[i]);
        write_table(p, rows + first[i], first[i + 1] - first[i]);
        write_orderings(p, profile);
        fputs("</details>\n", p->out);
    }
}

static void write_title(FILE *out, const json_t *profiles, const char *source)
{
    const json_t *profile = json_array_get(profiles, 0);
    const char *slash = source ? strrchr(source, '/') : NULL;
    char text[400];

    if (json_array_size(profiles) > 1)
        snprintf(text, sizeof text, "%zu devices: published and emulated",
                 json_array_size(profiles));
    else
        snprintf(text, sizeof text, "%.60s: %.130s%s%.150s", text_of(profile, "profile"),
                 text_of(profile, "model"), source ? ", against " : "",
                 slash ? slash + 1 : source ? source : "");
    report_begin(out, "verify", text);
}

int verify_page_write(FILE *out, const json_t *profiles, const char *source, struct fe_err *err)
{
    size_t n = json_array_size(profiles), n_rows = 0;
    struct page p = {.out = out, .against = source != NULL};
    struct row *rows = NULL, *sorted = NULL;
    size_t *first = calloc(n + 1, sizeof *first);
    double farthest = 0;

    for (size_t i = 0; first && i < n; i++) {
        const json_t *profile = json_array_get(profiles, i);
        rows = add_rows(rows, &n_rows, n > 1 ? text_of(profile, "profile") : "", profile);
        if (!rows)
            break;
        first[i + 1] = n_rows;
        qsort(rows + first[i], n_rows - first[i], sizeof *rows, compare_rows);
    }
    sorted = rows ? calloc(n_rows + 1, sizeof *sorted) : NULL;
    if (sorted) {
        memcpy(sorted, rows, n_rows * sizeof *rows);
        qsort(sorted, n_rows, sizeof *sorted, compare_rows);
        for (size_t i = 0; i < n_rows; i++)
            farthest = rows[i].done ? fmax(farthest, fabs(log(ratio_of(&rows[i])))) : farthest;
        p.span = span_for(farthest);
        write_title(out, profiles, source);
        say_answer(&p, sorted, n_rows);
        if (n == 1)
            write_figures(&p, json_array_get(profiles, 0), sorted, n_rows,
                          shown_rows(sorted, n_rows));
        else
            write_several(&p, profiles, rows, first);
        report_end(out, NULL);
    }
    int r = sorted ? 0 : fe_err_nomem(err, "rows of the page", n_rows * sizeof *rows);
    free(first);
    free(rows);
    free(sorted);
    return r;
}
