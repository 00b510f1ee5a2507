/* SPDX-License-Identifier: BSD-3-Clause
 *
 * page: every page is mapped by itself, as in eMMC, SSDs and new sticks.
 *
 *     host page                                 cleaning
 *         |                                        |
 *         v                                        v
 *   +-- streams: open blocks, one a die ----+   a victim's valid pages
 *   |  MAIN   COLD   STATIC   CACHE (SLC)  |      ^
 *   +-------------------+-------------------+      |
 *                       | full                     | the policy's choice
 *                       v                          |
 *                  full blocks --------------------+--> erased --> free blocks
 *
 * A write goes to the frontier of its stream, and the former copy of the page becomes an
 * invalid page.  When free blocks run short, cleaning comes first.  So the cost of a write
 * depends on how many valid pages the victims still have, and this is what
 * over-provisioning, cleaning policies and the separation of hot from cold pages are about.
 *
 * page_core.h says which file does what.  The map takes 4 bytes a logical page; two-pool
 * separation takes 8 more.
 *
 * At power-on the newest copies of all pages are the map.  What was hot is forgotten, and so
 * is whose turn it was in the frontiers.
 */
#include "base/table.h"
#include "ftl/blocks/recover.h"
#include "ftl/pages/page_core.h"
#include "ftl/recover.h"

#include <errno.h>

static void page_begin_command(struct fe_ftl *ftl, bool write, uint64_t offset, uint64_t len)
{
    struct page_ftl *f = page_of(ftl);
    fe_costs_begin(&f->costs, ftl->medium->ops, write, offset, len);
    if (write) {
        f->command_at = offset;
        f->command_bytes = len;
    }
}

static void page_idled(struct fe_ftl *ftl)
{
    page_of(ftl)->run_last = FE_LPN_NONE; /* slc_pause */
}

static enum fe_status page_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *data)
{
    struct page_ftl *f = page_of(ftl);
    fe_costs_page(&f->costs, ftl->medium->ops, true, lpn, len);
    fe_page_follow_run(f, lpn);
    f->page_ends = off + len == ftl->medium->geo.page_bytes;
    struct fe_blocks *b = fe_page_blocks_for(f, lpn);
    enum fe_status st = fe_page_make_room(f, b, fe_page_wants_cache(f));
    if (st != FE_OK)
        return st;
    enum stream stream = fe_page_stream_of_host(f, lpn);
    if (b == &f->blocks)
        st = fe_page_take_along(f, stream, lpn);
    if (st != FE_OK)
        return st;
    fe_ppn old = fe_mapped(f->base.map[lpn]);
    st = fe_page_place(f, stream, lpn, old, off, len, data);
    if (st == FE_OK && old != FE_PPN_NONE)
        fe_blocks_replaced(b, old);
    return st;
}

static enum fe_status page_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                void *buf)
{
    fe_costs_page(&page_of(ftl)->costs, ftl->medium->ops, false, lpn, len);
    return fe_read_mapped(ftl->medium, fe_mapped(ftl->map[lpn]), off, len, buf);
}

/* How many of the n pages from `first` on are in the area, or outside it, as the first one is. */
static uint32_t pages_together(const struct page_ftl *f, fe_lpn first, uint32_t n)
{
    uint32_t end = f->area_first + f->area_pages;
    if (f->area_pages && first < f->area_first)
        return n < f->area_first - first ? n : f->area_first - first;
    return fe_page_in_area(f, first) && n > end - first ? end - first : n;
}

static enum fe_status page_trim(struct fe_ftl *ftl, fe_lpn first, uint32_t n)
{
    struct page_ftl *f = page_of(ftl);
    for (uint32_t done = 0, part; done < n; done += part) {
        part = pages_together(f, first + done, n - done);
        fe_blocks_trim(fe_page_blocks_for(f, first + done), f->base.map, first + done, part);
    }
    return FE_OK;
}

static void page_fetch(const struct fe_ftl *ftl, fe_lpn lpn, uint32_t step)
{
    const struct page_ftl *f = (const struct page_ftl *)ftl;
    if (step == 0)
        fe_fetch(&f->base.map[lpn]);
    else if (fe_mapped(f->base.map[lpn]) != FE_PPN_NONE)
        fe_blocks_fetch(fe_page_in_area(f, lpn) ? &f->area : &f->blocks,
                        fe_mapped(f->base.map[lpn]), step);
}

static uint32_t page_valid_pages(const struct fe_ftl *ftl, fe_peb peb)
{
    const struct page_ftl *f = (const struct page_ftl *)ftl;
    return peb < f->area.end ? f->area.valid[peb] : f->blocks.valid[peb];
}

static uint32_t page_free_blocks(const struct fe_ftl *ftl)
{
    const struct page_ftl *f = (const struct page_ftl *)ftl;
    return f->blocks.pool.n + f->blocks.aside.n + f->area.pool.n;
}

static void page_fini(struct fe_ftl *ftl)
{
    struct page_ftl *f = page_of(ftl);
    fe_blocks_fini(&f->blocks);
    fe_blocks_fini(&f->area);
    fe_page_heat_fini(&f->heat);
}

static const struct fe_block_ops block_ops = {
    .move = fe_page_move,
    .frontier_of = fe_page_stream_of_block,
};

/* Of the area, n blocks; or, behind the area, of all others. */
static int init_blocks(struct page_ftl *f, struct fe_blocks *b, const struct fe_ftl_params *p,
                       uint32_t n, struct fe_err *err)
{
    const struct fe_geometry *g = &f->base.medium->geo;
    uint32_t pages = b == &f->area ? fe_slc_pages(g) : g->pages_per_block;
    uint32_t places[N_STREAMS], slc = p->page.slc_mode == FE_SLC_OFF ? 0 : fe_slc_pages(g);
    struct fe_blocks_config config = {
        .first = f->area.end,
        .n_blocks = n,
        .slc = b == &f->area,
        .reserve = fe_page_reserve(p, g),
        .levelling = p->clean.wear_levelling,
        .threshold = p->clean.wl_threshold,
        .n_aside = p->page.slc_mode == FE_SLC_STATIC ? p->page.slc_blocks : 0,
        .seed = p->seed,
        .map = f->base.map,
        .sets = {[SET_PLAIN] = {p->clean.gc_policy, p->clean.gc_d, pages},
                 [SET_CACHED] = {FE_GC_FIFO, 1, slc}},
    };
    fe_page_places(p, g, places);
    for (enum stream s = STREAM_MAIN; s < STREAM_CACHE; s++)
        config.frontiers[s] = (struct fe_frontier_config){places[s], pages, SET_PLAIN};
    config.frontiers[STREAM_CACHE] =
        (struct fe_frontier_config){places[STREAM_CACHE], slc, SET_CACHED};
    return fe_blocks_init(b, &f->base, &block_ops, &config, err);
}

/* The blocks of the area come first, so that the others know where theirs begin. */
static int init_parts(struct page_ftl *f, struct fe_err *err)
{
    const struct fe_geometry *g = &f->base.medium->geo;
    struct fe_ftl_params area = fe_page_area_params(&f->p);
    int r = 0;
    f->area_first = (fe_lpn)(f->p.page.enhanced_start / g->page_bytes);
    f->area_pages = (uint32_t)(f->p.page.enhanced_size / g->page_bytes);
    if (f->area_pages)
        r = init_blocks(f, &f->area, &area, (uint32_t)fe_page_area_blocks(&f->p, g), err);
    return r == 0 ? init_blocks(f, &f->blocks, &f->p, 0, err) : r;
}

static int init(struct page_ftl *f, struct fe_err *err)
{
    const struct fe_ftl_params *p = &f->p;
    uint32_t n = f->base.n_lpns;
    int r = fe_page_area_fits_range(p, &f->base.medium->geo, n, err);
    if (r < 0)
        return r;
    fe_costs_init(&f->costs, p, f->base.medium->geo.page_bytes, 0);
    f->run_last = FE_LPN_NONE;
    f->gather_pages = (uint32_t)(p->page.slc_gather / f->base.medium->geo.page_bytes);
    f->base.map = fe_table_alloc(n, sizeof *f->base.map);
    if (!f->base.map ||
        (p->page.hot_cold == FE_HOT_COLD_TWO_POOL && !fe_page_heat_init(&f->heat, n)))
        return fe_err_nomem(err, "page map", n * 4ull);
    return init_parts(f, err);
}

static int put_in_order(struct fe_blocks *b, struct fe_err *err)
{
    int r = fe_blocks_sort(b, true, err);
    return r == 0 ? fe_blocks_restore(b, err) : r;
}

/* Pages of the area, and no others, are in its blocks, in SLC mode.  Of the others, the pages of the
 * cache are in SLC mode, and a static cache has its own blocks. */
static bool page_may_hold(const struct fe_ftl *ftl, fe_ppn ppn)
{
    const struct page_ftl *f = (const struct page_ftl *)ftl;
    fe_peb peb = fe_peb_of(&ftl->medium->geo, ppn);
    fe_lpn lpn = fe_medium_lpn(ftl->medium, ppn);
    uint8_t tag = fe_medium_tag(ftl->medium, ppn);
    bool in_area = peb < f->area.end, slc = fe_medium_is_slc(ftl->medium, peb);
    if (lpn >= ftl->n_lpns || tag > FE_TAG_STATIC || tag == FE_TAG_LOG || tag == FE_TAG_SHARED_LOG)
        return false;
    if (fe_page_in_area(f, lpn) != in_area || in_area)
        return in_area && fe_page_in_area(f, lpn) && slc && tag != FE_TAG_SLC;
    bool aside = peb < f->blocks.aside_end;
    return slc == (tag == FE_TAG_SLC) && (!slc || f->p.page.slc_mode != FE_SLC_OFF) &&
           (f->p.page.slc_mode != FE_SLC_STATIC || slc == aside);
}

static int power_on(struct page_ftl *f, struct fe_err *err)
{
    struct fe_medium *m = f->base.medium;
    int r = fe_recover_check(&f->base, err);
    if (r < 0)
        return r;
    enum fe_status st = fe_recover_scan(m);
    fe_recover_newest(m, f->base.map, f->base.n_lpns, NULL);
    if (st == FE_OK)
        st = fe_blocks_drop_moved(&f->blocks, f->base.map, false);
    if (st == FE_OK && f->area_pages)
        st = fe_blocks_drop_moved(&f->area, f->base.map, false);
    if (st != FE_OK)
        return fe_blocks_power_on_result(st, err);
    for (fe_lpn lpn = 0, n; lpn < f->base.n_lpns; lpn += n) {
        n = pages_together(f, lpn, f->base.n_lpns - lpn);
        fe_blocks_mark_valid(fe_page_blocks_for(f, lpn), f->base.map + lpn, n);
    }
    r = put_in_order(&f->blocks, err);
    return r == 0 && f->area_pages ? put_in_order(&f->area, err) : r;
}

/* Blocks for all the data and for what the strategy keeps besides. */
static int fill(struct page_ftl *f, struct fe_err *err)
{
    const struct fe_geometry *g = &f->base.medium->geo;
    uint32_t others = f->base.n_lpns - f->area_pages;
    int r = fe_blocks_fill(&f->blocks, fe_page_kept(&f->p, g) +
                           fe_div_up(others, g->pages_per_block), err);
    return r == 0 && f->area_pages ? fe_blocks_fill(&f->area, fe_page_area_blocks(&f->p, g), err)
                                   : r;
}

static int page_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                      struct fe_err *err)
{
    struct page_ftl *f = page_of(ftl);
    ftl->hears_idle = p->page.slc_pause;
    f->p = *p;
    int r = init(f, err);
    if (r == 0)
        r = used ? power_on(f, err) : fill(f, err);
    return r;
}

static int page_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct page_ftl *f = (const struct page_ftl *)ftl;
    const struct fe_blocks *b = &f->blocks;
    uint64_t n_mapped = 0, n_area = 0;
    int r = 0;
    for (fe_lpn lpn = 0; lpn < ftl->n_lpns && r == 0; lpn++) {
        bool in_area = fe_page_in_area(f, lpn);
        r = fe_blocks_check_entry(in_area ? &f->area : b, "logical", lpn, fe_mapped(ftl->map[lpn]),
                                  lpn, in_area ? &n_area : &n_mapped, err);
    }
    if (r == 0)
        r = fe_blocks_check(b, n_mapped, err);
    if (r == 0 && f->area_pages)
        r = fe_blocks_check(&f->area, n_area, err);
    uint32_t n_slc = b->full[SET_CACHED].n + b->fronts[STREAM_CACHE].n_open;
    if (r == 0 && f->p.page.slc_mode == FE_SLC_STATIC &&
        b->aside.n + n_slc != f->p.page.slc_blocks)
        r = fe_err_set(err, EIO, "%u free blocks of the SLC cache and %u in use are not %u",
                       b->aside.n, n_slc, f->p.page.slc_blocks);
    return r;
}

const struct fe_ftl_ops fe_ftl_page = {
    .name = "page",
    .summary = "every page mapped by itself, cleaned in the background of writes (eMMC, SSDs)",
    .max_lpns = fe_page_max_lpns,
    .enhanced_blocks = fe_page_area_blocks,
    .size = sizeof(struct page_ftl),
    .start = page_start,
    .fini = page_fini,
    .may_hold = page_may_hold,
    .uses_slc = true,
    .read = page_read,
    .locate = fe_mapped_locate,
    .write = page_write,
    .fill = fe_page_fill,
    .trim = page_trim,
    .begin_command = page_begin_command,
    .idled = page_idled,
    .fetch = page_fetch,
    .idle = fe_page_idle,
    .free_blocks = page_free_blocks,
    .valid_pages = page_valid_pages,
    .check = page_check,
};
