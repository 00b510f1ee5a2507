/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The invariants of the map of units.
 */
#include "ftl/units/unit_map.h"

#include <errno.h>
#include <stdlib.h>

/* Marks a unit as seen; it must not have been seen before. */
static int claim(const struct fe_unit_map *map, uint8_t *seen, uint32_t unit, const char *as,
                 struct fe_err *err)
{
    if (unit >= map->units.n_units)
        return fe_err_set(err, EIO, "%s unit %u: there are only %u", as, unit, map->units.n_units);
    if (seen[unit]++)
        return fe_err_set(err, EIO, "unit %u is %s and something else", unit, as);
    return 0;
}

/* The same for each of n units that is not FE_UNIT_NONE; adds their number to *n_used. */
static int claim_all(const struct fe_unit_map *map, uint8_t *seen, const uint32_t *units,
                     uint32_t n, const char *as, uint32_t *n_used, struct fe_err *err)
{
    int r = 0;
    for (uint32_t i = 0; i < n && r == 0; i++) {
        if (units[i] == FE_UNIT_NONE)
            continue;
        r = claim(map, seen, units[i], as, err);
        ++*n_used;
    }
    return r;
}

/* Every unit has exactly one role. */
static int check_roles(const struct fe_unit_map *map, struct fe_err *err)
{
    const struct fe_units *u = &map->units;
    uint8_t *seen = calloc(u->n_units, 1);
    uint32_t n_used = 0;
    if (!seen)
        return fe_err_nomem(err, "check of units", u->n_units);
    int r = claim_all(map, seen, map->data, map->n_lebs, "data", &n_used, err);
    if (r == 0)
        r = claim_all(map, seen, map->logs, map->n_logs, "log", &n_used, err);
    for (uint32_t i = 0; i < u->n_free && r == 0; i++)
        r = claim(map, seen, u->queue[(u->head + i) % u->n_units], "free", err);
    if (r == 0 && n_used + u->n_free != u->n_units)
        r = fe_err_set(err, EIO, "%u units in use and %u free are not %u", n_used, u->n_free,
                       u->n_units);
    free(seen);
    return r;
}

/* This copy of a page is the newest one, or it was programmed before the newest one. */
static int check_age(const struct fe_unit_map *map, fe_ppn ppn, fe_lpn lpn, struct fe_err *err)
{
    const struct fe_medium *m = map->base.medium;
    fe_ppn newest = fe_unit_map_locate(map, lpn);
    if (newest == ppn ||
        (newest != FE_PPN_NONE && fe_medium_seq(m, newest) > fe_medium_seq(m, ppn)))
        return 0;
    return fe_err_set(err, EIO, "logical page %u is mapped to %u, but %u is newer", lpn, newest,
                      ppn);
}

static int check_data(const struct fe_unit_map *map, struct fe_err *err)
{
    for (fe_leb leb = 0; leb < map->n_lebs; leb++) {
        for (uint32_t page = 0; page < fe_unit_map_fill(map, leb); page++) {
            fe_ppn ppn = fe_unit_ppn(&map->units, map->data[leb], page);
            fe_lpn lpn = fe_unit_map_lpn(map, leb, page);
            fe_lpn holds = fe_medium_lpn(map->base.medium, ppn);
            if (holds == FE_LPN_NONE)
                continue;
            if (holds != lpn)
                return fe_err_set(err, EIO, "unit %u page %u holds logical page %u, not %u",
                                  map->data[leb], page, holds, lpn);
            int r = check_age(map, ppn, lpn, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* The pages of logs that are the newest copies are as many as the table names. */
static int check_logs(const struct fe_unit_map *map, struct fe_err *err)
{
    uint32_t n_lpns = map->n_lebs * map->units.unit_pages, n_mapped = 0, n_found = 0;
    for (fe_lpn lpn = 0; lpn < n_lpns; lpn++)
        n_mapped += fe_unit_map_newer(map, lpn) != FE_PPN_NONE;
    for (uint32_t i = 0; i < map->n_logs; i++) {
        uint32_t fill = map->logs[i] == FE_UNIT_NONE ? 0 : fe_unit_map_log_fill(map, i);
        for (uint32_t page = 0; page < fill; page++) {
            fe_ppn ppn = fe_unit_ppn(&map->units, map->logs[i], page);
            fe_lpn lpn = fe_medium_lpn(map->base.medium, ppn);
            if (lpn == FE_LPN_NONE)
                continue;
            if (lpn >= map->base.n_lpns)
                return fe_err_set(err, EIO, "log unit %u page %u holds logical page %u of %u",
                                  map->logs[i], page, lpn, map->base.n_lpns);
            n_found += fe_unit_map_newer(map, lpn) == ppn;
            int r = check_age(map, ppn, lpn, err);
            if (r < 0)
                return r;
        }
    }
    if (n_mapped != n_found)
        return fe_err_set(err, EIO, "%u pages are mapped to logs, which hold %u of them", n_mapped,
                          n_found);
    return 0;
}

int fe_unit_map_check(const struct fe_unit_map *map, struct fe_err *err)
{
    int r = check_roles(map, err);
    if (r == 0)
        r = check_data(map, err);
    if (r == 0)
        r = check_logs(map, err);
    return r == 0 ? fe_units_check(&map->units, err) : r;
}

int fe_unit_map_check_log(const struct fe_unit_map *map, uint32_t i, fe_leb leb, bool in_order,
                          bool *ret_stale, struct fe_err *err)
{
    bool stale = false;
    if (leb >= map->n_lebs || map->logs[i] == FE_UNIT_NONE)
        return fe_err_set(err, EIO, "log %u of logical unit %u: unit %u", i, leb, map->logs[i]);
    for (uint32_t page = 0; page < fe_unit_map_log_fill(map, i); page++) {
        fe_ppn ppn = fe_unit_ppn(&map->units, map->logs[i], page);
        fe_lpn lpn = fe_medium_lpn(map->base.medium, ppn);
        if (lpn == FE_LPN_NONE)
            continue;
        if (fe_unit_map_leb(map, lpn) != leb)
            return fe_err_set(err, EIO, "log %u of logical unit %u holds logical page %u", i, leb,
                              lpn);
        if (in_order && lpn != fe_unit_map_lpn(map, leb, page))
            return fe_err_set(err, EIO, "log %u is in order, but page %u is logical page %u", i,
                              page, lpn);
        stale = stale || fe_unit_map_newer(map, lpn) != ppn;
    }
    if (ret_stale)
        *ret_stale = stale;
    return 0;
}
