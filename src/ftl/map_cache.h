/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mapping cache of `dftl`: a few entries of a table that lies on flash.
 *
 *   ring, newest first             [lpn 9] - [lpn 40] - [lpn 3] - [lpn 41]   leaves next
 *   dirty, by page of the table               1 -> 40 ------------> 41
 *
 * An entry is dirty when it is newer than the table.  The dirty entries that belong to the
 * same page of the table form a list, because they are written back together.  After that all
 * of them are clean, and the list is empty.  So a dirty entry never leaves alone.
 *
 * All functions are O(1), except for writing back, which is O(entries written).  The device
 * pays FE_MAP_ENTRY_BYTES for an entry.  The emulator takes 12 bytes an entry and 12 a logical
 * page, so that it finds entries quickly.
 *
 * No lock: the owner serialises.
 */
#ifndef FE_FTL_MAP_CACHE_H
#define FE_FTL_MAP_CACHE_H

#include "base/num.h"
#include "flashemu/err.h"
#include "flashemu/types.h"

#define FE_MAP_ENTRY_BYTES 8 /* a logical and a physical page number, as in the paper */

/* An entry's place in the order of use. */
struct fe_map_entry {
    fe_lpn lpn;
    uint32_t newer, older;
};

/* Per logical page: the number of its entry, and what the entry says. */
struct fe_map_ref {
    uint32_t entry : 31; /* FE_MAP_NONE: not cached, and the rest means nothing */
    uint32_t is_dirty : 1;
    fe_ppn ppn;
    fe_lpn next_dirty; /* in the list of its page of the table; FE_LPN_NONE: the last one */
};

#define FE_MAP_NONE 0x7fffffffu

struct fe_map_cache {
    struct fe_map_entry *entries; /* n_max, and one in which the ends of the ring meet */
    struct fe_map_ref *refs;      /* per logical page */
    fe_lpn *dirty;                /* per page of the table: the first page of its list */
    struct fe_fastdiv by_page;    /* entries of a page of the table */
    uint32_t n_max, n, n_lpns, n_pages;
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
    return c->refs[lpn].entry != FE_MAP_NONE;
}

/* What the entry of a page says, and whether the table does not say so yet.  The page must have
 * an entry. */
static inline fe_ppn fe_map_get(const struct fe_map_cache *c, fe_lpn lpn)
{
    return c->refs[lpn].ppn;
}

static inline bool fe_map_is_dirty(const struct fe_map_cache *c, fe_lpn lpn)
{
    return c->refs[lpn].is_dirty;
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
void fe_map_add(struct fe_map_cache *c, fe_lpn lpn, fe_ppn ppn);

/* An entry gets a new value and becomes dirty, which does not count as use.  The page must have
 * an entry. */
void fe_map_set(struct fe_map_cache *c, fe_lpn lpn, fe_ppn ppn);

/* Writes all dirty entries of a page of the table to `table`, which has an entry for each
 * logical page.  They are clean then. */
void fe_map_write_back(struct fe_map_cache *c, uint32_t page, fe_ppn *table);

/* The ring, the lists and refs agree with each other, and clean entries agree with the table; 0
 * or -EIO. */
int fe_map_cache_check(const struct fe_map_cache *c, const fe_ppn *table, struct fe_err *err);

#endif
