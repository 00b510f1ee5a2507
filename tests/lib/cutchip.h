/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second chip that loses power together with the device's.  It knows the operations that the
 * device reports, with their times, and nothing else.  At a cut it decides by itself what has
 * become of each operation:
 *
 *     die 0    |--P--|--P--|---E-x-|  P  |       done, done, torn, never begun
 *     die 1    |-----P-----x|   P  |             done or torn or not begun, never begun
 *                         cut
 *
 * After that the device's chip must look the same, the counters of its medium too, and the
 * controller's journal must name the oldest erase that has not begun.
 *
 * Not known here: bad blocks, and pages that are lost together with their partner.
 */
#pragma once

#include "flashemu/device.h"
#include "lib/rand.h"
#include "nand/undo.h"

#include <stdbool.h>

enum { FT_CUT_BLOCKS = 64, FT_CUT_PAGES = 1024, FT_CUT_DIES = 4, FT_CUT_OPS = 8192 };

/* What a chip keeps. */
struct ft_cut_state {
    uint8_t pages[FT_CUT_PAGES];   /* enum fe_page_state */
    uint32_t next[FT_CUT_BLOCKS], erases[FT_CUT_BLOCKS];
    bool unstable[FT_CUT_BLOCKS];
    uint64_t programs, n_erases;   /* operations that were done or torn */
};

/* An operation, and what was known when it was issued. */
struct ft_cut_op {
    struct fe_op op;
    uint64_t seq;      /* programs issued before it, since the device was made */
    uint64_t since;    /* the same at the erase before it, or when the call began */
    bool in_recovery;
};

struct ft_cutchip {
    struct fe_device *dev;
    struct fe_geometry geo;
    struct ft_cut_state base;      /* at the last cut */
    struct ft_cut_op ops[FT_CUT_OPS]; /* since then */
    uint32_t n_ops;
    uint64_t seq, since, reads;    /* programs and reads issued, since the device was made */
    uint64_t n_erases_issued;      /* outside of recovery */
    uint64_t n_first_pages;        /* programs issued of the first page of a block */
    bool in_recovery;
    struct fe_interrupted journal; /* what the device's journal must say */
    bool exact_since;              /* journal.since is known, too */
    uint64_t seed;                 /* of the outcomes of a cut */
    const struct ft_cut_op *chosen; /* has the outcome `chosen_outcome` */
    enum fe_cut_outcome chosen_outcome;
    char wrong[256];               /* empty as long as everything agrees */
};

/* Follows the device, whose statistics must be at zero, from now on.  exact_since: the strategy
 * empties one block after the other and programs nothing in between. */
void ft_cutchip_init(struct ft_cutchip *c, struct fe_device *dev, bool exact_since);

/* A request or power-on begins. */
void ft_cutchip_begin(struct ft_cutchip *c, bool in_recovery);

/* Power fails on both chips at at_ns.  If `chosen` is not NULL, it is one of c->ops and has that
 * outcome if it is under way.  The other outcomes follow from the seed.  False with c->wrong if the
 * chips differ then. */
bool ft_cutchip_cut(struct ft_cutchip *c, uint64_t at_ns, const struct ft_cut_op *chosen,
                    enum fe_cut_outcome outcome, uint64_t seed);

/* Whether the device's chip is the one that its operations since the last cut have made.  False
 * with c->wrong. */
bool ft_cutchip_agrees(struct ft_cutchip *c);

/* The chip as it is now. */
struct ft_cut_state ft_cutchip_now(const struct ft_cutchip *c);
