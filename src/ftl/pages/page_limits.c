/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many blocks the page strategy keeps besides the data, and why that is enough.
 *
 *   | data: max_lpns                                 | 1 | places | reserve | SLC cache |
 *   |<------------------------- good blocks of the chip ------------------------------->|
 *
 * b is the number of pages in a block.  Room means the erased pages in the pool and in open
 * blocks, except those of the cache: pages of every stream but the cache can go to any of
 * them (page_place.c).  A place is a place of a frontier.
 *
 * There is room.  Emptying a block of v valid pages takes v pages of room and gives b.  So
 * room does not shrink, and what is needed meanwhile is v.  Only a fold of a static cache
 * takes v <= b/2 and gives none.  A host write starts with `reserve` free blocks, that is,
 * with room >= reserve * b.  It takes one page, or folds once, or gives a block to a dynamic
 * cache, which must leave `reserve` blocks.  So the next emptying finds room >= reserve * b -
 * max(1, b/2), and needs v <= b: with reserve = 2 there is always room.
 *
 * In one case reserve = 1 would almost do: no block full of valid pages is ever emptied
 * (greedy or cost-benefit, no levelling) and there is no static cache, so v <= b - 1.  But if
 * power is cut and a page is torn while a block of b - 1 valid pages is emptied, room for
 * only b - 2 is left.  In idle time the same holds, because folds need `reserve` free blocks
 * there as well.
 *
 * In addition the reserve has a block for each place outside the cache.  So streams borrow
 * from each other, which mixes pages that should be kept apart, in emergencies only.
 *
 * There is something to win.  While cleaning runs, at most reserve - 1 blocks are free.  A
 * static cache holds its own blocks, and a dynamic cache only open ones, because folds come
 * first.  All other blocks are open or full.  The full ones are at least 2 more than the data
 * need, so they hold 2b invalid pages or more.
 *
 * It ends.  Greedy and cost-benefit win a page with each block.  Fifo moves full blocks to the
 * end of the queue; after one round it has come by all of them, and has won all 2b pages.
 * Random policies win something after as many choices as there are blocks (victim.c).  A
 * block that levelling moves wins its invalid pages, too.  The room that is won ends as free
 * blocks, because open blocks cannot hold more than they have pages.
 *
 * The enhanced area is a range of the host's pages that always lies in blocks in SLC mode.
 *
 *     host pages     |      plain      |  area  |          plain          |
 *                             |            |                  |
 *                             +------------|------------------+
 *                                          |                  |
 *     blocks   | area: SLC mode, a pool of its own | SLC cache | all others |
 *              0                               area.end
 *
 * An area is a small page-mapped device of its own.  It has the same streams, policies and wear
 * levelling as the others, except that no page of it goes through the SLC cache: it would gain
 * nothing there.  Its blocks never change places with the others.  So they wear as blocks in SLC
 * mode do (nand.slc_endurance), and what is proved above of the others is true of them, with the
 * pages of a block in SLC mode for b.  No page of such a block shares its cells with another one,
 * so a power cut harms nothing that was written before.
 *
 * The area has the same over-provisioning (ftl.op) of its own, or what the strategy needs for
 * its work if that is more:
 *
 *     | data of the area | op, or places, reserve and 1 |      in blocks of slc pages
 *
 * Not modelled: the general purpose partitions, the boot areas and the RPMB of an eMMC, which may
 * be enhanced as well; and that a real device can be divided only once.  Here the area belongs to
 * the profile, and an image refuses another one.
 */
#include "ftl/pages/page_core.h"

#include <errno.h>

uint32_t fe_page_reserve(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    uint32_t places[N_STREAMS];
    fe_page_places(p, geo, places);
    uint32_t fresh = places[STREAM_MAIN] + places[STREAM_COLD] + places[STREAM_STATIC];
    uint32_t need = fresh > 2 ? fresh : 2;
    return p->clean.gc_reserve > need ? p->clean.gc_reserve : need;
}

uint64_t fe_page_kept(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    uint32_t places[N_STREAMS];
    fe_page_places(p, geo, places);
    uint64_t cache = p->page.slc_mode == FE_SLC_STATIC ? p->page.slc_blocks : places[STREAM_CACHE];
    return (uint64_t)fe_page_reserve(p, geo) + places[STREAM_MAIN] + places[STREAM_COLD] +
           places[STREAM_STATIC] + cache + 1;
}

struct fe_ftl_params fe_page_area_params(const struct fe_ftl_params *p)
{
    struct fe_ftl_params area = *p;
    area.page.slc_mode = FE_SLC_OFF;
    return area;
}

/* Blocks that hold no data of the area when all of it was written. */
static uint64_t area_kept(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    struct fe_ftl_params area = fe_page_area_params(p);
    return fe_page_kept(&area, geo);
}

uint64_t fe_page_area_blocks(const struct fe_ftl_params *p, const struct fe_geometry *geo)
{
    uint64_t pages = p->page.enhanced_size / geo->page_bytes, slc = fe_slc_pages(geo);
    if (pages == 0)
        return 0;
    uint64_t with_op = fe_muldiv_up(pages, 1000000 + p->op_ppm, 1000000);
    return fe_max_u64(fe_div_up(with_op, slc), fe_div_up(pages, slc) + area_kept(p, geo));
}

/* The largest number of pages for which fe_page_area_blocks is at most n. */
static uint64_t pages_in_blocks(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                                uint64_t n)
{
    uint64_t slc = fe_slc_pages(geo), kept = area_kept(p, geo);
    if (n <= kept)
        return 0;
    return fe_min_u64((n - kept) * slc, fe_muldiv(n * slc, 1000000, 1000000 + p->op_ppm));
}

static int check_area(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                      struct fe_err *err)
{
    unsigned long long start = p->page.enhanced_start, size = p->page.enhanced_size;
    if (size == 0 && start)
        return fe_err_set(err, EINVAL,
                          "ftl.enhanced_size:start=%llu: there is no enhanced area with "
                          "ftl.enhanced_size=none; use 0, or a size", start);
    if (size && fe_slc_pages(geo) == 0)
        return fe_err_set(err, EINVAL,
                          "ftl.enhanced_size=%llu: only blocks of nand.cell=mlc (2 pages or more) "
                          "or tlc (3 or more) can be used in SLC mode; use none", size);
    if (start % geo->page_bytes || size % geo->page_bytes)
        return fe_err_set(err, EINVAL,
                          "ftl.enhanced_size%s=%llu: must be a multiple of the flash page, %u bytes",
                          start % geo->page_bytes ? ":start" : "",
                          start % geo->page_bytes ? start : size, geo->page_bytes);
    return 0;
}

static int area_fits_chip(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                          struct fe_err *err)
{
    uint64_t area = fe_page_area_blocks(p, geo), kept = fe_page_kept(p, geo);
    if (area == 0 || geo->n_pebs > area + kept)
        return 0;
    uint64_t left = geo->n_pebs > kept + 1 ? geo->n_pebs - kept - 1 : 0;
    return fe_err_set(err, EINVAL,
                      "ftl.enhanced_size=%llu: takes %llu blocks in SLC mode; of the chip's %u "
                      "the page strategy keeps %llu besides the other data, which leaves %llu; "
                      "at most %llu bytes",
                      (unsigned long long)p->page.enhanced_size, (unsigned long long)area,
                      geo->n_pebs, (unsigned long long)kept, (unsigned long long)left,
                      (unsigned long long)pages_in_blocks(p, geo, left) * geo->page_bytes);
}

int fe_page_area_fits_range(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                            uint64_t n_lpns, struct fe_err *err)
{
    uint64_t start = p->page.enhanced_start, size = p->page.enhanced_size;
    uint64_t bytes = n_lpns * geo->page_bytes;
    if (size == 0 || start + size <= bytes)
        return 0;
    if (size > bytes)
        return fe_err_set(err, EINVAL,
                          "ftl.enhanced_size=%llu: is larger than the device, which has %llu bytes",
                          (unsigned long long)size, (unsigned long long)bytes);
    return fe_err_set(err, EINVAL,
                      "ftl.enhanced_size:start=%llu: the enhanced area would end at %llu, and the "
                      "device at %llu; at most %llu",
                      (unsigned long long)start, (unsigned long long)(start + size),
                      (unsigned long long)bytes, (unsigned long long)(bytes - size));
}

/* Parameters that contradict each other on any size of chip. */
static int check_options(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                         struct fe_err *err)
{
    static const char *const slc_mode[] = {"off", "static", "dynamic"};
    if (p->clean.gc_policy == FE_GC_D_CHOICES && p->clean.gc_d == 0)
        return fe_err_set(err, EINVAL, "ftl.gc_d=0: d-choices draws at least 1 block");
    if (p->clean.wear_levelling == FE_WEAR_STATIC && p->clean.wl_threshold == 0)
        return fe_err_set(err, EINVAL,
                          "ftl.wear_levelling:threshold=0: static wear levelling would move a block with "
                          "every cleaning; at least 1");
    if (p->page.slc_mode == FE_SLC_OFF && p->page.slc_blocks)
        return fe_err_set(err, EINVAL,
                          "ftl.slc_blocks=%u: there is no SLC cache with ftl.slc_mode=off; use 0, "
                          "or ftl.slc_mode=static or dynamic", p->page.slc_blocks);
    if (p->page.slc_mode == FE_SLC_OFF && p->page.slc_run)
        return fe_err_set(err, EINVAL,
                          "ftl.slc_run=%llu: there is no SLC cache with ftl.slc_mode=off; use "
                          "never, or ftl.slc_mode=static or dynamic",
                          (unsigned long long)p->page.slc_run);
    if (p->page.slc_pause && p->page.slc_run == 0)
        return fe_err_set(err, EINVAL,
                          "ftl.slc_pause=yes: there are no runs with ftl.slc_run=never; use no, "
                          "or a size for ftl.slc_run");
    if (p->page.slc_mode == FE_SLC_OFF && p->page.slc_dies)
        return fe_err_set(err, EINVAL,
                          "ftl.slc_dies=%u: there is no SLC cache with ftl.slc_mode=off; use all, "
                          "or ftl.slc_mode=static or dynamic", p->page.slc_dies);
    if (p->page.slc_gather && p->page.slc_run == 0)
        return fe_err_set(err, EINVAL,
                          "ftl.slc_gather=%llu: nothing goes past the SLC cache with "
                          "ftl.slc_run=never; use page, or a size for ftl.slc_run",
                          (unsigned long long)p->page.slc_gather);
    if (p->page.slc_gather % geo->page_bytes || p->page.slc_gather / geo->page_bytes > UINT32_MAX)
        return fe_err_set(err, EINVAL,
                          "ftl.slc_gather=%llu: not a multiple of the flash page, %u bytes",
                          (unsigned long long)p->page.slc_gather, geo->page_bytes);
    if (p->page.slc_mode != FE_SLC_OFF && fe_slc_pages(geo) == 0)
        return fe_err_set(
            err, EINVAL,
            "ftl.slc_mode=%s: only blocks of nand.cell=mlc (2 pages or more) or tlc "
            "(3 or more) can be used in SLC mode; use off",
            slc_mode[p->page.slc_mode]);
    if (p->page.slc_mode == FE_SLC_STATIC && p->page.slc_blocks == 0)
        return fe_err_set(err, EINVAL, "ftl.slc_blocks=0: a static SLC cache has at least 1 block");
    return check_area(p, geo, err);
}

uint64_t fe_page_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                          struct fe_err *err)
{
    if (check_options(p, geo, err) < 0)
        return 0;
    struct fe_ftl_params small = *p;
    if (p->page.slc_mode == FE_SLC_STATIC)
        small.page.slc_blocks = 1;
    uint64_t kept = fe_page_kept(p, geo), least = fe_page_kept(&small, geo);
    if (p->page.slc_mode == FE_SLC_STATIC && geo->n_pebs <= kept && geo->n_pebs > least)
        return fe_no_pages(err, "ftl.slc_blocks=%u: of the chip's %u blocks the page strategy "
                                "keeps %llu besides cache and data, which leaves a static SLC "
                                "cache at most %llu", p->page.slc_blocks, geo->n_pebs,
                                (unsigned long long)least - 1,
                                (unsigned long long)(geo->n_pebs - least));
    if (geo->n_pebs <= kept)
        return fe_no_pages(err, "ftl.gc_reserve=%u: with %u dies and these options the page "
                                "strategy keeps %llu blocks besides the data, %u of them free; the "
                                "chip has %u and needs %llu", p->clean.gc_reserve, geo->n_dies,
                                (unsigned long long)kept, fe_page_reserve(p, geo), geo->n_pebs,
                                (unsigned long long)kept + 1);
    if (area_fits_chip(p, geo, err) < 0)
        return 0;
    kept += fe_page_area_blocks(p, geo);
    if (p->clean.idle_free > geo->n_pebs - kept)
        return fe_no_pages(err, "ftl.idle_free=%u: the chip has %u blocks, of which the page "
                                "strategy keeps %llu besides the data; at most %llu",
                                p->clean.idle_free, geo->n_pebs, (unsigned long long)kept,
                                (unsigned long long)(geo->n_pebs - kept));
    uint64_t n_lpns = (geo->n_pebs - kept) * geo->pages_per_block +
                      p->page.enhanced_size / geo->page_bytes;
    return fe_page_area_fits_range(p, geo, n_lpns, err) < 0 ? 0 : n_lpns;
}
