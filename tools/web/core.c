/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `flashemu replay` for a page: the same loop over the same sources, so the statistics are the same
 * to the last bit.  What the command has besides (several runs, files to write, a terminal) is not
 * here.
 */
#include "core.h"
#include "files.h"

#include "base/num.h"
#include "base/quantity.h"
#include "obs/stats_json.h"
#include "replay/print.h"
#include "replay/replay.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 64 };

struct fe_device *web_device;
static char *answer;
static size_t answer_len;

/* JavaScript's: called after some thousand requests.  `share` of the source is done, or it is below
 * 0 if nobody knows; the other numbers are those of the statistics. */
__attribute__((import_module("env"), import_name("progress"))) void
web_progress(double share, double records, double device_ns, double read, double written,
             double programmed);

/* --- what the tool's files need of tool.c --- */

int tool_error(const char *fmt, ...)
{
    (void)fmt;
    return TOOL_USAGE;
}

bool tool_is_quiet(void)
{
    return true;
}

struct fe_origin tool_origin(void)
{
    return (struct fe_origin){.version = fe_version};
}

/* --- answers --- */

void *WEB_EXPORT(web_alloc)(size_t bytes)
{
    return malloc(bytes ? bytes : 1);
}

void WEB_EXPORT(web_free)(void *p)
{
    free(p);
}

const char *WEB_EXPORT(web_answer)(void)
{
    return answer ? answer : "";
}

int web_answer_json(json_t *value)
{
    free(answer);
    answer = NULL;
    FILE *out = value ? open_memstream(&answer, &answer_len) : NULL;
    int bad = out ? json_dumpf(value, out, FE_STATS_JSON_FLAGS) : -1;
    if (out && (fclose(out) != 0 || !answer))
        bad = -1;
    json_decref(value);
    if (bad == 0)
        return 0;
    free(answer);
    answer = strdup("out of memory");
    return -ENOMEM;
}

int web_answer_error(int code, const struct fe_err *err)
{
    free(answer);
    answer = strdup(err->text);
    return code;
}

/* A file of the page; the content is web_alloc's. */
int WEB_EXPORT(web_keep)(const char *name, char *content, size_t len)
{
    struct fe_err err = {""};
    int code = web_files_keep(name, content, len);

    return code < 0 ? web_answer_error(code, (fe_err_nomem(&err, name, len), &err)) : 0;
}

/* --- devices --- */

/* The profile of a file of the page, or a shipped one. */
static int load(struct fe_profile *p, const char *name, const char *const *overrides, uint32_t n,
                struct fe_err *err)
{
    size_t len;
    const char *text = web_files_find(name, &len);

    return text ? fe_profile_parse(p, name, text, len, overrides, n, err)
                : fe_profile_load(p, name, overrides, n, err);
}

static int create(const char *name, const char *const *overrides, uint32_t n, uint64_t seed,
                  bool cuts, struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = seed, .power_cuts = cuts};
    struct fe_profile profile;

    web_chip_end();
    fe_device_destroy(web_device);
    web_device = NULL;
    int code = load(&profile, name, overrides, n, err);
    if (code < 0)
        return code;
    code = fe_device_create(&web_device, &profile, &opt, err);
    fe_profile_fini(&profile);
    return code;
}

static json_t *describe(const struct fe_device *dev)
{
    const struct fe_profile *p = fe_device_profile(dev);
    char type[32] = "";
    json_t *o = json_object();

    fe_profile_get(p, "ftl.type", type, sizeof type);
    json_object_set_new(o, "profile", json_string(p->name));
    json_object_set_new(o, "model", json_string(p->device.model));
    json_object_set_new(o, "strategy", json_string(type));
    json_object_set_new(o, "capacity", json_integer((json_int_t)fe_device_capacity(dev)));
    json_object_set_new(o, "sector", json_integer(p->device.sector_size));
    json_object_set_new(o, "page", json_integer(fe_device_page_bytes(dev)));
    json_object_set_new(o, "max_transfer", json_integer((json_int_t)p->link.max_transfer));
    json_object_set_new(o, "discard", json_boolean(p->device.discard));
    return o;
}

/* words: the profile, and then KEY=VALUE and seed=N, separated by newlines.  `cuts`: its power can be
 * cut.  The answer describes the device. */
int WEB_EXPORT(web_create)(char *words, int cuts)
{
    const char *overrides[MAX_WORDS], *name = strsep(&words, "\n");
    struct fe_err err = {""};
    uint64_t seed = 1;
    uint32_t n = 0;
    int code = 0;

    for (char *word; code == 0 && (word = strsep(&words, "\n"));) {
        if (n == MAX_WORDS)
            code = fe_err_set(&err, EINVAL, "more than %d keys", MAX_WORDS);
        else if (strncmp(word, "seed=", 5) != 0)
            overrides[n++] = word;
        else if (!fe_quantity_parse_span(FE_SIZE, word + 5, strlen(word + 5), &seed))
            code = fe_err_set(&err, EINVAL, "%.80s: is not a number", word);
    }
    if (code == 0)
        code = create(name, overrides, n, seed, cuts != 0, &err);
    return code < 0 ? web_answer_error(code, &err) : web_answer_json(describe(web_device));
}

/* The answer is the canonical form of the device's profile, as `flashemu show` prints it. */
int WEB_EXPORT(web_show)(void)
{
    struct fe_err err = {""};

    free(answer);
    answer = NULL;
    FILE *out = open_memstream(&answer, &answer_len);
    int code = out ? fe_profile_print(fe_device_profile(web_device), out, &err)
                   : fe_err_nomem(&err, "a profile", 0);
    if (out && (fclose(out) != 0 || !answer) && code == 0)
        code = fe_err_nomem(&err, "a profile", 0);
    return code < 0 ? web_answer_error(code, &err) : 0;
}

/* The answer is a list of the shipped profiles: {"name":"...","model":"...","link":"..."}. */
int WEB_EXPORT(web_profiles)(void)
{
    struct fe_err err = {""};
    json_t *list = json_array();
    int code = 0;

    for (const char *const *name = fe_profile_names; *name && code == 0; name++) {
        struct fe_profile p;
        char link[32] = "";
        code = fe_profile_load(&p, *name, NULL, 0, &err);
        if (code < 0)
            break;
        fe_profile_get(&p, "link.type", link, sizeof link);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", *name, "model",
                                              p.device.model, "link", link));
        fe_profile_fini(&p);
    }
    if (code == 0)
        return web_answer_json(list);
    json_decref(list);
    return web_answer_error(code, &err);
}

/* --- replays --- */

void web_source_options(struct fe_trace_options *trace, struct fe_pattern_env *env)
{
    const struct fe_profile *p = fe_device_profile(web_device);

    *trace = (struct fe_trace_options){.sector_size = p->device.sector_size};
    *env = (struct fe_pattern_env){.capacity = fe_device_capacity(web_device),
                                   .sector_size = p->device.sector_size};
}

static void progress(struct replay *r, const struct source *s, double seconds)
{
    struct fe_stats stats;
    double share = -1;

    (void)seconds;
    fe_device_get_stats(r->dev, &stats);
    if (s->total > 0)
        share = (double)s->done / (double)s->total;
    else if (s->recording && s->recording->last > 0)
        share = (double)s->n_read / (double)s->recording->last;
    web_progress(share, (double)r->records, (double)(stats.device_ns - r->start_ns),
                 (double)stats.host[FE_REQ_READ].bytes, (double)stats.host[FE_REQ_WRITE].bytes,
                 (double)stats.nand.bytes_programmed);
}

/* *skipped: how many events of the trace were no requests of the device. */
static int run(struct replay *r, const char *trace, uint64_t *skipped, struct fe_err *err)
{
    struct fe_trace_options options;
    struct fe_pattern_env env;
    struct source source;

    web_source_options(&options, &env);
    int code = source_open(&source, trace, &options, &env,
                           fe_device_profile(web_device)->link.max_transfer, err);
    if (code < 0)
        return code;
    size_t len;
    if (!source.recording && web_files_find(trace, &len))
        source.total = len;
    code = replay_run(r, &source, err);
    *skipped = source.reader ? fe_trace_skipped(source.reader) : 0;
    source_close(&source);
    return code;
}

/* Runs a trace on the device: a file of the page, a pattern or a recording.  depth requests are in
 * flight.  `foreign`: the trace was not made for this device, so what lies behind its end wraps, and
 * trims that it does not offer are left out.  The answer is the object of `replay --json` without its
 * origin; of a foreign trace it also has `skipped`, how many events were no requests. */
int WEB_EXPORT(web_replay)(const char *trace, uint32_t depth, int foreign)
{
    const struct replay_options opt = {.depth = depth, .wrap = foreign, .drop_trim = foreign,
                                       .progress = progress};
    struct fe_err err = {""};
    uint64_t skipped = 0;
    struct replay r;

    int code = replay_init(&r, web_device, &opt, &err);
    if (code == 0)
        code = run(&r, trace, &skipped, &err);
    json_t *o = code == 0 ? replay_json(&r) : NULL;
    if (o && foreign)
        json_object_set_new(o, "skipped", json_integer((json_int_t)skipped));
    if (code == 0)
        code = web_answer_json(o);
    else
        web_answer_error(code, &err);
    replay_fini(&r);
    return code;
}
