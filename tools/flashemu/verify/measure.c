/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What experiments call: devices, requests, figures, and whether the user has had enough.
 */
#include "verify/verify.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t stopped;

static void on_signal(int signum)
{
    (void)signum;
    stopped = 1;
}

void verify_hear_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

bool verify_stopped(void)
{
    return stopped != 0;
}

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

void verify_pause(struct fe_device *dev, uint64_t ns)
{
    fe_device_idle(dev, fe_device_now(dev) + ns);
    fe_device_idle(dev, fe_device_busy_until(dev));
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
