/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of a FAT depends on the number of clusters, and the number of clusters depends on
 * the size of the FATs.  Formatters break this circle with an estimate that may be a sector
 * too large.  This file finds the smallest size by bisection.  Larger FATs never leave room for
 * more clusters, so the statement "this FAT is large enough" is false up to some size and true
 * from there on.
 */
#include "workload/fat32.h"

#include "base/num.h"

#include <errno.h>

enum { RESERVED_SECTORS = 32, ENTRY = 4, FIRST_CLUSTER = 2, MAX_CLUSTERS = 0x0ffffff4 };

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return fe_div_up(n, to) * to;
}

/* Offset of the data area on the device if each FAT has fat_bytes. */
static uint64_t data_offset(const struct fe_fat32_params *p, uint64_t fat_bytes)
{
    uint64_t reserved = (uint64_t)RESERVED_SECTORS * p->sector;

    if (p->style == FE_FAT32_MKFS)
        reserved = round_up(reserved, p->cluster);
    uint64_t data = p->start + reserved + 2 * fat_bytes;
    return p->style == FE_FAT32_FACTORY ? round_up(data, p->align) : data;
}

/* How many clusters there is room for if each FAT has fat_bytes. */
static uint64_t clusters(const struct fe_fat32_params *p, uint64_t fat_bytes)
{
    uint64_t data = data_offset(p, fat_bytes);
    return data < p->end ? (p->end - data) / p->cluster : 0;
}

static int check(const struct fe_fat32_params *p, struct fe_err *err)
{
    if (p->cluster % p->sector != 0 || p->start % p->sector != 0 || p->align % p->sector != 0)
        return fe_err_set(err, EINVAL, "cluster, start and align of a FAT volume must be whole "
                                       "sectors of %u bytes", p->sector);
    if (p->start >= p->end || p->end > UINT64_C(1) << 48)
        return fe_err_set(err, EINVAL, "a FAT volume cannot reach from %llu to %llu",
                          (unsigned long long)p->start, (unsigned long long)p->end);
    return 0;
}

int fe_fat32_layout(struct fe_fat32 *ret, const struct fe_fat32_params *p, struct fe_err *err)
{
    uint64_t unit = p->style == FE_FAT32_MKFS ? p->cluster : p->sector;
    int code = check(p, err);

    if (code < 0)
        return code;
    /* low and high count units.  A FAT of `high` units is always large enough. */
    uint64_t low = 1, high = (clusters(p, 0) + FIRST_CLUSTER) * ENTRY / unit + 1;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if ((clusters(p, mid * unit) + FIRST_CLUSTER) * ENTRY <= mid * unit)
            high = mid;
        else
            low = mid + 1;
    }
    uint64_t fat_bytes = low * unit, n = clusters(p, fat_bytes);
    if (n == 0 || n > MAX_CLUSTERS)
        return fe_err_set(err, EINVAL, "a FAT32 volume of %llu bytes with clusters of %u has %s",
                          (unsigned long long)(p->end - p->start), p->cluster,
                          n == 0 ? "no room for data" : "too many clusters");
    *ret = (struct fe_fat32){
        .fat_bytes = fat_bytes,
        .data = data_offset(p, fat_bytes),
        .cluster = p->cluster,
        .n_clusters = (uint32_t)n,
    };
    ret->fat[1] = ret->data - fat_bytes;
    ret->fat[0] = ret->fat[1] - fat_bytes;
    return 0;
}
