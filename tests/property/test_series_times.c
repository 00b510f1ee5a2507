/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Merges in runs (nand/series.h) differ from merges page by page in nothing but the number of
 * operations.  Two devices of a case, made of one die without cached operations, get the same
 * requests:
 *
 *   A   is observed, so every copy is a read and a program of its own
 *   B   is not, so its merges are runs
 *
 * Each reply must have the same times and status, and at the end all statistics and all pages of the
 * chips must be the same, and the invariants of the translation layer must hold.
 */
#include "device/internal.h"
#include "ftl/registry.h"
#include "lib/host.h"

#include <stdio.h>
#include <stdlib.h>

enum { GEOMETRIES = 8, SEEDS = 6, STEPS = 150 };

static char message[1024];

/* The same chip as one die. */
static struct ft_case on_one_die(const struct ft_case *c)
{
    struct ft_case one = *c;
    struct fe_nand_params *n = &one.profile.nand;
    n->blocks_per_plane *= n->channels * n->dies_per_channel;
    n->channels = n->dies_per_channel = 1;
    n->cached = false;
    return one;
}

static const char *say(const char *what, uint32_t step)
{
    snprintf(message, sizeof message, "step %u: %s", step, what);
    return message;
}

static bool pages_are_equal(const struct fe_medium *a, const struct fe_medium *b)
{
    for (fe_ppn ppn = 0; ppn < a->geo.n_ppns; ppn++)
        if (fe_medium_state(a, ppn) != fe_medium_state(b, ppn) ||
            (fe_medium_state(a, ppn) != FE_PAGE_ERASED &&
             (fe_medium_lpn(a, ppn) != fe_medium_lpn(b, ppn) ||
              fe_medium_tag(a, ppn) != fe_medium_tag(b, ppn) ||
              fe_medium_seq(a, ppn) != fe_medium_seq(b, ppn))))
            return false;
    return true;
}

static const char *compare(struct ft_host *a, struct fe_device *b, uint64_t seed)
{
    struct ft_workload w;
    ft_workload_init(&w, a, seed);
    for (uint32_t i = 0; i < STEPS; i++) {
        const struct ft_step s = ft_workload_next(&w, a);
        if (!ft_host_step(a, &s))
            return say(a->wrong, i);
        struct fe_reply reply;
        const struct fe_request req = {.type = s.type, .offset = s.offset, .len = s.len,
                                       .fua = s.fua};
        if (fe_device_submit(b, a->reply.arrival_ns, &req, &reply) < 0)
            return say("the request is refused without an observer", i);
        if (reply.complete_ns != a->reply.complete_ns || reply.status != a->reply.status)
            return say("the reply differs", i);
    }
    struct fe_stats sa, sb;
    struct fe_err err;
    fe_err_init(&err);
    fe_device_get_stats(a->dev, &sa);
    fe_device_get_stats(b, &sb);
    if (memcmp(&sa, &sb, sizeof sa) != 0)
        return say("the statistics differ", STEPS);
    if (!pages_are_equal(a->dev->medium, b->medium))
        return say("the pages of the chips differ", STEPS);
    return fe_device_check(b, &err) < 0 ? say(err.text, STEPS) : NULL;
}

static const char *run_case(const struct ft_case *c)
{
    const struct ft_case one = on_one_die(c);
    const struct fe_device_options opt = {.seed = 5, .payload = false};
    struct fe_device *b;
    struct fe_err err;
    struct ft_host a;
    fe_err_init(&err);
    if (fe_device_create(&b, &one.profile, &opt, &err) < 0)
        return NULL; /* of one die, the chip may be too small for the strategy */
    const char *wrong = ft_host_init(&a, &one, opt.seed, true) ? compare(&a, b, c->seed)
                                                               : say(a.wrong, 0);
    ft_host_fini(&a);
    fe_device_destroy(b);
    return wrong;
}

int main(int argc, char **argv)
{
    return ft_cases_main(argc, argv, GEOMETRIES, SEEDS, run_case);
}
