/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of small devices for tests of images: every strategy, every kind of cache, and what else
 * decides which records an image has.
 */
#pragma once

#include "flashemu/profile.h"

#include <stdint.h>

enum { FT_IMAGE_KEYS = 12 };

static const char ft_image_base[] =
    "[device]\nsector_size = 512\n[nand]\ncell = mlc\nchannels = 1\ndies_per_channel = 2\n"
    "planes_per_die = 1\nblocks_per_plane = 24\npages_per_block = 8\npage_size = 2K\n"
    "tR = 25us\ntPROG = 200us\ntBERS = 1500us\nendurance = 1000\n[link]\ntype = none\n";

/* The strategy, and other keys; NULL behind the last one. */
static const struct kind {
    const char *name;
    const char *keys[FT_IMAGE_KEYS];
} ft_image_kinds[] = {
    {"page", {"ftl.type=page", "ftl.op=40%", "device.discard=yes"}},
    {"page-cache", {"ftl.type=page", "ftl.op=40%", "cache.size=8K", "faults.spare_blocks=4",
                    "faults.factory_bad=4%", "ftl.wear_levelling=static"}},
    {"page-kept", {"ftl.type=page", "ftl.op=40%", "cache.size=12K", "cache.volatile=no"}},
    {"page-area", {"ftl.type=page", "ftl.op=40%", "ftl.enhanced_size:start=8K",
                   "ftl.enhanced_size=24K", "device.discard=yes"}},
    {"page-static", {"ftl.type=page", "ftl.op=60%", "ftl.slc_mode=static", "ftl.slc_blocks=4"}},
    {"page-dynamic", {"ftl.type=page", "ftl.op=60%", "ftl.slc_mode=dynamic", "nand.cell=tlc",
                      "ftl.hot_cold=two-pool"}},
    {"page-planes", {"ftl.type=page", "ftl.op=40%", "nand.planes_per_die=2",
                     "nand.multiplane=yes"}},
    {"page-parts", {"ftl.type=page", "ftl.op=60%", "nand.page_parts=4", "nand.page_size=8K"}},
    {"dftl", {"ftl.type=dftl", "ftl.op=60%", "device.discard=yes", "cache.size=8K"}},
    {"norlog", {"ftl.type=norlog", "ftl.op=60%", "nand.cell=nor", "nand.page_size=512",
                "nand.pages_per_block=16", "device.discard=yes", "faults.spare_blocks=2"}},
    {"block", {"ftl.type=block", "ftl.op=20%", "ftl.unit_size=32K", "faults.spare_blocks=2"}},
    {"bast", {"ftl.type=bast", "ftl.op=40%", "ftl.unit_size=32K", "ftl.log_blocks=3"}},
    {"fast", {"ftl.type=fast", "ftl.op=40%", "ftl.unit_size=32K", "ftl.log_blocks=3",
              "cache.size=8K"}},
    {"segment", {"ftl.type=segment", "ftl.op=60%", "ftl.unit_size=32K", "ftl.open_linear=2",
                 "ftl.open_random=1", "faults.rber:retention=1"}},
    {"segment-small", {"ftl.type=segment", "ftl.op=90%", "ftl.unit_size=32K",
                       "ftl.open_linear=1", "ftl.open_random=1", "ftl.small_log=2",
                       "ftl.small_write=2K", "nand.page_parts=2", "nand.page_size=4K"}},
    {"step", {"ftl.type=step", "ftl.op=40%"}},
};

enum { FT_IMAGE_KINDS = sizeof ft_image_kinds / sizeof ft_image_kinds[0] };

/* The profile of a kind; 0, or as fe_profile_parse. */
static inline int ft_image_profile(struct fe_profile *ret, uint32_t kind, struct fe_err *err)
{
    const char *const *keys = ft_image_kinds[kind].keys;
    uint32_t n = 0;
    while (n < FT_IMAGE_KEYS && keys[n])
        n++;
    return fe_profile_parse(ret, "image-kinds.ini", ft_image_base, sizeof ft_image_base - 1, keys, n,
                            err);
}
