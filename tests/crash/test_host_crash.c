/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Crashes of the host under an image with sync=flush, alone and together with power cuts.
 *
 * A device works on an image through a host that remembers what it has not synced.  Then the host
 * goes down: the disk has any of the versions of each sector of the file that was written since the
 * last fdatasync.  The next device must start, return for each sector of the device the version
 * that was promised last or a later one, and keep its invariants.  Then all of this is repeated
 * with that device.
 *
 *     work ... [cut [power on, work ...] ...] X  mend X mend  verify, flush, work ...
 *         ^sync of another client   ^           X: the host goes down
 *
 * Or the server ends, or is killed, and the host stays up: then all is there that was answered, and the
 * start of the next server is a sync.  Now and then a server without `sync` comes in between.
 *
 * What is drawn:
 *   - the chip, which may wear out; the strategy's parameters; and the cache: none, volatile or
 *     kept, written out when idle or not, with writes behind or not (devices.c);
 *   - when requests come: after the answer to the one before, before it, or after a pause;
 *   - syncs of flushes, of writes with FUA and of other clients: whole, or with any work and any cut
 *     between their beginning and their end;
 *   - the instant of a cut: any, or in the middle of an erase;
 *   - what comes between the cut and the crash: nothing, work with power, or another cut, also
 *     before power-on is complete;
 *   - when the host goes down: between two requests, or after any change that a request, a sync, a
 *     cut, a power-on or a mending makes to the file, again and again;
 *   - whether bits of pages flip, so that blocks are dated and refreshed; from one server to the next.
 *
 * Blocks of the image are given back to the host as soon as they may be.
 *
 *     test_host_crash [SEED:GEOMETRY:STRATEGY...]     runs these cases alone
 */
#include "crash/bench.h"
#include "lib/cases.h"
#include "lib/fault_io.h"
#include "lib/other_host.h"

#include "device/internal.h"
#include "store/image.h"
#include "store/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SECTOR = 512, ROUNDS = 8, STEPS = 120, EVENTS = 4 * STEPS, MAX_LEN = 64 };

/* A request of this round, in the order of arrival. */
struct event {
    struct fe_request req;
    uint32_t version; /* 0: zeros */
    uint64_t arrival_ns, complete_ns;
    bool answered;    /* power did not fail before the answer */
    bool synced;      /* a sync that began after it has ended well */
};

struct bench {
    char path[64], id[64], wrong[512];
    struct ft_io host;
    struct ft_rand rand;
    struct fe_profile profile;
    struct fe_device *dev;
    uint32_t n_sectors, version;
    uint32_t *flushed;           /* per sector: the version that the round began with */
    uint8_t *buf;                /* all sectors */
    bool *may_be;                /* per sector */
    struct event events[EVENTS];
    uint32_t n_events;
    bool over;                   /* no spare block is left: the chip takes no writes any more */
    bool was_cut;                /* in this round */
    bool sync_runs;              /* it has begun, and has not ended */
    struct fe_store_sync sync;
    int sync_result;
    uint32_t sync_events;        /* so many events had come when it began */
    uint64_t erase_from_ns, erase_to_ns; /* of the latest erase */
};

static struct counts {
    uint64_t cases, crashes, cuts, in_erase, at_power_on, across, down, mendings, kills, ends, unsynced;
} counts;

static bool complain(struct bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool complain(struct bench *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(b->wrong, sizeof b->wrong, fmt, ap);
    va_end(ap);
    return false;
}

static bool is_down(const struct bench *b)
{
    return b->host.changes_left == 0;
}

/* ---- the device ---- */

/* Bits of pages flip, and never more of them than the code corrects; or none do. */
static void draw_flips(struct bench *b)
{
    bool flips = ft_chance(&b->rand, 30);
    b->profile.wear.ber.fresh = flips ? 20000000 : 0;
    b->profile.wear.correctable_bits = 24;
    b->profile.wear.refresh_bits = flips ? 2 : 0;
    b->profile.wear.codeword_size = SECTOR;
}

/* The host may go down meanwhile; then there may be no device. */
static bool open_device(struct bench *b, bool sync)
{
    struct fe_err err = {""};
    struct fe_store_file file = {.path = b->path, .sync = sync, .io = &b->host.io};
    struct fe_device_options opt = {
        .seed = 1, .payload = true, .file = &file, .power_cuts = true};
    draw_flips(b);
    int r = fe_device_create(&b->dev, &b->profile, &opt, &err);
    if (r < 0)
        b->dev = NULL;
    if (r == 0 && b->dev->store->warm.n == 0)
        b->dev->store->warm.n_max = 1; /* blocks are given back at once */
    if (r == 0 && !is_down(b))
        r = fe_device_check(b->dev, &err);
    return r == 0 || is_down(b) ? true : complain(b, "no device (%d): %s", r, err.text);
}

static void close_device(struct bench *b)
{
    fe_device_destroy(b->dev);
    b->dev = NULL;
    b->sync_runs = false;
}

/* ---- syncs ---- */

static bool sync_end(struct bench *b)
{
    if (!b->sync_runs)
        return true;
    b->sync_runs = false;
    if (fe_device_sync_end(b->dev, b->sync, b->sync_result) < 0)
        return is_down(b) ? true : complain(b, "the sync has failed");
    for (uint32_t i = 0; i < b->sync_events; i++)
        b->events[i].synced = true;
    return true;
}

/* The server answers a request that needs a sync after one that began after the request.  The disk
 * gets nothing of what other clients write until it ends. */
static bool sync_device(struct bench *b)
{
    if (!sync_end(b))
        return false;
    b->sync = fe_device_sync_begin(b->dev);
    b->sync_events = b->n_events;
    b->sync_result = fe_device_sync_run(b->dev);
    b->sync_runs = true;
    return ft_chance(&b->rand, 50) || sync_end(b);
}

static bool sync_of_another(struct bench *b)
{
    return b->sync_runs ? sync_end(b) : sync_device(b);
}

/* ---- requests ---- */

static void fill(uint8_t *buf, uint32_t s, uint32_t version)
{
    uint32_t words[2] = {s, version};
    for (uint32_t i = 0; i < SECTOR; i += 8)
        memcpy(buf + i, words, 8);
    if (version == 0)
        memset(buf, 0, SECTOR);
}

/* After the last answer, before it, or after a pause. */
static uint64_t choose_time(struct bench *b)
{
    uint64_t kind = ft_below(&b->rand, 100);
    if (kind < 20)
        return b->dev->last_arrival_ns;
    return fe_device_now(b->dev) + (kind < 30 ? ft_below(&b->rand, 30000000) : 0);
}

static bool submit(struct bench *b, struct event *e)
{
    struct fe_reply reply;
    if (fe_device_submit(b->dev, choose_time(b), &e->req, &reply) < 0)
        return complain(b, "request %d is refused", e->req.type);
    b->over = b->dev->medium->eol;
    if (reply.status > FE_CORRECTED && !b->over && !(reply.status == FE_HOST_FAILED && is_down(b)))
        return complain(b, "request %d: status %d", e->req.type, reply.status);
    e->answered = reply.status <= FE_CORRECTED;
    e->arrival_ns = reply.arrival_ns;
    e->complete_ns = reply.complete_ns;
    b->n_events++;
    bool sync = e->answered && (e->req.type == FE_REQ_FLUSH || e->req.fua);
    return !sync || sync_device(b);
}

static bool flush(struct bench *b)
{
    struct event *e = &b->events[b->n_events];
    *e = (struct event){.req = {.type = FE_REQ_FLUSH}};
    return submit(b, e);
}

static bool write_or_trim(struct bench *b)
{
    struct ft_rand *r = &b->rand;
    bool trim = b->profile.device.discard && ft_chance(r, 10);
    uint64_t kind = ft_below(r, 100);
    uint32_t first = (uint32_t)ft_below(r, kind < 40 ? 12 : b->n_sectors);
    uint32_t n = (uint32_t)ft_between(r, 1, kind >= 75 ? MAX_LEN : 4);
    n = n < b->n_sectors - first ? n : b->n_sectors - first;
    struct event *e = &b->events[b->n_events];
    *e = (struct event){.version = trim ? 0 : ++b->version,
                        .req = {.type = trim ? FE_REQ_TRIM : FE_REQ_WRITE, .buf = b->buf,
                                .offset = (uint64_t)first * SECTOR, .len = (uint64_t)n * SECTOR,
                                .fua = ft_chance(r, 6)}};
    for (uint32_t i = 0; i < n; i++)
        fill(b->buf + i * SECTOR, first + i, e->version);
    return submit(b, e);
}

static bool step(struct bench *b)
{
    uint64_t kind = ft_below(&b->rand, 100);
    return kind < 5 ? flush(b) : kind < 12 ? sync_of_another(b) : write_or_trim(b);
}

static bool work(struct bench *b, uint64_t max)
{
    bool ok = true;
    for (uint64_t n = ft_below(&b->rand, max); ok && n > 0 && !is_down(b) && !b->over; n--)
        ok = step(b);
    return ok;
}

/* ---- what is promised ---- */

/* Answered, and on the flash; and the sync of its own, or of the flush, has ended. */
static bool is_promised(const struct bench *b, uint32_t i)
{
    const struct event *e = &b->events[i];
    if (e->answered && e->synced && e->req.fua)
        return true;
    for (uint32_t k = i + 1; k < b->n_events; k++) {
        const struct event *f = &b->events[k];
        if (e->answered && f->req.type == FE_REQ_FLUSH && f->answered && f->synced &&
            e->complete_ns <= f->arrival_ns)
            return true;
    }
    return false;
}

/* Everything that the device holds is read into buf, and is allowed. */
static bool verify(struct bench *b)
{
    struct fe_request req = {
        .type = FE_REQ_READ, .len = (uint64_t)b->n_sectors * SECTOR, .buf = b->buf};
    struct fe_reply reply;
    uint8_t want[SECTOR];
    if (fe_device_submit(b->dev, fe_device_now(b->dev), &req, &reply) < 0 ||
        reply.status > FE_CORRECTED)
        return complain(b, "reading everything: status %d", reply.status);
    for (uint32_t s = 0; s < b->n_sectors; s++) {
        fill(want, s, b->flushed[s]);
        b->may_be[s] = memcmp(want, b->buf + s * SECTOR, SECTOR) == 0;
    }
    for (uint32_t i = 0; i < b->n_events; i++) {
        const struct event *e = &b->events[i];
        bool promised = is_promised(b, i);
        uint32_t first = (uint32_t)(e->req.offset / SECTOR), n = (uint32_t)(e->req.len / SECTOR);
        for (uint32_t s = first; s < first + n; s++) {
            fill(want, s, e->version);
            b->may_be[s] = (b->may_be[s] && !promised) ||
                           memcmp(want, b->buf + s * SECTOR, SECTOR) == 0;
        }
    }
    for (uint32_t s = 0; s < b->n_sectors; s++) {
        uint32_t words[2];
        memcpy(words, b->buf + s * SECTOR, 8);
        if (!b->may_be[s])
            return complain(b, "sector %u is (%u, %u), which was overwritten or never written", s,
                            words[0], words[1]);
    }
    return true;
}

/* From now on nothing may be there but what was read last. */
static void begin_events(struct bench *b)
{
    for (uint32_t s = 0; s < b->n_sectors; s++)
        memcpy(&b->flushed[s], b->buf + s * SECTOR + 4, sizeof b->flushed[s]);
    b->n_events = 0;
    b->sync_events = 0;
    b->was_cut = false;
}

/* What is there is read and flushed. */
static bool pin(struct bench *b)
{
    if (!verify(b) || !flush(b) || !sync_end(b))
        return false;
    if (!b->events[b->n_events - 1].synced)
        return true; /* the host is down */
    begin_events(b);
    fe_device_idle(b->dev, fe_device_now(b->dev)); /* no cut comes before the flush has ended */
    return true;
}

/* ---- disasters ---- */

static void note_erase(void *ctx, const struct fe_op *ops, uint32_t n)
{
    struct bench *b = ctx;
    for (uint32_t i = 0; i < n; i++)
        if (ops[i].kind == FE_OP_ERASE && ops[i].end_ns > ops[i].start_ns) {
            b->erase_from_ns = ops[i].start_ns;
            b->erase_to_ns = ops[i].end_ns;
        }
}

/* Now and then the host will go down in what comes next. */
static void threaten(struct bench *b, uint32_t percent)
{
    if (!is_down(b) && ft_chance(&b->rand, percent))
        b->host.changes_left = ft_between(&b->rand, 1, ft_chance(&b->rand, 50) ? 10 : 80);
}

static bool cut(struct bench *b, uint64_t from_ns, uint64_t to_ns)
{
    struct fe_err err = {""};
    uint64_t at_ns = ft_between(&b->rand, from_ns, to_ns);
    if (b->erase_from_ns >= from_ns && b->erase_to_ns <= to_ns && ft_chance(&b->rand, 50)) {
        at_ns = b->erase_from_ns + (b->erase_to_ns - b->erase_from_ns) / 2;
        counts.in_erase++;
    }
    for (uint32_t i = 0; i < b->n_events; i++)
        b->events[i].answered &= b->events[i].complete_ns <= at_ns;
    counts.cuts++;
    counts.across += b->sync_runs;
    b->was_cut = true;
    threaten(b, 15);
    if (fe_device_cut_power(b->dev, at_ns, &err) < 0)
        return complain(b, "power cut: %s", err.text);
    return ft_chance(&b->rand, 50) || sync_end(b);
}

/* Between the last arrival and the end of everything. */
static bool cut_anywhere(struct bench *b)
{
    struct fe_device *dev = b->dev;
    if (ft_chance(&b->rand, 40) && !sync_of_another(b))
        return false;
    return cut(b, dev->last_arrival_ns, fe_max_u64(dev->now_ns, dev->busy_until_ns) + 1);
}

static bool power_on(struct bench *b, bool *ret_cut_again)
{
    struct fe_err err = {""};
    uint64_t now_ns = b->dev->last_arrival_ns, ready_ns;
    threaten(b, 15);
    *ret_cut_again = false;
    if (fe_device_power_on(b->dev, now_ns, &ready_ns, &err) < 0)
        return is_down(b) ? true : complain(b, "power-on: %s", err.text);
    if (is_down(b))
        return true;
    if (fe_device_check(b->dev, &err) < 0)
        return complain(b, "after power-on: %s", err.text);
    if (ft_chance(&b->rand, 40) && !sync_of_another(b))
        return false;
    if (!ft_chance(&b->rand, 50))
        return true;
    *ret_cut_again = true;
    counts.at_power_on += ready_ns > now_ns;
    return cut(b, now_ns, ready_ns);
}

/* Power fails, and may come back and fail again. */
static bool cuts(struct bench *b)
{
    bool again = true, ok = cut_anywhere(b);
    while (ok && again && !is_down(b) && ft_chance(&b->rand, 60))
        ok = power_on(b, &again);
    if (!ok || again || is_down(b))
        return ok;
    return pin(b) && work(b, STEPS / 2) &&
           (is_down(b) || ft_chance(&b->rand, 50) || cut_anywhere(b));
}

static void crash(struct bench *b)
{
    counts.crashes++;
    counts.down += is_down(b);
    close_device(b);
    b->host.changes_left = UINT64_MAX;
    ft_io_crash(&b->host, b->path, ft_rand(&b->rand));
    ft_pretend_another_host(b->path);
}

/* Starts after a crash, which may come again before the device is ready. */
static bool mend(struct bench *b)
{
    bool ok = true;
    while (ok && ft_chance(&b->rand, 50)) {
        threaten(b, 70);
        ok = open_device(b, true);
        counts.mendings++;
        if (ok)
            crash(b);
    }
    return ok && open_device(b, true);
}

/* The server ends or is killed, and the next one starts.  All is there that was answered, unless power was
 * cut. */
static bool serve_again(struct bench *b, bool sync)
{
    struct fe_err err = {""};
    bool ends = ft_chance(&b->rand, 50);
    for (uint32_t i = 0; i < b->n_events && !b->was_cut; i++)
        b->events[i].synced = b->events[i].req.fua = true;
    if (!sync_end(b) || (ends && fe_device_close(b->dev, &err) < 0))
        return complain(b, "the end: %s", err.text);
    *(ends ? &counts.ends : &counts.kills) += 1;
    counts.unsynced += !sync;
    close_device(b);
    if (!open_device(b, sync) || !verify(b))
        return false;
    if (fe_device_is_volatile(b->dev))
        return pin(b); /* a power cut may take what has survived the server */
    begin_events(b);
    return true;
}

/* The host stays up until a server that syncs has started. */
static bool serve_without_crash(struct bench *b)
{
    if (ft_chance(&b->rand, 40) && (!serve_again(b, false) || !work(b, STEPS / 2)))
        return false;
    return b->over || serve_again(b, true);
}

static bool run_round(struct bench *b)
{
    fe_device_observe(b->dev, note_erase, b);
    threaten(b, 10);
    if (!work(b, STEPS) || (!is_down(b) && ft_chance(&b->rand, 70) && !cuts(b)))
        return false;
    b->host.changes_left = is_down(b) ? 0 : UINT64_MAX;
    if (!is_down(b) && !b->over && ft_chance(&b->rand, 35))
        return serve_without_crash(b);
    crash(b);
    return mend(b) && pin(b);
}

/* ---- cases ---- */

static bool begin(struct bench *b)
{
    ft_crash_image_path(b->path);
    ft_io_init(&b->host);
    if (!open_device(b, true))
        return false;
    b->host.log = true;
    b->n_sectors = (uint32_t)(fe_device_capacity(b->dev) / SECTOR);
    b->buf = malloc((size_t)(b->n_sectors + MAX_LEN) * SECTOR);
    b->flushed = calloc(b->n_sectors, sizeof *b->flushed);
    b->may_be = malloc(b->n_sectors * sizeof *b->may_be);
    if (!b->buf || !b->flushed || !b->may_be)
        abort();
    return true;
}

static void end(struct bench *b)
{
    close_device(b);
    ft_io_fini(&b->host);
    free(b->buf);
    free(b->flushed);
    free(b->may_be);
    unlink(b->path);
}

/* Without what lets a cut or a trim lose more than what is not promised. */
static bool make_profile(struct bench *b, uint64_t seed, uint32_t geometry, uint32_t type)
{
    if (!ft_crash_profile(&b->profile, seed, geometry, type))
        return false;
    b->profile.power.partner_ppm = 0;
    b->profile.ftl.trim_lost = false;
    b->profile.cache.volatile_ = seed % 2;
    b->profile.cache.write_behind *= seed % 2; /* behind a cache that is kept nothing is */
    b->profile.wear.end_of_life = FE_EOL_READ_ONLY;
    b->profile.wear.program_fail_ppm /= 8; /* that the spare blocks last for some rounds */
    b->profile.wear.erase_fail_ppm /= 8;
    return true;
}

/* Returns 0, or 1 if the case failed. */
static int run_case(struct bench *b, uint64_t seed, uint32_t geometry, uint32_t type)
{
    memset(b, 0, sizeof *b);
    snprintf(b->id, sizeof b->id, "%" PRIu64 ":%u:%s", seed, geometry,
             fe_ftl_registry[type]->name);
    b->rand = (struct ft_rand){.seed = fe_rng(seed, FE_RNG_TEST, geometry, type + 56)};
    if (!make_profile(b, seed, geometry, type))
        return 0;
    bool ok = begin(b);
    for (int round = 0; ok && !b->over && round < ROUNDS; round++)
        ok = run_round(b);
    counts.cases++;
    end(b);
    if (!ok)
        fprintf(stderr, "FAILED %s: %s\n", b->id, b->wrong);
    return !ok;
}

static bool run_named(struct bench *b, const char *id, int *failed)
{
    uint64_t seed;
    uint32_t geometry, type;
    const char *more = ft_case_parse(id, &seed, &geometry, &type);
    if (!more || *more)
        return false;
    *failed += run_case(b, seed, geometry, type);
    return true;
}

int main(int argc, char **argv)
{
    uint32_t seeds = ft_seeds(3, 400);
    struct bench *b = malloc(sizeof *b);
    int failed = 0;
    if (!b)
        abort();
    for (int i = 1; i < argc; i++)
        if (!run_named(b, argv[i], &failed)) {
            fprintf(stderr, "usage: %s [SEED:GEOMETRY:STRATEGY...]\n", argv[0]);
            return 2;
        }
    for (uint32_t seed = 1; seed <= seeds && argc == 1; seed++)
        for (uint32_t geometry = 0; geometry < FT_CRASH_GEOMETRIES; geometry++)
            for (uint32_t type = 0; fe_ftl_registry[type]; type++)
                if (!fe_ftl_registry[type]->no_medium)
                    failed += run_case(b, seed, geometry, type);
    free(b);
    printf("%" PRIu64 " cases, %" PRIu64 " crashes (%" PRIu64 " in the middle of a change), %" PRIu64
           " mendings cut short, %" PRIu64 " power cuts (%" PRIu64 " in an erase, %" PRIu64
           " at power-on, %" PRIu64 " in a sync), %" PRIu64 " kills and %" PRIu64 " ends (%" PRIu64
           " before a server without sync), %d failed\n",
           counts.cases, counts.crashes, counts.down, counts.mendings, counts.cuts, counts.in_erase,
           counts.at_power_on, counts.across, counts.kills, counts.ends, counts.unsynced, failed);
    bool all = argc > 1 || (counts.in_erase && counts.at_power_on && counts.across && counts.down &&
                            counts.mendings && counts.kills && counts.ends && counts.unsynced);
    return failed > 0 || counts.cases == 0 || !all;
}
