/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the pages of a leb come together again.
 *
 *     data unit     | 0 1 2 3 4 5 6 7 |  \
 *     open unit     | 2'1'            |   >  | 0 1'2'3 4'5 6 7 |   full merge
 *     small log     | .. 4' ..        |  /
 *
 * A full merge takes the newest copy of each page, wherever it is.  If the open unit is in order,
 * it becomes the data unit itself, and only what it lacks is copied (unit_map.h).
 *
 * A group is gathered by a full merge of each of its units, even of those that would need none,
 * because the device wants them side by side.
 */
#include "ftl/units/segment_core.h"

struct open_unit *fe_seg_find_open(const struct segment *s, fe_leb leb)
{
    for (uint32_t i = 0; i < s->n_open_max; i++)
        if (s->open[i].kind != OPEN_NOT && s->open[i].leb == leb)
            return &s->open[i];
    return NULL;
}

/* Ends an open unit.  in_order: its log may become the data unit. */
static enum fe_status end_open(struct segment *s, struct open_unit *o, bool in_order)
{
    enum fe_status st = FE_OK;
    if (o->kind != OPEN_APPEND)
        st = fe_unit_map_close_log(&s->map, (uint32_t)(o - s->open), o->leb, in_order);
    if (st == FE_OK)
        o->kind = OPEN_NOT;
    return st;
}

enum fe_status fe_seg_close(struct segment *s, struct open_unit *o)
{
    return end_open(s, o, o->in_order);
}

enum fe_status fe_seg_merge(struct fe_unit_map *map, fe_leb leb)
{
    struct segment *s = seg_of(&map->base);
    struct open_unit *o = fe_seg_find_open(s, leb);
    if (o && o->kind != OPEN_APPEND)
        return end_open(s, o, false);
    if (o)
        o->kind = OPEN_NOT;
    return fe_unit_map_merge_full(map, leb);
}

enum fe_status fe_seg_make_scatter_room(struct segment *s, fe_leb leb)
{
    fe_leb first;
    while (!fe_scatter_has_room(&s->scatter, leb, &first)) {
        s->map.base.counters.gc_runs++;
        for (fe_leb l = first; l < s->map.n_lebs && l - first < s->scatter.group_units; l++) {
            enum fe_status st = fe_unit_map_top(&s->map, l) ? fe_seg_merge(&s->map, l) : FE_OK;
            if (st != FE_OK)
                return st;
        }
        fe_scatter_gathered(&s->scatter, first);
    }
    fe_scatter_add(&s->scatter, leb);
    return FE_OK;
}

enum fe_status fe_seg_close_neighbours(struct segment *s, fe_leb leb)
{
    enum fe_status st = FE_OK;
    for (uint32_t i = 0; i < s->n_open_max && st == FE_OK; i++)
        if (s->open[i].kind != OPEN_NOT &&
            s->open[i].leb / s->scatter.group_units == leb / s->scatter.group_units)
            st = fe_seg_close(s, &s->open[i]);
    return st;
}
