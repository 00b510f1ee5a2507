/* SPDX-License-Identifier: BSD-3-Clause
 *
 * verify: measures the published figures of a profile again.
 */
#include "output.h"
#include "tool.h"
#include "verify/against/against.h"
#include "verify/kernel.h"
#include "verify/page.h"
#include "verify/plan.h"

#include "base/guess.h"
#include "obs/json_text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char verify_help[] =
    "usage: flashemu verify PROFILE [SECTION.KEY=VALUE...] [PROCEDURE|ID...]\n"
    "       flashemu verify PROFILE --against FILE.json [SECTION.KEY=VALUE...]\n"
    "       flashemu verify PROFILE --class [SECTION.KEY=VALUE...]\n"
    "       flashemu verify --all [PROCEDURE|ID...]\n\n"
    "Runs the procedures that the profile's [fidelity] names, or only the given ones.  Prints\n"
    "the published and the measured figure, the error, and a verdict: ok, off, known (off,\n"
    "and the profile says why), skipped (this machine cannot run it), failed.\n\n"
    "  --all                every shipped profile that has published figures\n"
    "  --against FILE       compares with this measurement, flashemu-measurement(5), instead\n"
    "  --sets FILE          with --against: compares many sets of parameters; each line is an\n"
    "                       object in JSON and gets one; - is standard input\n"
    "  --class              says which classes of the SD specification the device would be\n"
    "                       granted (A1, A2, C2 to C10, U1, U3, V6 to V90), and why not others\n"
    "  --quick              leaves out what takes minutes\n"
    "  --json               prints the same as JSON\n"
    "  -o, --output FILE    also makes a page: each figure as published and as measured, with\n"
    "                       those that are off first\n"
    "  --force              replaces FILE whatever it is, except an input\n"
    "  --dry-run            prints the published figures and measures nothing\n"
    "  --list               prints the procedures, and where each of them runs\n"
    "  --kernel WAY         where to run filesystems and tools: timed (a kernel in the time of\n"
    "                       the device, if it has been built), vm, host (needs root), none,\n"
    "                       or auto (the first one that works)\n"
    "  --dilate R           with a kernel: wait R times as long as the device needs, and\n"
    "                       take the times from the kernel instead of the device\n"
    "  --seed N             of the device's randomness (1)\n"
    "  --verbose            prints what the scripts say, on standard error\n\n"
    "Exit codes: 0 all are ok or known, 1 some are off or failed, 2 wrong use, 3 none is\n"
    "off but some could not be run, 130 interrupted.\n";

struct command {
    bool json, all, quick, list, verbose, dry, class;
    const char *kernel, *dilate, *seed_text, *against, *sets, *path;
    uint64_t seed;
    struct verify_kernel k;
    const char **overrides;
    uint32_t n_overrides;
    char **wanted;
    int n_wanted;
    bool *used; /* for each of `wanted`: whether some profile has it */
    json_t *profiles, *of_page; /* what came out, for --json and for the page */
};

static int list_procedures(bool as_json)
{
    json_t *list = json_array();

    for (size_t i = 0; i < fe_n_procedures; i++) {
        const struct fe_procedure *p = &fe_procedures[i];
        const char *where = p->place == FE_PLACE_MODEL ? "model" : "kernel";
        const char *units = fe_fidelity_units(p->quantity);
        char call[128];
        assert(p->place == FE_PLACE_KERNEL || verify_experiment_find(p->experiment));
        snprintf(call, sizeof call, "%s", p->name);
        for (int k = 0; k < FE_MAX_PROCEDURE_ARGS && p->args[k].key; k++)
            fe_text_add(call, sizeof call,
                        fe_procedure_arg_is_optional(&p->args[k]) ? " [%s=]" : " %s=",
                        p->args[k].key);
        if (as_json)
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:s}", "name", p->name, "call",
                                call, "experiment", p->experiment, "where", where, "unit", units,
                                "slow", p->slow, "help", p->help));
        else
            printf("%-28s %-12s %s%s\n    %s\n", call, units, where,
                   p->slow ? ", slow" : "", p->help);
    }
    if (as_json)
        return tool_print_json(list);
    json_decref(list);
    return tool_finish(TOOL_OK);
}

/* The worse one of two exit codes: off is worse than not run, and not run is worse than fine. */
static int worse(int a, int b)
{
    static const int order[] = {VERIFY_INTERRUPTED, TOOL_USAGE, TOOL_NO, VERIFY_PART};

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return TOOL_OK;
}

/* A page on standard output stands there alone. */
static bool prints_text(const struct command *c)
{
    return !c->json && !(c->path && strcmp(c->path, "-") == 0);
}

/* Shows the results, even if the run was interrupted. */
static int show_plan(struct command *c, const struct verify_plan *plan)
{
    bool chosen = !c->all;

    for (size_t i = 0; i < plan->n_rows; i++)
        chosen |= plan->rows[i].state != VERIFY_LEFT_OUT;
    if (!chosen)
        return TOOL_OK;
    json_t *o = c->json || c->path ? verify_json(plan) : NULL;
    int r = (c->json ? json_array_append(c->profiles, o) : 0) +
            (c->path ? json_array_append(c->of_page, o) : 0);
    json_decref(o);
    if (r < 0)
        return tool_error("out of memory");
    if (prints_text(c)) {
        verify_print(plan);
        fflush(stdout);
    }
    return verify_code(plan);
}

/* Whether the profile makes a device at all.  Parameters that do not fit each other are one mistake,
 * and not one for each row. */
static int try_device(const struct command *c, const struct fe_profile *profile, const char *name,
                      struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = c->seed, .payload = false};
    struct fe_device *dev;

    int r = tool_create_device(&dev, profile, &opt, name, c->overrides, c->n_overrides, err);
    if (r == 0)
        fe_device_destroy(dev);
    return r;
}

/* Measures, and shows what came out.  Returns the exit code. */
static int run_plan(struct command *c, struct verify_plan *plan, struct fe_err *err)
{
    int r = c->dry ? 0 : verify_plan_run(plan, &c->k, c->seed, err);
    int code = show_plan(c, plan);

    if (r < 0)
        code = worse(code, r == -ECANCELED ? VERIFY_INTERRUPTED : tool_fail(err));
    return code;
}

static int refuse_wanted(const struct verify_plan *plan, const char *profile, const char *wanted)
{
    struct fe_guess guess = FE_GUESS_NONE;
    size_t len = strlen(wanted);

    for (size_t i = 0; i < plan->n_rows; i++) {
        fe_guess_try(&guess, wanted, len, plan->rows[i].note->key);
        fe_guess_try(&guess, wanted, len, plan->rows[i].published.procedure->name);
    }
    return tool_error("verify: %s has no figure or procedure %s; %s%s%s--dry-run lists them", profile,
                      wanted, guess.name ? "did you mean " : "", guess.name ? guess.name : "",
                      guess.name ? "? " : "");
}

static int verify_profile(struct command *c, const char *name)
{
    struct verify_plan plan;
    struct fe_err err;
    int code = TOOL_OK;

    fe_err_init(&err);
    c->k.profile = name;
    c->k.overrides = c->overrides;
    c->k.n_overrides = c->n_overrides;
    int r = verify_plan_load(&plan, name, c->overrides, c->n_overrides, &err);
    if (r < 0) {
        code = tool_fail(&err);
    } else if (plan.n_rows > 0 || !c->all) {
        verify_plan_choose(&plan, c->wanted, c->n_wanted, c->used, c->quick);
        bool known = true;
        for (int i = 0; !c->all && i < c->n_wanted && known; i++)
            if (!c->used[i]) {
                known = false;
                code = refuse_wanted(&plan, name, c->wanted[i]);
            }
        if (known && plan.n_rows == 0)
            code = tool_error("verify: %s has no published figures, [fidelity] is empty; --against "
                              "FILE compares it with a measurement", name);
        else if (known && !c->dry && try_device(c, &plan.profile, name, &err) < 0)
            code = tool_fail(&err);
        else if (known)
            code = run_plan(c, &plan, &err);
    }
    verify_plan_fini(&plan);
    return code;
}

/* Many sets of parameters next to a measurement. */
static int verify_sets(struct command *c, const char *name)
{
    bool is_stdin = strcmp(c->sets, "-") == 0;
    struct against a = {0};
    struct fe_err err;

    fe_err_init(&err);
    if (c->all || c->quick || c->dry || c->dilate || c->n_wanted > 0 || c->n_overrides > 0)
        return tool_error("verify: --sets takes a profile, --against and --seed, and nothing else");
    int code = against_load(&a, c->against, &err) < 0 ? tool_fail(&err) : TOOL_OK;
    FILE *in = code != TOOL_OK ? NULL : is_stdin ? stdin : fopen(c->sets, "r");
    if (in)
        code = against_sets(&a, name, in, c->seed);
    else if (code == TOOL_OK)
        code = tool_error("%s: %s", c->sets, strerror(errno));
    if (in && !is_stdin)
        fclose(in);
    against_fini(&a);
    return code;
}

/* The profile next to a measurement, which needs no row and no kernel. */
static int verify_against(struct command *c, const char *name)
{
    struct fe_profile profile;
    struct against a = {0};
    struct fe_err err;

    fe_err_init(&err);
    c->k.profile = name;
    const char *refused = c->n_wanted > 0 ? c->wanted[0]
                          : c->all        ? "--all"
                          : c->quick      ? "--quick"
                          : c->dry        ? "--dry-run"
                          : c->kernel     ? "--kernel"
                          : c->dilate     ? "--dilate"
                          : c->verbose    ? "--verbose"
                                          : NULL;
    if (refused)
        return tool_error("verify: --against takes a profile and changes of its keys, no %s: "
                          "every point of the file is measured, without a kernel", refused);
    int r = tool_load_profile(&profile, name, c->overrides, c->n_overrides, &err);
    if (r < 0)
        return tool_fail(&err);
    r = against_load(&a, c->against, &err);
    int code = r < 0 ? tool_fail(&err) : TOOL_OK;
    if (r == 0) {
        const struct against_limits none = {INFINITY, UINT64_MAX};
        bool exceeded;
        a.percentiles = true;
        r = against_run(&a, &profile, c->seed, &none, &exceeded, &err);
        code = r == -ECANCELED ? VERIFY_INTERRUPTED : r < 0 ? tool_fail(&err) : against_code(&a);
        if (c->json && json_array_append_new(c->profiles, against_json(&a, &profile)) < 0)
            code = tool_error("out of memory");
        if (c->path && json_array_append_new(c->of_page, against_page_json(&a, &profile)) < 0)
            code = tool_error("out of memory");
        if (prints_text(c))
            against_print(&a, &profile);
    }
    against_fini(&a);
    fe_profile_fini(&profile);
    return code;
}

/* The classes that a profile would be granted. */
static int verify_class(struct command *c, const char *name)
{
    struct fe_profile profile;
    struct fe_err err;

    fe_err_init(&err);
    c->k.profile = name;
    if (c->n_wanted > 0)
        return tool_error("verify: --class takes no procedure: %s", c->wanted[0]);
    if (tool_load_profile(&profile, name, c->overrides, c->n_overrides, &err) < 0)
        return tool_fail(&err);
    const char *model = profile.device.model;
    json_t *o = c->json ? json_pack("{s:o, s:o}", "profile",
                                    fe_json_text(profile.name, strlen(profile.name)), "model",
                                    fe_json_text(model, strlen(model))) : NULL;
    int r = c->json && !o ? fe_err_nomem(&err, "verdicts", 0)
                          : verify_classes(&profile, c->seed, o, &err);
    fe_profile_fini(&profile);
    if (r == 0 && o && json_array_append(c->profiles, o) < 0)
        r = fe_err_nomem(&err, "verdicts", 0);
    json_decref(o);
    return r == 0 ? TOOL_OK : r == -ECANCELED ? VERIFY_INTERRUPTED : tool_fail(&err);
}

static int verify_all(struct command *c)
{
    int code = TOOL_OK;

    for (int i = 0; fe_profile_names[i] && !verify_stopped(); i++)
        code = worse(code, verify_profile(c, fe_profile_names[i]));
    for (int i = 0; i < c->n_wanted && code != VERIFY_INTERRUPTED; i++)
        if (!c->used[i])
            code = tool_error("verify: no profile has a figure or procedure %s", c->wanted[i]);
    return code;
}

/* Whether the word is SECTION.KEY=VALUE, which changes the profile.  "seq-read bs=4K size=1M" is a
 * procedure. */
static bool is_override(const char *word)
{
    size_t name = strcspn(word, "= ");

    return word[name] == '=' && memchr(word, '.', name) != NULL;
}

static int sort_operands(struct command *c, int argc, char **argv)
{
    c->overrides = calloc((size_t)argc + 1, sizeof *c->overrides);
    c->wanted = calloc((size_t)argc + 1, sizeof *c->wanted);
    c->used = calloc((size_t)argc + 1, sizeof *c->used);
    if (!c->overrides || !c->wanted || !c->used)
        return tool_error("out of memory");
    for (int i = c->all ? 1 : 2; i < argc; i++)
        if (is_override(argv[i]))
            c->overrides[c->n_overrides++] = argv[i];
        else
            c->wanted[c->n_wanted++] = argv[i];
    if (c->all && c->n_overrides > 0)
        return tool_error("verify: --all takes no %s: changes belong to one profile",
                          c->overrides[0]);
    return c->all || argc > 1 ? TOOL_OK : tool_error("verify: which profile?  or --all");
}

static int parse_command(struct command *c, int *argc, char **argv, int *ret_code)
{
    const struct tool_option options[] = {
        {"json", 0, &c->json, NULL},       {"all", 0, &c->all, NULL},
        {"quick", 0, &c->quick, NULL},     {"list", 0, &c->list, NULL},
        {"verbose", 0, &c->verbose, NULL}, {"kernel=" VERIFY_KERNELS, 0, NULL, &c->kernel},
        {"dilate", 0, NULL, &c->dilate},   {"seed", 0, NULL, &c->seed_text},
        {"dry-run", 0, &c->dry, NULL},     {"against=FILE", 0, NULL, &c->against},
        {"sets=FILE", 0, NULL, &c->sets},  {"class", 0, &c->class, NULL},
        {"output=FILE", 'o', NULL, &c->path}, {"force", 0, &output_force, NULL},
        {0},
    };
    const struct tool_args args = {.options = options, .help = verify_help};

    c->seed = 1;
    if (!tool_parse(&args, argc, argv, ret_code))
        return -1;
    *ret_code = TOOL_USAGE;
    if (c->dilate && !tool_number("--dilate", c->dilate, 1, 1000, &c->k.dilate))
        return -1;
    if (c->seed_text && !tool_number("--seed", c->seed_text, 0, UINT64_MAX, &c->seed))
        return -1;
    if (c->sets && !c->against) {
        tool_error("verify: --sets %s: has no effect without --against", c->sets);
        return -1;
    }
    const char *no_page = c->list ? "--list" : c->dry ? "--dry-run" : c->sets ? "--sets"
                          : c->class ? "--class" : NULL;
    if (c->path && no_page) {
        tool_error("verify: -o %s: %s has no figures for a page", c->path, no_page);
        return -1;
    }
    if (c->path && strcmp(c->path, "-") == 0 && c->json) {
        tool_error("verify: --json and -o - cannot both be on standard output");
        return -1;
    }
    if (output_force && !c->path) {
        tool_error("verify: --force: has no effect without -o");
        return -1;
    }
    if (c->class && (c->all || c->against || c->list || c->dry || c->quick)) {
        tool_error("verify: --class goes with a profile and its changes, and with --json and --seed");
        return -1;
    }
    if (c->list && *argc > 1) {
        tool_error("verify: --list takes no argument '%s'", argv[1]);
        return -1;
    }
    *ret_code = c->list ? TOOL_OK : sort_operands(c, *argc, argv);
    return *ret_code == TOOL_OK ? 0 : -1;
}

/* Prints the JSON.  Returns code, or a worse one if the figures could not be written. */
static int finish(struct command *c, int code)
{
    struct fe_origin origin = tool_origin();
    int written = TOOL_OK;

    origin.profile = c->all ? NULL : c->k.profile;
    origin.overrides = c->overrides;
    origin.n_overrides = c->n_overrides;
    origin.seed = c->seed;
    origin.has_seed = true;
    if (c->json && json_array_size(c->profiles) > 0)
        written = tool_print_result(c->all ? json_pack("{s:O}", "profiles", c->profiles)
                                           : json_incref(json_array_get(c->profiles, 0)), &origin);
    else if (!c->sets) /* whose answers are written one by one */
        written = tool_finish(TOOL_OK);
    if (code == VERIFY_INTERRUPTED)
        tool_error("interrupted");
    return worse(code, written);
}

/* Does what was asked for.  Returns the exit code. */
static int run_command(struct command *c, char **argv)
{
    return verify_stopped() ? VERIFY_INTERRUPTED
           : c->sets        ? verify_sets(c, argv[1])
           : c->against     ? verify_against(c, argv[1])
           : c->class       ? verify_class(c, argv[1])
           : c->all         ? verify_all(c)
                            : verify_profile(c, argv[1]);
}

/* The same, and makes the page if it was asked for.  Of a run that was interrupted, or that has shown
 * no figure, there is none. */
static int run_with_page(struct command *c, char **argv)
{
    const char *inputs[] = {c->all ? NULL : argv[1], c->against};
    struct output page = {0};
    struct fe_err err;

    if (!c->path)
        return finish(c, run_command(c, argv));
    fe_err_init(&err);
    if (output_open(&page, c->path, inputs, 2, &err) < 0)
        return tool_fail(&err);
    int code = run_command(c, argv), r = 0;
    bool whole = code != VERIFY_INTERRUPTED && json_array_size(c->of_page) > 0 &&
                 !tool_json_incomplete();
    if (whole)
        r = verify_page_write(page.file, c->of_page, c->against, &err);
    int closed = output_close(&page, whole ? r : -ECANCELED, &err);
    if (whole && closed < 0)
        code = worse(code, tool_fail(&err));
    return finish(c, code);
}

int cmd_verify(int argc, char **argv)
{
    struct command c = {0};
    int code;

    if (parse_command(&c, &argc, argv, &code) == 0 && c.list) {
        code = list_procedures(c.json);
    } else if (code == TOOL_OK && c.wanted) {
        const char *kernel = c.kernel ? c.kernel : "auto";
        char guess[FE_GUESS_MAX];
        verify_hear_signals();
        c.k.progress = isatty(STDERR_FILENO) != 0 && !tool_is_quiet();
        c.k.verbose = c.verbose;
        c.profiles = json_array();
        c.of_page = json_array();
        if (!c.profiles || !c.of_page)
            code = tool_error("out of memory");
        else if (!verify_kernel_init(&c.k, c.dry || c.against || c.class ? "none" : kernel))
            code = tool_error("--kernel %s: %sallowed are " VERIFY_KERNELS, kernel,
                              fe_guess_word(kernel, strlen(kernel), VERIFY_KERNELS, guess));
        else
            code = run_with_page(&c, argv);
        json_decref(c.of_page);
        json_decref(c.profiles);
    }
    free(c.overrides);
    free(c.wanted);
    free(c.used);
    return code;
}
