/* SPDX-License-Identifier: BSD-3-Clause */
#include "flashemu/extents.h"

#include "device/internal.h"
#include "store/store.h"

#include <assert.h>

#define MAX_PAGES 1024

/* A page of the write cache is data, even if the flash has nothing of it yet. */
static enum fe_extent_kind kind_of(const struct fe_device *dev, fe_lpn lpn)
{
    if (dev->cache && fe_cache_holds(dev->cache, lpn))
        return FE_EXTENT_DATA;
    fe_ppn ppn = dev->ftl->ops->locate(dev->ftl, lpn);
    if (ppn == FE_PPN_NONE)
        return FE_EXTENT_HOLE;
    return fe_store_is_written(dev->store, ppn) ? FE_EXTENT_DATA : FE_EXTENT_ZERO;
}

static enum fe_status reach(const struct fe_device *dev, uint64_t now_ns)
{
    if (!fe_device_has_power(dev) || dev->power.cut_ns <= now_ns)
        return FE_NO_POWER;
    if (fe_device_is_gone(dev, now_ns))
        return FE_GONE;
    return dev->medium->eol && dev->profile.wear.end_of_life == FE_EOL_DEAD ? FE_PROG_FAILED
                                                                           : FE_OK;
}

enum fe_status fe_device_extent(const struct fe_device *dev, uint64_t now_ns, uint64_t offset,
                                uint64_t len, struct fe_extent *ret)
{
    enum fe_status st = reach(dev, now_ns);
    if (st != FE_OK)
        return st;
    assert(len > 0 && offset <= fe_device_capacity(dev) &&
           len <= fe_device_capacity(dev) - offset);
    if (fe_device_capacity(dev) > dev->forged.direct || dev->profile.lies.n) {
        *ret = (struct fe_extent){FE_EXTENT_DATA, len};
        return FE_OK;
    }
    fe_lpn first = (fe_lpn)(offset / dev->page_bytes), lpn = first;
    uint64_t end = offset + len;
    enum fe_extent_kind kind = kind_of(dev, first);
    do
        lpn++;
    while (lpn - first < MAX_PAGES && (uint64_t)lpn * dev->page_bytes < end &&
           kind_of(dev, lpn) == kind);
    *ret = (struct fe_extent){kind, fe_min_u64((uint64_t)lpn * dev->page_bytes, end) - offset};
    return FE_OK;
}
