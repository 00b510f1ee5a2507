/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuts: every power cut of a recorded work, and the states in which a host may find the device.
 */
#include "cuts/cuts.h"
#include "output.h"
#include "replay/pool.h"
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char cuts_help[] =
    "usage: flashemu cuts PROFILE TRACE [SECTION.KEY=VALUE...] [size=SIZE] [seed=N]\n"
    "       flashemu cuts PROFILE TRACE [KEY=VALUE...] --state ID -o IMAGE\n\n"
    "Lets a new device do the work of a trace with data (trace-data=FILE of the server), cuts its\n"
    "power at every instant at which the outcome can differ, lets it recover, and counts the\n"
    "states in which a host may find it.  Exit code 1 if the device did not come back.\n\n"
    "  --data FILE          what was written; by default the trace names the file\n"
    "  --timed              requests arrive at the trace's own times, as they were recorded;\n"
    "                       by default each one waits for the one before\n"
    "  --cuts N|all         tries N of the instants, spread evenly (all)\n"
    "  --behind N           tries only instants behind so many marks (0)\n"
    "  --second N           one cut of N is cut again at every operation of its recovery (8);\n"
    "                       0: none\n"
    "  --subsets N          draws N states besides, of which no device is asked: any part of what was\n"
    "                       not flushed, as faults.cut_sector says (0)\n"
    "  --states FILE        writes each state, as a line of JSON with the difference from what the\n"
    "                       host had written, and its bytes to FILE.data\n"
    "  --state ID           writes one state to the image -o FILE\n"
    "  -o, --output FILE    the image of --state\n"
    "  --force              replaces FILE whatever it is, except an input\n"
    "  --seed N             of the device's randomness, and of what becomes of several operations (1)\n"
    "  --jobs N             processes (one for each processor)\n"
    "  --progress           says how far it is even if standard error is no terminal\n"
    "  --json               prints the numbers as JSON\n";

struct cuts_command {
    const char *profile, *trace, *data, *cuts, *second, *behind, *subsets, *states, *state, *output, *jobs_text,
        *seed;
    const char **overrides;
    uint32_t n_overrides;
    char *capacity;
    struct fe_device_options device;
    bool timed, json, progress;
    uint64_t wanted, n_second, n_behind, n_subsets, jobs;
};

static int make_device(void *ctx, struct fe_device **ret, struct fe_err *err)
{
    const struct cuts_command *c = ctx;
    struct fe_profile profile;
    int r = tool_load_profile(&profile, c->profile, c->overrides, c->n_overrides, err);
    if (r < 0)
        return r;
    r = tool_create_device(ret, &profile, &c->device, c->profile, c->overrides, c->n_overrides, err);
    fe_profile_fini(&profile);
    if (r == 0 && fe_cuts_pages(*ret) == 0) {
        fe_device_destroy(*ret);
        *ret = NULL;
        return fe_err_set(err, EINVAL, "%s: power cuts of this device cannot be enumerated: it has no "
                          "chip (ftl.type=step), or claims more capacity than it has", c->profile);
    }
    return r;
}

/* The recording, the device and the way of the replay. */
static int hash_of(const struct cuts_command *c, const struct cuts_work *work,
                   const struct fe_device *dev, char hash[17], struct fe_err *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    int r = f ? fe_profile_print(fe_device_profile(dev), f, err) : fe_err_nomem(err, "profile", 1);
    if (f && (fclose(f) != 0 || !text) && r == 0)
        r = fe_err_nomem(err, "profile", len);
    struct fe_digest d = fe_digest_add_u64(work->digest, c->device.seed);
    d = fe_digest_add_u64(d, c->timed);
    if (r == 0)
        d = fe_digest_add(d, text, len);
    free(text);
    snprintf(hash, 17, "%016" PRIx64, fe_mix64(d.a ^ fe_mix64(d.b)));
    return r;
}

/* --- one state --- */

/* Reads a sector of the state. */
static int read_state(const struct cuts_walk *w, uint64_t at, uint32_t size, uint8_t *buf, bool *ret_reads,
                      struct fe_err *err)
{
    struct fe_request q = {.type = FE_REQ_READ, .offset = at, .len = size, .buf = buf};
    struct fe_reply reply;
    if (w->any)
        return cuts_walk_sector(w, at / size, buf, ret_reads, err);
    int r = fe_device_submit(w->dev, fe_device_now(w->dev), &q, &reply);
    *ret_reads = r == 0 && (reply.status == FE_OK || reply.status == FE_CORRECTED);
    return r == 0 ? 0 : fe_err_set(err, EIO, "the state cannot be read at %" PRIu64, at);
}

static int write_image(const struct cuts_walk *w, FILE *out, const char *name, json_t *unreadable,
                       struct fe_err *err)
{
    uint32_t size = fe_device_profile(w->dev)->device.sector_size;
    uint64_t capacity = fe_device_capacity(w->dev), first = 0, n_bad = 0;
    uint8_t *buf = malloc(size);
    bool good = buf != NULL, reads = false;
    int r = 0;
    errno = ENOMEM;
    for (uint64_t at = 0; at < capacity && good; at += size) {
        r = read_state(w, at, size, buf, &reads, err);
        good = r == 0;
        if (!reads && n_bad++ == 0)
            first = at;
        if ((reads || at + size == capacity) && n_bad) {
            json_array_append_new(unreadable, json_pack("[I, I]", (json_int_t)first,
                                                        (json_int_t)(n_bad * size)));
            n_bad = 0;
        }
        bool zeros = !reads || (buf[0] == 0 && memcmp(buf, buf + 1, size - 1) == 0);
        if (good && !zeros)
            good = fseeko(out, (off_t)at, SEEK_SET) == 0 && fwrite(buf, 1, size, out) == size;
    }
    good = good && fflush(out) == 0 && ftruncate(fileno(out), (off_t)capacity) == 0;
    free(buf);
    return good || r < 0 ? r : fe_err_set(err, errno, "%s: %s", name, strerror(errno));
}

static int print_found(const struct cuts_command *c, const struct cuts_found *f, json_t *unreadable)
{
    char hash[33];
    snprintf(hash, sizeof hash, "%016" PRIx64 "%016" PRIx64, f->hash.a, f->hash.b);
    if (c->json)
        return tool_print_json(json_pack("{s:s, s:s, s:i, s:I, s:O}", "id", c->state, "hash", hash,
                                         "marks", (int)f->marks, "time_ns", (json_int_t)f->at_ns,
                                         "unreadable", unreadable));
    printf("cut       %s\ntime      %" PRIu64 " ns\nmarks     %" PRIu32 "\nhash      %s\n", c->state,
           f->at_ns, f->marks, hash);
    for (size_t i = 0; i < json_array_size(unreadable); i++) {
        const json_t *r = json_array_get(unreadable, i);
        printf("%s%" JSON_INTEGER_FORMAT " bytes at %" JSON_INTEGER_FORMAT " cannot be read; the image "
               "has zeros there\n", i ? "          " : "damage    ",
               json_integer_value(json_array_get(r, 1)), json_integer_value(json_array_get(r, 0)));
    }
    return tool_finish(TOOL_OK);
}

static int make_state(const struct cuts_command *c, struct cuts_walk *w, const char *hash,
                      struct fe_err *err)
{
    const char *inputs[] = {c->trace, c->data};
    struct output out = {0};
    struct cuts_found found;
    struct cuts_id id;
    json_t *unreadable = json_array();
    if (!cuts_id_parse(hash, c->state, &id)) {
        json_decref(unreadable);
        return fe_err_set(err, EINVAL, "--state %.100s: is no cut of this recording and device, whose "
                          "ids begin with %s", c->state, hash);
    }
    int r = output_open(&out, c->output, inputs, 2, err);
    if (r == 0)
        r = make_device((void *)c, &w->dev, err);
    if (r == 0)
        r = cuts_walk_to(w, &id, &found, err);
    if (r == 0)
        r = write_image(w, out.file, c->output, unreadable, err);
    r = output_close(&out, r, err);
    cuts_walk_fini(w);
    fe_device_destroy(w->dev);
    int code = r == 0 ? print_found(c, &found, unreadable) : TOOL_USAGE;
    json_decref(unreadable);
    return r < 0 ? r : code;
}

/* --- all states --- */

static int print_result(const struct cuts_command *c, const struct cuts_work *work,
                        const struct cuts_result *r)
{
    struct fe_origin origin = tool_origin();
    int code = r->failed ? TOOL_NO : TOOL_OK;
    origin.profile = c->profile;
    origin.overrides = c->overrides;
    origin.n_overrides = c->n_overrides;
    origin.seed = c->device.seed;
    origin.has_seed = true;
    if (c->json) {
        json_t *o = json_pack(
            "{s:s, s:I, s:I, s:I, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s*}", "recording",
            r->hash, "subsets", (json_int_t)r->subsets, "subset_cases", (json_int_t)r->subset_cases,
            "capacity", (json_int_t)r->capacity, "requests", (int)work->n_requests, "marks", (int)work->n_marks, "instants",
            (json_int_t)r->instants, "cuts", (json_int_t)(r->tried - r->second), "second_cuts",
            (json_int_t)r->second, "states", (json_int_t)r->states, "cases", (json_int_t)r->cases,
            "unreadable", (json_int_t)r->unreadable, "dead", (json_int_t)r->dead, "failed",
            (json_int_t)r->failed, "first_failed", r->failed ? r->first_failed : NULL);
        int printed = tool_print_result(o, &origin);
        return printed == TOOL_OK ? code : printed;
    }
    printf("recording    %s\nrequests     %" PRIu32 "\nmarks        %" PRIu32 "\ninstants     %" PRIu64
           "\ncuts         %" PRIu64 "\nsecond cuts  %" PRIu64 "\nstates       %" PRIu64
           "\n  and marks  %" PRIu64 "\n", r->hash, work->n_requests, work->n_marks, r->instants,
           r->tried - r->second, r->second, r->states, r->cases);
    if (r->unreadable)
        printf("unreadable   %" PRIu64 " with sectors that cannot be read\n", r->unreadable);
    if (r->dead)
        printf("dead         %" PRIu64 " cuts that the device does not survive\n", r->dead);
    if (r->subsets)
        printf("without a device\n  drawn      %" PRIu64 "\n  states     %" PRIu64 " with their marks, "
               "which the device does not have\n", r->subsets, r->subset_cases);
    if (r->failed)
        printf("failed       %" PRIu64 " cuts after which the device does not come back, the first "
               "%s\n", r->failed, r->first_failed);
    return tool_finish(code);
}

static int make_states(const struct cuts_command *c, struct cuts_walk *w, const char *hash,
                       struct fe_err *err)
{
    const char *inputs[] = {c->trace, c->data};
    struct cuts_options opt = {.jobs = (uint32_t)c->jobs,
                               .progress = c->progress || (isatty(STDERR_FILENO) && !tool_is_quiet())};
    const struct cuts_maker maker = {make_device, (void *)c};
    struct output states = {0}, data = {0};
    struct cuts_result result = {.hash = ""};
    char *path = NULL;
    int r = 0;
    memcpy(result.hash, hash, sizeof result.hash);
    if (c->states && asprintf(&path, "%s.data", c->states) < 0)
        return fe_err_nomem(err, "name", strlen(c->states));
    if (c->states)
        r = output_open(&states, c->states, inputs, 2, err);
    if (r == 0 && c->states)
        r = output_open(&data, path, inputs, 2, err);
    if (r == 0 && c->states)
        r = fe_data_writer_open(&opt.data, data.file, path, err);
    opt.states = states.file;
    fflush(stdout);
    if (r == 0)
        r = cuts_states_run(w, &opt, &maker, &result, err);
    int closed = fe_data_writer_close(opt.data, r == 0 ? err : NULL);
    r = output_close(&data, r < 0 ? r : closed, err);
    r = output_close(&states, r, err);
    free(path);
    return r < 0 ? r : print_result(c, w->work, &result);
}

static int run(struct cuts_command *c)
{
    struct fe_device *dev = NULL;
    struct cuts_work work = {0};
    struct fe_err err = {""};
    char hash[17];
    int r = make_device(c, &dev, &err), code = TOOL_OK;
    if (r == 0)
        r = cuts_work_load(&work, c->trace, c->data, dev, &err);
    if (r == 0 && c->n_behind > work.n_marks)
        r = fe_err_set(&err, EINVAL, "--behind %" PRIu64 ": %.200s has %" PRIu32 " marks", c->n_behind,
                       c->trace, work.n_marks);
    if (r == 0)
        r = hash_of(c, &work, dev, hash, &err);
    output_image_bytes = dev && c->state ? fe_device_capacity(dev) : 0;
    fe_device_destroy(dev);
    struct cuts_walk w = {.work = &work, .timed = c->timed, .seed = c->device.seed, .jobs = 1,
                          .second = (uint32_t)c->n_second,
                          .behind = (uint32_t)c->n_behind, .subsets = c->n_subsets, .wanted = c->wanted, .total = UINT64_MAX};
    if (r == 0)
        r = code = c->state ? make_state(c, &w, hash, &err) : make_states(c, &w, hash, &err);
    cuts_work_fini(&work);
    return r < 0 ? tool_fail(&err) : code;
}

/* --- words --- */

static int take_word(struct cuts_command *c, const char *word)
{
    const char *eq = strchr(word, '='), *dot = strchr(word, '.');
    if (strncmp(word, "seed=", 5) == 0) {
        if (c->seed)
            return tool_error("cuts: seed is given twice");
        c->seed = word + 5;
    } else if (strncmp(word, "size=", 5) == 0) {
        if (c->capacity)
            return tool_error("cuts: size is given twice");
        if (asprintf(&c->capacity, "device.capacity=%s", word + 5) < 0)
            return tool_error("out of memory");
        c->overrides[c->n_overrides++] = c->capacity;
    } else if (eq && dot && dot < eq && !strchr(word, '/')) {
        c->overrides[c->n_overrides++] = word;
    } else if (!c->trace) {
        c->trace = word;
    } else {
        return tool_error("cuts: '%.100s' is neither SECTION.KEY=VALUE, size=SIZE nor seed=N; one TRACE "
                          "is allowed", word);
    }
    return TOOL_OK;
}

static bool take_numbers(struct cuts_command *c)
{
    c->wanted = UINT64_MAX;
    c->n_second = 8;
    c->jobs = pool_processors();
    if (c->jobs > CUTS_MAX_JOBS)
        c->jobs = CUTS_MAX_JOBS;
    return (!c->cuts || strcmp(c->cuts, "all") == 0 ||
            tool_number("--cuts", c->cuts, 1, UINT32_MAX, &c->wanted)) &&
           (!c->second || tool_number("--second", c->second, 0, UINT32_MAX, &c->n_second)) &&
           (!c->behind || tool_number("--behind", c->behind, 0, UINT32_MAX, &c->n_behind)) &&
           (!c->seed || tool_number("seed", c->seed, 0, UINT64_MAX, &c->device.seed)) &&
           (!c->subsets || tool_number("--subsets", c->subsets, 0, UINT32_MAX / 2, &c->n_subsets)) &&
           (!c->jobs_text || tool_number("--jobs", c->jobs_text, 1, CUTS_MAX_JOBS, &c->jobs));
}

int cmd_cuts(int argc, char **argv)
{
    struct cuts_command c = {.device = {.seed = 1, .payload = true, .power_cuts = true}};
    const struct tool_option options[] = {
        {"data=FILE", 0, NULL, &c.data},
        {"timed", 0, &c.timed, NULL},
        {"cuts", 0, NULL, &c.cuts},
        {"second", 0, NULL, &c.second},
        {"behind", 0, NULL, &c.behind},
        {"subsets", 0, NULL, &c.subsets},
        {"states=FILE", 0, NULL, &c.states},
        {"state", 0, NULL, &c.state},
        {"seed", 0, NULL, &c.seed},
        {"output=FILE", 'o', NULL, &c.output},
        {"force", 0, &output_force, NULL},
        {"jobs", 0, NULL, &c.jobs_text},
        {"progress", 0, &c.progress, NULL},
        {"json", 0, &c.json, NULL},
        {0},
    };
    const struct tool_args args = {.options = options, .help = cuts_help};
    int code;
    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc < 3)
        return tool_error("cuts: expected PROFILE and TRACE");
    if (!c.state != !c.output || (c.state && (c.states || c.behind || c.subsets)))
        return tool_error("cuts: --state ID needs -o IMAGE, and neither goes with --states, --behind or "
                          "--subsets");
    if (c.output && strcmp(c.output, "-") == 0)
        return tool_error("cuts: -o -: must be a file");
    c.profile = argv[1];
    c.overrides = calloc((size_t)argc, sizeof *c.overrides);
    code = c.overrides ? TOOL_OK : tool_error("out of memory");
    for (int i = 2; i < argc && code == TOOL_OK; i++)
        code = take_word(&c, argv[i]);
    if (code == TOOL_OK && !c.trace)
        code = tool_error("cuts: which trace?");
    if (code == TOOL_OK && !take_numbers(&c))
        code = TOOL_USAGE;
    if (code == TOOL_OK)
        code = run(&c);
    free(c.overrides);
    free(c.capacity);
    return code;
}
