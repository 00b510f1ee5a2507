/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/ring.h"

#include "base/num.h"

#include <stdlib.h>
#include <string.h>

int fe_ring_init(struct fe_ring *r, uint64_t bytes, uint32_t sector_size, bool data,
                 const char *what, struct fe_err *err)
{
    *r = (struct fe_ring){.n = (uint32_t)(bytes / sector_size), .sector_size = sector_size};
    r->n_heads = 2u << fe_log2(r->n);
    r->sectors = malloc(r->n * sizeof *r->sectors);
    r->chain = malloc(r->n * sizeof *r->chain);
    r->heads = malloc(r->n_heads * sizeof *r->heads);
    r->data = data ? malloc((size_t)r->n * sector_size) : NULL;
    if (!r->sectors || !r->chain || !r->heads || (data && !r->data)) {
        fe_ring_fini(r);
        return fe_err_nomem(err, what, bytes);
    }
    memset(r->sectors, 0xff, r->n * sizeof *r->sectors);
    memset(r->heads, 0xff, r->n_heads * sizeof *r->heads);
    return 0;
}

void fe_ring_fini(struct fe_ring *r)
{
    free(r->sectors);
    free(r->chain);
    free(r->heads);
    free(r->data);
    *r = (struct fe_ring){0};
}

static uint32_t *head_of(const struct fe_ring *r, uint64_t sector)
{
    return &r->heads[(sector * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (r->n_heads - 1)];
}

uint32_t fe_ring_find(const struct fe_ring *r, uint64_t sector)
{
    if (r->n == 0)
        return FE_NO_PLACE;
    uint32_t i = *head_of(r, sector);
    while (i != FE_NO_PLACE && r->sectors[i] != sector)
        i = r->chain[i];
    return i;
}

/* Empties place i. */
static void empty(struct fe_ring *r, uint32_t i)
{
    uint32_t *link = head_of(r, r->sectors[i]);
    while (*link != i)
        link = &r->chain[*link];
    *link = r->chain[i];
    r->sectors[i] = FE_NO_SECTOR;
}

/* An older copy of the sector may stay in its place.  The newer one comes first in its chain, and
 * goes later. */
void fe_ring_put(struct fe_ring *r, uint64_t sector, const void *data)
{
    uint32_t i = r->next, *head = head_of(r, sector);
    r->next = i + 1 < r->n ? i + 1 : 0;
    if (r->sectors[i] != FE_NO_SECTOR)
        empty(r, i);
    r->sectors[i] = sector;
    r->chain[i] = *head;
    *head = i;
    if (!r->data)
        return;
    uint8_t *to = r->data + (size_t)i * r->sector_size;
    if (data)
        memcpy(to, data, r->sector_size);
    else
        memset(to, 0, r->sector_size);
}

/* The range may be as large as the device, so the places are asked whether they lie in it. */
void fe_ring_forget(struct fe_ring *r, uint64_t first, uint64_t n)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->sectors[i] != FE_NO_SECTOR && r->sectors[i] - first < n)
            empty(r, i);
}
