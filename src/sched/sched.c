/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each timeline is a single number, the instant from which it is free.  That is enough, because
 * operations are placed in the order in which the controller issued them and are never moved
 * afterwards.  It also follows that two operations on one timeline cannot overlap.
 */
#include "sched/sched.h"

#include <stdlib.h>
#include <string.h>

int fe_sched_init(struct fe_sched *s, const struct fe_nand_params *p,
                  const struct fe_geometry *geo, struct fe_err *err)
{
    memset(s, 0, sizeof *s);
    s->n_dies = geo->n_dies;
    s->n_channels = geo->n_channels;
    s->bus_rate = p->bus_rate;
    s->command_ns = p->command_ns;
    s->cached = p->cached;
    s->die_free_ns = calloc(geo->n_dies, sizeof *s->die_free_ns);
    s->chan_free_ns = calloc(geo->n_channels, sizeof *s->chan_free_ns);
    s->reg_free_ns = calloc(geo->n_dies, sizeof *s->reg_free_ns);
    s->chan_of = calloc(geo->n_dies, sizeof *s->chan_of);
    if (!s->die_free_ns || !s->chan_free_ns || !s->reg_free_ns || !s->chan_of) {
        fe_sched_fini(s);
        return fe_err_nomem(err, "timelines", geo->n_dies * 18ull + geo->n_channels * 8ull);
    }
    for (uint32_t die = 0; die < geo->n_dies; die++)
        s->chan_of[die] = (uint16_t)(die % geo->n_channels);
    return 0;
}

void fe_sched_fini(struct fe_sched *s)
{
    free(s->die_free_ns);
    free(s->chan_free_ns);
    free(s->reg_free_ns);
    free(s->chan_of);
    s->die_free_ns = s->chan_free_ns = s->reg_free_ns = NULL;
    s->chan_of = NULL;
}

void fe_sched_reset(struct fe_sched *s)
{
    memset(s->die_free_ns, 0, s->n_dies * sizeof *s->die_free_ns);
    memset(s->chan_free_ns, 0, s->n_channels * sizeof *s->chan_free_ns);
    memset(s->reg_free_ns, 0, s->n_dies * sizeof *s->reg_free_ns);
    s->hold_ns = s->all_end_ns = s->prog_end_ns = s->loaded_ns = s->array_ns = 0;
    fe_sched_begin(s, 0);
}

void fe_sched_begin(struct fe_sched *s, uint64_t ready_ns)
{
    s->ready_ns = s->prev_end_ns = s->max_end_ns = fe_max_u64(ready_ns, s->hold_ns);
}

/* How long a transfer takes; bus_rate 0 means an infinitely fast bus. */
static uint64_t transfer_ns(struct fe_sched *s, uint32_t bytes)
{
    if (bytes != s->memo_bytes) {
        s->memo_bytes = bytes;
        s->memo_ns = s->bus_rate ? fe_muldiv_up(bytes, FE_NS_PER_S, s->bus_rate) : 0;
    }
    return s->memo_ns;
}

/* The data go from the array into the register, and from there over the channel. */
static void place_read(struct fe_sched *s, struct fe_op *op, uint64_t ready)
{
    uint64_t *chan = &s->chan_free_ns[s->chan_of[op->die]];
    uint64_t bus_ns = transfer_ns(s, op->bus_bytes);
    uint64_t start = fe_max_u64(ready, s->die_free_ns[op->die]);
    uint64_t sensed = fe_time_add(start, s->command_ns + op->cell_ns);
    uint64_t in_register = fe_max_u64(sensed, s->reg_free_ns[op->die]);
    uint64_t end = fe_time_add(fe_max_u64(in_register, *chan), bus_ns);
    if (op->bus_bytes)
        *chan = end;
    s->reg_free_ns[op->die] = end;
    s->die_free_ns[op->die] = s->cached ? in_register : end;
    op->start_ns = start;
    op->end_ns = end;
}

/* The data come over the channel into the register, and go from there into the array.  If they join
 * those of the program before, register and array are those that it has, and its end is put off. */
static void place_prog(struct fe_sched *s, struct fe_op *op, uint64_t ready)
{
    bool joins = op->flags & FE_OP_JOINS;
    uint64_t *chan = &s->chan_free_ns[s->chan_of[op->die]];
    uint64_t bus_ns = transfer_ns(s, op->bus_bytes);
    uint64_t start = fe_max_u64(ready, joins ? s->loaded_ns : s->reg_free_ns[op->die]);
    if (op->bus_bytes)
        start = fe_max_u64(start, *chan);
    s->loaded_ns = fe_time_add(start, s->command_ns + bus_ns);
    if (!joins)
        s->array_ns = s->die_free_ns[op->die];
    uint64_t cell = fe_max_u64(s->loaded_ns, s->array_ns);
    uint64_t end = fe_time_add(cell, op->cell_ns);
    if (op->bus_bytes)
        *chan = s->loaded_ns;
    op->start_ns = joins ? fe_max_u64(ready, s->die_free_ns[op->die]) : start;
    op->end_ns = end;
    s->reg_free_ns[op->die] = s->cached ? cell : end;
    s->die_free_ns[op->die] = end;
    s->prog_end_ns = fe_max_u64(s->prog_end_ns, end);
}

/* One after the other, behind all programs and all that the die does. */
static void place_erase(struct fe_sched *s, struct fe_op *op, uint64_t ready)
{
    uint64_t die = fe_max_u64(s->die_free_ns[op->die], s->reg_free_ns[op->die]);
    op->start_ns = fe_max_u64(fe_max_u64(ready, s->prog_end_ns), die);
    op->end_ns = fe_time_add(op->start_ns, s->command_ns + op->cell_ns);
    s->die_free_ns[op->die] = s->reg_free_ns[op->die] = op->end_ns;
}

/* Behind everything, and in front of everything that follows. */
static void place_barrier(struct fe_sched *s, struct fe_op *op)
{
    uint64_t ns = op->cell_ns;
    if (op->kind == FE_OP_SERIES) {
        uint64_t each = s->command_ns + transfer_ns(s, op->bus_bytes), all;
        ns = fe_mul_ok(each, op->n, &all) ? fe_time_add(ns, all) : FE_TIME_MAX;
    }
    op->start_ns = fe_max_u64(s->max_end_ns, s->all_end_ns);
    op->end_ns = s->ready_ns = s->prev_end_ns = s->hold_ns = s->max_end_ns = s->all_end_ns =
        fe_time_add(op->start_ns, ns);
}

static void place(struct fe_sched *s, struct fe_op *op)
{
    uint64_t ready = op->flags & FE_OP_AFTER_PREV ? s->prev_end_ns : s->ready_ns;

    switch ((enum fe_op_kind)op->kind) {
    case FE_OP_READ:
        place_read(s, op, ready);
        break;
    case FE_OP_PROG:
        place_prog(s, op, ready);
        break;
    case FE_OP_ERASE:
        place_erase(s, op, ready);
        break;
    case FE_OP_BARRIER:
    case FE_OP_BUSY:
    case FE_OP_SERIES:
        place_barrier(s, op);
        return;
    }
    s->prev_end_ns = op->end_ns;
    s->max_end_ns = fe_max_u64(s->max_end_ns, op->end_ns);
    s->all_end_ns = fe_max_u64(s->all_end_ns, op->end_ns);
}

__attribute__((flatten)) void fe_sched_place(struct fe_sched *s, struct fe_op *ops, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        place(s, &ops[i]);
}
