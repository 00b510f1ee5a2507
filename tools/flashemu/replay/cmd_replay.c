/* SPDX-License-Identifier: BSD-3-Clause
 *
 * replay: runs traces in virtual time, and prints what the device did.  Here the words of the user
 * become a command; once.c and several.c carry it out.
 */
#include "replay/command.h"
#include "replay/conversation.h"
#include "replay/pool.h"
#include "output.h"
#include "tool.h"

#include "base/guess.h"
#include "base/quantity.h"
#include "profile/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char replay_help[] =
    "usage: flashemu replay PROFILE[,PROFILE...] TRACE... [SECTION.KEY=VALUE...] [size=SIZE]\n"
    "                       [seed=N] [trace=FILE]\n"
    "       flashemu replay PROFILE[,PROFILE...] --against TRACE [SECTION.KEY=VALUE...]\n\n"
    "Runs traces on an emulated device as fast as this machine can, and prints what the\n"
    "device did in its own time.  TRACE is a file, which may be compressed by gzip,\n"
    "- (standard input), gen:PATTERN[,KEY=VALUE...] (see flashemu gen --patterns), or a\n"
    "recording of a filesystem: rec:NAME[,start=SECTOR][,measure=PHASE][,pace=R] moves its\n"
    "partition, counts one phase after those in front of it have run, and lets the host think R\n"
    "times as long as the recorded one, 0 by default (see flashemu-lab-record(1)).\n\n"
    "  --against TRACE      says how near the device comes to one that was asked this and whose times\n"
    "                       are in TRACE: a table by kind of request, the worst kind, and a score,\n"
    "                       which is 0 for the device itself.  Goes with --vary\n"
    "  --json               prints the object of the server's `stats`, with more members\n"
    "  --warmup TRACE       runs this trace first and does not count it\n"
    "  --each               runs each TRACE by itself, on the device as it was at the beginning,\n"
    "                       and prints a result for each, and a table\n"
    "  --vary KEY=V1,V2,... runs once for each value and prints a table; several are combined.\n"
    "                       KEY is SECTION.KEY, size or seed\n"
    "  --jobs N             how many of several runs are made simultaneously (one for each\n"
    "                       processor)\n"
    "  --until WHAT         repeats the traces until the write amplification of a whole pass of\n"
    "                       the chip moves by less than 1 % (steady), or until the end of life\n"
    "                       (dead); --json has the passes, and how often blocks were erased\n"
    "  --most N             with --until: ends after so many requests all the same (20M)\n"
    "  --depth N            keeps this many requests in flight (1)\n"
    "  --timed              lets requests arrive at the trace's own times\n"
    "  --payload            keeps data, and compares what is read with what was written\n"
    "  --seed N             of the device's randomness (1)\n"
    "  --wrap               takes offsets behind the end modulo the capacity\n"
    "  --drop-trim          leaves out trims if the device does not offer them\n"
    "  --record FILE        writes the requests with their completions; the same as trace=FILE,\n"
    "                       which is the server's name for it\n"
    "  -o, --output FILE    draws how worn each block is at the end, as SVG\n"
    "  --force              replaces FILE whatever it is, except an input\n"
    "  --from FORMAT, --from-device NAME, --event LETTER    as in flashemu trace\n";

static const char name_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

/* False, after a message, if the option names standard output, which is for the results. */
static bool is_file(const char *option, const char *path)
{
    if (!path || strcmp(path, "-") != 0)
        return true;
    tool_error("%s -: must be a file, standard output is for the results", option);
    return false;
}

/* size=, seed= and trace=VALUE mean the same as the server's parameters. */
static int take_parameter(struct command *c, const char *word)
{
    const char *value = strchr(word, '=') + 1;

    if (strncmp(word, "trace=", 6) == 0) {
        if (c->record)
            return tool_error("trace is given twice; --record is the same");
        if (!*value)
            return tool_error("trace=: allowed: a file");
        c->record = value;
        return is_file("trace", value) ? TOOL_OK : TOOL_USAGE;
    }
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

/* A word behind the profile: SECTION.KEY=VALUE, or SECTION.KEY:DETAIL=VALUE; size=, seed= or
 * trace=VALUE; or a trace. */
static int take_word(struct command *c, const char *word)
{
    size_t name = strspn(word, name_characters);

    if (word[name] == ':' && memchr(word, '.', name))
        name += 1 + strspn(word + name + 1, name_characters);
    if (word[name] == '=' && memchr(word, '.', name)) {
        c->overrides[c->n_overrides++] = word;
    } else if (strncmp(word, "size=", 5) == 0 || strncmp(word, "seed=", 5) == 0 ||
               strncmp(word, "trace=", 6) == 0) {
        return take_parameter(c, word);
    } else if (name > 0 && word[name] == '=' && access(word, F_OK) < 0) {
        char guess[FE_GUESS_MAX];
        fe_guess_word(word, name, "size seed trace", guess);
        return tool_error("replay: '%.100s' is neither SECTION.KEY=VALUE, size=SIZE, seed=N, "
                          "trace=FILE nor a trace%s%.*s", word, *guess ? "; " : "", (int)strcspn(guess, "?") + 1, guess);
    } else {
        c->traces[c->n_traces++] = word;
        c->inputs[c->n_inputs++] = word;
    }
    return TOOL_OK;
}

/* What says how traces are run says nothing about one that says so itself. */
static int refuse_beside_against(const struct command *c)
{
    const struct {
        const char *name;
        bool given;
    } others[] = {
        {"--warmup", c->warmup},          {"--each", c->each},       {"--until", c->until},
        {"--depth", c->depth_text},       {"--timed", c->opt.timed}, {"--payload", c->payload},
        {"--wrap", c->opt.wrap},          {"--record", c->record},   {"-o", c->wear_svg},
        {"--drop-trim", c->opt.drop_trim},
    };

    if (c->n_traces > 0)
        return tool_error("replay: --against has its trace, and '%.100s' is another one", c->traces[0]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return tool_error("replay: --against takes no %s; allowed: changes of the profile, --vary, "
                              "--jobs, --seed, --from, --from-device, --event, --json", others[i].name);
    return TOOL_OK;
}

static int sort_operands(struct command *c, int argc, char **argv)
{
    int code = TOOL_OK;

    if (argc < 3 - (c->against != NULL))
        return tool_error("replay: expected PROFILE and at least one TRACE; try transcend8g "
                          "gen:random,op=write,count=1K");
    c->profile_name = argv[1];
    c->traces = calloc((size_t)argc, sizeof *c->traces);
    c->inputs = calloc((size_t)argc, sizeof *c->inputs);
    c->overrides = calloc((size_t)argc, sizeof *c->overrides);
    if (!c->traces || !c->overrides || !c->inputs)
        return tool_error("out of memory");
    for (int i = 2; i < argc && code == TOOL_OK; i++)
        code = take_word(c, argv[i]);
    if (code != TOOL_OK || c->against)
        return code == TOOL_OK ? refuse_beside_against(c) : code;
    return c->n_traces > 0 ? TOOL_OK : tool_error("replay: which trace?");
}

/* PROFILE,PROFILE... is a factor, unless it is the path of one profile. */
static int add_profiles(struct command *c, struct fe_err *err)
{
    const char *names[64];
    uint32_t n = 0;
    char *rest;

    if (!strchr(c->profile_name, ',') || access(c->profile_name, F_OK) == 0)
        return 0;
    c->profile_list = rest = strdup(c->profile_name);
    if (!rest)
        return fe_err_nomem(err, "names of profiles", strlen(c->profile_name));
    while (rest) {
        if (n == 64)
            return fe_err_set(err, EINVAL, "replay: more than 64 profiles");
        names[n++] = strsep(&rest, ",");
        if (!*names[n - 1])
            return fe_err_set(err, EINVAL, "replay: '%.100s' has an empty name of a profile",
                              c->profile_name);
    }
    return vary_add(&c->vary, "profile", names, n, err);
}

static int add_varied_key(struct command *c, const char *word, struct fe_err *err)
{
    int code = vary_parse(&c->vary, word, err);

    if (code < 0)
        return code;
    const char *key = c->vary.factors[c->vary.n - 1].key;
    bool is_size = strcmp(key, "size") == 0, is_seed = strcmp(key, "seed") == 0;
    if (!is_size && !is_seed && !fe_option_find(key)) {
        char hint[160];
        fe_option_hint(FE_N_SECTIONS, key, hint, sizeof hint);
        return fe_err_set(err, EINVAL, "--vary %.200s: '%.80s' is neither a key of a profile, size "
                                       "nor seed%s", word, key, hint);
    }
    const struct factor *f = &c->vary.factors[c->vary.n - 1];
    uint64_t number;
    for (uint32_t i = 0; is_seed && i < f->n; i++)
        if (!fe_quantity_parse_span(FE_SIZE, f->levels[i], strlen(f->levels[i]), &number))
            return fe_err_set(err, EINVAL, "--vary %.200s: '%.80s' is not a number", word,
                              f->levels[i]);
    bool given = is_seed && c->seed_text;
    for (uint32_t i = 0; i < c->n_overrides && !given; i++)
        given = strncmp(c->overrides[i], key, strlen(key)) == 0 &&
                c->overrides[i][strlen(key)] == '=';
    if (given || (is_size && c->capacity))
        return fe_err_set(err, EINVAL, "--vary %.200s: %.80s is also given by itself", word, key);
    return 0;
}

/* Several runs have several results, and cannot all read standard input. */
static int refuse_shared_files(const struct command *c, uint32_t n_runs, struct fe_err *err)
{
    const char *option = c->each ? "each" : c->vary_words[0] ? "vary" : NULL;

    if (c->record || c->wear_svg)
        return fe_err_set(err, EINVAL, "%s%s: has several results, and %s is one file",
                          option ? "--" : "several profiles", option ? option : "",
                          c->record ? "--record" : "-o");
    bool reads = n_runs > 1 && c->warmup && strcmp(c->warmup, "-") == 0;
    uint32_t n_reads_of_one = c->each ? n_runs / c->n_traces : n_runs;
    for (uint32_t i = 0; i < c->n_traces; i++)
        reads |= n_reads_of_one > 1 && strcmp(c->traces[i], "-") == 0;
    return reads ? fe_err_set(err, EINVAL, "-: standard input can be read by one run only") : 0;
}

/* What is repeated must be there again. */
static int settle_until(struct command *c)
{
    c->most = 20000000;
    if (!c->until)
        return c->most_text ? tool_error("--most %.80s: has no effect without --until",
                                         c->most_text) : TOOL_OK;
    for (uint32_t i = 0; i < c->n_traces; i++)
        if (strcmp(c->traces[i], "-") == 0)
            return tool_error("--until %.80s: standard input cannot be read again", c->until);
    return !c->most_text || tool_number("--most", c->most_text, 1, UINT64_MAX, &c->most)
               ? TOOL_OK : TOOL_USAGE;
}

/* Collects what is varied.  Returns an exit code, after a message if it is not TOOL_OK. */
static int settle_vary(struct command *c, struct fe_err *err)
{
    uint32_t n_runs;
    int code = add_profiles(c, err);

    for (uint32_t i = 0; i < TOOL_MAX_WORDS && c->vary_words[i] && code == 0; i++)
        code = add_varied_key(c, c->vary_words[i], err);
    if (code == 0 && c->each)
        code = vary_add(&c->vary, "trace", c->traces, c->n_traces, err);
    if (code == 0)
        code = vary_count(&c->vary, &n_runs, err);
    if (code == 0 && c->vary.n > 0)
        code = refuse_shared_files(c, n_runs, err);
    return code == 0 ? TOOL_OK : tool_fail(err);
}

static int parse_command(struct command *c, int argc, char **argv, int *ret_code)
{
    const struct tool_option options[] = {
        {"json", 0, &c->json, NULL},
        {"against=FILE", 0, NULL, &c->against},
        {"warmup=FILE", 0, NULL, &c->warmup},
        {"each", 0, &c->each, NULL},
        {"vary=KEY=VALUE...", 0, NULL, c->vary_words},
        {"jobs", 0, NULL, &c->jobs_text},
        {"until=steady dead", 0, NULL, &c->until},
        {"most", 0, NULL, &c->most_text},
        {"depth", 0, NULL, &c->depth_text},
        {"timed", 0, &c->opt.timed, NULL},
        {"payload", 0, &c->payload, NULL},
        {"seed", 0, NULL, &c->seed_text},
        {"wrap", 0, &c->opt.wrap, NULL},
        {"drop-trim", 0, &c->opt.drop_trim, NULL},
        {"record=FILE", 0, NULL, &c->record},
        {"trace=FILE", 0, NULL, &c->record}, /* as the server says it */
        {"output=FILE", 'o', NULL, &c->wear_svg},
        {"wear-svg=FILE", 0, NULL, &c->wear_svg}, /* its older name */
        {"force", 0, &output_force, NULL},
        {"from=FORMAT", 0, NULL, &c->format},
        {"format=FORMAT", 0, NULL, &c->format}, /* its older name */
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
    c->n_abreast = pool_processors();
    if (c->jobs_text && !tool_number("--jobs", c->jobs_text, 1, 4096, &c->n_abreast))
        return -1;
    if (!is_file("--record", c->record) || !is_file("-o", c->wear_svg))
        return -1;
    c->trace.marks = true;
    c->opt.depth = (uint32_t)depth;
    c->opt.progress = isatty(STDERR_FILENO) && !tool_is_quiet() ? replay_show_progress : NULL;
    c->device.payload = c->payload;
    *ret_code = sort_operands(c, argc, argv);
    if (*ret_code == TOOL_OK)
        *ret_code = settle_until(c);
    if (*ret_code == TOOL_OK)
        *ret_code = settle_vary(c, &err);
    return *ret_code == TOOL_OK ? 0 : -1;
}

static int run_once(struct command *c)
{
    struct fe_device *dev = NULL;
    struct fe_err err;

    fe_err_init(&err);
    int code = replay_make_device(c, &dev, &err);
    if (code == 0)
        code = fe_profile_path(&c->profile_path, c->profile_name, &err);
    c->inputs[c->n_inputs++] = c->profile_path;
    c->inputs[c->n_inputs++] = c->warmup;
    int result = code < 0 ? tool_fail(&err) : replay_on_device(c, dev, &err);
    fe_device_destroy(dev);
    return result;
}

/* Reads the trace of --against.  Chance is drawn as on its device, unless somebody says otherwise. */
static int load_conversation(struct command *c)
{
    struct fe_err err;

    fe_err_init(&err);
    if (!c->against)
        return TOOL_OK;
    if (conversation_load(&c->conversation, c->against, &c->trace, &err) < 0)
        return tool_fail(&err);
    if (!c->seed_text && c->conversation.has_seed)
        c->device.seed = c->conversation.seed;
    return TOOL_OK;
}

int cmd_replay(int argc, char **argv)
{
    struct command c = {0};
    int result;

    bool parsed = parse_command(&c, argc, argv, &result) == 0;
    if (parsed)
        result = load_conversation(&c);
    if (parsed && result == TOOL_OK)
        result = c.vary.n > 0 ? replay_several(&c) : run_once(&c);
    conversation_fini(&c.conversation);
    vary_fini(&c.vary);
    free(c.profile_list);
    free(c.profile_path);
    free(c.inputs);
    free(c.traces);
    free(c.overrides);
    free(c.capacity);
    return result;
}
