/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One run of what the user has asked of `replay`: the device, the warm-up, the traces, and the
 * result in the form that is wanted.  One run is all of a plain command; several.c makes many.
 */
#include "output.h"
#include "replay/command.h"
#include "replay/judge.h"
#include "replay/print.h"
#include "replay/wear_svg.h"
#include "tool.h"

#include "obs/origin_json.h"
#include "obs/stats_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Where the results come from.  Some texts stay with the command and the device. */
static struct fe_origin origin_of(const struct command *c, const struct fe_device *dev)
{
    struct fe_origin o = tool_origin();

    o.profile = fe_device_profile(dev)->name;
    o.overrides = c->overrides;
    o.n_overrides = c->n_overrides;
    o.seed = c->device.seed;
    o.has_seed = true;
    return o;
}

static int open_source(const struct command *c, const struct replay *r, struct source *source,
                       const char *arg, struct fe_err *err)
{
    int code = source_open(source, arg, &c->trace, &c->env,
                           fe_device_profile(r->dev)->link.max_transfer, err);
    if (code == 0 && source->recording && c->opt.timed)
        code = fe_err_set(err, EINVAL, "%.200s: a recording has no times for --timed", arg);
    source->keeps = r->repeat && source->reader;
    return code;
}

/* Runs a source, which is closed or has run before, and closes it unless it can run again. */
static int run_source(const struct command *c, struct replay *r, struct source *source,
                      const char *arg, struct fe_err *err)
{
    bool again = source_again(source);

    int code = again ? 0 : open_source(c, r, source, arg, err);
    if (code == 0)
        code = replay_run(r, source, err);
    if (code == 0 && !again)
        source_report_rest(source);
    if (code < 0 || !source->keeps)
        source_close(source);
    return code;
}

/* All traces, one after the other. */
static int run_round(const struct command *c, struct replay *r, struct source *sources,
                     struct fe_err *err)
{
    int code = 0;

    for (uint32_t i = 0; i < c->n_traces && code == 0 && !(r->repeat && r->repeat->ended); i++)
        code = run_source(c, r, &sources[i], c->traces[i], err);
    if (code == 0 && r->repeat && !r->repeat->ended)
        code = repeat_round(r->repeat, r->records, err);
    return code;
}

/* A round, and that again if the user wants it. */
static int run_rounds(const struct command *c, struct replay *r, struct fe_err *err)
{
    struct source *sources = calloc(c->n_traces, sizeof *sources);
    int code;

    if (!sources)
        return fe_err_nomem(err, "traces", c->n_traces * sizeof *sources);
    do {
        code = run_round(c, r, sources, err);
    } while (code == 0 && r->repeat && !r->repeat->ended);
    for (uint32_t i = 0; i < c->n_traces; i++)
        source_close(&sources[i]);
    free(sources);
    return code < 0 ? code : 0;
}

/* Runs the traces, and records the requests if the user wants that. */
static int run_traces(const struct command *c, struct replay *r, const struct output *record,
                      struct fe_err *err)
{
    struct fe_origin origin = origin_of(c, r->dev);
    const struct fe_trace_writer_options text = {.origin = &origin};
    struct source warmup = {0};
    int code = 0;

    origin.capacity = r->capacity;
    if (c->warmup) {
        code = run_source(c, r, &warmup, c->warmup, err);
        source_close(&warmup);
        replay_reset(r);
    }
    if (code == 0 && record->file)
        code = fe_trace_writer_open(&r->record, record->file, record->name, &text, err);
    if (code == 0)
        code = run_rounds(c, r, err);
    if (r->record) {
        int closed = fe_trace_writer_close(r->record, code < 0 ? NULL : err);
        code = code < 0 ? code : closed;
        r->record = NULL;
    }
    return code;
}

/* Opens an output that the user wants; it must not be one of the files that replay reads. */
static int open_output(const struct command *c, struct output *o, const char *path,
                       struct fe_err *err)
{
    return path ? output_open(o, path, c->inputs, c->n_inputs, err) : 0;
}

/* The outputs are opened first, so that a wrong name does not cost a long run. */
static int run_with_outputs(const struct command *c, struct replay *r, struct fe_err *err)
{
    struct output record = {0}, wear = {0};

    int code = open_output(c, &record, c->record, err);
    if (code == 0)
        code = open_output(c, &wear, c->wear_svg, err);
    if (code == 0)
        code = run_traces(c, r, &record, err);
    if (code == 0 && c->wear_svg)
        code = wear_svg_write(r->dev, wear.file, err);
    code = output_close(&wear, code, err);
    return output_close(&record, code, err);
}

/* The result as JSON for what combines several runs. */
static int put_data(const struct command *c, const struct fe_device *dev, json_t *result)
{
    const struct fe_origin origin = origin_of(c, dev);
    json_t *o = fe_origin_json(result, &origin);
    int code = o && !tool_json_incomplete() && json_dumpf(o, c->data, FE_STATS_JSON_FLAGS) == 0
                   ? TOOL_OK : tool_error("out of memory");

    json_decref(o);
    return code;
}

static int print_json(const struct command *c, const struct fe_device *dev, json_t *o)
{
    const struct fe_origin origin = origin_of(c, dev);

    return o ? tool_print_result(o, &origin) : tool_error("out of memory");
}

static int report(const struct command *c, const struct replay *r)
{
    uint64_t first = 0, wrong = r->payload ? payload_wrong(r->payload, &first) : 0;
    int code = c->data ? put_data(c, r->dev, replay_json(r)) : TOOL_OK;

    if (code == TOOL_OK && !c->silent)
        code = c->json ? print_json(c, r->dev, replay_json(r)) : replay_print(r);
    if (wrong > 0) {
        tool_error("%" PRIu64 " sectors read back wrong, the first at offset %" PRIu64, wrong,
                   first);
        return code == TOOL_OK ? TOOL_NO : code;
    }
    return code;
}

/* --against: how near the device comes. */
static int judge_device(const struct command *c, struct fe_device *dev, struct fe_err *err)
{
    const char *name = fe_device_profile(dev)->name;
    struct judgement j;
    int result = TOOL_OK;

    int code = judge(&j, &c->conversation, dev, err);
    if (code == 0 && c->data)
        result = put_data(c, dev, judge_json(&j, name));
    if (code == 0 && result == TOOL_OK && !c->silent)
        result = c->json ? print_json(c, dev, judge_json(&j, name)) : judge_print(&j, name);
    judge_fini(&j);
    return code < 0 ? tool_fail(err) : result;
}

int replay_on_device(struct command *c, struct fe_device *dev, struct fe_err *err)
{
    if (c->against)
        return judge_device(c, dev, err);

    const struct fe_profile *profile = fe_device_profile(dev);
    struct replay replay;
    struct repeat repeat;
    int result = TOOL_USAGE;

    c->trace.sector_size = c->env.sector_size = profile->device.sector_size;
    c->env.capacity = fe_device_capacity(dev);
    int code = replay_init(&replay, dev, &c->opt, err);
    if (code == 0 && c->payload)
        code = payload_create(&replay.payload, dev, c->device.seed, err);
    if (code == 0 && c->until) {
        code = repeat_init(&repeat, dev, c->until, c->most, err);
        replay.repeat = code == 0 ? &repeat : NULL;
    }
    if (code == 0)
        code = run_with_outputs(c, &replay, err);
    if (code == 0)
        result = report(c, &replay);
    if (replay.repeat)
        repeat_fini(replay.repeat);
    payload_destroy(replay.payload);
    replay_fini(&replay);
    return code < 0 ? tool_fail(err) : result;
}

int replay_make_device(struct command *c, struct fe_device **ret, struct fe_err *err)
{
    struct fe_profile profile;
    int code = tool_load_profile(&profile, c->profile_name, c->overrides, c->n_overrides, err);

    if (code < 0)
        return code;
    code = tool_create_device(ret, &profile, &c->device, c->profile_name, c->overrides,
                              c->n_overrides, err);
    fe_profile_fini(&profile);
    return code;
}
