/* SPDX-License-Identifier: BSD-3-Clause
 *
 * report: one self-contained page about traces and statistics.
 *
 *     stats.json, trace ... ---> what is compared, if there are several
 *                         \--> a section each: numbers, figures
 *
 * What is compared comes first, and the sections are folded then.  It is known when all files have been read, so the sections wait in
 * temporary files.
 */
#include "output.h"
#include "report/embedded.h"
#include "report/report.h"
#include "svg.h"
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char report_help[] =
    "usage: flashemu report FILE... -o OUT.html [--title TEXT]\n\n"
    "Writes one self-contained page with numbers and figures of each FILE.  A FILE is a trace,\n"
    "as flashemu replay --record or the server's trace= writes it, or in any format that\n"
    "flashemu trace reads.  Or it has statistics, as flashemu replay --json or flashemu ctl\n"
    "SOCKET stats prints them.  Several files are compared in a table, which comes first.\n\n"
    "  -o, --output FILE    the page; - is standard output\n"
    "  --force              replaces FILE whatever it is, except an input\n"
    "  --title TEXT         its title\n";

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

/* Writes the section of a file, which is folded where several are compared. */
static int add_file(FILE *out, const char *path, bool fold, struct report_figures *ret,
                    struct fe_err *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = strncmp(path, "gen:", 4) != 0 && slash && slash[1] ? slash + 1 : path;

    fputs(fold ? "<details>\n<summary>" : "<section>\n<h2>", out);
    svg_text(out, name);
    fputs(fold ? "</summary>\n<section>\n" : "</h2>\n", out);
    ret->name = name;
    int json = is_json(path, err);
    int r = json < 0 ? json : json ? add_stats(out, path, ret, err)
                                   : report_trace(out, path, ret, err);
    fputs(fold ? "</section>\n</details>\n" : "</section>\n", out);
    return r;
}

/* A file's section, which is written before its place in the page is known. */
struct part {
    struct report_figures figures;
    FILE *section; /* without a name; NULL = not made */
};

static int make_part(struct part *part, const char *path, bool fold, struct fe_err *err)
{
    errno = 0;
    part->section = tmpfile();
    if (!part->section)
        return fe_err_set(err, errno ? errno : EIO, "a temporary file: %s", strerror(errno));
    int r = add_file(part->section, path, fold, &part->figures, err);
    if (r == 0 && (fflush(part->section) != 0 || ferror(part->section)))
        r = fe_err_set(err, errno ? errno : EIO, "a temporary file: %s", strerror(errno));
    return r;
}

/* Copies the section to the page. */
static int copy_part(FILE *out, const struct part *part, struct fe_err *err)
{
    char text[4096];
    size_t n;

    rewind(part->section);
    while ((n = fread(text, 1, sizeof text, part->section)) > 0)
        if (fwrite(text, 1, n, out) < n)
            return 0; /* the caller sees this in `out` */
    return ferror(part->section)
               ? fe_err_set(err, errno ? errno : EIO, "a temporary file: %s", strerror(errno))
               : 0;
}

static int compare_parts(const void *a, const void *b)
{
    return report_order(&((const struct part *)a)->figures, &((const struct part *)b)->figures);
}

static int write_page(const struct output *output, const char *title, char **paths, int n,
                      struct fe_err *err)
{
    FILE *out = output->file;
    struct part *parts = calloc((size_t)n, sizeof *parts);
    struct report_figures *figures = calloc((size_t)n, sizeof *figures);
    int r = parts && figures ? 0 : fe_err_nomem(err, "sections", (size_t)n * sizeof *parts);

    for (int i = 0; i < n && r == 0; i++)
        r = make_part(&parts[i], paths[i], n > 1, err);
    if (r == 0) {
        qsort(parts, (size_t)n, sizeof *parts, compare_parts);
        errno = 0;
        report_begin(out, "report", title);
        fputs("<p>Times are the device's.  1 KB is 1000 bytes.</p>\n", out);
        for (int i = 0; i < n; i++)
            figures[i] = parts[i].figures;
        if (n > 1)
            report_compare(out, figures, n);
        for (int i = 0; i < n && r == 0; i++)
            r = copy_part(out, &parts[i], err);
        report_end(out, report_js);
        if (ferror(out) && r == 0) /* of the last write, while its reason is known */
            r = fe_err_set(err, errno ? errno : EIO, "%.200s: %s", output->name, strerror(errno));
    }
    for (int i = 0; parts && i < n; i++)
        if (parts[i].section)
            fclose(parts[i].section);
    free(parts);
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
        r = write_page(&output, title, paths, n, &err);
    r = output_close(&output, r, &err);
    return r < 0 ? tool_fail(&err) : tool_finish(TOOL_OK);
}

int cmd_report(int argc, char **argv)
{
    const char *path = NULL, *title = "flashemu report";
    const struct tool_option options[] = {
        {"output=FILE", 'o', NULL, &path}, {"title", 0, NULL, &title},
        {"force", 0, &output_force, NULL}, {0}};
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
