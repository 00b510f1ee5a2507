/* SPDX-License-Identifier: BSD-3-Clause
 *
 * State first, time later: each function checks the chip's rules, appends what it does to the
 * op list, and changes the chip immediately.
 *
 * An operation goes through four stations:
 *
 *     op list      what it costs (issue.h)
 *     undo         what has to be known to take it back (undo.h), if power can be cut
 *     wear         whether it fails, and what the controller does then (wear.h)
 *     chip         the change itself, in memory and in an image (chip.h)
 *
 * Parts of a page (nand.page_parts) are pages here, with OOB of their own.  Parts that follow each
 * other at once, in one command or one copy, are one program or one read of the cells:
 *
 *     parts       0  1  2  3 | 0 |  1 | 2  3           three commands fill the second page
 *     programs    [=======]    [=]  [=]  [====]
 *
 * Not modelled: suspended operations; an interrupted program of a part that damages those in front
 * of it.
 */
#include "nand/medium.h"

#include "nand/issue.h"
#include "nand/undo.h"
#include "nand/wear.h"

#include <stdlib.h>

int fe_medium_create(struct fe_medium **ret, const struct fe_nand_params *p,
                     const struct fe_geometry *geo, struct fe_store *store,
                     struct fe_oplist *ops, struct fe_err *err)
{
    struct fe_medium *m = calloc(1, sizeof *m);
    if (!m)
        return fe_err_nomem(err, "medium", sizeof *m);
    m->geo = *geo;
    m->store = store;
    m->ops = ops;
    m->in_register = FE_PPN_NONE;
    fe_medium_set_times(m, p);
    int r = fe_chip_init(&m->chip, &m->geo, store, err);
    m->page_bit = calloc(geo->pages_per_block, 1);
    if (r == 0 && !m->page_bit)
        r = fe_err_nomem(err, "page types of the medium", geo->pages_per_block);
    if (r < 0) {
        fe_medium_destroy(m);
        return r;
    }
    for (uint32_t i = 0; i < geo->pages_per_block; i++)
        m->page_bit[i] = (uint8_t)fe_page_bit(geo, i);
    *ret = m;
    return 0;
}

void fe_medium_set_times(struct fe_medium *m, const struct fe_nand_params *p)
{
    /* Data and OOB of NOR lie in different places: neither fills the other's last unit. */
    uint64_t n = p->program_unit ? fe_div_up(p->page_size, p->program_unit) +
                                       fe_div_up(p->oob_size, p->program_unit)
                                 : 1;
    m->tBERS_ns = p->tBERS_ns;
    m->copyback = p->copyback;
    m->worn = p->worn;
    m->slows = p->worn.read_ppm || p->worn.program_ppm || p->worn.erase_ppm || p->worn.end_ppm;
    m->one_by_one = m->geo.n_dies == 1 && !p->cached && !m->slows;
    for (int i = 0; i < 3; i++) {
        m->tR_ns[i] = p->tR_ns[i];
        m->tPROG_ns[i] = p->tPROG_ns[i] * n;
    }
    m->slc_tR_ns = p->slc_tR_ns ? p->slc_tR_ns : p->tR_ns[0];
    m->slc_tPROG_ns = (p->slc_tPROG_ns ? p->slc_tPROG_ns : p->tPROG_ns[0]) * n;
}

void fe_medium_destroy(struct fe_medium *m)
{
    if (!m)
        return;
    fe_wear_detach(m);
    fe_undo_destroy(m);
    fe_chip_fini(&m->chip);
    free(m->page_bit);
    free(m);
}

int fe_medium_load(struct fe_medium *m, bool raw, struct fe_err *err)
{
    int r = fe_chip_load(&m->chip, raw, err);
    if (r == 0 && m->wear)
        fe_wear_loaded(m);
    return r;
}

/* The page's number in its block, which strategies may use. */
static uint32_t page_in(const struct fe_medium *m, fe_peb peb, fe_ppn ppn)
{
    assert(peb < m->geo.n_pebs && !fe_medium_is_bad(m, peb));
    return ppn - peb * m->geo.pages_per_block;
}

enum fe_status fe_medium_read(struct fe_medium *m, fe_ppn ppn, uint32_t off, uint32_t len,
                              void *buf)
{
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    uint32_t page = page_in(m, peb, ppn);
    assert(page < fe_medium_next_page(m, peb) && !fe_medium_is_unstable(m, peb));
    fe_issue_read(m, peb, page, len);
    /* Wrong bits are put into buf at once, so the bytes must be there. */
    int r = m->copies_late && !m->read_hook ? fe_store_read_later(m->store, ppn, off, len, buf)
                                        : fe_store_read(m->store, ppn, off, len, buf);
    if (r < 0 || fe_medium_tag(m, ppn) == FE_TAG_TORN)
        return FE_UNCORRECTABLE;
    return m->read_hook ? fe_failures_read(m, ppn, off, len, buf) : FE_OK;
}

bool fe_medium_is_copyback(const struct fe_medium *m, fe_ppn from, fe_ppn to)
{
    return m->copyback && fe_medium_die(m, fe_peb_of(&m->geo, from)) ==
                              fe_medium_die(m, fe_peb_of(&m->geo, to));
}

static struct fe_held read_base(struct fe_medium *m, fe_ppn ppn, uint32_t bus_bytes)
{
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    uint32_t page = page_in(m, peb, ppn);
    assert(page < fe_medium_next_page(m, peb) && fe_medium_tag(m, ppn) != FE_TAG_TORN);
    fe_issue_read(m, peb, page, bus_bytes);
    return (struct fe_held){ppn, m->read_hook ? fe_failures_copied(m, ppn) : 0};
}

struct fe_held fe_medium_hold(struct fe_medium *m, fe_ppn ppn)
{
    return read_base(m, ppn, fe_issue_page_bytes(m));
}

/* The program operation.  FE_OK: it was done, perhaps on another chip block, and the page is
 * still to be changed; oob->flips is what its bits will be. */
static enum fe_status program(struct fe_medium *m, fe_ppn ppn, struct fe_chip_oob *oob,
                              uint32_t bus_bytes, uint8_t op_flags)
{
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    uint32_t page = page_in(m, peb, ppn);
    bool slc = fe_medium_is_slc(m, peb);
    assert(page == fe_medium_next_page(m, peb) && !fe_medium_is_unstable(m, peb));
    assert(oob->tag != FE_TAG_TORN && (!slc || page < fe_slc_pages(&m->geo)));

    fe_issue_prog(m, peb, page, ppn, fe_medium_die(m, peb), bus_bytes, op_flags);
    if (m->undo)
        fe_undo_note_prog(m, ppn, oob->lpn);
    if (m->prog_hook) {
        enum fe_status st = fe_wear_programmed(m, ppn, &oob->flips);
        if (st != FE_OK) {
            fe_undo_forget_last(m);
            if (slc && page == 0) /* the mode belongs to what has been programmed */
                fe_chip_mark(&m->chip, peb, FE_MARK_SLC, false);
            return st;
        }
    }
    fe_issue_count_programs(m, 1);
    return FE_OK;
}

__attribute__((flatten)) enum fe_status fe_medium_prog(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn,
                                                       uint8_t tag, fe_ppn base, uint32_t off,
                                                       uint32_t len, const void *data)
{
    assert(off <= m->geo.page_bytes && len <= m->geo.page_bytes - off);
    bool from_base = base != FE_PPN_NONE && len < m->geo.page_bytes;
    uint32_t bus_bytes = fe_issue_page_bytes(m);
    struct fe_chip_oob oob = {.lpn = lpn, .tag = tag};
    if (from_base) {
        if (len == 0 && fe_medium_is_copyback(m, base, ppn))
            bus_bytes = 0;
        oob.flips = read_base(m, base, bus_bytes).flips;
    }
    uint8_t op_flags = from_base ? FE_OP_AFTER_PREV : fe_ops_take_flags(m->ops);
    enum fe_status st = program(m, ppn, &oob, bus_bytes, op_flags);
    if (st == FE_OK)
        fe_chip_program(&m->chip, ppn, oob, base, off, len, data);
    return st;
}

void fe_medium_prog_stripe(struct fe_medium *m, const fe_peb *pebs, uint32_t n, fe_lpn first,
                           uint8_t tag)
{
    assert(fe_medium_is_plain(m) && tag != FE_TAG_TORN);
    for (uint32_t i = 0; i < n; i++) {
        (void)page_in(m, pebs[i], pebs[i] * m->geo.pages_per_block);
        assert(!fe_medium_is_unstable(m, pebs[i]) && !fe_medium_is_slc(m, pebs[i]));
    }
    fe_chip_program_stripe(&m->chip, pebs, n, first, tag);
    fe_issue_note(m, pebs[n - 1] * m->geo.pages_per_block + m->geo.pages_per_block - 1, false);
    uint64_t pages = (uint64_t)n * m->geo.pages_per_block;
    m->counters.page_programs += pages * m->geo.planes_ganged;
    m->counters.bytes_programmed += pages * m->geo.page_bytes;
}

enum fe_status fe_medium_prog_held(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn, uint8_t tag,
                                   struct fe_held held)
{
    struct fe_chip_oob oob = {.lpn = lpn, .tag = tag, .flips = held.flips};
    enum fe_status st = program(m, ppn, &oob, fe_issue_page_bytes(m), 0);
    if (st == FE_OK)
        fe_chip_program(&m->chip, ppn, oob, held.ppn, 0, 0, NULL);
    return st;
}

enum fe_status fe_medium_erase(struct fe_medium *m, fe_peb peb)
{
    fe_ppn first = peb * m->geo.pages_per_block;
    (void)page_in(m, peb, first);
    fe_issue_erase(m, peb, first);
    m->counters.block_erases += m->geo.planes_ganged;
    if (m->undo)
        fe_undo_note_erase(m, peb);
    if (!m->wear) {
        fe_chip_erase(&m->chip, peb, FE_PEB_NONE);
    } else if (!fe_wear_erase(m, peb)) {
        fe_undo_forget_last(m);
        return FE_ERASE_FAILED;
    }
    if (!m->undo) /* else the bytes are kept until the erase is final */
        fe_store_discard(m->store, peb);
    return FE_OK;
}

void fe_medium_begin_command(struct fe_medium *m)
{
    m->in_register = FE_PPN_NONE;
}

void fe_medium_use_slc(struct fe_medium *m, fe_peb peb)
{
    (void)page_in(m, peb, peb * m->geo.pages_per_block);
    assert(fe_medium_next_page(m, peb) == 0 && fe_slc_pages(&m->geo) > 0);
    fe_chip_mark(&m->chip, peb, FE_MARK_SLC, true);
}

static bool keeps_stale(const struct fe_medium *m)
{
    return fe_medium_has_image(m) || (m->undo && m->brings_back);
}

void fe_medium_let_go(struct fe_medium *m, fe_ppn ppn)
{
    if (!keeps_stale(m))
        fe_store_forget(m->store, ppn, 1);
}

void fe_medium_replaced(struct fe_medium *m, fe_ppn ppn)
{
    if (keeps_stale(m))
        return;
    if (m->undo)
        fe_undo_note_replaced(m, ppn);
    else
        fe_store_forget(m->store, ppn, 1);
}
