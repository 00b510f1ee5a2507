/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What must be true of open units besides the invariants of the map of units.
 */
#include "ftl/units/segment_core.h"

#include <errno.h>

int fe_seg_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct segment *s = (const struct segment *)ftl;
    for (uint32_t i = 0; i < s->n_open_max; i++) {
        const struct open_unit *o = &s->open[i];
        bool has_log = o->kind == OPEN_LINEAR || o->kind == OPEN_RANDOM;
        if (has_log != (s->map.logs[i] != FE_UNIT_NONE))
            return fe_err_set(err, EIO, "open unit %u of kind %d has log unit %u", i,
                              (int)o->kind, s->map.logs[i]);
        if (o->kind != OPEN_NOT && o->unit != (has_log ? s->map.logs[i] : s->map.data[o->leb]))
            return fe_err_set(err, EIO, "open unit %u is not unit %u", i, o->unit);
        if (o->kind != OPEN_NOT && fe_seg_find_open(s, o->leb) != o)
            return fe_err_set(err, EIO, "logical unit %u has two open units", o->leb);
        int r = has_log ? fe_unit_map_check_log(&s->map, i, o->leb, o->in_order, NULL, err) : 0;
        if (r < 0)
            return r;
    }
    int r = fe_shared_log_check(&s->small, err);
    return r == 0 ? fe_unit_map_check(&s->map, err) : r;
}
