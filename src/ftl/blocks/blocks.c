/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a block.
 *
 * Emptying moves the valid pages of a full block, in their order, to open blocks that the
 * strategy chooses, and then erases the block:
 *
 *     block       | x a x x b x |      x: invalid
 *                       |     |
 *     open blocks | . . a . b ' |      -> the block is erased -> its pool
 *
 * While a block is emptied it counts as open and belongs to no frontier: the page that moves
 * is valid in both places for a moment, and no policy may choose the block meanwhile.
 *
 * The entries of a map that such pages have lie anywhere in a table that no cache holds.  Which
 * ones they are is known before the first page moves, so they are all asked for then: the
 * processor waits for the memory once instead of once a page.
 */
#include "ftl/blocks/blocks.h"

#include "base/table.h"

#include <errno.h>
#include <stdlib.h>

static int alloc_frontiers(struct fe_blocks *b, const struct fe_blocks_config *config)
{
    for (int i = 0; i < FE_BLOCK_FRONTIERS; i++) {
        uint32_t n = config->frontiers[i].n;
        b->fronts[i] = (struct fe_frontier){.open = malloc((n + 1) * sizeof(fe_peb)),
                                            .n = n,
                                            .pages = config->frontiers[i].pages,
                                            .set = config->frontiers[i].set};
        if (!b->fronts[i].open)
            return -ENOMEM;
        memset(b->fronts[i].open, 0xff, n * sizeof(fe_peb));
    }
    return 0;
}

static int alloc_tables(struct fe_blocks *b, const struct fe_blocks_config *config,
                        struct fe_err *err)
{
    uint32_t n_pebs = b->geo.n_pebs;
    bool ok = true;
    b->valid_bits = fe_table_alloc(fe_bits_words(b->geo.n_ppns), sizeof *b->valid_bits);
    b->valid = fe_table_alloc(n_pebs, sizeof *b->valid);
    b->state = fe_table_alloc(n_pebs, sizeof *b->state);
    if (b->levels) {
        fe_heap_init(&b->least_worn, fe_table_alloc(n_pebs, sizeof *b->least_worn.item),
                     fe_table_alloc(n_pebs, sizeof *b->least_worn.place));
        ok = b->least_worn.item && b->least_worn.place;
    }
    if (!ok || !b->valid_bits || !b->valid || !b->state || alloc_frontiers(b, config) < 0)
        return fe_err_nomem(err, "tables of blocks and valid pages",
                            b->geo.n_ppns / 8 + n_pebs * 19ull);
    return 0;
}

/* Finds the bad blocks, and where the part and the blocks aside end. */
static void find_bad_blocks(struct fe_blocks *b, const struct fe_blocks_config *config)
{
    uint32_t most = config->n_blocks ? config->n_blocks : UINT32_MAX;
    b->first = b->end = b->aside_end = config->first;
    for (fe_peb peb = b->first; peb < b->geo.n_pebs && b->n_good < most; peb++) {
        b->end = peb + 1;
        if (fe_medium_is_bad(b->ftl->medium, peb))
            b->state[peb] = FE_BLOCK_BAD;
        else if (b->n_good++ < config->n_aside)
            b->aside_end = peb + 1;
    }
}

int fe_blocks_init(struct fe_blocks *b, struct fe_ftl *ftl, const struct fe_block_ops *ops,
                   const struct fe_blocks_config *config, struct fe_err *err)
{
    *b = (struct fe_blocks){.ftl = ftl,
                            .ops = ops,
                            .geo = ftl->medium->geo,
                            .map = config->map,
                            .slc = config->slc,
                            .reserve = config->reserve,
                            .threshold = config->threshold,
                            .levels = config->levelling == FE_WEAR_STATIC};
    int r = alloc_tables(b, config, err);
    for (int i = 0; i < FE_BLOCK_SETS && r == 0; i++)
        if (config->sets[i].pages)
            r = fe_victims_init(&b->full[i], config->sets[i].policy, config->sets[i].d,
                                config->seed, b->geo.n_pebs, config->sets[i].pages, b->valid, err);
    if (r == 0)
        r = fe_block_pool_init(&b->pool, ftl->medium, config->levelling, err);
    if (r == 0 && config->n_aside)
        r = fe_block_pool_init(&b->aside, ftl->medium, FE_WEAR_OFF, err);
    if (r == 0)
        find_bad_blocks(b, config);
    return r;
}

void fe_blocks_fini(struct fe_blocks *b)
{
    for (int i = 0; i < FE_BLOCK_FRONTIERS; i++)
        free(b->fronts[i].open);
    for (int i = 0; i < FE_BLOCK_SETS; i++)
        fe_victims_fini(&b->full[i]);
    fe_block_pool_fini(&b->pool);
    fe_block_pool_fini(&b->aside);
    free(b->least_worn.item);
    free(b->least_worn.place);
    free(b->valid_bits);
    free(b->valid);
    free(b->state);
}

int fe_blocks_fill(struct fe_blocks *b, uint64_t need, struct fe_err *err)
{
    static_assert(FE_BLOCK_FREE == 0, "their states need not be written");
    if (b->aside_end > b->first)
        fe_block_pool_fill(&b->aside, b->first, b->aside_end);
    b->most_erases = fe_block_pool_fill(&b->pool, b->aside_end, b->end);
    if (b->n_good < need)
        return fe_err_set(err, EINVAL,
                          "the chip has %u good blocks, %u logical pages need %llu with what the "
                          "%s strategy keeps besides them",
                          b->n_good, b->ftl->n_lpns, (unsigned long long)need, b->ftl->ops->name);
    return 0;
}

void fe_blocks_put_free(struct fe_blocks *b, fe_peb peb)
{
    b->state[peb] = FE_BLOCK_FREE;
    if (peb < b->aside_end) {
        fe_block_pool_put(&b->aside, peb);
        return;
    }
    fe_block_pool_put(&b->pool, peb);
    uint32_t erases = fe_medium_erase_count(b->ftl->medium, peb);
    if (erases > b->most_erases)
        b->most_erases = erases;
}

void fe_blocks_open(struct fe_blocks *b, struct fe_frontier *front, fe_peb peb)
{
    assert(front->open[front->at] == FE_PEB_NONE);
    front->open[front->at] = peb;
    front->n_open++;
    b->state[peb] = FE_BLOCK_OPEN;
    if (b->slc)
        fe_medium_use_slc(b->ftl->medium, peb);
}

void fe_blocks_add_full(struct fe_blocks *b, fe_peb peb, uint32_t set)
{
    b->state[peb] = (uint8_t)(FE_BLOCK_FULL + set);
    fe_victims_add(&b->full[set], peb);
    if (b->levels && set == 0)
        fe_heap_push(&b->least_worn, peb, fe_wear_key(b->ftl->medium, peb, b->least_worn_order++));
}

void fe_blocks_close(struct fe_blocks *b, struct fe_frontier *front)
{
    fe_blocks_add_full(b, front->open[front->at], front->set);
    front->open[front->at] = FE_PEB_NONE;
    front->n_open--;
}

enum { MOVED_TOGETHER = 64 };

static void fetch_entries(const struct fe_blocks *b, fe_ppn from, uint32_t n, uint64_t valid)
{
    const struct fe_medium *m = b->ftl->medium;
    fe_medium_fetch(m, from, n);
    for (; b->map && valid; valid &= valid - 1)
        fe_fetch(&b->map[fe_medium_lpn(m, from + (uint32_t)__builtin_ctzll(valid))]);
}

/* Moves the valid ones among n pages. */
static enum fe_status move_pages(struct fe_blocks *b, fe_peb peb, fe_ppn from, uint32_t n,
                                 bool is_static)
{
    uint64_t left = fe_bits_get(b->valid_bits, from, n);
    fetch_entries(b, from, n, left);
    for (; left; left &= left - 1) {
        fe_ppn ppn = from + (uint32_t)__builtin_ctzll(left);
        assert(fe_bit(b->valid_bits, ppn));
        enum fe_status st =
            b->ops->move(b->ftl, is_static, fe_medium_lpn(b->ftl->medium, ppn), ppn);
        if (st != FE_OK)
            return st;
        fe_bit_clear(b->valid_bits, ppn);
        b->valid[peb]--;
        b->ftl->counters.pages_copied++;
    }
    return FE_OK;
}

enum fe_status fe_blocks_move(struct fe_blocks *b, fe_peb peb, bool is_static)
{
    uint32_t set = b->state[peb] - (uint32_t)FE_BLOCK_FULL;
    fe_victims_remove(&b->full[set], peb);
    if (b->levels && set == 0)
        fe_heap_remove(&b->least_worn, peb);
    b->state[peb] = FE_BLOCK_OPEN;
    fe_medium_begin_emptying(b->ftl->medium);
    uint32_t n_pages = b->geo.pages_per_block, n;
    enum fe_status st = FE_OK;
    for (uint32_t page = 0; b->valid[peb] && st == FE_OK; page += n) {
        n = n_pages - page < MOVED_TOGETHER ? n_pages - page : MOVED_TOGETHER;
        st = move_pages(b, peb, peb * n_pages + page, n, is_static);
    }
    return st;
}

enum fe_status fe_blocks_erase(struct fe_blocks *b, fe_peb peb)
{
    struct fe_medium *m = b->ftl->medium;
    if (b->ops->erases_alone)
        fe_ops_barrier(m->ops);
    enum fe_status st = fe_medium_erase(m, peb);
    if (st != FE_OK)
        return st;
    if (b->ops->erases_alone)
        fe_ops_barrier(m->ops);
    fe_blocks_put_free(b, peb);
    return FE_OK;
}

enum fe_status fe_blocks_empty(struct fe_blocks *b, fe_peb peb, bool is_static)
{
    enum fe_status st = fe_blocks_move(b, peb, is_static);
    return st == FE_OK ? fe_blocks_erase(b, peb) : st;
}

fe_peb fe_blocks_lagging(const struct fe_blocks *b, uint32_t most)
{
    if (b->least_worn.n == 0)
        return FE_PEB_NONE;
    fe_peb peb = b->least_worn.item[0].peb;
    uint64_t least = fe_medium_erase_count(b->ftl->medium, peb);
    return most > least + b->threshold ? peb : FE_PEB_NONE;
}

void fe_blocks_trim(struct fe_blocks *b, struct fe_mapping *map, fe_lpn first, uint32_t n)
{
    for (fe_lpn lpn = first; lpn < first + n; lpn++) {
        fe_ppn ppn = fe_mapped(map[lpn]);
        if (ppn == FE_PPN_NONE)
            continue;
        fe_blocks_trimmed(b, ppn);
        map[lpn] = fe_mapping(FE_PPN_NONE);
    }
}
