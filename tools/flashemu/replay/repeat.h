/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Repeats the work of `replay` until the device is in a steady state, or dead.
 *
 * A round is all that the user has named, once.  A pass of the device is as much programming as its
 * chip has bytes; a pass ends with a round, or anywhere if a pattern goes on for longer.  The state
 * is steady when the write amplification of a pass differs by less than 1 % from that of the one
 * before, and by less than 2 % from that of the one before that: it neither jumps nor creeps.  Passes of
 * a few rounds alternate where the device does the same for ever; then the same is asked of the last
 * third of all passes, the third before it and the third before that.
 *
 *     rounds   |--|--|--|--|--|--|--|--|--|--|--|--|--|
 *     passes   |-- first ---|- 1.42 -|- 1.43 -|- 1.43 -|   steady
 *                           |<---- blocks' cycles ---->|
 *
 * The first pass fills what is free on a new device, so it counts for nothing but the comparison.
 */
#pragma once

#include "flashemu/map.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What has happened up to an instant, or between two. */
struct repeat_sum {
    uint64_t requests, written, programmed, erased, refreshed, device_ns;
};

struct repeat {
    const struct fe_device *dev;
    bool until_dead;           /* otherwise until the state is steady */
    uint64_t most;             /* requests, after which it ends all the same */
    uint64_t pass_bytes;       /* of the chip */
    uint64_t rounds;           /* that are over */
    bool ended, reached;
    struct repeat_sum begun;   /* of the pass that runs */
    uint64_t begun_at;         /* bytes that the chip had programmed then */
    struct repeat_sum *passes; /* that are over, n_passes of them */
    uint32_t n_passes;
    uint32_t together;         /* how many of the last ones are steady as a whole; 1 if none is */
    uint32_t n_blocks;
    struct fe_block_wear *first, *before, *now; /* as counting began, as the first pass ended, and
                                                   at the end */
    uint16_t *valid;           /* pages of each block at the end */
    uint64_t round_ended;      /* requests behind which the last round was over */
    uint64_t whole_from;       /* the first round that began when the first pass had ended */
};

/* Prepares for a device whose statistics are at zero.  what: "steady" or "dead".  -EINVAL if it is
 * neither, or if nothing on the device wears; -ENOMEM; both with a message. */
int repeat_init(struct repeat *ret, const struct fe_device *dev, const char *what, uint64_t most,
                struct fe_err *err);
void repeat_fini(struct repeat *r);

/* Starts counting: what was run so far was a warm-up, and the device's statistics are at zero. */
void repeat_begin(struct repeat *r);

/* To be called between two requests, the number of which is `requests` so far.  may_cut says whether
 * a pass may end here, inside of a round.  Returns 0 if it goes on, 1 if it has ended, or -ENOMEM
 * with message. */
int repeat_look(struct repeat *r, uint64_t requests, bool may_cut, struct fe_err *err);

/* To be called at the end of each round.  As repeat_look; -EINVAL with message if the first one
 * wrote nothing, because then it would never end. */
int repeat_round(struct repeat *r, uint64_t requests, struct fe_err *err);

/* A new reference to what was found, or NULL without memory:
 *
 *     {"until":"steady","reached":B,"rounds":N,"pass_bytes":N,"together":N,
 *      "passes":[{"requests":N,"host_bytes":N,"programmed":N,"erases":N,"refresh_erases":N,
 *                  "device_ns":N}...],
 *      "spares":N,"likeness":X,"blocks":[{"slc":B,"rests":B,"old":B,"erases":N,"fills":N,
 *      "blocks":N}...]}
 *
 * `blocks` counts the blocks in use that were erased so often since the first pass, or from the
 * beginning if there was one pass only, and have begun to hold data so often (fills).  One that rests
 * did neither.  An old one holds what it held when counting began, or what a whole round did not
 * write anew; others that rest are free, or hold only what is out of date.  `likeness` is how alike the
 * erases of blocks were in the first pass and behind it: 1 if each keeps a rate of its own, about 0 if
 * they differ by chance. */
json_t *repeat_json(const struct repeat *r);
