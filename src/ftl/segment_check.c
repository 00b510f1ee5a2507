/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every unit is free, data or open, once; every page lies where the maps say.
 */
#include "ftl/segment_core.h"

#include <errno.h>

static int check_open(const struct segment *s, const struct open_unit *o, struct fe_err *err)
{
    for (uint32_t page = 0; o->kind != OPEN_APPEND && page < s->units.unit_pages; page++) {
        uint32_t at = o->map[page];
        if (at == FE_PPN_NONE)
            continue;
        if (at >= s->units.fill[o->unit])
            return fe_err_set(err, EIO, "open unit %u: page %u lies at %u of %u", o->unit, page,
                              at, s->units.fill[o->unit]);
        fe_lpn lpn = fe_medium_lpn(s->base.medium, fe_unit_ppn(&s->units, o->unit, at));
        if (lpn != FE_LPN_NONE && lpn != lpn_at(s, o->leb, page))
            return fe_err_set(err, EIO, "open unit %u: page %u holds logical page %u", o->unit,
                              page, lpn);
    }
    return 0;
}

/* Every unit is free, data or open, once; every page lies where the map says. */
int fe_seg_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct segment *s = (const struct segment *)ftl;
    uint32_t in_use = 0;
    for (fe_leb leb = 0; leb < s->n_lebs; leb++) {
        uint32_t fill = data_fill(s, leb);
        in_use += s->data[leb] != FE_UNIT_NONE;
        for (uint32_t page = 0; page < fill; page++) {
            fe_ppn ppn = fe_unit_ppn(&s->units, s->data[leb], page);
            fe_lpn lpn = fe_medium_lpn(ftl->medium, ppn);
            if (lpn != FE_LPN_NONE && lpn != lpn_at(s, leb, page))
                return fe_err_set(err, EIO, "unit %u page %u holds logical page %u, not %u",
                                  s->data[leb], page, lpn, lpn_at(s, leb, page));
        }
    }
    for (uint32_t i = 0; i < s->n_open_max; i++) {
        const struct open_unit *o = &s->open[i];
        if (o->kind == OPEN_NOT)
            continue;
        in_use += o->kind != OPEN_APPEND;
        int r = check_open(s, o, err);
        if (r < 0)
            return r;
    }
    in_use += s->small.n;
    for (fe_lpn lpn = 0; s->small.n_max && lpn < ftl->n_lpns; lpn++) {
        fe_ppn ppn = fe_small_log_find(&s->small, lpn);
        if (ppn != FE_PPN_NONE && fe_medium_lpn(ftl->medium, ppn) != lpn)
            return fe_err_set(err, EIO, "small-write log: page %u lies at %u, which holds %u", lpn,
                              ppn, fe_medium_lpn(ftl->medium, ppn));
    }
    if (in_use + s->units.n_free != s->units.n_units)
        return fe_err_set(err, EIO, "%u units in use and %u free are not %u", in_use,
                          s->units.n_free, s->units.n_units);
    return fe_units_check(&s->units, err);
}
