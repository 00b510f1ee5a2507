/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A power cut leaves units in one of two ways, since a release of a unit waits for all
 * that came before and holds back all that follows (unit.h):
 *
 *   programs under way   pages torn or missing at the ends of a few units; no unit is half
 *                        erased, so the sources of an unfinished merge are all there
 *   erases under way     units half erased, of which nothing is needed any more; no page
 *                        is torn, every merge that had sources to erase is whole
 *
 * An unfinished merge target is a unit whose newest page is FE_TAG_MERGE, and not a page
 * written later or FE_TAG_MERGE_END, unless a page before that one is missing: it was under
 * way on another die.  A torn page with others behind it in its block was not: it went with the
 * one that shares its cells (faults.cut_partner), and is missed for itself alone.
 *
 *   1  a target with a torn or missing page, and sources older than itself: does not count
 *   2  a target in order so far: completed in place, which needs no free unit
 *   3  a unit with no newest copy of any page, now that all targets are whole: erased
 *   4  a logical unit that is not one data unit, in place and whole: merged
 *
 * Room: at most one unit for each logical unit and one for each log hold newest copies after
 * step 3, so one is free for step 4, which gives back at least what it takes once the logs
 * that it met are used up.
 *
 * The replacement of the block strategy has no MERGE_END if the host's pages reached to
 * the end of the old block.  Then it is in order, its old block is gone or stale, and step 2
 * finds nothing to copy.  If a page appended to it later is torn, step 1 spares it because
 * nothing older holds its pages.
 */
#include "ftl/unit_recover.h"

#include "base/num.h"
#include "ftl/recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a unit looks like. */
struct look {
    uint64_t oldest, last;  /* sequence numbers of its pages, 0 if none can be read */
    fe_leb leb;             /* of one of its pages; FE_LEB_NONE if there is only padding */
    uint32_t n_live;        /* pages that are the newest copies */
    uint32_t fill;          /* pages programmed, torn ones included */
    bool in_order;          /* pages [0, fill) are programmed, none of them torn */
    bool is_target;         /* an unfinished merge was filling it */
};

struct recovery {
    struct fe_units *u;
    struct fe_medium *m;
    struct fe_ftl_counters *c;
    uint32_t n_lebs, *data;
    fe_ppn *newest;         /* of each page of each logical unit */
    uint32_t *unit_of;      /* block -> unit, FE_UNIT_NONE if it belongs to none */
    uint8_t *skip;          /* per block: does not count */
    struct look *looks;
};

static fe_lpn first_lpn(const struct recovery *r, fe_leb leb)
{
    return leb * r->u->unit_pages;
}

static uint32_t unit_at(const struct recovery *r, fe_ppn ppn)
{
    return r->unit_of[fe_peb_of(&r->m->geo, ppn)];
}

/* Nothing behind it in its block is programmed. */
static bool is_last(const struct recovery *r, fe_ppn ppn)
{
    return fe_page_of(&r->m->geo, ppn) + 1 >= fe_medium_next_page(r->m, fe_peb_of(&r->m->geo, ppn));
}

static void look_at(struct recovery *r, uint32_t unit)
{
    struct look *k = &r->looks[unit];
    uint32_t gap = r->u->unit_pages; /* the first page that is torn or erased */
    uint32_t end = r->u->unit_pages; /* the same, but not of those that a later one took along */
    uint8_t tag = FE_TAG_DATA;       /* of the page that was written last */
    bool behind_gap = false;
    *k = (struct look){.leb = FE_LEB_NONE};
    for (uint32_t i = 0; i < r->u->unit_pages; i++) {
        fe_ppn ppn = fe_unit_ppn(r->u, unit, i);
        enum fe_page_state state = fe_medium_state(r->m, ppn);
        k->fill += state != FE_PAGE_ERASED;
        if (state != FE_PAGE_PROGRAMMED) {
            gap = gap < i ? gap : i;
            if (is_last(r, ppn))
                end = end < i ? end : i;
            continue;
        }
        uint64_t seq = fe_medium_seq(r->m, ppn);
        k->oldest = k->oldest ? fe_min_u64(k->oldest, seq) : seq;
        if (seq > k->last) {
            k->last = seq;
            tag = fe_medium_tag(r->m, ppn);
            behind_gap = i > end;
        }
        if (fe_medium_lpn(r->m, ppn) < r->n_lebs * r->u->unit_pages)
            k->leb = fe_medium_lpn(r->m, ppn) / r->u->unit_pages;
    }
    k->in_order = k->fill == gap;
    k->is_target = tag == FE_TAG_MERGE || (tag == FE_TAG_MERGE_END && behind_gap);
}

static void look_at_all(struct recovery *r)
{
    for (uint32_t unit = 0; unit < r->u->n_units; unit++)
        look_at(r, unit);
}

/* Whether another unit holds a page of the target's logical unit that is older than all
 * of the target. */
static bool has_sources(const struct recovery *r, uint32_t target)
{
    const struct look *k = &r->looks[target];
    fe_lpn first = first_lpn(r, k->leb);
    for (uint32_t unit = 0; unit < r->u->n_units && k->leb != FE_LEB_NONE; unit++) {
        if (unit == target || r->looks[unit].oldest == 0 || r->looks[unit].oldest > k->oldest)
            continue;
        for (uint32_t i = 0; i < r->u->unit_pages; i++) {
            fe_ppn ppn = fe_unit_ppn(r->u, unit, i);
            if (fe_recover_readable(r->m, ppn) && fe_medium_seq(r->m, ppn) < k->oldest &&
                fe_medium_lpn(r->m, ppn) - first < r->u->unit_pages)
                return true;
        }
    }
    return false;
}

static void skip_torn_targets(struct recovery *r)
{
    for (uint32_t unit = 0; unit < r->u->n_units; unit++) {
        const struct look *k = &r->looks[unit];
        if (!k->is_target || k->in_order || !has_sources(r, unit))
            continue;
        for (uint32_t i = 0; i < r->u->blocks_per_unit; i++)
            r->skip[r->u->pebs[unit * r->u->blocks_per_unit + i]] = 1;
    }
}

static void count_live(struct recovery *r)
{
    for (uint32_t lpn = 0; lpn < r->n_lebs * r->u->unit_pages; lpn++)
        if (r->newest[lpn] != FE_PPN_NONE)
            r->looks[unit_at(r, r->newest[lpn])].n_live++;
}

/* Units that hold nothing, the least worn first. */
static int queue_free(struct recovery *r, struct fe_err *err)
{
    struct fe_units *u = r->u;
    struct fe_recover_age *order = malloc(u->n_units * sizeof *order);
    if (!order)
        return fe_err_nomem(err, "order of free units", u->n_units * sizeof *order);
    u->head = u->n_free = 0;
    for (uint32_t unit = 0; unit < u->n_units; unit++) {
        u->fill[unit] = r->looks[unit].fill;
        uint64_t erases = 0;
        for (uint32_t i = 0; i < u->blocks_per_unit; i++)
            erases += fe_medium_erase_count(r->m, u->pebs[unit * u->blocks_per_unit + i]);
        if (u->fill[unit] == 0)
            order[u->n_free++] = (struct fe_recover_age){.seq = erases, .peb = unit};
    }
    fe_recover_sort(order, u->n_free);
    for (uint32_t i = 0; i < u->n_free; i++)
        u->queue[i] = order[i].peb;
    free(order);
    return 0;
}

static enum fe_status release(struct recovery *r, uint32_t unit)
{
    r->looks[unit] = (struct look){.leb = FE_LEB_NONE, .in_order = true};
    return fe_unit_release(r->u, unit);
}

static enum fe_status release_useless(struct recovery *r)
{
    enum fe_status st = FE_OK;
    for (uint32_t unit = 0; unit < r->u->n_units && st == FE_OK; unit++)
        if (r->looks[unit].fill && r->looks[unit].n_live == 0)
            st = release(r, unit);
    return st;
}

/* Pages of a logical unit below this have copies. */
static uint32_t top_of(const struct recovery *r, fe_leb leb)
{
    uint32_t top = r->u->unit_pages;
    while (top > 0 && r->newest[first_lpn(r, leb) + top - 1] == FE_PPN_NONE)
        top--;
    return top;
}

static fe_ppn source(const void *ctx, uint32_t page)
{
    const fe_ppn *newest = ctx;
    return newest[page];
}

/* Copies the newest pages of leb behind what the unit holds. */
static enum fe_status complete(struct recovery *r, fe_leb leb, uint32_t unit)
{
    fe_ppn *newest = &r->newest[first_lpn(r, leb)];
    struct fe_copies c = {
        .source = source,
        .ctx = newest,
        .first = first_lpn(r, leb),
        .tag = FE_TAG_MERGE,
        .last_tag = FE_TAG_MERGE_END,
        .n_copied = &r->c->pages_copied,
    };
    uint32_t page = r->u->fill[unit];
    enum fe_status st = fe_unit_copy_up_to(r->u, unit, top_of(r, leb), &c);
    fe_units_barrier(r->u);
    for (; page < r->u->fill[unit]; page++) {
        if (newest[page] == FE_PPN_NONE)
            continue;
        r->looks[unit_at(r, newest[page])].n_live--;
        r->looks[unit].n_live++;
        newest[page] = fe_unit_ppn(r->u, unit, page);
    }
    r->looks[unit].fill = r->u->fill[unit];
    return st;
}

/* Page i of the unit is page i of leb, the newest copy or padding where there is none. */
static bool is_in_place(const struct recovery *r, fe_leb leb, uint32_t unit)
{
    for (uint32_t i = 0; i < r->looks[unit].fill; i++) {
        fe_ppn ppn = fe_unit_ppn(r->u, unit, i), newest = r->newest[first_lpn(r, leb) + i];
        bool padding = fe_medium_lpn(r->m, ppn) == FE_LPN_NONE;
        if (newest != (padding ? FE_PPN_NONE : ppn))
            return false;
    }
    return r->looks[unit].in_order;
}

static enum fe_status complete_targets(struct recovery *r)
{
    enum fe_status st = FE_OK;
    for (uint32_t unit = 0; unit < r->u->n_units && st == FE_OK; unit++) {
        const struct look *k = &r->looks[unit];
        if (k->fill == 0 || !k->is_target || k->leb == FE_LEB_NONE ||
            !is_in_place(r, k->leb, unit))
            continue;
        r->c->merges_partial += k->fill < top_of(r, k->leb);
        st = complete(r, k->leb, unit);
    }
    return st;
}

/* The one unit that is leb, FE_UNIT_NONE if there is no such. */
static uint32_t whole_unit(const struct recovery *r, fe_leb leb)
{
    uint32_t unit = unit_at(r, r->newest[first_lpn(r, leb) + top_of(r, leb) - 1]);
    if (r->looks[unit].fill < top_of(r, leb) || !is_in_place(r, leb, unit))
        return FE_UNIT_NONE;
    return unit;
}

/* Every logical unit becomes one data unit. */
static int merge_all(struct recovery *r, struct fe_err *err)
{
    for (fe_leb leb = 0; leb < r->n_lebs; leb++) {
        r->data[leb] = FE_UNIT_NONE;
        if (top_of(r, leb) == 0)
            continue;
        r->data[leb] = whole_unit(r, leb);
        if (r->data[leb] != FE_UNIT_NONE)
            continue;
        r->data[leb] = fe_unit_alloc(r->u);
        if (r->data[leb] == FE_UNIT_NONE)
            return fe_err_set(err, EIO, "power-on: no unit is free to merge logical unit %u", leb);
        r->c->merges_full++;
        enum fe_status st = complete(r, leb, r->data[leb]);
        if (st == FE_OK)
            st = release_useless(r);
        if (st != FE_OK)
            return fe_err_set(err, EIO, "power-on: status %d while merging logical unit %u",
                              (int)st, leb);
    }
    return 0;
}

static int run(struct recovery *r, struct fe_err *err)
{
    enum fe_status st = fe_recover_scan(r->m);
    look_at_all(r);
    skip_torn_targets(r);
    fe_recover_newest(r->m, r->newest, r->n_lebs * r->u->unit_pages, r->skip);
    count_live(r);
    int result = queue_free(r, err);
    if (result < 0)
        return result;
    if (st == FE_OK)
        st = complete_targets(r);
    if (st == FE_OK)
        st = release_useless(r);
    if (st != FE_OK)
        return fe_err_set(err, EIO, "power-on: status %d", (int)st);
    return merge_all(r, err);
}

int fe_units_recover(struct fe_units *u, uint32_t *data, uint32_t n_lebs,
                     struct fe_ftl_counters *c, struct fe_err *err)
{
    uint32_t n_pebs = u->medium->geo.n_pebs, n_lpns = n_lebs * u->unit_pages;
    struct recovery r = {.u = u, .m = u->medium, .c = c, .n_lebs = n_lebs, .data = data};
    r.newest = malloc(n_lpns * sizeof *r.newest);
    r.unit_of = malloc(n_pebs * sizeof *r.unit_of);
    r.skip = calloc(n_pebs, 1);
    r.looks = malloc(u->n_units * sizeof *r.looks);
    int result = 0;
    if (!r.newest || !r.unit_of || !r.skip || !r.looks) {
        result = fe_err_nomem(err, "mapping at power-on", n_lpns * 4ull + n_pebs * 5ull);
    } else {
        memset(r.unit_of, 0xff, n_pebs * sizeof *r.unit_of);
        for (uint32_t i = 0; i < u->n_units * u->blocks_per_unit; i++)
            r.unit_of[u->pebs[i]] = i / u->blocks_per_unit;
        result = run(&r, err);
    }
    free(r.newest);
    free(r.unit_of);
    free(r.skip);
    free(r.looks);
    return result;
}
