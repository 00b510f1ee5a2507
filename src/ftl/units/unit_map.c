/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Merges go through a small memory.  A controller with room for two pages reads two pages,
 * programs them when both have been read, and reads on when both have been programmed:
 *
 *     read     0 1 . . . . 2 3 . . . .
 *     program  . . 0 . 1 . . . 2 . 3 .
 *
 * Because of this rhythm a merge is slower than the same pages written by the host.  A copy that
 * stays on its die (nand.copyback) needs no memory, so it is read when it is its turn to be
 * programmed.
 *
 * A controller may need time of its own for each page that it copies (copy_page_ns), because it
 * corrects the page and writes its map anew, or because nothing overlaps.  It takes this time
 * between the reads and the programs of a buffer:
 *
 *     read     0 1 . . . . . . 2 3 . . . . . .
 *     busy     . . # # . . . . . . # # . . . .
 *     program  . . . . 0 . 1 . . . . . 2 . 3 .
 *
 * (flashbench: a card that copies 512 KiB for a small random write needs 50 ms for that, where the
 * host writes as much in 30 ms.)
 *
 * The table of newer copies is a plain array over all logical pages, four bytes each.  A controller
 * keeps a small table for its logs and searches it.  The result is the same, and here it costs one
 * load.
 *
 * Not modelled: the pages on the chip in which a controller keeps this map, and partial page
 * programs (NOP > 1), with which old controllers wrote a data unit in any order.
 */
#include "ftl/units/unit_map.h"

#include "base/table.h"
#include "nand/series.h"

#include <stdlib.h>
#include <string.h>

void fe_unit_map_fini(struct fe_ftl *ftl)
{
    struct fe_unit_map *map = (struct fe_unit_map *)ftl;
    fe_units_fini(&map->units);
    free(map->data);
    free(map->newer);
    free(map->logs);
    free(map->buffer);
}

int fe_unit_map_init(struct fe_unit_map *map, const struct fe_ftl_params *p, uint32_t n_logs,
                     struct fe_err *err)
{
    struct fe_medium *m = map->base.medium;
    uint32_t pages = fe_units_pages(&m->geo, p->unit.unit_size, err);
    map->by_pages = fe_fastdiv_init(pages);
    map->n_lebs = (uint32_t)fe_div_up(map->base.n_lpns, pages);
    map->n_logs = n_logs;
    map->reach = p->unit.gap_fill;
    map->switch_merge = p->unit.switch_merge;
    map->copy_buffer = p->unit.copy_buffer < pages ? p->unit.copy_buffer : pages;
    map->copy_page_ns = p->unit.copy_page_ns;
    assert(map->copy_buffer > 0);

    uint32_t n_newer = map->n_lebs * pages;
    map->data = malloc(map->n_lebs * sizeof *map->data);
    map->newer = fe_table_alloc(n_newer, sizeof *map->newer);
    map->logs = malloc((map->n_logs + 1ull) * sizeof *map->logs);
    map->buffer = calloc(map->copy_buffer, sizeof *map->buffer);
    if (!map->data || !map->newer || !map->logs || !map->buffer)
        return fe_err_nomem(err, "map of units", (map->n_lebs + n_newer + map->n_logs) * 4ull);
    memset(map->data, 0xff, map->n_lebs * sizeof *map->data);
    memset(map->logs, 0xff, map->n_logs * sizeof *map->logs);
    return fe_units_init(&map->units, m, pages, err);
}

enum fe_status fe_unit_map_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                void *buf)
{
    return fe_read_mapped(ftl->medium, fe_unit_map_where(ftl, lpn), off, len, buf);
}

fe_ppn fe_unit_map_where(const struct fe_ftl *ftl, fe_lpn lpn)
{
    return fe_unit_map_locate((const struct fe_unit_map *)ftl, lpn);
}

uint32_t fe_unit_map_free_blocks(const struct fe_ftl *ftl)
{
    const struct fe_unit_map *map = (const struct fe_unit_map *)ftl;
    return map->units.n_free * map->units.blocks_per_unit;
}

uint32_t fe_unit_map_top(const struct fe_unit_map *map, fe_leb leb)
{
    uint32_t top = map->units.unit_pages, fill = fe_unit_map_fill(map, leb);
    fe_lpn first = fe_unit_map_lpn(map, leb, 0);
    while (top > fill && fe_unit_map_newer(map, first + top - 1) == FE_PPN_NONE)
        top--;
    return top;
}

uint32_t fe_unit_map_open_log(struct fe_unit_map *map, uint32_t i)
{
    assert(map->logs[i] == FE_UNIT_NONE);
    map->logs[i] = fe_unit_alloc(&map->units);
    return map->logs[i];
}

enum fe_status fe_unit_map_append(struct fe_unit_map *map, uint32_t unit, enum fe_tag tag,
                                  fe_lpn lpn, uint32_t off, uint32_t len, const void *data)
{
    fe_leb leb = fe_unit_map_leb(map, lpn);
    fe_ppn base = FE_PPN_NONE; /* not needed for a whole page */
    if (len < map->base.medium->geo.page_bytes)
        base = fe_unit_map_find(map, leb, lpn - fe_unit_map_lpn(map, leb, 0));
    fe_ppn ppn = fe_unit_next_ppn(&map->units, unit);
    enum fe_status st = fe_unit_append(&map->units, unit, lpn, (uint8_t)tag, base, off, len, data);
    if (st == FE_OK)
        fe_unit_map_set_newer(map, lpn, unit == map->data[leb] ? FE_PPN_NONE : ppn);
    return st;
}

/* Reads the n pages of the leb that the unit gets next into the buffer, and takes the controller's
 * time for them.  What follows starts when all of that has ended. */
static void fill_buffer(struct fe_unit_map *map, fe_leb leb, uint32_t unit, uint32_t n)
{
    uint32_t page = map->units.fill[unit];
    uint64_t busy_ns = 0;
    for (uint32_t i = 0; i < n; i++, page++) {
        struct fe_in_copy *in = &map->buffer[i];
        *in = (struct fe_in_copy){.from = fe_unit_map_find(map, leb, page),
                                  .to = fe_unit_ppn(&map->units, unit, page)};
        if (in->from != FE_PPN_NONE &&
            !fe_medium_is_copyback(map->base.medium, in->from, in->to)) {
            in->held = fe_medium_hold(map->base.medium, in->from);
            in->is_held = true;
        }
        if (in->from != FE_PPN_NONE)
            busy_ns = fe_time_add(busy_ns, map->copy_page_ns);
    }
    if (busy_ns)
        fe_ops_busy(map->base.medium->ops, busy_ns); /* a barrier as well */
    else
        fe_units_barrier(&map->units);
}

static enum fe_status append_copy(struct fe_unit_map *map, uint32_t unit, fe_lpn lpn, uint8_t tag,
                                  const struct fe_in_copy *in)
{
    struct fe_medium *m = map->base.medium;
    bool is_padding = in->from == FE_PPN_NONE;
    enum fe_status st = in->is_held
        ? fe_medium_prog_held(m, in->to, lpn, tag, in->held)
        : fe_medium_prog(m, in->to, is_padding ? FE_LPN_NONE : lpn, tag, in->from, 0, 0, NULL);
    map->units.fill[unit] += st == FE_OK;
    map->base.counters.pages_copied += st == FE_OK && !is_padding;
    return st;
}

/* How many pages of the leb from `page` on, below `to`, are a row (nand/series.h): the data unit alone
 * has them, they lie in one block, and none of them is padding.  A unit on one die has its pages
 * one behind the other. */
static uint32_t row_at(const struct fe_unit_map *map, fe_leb leb, uint32_t page, uint32_t to)
{
    const struct fe_medium *m = map->base.medium;
    uint32_t fill = fe_unit_map_fill(map, leb), in_block = m->geo.pages_per_block;
    if (page >= fill || !fe_chip_is_bare(&m->chip))
        return 0;
    uint64_t most = fe_min_u64(in_block - page % in_block, fe_min_u64(to, fill) - page);
    const struct fe_mapping *newer = &map->newer[fe_unit_map_lpn(map, leb, page)];
    fe_ppn from = fe_unit_ppn(&map->units, map->data[leb], page);
    uint32_t n = 0;
    while (n < most && fe_mapped(newer[n]) == FE_PPN_NONE &&
           fe_medium_lpn(m, from + n) != FE_LPN_NONE)
        n++;
    return n;
}

/* What copy_up_to copies, in series. */
struct in_series {
    struct fe_unit_map *map;
    fe_leb leb;
    uint32_t unit, to;
    enum fe_tag tag, last_tag;
    bool is_merge;
    struct fe_series series;
};

static void note_copies(const struct in_series *c, uint32_t page, uint32_t n)
{
    struct fe_unit_map *map = c->map;
    fe_lpn lpn = fe_unit_map_lpn(map, c->leb, page);
    bool is_data = c->unit == map->data[c->leb];
    map->base.counters.pages_copied += n;
    for (uint32_t i = 0; !c->is_merge && i < n; i++)
        fe_unit_map_set_newer(map, lpn + i,
                              is_data ? FE_PPN_NONE : fe_unit_ppn(&map->units, c->unit, page + i));
}

/* The n pages that the unit gets next, which are a row. */
static void copy_row(struct in_series *c, uint32_t n)
{
    struct fe_unit_map *map = c->map;
    uint32_t page = map->units.fill[c->unit];
    const struct fe_series_row row = {
        .from = fe_unit_ppn(&map->units, map->data[c->leb], page),
        .to = fe_unit_ppn(&map->units, c->unit, page),
        .n = n,
        .buffer = map->copy_buffer,
        .lpn = fe_unit_map_lpn(map, c->leb, page),
        .tag = (uint8_t)c->tag,
        .last_tag = (uint8_t)(page + n == c->to ? c->last_tag : c->tag),
    };
    fe_series_copy(map->base.medium, &c->series, &row);
    c->series.cell_ns = fe_time_add(c->series.cell_ns, fe_time_mul(map->copy_page_ns, n));
    map->units.fill[c->unit] += n;
    note_copies(c, page, n);
}

static void copy_page(struct in_series *c, fe_ppn from)
{
    struct fe_unit_map *map = c->map;
    struct fe_medium *m = map->base.medium;
    uint32_t page = map->units.fill[c->unit];
    bool is_padding = from == FE_PPN_NONE;
    if (!is_padding && m->copyback)
        fe_series_read(m, &c->series, from);
    fe_series_prog(m, &c->series, from, fe_unit_ppn(&map->units, c->unit, page),
                is_padding ? FE_LPN_NONE : fe_unit_map_lpn(map, c->leb, page),
                (uint8_t)(page + 1 == c->to ? c->last_tag : c->tag));
    map->units.fill[c->unit]++;
    if (!is_padding) {
        c->series.cell_ns = fe_time_add(c->series.cell_ns, map->copy_page_ns);
        note_copies(c, page, 1);
    }
}

/* The n pages that the unit gets next, through the buffer, which they fit into. */
static void copy_through_buffer(struct in_series *c, uint32_t n)
{
    struct fe_unit_map *map = c->map;
    struct fe_medium *m = map->base.medium;
    uint32_t page = map->units.fill[c->unit];
    fe_series_barrier(m);
    for (uint32_t i = 0; i < n; i++) {
        map->buffer[i].from = fe_unit_map_find(map, c->leb, page + i);
        if (map->buffer[i].from != FE_PPN_NONE && !m->copyback)
            fe_series_read(m, &c->series, map->buffer[i].from);
    }
    for (uint32_t i = 0; i < n; i++)
        copy_page(c, map->buffer[i].from);
}

/* Buffer by buffer, or many buffers as a row. */
static void copy_in_series(struct in_series *c)
{
    struct fe_unit_map *map = c->map;
    uint32_t page, n;
    while ((page = map->units.fill[c->unit]) < c->to) {
        n = row_at(map, c->leb, page, c->to);
        if (page + n < c->to)
            n -= n % map->copy_buffer;
        if (n > 0)
            copy_row(c, n);
        else
            copy_through_buffer(c, (uint32_t)fe_min_u64(c->to - page, map->copy_buffer));
    }
    fe_series_end(map->base.medium, &c->series);
}

/* Copies the newest pages of the leb behind what the unit holds, up to page `to`.  In a merge the
 * last copy of FE_TAG_MERGE gets FE_TAG_MERGE_END.  Otherwise the unit stays what it is, and each
 * copy is the newest one from now on.  No barrier follows the last program.  At an error the unit's
 * fill says how many pages were copied. */
static enum fe_status copy_up_to(struct fe_unit_map *map, fe_leb leb, uint32_t unit, uint32_t to,
                                 enum fe_tag tag, bool is_merge)
{
    enum fe_tag last_tag = is_merge && tag == FE_TAG_MERGE ? FE_TAG_MERGE_END : tag;
    bool is_data = unit == map->data[leb];
    if (fe_series_allowed(map->base.medium)) {
        copy_in_series(&(struct in_series){map, leb, unit, to, tag, last_tag, is_merge, {0}});
        return FE_OK;
    }
    while (map->units.fill[unit] < to) {
        uint32_t page = map->units.fill[unit], left = to - page;
        uint32_t n = left < map->copy_buffer ? left : map->copy_buffer;
        fe_units_barrier(&map->units);
        fill_buffer(map, leb, unit, n);
        for (uint32_t i = 0; i < n; i++, page++) {
            const struct fe_in_copy *in = &map->buffer[i];
            fe_lpn lpn = fe_unit_map_lpn(map, leb, page);
            enum fe_status st =
                append_copy(map, unit, lpn, (uint8_t)(page + 1 == to ? last_tag : tag), in);
            if (st != FE_OK)
                return st;
            if (!is_merge && in->from != FE_PPN_NONE)
                fe_unit_map_set_newer(map, lpn, is_data ? FE_PPN_NONE : in->to);
        }
    }
    return FE_OK;
}

enum fe_status fe_unit_map_copy_gap(struct fe_unit_map *map, fe_leb leb, uint32_t unit,
                                    uint32_t to, enum fe_tag tag)
{
    enum fe_status st = copy_up_to(map, leb, unit, to, tag, false);
    fe_units_barrier(&map->units);
    return st;
}

/* The unit, which holds the whole leb, becomes its data unit. */
static enum fe_status replace_data(struct fe_unit_map *map, fe_leb leb, uint32_t unit)
{
    uint32_t old = map->data[leb];
    map->data[leb] = unit;
    return old == FE_UNIT_NONE ? FE_OK : fe_unit_release(&map->units, old);
}

enum fe_status fe_unit_map_adopt(struct fe_unit_map *map, fe_leb leb, uint32_t unit,
                                 enum fe_tag tag)
{
    struct fe_mapping *newer = &map->newer[fe_unit_map_lpn(map, leb, 0)];
    uint32_t had = map->units.fill[unit];
    fe_units_barrier(&map->units);
    enum fe_status st = copy_up_to(map, leb, unit, fe_unit_map_top(map, leb), tag, true);
    if (st == FE_OK) {
        for (uint32_t page = 0; page < had; page++)
            if (fe_unit_has(&map->units, unit, fe_mapped(newer[page])))
                newer[page] = fe_mapping(FE_PPN_NONE);
        memset(&newer[had], 0, (map->units.unit_pages - had) * sizeof *newer);
        st = replace_data(map, leb, unit);
    }
    fe_units_barrier(&map->units);
    return st;
}

enum fe_status fe_unit_map_merge_full(struct fe_unit_map *map, fe_leb leb)
{
    uint32_t unit = fe_unit_alloc(&map->units);
    if (unit == FE_UNIT_NONE)
        return FE_NO_SPACE;
    map->base.counters.merges_full++;
    return fe_unit_map_adopt(map, leb, unit, FE_TAG_MERGE);
}

enum fe_status fe_unit_map_close_log(struct fe_unit_map *map, uint32_t i, fe_leb leb,
                                     bool in_order)
{
    struct fe_ftl_counters *c = &map->base.counters;
    uint32_t unit = map->logs[i];
    enum fe_status st;
    if (in_order && map->switch_merge) {
        bool is_whole = map->units.fill[unit] >= fe_unit_map_top(map, leb);
        c->merges_switch += is_whole;
        c->merges_partial += !is_whole;
        st = fe_unit_map_adopt(map, leb, unit, FE_TAG_COPY);
    } else {
        st = fe_unit_map_merge_full(map, leb);
        if (st == FE_OK)
            st = fe_unit_release(&map->units, unit);
    }
    if (st == FE_OK)
        map->logs[i] = FE_UNIT_NONE;
    return st;
}
