/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the device is at this moment: its clock, whether it has power, whether it is on the bus, and
 * how far it works at all.  The other files ask this one, and it asks none of them.
 *
 * Faults of manners (a request that hangs, a device that leaves the bus) concern the link and change
 * no contents, so they are here as well.  They come from the profile, by the number of the request,
 * or from a user, for the next request.
 *
 * Not modelled: what a host does about a hang or a disconnect, such as a reset of the bus.
 */
#include "device/internal.h"

#include "flashemu/faults.h"
#include "store/image_file.h"

uint64_t fe_device_capacity(const struct fe_device *dev)
{
    return fe_max_u64(dev->capacity, dev->profile.device.claimed_capacity);
}

uint32_t fe_device_page_bytes(const struct fe_device *dev)
{
    return dev->page_bytes;
}

struct fe_ftl_params fe_device_ftl_params(const struct fe_device *dev)
{
    struct fe_ftl_params p = dev->profile.ftl;
    if (fe_cache_pages(&dev->profile.cache, dev->medium->geo.page_bytes) > 0)
        p.page.slc_gather = 0;
    return p;
}

bool fe_device_is_volatile(const struct fe_device *dev)
{
    const struct fe_cache_params *p = &dev->profile.cache;
    return (dev->cache || (dev->behind.n && p->mode == FE_CACHE_ON)) && p->volatile_;
}

/* ---- time ---- */

/* What was placed behind a planned cut will not happen.  The cut sets now_ns back when time reaches
 * it, and nobody may see the clock run backwards then. */
uint64_t fe_device_now(const struct fe_device *dev)
{
    return fe_min_u64(dev->now_ns, dev->power.cut_ns);
}

uint64_t fe_device_busy_until(const struct fe_device *dev)
{
    return fe_min_u64(fe_max_u64(dev->now_ns, dev->busy_until_ns), dev->power.cut_ns);
}

/* busy_ns counts each instant once, however many requests are in progress.  So only the part after
 * busy_until_ns is added; this is right because requests come in the order of arrival. */
void fe_device_works(struct fe_device *dev, uint64_t from, uint64_t to)
{
    from = fe_max_u64(from, dev->busy_until_ns);
    if (to > from)
        dev->busy_ns += to - from;
    dev->busy_until_ns = fe_max_u64(dev->busy_until_ns, to);
}

/* ---- power, the image, the bus ---- */

bool fe_device_has_power(const struct fe_device *dev)
{
    return !fe_medium_cuts(dev->medium)->is_off;
}

uint64_t fe_device_cuts(const struct fe_device *dev)
{
    return fe_medium_cuts(dev->medium)->n;
}

int fe_device_failure(const struct fe_device *dev, struct fe_err *err)
{
    return fe_store_failure(dev->store, err);
}

void fe_device_hang(struct fe_device *dev, uint64_t ns)
{
    dev->hang_ns = ns;
}

void fe_device_disconnect(struct fe_device *dev, uint64_t until_ns)
{
    dev->gone_until_ns = until_ns;
}

bool fe_device_is_gone(const struct fe_device *dev, uint64_t now_ns)
{
    return now_ns < dev->gone_until_ns;
}

/* A hang that a user has ordered and one from the profile may meet; then both count. */
uint64_t fe_device_take_hang(struct fe_device *dev)
{
    const struct fe_manners_params *p = &dev->profile.manners;
    uint64_t ns = dev->hang_ns;
    dev->hang_ns = 0;
    return ++dev->n_requests == p->hang_request ? fe_time_add(ns, p->hang_ns) : ns;
}

/* From now on every request is refused until that time.  This includes a request that arrives
 * before the present one has its answer, because gone_until_ns has no beginning. */
void fe_device_leave(struct fe_device *dev, uint64_t complete_ns)
{
    const struct fe_manners_params *p = &dev->profile.manners;
    if (dev->n_requests == p->gone_request)
        dev->gone_until_ns = p->gone_ns ? fe_time_add(complete_ns, p->gone_ns) : UINT64_MAX;
}

/* ---- all together ---- */

enum fe_condition fe_device_condition(const struct fe_device *dev)
{
    const struct fe_medium *m = dev->medium;
    if (fe_medium_cuts(m)->is_dead)
        return FE_COND_DEAD_BY_CUT;
    if (!fe_device_has_power(dev))
        return FE_COND_NO_POWER;
    if (fe_device_is_gone(dev, fe_device_now(dev)))
        return FE_COND_DISCONNECTED;
    if (m->eol)
        switch ((enum fe_end_of_life)dev->profile.wear.end_of_life) {
        case FE_EOL_DEAD:
            return FE_COND_DEAD;
        case FE_EOL_FULL:
            return FE_COND_FULL;
        default:
            return FE_COND_READ_ONLY;
        }
    if (fe_device_failure(dev, NULL) < 0)
        return FE_COND_HOST_FAILED;
    return m->wear->n_failed ? FE_COND_WORN : FE_COND_ALIVE;
}

static const struct {
    const char *state, *reason;
} conditions[FE_N_CONDITIONS] = {
    [FE_COND_DEAD_BY_CUT] = {"dead", "the device did not survive a power cut"},
    [FE_COND_NO_POWER] = {"no-power", "power was cut"},
    [FE_COND_DISCONNECTED] = {"disconnected", "the device has left the bus"},
    [FE_COND_DEAD] = {"dead", "a block has failed and no spare block is left"},
    [FE_COND_FULL] = {"full", "a block has failed and no spare block is left"},
    [FE_COND_READ_ONLY] = {"read-only", "a block has failed and no spare block is left"},
    [FE_COND_HOST_FAILED] = {"read-only", "the host cannot write the image"},
    [FE_COND_WORN] = {"alive", "failed blocks stay in use, because no spare block is left"},
    [FE_COND_ALIVE] = {"alive", NULL},
};

const char *fe_condition_state(enum fe_condition c)
{
    return conditions[c].state;
}

const char *fe_condition_reason(enum fe_condition c)
{
    return conditions[c].reason;
}
