/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device's write cache: pages that the host has written and the flash has not.
 *
 * Whole sectors of a page gather in an entry; when there is no free entry the oldest
 * one is written out first, and the host waits for that.  Volatile or power-safe is a
 * matter of flush and FUA, and of power cuts, not of this structure.
 */
#ifndef FE_HOST_CACHE_H
#define FE_HOST_CACHE_H

#include "flashemu/host_params.h"
#include "ftl/ftl.h"

struct fe_cache;

/* *ret = NULL and success when size is below one page: no cache.  -ENOMEM. */
int fe_cache_create(struct fe_cache **ret, const struct fe_cache_params *p, struct fe_ftl *ftl,
                    uint32_t sector_size, bool payload, struct fe_err *err);
void fe_cache_destroy(struct fe_cache *c);

/* As the FTL's functions of the same names, through the cache.  Ranges are whole
 * sectors of one page. */
enum fe_status fe_cache_read(struct fe_cache *c, fe_lpn lpn, uint32_t off, uint32_t len, void *buf);
enum fe_status fe_cache_write(struct fe_cache *c, fe_lpn lpn, uint32_t off, uint32_t len,
                              const void *data);

/* Drops what the cache holds of pages [first, first + n). */
void fe_cache_trim(struct fe_cache *c, fe_lpn first, uint32_t n);

/* Writes the oldest page out; false if the cache is empty, or if that failed: the page
 * stays in the cache then. */
bool fe_cache_write_out(struct fe_cache *c, enum fe_status *ret_status);

/* Writes this page out if the cache holds any of it. */
enum fe_status fe_cache_write_out_page(struct fe_cache *c, fe_lpn lpn);

/* The strategy is another one from now on, of the same pages. */
void fe_cache_use(struct fe_cache *c, struct fe_ftl *ftl);

/* Pages that a cache of these parameters has room for. */
uint32_t fe_cache_pages(const struct fe_cache_params *p, uint32_t page_bytes);

/* Takes what an image holds of the cache; c is empty.  -EIO with a message if that cannot be.
 * From creation on the cache puts there what enters and leaves it. */
int fe_cache_load(struct fe_cache *c, struct fe_err *err);

#endif
