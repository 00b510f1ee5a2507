/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on of `dftl`: the newest copies of data pages are the mapping, whatever the table
 * says, since what the cache had not written back is lost.  Translation pages that say
 * something else are written anew, so that the cache starts empty and clean.
 *
 *   page of the table, programmed as number s       up to date if no page of data that it
 *   | 40: 77 | 41: 60 | 42: 81 | ...                maps was programmed after s, and if it
 *                                                   holds what it should
 *
 * One that maps nothing any more is given up.  Without payload there are no bytes to
 * compare, and one with trimmed pages is always written anew.
 *
 * Blocks are sorted as by the page strategy (page_recover.c).
 */
#include "ftl/dftl_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void set_valid(struct dftl *f, fe_ppn ppn)
{
    fe_bit_set(f->valid_bits, ppn);
    f->valid[fe_peb_of(&f->geo, ppn)]++;
}

static int find_mapping(struct dftl *f, struct fe_err *err)
{
    uint32_t n = f->base.n_lpns + f->n_tps;
    fe_ppn *newest = malloc(n * sizeof *newest);
    if (!newest)
        return fe_err_nomem(err, "mapping at power-on", n * sizeof *newest);
    fe_recover_newest(f->base.medium, newest, n, NULL);
    memcpy(f->table, newest, f->base.n_lpns * sizeof *f->table);
    memcpy(f->directory, newest + f->base.n_lpns, f->n_tps * sizeof *f->directory);
    free(newest);
    for (uint32_t tp = 0; tp < f->n_tps; tp++) {
        bool any = false;
        for (uint32_t i = tp * f->per_page; i < (tp + 1) * f->per_page; i++) {
            if (f->table[i] == FE_PPN_NONE)
                continue;
            any = true;
            set_valid(f, f->table[i]);
        }
        if (!any)
            f->directory[tp] = FE_PPN_NONE;
        if (f->directory[tp] != FE_PPN_NONE)
            set_valid(f, f->directory[tp]);
    }
    return 0;
}

/* Pages of data and of the table never lie in one block, which cleaning counts with. */
static int check_kinds(const struct dftl *f, struct fe_err *err)
{
    const struct fe_medium *m = f->base.medium;
    for (fe_peb peb = 0; peb < f->geo.n_pebs; peb++) {
        bool map = dftl_kind_of(f, peb) == DFTL_MAP;
        for (uint32_t i = 0; i < fe_medium_next_page(m, peb); i++) {
            fe_ppn ppn = peb * f->geo.pages_per_block + i;
            if (fe_recover_readable(m, ppn) && (fe_medium_lpn(m, ppn) >= f->base.n_lpns) != map)
                return fe_err_set(err, EIO, "power-on: block %u holds data and pages of the table",
                                  peb);
        }
    }
    return 0;
}

/* The block goes on in a slot of its kind; false if all are taken. */
static bool reopen(struct dftl *f, fe_peb peb)
{
    struct dftl_front *front = &f->fronts[dftl_kind_of(f, peb)];
    for (uint32_t i = 0; i < f->geo.n_dies; i++) {
        uint32_t slot = (fe_die_of(&f->geo, peb) + i) % f->geo.n_dies;
        if (front->slots[slot] != FE_PEB_NONE)
            continue;
        front->slots[slot] = peb;
        front->n_open++;
        f->state[peb] = DFTL_OPEN;
        return true;
    }
    return false;
}

static enum fe_status sort_blocks(struct dftl *f)
{
    struct fe_medium *m = f->base.medium;
    for (fe_peb peb = 0; peb < f->geo.n_pebs; peb++) {
        if (fe_medium_is_bad(m, peb)) {
            f->state[peb] = DFTL_BAD;
            continue;
        }
        uint32_t end = fe_medium_next_page(m, peb);
        bool whole = end == f->geo.pages_per_block;
        if (end && !whole && fe_recover_first(m, peb) == FE_PPN_NONE) {
            enum fe_status st = fe_medium_erase(m, peb);
            if (st != FE_OK)
                return st;
            end = 0;
        }
        f->state[peb] = DFTL_FREE;
        if (end == 0) {
            fe_block_pool_put(&f->pool, peb);
        } else if (whole || !reopen(f, peb)) {
            enum dftl_kind kind = dftl_kind_of(f, peb);
            f->state[peb] = (uint8_t)(DFTL_FULL + kind);
            fe_victims_add(&f->full[kind], peb);
        }
    }
    return FE_OK;
}

/* *buf: room for a page. */
static bool is_up_to_date(struct dftl *f, uint32_t tp, void *buf)
{
    const struct fe_medium *m = f->base.medium;
    const fe_ppn *entries = f->table + (size_t)tp * f->per_page;
    fe_ppn at = f->directory[tp];
    bool payload = fe_store_has_payload(m->store), any = false, good = at != FE_PPN_NONE;
    for (uint32_t i = 0; i < f->per_page; i++) {
        any = any || entries[i] != FE_PPN_NONE;
        if (good && entries[i] != FE_PPN_NONE)
            good = fe_medium_seq(m, entries[i]) < fe_medium_seq(m, at);
        if (good && !payload)
            good = !fe_medium_is_trimmed(m, tp * f->per_page + i);
    }
    uint32_t len = f->per_page * (uint32_t)sizeof *entries;
    if (good && payload)
        good = fe_store_read(m->store, at, 0, len, buf) == 0 && memcmp(buf, entries, len) == 0;
    return good || !any;
}

static enum fe_status write_table(struct dftl *f, void *buf)
{
    enum fe_status st = FE_OK;
    for (uint32_t tp = 0; tp < f->n_tps && st == FE_OK; tp++) {
        if (is_up_to_date(f, tp, buf))
            continue;
        st = fe_dftl_make_room(f);
        if (st == FE_OK && !is_up_to_date(f, tp, buf))
            st = fe_dftl_write_tp(f, tp);
    }
    return st;
}

static int run(struct dftl *f, struct fe_err *err)
{
    void *buf = malloc(f->geo.page_bytes);
    if (!buf)
        return fe_err_nomem(err, "a translation page", f->geo.page_bytes);
    enum fe_status st = fe_recover_scan(f->base.medium);
    int r = check_kinds(f, err);
    if (r == 0)
        r = find_mapping(f, err);
    if (r == 0 && st == FE_OK)
        st = sort_blocks(f);
    if (r == 0 && st == FE_OK)
        st = write_table(f, buf);
    free(buf);
    return r < 0 || st == FE_OK ? r : fe_err_set(err, EIO, "power-on: status %d", (int)st);
}

int fe_dftl_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                    uint32_t n_lpns, struct fe_err *err)
{
    struct dftl *f;
    int r = fe_dftl_new(&f, p, m, n_lpns, err);
    if (r < 0)
        return r;
    f->recovered = true;
    r = run(f, err);
    if (r < 0)
        fe_ftl_dftl.destroy(&f->base);
    else
        *ret = &f->base;
    return r;
}
