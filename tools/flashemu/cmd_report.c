/* SPDX-License-Identifier: BSD-3-Clause
 *
 * report: one self-contained page about traces and statistics.
 *
 *     stats.json, trace ... --> a section each: numbers, figures
 *                         \---> what is compared, if there are several
 *
 * The page has its style and figures in it and asks for nothing: no script, no other file.
 */
#include "output.h"
#include "report.h"
#include "svg.h"
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char report_help[] =
    "usage: flashemu report FILE... -o OUT.html [--title TEXT]\n\n"
    "Writes one self-contained page with numbers and figures of each FILE.  A FILE is a trace,\n"
    "as flashemu replay --record or the server's trace= writes it, or in any format that\n"
    "flashemu trace reads.  Or it has statistics, as flashemu replay --json or flashemu ctl\n"
    "SOCKET stats prints them.  Several files are compared.\n\n"
    "  -o, --output FILE    the page; - is standard output\n"
    "  --title TEXT         its title\n";

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

/* --- the page --- */

static const char head[] =
    "<meta charset=\"utf-8\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
    "<style>\n"
    ":root{color-scheme:light dark;--ink:#222;--grid:#e3e3e3;--read:#1f6fb4;--write:#c2410c;"
    "--other:#6b7280;--page:#fff}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--grid:#3a3a3a;--read:#6db3f2;"
    "--write:#ff9a5a;--other:#a1a1aa;--page:#181818}}\n"
    "body{font:15px/1.45 sans-serif;color:var(--ink);background:var(--page);max-width:46em;"
    "margin:2em auto;padding:0 1em}\n"
    "table{border-collapse:collapse;margin:.8em 0}th{font-weight:normal;text-align:left;"
    "padding:.1em 1.2em .1em 0;vertical-align:top}td{padding:.1em 0}\n"
    "svg{width:100%;display:block;margin:1em 0}svg text{font:11px sans-serif;fill:var(--ink)}"
    "svg .title{font-size:13px;font-weight:bold}\n"
    ".grid{stroke:var(--grid)}.frame{stroke:var(--ink);fill:none}.line{fill:none;"
    "stroke-width:1.5}.cloud{stroke-width:2.4;stroke-linecap:round;fill:none}\n"
    ".read{stroke:var(--read)}.write{stroke:var(--write)}.other{stroke:var(--other)}"
    ".bar{fill:var(--read)}\n"
    ".key span{padding-right:1.2em}.key .r{color:var(--read)}.key .w{color:var(--write)}"
    ".key .o{color:var(--other)}\n"
    "</style>\n";

static void begin_page(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>", out);
    svg_text(out, title);
    fprintf(out, "</title>\n%s</head>\n<body>\n<h1>", head);
    svg_text(out, title);
    fputs("</h1>\n<p class=\"key\"><span class=\"r\">\xe2\x97\x8f read</span>"
          "<span class=\"w\">\xe2\x97\x8f write</span>"
          "<span class=\"o\">\xe2\x97\x8f trim, flush</span> "
          "Times are the device's.</p>\n", out);
}

/* Draws bars for each figure that at least two of the files have. */
static int compare(FILE *out, const struct report_figures *f, int n, struct fe_err *err)
{
    static const struct {
        const char *title;
        size_t offset;
        double unit;
    } figures[] = {
        {"Writes, MB/s", offsetof(struct report_figures, write_rate), 1e6},
        {"Reads, MB/s", offsetof(struct report_figures, read_rate), 1e6},
        {"Write amplification", offsetof(struct report_figures, waf), 1},
        {"99 % of the writes within, ms", offsetof(struct report_figures, write_p99_ns), 1e6},
        {"99 % of the reads within, ms", offsetof(struct report_figures, read_p99_ns), 1e6},
    };
    struct svg_bar *bars = calloc((size_t)n, sizeof *bars);

    if (!bars)
        return fe_err_nomem(err, "bars", (size_t)n * sizeof *bars);
    fputs("<h2>Compared</h2>\n", out);
    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++) {
        uint32_t n_bars = 0;
        for (int i = 0; i < n; i++) {
            double value = *(const double *)((const char *)&f[i] + figures[k].offset);
            if (isfinite(value) && value > 0)
                bars[n_bars++] = (struct svg_bar){f[i].name, value / figures[k].unit, f[i].label};
        }
        if (n_bars > 1)
            svg_bars(out, figures[k].title, bars, n_bars);
    }
    free(bars);
    return 0;
}

/* --- files --- */

/* 1 if the file begins like a JSON object, 0 if not; a negative errno with message. */
static int is_json(const char *path, struct fe_err *err)
{
    FILE *f = strncmp(path, "gen:", 4) == 0 || strcmp(path, "-") == 0 ? NULL : fopen(path, "r");
    int c = ' ';

    if (!f)
        return 0; /* if a file is missing, the function that reads it says so */
    while (isspace(c))
        c = getc(f);
    int r = ferror(f) ? fe_err_set(err, errno, "%.200s: %s", path, strerror(errno)) : c == '{';
    fclose(f);
    return r;
}

static int add_stats(FILE *out, const char *path, struct report_figures *ret, struct fe_err *err)
{
    json_error_t why;
    json_t *stats = json_load_file(path, JSON_REJECT_DUPLICATES, &why);

    if (!stats)
        return fe_err_set(err, EINVAL, "%.200s:%d: %s", path, why.line, why.text);
    int r = tool_json_incomplete() ? fe_err_nomem(err, "statistics", 0)
                                   : report_stats(out, path, stats, ret, err);
    json_decref(stats);
    return r;
}

static int add_file(FILE *out, const char *path, struct report_figures *ret, struct fe_err *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = strncmp(path, "gen:", 4) != 0 && slash && slash[1] ? slash + 1 : path;

    fputs("<h2>", out);
    svg_text(out, name);
    fputs("</h2>\n", out);
    ret->name = name;
    int json = is_json(path, err);
    return json < 0 ? json : json ? add_stats(out, path, ret, err)
                                  : report_trace(out, path, ret, err);
}

static int write_page(FILE *out, const char *title, char **paths, int n, struct fe_err *err)
{
    struct report_figures *figures = calloc((size_t)n, sizeof *figures);
    int r = 0;

    if (!figures)
        return fe_err_nomem(err, "figures", (size_t)n * sizeof *figures);
    begin_page(out, title);
    for (int i = 0; i < n && r == 0; i++)
        r = add_file(out, paths[i], &figures[i], err);
    if (r == 0 && n > 1)
        r = compare(out, figures, n, err);
    fprintf(out, "<p>flashemu %s: ", fe_version);
    svg_text(out, tool_origin().command);
    fputs("</p>\n</body>\n</html>\n", out);
    free(figures);
    return r;
}

static int make_report(const char *path, const char *title, char **paths, int n)
{
    struct output output = {0};
    struct fe_err err;

    fe_err_init(&err);
    int r = output_open(&output, path, (const char *const *)paths, (uint32_t)n, &err);
    if (r == 0)
        r = write_page(output.file, title, paths, n, &err);
    r = output_close(&output, r, &err);
    return r < 0 ? tool_fail(&err) : tool_finish(TOOL_OK);
}

int cmd_report(int argc, char **argv)
{
    const char *path = NULL, *title = "flashemu report";
    const struct tool_option options[] = {
        {"output=FILE", 'o', NULL, &path}, {"title", 0, NULL, &title}, {0}};
    const struct tool_args args = {options, NULL, NULL, report_help};
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc < 2)
        return tool_error("report: which trace or statistics? (--help)");
    if (!path)
        return tool_error("report: -o OUT.html: where does the page go?");
    return make_report(path, title, argv + 1, argc - 1);
}
