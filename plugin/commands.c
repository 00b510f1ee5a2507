/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One table has the name of each command, the number of its arguments, its usage and its
 * function.  The function adds members to the reply, or fills the error.  The frame around it
 * parses the request, counts the arguments and prints the reply, so that all commands answer in
 * the same form.
 */
#include "commands.h"

#include "base/guess.h"
#include "base/quantity.h"
#include "flashemu/map.h"
#include "nand/wear.h"
#include "obs/json_text.h"
#include "obs/stats_json.h"
#include "workload/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 8
#define EVENTS_PER_TURN 64

struct call {
    struct fe_server *server;
    const char *arg[MAX_ARGS];
    char *text[MAX_ARGS]; /* owned: the text of arguments that came as numbers */
    size_t n_args;
    json_t *reply;        /* an object with "ok":true */
    enum fe_said_by by;
    struct fe_command_wish wish;
    struct fe_err err;
};

static int add(struct call *c, const char *key, json_t *value)
{
    return json_object_set_new(c->reply, key, value) == 0
               ? 0
               : fe_err_nomem(&c->err, "reply", sizeof(json_t *));
}

/* Adds the members of an object, which it takes over. */
static int add_all(struct call *c, const char *what, json_t *members)
{
    int r = members ? json_object_update(c->reply, members) : -1;
    json_decref(members);
    return r == 0 ? 0 : fe_err_nomem(&c->err, what, sizeof(json_t *));
}

static int cmd_stats(struct call *c)
{
    return add_all(c, "statistics", fe_server_stats(c->server));
}

static int cmd_health(struct call *c)
{
    return add_all(c, "health", fe_server_health(c->server));
}

/* The member `text` is what a client prints as it is. */
static int cmd_metrics(struct call *c)
{
    char *text = fe_server_metrics(c->server);
    int r = text ? add(c, "text", json_string(text))
                 : fe_err_nomem(&c->err, "metrics", sizeof(json_t *));
    free(text);
    return r;
}

static int cmd_reset(struct call *c)
{
    fe_server_reset_stats(c->server);
    return 0;
}

static int cmd_get(struct call *c)
{
    char value[FE_VALUE_MAX];
    int r = fe_server_get(c->server, c->arg[0], value, sizeof value, &c->err);
    if (r == 0)
        r = add(c, "key", json_string(c->arg[0]));
    return r == 0 ? add(c, "value", fe_json_text(value, strlen(value))) : r;
}

static int cmd_set(struct call *c)
{
    int r = fe_server_set(c->server, c->arg[0], c->arg[1], &c->err);
    return r == 0 ? cmd_get(c) : r;
}

static int cmd_idle(struct call *c)
{
    struct fe_err why = {""};
    uint64_t ns, now_ns;
    int r = fe_quantity_parse(FE_TIME, c->arg[0], &ns, &why);
    if (r == 0)
        r = fe_server_idle(c->server, ns, &now_ns, &why);
    if (r < 0)
        return fe_err_set(&c->err, -r, "idle %.80s: %s", c->arg[0], why.text);
    return add(c, "device_ns", json_integer((json_int_t)now_ns));
}

/* The words of the text, which a shell may have parted. */
static int cmd_mark(struct call *c)
{
    struct fe_err why = {""};
    char text[2 * FE_TRACE_MARK_MAX] = "";
    uint64_t now_ns;
    for (size_t i = 0; i < c->n_args; i++)
        fe_text_add(text, sizeof text, "%s%s", i ? " " : "", c->arg[i]);
    int r = fe_server_mark(c->server, text, c->by, &now_ns, &c->wish.mark, &why);
    if (r < 0)
        return fe_err_set(&c->err, -r, "mark: %s", why.text);
    c->wish.what = c->by == FE_BY_CLIENT ? FE_WISH_MARK : FE_WISH_NONE;
    return add(c, "device_ns", json_integer((json_int_t)now_ns));
}

static int cmd_quit(struct call *c)
{
    c->wish.what = FE_WISH_QUIT;
    return 0;
}

static int cmd_events(struct call *c)
{
    c->wish.what = FE_WISH_EVENTS;
    return 0;
}

/* Parses argument i as a number from min to max; -EINVAL with the reason if it is not. */
static int number(struct call *c, const char *name, size_t i, uint64_t min, uint64_t max,
                  uint64_t *ret)
{
    struct fe_err why = {""};
    int r = fe_quantity_parse(FE_COUNT, c->arg[i], ret, &why);
    if (r == 0 && (*ret < min || *ret > max))
        r = fe_err_set(&why, EINVAL, "is out of range; allowed: %llu to %llu",
                       (unsigned long long)min, (unsigned long long)max);
    return r < 0 ? fe_err_set(&c->err, -r, "%s: %.80s: %s", name, c->arg[i], why.text) : 0;
}

static int cmd_map(struct call *c)
{
    uint64_t cells = 256;
    int r = c->n_args ? number(c, "map", 0, 1, 4096, &cells) : 0;
    if (r < 0)
        return r;
    return add_all(c, "map", fe_server_map(c->server, (uint32_t)cells));
}

static bool is_end_of_life(enum fe_condition c)
{
    return c == FE_COND_DEAD || c == FE_COND_FULL || c == FE_COND_READ_ONLY || c == FE_COND_WORN;
}

/* Parses the first argument as the number of a block of the chip, or of a page of it.  What a device
 * without a chip says to 0, it says itself. */
static int place_on_chip(struct call *c, const char *name, uint64_t per_block, uint64_t *ret)
{
    uint64_t n = fe_device_blocks(fe_server_device(c->server)) * per_block;
    return number(c, name, 0, 0, n ? n - 1 : 0, ret);
}

static int cmd_mark_bad(struct call *c)
{
    uint64_t block;
    enum fe_condition after;
    int r = place_on_chip(c, "mark-bad", 1, &block);
    if (r == 0)
        r = fe_server_mark_bad(c->server, (fe_peb)block, &after, &c->err);
    if (r < 0 || !is_end_of_life(after))
        return r;
    return add(c, "warning", json_sprintf("the device is at the end of its life (%s): %s",
                                          fe_condition_state(after), fe_condition_reason(after)));
}

static int cmd_flip(struct call *c)
{
    uint64_t ppn, bits;
    int r = place_on_chip(c, "flip", fe_device_block_pages(fe_server_device(c->server)), &ppn);
    if (r == 0)
        r = number(c, "flip", 1, 1, FE_FLIPS_MAX, &bits);
    return r < 0 ? r : fe_server_flip(c->server, (fe_ppn)ppn, (uint32_t)bits, &c->err);
}

static int cmd_wear(struct call *c)
{
    uint64_t block, cycles;
    int r = place_on_chip(c, "wear", 1, &block);
    if (r == 0)
        r = number(c, "wear", 1, 0, UINT64_C(1000000000), &cycles);
    return r < 0 ? r : fe_server_set_cycles(c->server, (fe_peb)block, (uint32_t)cycles, &c->err);
}

/* Parses argument i as a time of at least min_ns, and at most 146 years, so that adding the present
 * cannot overflow. */
static int duration(struct call *c, const char *name, size_t i, uint64_t min_ns, uint64_t *ret)
{
    struct fe_err why = {""};
    int r = fe_quantity_parse(FE_TIME, c->arg[i], ret, &why);
    if (r == 0 && *ret > (UINT64_C(1) << 62))
        r = fe_err_set(&why, EINVAL, "is longer than 146 years");
    if (r == 0 && *ret < min_ns)
        r = fe_err_set(&why, EINVAL, "changes nothing; allowed: 1ns and more");
    return r < 0 ? fe_err_set(&c->err, -r, "%s %.80s: %s", name, c->arg[i], why.text) : 0;
}

/* power-cut [after N writes|after TIME|at now] */
static int cmd_power_cut(struct call *c)
{
    static const char usage[] = "power-cut: must be power-cut, power-cut at now, power-cut after N "
                                "writes or power-cut after TIME";
    struct fe_err why = {""};
    uint64_t in_ns = 0, writes = 0, now_ns;
    bool after = c->n_args >= 2 && strcmp(c->arg[0], "after") == 0;
    bool counts = c->n_args == 3 &&
                  (strcmp(c->arg[2], "writes") == 0 || strcmp(c->arg[2], "write") == 0);
    if (after && counts) {
        int r = number(c, "power-cut after", 1, 1, UINT64_C(1) << 60, &writes);
        if (r < 0)
            return r;
    } else if (after && c->n_args == 2) {
        int r = duration(c, "power-cut after", 1, 0, &in_ns);
        if (r < 0)
            return r;
    } else if (c->n_args != 0 && (c->n_args != 2 || strcmp(c->arg[0], "at") != 0 ||
                                  strcmp(c->arg[1], "now") != 0)) {
        return fe_err_set(&c->err, EINVAL, "%s", usage);
    }
    int r = fe_server_cut_power(c->server, in_ns, writes, &now_ns, &why);
    if (r < 0)
        return fe_err_set(&c->err, -r, "power-cut: %s", why.text);
    return add(c, "device_ns", json_integer((json_int_t)now_ns));
}

static int cmd_power_on(struct call *c)
{
    struct fe_err why = {""};
    uint64_t ready_ns;
    int r = fe_server_power_on(c->server, &ready_ns, &why);
    if (r < 0)
        return fe_err_set(&c->err, -r, "power-on: %s", why.text);
    return add(c, "ready_ns", json_integer((json_int_t)ready_ns));
}

static int cmd_hang(struct call *c)
{
    uint64_t ns;
    int r = duration(c, "hang", 0, 1, &ns);
    return r == 0 ? fe_server_hang(c->server, ns, &c->err) : r;
}

static int cmd_disconnect(struct call *c)
{
    uint64_t ns = 0;
    int r = c->n_args ? duration(c, "disconnect", 0, 1, &ns) : 0;
    if (r == 0)
        fe_server_disconnect(c->server, ns);
    return r;
}

static int cmd_connect(struct call *c)
{
    fe_server_connect(c->server);
    return 0;
}

static const struct command {
    const char *name, *usage;
    size_t min_args, max_args;
    int (*run)(struct call *c);
} table[] = {
    {"stats", "stats", 0, 0, cmd_stats},
    {"metrics", "metrics", 0, 0, cmd_metrics},
    {"health", "health", 0, 0, cmd_health},
    {"map", "map [CELLS]", 0, 1, cmd_map},
    {"reset", "reset", 0, 0, cmd_reset},
    {"set", "set KEY VALUE", 2, 2, cmd_set},
    {"get", "get KEY", 1, 1, cmd_get},
    {"idle", "idle TIME", 1, 1, cmd_idle},
    {"quit", "quit", 0, 0, cmd_quit},
    {"mark", "mark TEXT", 1, MAX_ARGS, cmd_mark},
    {"mark-bad", "mark-bad BLOCK", 1, 1, cmd_mark_bad},
    {"flip", "flip PPN BITS", 2, 2, cmd_flip},
    {"wear", "wear BLOCK CYCLES", 2, 2, cmd_wear},
    {"hang", "hang TIME", 1, 1, cmd_hang},
    {"disconnect", "disconnect [TIME]", 0, 1, cmd_disconnect},
    {"connect", "connect", 0, 0, cmd_connect},
    {"power-cut", "power-cut [after N writes|after TIME|at now]", 0, 3, cmd_power_cut},
    {"power-on", "power-on", 0, 0, cmd_power_on},
    {"events", "events", 0, 0, cmd_events},
};

#define N_COMMANDS (sizeof table / sizeof table[0])

static int run_named(struct call *c, const char *name)
{
    char names[256] = "", guess[FE_GUESS_MAX];

    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command *t = &table[i];
        if (fe_name_is(name, t->name)) {
            if (c->n_args < t->min_args || c->n_args > t->max_args)
                return fe_err_set(&c->err, EINVAL, "%s: got %zu argument%s; usage: %s", name,
                                  c->n_args, c->n_args == 1 ? "" : "s", t->usage);
            return t->run(c);
        }
        fe_text_add(names, sizeof names, " %s", t->name);
    }
    fe_guess_word(name, strlen(name), names, guess);
    return fe_err_set(&c->err, EINVAL, "%.80s: unknown command; %sthere are:%s", name, guess, names);
}

/* A number counts as the text that JSON would print for it. */
static int take_args(struct call *c, const json_t *args)
{
    if (!args)
        return 0;
    if (!json_is_array(args) || json_array_size(args) > MAX_ARGS)
        return fe_err_set(&c->err, EINVAL, "\"args\" must be an array of at most %d", MAX_ARGS);
    for (size_t i = 0; i < json_array_size(args); i++) {
        const json_t *a = json_array_get(args, i);
        c->n_args = i + 1;
        if (json_is_string(a)) {
            c->arg[i] = json_string_value(a);
        } else if (json_is_number(a)) {
            c->text[i] = json_dumps(a, JSON_ENCODE_ANY | FE_STATS_JSON_FLAGS);
            if (!c->text[i])
                return fe_err_nomem(&c->err, "argument", FE_VALUE_MAX);
            c->arg[i] = c->text[i];
        } else {
            return fe_err_set(&c->err, EINVAL, "an argument must be a string or a number");
        }
    }
    return 0;
}

static int run_request(struct call *c, const json_t *req)
{
    const json_t *cmd = json_object_get(req, "cmd");
    const char *key;
    json_t *value;

    if (!json_is_object(req))
        return fe_err_set(&c->err, EINVAL, "a request is an object: {\"cmd\":NAME,\"args\":[...]}");
    if (!json_is_string(cmd))
        return fe_err_set(&c->err, EINVAL, "\"cmd\" must be there and a string");
    json_object_foreach((json_t *)req, key, value)
        if (strcmp(key, "cmd") != 0 && strcmp(key, "args") != 0)
            return fe_err_set(&c->err, EINVAL, "%.80s: unknown member; there are: cmd args", key);
    int r = take_args(c, json_object_get(req, "args"));
    return r == 0 ? run_named(c, json_string_value(cmd)) : r;
}

/* Prints an object as a line.  NULL for NULL, and without memory. */
static char *print_line(const json_t *o)
{
    size_t size = o ? json_dumpb(o, NULL, 0, JSON_COMPACT | FE_STATS_JSON_FLAGS) : 0;
    char *line = size ? malloc(size + 2) : NULL;
    if (!line || json_dumpb(o, line, size, JSON_COMPACT | FE_STATS_JSON_FLAGS) != size) {
        free(line);
        return NULL;
    }
    line[size] = '\n';
    line[size + 1] = '\0';
    return line;
}

char *fe_command_error(const char *text)
{
    json_t *o = json_pack("{s:b, s:o}", "ok", 0, "error", fe_json_text(text, strlen(text)));
    char *line = print_line(o);
    json_decref(o);
    return line;
}

/* Appends a line with the object, whose reference it takes over, to *text.  *text becomes NULL
 * without memory. */
static void append_line(char **text, json_t *o)
{
    char *line = print_line(o), *both = NULL;
    json_decref(o);
    if (line && asprintf(&both, "%s%s", *text, line) < 0)
        both = NULL;
    free(line);
    free(*text);
    *text = both;
}

bool fe_command_events(struct fe_server *s, uint64_t *next, char **ret_lines)
{
    struct fe_event e[EVENTS_PER_TURN];
    uint64_t dropped;
    uint32_t n = fe_server_take_events(s, next, e, EVENTS_PER_TURN, &dropped);
    if (n == 0)
        return false;
    char *text = strdup("");
    if (text && dropped)
        append_line(&text, json_pack("{s:s, s:I}", "event", "dropped", "dropped",
                                     (json_int_t)dropped));
    for (uint32_t i = 0; text && i < n; i++)
        append_line(&text, fe_event_json(&e[i], *next - n + i));
    *ret_lines = text;
    return true;
}

char *fe_command_run(struct fe_server *s, const char *line, size_t len, enum fe_said_by by,
                     struct fe_command_wish *ret_wish)
{
    struct call c = {.server = s, .by = by, .reply = json_pack("{s:b}", "ok", 1)};
    json_error_t jerr;
    json_t *req = json_loadb(line, len, JSON_REJECT_DUPLICATES, &jerr);
    int r;

    if (!c.reply)
        r = fe_err_nomem(&c.err, "reply", sizeof(json_t *));
    else if (!req)
        r = fe_err_set(&c.err, EINVAL, "not JSON: %s", jerr.text);
    else
        r = run_request(&c, req);

    char *out = r < 0 ? fe_command_error(c.err.text) : print_line(c.reply);
    for (size_t i = 0; i < c.n_args; i++)
        free(c.text[i]);
    json_decref(req);
    json_decref(c.reply);
    *ret_wish = r == 0 ? c.wish : (struct fe_command_wish){.what = FE_WISH_NONE};
    return out;
}
