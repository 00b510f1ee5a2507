/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands that write traces: gen makes a trace from a pattern, and trace from another trace.
 */
#include "output.h"
#include "replay/source.h"
#include "tool.h"
#include "workload/data.h"

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
    struct fe_data_reader *data; /* for a format that has what was written */
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
        .data = t->data,
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
    if (patterns && argc > 1) {
        code = tool_error("gen: --patterns takes no argument '%s'; --options is about one pattern", argv[1]);
    } else if (patterns) {
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
    "  --data FILE          what the writes of FILE wrote, if it is not where the trace says; all\n"
    "                       of it is read and checked\n"
    "  --to-data FILE       where the output keeps what the writes wrote: text, binary\n"
    "  --lossy              leave out what the format cannot hold instead of failing\n";

/* What the writes of a trace wrote, on its way from one file to another. */
struct data_path {
    const char *from, *to; /* as options have named them; NULL = nobody has */
    struct fe_data_reader *reader;
    bool is_inside; /* the trace has it itself, and its reader keeps it */
    struct output output;
    struct fe_data_writer *writer;
    uint8_t *buf;
    size_t room;
};

/* Opens the files behind the first records, when the trace has told its format and its origin. */
static int open_data(struct data_path *d, const char *path, const struct source *source,
                     const struct target *target, struct fe_err *err)
{
    const struct fe_trace_format *to = NULL;
    const char *name = source->reader ? fe_trace_origin(source->reader, FE_ORIGIN_DATA) : "";
    int r = target->format ? fe_trace_format_find(&to, target->format, err) : 0;
    bool to_log = to && fe_trace_format_has_data(to);
    d->is_inside = source->reader && fe_trace_has_data(source->reader);
    if (r == 0 && d->from && d->is_inside)
        r = fe_err_set(err, EINVAL, "--data %.200s: %.200s has in itself what was written", d->from,
                       path);
    if (r == 0 && d->writer && to && strcmp(target->format, "text") != 0 &&
        strcmp(target->format, "binary") != 0)
        r = fe_err_set(err, EINVAL, "--to-data: the format %s has no places of data; allowed: text, "
                       "binary", target->format);
    if (r < 0 || (!d->from && !(*name && (d->writer || to_log))))
        return r;
    return d->from ? fe_data_reader_open(&d->reader, d->from, err)
                   : fe_data_open_beside(&d->reader, path, name, err);
}

/* Reads what each of the writes wrote, and keeps it if there is somewhere to keep it. */
static int pass_data(struct data_path *d, const struct source *source, struct fe_trace_rec *recs,
                     int n, struct fe_err *err)
{
    int r = 0;
    for (int i = 0; i < n && r == 0; i++) {
        struct fe_trace_rec *rec = &recs[i];
        char where[256];
        if (rec->type != FE_REQ_WRITE || d->is_inside || (!d->reader && !d->writer))
            continue;
        if (!rec->data || !d->reader)
            return fe_err_set(err, EINVAL, "%s: the trace does not say what was written; "
                              "trace-data=FILE of the server records it",
                              source_where(source, rec, where, sizeof where));
        if (rec->len > d->room) {
            free(d->buf);
            d->room = 0;
            d->buf = rec->len < SIZE_MAX ? malloc((size_t)rec->len) : NULL;
            if (!d->buf)
                return fe_err_nomem(err, "what a request wrote", rec->len);
            d->room = (size_t)rec->len;
        }
        r = fe_data_get(d->reader, rec->data, rec->offset, rec->len, d->buf, err);
        if (r == 0 && d->writer)
            r = fe_data_put(d->writer, rec->offset, rec->len, d->buf, &rec->data, err);
    }
    return r;
}

/* The data first, because the trace names them. */
static int close_all(struct data_path *d, struct target *target, int code, struct fe_err *err)
{
    int closed = fe_data_writer_close(d->writer, code < 0 ? NULL : err);
    code = output_close(&d->output, code < 0 ? code : closed, err);
    code = target_close(target, code, err); /* which may still write what a request wrote */
    fe_data_reader_close(d->reader);
    free(d->buf);
    return code;
}

static int open_to_data(struct data_path *d, const char *path, struct fe_err *err)
{
    const char *const inputs[] = {path, d->from};
    int r = output_open(&d->output, d->to, inputs, 2, err);
    return r < 0 ? r : fe_data_writer_open(&d->writer, d->output.file, d->output.name, err);
}

/* Converts what the source has. */
static int convert_source(struct source *source, const char *path, struct data_path *data,
                          struct target *target, struct fe_err *err)
{
    struct fe_trace_rec recs[BATCH];
    struct source_origin from;
    int n = source_read(source, recs, BATCH, err); /* with what the trace says about its origin */
    source_origin(source, &from);
    target->says_end = source->reader && fe_trace_says_end(source->reader);
    int code = n < 0 ? n : open_data(data, path, source, target, err);
    target->data = data->reader;
    if (data->writer)
        from.origin.data = fe_data_name_beside(target->path ? target->path : "", data->to);
    if (code == 0)
        code = target_open(target, path, &from.origin, err);
    for (; code == 0 && n > 0; n = source_read(source, recs, BATCH, err)) {
        code = pass_data(data, source, recs, n, err);
        if (code == 0)
            code = fe_trace_write(target->writer, recs, (uint32_t)n, err);
    }
    if (code == 0 && n == 0 && !source_missing(source))
        code = fe_trace_write_end(target->writer, err);
    return code == 0 && n < 0 ? n : code;
}

static int convert(const char *path, const struct fe_trace_options *options,
                   struct data_path *data, struct target *target)
{
    struct fe_pattern_env env = {.sector_size = options->sector_size};
    struct fe_trace_options in = *options;
    struct source source = {0};
    struct fe_err err;

    fe_err_init(&err);
    int code = data->to ? open_to_data(data, path, &err) : 0;
    in.data = data->writer;
    if (code == 0)
        code = source_open(&source, path, &in, &env, 0, &err);
    if (code == 0)
        code = convert_source(&source, path, data, target, &err);
    code = close_all(data, target, code, &err);
    if (code == 0)
        source_report_rest(&source);
    source_close(&source);
    return code < 0 ? tool_fail(&err) : tool_finish(TOOL_OK);
}

int cmd_trace(int argc, char **argv)
{
    struct target target = {0};
    struct data_path data = {0};
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
        {"data=FILE", 0, NULL, &data.from},
        {"to-data=FILE", 0, NULL, &data.to},
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
    if (formats && argc > 1)
        return tool_error("trace: --formats lists the formats and takes no FILE");
    if (formats) {
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
    return convert(argv[1], &in, &data, &target);
}
