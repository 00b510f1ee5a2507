/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands that write traces: gen makes a trace from a pattern, and trace from another trace.
 */
#include "output.h"
#include "replay/source.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 1024, MAX_OPTIONS = 64 };

/* Where a trace goes. */
struct target {
    const char *path; /* NULL or "-" = standard output */
    const char *format, *device;
    bool lossy, says_end;
    struct output output;
    struct fe_trace_writer *writer;
};

/* input: the file that the command reads, or NULL. */
static int target_open(struct target *t, const char *input, const struct fe_origin *origin,
                       struct fe_err *err)
{
    struct fe_trace_writer_options options = {
        .device = t->device,
        .origin = origin,
        .lossy = t->lossy,
        .says_end = t->says_end,
    };

    int r = t->format ? fe_trace_format_find(&options.format, t->format, err) : 0;
    if (r == 0)
        r = output_open(&t->output, t->path, &input, 1, err);
    if (r == 0 && options.format && !fe_trace_format_is_text(options.format) &&
        isatty(fileno(t->output.file)))
        r = fe_err_set(err, EINVAL, "the format %s is not for a terminal; -o FILE writes a file",
                       t->format);
    if (r < 0)
        return r;
    return fe_trace_writer_open(&t->writer, t->output.file, t->output.name, &options, err);
}

static int target_close(struct target *t, int code, struct fe_err *err)
{
    int closed = fe_trace_writer_close(t->writer, code < 0 ? NULL : err);
    return output_close(&t->output, code < 0 ? code : closed, err);
}

/* --- gen --- */

static const char gen_help[] =
    "usage: flashemu gen PATTERN [--KEY VALUE...] [-o FILE] [--to FORMAT]\n"
    "       flashemu gen --patterns\n\n"
    "Writes a trace to standard output or FILE.  --patterns lists the patterns,\n"
    "flashemu gen PATTERN --options the options of one with their defaults; most have\n"
    "--op read|write|trim --bs SIZE --size SIZE --offset SIZE --count N --seed N.\n\n"
    "  -o, --output FILE    instead of standard output\n"
    "  --force              replaces FILE whatever it is, except an input\n"
    "  --to FORMAT          text (default) or another; flashemu trace --formats lists them\n"
    "  --device NAME        iolog: the file's name in the trace (/dev/flashemu)\n"
    "  --lossy              leave out what the format cannot hold instead of failing\n"
    "  --capacity SIZE      of the device; size is then the rest of it by default\n"
    "  --sector SIZE        offsets and lengths are multiples of it (512)\n";

struct gen {
    char *options[MAX_OPTIONS];
    uint32_t n_options;
};

static int add_option(void *ctx, const char *name, const char *value)
{
    struct gen *g = ctx;

    if (g->n_options == MAX_OPTIONS)
        return tool_error("gen: more than %d options", MAX_OPTIONS);
    if (asprintf(&g->options[g->n_options], "%s=%s", name, value) < 0)
        return tool_error("out of memory");
    g->n_options++;
    return TOOL_OK;
}

static int write_pattern(struct fe_pattern *pattern, struct target *target, struct fe_err *err)
{
    struct fe_trace_rec recs[BATCH];
    const struct fe_origin origin = tool_origin();
    uint32_t n;
    int code = target_open(target, NULL, &origin, err);

    while (code == 0 && (n = fe_pattern_next(pattern, recs, BATCH)) > 0)
        code = fe_trace_write(target->writer, recs, n, err);
    return target_close(target, code, err);
}

static int generate(const char *spec, const struct gen *g, const struct fe_pattern_env *env,
                    struct target *target)
{
    struct fe_pattern *pattern = NULL;
    struct fe_err err;

    fe_err_init(&err);
    int code = fe_pattern_create(&pattern, spec, (const char *const *)g->options, g->n_options,
                                 env, &err);
    if (code == 0)
        code = write_pattern(pattern, target, &err);
    fe_pattern_destroy(pattern);
    return code < 0 ? tool_fail(&err) : tool_finish(TOOL_OK);
}

static int print_patterns(const char *name)
{
    struct fe_err err;

    fe_err_init(&err);
    if (fe_pattern_help(stdout, name, &err) < 0)
        return tool_fail(&err);
    return tool_finish(TOOL_OK);
}

int cmd_gen(int argc, char **argv)
{
    struct gen g = {.n_options = 0};
    struct target target = {0};
    const char *capacity = NULL, *sector = NULL;
    bool patterns = false, options_wanted = false;
    const struct tool_option options[] = {
        {"output=FILE", 'o', NULL, &target.path},
        {"force", 0, &output_force, NULL},
        {"to=FORMAT", 0, NULL, &target.format},
        {"to=FORMAT", 0, NULL, &target.format},
        {"format=FORMAT", 0, NULL, &target.format}, /* its older name */
        {"device", 0, NULL, &target.device}, {"lossy", 0, &target.lossy, NULL},
        {"capacity", 0, NULL, &capacity},    {"sector", 0, NULL, &sector},
        {"patterns", 0, &patterns, NULL},    {"options", 0, &options_wanted, NULL},
        {0},
    };
    const struct tool_args args = {options, add_option, &g, gen_help};
    struct fe_pattern_env env = {0};
    uint64_t bytes = 512;
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        goto done;
    if (patterns && argc == 1) {
        code = print_patterns(NULL);
    } else if (argc != 2) {
        code = tool_error("gen: expected one PATTERN; flashemu gen --patterns lists them");
    } else if (options_wanted) {
        code = print_patterns(argv[1]);
    } else if ((capacity && !tool_number("--capacity", capacity, 1, FE_TRACE_MAX_END,
                                         &env.capacity)) ||
               (sector && !tool_number("--sector", sector, 1, 1 << 20, &bytes))) {
        code = TOOL_USAGE;
    } else {
        env.sector_size = (uint32_t)bytes;
        code = generate(argv[1], &g, &env, &target);
    }
done:
    for (uint32_t i = 0; i < g.n_options; i++)
        free(g.options[i]);
    return code;
}

/* --- trace --- */

static const char trace_help[] =
    "usage: flashemu trace FILE [--to FORMAT] [-o OUTPUT]\n"
    "       flashemu trace --formats\n\n"
    "Prints a trace, in flashemu's own form or converted.  FILE may be - (standard input)\n"
    "or gen:PATTERN[,KEY=VALUE...].  --formats lists the formats.\n\n"
    "  --from FORMAT        of FILE; default: its first line tells\n"
    "  --to FORMAT          of the output: text (default) or another\n"
    "  -o, --output FILE    instead of standard output\n"
    "  --force              replaces FILE whatever it is, except an input\n"
    "  --from-device NAME   only requests of this device, as --formats says how it is named\n"
    "  --event LETTER       blkparse, blktrace, ftrace: D issued (default), Q queued, G, I,\n"
    "                       or C completed\n"
    "  --sector SIZE        offsets and lengths must be multiples of it (512)\n"
    "  --device NAME        iolog: the file's name in the output (/dev/flashemu)\n"
    "  --lossy              leave out what the format cannot hold instead of failing\n";

static int convert(const char *path, const struct fe_trace_options *options,
                   struct target *target)
{
    struct fe_pattern_env env = {.sector_size = options->sector_size};
    struct fe_trace_rec recs[BATCH];
    struct source_origin from;
    struct source source;
    struct fe_err err;
    int n;

    fe_err_init(&err);
    if (source_open(&source, path, options, &env, 0, &err) < 0)
        return tool_fail(&err);
    n = source_read(&source, recs, BATCH, &err); /* with what the trace says about its origin */
    source_origin(&source, &from);
    target->says_end = source.reader && fe_trace_says_end(source.reader);
    int code = n < 0 ? n : target_open(target, path, &from.origin, &err);
    for (; code == 0 && n > 0; n = source_read(&source, recs, BATCH, &err))
        code = fe_trace_write(target->writer, recs, (uint32_t)n, &err);
    if (code == 0 && n == 0 && !source_missing(&source))
        code = fe_trace_write_end(target->writer, &err);
    code = target_close(target, code == 0 && n < 0 ? n : code, &err);
    if (code == 0)
        source_report_rest(&source);
    source_close(&source);
    return code < 0 ? tool_fail(&err) : tool_finish(TOOL_OK);
}

int cmd_trace(int argc, char **argv)
{
    struct target target = {0};
    struct fe_trace_options in = {0};
    const char *format = NULL, *event = NULL, *sector = NULL;
    bool formats = false;
    const struct tool_option options[] = {
        {"from=FORMAT", 0, NULL, &format},
        {"format=FORMAT", 0, NULL, &format}, /* its older name */
        {"to=FORMAT", 0, NULL, &target.format},
        {"output=FILE", 'o', NULL, &target.path},
        {"force", 0, &output_force, NULL},
        {"from-device", 0, NULL, &in.device},
        {"event=" SOURCE_EVENTS, 0, NULL, &event},
        {"sector", 0, NULL, &sector},
        {"device", 0, NULL, &target.device},
        {"lossy", 0, &target.lossy, NULL},
        {"formats", 0, &formats, NULL},
        {0},
    };
    const struct tool_args args = {.options = options, .help = trace_help};
    struct fe_err err = {""};
    uint64_t bytes = 512;
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (formats && argc == 1) {
        fe_trace_format_help(stdout);
        return tool_finish(TOOL_OK);
    }
    if (argc != 2)
        return tool_error("trace: expected one FILE, or - for standard input");
    if (source_choose(&in, format, event, &err) < 0)
        return tool_fail(&err);
    if (sector && !tool_number("--sector", sector, 1, 1 << 20, &bytes))
        return TOOL_USAGE;
    in.sector_size = (uint32_t)bytes;
    in.marks = true;
    return convert(argv[1], &in, &target);
}
