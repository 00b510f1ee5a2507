/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How often the host writes each page, for telling hot pages from cold ones.
 *
 * Each page has two numbers: when it was last written, on a clock that counts host writes,
 * and the mean interval between its writes, with weights 1/2, 1/4, 1/8 ... from the newest
 * on.  If all pages were alike, each would be written once in n_lpns writes.  So a page is
 * hot if its interval is shorter than that, and if its last write is not longer ago:
 *
 *     host writes   |----------- n_lpns -----------|
 *     hot page         x    x        x    x      x now
 *     cold page     x                              now
 *
 * New pages start cold, with twice the average, so that two quick writes in a row make a
 * page hot.  An interval counts as four averages at most: a page that was left alone for
 * weeks and is now rewritten all the time becomes hot after four or five writes, not after
 * twenty.
 *
 * The clock has 32 bits: a page that is left alone for exactly 2^32 host writes looks
 * young for a while.
 */
#pragma once

#include "base/num.h"
#include "flashemu/types.h"

#include <stdbool.h>
#include <stdlib.h>

struct fe_page_heat {
    struct {
        uint32_t last, interval;
    } *pages;
    uint32_t n_lpns, clock;
};

/* All pages are cold.  Returns false if there is no memory. */
static inline bool fe_page_heat_init(struct fe_page_heat *h, uint32_t n_lpns)
{
    *h = (struct fe_page_heat){.n_lpns = n_lpns, .pages = calloc(n_lpns, sizeof *h->pages)};
    for (fe_lpn lpn = 0; h->pages && lpn < n_lpns; lpn++)
        h->pages[lpn].interval = (uint32_t)fe_min_u64(2ull * n_lpns, UINT32_MAX);
    return h->pages != NULL;
}

static inline void fe_page_heat_fini(struct fe_page_heat *h)
{
    free(h->pages);
    h->pages = NULL;
}

/* The host writes this page; `first` says that it was not mapped before. */
static inline void fe_page_heat_touch(struct fe_page_heat *h, fe_lpn lpn, bool first)
{
    h->clock++;
    if (!first) {
        uint64_t gap = fe_min_u64(h->clock - h->pages[lpn].last, 4ull * h->n_lpns);
        h->pages[lpn].interval = (uint32_t)((h->pages[lpn].interval + gap) / 2);
    }
    h->pages[lpn].last = h->clock;
}

static inline bool fe_page_is_hot(const struct fe_page_heat *h, fe_lpn lpn)
{
    return h->pages[lpn].interval < h->n_lpns && h->clock - h->pages[lpn].last < h->n_lpns;
}
