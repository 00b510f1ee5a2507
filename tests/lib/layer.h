/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A translation layer on a bench, with what the host has written beside it: for tests
 * that say in operations, copies and merges what a write costs.
 */
#ifndef FT_LAYER_H
#define FT_LAYER_H

#include "ftl/ftl.h"
#include "lib/rig.h"

struct ft_layer {
    struct ft_rig rig;
    struct fe_ftl *ftl;
    struct fe_ftl_params params;
    uint8_t *want; /* n_lpns pages */
    uint32_t n_writes;
    struct fe_ftl_counters before;
};

/* Since ft_layer_clear. */
struct ft_cost {
    uint32_t reads, programs, erases, copied, switches, partials, fulls;
};

/* Parameters that every strategy accepts on a chip with enough blocks: units of
 * unit_blocks erase blocks, two linear and one random open, two log blocks, a copy
 * buffer of 2 pages. */
struct fe_ftl_params ft_params(const char *strategy, const struct fe_nand_params *nand,
                               uint32_t unit_blocks);

/* All the logical pages that the strategy can offer; ends the test on failure. */
void ft_layer_init(struct ft_layer *l, const struct fe_nand_params *nand,
                   const struct fe_ftl_params *params);
void ft_layer_fini(struct ft_layer *l);

/* One host command each, of new bytes: part of a page, a page, pages [first, first + n). */
enum fe_status ft_layer_write_part(struct ft_layer *l, fe_lpn lpn, uint32_t off, uint32_t len);
enum fe_status ft_layer_write(struct ft_layer *l, fe_lpn lpn);
enum fe_status ft_layer_command(struct ft_layer *l, fe_lpn first, uint32_t n);

/* Pages [first, first + n), a command each; every one must succeed. */
void ft_layer_write_each(struct ft_layer *l, fe_lpn first, uint32_t n);

/* The same, with every invariant checked after each. */
void ft_layer_fill(struct ft_layer *l, fe_lpn first, uint32_t n);

/* The operations since the last clear as ft_rig_text; valid until the next call. */
const char *ft_layer_text(struct ft_layer *l);

/* What ft_layer_fill does to the chip, as ft_layer_text. */
const char *ft_layer_ops_of(struct ft_layer *l, fe_lpn first, uint32_t n);

/* Starts counting anew. */
void ft_layer_clear(struct ft_layer *l);
struct ft_cost ft_layer_cost(struct ft_layer *l);

/* Every invariant holds; fails the test if not. */
void ft_layer_check(struct ft_layer *l);

/* Every page reads as written and every invariant holds; fails the test if not.  What
 * the reading cost is not counted. */
void ft_layer_verify(struct ft_layer *l);

/* How a test ends: verifies, and lets go of everything. */
void ft_layer_end(struct ft_layer *l);

/* Fails the test unless the merges and copies since the beginning are these. */
void ft_layer_expect_merges(struct ft_layer *l, uint64_t switches, uint64_t partials,
                            uint64_t fulls, uint64_t copied);

/* Fails the test unless the cost since the last clear is this; clears. */
void ft_layer_expect(struct ft_layer *l, struct ft_cost want, const char *what);

#endif
