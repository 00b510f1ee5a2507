/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on of the page strategy.
 *
 *   nothing programmed        free, in its pool
 *   nothing can be read       erased, free
 *   not whole                 open in a slot of the stream that its first page names; without
 *                             a free slot it is closed as it is
 *   whole                     full, in the order in which blocks were written last
 *
 * More blocks can be open than there are slots: when the last page of a block is not
 * programmed at the cut, but the first one of the block that took its slot is.
 *
 * A block is gone on with behind a torn page.
 *
 * When free blocks are short, a block was being emptied, and other ones may not fit into the
 * room that is left.  If what has been moved is all that there is in its new block, that
 * is thrown away.  Else, or if no journal tells of that block (the server of an image was
 * killed), emptying goes on, with the blocks that have least.
 *
 * What pages were hot is forgotten, and so is who had how many turns.
 */
#include "ftl/page_core.h"
#include "ftl/recover.h"

#include <errno.h>
#include <stdlib.h>

static void count_valid(struct page_ftl *f)
{
    for (fe_lpn lpn = 0; lpn < f->base.n_lpns; lpn++) {
        fe_ppn ppn = f->map[lpn];
        if (ppn == FE_PPN_NONE)
            continue;
        fe_bit_set(f->valid_bits, ppn);
        f->valid[fe_peb_of(&f->geo, ppn)]++;
    }
}

static enum stream stream_of(const struct page_ftl *f, fe_peb peb)
{
    if (fe_medium_is_slc(f->base.medium, peb))
        return STREAM_CACHE;
    uint8_t tag = fe_medium_tag(f->base.medium, fe_recover_first(f->base.medium, peb));
    if (tag == FE_TAG_COLD || tag == FE_TAG_COLD_COPY)
        return STREAM_COLD;
    return tag == FE_TAG_REST ? STREAM_REST : STREAM_MAIN;
}

/* The block goes on in a slot of its stream; false if all are taken. */
static bool reopen(struct page_ftl *f, fe_peb peb)
{
    struct frontier *front = &f->fronts[stream_of(f, peb)];
    uint32_t die = fe_die_of(&f->geo, peb);
    for (uint32_t i = 0; i < front->n; i++) {
        uint32_t slot = (die + i) % front->n;
        if (front->slots[slot] != FE_PEB_NONE)
            continue;
        front->slots[slot] = peb;
        f->state[peb] = BLOCK_OPEN;
        return true;
    }
    return false;
}

static void put_free(struct page_ftl *f, fe_peb peb, bool to_cache)
{
    fe_block_pool_put(to_cache ? &f->cache_pool : &f->pool, peb);
    uint32_t erases = fe_medium_erase_count(f->base.medium, peb);
    if (!to_cache && erases > f->most_erases)
        f->most_erases = erases;
}

static enum fe_status drop_moved(struct page_ftl *f)
{
    struct fe_medium *m = f->base.medium;
    uint32_t n_free = 0;
    for (fe_peb peb = 0; peb < f->geo.n_pebs; peb++)
        n_free += !fe_medium_is_bad(m, peb) && fe_medium_next_page(m, peb) == 0;
    enum fe_status st = FE_OK;
    for (fe_peb peb = 0; peb < f->geo.n_pebs && n_free < f->reserve && st == FE_OK; peb++) {
        bool dropped = false;
        if (!fe_medium_is_slc(m, peb) && fe_medium_next_page(m, peb) < f->geo.pages_per_block)
            st = fe_recover_drop(m, peb, f->map, f->base.n_lpns, &dropped);
        n_free += dropped;
        if (dropped)
            fe_recover_newest(m, f->map, f->base.n_lpns, NULL);
    }
    return st;
}

/* Blocks that take no more pages go to `full` for now. */
static enum fe_status sort_blocks(struct page_ftl *f, struct fe_recover_age *full, uint32_t *ret_n)
{
    struct fe_medium *m = f->base.medium;
    uint32_t aside = f->p.page.slc_mode == FE_SLC_STATIC ? f->p.page.slc_blocks : 0, n_good = 0;
    for (fe_peb peb = 0; peb < f->geo.n_pebs; peb++) {
        if (fe_medium_is_bad(m, peb)) {
            f->state[peb] = BLOCK_BAD;
            continue;
        }
        uint32_t end = fe_medium_next_page(m, peb);
        bool whole = end == fe_recover_room(m, peb), to_cache = n_good++ < aside;
        if (end && !whole && fe_recover_first(m, peb) == FE_PPN_NONE) {
            enum fe_status st = fe_medium_erase(m, peb);
            if (st != FE_OK)
                return st;
            end = 0;
        }
        f->n_slc += end && fe_medium_is_slc(m, peb);
        if (end == 0)
            put_free(f, peb, to_cache);
        else if (whole || !reopen(f, peb))
            full[(*ret_n)++] =
                (struct fe_recover_age){.seq = fe_recover_last_seq(m, peb), .peb = peb};
    }
    return FE_OK;
}

/* Erased pages that any stream but the cache's can have. */
static uint32_t room(const struct page_ftl *f)
{
    uint32_t b = f->geo.pages_per_block, n = f->pool.n * b;
    for (enum stream s = STREAM_MAIN; s < STREAM_CACHE; s++)
        for (uint32_t i = 0; i < f->fronts[s].n; i++)
            if (f->fronts[s].slots[i] != FE_PEB_NONE)
                n += b - fe_medium_next_page(f->base.medium, f->fronts[s].slots[i]);
    return n;
}

/* The block that it costs least to win, FE_PEB_NONE if none does. */
static fe_peb least_valid(const struct page_ftl *f)
{
    bool dynamic = f->p.page.slc_mode == FE_SLC_DYNAMIC; /* else the cache's blocks stay with it */
    fe_peb least = FE_PEB_NONE;
    for (fe_peb peb = 0; peb < f->geo.n_pebs; peb++) {
        bool counts = f->state[peb] == BLOCK_FULL || (dynamic && f->state[peb] == BLOCK_CACHED);
        if (counts && f->valid[peb] < f->geo.pages_per_block &&
            (least == FE_PEB_NONE || f->valid[peb] < f->valid[least]))
            least = peb;
    }
    return least;
}

/* Each round wins a page at least: this ends. */
static enum fe_status go_on_emptying(struct page_ftl *f)
{
    enum fe_status st = FE_OK;
    while (f->pool.n < f->reserve && st == FE_OK) {
        fe_peb peb = least_valid(f);
        if (peb == FE_PEB_NONE || f->valid[peb] > room(f))
            break;
        st = fe_page_empty(f, peb, false);
    }
    return st;
}

static int run(struct page_ftl *f, struct fe_err *err)
{
    struct fe_recover_age *full = malloc(f->geo.n_pebs * sizeof *full);
    uint32_t n = 0;
    if (!full)
        return fe_err_nomem(err, "full blocks at power-on", f->geo.n_pebs * sizeof *full);
    enum fe_status st = fe_recover_scan(f->base.medium);
    fe_recover_newest(f->base.medium, f->map, f->base.n_lpns, NULL);
    if (st == FE_OK)
        st = drop_moved(f);
    count_valid(f);
    if (st == FE_OK)
        st = sort_blocks(f, full, &n);
    fe_recover_sort(full, n);
    for (uint32_t i = 0; i < n; i++)
        fe_page_close_block(f, full[i].peb);
    free(full);
    if (st == FE_OK)
        st = go_on_emptying(f);
    return st == FE_OK ? 0 : fe_err_set(err, EIO, "power-on: status %d", (int)st);
}

int fe_page_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                    uint32_t n_lpns, struct fe_err *err)
{
    struct page_ftl *f;
    int r = fe_page_new(&f, p, m, n_lpns, err);
    if (r < 0)
        return r;
    f->recovered = true;
    r = run(f, err);
    if (r < 0)
        fe_ftl_page.destroy(&f->base);
    else
        *ret = &f->base;
    return r;
}
