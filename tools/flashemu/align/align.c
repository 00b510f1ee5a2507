/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures what partition starts do, and draws the conclusion.  The idea is in align.h.
 */
#include "align/align.h"

#include "base/num.h"
#include "base/rng.h"
#include "flashemu/device.h"

#include <errno.h>
#include <math.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

/* A region holds several units of any usual stick.  A device that is too small gets a smaller
 * region. */
#define REGION     (64 * MIB)
#define MIN_REGION (256 * KIB)

/* The first time of a pattern ends after this many requests, or when the chip has read and
 * programmed this many pages. */
#define MAX_REQUESTS 4096u
#define MAX_PAGES    UINT64_C(50000)

/* Differences that matter; see align_is_good. */
#define GOOD_MEAN 0.95
#define GOOD_RATE 0.85

const struct align_pattern align_patterns[ALIGN_N_PATTERNS] = {
    {"sequential", 1 << 20}, {"sequential", 64 << 10}, {"sequential", 4 << 10},
    {"random", 64 << 10},    {"random", 4 << 10},
};

void align_usual_starts(const struct fe_profile *profile, uint64_t capacity,
                        struct align_result *ret)
{
    static const uint64_t usual[] = {63 * 512,  32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB,
                                     512 * KIB, MIB,      2 * MIB,  4 * MIB,   8 * MIB};
    uint64_t unit = profile->ftl.unit.unit_size;
    uint32_t n = 0;

    for (uint32_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (unit && unit < usual[i] && (n == 0 || ret->start[n - 1] < unit) &&
            unit <= capacity / 4)
            ret->start[n++] = unit;
        if (usual[i] <= capacity / 4 && usual[i] % profile->device.sector_size == 0)
            ret->start[n++] = usual[i];
    }
    if (unit > usual[9] && unit <= capacity / 4)
        ret->start[n++] = unit;
    ret->n_starts = n;
}

/* --- measuring --- */

struct run {
    struct fe_device *dev;
    const struct align_pattern *pattern;
    uint64_t start, region, seed;
    uint64_t n;   /* requests of the pattern so far, in this round */
    uint32_t round;
};

static int write_at(struct fe_device *dev, uint64_t offset, uint64_t len, struct fe_err *err)
{
    const struct fe_request req = {.type = FE_REQ_WRITE, .offset = offset, .len = len};
    struct fe_reply reply;

    if (fe_device_submit(dev, fe_device_now(dev), &req, &reply) < 0)
        return fe_err_set(err, EINVAL, "%llu bytes at offset %llu are not sectors of the device",
                          (unsigned long long)len, (unsigned long long)offset);
    if (reply.status != FE_OK && reply.status != FE_CORRECTED)
        return fe_err_set(err, EIO, "the device failed at offset %llu", (unsigned long long)offset);
    return 0;
}

static int write_next(struct run *r, struct fe_err *err)
{
    uint32_t bs = r->pattern->bs;
    uint64_t blocks = r->region / bs, n = r->n++;
    bool random = r->pattern->order[0] == 'r';
    uint64_t bits = fe_rng(r->seed + r->round, FE_RNG_WORKLOAD, n, bs);
    uint64_t block = random ? fe_rng_below(bits, blocks) : n % blocks;

    return write_at(r->dev, r->start + block * bs, bs, err);
}

/* Doubles the number of requests until that is enough. */
static int warm_up(struct run *r, struct fe_err *err)
{
    struct fe_stats before, now;
    int code = 0;

    fe_device_get_stats(r->dev, &before);
    for (uint64_t end = 16; code == 0; end *= 2) {
        while (code == 0 && r->n < end)
            code = write_next(r, err);
        fe_device_get_stats(r->dev, &now);
        if (end >= MAX_REQUESTS ||
            now.nand.page_reads + now.nand.page_programs - before.nand.page_reads -
                    before.nand.page_programs >= MAX_PAGES)
            break;
    }
    return code;
}

static int measure_pattern(struct run *r, struct align_round *ret, struct fe_err *err)
{
    struct fe_stats s;

    r->n = 0;
    int code = warm_up(r, err);
    fe_device_reset_stats(r->dev);
    uint64_t from_ns = fe_device_now(r->dev);
    for (uint64_t left = r->n; left > 0 && code == 0; left--)
        code = write_next(r, err);
    fe_device_get_stats(r->dev, &s);
    ret->bytes = s.host[FE_REQ_WRITE].bytes;
    ret->ns = fe_device_now(r->dev) - from_ns;
    ret->programmed = s.nand.bytes_programmed;
    return code;
}

static int measure_start(const struct fe_profile *profile, uint64_t seed, struct align_result *a,
                         uint32_t i, struct fe_err *err)
{
    const struct fe_device_options opt = {.seed = seed};
    uint64_t end = a->start[a->n_starts - 1] + a->region;
    struct run r = {.start = a->start[i], .region = a->region, .seed = seed};

    int code = fe_device_create(&r.dev, profile, &opt, err);
    if (code < 0)
        return code;
    for (uint64_t at = 0; at < end && code == 0; at += MIB)
        code = write_at(r.dev, at, fe_min_u64(MIB, end - at), err);
    for (uint32_t n = 0; n < ALIGN_N_ROUNDS * ALIGN_N_PATTERNS && code == 0; n++) {
        uint32_t p = n % ALIGN_N_PATTERNS;
        r.round = n / ALIGN_N_PATTERNS;
        r.pattern = &align_patterns[p];
        if (r.pattern->bs <= a->region)
            code = measure_pattern(&r, &a->cell[i][p].round[r.round], err);
    }
    fe_device_destroy(r.dev);
    return code;
}

int align_measure(const struct fe_profile *profile, uint64_t capacity, uint64_t seed,
                  struct align_result *a, struct fe_err *err)
{
    uint64_t last = a->start[a->n_starts - 1];
    int code = 0;

    if (last > capacity || capacity - last < MIN_REGION)
        return fe_err_set(err, EINVAL,
                          "a start of %llu bytes leaves less than %llu bytes of a device of %llu",
                          (unsigned long long)last, (unsigned long long)MIN_REGION,
                          (unsigned long long)capacity);
    a->region = fe_min_u64(REGION, (capacity - last) / MIN_REGION * MIN_REGION);
    for (uint32_t i = 0; i < a->n_starts && code == 0; i++)
        code = measure_start(profile, seed, a, i, err);
    return code;
}

/* --- the conclusion --- */

static struct align_round sum(const struct align_cell *c)
{
    struct align_round all = {0};
    for (uint32_t i = 0; i < ALIGN_N_ROUNDS; i++) {
        all.bytes += c->round[i].bytes;
        all.ns += c->round[i].ns;
        all.programmed += c->round[i].programmed;
    }
    return all;
}

double align_rate(const struct align_cell *c)
{
    struct align_round all = sum(c);
    return all.ns ? (double)all.bytes * 1e9 / (double)all.ns : (double)INFINITY;
}

double align_waf(const struct align_cell *c)
{
    struct align_round all = sum(c);
    return all.bytes ? (double)all.programmed / (double)all.bytes : 0;
}

/* How many bytes of the host a second gets done; without delays, a programmed byte.  1 if there
 * is neither. */
static double speed(const struct align_round *r)
{
    uint64_t cost = r->ns ? r->ns : r->programmed;
    return cost && r->bytes ? (double)r->bytes / (double)cost : 1;
}

enum take { ALL, BETTER, WORSE };

static double speed_of(const struct align_cell *c, enum take take)
{
    struct align_round all = sum(c);
    double a = speed(&c->round[0]), b = speed(&c->round[1]);
    return take == ALL ? speed(&all) : take == BETTER ? fmax(a, b) : fmin(a, b);
}

static double mean_speed(const struct align_cell *cells, enum take take)
{
    double logs = 0;
    for (uint32_t p = 0; p < ALIGN_N_PATTERNS; p++)
        logs += log(speed_of(&cells[p], take));
    return exp(logs / ALIGN_N_PATTERNS);
}

bool align_is_good(const struct align_result *a, uint32_t start)
{
    for (uint32_t i = 0; i < a->n_starts; i++) {
        if (mean_speed(a->cell[start], BETTER) < GOOD_MEAN * mean_speed(a->cell[i], WORSE))
            return false;
        for (uint32_t p = 0; p < ALIGN_N_PATTERNS; p++)
            if (speed_of(&a->cell[start][p], BETTER) < GOOD_RATE * speed_of(&a->cell[i][p], WORSE))
                return false;
    }
    return true;
}

/* Whether the good starts are the multiples of this one: all of them, and no other.  A start
 * without a larger multiple among the tested ones proves nothing. */
static bool is_rule(const struct align_result *a, uint32_t start)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n_starts; i++) {
        bool multiple = a->start[i] > 0 && a->start[i] % a->start[start] == 0;
        if (multiple != align_is_good(a, i))
            return false;
        n += multiple;
    }
    return n > 1;
}

/* The start with the best rate of a pattern. */
static uint32_t best_start(const struct align_result *a, uint32_t pattern)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < a->n_starts; i++)
        if (speed_of(&a->cell[i][pattern], ALL) > speed_of(&a->cell[best][pattern], ALL))
            best = i;
    return best;
}

struct align_advice align_advise(const struct align_result *a)
{
    struct align_advice v = {0};
    double lowest = INFINITY;

    for (uint32_t i = 0; i < a->n_starts; i++) {
        if (a->start[i] > 0 && !v.multiple && is_rule(a, i))
            v.multiple = a->start[i];
        v.matters |= !align_is_good(a, i);
        if (mean_speed(a->cell[i], ALL) > mean_speed(a->cell[v.best], ALL))
            v.best = i;
    }
    for (uint32_t p = 0; p < ALIGN_N_PATTERNS; p++) {
        uint32_t best = best_start(a, p);
        for (uint32_t i = 0; i < a->n_starts; i++) {
            double share = speed_of(&a->cell[i][p], ALL) / speed_of(&a->cell[best][p], ALL);
            if (share < lowest) {
                lowest = share;
                v.worst_start = i;
                v.worst_pattern = p;
                v.best_for_worst = best;
            }
        }
    }
    return v;
}
