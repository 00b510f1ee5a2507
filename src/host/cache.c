/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fixed set of entries, which form a ring, and a hash table to find the entry of a logical page.
 *
 *     entries   [ ][ ][a][b][-][c][ ][ ]      n_used = 4, oldest = 2; - is an entry that was
 *                      ^oldest                trimmed, or written out before its turn
 *
 * Each entry has one bit for each sector of its page, 64 at most.  Creating a cache for larger
 * pages fails.
 *
 * With an image, cache entry i is also stored there as number i: first the bytes, then the record.
 * The image learns that an entry was written out only after the flash has the page.  Entries get
 * growing numbers as they enter the cache, and these numbers tell the order of the ring when an
 * image is opened.
 *
 * Not modelled: caches that sort their pages before they write them out.
 */
#include "host/cache.h"

#include "store/image_extra.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct entry {
    fe_lpn lpn;       /* FE_LPN_NONE: free */
    uint32_t chain;   /* the next entry with the same hash */
    uint64_t sectors; /* a bit for each sector that the entry holds */
    uint64_t order;   /* numbers the pages as they enter the cache */
};

struct fe_cache {
    struct fe_ftl *ftl;
    uint32_t sector_size, page_bytes;
    uint32_t n_entries, oldest, n_used;
    uint64_t order;        /* of the newest entry */
    struct fe_store *image; /* NULL: none */
    struct entry *entries; /* ring */
    uint32_t *buckets;     /* n_buckets heads */
    uint32_t n_buckets;    /* power of two */
    uint8_t *data;         /* n_entries pages, or NULL without payload */
};

uint32_t fe_cache_pages(const struct fe_cache_params *p, uint32_t page_bytes)
{
    return p->mode == FE_CACHE_OFF ? 0 : (uint32_t)fe_min_u64(p->size / page_bytes, 1u << 24);
}

int fe_cache_create(struct fe_cache **ret, const struct fe_cache_params *p, struct fe_ftl *ftl,
                    uint32_t sector_size, bool payload, struct fe_err *err)
{
    uint32_t page_bytes = ftl->medium->geo.page_bytes;
    *ret = NULL;
    if (fe_cache_pages(p, page_bytes) == 0)
        return 0;
    if (page_bytes / sector_size > 64)
        return fe_err_set(err, EINVAL,
                          "cache.size: a write cache needs pages of at most 64 sectors; a page "
                          "of %u bytes has %u",
                          page_bytes, page_bytes / sector_size);
    struct fe_cache *c = calloc(1, sizeof *c);
    if (!c)
        return fe_err_nomem(err, "write cache", sizeof *c);
    c->ftl = ftl;
    c->sector_size = sector_size;
    c->page_bytes = page_bytes;
    c->n_entries = fe_cache_pages(p, page_bytes);
    c->image = fe_medium_has_image(ftl->medium) ? ftl->medium->store : NULL;
    c->n_buckets = 2u << fe_log2(c->n_entries);
    c->entries = malloc(c->n_entries * sizeof *c->entries);
    c->buckets = malloc(c->n_buckets * sizeof *c->buckets);
    if (payload)
        c->data = calloc(c->n_entries, page_bytes);
    if (!c->entries || !c->buckets || (payload && !c->data)) {
        fe_cache_destroy(c);
        return fe_err_nomem(err, "write cache", p->size);
    }
    memset(c->entries, 0xff, c->n_entries * sizeof *c->entries);
    memset(c->buckets, 0xff, c->n_buckets * sizeof *c->buckets);
    *ret = c;
    return 0;
}

void fe_cache_destroy(struct fe_cache *c)
{
    if (!c)
        return;
    free(c->entries);
    free(c->buckets);
    free(c->data);
    free(c);
}

static uint32_t *bucket_of(const struct fe_cache *c, fe_lpn lpn)
{
    return &c->buckets[(lpn * UINT32_C(2654435761)) & (c->n_buckets - 1)];
}

static uint32_t find(const struct fe_cache *c, fe_lpn lpn)
{
    uint32_t i = *bucket_of(c, lpn);
    while (i != NONE && c->entries[i].lpn != lpn)
        i = c->entries[i].chain;
    return i;
}

bool fe_cache_holds(const struct fe_cache *c, fe_lpn lpn)
{
    return find((struct fe_cache *)c, lpn) != NONE; /* it changes nothing */
}

static void unhash(struct fe_cache *c, uint32_t i)
{
    uint32_t *link = bucket_of(c, c->entries[i].lpn);
    while (*link != i)
        link = &c->entries[*link].chain;
    *link = c->entries[i].chain;
    c->entries[i].lpn = FE_LPN_NONE;
}

static void hash(struct fe_cache *c, uint32_t i, fe_lpn lpn)
{
    uint32_t *bucket = bucket_of(c, lpn);
    c->entries[i].lpn = lpn;
    c->entries[i].chain = *bucket;
    *bucket = i;
}

static uint64_t sector_mask(const struct fe_cache *c, uint32_t off, uint32_t len)
{
    assert(off % c->sector_size == 0 && len % c->sector_size == 0);
    uint32_t first = off / c->sector_size, n = len / c->sector_size;
    return (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << first;
}

/* Writes each run of sectors that the entry holds to the FTL. */
static enum fe_status write_entry(struct fe_cache *c, uint32_t i)
{
    struct entry e = c->entries[i];
    enum fe_status st = FE_OK;
    uint32_t sector = 0;
    while (e.sectors >> sector && st == FE_OK) {
        sector += (uint32_t)__builtin_ctzll(e.sectors >> sector);
        uint64_t rest = ~(e.sectors >> sector);
        uint32_t n = rest ? (uint32_t)__builtin_ctzll(rest) : 64;
        uint32_t off = sector * c->sector_size;
        const uint8_t *data = c->data ? c->data + (size_t)i * c->page_bytes + off : NULL;
        st = fe_ftl_write(c->ftl, e.lpn, off, n * c->sector_size, data);
        sector += n;
        if (sector >= 64)
            break;
    }
    return st;
}

/* Frees the entry, whose page is in the flash now. */
static void forget_written(struct fe_cache *c, uint32_t i)
{
    unhash(c, i);
    if (c->image)
        fe_store_entry_end(c->image, i, false);
}

/* Removes free entries from the old end of the ring: they were trimmed, or written out before
 * their turn. */
static void skip_free(struct fe_cache *c)
{
    while (c->n_used > 0 && c->entries[c->oldest].lpn == FE_LPN_NONE) {
        c->oldest = (c->oldest + 1) % c->n_entries;
        c->n_used--;
    }
}

bool fe_cache_write_out(struct fe_cache *c, enum fe_status *ret_status)
{
    *ret_status = FE_OK;
    skip_free(c);
    if (c->n_used == 0)
        return false;
    uint32_t i = c->oldest;
    *ret_status = write_entry(c, i);
    if (*ret_status != FE_OK)
        return false;
    forget_written(c, i);
    c->oldest = (i + 1) % c->n_entries;
    c->n_used--;
    return true;
}

enum fe_status fe_cache_write_out_page(struct fe_cache *c, fe_lpn lpn)
{
    uint32_t i = find(c, lpn);
    if (i == NONE)
        return FE_OK;
    enum fe_status st = write_entry(c, i);
    if (st == FE_OK)
        forget_written(c, i);
    return st;
}

enum fe_status fe_cache_write(struct fe_cache *c, fe_lpn lpn, uint32_t off, uint32_t len,
                              const void *data)
{
    uint32_t i = find(c, lpn);
    if (i == NONE) {
        enum fe_status st = FE_OK;
        if (c->n_used == c->n_entries)
            skip_free(c);
        if (c->n_used == c->n_entries)
            fe_cache_write_out(c, &st);
        if (st != FE_OK)
            return st;
        i = (c->oldest + c->n_used++) % c->n_entries;
        c->entries[i].sectors = 0;
        c->entries[i].order = ++c->order;
        hash(c, i, lpn);
    }
    c->entries[i].sectors |= sector_mask(c, off, len);
    if (c->data) {
        uint8_t *dst = c->data + (size_t)i * c->page_bytes + off;
        if (data)
            memcpy(dst, data, len);
        else
            memset(dst, 0, len);
    }
    if (c->image) {
        const struct entry *e = &c->entries[i];
        struct fe_store_entry v = {.order = e->order, .sectors = e->sectors, .lpn = e->lpn};
        fe_store_entry_put(c->image, i, &v, off, len, c->data + (size_t)i * c->page_bytes);
    }
    return FE_OK;
}

/* If the cache does not hold all sectors, the whole range is read from the flash first.  Then the
 * sectors that the cache holds are copied over it. */
/* What entry i has of the range. */
static void overlay(const struct fe_cache *c, uint32_t i, uint32_t off, uint32_t len, void *buf)
{
    for (uint32_t at = 0; at < len; at += c->sector_size) {
        if (!(c->entries[i].sectors >> ((off + at) / c->sector_size) & 1))
            continue;
        uint8_t *dst = (uint8_t *)buf + at;
        if (c->data)
            memcpy(dst, c->data + (size_t)i * c->page_bytes + off + at, c->sector_size);
        else
            memset(dst, 0, c->sector_size);
    }
}

enum fe_status fe_cache_read(struct fe_cache *c, fe_lpn lpn, uint32_t off, uint32_t len, void *buf)
{
    uint32_t i = find(c, lpn);
    uint64_t want = sector_mask(c, off, len);
    if (i == NONE || (c->entries[i].sectors & want) != want) {
        enum fe_status st = c->ftl->ops->read(c->ftl, lpn, off, len, buf);
        if (i == NONE || st == FE_UNCORRECTABLE)
            return st;
    }
    if (buf)
        overlay(c, i, off, len, buf);
    return FE_OK;
}

void fe_cache_look(const struct fe_cache *c, fe_lpn lpn, uint32_t off, uint32_t len, void *buf)
{
    uint32_t i = find(c, lpn);
    if (i != NONE)
        overlay(c, i, off, len, buf);
}

void fe_cache_trim(struct fe_cache *c, fe_lpn first, uint32_t n)
{
    for (uint32_t k = 0; k < c->n_used; k++) {
        uint32_t i = (c->oldest + k) % c->n_entries;
        fe_lpn lpn = c->entries[i].lpn;
        if (lpn == FE_LPN_NONE || lpn < first || lpn - first >= n)
            continue;
        unhash(c, i);
        if (c->image)
            fe_store_entry_end(c->image, i, true);
    }
}

void fe_cache_lose(struct fe_cache *c)
{
    memset(c->entries, 0xff, c->n_entries * sizeof *c->entries);
    memset(c->buckets, 0xff, c->n_buckets * sizeof *c->buckets);
    for (uint32_t i = 0; c->image && i < c->n_entries; i++)
        fe_store_entry_lose(c->image, i);
    skip_free(c);
}

static int load_entry(struct fe_cache *c, uint32_t i, struct fe_err *err)
{
    struct fe_store_entry v;
    int r = fe_store_entry_load(c->image, i, &v, c->data + (size_t)i * c->page_bytes, err);
    if (r < 0 || v.lpn == FE_LPN_NONE)
        return r;
    if (v.lpn >= c->ftl->n_lpns || v.sectors == 0 ||
        (v.sectors & ~sector_mask(c, 0, c->page_bytes)) || find(c, v.lpn) != NONE)
        return fe_err_set(err, EIO, "the image's cache page %u says that it is logical page %u, "
                          "sectors %llx: that cannot be",
                          i, v.lpn, (unsigned long long)v.sectors);
    c->entries[i].sectors = v.sectors;
    c->entries[i].order = v.order;
    hash(c, i, v.lpn);
    c->order = fe_max_u64(c->order, v.order);
    return 0;
}

/* The ring begins with the entry of the lowest number and ends with that of the highest. */
int fe_cache_load(struct fe_cache *c, struct fe_err *err)
{
    uint32_t oldest = NONE, newest = NONE;
    assert(c->image && c->data && c->n_used == 0);
    for (uint32_t i = 0; i < c->n_entries; i++) {
        int r = load_entry(c, i, err);
        if (r < 0)
            return r;
        if (c->entries[i].lpn == FE_LPN_NONE)
            continue;
        if (oldest == NONE || c->entries[i].order < c->entries[oldest].order)
            oldest = i;
        if (newest == NONE || c->entries[i].order > c->entries[newest].order)
            newest = i;
    }
    if (oldest == NONE)
        return 0;
    c->oldest = oldest;
    c->n_used = (newest + c->n_entries - oldest) % c->n_entries + 1;
    for (uint32_t i = 0; i < c->n_entries; i++)
        if (c->entries[i].lpn != FE_LPN_NONE &&
            (i + c->n_entries - oldest) % c->n_entries >= c->n_used)
            return fe_err_set(err, EIO, "the image's cache page %u is not in its turn", i);
    return 0;
}

void fe_cache_use(struct fe_cache *c, struct fe_ftl *ftl)
{
    c->ftl = ftl;
}
