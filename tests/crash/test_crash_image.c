/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power fails in a device that is kept in an image, and the server may be killed as well.
 *
 *     request ... request ..x                         cut while some of it is under way
 *                           | power-on | check        variant 0
 *                           | kill | open | check     variant 1: while power is off
 *                           | power-on | kill | open | check                   variant 2
 *                           | power-on | writes | kill | open | check          variant 3
 *                          kill in the middle of the cut | open | check        variant 4
 *
 * What was promised must be there, everything else may be old or new, and every invariant must
 * hold.  Half of the chips wear out meanwhile.  Before the image is opened again, the chip in the
 * file must be the chip as it was in memory: what the cut took back must not return with the
 * file.
 *
 * A point is SEED:GEOMETRY:STRATEGY:CUT.  CUT decides the length of the workload, the instant and
 * the variant.  Points that are given as arguments run alone.
 */
#include "crash/bench.h"

#include "device/internal.h"
#include "lib/cases.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_REQUESTS = 60, N_VARIANTS = 5 };

static bool complain(struct ft_crash *c, const char *what, const struct fe_err *err)
{
    snprintf(c->wrong, sizeof c->wrong, "%s: %s", what, err->text);
    return false;
}

static uint64_t n_ended; /* cuts of devices at the end of their life */

/* Opens the image as flashemu inspect (or fsck, with `recover`) does. */
static struct fe_device *look_at(struct ft_crash *c, bool recover)
{
    struct fe_store_file file = {.path = c->file->path, .read_only = true};
    struct fe_device_options opt = {
        .seed = c->seed, .payload = true, .file = &file, .chip_only = !recover};
    struct fe_device *dev = NULL;
    struct fe_err err = {""};
    if (fe_device_create(&dev, &c->profile, &opt, &err) < 0)
        complain(c, recover ? "looking at the device" : "looking at the chip", &err);
    return dev;
}

/* Kills the server, looks at what is in the file, and opens it again.  False with c->wrong. */
static bool kill_and_open(struct ft_crash *c)
{
    struct fe_err err = {""};
    uint64_t had = ft_crash_hash(c->live);
    fe_peb interrupted = fe_medium_interrupted(c->live->medium).peb;
    bool was_off = !fe_device_has_power(c->live);
    fe_device_destroy(c->live);
    c->live = NULL;
    struct fe_device *look = look_at(c, false);
    if (!look)
        return false;
    bool same = ft_crash_hash(look) == had;
    bool knows = !was_off || fe_medium_interrupted(look->medium).peb == interrupted;
    fe_device_destroy(look);
    if (!same)
        return complain(c, "the chip in the file is not the chip in memory", &err);
    if (!knows)
        return complain(c, "the file has another interrupted block", &err);
    look = look_at(c, true);
    if (!look)
        return false;
    bool good = ft_crash_read(c, look);
    fe_device_destroy(look);
    return good && ft_crash_reopen(c);
}

static bool power_on(struct ft_crash *c)
{
    struct fe_err err = {""};
    uint64_t ready;
    return fe_device_power_on(c->live, c->live->last_arrival_ns, &ready, &err) == 0 ||
           complain(c, "power-on", &err);
}

/* The server was killed in the middle of a cut: what the cut took is what the file lacks.  If
 * nothing of the cut has reached the file, power was not cut.  Then power is cut now, because the
 * expectations were made for a cut (ftl.trim_lost).  False with c->wrong. */
static bool open_killed(struct ft_crash *c)
{
    struct fe_err err = {""};
    fe_device_destroy(c->live);
    c->live = NULL;
    struct fe_device *look = look_at(c, false);
    if (!look)
        return false;
    ft_crash_note_loss(c, look);
    bool was_cut = !fe_device_has_power(look);
    fe_device_destroy(look);
    if (!ft_crash_reopen(c))
        return false;
    if (was_cut)
        return true;
    if (!ft_crash_read(c, c->live))
        return false;
    if (fe_device_cut_power(c->live, c->live->now_ns, &err) < 0)
        return complain(c, "power cut", &err);
    return power_on(c);
}

static bool after_cut(struct ft_crash *c, uint32_t variant, uint64_t seed)
{
    if (variant != 1 && !power_on(c))
        return false;
    if (variant == 3) {
        for (uint64_t i = 0; i < 2; i++)
            if (!ft_crash_go_on(c, c->live, seed + i))
                return false;
        return ft_crash_reopen(c) && ft_crash_go_on(c, c->live, seed + 2);
    }
    if (variant != 0 && !kill_and_open(c))
        return false;
    return ft_crash_verify(c, c->live) && kill_and_open(c) && ft_crash_go_on(c, c->live, seed);
}

static bool run_cut(struct ft_crash *c, uint32_t cut)
{
    struct ft_rand r = {.seed = fe_rng(c->seed, FE_RNG_TEST, cut, 77)};
    uint32_t n = (uint32_t)ft_between(&r, 1, N_REQUESTS);
    for (uint32_t i = 0; i < n; i++) {
        const struct ft_crash_request *d = &c->done[i ? i - 1 : 0];
        uint64_t at = i == 0 ? 0 : ft_chance(&r, 15) ? d->complete_ns + 20000000 : d->complete_ns;
        if (!ft_crash_step(c, &r, at))
            return false;
    }
    const struct ft_crash_request *d = &c->done[n - 1];
    uint64_t end = fe_max_u64(d->complete_ns, c->live->busy_until_ns) + 1;
    struct fe_err err = {""};
    uint64_t at = ft_between(&r, d->arrival_ns, end);
    ft_crash_expect(c, at);
    fe_device_idle(c->live, at); /* nothing is programmed any more from here to the cut */
    ft_crash_before_cut(c, c->live, at);
    if (cut % N_VARIANTS == 4)
        ft_crash_writes_left = ft_below(&r, 30);
    int result = fe_device_cut_power(c->live, at, &err);
    ft_crash_writes_left = UINT64_MAX;
    if (result < 0)
        return complain(c, "power cut", &err);
    if (cut % N_VARIANTS == 4)
        return open_killed(c) && ft_crash_verify(c, c->live) &&
               ft_crash_go_on(c, c->live, r.seed);
    ft_crash_note_loss(c, c->live);
    return after_cut(c, cut % N_VARIANTS, r.seed);
}

/* Returns 0, or 1 if the point failed. */
static int run_point(uint64_t seed, uint32_t geometry, uint32_t type, uint32_t cut,
                     uint64_t *n_cuts)
{
    char path[64];
    struct fe_io io = ft_crash_io();
    struct fe_store_file file = {.path = path, .sync = cut & 4, .io = &io};
    struct ft_crash c;
    ft_crash_image_path(path);
    bool good = ft_crash_init(&c, seed, geometry, type, &file);
    if (good) {
        ++*n_cuts;
        good = run_cut(&c, cut);
        n_ended += good && c.live->medium->eol;
    } else {
        good = c.wrong[0] == '\0';
    }
    if (!good)
        fprintf(stderr, "FAILED %s:%u: %s\n", c.id, cut, c.wrong);
    ft_crash_fini(&c);
    unlink(path);
    return !good;
}

static bool run_named(const char *id, int *failed, uint64_t *n_cuts)
{
    uint64_t seed;
    uint32_t geometry, type, cut;
    const char *more = ft_case_parse(id, &seed, &geometry, &type);
    if (!more || sscanf(more, ":%u", &cut) != 1)
        return false;
    *failed += run_point(seed, geometry, type, cut, n_cuts);
    return true;
}

int main(int argc, char **argv)
{
    uint32_t seeds = ft_seeds(2, 40);
    uint64_t n_cuts = 0;
    int failed = 0;
    for (int i = 1; i < argc; i++)
        if (!run_named(argv[i], &failed, &n_cuts)) {
            fprintf(stderr, "usage: %s [SEED:GEOMETRY:STRATEGY:CUT...]\n", argv[0]);
            return 2;
        }
    for (uint32_t seed = 1; seed <= seeds && argc == 1; seed++)
        for (uint32_t geometry = 0; geometry < FT_CRASH_GEOMETRIES; geometry++)
            for (uint32_t type = 0; fe_ftl_registry[type]; type++)
                for (uint32_t cut = 0; cut < 20; cut++)
                    failed += run_point(seed, geometry, type, cut, &n_cuts);
    printf("%" PRIu64 " cuts, %" PRIu64 " of worn out devices, %d failed\n", n_cuts, n_ended,
           failed);
    return failed > 0 || n_cuts == 0 || (argc == 1 && n_ended == 0);
}
