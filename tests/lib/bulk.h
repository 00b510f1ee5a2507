/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A translation layer on one die that keeps no data, for tests with millions of host writes in
 * which only the counts matter.  Anything that fails ends the test.
 */
#pragma once

#include "ftl/registry.h"
#include "lib/rand.h"

struct ft_bulk {
    struct fe_geometry geo;
    struct fe_store *store;
    struct fe_medium *medium;
    struct fe_oplist ops; /* operations are dropped */
    struct fe_ftl *ftl;
    struct ft_rand rand;
    uint64_t host; /* reads and writes so far */
    /* the counters at ft_bulk_mark */
    uint64_t host0;
    struct fe_nand_counters nand0;
    struct fe_ftl_counters ftl0;
};

/* A chip of `blocks` blocks with b pages of `page` bytes, and n_lpns logical pages. */
void ft_bulk_init(struct ft_bulk *t, const struct fe_ftl_ops *ftl, uint32_t blocks, uint32_t b,
                  uint32_t page, uint32_t n_lpns, const struct fe_ftl_params *p);

/* Checks every invariant, and frees everything. */
void ft_bulk_fini(struct ft_bulk *t);

void ft_bulk_write(struct ft_bulk *t, fe_lpn lpn);
void ft_bulk_read(struct ft_bulk *t, fe_lpn lpn);

/* Writes every page once, in order. */
void ft_bulk_fill(struct ft_bulk *t);

/* From here on ft_bulk_amplification counts. */
void ft_bulk_mark(struct ft_bulk *t);

/* Pages programmed for each host operation since the mark. */
double ft_bulk_amplification(const struct ft_bulk *t);
