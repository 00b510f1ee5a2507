/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passes are kept as sums since the beginning of each, and a pass is only as long as it must be.  A
 * trace that is longer than a pass makes passes of whole rounds: its parts may differ.
 */
#include "replay/repeat.h"

#include "base/guess.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct repeat_sum sum_now(const struct repeat *r, uint64_t requests)
{
    struct fe_stats s;
    struct fe_tally t;

    fe_device_get_stats(r->dev, &s);
    fe_device_get_tally(r->dev, &t);
    return (struct repeat_sum){.requests = requests,
                               .written = s.host[FE_REQ_WRITE].bytes,
                               .programmed = s.nand.bytes_programmed,
                               .erased = s.nand.block_erases,
                               .refreshed = t.refresh_erases,
                               .device_ns = s.device_ns};
}

static struct repeat_sum difference(const struct repeat_sum *a, const struct repeat_sum *b)
{
    return (struct repeat_sum){a->requests - b->requests, a->written - b->written,
                               a->programmed - b->programmed, a->erased - b->erased,
                               a->refreshed - b->refreshed, a->device_ns - b->device_ns};
}

int repeat_init(struct repeat *ret, const struct fe_device *dev, const char *what, uint64_t most,
                struct fe_err *err)
{
    const struct fe_profile *p = fe_device_profile(dev);

    *ret = (struct repeat){.dev = dev, .until_dead = strcmp(what, "dead") == 0, .most = most,
                           .n_blocks = fe_device_blocks(dev)};
    char guess[FE_GUESS_MAX];
    if (!ret->until_dead && strcmp(what, "steady") != 0)
        return fe_err_set(err, EINVAL, "--until %.80s: %sallowed: steady, dead", what,
                          fe_guess_word(what, strlen(what), "steady dead", guess));
    if (!fe_device_knows_valid(dev))
        return fe_err_set(err, EINVAL, "--until %s: the device has no chip that wears "
                                       "(ftl.type=step)", what);
    ret->pass_bytes = (uint64_t)p->nand.channels * p->nand.dies_per_channel *
                      p->nand.planes_per_die * p->nand.blocks_per_plane *
                      p->nand.pages_per_block * p->nand.page_size;
    ret->first = calloc(ret->n_blocks, sizeof *ret->first);
    ret->before = calloc(ret->n_blocks, sizeof *ret->before);
    ret->now = calloc(ret->n_blocks, sizeof *ret->now);
    ret->valid = calloc(ret->n_blocks, sizeof *ret->valid);
    if (!ret->first || !ret->before || !ret->now || !ret->valid) {
        repeat_fini(ret);
        return fe_err_nomem(err, "wear of blocks",
                            ret->n_blocks * (3 * sizeof *ret->now + sizeof *ret->valid));
    }
    repeat_begin(ret);
    return 0;
}

/* Bytes that the chip has programmed.  O(1), because it is asked after each round. */
static uint64_t programmed(const struct repeat *r)
{
    struct fe_tally t;

    fe_device_get_tally(r->dev, &t);
    return t.bytes_programmed;
}

void repeat_begin(struct repeat *r)
{
    r->begun = sum_now(r, 0);
    r->begun_at = programmed(r);
    fe_device_get_blocks(r->dev, r->first);
    fe_device_get_blocks(r->dev, r->before);
}

void repeat_fini(struct repeat *r)
{
    free(r->passes);
    free(r->first);
    free(r->before);
    free(r->now);
    free(r->valid);
    r->passes = NULL;
    r->first = r->before = r->now = NULL;
    r->valid = NULL;
}

/* The write amplification of `width` passes together, behind which `width` x `back` others follow. */
static double waf(const struct repeat *r, uint32_t width, uint32_t back)
{
    const struct repeat_sum *from = &r->passes[r->n_passes - width * (back + 1)];
    double programmed = 0, written = 0;

    for (uint32_t i = 0; i < width; i++) {
        programmed += (double)from[i].programmed;
        written += (double)from[i].written;
    }
    return programmed / written;
}

/* Whether the last passes differ from those `back` windows before by less than this share. */
static bool differs_less(const struct repeat *r, uint32_t width, uint32_t back, double share)
{
    double is = waf(r, width, 0), was = waf(r, width, back);
    return is < (1 + share) * was && is > (1 - share) * was;
}

/* How many of the last passes are steady together, 0 if they are not.  Two passes alone must agree
 * very well, because a device may only begin to clean.  A pass of a few rounds has one round more or
 * less than the one before, so passes may differ for ever where three thirds of all do not. */
static uint32_t steady_passes(const struct repeat *r)
{
    uint32_t third = r->n_passes ? (r->n_passes - 1) / 3 : 0;

    if (r->n_passes < 3)
        return r->n_passes == 2 && differs_less(r, 1, 1, 0.001);
    if (differs_less(r, 1, 1, 0.01) && differs_less(r, 1, 2, 0.02))
        return 1;
    return third > 1 && differs_less(r, third, 1, 0.01) && differs_less(r, third, 2, 0.02) ? third
                                                                                           : 0;
}

static bool is_dead(const struct repeat *r)
{
    struct fe_tally t;

    fe_device_get_tally(r->dev, &t);
    return t.condition != FE_COND_ALIVE;
}

/* Ends a pass if it is long enough, or if all ends. */
static int end_pass(struct repeat *r, uint64_t requests, bool all, struct fe_err *err)
{
    if (!all && programmed(r) - r->begun_at < r->pass_bytes)
        return 0;
    const struct repeat_sum now = sum_now(r, requests);
    struct repeat_sum pass = difference(&now, &r->begun);

    if (pass.written == 0)
        return 0;
    struct repeat_sum *grown = reallocarray(r->passes, r->n_passes + 1, sizeof *grown);
    if (!grown)
        return fe_err_nomem(err, "passes of the device", (r->n_passes + 1) * sizeof *grown);
    r->passes = grown;
    r->passes[r->n_passes++] = pass;
    r->begun = now;
    r->begun_at = programmed(r);
    if (r->n_passes == 1 && !all) {
        fe_device_get_blocks(r->dev, r->before);
        r->whole_from = r->rounds + (requests != r->round_ended);
    }
    return 0;
}

int repeat_look(struct repeat *r, uint64_t requests, bool may_cut, struct fe_err *err)
{
    bool dead = is_dead(r), out = requests >= r->most;
    int code = dead || out || may_cut ? end_pass(r, requests, dead || out, err) : 0;

    if (code < 0)
        return code;
    uint32_t together = dead || out ? 0 : steady_passes(r);
    r->together = together ? together : 1;
    r->reached = r->until_dead ? dead : together > 0;
    r->ended = dead || out || r->reached;
    if (r->ended) {
        fe_device_get_blocks(r->dev, r->now);
        if (fe_device_knows_valid(r->dev))
            fe_device_get_valid(r->dev, 0, r->n_blocks, r->valid);
    }
    return r->ended;
}

int repeat_round(struct repeat *r, uint64_t requests, struct fe_err *err)
{
    if (r->rounds == 0 && sum_now(r, requests).written == 0)
        return fe_err_set(err, EINVAL, "--until %s: the traces write nothing, so nothing wears",
                          r->until_dead ? "dead" : "steady");
    r->rounds++;
    r->round_ended = requests;
    return repeat_look(r, requests, true, err);
}

static json_t *passes_json(const struct repeat *r)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < r->n_passes; i++) {
        const struct repeat_sum *s = &r->passes[i];
        json_array_append_new(a, json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:I}", "requests", (json_int_t)s->requests, "host_bytes",
            (json_int_t)s->written, "programmed", (json_int_t)s->programmed, "erases",
            (json_int_t)s->erased, "refresh_erases", (json_int_t)s->refreshed, "device_ns",
            (json_int_t)s->device_ns));
    }
    return a;
}

struct count {
    bool slc, rests, old;
    uint32_t erases, fills;
};

static int by_count(const void *a, const void *b)
{
    const struct count *x = a, *y = b;
    if (x->slc != y->slc)
        return x->slc - y->slc;
    if (x->rests != y->rests)
        return x->rests - y->rests;
    if (x->old != y->old)
        return x->old - y->old;
    if (x->fills != y->fills)
        return x->fills > y->fills ? 1 : -1;
    return (x->erases > y->erases) - (x->erases < y->erases);
}

/* Whether a block that rests holds data that never change. */
static bool is_old(const struct repeat *r, uint32_t i)
{
    bool as_begun = r->first[i].programmed > 0 && r->now[i].cycles == r->first[i].cycles;
    return as_begun || (r->rounds > r->whole_from && r->n_passes > 1 && r->valid[i] > 0);
}

/* The blocks in use, each with the erases since the first pass. */
static uint32_t count_blocks(const struct repeat *r, struct count *counts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n_blocks; i++) {
        const struct fe_block_wear *b = &r->now[i];
        uint32_t erases = b->cycles - r->before[i].cycles;
        uint32_t fills = erases + (b->programmed > 0) - (r->before[i].programmed > 0);
        bool rests = erases == 0 && fills == 0;
        if (b->state == FE_BLOCK_USED)
            counts[n++] = (struct count){b->slc, rests, rests && is_old(r, i), erases, fills};
    }
    qsort(counts, n, sizeof *counts, by_count);
    return n;
}

/* How alike the erases of blocks were in the first pass and behind it, as a correlation: 1 if each
 * block keeps a rate of its own, about 0 if they differ by chance. */
static double likeness(const struct repeat *r)
{
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;

    for (uint32_t i = 0; i < r->n_blocks; i++) {
        double first = r->before[i].cycles - r->first[i].cycles;
        double later = r->now[i].cycles - r->before[i].cycles;
        if (r->now[i].state != FE_BLOCK_USED || later <= 0)
            continue;
        n++;
        x += first, xx += first * first;
        y += later, yy += later * later;
        xy += first * later;
    }
    double both = (n * xx - x * x) * (n * yy - y * y);
    return both > 0 ? (n * xy - x * y) / sqrt(both) : 0;
}

static json_t *blocks_json(const struct repeat *r)
{
    struct count *counts = calloc(r->n_blocks, sizeof *counts);
    json_t *a = counts ? json_array() : NULL;
    uint32_t n = a ? count_blocks(r, counts) : 0;

    for (uint32_t i = 0, from = 0; i < n; i++) {
        if (i + 1 < n && by_count(&counts[i], &counts[i + 1]) == 0)
            continue;
        json_array_append_new(a, json_pack(
            "{s:b, s:b, s:b, s:I, s:I, s:I}", "slc", counts[i].slc, "rests", counts[i].rests,
            "old", counts[i].old, "erases", (json_int_t)counts[i].erases, "fills",
            (json_int_t)counts[i].fills, "blocks", (json_int_t)(i + 1 - from)));
        from = i + 1;
    }
    free(counts);
    return a;
}

json_t *repeat_json(const struct repeat *r)
{
    uint32_t spares = 0;

    for (uint32_t i = 0; i < r->n_blocks; i++)
        spares += r->now[i].state == FE_BLOCK_SPARE;
    return json_pack("{s:s, s:b, s:I, s:I, s:I, s:o, s:I, s:f, s:o}", "until",
                     r->until_dead ? "dead" : "steady", "reached", r->reached, "rounds",
                     (json_int_t)r->rounds, "pass_bytes", (json_int_t)r->pass_bytes, "together",
                     (json_int_t)r->together, "passes", passes_json(r), "spares",
                     (json_int_t)spares, "likeness", likeness(r), "blocks", blocks_json(r));
}
