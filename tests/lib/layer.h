/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A translation layer on a bench, together with what the host has written.  It is for tests that
 * say what a write costs in operations, copies and merges.
 */
#pragma once

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

/* What has been done since ft_layer_clear. */
struct ft_cost {
    uint32_t reads, programs, erases, copied, switches, partials, fulls;
};

/* Parameters for tests of a strategy that exists: units of unit_blocks erase blocks, two linear and
 * one random unit open, two log blocks, and a copy buffer of 2 pages.  All other parameters are 0.
 * Tests that run every strategy use lib/ftl_params.h. */
struct fe_ftl_params ft_params(const char *strategy, const struct fe_nand_params *nand,
                               uint32_t unit_blocks);

/* Writes the first n pages of a new strategy as a device does that has been used before: at once
 * where that is possible, and one by one elsewhere.  Every write must succeed.  Returns how many
 * were written at once. */
fe_lpn ft_use(struct fe_ftl *ftl, fe_lpn n, uint32_t page_bytes);

/* Makes a layer with all the logical pages that the strategy can offer.  Ends the test on
 * failure. */
void ft_layer_init(struct ft_layer *l, const struct fe_nand_params *nand,
                   const struct fe_ftl_params *params);
void ft_layer_fini(struct ft_layer *l);

/* Each of these is one host command with new bytes: for a part of a page, for a page, for the pages
 * [first, first + n). */
enum fe_status ft_layer_write_part(struct ft_layer *l, fe_lpn lpn, uint32_t off, uint32_t len);
enum fe_status ft_layer_write(struct ft_layer *l, fe_lpn lpn);
enum fe_status ft_layer_command(struct ft_layer *l, fe_lpn first, uint32_t n);

/* Writes pages [first, first + n) with a command for each.  Every command must succeed. */
void ft_layer_write_each(struct ft_layer *l, fe_lpn first, uint32_t n);

/* Does the same, and checks every invariant after each command. */
void ft_layer_fill(struct ft_layer *l, fe_lpn first, uint32_t n);

/* The operations since the last clear, as ft_rig_text prints them.  Valid until the next call. */
const char *ft_layer_text(struct ft_layer *l);

/* Calls ft_layer_fill.  Returns the operations of that, as ft_layer_text does. */
const char *ft_layer_ops_of(struct ft_layer *l, fe_lpn first, uint32_t n);

/* Begins to count anew. */
void ft_layer_clear(struct ft_layer *l);
struct ft_cost ft_layer_cost(struct ft_layer *l);

/* Fails the test unless every invariant holds. */
void ft_layer_check(struct ft_layer *l);

/* Lets each programmed page in turn claim to be of another logical page, and fails the test unless
 * the strategy's check finds every one of these. */
void ft_layer_check_finds_damage(struct ft_layer *l);

/* Fails the test unless every page reads as it was written and every invariant holds.  The cost of
 * reading is not counted. */
void ft_layer_verify(struct ft_layer *l);

/* The strategy is destroyed and recovers from the medium.  Checks every invariant, and clears. */
void ft_layer_power_cycle(struct ft_layer *l);

/* Fails the test unless operation i since the last clear is of this kind, on this page of this
 * block, with this cell time. */
void ft_layer_expect_op(struct ft_layer *l, uint32_t i, enum fe_op_kind kind, fe_peb peb,
                        uint32_t page, uint64_t cell_ns);

/* How a test ends: verifies everything, and frees it. */
void ft_layer_end(struct ft_layer *l);

/* Fails the test unless these are the merges and copies since the layer was made. */
void ft_layer_expect_merges(struct ft_layer *l, uint64_t switches, uint64_t partials,
                            uint64_t fulls, uint64_t copied);

/* Fails the test unless this is the cost since the last clear.  Then clears. */
void ft_layer_expect(struct ft_layer *l, struct ft_cost want, const char *what);
