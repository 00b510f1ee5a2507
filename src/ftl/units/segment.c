/* SPDX-License-Identifier: BSD-3-Clause
 *
 * segment: allocation units with a few of them open, as in most USB sticks and SD cards.
 *
 * The map knows whole allocation units (AUs) only (unit_map.h).  A data unit that has room is
 * appended to.  Every other write goes to an open unit besides the data unit, which is a log of
 * this one AU.  There are only a few open units, of two sorts:
 *
 *   linear   takes the AU's pages in order, from the first page on.  When it is full, it becomes
 *            the data unit (switch merge).  When it is closed before, the rest is copied behind
 *            its pages (partial merge).
 *   random   takes pages in any order.  When it is full or closed, the newest copy of every page
 *            is copied to a new unit (full merge), unless its pages happen to be in order.
 *
 *     data unit   | 0 1 2 3 4 5 6 7 |           | 0 1 2 3 4 5 6 7 |
 *     open unit   | 0'1'2'  >                   | 5'2'5"  >
 *                   linear: takes 3 next          random: takes any page
 *
 * When a write needs one more open unit than the device has, the unit that was used longest ago is
 * closed.  That is the cliff which flashbench's open-AU test finds.  Some controllers have so many
 * logs in all, whatever is in them (open_units).  A unit that had to be closed before it was full
 * is a random one when the host comes back to it, so without such a limit it finds room there.
 *
 * A log for any order may be smaller than the AU (random_log).  Then it is merged several times
 * while the host writes the AU once.  Some controllers keep a record of each command there, with a
 * head that says what it wrote, and begin each record in a row of its own (random_record):
 *
 *     commands of 1, 3 and 4 pages      | h 5 - - | h 8 9 10 | h 0 1 2 | 3 - - - |
 *                                         h: the head    -: padding
 *
 * So short commands fill the log as fast as longer ones do, and a command of just a row takes two.
 *
 * On some controllers the logs are a fixed area (switch_merge off), and a log can never become
 * data.  Then an overwritten unit always costs a copy of itself, and a fresh unit costs nothing.
 * That is the difference between a fresh stick and one that has been filled.
 *
 * A page that is written in part takes a whole page of the log.  When commands end inside a page, a
 * stream programs more pages than the unit has.  So its log overflows, and the unit is merged
 * twice: that is what a misaligned partition costs.
 *
 * There may be a small-write log (shared_log.h).  Commands of at most small_write bytes go there
 * page by page, and so does everything in a certain zone of units.  When the log is full, the units
 * are merged whose pages its oldest part holds.  That is cheap for a few busy sectors and expensive
 * for large amounts of data, which is how cards treat the surroundings of the FAT.  With small_pace
 * its oldest part is given up gradually, so that no write waits for all of these merges.
 *
 *     command    small, or in the zone ---> small log ---+
 *                any other ---> open unit <--------------+  small_join: a page that is complete
 *
 * With small_join, small writes in sequence leave the small log again: the write that reaches the
 * end of a page takes the whole page to the linear unit that waits for it.
 *
 * Units may be smaller than the AU that the device shows.  Then several units are a group
 * (scatter.h), of which one is open at a time.  A write in the middle of an AU costs one small
 * unit, and a write to one AU more than there is room for costs a copy of a whole AU.
 */
#include "ftl/units/segment_core.h"
#include "ftl/units/unit_recover.h"

#include <errno.h>
#include <stdlib.h>

/* Appends a page to an open unit, which has room for it. */
static enum fe_status append(struct segment *s, struct open_unit *o, uint32_t page, uint32_t off,
                             uint32_t len, const void *data)
{
    enum fe_tag tag = o->kind == OPEN_APPEND ? FE_TAG_DATA : FE_TAG_LOG;
    o->in_order = o->in_order && fe_seg_fill(s, o) == page;
    return fe_unit_map_append(&s->map, o->unit, tag,
                              fe_unit_map_lpn(&s->map, o->leb, page), off, len, data);
}

/* The number of pages from the end of what the unit holds to the next multiple of a record. */
static uint32_t to_next_record(const struct segment *s, const struct open_unit *o)
{
    uint32_t beyond = fe_seg_fill(s, o) % s->record_pages;
    return beyond ? s->record_pages - beyond : 0;
}

/* The number of pages that the unit, open in any order, takes in front of the next one that the
 * command writes to it. */
static uint32_t record_head(const struct segment *s, const struct open_unit *o)
{
    return s->record_pages && o->record != s->command ? to_next_record(s, o) + 1 : 0;
}

/* Appends n pages that nobody reads to an open unit, as far as it has room for them. */
static enum fe_status pad(struct segment *s, struct open_unit *o, uint32_t n)
{
    enum fe_status st = FE_OK;
    o->in_order = o->in_order && n == 0;
    for (; n > 0 && st == FE_OK && !fe_unit_is_full(&s->map.units, o->unit); n--)
        st = fe_unit_append(&s->map.units, o->unit, FE_LPN_NONE, FE_TAG_LOG, FE_PPN_NONE, 0, 0,
                            NULL);
    return st;
}

/* As append, to a unit that is open in any order: with what belongs to the command's record. */
static enum fe_status append_random(struct segment *s, struct open_unit *o, uint32_t page,
                                    uint32_t off, uint32_t len, const void *data)
{
    enum fe_status st = pad(s, o, record_head(s, o));
    o->record = s->command;
    if (st == FE_OK)
        st = append(s, o, page, off, len, data);
    bool ends = s->record_pages && fe_unit_map_lpn(&s->map, o->leb, page) == s->command_last;
    return st == FE_OK && ends ? pad(s, o, to_next_record(s, o)) : st;
}

static bool is_linear(enum open_kind kind)
{
    return kind == OPEN_APPEND || kind == OPEN_LINEAR;
}

/* What make_room counts. */
enum sort { SORT_LINEAR, SORT_RANDOM, SORT_ANY };

static bool is_of_sort(const struct open_unit *o, enum sort sort)
{
    return o->kind != OPEN_NOT &&
           (sort == SORT_ANY || is_linear(o->kind) == (sort == SORT_LINEAR));
}

/* Makes room for one more open unit of this sort: if there are as many as allowed, closes the one
 * that was used longest ago. */
static enum fe_status make_room(struct segment *s, enum sort sort)
{
    const uint32_t max[] = {[SORT_LINEAR] = s->max_linear, [SORT_RANDOM] = s->max_random,
                            [SORT_ANY] = s->max_open};
    uint32_t n = 0;
    struct open_unit *oldest = NULL;
    for (uint32_t i = 0; i < s->n_open_max; i++) {
        struct open_unit *o = &s->open[i];
        if (!is_of_sort(o, sort))
            continue;
        n++;
        if (!oldest || o->used < oldest->used)
            oldest = o;
    }
    return n < max[sort] ? FE_OK : fe_seg_close(s, oldest);
}

/* Opens a unit of this leb, which has none. */
static enum fe_status open_as(struct segment *s, fe_leb leb, enum open_kind kind,
                              struct open_unit **ret)
{
    enum fe_status st = make_room(s, is_linear(kind) ? SORT_LINEAR : SORT_RANDOM);
    if (st == FE_OK)
        st = make_room(s, SORT_ANY); /* closes nothing if the unit closed just now was enough */
    if (st != FE_OK)
        return st;
    struct open_unit *o = s->open;
    while (o->kind != OPEN_NOT)
        o++;
    assert(o < s->open + s->n_open_max);

    uint32_t log = (uint32_t)(o - s->open);
    uint32_t unit = kind == OPEN_APPEND ? fe_unit_map_data_unit(&s->map, leb)
                                        : fe_unit_map_open_log(&s->map, log);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    *o = (struct open_unit){.kind = kind, .in_order = true, .leb = leb, .unit = unit};
    *ret = o;
    return FE_OK;
}

/* As what to open a unit for a write that begins at this page. */
static enum open_kind choose_kind(const struct segment *s, fe_leb leb, uint32_t page)
{
    if (fe_unit_map_reaches(&s->map, fe_unit_map_fill(&s->map, leb), page))
        return OPEN_APPEND;
    return s->map.switch_merge && fe_unit_map_reaches(&s->map, 0, page) ? OPEN_LINEAR
                                                                        : OPEN_RANDOM;
}

/* Whether a unit that is open in any order, or is going to be, has no room for one more page. */
static bool is_full_in_any_order(const struct segment *s, const struct open_unit *o)
{
    return fe_seg_fill(s, o) + record_head(s, o) >= s->random_pages;
}

static bool is_full(const struct segment *s, const struct open_unit *o)
{
    return o->kind == OPEN_RANDOM ? is_full_in_any_order(s, o)
                                  : fe_unit_is_full(&s->map.units, o->unit);
}

/* Whether the open unit can take this page without being closed first. */
static bool accepts(const struct segment *s, const struct open_unit *o, uint32_t page)
{
    uint32_t fill = fe_seg_fill(s, o);
    return !is_full(s, o) &&
           (o->kind == OPEN_RANDOM || fe_unit_map_reaches(&s->map, fill, page));
}

/* The open unit does not accept the page that comes next.  If it is linear, holds less than a
 * random one takes, and random units are allowed, it goes on as a random one with what it holds.
 * In all other cases it is closed, and *o is NULL. */
static enum fe_status leave_linear(struct segment *s, struct open_unit **o)
{
    if ((*o)->kind != OPEN_LINEAR || s->max_random == 0 || is_full_in_any_order(s, *o)) {
        enum fe_status st = fe_seg_close(s, *o);
        *o = NULL;
        return st;
    }
    enum fe_status st = make_room(s, SORT_RANDOM);
    (*o)->kind = OPEN_RANDOM;
    return st;
}

static enum fe_status small_write(struct segment *s, fe_lpn lpn, uint32_t off, uint32_t len,
                                  const void *data)
{
    enum fe_status st = fe_shared_log_make_room(&s->small, fe_seg_merge);
    return st != FE_OK ? st : fe_shared_log_append(&s->small, lpn, off, len, data);
}

static void seg_set_delays(struct fe_ftl *ftl, const struct fe_ftl_params *p)
{
    fe_costs_set_delays(&seg_of(ftl)->costs, p);
}

/* Data bytes of a unit, or of a group of units. */
static uint64_t group_bytes(const struct segment *s)
{
    return (uint64_t)s->map.units.unit_pages * s->scatter.group_units *
           s->map.base.medium->geo.page_bytes;
}

static void seg_begin_command(struct fe_ftl *ftl, bool write, uint64_t offset, uint64_t len)
{
    struct segment *s = seg_of(ftl);
    fe_costs_begin(&s->costs, ftl->medium->ops, write, offset, len);
    s->command++;
    s->command_last = (fe_lpn)((offset + len - 1) / ftl->medium->geo.page_bytes);
    s->command_is_small = write && len <= s->small_write;
    s->command_group = FE_LEB_NONE;
}

/* Whether a small write goes to the linear unit of the leb (small_join).  Either it completes a
 * page whose beginning is in the small log and which the unit accepts, or it is all of the page
 * that the unit gets next. */
static bool joins(const struct segment *s, const struct open_unit *o, fe_leb leb, uint32_t page,
                  uint32_t off, uint32_t len)
{
    if (!s->small_join || off + len != s->map.base.medium->geo.page_bytes || fe_seg_in_zone(s, leb))
        return false;
    if (o && is_full(s, o))
        o = NULL; /* a full unit is closed by any write */
    if (off == 0)
        return page == (o ? fe_seg_fill(s, o) : 0) && (!o || o->kind != OPEN_RANDOM);
    if (!fe_shared_log_holds(&s->small, fe_unit_map_lpn(&s->map, leb, page)))
        return false;
    return o ? accepts(s, o, page) : choose_kind(s, leb, page) != OPEN_RANDOM;
}

/* Opens a unit for a write that begins at this page, and makes the room that this takes. */
static enum fe_status open_unit_for(struct segment *s, fe_leb leb, uint32_t page,
                                    struct open_unit **ret)
{
    enum fe_status st = fe_seg_close_neighbours(s, leb);
    if (st == FE_OK && choose_kind(s, leb, page) != OPEN_APPEND)
        st = fe_seg_make_scatter_room(s, leb);
    return st != FE_OK ? st : open_as(s, leb, choose_kind(s, leb, page), ret);
}

/* Counts the command once for each group that it writes to, where commands count. */
static void note_group(struct segment *s, fe_leb leb)
{
    if (!s->scatter.hot)
        return;
    fe_leb group = leb / s->scatter.group_units;
    if (group != s->command_group)
        fe_scatter_written(&s->scatter, leb);
    s->command_group = group;
}

static enum fe_status seg_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                const void *data)
{
    struct segment *s = seg_of(ftl);
    fe_leb leb = fe_unit_map_leb(&s->map, lpn);
    uint32_t page = lpn - fe_unit_map_lpn(&s->map, leb, 0);
    struct open_unit *o = fe_seg_find_open(s, leb);
    fe_costs_page(&s->costs, ftl->medium->ops, true, lpn, len);
    note_group(s, leb);
    if (s->small.n_max && (s->command_is_small || fe_seg_in_zone(s, leb)) &&
        !joins(s, o, leb, page, off, len))
        return small_write(s, lpn, off, len, data);

    enum fe_status st = FE_OK;
    if (o && !accepts(s, o, page))
        st = leave_linear(s, &o);
    if (st == FE_OK && !o)
        st = open_unit_for(s, leb, page, &o);
    if (st != FE_OK)
        return st;

    o->used = ++s->tick;
    if (o->kind == OPEN_RANDOM)
        return append_random(s, o, page, off, len, data);
    st = fe_unit_map_fill_gap(&s->map, leb, o->unit, page, FE_TAG_COPY);
    return st != FE_OK ? st : append(s, o, page, off, len, data);
}

static enum fe_status seg_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                               void *buf)
{
    fe_costs_page(&seg_of(ftl)->costs, ftl->medium->ops, false, lpn, len);
    return fe_unit_map_read(ftl, lpn, off, len, buf);
}

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

/* The life that the device has had before, unit by unit.
 *
 * A new device that is written in order has nothing to merge.  Each unit is opened, appended to
 * until it is full, and left when another one needs its place:
 *
 *     written   | 0 1 2 3 | 4 5 6 7 | 8 9 . . | . . . . |
 *     open        -         append    append                 (room for two)
 *
 * So a unit is opened here as for any write, and gets its pages at once.  What is left over goes
 * the usual way: what is left of a unit, the zone whose writes go to the small log, and a chip that can
 * fail or is kept in an image.
 */
static fe_lpn seg_fill(struct fe_ftl *ftl, fe_lpn first, fe_lpn end)
{
    struct segment *s = seg_of(ftl);
    uint32_t pages = s->map.units.unit_pages;
    fe_leb leb = fe_unit_map_leb(&s->map, first);
    struct open_unit *o;
    if (first != fe_unit_map_lpn(&s->map, leb, 0) || end - first < pages || !can_fill(s) ||
        (s->small.n_max && fe_seg_in_zone(s, leb)))
        return 0;
    fe_costs_fill(&s->costs, first, pages);
    note_group(s, leb);
    if (open_unit_for(s, leb, 0, &o) != FE_OK)
        return 0; /* and the write that follows will hear why */
    s->tick += pages;
    o->used = s->tick;
    program_unit(s, o->unit, first);
    return pages;
}

/* The number of units that logs and one merge can occupy besides the data units. */
static uint32_t spare_units(const struct fe_ftl_params *p)
{
    return p->segment.open_linear + p->segment.open_random + p->segment.small_log + 1;
}

/* Bytes in pages: at least one, and at most `most`; `zero` if there are none. */
static uint32_t some_pages(uint64_t bytes, const struct fe_geometry *geo, uint32_t most,
                           uint32_t zero)
{
    return bytes == 0 ? zero
                      : (uint32_t)fe_min_u64(fe_max_u64(bytes / geo->page_bytes, 1), most);
}

/* Whether the keys of units open in any order go together; with a message if not. */
static bool can_be_random(const struct fe_segment_params *p, const struct fe_geometry *geo,
                          uint32_t unit_pages, struct fe_err *err)
{
    uint32_t pages = some_pages(p->random_log, geo, unit_pages, unit_pages);
    uint32_t record = some_pages(p->random_record, geo, UINT32_MAX, 0);
    if (record == 0 || (pages >= 2 && pages >= record))
        return true;
    fe_err_set(err, EINVAL,
               "ftl.random_record=%llu: a unit open in any order takes %u pages of %u bytes, but "
               "has to take one record, and at least 2 pages; a smaller random_record, or a larger "
               "random_log or unit_size",
               (unsigned long long)p->random_record, pages, geo->page_bytes);
    return false;
}

/* Whether the small log has the units that other keys need; with a message if not. */
static bool small_log_is_enough(const struct fe_segment_params *p, struct fe_err *err)
{
    if (p->small_log == 0 && (p->small_write || p->zone_units))
        return fe_no_pages(err, "ftl.small_write=%llu ftl.zone_units=%u: need ftl.small_log >= 1",
                                (unsigned long long)p->small_write, p->zone_units);
    if (p->small_log < 2 && p->small_pace)
        return fe_no_pages(err, "ftl.small_pace=%u ftl.small_log=%u: need small_log >= 2, because "
                                "one unit is given up while another one takes pages; or "
                                "small_pace=at-once", p->small_pace, p->small_log);
    return true;
}

static uint64_t seg_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                             struct fe_err *err)
{
    uint32_t pages = fe_units_pages(geo, p->unit.unit_size, err);
    if (pages == 0 || !can_be_random(&p->segment, geo, pages, err) ||
        !small_log_is_enough(&p->segment, err))
        return 0;
    if (p->segment.open_linear == 0 || (p->segment.open_random == 0 && !p->unit.switch_merge))
        return fe_no_pages(err, "ftl.open_linear=%u ftl.open_random=%u ftl.switch_merge=%s: "
                                "segment needs open_linear >= 1, and open_random >= 1 unless "
                                "switch_merge=yes", p->segment.open_linear, p->segment.open_random,
                                p->unit.switch_merge ? "yes" : "no");
    uint32_t units = fe_units_count(geo, pages), spare = spare_units(p);
    if (units <= spare)
        return fe_no_pages(err, "ftl.unit_size=%llu: the chip has %u units, but open_linear=%u, "
                                "open_random=%u and small_log=%u need %u besides the data; fewer "
                                "of them or smaller units", (unsigned long long)p->unit.unit_size,
                                units, p->segment.open_linear, p->segment.open_random,
                                p->segment.small_log, spare);
    return (uint64_t)(units - spare) * pages;
}

static void seg_fini(struct fe_ftl *ftl)
{
    free(seg_of(ftl)->open);
    fe_scatter_fini(&seg_of(ftl)->scatter);
    fe_unit_map_fini(ftl);
}

/* As fe_scatter.is_busy. */
static bool is_busy(const void *ctx, fe_leb leb)
{
    const struct segment *s = ctx;
    const struct open_unit *o = fe_seg_find_open(s, leb);
    return o && !is_full(s, o);
}

static int init_scatter(struct segment *s, const struct fe_segment_params *p, struct fe_err *err)
{
    struct fe_scatter as = {.group_units = p->group_units, .switching = p->group_switch,
                            .max = p->scattered, .stay = p->scattered_stay,
                            .more = p->scattered_stay ? s->n_open_max : 0,
                            .hot = p->scattered_hot,
                            .n_lebs = s->map.n_lebs,
                            .is_busy = is_busy, .ctx = s};
    return fe_scatter_init(&s->scatter, &as, err);
}

static int init(struct segment *s, const struct fe_ftl_params *params, struct fe_err *err)
{
    const struct fe_segment_params *p = &params->segment;
    s->n_open_max = p->open_linear + p->open_random;
    s->max_linear = p->open_linear;
    s->max_random = p->open_random;
    s->max_open = p->open_units ? p->open_units : UINT32_MAX;
    const struct fe_geometry *geo = &s->map.base.medium->geo;
    s->random_pages =
        some_pages(p->random_log, geo, s->map.units.unit_pages, s->map.units.unit_pages);
    s->record_pages = some_pages(p->random_record, geo, UINT32_MAX, 0);
    if (s->max_random == 0) /* a linear unit has to take every page that is still ahead of it */
        s->map.reach = s->map.units.unit_pages;
    s->small_write = p->small_write;
    s->small_join = p->small_join;
    s->small = (struct fe_shared_log){
        .map = &s->map, .first = s->n_open_max, .n_max = p->small_log, .pace = p->small_pace};
    s->zone_start = p->zone_start;
    s->zone_units = p->zone_units;
    s->open = calloc(s->n_open_max, sizeof *s->open);
    if (!s->open)
        return fe_err_nomem(err, "open units", s->n_open_max * sizeof *s->open);
    int r = init_scatter(s, p, err);
    if (r == 0)
        fe_costs_init(&s->costs, params, geo->page_bytes, group_bytes(s));
    return r;
}

static int seg_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                     struct fe_err *err)
{
    struct segment *s = seg_of(ftl);
    int r = fe_unit_map_init(&s->map, p, spare_units(p) - 1, err);
    if (r == 0)
        r = init(s, p, err);
    return r == 0 && used ? fe_units_recover(&s->map, err) : r;
}

const struct fe_ftl_ops fe_ftl_segment = {
    .name = "segment",
    .summary = "allocation units, a few of them open (USB sticks, SD cards)",
    .max_lpns = seg_max_lpns,
    .size = sizeof(struct segment),
    .start = seg_start,
    .fini = seg_fini,
    .may_hold = fe_units_may_hold,
    .read = seg_read,
    .locate = fe_unit_map_where,
    .write = seg_write,
    .fill = seg_fill,
    .begin_command = seg_begin_command,
    .set_delays = seg_set_delays,
    .free_blocks = fe_unit_map_free_blocks,
    .check = fe_seg_check,
};
