/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a measurement, and finds for each point the test that measures it in virtual time.
 *
 * A point of a procedure that nothing here can run is no mistake: a measurement has more than one
 * reader.  But a point of a procedure that is known must have its parameters.
 *
 * dd and hdparm -t go through the page cache, whose requests are assumed to be 128 KiB (Linux' read
 * ahead) when it reads and 1 MiB when it writes.  hdparm reads for 3 s.
 *
 * fio and iozone work on a file, which is assumed to lie in one piece at the device's start, as for
 * the procedures of the same names (fio.c).  What they send past the page cache is the same load as
 * that of any other benchmark.
 */
#include "verify/against.h"

#include "verify/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_AHEAD = 128 << 10, WRITE_BACK = 1 << 20, HDPARM_SECONDS = 3 };
enum { PATH_MAX_TEXT = 64 };

#define MAX_BYTES (UINT64_C(1) << 44)
#define MAX_BLOCKS (UINT64_C(1) << 20)
#define FIO_FILE (UINT64_C(256) << 20) /* where nobody says how large it was */

static int bad(struct fe_err *err, const char *path, const char *key, const char *allowed)
{
    return fe_err_set(err, EINVAL, "%s%s%s: expected %s", path, *path && *key ? "." : "", key,
                      allowed);
}

static int get_size(const struct against_point *p, const char *path, const char *key, uint64_t min,
                    uint64_t *ret, struct fe_err *err)
{
    const json_t *value = json_object_get(p->parameters, key);
    char allowed[80];

    if (json_is_integer(value) && json_integer_value(value) >= (json_int_t)min &&
        (uint64_t)json_integer_value(value) <= MAX_BYTES) {
        *ret = (uint64_t)json_integer_value(value);
        return 0;
    }
    snprintf(allowed, sizeof allowed, "a whole number from %llu to 2^44", (unsigned long long)min);
    return bad(err, path, key, allowed);
}

/* The index of a word among words that blanks separate. */
static int get_word(const struct against_point *p, const char *path, const char *key,
                    const char *words, uint32_t *ret, struct fe_err *err)
{
    const char *value = json_string_value(json_object_get(p->parameters, key));
    size_t len = value ? strlen(value) : 0;

    *ret = 0;
    for (const char *w = words; len; w += strcspn(w, " ") + 1, (*ret)++) {
        size_t n = strcspn(w, " ");
        if (n == len && memcmp(w, value, n) == 0)
            return 0;
        if (w[n] == '\0')
            break;
    }
    char allowed[80];
    snprintf(allowed, sizeof allowed, "one of: %s", words);
    return bad(err, path, key, allowed);
}

static void leave(struct against_point *p, const char *why)
{
    p->state = AGAINST_NOT_RUN;
    snprintf(p->why, sizeof p->why, "%s", why);
}

/* --- procedures --- */

static int take_align(struct against_point *p, const char *path, struct fe_err *err)
{
    int r = get_size(p, path, "align", 2, &p->at, err);

    if (r == 0)
        r = get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = get_word(p, path, "place", "pre on post diff", &p->row, err);
    if (r == 0 && p->row == 3)
        leave(p, "follows from the other three");
    p->kind = AGAINST_ALIGN;
    snprintf(p->test, sizeof p->test, "flashbench-align,rounds=3,bs=%llu",
             (unsigned long long)p->bs);
    return r;
}

static int take_open_au(struct against_point *p, const char *path, struct fe_err *err)
{
    const json_t *random = json_object_get(p->parameters, "random");
    uint64_t units = 0;
    int r = get_size(p, path, "erasesize", 1, &p->of, err);

    if (r == 0)
        r = get_size(p, path, "open", 1, &units, err);
    if (r == 0)
        r = get_size(p, path, "chunk", 1, &p->at, err);
    if (r == 0 && !json_is_boolean(random))
        r = bad(err, path, "random", "true or false");
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
    int r = get_size(p, path, "erasesize", 1, &p->of, err);

    if (r == 0)
        r = get_size(p, path, "units", 1, &units, err);
    if (r == 0)
        r = get_size(p, path, "unit", 0, &unit, err);
    if (r == 0)
        r = get_size(p, path, "chunk", 1, &p->at, err);
    if (r == 0 && (unit >= units || units > 1024))
        r = bad(err, path, "unit", "a number below units, which is at most 1024");
    p->kind = AGAINST_FIND_FAT;
    p->row = (uint32_t)unit;
    p->rows = (uint32_t)units;
    snprintf(p->test, sizeof p->test, "flashbench-find-fat,erasesize=%llu,fat-nr=%llu",
             (unsigned long long)p->of, (unsigned long long)units);
    return r;
}

/* The same for a key that may be missing, which then leaves *ret as it is. */
static int may_get_size(const struct against_point *p, const char *path, const char *key,
                        uint64_t min, uint64_t *ret, struct fe_err *err)
{
    return json_object_get(p->parameters, key) ? get_size(p, path, key, min, ret, err) : 0;
}

/* The same for true or false; *ret stays as it is if the key is missing. */
static int may_get_flag(const struct against_point *p, const char *path, const char *key,
                        bool *ret, struct fe_err *err)
{
    const json_t *value = json_object_get(p->parameters, key);

    if (value && !json_is_boolean(value))
        return bad(err, path, key, "true or false");
    if (value)
        *ret = json_is_true(value);
    return 0;
}

/* What request may have besides its series. */
static int take_manner(struct against_point *p, const char *path, struct fe_err *err)
{
    uint64_t depth = 1;
    int r = may_get_size(p, path, "idle", 0, &p->idle_ns, err);

    if (r == 0)
        r = may_get_size(p, path, "depth", 1, &depth, err);
    if (r == 0 && depth > AGAINST_MAX_DEPTH)
        r = bad(err, path, "depth", "at most 64");
    if (r == 0)
        r = may_get_flag(p, path, "flush", &p->flush, err);
    if (r == 0)
        r = may_get_flag(p, path, "median", &p->median, err);
    p->depth = (uint32_t)depth;
    if (r == 0)
        r = may_get_size(p, path, "push", 1, &p->push, err);
    if (r == 0)
        r = may_get_size(p, path, "push_start", 0, &p->push_start, err);
    if (r == 0 && p->push && (p->median || depth > 1))
        r = bad(err, path, "push", "no median, and one request in flight");
    if (r == 0 && (p->flush || p->median) && p->depth > 1)
        r = bad(err, path, p->flush ? "flush" : "median",
                "false with more than one request in flight");
    return r;
}

static int take_request(struct against_point *p, const char *path, struct fe_err *err)
{
    static const uint32_t types[] = {FE_REQ_READ, FE_REQ_WRITE, FE_REQ_TRIM};
    uint32_t op = 0;
    uint64_t count = 0;
    int r = get_word(p, path, "op", "read write trim", &op, err);

    if (r == 0)
        r = get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = get_size(p, path, "start", 0, &p->start, err);
    if (r == 0)
        r = get_size(p, path, "stride", 0, &p->stride, err);
    if (r == 0)
        r = get_size(p, path, "count", 1, &count, err);
    if (r == 0 && (count > 1 << 20 || count > MAX_BYTES / p->bs))
        r = bad(err, path, "count", "at most 1048576, and 2^44 bytes in all");
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
    int r = get_size(p, path, "bs", 1, &p->bs, err);

    if (r == 0)
        r = get_size(p, path, "start", 0, &p->start, err);
    if (r == 0)
        r = get_size(p, path, "idle", 0, &p->idle_ns, err);
    if (r == 0)
        r = get_size(p, path, "after", 0, &p->at, err);
    if (r == 0)
        r = get_size(p, path, "size", 1, &p->size, err);
    if (r == 0 && (p->at % p->bs != 0 || p->size % p->bs != 0))
        r = bad(err, path, "", "multiples of bs in after and size");
    p->kind = AGAINST_FILL;
    snprintf(p->test, sizeof p->test, "fill %llu %llu %llu", (unsigned long long)p->bs,
             (unsigned long long)p->start, (unsigned long long)p->idle_ns);
    return r;
}

static void name_seq(struct against_point *p, bool writes)
{
    p->kind = writes ? AGAINST_SEQ_WRITE : AGAINST_SEQ_READ;
    snprintf(p->test, sizeof p->test, "seq-%s %llu %llu %llu", writes ? "write" : "read",
             (unsigned long long)p->bs, (unsigned long long)p->size,
             (unsigned long long)p->start);
}

static int take_seq(struct against_point *p, const char *path, struct fe_err *err)
{
    int r = get_size(p, path, "bs", 1, &p->bs, err);

    if (r == 0)
        r = get_size(p, path, "size", 1, &p->size, err);
    if (r == 0 && json_object_get(p->parameters, "offset"))
        r = get_size(p, path, "offset", 0, &p->start, err);
    name_seq(p, strcmp(p->procedure, "seq-write") == 0);
    return r;
}

static int take_dd(struct against_point *p, const char *path, struct fe_err *err)
{
    const char *on = json_string_value(json_object_get(p->parameters, "on"));
    uint32_t op = 0;
    int r = get_word(p, path, "op", "read write unknown", &op, err);

    if (r == 0)
        r = get_size(p, path, "bytes", 1, &p->size, err);
    if (r == 0 && json_object_get(p->parameters, "offset"))
        r = get_size(p, path, "offset", 0, &p->start, err);
    p->bs = op == 1 ? WRITE_BACK : READ_AHEAD;
    p->size -= p->size % 512;
    name_seq(p, op == 1);
    if (r == 0 && (op == 2 || !on || strcmp(on, "device") != 0 || p->size == 0))
        leave(p, "needs to be a read or write of the device itself");
    return r;
}

static int take_hdparm(struct against_point *p, const char *path, struct fe_err *err)
{
    double bytes = HDPARM_SECONDS * p->published;

    (void)path;
    (void)err;
    p->bs = READ_AHEAD;
    p->size = bytes < (double)MAX_BYTES ? (uint64_t)bytes / READ_AHEAD * READ_AHEAD : 0;
    name_seq(p, false);
    if (p->size == 0)
        leave(p, "is too slow or too fast a rate to be one");
    return 0;
}

static void name_load(struct against_point *p)
{
    p->kind = AGAINST_LOAD;
    snprintf(p->test, sizeof p->test, "load %u %u %llu %llu %llu %u %u%u%u", p->op, p->random,
             (unsigned long long)p->bs, (unsigned long long)p->size,
             (unsigned long long)p->start, p->depth, p->flush, p->may_shrink, p->queue_off);
}

/* Whether the host uses the card's queue and cache.  If nobody says so, the profile decides. */
static int may_get_queue(struct against_point *p, const char *path, struct fe_err *err)
{
    bool queue = true;
    int r = may_get_flag(p, path, "queue", &queue, err);

    p->queue_off = !queue;
    return r;
}

/* A benchmark on a region: requests in order or in random order, some of them in flight. */
static int take_load(struct against_point *p, const char *path, struct fe_err *err)
{
    uint32_t op = 0, random = 0;
    uint64_t depth = 1;
    int r = get_word(p, path, "op", "read write", &op, err);

    if (r == 0)
        r = get_word(p, path, "pattern", "sequential random", &random, err);
    if (r == 0)
        r = get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = get_size(p, path, "size", 1, &p->size, err);
    if (r == 0)
        r = may_get_size(p, path, "offset", 0, &p->start, err);
    if (r == 0)
        r = may_get_size(p, path, "depth", 1, &depth, err);
    if (r == 0)
        r = may_get_queue(p, path, err);
    if (r == 0 && depth > AGAINST_MAX_DEPTH)
        r = bad(err, path, "depth", "at most 64");
    if (r == 0 && (p->size < p->bs || p->size / p->bs > MAX_BLOCKS))
        r = bad(err, path, "size", "1 to 1048576 requests of bs");
    p->op = op == 1 ? FE_REQ_WRITE : FE_REQ_READ;
    p->random = random == 1;
    p->depth = (uint32_t)depth;
    name_load(p);
    return r;
}

/* The load of `jobs` processes with a file of `size` bytes and `depth` requests in flight each, or
 * why that is none. */
static void take_jobs(struct against_point *p, bool direct, uint64_t jobs, uint64_t depth)
{
    uint64_t size = p->size;

    p->size = jobs <= MAX_BYTES / size ? jobs * size : MAX_BYTES;
    p->depth = AGAINST_MAX_DEPTH;
    if (!direct)
        leave(p, "went through the page cache");
    else if (jobs > 1 && !p->random)
        leave(p, "is of several files at the same time, each in order");
    else if (depth > AGAINST_MAX_DEPTH || jobs > AGAINST_MAX_DEPTH / depth)
        leave(p, "has more than 64 requests in flight");
    else if (p->size < p->bs || p->size / p->bs > MAX_BLOCKS)
        leave(p, "has none or more than 1048576 requests");
    else
        p->depth = (uint32_t)(jobs * depth);
    name_load(p);
}

/* fio.  Whoever says nothing about the page cache is taken to have gone past it. */
static int take_fio(struct against_point *p, const char *path, struct fe_err *err)
{
    uint32_t op = 0, random = 0;
    uint64_t depth = 1, jobs = 1;
    bool direct = true;
    int r = get_word(p, path, "op", "read write trim", &op, err);

    if (r == 0)
        r = get_word(p, path, "pattern", "sequential random", &random, err);
    if (r == 0)
        r = get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = get_size(p, path, "depth", 1, &depth, err);
    if (r == 0)
        r = get_size(p, path, "jobs", 1, &jobs, err);
    if (r == 0)
        r = may_get_flag(p, path, "direct", &direct, err);
    if (r == 0)
        r = may_get_queue(p, path, err);
    p->may_shrink = !json_object_get(p->parameters, "size");
    p->size = FIO_FILE;
    if (r == 0)
        r = may_get_size(p, path, "size", 1, &p->size, err);
    if (r < 0)
        return r;
    p->op = op == 1 ? FE_REQ_WRITE : FE_REQ_READ;
    p->random = random == 1;
    take_jobs(p, direct, jobs, depth);
    if (op == 2)
        leave(p, "is about TRIM");
    else if (json_object_get(p->parameters, "share"))
        leave(p, "is one side of a mixed job");
    return 0;
}

static int take_iozone(struct against_point *p, const char *path, struct fe_err *err)
{
    static const char tests[] = "write rewrite random-write read reread random-read backward-read "
                                "record-rewrite stride-read fwrite frewrite fread freread";
    enum { RANDOM_WRITE = 2, READ = 3, RANDOM_READ = 5 }; /* places in tests */
    uint32_t test = 0;
    uint64_t jobs = 1;
    bool direct = false, fsync = false;
    int r = get_word(p, path, "test", tests, &test, err);

    if (r == 0)
        r = get_size(p, path, "file", 1, &p->size, err);
    if (r == 0)
        r = get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = may_get_size(p, path, "jobs", 1, &jobs, err);
    if (r == 0)
        r = may_get_flag(p, path, "direct", &direct, err);
    if (r == 0)
        r = may_get_flag(p, path, "fsync", &fsync, err);
    if (r < 0)
        return r;
    p->op = test < READ ? FE_REQ_WRITE : FE_REQ_READ;
    p->random = test == RANDOM_WRITE || test == RANDOM_READ;
    p->flush = fsync && p->op == FE_REQ_WRITE;
    take_jobs(p, direct, jobs, 1);
    if (test > RANDOM_READ)
        leave(p, "is a test of iozone that nothing here repeats");
    return 0;
}

static const struct {
    const char *name, *unit;
    int (*take)(struct against_point *p, const char *path, struct fe_err *err);
} procedures[] = {
    {"flashbench-align", "ns", take_align},       {"flashbench-open-au", "bytes/s", take_open_au},
    {"flashbench-find-fat", "bytes/s", take_find_fat}, {"request", "ns", take_request},
    {"seq-read", "bytes/s", take_seq},            {"seq-write", "bytes/s", take_seq},
    {"dd", "bytes/s", take_dd},                   {"hdparm-t", "bytes/s", take_hdparm},
    {"fill", "bytes/s", take_fill},               {"load", "bytes/s", take_load},
    {"load-latency", "ns", take_load},            {"fio-rate", "bytes/s", take_fio},
    {"fio-latency", "ns", take_fio},              {"iozone", "bytes/s", take_iozone},
};

/* --- the file --- */

/* The median of a point's values. */
static int take_values(struct against_point *p, const json_t *values, const char *path,
                       struct fe_err *err)
{
    size_t n = json_array_size(values);
    double *sorted = calloc(n + 1, sizeof *sorted);

    if (!sorted)
        return fe_err_nomem(err, "values", n * sizeof *sorted);
    int r = n > 0 ? 0 : bad(err, path, "values", "a list of at least one number");
    for (size_t i = 0; i < n && r == 0; i++) {
        const json_t *value = json_array_get(values, i);
        sorted[i] = json_number_value(value);
        const char *place = json_string_value(json_object_get(p->parameters, "place"));
        bool is_signed = place && strcmp(place, "diff") == 0;
        if (!json_is_number(value) || (sorted[i] <= 0 && !is_signed) || sorted[i] >= 1e18)
            r = fe_err_set(err, EINVAL, "%s.values[%zu]: expected a number greater than 0", path,
                           i);
    }
    if (r == 0)
        p->published = verify_median(sorted, n);
    free(sorted);
    return r;
}

static int take_point(struct against_point *p, const json_t *point, size_t i, struct fe_err *err)
{
    char path[PATH_MAX_TEXT], parameters[PATH_MAX_TEXT];

    snprintf(path, sizeof path, "points[%zu]", i);
    snprintf(parameters, sizeof parameters, "points[%zu].parameters", i);
    p->weight = 1;
    p->procedure = json_string_value(json_object_get(point, "procedure"));
    p->unit = json_string_value(json_object_get(point, "unit"));
    p->parameters = json_object_get(point, "parameters");
    if (!p->procedure)
        return bad(err, path, "procedure", "a text");
    if (!p->unit)
        return bad(err, path, "unit", "a text");
    if (!json_is_object(p->parameters))
        return bad(err, parameters, "", "an object");
    int r = take_values(p, json_object_get(point, "values"), path, err);
    for (size_t k = 0; k < sizeof procedures / sizeof *procedures && r == 0; k++)
        if (strcmp(p->procedure, procedures[k].name) == 0)
            return strcmp(p->unit, procedures[k].unit) == 0
                       ? procedures[k].take(p, parameters, err)
                       : bad(err, path, "unit", procedures[k].unit);
    leave(p, "nothing measures it in virtual time");
    return r;
}

static int take_document(struct against *a, struct fe_err *err)
{
    const char *format = json_string_value(json_object_get(a->document, "format"));
    const json_t *points = json_object_get(a->document, "points");

    if (!format || strcmp(format, "flashemu-measurement") != 0)
        return bad(err, "", "format", "\"flashemu-measurement\"");
    if (json_integer_value(json_object_get(a->document, "version")) != 1)
        return bad(err, "", "version", "1, the only version that there is");
    if (json_array_size(points) == 0)
        return bad(err, "", "points", "a list of at least one point");
    a->points = calloc(json_array_size(points), sizeof *a->points);
    a->errors = calloc(json_array_size(points), sizeof *a->errors);
    if (!a->points || !a->errors)
        return fe_err_nomem(err, "points", json_array_size(points) * sizeof *a->points);
    a->n = json_array_size(points);
    int r = 0;
    for (size_t i = 0; i < a->n && r == 0; i++)
        r = take_point(&a->points[i], json_array_get(points, i), i, err);
    return r;
}

int against_load(struct against *a, const char *path, struct fe_err *err)
{
    json_error_t why;
    struct fe_err inner;

    memset(a, 0, sizeof *a);
    a->document = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!a->document)
        return why.line > 0 ? fe_err_set(err, EINVAL, "%s:%d: is no JSON: %s", path, why.line,
                                         why.text)
                            : fe_err_set(err, EIO, "%s: %s", path, why.text);
    fe_err_init(&inner);
    int r = take_document(a, &inner);
    return r < 0 ? fe_err_set(err, -r, "%s: %s", path, inner.text) : 0;
}

void against_fini(struct against *a)
{
    json_decref(a->document);
    free(a->points);
    free(a->errors);
}
