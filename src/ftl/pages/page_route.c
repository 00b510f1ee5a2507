/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a page goes that the host writes: to the SLC cache or past it, by itself or with others.
 *
 * A long run of the host's pages goes past the cache (ftl.slc_run): such data are not written again
 * soon, and folding them would only cost time.  With ftl.slc_pause a run also ends when the device
 * has nothing left to do:
 *
 *     slc_run of two pages     0 1 2 3    (nothing to do)    4 5 6 7
 *     CACHE                    # #                           # #
 *     MAIN                         # #                           # #
 *
 * Cells of several bits are programmed a word line at a time, on all planes: the controller needs
 * all the data of that before it can begin.  What a long run has brought of it until then is in the
 * cache, where it is safe; the write that brings the rest takes it along (ftl.slc_gather):
 *
 *     a run of commands of a page, four of which are gathered       0   1   2   3   4   5
 *     CACHE                                                         0   1   2       4   5
 *     MAIN                                                                  0 1 2 3
 *
 * The fourth command waits for the programs of all four.  A command that brings all of them goes
 * past the cache at once.  What a run has not completed when it ends stays in the cache, as does
 * what came before the run, and so does a part of a page until its rest has come.
 *
 * The controller has the others in its memory until then, so they are not read.  A write cache
 * gathers by itself, and the device leaves it to that.
 */
#include "ftl/pages/page_core.h"

/* A page that is written again in parts neither lengthens the run nor ends it. */
void fe_page_follow_run(struct page_ftl *f, fe_lpn lpn)
{
    if (f->run_last != FE_LPN_NONE && lpn == f->run_last + 1)
        f->run_pages += f->run_pages < UINT32_MAX;
    else if (lpn != f->run_last)
        f->run_pages = 0;
    f->run_last = lpn;
}

/* The first of the pages that are gathered with this one. */
static fe_lpn first_of(const struct page_ftl *f, fe_lpn lpn)
{
    return lpn - lpn % f->gather_pages;
}

/* Whether the host's command brings all the pages that are gathered with this one. */
static bool is_brought_whole(const struct page_ftl *f, fe_lpn lpn)
{
    uint64_t page_bytes = f->base.medium->geo.page_bytes;
    uint64_t from = first_of(f, lpn) * page_bytes, to = from + f->gather_pages * page_bytes;
    return f->command_at <= from && to - f->command_at <= f->command_bytes;
}

/* Whether the present write is the last one of a run that has brought all of them. */
static bool is_complete(const struct page_ftl *f, fe_lpn lpn)
{
    return f->page_ends && lpn - first_of(f, lpn) == f->gather_pages - 1 &&
           f->run_pages >= f->gather_pages - 1;
}

/* The host's present page waits in the cache for others that go past it together. */
static bool waits(const struct page_ftl *f)
{
    fe_lpn lpn = f->run_last;
    return f->gather_pages && !is_brought_whole(f, lpn) && !is_complete(f, lpn);
}

bool fe_page_wants_cache(const struct page_ftl *f)
{
    const struct fe_page_params *p = &f->p.page;
    if (p->slc_mode == FE_SLC_OFF)
        return false;
    bool late = p->slc_run &&
                (uint64_t)f->run_pages * f->base.medium->geo.page_bytes >= p->slc_run;
    return !late || waits(f);
}

enum stream fe_page_stream_of_host(struct page_ftl *f, fe_lpn lpn)
{
    bool two_pool = f->p.page.hot_cold == FE_HOT_COLD_TWO_POOL;
    if (two_pool)
        fe_page_heat_touch(&f->heat, lpn, fe_mapped(f->base.map[lpn]) == FE_PPN_NONE);
    if (!fe_page_in_area(f, lpn) && fe_page_wants_cache(f) && fe_page_cache_takes(f))
        return STREAM_CACHE;
    return two_pool && !fe_page_is_hot(&f->heat, lpn) ? STREAM_COLD : STREAM_MAIN;
}

enum fe_status fe_page_take_along(struct page_ftl *f, enum stream stream, fe_lpn lpn)
{
    struct fe_blocks *b = &f->blocks;
    if (f->gather_pages == 0 || stream == STREAM_CACHE || is_brought_whole(f, lpn) ||
        !is_complete(f, lpn))
        return FE_OK;
    for (fe_lpn l = first_of(f, lpn); l < lpn; l++) {
        if (fe_page_in_area(f, l))
            continue;
        enum fe_status st = fe_page_make_room(f, b, fe_page_wants_cache(f));
        fe_ppn old = fe_mapped(f->base.map[l]);
        if (st != FE_OK)
            return st;
        if (old == FE_PPN_NONE || !fe_medium_is_slc(f->base.medium, fe_peb_of(&b->geo, old)))
            continue;
        st = fe_page_place_kept(f, stream, l, old);
        if (st != FE_OK)
            return st;
        f->base.counters.pages_copied++;
        fe_blocks_replaced(b, old);
    }
    return FE_OK;
}
