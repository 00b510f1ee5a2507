/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every invariant of `dftl`, from the outside in:
 *
 *   mappings   the table names a valid page whose OOB says so; the directory likewise; no other
 *              page is valid
 *   table      the bytes on the chip say the same, except for dirty entries of the cache
 *   blocks     a block holds one kind of page; the rest is checked by the common core
 *              (ftl/blocks/check.c)
 */
#include "ftl/pages/dftl_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int check_mappings(const struct dftl *f, uint64_t *n_mapped, struct fe_err *err)
{
    int r = 0;
    for (fe_lpn lpn = 0; lpn < f->base.n_lpns && r == 0; lpn++) {
        r = fe_blocks_check_entry(&f->blocks, "logical", lpn, f->table[lpn], lpn, n_mapped, err);
    }
    for (uint32_t tp = 0; tp < f->n_tps && r == 0; tp++)
        r = fe_blocks_check_entry(&f->blocks, "translation", tp, f->directory[tp], dftl_tag(f, tp),
                                  n_mapped, err);
    return r;
}

/* Whether a translation page says what the table says, dirty entries aside. */
static bool agrees(const struct dftl *f, uint32_t tp, const fe_ppn *on_flash)
{
    fe_lpn first = tp * f->per_page;
    for (uint32_t i = 0; i < f->per_page; i++)
        if (on_flash[i] != f->table[first + i] &&
            (first + i >= f->base.n_lpns || !fe_map_is_dirty(&f->cache, first + i)))
            return false;
    return true;
}

/* A translation page that does not exist maps nothing.  The bytes of one that does exist, if it has
 * any, are what the table says. */
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
        else if (dftl_keeps_bytes(f))
            fe_store_read(m->store, f->directory[tp], 0, (uint32_t)len, buf);
        else
            continue;
        if (!agrees(f, tp, buf))
            r = fe_err_set(err, EIO, "translation page %u does not hold what the table says", tp);
        if (f->is_outdated[tp])
            r = fe_err_set(err, EIO, "translation page %u is outdated", tp);
    }
    free(buf);
    return r;
}

int fe_dftl_check_kinds(const struct dftl *f, struct fe_err *err)
{
    const struct fe_medium *m = f->base.medium;
    for (fe_peb peb = 0; peb < f->blocks.geo.n_pebs; peb++) {
        fe_ppn first = peb * f->blocks.geo.pages_per_block;
        bool map = dftl_kind_of(&f->base, peb) == DFTL_MAP;
        for (fe_ppn ppn = first; ppn < first + fe_medium_next_page(m, peb); ppn++)
            if (fe_recover_readable(m, ppn) && (fe_medium_lpn(m, ppn) >= f->base.n_lpns) != map)
                return fe_err_set(err, EIO, "block %u holds data and table", peb);
    }
    return 0;
}

int fe_dftl_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct dftl *f = (const struct dftl *)ftl;
    uint64_t n_mapped = 0;
    int r = check_mappings(f, &n_mapped, err);
    if (r == 0)
        r = fe_map_cache_check(&f->cache, err);
    if (r == 0)
        r = check_table(f, err);
    if (r == 0)
        r = fe_dftl_check_kinds(f, err);
    return r == 0 ? fe_blocks_check(&f->blocks, n_mapped, err) : r;
}
