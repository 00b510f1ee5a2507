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

/* --- what experiments call --- */

uint64_t verify_rate(uint64_t bytes, uint64_t ns)
{
    unsigned __int128 rate = ns ? (unsigned __int128)bytes * 1000000000 / ns : UINT64_MAX;

    return rate < UINT64_MAX ? (uint64_t)rate : UINT64_MAX;
}

void verify_put_row(struct verify_row *row, uint64_t value)
{
    row->state = VERIFY_MEASURED;
    row->measured = value;
}

void verify_put(struct verify_run *run, const char *procedure, uint64_t value)
{
    for (size_t i = 0; i < run->n_rows; i++)
        if (strcmp(run->rows[i]->published.procedure->name, procedure) == 0)
            verify_put_row(run->rows[i], value);
}

void verify_detail(struct verify_run *run, const char *key, double value)
{
    json_object_set_new(run->details, key, json_real(value));
}

int verify_device(const struct verify_run *run, struct fe_device **ret, struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = run->seed, .payload = false};

    return fe_device_create(ret, run->profile, &opt, err);
}

int verify_request_at(struct fe_device *dev, enum fe_req_type type, uint64_t arrival_ns,
                      uint64_t offset, uint64_t len, uint64_t *ret_ns, struct fe_err *err)
{
    const struct fe_request req = {.type = type, .offset = offset, .len = len};
    struct fe_reply reply;

    if (verify_stopped())
        return fe_err_set(err, ECANCELED, "interrupted");
    if (fe_device_submit(dev, arrival_ns, &req, &reply) < 0)
        return fe_err_set(err, EINVAL,
                          "%llu bytes at offset %llu do not fit the device of %llu bytes",
                          (unsigned long long)len, (unsigned long long)offset,
                          (unsigned long long)fe_device_capacity(dev));
    if (reply.status != FE_OK && reply.status != FE_CORRECTED)
        return fe_err_set(err, EIO, "the medium failed at offset %llu",
                          (unsigned long long)offset);
    *ret_ns = reply.complete_ns;
    return 0;
}

int verify_request(struct fe_device *dev, enum fe_req_type type, uint64_t offset, uint64_t len,
                   uint64_t *ret_ns, struct fe_err *err)
{
    uint64_t arrival = fe_device_now(dev), complete;
    int r = verify_request_at(dev, type, arrival, offset, len, &complete, err);

    if (r == 0 && ret_ns)
        *ret_ns = complete - arrival;
    return r;
}

int verify_pattern(struct fe_device *dev, const char *spec, const struct fe_pattern_env *env,
                   verify_note *note, void *ctx, struct fe_err *err)
{
    struct fe_trace_rec recs[256];
    struct fe_pattern *p;
    uint32_t n;
    int r = fe_pattern_create(&p, spec, NULL, 0, env, err);

    if (r < 0)
        return r;
    while (r == 0 && (n = fe_pattern_next(p, recs, 256)) > 0)
        for (uint32_t i = 0; i < n && r == 0; i++) {
            uint64_t ns;
            r = verify_request(dev, (enum fe_req_type)recs[i].type, recs[i].offset, recs[i].len,
                               &ns, err);
            if (r == 0)
                note(ctx, &recs[i], ns);
        }
    fe_pattern_destroy(p);
    return r;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double verify_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
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

/* Sets each "SECTION.KEY=VALUE" of the list, which has blanks between them. */
static int set_each(struct fe_profile *p, const char *list, struct fe_err *err)
{
    char word[64], *eq;
    int r = 0;

    for (; *list && r == 0; list += strcspn(list, " "), list += *list == ' ') {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(list, " "), list);
        eq = strchr(word, '=');
        *eq = '\0';
        r = fe_profile_set(p, word, eq + 1, err);
    }
    return r;
}

int verify_overridden(struct fe_profile *ret, const struct fe_profile *p, const char *list,
                      struct fe_err *err)
{
    int r = fe_profile_copy(ret, p, err);

    if (r < 0)
        return r;
    r = set_each(ret, list, err);
    if (r < 0)
        fe_profile_fini(ret);
    return r;
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
