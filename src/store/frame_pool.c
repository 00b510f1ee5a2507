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

int fe_frame_pool_init(struct fe_frame_pool *p, uint32_t n_frames, uint32_t group_shift,
                       struct fe_err *err)
{
    *p = (struct fe_frame_pool){.n_frames = n_frames, .group_shift = group_shift};
    uint32_t n_groups = ((n_frames - 1) >> group_shift) + 1;
    p->stack = calloc(n_groups, sizeof *p->stack);
    p->used = calloc(n_groups, sizeof *p->used);
    p->free = calloc(fe_bits_words(n_frames), sizeof *p->free);
    if (!p->stack || !p->used || !p->free)
        return fe_err_nomem(err, "tables of the medium's frames", n_groups * 8ull + n_frames / 8);
    return 0;
}

void fe_frame_pool_fini(struct fe_frame_pool *p)
{
    free(p->stack);
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

static bool has_free(const struct fe_frame_pool *p, uint32_t group)
{
    return end_of(p, group) - first_of(p, group) > p->used[group];
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
    *ret_is_fresh = p->n_free == 0;
    if (p->n_free == 0) {
        assert(p->n_fresh < p->n_frames);
        frame = p->n_fresh++;
    } else {
        if (!has_free(p, p->present)) {
            assert(p->n_stack > 0);
            p->present = p->stack[--p->n_stack];
            p->next = first_of(p, p->present);
        }
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
    if (group != p->present && !has_free(p, group))
        p->stack[p->n_stack++] = group;
    fe_bit_set(p->free, frame);
    p->n_free++;
    p->used[group]--;
}
