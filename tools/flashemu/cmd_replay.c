/* SPDX-License-Identifier: BSD-3-Clause
 *
 * replay: runs traces in virtual time, and prints what the device did.
 */
#include "output.h"
#include "replay.h"
#include "tool.h"
#include "wear_svg.h"

#include "base/quantity.h"
#include "obs/stats_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char replay_help[] =
    "usage: flashemu replay PROFILE TRACE... [SECTION.KEY=VALUE...] [size=SIZE] [seed=N]\n\n"
    "Runs traces on an emulated device as fast as this machine can, and prints what the\n"
    "device did in its own time.  TRACE is a file, which may be compressed by gzip,\n"
    "- (standard input), gen:PATTERN[,KEY=VALUE...] (see flashemu gen --patterns), or a\n"
    "recording of a filesystem: rec:NAME[,start=SECTOR][,measure=PHASE] moves its partition, and\n"
    "counts one phase after those in front of it have run (see flashemu-lab(1)).\n\n"
    "  --json               prints the object of the server's `stats`, with more members\n"
    "  --warmup TRACE       runs this trace first and does not count it\n"
    "  --each               runs each TRACE by itself, on the device as it was at the beginning,\n"
    "                       and prints a result for each\n"
    "  --depth N            keeps this many requests in flight (1)\n"
    "  --timed              lets requests arrive at the trace's own times\n"
    "  --payload            keeps data, and compares what is read with what was written\n"
    "  --seed N             of the device's randomness (1)\n"
    "  --wrap               takes offsets behind the end modulo the capacity\n"
    "  --drop-trim          leaves out trims if the device does not offer them\n"
    "  --record FILE        writes the requests with their completions\n"
    "  --wear-svg FILE      draws how worn each block is at the end\n"
    "  --format FORMAT, --from-device NAME, --event LETTER    as in flashemu trace\n";

struct command {
    const char *warmup, *depth_text, *seed_text, *record, *wear_svg, *format, *event;
    bool json, payload, each;
    struct replay_options opt;
    struct fe_device_options device;
    struct fe_trace_options trace;
    struct fe_pattern_env env;

    const char *profile_name;
    const char **traces, **overrides;
    uint32_t n_traces, n_overrides;
    char *capacity; /* "device.capacity=..." for size= */
    const char **inputs; /* every file that is read */
    uint32_t n_inputs;
    char *profile_path;
};

static const char name_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

/* size=VALUE and seed=VALUE mean the same as the server's parameters. */
static int take_parameter(struct command *c, const char *word)
{
    const char *value = strchr(word, '=') + 1;

    if (strncmp(word, "seed=", 5) == 0) {
        if (c->seed_text)
            return tool_error("seed is given twice");
        c->seed_text = value;
        return tool_number("seed", value, 0, UINT64_MAX, &c->device.seed) ? TOOL_OK : TOOL_USAGE;
    }
    if (c->capacity)
        return tool_error("size is given twice");
    if (asprintf(&c->capacity, "device.capacity=%s", value) < 0) {
        c->capacity = NULL;
        return tool_error("out of memory");
    }
    c->overrides[c->n_overrides++] = c->capacity;
    return TOOL_OK;
}

/* A word behind the profile: SECTION.KEY=VALUE, size=VALUE, seed=VALUE, or a trace. */
static int take_word(struct command *c, const char *word)
{
    size_t name = strspn(word, name_characters);

    if (word[name] == '=' && memchr(word, '.', name)) {
        c->overrides[c->n_overrides++] = word;
    } else if (strncmp(word, "size=", 5) == 0 || strncmp(word, "seed=", 5) == 0) {
        return take_parameter(c, word);
    } else if (name > 0 && word[name] == '=' && access(word, F_OK) < 0) {
        return tool_error("replay: '%.100s' is neither SECTION.KEY=VALUE, size=SIZE, seed=N nor a "
                          "trace", word);
    } else {
        c->traces[c->n_traces++] = word;
        c->inputs[c->n_inputs++] = word;
    }
    return TOOL_OK;
}

static int sort_operands(struct command *c, int argc, char **argv)
{
    int code = TOOL_OK;

    if (argc < 3)
        return tool_error("replay: expected PROFILE and at least one TRACE");
    c->profile_name = argv[1];
    c->traces = calloc((size_t)argc, sizeof *c->traces);
    c->inputs = calloc((size_t)argc, sizeof *c->inputs);
    c->overrides = calloc((size_t)argc, sizeof *c->overrides);
    if (!c->traces || !c->overrides || !c->inputs)
        return tool_error("out of memory");
    for (int i = 2; i < argc && code == TOOL_OK; i++)
        code = take_word(c, argv[i]);
    if (code != TOOL_OK)
        return code;
    return c->n_traces > 0 ? TOOL_OK : tool_error("replay: which trace?");
}

/* False, after a message, if the option names standard output, which is for the results. */
static bool is_file(const char *option, const char *path)
{
    if (!path || strcmp(path, "-") != 0)
        return true;
    tool_error("%s -: must be a file, standard output is for the results", option);
    return false;
}

static int parse_command(struct command *c, int argc, char **argv, int *ret_code)
{
    const struct tool_option options[] = {
        {"json", 0, &c->json, NULL},
        {"warmup=FILE", 0, NULL, &c->warmup},
        {"each", 0, &c->each, NULL},
        {"depth", 0, NULL, &c->depth_text},
        {"timed", 0, &c->opt.timed, NULL},
        {"payload", 0, &c->payload, NULL},
        {"seed", 0, NULL, &c->seed_text},
        {"wrap", 0, &c->opt.wrap, NULL},
        {"drop-trim", 0, &c->opt.drop_trim, NULL},
        {"record=FILE", 0, NULL, &c->record},
        {"wear-svg=FILE", 0, NULL, &c->wear_svg},
        {"format=FORMAT", 0, NULL, &c->format},
        {"from-device", 0, NULL, &c->trace.device},
        {"event=" SOURCE_EVENTS, 0, NULL, &c->event},
        {0},
    };
    const struct tool_args args = {.options = options, .help = replay_help};
    struct fe_err err = {""};
    uint64_t depth = 1;

    if (!tool_parse(&args, &argc, argv, ret_code))
        return -1;
    *ret_code = TOOL_USAGE;
    c->device.seed = 1;
    if (c->depth_text && !tool_number("--depth", c->depth_text, 1, 65536, &depth))
        return -1;
    if (c->seed_text && !tool_number("--seed", c->seed_text, 0, UINT64_MAX, &c->device.seed))
        return -1;
    if (source_choose(&c->trace, c->format, c->event, &err) < 0) {
        tool_fail(&err);
        return -1;
    }
    if (!is_file("--record", c->record) || !is_file("--wear-svg", c->wear_svg))
        return -1;
    if (c->each && (c->record || c->wear_svg)) {
        tool_error("--each: has several results, and --%s is one file",
                   c->record ? "record" : "wear-svg");
        return -1;
    }
    c->opt.depth = (uint32_t)depth;
    c->opt.progress = isatty(STDERR_FILENO) != 0;
    c->device.payload = c->payload;
    *ret_code = sort_operands(c, argc, argv);
    return *ret_code == TOOL_OK ? 0 : -1;
}

/* --- what came out --- */

static json_t *failures_json(const struct replay *r)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "read", (json_int_t)r->failed[FE_REQ_READ], "write",
                     (json_int_t)r->failed[FE_REQ_WRITE], "trim",
                     (json_int_t)r->failed[FE_REQ_TRIM], "flush",
                     (json_int_t)r->failed[FE_REQ_FLUSH]);
}

static double per_second(const struct replay *r)
{
    return r->wall_seconds > 0 ? (double)r->records / r->wall_seconds : 0;
}

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

static int print_json(const struct command *c, const struct replay *r)
{
    const struct fe_origin origin = origin_of(c, r->dev);
    struct fe_snapshot *now = fe_snapshot_create(r->dev);
    json_t *o = NULL;
    uint64_t first;

    if (now) {
        fe_snapshot_take(now, r->dev);
        o = fe_stats_json(now, fe_device_profile(r->dev)->name, "virtual", NULL);
        fe_snapshot_destroy(now);
    }

    if (!o)
        return tool_error("out of memory");
    json_object_set_new(o, "records", json_integer((json_int_t)r->records));
    json_object_set_new(o, "dropped_trims", json_integer((json_int_t)r->dropped_trims));
    json_object_set_new(o, "user_bytes",
                        r->user_bytes ? json_integer((json_int_t)r->user_bytes) : json_null());
    json_object_set_new(o, "failed", failures_json(r));
    json_object_set_new(o, "elapsed_ns",
                        json_integer((json_int_t)(fe_device_now(r->dev) - r->start_ns)));
    if (r->payload) {
        json_object_set_new(o, "verified_sectors",
                            json_integer((json_int_t)payload_verified(r->payload)));
        json_object_set_new(o, "wrong_sectors",
                            json_integer((json_int_t)payload_wrong(r->payload, &first)));
    }
    json_object_set_new(o, "wall_seconds", json_real(r->wall_seconds));
    json_object_set_new(o, "cpu_seconds", json_real(r->cpu_seconds));
    json_object_set_new(o, "host_ops_per_second", json_real(per_second(r)));
    return tool_print_result(o, &origin);
}

static void print_requests(const struct replay *r, const struct fe_stats *s, enum fe_req_type type,
                           const char *name)
{
    const struct fe_hist *h = fe_device_latency(r->dev, type);
    double seconds = (double)(fe_device_now(r->dev) - r->start_ns) / 1e9;
    char mean[FE_ROUNDED_MAX], p50[FE_ROUNDED_MAX], p99[FE_ROUNDED_MAX],
        max[FE_ROUNDED_MAX];

    if (s->host[type].ops == 0)
        return;
    printf("%-12s %" PRIu64 " requests, %.4g MB", name, s->host[type].ops,
           (double)s->host[type].bytes / 1e6);
    if (seconds > 0)
        printf(", %.4g MB/s, %.4g IOPS", (double)s->host[type].bytes / 1e6 / seconds,
               (double)s->host[type].ops / seconds);
    printf("\n%-12s mean %s, p50 %s, p99 %s, max %s\n", "", fe_time_text(fe_hist_mean(h), mean),
           fe_time_text((double)fe_hist_quantile(h, 500000), p50),
           fe_time_text((double)fe_hist_quantile(h, 990000), p99),
           fe_time_text((double)h->max, max));
}

static void print_errors(const struct replay *r)
{
    static const char *const names[] = {
        [FE_REQ_READ] = "reads", [FE_REQ_WRITE] = "writes", [FE_REQ_TRIM] = "trims",
        [FE_REQ_FLUSH] = "flushes",
    };

    for (int i = 0; i < FE_N_REQ_TYPES; i++)
        if (r->failed[i])
            printf("%-12s %" PRIu64 " %s ended with an error\n", "failed", r->failed[i], names[i]);
    if (r->dropped_trims)
        printf("%-12s %" PRIu64 " trims left out\n", "dropped", r->dropped_trims);
    if (r->payload)
        printf("%-12s %" PRIu64 " sectors read as they were written\n", "verified",
               payload_verified(r->payload));
}

static int print_summary(const struct replay *r)
{
    char elapsed[FE_ROUNDED_MAX], busy[FE_ROUNDED_MAX];
    struct fe_stats s;

    fe_device_get_stats(r->dev, &s);
    printf("%-12s %s\n", "profile", fe_device_profile(r->dev)->name);
    printf("%-12s %s, busy %s\n", "device time",
           fe_time_text((double)(s.device_ns - r->start_ns), elapsed),
           fe_time_text((double)s.busy_ns, busy));
    print_requests(r, &s, FE_REQ_READ, "read");
    print_requests(r, &s, FE_REQ_WRITE, "write");
    print_requests(r, &s, FE_REQ_TRIM, "trim");
    print_requests(r, &s, FE_REQ_FLUSH, "flush");
    printf("%-12s %" PRIu64 " page reads, %" PRIu64 " programs, %" PRIu64 " block erases\n", "nand",
           s.nand.page_reads, s.nand.page_programs, s.nand.block_erases);
    if (r->user_bytes && s.busy_ns)
        printf("%-12s %.4g MB, %.4g MB/s\n", "files", (double)r->user_bytes / 1e6,
               (double)r->user_bytes * 1e3 / (double)s.busy_ns);
    if (s.host[FE_REQ_WRITE].bytes)
        printf("%-12s %.4g\n", "WAF",
               (double)s.nand.bytes_programmed / (double)s.host[FE_REQ_WRITE].bytes);
    printf("%-12s %" PRIu64 " collections, %" PRIu64 " pages copied; merges %" PRIu64
           " switch, %" PRIu64 " partial, %" PRIu64 " full\n",
           "ftl", s.ftl.gc_runs, s.ftl.pages_copied, s.ftl.merges_switch, s.ftl.merges_partial,
           s.ftl.merges_full);
    if (s.ftl.slc_folds || s.ftl.wear_moves)
        printf("%-12s %" PRIu64 " blocks of the SLC cache folded, %" PRIu64
               " moved by wear levelling\n",
               "", s.ftl.slc_folds, s.ftl.wear_moves);
    if (s.ftl.map_hits || s.ftl.map_misses)
        printf("%-12s %" PRIu64 " hits, %" PRIu64 " misses; %" PRIu64 " pages read, %" PRIu64
               " written, %" PRIu64 " of them by eviction\n",
               "map", s.ftl.map_hits, s.ftl.map_misses, s.ftl.map_reads, s.ftl.map_writes,
               s.ftl.map_evictions);
    printf("%-12s erases min %" PRIu64 ", mean %.4g, max %" PRIu64 "; bad blocks %" PRIu64
           " factory, %" PRIu64 " grown\n",
           "wear", s.wear.min, s.wear.mean, s.wear.max, s.bad_factory, s.bad_grown);
    print_errors(r);
    printf("%-12s %.4g million host operations a second\n", "simulated", per_second(r) / 1e6);
    return tool_finish(TOOL_OK);
}

/* --- running --- */

static int run_source(const struct command *c, struct replay *r, const char *arg,
                      struct fe_err *err)
{
    struct source source;

    int code = source_open(&source, arg, &c->trace, &c->env, err);
    if (code < 0)
        return code;
    code = source.recording && c->opt.timed
               ? fe_err_set(err, EINVAL, "%.200s: a recording has no times for --timed", arg)
               : replay_run(r, &source, err);
    if (code == 0)
        source_report_skipped(&source);
    source_close(&source);
    return code;
}

/* Runs the traces, and records the requests if the user wants that. */
static int run_traces(const struct command *c, struct replay *r, const struct output *record,
                      struct fe_err *err)
{
    const struct fe_origin origin = origin_of(c, r->dev);
    const struct fe_trace_writer_options text = {.origin = &origin};
    int code = 0;

    if (c->warmup) {
        code = run_source(c, r, c->warmup, err);
        replay_reset(r);
    }
    if (code == 0 && record->file)
        code = fe_trace_writer_open(&r->record, record->file, record->name, &text, err);
    for (uint32_t i = 0; i < c->n_traces && code == 0; i++)
        code = run_source(c, r, c->traces[i], err);
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

static int report(const struct command *c, const struct replay *r)
{
    uint64_t first = 0, wrong = r->payload ? payload_wrong(r->payload, &first) : 0;
    int code = c->json ? print_json(c, r) : print_summary(r);

    if (wrong > 0) {
        tool_error("%" PRIu64 " sectors read back wrong, the first at offset %" PRIu64, wrong,
                   first);
        return code == TOOL_OK ? TOOL_NO : code;
    }
    return code;
}

static int run_on_device(struct command *c, struct fe_device *dev, struct fe_err *err)
{
    const struct fe_profile *profile = fe_device_profile(dev);
    struct replay replay;
    int result = TOOL_USAGE;

    c->trace.sector_size = c->env.sector_size = profile->device.sector_size;
    c->env.capacity = fe_device_capacity(dev);
    int code = replay_init(&replay, dev, &c->opt, err);
    if (code == 0 && c->payload)
        code = payload_create(&replay.payload, c->env.capacity, c->env.sector_size,
                              c->device.seed, err);
    if (code == 0)
        code = run_with_outputs(c, &replay, err);
    if (code == 0)
        result = report(c, &replay);
    payload_destroy(replay.payload);
    replay_fini(&replay);
    return code < 0 ? tool_fail(err) : result;
}

/* Runs one trace in a process of its own, whose copy of the device this process does not see.  The
 * two share what the trace does not change, so a large device is made only once.  The new process
 * ends with this one. */
static int run_apart(struct command *c, struct fe_device *dev, const char *trace,
                     struct fe_err *err)
{
    pid_t self = getpid(), child = fork();
    int status;

    if (child < 0)
        return tool_error("--each: %s", strerror(errno));
    if (child == 0) {
        c->traces = &trace;
        c->n_traces = 1;
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != self)
            _exit(TOOL_USAGE);
        status = run_on_device(c, dev, err);
        _exit(fflush(stdout) == 0 ? status : TOOL_USAGE);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return tool_error("--each: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Stops at the first trace that fails. */
static int run_each(struct command *c, struct fe_device *dev, struct fe_err *err)
{
    int result = TOOL_OK;

    for (uint32_t i = 0; i < c->n_traces && result == TOOL_OK; i++)
        result = run_apart(c, dev, c->traces[i], err);
    return result;
}

int cmd_replay(int argc, char **argv)
{
    struct command c = {0};
    struct fe_profile profile;
    struct fe_device *dev = NULL;
    struct fe_err err;
    int result;

    fe_err_init(&err);
    if (parse_command(&c, argc, argv, &result) < 0)
        goto done;
    result = TOOL_USAGE;
    if (tool_load_profile(&profile, c.profile_name, c.overrides, c.n_overrides, &err) < 0) {
        tool_fail(&err);
        goto done;
    }
    int code = tool_create_device(&dev, &profile, &c.device, c.profile_name, c.overrides,
                                  c.n_overrides, &err);
    fe_profile_fini(&profile);
    if (code == 0)
        code = fe_profile_path(&c.profile_path, c.profile_name, &err);
    c.inputs[c.n_inputs++] = c.profile_path;
    c.inputs[c.n_inputs++] = c.warmup;
    if (code < 0)
        result = tool_fail(&err);
    else
        result = c.each ? run_each(&c, dev, &err) : run_on_device(&c, dev, &err);
    fe_device_destroy(dev);
done:
    free(c.profile_path);
    free(c.inputs);
    free(c.traces);
    free(c.overrides);
    free(c.capacity);
    return result;
}
