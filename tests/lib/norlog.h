/* SPDX-License-Identifier: BSD-3-Clause
 *
 * norlog on a bench.  Unless a test says otherwise, there is one die of 8 NOR blocks.  Each block
 * has D sectors and one more for its header.  One block is kept free, and the capacity is one
 * block smaller still, so that cleaning finds something to clean.
 */
#pragma once

#include "lib/layer.h"
#include "lib/unit.h"

enum { BLOCKS = 8, D = 10, SECTOR = 512, USABLE = BLOCKS - 2 };

static inline struct fe_ftl_params ft_norlog_params(uint32_t policy)
{
    struct fe_nand_params np = ft_nor(BLOCKS, D + 1);
    struct fe_ftl_params p = ft_params("norlog", &np, 1);
    p.clean.gc_policy = policy;
    return p;
}

static inline void ft_norlog_init(struct ft_layer *l, struct fe_ftl_params p)
{
    struct fe_nand_params np = ft_nor(BLOCKS, D + 1);
    ft_layer_init(l, &np, &p);
    assert_int_equal(l->ftl->n_lpns, (BLOCKS - 1 - p.clean.gc_reserve) * D);
}

static inline void ft_norlog_fill(struct ft_layer *l)
{
    ft_layer_fill(l, 0, l->ftl->n_lpns);
    ft_layer_clear(l);
}
