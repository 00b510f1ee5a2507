/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A victim set: full blocks of a strategy, and which of them is cleaned next.
 *
 *   greedy        the block with the fewest valid pages
 *   cost-benefit  the block with the largest age * (1-u) / 2u, where u is the share of valid
 *                 pages and age the time since the block last lost one (LFS)
 *   fifo          the block that became full first
 *   random        any block
 *   d-choices     the block with the fewest valid pages among d blocks drawn at random
 *
 * Each is a line of FE_GC_POLICIES (flashemu/ftl_params.h) and a function choose_NAME of victim.c.
 *
 * The owner counts valid pages in an array of its own and reports every change.  A choice
 * then costs O(1), with cost-benefit O(pages per block) and with d-choices O(d), however many
 * blocks there are.  Memory: 8 bytes a block; 8 more except for greedy and fifo.
 *
 * No lock.  The array of valid counts must outlive the set.
 */
#pragma once

#include "base/fetch.h"
#include "ftl/ftl.h"

struct fe_victim_link {
    fe_peb prev, next;
};

struct fe_victims {
    uint32_t policy, d, pages; /* pages: those of a full block that can be valid */
    uint64_t seed;
    const uint16_t *valid;     /* per block, not owned */
    uint32_t n_pebs, n;        /* blocks of the medium; blocks in the set */
    uint64_t n_invalid;        /* pages that cleaning every block of the set would win */

    struct fe_victim_link *links; /* per block, then per list; NULL for the random policies */
    uint32_t n_lists, least;      /* no list below `least` has a block */
    uint64_t *stamp, clock;       /* cost-benefit: clock at the block's last change */

    fe_peb *members;              /* the random policies: the set, in any order */
    uint32_t *place;              /* per block: where it stands in members */
    uint64_t n_draws;             /* choices so far */
    uint32_t n_fruitless;         /* choices in a row that won nothing */
};

/* By policy: its name as profiles write it, ended by NULL; and whether it draws random numbers, so that
 * the seed matters. */
extern const char *const fe_gc_policy_names[FE_N_GC_POLICIES + 1];
extern const bool fe_gc_policy_draws[FE_N_GC_POLICIES];

/* An empty set.  policy: enum fe_gc_policy.  d matters to d-choices only.  -ENOMEM. */
int fe_victims_init(struct fe_victims *v, uint32_t policy, uint32_t d, uint64_t seed,
                    uint32_t n_pebs, uint32_t pages, const uint16_t *valid, struct fe_err *err);
void fe_victims_fini(struct fe_victims *v);

/* A block that has become full joins the set.  Its valid count must be right already. */
void fe_victims_add(struct fe_victims *v, fe_peb peb);

/* A block leaves the set.  Its valid count must still be the one that the set knows. */
void fe_victims_remove(struct fe_victims *v, fe_peb peb);

/* The valid count of a block in the set has just fallen by one. */
void fe_victims_invalidated(struct fe_victims *v, fe_peb peb);

/* The policy's choice, which stays in the set; FE_PEB_NONE if no block holds an invalid page.
 * Policies that do not look at valid pages may choose a block without an invalid page.  But a
 * caller that chooses, removes and adds again comes to a block with one after about n choices
 * at most. */
fe_peb fe_victims_choose(struct fe_victims *v);

/* The block of a fifo set that became full first, whether all its pages are valid or not.
 * FE_PEB_NONE if the set is empty. */
fe_peb fe_victims_oldest(const struct fe_victims *v);

/* Counts and lists agree with the valid counts; 0 or -EIO.  O(blocks). */
int fe_victims_check(const struct fe_victims *v, struct fe_err *err);

/* Fetches early the neighbours of a block, which fe_victims_invalidated will change. */
static inline void fe_victims_fetch(const struct fe_victims *v, fe_peb peb)
{
    if (v->n_lists > 1) {
        fe_fetch(&v->links[v->links[peb].prev]);
        fe_fetch(&v->links[v->links[peb].next]);
    }
}
