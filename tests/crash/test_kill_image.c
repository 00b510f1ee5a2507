/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The server of an image is killed again and again, at any of its writes to the file.
 *
 *     request ... requ|               the host carries out some writes and then fails
 *                     | open | check | request ... request ... re|
 *                        |                                       | open | ...
 *                        a second kill, in the middle of power-on, now and then
 *
 * Power is not cut, so no journal tells the strategy what it was doing.  The same device is killed
 * many times, on a chip without any unneeded block: if a kill costs room for good, the device runs
 * out of room in the end.  Whatever was answered must be there.  What was under way may be old or
 * new in each of its sectors.  Every invariant must hold.
 *
 * A case is SEED:GEOMETRY:STRATEGY.  Cases that are given as arguments run alone.
 */
#include "crash/bench.h"

#include "device/internal.h"
#include "lib/cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_KILLS = 24, N_REQUESTS = 60 };

/* Makes requests until the host fails, N_REQUESTS at most.  Then the server is gone. */
static bool work_until_killed(struct ft_crash *c, struct ft_rand *r)
{
    bool refused = false;
    ft_crash_writes_left = ft_below(r, ft_chance(r, 50) ? 40 : 400);
    for (uint32_t i = 0; i < N_REQUESTS && !refused; i++) {
        uint64_t idle_ns = ft_chance(r, 15) ? 20000000 : 0;
        if (!ft_crash_step(c, r, c->live->now_ns + idle_ns))
            return false;
        refused = fe_device_failure(c->live, NULL) < 0;
    }
    ft_crash_writes_left = 0;
    fe_device_destroy(c->live);
    c->live = NULL;
    return true;
}

static bool open_again(struct ft_crash *c, struct ft_rand *r)
{
    if (ft_chance(r, 30)) {
        ft_crash_writes_left = ft_below(r, 40);
        ft_crash_reopen(c);
        c->wrong[0] = '\0'; /* the opening may have succeeded or failed */
        ft_crash_writes_left = 0;
        fe_device_destroy(c->live);
        c->live = NULL;
    }
    ft_crash_writes_left = UINT64_MAX;
    return ft_crash_reopen(c);
}

static bool run_kills(struct ft_crash *c, uint64_t *n_kills)
{
    struct ft_rand r = {.seed = fe_rng(c->seed, FE_RNG_TEST, c->n_sectors, 78)};
    c->has_cache = false; /* the cache of an image survives a kill */
    c->host_fails = true;
    for (int i = 0; i < N_KILLS; i++) {
        if (!work_until_killed(c, &r) || !open_again(c, &r))
            return false;
        ++*n_kills;
        ft_crash_expect(c, UINT64_MAX);
        if (!ft_crash_read(c, c->live))
            return false;
    }
    return ft_crash_go_on(c, c->live, r.seed);
}

/* Returns 0, or 1 if the case failed. */
static int run_case(uint64_t seed, uint32_t geometry, uint32_t type, uint64_t *n_kills)
{
    char path[64];
    struct fe_io io = ft_crash_io();
    struct fe_store_file file = {.path = path, .sync = seed & 1, .io = &io};
    struct ft_crash c;
    ft_crash_image_path(path);
    bool good = ft_crash_init(&c, seed, geometry, type, &file);
    good = good ? run_kills(&c, n_kills) : c.wrong[0] == '\0';
    if (!good)
        fprintf(stderr, "FAILED %s: %s\n", c.id, c.wrong);
    ft_crash_writes_left = UINT64_MAX;
    ft_crash_fini(&c);
    unlink(path);
    return !good;
}

static bool run_named(const char *id, int *failed, uint64_t *n_kills)
{
    uint64_t seed;
    uint32_t geometry, type;
    const char *more = ft_case_parse(id, &seed, &geometry, &type);
    if (!more || *more)
        return false;
    *failed += run_case(seed, geometry, type, n_kills);
    return true;
}

int main(int argc, char **argv)
{
    uint32_t seeds = ft_seeds(4, 100);
    uint64_t n_kills = 0;
    int failed = 0;
    for (int i = 1; i < argc; i++)
        if (!run_named(argv[i], &failed, &n_kills)) {
            fprintf(stderr, "usage: %s [SEED:GEOMETRY:STRATEGY...]\n", argv[0]);
            return 2;
        }
    for (uint32_t seed = 1; seed <= seeds && argc == 1; seed++)
        for (uint32_t geometry = 0; geometry < FT_CRASH_GEOMETRIES; geometry++)
            for (uint32_t type = 0; fe_ftl_registry[type]; type++)
                failed += run_case(seed, geometry, type, &n_kills);
    printf("%" PRIu64 " kills, %d failed\n", n_kills, failed);
    return failed > 0 || n_kills == 0;
}
