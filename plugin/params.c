/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One table has the name of each parameter and the function that takes its value.  These functions
 * say only what is allowed.  fe_params_set puts key and value in front, so that all messages have
 * the same form and fit on one line.
 *
 * A key with a point in it belongs to the profile.  It is kept as text, and the profile layer
 * judges it later, because only that layer has the option table.
 */
#include "params.h"

#include "base/guess.h"
#include "base/origin.h"
#include "base/quantity.h"
#include "cmdline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much of a value a message repeats, so that there is room for the reason. */
#define SHOWN 80

/* Refuses a value that is none of these words. */
static int not_one_of(struct fe_err *err, const char *value, const char *what, const char *words)
{
    char guess[FE_GUESS_MAX];
    bool has = *fe_guess_word(value, strlen(value), words, guess);

    return fe_err_set(err, EINVAL, "%s%s%.*s", what, has ? "; " : "",
                      (int)(has ? strlen(guess) - 1 : 0), guess);
}

/* A text that must not be empty. */
static int set_text(const char **ret, const char *value, const char *what, struct fe_err *err)
{
    if (value[0] == '\0')
        return fe_err_set(err, EINVAL, "must be %s", what);
    *ret = value;
    return 0;
}

static int set_profile(struct fe_params *p, const char *value, struct fe_err *err)
{
    return set_text(&p->profile, value, "the name of a profile or the path of a file", err);
}

static int set_size(struct fe_params *p, const char *value, struct fe_err *err)
{
    struct fe_err why = {""};
    uint64_t size;
    if (fe_quantity_parse(FE_SIZE, value, &size, &why) < 0)
        return fe_err_set(err, EINVAL, "%s; allowed: a size such as 8G", why.text);
    if (size == 0)
        return fe_err_set(err, EINVAL, "must be at least one sector");
    p->size = value;
    return 0;
}

static int set_clock(struct fe_params *p, const char *value, struct fe_err *err)
{
    if (strcmp(value, "real") != 0 && strcmp(value, "virtual") != 0)
        return not_one_of(err, value, "must be real or virtual", "real virtual");
    p->virtual_clock = value[0] == 'v';
    return 0;
}

static int set_scale(struct fe_params *p, const char *value, struct fe_err *err)
{
    return fe_scale_parse(value, &p->scale, err);
}

int fe_params_parse_overhead(const char *text, uint64_t *ret_ns, struct fe_err *err)
{
    struct fe_err why = {""};
    uint64_t ns;
    if (fe_quantity_parse(FE_TIME, text, &ns, &why) < 0)
        return fe_err_set(err, EINVAL, "%s; allowed: " FE_OVERHEAD_ALLOWED, why.text);
    if (ns > FE_OVERHEAD_MAX_NS)
        return fe_err_set(err, EINVAL, "must be " FE_OVERHEAD_ALLOWED);
    *ret_ns = ns;
    return 0;
}

static int set_overhead(struct fe_params *p, const char *value, struct fe_err *err)
{
    return fe_params_parse_overhead(value, &p->overhead_ns, err);
}

static int set_delay(struct fe_params *p, const char *value, struct fe_err *err)
{
    static const struct {
        const char *name;
        enum fe_delay_kind kind;
    } kinds[] = {
        {"auto", FE_DELAY_AUTO},
        {"io_uring", FE_DELAY_IO_URING},
        {"nanosleep", FE_DELAY_NANOSLEEP},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(value, kinds[i].name) == 0) {
            p->delay.kind = kinds[i].kind;
            return 0;
        }
    return not_one_of(err, value, "must be auto, io_uring or nanosleep", "auto io_uring nanosleep");
}

static int set_spin(struct fe_params *p, const char *value, struct fe_err *err)
{
    struct fe_err why = {""};
    uint64_t ns;
    if (strcmp(value, "auto") == 0) {
        p->delay.spin = FE_DELAY_SPIN_AUTO;
    } else if (strcmp(value, "off") == 0) {
        p->delay.spin = FE_DELAY_SPIN_OFF;
    } else if (fe_quantity_parse(FE_TIME, value, &ns, &why) < 0) {
        return fe_err_set(err, EINVAL, "%s; allowed: auto, off or a time up to 100ms", why.text);
    } else if (ns > FE_DELAY_SPIN_MAX_NS) {
        return fe_err_set(err, EINVAL, "must be auto, off or a time up to 100ms");
    } else {
        p->delay.spin = FE_DELAY_SPIN_FIXED;
        p->delay.spin_ns = ns;
    }
    return 0;
}

static int set_seed(struct fe_params *p, const char *value, struct fe_err *err)
{
    struct fe_err why = {""};
    if (fe_quantity_parse(FE_COUNT, value, &p->seed, &why) < 0)
        return fe_err_set(err, EINVAL, "%s; allowed: a whole number from 0 to 2^64 - 1", why.text);
    p->seed_given = true;
    return 0;
}

static int set_file(struct fe_params *p, const char *value, struct fe_err *err)
{
    return set_text(&p->file, value, "the path of an image, or of one to be made", err);
}

static int set_sync(struct fe_params *p, const char *value, struct fe_err *err)
{
    if (strcmp(value, "flush") != 0 && strcmp(value, "none") != 0)
        return not_one_of(err, value, "must be flush or none", "flush none");
    p->no_sync = value[0] == 'n';
    return 0;
}

static int set_extents(struct fe_params *p, const char *value, struct fe_err *err)
{
    if (strcmp(value, "auto") != 0 && strcmp(value, "no") != 0)
        return not_one_of(err, value, "must be auto or no", "auto no");
    p->no_extents = value[0] == 'n';
    return 0;
}

static int set_flush(struct fe_params *p, const char *value, struct fe_err *err)
{
    if (strcmp(value, "auto") != 0 && strcmp(value, "always") != 0)
        return not_one_of(err, value, "must be auto or always", "auto always");
    p->always_flush = strcmp(value, "always") == 0;
    return 0;
}

static int set_exports(struct fe_params *p, const char *value, struct fe_err *err)
{
    if (strcmp(value, "same") != 0 && strcmp(value, "own") != 0)
        return not_one_of(err, value, "must be same or own", "same own");
    p->own_exports = value[0] == 'o';
    return 0;
}

static int set_trace(struct fe_params *p, const char *value, struct fe_err *err)
{
    return set_text(&p->trace, value, "the path of the trace to be written", err);
}

static int set_trace_data(struct fe_params *p, const char *value, struct fe_err *err)
{
    return set_text(&p->trace_data, value, "the path of the file for what is written", err);
}

static int set_control(struct fe_params *p, const char *value, struct fe_err *err)
{
    return set_text(&p->control, value, "the path of a Unix socket", err);
}

/* What else must be given for a parameter to have an effect. */
enum needs { NEEDS_NOTHING, NEEDS_REAL_CLOCK, NEEDS_FILE, NEEDS_TRACE };

static const struct {
    const char *key;
    int (*set)(struct fe_params *p, const char *value, struct fe_err *err);
    enum needs needs;
} table[] = {
    {"profile", set_profile, NEEDS_NOTHING},
    {"size", set_size, NEEDS_NOTHING},
    {"clock", set_clock, NEEDS_NOTHING},
    {"time-scale", set_scale, NEEDS_REAL_CLOCK},
    {"transport-overhead", set_overhead, NEEDS_REAL_CLOCK},
    {"delay", set_delay, NEEDS_REAL_CLOCK},
    {"spin", set_spin, NEEDS_REAL_CLOCK},
    {"seed", set_seed, NEEDS_NOTHING},
    {"control", set_control, NEEDS_NOTHING},
    {"file", set_file, NEEDS_NOTHING},
    {"sync", set_sync, NEEDS_FILE},
    {"trace", set_trace, NEEDS_NOTHING},
    {"trace-data", set_trace_data, NEEDS_TRACE},
    {"extents", set_extents, NEEDS_NOTHING},
    {"flush", set_flush, NEEDS_NOTHING},
    {"exports", set_exports, NEEDS_NOTHING},
};

#define N_PARAMS (sizeof table / sizeof table[0])

/* "KEY=VALUE: reason"; a long value is cut. */
static int refuse(struct fe_err *err, const char *key, const char *value, int errnum,
                  const char *reason)
{
    return fe_err_set(err, errnum, "%s=%.*s%s: %s", key, SHOWN, value,
                      strlen(value) > SHOWN ? "..." : "", reason);
}

static bool has_override(const struct fe_params *p, const char *key)
{
    size_t len = strlen(key);
    for (uint32_t i = 0; i < p->n_overrides; i++)
        if (strncmp(p->overrides[i], key, len) == 0 && p->overrides[i][len] == '=')
            return true;
    return false;
}

static int add_override(struct fe_params *p, const char *key, const char *value,
                        struct fe_err *err)
{
    if (has_override(p, key))
        return refuse(err, key, value, EINVAL, "given twice, allowed once");
    size_t size = strlen(key) + strlen(value) + 2;
    char **list = realloc(p->overrides, (p->n_overrides + 1) * sizeof *list);
    if (!list)
        return fe_err_nomem(err, "overrides", (p->n_overrides + 1) * sizeof *list);
    p->overrides = list;
    list[p->n_overrides] = malloc(size);
    if (!list[p->n_overrides])
        return fe_err_nomem(err, "override", size);
    snprintf(list[p->n_overrides++], size, "%s=%s", key, value);
    return 0;
}

static int refuse_unknown(struct fe_err *err, const char *key, const char *value)
{
    struct fe_guess guess = FE_GUESS_NONE;
    char reason[320] = "unknown parameter; ";
    for (size_t i = 0; i < N_PARAMS; i++)
        fe_guess_try(&guess, key, strlen(key), table[i].key);
    if (guess.name)
        fe_text_add(reason, sizeof reason, "did you mean %s? ", guess.name);
    fe_text_add(reason, sizeof reason, "allowed:");
    for (size_t i = 0; i < N_PARAMS; i++)
        fe_text_add(reason, sizeof reason, " %s", table[i].key);
    fe_text_add(reason, sizeof reason, " SECTION.KEY");
    return refuse(err, key, value, EINVAL, reason);
}

void fe_params_init(struct fe_params *p)
{
    *p = (struct fe_params){.scale = FE_SCALE_ONE, .seed = 1};
}

void fe_params_fini(struct fe_params *p)
{
    for (uint32_t i = 0; i < p->n_overrides; i++)
        free(p->overrides[i]);
    free(p->overrides);
    fe_params_init(p);
}

/* What the tool calls the same thing. */
static bool is_other_name(const char *typed, const char *key)
{
    static const char *const names[][2] = {{"record", "trace"}, {"record-data", "trace-data"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(key, names[i][1]) == 0 && fe_name_is(typed, names[i][0]))
            return true;
    return false;
}

int fe_params_set(struct fe_params *p, const char *key, const char *value, struct fe_err *err)
{
    if (strchr(key, '.'))
        return add_override(p, key, value, err);
    for (uint32_t i = 0; i < N_PARAMS; i++) {
        struct fe_err why = {""};
        if (!fe_name_is(key, table[i].key) && !is_other_name(key, table[i].key))
            continue;
        if (p->seen & (1u << i))
            return refuse(err, key, value, EINVAL, "given twice, allowed once");
        p->seen |= 1u << i;
        int r = table[i].set(p, value, &why);
        return r < 0 ? refuse(err, key, value, -r, why.text) : 0;
    }
    return refuse_unknown(err, key, value);
}

void fe_params_idle(const struct fe_params *p, char *buf, size_t len)
{
    buf[0] = '\0';
    for (uint32_t i = 0; i < N_PARAMS; i++) {
        const char *why = NULL;
        if (table[i].needs == NEEDS_REAL_CLOCK && p->virtual_clock)
            why = "clock=virtual";
        if (table[i].needs == NEEDS_FILE && !p->file)
            why = "no file=PATH";
        if (table[i].needs == NEEDS_TRACE && !p->trace)
            why = "no trace=FILE";
        if ((p->seen & (1u << i)) && why)
            fe_text_add(buf, len, "%s%s does nothing with %s", buf[0] ? ", " : "", table[i].key,
                        why);
    }
}

/* What belongs to one device cannot belong to each of several. */
static int refuse_shared(const struct fe_params *p, struct fe_err *err)
{
    const char *key = p->file ? "file" : p->trace ? "trace" : p->control ? "control" : NULL;
    const char *value = p->file ? p->file : p->trace ? p->trace : p->control;

    if (!p->own_exports || !key)
        return 0;
    return refuse(err, key, value, EINVAL, "is for one device, and exports=own makes several");
}

/* A path that two parameters have. */
static int refuse_same_path(const struct fe_params *p, struct fe_err *err)
{
    const char *const keys[] = {"file", "trace", "trace-data", "control"};
    const char *const paths[] = {p->file, p->trace, p->trace_data, p->control};
    char reason[80];

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        for (size_t k = 0; k < i; k++)
            if (paths[i] && paths[k] && strcmp(paths[i], paths[k]) == 0) {
                snprintf(reason, sizeof reason, "is %s= as well; allowed: a path of its own", keys[k]);
                return refuse(err, keys[i], paths[i], EINVAL, reason);
            }
    return 0;
}

static int refuse_no_profile(struct fe_err *err)
{
    char names[400];
    fe_profile_list_names(names, sizeof names);
    return fe_err_set(err, EINVAL, "profile=NAME|PATH is required; shipped profiles:%s", names);
}

/* `size` stands for a key of the profile.  It is checked here as well, so that the message names
 * what the user wrote. */
static int apply_size(const struct fe_params *p, struct fe_profile *profile, struct fe_err *err)
{
    char reason[FE_VALUE_MAX];
    struct fe_err why = {""};
    uint64_t size = 0;
    if (fe_quantity_parse(FE_SIZE, p->size, &size, &why) < 0)
        return refuse(err, "size", p->size, EINVAL, why.text);
    if (size % profile->device.sector_size) {
        snprintf(reason, sizeof reason, "must be a multiple of device.sector_size, %u bytes",
                 profile->device.sector_size);
        return refuse(err, "size", p->size, EINVAL, reason);
    }
    int r = fe_profile_set(profile, "device.capacity", p->size, &why);
    /* What a profile says about its device's past applies to the whole capacity, so a smaller
     * device is used throughout.  A user who gives both keys means both. */
    if (r == 0 && profile->device.used > size && !has_override(p, "device.used"))
        r = fe_profile_set(profile, "device.used", p->size, &why);
    return r < 0 ? refuse(err, "size", p->size, -r, why.text) : 0;
}

int fe_params_origin(const struct fe_params *p, const char *profile_name,
                     struct fe_params_origin *ret, struct fe_err *err)
{
    const char **overrides = calloc(p->n_overrides + 1, sizeof *overrides);

    *ret = (struct fe_params_origin){.overrides = overrides};
    if (!overrides)
        return fe_err_nomem(err, "origin", p->n_overrides + 1);
    fe_cmdline_text(ret->command, sizeof ret->command);
    ret->o = (struct fe_origin){
        .version = fe_version, .command = ret->command, .profile = profile_name,
        .overrides = overrides, .image = p->file, .seed = p->seed,
        .has_seed = !p->file || p->seed_given}; /* an image has a seed of its own */
    for (; ret->o.n_overrides < p->n_overrides; ret->o.n_overrides++)
        overrides[ret->o.n_overrides] = p->overrides[ret->o.n_overrides];
    if (p->size) {
        snprintf(ret->size, sizeof ret->size, "device.capacity=%.60s", p->size);
        overrides[ret->o.n_overrides++] = ret->size;
    }
    return 0;
}

int fe_params_load_profile(const struct fe_params *p, struct fe_profile *ret, struct fe_err *err)
{
    if (!p->profile)
        return refuse_no_profile(err);
    if (refuse_shared(p, err) < 0 || refuse_same_path(p, err) < 0)
        return -EINVAL;
    if (p->size && has_override(p, "device.capacity"))
        return refuse(err, "size", p->size, EINVAL, "device.capacity is given too; allowed: one");
    int r = fe_profile_load(ret, p->profile, (const char *const *)p->overrides, p->n_overrides,
                            err);
    if (r < 0 || !p->size)
        return r;
    r = apply_size(p, ret, err);
    if (r < 0)
        fe_profile_fini(ret);
    return r;
}
