/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A log that circles through striped blocks shows why the order matters: what is written in order
 * goes to one block after the other, and is given back block by block.  If the frame that became
 * free last were used next, neighbours would be one stripe apart after the first round, and anywhere
 * after a few.
 */
#include "store/frame_pool.h"

#include "base/bits.h"
#include "base/num.h"

#include <assert.h>
#include <stdlib.h>

#define NONE UINT32_MAX
#define SPARE_PART 32

/* How many frames a group has; the last one may have fewer. */
static uint32_t whole(const struct fe_frame_pool *p)
{
    return UINT32_C(1) << p->group_shift;
}

int fe_frame_pool_init(struct fe_frame_pool *p, uint32_t n_frames, uint32_t group_shift,
                       uint32_t max_spare, struct fe_err *err)
{
    *p = (struct fe_frame_pool){
        .n_frames = n_frames, .group_shift = group_shift, .max_spare = max_spare};
    uint32_t n_groups = ((n_frames - 1) >> group_shift) + 1;
    uint32_t n_lists = whole(p) + 1;
    p->first = calloc(n_lists, sizeof *p->first);
    p->links = calloc(n_groups, sizeof *p->links);
    p->used = calloc(n_groups, sizeof *p->used);
    p->free = calloc(fe_bits_words(n_frames), sizeof *p->free);
    if (!p->first || !p->links || !p->used || !p->free)
        return fe_err_nomem(err, "tables of the medium's frames",
                            n_lists * 4ull + n_groups * 12ull + n_frames / 8);
    for (uint32_t i = 0; i < n_lists; i++)
        p->first[i] = NONE;
    return 0;
}

void fe_frame_pool_fini(struct fe_frame_pool *p)
{
    free(p->first);
    free(p->links);
    free(p->used);
    free(p->free);
}

/* The frames of a group that are not fresh: [first_of(g), end_of(g)). */
static uint32_t first_of(const struct fe_frame_pool *p, uint32_t group)
{
    return group << p->group_shift;
}

static uint32_t end_of(const struct fe_frame_pool *p, uint32_t group)
{
    return (uint32_t)fe_min_u64((uint64_t)(group + 1) << p->group_shift, p->n_fresh);
}

static uint32_t free_of(const struct fe_frame_pool *p, uint32_t group)
{
    return end_of(p, group) - first_of(p, group) - p->used[group];
}

/* Into the list of groups with n free frames, and out of it.  Nothing for 0. */
static void enlist(struct fe_frame_pool *p, uint32_t group, uint32_t n)
{
    if (n == 0)
        return;
    p->links[group] = (struct fe_frame_link){NONE, p->first[n]};
    if (p->first[n] != NONE)
        p->links[p->first[n]].before = group;
    p->first[n] = group;
    if (n < whole(p) && p->most < n)
        p->most = n;
}

static void delist(struct fe_frame_pool *p, uint32_t group, uint32_t n)
{
    if (n == 0)
        return;
    struct fe_frame_link l = p->links[group];
    if (l.after != NONE)
        p->links[l.after].before = l.before;
    if (l.before != NONE)
        p->links[l.before].after = l.after;
    else
        p->first[n] = l.after;
}

/* The present group has no free frame, and another one has. */
static void go_on(struct fe_frame_pool *p)
{
    while (p->most > 0 && p->first[p->most] == NONE)
        p->most--;
    bool many = p->n_free > 2ull * p->max_spare;
    uint32_t n = p->first[whole(p)] == NONE || (many && p->most > 0) ? p->most : whole(p);
    assert(n > 0);
    p->present = p->first[n];
    p->next = first_of(p, p->present);
    delist(p, p->present, n);
}

static bool takes_fresh(const struct fe_frame_pool *p)
{
    uint64_t spare = fe_min_u64((p->n_fresh - p->n_free) / SPARE_PART, p->max_spare);
    return p->n_free == 0 || (p->n_free < spare && p->n_fresh < p->n_frames);
}

/* The first free frame of [from, end), or end. */
static uint32_t find(const struct fe_frame_pool *p, uint64_t from, uint32_t end)
{
    while (from < end) {
        uint64_t word = p->free[from / 64] >> (from % 64);
        if (word)
            return (uint32_t)fe_min_u64(from + (uint32_t)__builtin_ctzll(word), end);
        from = (from / 64 + 1) * 64;
    }
    return end;
}

uint32_t fe_frame_pool_take(struct fe_frame_pool *p, bool *ret_is_fresh)
{
    uint32_t frame;
    *ret_is_fresh = takes_fresh(p);
    if (*ret_is_fresh) {
        assert(p->n_fresh < p->n_frames);
        frame = p->n_fresh++;
    } else {
        if (free_of(p, p->present) == 0)
            go_on(p);
        uint32_t end = end_of(p, p->present);
        frame = find(p, p->next, end);
        if (frame == end)
            frame = find(p, first_of(p, p->present), end);
        assert(frame < end);
        fe_bit_clear(p->free, frame);
        p->n_free--;
        p->next = frame + 1;
    }
    p->used[frame >> p->group_shift]++;
    return frame;
}

void fe_frame_pool_drop(struct fe_frame_pool *p, uint32_t frame)
{
    uint32_t group = frame >> p->group_shift;
    if (group != p->present) {
        uint32_t n = free_of(p, group);
        delist(p, group, n);
        enlist(p, group, n + 1);
    }
    fe_bit_set(p->free, frame);
    p->n_free++;
    p->used[group]--;
}
