/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every invariant of the page strategy, from the outside in:
 *
 *   map      lpn -> ppn, whose OOB says lpn and whose valid bit is set; no other bits
 *   blocks   valid bits add up; each state agrees with the chip (how far programmed, in
 *            which mode) and with the one place where such a block stands
 *   places   pools, slots, victim sets and the levelling heap hold as many blocks as there
 *            are in the state that belongs to them
 */
#include "ftl/page_core.h"

#include <errno.h>

static int check_map(const struct page_ftl *f, struct fe_err *err)
{
    uint64_t mapped = 0, valid = 0;
    for (fe_lpn lpn = 0; lpn < f->base.n_lpns; lpn++) {
        fe_ppn ppn = f->map[lpn];
        if (ppn == FE_PPN_NONE)
            continue;
        mapped++;
        if (!page_is_valid(f, ppn) || fe_medium_lpn(f->base.medium, ppn) != lpn)
            return fe_err_set(err, EIO, "logical page %u is mapped to %u, which holds %u", lpn,
                              ppn, fe_medium_lpn(f->base.medium, ppn));
    }
    for (fe_peb peb = 0; peb < f->geo.n_pebs; peb++) {
        uint32_t n = 0, end = fe_medium_next_page(f->base.medium, peb);
        for (uint32_t i = 0; i < f->geo.pages_per_block; i++) {
            bool bit = page_is_valid(f, peb * f->geo.pages_per_block + i);
            if (bit && i >= end)
                return fe_err_set(err, EIO, "block %u: page %u is valid and erased", peb, i);
            n += bit;
        }
        if (n != f->valid[peb])
            return fe_err_set(err, EIO, "block %u: %u valid pages, its count says %u", peb, n,
                              f->valid[peb]);
        valid += n;
    }
    if (mapped != valid)
        return fe_err_set(err, EIO, "%llu pages mapped, %llu valid", (unsigned long long)mapped,
                          (unsigned long long)valid);
    return 0;
}

static bool state_fits(const struct page_ftl *f, fe_peb peb)
{
    const struct fe_medium *m = f->base.medium;
    uint32_t end = fe_medium_next_page(m, peb);
    bool slc = fe_medium_is_slc(m, peb);
    switch ((enum block_state)f->state[peb]) {
    case BLOCK_FREE:
        return end == 0 && !slc;
    case BLOCK_OPEN:
        return end < (slc ? f->slc_pages : f->geo.pages_per_block);
    case BLOCK_FULL:
        return (end == f->geo.pages_per_block || (f->recovered && end)) && !slc;
    case BLOCK_CACHED:
        return (end == f->slc_pages || (f->recovered && end)) && slc;
    case BLOCK_BAD:
        return fe_medium_is_bad(m, peb) && f->valid[peb] == 0;
    }
    return false;
}

static int check_slots(const struct page_ftl *f, uint32_t n_open, struct fe_err *err)
{
    uint32_t n = 0;
    for (enum stream s = STREAM_MAIN; s < N_STREAMS; s++) {
        for (uint32_t i = 0; i < f->fronts[s].n; i++) {
            fe_peb peb = f->fronts[s].slots[i];
            if (peb == FE_PEB_NONE)
                continue;
            n++;
            if (f->state[peb] != BLOCK_OPEN ||
                fe_medium_is_slc(f->base.medium, peb) != (s == STREAM_CACHE))
                return fe_err_set(err, EIO, "block %u in a slot of stream %u is not open, or in "
                                  "the wrong mode", peb, s);
        }
    }
    return n == n_open ? 0 : fe_err_set(err, EIO, "%u blocks open, %u in slots", n_open, n);
}

static int check_blocks(const struct page_ftl *f, struct fe_err *err)
{
    uint32_t n[BLOCK_BAD + 1] = {0}, n_slc = 0;
    for (fe_peb peb = 0; peb < f->geo.n_pebs; peb++) {
        if (!state_fits(f, peb))
            return fe_err_set(err, EIO, "block %u in state %u has %u pages programmed%s", peb,
                              f->state[peb], fe_medium_next_page(f->base.medium, peb),
                              fe_medium_is_slc(f->base.medium, peb) ? " in SLC mode" : "");
        n[f->state[peb]]++;
        n_slc += fe_medium_is_slc(f->base.medium, peb);
    }
    if (n[BLOCK_FREE] != f->pool.n + f->cache_pool.n || n[BLOCK_FULL] != f->full.n ||
        n[BLOCK_CACHED] != f->cached.n || n_slc != f->n_slc)
        return fe_err_set(err, EIO, "%u free, %u full, %u full and %u in all in SLC mode; counted "
                          "are %u, %u, %u and %u", n[BLOCK_FREE], n[BLOCK_FULL], n[BLOCK_CACHED],
                          n_slc, f->pool.n + f->cache_pool.n, f->full.n, f->cached.n, f->n_slc);
    if (f->p.page.slc_mode == FE_SLC_STATIC && f->cache_pool.n + n_slc != f->p.page.slc_blocks)
        return fe_err_set(err, EIO, "%u free blocks of the SLC cache and %u in use are not %u",
                          f->cache_pool.n, n_slc, f->p.page.slc_blocks);
    return check_slots(f, n[BLOCK_OPEN], err);
}

int fe_page_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct page_ftl *f = (const struct page_ftl *)ftl;
    int r = check_map(f, err);
    if (r == 0)
        r = check_blocks(f, err);
    if (r == 0)
        r = fe_block_pool_check(&f->pool, err);
    if (r == 0 && f->p.page.slc_mode == FE_SLC_STATIC)
        r = fe_block_pool_check(&f->cache_pool, err);
    if (r == 0)
        r = fe_victims_check(&f->full, err);
    if (r == 0 && f->p.page.slc_mode != FE_SLC_OFF)
        r = fe_victims_check(&f->cached, err);
    if (r == 0 && f->p.clean.wear_levelling == FE_WEAR_STATIC &&
        (f->rested.n != f->full.n || !fe_heap_check(&f->rested)))
        r = fe_err_set(err, EIO, "%u full blocks, %u in order of their erases, or out of order",
                       f->full.n, f->rested.n);
    return r;
}
