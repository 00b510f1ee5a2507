/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking back what had not happened when the power went.
 *
 * The medium's state runs ahead of time: an operation changes the state when it is issued, and
 * ends later.  A power cut at an instant needs the state of that instant, so the medium can
 * remember every program and erase until its end has passed.
 *
 *     issued order     P1      P2      E3      P4           now = latest arrival
 *     [start, end)   [--]   [------)  [----)       [---)
 *     cut at t                     ^t
 *                    stays   torn    torn     undone
 *
 * The operations are remembered in a ring, in order of issue:
 *
 *     head                      n_timed             n
 *      |  placed on a timeline   |  issued only      |
 *      v                         v                   v
 *      [ P1 | P2 | E3 | P4 | P5 ][ P6 | E7 | P8     ]
 *      settled from here on      times to come
 *
 * The bytes of a page that was programmed anew somewhere else are needed until that program is
 * final: a cut may bring the older page back.  They go then, and not before.
 *
 * Only a device that can lose power pays for this: without fe_undo_create() a program
 * costs one more test of a pointer.  Memory: 96 bytes for each operation that is not over,
 * and a page's bytes where a block is programmed whose erase is not over.
 *
 * If the host has no memory for one more record, the oldest operation counts as done.  A cut
 * then takes back less than it should.  What it leaves is still a state that the chip could
 * have been in, since later operations depend on earlier ones and never the other way round.
 *
 * No lock: part of the medium.
 */
#pragma once

#include "nand/chip_undo.h"
#include "nand/medium_read.h"

/* What a cut makes of an operation that was under way. */
enum fe_cut_outcome { FE_CUT_NOT_BEGUN, FE_CUT_TORN, FE_CUT_DONE };

/* A program or an erase that may have to be taken back. */
struct fe_undo_op {
    uint64_t start_ns, end_ns;
    fe_ppn ppn;               /* of an erase: the block's first page; FE_PPN_NONE: it failed */
    fe_ppn replaced;          /* a program: whose bytes go when it is final, or FE_PPN_NONE */
    uint8_t kind;             /* FE_OP_PROG or FE_OP_ERASE */
    uint8_t outcome;          /* enum fe_cut_outcome, during a cut */
    bool in_recovery;         /* issued at power-on */
    uint64_t last_seq;        /* the last program before it */
    uint16_t first_die;       /* what came before the operation there ended before it; */
    uint16_t last_die;        /* what follows there, follows it; another die if it was repeated */
    struct fe_aside aside;    /* a program: what its page held before the erase */
    uint64_t since;           /* an erase: the last program when its emptying began */
    union {
        struct fe_chip_old_page old_page;   /* a program: its page before */
        struct fe_chip_old_block old_block; /* an erase: its block before */
    };
};

struct fe_undo {
    struct fe_undo_op *ring; /* in order of issue, oldest first */
    uint32_t room, head, n;
    uint32_t n_timed;        /* the oldest n_timed have been placed by the scheduler */
    uint32_t n_dropped;      /* so many counted as done before they were placed */
    uint32_t *erases;        /* per block: how many of its erases are in the ring */
    bool recovering;         /* operations belong to power-on now */
    uint8_t *stopped;        /* per die, during a cut: the die does nothing any more */
};

/* Operation i of n, the oldest one being 0. */
static inline struct fe_undo_op *fe_undo_at(const struct fe_undo *u, uint32_t i)
{
    return &u->ring[(u->head + i) & (u->room - 1)];
}

struct fe_cut {
    uint64_t at_ns;
    uint64_t seed, number;   /* of the draws: the number tells cuts apart */
    uint32_t partner_ppm;    /* share of torn MSB programs that take their LSB page along */
    /* What becomes of an operation under way; NULL: torn half of the time, else done or
     * not begun.  A die whose operation is not done does nothing after it, whatever is
     * said here. */
    enum fe_cut_outcome (*choose)(void *ctx, const struct fe_undo_op *op);
    void *ctx;
};

/* What a cut has come to, in operations. */
struct fe_cut_count {
    uint32_t done, torn, undone;
};

/* From now on power can be cut.  Everything before is final.  -ENOMEM. */
int fe_undo_create(struct fe_medium *m, struct fe_err *err);
void fe_undo_destroy(struct fe_medium *m);

/* For the medium: before a page is programmed, before a block is erased. */
void fe_undo_note_prog(struct fe_medium *m, fe_ppn ppn, fe_lpn lpn);
void fe_undo_note_erase(struct fe_medium *m, fe_peb peb);

/* The operation noted last is a program of a newer copy of this page.  When that is final, nobody
 * will ask for the bytes of the page.  After a cut they stay until its block is erased. */
void fe_undo_note_replaced(struct fe_medium *m, fe_ppn ppn);

/* The operation noted last has failed and changed nothing.  Nothing without an undo. */
void fe_undo_forget_last(struct fe_medium *m);

/* The scheduler has placed these operations: all that the medium has issued since the
 * last call, in order. */
void fe_undo_placed(struct fe_medium *m, const struct fe_op *ops, uint32_t n);

/* Power will not be cut before now_ns: what has ended by then is final. */
void fe_undo_settle(struct fe_medium *m, uint64_t now_ns);

/* Power fails at cut->at_ns, which is not before the last settling: the chip becomes what it
 * is at that instant, and writes the cut into its journal.  All operations must have been
 * placed.  Afterwards everything is final. */
struct fe_cut_count fe_undo_cut(struct fe_medium *m, const struct fe_cut *cut);
