/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a command costs the controller besides its pages: one table of rules, which page and segment
 * ask for each command and each page.  None of it is translation.  (What any command costs on its way is
 * in host/link.h.)
 *
 *     key          of      when                                             pieces of
 *     map_switch   writes  a page lies in a piece that is not held          map_region
 *     part_write   writes  a part of a page is written                      a page
 *     rest_write   writes  the same, for each byte that is left             a page
 *     tail_write   writes  a command ends inside a piece                    tail_align
 *     rest_read    reads   the same, for each byte that is left             rest_align
 *     stream_read  reads   a command does not begin where the last ended
 *     end_read     reads   a command ends at the end of a piece             a unit or group
 *     map_read     reads   a page lies in a piece that is not held          map_region
 *     unit_read    reads   a command goes on into another piece             a unit or group
 *
 * The times go to the op list as barriers: of a command in front of its first page, of a page in front
 * of the page.
 *
 * Pieces that are held.  A cheap controller has room for the map of one region of the device, a better
 * one for several (ftl.map_held).  When a write goes to a region that it does not hold, the controller
 * first stores the part of the map that was used longest ago, and fetches the new one:
 *
 *     writes at     0   1   2   900   3   901      (regions of 256 pages)
 *     region        0   0   0   3     0   3
 *     extra time    #           #     #   #        it holds one region
 *     extra time    #           #                  it holds two
 *
 * Seen from outside, each change of the stream costs a fixed time, whatever the size of the writes.
 * (flashbench: with 2 streams instead of 1, a write takes 0.9 to 2.5 ms longer on cards that have no
 * other limit of open units.)  Reads have parts of the map for themselves: a small read in a new place
 * takes 0.4 to 1 ms on cards whose flash needs 0.05 ms.  So random requests are quick in a range of
 * as many regions as are held; in a range of n times as many, all but one in n of them pay.  A stream
 * that runs across the end of a region pays nothing, because the controller fetches the next part
 * meanwhile.
 *
 * Parts.  The strategies program a whole page for a part of one, with what the page held before.  Some
 * controllers need longer than that: they read the old page into a buffer of its own, or close the
 * buffer that the next command would have filled.
 *
 *     pages       |-------|-------|-------|
 *     a command       [===============]          two parts: twice the time of a part
 *     a command   [===============]              none
 *     a command   [====]                         one part
 *     a command   [===========]                  one part, and a tail
 *
 * The more of a page a command brings, the less has to be read and written again, and some controllers
 * take time in proportion to that.  (flashbench -f: in order a card takes 5.3, 5.2, 4.8, 4.2 and 3.0 ms
 * for 1, 2, 4, 8 and 16 KiB, which is 0.15 ms for each KiB that is left of 16.)
 *
 * Tails.  Some controllers join short commands in order, but stream long ones.  If a stream ends
 * inside a page, or inside a group of pages that are programmed together, it has to be stopped.  What
 * fits into a page or a group is short.  (flashbench: a card behind a USB reader, whose host cuts after
 * 120 KiB, writes pieces of 64 KiB at 6.6 MB/s and larger ones at 4.9 MB/s, and yet joins commands of
 * 4 KiB in order without loss.)
 *
 * What reads fetch.  A controller that reads a part of a page may fetch what is behind it as well, up
 * to the end of the page, before it takes the next command.  A read that goes on where the one before
 * has ended finds there what was fetched:
 *
 *     pages       |-------|-------|-------|
 *     reads        [].....                       most of the time of a page
 *                       [].                      a little of it
 *                       [===]......              what is left of the second page
 *
 * (flashbench -a: in seven of 48 logs the first 1 KiB of 8 or 16 KiB takes 1.2 to 1.6 times as long as
 * the last 1 KiB, and the times between them lie on a line.)
 *
 * A read of more than FE_COST_DIRECT bytes may have to set up a stream, unless it continues the read
 * before.  Such reads wait for each other.
 *
 * If a read goes on into another unit, the controller may fetch the next part of the map, which shows a
 * unit's size from outside.  Some do so even after a read up to the end of a unit, as if they looked
 * for what comes next.  (flashbench -a: six of 48 logs have units of 4 MiB of which the last 1 KiB
 * takes 1.15 to 1.3 times as long as the last 1 KiB of another page, and the first no longer.)
 */
#pragma once

#include "base/num.h"
#include "flashemu/ftl_params.h"
#include "nand/ops.h"

enum { FE_COST_HELD = 256, FE_COST_DIRECT = 4096, FE_COST_MAX = 4 };

/* A rule of the table that has a time. */
struct fe_cost {
    const struct fe_cost_rule *rule;
    uint64_t ns;    /* for each command or page; of a rule by bytes, for a whole piece */
    uint64_t align; /* bytes of a piece, if the rule asks for any */
    uint64_t over;  /* bytes of the largest command that does not pay */
};

/* The rules for one direction, and what they have to remember. */
struct fe_cost_side {
    struct fe_cost commands[FE_COST_MAX], pages[FE_COST_MAX];
    uint32_t n_commands, n_pages;
    uint64_t ended;  /* where the last command has ended */
    fe_lpn last;     /* the previous page, or FE_LPN_NONE */
    uint32_t piece;  /* the unit of the command's previous page, or UINT32_MAX */
    uint32_t n_held; /* regions held, the latest one first */
    uint32_t held[FE_COST_HELD];
};

struct fe_costs {
    struct fe_cost_side side[2]; /* [write] */
    uint32_t page_bytes, max_held;
    uint64_t unit_bytes;
    struct fe_fastdiv by_region, by_unit; /* pages */
};

/* unit_bytes: of a unit, or of a group of units; 0 if the strategy has none.  Nothing is held. */
void fe_costs_init(struct fe_costs *c, const struct fe_ftl_params *p, uint32_t page_bytes,
                   uint64_t unit_bytes);

/* The times become those of p, whose other parameters are those of fe_costs_init. */
void fe_costs_set_delays(struct fe_costs *c, const struct fe_ftl_params *p);

/* For the two functions below. */
void fe_costs_of_command(struct fe_costs *c, struct fe_oplist *ops, bool write, uint64_t offset,
                         uint64_t len);
void fe_costs_of_page(struct fe_costs *c, struct fe_oplist *ops, bool write, fe_lpn lpn,
                      uint32_t len);

/* Says that a command begins that reads or writes [offset, offset + len). */
static inline void fe_costs_begin(struct fe_costs *c, struct fe_oplist *ops, bool write,
                                  uint64_t offset, uint64_t len)
{
    struct fe_cost_side *s = &c->side[write];
    if (s->n_commands)
        fe_costs_of_command(c, ops, write, offset, len);
    s->ended = offset + len;
    s->piece = UINT32_MAX;
}

/* Says that the command reads or writes `len` bytes of this page, at least one. */
static inline void fe_costs_page(struct fe_costs *c, struct fe_oplist *ops, bool write, fe_lpn lpn,
                                 uint32_t len)
{
    if (c->side[write].n_pages)
        fe_costs_of_page(c, ops, write, lpn, len);
}

/* Remembers what writes of n whole pages in order leave behind, but takes no time.  O(regions). */
void fe_costs_fill(struct fe_costs *c, fe_lpn first, fe_lpn n);
