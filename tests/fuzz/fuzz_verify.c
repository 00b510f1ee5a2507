/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `flashemu verify` reads.  The input has three parts, with a byte 0x1c between them:
 *
 *     a profile with its published figures
 *     lines as tools/vm/story.sh prints them
 *     procedures and figures that the user asks for, one on each line
 *
 * Either the profile is refused with one message, or all of its rows are shown, as text and as
 * JSON that can be read again.
 *
 * verify also compares with profiles/curves.csv.  That file is not read here, because it is
 * compiled in: tools/embed_curves.py reads it at build time.
 */
#include "files.h"

#include "tool.h"
#include "verify/kernel.h"
#include "verify/plan.h"

#include "obs/stats_json.h"

#include <math.h>

enum { SEPARATOR = 0x1c, MAX_WANTED = 8 };

struct parts {
    char *text; /* the whole input; the parts point into it, and a NUL ends each of the last two */
    char *profile, *lines, *wanted;
    size_t profile_len;
};

static struct parts split(const uint8_t *data, size_t size)
{
    static char none[1];
    struct parts p = {.text = malloc(size + 1), .lines = none, .wanted = none};
    FT_MUST(p.text, "no memory");
    memcpy(p.text, data, size);
    p.text[size] = '\0';
    p.profile = p.text;
    char *end = memchr(p.text, SEPARATOR, size);
    p.profile_len = end ? (size_t)(end - p.text) : size;
    if (!end)
        return p;
    p.lines = end + 1;
    end = strchr(p.lines, SEPARATOR);
    if (end) {
        *end = '\0';
        p.wanted = end + 1;
    }
    return p;
}

static bool is_wanted(const struct verify_row *row, char **words, int n)
{
    for (int k = 0; k < n; k++)
        if (strcmp(words[k], row->note->key) == 0 || strcmp(words[k], row->published.text) == 0 ||
            strcmp(words[k], row->published.procedure->name) == 0)
            return true;
    return n == 0;
}

/* Leaves out the rows that nobody asked for, and checks that only those are left out. */
static void choose(struct verify_plan *plan, char *wanted, bool quick)
{
    char *words[MAX_WANTED], *save = NULL;
    bool used[MAX_WANTED] = {false};
    int n = 0;
    for (char *w = strtok_r(wanted, "\n", &save); w && n < MAX_WANTED;
         w = strtok_r(NULL, "\n", &save))
        words[n++] = w;
    verify_plan_choose(plan, words, n, used, quick);
    for (size_t i = 0; i < plan->n_rows; i++) {
        const struct verify_row *row = &plan->rows[i];
        bool slow = quick && row->published.procedure->slow;
        FT_MUST((row->state == VERIFY_OPEN) == (is_wanted(row, words, n) && !slow),
                "row %s: %s", row->note->key, row->state == VERIFY_OPEN ? "kept" : "left out");
    }
}

/* Hands the lines to all rows that are not left out, as if one experiment had printed them. */
static void take_lines(struct verify_plan *plan, char *lines)
{
    struct verify_run run = {.profile = &plan->profile, .seed = 1, .details = json_object()};
    char *save = NULL;
    run.rows = calloc(plan->n_rows + 1, sizeof *run.rows);
    FT_MUST(run.rows && run.details, "no memory");
    for (size_t i = 0; i < plan->n_rows; i++)
        if (plan->rows[i].state == VERIFY_OPEN)
            run.rows[run.n_rows++] = &plan->rows[i];
    for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        verify_take_line(&run, line);
    FT_MUST(json_object_set_new(plan->details, "kernel", run.details) == 0, "no memory");
    free(run.rows);
}

static void check_shown(const struct verify_plan *plan)
{
    struct ft_capture c;
    json_error_t why;
    ft_capture_begin(&c, &stdout);
    verify_print(plan);
    ft_capture_end(&c);
    FT_MUST(c.len > 0 && strlen(c.text) == c.len, "%zu bytes of text", c.len);
    free(c.text);
    for (size_t i = 0; i < plan->n_rows; i++)
        FT_MUST(plan->rows[i].state != VERIFY_MEASURED || isfinite(verify_error(&plan->rows[i])),
                "row %zu: error %g", i, verify_error(&plan->rows[i]));
    json_t *o = verify_json(plan);
    char *text = o ? json_dumps(o, FE_STATS_JSON_FLAGS) : NULL;
    json_t *again = text ? json_loads(text, JSON_REJECT_DUPLICATES, &why) : NULL;
    FT_MUST(json_array_size(json_object_get(again, "rows")) == plan->n_rows, "no JSON, or without "
            "some rows: %s", text ? text : "-");
    json_decref(again);
    json_decref(o);
    free(text);
    int code = verify_code(plan);
    FT_MUST(code == TOOL_OK || code == TOOL_NO || code == VERIFY_PART, "exit code %d", code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FT_PATH_MAX];
    struct parts p = split(data, size);
    struct verify_plan plan;
    struct fe_err err = {""};

    ft_file_path(path, "verify");
    ft_file_write(path, p.profile, p.profile_len);
    int r = verify_plan_load(&plan, path, NULL, 0, &err);
    unlink(path);
    if (r < 0) {
        FT_MUST(err.text[0] && !strchr(err.text, '\n'), "result %d, message '%s'", r, err.text);
    } else {
        choose(&plan, p.wanted, size % 2);
        take_lines(&plan, p.lines);
        check_shown(&plan);
    }
    verify_plan_fini(&plan);
    free(p.text);
    return 0;
}
