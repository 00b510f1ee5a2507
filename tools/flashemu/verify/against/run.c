/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs the tests of a measurement on a profile's device, in virtual time.
 *
 * flashbench's requests come from its patterns, whose records say by `stream` to which line of the
 * output they belong.  So each test has a table of sums, and its points look their values up:
 *
 *                         stream 1   2   3  ...            (chunk size, or alignment and place)
 *     row 0 (unit 0 of -f)    ns     ns  ns
 *     row 1
 */
#include "verify/against/against.h"

#include "verify/against/percentiles.h"
#include "verify/against/series.h"

#include "verify/verify.h"

#include "base/num.h"
#include "profile/procedures.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_POSITIONS = 7, N_STREAMS = 192, LAY_OUT = 1 << 20 };

#define LEAST 1.0 /* ns or bytes/s: a TRIM may take no time at all, and a logarithm needs some */
#define LOAD_NS UINT64_C(30000000000) /* after so long a benchmark sends no more requests */

struct sum {
    uint64_t ns, bytes;
    uint64_t least[N_POSITIONS]; /* -a: the shortest times at each of its places */
    uint64_t n;
};

struct region {
    uint64_t start, size;
};

/* A host with its device, and a second one with the file of reads in front of which nothing was
 * written. */
struct subject {
    struct fe_device *dev; /* NULL: not made yet */
    const struct fe_profile *profile;
    uint64_t seed;
    struct region written; /* by the last load that wrote more than those before */
    struct fe_device *laid_out; /* NULL: not made yet */
    struct region laid;    /* the file there */
};

struct bench {
    struct fe_device *dev;
    struct subject on;  /* of `dev` */
    struct subject off; /* for a host that uses neither queue nor cache */
    struct fe_profile off_profile;
    struct fe_pattern_env env;
    const struct against_point *test; /* the first point of the test that runs */
    struct sum *sums; /* the rows, with N_STREAMS each */
    uint32_t rows;
    uint64_t part_ns; /* -a: of the part of a read in front of the end of the device */
};

static bool same_test(const struct against_point *a, const struct against_point *b)
{
    return b->state == AGAINST_OPEN && a->first == b->first;
}

/* Whether any point is still asked for, of the test of `first` or of all without one. */
static bool is_asked(const struct against *a, const struct against_point *first)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct against_point *p = &a->points[i];
        if (p->state == AGAINST_OPEN && !p->unwanted && (!first || same_test(first, p)))
            return true;
    }
    return false;
}

static void note(void *ctx, const struct fe_trace_rec *rec, uint64_t ns)
{
    struct bench *b = ctx;
    const struct against_point *p = b->test;
    uint64_t row = p->kind == AGAINST_FIND_FAT ? rec->offset / p->of : 0;

    if (row >= b->rows || rec->stream == 0 || rec->stream > N_STREAMS)
        return;
    struct sum *s = &b->sums[row * N_STREAMS + rec->stream - 1];
    s->ns += ns;
    s->bytes += rec->len;
    if (p->kind != AGAINST_ALIGN)
        return;
    if (rec->len < p->bs && rec->offset != 0) {
        b->part_ns = ns;
        return;
    }
    uint64_t *least = &s->least[s->n++ % N_POSITIONS];
    ns += b->part_ns;
    b->part_ns = 0;
    *least = *least == 0 ? ns : fe_min_u64(*least, ns);
}

/* The stream of a point's line, 0 if flashbench would not have it on this device. */
static uint32_t stream_of(const struct bench *b, const struct against_point *p)
{
    uint64_t top = p->of, at = p->at;
    uint32_t step = 0;

    if (p->kind == AGAINST_ALIGN)
        for (top = 2 * p->bs; top < b->env.capacity / N_POSITIONS;)
            top *= 2;
    for (; top > at && step < N_STREAMS / 3 - 1; step++)
        top /= 2;
    if (top != at)
        return 0;
    return p->kind == AGAINST_ALIGN ? 3 * step + p->row + 1 : step + 1;
}

static void settle(struct against_point *p, const struct bench *b)
{
    uint32_t stream = stream_of(b, p);
    uint32_t row = p->kind == AGAINST_FIND_FAT ? p->row : 0;
    const struct sum *s = stream ? &b->sums[(size_t)row * N_STREAMS + stream - 1] : NULL;
    double least = 0;

    if (!s || s->ns == 0) {
        p->state = AGAINST_FAILED;
        snprintf(p->why, sizeof p->why, "the test does not come to this point on this device");
        return;
    }
    for (uint32_t i = 0; i < N_POSITIONS; i++)
        least += (double)s->least[i] / N_POSITIONS;
    p->state = AGAINST_MEASURED;
    p->measured = p->kind == AGAINST_ALIGN ? least : (double)s->bytes * 1e9 / (double)s->ns;
}

/* flashbench: one run for all points of the test, down to the smallest chunk that one needs. */
static int run_flashbench(struct against *a, struct against_point *first, struct bench *b,
                          struct fe_err *err)
{
    uint64_t least = first->at;
    char spec[200];

    for (size_t i = 0; i < a->n; i++)
        if (same_test(first, &a->points[i]))
            least = fe_min_u64(least, a->points[i].at);
    if (first->kind == AGAINST_ALIGN)
        snprintf(spec, sizeof spec, "%s", first->test);
    else
        snprintf(spec, sizeof spec, "%s,bs=%llu", first->test, (unsigned long long)least);
    b->rows = first->kind == AGAINST_FIND_FAT ? first->rows : 1;
    b->sums = calloc((size_t)b->rows * N_STREAMS, sizeof *b->sums);
    if (!b->sums)
        return fe_err_nomem(err, "sums", (size_t)b->rows * N_STREAMS * sizeof *b->sums);
    b->test = first;
    int r = verify_pattern(b->dev, spec, &b->env, note, b, err);
    const struct against_point test = *first;
    for (size_t i = 0; i < a->n && r == 0; i++)
        if (same_test(&test, &a->points[i]))
            settle(&a->points[i], b);
    free(b->sums);
    b->sums = NULL;
    return r;
}

/* Sequential requests.  A read has a device of its own, on which the region has been written. */
static int run_sequence(struct fe_device *shared, const struct against_point *p,
                        const struct fe_profile *profile, uint64_t seed, uint64_t *ret_ns,
                        struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = seed, .payload = false};
    struct against_point in_order = *p;
    struct fe_device *dev = shared;
    bool alone = p->kind == AGAINST_SEQ_READ;
    int r = alone ? fe_device_create(&dev, profile, &opt, err) : 0;

    if (r < 0)
        return r;
    in_order.stride = p->bs;
    in_order.flush = p->sync_every != 0;
    r = against_check_bs(dev, p, err);
    if (r == 0)
        r = against_one_by_one(dev, &in_order, FE_REQ_WRITE, NULL, ret_ns, err);
    if (r == 0 && p->flush && !alone)
        r = against_flush(dev, ret_ns, err);
    if (r == 0 && alone)
        r = against_one_by_one(dev, &in_order, FE_REQ_READ, NULL, ret_ns, err);
    if (alone)
        fe_device_destroy(dev);
    return r;
}

static int run_requests_of(struct against *a, struct against_point *first, struct bench *b,
                           const struct fe_profile *profile, uint64_t seed, struct fe_err *err)
{
    const struct against_point p = *first;
    bool series = p.kind == AGAINST_REQUEST;
    uint64_t ns = 0;
    int r = series ? against_series(b->dev, &p, &ns, err)
                   : run_sequence(b->dev, &p, profile, seed, &ns, err);

    for (size_t i = 0; i < a->n && r == 0; i++)
        if (same_test(&p, &a->points[i])) {
            a->points[i].state = AGAINST_MEASURED;
            a->points[i].measured = series ? (double)ns / (double)(p.size / p.bs)
                                           : (double)p.size * 1e9 / (double)(ns ? ns : 1);
        }
    return r;
}

/* The host of a load.  The one without queue and cache is made for the first such load. */
static int subject_of(struct bench *b, const struct against_point *p, struct subject **ret,
                      struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = b->on.seed, .payload = false};

    *ret = p->queue_off ? &b->off : &b->on;
    if ((*ret)->dev)
        return 0;
    int r = verify_overridden(&b->off_profile, b->on.profile, FE_WITHOUT_QUEUE, err);
    if (r < 0)
        return r;
    r = fe_device_create(&b->off.dev, &b->off_profile, &opt, err);
    if (r < 0) {
        fe_profile_fini(&b->off_profile);
        return r;
    }
    b->off.profile = &b->off_profile;
    b->off.seed = b->on.seed;
    return 0;
}

static bool covers(const struct region *whole, const struct region *part)
{
    return whole->start <= part->start &&
           part->start + part->size <= whole->start + whole->size;
}

/* That device has the file in one piece, as a program lays it out.  Reads change nothing in the
 * file, so the next ones of the same file find it there. */
static int lay_out(struct subject *s, const struct region *file, struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = s->seed, .payload = false};
    const uint64_t bs = fe_min_u64(LAY_OUT, file->size);
    const struct against_point fill = {.bs = bs, .stride = bs, .start = file->start,
                                       .size = file->size};
    uint64_t ns;

    if (s->laid_out && s->laid.start == file->start && s->laid.size == file->size)
        return 0;
    fe_device_destroy(s->laid_out);
    s->laid_out = NULL;
    int r = fe_device_create(&s->laid_out, s->profile, &opt, err);
    if (r < 0)
        return r;
    s->laid = *file;
    r = against_one_by_one(s->laid_out, &fill, FE_REQ_WRITE, NULL, &ns, err);
    if (r < 0) {
        fe_device_destroy(s->laid_out);
        s->laid_out = NULL;
    }
    return r;
}

/* A benchmark on a region.  Reads find what the loads in front of them have written, or else a file
 * that was laid out. */
static int run_load_on(struct subject *s, const struct against_point *p, uint64_t size,
                       struct verify_load *load, const struct against_times *times,
                       struct verify_done *done, struct fe_err *err)
{
    const struct region file = {p->start, size};
    bool apart = p->op == FE_REQ_READ && !covers(&s->written, &file);

    *load = (struct verify_load){.type = (enum fe_req_type)p->op, .offset = p->start,
                                 .bs = p->bs, .size = size, .depth = p->depth,
                                 .random = p->random, .flush = p->flush, .gap = p->gap,
                                 .page = p->page,
                                 .limit_ns = LOAD_NS, .request_ns = times->request_ns,
                                 .sync_ns = times->sync_ns, .seed = s->seed};
    int r = apart ? lay_out(s, &file, err) : 0;
    if (r < 0)
        return r;
    struct fe_device *dev = apart ? s->laid_out : s->dev;
    load->sync_every = p->op == FE_REQ_WRITE && against_takes_flushes(dev) ? p->sync_every : 0;
    verify_pause(dev, VERIFY_PAUSE_NS);
    r = verify_load(dev, load, done, err);
    bool whole = !p->gap && done->requests == size / p->bs;
    if (p->op == FE_REQ_WRITE && whole && !covers(&s->written, &file))
        s->written = file;
    return r;
}

/* One figure of a load; 0 if it has none.  The mean latency is the time that a request is in
 * flight. */
static double figure_of(const struct against_point *p, const struct verify_load *load,
                        const struct verify_done *done)
{
    double writes_ns = (double)(done->ns - done->sync_ns);

    switch (p->what) {
    case AGAINST_RATE:
        return (double)verify_load_rate(load, done);
    case AGAINST_LATENCY:
        return writes_ns * p->depth / (double)done->requests;
    case AGAINST_LATENCY_SYNCED:
        return (double)done->ns * p->depth / (double)done->requests;
    case AGAINST_SYNC:
        return done->syncs ? (double)done->sync_ns / (double)done->syncs : 0;
    case AGAINST_SYNC_AND_WRITES:
        return (double)done->ns * (double)p->sync_every / (double)done->requests;
    }
    return 0;
}

/* Whether somebody asks for percentiles of a test. */
static bool wants_times(const struct against *a, const struct against_point *test)
{
    for (size_t i = 0; i < a->n && a->percentiles; i++)
        if (same_test(test, &a->points[i]) && a->points[i].n_shares > 0)
            return true;
    return false;
}

/* All points of such a test, and their percentiles. */
static int run_load(struct against *a, struct against_point *first, struct bench *b,
                    struct fe_err *err)
{
    const struct against_point p = *first;
    const uint64_t capacity = b->env.capacity;
    const uint64_t size = p.may_shrink ? fe_min_u64(p.size, capacity) : p.size;
    struct subject *subject;
    struct verify_load load;
    struct against_times times = {0};
    struct verify_done done = {0};
    int r = against_check_bs(b->dev, &p, err);

    if (r == 0 && p.start + size > capacity)
        return fe_err_set(err, EINVAL, "offset=%llu size=%llu: does not fit the device of %llu "
                          "bytes", (unsigned long long)p.start, (unsigned long long)size,
                          (unsigned long long)capacity);
    if (r == 0)
        r = subject_of(b, &p, &subject, err);
    if (r == 0 && wants_times(a, &p))
        r = against_times_init(&times, size / p.bs, err);
    if (r == 0)
        r = run_load_on(subject, &p, size, &load, &times, &done, err);
    for (size_t i = 0; i < a->n && r == 0; i++) {
        struct against_point *q = &a->points[i];
        if (!same_test(&p, q))
            continue;
        if (times.room)
            against_percentiles(q, &times, &done);
        q->measured = figure_of(q, &load, &done);
        bool none = q->what >= AGAINST_SYNC && q->measured <= 0;
        q->state = none ? AGAINST_FAILED : AGAINST_MEASURED;
        if (none)
            snprintf(q->why, sizeof q->why, "a sync takes no time: the device has nothing to flush");
    }
    against_times_fini(&times);
    return r;
}

/* A flush, a pause, and then writes in order, as far as the last point of the test goes.  Each point
 * is the rate of a part of them. */
static int run_fill(struct against *a, struct against_point *first, struct fe_device *dev,
                    struct fe_err *err)
{
    const struct against_point test = *first;
    uint64_t end = 0, ns = 0, capacity = fe_device_capacity(dev);
    struct against_point all = {.start = test.start, .stride = test.bs};
    int r = against_check_bs(dev, &test, err);

    for (size_t i = 0; i < a->n; i++)
        if (same_test(&test, &a->points[i])) {
            end = fe_max_u64(end, a->points[i].at + a->points[i].size);
            a->points[i].measured = 0;
        }
    if (r == 0)
        r = verify_request(dev, FE_REQ_FLUSH, 0, 0, &ns, err);
    if (r == 0 && test.idle_ns)
        verify_pause(dev, test.idle_ns);
    for (uint64_t at = 0; at < end && r == 0; at += test.bs) {
        r = verify_request(dev, FE_REQ_WRITE, against_place(&all, at / test.bs, test.bs, capacity),
                           test.bs, &ns, err);
        for (size_t i = 0; i < a->n && r == 0; i++) {
            struct against_point *p = &a->points[i];
            if (same_test(&test, p) && at >= p->at && at - p->at < p->size)
                p->measured += (double)ns;
        }
    }
    for (size_t i = 0; i < a->n && r == 0; i++)
        if (same_test(&test, &a->points[i])) {
            struct against_point *p = &a->points[i];
            p->measured = (double)p->size * 1e9 / (p->measured > 0 ? p->measured : 1);
            p->state = AGAINST_MEASURED;
        }
    return r;
}

/* One test, which begins with this point. */
static int run_test(struct against *a, struct against_point *first, struct bench *b,
                    const struct fe_profile *profile, uint64_t seed, struct fe_err *err)
{
    if (first->kind <= AGAINST_FIND_FAT)
        return run_flashbench(a, first, b, err);
    if (first->kind == AGAINST_LOAD)
        return run_load(a, first, b, err);
    return first->kind == AGAINST_FILL ? run_fill(a, first, b->dev, err)
                                       : run_requests_of(a, first, b, profile, seed, err);
}

static void fail(struct against *a, const struct against_point *first, const char *why)
{
    const struct against_point test = *first;

    for (size_t i = 0; i < a->n; i++)
        if (same_test(&test, &a->points[i])) {
            a->points[i].state = AGAINST_FAILED;
            snprintf(a->points[i].why, sizeof a->points[i].why, "%s", why);
        }
}

double against_sum(struct against *a)
{
    double sum = 0;

    for (size_t i = 0; i < a->n; i++) {
        struct against_point *p = &a->points[i];
        if (p->state != AGAINST_MEASURED || p->unwanted)
            continue;
        if (p->part < 0) {
            double error = fabs(log(fmax(p->measured, LEAST) / p->published));
            p->part = p->weight * (a->knee > 0 ? a->knee * log1p(error / a->knee) : error);
        }
        sum += p->part;
    }
    return sum;
}

static bool exceeds(struct against *a, const struct bench *b, const struct against_limits *limits)
{
    uint64_t ns = fe_device_now(b->dev);

    if (b->off.dev)
        ns = fe_time_add(ns, fe_device_now(b->off.dev));
    return against_sum(a) > limits->sum || ns > limits->ns;
}

int against_run(struct against *a, const struct fe_profile *profile, uint64_t seed,
                const struct against_limits *limits, bool *ret_exceeded, struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = seed, .payload = false};
    struct bench b = {.env = {.sector_size = profile->device.sector_size}};
    int r = fe_device_create(&b.dev, profile, &opt, err);

    if (r < 0)
        return r;
    b.env.capacity = fe_device_capacity(b.dev);
    b.on = (struct subject){.dev = b.dev, .profile = profile, .seed = seed};
    for (size_t i = 0; i < a->n; i++)
        a->points[i].part = -1;
    for (size_t i = 0; i < a->n && r == 0 && is_asked(a, NULL) && !exceeds(a, &b, limits); i++) {
        struct against_point *p = &a->points[i];
        struct fe_err why;
        if (p->state != AGAINST_OPEN || (p->kind == AGAINST_SEQ_READ && !is_asked(a, p)))
            continue;
        fe_err_init(&why);
        r = run_test(a, p, &b, profile, seed, &why);
        if (r == -ECANCELED || r == -ENOMEM) {
            fe_err_set(err, -r, "%s", why.text);
        } else if (r < 0) {
            fail(a, p, why.text);
            r = 0;
        }
    }
    *ret_exceeded = exceeds(a, &b, limits);
    fe_device_destroy(b.on.laid_out);
    fe_device_destroy(b.off.laid_out);
    if (b.off.dev) {
        fe_device_destroy(b.off.dev);
        fe_profile_fini(&b.off_profile);
    }
    fe_device_destroy(b.dev);
    return r;
}
