/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What difference.c has for walk.c and subsets.c, and subsets.c for walk.c.
 */
#pragma once

#include "cuts/cuts.h"

/* A child cannot go on, for a reason that is not the device's. */
void cuts_give_up(const char *why);

/* In which ranges a state differs from the view. */
struct cuts_difference {
    struct fe_digest sum;
    struct cuts_range *ranges;
    uint8_t *bytes;
    size_t n, room, n_bytes, bytes_room;
};

/* Notes what a sector at this offset has, which may be what the view has, too: its bytes, or
 * CUTS_UNREADABLE.  Without memory the process ends, as for all that a child cannot do. */
void cuts_difference_note(const struct cuts_view *v, struct cuts_difference *d, uint64_t offset,
                          const uint8_t *p, bool reads);

/* So many marks had been reached. */
uint32_t cuts_marks_reached(const struct cuts_walk *w, uint64_t at_ns);

/* Tells what was found; `d` NULL: without ranges. */
void cuts_tell(struct cuts_walk *w, const struct cuts_found *f, const struct cuts_difference *d);

/* --- subsets.c --- */

/* -ENOMEM with message. */
int cuts_subsets_init(struct cuts_walk *w, struct fe_err *err);
void cuts_subsets_fini(struct cuts_walk *w);

/* A request has been sent. */
int cuts_subsets_add(struct cuts_walk *w, const struct fe_trace_rec *rec, uint64_t arrival_ns,
                     uint64_t done_ns, struct fe_err *err);

/* Tells the states of this instant, or stops at the one that is wanted.  `op` is CUTS_ANY or
 * CUTS_LAST.  Negative errno with message. */
int cuts_subsets_try(struct cuts_walk *w, uint32_t request, uint32_t op, uint64_t at_ns, bool mine,
                     struct fe_err *err);

/* The digest of the state at which it has stopped. */
int cuts_subsets_hash(const struct cuts_walk *w, struct fe_digest *ret, struct fe_err *err);
