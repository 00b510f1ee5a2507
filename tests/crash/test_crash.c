/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power fails at every operation of a chip.
 *
 * A device runs a workload.  After each request the test looks at every program and erase that
 * is still under way before the next request arrives.  For each of these operations power fails
 * in the middle of it, three times: the operation has not begun, is torn, or was done.  The
 * outcome of operations on other dies is drawn.
 *
 * Another device takes the chip as it is then, and starts.  What was promised must be there.
 * Everything else may be old or new.  Every invariant must hold, and a second start must change
 * nothing.  For some of these starts the same is done at every operation of the recovery.
 *
 * On half of the chips programs and erases fail, and soon no spare block is left.  A device at the
 * end of its life must start, too, and have everything that was promised.
 *
 *     live    |--request--|--request--|---        never loses power
 *                    \ copy of the chip
 *     cut[0]          x~~ recovery ~~ check
 *                          \ copy
 *     cut[1]                x~~ recovery ~~ check
 *
 * A point is SEED:GEOMETRY:STRATEGY:REQUEST:OP:OUTCOME.  A point in the recovery has one more
 * :OP:OUTCOME.  Points that are given as arguments run alone.
 *
 *     test_crash [--long] [--part K/N] [POINT...]
 */
#include "crash/bench.h"

#include "device/cuts.h"
#include "device/internal.h"
#include "lib/cases.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_REQUESTS = 60, ALL = -1 };

/* What to run.  ALL: every request, operation or outcome. */
struct filter {
    int64_t request, op, outcome, op2, outcome2;
};

struct run {
    struct ft_crash c;
    struct filter only;
    struct ft_rand rand;
    uint32_t sample;   /* power also fails during one in this many starts */
    uint32_t request;
    uint64_t *found;   /* keeps c.found while power fails during a start */
    char point[160];
};

static struct {
    uint64_t points, inner; /* cuts, and cuts during a start */
    uint64_t ended;         /* how many of them left a device at the end of its life */
} count;

static char now_running[256]; /* printed if the test aborts */

static void on_abort(int sig)
{
    ssize_t ignored = write(STDERR_FILENO, now_running, strlen(now_running));
    (void)ignored;
    signal(sig, SIG_DFL);
    raise(sig);
}

/* dev already has the chip.  Power fails at at_ns with this outcome of operation i, and comes back.
 * False with c.wrong. */
static bool cut_and_start(struct run *r, struct fe_device *dev, uint32_t i, int outcome,
                          uint64_t at_ns)
{
    struct fe_err err = {""};
    uint64_t ready;
    ft_crash_before_cut(&r->c, dev, at_ns);
    fe_cuts_cut(dev, at_ns, i, (enum fe_cut_outcome)outcome,
                r->c.seed + 31 * i + 7 * (uint64_t)outcome);
    ft_crash_note_loss(&r->c, dev);
    if (fe_device_power_on(dev, at_ns, &ready, &err) == 0) {
        count.ended += dev->medium->eol;
        return true;
    }
    snprintf(r->c.wrong, sizeof r->c.wrong, "power-on: %s", err.text);
    return false;
}

static void name_point(struct run *r, uint32_t op, int outcome)
{
    snprintf(r->point, sizeof r->point, "%s:%u:%u:%d", r->c.id, r->request, op, outcome);
    snprintf(now_running, sizeof now_running, "\nABORTED at %s (run it alone: give this id)\n",
             r->point);
}

/* Lets power fail at every operation of a start as well.  `started` has the chip after it. */
static bool cut_start(struct run *r, struct fe_device *started)
{
    char outer[sizeof r->point];
    snprintf(outer, sizeof outer, "%.120s", r->point);
    uint32_t n = fe_cuts_ops(started);
    memcpy(r->found, r->c.found, r->c.n_sectors * sizeof *r->found);
    for (uint32_t i = 0; i < n; i++) {
        for (int o = FE_CUT_NOT_BEGUN; o <= FE_CUT_DONE; o++) {
            uint64_t at;
            if ((r->only.op2 != ALL && (r->only.op2 != i || r->only.outcome2 != o)) ||
                !fe_cuts_instant(started, i, started->last_arrival_ns, UINT64_MAX, &at))
                continue;
            snprintf(r->point, sizeof r->point, "%.120s:%u:%d", outer, i, o);
            snprintf(now_running, sizeof now_running, "\nABORTED at %s\n", r->point);
            ft_crash_copy(r->c.cut[1], started);
            memcpy(r->c.found, r->found, r->c.n_sectors * sizeof *r->found);
            count.inner++;
            if (!cut_and_start(r, r->c.cut[1], i, o, at) || !ft_crash_verify(&r->c, r->c.cut[1]))
                return false;
        }
    }
    snprintf(r->point, sizeof r->point, "%.120s", outer);
    memcpy(r->c.found, r->found, r->c.n_sectors * sizeof *r->found);
    return true;
}

static bool run_point(struct run *r, uint32_t i, int outcome, uint64_t at_ns)
{
    struct fe_device *dev = r->c.cut[0];
    uint64_t bits = fe_rng(r->c.seed, FE_RNG_TEST, r->request * 4096 + i, (uint64_t)outcome);
    name_point(r, i, outcome);
    ft_crash_copy(dev, r->c.live);
    memset(r->c.found, 0xff, r->c.n_sectors * sizeof *r->c.found);
    count.points++;
    if (!cut_and_start(r, dev, i, outcome, at_ns))
        return false;
    bool inner = r->only.request == ALL ? bits % r->sample == 0 : r->only.op2 != ALL;
    if (inner && !cut_start(r, dev))
        return false;
    return ft_crash_verify(&r->c, dev) && (bits % 8 || ft_crash_go_on(&r->c, dev, bits));
}

/* Runs the points of all operations that are under way in [from, to). */
static bool run_window(struct run *r, uint64_t from, uint64_t to)
{
    uint32_t n = fe_cuts_ops(r->c.live);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at;
        if ((r->only.op != ALL && r->only.op != i) || !fe_cuts_instant(r->c.live, i, from, to, &at))
            continue;
        ft_crash_expect(&r->c, at);
        for (int o = FE_CUT_NOT_BEGUN; o <= FE_CUT_DONE; o++)
            if ((r->only.outcome == ALL || r->only.outcome == o) && !run_point(r, i, o, at))
                return false;
    }
    return true;
}

/* When the next request arrives: mostly when the last one has been answered, sometimes later, and
 * sometimes earlier, if the link has several queue slots. */
static uint64_t next_arrival(struct run *r)
{
    const struct ft_crash_request *d = &r->c.done[r->c.n_done - 1];
    if (ft_chance(&r->rand, 15))
        return d->complete_ns + ft_below(&r->rand, 20000000);
    if (r->c.profile.link.queue_depth > 1 && ft_chance(&r->rand, 60))
        return d->arrival_ns + ft_below(&r->rand, d->complete_ns - d->arrival_ns + 1);
    return d->complete_ns;
}

static bool run_requests(struct run *r)
{
    uint64_t now = 0;
    for (r->request = 0; r->request < N_REQUESTS; r->request++) {
        if (!ft_crash_step(&r->c, &r->rand, now))
            return false;
        uint64_t next = next_arrival(r);
        bool wanted = r->only.request == ALL || r->only.request == r->request;
        if (wanted && !run_window(r, r->c.live->last_arrival_ns, next))
            return false;
        if (r->only.request == r->request)
            break;
        now = next;
    }
    return true;
}

/* For a cache that survives power cuts.  Nothing is taken back and nothing is lost then, so the
 * live device itself loses power now and then. */
static bool cut_safe(struct run *r, uint64_t now)
{
    struct fe_err err = {""};
    uint64_t ready;
    ft_crash_expect(&r->c, UINT64_MAX);
    count.points++;
    if (fe_device_cut_power(r->c.live, now, &err) == 0 &&
        fe_device_power_on(r->c.live, now, &ready, &err) == 0)
        return ft_crash_verify(&r->c, r->c.live);
    snprintf(r->c.wrong, sizeof r->c.wrong, "power-on: %s", err.text);
    return false;
}

static bool run_safe(struct run *r)
{
    uint64_t now = 0;
    for (r->request = 0; r->request < N_REQUESTS; r->request++) {
        if (!ft_crash_step(&r->c, &r->rand, now))
            return false;
        now = next_arrival(r);
        if (ft_chance(&r->rand, 25) && !cut_safe(r, now))
            return false;
    }
    return true;
}

/* Returns 0, or 1 if the case failed. */
static int run_case(uint64_t seed, uint32_t geometry, uint32_t type, const struct filter *only,
                    uint32_t sample)
{
    struct run r = {.only = *only, .rand = {.seed = seed * 1000 + geometry}, .sample = sample};
    bool good = ft_crash_init(&r.c, seed, geometry, type, NULL);
    snprintf(r.point, sizeof r.point, "%s", r.c.id);
    r.found = good ? malloc(r.c.n_sectors * sizeof *r.found) : NULL;
    if (good && !r.found)
        abort();
    if (good)
        good = r.c.live->cache && !r.c.has_cache ? run_safe(&r) : run_requests(&r);
    else
        good = r.c.wrong[0] == '\0';
    if (!good)
        fprintf(stderr, "FAILED %s: %s\n", r.point, r.c.wrong);
    free(r.found);
    ft_crash_fini(&r.c);
    return !good;
}

static bool run_named(const char *id, int *failed)
{
    struct filter f = {ALL, ALL, ALL, ALL, ALL};
    uint64_t seed;
    uint32_t geometry, type;
    const char *more = ft_case_parse(id, &seed, &geometry, &type);
    if (!more)
        return false;
    int n = sscanf(more, ":%" SCNd64 ":%" SCNd64 ":%" SCNd64 ":%" SCNd64 ":%" SCNd64, &f.request,
                   &f.op, &f.outcome, &f.op2, &f.outcome2);
    if (*more && n != 3 && n != 5)
        return false;
    *failed += run_case(seed, geometry, type, &f, 4);
    return true;
}

int main(int argc, char **argv)
{
    static const struct filter all = {ALL, ALL, ALL, ALL, ALL};
    uint32_t part = 1, parts = 1, seeds = ft_seeds(2, 60), k = 0;
    bool named = false, good = true;
    int failed = 0;
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    for (int i = 1; i < argc && good; i++) {
        if (strcmp(argv[i], "--long") == 0)
            seeds = 60;
        else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc)
            good = ft_part_parse(argv[++i], &part, &parts);
        else
            good = named = run_named(argv[i], &failed);
    }
    if (!good) {
        fprintf(stderr, "usage: %s [--long] [--part K/N] "
                "[SEED:GEOMETRY:STRATEGY[:REQUEST:OP:OUTCOME[:OP:OUTCOME]]...]\n", argv[0]);
        return 2;
    }
    for (uint32_t seed = 1; seed <= seeds && !named; seed++)
        for (uint32_t geometry = 0; geometry < FT_CRASH_GEOMETRIES; geometry++)
            for (uint32_t type = 0; fe_ftl_registry[type]; type++)
                if (k++ % parts == part - 1)
                    failed += run_case(seed, geometry, type, &all, 32);
    printf("%" PRIu64 " cuts, %" PRIu64 " of power-on, %" PRIu64 " of worn out devices, %d cases "
           "failed\n", count.points, count.inner, count.ended, failed);
    return failed > 0 || (!named && count.ended == 0);
}
