/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which frames are free, for frames.c.
 *
 * Frames that lie together are used together, so that pages which are written in order lie in order
 * and are read as one piece.  Free frames are therefore taken in the order of their addresses, group
 * by group: from the present group until it has none left, then from the group that has most of
 * them; of several the one that became so latest, because its memory is the warmest.  So groups
 * should be small beside the processor's cache.
 *
 *     groups      [x x . x]   [x x x x]   [. . x .]   [x . . x]        x used, . free
 *                  present                 next        then
 *
 * What was written at random lies at random, and the frames that it leaves one by one do so, too.
 * Where it is overwritten in order again and again, some spare frames bring the order back: frames
 * that become free then collect in their groups before they are used.  Spare are a thirty-second part
 * as many as are used, up to a limit.  So fresh frames, which were never used, come first until there
 * are spare ones, and last from then on.
 *
 * If more than twice the limit are free, because the host has trimmed, groups without a used frame
 * come last: their memory may have been given back, or soon can be.
 *
 * Groups with equally many free frames form a list; the present one is in none.
 *
 *     free frames of a group     1       2       3
 *     groups                     7-3-4   9       2-8
 *
 * No lock: the owner serialises.  Every function but the first two is O(1) on average, or
 * O(frames of a group / 64) for taking one.
 */
#pragma once

#include "flashemu/err.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_frame_link {
    uint32_t before, after; /* groups of the same list, or UINT32_MAX */
};

struct fe_frame_pool {
    uint32_t n_frames;
    uint32_t n_fresh;     /* frames [n_fresh, n_frames) were never used */
    uint32_t n_free;      /* of the others */
    uint32_t group_shift; /* frame >> group_shift is its group */
    uint32_t present;     /* group */
    uint32_t next;        /* frame of it at which the search goes on */
    uint32_t max_spare;   /* the limit of spare frames */
    uint32_t most;        /* no group in a list has more free frames, except whole groups */
    uint32_t *first;      /* per number of free frames: the first group with so many, or UINT32_MAX */
    struct fe_frame_link *links; /* per group */
    uint32_t *used;       /* per group: how many of its frames are used */
    uint64_t *free;       /* a bit per frame below n_fresh */
};

/* n_frames > 0 fresh frames.  -ENOMEM with a message; fe_frame_pool_fini is right after that, too. */
int fe_frame_pool_init(struct fe_frame_pool *p, uint32_t n_frames, uint32_t group_shift,
                       uint32_t max_spare, struct fe_err *err);
void fe_frame_pool_fini(struct fe_frame_pool *p);

/* A frame, which is used from now on.  There must be one. */
uint32_t fe_frame_pool_take(struct fe_frame_pool *p, bool *ret_is_fresh);

/* The frame is free again. */
void fe_frame_pool_drop(struct fe_frame_pool *p, uint32_t frame);
