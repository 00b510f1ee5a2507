/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on of `norlog`.
 *
 * Of blocks that are not whole the one written last goes on as the open one; others are
 * closed as they are.  A block with nothing but its header, or a part of that, is erased.
 *
 * If the reserve is not whole, a collection was interrupted: its victim was about to be
 * erased, or else what it has copied so far is thrown away, for the victim still has all
 * of it.  So no power cut costs room, however often they come.  Where no journal tells of a
 * victim (the server of an image was killed), collecting goes on: nothing is torn then, and what
 * the victim still has fits into the block that its copies go to.
 */
#include "ftl/norlog_core.h"

#include <errno.h>
#include <stdlib.h>

/* Erases a block that holds nothing of use, or what an interrupted collection has copied. */
static enum fe_status drop(struct norlog *n, fe_peb peb, bool *ret)
{
    struct fe_medium *m = n->base.medium;
    fe_ppn first = peb * n->geo.pages_per_block;
    uint32_t end = fe_medium_next_page(m, peb), valid = 0;
    for (fe_ppn ppn = first; ppn < first + end && !fe_medium_is_bad(m, peb); ppn++)
        valid += fe_recover_readable(m, ppn) && fe_medium_lpn(m, ppn) < n->base.n_lpns &&
                 n->map[fe_medium_lpn(m, ppn)] == ppn;
    if (end == 0 || fe_medium_is_bad(m, peb) || valid)
        return fe_recover_drop(m, peb, n->map, n->base.n_lpns, ret);
    *ret = true;
    return fe_medium_erase(m, peb);
}

/* Maps what is on the chip and erases what the reserve lacks. */
static int find_mapping(struct norlog *n, struct fe_err *err)
{
    struct fe_medium *m = n->base.medium;
    enum fe_status st = fe_recover_scan(m);
    uint32_t n_free = 0;
    fe_recover_newest(m, n->map, n->base.n_lpns, NULL);
    for (fe_peb peb = 0; peb < n->geo.n_pebs && st == FE_OK; peb++) {
        if (!fe_medium_is_bad(m, peb) && fe_medium_next_page(m, peb) &&
            fe_medium_next_page(m, peb) <= n->header_pages)
            st = fe_medium_erase(m, peb);
        n_free += !fe_medium_is_bad(m, peb) && fe_medium_next_page(m, peb) == 0;
    }
    for (fe_peb peb = 0; peb < n->geo.n_pebs && st == FE_OK && n_free < n->reserve; peb++) {
        bool dropped;
        st = drop(n, peb, &dropped);
        if (dropped)
            fe_recover_newest(m, n->map, n->base.n_lpns, NULL);
        n_free += dropped;
    }
    fe_ops_barrier(m->ops);
    return st == FE_OK ? 0 : fe_err_set(err, EIO, "power-on: status %d", (int)st);
}

static void sort_blocks(struct norlog *n, struct fe_recover_age *full)
{
    struct fe_medium *m = n->base.medium;
    uint64_t open_seq = 0;
    uint32_t n_full = 0;
    for (fe_lpn lpn = 0; lpn < n->base.n_lpns; lpn++)
        if (n->map[lpn] != FE_PPN_NONE)
            n->valid[fe_peb_of(&n->geo, n->map[lpn])]++;
    for (fe_peb peb = 0; peb < n->geo.n_pebs; peb++) {
        uint32_t end = fe_medium_next_page(m, peb);
        uint64_t seq = fe_recover_last_seq(m, peb);
        if (fe_medium_is_bad(m, peb)) {
            n->state[peb] = NOR_BAD;
        } else if (end == 0) {
            fe_block_pool_put(&n->pool, peb);
        } else {
            if (end < n->geo.pages_per_block && seq > open_seq) {
                n->open = peb;
                open_seq = seq;
            }
            full[n_full++] = (struct fe_recover_age){.seq = seq, .peb = peb};
        }
    }
    fe_recover_sort(full, n_full);
    for (uint32_t i = 0; i < n_full; i++)
        if (full[i].peb != n->open)
            fe_norlog_close_block(n, full[i].peb);
    if (n->open != FE_PEB_NONE)
        n->state[n->open] = NOR_OPEN;
}

static fe_peb least_valid(const struct norlog *n)
{
    fe_peb least = FE_PEB_NONE;
    for (fe_peb peb = 0; peb < n->geo.n_pebs; peb++)
        if (n->state[peb] == NOR_FULL && (least == FE_PEB_NONE || n->valid[peb] < n->valid[least]))
            least = peb;
    return least;
}

/* Each round wins a sector at least: this ends. */
static int restore_reserve(struct norlog *n, struct fe_err *err)
{
    enum fe_status st = FE_OK;
    while (n->pool.n < n->reserve && st == FE_OK) {
        fe_peb peb = least_valid(n);
        uint32_t room = n->pool.n * n->data_pages;
        if (n->open != FE_PEB_NONE)
            room += n->geo.pages_per_block - fe_medium_next_page(n->base.medium, n->open);
        if (peb == FE_PEB_NONE || n->valid[peb] == n->data_pages || n->valid[peb] > room)
            break;
        st = fe_norlog_empty(n, peb, FE_PEB_NONE);
    }
    return st == FE_OK ? 0 : fe_err_set(err, EIO, "power-on: status %d", (int)st);
}

int fe_norlog_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                      uint32_t n_lpns, struct fe_err *err)
{
    struct norlog *n;
    int r = fe_norlog_new(&n, p, m, n_lpns, err);
    if (r < 0)
        return r;
    n->recovered = true;
    struct fe_recover_age *full = malloc(n->geo.n_pebs * sizeof *full);
    if (!full)
        r = fe_err_nomem(err, "full blocks at power-on", n->geo.n_pebs * sizeof *full);
    else
        r = find_mapping(n, err);
    if (r == 0) {
        sort_blocks(n, full);
        r = restore_reserve(n, err);
    }
    free(full);
    if (r < 0)
        fe_ftl_norlog.destroy(&n->base);
    else
        *ret = &n->base;
    return r;
}
