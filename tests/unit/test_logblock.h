/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The strategies of log blocks on a bench: blocks of 8 pages, 9 of them
 * for bast and 12 for fast.
 *
 * Operations are written as letters (ft_rig_text): P program, Rp a copy, E erase, B wait.
 */
#pragma once

#include "lib/layer.h"
#include "lib/unit.h"

#include "ftl/registry.h"

#include <errno.h>

enum { N = 8, PAGE = 64 };

enum strategy { BAST, FAST, N_STRATEGIES };

/* One block is the spare block, `logs` are for logs, and the other blocks hold data. */
static const struct {
    const char *name;
    uint32_t blocks, logs;
} strategies[N_STRATEGIES] = {{"bast", 9, 2}, {"fast", 12, 3}};

static inline struct fe_nand_params chip(enum strategy of)
{
    return ft_nand(1, strategies[of].blocks, N, PAGE);
}

static inline struct fe_ftl_params usual(enum strategy of)
{
    struct fe_nand_params np = chip(of);
    struct fe_ftl_params p = ft_params(strategies[of].name, &np, 1);
    p.log.log_blocks = strategies[of].logs;
    p.unit.copy_buffer = 16;
    return p;
}

static inline void setup(struct ft_layer *l, enum strategy of, struct fe_ftl_params p)
{
    struct fe_nand_params np = chip(of);
    ft_layer_init(l, &np, &p);
    assert_int_equal(l->ftl->n_lpns, (strategies[of].blocks - p.log.log_blocks - 1) * N);
}

/* The same, all data blocks full. */
static inline void setup_full(struct ft_layer *l, enum strategy of, struct fe_ftl_params p)
{
    setup(l, of, p);
    ft_layer_fill(l, 0, l->ftl->n_lpns);
}

static inline uint32_t free_blocks(struct ft_layer *l)
{
    return l->ftl->ops->free_blocks(l->ftl);
}

static inline void assert_refused(const struct fe_ftl_params *p, uint32_t blocks, const char *says)
{
    struct fe_err err;
    struct fe_geometry geo;
    struct fe_nand_params np = ft_nand(1, blocks, N, PAGE);
    fe_err_init(&err);
    assert_int_equal(fe_geometry_init(&geo, &np, &err), 0);
    assert_int_equal(fe_ftl_registry[p->type]->max_lpns(p, &geo, &err), 0);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}
