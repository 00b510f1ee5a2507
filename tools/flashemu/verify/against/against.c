/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a measurement, and finds for each point the test that measures it in virtual time.
 *
 * A point of a procedure that nothing here can run is no mistake: a measurement has more than one
 * reader.  But a point of a procedure that is known must have its parameters.
 * What benchmarks print is in programs.c.
 */
#include "verify/against/against.h"

#include "verify/against/percentiles.h"
#include "verify/against/take.h"

#include "verify/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_TEXT = 64 };

/* --- procedures --- */

static int take_align(struct against_point *p, const char *path, struct fe_err *err)
{
    int r = against_get_size(p, path, "align", 2, &p->at, err);

    if (r == 0)
        r = against_get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = against_get_word(p, path, "place", "pre on post diff", &p->row, err);
    if (r == 0 && p->row == 3)
        against_leave(p, "follows from the other three");
    p->kind = AGAINST_ALIGN;
    snprintf(p->test, sizeof p->test, "flashbench-align,rounds=3,bs=%llu",
             (unsigned long long)p->bs);
    return r;
}

static int take_open_au(struct against_point *p, const char *path, struct fe_err *err)
{
    const json_t *random = json_object_get(p->parameters, "random");
    uint64_t units = 0;
    int r = against_get_size(p, path, "erasesize", 1, &p->of, err);

    if (r == 0)
        r = against_get_size(p, path, "open", 1, &units, err);
    if (r == 0)
        r = against_get_size(p, path, "chunk", 1, &p->at, err);
    if (r == 0 && !json_is_boolean(random))
        r = against_bad(err, path, "random", "true or false");
    p->kind = AGAINST_OPEN_AU;
    snprintf(p->test, sizeof p->test,
             "flashbench-open-au,erasesize=%llu,open-au-nr=%llu,random=%s",
             (unsigned long long)p->of, (unsigned long long)units,
             json_is_true(random) ? "yes" : "no");
    return r;
}

static int take_find_fat(struct against_point *p, const char *path, struct fe_err *err)
{
    uint64_t units = 0, unit = 0;
    int r = against_get_size(p, path, "erasesize", 1, &p->of, err);

    if (r == 0)
        r = against_get_size(p, path, "units", 1, &units, err);
    if (r == 0)
        r = against_get_size(p, path, "unit", 0, &unit, err);
    if (r == 0)
        r = against_get_size(p, path, "chunk", 1, &p->at, err);
    if (r == 0 && (unit >= units || units > 1024))
        r = against_bad(err, path, "unit", "a number below units, which is at most 1024");
    p->kind = AGAINST_FIND_FAT;
    p->row = (uint32_t)unit;
    p->rows = (uint32_t)units;
    snprintf(p->test, sizeof p->test, "flashbench-find-fat,erasesize=%llu,fat-nr=%llu",
             (unsigned long long)p->of, (unsigned long long)units);
    return r;
}

/* What request may have besides its series. */
static int take_manner(struct against_point *p, const char *path, struct fe_err *err)
{
    uint64_t depth = 1;
    int r = against_may_get_size(p, path, "idle", 0, &p->idle_ns, err);

    if (r == 0)
        r = against_may_get_size(p, path, "depth", 1, &depth, err);
    if (r == 0 && depth > AGAINST_MAX_DEPTH)
        r = against_bad(err, path, "depth", "at most 64");
    if (r == 0)
        r = against_may_get_flag(p, path, "flush", &p->flush, err);
    if (r == 0)
        r = against_may_get_flag(p, path, "median", &p->median, err);
    p->depth = (uint32_t)depth;
    if (r == 0)
        r = against_may_get_size(p, path, "push", 1, &p->push, err);
    if (r == 0)
        r = against_may_get_size(p, path, "push_start", 0, &p->push_start, err);
    if (r == 0 && p->push && (p->median || depth > 1))
        r = against_bad(err, path, "push", "no median, and one request in flight");
    if (r == 0 && (p->flush || p->median) && p->depth > 1)
        r = against_bad(err, path, p->flush ? "flush" : "median",
                "false with more than one request in flight");
    return r;
}

static int take_request(struct against_point *p, const char *path, struct fe_err *err)
{
    static const uint32_t types[] = {FE_REQ_READ, FE_REQ_WRITE, FE_REQ_TRIM};
    uint32_t op = 0;
    uint64_t count = 0;
    int r = against_get_word(p, path, "op", "read write trim", &op, err);

    if (r == 0)
        r = against_get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = against_get_size(p, path, "start", 0, &p->start, err);
    if (r == 0)
        r = against_get_size(p, path, "stride", 0, &p->stride, err);
    if (r == 0)
        r = against_get_size(p, path, "count", 1, &count, err);
    if (r == 0 && (count > 1 << 20 || count > AGAINST_MAX_BYTES / p->bs))
        r = against_bad(err, path, "count", "at most 1048576, and 2^44 bytes in all");
    if (r == 0)
        r = take_manner(p, path, err);
    if (r < 0)
        return r;
    p->kind = AGAINST_REQUEST;
    p->op = types[op];
    p->size = count * p->bs;
    snprintf(p->test, sizeof p->test, "request %u %llu %llu %llu %llu %llu %u %u%u %llu %llu",
             op,
             (unsigned long long)p->bs, (unsigned long long)p->start,
             (unsigned long long)p->stride, (unsigned long long)count,
             (unsigned long long)p->idle_ns, p->depth, p->flush, p->median,
             (unsigned long long)p->push, (unsigned long long)p->push_start);
    return r;
}

static int take_fill(struct against_point *p, const char *path, struct fe_err *err)
{
    int r = against_get_size(p, path, "bs", 1, &p->bs, err);

    if (r == 0)
        r = against_get_size(p, path, "start", 0, &p->start, err);
    if (r == 0)
        r = against_get_size(p, path, "idle", 0, &p->idle_ns, err);
    if (r == 0)
        r = against_get_size(p, path, "after", 0, &p->at, err);
    if (r == 0)
        r = against_get_size(p, path, "size", 1, &p->size, err);
    if (r == 0 && (p->at % p->bs != 0 || p->size % p->bs != 0))
        r = against_bad(err, path, "", "multiples of bs in after and size");
    p->kind = AGAINST_FILL;
    snprintf(p->test, sizeof p->test, "fill %llu %llu %llu", (unsigned long long)p->bs,
             (unsigned long long)p->start, (unsigned long long)p->idle_ns);
    return r;
}

static int take_seq(struct against_point *p, const char *path, struct fe_err *err)
{
    int r = against_get_size(p, path, "bs", 1, &p->bs, err);

    if (r == 0)
        r = against_get_size(p, path, "size", 1, &p->size, err);
    if (r == 0 && json_object_get(p->parameters, "offset"))
        r = against_get_size(p, path, "offset", 0, &p->start, err);
    against_name_seq(p, strcmp(p->procedure, "seq-write") == 0);
    return r;
}

static const struct {
    const char *name, *unit;
    int (*take)(struct against_point *p, const char *path, struct fe_err *err);
} procedures[] = {
    {"flashbench-align", "ns", take_align},       {"flashbench-open-au", "bytes/s", take_open_au},
    {"flashbench-find-fat", "bytes/s", take_find_fat}, {"request", "ns", take_request},
    {"seq-read", "bytes/s", take_seq},            {"seq-write", "bytes/s", take_seq},
    {"dd", "bytes/s", against_take_dd},           {"hdparm-t", "bytes/s", against_take_hdparm},
    {"fill", "bytes/s", take_fill},               {"load", "bytes/s", against_take_load},
    {"load-latency", "ns", against_take_load},    {"fio-rate", "bytes/s", against_take_fio},
    {"fio-latency", "ns", against_take_fio},      {"fio-sync-latency", "ns", against_take_fio},
    {"iozone", "bytes/s", against_take_iozone},
};

/* --- the file --- */

static int take_point(struct against *a, const json_t *point, size_t i, struct fe_err *err)
{
    struct against_point *p = &a->points[i];
    char path[PATH_MAX_TEXT], parameters[PATH_MAX_TEXT];

    snprintf(path, sizeof path, "points[%zu]", i);
    snprintf(parameters, sizeof parameters, "points[%zu].parameters", i);
    p->weight = 1;
    p->procedure = json_string_value(json_object_get(point, "procedure"));
    p->unit = json_string_value(json_object_get(point, "unit"));
    p->parameters = json_object_get(point, "parameters");
    if (!p->procedure)
        return against_bad(err, path, "procedure", "a text");
    if (!p->unit)
        return against_bad(err, path, "unit", "a text");
    if (!json_is_object(p->parameters))
        return against_bad(err, parameters, "", "an object");
    const char *place = json_string_value(json_object_get(p->parameters, "place"));
    int r = against_take_median(json_object_get(point, "values"), path, "values",
                                place && strcmp(place, "diff") == 0, &p->published, err);
    if (r == 0)
        r = against_take_percentiles(p, json_object_get(point, "percentiles"), path, err);
    a->n_shares += p->n_shares;
    for (size_t k = 0; k < sizeof procedures / sizeof *procedures && r == 0; k++)
        if (strcmp(p->procedure, procedures[k].name) == 0)
            return strcmp(p->unit, procedures[k].unit) == 0
                       ? procedures[k].take(p, parameters, err)
                       : against_bad(err, path, "unit", procedures[k].unit);
    against_leave(p, "nothing measures it in virtual time");
    return r;
}

static int take_document(struct against *a, struct fe_err *err)
{
    const char *format = json_string_value(json_object_get(a->document, "format"));
    const json_t *points = json_object_get(a->document, "points");

    if (!format || strcmp(format, "flashemu-measurement") != 0)
        return against_bad(err, "", "format", "\"flashemu-measurement\"");
    json_int_t version = json_integer_value(json_object_get(a->document, "version"));
    if (version != 1 && version != 2)
        return against_bad(err, "", "version", "1 or 2");
    if (json_array_size(points) == 0)
        return against_bad(err, "", "points", "a list of at least one point");
    a->points = calloc(json_array_size(points), sizeof *a->points);
    if (!a->points)
        return fe_err_nomem(err, "points", json_array_size(points) * sizeof *a->points);
    a->n = json_array_size(points);
    int r = 0;
    for (size_t i = 0; i < a->n && r == 0; i++) {
        struct against_point *p = &a->points[i];
        r = take_point(a, json_array_get(points, i), i, err);
        while (strcmp(a->points[p->first].test, p->test) != 0)
            p->first++;
    }
    if (r < 0)
        return r;
    a->errors = calloc(a->n + a->n_shares, sizeof *a->errors);
    return a->errors ? 0 : fe_err_nomem(err, "errors", (a->n + a->n_shares) * sizeof *a->errors);
}

int against_load(struct against *a, const char *path, struct fe_err *err)
{
    json_error_t why;
    struct fe_err inner;

    memset(a, 0, sizeof *a);
    FILE *f = fopen(path, "re");
    if (!f)
        return fe_err_set(err, errno, "%s: %s", path, strerror(errno));
    errno = 0;
    a->document = json_loadf(f, JSON_REJECT_DUPLICATES, &why);
    int unread = ferror(f) ? errno ? errno : EIO : 0;
    fclose(f);
    if (unread)
        return fe_err_set(err, unread, "%s: %s", path, strerror(unread));
    if (!a->document)
        return fe_err_set(err, EINVAL, "%s:%d: is no JSON: %s", path, why.line, why.text);
    fe_err_init(&inner);
    int r = take_document(a, &inner);
    return r < 0 ? fe_err_set(err, -r, "%s: %s", path, inner.text) : 0;
}

void against_fini(struct against *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->points[i].shares);
    json_decref(a->document);
    free(a->points);
    free(a->errors);
}
