/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A translation layer on one die without data: for millions of host writes of which only
 * the counts matter.  What fails ends the test.
 */
#ifndef FT_BULK_H
#define FT_BULK_H

#include "ftl/registry.h"
#include "lib/rand.h"

struct ft_bulk {
    struct fe_geometry geo;
    struct fe_store *store;
    struct fe_medium *medium;
    struct fe_oplist ops; /* dropped */
    struct fe_ftl *ftl;
    struct ft_rand rand;
    uint64_t host; /* reads and writes so far */
    /* at ft_bulk_mark */
    uint64_t host0;
    struct fe_nand_counters nand0;
    struct fe_ftl_counters ftl0;
};

/* `blocks` blocks of b pages of `page` bytes, n_lpns logical pages. */
void ft_bulk_init(struct ft_bulk *t, const struct fe_ftl_ops *ftl, uint32_t blocks, uint32_t b,
                  uint32_t page, uint32_t n_lpns, const struct fe_ftl_params *p);

/* Every invariant must hold. */
void ft_bulk_fini(struct ft_bulk *t);

void ft_bulk_write(struct ft_bulk *t, fe_lpn lpn);
void ft_bulk_read(struct ft_bulk *t, fe_lpn lpn);

/* Every page once, in order. */
void ft_bulk_fill(struct ft_bulk *t);

void ft_bulk_mark(struct ft_bulk *t);

/* Pages programmed for each host operation since the mark. */
double ft_bulk_amplification(const struct ft_bulk *t);

#endif
