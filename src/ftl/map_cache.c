/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ring goes through one entry more than the cache has, number n_max.  Its `older` is the
 * newest entry and its `newer` is the oldest, so that no end of the order is a special case.
 *
 *     [n_max] - [newest] - ... - [oldest] - [n_max]
 *
 * Values and lists are kept per logical page, not per entry.  Cleaning changes many values
 * and has nothing to do with the order of use; and values that are written back together lie
 * next to each other there.
 */
#include "ftl/map_cache.h"

#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fe_map_cache_init(struct fe_map_cache *c, uint32_t n_max, uint32_t n_lpns, uint32_t per_page,
                      struct fe_err *err)
{
    assert(n_max > 0 && n_max < FE_MAP_NONE);
    *c = (struct fe_map_cache){.n_max = n_max, .n_lpns = n_lpns};
    c->by_page = fe_fastdiv_init(per_page);
    c->n_pages = (uint32_t)fe_div_up(n_lpns, per_page);
    c->entries = fe_table_alloc((size_t)n_max + 1, sizeof *c->entries);
    c->refs = fe_table_alloc(n_lpns, sizeof *c->refs);
    c->dirty = malloc(c->n_pages * sizeof *c->dirty);
    if (!c->entries || !c->refs || !c->dirty) {
        fe_map_cache_fini(c);
        return fe_err_nomem(err, "mapping cache", n_max * 12ull + n_lpns * 12ull);
    }
    for (fe_lpn lpn = 0; lpn < n_lpns; lpn++)
        c->refs[lpn] = (struct fe_map_ref){.entry = FE_MAP_NONE};
    for (uint32_t page = 0; page < c->n_pages; page++)
        c->dirty[page] = FE_LPN_NONE;
    c->entries[n_max].newer = c->entries[n_max].older = n_max;
    return 0;
}

void fe_map_cache_fini(struct fe_map_cache *c)
{
    free(c->entries);
    free(c->refs);
    free(c->dirty);
    memset(c, 0, sizeof *c);
}

static void take_out(struct fe_map_cache *c, uint32_t entry)
{
    const struct fe_map_entry *e = &c->entries[entry];
    c->entries[e->newer].older = e->older;
    c->entries[e->older].newer = e->newer;
}

static void put_first(struct fe_map_cache *c, uint32_t entry)
{
    struct fe_map_entry *ends = &c->entries[c->n_max];
    c->entries[entry].newer = c->n_max;
    c->entries[entry].older = ends->older;
    c->entries[ends->older].newer = entry;
    ends->older = entry;
}

void fe_map_touch(struct fe_map_cache *c, fe_lpn lpn)
{
    if (c->n_max == c->n_lpns)
        return; /* nothing ever has to leave, so the order does not matter */
    take_out(c, c->refs[lpn].entry);
    put_first(c, c->refs[lpn].entry);
}

void fe_map_add(struct fe_map_cache *c, fe_lpn lpn, fe_ppn ppn)
{
    uint32_t entry = c->n;
    assert(!fe_map_has(c, lpn));
    if (c->n < c->n_max) {
        c->n++;
    } else {
        entry = c->entries[c->n_max].newer;
        assert(!fe_map_is_dirty(c, c->entries[entry].lpn));
        c->refs[c->entries[entry].lpn].entry = FE_MAP_NONE;
        take_out(c, entry);
    }
    c->entries[entry].lpn = lpn;
    c->refs[lpn] = (struct fe_map_ref){.entry = entry, .ppn = ppn};
    put_first(c, entry);
}

void fe_map_set(struct fe_map_cache *c, fe_lpn lpn, fe_ppn ppn)
{
    struct fe_map_ref *ref = &c->refs[lpn];
    ref->ppn = ppn;
    if (ref->is_dirty)
        return;
    uint32_t page = fe_map_page(c, lpn);
    ref->is_dirty = 1;
    ref->next_dirty = c->dirty[page];
    c->dirty[page] = lpn;
}

void fe_map_write_back(struct fe_map_cache *c, uint32_t page, fe_ppn *table)
{
    for (fe_lpn lpn = c->dirty[page]; lpn != FE_LPN_NONE; lpn = c->refs[lpn].next_dirty) {
        table[lpn] = c->refs[lpn].ppn;
        c->refs[lpn].is_dirty = 0;
    }
    c->dirty[page] = FE_LPN_NONE;
}

static int check_ring(const struct fe_map_cache *c, struct fe_err *err)
{
    uint32_t n = 0, found = 0, before = c->n_max;
    for (uint32_t entry; (entry = c->entries[before].older) != c->n_max; before = entry) {
        const struct fe_map_entry *e = &c->entries[entry];
        if (n++ == c->n || entry >= c->n || e->newer != before || e->lpn >= c->n_lpns ||
            c->refs[e->lpn].entry != entry)
            return fe_err_set(err, EIO, "mapping cache: entry %u stands in the wrong place", entry);
    }
    for (fe_lpn lpn = 0; lpn < c->n_lpns; lpn++)
        found += fe_map_has(c, lpn);
    if (n != c->n || found != n || n > c->n_max || c->entries[c->n_max].newer != before)
        return fe_err_set(err, EIO, "mapping cache: %u entries in order of use, %u found, %u in "
                          "all", n, found, c->n);
    return 0;
}

static int check_lists(const struct fe_map_cache *c, uint32_t n_dirty, struct fe_err *err)
{
    uint32_t n = 0;
    for (uint32_t page = 0; page < c->n_pages; page++)
        for (fe_lpn lpn = c->dirty[page]; lpn != FE_LPN_NONE; lpn = c->refs[lpn].next_dirty)
            if (lpn >= c->n_lpns || n++ == n_dirty || fe_map_page(c, lpn) != page ||
                !fe_map_has(c, lpn) || !fe_map_is_dirty(c, lpn))
                return fe_err_set(err, EIO, "mapping cache: dirty entries of translation page %u "
                                  "are linked wrongly", page);
    if (n != n_dirty)
        return fe_err_set(err, EIO, "mapping cache: %u dirty entries, %u in lists", n_dirty, n);
    return 0;
}

int fe_map_cache_check(const struct fe_map_cache *c, const fe_ppn *table, struct fe_err *err)
{
    uint32_t n_dirty = 0;
    int r = check_ring(c, err);
    for (uint32_t entry = 0; entry < c->n && r == 0; entry++) {
        fe_lpn lpn = c->entries[entry].lpn;
        n_dirty += fe_map_is_dirty(c, lpn);
        if (!fe_map_is_dirty(c, lpn) && table[lpn] != fe_map_get(c, lpn))
            r = fe_err_set(err, EIO, "mapping cache: logical page %u is clean at %u, its "
                           "translation page says %u", lpn, fe_map_get(c, lpn), table[lpn]);
    }
    return r == 0 ? check_lists(c, n_dirty, err) : r;
}
