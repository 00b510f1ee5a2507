/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages of this log have the tag FE_TAG_SHARED_LOG, and no others have it.
 *
 * Not modelled: a second chance for pages that are written often or never again, which later
 * controllers give when they clean such a log.
 */
#include "ftl/shared_log.h"

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

static enum fe_status give_up_oldest(struct fe_shared_log *l, fe_merge_leb merge)
{
    struct fe_unit_map *map = l->map;
    uint32_t *log = &map->logs[nth(l, 0)], unit = *log;
    map->base.counters.gc_runs++;
    for (uint32_t page = 0; page < map->units.unit_pages; page++) {
        fe_ppn ppn = fe_unit_ppn(&map->units, unit, page);
        fe_lpn lpn = fe_medium_lpn(map->base.medium, ppn);
        if (fe_unit_map_newer(map, lpn) != ppn)
            continue;
        enum fe_status st = merge(map, fe_unit_map_leb(map, lpn));
        if (st != FE_OK)
            return st;
    }
    *log = FE_UNIT_NONE;
    l->head = (l->head + 1) % l->n_max;
    l->n--;
    return fe_unit_release(&map->units, unit);
}

enum fe_status fe_shared_log_make_room(struct fe_shared_log *l, fe_merge_leb merge)
{
    return l->n < l->n_max || newest_has_room(l) ? FE_OK : give_up_oldest(l, merge);
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
