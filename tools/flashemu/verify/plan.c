/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a profile's rows to experiments, and from their figures back to the rows.
 *
 * Rows that belong to the same experiment, with the same arguments and the same past of the stick,
 * are measured by one run:
 *
 *     rows            a-write b=1   a-read b=1   c   a-write b=2
 *     experiments     '------ a ------'          c   '--- a ---'
 *
 * The arguments of some experiments only choose a figure; then one run is enough for all of them.
 * Each run has devices of its own, so that no figure depends on which other figures are asked for.
 */
#include "tool.h"
#include "verify/kernel.h"
#include "verify/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct verify_experiment verify_experiments[] = {
    {"append", false, verify_append},
    {"dd", false, verify_dd},
    {"fio", false, verify_fio},
    {"flashbench", true, verify_flashbench},
    {"iozone", false, verify_iozone},
    {"runs", false, verify_runs},
    {"seq", false, verify_seq},
    {"sniff", false, verify_sniff},
    {0},
};

static int take_rows(struct verify_plan *plan, struct fe_err *err)
{
    const struct fe_profile *p = &plan->profile;

    plan->rows = calloc(p->n_fidelity + 1, sizeof *plan->rows);
    if (!plan->rows)
        return fe_err_nomem(err, "rows of a profile", p->n_fidelity * sizeof *plan->rows);
    for (uint32_t i = 0; i < p->n_fidelity; i++) {
        int r = fe_fidelity_parse(p->fidelity[i].value, &plan->rows[i].published, err);
        if (r < 0)
            return r;
        plan->rows[i].note = &p->fidelity[i];
    }
    plan->n_rows = p->n_fidelity;
    return 0;
}

int verify_plan_load(struct verify_plan *plan, const char *name, const char *const *overrides,
                     uint32_t n_overrides, struct fe_err *err)
{
    memset(plan, 0, sizeof *plan);
    int r = tool_load_profile(&plan->profile, name, overrides, n_overrides, err);
    if (r < 0)
        return r;
    plan->details = json_object();
    return plan->details ? take_rows(plan, err) : fe_err_nomem(err, "details", 0);
}

void verify_plan_fini(struct verify_plan *plan)
{
    json_decref(plan->details);
    free(plan->rows);
    fe_profile_fini(&plan->profile);
}

static bool row_is(const struct verify_row *row, const char *wanted)
{
    return strcmp(wanted, row->note->key) == 0 || strcmp(wanted, row->published.text) == 0 ||
           strcmp(wanted, row->published.procedure->name) == 0;
}

void verify_plan_choose(struct verify_plan *plan, char **wanted, int n, bool *used, bool quick)
{
    for (size_t i = 0; i < plan->n_rows; i++) {
        struct verify_row *row = &plan->rows[i];
        bool chosen = n == 0;
        for (int k = 0; k < n; k++)
            if (row_is(row, wanted[k]))
                chosen = used[k] = true;
        if (!chosen || (quick && row->published.procedure->slow))
            row->state = VERIFY_LEFT_OUT;
    }
}

/* --- running --- */

static bool same_run(const struct verify_row *a, const struct verify_row *b)
{
    const struct fe_procedure *p = a->published.procedure, *q = b->published.procedure;
    const struct verify_experiment *e = verify_experiment_find(p->experiment);

    return strcmp(p->experiment, q->experiment) == 0 && p->place == q->place &&
           ((e && e->chooses) ||
            memcmp(a->published.arg, b->published.arg, sizeof a->published.arg) == 0) &&
           (p->override == q->override ||
            (p->override && q->override && strcmp(p->override, q->override) == 0));
}

const struct verify_experiment *verify_experiment_find(const char *name)
{
    const struct verify_experiment *e = verify_experiments;

    while (e->name && strcmp(e->name, name) != 0)
        e++;
    return e->name ? e : NULL;
}

static void settle_rows(struct verify_run *run, enum verify_state state, const char *why)
{
    for (size_t i = 0; i < run->n_rows; i++)
        if (run->rows[i]->state == VERIFY_OPEN) {
            run->rows[i]->state = state;
            snprintf(run->rows[i]->why, sizeof run->rows[i]->why, "%s", why);
        }
}

/* Runs the experiment for the rows of the run.  Negative only if verify shall end altogether. */
static int run_one(struct verify_run *run, const struct verify_kernel *k, struct fe_err *err)
{
    const struct fe_procedure *p = run->procedure;
    struct fe_err why;
    int r;

    fe_err_init(&why);
    if (p->place == FE_PLACE_KERNEL && k->way == VERIFY_WAY_NONE) {
        settle_rows(run, VERIFY_SKIPPED, k->why);
        return 0;
    }
    if (p->place == FE_PLACE_KERNEL) {
        r = verify_kernel_run(k, run, &why);
    } else {
        const struct verify_experiment *e = verify_experiment_find(p->experiment);
        r = e ? e->run(run, &why) : fe_err_set(&why, ENOSYS, "nothing runs %s", p->experiment);
    }
    if (r == -ECANCELED || r == -ENOMEM)
        return fe_err_set(err, -r, "%s", why.text);
    settle_rows(run, VERIFY_FAILED, r < 0 ? why.text : "the experiment gave no such figure");
    return 0;
}

/* The same on a device with the changes that the procedure demands. */
static int run_overridden(struct verify_run *run, const struct verify_kernel *k, struct fe_err *err)
{
    struct fe_profile changed;

    if (!run->procedure->override)
        return run_one(run, k, err);
    int r = verify_overridden(&changed, run->profile, run->procedure->override, err);
    if (r < 0)
        return r;
    run->profile = &changed;
    r = run_one(run, k, err);
    fe_profile_fini(&changed);
    return r;
}

/* Runs the experiment of row i, for all rows that the same run measures. */
static int run_from(struct verify_plan *plan, size_t i, const struct verify_kernel *k,
                    uint64_t seed, struct fe_err *err)
{
    struct verify_row *first = &plan->rows[i];
    struct verify_run run = {
        .profile = &plan->profile,
        .procedure = first->published.procedure,
        .arg = first->published.arg,
        .seed = seed,
        .details = json_object(),
    };

    run.rows = calloc(plan->n_rows, sizeof *run.rows);
    if (!run.rows || !run.details) {
        free(run.rows);
        json_decref(run.details);
        return fe_err_nomem(err, "rows of an experiment", plan->n_rows * sizeof *run.rows);
    }
    for (size_t j = i; j < plan->n_rows; j++)
        if (plan->rows[j].state == VERIFY_OPEN && same_run(first, &plan->rows[j]))
            run.rows[run.n_rows++] = &plan->rows[j];
    int r = run_overridden(&run, k, err);
    if (json_object_size(run.details) > 0)
        json_object_set(plan->details, first->published.text, run.details);
    json_decref(run.details);
    free(run.rows);
    return r;
}

int verify_plan_run(struct verify_plan *plan, const struct verify_kernel *k, uint64_t seed,
                    struct fe_err *err)
{
    for (size_t i = 0; i < plan->n_rows; i++) {
        if (plan->rows[i].state != VERIFY_OPEN)
            continue;
        if (k->progress)
            fprintf(stderr, "\r%s: %zu of %zu, %s\033[K", plan->profile.name, i + 1, plan->n_rows,
                    plan->rows[i].published.text);
        int r = run_from(plan, i, k, seed, err);
        if (k->progress)
            fputs("\r\033[K", stderr);
        if (r < 0)
            return r;
    }
    return 0;
}
