/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a FAT32 volume keeps its structures.  Nothing here reads or writes a volume.
 *
 *     start                                                          end
 *     | reserved sectors | FAT 0 | FAT 1 | cluster 2 | 3 | 4 | ...    |
 *                                        ^ data
 */
#pragma once

#include "flashemu/err.h"

#include <stdint.h>

enum fe_fat32_style {
    FE_FAT32_MKFS,    /* 32 reserved sectors; they and each FAT are rounded up to clusters */
    FE_FAT32_PACKED,  /* 32 reserved sectors; nothing is rounded */
    FE_FAT32_FACTORY, /* more reserved sectors, so that the FATs end at a multiple of align */
};

/* What volume is wanted.  Offsets and sizes are in bytes on the device. */
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

/* Lays out the volume with the smallest FATs that have an entry for every cluster that fits
 * next to them.  -EINVAL with message if cluster, start or align is not a whole number of
 * sectors, or if there is no room.  A volume may have fewer clusters than FAT32 requires
 * (65525). */
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
