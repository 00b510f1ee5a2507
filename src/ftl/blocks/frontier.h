/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A frontier: the open blocks that one stream of pages fills in turn, so that all dies are
 * busy.
 *
 *     place     0     1     2     3       There is one place for each die, or fewer.  A place
 *     open    [8 .] [9 .]   -   [3 .]     without a block takes a free one when its turn
 *               ^                         comes.
 *               turn
 *
 * Where pages have parts, the turn stays until the page is full.
 *
 * `at` is the place that takes the next page.  Usually the turn decides about it; when no
 * free block is left, a page goes to any place that has a block.
 */
#pragma once

#include "flashemu/types.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_frontier {
    fe_peb *open;    /* per place: an open block, or FE_PEB_NONE */
    uint32_t n;      /* places */
    uint32_t n_open; /* places that have a block */
    uint32_t turn;   /* the place whose turn is next */
    uint32_t at;     /* the place that takes the next page */
    uint32_t pages;  /* a block is full after so many */
    uint32_t set;    /* the number of the victim set that full blocks join */
};

/* The next place gets its turn, which `at` then names.  There must be a place.  Returns the
 * block there, or FE_PEB_NONE. */
static inline fe_peb fe_frontier_turn(struct fe_frontier *front)
{
    front->at = front->turn;
    front->turn = front->at + 1 == front->n ? 0 : front->at + 1;
    return front->open[front->at];
}

/* `at` becomes the first place that has a block, in a circle that begins with place `from`.
 * Returns false, and changes nothing, if no place has one. */
static inline bool fe_frontier_seek(struct fe_frontier *front, uint32_t from)
{
    if (front->n_open == 0)
        return false;
    for (front->at = from; front->open[front->at] == FE_PEB_NONE;)
        front->at = front->at + 1 == front->n ? 0 : front->at + 1;
    return true;
}
