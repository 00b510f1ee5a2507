/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An owner for the common core of blocks that is as plain as possible: a map, and one frontier
 * for each of the two sets.  Pages with lpn < SPECIAL go to set 0, the others to set 1.  Two
 * dies of 6 blocks with 4 pages; block n is on die n % 2.
 */
#pragma once

#include "lib/rig.h"
#include "lib/unit.h"

#include "ftl/blocks/recover.h"
#include "ftl/recover.h"

#include <errno.h>

enum { DIES = 2, BLOCKS = 12, N = 4, LPNS = 40, SPECIAL = 20, RESERVE = 2 };

struct owner {
    struct fe_ftl base;
    struct fe_blocks b;
    struct ft_rig rig;
    struct fe_mapping map[LPNS];
    uint32_t n_moves;    /* calls of the callback */
    uint32_t fails_at;   /* which of them fails, from 1 on; 0: none */
    bool rest;           /* what the last one was told */
    fe_ppn moved[BLOCKS * N];
};

static inline struct owner *owner_of(const struct fe_ftl *ftl)
{
    return (struct owner *)(uintptr_t)ftl;
}

static inline uint32_t frontier_of(const struct fe_ftl *ftl, fe_peb peb)
{
    fe_ppn first = fe_recover_first(ftl->medium, peb);
    return first != FE_PPN_NONE && fe_medium_lpn(ftl->medium, first) >= SPECIAL;
}

/* The block whose turn it is, or a free one, or any open one. */
static inline enum fe_status place(struct owner *o, fe_lpn lpn, enum fe_tag tag, fe_ppn base)
{
    struct fe_frontier *front = &o->b.fronts[lpn >= SPECIAL];
    if (fe_frontier_turn(front) == FE_PEB_NONE) {
        fe_peb peb = fe_block_pool_take(&o->b.pool, front->at);
        if (peb != FE_PEB_NONE)
            fe_blocks_open(&o->b, front, peb);
        else if (!fe_frontier_seek(front, front->at))
            return FE_NO_SPACE;
    }
    fe_ppn ppn;
    enum fe_status st = fe_blocks_append(&o->b, front, lpn, tag, base, 0,
                                         base == FE_PPN_NONE ? 512 : 0, NULL, &ppn);
    if (st == FE_OK)
        o->map[lpn] = fe_mapping(ppn);
    return st;
}

static inline enum fe_status move(struct fe_ftl *ftl, bool rest, fe_lpn lpn, fe_ppn from)
{
    struct owner *o = owner_of(ftl);
    o->rest = rest;
    o->moved[o->n_moves++] = from;
    return o->n_moves == o->fails_at ? FE_NO_SPACE : place(o, lpn, FE_TAG_COPY, from);
}

static const struct fe_ftl_ops ftl_ops = {.name = "test"};
static const struct fe_block_ops block_ops = {.move = move, .frontier_of = frontier_of};
static const struct fe_block_ops alone_ops = {
    .move = move, .frontier_of = frontier_of, .erases_alone = true};

static const struct fe_blocks_config plain = {
    .reserve = RESERVE,
    .sets = {{FE_GC_GREEDY, 1, N}, {FE_GC_FIFO, 1, N}},
    .frontiers = {{DIES, N, 0}, {1, N, 1}},
};

/* The tables anew, on the chip as it is. */
static inline void again(struct owner *o, const struct fe_block_ops *ops,
                  const struct fe_blocks_config *config)
{
    struct fe_err err;
    fe_err_init(&err);
    if (fe_blocks_init(&o->b, &o->base, ops, config, &err) < 0)
        fail_msg("%s", err.text);
}

static const struct fe_wear_params *worn; /* how the chip fails; NULL: never */

static inline void setup_on(struct owner *o, const struct fe_block_ops *ops,
                     const struct fe_blocks_config *config)
{
    struct fe_nand_params nand = ft_nand(DIES, BLOCKS / DIES, N, 512);
    memset(o, 0, sizeof *o);
    ft_rig_init_worn(&o->rig, &nand, worn);
    o->base = (struct fe_ftl){.ops = &ftl_ops, .medium = o->rig.medium, .n_lpns = LPNS};
    again(o, ops, config);
}

static inline void setup(struct owner *o)
{
    setup_on(o, &block_ops, &plain);
    assert_int_equal(fe_blocks_fill(&o->b, BLOCKS, NULL), 0);
}

static inline void teardown(struct owner *o)
{
    fe_blocks_fini(&o->b);
    ft_rig_fini(&o->rig);
}

static inline int check(struct owner *o, struct fe_err *err)
{
    uint64_t n_mapped = 0;
    int r = 0;
    fe_err_init(err);
    for (fe_lpn lpn = 0; lpn < LPNS && r == 0; lpn++)
        r = fe_blocks_check_entry(&o->b, "logical", lpn, fe_mapped(o->map[lpn]), lpn, &n_mapped, err);
    return r == 0 ? fe_blocks_check(&o->b, n_mapped, err) : r;
}

static inline void assert_right(struct owner *o)
{
    struct fe_err err;
    if (check(o, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void write_pages(struct owner *o, fe_lpn first, uint32_t n)
{
    for (fe_lpn lpn = first; lpn < first + n; lpn++) {
        fe_ppn old = fe_mapped(o->map[lpn]);
        assert_int_equal(place(o, lpn, FE_TAG_DATA, FE_PPN_NONE), FE_OK);
        if (old != FE_PPN_NONE)
            fe_blocks_invalidate(&o->b, old);
        assert_right(o);
    }
}
