/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of rules, and who pays by it.  Only rules that have a time are asked, so a device without
 * any of them pays nothing for the table.
 */
#include "ftl/cost.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* When a rule is paid.  The first three are asked for each command, the others for each page. */
enum when {
    ENDS_INSIDE, /* the command ends inside a piece */
    ENDS_AT,     /* the command ends at the end of a piece */
    JUMPS,       /* the command does not begin where the one before it has ended */
    FIRST_PER_PAGE,
    IN_PART = FIRST_PER_PAGE, /* the command has a part of the page */
    NOT_HELD,                 /* the page does not follow and lies in a piece that is not held */
    CROSSES,                  /* the command goes on into another piece with this page */
};

enum pieces { NO_PIECES, PAGES, TAILS, RESTS, REGIONS, UNITS };

struct fe_cost_rule {
    bool write;
    enum when when;
    enum pieces pieces;
    size_t ns;      /* of struct fe_ftl_params */
    bool by_bytes;  /* the time is that of a whole piece, of which what is left is paid */
    bool once;      /* not again by a command that goes on in the piece that is paid for */
    bool long_only; /* only by commands of more than a piece, and than a page */
    uint64_t over;  /* only by commands of more bytes */
};

#define TIME(f) .ns = offsetof(struct fe_ftl_params, f)

/* In the order in which they are paid. */
static const struct fe_cost_rule rules[] = {
    {true, NOT_HELD, REGIONS, TIME(region.map_switch_ns)},
    {true, IN_PART, PAGES, TIME(part.part_write_ns)},
    {true, IN_PART, PAGES, TIME(part.rest_write_ns), .by_bytes = true},
    {true, ENDS_INSIDE, TAILS, TIME(part.tail_write_ns), .long_only = true},
    {false, ENDS_INSIDE, RESTS, TIME(part.rest_read_ns), .by_bytes = true, .once = true},
    {false, JUMPS, NO_PIECES, TIME(region.stream_read_ns), .over = FE_COST_DIRECT},
    {false, ENDS_AT, UNITS, TIME(segment.end_read_ns)},
    {false, NOT_HELD, REGIONS, TIME(region.map_read_ns)},
    {false, CROSSES, UNITS, TIME(segment.unit_read_ns)},
};

/* Bytes of a piece; 0 if the strategy has no such pieces. */
static uint64_t piece_bytes(const struct fe_costs *c, const struct fe_ftl_params *p, enum pieces of)
{
    switch (of) {
    case TAILS:
        return p->part.tail_align ? p->part.tail_align : c->page_bytes;
    case RESTS:
        return p->part.rest_align ? p->part.rest_align : c->page_bytes;
    case UNITS:
        return c->unit_bytes;
    case REGIONS:
        return fe_max_u64(p->region.map_region, c->page_bytes);
    default:
        return c->page_bytes;
    }
}

void fe_costs_set_delays(struct fe_costs *c, const struct fe_ftl_params *p)
{
    for (int write = 0; write < 2; write++)
        c->side[write].n_commands = c->side[write].n_pages = 0;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const struct fe_cost_rule *r = &rules[i];
        struct fe_cost_side *s = &c->side[r->write];
        struct fe_cost cost = {.rule = r, .align = piece_bytes(c, p, r->pieces), .over = r->over};
        memcpy(&cost.ns, (const char *)p + r->ns, sizeof cost.ns);
        if (cost.ns == 0 || cost.align == 0)
            continue;
        if (r->long_only)
            cost.over = fe_max_u64(cost.align, c->page_bytes);
        if (r->when < FIRST_PER_PAGE)
            s->commands[s->n_commands++] = cost;
        else
            s->pages[s->n_pages++] = cost;
        assert(s->n_commands <= FE_COST_MAX && s->n_pages <= FE_COST_MAX);
    }
}

/* Divides numbers of pages by the pages of so many bytes, at least one. */
static struct fe_fastdiv by_pages(uint64_t bytes, uint32_t page_bytes)
{
    uint64_t pages = fe_max_u64(bytes / page_bytes, 1);
    return fe_fastdiv_init((uint32_t)fe_min_u64(pages, UINT32_MAX));
}

void fe_costs_init(struct fe_costs *c, const struct fe_ftl_params *p, uint32_t page_bytes,
                   uint64_t unit_bytes)
{
    assert(p->region.map_held <= FE_COST_HELD);
    *c = (struct fe_costs){.page_bytes = page_bytes,
                           .max_held = p->region.map_held,
                           .unit_bytes = unit_bytes,
                           .by_region = by_pages(p->region.map_region, page_bytes),
                           .by_unit = by_pages(unit_bytes, page_bytes)};
    for (int write = 0; write < 2; write++) {
        c->side[write].ended = UINT64_MAX;
        c->side[write].last = FE_LPN_NONE;
        c->side[write].piece = UINT32_MAX;
    }
    fe_costs_set_delays(c, p);
}

/* The bytes from the end of [offset, offset + len) to the end of the piece that it ends in. */
static uint64_t rest_of(const struct fe_cost *cost, uint64_t offset, uint64_t len)
{
    return cost->align - 1 - (offset + len - 1) % cost->align;
}

/* Whether a command that begins where the one before has ended lies in the piece of that end. */
static bool goes_on_inside(const struct fe_cost *cost, const struct fe_cost_side *s,
                           uint64_t offset, uint64_t len)
{
    return offset == s->ended && (s->ended - 1) / cost->align == (offset + len - 1) / cost->align;
}

static bool command_pays(const struct fe_cost *cost, const struct fe_cost_side *s, uint64_t offset,
                         uint64_t len)
{
    if (len <= cost->over)
        return false;
    if (cost->rule->when == JUMPS)
        return offset != s->ended;
    if (cost->rule->when == ENDS_AT)
        return rest_of(cost, offset, len) == 0;
    return rest_of(cost, offset, len) > 0 &&
           !(cost->rule->once && goes_on_inside(cost, s, offset, len));
}

void fe_costs_of_command(struct fe_costs *c, struct fe_oplist *ops, bool write, uint64_t offset,
                         uint64_t len)
{
    const struct fe_cost_side *s = &c->side[write];
    for (const struct fe_cost *cost = s->commands; cost < s->commands + s->n_commands; cost++)
        if (command_pays(cost, s, offset, len))
            fe_ops_busy(ops, cost->rule->by_bytes
                                 ? fe_muldiv(cost->ns, rest_of(cost, offset, len), cost->align)
                                 : cost->ns);
}

/* The region becomes the latest one.  Returns whether it was held already. */
static bool touch(struct fe_cost_side *s, uint32_t max_held, uint32_t region)
{
    uint32_t i = 0;
    assert(max_held > 0);
    while (i < s->n_held && s->held[i] != region)
        i++;
    bool held = i < s->n_held;
    if (!held && s->n_held < max_held)
        s->n_held++;
    else if (!held)
        i--; /* the oldest one goes */
    memmove(s->held + 1, s->held, i * sizeof *s->held);
    s->held[0] = region;
    return held;
}

static bool is_not_held(struct fe_costs *c, struct fe_cost_side *s, fe_lpn lpn)
{
    bool follows = s->last != FE_LPN_NONE && lpn == s->last + 1;
    s->last = lpn;
    return !touch(s, c->max_held, fe_fastdiv(lpn, c->by_region)) && !follows;
}

static bool crosses(struct fe_costs *c, struct fe_cost_side *s, fe_lpn lpn)
{
    uint32_t before = s->piece;
    s->piece = fe_fastdiv(lpn, c->by_unit);
    return before != UINT32_MAX && before != s->piece;
}

/* What a page pays by this rule. */
static uint64_t page_ns(struct fe_costs *c, struct fe_cost_side *s, const struct fe_cost *cost,
                        fe_lpn lpn, uint32_t len)
{
    switch (cost->rule->when) {
    case NOT_HELD:
        return is_not_held(c, s, lpn) ? cost->ns : 0;
    case CROSSES:
        return crosses(c, s, lpn) ? cost->ns : 0;
    default:
        if (len == c->page_bytes)
            return 0;
        return cost->rule->by_bytes ? fe_muldiv(cost->ns, c->page_bytes - len, c->page_bytes)
                                    : cost->ns;
    }
}

void fe_costs_of_page(struct fe_costs *c, struct fe_oplist *ops, bool write, fe_lpn lpn,
                      uint32_t len)
{
    struct fe_cost_side *s = &c->side[write];
    for (const struct fe_cost *cost = s->pages; cost < s->pages + s->n_pages; cost++) {
        uint64_t ns = page_ns(c, s, cost, lpn, len);
        if (ns)
            fe_ops_busy(ops, ns);
    }
}

/* Whether anybody asks which regions are held. */
static bool knows_regions(const struct fe_cost_side *s)
{
    uint32_t i = 0;
    while (i < s->n_pages && s->pages[i].rule->when != NOT_HELD)
        i++;
    return i < s->n_pages;
}

void fe_costs_fill(struct fe_costs *c, fe_lpn first, fe_lpn n)
{
    struct fe_cost_side *s = &c->side[true];
    if (n == 0 || !knows_regions(s))
        return;
    uint32_t last = fe_fastdiv(first + n - 1, c->by_region);
    for (uint32_t region = fe_fastdiv(first, c->by_region); region <= last; region++)
        (void)touch(s, c->max_held, region);
    s->last = first + n - 1;
}
