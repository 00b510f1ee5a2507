/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a FAT32 volume keeps its structures, without the volume.
 */
#ifndef FE_WORKLOAD_FAT32_H
#define FE_WORKLOAD_FAT32_H

#include "flashemu/err.h"

#include <stdint.h>

enum fe_fat32_style {
    FE_FAT32_MKFS,    /* 32 reserved sectors; these and each FAT rounded up to clusters */
    FE_FAT32_PACKED,  /* 32 reserved sectors, nothing rounded */
    FE_FAT32_FACTORY, /* reserved sectors pad the FATs' end to a multiple of align */
};

/* What is wanted.  All in bytes on the device. */
struct fe_fat32_params {
    uint64_t start, end; /* of the partition */
    uint32_t sector, cluster;
    uint64_t align; /* FACTORY only */
    enum fe_fat32_style style;
};

struct fe_fat32 {
    uint64_t fat[2];    /* offsets of the two FATs on the device */
    uint64_t fat_bytes; /* of each */
    uint64_t data;      /* offset of cluster 2 */
    uint32_t cluster;
    uint32_t n_clusters; /* numbered from 2 */
};

/* The smallest FATs that describe all clusters that are left beside them.  -EINVAL with
 * message if the sizes are not multiples of each other or there is no room.  Volumes with
 * fewer clusters than FAT32 should have (65525) are laid out all the same. */
int fe_fat32_layout(struct fe_fat32 *ret, const struct fe_fat32_params *p, struct fe_err *err);

/* Offset on the device of cluster c, and of its entry in FAT i. */
static inline uint64_t fe_fat32_cluster(const struct fe_fat32 *fs, uint32_t c)
{
    return fs->data + (uint64_t)(c - 2) * fs->cluster;
}

static inline uint64_t fe_fat32_entry(const struct fe_fat32 *fs, int i, uint32_t c)
{
    return fs->fat[i] + (uint64_t)c * 4;
}

#endif
