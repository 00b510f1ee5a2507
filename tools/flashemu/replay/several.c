/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run for each combination of what is varied: profiles, --vary, and with --each traces.
 *
 * Each run has a process of its own (pool.h).  Runs that differ in nothing but the trace begin as
 * copies of one device, which this process makes: a large device that has been written all over
 * takes longer than most traces, and the copies share the memory that they do not change.  Any
 * other run makes its device itself, so devices are made on all processors.
 */
#include "replay/command.h"
#include "replay/pool.h"
#include "tool.h"

#include "base/num.h"
#include "base/quantity.h"
#include "obs/json_text.h"
#include "obs/stats_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sweep {
    struct command *c;
    struct fe_device *dev; /* what the runs that differ in the trace only share; NULL = nothing */
    json_t **results;      /* per run; NULL = it failed, or has not ended */
    json_t *rows;          /* --json: an object for each run */
    uint32_t n;
    uint32_t n_ended;
    int code;              /* the worst of the exit codes */
};

/* Whether runs differ in more than the trace.  Then each is tried; otherwise the first that fails
 * is the last one. */
static bool has_devices(const struct command *c)
{
    return c->vary.n > c->each;
}

/* Makes *one the command that run number `run` is.  0 or a negative errno with message; free_variant
 * in either case. */
static int make_variant(struct command *one, const struct command *c, uint32_t run,
                        struct fe_err *err)
{
    size_t n = c->n_overrides + c->vary.n + 1;

    *one = *c;
    one->overrides = calloc(n, sizeof *one->overrides);
    if (!one->overrides)
        return fe_err_nomem(err, "changes of the profile", n * sizeof *one->overrides);
    memcpy(one->overrides, c->overrides, c->n_overrides * sizeof *one->overrides);
    for (uint32_t i = 0; i < c->vary.n; i++) {
        const char *key = c->vary.factors[i].key, *level = vary_level(&c->vary, i, run);
        char *word;
        if (strcmp(key, "profile") == 0) {
            one->profile_name = level;
        } else if (strcmp(key, "trace") == 0) {
            one->traces = &c->vary.factors[i].levels[run % c->n_traces];
            one->n_traces = 1;
        } else if (strcmp(key, "seed") == 0) {
            if (!fe_quantity_parse_span(FE_SIZE, level, strlen(level), &one->device.seed))
                return fe_err_set(err, EINVAL, "seed=%.80s: is not a number", level);
        } else if (asprintf(&word, "%s=%s", strcmp(key, "size") == 0 ? "device.capacity" : key,
                            level) >= 0) {
            one->overrides[one->n_overrides++] = word;
        } else {
            return fe_err_nomem(err, "a change of the profile", strlen(key) + strlen(level));
        }
    }
    return 0;
}

static void free_variant(struct command *one, const struct command *c)
{
    for (uint32_t i = c->n_overrides; one->overrides && i < one->n_overrides; i++)
        free((char *)(uintptr_t)one->overrides[i]);
    free(one->overrides);
}

/* A device that several runs share is made in front of the first of them.  If that fails, each of
 * these runs tries it and says why. */
static void sweep_prepare(void *ctx, uint32_t run)
{
    struct sweep *s = ctx;
    struct command one;
    struct fe_err err;

    if (!s->c->each || s->c->n_traces == 1 || run % s->c->n_traces != 0)
        return;
    fe_device_destroy(s->dev);
    s->dev = NULL;
    fe_err_init(&err);
    if (make_variant(&one, s->c, run, &err) < 0 || replay_make_device(&one, &s->dev, &err) < 0)
        s->dev = NULL;
    free_variant(&one, s->c);
}

static int sweep_run(void *ctx, uint32_t run, FILE *data)
{
    struct sweep *s = ctx;
    struct command one;
    struct fe_err err;

    fe_err_init(&err);
    int code = make_variant(&one, s->c, run, &err);
    one.opt.progress = NULL;
    one.data = data;
    one.silent = has_devices(s->c);
    if (code == 0 && !s->dev)
        code = replay_make_device(&one, &s->dev, &err);
    return code < 0 ? tool_fail(&err) : replay_on_device(&one, s->dev, &err);
}

static void show_runs(const struct sweep *s)
{
    if (s->c->opt.progress && s->n_ended < s->n)
        fprintf(stderr, "\r%u of %u runs\033[K", s->n_ended, s->n);
    else if (s->c->opt.progress)
        fputs("\r\033[K", stderr);
}

/* Prints a message of a run; if runs differ in their devices, with the name of the run, which a
 * message about the only thing that is varied has already. */
static void say(const struct sweep *s, uint32_t run, const char *line)
{
    char name[512];

    vary_name(&s->c->vary, run, name, sizeof name);
    bool named = strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':';
    if (has_devices(s->c) && !named)
        tool_error("%s: %s", name, line);
    else
        tool_error("%s", line);
}

/* Prints what a run said on standard error.  Returns the first line of that, without the name of
 * the program, or NULL. */
static const char *repeat_errors(const struct sweep *s, uint32_t run, char *errors)
{
    static const char program[] = "flashemu: ";
    const char *first = NULL;

    for (char *rest = errors, *line; (line = strsep(&rest, "\n")) != NULL;) {
        line += strncmp(line, program, strlen(program)) == 0 ? strlen(program) : 0;
        if (!*line)
            continue;
        first = first ? first : line;
        say(s, run, line);
    }
    return first;
}

/* {"vary": {KEY: LEVEL}, "error": ..., "result": ...} */
static int add_row(struct sweep *s, uint32_t run, const char *error)
{
    json_t *levels = json_object();

    for (uint32_t i = 0; i < s->c->vary.n; i++) {
        const char *level = vary_level(&s->c->vary, i, run);
        json_object_set_new(levels, s->c->vary.factors[i].key,
                            fe_json_text(level, strlen(level)));
    }
    json_t *row = json_pack("{s:o, s:o, s:O?}", "vary", levels, "error",
                            error ? fe_json_text(error, strlen(error)) : json_null(), "result",
                            s->results[run]);
    return row && json_array_append_new(s->rows, row) == 0 ? TOOL_OK : tool_error("out of memory");
}

static bool sweep_done(void *ctx, uint32_t run, const struct pool_result *r)
{
    struct sweep *s = ctx;
    char killed[64];

    s->n_ended++;
    if (s->c->opt.progress)
        fputs("\r\033[K", stderr);
    const char *error = repeat_errors(s, run, r->errors);
    if (r->code > 128) {
        snprintf(killed, sizeof killed, "signal %d has ended this run", r->code - 128);
        say(s, run, error = killed);
    }
    if (r->code <= TOOL_NO && !(s->results[run] = json_loadb(r->data, r->n_data, 0, NULL)))
        s->code = tool_error("out of memory");
    int code = r->code > TOOL_NO ? TOOL_USAGE : r->code;
    s->code = code > s->code ? code : s->code;
    if (s->rows && add_row(s, run, code == TOOL_OK ? NULL : error) != TOOL_OK)
        s->code = TOOL_USAGE;
    if (!has_devices(s->c))
        fwrite(r->output, 1, r->n_output, stdout);
    show_runs(s);
    return has_devices(s->c) || s->code == TOOL_OK;
}

/* What is printed behind the results of the runs.  A table of one line, and one that is not whole,
 * say nothing more than these. */
static int print_sweep(struct sweep *s)
{
    if (!has_devices(s->c) && (s->c->json || s->n == 1 || s->n_ended < s->n))
        return tool_finish(s->code);
    if (!s->c->json) {
        if (!has_devices(s->c))
            putchar('\n');
        vary_print_table(&s->c->vary, s->results, s->n, stdout);
        return tool_finish(s->code);
    }
    const struct fe_origin origin = tool_origin();
    json_t *o = s->rows ? json_pack("{s:O}", "runs", s->rows) : NULL;
    int code = o ? tool_print_result(o, &origin) : tool_error("out of memory");
    return code == TOOL_OK ? s->code : code;
}

int replay_several(struct command *c)
{
    struct sweep s = {.c = c};
    struct pool_jobs jobs = {.prepare = sweep_prepare, .run = sweep_run, .done = sweep_done,
                             .ctx = &s, .n_abreast = (uint32_t)c->n_abreast};
    struct fe_err err;

    fe_err_init(&err);
    if (vary_count(&c->vary, &s.n, &err) < 0)
        return tool_fail(&err);
    jobs.n = s.n;
    s.results = calloc(s.n, sizeof *s.results);
    s.rows = c->json && has_devices(c) ? json_array() : NULL;
    show_runs(&s);
    int code = s.results ? pool_run(&jobs) : tool_error("out of memory");
    if (code == TOOL_OK)
        code = print_sweep(&s);
    if (code == TOOL_OK && vary_is_idle(&c->vary, "seed", s.results, s.n))
        code = tool_error("--vary seed: changes nothing here: nothing was drawn at random; a "
                          "pattern has a seed of its own, as in gen:random,seed=2");
    for (uint32_t i = 0; s.results && i < s.n; i++)
        json_decref(s.results[i]);
    free(s.results);
    json_decref(s.rows);
    fe_device_destroy(s.dev);
    return code;
}
