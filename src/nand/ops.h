/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The op list: what the medium did, for the scheduler to put a time on.
 *
 * The medium appends every operation that it executes; nothing else appends reads,
 * programs and erases, so no translation layer can do work that costs nothing.  The
 * list is a small fixed buffer: when it is full it drains into the scheduler, so
 * appending never fails and a merge of a thousand pages stays in the cache.
 *
 * The order of operations matters in two cases only: an op with FE_OP_AFTER_PREV starts when
 * the op before it has ended (the program half of a copy), and a barrier makes all later
 * ops wait for all earlier ones.  Everything else is limited by dies and channels.
 *
 * A merge of a thousand pages, each of which waits for the one before it, is one op (nand/series.h).
 */
#pragma once

#include "flashemu/types.h"

#include <stdbool.h>
#include <stdint.h>

enum fe_op_kind {
    FE_OP_READ,
    FE_OP_PROG,
    FE_OP_ERASE,
    FE_OP_BARRIER, /* no resource: later ops start when all earlier ones have ended */
    FE_OP_BUSY,    /* the controller itself works for cell_ns, and is a barrier */
    FE_OP_SERIES,  /* n reads and programs of one die one after the other, and is a barrier */
};

#define FE_OP_AFTER_PREV 1u

/* The operation before is done once more, because it failed.  For the undo of power cuts
 * (nand/undo.h) the two are one operation. */
#define FE_OP_AGAIN 2u

/* A program of the part of a page that follows the one of the program before: its data join those
 * in the register, and the page is programmed once, when they are there, too. */
#define FE_OP_JOINS 4u

struct fe_op {
    uint64_t start_ns, end_ns; /* set by the scheduler: [start, end) on its die */
    uint64_t cell_ns;          /* tR, tPROG, tBERS or the controller's time; of a series, all of them
                                  together */
    fe_ppn ppn;                /* page; the first page of the block for an erase; FE_PPN_NONE in
                                  the reserve, which strategies do not see (nand/wear.h) */
    uint32_t bus_bytes;        /* bytes that cross the channel; in a series for each of its n */
    uint32_t n;                /* of a series only */
    uint16_t die;
    uint8_t kind, flags;
};

#define FE_OPS_MAX 128

struct fe_oplist {
    uint32_t n;
    uint8_t next_flags; /* of the medium's next read or program of a page */
    bool watched;       /* somebody looks at single operations, so there must be no series */
    void (*drain)(void *ctx, struct fe_op *ops, uint32_t n); /* must not be NULL */
    void *ctx;
    struct fe_op ops[FE_OPS_MAX];
};

static inline void fe_ops_init(struct fe_oplist *l,
                               void (*drain)(void *ctx, struct fe_op *ops, uint32_t n), void *ctx)
{
    l->n = 0;
    l->next_flags = 0;
    l->watched = false;
    l->drain = drain;
    l->ctx = ctx;
}

/* Hands what is in the list to the scheduler. */
static inline void fe_ops_drain(struct fe_oplist *l)
{
    if (l->n)
        l->drain(l->ctx, l->ops, l->n);
    l->n = 0;
}

static inline struct fe_op *fe_ops_add(struct fe_oplist *l)
{
    if (l->n == FE_OPS_MAX)
        fe_ops_drain(l);
    return &l->ops[l->n++];
}

/* The operation that was added last; there must be one since the last drain, which holds
 * right after fe_ops_add. */
static inline struct fe_op *fe_ops_last(struct fe_oplist *l)
{
    return &l->ops[l->n - 1];
}

/* The medium's next read or program of a page starts when the operation before it has ended,
 * whatever else it brings about. */
static inline void fe_ops_wait(struct fe_oplist *l)
{
    l->next_flags = FE_OP_AFTER_PREV;
}

static inline uint8_t fe_ops_take_flags(struct fe_oplist *l)
{
    uint8_t flags = l->next_flags;
    l->next_flags = 0;
    return flags;
}

static inline void fe_ops_barrier(struct fe_oplist *l)
{
    *fe_ops_add(l) = (struct fe_op){.kind = FE_OP_BARRIER, .ppn = FE_PPN_NONE};
}

static inline void fe_ops_busy(struct fe_oplist *l, uint64_t ns)
{
    *fe_ops_add(l) = (struct fe_op){.kind = FE_OP_BUSY, .ppn = FE_PPN_NONE, .cell_ns = ns};
}
