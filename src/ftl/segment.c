/* SPDX-License-Identifier: BSD-3-Clause
 *
 * segment: allocation units with a few of them open, as in most USB sticks and SD
 * cards.
 *
 * The map knows allocation units (AUs) only: logical unit -> physical unit, pages in
 * order.  A unit that has room is simply appended to.  Anything else goes into an open
 * unit beside the data unit, and there are only a few of those:
 *
 *   linear   takes the unit's pages in order, from the first.  Whole: it replaces the
 *            data unit (switch merge).  Closed before: the rest is copied behind it
 *            (partial merge).
 *   random   takes pages in any order, as a log.  Full or closed: the newest copy of
 *            every page is copied to a new unit (full merge), unless the log happens to
 *            be in order.
 *
 *     data unit   | 0 1 2 3 4 5 6 7 |           | 0 1 2 3 4 5 6 7 |
 *     open unit   | 0'1'2'  >                   | 5'2'5"  >
 *                   linear: append at 3           random: append anything
 *
 * Opening one more than the device has closes the one used longest ago: that is the
 * cliff which flashbench's open-AU test finds.  A controller whose logs are a fixed
 * area (switch_merge off) can never let a log become data: each overwritten unit costs
 * a copy of itself, a fresh one nothing, which is the difference between a fresh stick
 * and one that has been filled.
 *
 * A page that is written in part takes a whole log page.  So a stream whose commands
 * end inside a page programs more pages than the unit has, its log overflows, and the
 * unit is merged twice: what a misaligned partition costs.
 *
 * A small-write log (small_log.h) may stand beside all this: commands of at most
 * small_write bytes, and everything in a zone of units, go there page by page.
 * When it is full, the units that its oldest part holds pages of are merged: cheap for a
 * few busy sectors, dear for bulk, which is how cards treat the surroundings of the FAT.
 *
 * With small_join, sequential small writes do not end there: the one that reaches a page's
 * end takes the whole page to the linear unit that waits for it.
 *
 * Units may be smaller than the AU that the device shows.  Then so many of them are a group
 * (scatter.h), of which one is open at a time: a write in the middle costs one small unit, and
 * one AU more than there is room for costs a copy of a whole one.
 *
 * Reading on into another unit within one command can cost extra time (the next part of
 * the map has to be fetched): that is the step which shows a unit's size from outside.
 *
 * Holes below the last written page of a unit are padded in a merge, since a block is
 * programmed in order.
 */
#include "ftl/segment_core.h"
#include "ftl/unit_recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum fe_status log_append(struct segment *s, struct open_unit *o, uint32_t page, fe_ppn from,
                                 uint32_t off, uint32_t len, const void *data)
{
    uint32_t at = s->units.fill[o->unit];
    enum fe_tag tag = o->kind == OPEN_APPEND ? FE_TAG_DATA : FE_TAG_LOG;
    enum fe_status st = fe_unit_append(&s->units, o->unit, lpn_at(s, o->leb, page), (uint8_t)tag,
                                       from, off, len, data);
    if (st != FE_OK)
        return st;
    if (o->kind != OPEN_APPEND) {
        o->in_order = o->in_order && at == page;
        o->map[page] = at;
        if (page >= o->top)
            o->top = page + 1;
    }
    fe_small_log_forget(&s->small, lpn_at(s, o->leb, page));
    return FE_OK;
}

static bool is_linear(enum open_kind kind)
{
    return kind == OPEN_APPEND || kind == OPEN_LINEAR;
}

/* Makes room for one more open unit of this sort, by closing the one of the same sort
 * that was used longest ago. */
static enum fe_status make_room(struct segment *s, bool linear)
{
    uint32_t n = 0;
    struct open_unit *oldest = NULL;
    for (uint32_t i = 0; i < s->n_open_max; i++) {
        struct open_unit *o = &s->open[i];
        if (o->kind == OPEN_NOT || is_linear(o->kind) != linear)
            continue;
        n++;
        if (!oldest || o->used < oldest->used)
            oldest = o;
    }
    return n < (linear ? s->max_linear : s->max_random) ? FE_OK : fe_seg_close(s, oldest);
}

static enum fe_status open_as(struct segment *s, fe_leb leb, enum open_kind kind,
                              struct open_unit **ret)
{
    enum fe_status st = make_room(s, is_linear(kind));
    if (st != FE_OK)
        return st;
    struct open_unit *o = s->open;
    while (o->kind != OPEN_NOT)
        o++;
    assert(o < s->open + s->n_open_max);

    bool fresh = s->data[leb] == FE_UNIT_NONE;
    uint32_t unit = kind == OPEN_APPEND && !fresh ? s->data[leb] : fe_unit_alloc(&s->units);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    if (kind == OPEN_APPEND)
        s->data[leb] = unit;
    else
        memset(o->map, 0xff, s->units.unit_pages * sizeof *o->map);
    o->kind = kind;
    o->in_order = true;
    o->leb = leb;
    o->unit = unit;
    o->top = 0;
    *ret = o;
    return FE_OK;
}

/* Which way to open a unit for a write that begins at this page. */
static enum open_kind choose_kind(const struct segment *s, fe_leb leb, uint32_t page)
{
    uint32_t fill = data_fill(s, leb);
    uint32_t reach = s->max_random ? s->gap_fill : s->units.unit_pages;
    if (page >= fill && page - fill <= reach)
        return OPEN_APPEND;
    return s->switch_merge && page <= reach ? OPEN_LINEAR : OPEN_RANDOM;
}

/* Whether the open unit can take this page without being closed first. */
static bool accepts(const struct segment *s, const struct open_unit *o, uint32_t page)
{
    uint32_t fill = s->units.fill[o->unit];
    if (fill == s->units.unit_pages)
        return false;
    if (o->kind == OPEN_RANDOM)
        return true;
    uint32_t reach = s->max_random ? s->gap_fill : s->units.unit_pages;
    return page >= fill && page - fill <= reach;
}

/* A linear unit met a page that is not its next one: with random units to spare it
 * goes on as one of those, keeping what it holds. */
static enum fe_status leave_linear(struct segment *s, struct open_unit **o)
{
    if ((*o)->kind != OPEN_LINEAR || s->max_random == 0 ||
        s->units.fill[(*o)->unit] == s->units.unit_pages) {
        enum fe_status st = fe_seg_close(s, *o);
        *o = NULL;
        return st;
    }
    enum fe_status st = make_room(s, false);
    (*o)->kind = OPEN_RANDOM;
    return st;
}

/* A linear unit is asked for a page a little ahead: the pages between are copied. */
static enum fe_status fill_gap(struct segment *s, struct open_unit *o, uint32_t page)
{
    uint32_t from = s->units.fill[o->unit];
    fe_units_barrier(&s->units);
    enum fe_status st = fe_seg_copy_up_to(s, o, o->leb, o->unit, page, FE_TAG_COPY);
    fe_units_barrier(&s->units);
    page = s->units.fill[o->unit]; /* as far as it has come */
    fe_seg_forget_range(s, o->leb, from, page);
    for (uint32_t p = from; o->kind == OPEN_LINEAR && p < page; p++)
        o->map[p] = p;
    if (o->kind == OPEN_LINEAR && page > o->top)
        o->top = page;
    return st;
}

/* Empties the oldest unit of the small-write log by merging what it holds pages of. */
static enum fe_status clean_small_log(struct segment *s)
{
    uint32_t oldest = fe_small_log_oldest(&s->small);
    s->base.counters.gc_runs++;
    for (uint32_t i = 0; i < s->units.fill[oldest]; i++) {
        fe_ppn ppn = fe_unit_ppn(&s->units, oldest, i);
        fe_lpn lpn = fe_medium_lpn(s->base.medium, ppn);
        if (fe_small_log_find(&s->small, lpn) != ppn)
            continue;
        enum fe_status st = fe_seg_merge(s, fe_fastdiv(lpn, s->by_pages));
        if (st != FE_OK)
            return st;
    }
    return fe_small_log_drop_oldest(&s->small);
}

static enum fe_status small_write(struct segment *s, fe_leb leb, uint32_t page, uint32_t off,
                                  uint32_t len, const void *data)
{
    enum fe_status st = fe_small_log_has_room(&s->small) ? FE_OK : clean_small_log(s);
    if (st != FE_OK)
        return st;
    fe_ppn base = fe_seg_locate(s, fe_seg_find_open(s, leb), leb, page);
    return fe_small_log_append(&s->small, lpn_at(s, leb, page), base, off, len, data);
}

static void seg_set_delays(struct fe_ftl *ftl, const struct fe_ftl_params *p)
{
    seg_of(ftl)->unit_read_ns = p->segment.unit_read_ns;
}

static void seg_begin_command(struct fe_ftl *ftl, bool write, uint64_t offset, uint64_t len)
{
    struct segment *s = seg_of(ftl);
    (void)offset;
    s->command_is_small = write && len <= s->small_write;
    s->command_leb = FE_LEB_NONE;
}

static bool in_zone(const struct segment *s, fe_leb leb)
{
    return leb >= s->zone_start && leb - s->zone_start < s->zone_units;
}

/* Whether a small write goes to the linear unit of leb: it completes a page whose beginning
 * is in the small log, and which the unit takes, or it is the unit's next page, whole. */
static bool joins(const struct segment *s, const struct open_unit *o, fe_leb leb, uint32_t page,
                  uint32_t off, uint32_t len)
{
    if (!s->small_join || off + len != s->base.medium->geo.page_bytes || in_zone(s, leb))
        return false;
    if (o && s->units.fill[o->unit] == s->units.unit_pages)
        o = NULL; /* it ends here anyway */
    if (off == 0)
        return page == (o ? s->units.fill[o->unit] : 0) && (!o || o->kind != OPEN_RANDOM);
    if (fe_small_log_find(&s->small, lpn_at(s, leb, page)) == FE_PPN_NONE)
        return false;
    return o ? accepts(s, o, page) : choose_kind(s, leb, page) != OPEN_RANDOM;
}

/* Opens a unit for a write that begins at this page. */
static enum fe_status open_unit_for(struct segment *s, fe_leb leb, uint32_t page,
                                    struct open_unit **ret)
{
    enum fe_status st = fe_seg_close_neighbours(s, leb);
    if (st == FE_OK && choose_kind(s, leb, page) != OPEN_APPEND)
        st = fe_seg_make_scatter_room(s, leb);
    return st != FE_OK ? st : open_as(s, leb, choose_kind(s, leb, page), ret);
}

static enum fe_status seg_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                const void *data)
{
    struct segment *s = seg_of(ftl);
    fe_leb leb = fe_fastdiv(lpn, s->by_pages);
    uint32_t page = lpn - leb * s->units.unit_pages;
    struct open_unit *o = fe_seg_find_open(s, leb);
    fe_region_write(&s->region, lpn, ftl->medium->ops);
    if (s->small.n_max && (s->command_is_small || in_zone(s, leb)) &&
        !joins(s, o, leb, page, off, len))
        return small_write(s, leb, page, off, len, data);

    enum fe_status st = FE_OK;
    if (o && !accepts(s, o, page))
        st = leave_linear(s, &o);
    if (st == FE_OK && !o)
        st = open_unit_for(s, leb, page, &o);
    if (st != FE_OK)
        return st;

    o->used = ++s->tick;
    if (o->kind != OPEN_RANDOM && s->units.fill[o->unit] < page)
        st = fill_gap(s, o, page);
    if (st != FE_OK)
        return st;
    return log_append(s, o, page, fe_seg_locate(s, o, leb, page), off, len, data);
}

static enum fe_status seg_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                               void *buf)
{
    struct segment *s = seg_of(ftl);
    fe_leb leb = fe_fastdiv(lpn, s->by_pages);
    fe_ppn ppn = fe_seg_locate(s, fe_seg_find_open(s, leb), leb, lpn - leb * s->units.unit_pages);
    fe_leb group = leb / s->scatter.group_units;
    fe_region_read(&s->region, lpn, ftl->medium->ops);
    if (s->unit_read_ns && s->command_leb != FE_LEB_NONE && s->command_leb != group)
        fe_ops_busy(ftl->medium->ops, s->unit_read_ns);
    s->command_leb = group;
    if (ppn != FE_PPN_NONE)
        return fe_medium_read(ftl->medium, ppn, off, len, buf);
    if (buf)
        memset(buf, 0, len);
    return FE_OK;
}

/* Units that open units and one merge can occupy beside the data units. */
static uint32_t spare_units(const struct fe_ftl_params *p)
{
    return p->segment.open_linear + p->segment.open_random + p->segment.small_log + 1;
}

static uint64_t seg_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                             struct fe_err *err)
{
    uint32_t pages = fe_units_pages(geo, p->unit.unit_size, err);
    if (pages == 0)
        return 0;
    if (p->segment.open_linear == 0 || (p->segment.open_random == 0 && !p->unit.switch_merge)) {
        fe_err_set(
            err, EINVAL,
            "ftl.open_linear=%u ftl.open_random=%u ftl.switch_merge=%s: segment needs "
            "open_linear >= 1, and open_random >= 1 unless switch_merge=yes",
            p->segment.open_linear, p->segment.open_random,
            p->unit.switch_merge ? "yes" : "no");
        return 0;
    }
    if (p->segment.small_log == 0 && (p->segment.small_write || p->segment.zone_units)) {
        fe_err_set(err, EINVAL,
                   "ftl.small_write=%llu ftl.zone_units=%u: need ftl.small_log >= 1",
                   (unsigned long long)p->segment.small_write, p->segment.zone_units);
        return 0;
    }
    uint32_t units = fe_units_count(geo, pages), spare = spare_units(p);
    if (units <= spare) {
        fe_err_set(
            err, EINVAL,
            "ftl.unit_size=%llu: the chip has %u units, but open_linear=%u, "
            "open_random=%u "
            "and small_log=%u need %u beside the data; fewer of them or smaller units",
            (unsigned long long)p->unit.unit_size, units, p->segment.open_linear,
            p->segment.open_random, p->segment.small_log, spare);
        return 0;
    }
    return (uint64_t)(units - spare) * pages;
}

static void seg_destroy(struct fe_ftl *ftl)
{
    struct segment *s = seg_of(ftl);
    if (!s)
        return;
    for (uint32_t i = 0; s->open && i < s->n_open_max; i++)
        free(s->open[i].map);
    free(s->open);
    free(s->data);
    fe_small_log_fini(&s->small);
    fe_scatter_fini(&s->scatter);
    fe_units_fini(&s->units);
    free(s);
}

static int alloc_tables(struct segment *s)
{
    s->data = malloc(s->n_lebs * sizeof *s->data);
    s->open = calloc(s->n_open_max, sizeof *s->open);
    if (!s->data || !s->open)
        return -ENOMEM;
    memset(s->data, 0xff, s->n_lebs * sizeof *s->data);
    for (uint32_t i = 0; i < s->n_open_max; i++) {
        s->open[i].map = malloc(s->units.unit_pages * sizeof *s->open[i].map);
        if (!s->open[i].map)
            return -ENOMEM;
    }
    return 0;
}

static int seg_create(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                      uint32_t n_lpns, struct fe_err *err)
{
    uint32_t pages = fe_units_pages(&m->geo, p->unit.unit_size, err);
    struct segment *s = calloc(1, sizeof *s);
    if (!s)
        return fe_err_nomem(err, "segment translation layer", sizeof *s);
    s->base = (struct fe_ftl){.ops = &fe_ftl_segment, .medium = m, .n_lpns = n_lpns};
    s->by_pages = fe_fastdiv_init(pages);
    s->n_lebs = (uint32_t)fe_div_up(n_lpns, pages);
    s->n_open_max = p->segment.open_linear + p->segment.open_random;
    s->max_linear = p->segment.open_linear;
    s->max_random = p->segment.open_random;
    s->gap_fill = p->unit.gap_fill;
    s->switch_merge = p->unit.switch_merge;
    s->small_write = p->segment.small_write;
    s->small_join = p->segment.small_join;
    fe_region_init(&s->region, p->region.map_region, p->region.map_switch_ns, p->region.map_read_ns,
                   m->geo.page_bytes);
    s->zone_start = p->segment.zone_start;
    s->zone_units = p->segment.zone_units;
    s->unit_read_ns = p->segment.unit_read_ns;

    int r = fe_units_init(&s->units, m, pages, p->unit.copy_buffer, err);
    if (r == 0)
        r = fe_small_log_init(&s->small, &s->units, p->segment.small_log, n_lpns, err);
    if (r == 0)
        r = fe_scatter_init(&s->scatter, p->segment.group_units, p->segment.scattered,
                            p->segment.group_switch, err);
    if (r == 0 && alloc_tables(s) < 0)
        r = fe_err_nomem(err, "map of allocation units",
                         s->n_lebs * 4ull + (uint64_t)s->n_open_max * pages * 4);
    if (r < 0) {
        seg_destroy(&s->base);
        return r;
    }
    *ret = &s->base;
    return 0;
}

static int seg_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                       uint32_t n_lpns, struct fe_err *err)
{
    int r = seg_create(ret, p, m, n_lpns, err);
    if (r < 0)
        return r;
    struct segment *s = seg_of(*ret);
    r = fe_units_recover(&s->units, s->data, s->n_lebs, &s->base.counters, err);
    if (r < 0)
        seg_destroy(&s->base);
    return r;
}

static uint32_t seg_free_blocks(const struct fe_ftl *ftl)
{
    const struct segment *s = (const struct segment *)ftl;
    return s->units.n_free * s->units.blocks_per_unit;
}

const struct fe_ftl_ops fe_ftl_segment = {
    .name = "segment",
    .summary = "allocation units, a few of them open (USB sticks, SD cards)",
    .max_lpns = seg_max_lpns,
    .create = seg_create,
    .recover = seg_recover,
    .destroy = seg_destroy,
    .read = seg_read,
    .write = seg_write,
    .begin_command = seg_begin_command,
    .set_delays = seg_set_delays,
    .free_blocks = seg_free_blocks,
    .check = fe_seg_check,
};
