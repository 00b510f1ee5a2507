/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ring goes through one entry more than the cache has, number n_max.  Its `older` is the
 * newest entry and its `newer` is the oldest, so that no end of the order is a special case.
 *
 *     [n_max] - [newest] - ... - [oldest] - [n_max]
 */
#include "ftl/pages/map_cache.h"

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
    c->entry_of = fe_table_alloc(n_lpns, sizeof *c->entry_of);
    c->page_words = (uint32_t)fe_bits_words(per_page);
    c->dirty = calloc((size_t)c->n_pages * c->page_words, sizeof *c->dirty);
    if (!c->entries || !c->entry_of || !c->dirty) {
        fe_map_cache_fini(c);
        return fe_err_nomem(err, "mapping cache", n_max * 12ull + n_lpns * 4ull);
    }
    memset(c->entry_of, 0xff, n_lpns * sizeof *c->entry_of); /* FE_MAP_NONE */
    c->entries[n_max].newer = c->entries[n_max].older = n_max;
    return 0;
}

void fe_map_cache_fini(struct fe_map_cache *c)
{
    free(c->entries);
    free(c->entry_of);
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
    take_out(c, c->entry_of[lpn]);
    put_first(c, c->entry_of[lpn]);
}

void fe_map_add(struct fe_map_cache *c, fe_lpn lpn)
{
    uint32_t entry = c->n;
    assert(!fe_map_has(c, lpn));
    if (c->n < c->n_max) {
        c->n++;
    } else {
        entry = c->entries[c->n_max].newer;
        assert(!fe_map_is_dirty(c, c->entries[entry].lpn));
        c->entry_of[c->entries[entry].lpn] = FE_MAP_NONE;
        take_out(c, entry);
    }
    c->entries[entry].lpn = lpn;
    c->entry_of[lpn] = entry;
    put_first(c, entry);
}

void fe_map_write_back(struct fe_map_cache *c, uint32_t page)
{
    memset(c->dirty + (size_t)page * c->page_words, 0, c->page_words * sizeof *c->dirty);
}

static int check_ring(const struct fe_map_cache *c, struct fe_err *err)
{
    uint32_t n = 0, found = 0, before = c->n_max;
    for (uint32_t entry; (entry = c->entries[before].older) != c->n_max; before = entry) {
        const struct fe_map_entry *e = &c->entries[entry];
        if (n++ == c->n || entry >= c->n || e->newer != before || e->lpn >= c->n_lpns ||
            c->entry_of[e->lpn] != entry)
            return fe_err_set(err, EIO, "mapping cache: entry %u stands in the wrong place", entry);
    }
    for (fe_lpn lpn = 0; lpn < c->n_lpns; lpn++)
        found += fe_map_has(c, lpn);
    if (n != c->n || found != n || n > c->n_max || c->entries[c->n_max].newer != before)
        return fe_err_set(err, EIO, "mapping cache: %u entries in order of use, %u found, %u in "
                          "all", n, found, c->n);
    return 0;
}

int fe_map_cache_check(const struct fe_map_cache *c, struct fe_err *err)
{
    int r = check_ring(c, err);
    for (fe_lpn lpn = 0; lpn < c->n_lpns && r == 0; lpn++)
        if (fe_map_is_dirty(c, lpn) && !fe_map_has(c, lpn))
            r = fe_err_set(err, EIO, "mapping cache: logical page %u is dirty and not cached", lpn);
    return r;
}
