/* SPDX-License-Identifier: BSD-3-Clause
 *
 * There is a list for each valid count, in the order of the last change:
 *
 *   valid 0  -> [7]
 *         1  ->
 *         2  -> [3] <-> [12] <-> [5]
 *         ...    |                 |
 *              longest           just lost a page
 *              unchanged         (or just became full)
 *
 * With each page that a block loses, it moves to the tail of the next list down.  Greedy
 * takes the head of the first list that is not empty.  For cost-benefit, all blocks of a list
 * have the same u, and the head has the greatest age; so the best of the heads, one for each
 * valid count, is the exact maximum.  Fifo has a single list, which changes only when blocks
 * come and go.  The lists are rings.  The two ends of a ring meet in an additional link, its
 * end, which stands behind the links of the blocks.
 *
 * The random policies need no order, only an array to draw from.  The last block of the array
 * takes the place of a block that leaves.  Draws are addressed by the number of the choice.
 *
 * Fifo and the random policies also choose blocks that are full of valid pages.  Moving such a
 * block is part of what these policies cost, in theory and in hardware.  Fifo comes round to
 * the others by itself.  A random policy does so with probability 1, but after no fixed number
 * of choices.  So after as many fruitless choices as there are blocks, the set is searched
 * once, in order; that is O(1) for each of those choices.
 */
#include "ftl/blocks/victim.h"

#include "base/rng.h"
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME(id, function, name, draws) [FE_GC_##id] = name,
const char *const fe_gc_policy_names[FE_N_GC_POLICIES + 1] = {FE_GC_POLICIES(NAME)};
#undef NAME

#define DRAWS(id, function, name, draws) [FE_GC_##id] = draws,
const bool fe_gc_policy_draws[FE_N_GC_POLICIES] = {FE_GC_POLICIES(DRAWS)};
#undef DRAWS

static bool draws(const struct fe_victims *v)
{
    return fe_gc_policy_draws[v->policy];
}

int fe_victims_init(struct fe_victims *v, uint32_t policy, uint32_t d, uint64_t seed,
                    uint32_t n_pebs, uint32_t pages, const uint16_t *valid, struct fe_err *err)
{
    *v = (struct fe_victims){.policy = policy, .d = policy == FE_GC_D_CHOICES ? d : 1,
                             .pages = pages, .seed = seed, .valid = valid, .n_pebs = n_pebs};
    assert(policy < FE_N_GC_POLICIES && v->d > 0);
    bool ok;
    if (draws(v)) {
        v->members = fe_table_alloc(n_pebs, sizeof *v->members);
        v->place = fe_table_alloc(n_pebs, sizeof *v->place);
        ok = v->members && v->place;
    } else {
        v->n_lists = policy == FE_GC_FIFO ? 1 : pages + 1;
        v->links = fe_table_alloc((size_t)n_pebs + v->n_lists, sizeof *v->links);
        ok = v->links;
        if (policy == FE_GC_COST_BENEFIT) {
            v->stamp = fe_table_alloc(n_pebs, sizeof *v->stamp);
            ok = ok && v->stamp;
        }
    }
    if (!ok) {
        fe_victims_fini(v);
        return fe_err_nomem(err, "table of full blocks", n_pebs * 16ull);
    }
    for (uint32_t i = n_pebs; i < n_pebs + v->n_lists; i++)
        v->links[i] = (struct fe_victim_link){i, i};
    return 0;
}

void fe_victims_fini(struct fe_victims *v)
{
    free(v->links);
    free(v->stamp);
    free(v->members);
    free(v->place);
    memset(v, 0, sizeof *v);
}

static uint32_t list_of(const struct fe_victims *v, fe_peb peb)
{
    return v->policy == FE_GC_FIFO ? 0 : v->valid[peb];
}

static fe_peb head_of(const struct fe_victims *v, uint32_t list)
{
    fe_peb peb = v->links[v->n_pebs + list].next;
    return peb < v->n_pebs ? peb : FE_PEB_NONE;
}

static void append(struct fe_victims *v, fe_peb peb)
{
    uint32_t list = list_of(v, peb), end = v->n_pebs + list;
    fe_peb last = v->links[end].prev;
    v->links[peb] = (struct fe_victim_link){last, end};
    v->links[last].next = peb;
    v->links[end].prev = peb;
    if (list < v->least)
        v->least = list;
    if (v->stamp)
        v->stamp[peb] = v->clock;
}

static void unlink_block(struct fe_victims *v, fe_peb peb)
{
    struct fe_victim_link l = v->links[peb];
    v->links[l.prev].next = l.next;
    v->links[l.next].prev = l.prev;
}

void fe_victims_add(struct fe_victims *v, fe_peb peb)
{
    v->n_invalid += v->pages - v->valid[peb];
    if (draws(v)) {
        v->place[peb] = v->n;
        v->members[v->n] = peb;
    } else {
        append(v, peb);
    }
    v->n++;
}

void fe_victims_remove(struct fe_victims *v, fe_peb peb)
{
    v->n_invalid -= v->pages - v->valid[peb];
    v->n--;
    if (draws(v)) {
        fe_peb last = v->members[v->n];
        v->members[v->place[peb]] = last;
        v->place[last] = v->place[peb];
    } else {
        unlink_block(v, peb);
    }
}

void fe_victims_invalidated(struct fe_victims *v, fe_peb peb)
{
    v->n_invalid++;
    v->clock++;
    if (v->n_lists > 1) {
        unlink_block(v, peb);
        append(v, peb);
    }
}

static fe_peb choose_greedy(struct fe_victims *v)
{
    while (head_of(v, v->least) == FE_PEB_NONE)
        v->least++;
    return head_of(v, v->least);
}

/* age * (1-u) / 2u is age * (pages - valid) / (2 * valid).  Multiplying crosswise compares two
 * of them exactly. */
static fe_peb choose_cost_benefit(struct fe_victims *v)
{
    fe_peb best = choose_greedy(v);
    if (v->valid[best] == 0)
        return best;
    uint64_t best_age = v->clock - v->stamp[best] + 1;
    uint64_t best_list = v->valid[best];
    for (uint32_t list = v->least + 1; list < v->pages; list++) {
        fe_peb peb = head_of(v, list);
        if (peb == FE_PEB_NONE)
            continue;
        uint64_t age = v->clock - v->stamp[peb] + 1;
        if ((unsigned __int128)age * ((v->pages - list) * best_list) >
            (unsigned __int128)best_age * ((v->pages - best_list) * list)) {
            best = peb;
            best_age = age;
            best_list = list;
        }
    }
    return best;
}

static fe_peb any_with_invalid(const struct fe_victims *v)
{
    uint32_t i = 0;
    while (v->valid[v->members[i]] == v->pages)
        i++;
    return v->members[i];
}

static fe_peb choose_fifo(struct fe_victims *v)
{
    return head_of(v, 0);
}

static fe_peb choose_d_choices(struct fe_victims *v)
{
    uint64_t n = v->n_draws++;
    fe_peb best = v->members[fe_rng_below(fe_rng(v->seed, FE_RNG_GC_VICTIM, n, 0), v->n)];
    for (uint32_t i = 1; i < v->d; i++) {
        fe_peb peb = v->members[fe_rng_below(fe_rng(v->seed, FE_RNG_GC_VICTIM, n, i), v->n)];
        if (v->valid[peb] < v->valid[best])
            best = peb;
    }
    if (v->valid[best] == v->pages && v->n_fruitless++ >= v->n)
        best = any_with_invalid(v);
    if (v->valid[best] < v->pages)
        v->n_fruitless = 0;
    return best;
}

/* One choice, as d is 1 then. */
static fe_peb choose_random(struct fe_victims *v)
{
    return choose_d_choices(v);
}

fe_peb fe_victims_choose(struct fe_victims *v)
{
#define CHOOSE(id, function, name, draws) [FE_GC_##id] = choose_##function,
    static fe_peb (*const choose[FE_N_GC_POLICIES])(struct fe_victims *v) = {
        FE_GC_POLICIES(CHOOSE)
    };
#undef CHOOSE
    return v->n_invalid ? choose[v->policy](v) : FE_PEB_NONE;
}

fe_peb fe_victims_oldest(const struct fe_victims *v)
{
    assert(v->policy == FE_GC_FIFO);
    return head_of(v, 0);
}

static int check_lists(const struct fe_victims *v, struct fe_err *err)
{
    uint32_t n = 0;
    uint64_t invalid = 0;
    for (uint32_t list = 0; list < v->n_lists; list++) {
        fe_peb before = v->n_pebs + list;
        for (fe_peb peb = v->links[before].next; peb < v->n_pebs; peb = v->links[peb].next) {
            if (v->links[peb].prev != before || list_of(v, peb) != list || list < v->least)
                return fe_err_set(err, EIO, "full block %u with %u valid pages is in list %u, "
                                  "or linked wrongly", peb, v->valid[peb], list);
            if (v->stamp && before < v->n_pebs && v->stamp[before] > v->stamp[peb])
                return fe_err_set(err, EIO, "full block %u stands before an older one", before);
            if (n++ == v->n_pebs)
                return fe_err_set(err, EIO, "a list of full blocks is a circle");
            invalid += v->pages - v->valid[peb];
            before = peb;
        }
    }
    if (n != v->n || invalid != v->n_invalid)
        return fe_err_set(err, EIO, "%u full blocks with %llu invalid pages, listed are %u with "
                          "%llu", v->n, (unsigned long long)v->n_invalid, n,
                          (unsigned long long)invalid);
    return 0;
}

int fe_victims_check(const struct fe_victims *v, struct fe_err *err)
{
    if (!draws(v))
        return check_lists(v, err);
    uint64_t invalid = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        fe_peb peb = v->members[i];
        if (v->place[peb] != i)
            return fe_err_set(err, EIO, "full block %u is in place %u, not %u", peb, i,
                              v->place[peb]);
        invalid += v->pages - v->valid[peb];
    }
    if (invalid != v->n_invalid)
        return fe_err_set(err, EIO, "full blocks hold %llu invalid pages, counted are %llu",
                          (unsigned long long)invalid, (unsigned long long)v->n_invalid);
    return 0;
}
