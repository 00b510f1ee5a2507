/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mapping cache of `dftl`: which entries of a table that lies on flash the controller knows.
 *
 *   ring, newest first             [lpn 9] - [lpn 40] - [lpn 3] - [lpn 41]   leaves next
 *   dirty, by page of the table    page 0 | . . . |   page 1 | 40 41 |
 *
 * An entry is dirty when it is newer than the table on flash.  The dirty entries that belong to the
 * same page of the table are written back together.  After that all of them are clean.  So a dirty
 * entry never leaves alone.  What the entries say is the owner's business: it has the newest values
 * of all entries in memory, whatever is cached.
 *
 * All functions are O(1), except for writing back, which is O(entries of a page / 64).  The device
 * pays FE_MAP_ENTRY_BYTES for an entry.  The emulator takes 12 bytes an entry, and 4 bytes and a bit
 * a logical page, so that it finds entries quickly.
 *
 * No lock: the owner serialises.
 */
#pragma once

#include "base/bits.h"
#include "base/num.h"
#include "flashemu/err.h"
#include "flashemu/types.h"

#define FE_MAP_ENTRY_BYTES 8 /* a logical and a physical page number, as in the paper */

/* An entry's place in the order of use. */
struct fe_map_entry {
    fe_lpn lpn;
    uint32_t newer, older;
};

#define FE_MAP_NONE UINT32_MAX /* no entry */

struct fe_map_cache {
    struct fe_map_entry *entries; /* n_max, and one in which the ends of the ring meet */
    uint32_t *entry_of;           /* per logical page: its entry, or FE_MAP_NONE */
    uint64_t *dirty;              /* page_words words of bits for each page of the table */
    struct fe_fastdiv by_page;    /* entries of a page of the table */
    uint32_t page_words, n_max, n, n_lpns, n_pages;
};

/* An empty cache for n_max entries, 0 < n_max < FE_MAP_NONE, of a table with per_page
 * entries in each of its pages.  -ENOMEM. */
int fe_map_cache_init(struct fe_map_cache *c, uint32_t n_max, uint32_t n_lpns, uint32_t per_page,
                      struct fe_err *err);
void fe_map_cache_fini(struct fe_map_cache *c);

/* Which page of the table a logical page belongs to. */
static inline uint32_t fe_map_page(const struct fe_map_cache *c, fe_lpn lpn)
{
    return fe_fastdiv(lpn, c->by_page);
}

/* Whether a logical page has an entry.  To ask does not count as use. */
static inline bool fe_map_has(const struct fe_map_cache *c, fe_lpn lpn)
{
    return c->entry_of[lpn] != FE_MAP_NONE;
}

/* The bit in `dirty` of a logical page. */
static inline uint64_t fe_map_dirty_bit(const struct fe_map_cache *c, fe_lpn lpn)
{
    uint32_t page = fe_map_page(c, lpn);
    return (uint64_t)page * c->page_words * 64 + (lpn - page * c->by_page.d);
}

/* Whether the table on flash does not say yet what the entry says; never without an entry. */
static inline bool fe_map_is_dirty(const struct fe_map_cache *c, fe_lpn lpn)
{
    return fe_bit(c->dirty, fe_map_dirty_bit(c, lpn));
}

/* The page whose entry has to leave for the next one; FE_LPN_NONE while there is room. */
static inline fe_lpn fe_map_leaves_next(const struct fe_map_cache *c)
{
    return c->n < c->n_max ? FE_LPN_NONE : c->entries[c->entries[c->n_max].newer].lpn;
}

/* An entry is used, and becomes the newest.  The page must have one. */
void fe_map_touch(struct fe_map_cache *c, fe_lpn lpn);

/* A page that has no entry gets a clean one, as the newest.  The entry that leaves for it must
 * be clean. */
void fe_map_add(struct fe_map_cache *c, fe_lpn lpn);

/* An entry has a new value and becomes dirty, which does not count as use.  The page must have an
 * entry. */
static inline void fe_map_mark(struct fe_map_cache *c, fe_lpn lpn)
{
    assert(fe_map_has(c, lpn));
    fe_bit_set(c->dirty, fe_map_dirty_bit(c, lpn));
}

/* The page of the table is being written: all its entries are clean then. */
void fe_map_write_back(struct fe_map_cache *c, uint32_t page);

/* The ring, entry_of and the dirty bits agree with each other; 0 or -EIO. */
int fe_map_cache_check(const struct fe_map_cache *c, struct fe_err *err);
