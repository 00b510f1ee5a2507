/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every invariant of `dftl`, from the outside in:
 *
 *   mappings   the cache's entry or else the table's names a valid page whose OOB says so;
 *              the directory likewise; no other page is valid
 *   table      clean entries of the cache agree with it, and so do the bytes on the chip
 *   blocks     valid pages add up; each state agrees with the chip and with the one place
 *              where such a block stands; a block holds one kind of page
 */
#include "ftl/dftl_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int check_page(const struct dftl *f, const char *what, uint32_t i, fe_lpn tag, fe_ppn ppn,
                      struct fe_err *err)
{
    if (ppn < f->geo.n_ppns && dftl_is_valid(f, ppn) && fe_medium_lpn(f->base.medium, ppn) == tag)
        return 0;
    return fe_err_set(err, EIO, "%s page %u is mapped to %u, which holds another or is not valid",
                      what, i, ppn);
}

static int check_mappings(const struct dftl *f, uint64_t *ret_mapped, struct fe_err *err)
{
    int r = 0;
    for (fe_lpn lpn = 0; lpn < f->base.n_lpns && r == 0; lpn++) {
        fe_ppn ppn = fe_map_has(&f->cache, lpn) ? fe_map_get(&f->cache, lpn) : f->table[lpn];
        if (ppn == FE_PPN_NONE)
            continue;
        ++*ret_mapped;
        r = check_page(f, "logical", lpn, lpn, ppn, err);
    }
    for (uint32_t tp = 0; tp < f->n_tps && r == 0; tp++) {
        if (f->directory[tp] == FE_PPN_NONE)
            continue;
        ++*ret_mapped;
        r = check_page(f, "translation", tp, dftl_tag(f, tp), f->directory[tp], err);
    }
    return r;
}

/* A translation page that does not exist maps nothing; one that does has its bytes on the
 * chip, if that keeps bytes. */
static int check_table(const struct dftl *f, struct fe_err *err)
{
    const struct fe_medium *m = f->base.medium;
    size_t len = f->per_page * sizeof *f->table;
    fe_ppn *buf = malloc(len);
    if (!buf)
        return fe_err_nomem(err, "check of translation pages", len);
    int r = 0;
    for (uint32_t tp = 0; tp < f->n_tps && r == 0; tp++) {
        if (f->directory[tp] == FE_PPN_NONE)
            memset(buf, 0xff, len);
        else if (fe_store_has_payload(m->store))
            fe_store_read(m->store, f->directory[tp], 0, (uint32_t)len, buf);
        else
            continue;
        if (memcmp(buf, f->table + (size_t)tp * f->per_page, len) != 0)
            r = fe_err_set(err, EIO, "translation page %u does not hold what the table says", tp);
        if (f->is_outdated[tp])
            r = fe_err_set(err, EIO, "translation page %u is outdated", tp);
    }
    free(buf);
    return r;
}

/* Valid pages of a block, all of the kind of the first. */
static int count_valid(const struct dftl *f, fe_peb peb, struct fe_err *err)
{
    uint32_t n = 0, end = fe_medium_next_page(f->base.medium, peb);
    fe_ppn first = peb * f->geo.pages_per_block;
    enum dftl_kind kind = dftl_kind_of(f, peb);
    for (uint32_t i = 0; i < f->geo.pages_per_block; i++) {
        bool valid = dftl_is_valid(f, first + i);
        n += valid;
        if (valid && i >= end)
            return fe_err_set(err, EIO, "block %u: page %u is valid and erased", peb, i);
        if (i < end && fe_recover_readable(f->base.medium, first + i) &&
            (fe_medium_lpn(f->base.medium, first + i) < f->base.n_lpns) != (kind == DFTL_DATA))
            return fe_err_set(err, EIO, "block %u holds data and table", peb);
    }
    if (n != f->valid[peb])
        return fe_err_set(err, EIO, "block %u: %u valid pages, its count says %u", peb, n,
                          f->valid[peb]);
    return 0;
}

static bool state_fits(const struct dftl *f, fe_peb peb)
{
    const struct fe_medium *m = f->base.medium;
    uint32_t end = fe_medium_next_page(m, peb), b = f->geo.pages_per_block;
    switch (f->state[peb]) {
    case DFTL_FREE:
        return end == 0;
    case DFTL_OPEN:
        return end < b;
    case DFTL_BAD:
        return fe_medium_is_bad(m, peb) && f->valid[peb] == 0;
    default:
        return (end == b || (f->recovered && end)) &&
               f->state[peb] == DFTL_FULL + dftl_kind_of(f, peb);
    }
}

static int check_slots(const struct dftl *f, enum dftl_kind kind, uint32_t *ret_open,
                       struct fe_err *err)
{
    uint32_t n = 0;
    for (uint32_t die = 0; die < f->geo.n_dies; die++) {
        fe_peb peb = f->fronts[kind].slots[die];
        if (peb == FE_PEB_NONE)
            continue;
        n++;
        if (f->state[peb] != DFTL_OPEN || fe_medium_next_page(f->base.medium, peb) == 0 ||
            dftl_kind_of(f, peb) != kind)
            return fe_err_set(err, EIO, "block %u in a slot is not open, or of the other kind",
                              peb);
    }
    if (n != f->fronts[kind].n_open)
        return fe_err_set(err, EIO, "%u blocks in slots, %u counted", n, f->fronts[kind].n_open);
    *ret_open += n;
    return 0;
}

static int check_blocks(const struct dftl *f, uint64_t *ret_valid, struct fe_err *err)
{
    uint32_t n[DFTL_FULL + DFTL_N_KINDS] = {0}, n_open = 0;
    int r = 0;
    for (fe_peb peb = 0; peb < f->geo.n_pebs && r == 0; peb++) {
        r = count_valid(f, peb, err);
        *ret_valid += f->valid[peb];
        n[f->state[peb]]++;
        if (r == 0 && !state_fits(f, peb))
            r = fe_err_set(err, EIO, "block %u in state %u has %u pages programmed, or of the "
                           "other kind", peb, f->state[peb],
                           fe_medium_next_page(f->base.medium, peb));
    }
    for (int kind = 0; kind < DFTL_N_KINDS && r == 0; kind++)
        r = check_slots(f, (enum dftl_kind)kind, &n_open, err);
    if (r == 0 && (n[DFTL_FREE] != f->pool.n || n[DFTL_OPEN] != n_open ||
                   n[DFTL_FULL + DFTL_DATA] != f->full[DFTL_DATA].n ||
                   n[DFTL_FULL + DFTL_MAP] != f->full[DFTL_MAP].n))
        r = fe_err_set(err, EIO, "%u blocks free, %u open, %u and %u full; counted are %u, %u, %u "
                       "and %u", n[DFTL_FREE], n[DFTL_OPEN], n[DFTL_FULL + DFTL_DATA],
                       n[DFTL_FULL + DFTL_MAP], f->pool.n, n_open, f->full[DFTL_DATA].n,
                       f->full[DFTL_MAP].n);
    return r;
}

int fe_dftl_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct dftl *f = (const struct dftl *)ftl;
    uint64_t n_mapped = 0, n_valid = 0;
    int r = check_mappings(f, &n_mapped, err);
    if (r == 0)
        r = fe_map_cache_check(&f->cache, f->table, err);
    if (r == 0)
        r = check_table(f, err);
    if (r == 0)
        r = check_blocks(f, &n_valid, err);
    if (r == 0 && n_mapped != n_valid)
        r = fe_err_set(err, EIO, "%llu pages mapped, %llu valid", (unsigned long long)n_mapped,
                       (unsigned long long)n_valid);
    if (r == 0)
        r = fe_block_pool_check(&f->pool, err);
    for (int kind = 0; kind < DFTL_N_KINDS && r == 0; kind++)
        r = fe_victims_check(&f->full[kind], err);
    return r;
}
