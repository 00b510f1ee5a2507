/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a strategy tells the module of erase blocks (ftl/blocks/blocks.h) when it begins: which part of the
 * chip it is, which blocks are kept apart, and what the module may ask it.
 */
#pragma once

#include "ftl/ftl.h"
#include "ftl/mapping.h"

enum { FE_BLOCK_SETS = 2, FE_BLOCK_FRONTIERS = 4 };

/* What the module asks the strategy. */
struct fe_block_ops {
    /* Copies a valid page to an open block and maps it there.  lpn is what the OOB of `from`
     * says; is_static is set when static levelling moves the page, which has not changed for long.
     * `from` keeps its valid bit. */
    enum fe_status (*move)(struct fe_ftl *ftl, bool is_static, fe_lpn lpn, fe_ppn from);

    /* The number of the frontier that a block with programmed pages belongs to, by what is on
     * the chip.  A full block is in the set of that frontier. */
    uint32_t (*frontier_of)(const struct fe_ftl *ftl, fe_peb peb);

    /* The controller does nothing else while it erases a block. */
    bool erases_alone;
};

struct fe_set_config {
    uint32_t policy, d; /* as for fe_victims_init */
    uint32_t pages;     /* how many pages of a full block can be valid; 0: no such set */
};

struct fe_frontier_config {
    uint32_t n, pages, set; /* as in struct fe_frontier; n may be 0 */
};

struct fe_blocks_config {
    fe_peb first;       /* the part of the chip: the good blocks from this one on */
    uint32_t n_blocks;  /* so many of them; 0: to the end of the chip */
    bool slc;           /* all these blocks are in SLC mode when they hold pages */
    uint32_t reserve;   /* free blocks that the strategy wants to keep */
    uint32_t levelling; /* enum fe_wear_levelling */
    uint32_t threshold; /* erases that static levelling lets blocks lie apart */
    uint32_t n_aside;   /* so many good blocks, the first ones, have a pool of their own */
    uint64_t seed;      /* of policies that draw */
    const struct fe_mapping *map; /* per logical page, which moving a page changes: fetched early;
                                     or NULL */
    struct fe_set_config sets[FE_BLOCK_SETS];
    struct fe_frontier_config frontiers[FE_BLOCK_FRONTIERS];
};
