/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every point of a measurement next to what the profile's device did, and two numbers about each
 * procedure and about all: the median of the errors without their sign, and the share of points
 * whose error is at most 10 %.  Below a point stand its percentiles, about which there are two such
 * numbers of their own.
 */
#include "verify/against/against.h"

#include "verify/against/percentiles.h"

#include "tool.h"
#include "verify/pair.h"
#include "verify/verify.h"

#include "obs/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 10.0 /* percent */

struct share {
    size_t points, compared, near;
    double median; /* of the errors without their sign, in percent */
};

double against_error(const struct against_point *p)
{
    return 100 * (p->measured / p->published - 1);
}

int against_code(const struct against *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->points[i].state == AGAINST_FAILED)
            return TOOL_NO;
    return TOOL_OK;
}

/* About the points of a procedure, or about all if it is NULL. */
static struct share sum_up(const struct against *a, const char *procedure)
{
    struct share s = {0};

    for (size_t i = 0; i < a->n; i++) {
        const struct against_point *p = &a->points[i];
        if (procedure && strcmp(p->procedure, procedure) != 0)
            continue;
        s.points++;
        if (p->state != AGAINST_MEASURED)
            continue;
        a->errors[s.compared] = fabs(against_error(p));
        s.near += a->errors[s.compared++] <= NEAR;
    }
    if (s.compared)
        s.median = verify_median(a->errors, s.compared);
    return s;
}

/* About all percentiles. */
static struct share sum_up_shares(const struct against *a)
{
    struct share s = {.points = a->n_shares};

    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < a->points[i].n_shares; k++) {
            const struct against_share *one = &a->points[i].shares[k];
            if (*against_share_reason(&a->points[i], one))
                continue;
            a->errors[s.compared] = fabs(against_share_error(one));
            s.near += a->errors[s.compared++] <= NEAR;
        }
    if (s.compared)
        s.median = verify_median(a->errors, s.compared);
    return s;
}

/* Whether point i is the first one of its procedure. */
static bool is_first(const struct against *a, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(a->points[k].procedure, a->points[i].procedure) == 0)
            return false;
    return true;
}

enum { TEXT_MAX = 200 };

/* The procedure with its parameters. */
static const char *point_text(const struct against_point *p, char text[static TEXT_MAX])
{
    const char *key;
    json_t *value;

    snprintf(text, TEXT_MAX, "%s", p->procedure);
    json_object_foreach((json_t *)p->parameters, key, value) {
        char *word = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        const char *shown = word ? word : json_string_value(value);
        fe_text_add(text, TEXT_MAX, " %s=%s", key, shown ? shown : "");
        free(word);
    }
    return text;
}

static void print_percentiles(const struct against_point *p)
{
    char text[64];

    if (p->n_shares > 0 && p->state != AGAINST_MEASURED)
        printf("    its %zu percentile%s not compared\n", p->n_shares,
               p->n_shares == 1 ? " is" : "s are");
    for (size_t i = 0; i < p->n_shares && p->state == AGAINST_MEASURED; i++) {
        const struct against_share *s = &p->shares[i];
        const char *why = against_share_reason(p, s);
        const struct verify_pair pair = verify_pair(s->published / 1e3,
                                                    *why ? 0 : s->measured / 1e3, "us");
        snprintf(text, sizeof text, "  %.16s %% of these within", s->text);
        printf("  %-78s %9s", text, pair.published);
        if (*why)
            printf(" %9s us   not compared: %s\n", "-", why);
        else
            printf(" %9s us   %+7.1f %%\n", pair.measured, against_share_error(s));
    }
}

static void print_point(const struct against_point *p)
{
    double unit = strcmp(p->unit, "ns") == 0 ? 1e3 : 1e6;
    const char *name = unit < 1e6 ? "us" : "MB/s";
    bool done = p->state == AGAINST_MEASURED;
    const struct verify_pair pair = verify_pair(p->published / unit,
                                                done ? p->measured / unit : 0, name);
    char text[TEXT_MAX];

    printf("  %-78s", point_text(p, text));
    if (done)
        printf(" %9s %9s %-4s %+7.1f %%\n", pair.published, pair.measured, name, against_error(p));
    else
        printf(" %9s %9s %-4s %s: %s\n", pair.published, "-", name,
               p->state == AGAINST_OPEN ? "not run" : p->state == AGAINST_FAILED ? "failed"
                                                                                 : "left out",
               p->state == AGAINST_OPEN ? "interrupted" : p->why);
    print_percentiles(p);
}

static void print_share(const char *name, struct share s)
{
    if (s.compared)
        printf("  %-22s %4zu of %4zu points compared, median error %5.1f %%, %3.0f %% within 10 "
               "%%\n", name, s.compared, s.points, s.median,
               100.0 * (double)s.near / (double)s.compared);
    else
        printf("  %-22s %4zu of %4zu points compared\n", name, s.compared, s.points);
}

void against_print(const struct against *a, const struct fe_profile *profile)
{
    printf("%s: %s\n", profile->name, profile->device.model);
    printf("  %-78s %9s %9s %-4s %9s\n", "point", "published", "measured", "unit", "error");
    for (size_t i = 0; i < a->n; i++)
        print_point(&a->points[i]);
    putchar('\n');
    for (size_t i = 0; i < a->n; i++)
        if (is_first(a, i))
            print_share(a->points[i].procedure, sum_up(a, a->points[i].procedure));
    print_share("all", sum_up(a, NULL));
    if (a->n_shares > 0)
        print_share("percentiles", sum_up_shares(a));
}

static json_t *share_json(struct share s)
{
    json_t *o = json_pack("{s:I, s:I}", "points", (json_int_t)s.points, "compared",
                          (json_int_t)s.compared);

    json_object_set_new(o, "median_error_percent", s.compared ? json_real(s.median) : json_null());
    json_object_set_new(o, "share_within_10_percent",
                        s.compared ? json_real((double)s.near / (double)s.compared) : json_null());
    return o;
}

static json_t *percentiles_json(const struct against_point *p)
{
    json_t *o = json_object();

    for (size_t i = 0; i < p->n_shares; i++) {
        const struct against_share *s = &p->shares[i];
        const char *why = against_share_reason(p, s);
        json_object_set_new(o, s->text, json_pack(
            "{s:f, s:o, s:o, s:o}", "published", s->published,
            "measured", *why ? json_null() : json_real(s->measured),
            "error_percent", *why ? json_null() : json_real(against_share_error(s)),
            "reason", *why ? json_string(why) : json_null()));
    }
    return o;
}

static json_t *point_json(const struct against_point *p)
{
    static const char *const states[] = {"not run", "measured", "left out", "failed"};
    bool done = p->state == AGAINST_MEASURED;
    json_t *o = json_pack("{s:s, s:O, s:s, s:f, s:s}", "procedure", p->procedure, "parameters",
                          p->parameters, "unit", p->unit, "published", p->published, "state",
                          states[p->state]);

    json_object_set_new(o, "measured", done ? json_real(p->measured) : json_null());
    json_object_set_new(o, "error_percent", done ? json_real(against_error(p)) : json_null());
    json_object_set_new(o, "reason",
                        p->why[0] ? fe_json_text(p->why, strlen(p->why)) : json_null());
    if (p->n_shares > 0)
        json_object_set_new(o, "percentiles", percentiles_json(p));
    return o;
}

json_t *against_json(const struct against *a, const struct fe_profile *profile)
{
    json_t *points = json_array(), *procedures = json_object();
    const char *name = profile->name, *model = profile->device.model;

    for (size_t i = 0; i < a->n; i++) {
        json_array_append_new(points, point_json(&a->points[i]));
        if (is_first(a, i))
            json_object_set_new(procedures, a->points[i].procedure,
                                share_json(sum_up(a, a->points[i].procedure)));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "profile",
                     fe_json_text(name, strlen(name)), "model", fe_json_text(model, strlen(model)),
                     "points", points, "procedures", procedures, "all",
                     share_json(sum_up(a, NULL)), "percentiles", share_json(sum_up_shares(a)));
}

/* A row of a page.  `what` is the reason why it was not compared. */
static json_t *page_row(const char *name, double unit, double published, double measured,
                        const char *what, const char *verdict)
{
    double error = 100 * (measured / published - 1);
    json_t *o = json_pack("{s:o, s:s, s:s, s:f, s:f, s:s}", "id", fe_json_text(name, strlen(name)),
                          "procedure", "", "unit", unit < 1e6 ? "us" : "MB/s", "published",
                          published / unit, "tolerance_percent", NEAR, "verdict",
                          verdict ? verdict : fabs(error) <= NEAR ? "ok" : "off");

    json_object_set_new(o, "measured", verdict ? json_null() : json_real(measured / unit));
    json_object_set_new(o, "reason", verdict ? fe_json_text(what, strlen(what)) : json_null());
    return o;
}

static void add_page_rows(json_t *rows, const struct against_point *p)
{
    static const char *const verdicts[] = {"not run", NULL, "left out", "failed", "left out"};
    double unit = strcmp(p->unit, "ns") == 0 ? 1e3 : 1e6;
    char text[TEXT_MAX], share[TEXT_MAX + 40];

    point_text(p, text);
    json_array_append_new(rows, page_row(text, unit, p->published, p->measured, p->why,
                                         verdicts[p->state]));
    for (size_t i = 0; i < p->n_shares && p->state == AGAINST_MEASURED; i++) {
        const struct against_share *s = &p->shares[i];
        const char *why = against_share_reason(p, s);
        snprintf(share, sizeof share, "%s, %.16s %% within", text, s->text);
        json_array_append_new(rows, page_row(share, 1e3, s->published, s->measured, why,
                                             *why ? "left out" : NULL));
    }
}

json_t *against_page_json(const struct against *a, const struct fe_profile *profile)
{
    json_t *rows = json_array();
    const char *name = profile->name, *model = profile->device.model;

    for (size_t i = 0; i < a->n; i++)
        add_page_rows(rows, &a->points[i]);
    return json_pack("{s:o, s:o, s:o}", "profile", fe_json_text(name, strlen(name)), "model",
                     fe_json_text(model, strlen(model)), "rows", rows);
}
