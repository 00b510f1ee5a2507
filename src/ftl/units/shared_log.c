/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages of this log have the tag FE_TAG_SHARED_LOG, and no others have it.
 *
 * Not modelled: a second chance for pages that are written often or never again, which later
 * controllers give when they clean such a log.
 */
#include "ftl/units/shared_log.h"

#include <errno.h>

/* The map's number of the log that is k-th by age. */
static uint32_t nth(const struct fe_shared_log *l, uint32_t k)
{
    return l->first + (l->head + k) % l->n_max;
}

static bool newest_has_room(const struct fe_shared_log *l)
{
    return l->n > 0 && !fe_unit_is_full(&l->map->units, l->map->logs[nth(l, l->n - 1)]);
}

/* Makes the pages of the oldest unit before page `end` stale.  After its last one it is erased. */
static enum fe_status give_up(struct fe_shared_log *l, uint32_t end, fe_merge_leb merge)
{
    struct fe_unit_map *map = l->map;
    uint32_t *log = &map->logs[nth(l, 0)], unit = *log;
    for (; l->given_up < end; l->given_up++) {
        fe_ppn ppn = fe_unit_ppn(&map->units, unit, l->given_up);
        fe_lpn lpn = fe_medium_lpn(map->base.medium, ppn);
        if (fe_unit_map_newer(map, lpn) != ppn)
            continue;
        enum fe_status st = merge(map, fe_unit_map_leb(map, lpn));
        if (st != FE_OK)
            return st;
    }
    if (end < map->units.unit_pages)
        return FE_OK;
    map->base.counters.gc_runs++;
    *log = FE_UNIT_NONE;
    l->head = (l->head + 1) % l->n_max;
    l->n--;
    l->given_up = 0;
    return fe_unit_release(&map->units, unit);
}

/* How many pages the oldest unit has to have given up before the next page is appended. */
static uint32_t due(const struct fe_shared_log *l)
{
    uint32_t pages = l->map->units.unit_pages;
    uint32_t n = l->n + 1, fill = 0; /* the page needs a log of its own, */
    if (newest_has_room(l)) {        /* or goes behind `fill` others */
        n = l->n;
        fill = l->map->units.fill[l->map->logs[nth(l, n - 1)]];
    }
    if (n > l->n_max)
        return pages;
    if (n < l->n_max || l->pace == 0)
        return 0;
    uint64_t later = (uint64_t)(pages - 1 - fill) * l->pace;
    return later < pages ? pages - (uint32_t)later : 0;
}

enum fe_status fe_shared_log_make_room(struct fe_shared_log *l, fe_merge_leb merge)
{
    uint32_t pages = due(l);
    return pages ? give_up(l, pages, merge) : FE_OK;
}

enum fe_status fe_shared_log_append(struct fe_shared_log *l, fe_lpn lpn, uint32_t off,
                                    uint32_t len, const void *data)
{
    if (!newest_has_room(l)) {
        assert(l->n < l->n_max);
        if (fe_unit_map_open_log(l->map, nth(l, l->n)) == FE_UNIT_NONE)
            return FE_NO_SPACE;
        l->n++;
    }
    return fe_unit_map_append(l->map, l->map->logs[nth(l, l->n - 1)], FE_TAG_SHARED_LOG, lpn, off,
                              len, data);
}

bool fe_shared_log_holds(const struct fe_shared_log *l, fe_lpn lpn)
{
    fe_ppn ppn = fe_unit_map_newer(l->map, lpn);
    return ppn != FE_PPN_NONE && fe_medium_tag(l->map->base.medium, ppn) == FE_TAG_SHARED_LOG;
}

int fe_shared_log_check(const struct fe_shared_log *l, struct fe_err *err)
{
    for (uint32_t k = 0; k < l->n_max; k++) {
        uint32_t unit = l->map->logs[nth(l, k)];
        if ((unit != FE_UNIT_NONE) != (k < l->n))
            return fe_err_set(err, EIO, "shared log %u of %u has unit %u", k, l->n, unit);
        if (k + 1 < l->n && !fe_unit_is_full(&l->map->units, unit))
            return fe_err_set(err, EIO, "shared log %u of %u holds only %u pages", k, l->n,
                              l->map->units.fill[unit]);
    }
    return 0;
}
