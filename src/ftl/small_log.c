/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cards exist whose 8 KiB random writes are faster than their 64 KiB ones: small writes
 * go to a log that maps pages, larger ones rewrite parts of units.  And around the FAT
 * of the factory's format many cards treat everything that way.
 *
 *     ring   | oldest, full | full | filling > |     each entry: any page of any unit
 */
#include "ftl/small_log.h"

#include "ftl/ftl.h"

#include <stdlib.h>
#include <string.h>

int fe_small_log_init(struct fe_small_log *l, struct fe_units *units, uint32_t n_max,
                      uint32_t n_lpns, struct fe_err *err)
{
    *l = (struct fe_small_log){.units = units, .n_max = n_max};
    if (n_max == 0)
        return 0;
    l->ring = calloc(n_max, sizeof *l->ring);
    l->map = malloc(n_lpns * sizeof *l->map);
    if (!l->ring || !l->map) {
        fe_small_log_fini(l);
        return fe_err_nomem(err, "map of the small-write log", n_lpns * 4ull + n_max * 4ull);
    }
    memset(l->map, 0xff, n_lpns * sizeof *l->map);
    return 0;
}

void fe_small_log_fini(struct fe_small_log *l)
{
    free(l->ring);
    free(l->map);
    l->ring = NULL;
    l->map = NULL;
}

static uint32_t newest(const struct fe_small_log *l)
{
    return l->ring[(l->head + l->n - 1) % l->n_max];
}

bool fe_small_log_has_room(const struct fe_small_log *l)
{
    return l->n < l->n_max || l->units->fill[newest(l)] < l->units->unit_pages;
}

enum fe_status fe_small_log_append(struct fe_small_log *l, fe_lpn lpn, fe_ppn base, uint32_t off,
                                   uint32_t len, const void *data)
{
    assert(fe_small_log_has_room(l));
    if (l->n == 0 || l->units->fill[newest(l)] == l->units->unit_pages) {
        uint32_t unit = fe_unit_alloc(l->units);
        if (unit == FE_UNIT_NONE)
            return FE_NO_SPACE;
        l->ring[(l->head + l->n++) % l->n_max] = unit;
    }
    uint32_t unit = newest(l);
    fe_ppn ppn = fe_unit_ppn(l->units, unit, l->units->fill[unit]);
    enum fe_status st =
        fe_unit_append(l->units, unit, lpn, FE_TAG_SHARED_LOG, base, off, len, data);
    if (st == FE_OK)
        l->map[lpn] = ppn;
    return st;
}

uint32_t fe_small_log_oldest(const struct fe_small_log *l)
{
    return l->n ? l->ring[l->head] : FE_UNIT_NONE;
}

enum fe_status fe_small_log_drop_oldest(struct fe_small_log *l)
{
    uint32_t unit = l->ring[l->head];
    l->head = (l->head + 1) % l->n_max;
    l->n--;
    return fe_unit_release(l->units, unit);
}
