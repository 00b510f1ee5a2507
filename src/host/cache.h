/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device's write cache: pages that the host has written and that the flash does not have yet.
 *
 * A cache entry collects whole sectors of one page.  If no entry is free, the oldest entry is
 * written out first, and the host waits for that.  Whether the cache is volatile or safe from power
 * cuts matters to flush, FUA and power cuts, but not to this structure.
 */
#pragma once

#include "flashemu/host_params.h"
#include "ftl/ftl.h"

struct fe_cache;

/* Creates an empty cache.  If it is off, or p->size is below one page, there is none: *ret becomes
 * NULL, and the function returns 0.  -EINVAL if a page has more than 64 sectors, -ENOMEM; with
 * message. */
int fe_cache_create(struct fe_cache **ret, const struct fe_cache_params *p, struct fe_ftl *ftl,
                    uint32_t sector_size, bool payload, struct fe_err *err);
void fe_cache_destroy(struct fe_cache *c);

/* The same as the FTL's functions of these names, but through the cache.  A range consists of
 * whole sectors of one page. */
enum fe_status fe_cache_read(struct fe_cache *c, fe_lpn lpn, uint32_t off, uint32_t len, void *buf);
enum fe_status fe_cache_write(struct fe_cache *c, fe_lpn lpn, uint32_t off, uint32_t len,
                              const void *data);

/* Puts what the cache holds of the range into buf, and leaves the rest of buf alone. */
void fe_cache_look(const struct fe_cache *c, fe_lpn lpn, uint32_t off, uint32_t len, void *buf);

/* Whether the cache holds any sector of the page. */
bool fe_cache_holds(const struct fe_cache *c, fe_lpn lpn);

/* Drops everything that the cache holds of pages [first, first + n). */
void fe_cache_trim(struct fe_cache *c, fe_lpn first, uint32_t n);

/* Power has failed, and the cache is volatile: it is empty. */
void fe_cache_lose(struct fe_cache *c);

/* Writes the oldest page out.  Returns false if the cache is empty, or if writing failed; in that
 * case the page stays in the cache. */
bool fe_cache_write_out(struct fe_cache *c, enum fe_status *ret_status);

/* Writes page lpn out if the cache holds any of its sectors. */
enum fe_status fe_cache_write_out_page(struct fe_cache *c, fe_lpn lpn);

/* From now on the cache writes to another strategy, which has the same pages. */
void fe_cache_use(struct fe_cache *c, struct fe_ftl *ftl);

/* The number of pages for which a cache with these parameters has room. */
uint32_t fe_cache_pages(const struct fe_cache_params *p, uint32_t page_bytes);

/* Fills the empty cache with what an image holds of it.  -EIO, with a message, if the image's
 * records contradict each other.  (The cache itself keeps the image up to date from its creation
 * on.) */
int fe_cache_load(struct fe_cache *c, struct fe_err *err);
