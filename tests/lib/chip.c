/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/chip.h"

#include "device/internal.h"
#include "lib/rand.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool complain(struct ft_chip *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool complain(struct ft_chip *c, const char *fmt, ...)
{
    if (!c->wrong[0]) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(c->wrong, sizeof c->wrong, fmt, ap);
        va_end(ap);
    }
    return false;
}

static uint64_t transfer_ns(const struct ft_chip *c, uint64_t bytes)
{
    if (c->nand.bus_rate == 0)
        return 0;
    unsigned __int128 ps = (unsigned __int128)bytes * 1000000000u;
    return (uint64_t)((ps + c->nand.bus_rate - 1) / c->nand.bus_rate);
}

/* How often tPROG a page takes: the units of its data and those of its OOB, if a program unit is
 * smaller than the page. */
static uint64_t programs_of_page(const struct fe_nand_params *n)
{
    uint64_t unit = n->program_unit;
    return unit ? (n->page_size + unit - 1) / unit + (n->oob_size + unit - 1) / unit : 1;
}

/* Whether the operation before has read another part of the same page. */
static bool is_sensed(const struct ft_chip *c, const struct fe_op *op)
{
    return c->nand.page_parts > 1 && c->prev_kind == FE_OP_READ &&
           op->ppn / c->nand.page_parts == c->prev_ppn / c->nand.page_parts;
}

/* Whether the operation before has programmed the part in front of this one. */
static bool may_join(const struct ft_chip *c, const struct fe_op *op)
{
    return c->nand.page_parts > 1 && op->ppn % c->nand.page_parts && op->kind == FE_OP_PROG &&
           c->prev_kind == FE_OP_PROG && op->ppn == c->prev_ppn + 1;
}

/* Whether the cell time of the operation is one that this page can have. */
static bool cell_time_is_right(const struct ft_chip *c, const struct fe_op *op, uint32_t page)
{
    const struct fe_nand_params *n = &c->nand;
    uint32_t bit = fe_page_bit(&c->geo, page);
    uint64_t units = programs_of_page(n);
    if (op->kind == FE_OP_READ && op->cell_ns == 0 && n->tR_ns[bit])
        return is_sensed(c, op);
    if (op->kind == FE_OP_READ)
        return op->cell_ns == n->tR_ns[bit] || op->cell_ns == n->slc_tR_ns ||
               op->cell_ns == n->tR_ns[0];
    if (op->kind == FE_OP_PROG)
        return op->cell_ns == n->tPROG_ns[bit] * units ||
               op->cell_ns == n->slc_tPROG_ns * units || op->cell_ns == n->tPROG_ns[0] * units;
    return op->cell_ns == c->nand.tBERS_ns;
}

static bool is_whole_page(const struct ft_chip *c, uint32_t bytes)
{
    return bytes == c->geo.page_bytes + c->geo.oob_bytes;
}

/* Whether this is the second half of a copy within a die, which may do without the bus. */
static bool is_copyback(const struct ft_chip *c, const struct fe_op *op)
{
    return c->nand.copyback && op->flags & FE_OP_AFTER_PREV && op->bus_bytes == 0 &&
           c->prev_die == op->die;
}

static bool change_state(struct ft_chip *c, const struct fe_op *op)
{
    if (op->ppn >= c->geo.n_ppns)
        return complain(c, "op %u on page %u of %u", op->kind, op->ppn, c->geo.n_ppns);
    uint32_t peb = op->ppn / c->geo.pages_per_block, page = op->ppn % c->geo.pages_per_block;
    if (op->die != peb % c->geo.n_dies)
        return complain(c, "block %u on die %u", peb, op->die);
    if (!cell_time_is_right(c, op, page))
        return complain(c, "op %u on page %u takes %" PRIu64 " ns", op->kind, page, op->cell_ns);
    switch ((enum fe_op_kind)op->kind) {
    case FE_OP_READ:
        c->reads++;
        if (page >= c->filled[peb])
            return complain(c, "block %u: page %u read, %u programmed", peb, page, c->filled[peb]);
        break;
    case FE_OP_PROG:
        c->programs++;
        if (page != c->filled[peb]++)
            return complain(c, "block %u: page %u programmed out of order", peb, page);
        if (!is_whole_page(c, op->bus_bytes) && !is_copyback(c, op))
            return complain(c, "program of %u bytes", op->bus_bytes);
        break;
    case FE_OP_ERASE:
        c->blocks_erased++;
        c->pages_erased += c->filled[peb];
        c->filled[peb] = 0;
        c->erases[peb]++;
        if (page != 0)
            return complain(c, "erase at page %u", page);
        break;
    case FE_OP_BARRIER:
    case FE_OP_BUSY:
        break;
    case FE_OP_SERIES:
        return complain(c, "a run, although the operations are observed");
    }
    return true;
}

/* Checks that the die does one operation at a time.  With a cache register the array and the
 * register are two things: the array is busy in [array_from, array_to), and the register in
 * [reg_from, reg_to), before the array in a program and behind it in a read. */
static bool check_die(struct ft_chip *c, const struct fe_op *op, uint64_t bus)
{
    uint64_t *die = &c->die_free[op->die], *reg = &c->reg_free[op->die];
    uint64_t array_from = op->start_ns, array_to = op->end_ns;
    uint64_t reg_from = op->start_ns, reg_to = op->end_ns;
    if (c->nand.cached && op->kind == FE_OP_PROG)
        array_from = reg_to = op->end_ns - op->cell_ns;
    if (c->nand.cached && op->kind == FE_OP_READ) {
        array_to = op->start_ns + c->nand.command_ns + op->cell_ns;
        reg_from = op->end_ns - bus;
    }
    if (array_from < *die || reg_from < *reg)
        return complain(c,
                        "op %u at %" PRIu64 " to %" PRIu64 ", its die is free at %" PRIu64
                        ", the register at %" PRIu64,
                        op->kind, op->start_ns, op->end_ns, *die, *reg);
    *die = array_to;
    *reg = reg_to;
    return true;
}

/* Checks a program that joins the one before: its data come behind those of the other one, and the
 * cells take their whole time for all of them. */
static bool check_joined(struct ft_chip *c, const struct fe_op *op)
{
    uint64_t *die = &c->die_free[op->die], *chan = &c->chan_free[op->die % c->geo.n_channels];
    uint64_t loaded = c->loaded + c->nand.command_ns + transfer_ns(c, op->bus_bytes);
    uint64_t cell = op->end_ns - op->cell_ns;
    if (!may_join(c, op))
        return complain(c, "program of page %u joins that of page %u", op->ppn, c->prev_ppn);
    if (op->start_ns < *die || op->end_ns < op->start_ns || cell < loaded || cell < c->held ||
        op->start_ns < c->held)
        return complain(c, "joined program at %" PRIu64 " to %" PRIu64 ", its die is free at %"
                        PRIu64 ", its data are there at %" PRIu64, op->start_ns, op->end_ns, *die,
                        loaded);
    *die = op->end_ns;
    c->reg_free[op->die] = c->nand.cached ? cell : op->end_ns;
    c->loaded = loaded;
    if (op->bus_bytes && transfer_ns(c, op->bus_bytes) && loaded > *chan)
        *chan = loaded;
    return true;
}

/* Checks how long the operation takes, the die, barriers, and the transfer on the channel. */
static bool check_time(struct ft_chip *c, const struct fe_op *op)
{
    uint64_t *chan = &c->chan_free[op->die % c->geo.n_channels];
    uint64_t bus = transfer_ns(c, op->bus_bytes), command = c->nand.command_ns;
    uint64_t least = command + op->cell_ns + bus, bus_start = op->start_ns, bus_end = 0;
    if (op->flags & FE_OP_JOINS)
        return check_joined(c, op);
    c->loaded = op->start_ns + command + bus;
    if (op->end_ns < op->start_ns || op->end_ns - op->start_ns < least ||
        (op->kind != FE_OP_READ && !c->nand.cached && op->end_ns - op->start_ns != least))
        return complain(c, "op %u takes %" PRIu64 " ns, at least %" PRIu64, op->kind,
                        op->end_ns - op->start_ns, least);
    if (!check_die(c, op, bus))
        return false;
    if (op->start_ns < c->held)
        return complain(c, "op %u starts at %" PRIu64 ", held until %" PRIu64, op->kind,
                        op->start_ns, c->held);
    if (op->kind == FE_OP_ERASE && op->start_ns < c->prog_end)
        return complain(c, "erase at %" PRIu64 ", programs before it end at %" PRIu64,
                        op->start_ns, c->prog_end);
    if (op->flags & FE_OP_AFTER_PREV && op->start_ns < c->prev_end)
        return complain(c, "copy: program at %" PRIu64 ", read ends at %" PRIu64, op->start_ns,
                        c->prev_end);
    if (op->kind == FE_OP_READ && op->bus_bytes) {
        bus_start = op->end_ns - bus;
        bus_end = op->end_ns;
    } else if (op->kind == FE_OP_PROG && op->bus_bytes) {
        bus_end = op->start_ns + command + bus;
    }
    if (bus_end && bus_end != bus_start && bus_start < *chan)
        return complain(c, "op %u: transfer at %" PRIu64 ", channel is free at %" PRIu64, op->kind,
                        bus_start, *chan);
    *chan = bus_end > *chan ? bus_end : *chan;
    return true;
}

static bool check_barrier(struct ft_chip *c, const struct fe_op *op)
{
    if (op->start_ns < c->all_end)
        return complain(c, "barrier at %" PRIu64 ", earlier work ends at %" PRIu64, op->start_ns,
                        c->all_end);
    if (op->end_ns - op->start_ns != op->cell_ns)
        return complain(c, "barrier takes %" PRIu64 " ns", op->end_ns - op->start_ns);
    c->held = op->end_ns;
    return true;
}

static void observe(void *ctx, const struct fe_op *ops, uint32_t n)
{
    struct ft_chip *c = ctx;
    for (uint32_t i = 0; i < n && !c->wrong[0]; i++) {
        const struct fe_op *op = &ops[i];
        if (op->kind == FE_OP_BARRIER || op->kind == FE_OP_BUSY) {
            check_barrier(c, op);
        } else if (change_state(c, op)) {
            check_time(c, op);
        }
        if (op->kind == FE_OP_PROG && op->end_ns > c->prog_end)
            c->prog_end = op->end_ns;
        c->prev_end = op->end_ns;
        c->prev_die = op->die;
        if (op->kind != FE_OP_BARRIER && op->kind != FE_OP_BUSY) {
            c->prev_kind = op->kind;
            c->prev_ppn = op->ppn;
        }
        c->all_end = op->end_ns > c->all_end ? op->end_ns : c->all_end;
        c->max_end = op->end_ns > c->max_end ? op->end_ns : c->max_end;
        c->hash = ft_hash_u64(c->hash, op->start_ns);
        c->hash = ft_hash_u64(c->hash, op->end_ns);
        c->hash = ft_hash_u64(c->hash, ((uint64_t)op->kind << 32) | op->ppn);
    }
}

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p)
        abort();
    return p;
}

void ft_chip_init(struct ft_chip *c, struct fe_device *dev)
{
    *c = (struct ft_chip){.nand = dev->profile.nand, .geo = dev->medium->geo,
                          .hash = FT_HASH_START};
    c->filled = zeros(c->geo.n_pebs, sizeof *c->filled);
    c->erases = zeros(c->geo.n_pebs, sizeof *c->erases);
    c->die_free = zeros(c->geo.n_dies, sizeof *c->die_free);
    c->chan_free = zeros(c->geo.n_channels, sizeof *c->chan_free);
    c->reg_free = zeros(c->geo.n_dies, sizeof *c->reg_free);
    for (fe_peb peb = 0; peb < c->geo.n_pebs; peb++) {
        c->filled[peb] = fe_medium_next_page(dev->medium, peb);
        c->erases[peb] = fe_medium_erase_count(dev->medium, peb);
    }
    fe_device_observe(dev, observe, c);
}

void ft_chip_fini(struct ft_chip *c)
{
    free(c->filled);
    free(c->erases);
    free(c->die_free);
    free(c->chan_free);
    free(c->reg_free);
}

static bool wear_agrees(struct ft_chip *c, const struct fe_device *dev, const struct fe_stats *s)
{
    double sum = 0, sum_sq = 0, n = 0;
    uint64_t min = UINT64_MAX, max = 0;
    for (fe_peb peb = 0; peb < c->geo.n_pebs; peb++) {
        if (c->filled[peb] != fe_medium_next_page(dev->medium, peb))
            return complain(c, "block %u: %u pages programmed, the device says %u", peb,
                            c->filled[peb], fe_medium_next_page(dev->medium, peb));
        if (fe_medium_is_bad(dev->medium, peb))
            continue;
        uint64_t e = c->erases[peb];
        min = e < min ? e : min;
        max = e > max ? e : max;
        sum += (double)e;
        sum_sq += (double)e * (double)e;
        n++;
    }
    double mean = sum / n, stddev = sqrt(fmax(0, sum_sq / n - mean * mean));
    if (s->wear.min != min || s->wear.max != max || fabs(s->wear.mean - mean) > 1e-9 * mean ||
        fabs(s->wear.stddev - stddev) > 1e-6 * (mean + 1))
        return complain(c, "wear %" PRIu64 "..%" PRIu64 " mean %g stddev %g; wanted %" PRIu64
                        "..%" PRIu64 " %g %g", s->wear.min, s->wear.max, s->wear.mean,
                        s->wear.stddev, min, max, mean, stddev);
    return true;
}

bool ft_chip_agrees(struct ft_chip *c, const struct fe_device *dev)
{
    struct fe_stats s;
    uint64_t gang = c->geo.planes_ganged;
    if (c->wrong[0])
        return false;
    fe_device_get_stats(dev, &s);
    if (s.nand.page_reads != c->reads * gang || s.nand.page_programs != c->programs * gang ||
        s.nand.block_erases != c->blocks_erased * gang ||
        s.nand.bytes_programmed != c->programs * c->geo.page_bytes)
        return complain(c, "counters say %" PRIu64 " reads %" PRIu64 " programs %" PRIu64
                        " erases %" PRIu64 " bytes; done %" PRIu64 " %" PRIu64 " %" PRIu64
                        " (times %" PRIu64 ")", s.nand.page_reads, s.nand.page_programs,
                        s.nand.block_erases, s.nand.bytes_programmed, c->reads, c->programs,
                        c->blocks_erased, gang);
    return wear_agrees(c, dev, &s);
}
