/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the pages of a logical unit lie, and how they come together again.
 *
 *     data unit     | 0 1 2 3 4 5 6 7 |  \
 *     open unit     | 2'1'            |   >  | 0 1'2'3 4'5 6 7 |   full merge
 *     small log     | .. 4' ..        |  /
 *
 * A full merge takes the newest copy from wherever it is.  Where the open unit is in
 * order it becomes the data unit itself, and only what follows in the old one is copied.
 *
 * Gathering a group is a full merge of each of its units, those that need none included:
 * the device wants them side by side.
 */
#include "ftl/segment_core.h"

struct open_unit *fe_seg_find_open(const struct segment *s, fe_leb leb)
{
    for (uint32_t i = 0; i < s->n_open_max; i++)
        if (s->open[i].kind != OPEN_NOT && s->open[i].leb == leb)
            return &s->open[i];
    return NULL;
}

fe_ppn fe_seg_locate(const struct segment *s, const struct open_unit *o, fe_leb leb, uint32_t page)
{
    fe_ppn small = fe_small_log_find(&s->small, lpn_at(s, leb, page));
    if (small != FE_PPN_NONE)
        return small;
    uint32_t unit = s->data[leb], at = page;
    if (o && o->kind != OPEN_APPEND && o->map[page] != FE_PPN_NONE) {
        unit = o->unit;
        at = o->map[page];
    }
    if (unit == FE_UNIT_NONE || at >= s->units.fill[unit])
        return FE_PPN_NONE;
    fe_ppn ppn = fe_unit_ppn(&s->units, unit, at);
    return fe_medium_lpn(s->base.medium, ppn) == FE_LPN_NONE ? FE_PPN_NONE : ppn;
}

struct of_leb {
    const struct segment *s;
    const struct open_unit *o;
    fe_leb leb;
};

static fe_ppn source(const void *ctx, uint32_t page)
{
    const struct of_leb *of = ctx;
    return fe_seg_locate(of->s, of->o, of->leb, page);
}

enum fe_status fe_seg_copy_up_to(struct segment *s, const struct open_unit *o, fe_leb leb,
                                 uint32_t unit, uint32_t to, enum fe_tag tag)
{
    struct of_leb of = {s, o, leb};
    struct fe_copies c = {
        .source = source,
        .ctx = &of,
        .first = lpn_at(s, leb, 0),
        .tag = (uint8_t)tag,
        .last_tag = (uint8_t)(tag == FE_TAG_MERGE ? FE_TAG_MERGE_END : tag),
        .n_copied = &s->base.counters.pages_copied,
    };
    return fe_unit_copy_up_to(&s->units, unit, to, &c);
}

/* Not before all pages are copied: if the chip ends in the middle, what is in the small log
 * is still looked for there. */
void fe_seg_forget_range(struct segment *s, fe_leb leb, uint32_t from, uint32_t to)
{
    for (uint32_t page = from; page < to && lpn_at(s, leb, page) < s->base.n_lpns; page++)
        fe_small_log_forget(&s->small, lpn_at(s, leb, page));
}

/* Pages of a logical unit below this may hold data: in the data unit, the open one or
 * the small-write log. */
static uint32_t seg_top(const struct segment *s, const struct open_unit *o, fe_leb leb)
{
    uint32_t top = data_fill(s, leb);
    if (o && o->kind != OPEN_APPEND && o->top > top)
        top = o->top;
    for (uint32_t page = s->units.unit_pages; s->small.n && page > top; page--) {
        fe_lpn lpn = lpn_at(s, leb, page - 1);
        if (lpn < s->base.n_lpns && fe_small_log_find(&s->small, lpn) != FE_PPN_NONE)
            return page;
    }
    return top;
}

static enum fe_status replace_data(struct segment *s, fe_leb leb, uint32_t unit)
{
    uint32_t old = s->data[leb];
    s->data[leb] = unit;
    return old == FE_UNIT_NONE ? FE_OK : fe_unit_release(&s->units, old);
}

/* The log is in order: it becomes the data unit, completed from the old one. */
static enum fe_status merge_in_place(struct segment *s, struct open_unit *o)
{
    uint32_t have = s->units.fill[o->unit], want = seg_top(s, o, o->leb);
    if (have >= want)
        s->base.counters.merges_switch++;
    else
        s->base.counters.merges_partial++;
    enum fe_status st = fe_seg_copy_up_to(s, o, o->leb, o->unit, want, FE_TAG_COPY);
    if (st != FE_OK)
        return st;
    fe_seg_forget_range(s, o->leb, have, want);
    o->kind = OPEN_NOT;
    return replace_data(s, o->leb, o->unit);
}

/* Gathers the newest copies of a logical unit in a new one; o is its open unit or NULL. */
static enum fe_status merge_full(struct segment *s, fe_leb leb, struct open_unit *o)
{
    uint32_t unit = fe_unit_alloc(&s->units);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    s->base.counters.merges_full++;
    uint32_t top = seg_top(s, o, leb);
    enum fe_status st = fe_seg_copy_up_to(s, o, leb, unit, top, FE_TAG_MERGE);
    if (st != FE_OK)
        return st; /* the old units still have everything, the open one stays open */
    fe_seg_forget_range(s, leb, 0, top);
    bool has_log = o && o->kind != OPEN_APPEND;
    if (o)
        o->kind = OPEN_NOT;
    st = replace_data(s, leb, unit);
    return st == FE_OK && has_log ? fe_unit_release(&s->units, o->unit) : st;
}

enum fe_status fe_seg_close(struct segment *s, struct open_unit *o)
{
    enum fe_status st = FE_OK;
    if (o->kind != OPEN_APPEND) {
        fe_units_barrier(&s->units);
        st = o->in_order && s->switch_merge ? merge_in_place(s, o) : merge_full(s, o->leb, o);
        fe_units_barrier(&s->units);
    } else {
        o->kind = OPEN_NOT;
    }
    return st;
}

enum fe_status fe_seg_merge(struct segment *s, fe_leb leb)
{
    struct open_unit *o = fe_seg_find_open(s, leb);
    fe_units_barrier(&s->units);
    enum fe_status st = merge_full(s, leb, o);
    fe_units_barrier(&s->units);
    return st;
}

enum fe_status fe_seg_make_scatter_room(struct segment *s, fe_leb leb)
{
    while (!fe_scatter_has_room(&s->scatter, leb)) {
        fe_leb first = fe_scatter_oldest_group(&s->scatter);
        s->base.counters.gc_runs++;
        for (fe_leb l = first; l < s->n_lebs && l - first < s->scatter.group_units; l++) {
            enum fe_status st = seg_top(s, fe_seg_find_open(s, l), l) ? fe_seg_merge(s, l) : FE_OK;
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
