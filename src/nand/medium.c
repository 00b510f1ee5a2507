/* SPDX-License-Identifier: BSD-3-Clause
 *
 * State first, time later: each function changes the chip at once and appends what
 * it did to the op list.
 *
 * Not modelled: partial page programming (NOP > 1 of old SLC), suspended operations.
 */
#include "nand/medium.h"

#include "base/table.h"
#include "nand/medium_image.h"
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
    m->interrupted = FE_PEB_NONE;
    m->store = store;
    m->image = fe_store_image(store) != NULL;
    m->ops = ops;
    fe_medium_set_times(m, p);
    m->pebs = calloc(geo->n_chip_blocks, sizeof *m->pebs);
    m->oob_lpn = fe_table_alloc(geo->n_ppns, sizeof *m->oob_lpn);
    m->oob_seq = fe_table_alloc(geo->n_ppns, sizeof *m->oob_seq);
    m->oob_tag = fe_table_alloc(geo->n_ppns, sizeof *m->oob_tag);
    m->page_bit = calloc(geo->pages_per_block, 1);
    if (!m->pebs || !m->oob_lpn || !m->oob_seq || !m->oob_tag || !m->page_bit) {
        fe_medium_destroy(m);
        return fe_err_nomem(err, "OOB and block table of the medium",
                            (uint64_t)geo->n_ppns * 13 + (uint64_t)geo->n_chip_blocks * 8);
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
    free(m->trims);
    free(m->pebs);
    free(m->phys);
    free(m->oob_lpn);
    free(m->oob_seq);
    free(m->oob_tag);
    free(m->page_bit);
    free(m);
}

int fe_medium_log_trims(struct fe_medium *m, uint32_t n_lpns, struct fe_err *err)
{
    m->trims = calloc(fe_bits_words(n_lpns), sizeof *m->trims);
    if (!m->trims)
        return fe_err_nomem(err, "log of trims", n_lpns / 8);
    m->n_trims = n_lpns;
    return 0;
}

void fe_medium_note_trim(struct fe_medium *m, fe_lpn first, uint32_t n)
{
    if (!m->trims || n == 0)
        return;
    for (fe_lpn lpn = first; lpn < first + n; lpn++)
        fe_bit_set(m->trims, lpn);
    if (m->image)
        fe_store_set_trims(m->store, m->trims + first / 64, first / 64,
                           (first + n - 1) / 64 - first / 64 + 1);
}

static void forget_trim(struct fe_medium *m, fe_lpn lpn)
{
    fe_bit_clear(m->trims, lpn);
    if (m->image)
        fe_store_set_trims(m->store, m->trims + lpn / 64, lpn / 64, 1);
}

static void add_read(struct fe_medium *m, fe_peb peb, uint32_t page, fe_ppn ppn, uint32_t bytes)
{
    *fe_ops_add(m->ops) = (struct fe_op){
        .kind = FE_OP_READ,
        .flags = fe_ops_take_flags(m->ops),
        .ppn = ppn,
        .die = (uint16_t)fe_medium_die(m, peb),
        .cell_ns = m->pebs[peb].slc ? m->slc_tR_ns : m->tR_ns[m->page_bit[page]],
        .bus_bytes = bytes,
    };
    m->counters.page_reads += m->geo.planes_ganged;
}

enum fe_status fe_medium_read(struct fe_medium *m, fe_ppn ppn, uint32_t off, uint32_t len,
                              void *buf)
{
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    uint32_t page = ppn - peb * m->geo.pages_per_block;
    assert(peb < m->geo.n_pebs && !fe_medium_is_bad(m, peb));
    assert(page < m->pebs[peb].next_page && !m->pebs[peb].unstable);
    add_read(m, peb, page, ppn, len);
    int r = fe_store_read(m->store, ppn, off, len, buf);
    if (r < 0 || m->oob_tag[ppn] == FE_TAG_TORN)
        return FE_UNCORRECTABLE;
    return m->read_hook ? fe_wear_read(m, ppn, off, len, buf) : FE_OK;
}

bool fe_medium_is_copyback(const struct fe_medium *m, fe_ppn from, fe_ppn to)
{
    return m->copyback && fe_medium_die(m, fe_peb_of(&m->geo, from)) ==
                              fe_medium_die(m, fe_peb_of(&m->geo, to));
}

static struct fe_held read_base(struct fe_medium *m, fe_ppn ppn, uint32_t bus_bytes)
{
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    uint32_t page = ppn - peb * m->geo.pages_per_block;
    assert(peb < m->geo.n_pebs && !fe_medium_is_bad(m, peb));
    assert(page < m->pebs[peb].next_page && m->oob_tag[ppn] != FE_TAG_TORN);
    add_read(m, peb, page, ppn, bus_bytes);
    return (struct fe_held){ppn, m->read_hook ? fe_wear_copied(m, ppn) : 0};
}

static uint32_t whole_page(const struct fe_medium *m)
{
    return m->geo.page_bytes + m->geo.oob_bytes;
}

struct fe_held fe_medium_hold(struct fe_medium *m, fe_ppn ppn)
{
    return read_base(m, ppn, whole_page(m));
}

/* The program operation, and all that it changes but the bytes. */
static enum fe_status program(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn, uint8_t tag,
                              uint16_t flips, uint32_t bus_bytes, uint8_t op_flags)
{
    const struct fe_geometry *g = &m->geo;
    fe_peb peb = fe_peb_of(g, ppn);
    uint32_t page = ppn - peb * g->pages_per_block;
    assert(peb < g->n_pebs && !fe_medium_is_bad(m, peb));
    assert(page == m->pebs[peb].next_page && !m->pebs[peb].unstable && tag != FE_TAG_TORN);
    assert(!m->pebs[peb].slc || page < fe_slc_pages(g));

    *fe_ops_add(m->ops) = (struct fe_op){
        .kind = FE_OP_PROG,
        .flags = op_flags,
        .ppn = ppn,
        .die = (uint16_t)fe_medium_die(m, peb),
        .cell_ns = m->pebs[peb].slc ? m->slc_tPROG_ns : m->tPROG_ns[m->page_bit[page]],
        .bus_bytes = bus_bytes,
    };
    if (m->undo)
        fe_undo_note_prog(m, ppn, lpn);
    if (m->prog_hook) {
        enum fe_status st = fe_wear_programmed(m, ppn, flips);
        if (st != FE_OK) {
            fe_undo_forget_last(m);
            m->pebs[peb].slc &= page > 0; /* a mode is of what has been programmed */
            return st;
        }
    }
    if (fe_medium_is_trimmed(m, lpn))
        forget_trim(m, lpn);
    m->pebs[peb].next_page++;
    m->oob_lpn[ppn] = lpn;
    m->oob_seq[ppn] = ++m->seq;
    m->oob_tag[ppn] = tag;
    m->counters.page_programs += g->planes_ganged;
    m->counters.bytes_programmed += g->page_bytes;
    return FE_OK;
}

/* And the bytes, the caller's in [off, off + len). */
static void put_bytes(struct fe_medium *m, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                      const void *data)
{
    fe_store_write(m->store, ppn, base, off, len, data);
    if (m->image)
        fe_medium_save_page(m, ppn);
}

enum fe_status fe_medium_prog(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn, uint8_t tag,
                              fe_ppn base, uint32_t off, uint32_t len, const void *data)
{
    assert(off <= m->geo.page_bytes && len <= m->geo.page_bytes - off);
    bool from_base = base != FE_PPN_NONE && len < m->geo.page_bytes;
    uint32_t bus_bytes = whole_page(m);
    uint16_t flips = 0;
    if (from_base) {
        if (len == 0 && fe_medium_is_copyback(m, base, ppn))
            bus_bytes = 0;
        flips = read_base(m, base, bus_bytes).flips;
    }
    uint8_t op_flags = from_base ? FE_OP_AFTER_PREV : fe_ops_take_flags(m->ops);
    enum fe_status st = program(m, ppn, lpn, tag, flips, bus_bytes, op_flags);
    if (st == FE_OK)
        put_bytes(m, ppn, base, off, len, data);
    return st;
}

enum fe_status fe_medium_prog_held(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn, uint8_t tag,
                                   struct fe_held held)
{
    enum fe_status st = program(m, ppn, lpn, tag, held.flips, whole_page(m), 0);
    if (st == FE_OK)
        put_bytes(m, ppn, held.ppn, 0, 0, NULL);
    return st;
}

enum fe_status fe_medium_erase(struct fe_medium *m, fe_peb peb)
{
    assert(peb < m->geo.n_pebs && !fe_medium_is_bad(m, peb));
    *fe_ops_add(m->ops) = (struct fe_op){
        .kind = FE_OP_ERASE,
        .ppn = peb * m->geo.pages_per_block,
        .die = (uint16_t)fe_medium_die(m, peb),
        .cell_ns = m->tBERS_ns,
    };
    if (m->undo)
        fe_undo_note_erase(m, peb);
    m->pebs[peb].erase_count++;
    m->counters.block_erases += m->geo.planes_ganged;
    if (m->wear) {
        enum fe_status st = fe_wear_erased(m, peb);
        if (st != FE_OK) {
            fe_undo_forget_last(m);
            return st;
        }
    }
    m->pebs[peb].next_page = 0;
    m->pebs[peb].slc = 0;
    m->pebs[peb].unstable = 0;
    if (m->image)
        fe_medium_save_block(m, peb);
    if (!m->undo) /* else the bytes are kept until that is final */
        fe_store_discard(m->store, peb);
    return FE_OK;
}

void fe_medium_use_slc(struct fe_medium *m, fe_peb peb)
{
    assert(peb < m->geo.n_pebs && !fe_medium_is_bad(m, peb));
    assert(m->pebs[peb].next_page == 0 && fe_slc_pages(&m->geo) > 0);
    m->pebs[peb].slc = 1;
    fe_medium_save_block(m, peb);
}

void fe_medium_add_copy(struct fe_medium *m, fe_peb slot, fe_peb spare, uint32_t page)
{
    uint32_t bytes = m->geo.page_bytes + m->geo.oob_bytes;
    add_read(m, slot, page, slot * m->geo.pages_per_block + page, bytes);
    *fe_ops_add(m->ops) = (struct fe_op){
        .kind = FE_OP_PROG,
        .flags = FE_OP_AFTER_PREV,
        .ppn = FE_PPN_NONE,
        .die = (uint16_t)fe_medium_die(m, spare),
        .cell_ns = m->pebs[slot].slc ? m->slc_tPROG_ns : m->tPROG_ns[m->page_bit[page]],
        .bus_bytes = bytes,
    };
    m->counters.page_programs += m->geo.planes_ganged;
    m->counters.bytes_programmed += m->geo.page_bytes;
}

void fe_medium_add_erase(struct fe_medium *m, fe_peb spare)
{
    *fe_ops_add(m->ops) = (struct fe_op){
        .kind = FE_OP_ERASE,
        .ppn = FE_PPN_NONE,
        .die = (uint16_t)fe_medium_die(m, spare),
        .cell_ns = m->tBERS_ns,
    };
    m->counters.block_erases += m->geo.planes_ganged;
}
