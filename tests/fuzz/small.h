/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The profile of a very small device: one die, a volatile cache of four pages, two spare blocks.
 * Making such a device takes so little time that a fuzz target can make one for each input.
 */
#pragma once

#include "flashemu/profile.h"
#include "flashemu/types.h"
#include "lib/ftl_params.h"

enum { FT_SMALL_PAGE = 2048, FT_SMALL_PPB = 8, FT_SMALL_BLOCKS = 40, FT_SMALL_LPNS = 128 };

/* type: an index of fe_ftl_registry. */
static inline struct fe_profile ft_small_profile(uint32_t type)
{
    struct fe_profile p = {.name = "fuzz"};
    p.device = (struct fe_device_params){.capacity = FT_SMALL_LPNS * FT_SMALL_PAGE,
                                         .sector_size = 512};
    p.nand = (struct fe_nand_params){
        .cell = FE_CELL_MLC, .channels = 1, .dies_per_channel = 1, .planes_per_die = 1,
        .blocks_per_plane = FT_SMALL_BLOCKS, .pages_per_block = FT_SMALL_PPB,
        .page_size = FT_SMALL_PAGE, .oob_size = 64,
        .tR_ns = {25000, 25000, 25000}, .tPROG_ns = {200000, 200000, 200000},
        .tBERS_ns = 1500000, .endurance = 1000};
    p.ftl = ft_ftl_params(type, FT_SMALL_PPB * FT_SMALL_PAGE);
    p.wear = (struct fe_wear_params){
        .spare_blocks = 2, .slow_factor = 2, .weak_block = FE_PEB_NONE - 1,
        .correctable_bits = 4, .codeword_size = 512};
    p.cache = (struct fe_cache_params){.size = 4 * FT_SMALL_PAGE, .volatile_ = true};
    p.link = (struct fe_link_params){.type = FE_LINK_NONE, .max_transfer = 2 * FT_SMALL_PAGE,
                                     .queue_depth = 1};
    return p;
}
