/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power-on of `dftl`.  The newest copies of data pages are the mapping, whatever the table
 * says, because the entries that the cache had not written back are lost.  Translation pages
 * that say something else are written anew, so that the cache starts empty and clean.
 *
 *   page of the table, programmed as number s       It is up to date if no page of data that
 *   | 40: 77 | 41: 60 | 42: 81 | ...                it maps was programmed after s, and if it
 *                                                   holds what it should.
 *
 * A translation page that maps nothing any more is given up.  Without payload there are no
 * bytes to compare, so a translation page with trimmed pages is always written anew.
 *
 * The blocks are sorted by the common core (ftl/blocks/recover.h).  The reserve needs no
 * restoring here: the next write cleans until it is whole.
 */
#include "ftl/blocks/recover.h"
#include "ftl/pages/dftl_core.h"

#include <stdlib.h>
#include <string.h>

static int find_mapping(struct dftl *f, struct fe_err *err)
{
    uint32_t n = f->base.n_lpns + f->n_tps;
    struct fe_mapping *newest = malloc(n * sizeof *newest);
    if (!newest)
        return fe_err_nomem(err, "mapping at power-on", n * sizeof *newest);
    fe_recover_newest(f->base.medium, newest, n, NULL);
    for (fe_lpn lpn = 0; lpn < f->base.n_lpns; lpn++)
        f->table[lpn] = fe_mapped(newest[lpn]);
    for (uint32_t tp = 0; tp < f->n_tps; tp++) {
        uint32_t end = (tp + 1) * f->per_page, i = tp * f->per_page;
        while (i < end && f->table[i] == FE_PPN_NONE)
            i++;
        struct fe_mapping *place = &newest[f->base.n_lpns + tp];
        if (i == end)
            *place = fe_mapping(FE_PPN_NONE);
        f->directory[tp] = fe_mapped(*place);
    }
    fe_blocks_mark_valid(&f->blocks, newest, n);
    free(newest);
    return 0;
}

/* The translation page need not be written.  *buf has room for a page. */
static bool is_up_to_date(struct dftl *f, uint32_t tp, void *buf)
{
    const struct fe_medium *m = f->base.medium;
    const fe_ppn *entries = f->table + (size_t)tp * f->per_page;
    fe_ppn at = f->directory[tp];
    bool payload = dftl_keeps_bytes(f), any = false, good = at != FE_PPN_NONE;
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

bool fe_dftl_may_hold(const struct fe_ftl *ftl, fe_ppn ppn)
{
    const struct dftl *f = (const struct dftl *)ftl;
    fe_lpn lpn = fe_medium_lpn(ftl->medium, ppn);
    if (lpn < ftl->n_lpns)
        return fe_medium_tag(ftl->medium, ppn) == FE_TAG_DATA;
    return lpn - ftl->n_lpns < f->n_tps && fe_medium_tag(ftl->medium, ppn) == FE_TAG_MAP;
}

int fe_dftl_power_on(struct dftl *f, struct fe_err *err)
{
    int r = fe_recover_check(&f->base, err);
    if (r < 0 || (r = fe_dftl_check_kinds(f, err)) < 0)
        return r;
    void *buf = malloc(f->blocks.geo.page_bytes);
    if (!buf)
        return fe_err_nomem(err, "a translation page", f->blocks.geo.page_bytes);
    enum fe_status st = fe_recover_scan(f->base.medium);
    if (r == 0)
        r = find_mapping(f, err);
    if (r == 0 && st == FE_OK)
        r = fe_blocks_sort(&f->blocks, false, err);
    if (r == 0 && st == FE_OK)
        st = write_table(f, buf);
    free(buf);
    return r < 0 ? r : fe_blocks_power_on_result(st, err);
}
