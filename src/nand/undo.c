/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cut goes through the ring twice: from the oldest operation on, to decide what became of
 * each, then back from the newest, to take back what must be taken back.
 *
 * The deciding direction matters because a die works through its operations in order: once
 * one of them is torn or not begun, no later operation of that die has begun.  The die is
 * the one that had the operation, not the die of the chip block that stands behind the peb
 * now: bad block management waits until all is done before it exchanges chip blocks.
 *
 * A block's bytes survive its erase until the erase is final.  A program before that puts
 * the page's old bytes aside (store/store.h), unless there are none.
 *
 * An image follows step by step, newest first, each step whole or not at all.  So a server
 * that is killed in the middle of a cut leaves what an earlier or later cut would leave.  A crash of
 * the host may leave any of the steps out.  That does no harm because the image never trusts the
 * bytes of programs that can be taken back, knows of the cut before the first step, and has the
 * erase of a block back before the copies of its pages go.
 */
#include "nand/undo.h"

#include "base/rng.h"
#include "store/image_file.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256

int fe_undo_create(struct fe_medium *m, struct fe_err *err)
{
    struct fe_undo *u = calloc(1, sizeof *u);
    if (!u)
        return fe_err_nomem(err, "undo of operations", sizeof *u);
    m->undo = u;
    u->room = FIRST_ROOM;
    u->ring = malloc(FIRST_ROOM * sizeof *u->ring);
    u->erases = calloc(m->geo.n_pebs, sizeof *u->erases);
    u->stopped = calloc(m->geo.n_dies, 1);
    if (u->ring && u->erases && u->stopped)
        return 0;
    fe_undo_destroy(m);
    return fe_err_nomem(err, "undo of operations", FIRST_ROOM * sizeof *u->ring);
}

void fe_undo_destroy(struct fe_medium *m)
{
    struct fe_undo *u = m->undo;
    if (!u)
        return;
    for (uint32_t i = 0; i < u->n; i++)
        fe_store_drop_aside(m->store, &fe_undo_at(u, i)->aside);
    free(u->ring);
    free(u->erases);
    free(u->stopped);
    free(u);
    m->undo = NULL;
}

/* The erase is final: bytes that were kept for its sake go. */
static void forget_erased(struct fe_medium *m, fe_ppn first)
{
    fe_peb peb = fe_peb_of(&m->geo, first);
    uint32_t next = fe_medium_next_page(m, peb);
    if (--m->undo->erases[peb])
        return; /* a later erase keeps what is left of them */
    if (next == 0)
        fe_store_discard(m->store, peb);
    else
        fe_store_forget(m->store, first + next, m->geo.pages_per_block - next);
}

/* The program is final: the copy before it cannot come back.  If its block is being erased, that
 * erase is younger and takes care of the bytes. */
static void forget_replaced(struct fe_medium *m, fe_ppn ppn)
{
    if (m->undo->erases[fe_peb_of(&m->geo, ppn)] == 0)
        fe_store_forget(m->store, ppn, 1);
}

/* The image must not rely on programs that may be taken back. */
static void tell_store(struct fe_medium *m)
{
    const struct fe_undo *u = m->undo;
    fe_store_set_final(m->store, u->n ? fe_undo_at(u, 0)->last_seq : UINT64_MAX);
}

static void make_oldest_final(struct fe_medium *m)
{
    struct fe_undo *u = m->undo;
    struct fe_undo_op *op = fe_undo_at(u, 0);
    if (op->replaced != FE_PPN_NONE)
        forget_replaced(m, op->replaced);
    if (op->kind == FE_OP_ERASE && op->ppn != FE_PPN_NONE)
        forget_erased(m, op->ppn);
    fe_store_drop_aside(m->store, &op->aside);
    u->head = (u->head + 1) & (u->room - 1);
    u->n--;
    if (u->n_timed)
        u->n_timed--;
    else
        u->n_dropped++;
    tell_store(m);
}

static bool grow(struct fe_undo *u)
{
    struct fe_undo_op *ring = NULL;
    if (u->room <= UINT32_MAX / 4)
        ring = malloc(2ull * u->room * sizeof *ring);
    if (!ring)
        return false;
    for (uint32_t i = 0; i < u->n; i++)
        ring[i] = *fe_undo_at(u, i);
    free(u->ring);
    u->ring = ring;
    u->room *= 2;
    u->head = 0;
    return true;
}

static void add(struct fe_medium *m, struct fe_undo_op op)
{
    struct fe_undo *u = m->undo;
    if (u->n == u->room && !grow(u))
        make_oldest_final(m);
    op.replaced = FE_PPN_NONE;
    op.in_recovery = u->recovering;
    op.last_seq = fe_medium_last_seq(m);
    *fe_undo_at(u, u->n++) = op;
    if (u->n == 1)
        tell_store(m);
}

void fe_undo_note_prog(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn)
{
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    struct fe_aside aside = {0};
    while (m->undo->erases[peb] && fe_store_put_aside(m->store, ppn, &aside) < 0)
        make_oldest_final(m);
    add(m, (struct fe_undo_op){
        .kind = FE_OP_PROG,
        .ppn = ppn,
        .old_page = fe_chip_old_page(&m->chip, ppn, lpn),
        .aside = aside,
    });
}

void fe_undo_note_erase(struct fe_medium *m, fe_peb peb)
{
    add(m, (struct fe_undo_op){
        .kind = FE_OP_ERASE,
        .ppn = peb * m->geo.pages_per_block,
        .old_block = fe_chip_old_block(&m->chip, peb),
        .since = m->emptying_since,
    });
    m->undo->erases[peb]++;
}

void fe_undo_note_replaced(struct fe_medium *m, fe_ppn ppn)
{
    assert(m->undo->n > 0);
    struct fe_undo_op *op = fe_undo_at(m->undo, m->undo->n - 1);
    assert(op->kind == FE_OP_PROG && op->ppn != FE_PPN_NONE && op->replaced == FE_PPN_NONE);
    op->replaced = ppn;
    fe_store_fetch(m->store, ppn, 1); /* it is forgotten when the program has ended */
}

void fe_undo_forget_last(struct fe_medium *m)
{
    if (!m->undo)
        return;
    struct fe_undo_op *op = fe_undo_at(m->undo, m->undo->n - 1);
    if (op->kind == FE_OP_ERASE)
        m->undo->erases[fe_peb_of(&m->geo, op->ppn)]--;
    if (op->kind == FE_OP_PROG) /* the erase before may yet be undone */
        fe_store_put_back(m->store, op->ppn, &op->aside);
    op->ppn = FE_PPN_NONE;
}

void fe_undo_placed(struct fe_medium *m, const struct fe_op *ops, uint32_t n)
{
    struct fe_undo *u = m->undo;
    for (uint32_t i = 0; i < n; i++) {
        if ((ops[i].kind != FE_OP_PROG && ops[i].kind != FE_OP_ERASE) ||
            ops[i].ppn == FE_PPN_NONE) /* of a spare block, which nothing depends on yet */
            continue;
        if (ops[i].flags & FE_OP_AGAIN) { /* one operation to whoever has it undone */
            if (u->n_timed) {
                fe_undo_at(u, u->n_timed - 1)->end_ns = ops[i].end_ns;
                fe_undo_at(u, u->n_timed - 1)->last_die = ops[i].die;
            }
            continue;
        }
        if (u->n_dropped) {
            u->n_dropped--;
            continue;
        }
        assert(u->n_timed < u->n);
        struct fe_undo_op *op = fe_undo_at(u, u->n_timed++);
        assert(op->ppn == ops[i].ppn || op->ppn == FE_PPN_NONE);
        op->start_ns = ops[i].start_ns;
        op->end_ns = ops[i].end_ns;
        op->first_die = op->last_die = ops[i].die;
    }
}

void fe_undo_settle(struct fe_medium *m, uint64_t now_ns)
{
    struct fe_undo *u = m->undo;
    while (u->n_timed && fe_undo_at(u, 0)->end_ns <= now_ns)
        make_oldest_final(m);
}

static enum fe_cut_outcome draw(const struct fe_cut *cut, const struct fe_undo_op *op)
{
    uint64_t what = op->ppn | (uint64_t)(op->kind == FE_OP_ERASE) << 32;
    uint64_t x = fe_rng_below(fe_rng(cut->seed, FE_RNG_POWER_CUT, cut->number, what), 4);
    return x == 0 ? FE_CUT_NOT_BEGUN : x == 1 ? FE_CUT_DONE : FE_CUT_TORN;
}

/* What has ended at the cut is done, as the host may have been told by then.  That includes what
 * took no time: a part that joined a program while the die was still at another one. */
static enum fe_cut_outcome decide(struct fe_medium *m, const struct fe_cut *cut,
                                  const struct fe_undo_op *op)
{
    uint8_t *stopped = m->undo->stopped;
    enum fe_cut_outcome o = FE_CUT_DONE;
    if (stopped[op->first_die] || (op->start_ns >= cut->at_ns && op->end_ns > cut->at_ns))
        o = FE_CUT_NOT_BEGUN;
    else if (op->end_ns > cut->at_ns)
        o = cut->choose ? cut->choose(cut->ctx, op) : draw(cut, op);
    stopped[op->last_die] |= o != FE_CUT_DONE;
    return o;
}

static void tear_prog(struct fe_medium *m, const struct fe_cut *cut, const struct fe_undo_op *op)
{
    fe_peb peb = fe_peb_of(&m->geo, op->ppn);
    uint32_t page = fe_page_of(&m->geo, op->ppn), partner = fe_page_partner(&m->geo, page);
    fe_chip_tear_program(&m->chip, op->ppn, &op->old_page);
    if (partner == page || fe_medium_is_slc(m, peb))
        return;
    uint64_t bits = fe_rng(cut->seed, FE_RNG_POWER_CUT, cut->number, op->ppn | UINT64_C(1) << 33);
    if (fe_rng_below(bits, 1000000) >= cut->partner_ppm)
        return;
    for (uint32_t part = 0; part < UINT32_C(1) << m->geo.parts_log2; part++)
        fe_chip_lose(&m->chip, op->ppn - page + partner + part);
}

static void undo_prog(struct fe_medium *m, struct fe_undo_op *op)
{
    bool erase_is_final = !m->undo->erases[fe_peb_of(&m->geo, op->ppn)];
    fe_chip_take_back_program(&m->chip, op->ppn, &op->old_page,
                              erase_is_final ? NULL : &op->aside);
    m->counters.page_programs -= m->geo.planes_ganged;
    m->counters.bytes_programmed -= m->geo.page_bytes;
}

static void end_erase(struct fe_medium *m, const struct fe_undo_op *op)
{
    fe_peb peb = fe_peb_of(&m->geo, op->ppn);
    if (op->outcome != FE_CUT_NOT_BEGUN) {
        fe_chip_mark(&m->chip, peb, FE_MARK_UNSTABLE, op->outcome == FE_CUT_TORN);
        forget_erased(m, op->ppn);
        return;
    }
    m->counters.block_erases -= m->geo.planes_ganged;
    fe_chip_take_back_erase(&m->chip, peb, &op->old_block);
    if (--m->undo->erases[peb] == 0) { /* bytes kept since an erase before, which is final */
        uint32_t next = fe_medium_next_page(m, peb);
        fe_store_forget(m->store, op->ppn + next, m->geo.pages_per_block - next);
    }
}

/* The journal of an interrupted power-on is the one that was known before. */
static bool is_in_recovery(const struct fe_undo *u)
{
    for (uint32_t i = 0; i < u->n; i++) {
        const struct fe_undo_op *op = fe_undo_at(u, i);
        if (op->ppn != FE_PPN_NONE && op->outcome != FE_CUT_DONE && op->in_recovery)
            return true;
    }
    return false;
}

/* Whether a younger program of the same logical page is done.  Dies do not wait for each other. */
static bool is_written_again(const struct fe_medium *m, uint32_t i)
{
    const struct fe_undo *u = m->undo;
    fe_lpn lpn = fe_medium_lpn(m, fe_undo_at(u, i)->ppn);
    for (uint32_t k = i + 1; k < u->n; k++) {
        const struct fe_undo_op *op = fe_undo_at(u, k);
        if (op->kind == FE_OP_PROG && op->ppn != FE_PPN_NONE && op->outcome == FE_CUT_DONE &&
            fe_medium_lpn(m, op->ppn) == lpn)
            return true;
    }
    return false;
}

/* A trim in front of a program that is not done holds again, but not against what came later. */
static void take_back_prog(struct fe_medium *m, const struct fe_cut *cut, uint32_t i)
{
    struct fe_undo_op *op = fe_undo_at(m->undo, i);
    if (op->old_page.was_trimmed && is_written_again(m, i))
        op->old_page.was_trimmed = false;
    if (op->outcome == FE_CUT_NOT_BEGUN)
        undo_prog(m, op);
    else
        tear_prog(m, cut, op);
}

/* The first block that was still to be erased, for the journal of the cut. */
static struct fe_interrupted first_not_erased(const struct fe_medium *m)
{
    for (uint32_t i = 0; i < m->undo->n; i++) {
        const struct fe_undo_op *op = fe_undo_at(m->undo, i);
        if (op->ppn != FE_PPN_NONE && op->kind == FE_OP_ERASE && op->outcome == FE_CUT_NOT_BEGUN)
            return (struct fe_interrupted){fe_peb_of(&m->geo, op->ppn), op->since, op->last_seq};
    }
    return (struct fe_interrupted){.peb = FE_PEB_NONE};
}

/* Takes back what there is to take back, newest first. */
static void take_back(struct fe_medium *m, const struct fe_cut *cut)
{
    struct fe_undo *u = m->undo;
    struct fe_interrupted interrupted = first_not_erased(m);
    fe_chip_begin_cut(&m->chip, is_in_recovery(u) ? NULL : &interrupted);
    for (uint32_t i = u->n; i-- > 0;) {
        struct fe_undo_op *op = fe_undo_at(u, i);
        if (op->ppn == FE_PPN_NONE) {
            ; /* nothing has happened */
        } else if (op->kind == FE_OP_ERASE) {
            end_erase(m, op);
        } else if (op->outcome != FE_CUT_DONE) {
            take_back_prog(m, cut, i);
        }
        fe_store_drop_aside(m->store, &op->aside);
    }
}

struct fe_cut_count fe_undo_cut(struct fe_medium *m, const struct fe_cut *cut)
{
    struct fe_undo *u = m->undo;
    struct fe_cut_count count = {0};
    assert(u->n_timed == u->n);
    u->recovering = false;
    memset(u->stopped, 0, m->geo.n_dies);
    for (uint32_t i = 0; i < u->n; i++) {
        struct fe_undo_op *op = fe_undo_at(u, i);
        if (op->ppn == FE_PPN_NONE)
            continue;
        op->outcome = (uint8_t)decide(m, cut, op);
        count.done += op->outcome == FE_CUT_DONE;
        count.torn += op->outcome == FE_CUT_TORN;
        count.undone += op->outcome == FE_CUT_NOT_BEGUN;
    }
    take_back(m, cut);
    u->n = u->n_timed = u->head = 0;
    tell_store(m);
    fe_store_sync_all(m->store); /* numbers that are missing are not lost ones */
    return count;
}
