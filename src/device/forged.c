/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses are arithmetic; the buffer is a ring of sectors (ring.h).
 */
#include "device/forged.h"

#include <errno.h>
#include <string.h>

/* After how many bytes addresses come round. */
static uint64_t period_of(const struct fe_device_params *p, uint64_t capacity)
{
    if (p->beyond == FE_BEYOND_DROP)
        return UINT64_MAX;
    if (p->beyond == FE_BEYOND_WRAP)
        return capacity;
    if (p->beyond_module)
        return p->beyond_module;
    return capacity > 1 ? UINT64_C(2) << fe_log2(capacity - 1) : 1;
}

int fe_forged_init(struct fe_forged *f, const struct fe_device_params *p, uint64_t capacity,
                   bool payload, struct fe_err *err)
{
    *f = (struct fe_forged){.capacity = capacity, .period = period_of(p, capacity),
                            .sector_size = p->sector_size};
    f->direct = fe_min_u64(capacity, f->period);
    if (p->beyond_cache == 0)
        return 0;
    if (p->claimed_capacity <= capacity || f->period <= capacity)
        return fe_err_set(err, EINVAL, "device.beyond:cache=%llu: no sector is lost that it could "
                          "keep; allowed: 0, or a device.claimed_capacity above %llu bytes with "
                          "device.beyond=drop, or with device.beyond=module and a "
                          "device.beyond:reach above that",
                          (unsigned long long)p->beyond_cache, (unsigned long long)capacity);
    if (!payload)
        return 0;
    return fe_ring_init(&f->kept, p->beyond_cache, p->sector_size, true, "device.beyond:cache",
                        err);
}

void fe_forged_fini(struct fe_forged *f)
{
    fe_ring_fini(&f->kept);
    *f = (struct fe_forged){0};
}

uint64_t fe_forged_place_beyond(const struct fe_forged *f, uint64_t at, uint64_t *len)
{
    uint64_t in = at % f->period, end = in < f->capacity ? f->direct : f->period;
    *len = fe_min_u64(*len, end - in);
    return in < f->capacity ? in : FE_NOWHERE;
}

void fe_forged_keep(struct fe_forged *f, uint64_t at, uint32_t len, const void *buf)
{
    if (f->kept.n == 0)
        return;
    for (uint32_t done = 0; done < len; done += f->sector_size)
        fe_ring_put(&f->kept, (at + done) / f->sector_size,
                    buf ? (const uint8_t *)buf + done : NULL);
}

void fe_forged_look(const struct fe_forged *f, uint64_t at, uint32_t len, void *buf)
{
    memset(buf, 0, len);
    for (uint32_t done = 0; done < len; done += f->sector_size) {
        uint32_t i = fe_ring_find(&f->kept, (at + done) / f->sector_size);
        if (i != FE_NO_PLACE)
            memcpy((uint8_t *)buf + done, fe_ring_at(&f->kept, i), f->sector_size);
    }
}

void fe_forged_forget(struct fe_forged *f, uint64_t at, uint64_t len)
{
    fe_ring_forget(&f->kept, at / f->sector_size, len / f->sector_size);
}
