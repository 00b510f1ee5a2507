/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuts.h"

#include "base/rng.h"
#include "device/internal.h"
#include "flashemu/map.h"

uint32_t fe_cuts_ops(const struct fe_device *dev)
{
    return dev->medium->undo->n;
}

bool fe_cuts_instant(const struct fe_device *dev, uint32_t i, uint64_t from, uint64_t to,
                     uint64_t *ret_at)
{
    const struct fe_undo_op *op = fe_undo_at(dev->medium->undo, i);
    uint64_t at = op->start_ns + (op->end_ns - op->start_ns) / 2;
    if (to <= from)
        return false;
    at = at < from ? from : at >= to ? to - 1 : at;
    *ret_at = at;
    return at > op->start_ns && at < op->end_ns;
}

/* The chosen operation has the chosen outcome.  That of all others is drawn. */
struct choice {
    const struct fe_undo_op *op; /* NULL: none is chosen */
    enum fe_cut_outcome outcome;
    uint64_t seed;
};

static enum fe_cut_outcome choose(void *ctx, const struct fe_undo_op *op)
{
    const struct choice *c = ctx;
    if (op == c->op)
        return c->outcome;
    return (enum fe_cut_outcome)fe_rng_below(fe_rng(c->seed, FE_RNG_TEST, op->ppn, op->kind), 3);
}

void fe_cuts_cut(struct fe_device *dev, uint64_t at_ns, uint32_t op, enum fe_cut_outcome outcome,
                 uint64_t seed)
{
    struct choice choice = {op == FE_CUTS_NO_OP ? NULL : fe_undo_at(dev->medium->undo, op), outcome, seed};
    struct fe_cut how = {.choose = choose, .ctx = &choice};
    dev->power.cut_ns = at_ns;
    fe_power_cut(dev, &how);
}

void fe_cuts_reseed(struct fe_device *dev, uint64_t seed)
{
    dev->profile.ftl.seed = seed;
}

bool fe_cuts_can_tear(const struct fe_device *dev)
{
    return !dev->cache || dev->profile.cache.volatile_;
}

uint32_t fe_cuts_pages(const struct fe_device *dev)
{
    bool forged = dev->capacity != fe_device_capacity(dev);
    return forged || !fe_device_knows_valid(dev) ? 0 : fe_device_lpns(dev);
}

struct fe_cuts_place fe_cuts_place(const struct fe_device *dev, fe_lpn lpn)
{
    fe_ppn ppn = dev->ftl->ops->locate(dev->ftl, lpn);
    return (struct fe_cuts_place){
        .ppn = ppn,
        .seq = ppn == FE_PPN_NONE ? 0 : fe_medium_seq(dev->medium, ppn),
        .is_cached = dev->cache && fe_cache_holds(dev->cache, lpn),
    };
}
