/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any device against plain bytes.
 *
 * For every strategy of the registry, and for many shapes of chips and sets of parameters:
 *
 *   - What is read is what was written.
 *   - Every request succeeds, also when the whole capacity has been written several times.
 *   - Each invariant of the translation layer holds after every step.
 *   - The chip's rules hold; otherwise the medium aborts.
 *   - No two operations use a die or a channel simultaneously, and none passes a barrier.
 *   - No reply is earlier than the arrival, or than the end of the work.
 *   - The statistics are those of a second chip, which saw only the operations (lib/chip.h).
 */
#include "lib/host.h"
#include "property/property.h"

#include <inttypes.h>
#include <stdio.h>

static char message[1024];

/* Whether the device has done enough.  With some parameters every sector costs the copy of a
 * whole block; then the capacity is not written several times. */
static bool enough(const struct ft_host *h)
{
    return h->chip.programs > 1000000;
}

/* Makes random requests.  Checks all invariants after each of them, or after every 16th if there
 * are many pages to look at. */
static bool run_random(struct ft_host *h, uint64_t seed, int steps)
{
    struct ft_workload w;
    uint64_t pages = h->chip.geo.n_ppns;
    ft_workload_init(&w, h, seed);
    for (int i = 0; i < steps; i++) {
        struct ft_step s = ft_workload_next(&w, h);
        if (!ft_host_step(h, &s))
            return false;
        if ((pages <= 3000 || i % 16 == 0) && !ft_host_check(h))
            return false;
    }
    return ft_host_verify(h) && ft_host_check(h);
}

static bool write_pages(struct ft_host *h, struct ft_rand *r, uint64_t n)
{
    uint64_t page = fe_device_page_bytes(h->dev), pages = h->capacity / page;
    for (uint64_t i = 0; pages > 0 && i < n && !enough(h); i++) {
        uint64_t at = ft_below(r, pages) * page;
        if (!ft_host_submit(h, FE_REQ_WRITE, h->now, at, page, false, ft_rand(r) | 1))
            return false;
    }
    return true;
}

/* Writes everything once in order, then as many pages at random, then the first half in order.  A
 * device that has miscounted its room runs out of it here. */
static bool run_full(struct ft_host *h, uint64_t seed)
{
    struct ft_rand r = {.seed = seed};
    uint64_t step = h->sector * ft_between(&r, 1, 400), page = fe_device_page_bytes(h->dev);
    for (int round = 0; round < 2; round++) {
        uint64_t end = round ? h->capacity / 2 : h->capacity;
        for (uint64_t at = 0; at < end && !enough(h); at += step) {
            uint64_t len = end - at < step ? end - at : step;
            len -= len % h->sector;
            if (len && !ft_host_submit(h, FE_REQ_WRITE, h->now, at, len, false, ft_rand(&r) | 1))
                return false;
        }
        uint64_t n = h->capacity / page;
        if (!write_pages(h, &r, n < 1500 ? n : 1500) || !ft_host_check(h))
            return false;
    }
    return ft_host_verify(h);
}

static bool stats_agree(struct ft_host *h)
{
    struct fe_stats s;
    fe_device_get_stats(h->dev, &s);
    for (int t = 0; t < FE_N_REQ_TYPES; t++) {
        const struct fe_hist *lat = fe_device_latency(h->dev, (enum fe_req_type)t);
        if (s.host[t].ops != h->ops[t] || s.host[t].bytes != h->op_bytes[t] ||
            lat->count != h->ops[t]) {
            snprintf(h->wrong, sizeof h->wrong, "request type %d: %" PRIu64 " ops %" PRIu64
                     " bytes counted, %" PRIu64 " and %" PRIu64 " made", t, s.host[t].ops,
                     s.host[t].bytes, h->ops[t], h->op_bytes[t]);
            return false;
        }
    }
    if (h->idle_work || h->behind ? s.busy_ns < h->busy : s.busy_ns != h->busy) {
        snprintf(h->wrong, sizeof h->wrong, "busy %" PRIu64 " ns, by the requests %" PRIu64,
                 s.busy_ns, h->busy);
        return false;
    }
    if (s.busy_ns > s.device_ns || s.device_ns != fe_device_now(h->dev) ||
        s.free_blocks > h->chip.geo.n_pebs) {
        snprintf(h->wrong, sizeof h->wrong, "busy %" PRIu64 " of %" PRIu64 " ns, %" PRIu64
                 " blocks free", s.busy_ns, s.device_ns, s.free_blocks);
        return false;
    }
    return true;
}

static uint64_t pages_there(const struct ft_host *h)
{
    uint64_t n = 0;
    for (fe_peb peb = 0; peb < h->chip.geo.n_pebs; peb++)
        n += h->chip.filled[peb];
    return n;
}

const char *ft_property_model(const struct ft_case *c)
{
    struct ft_host h;
    bool good = ft_host_init(&h, c, c->seed, true);
    uint64_t before = good ? pages_there(&h) : 0;
    good = good && run_random(&h, c->seed, 250) && run_full(&h, c->seed) &&
           run_random(&h, c->seed + 1000000, 100) && stats_agree(&h);
    if (good && !ft_chip_agrees(&h.chip, h.dev)) {
        snprintf(h.wrong, sizeof h.wrong, "%s", h.chip.wrong);
        good = false;
    }
    /* conservation: every page that was programmed is still there or was erased */
    if (good && h.chip.programs + before != pages_there(&h) + h.chip.pages_erased) {
        snprintf(h.wrong, sizeof h.wrong, "%" PRIu64 " pages programmed, %" PRIu64
                 " erased, change %" PRId64, h.chip.programs, h.chip.pages_erased,
                 (int64_t)(pages_there(&h) - before));
        good = false;
    }
    snprintf(message, sizeof message, "%s", h.wrong);
    ft_host_fini(&h);
    return good ? NULL : message;
}
