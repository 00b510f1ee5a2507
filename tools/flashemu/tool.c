/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages, arguments and files of the commands.
 *
 * Why not getopt_long: it accepts abbreviations, whose meaning changes when an option is added.
 * It prints its own messages.  And it cannot pass on the options of a pattern, which only the
 * pattern knows.
 */
#include "tool.h"

#include "base/guess.h"
#include "base/quantity.h"
#include "obs/origin_json.h"
#include "obs/stats_json.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tool_error(const char *fmt, ...)
{
    va_list ap;

    fputs("flashemu: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return TOOL_USAGE;
}

int tool_fail(const struct fe_err *err)
{
    return tool_error("%s", err->text);
}

static bool quiet;

bool tool_is_quiet(void)
{
    return quiet;
}

int tool_load_profile(struct fe_profile *ret, const char *name, const char *const *overrides,
                      uint32_t n_overrides, struct fe_err *err)
{
    char remark[512];
    int r = fe_profile_load(ret, name, overrides, n_overrides, err);
    if (r == 0 && !quiet && fe_profile_unused(ret, remark, sizeof remark))
        tool_error("note: %s", remark);
    if (r == 0 && !quiet && fe_profile_renamed(ret, remark, sizeof remark))
        tool_error("note: %s", remark);
    return r;
}

int tool_create_device(struct fe_device **ret, const struct fe_profile *profile,
                       const struct fe_device_options *opt, const char *name,
                       const char *const *overrides, uint32_t n_overrides, struct fe_err *err)
{
    struct fe_err why = {""};

    int r = fe_device_create(ret, profile, opt, &why);
    if (r == -EINVAL || r == -ENOSPC)
        return fe_profile_explain(name, overrides, n_overrides, why.text, err);
    return r < 0 ? fe_err_set(err, -r, "%s", why.text) : 0;
}

int tool_finish(int code)
{
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout))
        return tool_error("standard output: %s", strerror(errno ? errno : EIO));
    return code;
}

static bool json_incomplete;

static void *json_malloc(size_t size)
{
    void *p = malloc(size);

    json_incomplete |= !p;
    return p;
}

bool tool_json_incomplete(void)
{
    return json_incomplete;
}

int tool_print_json(json_t *json)
{
    if (!json || json_incomplete) {
        json_decref(json);
        return tool_error("out of memory");
    }
    int ret = json_dumpf(json, stdout, FE_STATS_JSON_FLAGS | JSON_INDENT(2));
    json_decref(json);
    putchar('\n');
    if (json_incomplete)
        return tool_error("out of memory");
    return ret == 0 ? tool_finish(TOOL_OK) : tool_error("cannot print JSON");
}

int tool_print_result(json_t *object, const struct fe_origin *origin)
{
    return tool_print_json(fe_origin_json(object, origin));
}

const char *tool_commands = "";

static char command_line[1024] = "flashemu";

void tool_begin(int argc, char **argv)
{
    const struct fe_origin words = {
        .overrides = (const char *const *)argv + 1,
        .n_overrides = argc > 1 ? (uint32_t)(argc - 1) : 0,
    };

    json_set_alloc_funcs(json_malloc, free);
    snprintf(command_line, sizeof command_line, "flashemu ");
    fe_origin_text(&words, FE_ORIGIN_OVERRIDES, command_line + 9, sizeof command_line - 9);
}

struct fe_origin tool_origin(void)
{
    return (struct fe_origin){.version = fe_version, .command = command_line};
}

double tool_json_number(const json_t *o, const char *path, double missing)
{
    const char *dot;

    for (; o && (dot = strchr(path, '.')) != NULL; path = dot + 1)
        o = json_object_getn(o, path, (size_t)(dot - path));
    o = json_object_get(o, path);
    return json_is_number(o) ? json_number_value(o) : missing;
}

static size_t name_length(const struct tool_option *o)
{
    return strcspn(o->name, "=");
}

/* Whether two names of options are the same: - and _ are, as in names of keys and parameters. */
static bool same_name(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((a[i] == '_' ? '-' : a[i]) != (b[i] == '_' ? '-' : b[i]))
            return false;
    return true;
}

static const struct tool_option *find_option(const struct tool_option *options, const char *name,
                                             size_t len)
{
    for (const struct tool_option *o = options; o && o->name; o++)
        if (name_length(o) == len && same_name(o->name, name, len))
            return o;
    return NULL;
}

static bool may_come_again(const struct tool_option *o)
{
    size_t len = strlen(o->name);
    return len > 3 && strcmp(o->name + len - 3, "...") == 0;
}

static void print_options(const struct tool_option *options)
{
    for (const struct tool_option *o = options; o && o->name; o++) {
        size_t len = name_length(o);
        const char *kind = o->name[len] ? o->name + len + 1 : "VALUE";
        int shown = (int)(strlen(kind) - (may_come_again(o) ? 3 : 0));
        printf("--%.*s%s%.*s\n", (int)len, o->name, o->flag ? "" : " ", o->flag ? 0 : shown, kind);
    }
    puts("--quiet\n--version\n--help");
}

/* Keeps a value.  *given has a bit for each option that was given, by any of its names: a second value
 * would replace the first one, and nobody would see it. */
static int keep_value(const struct tool_args *args, const char *command, const struct tool_option *o,
                      const char *value, uint64_t *given)
{
    uint32_t i = 0;
    size_t first = 0;

    while (args->options[first].value != o->value)
        first++;
    assert(first < 64);
    if (!may_come_again(o) && *given >> first & 1)
        return tool_error("%s: option --%.*s: given twice, allowed once", command,
                          (int)name_length(o), o->name);
    *given |= 1ULL << first;
    while (may_come_again(o) && i < TOOL_MAX_WORDS && o->value[i])
        i++;
    if (i == TOOL_MAX_WORDS)
        return tool_error("%s: option --%.*s is given more than %d times", command,
                          (int)name_length(o), o->name, TOOL_MAX_WORDS);
    o->value[i] = value;
    return TOOL_OK;
}

/* The message about an option that does not exist, of which so many bytes are shown. */
static int refuse_option(const struct tool_args *args, const char *command, const char *word, int len)
{
    struct fe_guess guess = FE_GUESS_NONE;
    const char *name = word + strspn(word, "-");

    for (const struct tool_option *o = args->options; o && o->name; o++) {
        char full[64];
        snprintf(full, sizeof full, "%.*s", (int)name_length(o), o->name);
        unsigned before = guess.distance;
        fe_guess_try(&guess, name, (size_t)(word + len - name), full);
        if (guess.distance < before)
            guess.name = o->name;
    }
    if (!guess.name)
        return tool_error("%s: there is no option %.*s", command, len, word);
    return tool_error("%s: there is no option %.*s; did you mean --%.*s?", command, len, word,
                      (int)strcspn(guess.name, "="), guess.name);
}

/* Takes the option that starts at argv[*i], and moves *i to its last word. */
static int take_option(const struct tool_args *args, int argc, char **argv, int *i, uint64_t *given)
{
    char *word = argv[*i], *name = word + (word[1] == '-' ? 2 : 1);
    size_t len = strcspn(name, "=");
    const struct tool_option *o = NULL;

    if (word[1] == '-') {
        o = find_option(args->options, name, len);
    } else {
        for (o = args->options; o && o->name && o->letter != word[1]; o++)
            ;
        if (!o || !o->name || word[2] != '\0')
            return refuse_option(args, argv[0], word, (int)strlen(word));
        len = 1;
    }
    bool inline_value = name[len] == '=';
    if (o && o->flag) {
        if (inline_value)
            return tool_error("%s: option --%s takes no value", argv[0], o->name);
        *o->flag = true;
        return TOOL_OK;
    }
    if (!o && (!args->other || len == 0))
        return refuse_option(args, argv[0], word, (int)(2 + len));
    if (!inline_value && *i + 1 >= argc)
        return tool_error("%s: option %s needs a value", argv[0], word);
    char *value = inline_value ? name + len + 1 : argv[++*i];
    if (*value == '\0')
        return tool_error("%s: option %.*s: is empty", argv[0], (int)(name - word + (ptrdiff_t)len), word);
    if (o)
        return keep_value(args, argv[0], o, value, given);
    name[len] = '\0';
    return args->other(args->ctx, name, value);
}

bool tool_parse(const struct tool_args *args, int *argc, char **argv, int *ret_code)
{
    int n = 1;
    bool operands_only = false;
    uint64_t given = 0;

    for (int i = 1; i < *argc; i++) {
        char *word = argv[i];
        /* no option begins with a digit; whoever takes the number says what is wrong with it */
        bool is_number = word[0] == '-' && word[1] >= '0' && word[1] <= '9';
        if (word[0] == '\0') { /* as of a variable of the shell that is not set */
            *ret_code = tool_error("%s: argument %d is empty", argv[0], i);
            return false;
        }
        if (operands_only || is_number || word[0] != '-' || word[1] == '\0') {
            argv[n++] = word;
        } else if (strcmp(word, "--") == 0) {
            operands_only = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            fputs(args->help, stdout);
            fputs("\nEach command also has -q, --quiet (neither notes nor progress), -V, --version and "
                  "-h, --help.\n", stdout);
            *ret_code = tool_finish(TOOL_OK);
            return false;
        } else if (strcmp(word, "--quiet") == 0 || strcmp(word, "-q") == 0) {
            quiet = true;
        } else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
            printf("flashemu %s\n", fe_version);
            *ret_code = tool_finish(TOOL_OK);
            return false;
        } else if (strcmp(word, TOOL_COMPLETE) == 0) {
            print_options(args->options);
            *ret_code = tool_finish(TOOL_OK);
            return false;
        } else {
            *ret_code = take_option(args, *argc, argv, &i, &given);
            if (*ret_code != TOOL_OK)
                return false;
        }
    }
    *argc = n;
    return true;
}

bool tool_number(const char *option, const char *text, uint64_t min, uint64_t max,
                 uint64_t *ret)
{
    if (fe_quantity_parse_span(FE_SIZE, text, strlen(text), ret) && *ret >= min && *ret <= max)
        return true;
    tool_error("%s %s: expected a number from %llu to %llu", option, text,
               (unsigned long long)min, (unsigned long long)max);
    return false;
}

bool tool_time(const char *command, const char *option, const char *text, uint64_t *ret_ns)
{
    struct fe_err err = {""};

    if (fe_quantity_parse(FE_TIME, text, ret_ns, &err) == 0)
        return true;
    tool_error("%s: %s %s: %s", command, option, text, err.text);
    return false;
}

int tool_compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
