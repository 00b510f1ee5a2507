/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which frames are free, for frames.c.
 *
 * Frames that lie together are used together, so that pages which are written in order lie in order
 * and are read as one piece.  Free frames are therefore taken in the order of their addresses, group
 * by group: from the present group until it has none left, then from the group that got its first
 * free frame latest, because its memory is the warmest.  So groups should be small beside the
 * processor's cache.
 *
 *     groups      [x x . x]   [x x x x]   [. . x .]   [x . . x]        x used, . free
 *                  present                 stack: 3 on top of 2
 *
 * A group is on the stack, once, if it has free frames and is not the present one.  Fresh frames,
 * which were never used, come last.
 *
 * No lock: the owner serialises.  Every function but the first two is O(1), or O(frames of a group /
 * 64) for taking one.
 */
#ifndef FE_STORE_FRAME_POOL_H
#define FE_STORE_FRAME_POOL_H

#include "flashemu/err.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_frame_pool {
    uint32_t n_frames;
    uint32_t n_fresh;     /* frames [n_fresh, n_frames) were never used */
    uint32_t n_free;      /* of the others */
    uint32_t group_shift; /* frame >> group_shift is its group */
    uint32_t present;     /* group */
    uint32_t next;        /* frame of it at which the search goes on */
    uint32_t n_stack;
    uint32_t *stack;
    uint32_t *used;       /* per group: how many of its frames are used */
    uint64_t *free;       /* a bit per frame below n_fresh */
};

/* n_frames > 0 fresh frames.  -ENOMEM with a message; fe_frame_pool_fini is right after that, too. */
int fe_frame_pool_init(struct fe_frame_pool *p, uint32_t n_frames, uint32_t group_shift,
                       struct fe_err *err);
void fe_frame_pool_fini(struct fe_frame_pool *p);

/* A frame, which is used from now on.  There must be one. */
uint32_t fe_frame_pool_take(struct fe_frame_pool *p, bool *ret_is_fresh);

/* The frame is free again. */
void fe_frame_pool_drop(struct fe_frame_pool *p, uint32_t frame);

#endif
