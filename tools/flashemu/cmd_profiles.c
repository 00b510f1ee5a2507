/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands about profiles: profiles, show, check, help.
 */
#include "tool.h"

#include "base/guess.h"
#include "base/table.h"
#include "flashemu/device.h"
#include "flashemu/profile.h"
#include "ftl/ftl.h"
#include "obs/json_text.h"
#include "profile/options.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- profiles --- */

static const char profiles_help[] =
    "usage: flashemu profiles [--long] [--json]\n\n"
    "Prints the names of the shipped profiles and of those in the folders of\n"
    "$FLASHEMU_PATH, one line each.  With --json an array of names.\n\n"
    "  --long, -l  also what each of them is: capacity, link, strategy, how many published\n"
    "              figures it was measured by, and the model; the default on a terminal\n";

struct names {
    char **name;
    size_t n, cap;
};

/* Adds a copy of the name; false without memory. */
static bool add_name(struct names *names, const char *name, size_t len)
{
    char **bigger = fe_table_grow(names->name, names->n + 1, &names->cap, sizeof *bigger);
    if (!bigger)
        return false;
    names->name = bigger;
    names->name[names->n] = strndup(name, len);
    return names->name[names->n++] != NULL;
}

/* Adds NAME for every NAME.ini of a folder.  A missing folder has none. */
static bool add_folder(struct names *names, const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    bool ok = true;

    if (!dir && errno == ENOMEM)
        return false;
    while (ok && dir && (entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);
        if (len > 4 && strcmp(entry->d_name + len - 4, ".ini") == 0)
            ok = add_name(names, entry->d_name, len - 4);
    }
    if (dir)
        closedir(dir);
    return ok;
}

static bool add_path(struct names *names, const char *path)
{
    char *copy = strdup(path), *save = NULL;
    bool ok = copy != NULL;

    for (char *p = copy ? strtok_r(copy, ":", &save) : NULL; ok && p;
         p = strtok_r(NULL, ":", &save))
        ok = add_folder(names, p);
    free(copy);
    return ok;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The bytes of a device: those of the profile, or what follows from its chip.  0 if that device
 * cannot be built.  -ENOMEM with message. */
static int capacity_of(const struct fe_profile *profile, uint64_t *ret, struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = 1};
    struct fe_device *dev = NULL;
    int r = 0;

    *ret = profile->device.capacity;
    if (*ret == 0)
        r = fe_device_create(&dev, profile, &opt, err);
    if (r == 0 && dev)
        *ret = fe_device_capacity(dev);
    fe_device_destroy(dev);
    return r == -ENOMEM ? r : 0;
}

/* Where the published figures of a profile come from: {"hdparm": 2, "file": 6}.  That is the first
 * word of the name of their procedures.  NULL without memory. */
static json_t *sources_of(const struct fe_profile *profile)
{
    json_t *sources = json_object();

    for (uint32_t i = 0; i < profile->n_fidelity; i++) {
        char word[32];
        const char *procedure = profile->fidelity[i].value;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(procedure, "- "), procedure);
        json_int_t n = json_integer_value(json_object_get(sources, word));
        if (json_object_set_new(sources, word, json_integer(n + 1)) < 0) {
            json_decref(sources);
            return NULL;
        }
    }
    return sources;
}

static void print_sources(json_t *sources, char *buf, size_t size)
{
    const char *word;
    json_t *n;

    buf[0] = '\0';
    json_object_foreach(sources, word, n)
        fe_text_add(buf, size, "%s%s %lld", buf[0] ? ", " : "", word,
                    (long long)json_integer_value(n));
    if (!buf[0])
        fe_text_add(buf, size, "-");
}

static void describe_mistake(const char *name, const char *mistake, json_t *array)
{
    if (array)
        json_array_append_new(array, json_pack("{s:o, s:o}", "name",
                                               fe_json_text(name, strlen(name)), "mistake",
                                               fe_json_text(mistake, strlen(mistake))));
    else
        printf("%-15s %s\n", name, mistake);
}

static void describe_profile(const char *name, const struct fe_profile *profile,
                             uint64_t capacity, json_t *sources, json_t *array)
{
    char link[32] = "", strategy[32] = "", text[64];
    const char *model = profile->device.model;

    fe_profile_get(profile, "link.type", link, sizeof link);
    fe_profile_get(profile, "ftl.type", strategy, sizeof strategy);
    print_sources(sources, text, sizeof text);
    if (array)
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:I, s:s, s:s, s:O}", "name",
                             fe_json_text(name, strlen(name)), "model",
                             fe_json_text(model, strlen(model)), "capacity",
                             (json_int_t)capacity, "link", link, "strategy", strategy, "figures",
                             sources));
    else
        printf("%-15s %7.0f MB  %-8s %-8s %-20s %s\n", name, (double)capacity / 1e6, link,
               strategy, text, model);
}

/* What a profile is, in one line, or as an object in *array.  A profile with mistakes is named with
 * the first one.  An error of the host, or -ENOMEM, with message. */
static int describe(const char *name, json_t *array, struct fe_err *err)
{
    struct fe_profile profile;
    uint64_t capacity = 0;
    int r = fe_profile_load(&profile, name, NULL, 0, err);

    if (r < 0 && r != -EINVAL)
        return r;
    if (r < 0) {
        describe_mistake(name, err->text, array);
        fe_err_init(err);
        return 0;
    }
    json_t *sources = sources_of(&profile);
    r = sources ? capacity_of(&profile, &capacity, err)
                : fe_err_nomem(err, "sources", profile.n_fidelity * sizeof(json_int_t));
    if (r == 0)
        describe_profile(name, &profile, capacity, sources, array);
    json_decref(sources);
    fe_profile_fini(&profile);
    return r;
}

static int print_names(struct names *names, bool as_json, bool is_long)
{
    json_t *array = as_json ? json_array() : NULL;
    struct fe_err err;

    fe_err_init(&err);
    if (as_json && !array)
        return tool_error("out of memory");
    if (is_long && !as_json)
        printf("%-15s %10s  %-8s %-8s %-20s %s\n", "NAME", "CAPACITY", "LINK", "STRATEGY",
               "MEASURED BY", "MODEL");
    qsort(names->name, names->n, sizeof *names->name, compare_names);
    for (size_t i = 0; i < names->n; i++) {
        if (i > 0 && strcmp(names->name[i], names->name[i - 1]) == 0)
            continue;
        if (is_long && describe(names->name[i], array, &err) < 0) {
            json_decref(array);
            return tool_fail(&err);
        }
        if (is_long)
            continue;
        if (as_json)
            json_array_append_new(array, fe_json_text(names->name[i], strlen(names->name[i])));
        else
            puts(names->name[i]);
    }
    return as_json ? tool_print_json(array) : tool_finish(TOOL_OK);
}

int cmd_profiles(int argc, char **argv)
{
    bool as_json = false, is_long = false;
    const struct tool_option options[] = {
        {"json", 0, &as_json, NULL}, {"long", 'l', &is_long, NULL}, {0}};
    const struct tool_args args = {.options = options, .help = profiles_help};
    struct names names = {0};
    const char *path = getenv("FLASHEMU_PATH");
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc > 1)
        return tool_error("profiles: takes no argument '%s'", argv[1]);
    bool ok = !path || add_path(&names, path);
    for (int i = 0; ok && fe_profile_names[i]; i++)
        ok = add_name(&names, fe_profile_names[i], strlen(fe_profile_names[i]));
    is_long = is_long || (!as_json && isatty(STDOUT_FILENO));
    code = ok ? print_names(&names, as_json, is_long) : tool_error("out of memory");
    for (size_t i = 0; i < names.n; i++)
        free(names.name[i]);
    free(names.name);
    return code;
}

/* --- show --- */

static const char show_help[] =
    "usage: flashemu show PROFILE [SECTION.KEY=VALUE...]\n\n"
    "Prints the profile in its canonical form, with the changes and with every default\n"
    "spelled out.  Loading the output again gives the same device.\n";

int cmd_show(int argc, char **argv)
{
    const struct tool_args args = {.help = show_help};
    struct fe_profile profile;
    struct fe_err err;
    int code;

    fe_err_init(&err);
    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc < 2)
        return tool_error("show: which profile?  flashemu profiles lists them");
    if (tool_load_profile(&profile, argv[1], (const char *const *)argv + 2, (uint32_t)(argc - 2),
                          &err) < 0)
        return tool_fail(&err);
    code = fe_profile_print(&profile, stdout, &err);
    fe_profile_fini(&profile);
    return code < 0 ? tool_fail(&err) : tool_finish(TOOL_OK);
}

/* --- check --- */

static const char check_help[] =
    "usage: flashemu check [--json] FILE.ini\n\n"
    "Prints every mistake in a profile as FILE:LINE: message, and builds the device.  Exit code\n"
    "0 if there are no mistakes, 1 if there are some, 2 if the file cannot be read.\n";

/* {"ok": ..., "mistakes": ["FILE:LINE: message", ...]} */
static json_t *mistakes_json(const char *text, int n)
{
    json_t *list = json_array();

    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        json_array_append_new(list, fe_json_text(p, len));
        p += len + (p[len] == '\n');
    }
    return json_pack("{s:b, s:o}", "ok", n == 0, "mistakes", list);
}

/* A profile without mistakes may still describe a device that cannot be built.  Builds the device,
 * without data, and prints the mistake if that fails.  Returns the number of mistakes, or a
 * negative errno with message. */
static int check_device(const char *path, FILE *out, struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = 1};
    struct fe_device *dev = NULL;
    struct fe_profile profile;
    const char *folder = strchr(path, '/') ? "" : "./"; /* without it a path may be a name */
    char *file;

    if (asprintf(&file, "%s%s", folder, path) < 0)
        return fe_err_nomem(err, "path of a profile", strlen(path));
    int r = fe_profile_load(&profile, file, NULL, 0, err);
    if (r == 0) {
        r = tool_create_device(&dev, &profile, &opt, file, NULL, 0, err);
        fe_device_destroy(dev);
        fe_profile_fini(&profile);
    }
    free(file);
    if (r != -EINVAL)
        return r;
    fprintf(out, "%s\n", err->text + strlen(folder));
    return 1;
}

int cmd_check(int argc, char **argv)
{
    bool as_json = false;
    const struct tool_option options[] = {{"json", 0, &as_json, NULL}, {0}};
    const struct tool_args args = {.options = options, .help = check_help};
    struct fe_err err;
    const struct fe_origin origin = tool_origin();
    char *text = NULL;
    size_t size = 0;
    int code;

    fe_err_init(&err);
    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc != 2)
        return tool_error("check: expected one FILE.ini");
    FILE *out = as_json ? open_memstream(&text, &size) : stdout;
    if (!out)
        return tool_error("check: %s", strerror(errno));
    int n = fe_profile_check(argv[1], out, &err);
    if (n == 0)
        n = check_device(argv[1], out, &err);
    if (as_json && (fclose(out) != 0 || !text) && n >= 0)
        n = fe_err_nomem(&err, "mistakes of a profile", size);
    if (n < 0)
        code = tool_fail(&err);
    else if (as_json)
        code = tool_print_result(mistakes_json(text, n), &origin);
    else
        code = tool_finish(TOOL_OK);
    free(text);
    return code == TOOL_OK && n > 0 ? TOOL_NO : code;
}

/* --- help --- */

static const char help_help[] =
    "usage: flashemu help [--json] [SECTION.KEY | SECTION | STRATEGY | PROFILE | COMMAND |\n"
    "                      all]\n\n"
    "Without a topic, lists the topics.  With one, prints the options of a profile, one, those of\n"
    "a section or all of them: type, range, default, meaning, and the strategies that use it.\n"
    "STRATEGY is a value of ftl.type: prints what it is, and its options in [ftl] and [step].\n"
    "PROFILE prints the same about the strategy of that profile, with the profile's values.\n"
    "COMMAND is a command of this program.\n";

/* With the details of a key, which look like keys. */
static json_t *option_json(const struct fe_option *o)
{
    char key[128], allowed[512];
    json_t *details = o->n_details ? json_array() : NULL;
    json_t *used_by = fe_option_depends(o) ? json_array() : NULL;

    for (uint32_t i = 0; used_by && fe_ftl_registry[i]; i++)
        if (fe_option_is_used(o, i))
            json_array_append_new(used_by, json_string(fe_ftl_registry[i]->name));
    snprintf(key, sizeof key, "%s.%s", fe_section_name(o->section), o->key);
    fe_option_allowed(o, allowed, sizeof allowed);
    for (uint32_t i = 1; i <= o->n_details; i++)
        json_array_append_new(details, option_json(&o[i]));
    return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:b, s:b, s:o?, s:o*, s:s}", "key", key, "type",
                     fe_option_type_name(o), "allowed", allowed, "default", o->def, "derived",
                     o->derived, "required", fe_option_required(o), "live", o->live,
                     "used_by", used_by, "details", details, "help", o->help);
}

static int help_json(const char *key)
{
    const struct fe_option *one = key ? fe_option_find(key) : NULL;
    int type = key ? fe_ftl_find(key) : -1;
    enum fe_section section = key ? fe_section_find(key, strlen(key)) : FE_N_SECTIONS;
    struct fe_err err;

    if (one)
        return tool_print_json(option_json(one));
    if (key && type < 0 && section >= FE_SEC_PROVENANCE) {
        fe_err_init(&err);
        fe_options_help(key, stderr, &err); /* says what is wrong */
        return tool_fail(&err);
    }
    json_t *list = json_array();
    for (uint32_t i = 0; i < fe_n_options; i++)
        if (fe_option_is_detail(&fe_options[i]))
            continue;
        else if (!key || (type < 0 ? fe_options[i].section == section
                              : fe_option_is_own(&fe_options[i], (uint32_t)type)))
            json_array_append_new(list, option_json(&fe_options[i]));
    return tool_print_json(list);
}

/* Prints the help of a profile, if `name` is one.  Returns 1 if it is none, 0, or a negative errno
 * with message. */
static int help_profile(const char *name, struct fe_err *err)
{
    struct fe_profile profile;
    struct fe_err why;

    fe_err_init(&why);
    int r = fe_profile_load(&profile, name, NULL, 0, &why);
    if (r == -ENOENT && !strchr(name, '/'))
        return 1;
    if (r < 0)
        return fe_err_set(err, -r, "%s", why.text);
    r = fe_options_help_profile(&profile, stdout, err);
    fe_profile_fini(&profile);
    return r;
}

enum { LEFT = 13, WIDTH = 79 };

/* Prints a word in a column that begins at LEFT; *at is where the line ends, 0 = a new one. */
static void put_word(const char *word, int *at)
{
    int len = (int)strlen(word);

    if (*at + 1 + len > WIDTH) {
        putchar('\n');
        *at = 0;
    }
    if (*at == 0)
        *at = printf("%*s", LEFT - 1, "");
    *at += printf(" %s", word);
}

static void put_words(const char *head, const char *words)
{
    int at = printf("  %-*s", LEFT - 3, head);

    for (const char *p = words; *(p += strspn(p, " "));) {
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(p, " "), p);
        put_word(word, &at);
        p += strcspn(p, " ");
    }
    putchar('\n');
}

static void put_sections(void)
{
    for (int s = 0; s < FE_SEC_PROVENANCE; s++) {
        int at = printf("  %-*s", LEFT - 3, fe_section_name((enum fe_section)s));
        for (uint32_t i = 0; i < fe_n_options; i++)
            if (fe_options[i].section == s && !fe_option_is_detail(&fe_options[i]))
                put_word(fe_options[i].key, &at);
        putchar('\n');
    }
}

/* What there is help for. */
static int help_topics(void)
{
    char strategies[256] = "", profiles[512] = "";

    for (uint32_t i = 0; fe_ftl_registry[i]; i++)
        fe_text_add(strategies, sizeof strategies, " %s", fe_ftl_registry[i]->name);
    for (int i = 0; fe_profile_names[i]; i++)
        fe_text_add(profiles, sizeof profiles, " %s", fe_profile_names[i]);
    puts("usage: flashemu help TOPIC\n\nTOPIC is a command, a profile, a strategy (a value of "
         "ftl.type), a section of\na profile, a key with its section, as in nand.tR, or all: every "
         "key with what it\nmeans.\n");
    put_words("commands", tool_commands);
    put_words("profiles", profiles);
    put_words("strategies", strategies);
    puts("\nSections, each with its keys:\n");
    put_sections();
    return tool_finish(TOOL_OK);
}

/* Names what somebody may have meant who typed a topic without a dot. */
static int unknown_topic(const char *topic, struct fe_err *err)
{
    struct fe_guess guess = FE_GUESS_NONE;
    const struct fe_option *key = NULL;
    char of_commands[FE_GUESS_MAX];
    size_t len = strlen(topic);

    for (int s = 0; s < FE_SEC_PROVENANCE; s++)
        fe_guess_try(&guess, topic, len, fe_section_name((enum fe_section)s));
    for (uint32_t i = 0; fe_ftl_registry[i]; i++)
        fe_guess_try(&guess, topic, len, fe_ftl_registry[i]->name);
    for (int i = 0; fe_profile_names[i]; i++)
        fe_guess_try(&guess, topic, len, fe_profile_names[i]);
    for (uint32_t i = 0; i < fe_n_options; i++) {
        unsigned before = guess.distance;
        fe_guess_try(&guess, topic, len, fe_options[i].key);
        if (guess.distance < before)
            key = &fe_options[i];
    }
    if (key)
        return fe_err_set(err, EINVAL, "help: there is no topic '%.60s'; did you mean %s.%s?", topic,
                          fe_section_name(key->section), key->key);
    if (guess.name)
        return fe_err_set(err, EINVAL, "help: there is no topic '%.60s'; did you mean %s?", topic,
                          guess.name);
    fe_guess_word(topic, len, tool_commands, of_commands);
    return fe_err_set(err, EINVAL, "help: there is no topic '%.60s'; %sflashemu help lists them",
                      topic, of_commands);
}

/* The help of a topic other than a command. */
static int help_text(const char *topic, struct fe_err *err)
{
    int r = 1;

    if (strcmp(topic, "all") == 0)
        return fe_options_help(NULL, stdout, err);

    if (strncmp(topic, "ftl.type=", 9) == 0)
        topic += 9; /* as it would stand in an override */
    if (fe_ftl_find(topic) < 0 && !fe_option_find(topic) &&
        fe_section_find(topic, strlen(topic)) == FE_N_SECTIONS) {
        r = help_profile(topic, err);
        if (r == 1 && !strchr(topic, '.'))
            return unknown_topic(topic, err);
    }
    return r == 1 ? fe_options_help(topic, stdout, err) : r;
}

int cmd_help(int argc, char **argv)
{
    bool as_json = false;
    const struct tool_option options[] = {{"json", 0, &as_json, NULL}, {0}};
    const struct tool_args args = {.options = options, .help = help_help};
    struct fe_err err;
    int code;

    fe_err_init(&err);
    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc > 2)
        return tool_error("help: takes one topic, not also '%s'", argv[2]);
    const char *key = argc > 1 ? argv[1] : NULL;
    if (as_json)
        return help_json(key);
    if (!key)
        return help_topics();
    if (help_text(key, &err) < 0)
        return tool_fail(&err);
    return tool_finish(TOOL_OK);
}
