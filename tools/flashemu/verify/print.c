/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Published and measured figures next to each other, for people and as JSON.
 *
 * Besides the error of each figure, there are two numbers about all of them.  One is the mean of
 * the errors without their sign.  The other is how many orderings are right.  An ordering is a
 * pair of rows in the same unit whose published values differ by at least 3 %.  It is wrong if the
 * measured values are the other way round.  Two rows of the same procedure with the same arguments
 * count as one figure.  People see the worst few of the wrong ones; JSON has them all.
 */
#include "verify/pair.h"
#include "verify/plan.h"

#include "tool.h"

#include "obs/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct summary {
    unsigned ok, off, known, skipped, failed, left_out;
    double mean, largest; /* of the errors without their sign, in percent */
    unsigned pairs, wrong;
};

double verify_error(const struct verify_row *row)
{
    return 100 * ((double)row->measured / (double)row->published.value - 1);
}

const char *verify_verdict(const struct verify_row *row)
{
    switch (row->state) {
    case VERIFY_OPEN: return "not run";
    case VERIFY_LEFT_OUT: return "left out";
    case VERIFY_SKIPPED: return "skipped";
    case VERIFY_FAILED: return "failed";
    case VERIFY_MEASURED: break;
    }
    if (fabs(verify_error(row)) <= (double)row->published.tolerance_ppm / 1e4)
        return "ok";
    return row->published.reason[0] ? "known" : "off";
}

/* A value in the unit of the row. */
static double in_unit(const struct fe_fidelity *f, uint64_t value)
{
    return (double)value / f->unit_size;
}

static bool is_pair(const struct verify_row *a, const struct verify_row *b)
{
    double x = (double)a->published.value, y = (double)b->published.value;

    return a->state == VERIFY_MEASURED && b->state == VERIFY_MEASURED &&
           strcmp(a->published.unit, b->published.unit) == 0 &&
           strcmp(a->published.text, b->published.text) != 0 &&
           fabs(x - y) >= 0.03 * fmax(x, y);
}

static bool is_wrong(const struct verify_row *a, const struct verify_row *b)
{
    return (a->published.value < b->published.value) != (a->measured < b->measured);
}

static struct summary sum_up(const struct verify_plan *plan)
{
    struct summary s = {0};

    for (size_t i = 0; i < plan->n_rows; i++) {
        const struct verify_row *row = &plan->rows[i];
        const char *verdict = verify_verdict(row);
        s.left_out += row->state == VERIFY_LEFT_OUT || row->state == VERIFY_OPEN;
        s.skipped += strcmp(verdict, "skipped") == 0;
        s.failed += strcmp(verdict, "failed") == 0;
        if (row->state != VERIFY_MEASURED)
            continue;
        s.ok += strcmp(verdict, "ok") == 0;
        s.off += strcmp(verdict, "off") == 0;
        s.known += strcmp(verdict, "known") == 0;
        s.mean += fabs(verify_error(row));
        s.largest = fmax(s.largest, fabs(verify_error(row)));
        for (size_t j = 0; j < i; j++)
            if (is_pair(row, &plan->rows[j])) {
                s.pairs++;
                s.wrong += is_wrong(row, &plan->rows[j]);
            }
    }
    if (s.ok + s.off + s.known)
        s.mean /= s.ok + s.off + s.known;
    return s;
}

/* How far an ordering is from right: by what factor the two figures are apart as published, times
 * by what factor they are apart the other way. */
static double badness(const struct verify_row *more, const struct verify_row *less)
{
    return (double)more->published.value / fmax(1, (double)less->published.value) *
           ((double)less->measured / fmax(1, (double)more->measured));
}

struct ordering {
    const struct verify_row *more, *less; /* as published */
};

/* The worst first. */
static int compare_orderings(const void *a, const void *b)
{
    const struct ordering *p = a, *q = b;
    double x = badness(p->more, p->less), y = badness(q->more, q->less);
    return (x < y) - (x > y);
}

/* The n orderings that are wrong; the caller frees them.  NULL if there is no memory. */
static struct ordering *wrong_orderings(const struct verify_plan *plan, unsigned n)
{
    struct ordering *list = calloc(n, sizeof *list);
    unsigned k = 0;

    for (size_t i = 0; list && i < plan->n_rows; i++)
        for (size_t j = 0; j < i; j++) {
            const struct verify_row *a = &plan->rows[j], *b = &plan->rows[i];
            bool more = a->published.value > b->published.value;
            if (is_pair(b, a) && is_wrong(b, a))
                list[k++] = (struct ordering){more ? a : b, more ? b : a};
        }
    if (list)
        qsort(list, n, sizeof *list, compare_orderings);
    return list;
}

enum { SHOWN_ORDERINGS = 5 };

static void print_orderings(const struct verify_plan *plan, const struct summary *s)
{
    printf("  %u of %u orderings right\n", s->pairs - s->wrong, s->pairs);
    if (s->wrong == 0)
        return;
    struct ordering *list = wrong_orderings(plan, s->wrong);
    if (!list) {
        tool_error("out of memory");
        return;
    }
    unsigned shown = s->wrong < SHOWN_ORDERINGS ? s->wrong : SHOWN_ORDERINGS;
    printf("  the wrong way round%s:\n", shown < s->wrong ? ", the worst five" : "");
    for (unsigned i = 0; i < shown; i++) {
        const struct verify_row *a = list[i].more, *b = list[i].less;
        const struct fe_fidelity *f = &a->published, *g = &b->published;
        printf("    %s over %s: published %.4g and %.4g %s, measured %.4g and %.4g\n",
               a->note->key, b->note->key, in_unit(f, f->value), in_unit(g, g->value), f->unit,
               in_unit(f, a->measured), in_unit(g, b->measured));
    }
    free(list);
}

int verify_code(const struct verify_plan *plan)
{
    struct summary s = sum_up(plan);

    return s.off || s.failed ? TOOL_NO : s.skipped ? VERIFY_PART : TOOL_OK;
}

static void print_row(const struct verify_row *row)
{
    const struct fe_fidelity *f = &row->published;
    bool done = row->state == VERIFY_MEASURED;
    const struct verify_pair pair = verify_pair(in_unit(f, f->value),
                                                done ? in_unit(f, row->measured) : 0, f->unit);

    printf("  %-26s %-31s %9s", row->note->key, f->text, pair.published);
    if (done)
        printf(" %9s %-5s %+6.1f %%  %s", pair.measured, f->unit, verify_error(row),
               verify_verdict(row));
    else
        printf(" %9s %-5s %8s  %s", "-", f->unit, "", verify_verdict(row));
    if (row->why[0])
        printf(": %s", row->why);
    else if (strcmp(verify_verdict(row), "known") == 0)
        printf(": %s", f->reason);
    putchar('\n');
    if (f->note[0])
        printf("      note: %s\n", f->note);
}

/* Each kernel that has measured something. */
static void print_kernels(const struct verify_plan *plan)
{
    for (size_t i = 0; i < plan->n_rows; i++) {
        size_t j = 0;
        while (strcmp(plan->rows[j].kernel, plan->rows[i].kernel) != 0)
            j++;
        if (j == i && plan->rows[i].kernel[0])
            printf("  kernel %s\n", plan->rows[i].kernel);
    }
}

void verify_print(const struct verify_plan *plan)
{
    struct summary s = sum_up(plan);
    unsigned measured = s.ok + s.off + s.known;

    printf("%s: %s\n", plan->profile.name, plan->profile.device.model);
    printf("  %-26s %-31s %9s %9s %-5s %8s\n", "figure", "procedure", "published", "measured",
           "unit", "error");
    for (size_t i = 0; i < plan->n_rows; i++)
        if (plan->rows[i].state != VERIFY_LEFT_OUT)
            print_row(&plan->rows[i]);
    printf("  %u ok, %u off, %u known, %u skipped, %u failed, %u left out\n", s.ok, s.off, s.known,
           s.skipped, s.failed, s.left_out);
    print_kernels(plan);
    if (measured)
        printf("  mean error %.1f %%, largest %.1f %%\n", s.mean, s.largest);
    if (s.pairs)
        print_orderings(plan, &s);
}

static json_t *row_json(const struct verify_row *row)
{
    const struct fe_fidelity *f = &row->published;
    bool done = row->state == VERIFY_MEASURED;
    const char *why = row->why[0] ? row->why : f->reason[0] ? f->reason : NULL;
    const char *where = f->procedure->place == FE_PLACE_MODEL ? "model" : "kernel";
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:s}", "id", row->note->key, "procedure",
                          f->text, "where", where, "unit", f->unit, "published",
                          in_unit(f, f->value), "tolerance_percent",
                          (double)f->tolerance_ppm / 1e4, "verdict", verify_verdict(row));

    json_object_set_new(o, "measured", done ? json_real(in_unit(f, row->measured)) : json_null());
    json_object_set_new(o, "error_percent", done ? json_real(verify_error(row)) : json_null());
    json_object_set_new(o, "reason", why ? fe_json_text(why, strlen(why)) : json_null());
    json_object_set_new(o, "kernel", row->kernel[0] ? fe_json_text(row->kernel, strlen(row->kernel))
                                                    : json_null());
    json_object_set_new(o, "note", f->note[0] ? fe_json_text(f->note, strlen(f->note))
                                              : json_null());
    return o;
}

static json_t *wrong_json(const struct verify_plan *plan)
{
    json_t *list = json_array();

    for (size_t i = 0; i < plan->n_rows; i++)
        for (size_t j = 0; j < i; j++)
            if (is_pair(&plan->rows[i], &plan->rows[j]) &&
                is_wrong(&plan->rows[i], &plan->rows[j]))
                json_array_append_new(list, json_pack("[s, s]", plan->rows[j].note->key,
                                                      plan->rows[i].note->key));
    return list;
}

json_t *verify_json(const struct verify_plan *plan)
{
    struct summary s = sum_up(plan);
    json_t *rows = json_array();
    const char *name = plan->profile.name, *model = plan->profile.device.model;

    for (size_t i = 0; i < plan->n_rows; i++)
        json_array_append_new(rows, row_json(&plan->rows[i]));
    return json_pack("{s:o, s:o, s:o, s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:f, s:f, s:{s:i, s:o}, "
                     "s:O}", "profile", fe_json_text(name, strlen(name)), "model",
                     fe_json_text(model, strlen(model)), "rows", rows, "verdicts", "ok", s.ok,
                     "off", s.off, "known", s.known, "skipped", s.skipped, "failed", s.failed,
                     "left_out", s.left_out, "mean_error_percent", s.mean, "largest_error_percent",
                     s.largest, "orderings", "pairs", s.pairs, "wrong", wrong_json(plan),
                     "details", plan->details);
}
