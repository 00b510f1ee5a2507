/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which test measures in virtual time what a benchmark has printed.
 *
 * dd and hdparm -t go through the page cache unless dd was told otherwise.  Its requests are assumed
 * to be 128 KiB (Linux' read ahead) when it reads and 1 MiB when it writes.  hdparm reads for 3 s.
 *
 * fio and iozone work on a file, which is assumed to lie in one piece at the device's start, as for
 * the procedures of the same names (fio.c).  What they send past the page cache is the same load as
 * that of any other benchmark.  So is what is synced behind each write: the page cache has nothing
 * to join.
 */
#include "verify/against/take.h"

#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

enum { READ_AHEAD = 128 << 10, WRITE_BACK = 1 << 20, HDPARM_SECONDS = 3, PAGE = 4096 };

#define MAX_BLOCKS (UINT64_C(1) << 20)
#define FIO_FILE (UINT64_C(256) << 20) /* where nobody says how large it was */

static bool has(const struct against_point *p, const char *key)
{
    return json_object_get(p->parameters, key) != NULL;
}

int against_take_dd(struct against_point *p, const char *path, struct fe_err *err)
{
    const char *on = json_string_value(json_object_get(p->parameters, "on"));
    uint32_t op = 0, sync = 0;
    uint64_t bs = 0;
    bool direct = false;
    int r = against_get_word(p, path, "op", "read write unknown", &op, err);

    if (r == 0)
        r = against_get_size(p, path, "bytes", 1, &p->size, err);
    if (r == 0)
        r = against_may_get_size(p, path, "offset", 0, &p->start, err);
    if (r == 0)
        r = against_may_get_size(p, path, "bs", 1, &bs, err);
    if (r == 0)
        r = against_may_get_flag(p, path, "direct", &direct, err);
    if (r == 0 && has(p, "sync"))
        r = against_get_word(p, path, "sync", "sync dsync", &sync, err);
    if (r == 0)
        r = against_may_get_flag(p, path, "end_fsync", &p->flush, err);
    p->sync_every = has(p, "sync");
    bool by_bs = direct || p->sync_every;
    p->bs = by_bs && bs ? bs : op == 1 ? WRITE_BACK : READ_AHEAD;
    p->size -= p->size % 512;
    against_name_seq(p, op == 1);
    if (r == 0 && (op == 2 || !on || strcmp(on, "device") != 0 || p->size == 0))
        against_leave(p, "needs to be a read or write of the device itself");
    else if (r == 0 && by_bs && !bs)
        against_leave(p, "has requests of a size that nobody has said");
    return r;
}

int against_take_hdparm(struct against_point *p, const char *path, struct fe_err *err)
{
    double bytes = HDPARM_SECONDS * p->published;

    (void)path;
    (void)err;
    p->bs = READ_AHEAD;
    p->size = bytes < (double)AGAINST_MAX_BYTES ? (uint64_t)bytes / READ_AHEAD * READ_AHEAD : 0;
    against_name_seq(p, false);
    if (p->size == 0)
        against_leave(p, "is too slow or too fast a rate to be one");
    return 0;
}

static void name_load(struct against_point *p)
{
    p->kind = AGAINST_LOAD;
    snprintf(p->test, sizeof p->test, "load %u %u %llu %llu %llu %u %u%u%u %llu %llu %llu", p->op,
             p->random, (unsigned long long)p->bs, (unsigned long long)p->size,
             (unsigned long long)p->start, p->depth, p->flush, p->may_shrink, p->queue_off,
             (unsigned long long)p->sync_every, (unsigned long long)p->gap,
             (unsigned long long)p->page);
}

/* Whether the host uses the card's queue and cache.  If nobody says so, the profile decides. */
static int may_get_queue(struct against_point *p, const char *path, struct fe_err *err)
{
    bool queue = true;
    int r = against_may_get_flag(p, path, "queue", &queue, err);

    p->queue_off = !queue;
    return r;
}

/* The size of the region, or what stands for it. */
static int get_region(struct against_point *p, const char *path, struct fe_err *err)
{
    p->may_shrink = !has(p, "size");
    p->size = FIO_FILE;
    int r = against_may_get_size(p, path, "size", 1, &p->size, err);
    return r == 0 ? against_may_get_size(p, path, "offset", 0, &p->start, err) : r;
}

/* The load of `jobs` processes with `depth` requests in flight each, or why that is none.  Each has
 * a file of `size` bytes of its own, unless they share one. */
static void take_jobs(struct against_point *p, bool direct, bool shared, uint64_t jobs,
                      uint64_t depth)
{
    uint64_t size = p->size, files = shared ? 1 : jobs;

    p->size = files <= AGAINST_MAX_BYTES / size ? files * size : AGAINST_MAX_BYTES;
    p->depth = AGAINST_MAX_DEPTH;
    if (!direct)
        against_leave(p, "went through the page cache");
    else if (jobs > 1 && !p->random)
        against_leave(p, "is of several files at the same time, each in order");
    else if (depth > AGAINST_MAX_DEPTH || jobs > AGAINST_MAX_DEPTH / depth)
        against_leave(p, "has more than 64 requests in flight");
    else if (p->sync_every && jobs * depth > 1)
        against_leave(p, "has syncs with more than one request in flight");
    else if (p->size < p->bs || p->size / p->bs > MAX_BLOCKS)
        against_leave(p, "has none or more than 1048576 requests");
    else
        p->depth = (uint32_t)(jobs * depth);
    name_load(p);
}

/* A benchmark on a region: requests in order or in random order, some of them in flight. */
int against_take_load(struct against_point *p, const char *path, struct fe_err *err)
{
    uint32_t op = 0, random = 0;
    uint64_t depth = 1, jobs = 1;
    int r = against_get_word(p, path, "op", "read write", &op, err);

    if (r == 0)
        r = against_get_word(p, path, "pattern", "sequential random", &random, err);
    if (r == 0)
        r = against_get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = get_region(p, path, err);
    if (r == 0)
        r = against_may_get_size(p, path, "depth", 1, &depth, err);
    if (r == 0)
        r = against_may_get_size(p, path, "jobs", 1, &jobs, err);
    if (r == 0)
        r = may_get_queue(p, path, err);
    if (r == 0 && (p->size < p->bs || p->size / p->bs > MAX_BLOCKS))
        r = against_bad(err, path, "size", "1 to 1048576 requests of bs");
    p->op = op == 1 ? FE_REQ_WRITE : FE_REQ_READ;
    p->random = random == 1;
    p->what = strcmp(p->unit, "ns") == 0 ? AGAINST_LATENCY : AGAINST_RATE;
    if (r == 0)
        take_jobs(p, true, true, jobs, depth);
    return r;
}

/* --- fio --- */

/* What decides about an fio point besides its load. */
struct fio_manner {
    bool direct, shared;
    uint64_t jobs, depth, fsync, fdatasync;
};

static int get_fio(struct against_point *p, const char *path, struct fio_manner *m,
                   struct fe_err *err)
{
    uint32_t sync = 0;
    int r = against_get_size(p, path, "depth", 1, &m->depth, err);

    if (r == 0)
        r = against_get_size(p, path, "jobs", 1, &m->jobs, err);
    if (r == 0)
        r = against_may_get_flag(p, path, "direct", &m->direct, err);
    if (r == 0)
        r = against_may_get_flag(p, path, "shared", &m->shared, err);
    if (r == 0)
        r = may_get_queue(p, path, err);
    if (r == 0)
        r = against_may_get_size(p, path, "gap", 1, &p->gap, err);
    if (r == 0)
        r = against_may_get_size(p, path, "fsync", 1, &m->fsync, err);
    if (r == 0)
        r = against_may_get_size(p, path, "fdatasync", 1, &m->fdatasync, err);
    if (r == 0 && has(p, "sync"))
        r = against_get_word(p, path, "sync", "sync dsync", &sync, err);
    if (r == 0)
        r = against_may_get_flag(p, path, "end_fsync", &p->flush, err);
    return r == 0 ? get_region(p, path, err) : r;
}

/* Syncs behind writes, and which figure of the load the point is. */
static void take_syncs(struct against_point *p, struct fio_manner *m)
{
    bool synced = has(p, "sync"), of_sync = strcmp(p->procedure, "fio-sync-latency") == 0;

    p->sync_every = synced ? 1 : m->fsync ? m->fsync : m->fdatasync;
    p->what = strcmp(p->unit, "ns") != 0 ? AGAINST_RATE
              : of_sync                  ? AGAINST_SYNC
              : synced                   ? AGAINST_LATENCY_SYNCED
                                         : AGAINST_LATENCY;
    if (p->op != FE_REQ_WRITE || p->sync_every != 1 || m->direct)
        return;
    /* Behind each write the page cache is empty again, so the device sees what it would see without
     * it, but whole pages; and a write itself has not waited. */
    m->direct = p->what != AGAINST_LATENCY;
    p->page = p->bs % PAGE != 0 ? PAGE : 0;
    if (p->what == AGAINST_SYNC)
        p->what = AGAINST_SYNC_AND_WRITES;
}

/* Why nothing here repeats a point; NULL if something does. */
static const char *fio_reason(const struct against_point *p, uint32_t op)
{
    bool in_time = strcmp(p->unit, "ns") == 0;

    return op == 2                  ? "is about TRIM"
           : has(p, "share")        ? "is one side of a mixed job"
           : has(p, "sizes")        ? "has requests of several sizes"
           : has(p, "distribution") ? "has places of an uneven distribution"
           : has(p, "percent")      ? "is about a part of a device or file of unknown size"
           : has(p, "beside")       ? "was measured beside another load"
           : has(p, "rate")         ? "sent its requests at a rate"
           : p->what >= AGAINST_SYNC && !p->sync_every
                                    ? "does not say behind how many writes it synced"
           : in_time && p->sync_every && !has(p, "direct") && !has(p, "sync")
                                    ? "does not say whether it went through the page cache"
                                    : NULL;
}

/* fio.  Whoever says nothing about the page cache is taken to have gone past it. */
int against_take_fio(struct against_point *p, const char *path, struct fe_err *err)
{
    struct fio_manner m = {.direct = true, .jobs = 1, .depth = 1};
    uint32_t op = 0, random = 0;
    int r = against_get_word(p, path, "op", "read write trim", &op, err);

    p->bs = 1;
    if (r == 0)
        r = against_get_word(p, path, "pattern", "sequential random", &random, err);
    if (r == 0 && !has(p, "sizes"))
        r = against_get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = get_fio(p, path, &m, err);
    if (r < 0)
        return r;
    p->op = op == 1 ? FE_REQ_WRITE : FE_REQ_READ;
    p->random = random == 1;
    take_syncs(p, &m);
    take_jobs(p, m.direct, m.shared, m.jobs, m.depth);
    const char *why = fio_reason(p, op);
    if (why)
        against_leave(p, why);
    else if (p->gap && p->random)
        against_leave(p, "leaves out bytes between requests in random order");
    return 0;
}

/* --- iozone --- */

int against_take_iozone(struct against_point *p, const char *path, struct fe_err *err)
{
    static const char tests[] = "write rewrite random-write read reread random-read backward-read "
                                "record-rewrite stride-read fwrite frewrite fread freread";
    enum { RANDOM_WRITE = 2, READ = 3, RANDOM_READ = 5 }; /* places in tests */
    uint32_t test = 0, sync = 0;
    uint64_t jobs = 1;
    bool direct = false, fsync = false;
    int r = against_get_word(p, path, "test", tests, &test, err);

    if (r == 0)
        r = against_get_size(p, path, "file", 1, &p->size, err);
    if (r == 0)
        r = against_get_size(p, path, "bs", 1, &p->bs, err);
    if (r == 0)
        r = against_may_get_size(p, path, "jobs", 1, &jobs, err);
    if (r == 0)
        r = against_may_get_flag(p, path, "direct", &direct, err);
    if (r == 0)
        r = against_may_get_flag(p, path, "fsync", &fsync, err);
    if (r == 0 && has(p, "sync"))
        r = against_get_word(p, path, "sync", "sync dsync", &sync, err);
    if (r < 0)
        return r;
    p->op = test < READ ? FE_REQ_WRITE : FE_REQ_READ;
    p->random = test == RANDOM_WRITE || test == RANDOM_READ;
    p->flush = fsync && p->op == FE_REQ_WRITE;
    p->sync_every = has(p, "sync") && p->op == FE_REQ_WRITE;
    take_jobs(p, direct || (p->sync_every && p->bs % PAGE == 0), false, jobs, 1);
    if (test > RANDOM_READ)
        against_leave(p, "is a test of iozone that nothing here repeats");
    else if (!has(p, "direct"))
        against_leave(p, "does not say whether it went through the page cache");
    return 0;
}
