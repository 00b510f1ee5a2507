/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How power-on makes whole data units of what a power cut has left.
 *
 * The release of a unit waits for everything before it and holds back everything behind it
 * (unit.h).  A power cut therefore leaves units in one of two ways:
 *
 *   it interrupted programs   Pages at the ends of a few units are torn or missing.  No unit is
 *                             half erased.  So an unfinished merge still has all its sources.
 *   it interrupted erases     Some units are half erased, and nothing in them is needed any more.
 *                             No page is torn.  So every merge whose sources were being erased
 *                             is complete.
 *
 * A merge programs its target, a new unit, in order.  All pages of the target have FE_TAG_MERGE
 * except the last page, which has FE_TAG_MERGE_END.  The target is unfinished if its newest page
 * has FE_TAG_MERGE.  It is also unfinished if its newest page has FE_TAG_MERGE_END and a page
 * before this one is missing, which was being programmed on another die:
 *
 *     finished       | M M M M M E |            M: FE_TAG_MERGE       D: FE_TAG_DATA
 *     unfinished     | M M M . . . |            E: FE_TAG_MERGE_END   x: torn
 *     unfinished     | M M M x M E |            .: erased
 *     finished       | M M M M M E D D x |      (the host has appended since)
 *
 * One kind of torn page does not count as missing: a page behind which other pages of the same
 * erase block are programmed.  It was not interrupted itself but lost together with the page that
 * shares its cells (faults.cut:partner).
 *
 * Power-on does four things:
 *
 *   1  An unfinished target with a torn or missing page is ignored, provided that its sources,
 *      which are older pages of the same leb, exist.
 *   2  An unfinished target that is in order so far is completed in place.  This needs no free
 *      unit.
 *   3  Every unit that holds no newest copy of any page is erased.
 *   4  Every leb that is not yet one data unit, whole and in place, gets a full merge.
 *
 * Is there room for step 4?  After step 3 the newest copies are in at most one unit for each leb
 * and one for each log.  So one unit is free for the first merge.  Each merge gives back at least
 * as many units as it takes, once the logs that held pages of this leb hold no others.
 *
 * The replacement of the block strategy is a special case.  It has no FE_TAG_MERGE_END if the
 * host's pages reached the end of the old block.  Then the replacement is in order, and the old
 * block is erased or stale, so step 2 finds nothing to copy.  If a page that was appended later is
 * torn, step 1 does not ignore the replacement, because nothing older holds its pages.
 */
#include "ftl/units/unit_recover.h"

#include "ftl/recover.h"
#include "ftl/units/unit_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What power-on finds in a unit. */
struct found {
    uint64_t oldest, newest; /* sequence numbers of its readable pages; 0 if there are none */
    fe_leb leb;              /* of one of its pages; FE_LEB_NONE if it holds only padding */
    uint32_t fill;           /* pages that are programmed or torn */
    uint32_t n_needed;       /* pages that are the newest copies */
    bool in_order;           /* pages [0, fill) are programmed, and none of them is torn */
    bool is_unfinished;      /* a merge was filling it when power failed */
};

/* During power-on a leb has no data unit until it is settled.  Before that fe_unit_map_newer names
 * the newest copy of each of its pages. */
struct recovery {
    struct fe_unit_map *map;
    struct fe_units *u;
    struct fe_medium *m;
    struct found *found; /* per unit */
    uint8_t *ignored;    /* per erase block, as fe_recover_newest takes it */
};

static struct found *unit_of(const struct recovery *r, fe_ppn ppn)
{
    return &r->found[fe_peb_of(&r->m->geo, ppn) / r->u->blocks_per_unit];
}

/* Whether no page behind this one in its block is programmed. */
static bool is_last_of_block(const struct recovery *r, fe_ppn ppn)
{
    return fe_page_of(&r->m->geo, ppn) + 1 >= fe_medium_next_page(r->m, fe_peb_of(&r->m->geo, ppn));
}

/* Most units of a large chip with a small device hold nothing, and need no look at each page. */
static bool is_empty(const struct recovery *r, uint32_t unit)
{
    for (uint32_t i = 0; i < r->u->blocks_per_unit; i++)
        if (fe_medium_next_page(r->m, fe_unit_peb(r->u, unit, i)) > 0)
            return false;
    return true;
}

static void look_at(struct recovery *r, uint32_t unit)
{
    struct found *f = &r->found[unit];
    uint32_t gap = UINT32_MAX;     /* the first page that is torn or erased */
    uint32_t missing = UINT32_MAX; /* the first one that no other page has taken along */
    uint8_t tag = FE_TAG_DATA;     /* of the newest page */
    bool is_behind_missing = false; /* the newest page */
    *f = (struct found){.leb = FE_LEB_NONE, .in_order = true};
    if (is_empty(r, unit))
        return;
    for (uint32_t i = 0; i < r->u->unit_pages; i++) {
        fe_ppn ppn = fe_unit_ppn(r->u, unit, i);
        enum fe_page_state state = fe_medium_state(r->m, ppn);
        f->fill += state != FE_PAGE_ERASED;
        if (state != FE_PAGE_PROGRAMMED) {
            if (gap == UINT32_MAX)
                gap = i;
            if (missing == UINT32_MAX && is_last_of_block(r, ppn))
                missing = i;
            continue;
        }
        uint64_t seq = fe_medium_seq(r->m, ppn);
        f->oldest = f->oldest ? fe_min_u64(f->oldest, seq) : seq;
        if (seq > f->newest) {
            f->newest = seq;
            tag = fe_medium_tag(r->m, ppn);
            is_behind_missing = i > missing;
        }
        fe_leb leb = fe_unit_map_leb(r->map, fe_medium_lpn(r->m, ppn));
        if (leb < r->map->n_lebs)
            f->leb = leb;
    }
    f->in_order = f->fill <= gap;
    f->is_unfinished = tag == FE_TAG_MERGE || (tag == FE_TAG_MERGE_END && is_behind_missing);
}

/* Whether another unit holds a page of the target's leb that is older than all of the target. */
static bool has_sources(const struct recovery *r, uint32_t target)
{
    const struct found *t = &r->found[target];
    for (uint32_t unit = 0; unit < r->u->n_units && t->leb != FE_LEB_NONE; unit++) {
        const struct found *f = &r->found[unit];
        if (unit == target || f->oldest == 0 || f->oldest > t->oldest)
            continue;
        for (uint32_t i = 0; i < r->u->unit_pages; i++) {
            fe_ppn ppn = fe_unit_ppn(r->u, unit, i);
            if (fe_recover_readable(r->m, ppn) && fe_medium_seq(r->m, ppn) < t->oldest &&
                fe_unit_map_leb(r->map, fe_medium_lpn(r->m, ppn)) == t->leb)
                return true;
        }
    }
    return false;
}

static void ignore_torn_targets(struct recovery *r)
{
    for (uint32_t unit = 0; unit < r->u->n_units; unit++)
        if (r->found[unit].is_unfinished && !r->found[unit].in_order && has_sources(r, unit))
            memset(&r->ignored[fe_unit_peb(r->u, unit, 0)], 1, r->u->blocks_per_unit);
}

static void find_newest(struct recovery *r)
{
    uint32_t n_lpns = r->map->n_lebs * r->u->unit_pages;
    fe_recover_newest(r->m, r->map->newer, n_lpns, r->ignored);
    for (fe_lpn lpn = 0; lpn < n_lpns; lpn++)
        if (fe_unit_map_newer(r->map, lpn) != FE_PPN_NONE)
            unit_of(r, fe_unit_map_newer(r->map, lpn))->n_needed++;
}

/* Queues the units that hold nothing, the least worn first. */
static int queue_free(struct recovery *r, struct fe_err *err)
{
    struct fe_units *u = r->u;
    struct fe_recover_age *order = malloc(u->n_units * sizeof *order);
    if (!order)
        return fe_err_nomem(err, "order of free units", u->n_units * sizeof *order);
    u->head = u->n_free = 0;
    for (uint32_t unit = 0; unit < u->n_units; unit++) {
        u->fill[unit] = r->found[unit].fill;
        uint64_t erases = 0;
        for (uint32_t i = 0; i < u->blocks_per_unit; i++)
            erases += fe_medium_erase_count(r->m, fe_unit_peb(u, unit, i));
        if (u->fill[unit] == 0)
            order[u->n_free++] = (struct fe_recover_age){.seq = erases, .peb = unit};
    }
    fe_recover_sort(order, u->n_free);
    for (uint32_t i = 0; i < u->n_free; i++)
        u->queue[i] = order[i].peb;
    free(order);
    return 0;
}

static enum fe_status release_useless(struct recovery *r)
{
    enum fe_status st = FE_OK;
    for (uint32_t unit = 0; unit < r->u->n_units && st == FE_OK; unit++) {
        if (r->found[unit].fill == 0 || r->found[unit].n_needed > 0)
            continue;
        r->found[unit] = (struct found){.leb = FE_LEB_NONE, .in_order = true};
        st = fe_unit_release(r->u, unit);
    }
    return st;
}

/* Pages [from, end of the leb) are about to be copied, so their units are needed for them no
 * longer. */
static void stop_needing(struct recovery *r, fe_leb leb, uint32_t from)
{
    for (uint32_t page = from; page < r->u->unit_pages; page++) {
        fe_ppn newest = fe_unit_map_newer(r->map, fe_unit_map_lpn(r->map, leb, page));
        if (newest != FE_PPN_NONE)
            unit_of(r, newest)->n_needed--;
    }
}

/* Whether page i of the unit is page i of the leb for all of its pages: the newest copy, or padding
 * where there is none. */
static bool is_in_place(const struct recovery *r, fe_leb leb, uint32_t unit)
{
    for (uint32_t i = 0; i < r->found[unit].fill; i++) {
        fe_ppn ppn = fe_unit_ppn(r->u, unit, i);
        bool is_padding = fe_medium_lpn(r->m, ppn) == FE_LPN_NONE;
        fe_ppn newest = fe_unit_map_newer(r->map, fe_unit_map_lpn(r->map, leb, i));
        if (newest != (is_padding ? FE_PPN_NONE : ppn))
            return false;
    }
    return r->found[unit].in_order;
}

static enum fe_status complete_targets(struct recovery *r)
{
    enum fe_status st = FE_OK;
    for (uint32_t unit = 0; unit < r->u->n_units && st == FE_OK; unit++) {
        const struct found *f = &r->found[unit];
        if (f->fill == 0 || !f->is_unfinished || f->leb == FE_LEB_NONE ||
            !is_in_place(r, f->leb, unit))
            continue;
        r->map->base.counters.merges_partial += f->fill < fe_unit_map_top(r->map, f->leb);
        stop_needing(r, f->leb, f->fill);
        st = fe_unit_map_adopt(r->map, f->leb, unit, FE_TAG_MERGE);
    }
    return st;
}

/* Makes the leb, which holds something, one data unit. */
static enum fe_status settle(struct recovery *r, fe_leb leb)
{
    uint32_t top = fe_unit_map_top(r->map, leb);
    fe_lpn first = fe_unit_map_lpn(r->map, leb, 0);
    const struct found *last = unit_of(r, fe_unit_map_newer(r->map, first + top - 1));
    uint32_t unit = (uint32_t)(last - r->found);
    if (last->fill >= top && is_in_place(r, leb, unit)) {
        r->map->data[leb] = unit;
        memset(&r->map->newer[first], 0, top * sizeof *r->map->newer);
        return FE_OK;
    }
    stop_needing(r, leb, 0);
    enum fe_status st = fe_unit_map_merge_full(r->map, leb);
    return st == FE_OK ? release_useless(r) : st;
}

/* A page of a data unit, or of a unit that is going to be one, lies in its place, and the pages of a
 * log that one logical unit has for itself are all of that one. */
static bool is_good_unit(const struct recovery *r, uint32_t unit)
{
    fe_leb leb = FE_LEB_NONE;
    uint32_t n = is_empty(r, unit) ? 0 : r->u->unit_pages;
    for (uint32_t i = 0; i < n; i++) {
        fe_ppn ppn = fe_unit_ppn(r->u, unit, i);
        if (!fe_recover_readable(r->m, ppn))
            continue;
        fe_lpn lpn = fe_medium_lpn(r->m, ppn);
        uint8_t tag = fe_medium_tag(r->m, ppn);
        if (tag == FE_TAG_SHARED_LOG || lpn == FE_LPN_NONE)
            continue;
        fe_leb its = fe_unit_map_leb(r->map, lpn);
        if ((leb != FE_LEB_NONE && leb != its) ||
            (tag != FE_TAG_LOG && lpn != fe_unit_map_lpn(r->map, its, i)))
            return false;
        leb = its;
    }
    return true;
}

static int check(const struct recovery *r, struct fe_err *err)
{
    int result = fe_recover_check(&r->map->base, err);
    for (uint32_t unit = 0; unit < r->u->n_units && result == 0; unit++)
        if (!is_good_unit(r, unit))
            result = fe_err_set(err, EIO, "unit %u (blocks from %u on) holds pages that are not in "
                                "their place", unit, fe_unit_peb(r->u, unit, 0));
    return result;
}

bool fe_units_may_hold(const struct fe_ftl *ftl, fe_ppn ppn)
{
    const struct fe_units *u = &((const struct fe_unit_map *)ftl)->units;
    const unsigned tags = 1u << FE_TAG_DATA | 1u << FE_TAG_LOG | 1u << FE_TAG_SHARED_LOG |
                          1u << FE_TAG_COPY | 1u << FE_TAG_MERGE | 1u << FE_TAG_MERGE_END;
    fe_lpn lpn = fe_medium_lpn(ftl->medium, ppn);
    uint8_t tag = fe_medium_tag(ftl->medium, ppn);
    return tags >> tag & 1 && ppn / u->unit_pages < u->n_units &&
           (lpn < ftl->n_lpns || (lpn == FE_LPN_NONE && tag != FE_TAG_SHARED_LOG));
}

static int find_units(struct recovery *r, struct fe_err *err)
{
    int checked = check(r, err);
    if (checked < 0)
        return checked;
    enum fe_status st = fe_recover_scan(r->m);
    for (uint32_t unit = 0; unit < r->u->n_units; unit++)
        look_at(r, unit);
    ignore_torn_targets(r);
    find_newest(r);
    int result = queue_free(r, err);
    if (result < 0)
        return result;
    if (st == FE_OK)
        st = complete_targets(r);
    if (st == FE_OK)
        st = release_useless(r);
    if (st != FE_OK)
        return fe_err_set(err, EIO, "power-on: status %d", (int)st);
    for (fe_leb leb = 0; leb < r->map->n_lebs && st == FE_OK; leb++) {
        if (r->map->data[leb] == FE_UNIT_NONE && fe_unit_map_top(r->map, leb) > 0)
            st = settle(r, leb);
        if (st != FE_OK)
            return fe_err_set(err, EIO, "power-on: status %d while merging logical unit %u",
                              (int)st, leb);
    }
    return 0;
}

int fe_units_recover(struct fe_unit_map *map, struct fe_err *err)
{
    uint32_t n_pebs = map->base.medium->geo.n_pebs;
    struct recovery r = {.map = map, .u = &map->units, .m = map->base.medium};
    r.found = malloc(r.u->n_units * sizeof *r.found);
    r.ignored = calloc(n_pebs, 1);
    int result = r.found && r.ignored ? find_units(&r, err)
                                      : fe_err_nomem(err, "units at power-on", n_pebs);
    free(r.found);
    free(r.ignored);
    return result;
}
