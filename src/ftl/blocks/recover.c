/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What becomes of each block at power-on:
 *
 *   nothing programmed    free
 *   nothing readable      erased, free; unless it is whole
 *   not whole             open, in the frontier that its pages belong to, and programming
 *                         goes on behind a torn page; closed as it is if no place is left
 *   whole                 full
 *
 * More blocks can be unfinished than there are places.  This happens when the last page of a
 * block is not programmed at the cut, but the first page of the block that took its place is.
 *
 * If too few blocks are free, then power failed while a block was being emptied.  Torn pages
 * have cost some of the room that the rest of its pages needs:
 *
 *     interrupted block   | a b c d e |     still whole: its erase comes last
 *     new block           | a b t . . |     t: torn.  c, d and e do not fit any more
 *
 * If the new block holds nothing else that counts, it is erased, and the interrupted block is
 * as it was.  Otherwise emptying goes on with the blocks that have the fewest valid pages.
 * The same is done if the journal does not name the interrupted block because the server of
 * an image was killed: no page is torn then, so there is room.
 */
#include "ftl/blocks/recover.h"

#include "ftl/recover.h"

#include <errno.h>
#include <stdlib.h>

static bool was_moved(uint8_t tag)
{
    return tag == FE_TAG_COPY || tag == FE_TAG_COLD_COPY || tag == FE_TAG_STATIC;
}

/* Whether a block has a readable copy of this logical page. */
static bool holds(const struct fe_medium *m, fe_peb peb, fe_lpn lpn)
{
    fe_ppn first = peb * m->geo.pages_per_block;
    for (uint32_t i = 0; i < fe_medium_next_page(m, peb); i++)
        if (fe_recover_readable(m, first + i) && fe_medium_lpn(m, first + i) == lpn)
            return true;
    return false;
}

/* The page was copied from the interrupted block, which still has it. */
static bool is_double(const struct fe_medium *m, fe_ppn ppn)
{
    struct fe_interrupted i = fe_medium_interrupted(m);
    uint64_t seq = fe_medium_seq(m, ppn);
    return was_moved(fe_medium_tag(m, ppn)) && seq > i.since && seq <= i.until &&
           holds(m, i.peb, fe_medium_lpn(m, ppn));
}

static bool can_drop(const struct fe_blocks *b, fe_peb peb, const struct fe_mapping *map,
                     bool thorough)
{
    const struct fe_medium *m = b->ftl->medium;
    uint32_t end = fe_medium_next_page(m, peb);
    fe_peb interrupted = fe_medium_interrupted(m).peb;
    bool journal = interrupted != FE_PEB_NONE && interrupted != peb;
    if (b->state[peb] == FE_BLOCK_BAD || end == 0)
        return false;
    if (!thorough && (!journal || fe_medium_is_slc(m, peb) != b->slc ||
                      end == fe_recover_room(m, peb)))
        return false;
    fe_ppn first = peb * b->geo.pages_per_block;
    for (fe_ppn ppn = first; ppn < first + end; ppn++) {
        fe_lpn lpn = fe_medium_lpn(m, ppn);
        bool mapped =
            fe_recover_readable(m, ppn) && lpn < b->ftl->n_lpns && fe_mapped(map[lpn]) == ppn;
        if (mapped && !(journal && is_double(m, ppn)))
            return false;
    }
    return true;
}

enum fe_status fe_blocks_drop_moved(struct fe_blocks *b, struct fe_mapping *map, bool thorough)
{
    struct fe_medium *m = b->ftl->medium;
    uint32_t n_free = 0;
    for (fe_peb peb = b->first; peb < b->end; peb++)
        n_free += b->state[peb] != FE_BLOCK_BAD && fe_medium_next_page(m, peb) == 0;
    for (fe_peb peb = b->first; peb < b->end && n_free < b->reserve; peb++) {
        if (!can_drop(b, peb, map, thorough))
            continue;
        enum fe_status st = fe_medium_erase(m, peb);
        if (st != FE_OK)
            return st;
        n_free++;
        fe_recover_newest(m, map, b->ftl->n_lpns, NULL);
    }
    return FE_OK;
}

void fe_blocks_mark_valid(struct fe_blocks *b, const struct fe_mapping *map, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        fe_ppn ppn = fe_mapped(map[i]);
        if (ppn == FE_PPN_NONE)
            continue;
        fe_bit_set(b->valid_bits, ppn);
        b->valid[fe_peb_of(&b->geo, ppn)]++;
    }
}

static struct fe_frontier *frontier_of(struct fe_blocks *b, fe_peb peb)
{
    return &b->fronts[b->ops->frontier_of(b->ftl, peb)];
}

/* The block becomes an open one of its frontier.  Blocks of a die go to the place of the die,
 * as far as possible.  Returns false if all places are taken. */
static bool reopen(struct fe_blocks *b, fe_peb peb)
{
    struct fe_frontier *front = frontier_of(b, peb);
    uint32_t die = fe_die_of(&b->geo, peb);
    for (uint32_t i = 0; i < front->n; i++) {
        fe_peb *open = &front->open[(die + i) % front->n];
        if (*open != FE_PEB_NONE && *open != peb)
            continue;
        *open = peb;
        front->n_open++;
        b->state[peb] = FE_BLOCK_OPEN;
        return true;
    }
    return false;
}

/* Blocks that take no more pages go to `full` for now. */
static enum fe_status sort(struct fe_blocks *b, bool by_age, struct fe_recover_age *full,
                           uint32_t *ret_n)
{
    struct fe_medium *m = b->ftl->medium;
    for (fe_peb peb = b->first; peb < b->end; peb++) {
        if (b->state[peb] == FE_BLOCK_BAD)
            continue;
        uint32_t end = fe_medium_next_page(m, peb);
        bool whole = end == fe_recover_room(m, peb);
        if (end && !whole && fe_recover_first(m, peb) == FE_PPN_NONE) {
            enum fe_status st = fe_medium_erase(m, peb);
            if (st != FE_OK)
                return st;
            end = 0;
        }
        if (end == 0)
            fe_blocks_put_free(b, peb);
        else if (whole || !reopen(b, peb))
            full[(*ret_n)++] = (struct fe_recover_age){
                .seq = by_age ? fe_recover_last_seq(m, peb) : 0, .peb = peb};
    }
    return FE_OK;
}

int fe_blocks_sort(struct fe_blocks *b, bool by_age, struct fe_err *err)
{
    struct fe_recover_age *full = malloc(b->geo.n_pebs * sizeof *full);
    uint32_t n = 0;
    if (!full)
        return fe_err_nomem(err, "full blocks at power-on", b->geo.n_pebs * sizeof *full);
    enum fe_status st = sort(b, by_age, full, &n);
    fe_recover_sort(full, n);
    for (uint32_t i = 0; i < n; i++)
        fe_blocks_add_full(b, full[i].peb, frontier_of(b, full[i].peb)->set);
    free(full);
    b->closes_early = true;
    return fe_blocks_power_on_result(st, err);
}

/* Erased pages that a page of set 0 can go to. */
static uint32_t room(const struct fe_blocks *b)
{
    uint32_t n = b->pool.n * b->full[0].pages;
    for (const struct fe_frontier *f = b->fronts; f < b->fronts + FE_BLOCK_FRONTIERS; f++)
        for (uint32_t i = 0; i < f->n && f->set == 0; i++)
            if (f->open[i] != FE_PEB_NONE)
                n += f->pages - fe_medium_next_page(b->ftl->medium, f->open[i]);
    return n;
}

/* The block that it costs least to win for `pool`; FE_PEB_NONE if emptying wins none. */
static fe_peb least_valid(const struct fe_blocks *b)
{
    fe_peb least = FE_PEB_NONE;
    for (fe_peb peb = b->aside_end; peb < b->end; peb++)
        if (b->state[peb] >= FE_BLOCK_FULL && b->valid[peb] < b->full[0].pages &&
            (least == FE_PEB_NONE || b->valid[peb] < b->valid[least]))
            least = peb;
    return least;
}

/* Each round wins at least one page, so this ends. */
int fe_blocks_restore(struct fe_blocks *b, struct fe_err *err)
{
    enum fe_status st = FE_OK;
    while (b->pool.n < b->reserve && st == FE_OK) {
        fe_peb peb = least_valid(b);
        if (peb == FE_PEB_NONE || b->valid[peb] > room(b))
            break;
        st = fe_blocks_empty(b, peb, false);
    }
    return fe_blocks_power_on_result(st, err);
}

int fe_blocks_power_on_result(enum fe_status st, struct fe_err *err)
{
    return st == FE_OK ? 0 : fe_err_set(err, EIO, "power-on: status %d", (int)st);
}
