/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life that a device has had before, unit by unit.
 *
 * A new device that is written in order has nothing to merge.  Each unit is opened, appended to
 * until it is full, and left when another one needs its place:
 *
 *     written   | 0 1 2 3 | 4 5 6 7 | 8 9 . . | . . . . |
 *     open        -         append    append                 (room for two)
 *
 * So a unit is opened here as for any write, and gets its pages at once.  What is left over goes
 * the usual way: the rest of a unit, the zone whose writes go to the small log, and a chip that can
 * fail or is kept in an image.
 */
#include "ftl/units/segment_core.h"

enum { MAX_STRIPE = 64 };

static bool can_fill(const struct segment *s)
{
    const struct fe_medium *m = s->map.base.medium;
    return fe_medium_is_plain(m) && !s->command_is_small && s->map.units.stripe <= MAX_STRIPE;
}

/* All pages of an erased unit, as fe_unit_map_append programs one after the other. */
static void program_unit(struct segment *s, uint32_t unit, fe_lpn first)
{
    struct fe_units *u = &s->map.units;
    fe_peb pebs[MAX_STRIPE];
    assert(u->fill[unit] == 0);
    for (uint32_t i = 0; i < u->blocks_per_unit; i += u->stripe) {
        for (uint32_t k = 0; k < u->stripe; k++)
            pebs[k] = fe_unit_peb(u, unit, i + k);
        fe_medium_prog_stripe(u->medium, pebs, u->stripe, first, FE_TAG_DATA);
        first += u->stripe * u->medium->geo.pages_per_block;
    }
    u->fill[unit] = u->unit_pages;
}

fe_lpn fe_seg_fill_units(struct fe_ftl *ftl, fe_lpn first, fe_lpn end)
{
    struct segment *s = seg_of(ftl);
    uint32_t pages = s->map.units.unit_pages;
    fe_leb leb = fe_unit_map_leb(&s->map, first);
    struct open_unit *o;
    if (first != fe_unit_map_lpn(&s->map, leb, 0) || end - first < pages || !can_fill(s) ||
        (s->small.n_max && fe_seg_in_zone(s, leb)))
        return 0;
    fe_region_fill(&s->region, first, pages);
    fe_seg_note_group(s, leb);
    if (fe_seg_open_unit_for(s, leb, 0, &o) != FE_OK)
        return 0; /* and the write that follows will hear why */
    s->tick += pages;
    o->used = s->tick;
    program_unit(s, o->unit, first);
    return pages;
}
