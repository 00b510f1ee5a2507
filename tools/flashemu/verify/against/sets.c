/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many sets of parameters against one measurement, for programs that search.
 *
 *     {"set": ["nand.tPROG=900us", "ftl.open_linear=5"], "points": [0, 1, 7], "bound": 3.5}
 *     {"state": "done", "sum": 1.25, "measured": [731000.0, 650000.0, null, ...], "message": null}
 *
 * A line of input is a set, and a line of output is its answer.  A set that makes no device is an
 * answer as well: its state is "refused", and the message is what any other command says about such
 * a profile.  So a search never has to start the program again, and never has to know beforehand
 * which sizes fit together.
 */
#include "verify/against/against.h"

#include "tool.h"
#include "verify/plan.h"

#include "obs/json_text.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct set {
    const char **changes; /* owned by the document */
    uint32_t n;
    struct against_limits limits;
};

/* Point number i of the array `list` of the member `name`; NULL with an error if there is none. */
static struct against_point *point_of(struct against *a, const char *name, const json_t *list,
                                      size_t i, struct fe_err *err)
{
    const json_t *number = json_array_get(list, i);
    json_int_t k = json_integer_value(number);

    if (json_is_integer(number) && k >= 0 && (size_t)k < a->n)
        return &a->points[k];
    fe_err_set(err, EINVAL, "%s[%zu]: expected a number below %zu", name, i, a->n);
    return NULL;
}

/* All points as before any run; those of the array `wanted` are asked for, or all without one, and
 * those of the array `left` are as if they were not in the file. */
static int choose_points(struct against *a, const json_t *wanted, const json_t *left,
                         struct fe_err *err)
{
    for (size_t i = 0; i < a->n; i++) {
        struct against_point *p = &a->points[i];
        p->unwanted = wanted != NULL;
        if (p->state == AGAINST_NOT_RUN)
            continue;
        p->state = AGAINST_OPEN;
        p->why[0] = '\0';
    }
    if (wanted && !json_is_array(wanted))
        return fe_err_set(err, EINVAL, "points: expected a list of numbers of points");
    if (left && !json_is_array(left))
        return fe_err_set(err, EINVAL, "left: expected a list of numbers of points");
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        struct against_point *p = point_of(a, "points", wanted, i, err);
        if (!p)
            return -EINVAL;
        p->unwanted = false;
    }
    for (size_t i = 0; i < json_array_size(left); i++) {
        struct against_point *p = point_of(a, "left", left, i, err);
        if (!p)
            return -EINVAL;
        if (p->state == AGAINST_OPEN)
            p->state = AGAINST_LEFT;
    }
    return 0;
}

/* A weight for each point, 1 without an array. */
static int take_weights(struct against *a, const json_t *weights, struct fe_err *err)
{
    if (weights && json_array_size(weights) != a->n)
        return fe_err_set(err, EINVAL, "weights: expected a list of %zu numbers", a->n);
    for (size_t i = 0; i < a->n; i++) {
        const json_t *weight = json_array_get(weights, i);
        if (weight && (!json_is_number(weight) || json_number_value(weight) < 0))
            return fe_err_set(err, EINVAL, "weights[%zu]: expected a number of at least 0", i);
        a->points[i].weight = weight ? json_number_value(weight) : 1;
    }
    return 0;
}

static int take_changes(struct set *s, const json_t *changes, struct fe_err *err)
{
    if (!json_is_array(changes))
        return fe_err_set(err, EINVAL, "set: expected a list of texts SECTION.KEY=VALUE");
    s->changes = calloc(json_array_size(changes) + 1, sizeof *s->changes);
    if (!s->changes)
        return fe_err_nomem(err, "changes", json_array_size(changes) * sizeof *s->changes);
    for (; s->n < json_array_size(changes); s->n++) {
        s->changes[s->n] = json_string_value(json_array_get(changes, s->n));
        if (!s->changes[s->n])
            return fe_err_set(err, EINVAL, "set[%u]: expected a text SECTION.KEY=VALUE", s->n);
    }
    return 0;
}

static int take_set(struct against *a, struct set *s, const json_t *line, struct fe_err *err)
{
    const json_t *bound = json_object_get(line, "bound"), *time = json_object_get(line, "time");
    const json_t *knee = json_object_get(line, "knee");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)line, key, value)
        if (strcmp(key, "set") != 0 && strcmp(key, "points") != 0 &&
            strcmp(key, "weights") != 0 && strcmp(key, "knee") != 0 &&
            strcmp(key, "bound") != 0 && strcmp(key, "time") != 0 && strcmp(key, "left") != 0)
            return fe_err_set(err, EINVAL, "unknown member '%s'; allowed: set, points, left, "
                              "weights, knee, bound, time", key);
    if (knee && !(json_number_value(knee) > 0))
        return fe_err_set(err, EINVAL, "knee: expected a number above 0");
    if (bound && (!json_is_number(bound) || json_number_value(bound) < 0))
        return fe_err_set(err, EINVAL, "bound: expected a number of at least 0");
    if (time && (!json_is_integer(time) || json_integer_value(time) < 0))
        return fe_err_set(err, EINVAL, "time: expected a whole number of at least 0");
    a->knee = knee ? json_number_value(knee) : 0;
    s->limits.sum = bound ? json_number_value(bound) : INFINITY;
    s->limits.ns = time ? (uint64_t)json_integer_value(time) : UINT64_MAX;
    int r = choose_points(a, json_object_get(line, "points"), json_object_get(line, "left"), err);
    if (r == 0)
        r = take_weights(a, json_object_get(line, "weights"), err);
    return r < 0 ? r : take_changes(s, json_object_get(line, "set"), err);
}

static int answer(struct against *a, const char *state, const char *message)
{
    json_t *measured = json_array();

    for (size_t i = 0; i < a->n; i++) {
        const struct against_point *p = &a->points[i];
        json_array_append_new(measured, p->state == AGAINST_MEASURED && !p->unwanted
                                            ? json_real(p->measured) : json_null());
    }
    json_t *o = json_pack("{s:s, s:f, s:o, s:o}", "state", state, "sum", against_sum(a), "measured",
                          measured, "message",
                          *message ? fe_json_text(message, strlen(message)) : json_null());
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (!text || tool_json_incomplete())
        return tool_error("out of memory");
    puts(text);
    free(text);
    return tool_finish(TOOL_OK);
}

/* One set.  A mistake in the line and a failure of the host end the program; a set that makes no
 * device does not. */
static int run_set(struct against *a, const char *name, const struct set *s, uint64_t seed)
{
    struct fe_profile profile;
    struct fe_err err;
    bool exceeded = false;

    fe_err_init(&err);
    int r = fe_profile_load(&profile, name, s->changes, s->n, &err);
    if (r == -EIO || r == -EINTR) /* the host has failed, and the set may be right */
        return tool_fail(&err);
    if (r == 0) {
        r = against_run(a, &profile, seed, &s->limits, &exceeded, &err);
        fe_profile_fini(&profile);
    }
    if (r == -ECANCELED)
        return VERIFY_INTERRUPTED;
    if (r == -ENOMEM)
        return tool_fail(&err);
    return answer(a, r < 0 ? "refused" : exceeded ? "stopped" : "done", err.text);
}

/* The next set makes tables as large as this one did.  What a device gave back stays with the
 * process, because supplying new memory took the kernel a third of the time for cards of 32 GB.
 * These are hints: the answers are the same without them. */
static void keep_memory(void)
{
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

int against_sets(struct against *a, const char *name, FILE *in, uint64_t seed)
{
    char *text = NULL;
    size_t room = 0;
    int code = TOOL_OK;

    keep_memory();
    for (uint32_t number = 1; code == TOOL_OK && getline(&text, &room, in) >= 0; number++) {
        struct set s = {0};
        struct fe_err err;
        json_error_t why;
        json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, &why);
        fe_err_init(&err);
        if (!line)
            code = tool_error("set %u: is no JSON: %s", number, why.text);
        else if (take_set(a, &s, line, &err) < 0)
            code = tool_error("set %u: %s", number, err.text);
        else
            code = run_set(a, name, &s, seed);
        free(s.changes);
        json_decref(line);
    }
    if (code == TOOL_OK && ferror(in))
        code = tool_error("sets: %s", strerror(errno));
    free(text);
    return verify_stopped() ? VERIFY_INTERRUPTED : code;
}
