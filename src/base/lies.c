/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of faults.lie.  Each lie is cut at its marks from the back to the front:
 *
 *     lost-write:10%/1G-2G@30s
 *     [--name--] [a] [range] [begin]
 *
 * No part can contain the mark of a later one, so the order of cutting does not matter for what is
 * right, and what is wrong is named by its part.
 */
#include "flashemu/lies.h"

#include "base/guess.h"
#include "base/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum argument { ARG_NONE, ARG_TIME, ARG_SHARE, ARG_SIZE, ARG_COUNT };

static const struct {
    const char *name, *sentence;
    enum argument arg;
    uint64_t def, min, max;
    bool ranged;
} table[FE_N_LIES] = {
#define ROW(id, name, arg, def, min, max, ranged, sentence)                                        \
    [FE_LIE_##id] = {name, sentence, ARG_##arg, def, min, max, ranged},
    FE_LIES(ROW)
#undef ROW
};

static const enum fe_quantity quantity_of[] = {
    [ARG_TIME] = FE_TIME, [ARG_SHARE] = FE_SHARE, [ARG_SIZE] = FE_SIZE, [ARG_COUNT] = FE_COUNT,
};

const char *fe_lie_name(uint32_t kind)
{
    return kind < FE_N_LIES ? table[kind].name : NULL;
}

const char *fe_lie_sentence(uint32_t kind)
{
    return table[kind].sentence;
}

void fe_lie_argument(uint32_t kind, char *buf, size_t len)
{
    enum argument arg = table[kind].arg;
    buf[0] = '\0';
    if (arg != ARG_NONE && table[kind].def < table[kind].min)
        snprintf(buf, len, "VALUE");
    else if (arg != ARG_NONE)
        fe_quantity_print(quantity_of[arg], table[kind].def, buf, len);
}

bool fe_lie_is_size(uint32_t kind)
{
    return table[kind].arg == ARG_SIZE;
}

/* A number; the reason names the part. */
static int parse_part(enum fe_quantity q, const char *text, const char *part, uint64_t *ret,
                      struct fe_err *why)
{
    struct fe_err reason = {""};
    if (fe_quantity_parse(q, text, ret, &reason) == 0)
        return 0;
    return fe_err_set(why, EINVAL, "has %s '%.40s' that %s", part, text, reason.text);
}

static int parse_argument(char *text, struct fe_lie *lie, struct fe_err *why)
{
    enum argument arg = table[lie->kind].arg;
    const char *name = table[lie->kind].name;
    lie->arg = table[lie->kind].def;
    if (!text) {
        if (arg != ARG_NONE && lie->arg < table[lie->kind].min)
            return fe_err_set(why, EINVAL, "needs an argument: %s:VALUE", name);
        return 0;
    }
    if (arg == ARG_NONE)
        return fe_err_set(why, EINVAL, "has an argument, and %s takes none", name);
    int r = parse_part(quantity_of[arg], text, "an argument", &lie->arg, why);
    if (r < 0)
        return r;
    if (lie->arg < table[lie->kind].min || lie->arg > table[lie->kind].max ||
        (arg == ARG_SIZE && lie->arg % 512))
        return fe_err_set(why, EINVAL, "has an argument %s:%.40s that is out of range", name, text);
    return 0;
}

static int parse_range(char *text, struct fe_lie *lie, struct fe_err *why)
{
    lie->from = 0;
    lie->to = UINT64_MAX;
    if (!text)
        return 0;
    if (!table[lie->kind].ranged)
        return fe_err_set(why, EINVAL, "has a range, and %s takes none", table[lie->kind].name);
    char *to = strchr(text, '-');
    if (!to)
        return fe_err_set(why, EINVAL, "has a range '%.40s' that is not FROM-TO", text);
    *to++ = '\0';
    int r = parse_part(FE_SIZE, text, "a range from", &lie->from, why);
    if (r == 0 && *to)
        r = parse_part(FE_SIZE, to, "a range to", &lie->to, why);
    if (r < 0)
        return r;
    if (lie->from >= lie->to || lie->from % 512 || (*to && lie->to % 512))
        return fe_err_set(why, EINVAL, "has a range that is empty or no multiple of 512 bytes");
    return 0;
}

/* A plain number counts writes; a time has a unit. */
static int parse_begin(const char *text, struct fe_lie *lie, struct fe_err *why)
{
    lie->begin_ns = lie->begin_writes = 0;
    if (!text || fe_quantity_parse(FE_COUNT, text, &lie->begin_writes, NULL) == 0)
        return 0;
    return parse_part(FE_TIME, text, "a begin", &lie->begin_ns, why);
}

/* Ends text at the mark and returns what follows it, or NULL. */
static char *cut_at(char *text, char mark)
{
    char *at = strchr(text, mark);
    if (at)
        *at++ = '\0';
    return at;
}

static int unknown_lie(const char *text, struct fe_err *why)
{
    struct fe_guess guess = FE_GUESS_NONE;

    for (uint32_t i = 0; i < FE_N_LIES; i++)
        fe_guess_try(&guess, text, strlen(text), table[i].name);
    return fe_err_set(why, EINVAL, "has an unknown lie '%.40s'%s%s%s", text,
                      guess.name ? " (did you mean " : "", guess.name ? guess.name : "",
                      guess.name ? "?)" : "");
}

static int parse_one(char *text, struct fe_lie *lie, struct fe_err *why)
{
    char *begin = cut_at(text, '@'), *range = cut_at(text, '/'), *arg = cut_at(text, ':');
    for (lie->kind = 0; lie->kind < FE_N_LIES; lie->kind++)
        if (strcmp(text, table[lie->kind].name) == 0)
            break;
    if (lie->kind == FE_N_LIES)
        return unknown_lie(text, why);
    int r = parse_argument(arg, lie, why);
    if (r == 0)
        r = parse_range(range, lie, why);
    return r < 0 ? r : parse_begin(begin, lie, why);
}

int fe_lies_parse(const char *text, struct fe_lies_params *ret, struct fe_err *why)
{
    struct fe_lies_params p;
    char copy[256], canonical[FE_VALUE_MAX + 1];
    memset(&p, 0, sizeof p); /* equal lists are equal bytes */
    if (strcmp(text, "none") == 0) {
        *ret = p;
        return 0;
    }
    if (strlen(text) >= sizeof copy)
        return fe_err_set(why, EINVAL, "is too long");
    strcpy(copy, text);
    for (char *one = copy, *next; one; one = next) {
        next = cut_at(one, ',');
        one += strspn(one, " \t");
        one[strcspn(one, " \t")] = '\0';
        if (p.n == FE_MAX_LIES)
            return fe_err_set(why, EINVAL, "has more than %d lies", FE_MAX_LIES);
        int r = parse_one(one, &p.lies[p.n++], why);
        if (r < 0)
            return r;
    }
    fe_lies_print(&p, canonical, sizeof canonical);
    if (strlen(canonical) >= FE_VALUE_MAX)
        return fe_err_set(why, EINVAL, "is too long: at most %d bytes, all told", FE_VALUE_MAX - 1);
    *ret = p;
    return 0;
}

static void append_quantity(char *buf, size_t len, const char *mark, enum fe_quantity q,
                            uint64_t value)
{
    char text[FE_VALUE_MAX];
    fe_quantity_print(q, value, text, sizeof text);
    fe_text_add(buf, len, "%s%s", mark, text);
}

static void print_one(const struct fe_lie *lie, char *buf, size_t len)
{
    enum argument arg = table[lie->kind].arg;
    fe_text_add(buf, len, "%s", table[lie->kind].name);
    if (arg != ARG_NONE)
        append_quantity(buf, len, ":", quantity_of[arg], lie->arg);
    if (lie->from || lie->to != UINT64_MAX) {
        append_quantity(buf, len, "/", FE_SIZE, lie->from);
        fe_text_add(buf, len, "-");
        if (lie->to != UINT64_MAX)
            append_quantity(buf, len, "", FE_SIZE, lie->to);
    }
    if (lie->begin_ns)
        append_quantity(buf, len, "@", FE_TIME, lie->begin_ns);
    else if (lie->begin_writes)
        append_quantity(buf, len, "@", FE_COUNT, lie->begin_writes);
}

void fe_lies_print(const struct fe_lies_params *p, char *buf, size_t len)
{
    buf[0] = '\0';
    if (p->n == 0)
        fe_text_add(buf, len, "none");
    for (uint32_t i = 0; i < p->n; i++) {
        fe_text_add(buf, len, "%s", i ? "," : "");
        print_one(&p->lies[i], buf, len);
    }
}

void fe_lies_allowed(char *buf, size_t len)
{
    snprintf(buf, len, "none, or NAME[:ARGUMENT][/FROM-TO][@BEGIN], with commas between; names:");
    for (uint32_t i = 0; i < FE_N_LIES; i++)
        fe_text_add(buf, len, "%s%s", i ? ", " : " ", table[i].name);
}
