/* SPDX-License-Identifier: BSD-3-Clause
 *
 * page: every page is mapped by itself, as in eMMC, SSDs and new sticks.
 *
 *     host page                                 cleaning
 *         |                                        |
 *         v                                        v
 *   +-- streams: open blocks, one a die ----+   a victim's valid pages
 *   |  MAIN    COLD    REST    CACHE (SLC)  |      ^
 *   +-------------------+-------------------+      |
 *                       | full                     | the policy's choice
 *                       v                          |
 *                  full blocks --------------------+--> erased --> free blocks
 *
 * A write goes to the frontier of its stream and leaves an invalid page where the former
 * copy was.  When free blocks run short, cleaning comes first: what a write costs depends
 * on how full of valid pages the victims are, which is what over-provisioning, cleaning
 * policies and the separation of hot from cold are about.
 *
 * page_core.h says which file does what.  The map is 4 bytes a logical page; with two-pool
 * separation there are 8 more.
 */
#include "base/table.h"
#include "ftl/page_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum fe_status page_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *data)
{
    struct page_ftl *f = page_of(ftl);
    fe_region_write(&f->region, lpn, ftl->medium->ops);
    enum fe_status st = fe_page_make_room(f);
    if (st != FE_OK)
        return st;
    fe_ppn old = f->map[lpn];
    st = fe_page_place(f, fe_page_stream_of_host(f, lpn), lpn, old, off, len, data);
    if (st == FE_OK && old != FE_PPN_NONE)
        page_invalidate(f, old);
    return st;
}

static enum fe_status page_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                void *buf)
{
    struct page_ftl *f = page_of(ftl);
    fe_region_read(&f->region, lpn, ftl->medium->ops);
    if (f->map[lpn] != FE_PPN_NONE)
        return fe_medium_read(ftl->medium, f->map[lpn], off, len, buf);
    if (buf)
        memset(buf, 0, len);
    return FE_OK;
}

static enum fe_status page_trim(struct fe_ftl *ftl, fe_lpn first, uint32_t n)
{
    struct page_ftl *f = page_of(ftl);
    for (fe_lpn lpn = first; lpn < first + n; lpn++) {
        if (f->map[lpn] != FE_PPN_NONE)
            page_invalidate(f, f->map[lpn]);
        f->map[lpn] = FE_PPN_NONE;
    }
    return FE_OK;
}

static uint32_t page_free_blocks(const struct fe_ftl *ftl)
{
    const struct page_ftl *f = (const struct page_ftl *)ftl;
    return f->pool.n + f->cache_pool.n;
}

static void page_destroy(struct fe_ftl *ftl)
{
    struct page_ftl *f = page_of(ftl);
    if (!f)
        return;
    for (enum stream s = STREAM_MAIN; s < N_STREAMS; s++)
        free(f->fronts[s].slots);
    fe_block_pool_fini(&f->pool);
    fe_block_pool_fini(&f->cache_pool);
    fe_victims_fini(&f->full);
    fe_victims_fini(&f->cached);
    fe_page_heat_fini(&f->heat);
    free(f->rested_items);
    free(f->rested_place);
    free(f->map);
    free(f->valid_bits);
    free(f->valid);
    free(f->state);
    free(f);
}

static int alloc_streams(struct page_ftl *f)
{
    uint32_t slots[N_STREAMS];
    fe_page_slots(&f->p, &f->geo, slots);
    for (enum stream s = STREAM_MAIN; s < N_STREAMS; s++) {
        f->fronts[s].n = slots[s];
        f->fronts[s].slots = malloc((slots[s] + 1) * sizeof *f->fronts[s].slots);
        if (!f->fronts[s].slots)
            return -ENOMEM;
        memset(f->fronts[s].slots, 0xff, slots[s] * sizeof *f->fronts[s].slots);
    }
    return 0;
}

static int alloc_tables(struct page_ftl *f)
{
    const struct fe_geometry *g = &f->geo;
    f->map = fe_table_alloc(f->base.n_lpns, sizeof *f->map);
    f->valid_bits = fe_table_alloc(fe_div_up(g->n_ppns, 64), sizeof *f->valid_bits);
    f->valid = calloc(g->n_pebs, sizeof *f->valid);
    f->state = calloc(g->n_pebs, sizeof *f->state);
    if (!f->map || !f->valid_bits || !f->valid || !f->state || alloc_streams(f) < 0)
        return -ENOMEM;
    memset(f->map, 0xff, f->base.n_lpns * sizeof *f->map);
    if (f->p.page.hot_cold == FE_HOT_COLD_TWO_POOL && !fe_page_heat_init(&f->heat, f->base.n_lpns))
        return -ENOMEM;
    if (f->p.clean.wear_levelling == FE_WEAR_STATIC) {
        f->rested_items = calloc(g->n_pebs, sizeof *f->rested_items);
        f->rested_place = calloc(g->n_pebs, sizeof *f->rested_place);
        if (!f->rested_items || !f->rested_place)
            return -ENOMEM;
        fe_heap_init(&f->rested, f->rested_items, f->rested_place);
    }
    return 0;
}

static int init_sets(struct page_ftl *f, struct fe_err *err)
{
    const struct fe_ftl_params *p = &f->p;
    struct fe_medium *m = f->base.medium;
    int r = fe_victims_init(&f->full, p->clean.gc_policy, p->clean.gc_d, p->seed, f->geo.n_pebs,
                            f->geo.pages_per_block, f->valid, err);
    if (r == 0)
        r = fe_block_pool_init(&f->pool, m, p->clean.wear_levelling, err);
    if (r == 0 && p->page.slc_mode != FE_SLC_OFF)
        r = fe_victims_init(&f->cached, FE_GC_FIFO, 1, p->seed, f->geo.n_pebs, f->slc_pages,
                            f->valid, err);
    if (r == 0 && p->page.slc_mode == FE_SLC_STATIC)
        r = fe_block_pool_init(&f->cache_pool, m, FE_WEAR_OFF, err);
    return r;
}

/* All good blocks are free; a static cache has the first ones, which lie across all dies. */
static int fill_pools(struct page_ftl *f, struct fe_err *err)
{
    const struct fe_medium *m = f->base.medium;
    uint32_t aside = f->p.page.slc_mode == FE_SLC_STATIC ? f->p.page.slc_blocks : 0;
    for (fe_peb peb = 0; peb < f->geo.n_pebs; peb++) {
        if (fe_medium_is_bad(m, peb)) {
            f->state[peb] = BLOCK_BAD;
        } else if (f->cache_pool.n < aside) {
            fe_block_pool_put(&f->cache_pool, peb);
        } else {
            fe_block_pool_put(&f->pool, peb);
            f->most_erases = (uint32_t)fe_max_u64(f->most_erases, fe_medium_erase_count(m, peb));
        }
    }
    uint64_t good = (uint64_t)f->pool.n + f->cache_pool.n;
    uint64_t need = fe_page_kept(&f->p, &f->geo) +
                    fe_div_up(f->base.n_lpns, f->geo.pages_per_block);
    if (good < need)
        return fe_err_set(err, EINVAL,
                          "the chip has %llu good blocks, %u logical pages need %llu with what "
                          "the page strategy keeps beside them",
                          (unsigned long long)good, f->base.n_lpns, (unsigned long long)need);
    return 0;
}

int fe_page_new(struct page_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                uint32_t n_lpns, struct fe_err *err)
{
    struct page_ftl *f = calloc(1, sizeof *f);
    if (!f)
        return fe_err_nomem(err, "page translation layer", sizeof *f);
    f->base = (struct fe_ftl){.ops = &fe_ftl_page, .medium = m, .n_lpns = n_lpns};
    f->p = *p;
    f->geo = m->geo;
    f->reserve = fe_page_reserve(p, &m->geo);
    fe_region_init(&f->region, p->region.map_region, p->region.map_switch_ns, p->region.map_read_ns,
                   m->geo.page_bytes);
    f->slc_pages = fe_slc_pages(&m->geo);
    int r = alloc_tables(f) < 0
                ? fe_err_nomem(err, "page map", n_lpns * 4ull + m->geo.n_pebs * 8ull)
                : init_sets(f, err);
    if (r < 0) {
        page_destroy(&f->base);
        return r;
    }
    *ret = f;
    return 0;
}

static int page_create(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                       uint32_t n_lpns, struct fe_err *err)
{
    struct page_ftl *f;
    int r = fe_page_new(&f, p, m, n_lpns, err);
    if (r < 0)
        return r;
    r = fill_pools(f, err);
    if (r < 0) {
        page_destroy(&f->base);
        return r;
    }
    *ret = &f->base;
    return 0;
}

const struct fe_ftl_ops fe_ftl_page = {
    .name = "page",
    .summary = "every page mapped by itself, cleaned in the background of writes (eMMC, SSDs)",
    .max_lpns = fe_page_max_lpns,
    .create = page_create,
    .recover = fe_page_recover,
    .destroy = page_destroy,
    .read = page_read,
    .write = page_write,
    .trim = page_trim,
    .idle = fe_page_idle,
    .free_blocks = page_free_blocks,
    .check = fe_page_check,
};
