/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses are arithmetic; the buffer is a ring with a hash table over it, as in host/cache.c.
 * That cache cannot serve here: its entries are logical pages of a strategy, and a lost sector has
 * none.
 */
#include "device/forged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

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
        return fe_err_set(err, EINVAL, "device.beyond_cache=%llu: no sector is lost that it could "
                          "keep; allowed: 0, or a device.claimed_capacity above %llu bytes with "
                          "device.beyond=drop, or with device.beyond=module and a "
                          "device.beyond_module above that",
                          (unsigned long long)p->beyond_cache, (unsigned long long)capacity);
    if (!payload)
        return 0;
    f->n = (uint32_t)(p->beyond_cache / p->sector_size);
    f->n_heads = 2u << fe_log2(f->n);
    f->sectors = malloc(f->n * sizeof *f->sectors);
    f->chain = malloc(f->n * sizeof *f->chain);
    f->heads = malloc(f->n_heads * sizeof *f->heads);
    f->data = malloc((size_t)f->n * f->sector_size);
    if (!f->sectors || !f->chain || !f->heads || !f->data) {
        fe_forged_fini(f);
        return fe_err_nomem(err, "device.beyond_cache", p->beyond_cache);
    }
    memset(f->sectors, 0xff, f->n * sizeof *f->sectors);
    memset(f->heads, 0xff, f->n_heads * sizeof *f->heads);
    return 0;
}

void fe_forged_fini(struct fe_forged *f)
{
    free(f->sectors);
    free(f->chain);
    free(f->heads);
    free(f->data);
    *f = (struct fe_forged){0};
}

uint64_t fe_forged_place_beyond(const struct fe_forged *f, uint64_t at, uint64_t *len)
{
    uint64_t in = at % f->period, end = in < f->capacity ? f->direct : f->period;
    *len = fe_min_u64(*len, end - in);
    return in < f->capacity ? in : FE_NOWHERE;
}

/* ---- the buffer ---- */

static uint32_t *head_of(const struct fe_forged *f, uint64_t sector)
{
    return &f->heads[(sector * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (f->n_heads - 1)];
}

static uint32_t find(const struct fe_forged *f, uint64_t sector)
{
    uint32_t i = *head_of(f, sector);
    while (i != NONE && f->sectors[i] != sector)
        i = f->chain[i];
    return i;
}

/* Empties place i. */
static void empty(struct fe_forged *f, uint32_t i)
{
    uint32_t *link = head_of(f, f->sectors[i]);
    while (*link != i)
        link = &f->chain[*link];
    *link = f->chain[i];
    f->sectors[i] = FE_NO_SECTOR;
}

/* An older copy of the sector may stay in its place.  The newer one comes first in its chain, and
 * goes later. */
static void put(struct fe_forged *f, uint64_t sector, const void *data)
{
    uint32_t i = f->next, *head = head_of(f, sector);
    uint8_t *to = f->data + (size_t)i * f->sector_size;
    f->next = i + 1 < f->n ? i + 1 : 0;
    if (f->sectors[i] != FE_NO_SECTOR)
        empty(f, i);
    f->sectors[i] = sector;
    f->chain[i] = *head;
    *head = i;
    if (data)
        memcpy(to, data, f->sector_size);
    else
        memset(to, 0, f->sector_size);
}

void fe_forged_keep(struct fe_forged *f, uint64_t at, uint32_t len, const void *buf)
{
    if (f->n == 0)
        return;
    for (uint32_t done = 0; done < len; done += f->sector_size)
        put(f, (at + done) / f->sector_size, buf ? (const uint8_t *)buf + done : NULL);
}

void fe_forged_look(const struct fe_forged *f, uint64_t at, uint32_t len, void *buf)
{
    memset(buf, 0, len);
    if (f->n == 0)
        return;
    for (uint32_t done = 0; done < len; done += f->sector_size) {
        uint32_t i = find(f, (at + done) / f->sector_size);
        if (i != NONE)
            memcpy((uint8_t *)buf + done, f->data + (size_t)i * f->sector_size, f->sector_size);
    }
}

/* The range may be as large as the device, so the places are asked whether they lie in it. */
void fe_forged_forget(struct fe_forged *f, uint64_t at, uint64_t len)
{
    uint64_t first = at / f->sector_size, n = len / f->sector_size;
    for (uint32_t i = 0; i < f->n; i++)
        if (f->sectors[i] != FE_NO_SECTOR && f->sectors[i] - first < n)
            empty(f, i);
}
