/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The core is a function of (profile, seed, arrivals).  Four devices of one case get the same
 * requests, step by step:
 *
 *   A   the reference
 *   B   made in the same way            equal in everything
 *   C   without payload, and with       equal in everything except the bytes
 *       hints of what may come
 *   D   with another seed               equal in bytes and statuses; and in everything if the
 *                                       strategy draws nothing
 */
#include "ftl/blocks/victim.h"
#include "ftl/ftl.h"
#include "lib/host.h"
#include "profile/options.h"
#include "property/property.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4, STEPS = 120 };

static char message[1024];

/* Whether the seed may change what this device does.  Some cleaning policies draw; a strategy that
 * draws for another reason has to be named here. */
static bool draws(const struct fe_profile *p)
{
    return fe_option_is_used(fe_option_find("ftl.gc_policy"), p->ftl.type) &&
           fe_gc_policy_draws[p->ftl.clean.gc_policy];
}

static const char *differ(const struct ft_host *a, const struct ft_host *b)
{
    if (a->reply.status != b->reply.status)
        return "status";
    if (a->hash != b->hash)
        return "times of replies";
    if (a->chip.hash != b->chip.hash)
        return "operations";
    return NULL;
}

static const char *stats_differ(const struct ft_host *a, const struct ft_host *b)
{
    struct fe_stats sa, sb;
    fe_device_get_stats(a->dev, &sa);
    fe_device_get_stats(b->dev, &sb);
    if (memcmp(&sa, &sb, sizeof sa) != 0)
        return "statistics";
    for (int t = 0; t < FE_N_REQ_TYPES; t++)
        if (memcmp(fe_device_latency(a->dev, (enum fe_req_type)t),
                   fe_device_latency(b->dev, (enum fe_req_type)t), sizeof(struct fe_hist)) != 0)
            return "latencies";
    return NULL;
}

/* Of the page that comes, of another one, and of one that is not there. */
static void give_hints(const struct fe_device *dev, uint64_t offset)
{
    const uint64_t at[] = {offset, offset / 2, fe_device_capacity(dev), UINT64_MAX};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        for (uint32_t step = 0; step < FE_FETCH_STEPS; step++)
            fe_device_fetch(dev, at[i], step);
}

/* Makes one step on all four devices.  Returns what is not equal after it, or NULL. */
static const char *step_all(struct ft_host h[N], const struct ft_step *s, bool seed_matters)
{
    for (int k = 0; k < N; k++) {
        /* all get the arrival of A: a seed that changes times must not change the input */
        uint64_t arrival = h[0].now + (uint64_t)(s->wait > 0 ? s->wait : 0);
        if (k > 0)
            arrival = h[0].reply.arrival_ns;
        if (k == 2)
            give_hints(h[k].dev, s->offset);
        if (!ft_host_submit(&h[k], s->type, arrival, s->offset, s->len, s->fua, s->data))
            return h[k].wrong;
    }
    for (int k = 1; k < N; k++) {
        const char *what = k < 3 || !seed_matters ? differ(&h[0], &h[k]) : NULL;
        if (!what && h[0].reply.status != h[k].reply.status)
            what = "status";
        if (what) {
            snprintf(message, sizeof message, "device %c: %s differ", 'A' + k, what);
            return message;
        }
    }
    return NULL;
}

static const char *run_steps(struct ft_host h[N], const struct ft_case *c)
{
    struct ft_workload w;
    bool seed_matters = draws(&c->profile);
    const char *wrong = NULL;
    ft_workload_init(&w, &h[0], c->seed);
    for (int i = 0; i < STEPS && !wrong; i++) {
        struct ft_step s = ft_workload_next(&w, &h[0]);
        wrong = step_all(h, &s, seed_matters);
    }
    for (int k = 0; k < N && !wrong; k++)
        if (!ft_host_verify(&h[k]) || !ft_host_check(&h[k]))
            wrong = h[k].wrong;
    for (int k = 1; k < (seed_matters ? 3 : N) && !wrong; k++)
        wrong = stats_differ(&h[0], &h[k]);
    return wrong;
}

const char *ft_property_twins(const struct ft_case *c)
{
    static struct ft_host h[N];
    const char *wrong = NULL;
    for (int k = 0; k < N; k++)
        if (!ft_host_init(&h[k], c, k == 3 ? 77 : 5, k != 2) && !wrong)
            wrong = h[k].wrong;
    if (!wrong)
        wrong = run_steps(h, c);
    if (wrong && wrong != message) {
        snprintf(message, sizeof message, "%s", wrong);
        wrong = message;
    }
    for (int k = 0; k < N; k++)
        ft_host_fini(&h[k]);
    return wrong;
}
