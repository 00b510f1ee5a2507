/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cutchip.h"

#include "device/internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool complain(struct ft_cutchip *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static bool complain(struct ft_cutchip *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!c->wrong[0])
        vsnprintf(c->wrong, sizeof c->wrong, fmt, ap);
    va_end(ap);
    return false;
}

static void observe(void *ctx, const struct fe_op *ops, uint32_t n)
{
    struct ft_cutchip *c = ctx;
    for (uint32_t i = 0; i < n; i++) {
        const struct fe_op *op = &ops[i];
        c->reads += op->kind == FE_OP_READ;
        if (op->kind != FE_OP_PROG && op->kind != FE_OP_ERASE)
            continue;
        if (c->n_ops == FT_CUT_OPS)
            abort();
        c->ops[c->n_ops++] = (struct ft_cut_op){
            .op = *op, .seq = c->seq, .since = c->since, .in_recovery = c->in_recovery};
        c->seq += op->kind == FE_OP_PROG;
        c->n_first_pages += op->kind == FE_OP_PROG && op->ppn % c->geo.pages_per_block == 0;
        if (op->kind == FE_OP_ERASE) {
            c->since = c->seq;
            c->n_erases_issued += !c->in_recovery;
        }
    }
}

void ft_cutchip_init(struct ft_cutchip *c, struct fe_device *dev, bool exact_since)
{
    const struct fe_medium *m = dev->medium;
    *c = (struct ft_cutchip){.dev = dev, .geo = m->geo, .exact_since = exact_since,
                             .journal.peb = FE_PEB_NONE};
    if (c->geo.n_pebs > FT_CUT_BLOCKS || c->geo.n_ppns > FT_CUT_PAGES ||
        c->geo.n_dies > FT_CUT_DIES)
        abort();
    c->seq = c->since = fe_medium_last_seq(m);
    for (fe_peb peb = 0; peb < c->geo.n_pebs; peb++) {
        c->base.next[peb] = fe_medium_next_page(m, peb);
        c->base.erases[peb] = fe_medium_erase_count(m, peb);
        memset(c->base.pages + peb * c->geo.pages_per_block, FE_PAGE_PROGRAMMED,
               c->base.next[peb]);
    }
    fe_device_observe(dev, observe, c);
}

void ft_cutchip_begin(struct ft_cutchip *c, bool in_recovery)
{
    c->in_recovery = in_recovery;
    c->since = c->seq;
}

static void apply(const struct ft_cutchip *c, struct ft_cut_state *s, const struct fe_op *op,
                  enum fe_cut_outcome outcome)
{
    fe_peb peb = op->ppn / c->geo.pages_per_block;
    if (outcome == FE_CUT_NOT_BEGUN)
        return;
    if (op->kind == FE_OP_ERASE) {
        memset(s->pages + op->ppn, FE_PAGE_ERASED, c->geo.pages_per_block);
        s->next[peb] = 0;
        s->erases[peb]++;
        s->unstable[peb] = outcome == FE_CUT_TORN;
        s->n_erases++;
    } else {
        s->pages[op->ppn] = outcome == FE_CUT_TORN ? FE_PAGE_TORN : FE_PAGE_PROGRAMMED;
        s->next[peb]++;
        s->programs++;
    }
}

struct ft_cut_state ft_cutchip_now(const struct ft_cutchip *c)
{
    struct ft_cut_state s = c->base;
    for (uint32_t i = 0; i < c->n_ops; i++)
        apply(c, &s, &c->ops[i].op, FE_CUT_DONE);
    return s;
}

static bool compare(struct ft_cutchip *c, const struct ft_cut_state *s)
{
    const struct fe_medium *m = c->dev->medium;
    struct fe_stats got;
    for (fe_ppn ppn = 0; ppn < c->geo.n_ppns; ppn++)
        if (fe_medium_state(m, ppn) != (enum fe_page_state)s->pages[ppn])
            return complain(c, "page %u is in state %d, not %d", ppn, fe_medium_state(m, ppn),
                            s->pages[ppn]);
    for (fe_peb peb = 0; peb < c->geo.n_pebs; peb++)
        if (fe_medium_next_page(m, peb) != s->next[peb] ||
            fe_medium_erase_count(m, peb) != s->erases[peb] ||
            fe_medium_is_unstable(m, peb) != s->unstable[peb])
            return complain(c, "block %u: %u pages, %u erases, unstable %d; not %u, %u, %d", peb,
                            fe_medium_next_page(m, peb), fe_medium_erase_count(m, peb),
                            fe_medium_is_unstable(m, peb), s->next[peb], s->erases[peb],
                            s->unstable[peb]);
    fe_device_get_stats(c->dev, &got);
    if (got.nand.page_programs != s->programs || got.nand.block_erases != s->n_erases ||
        got.nand.page_reads != c->reads ||
        got.nand.bytes_programmed != s->programs * c->geo.page_bytes)
        return complain(c, "counted are %" PRIu64 " programs, %" PRIu64 " erases, %" PRIu64
                        " reads; done %" PRIu64 ", %" PRIu64 ", %" PRIu64, got.nand.page_programs,
                        got.nand.block_erases, got.nand.page_reads, s->programs, s->n_erases,
                        c->reads);
    return true;
}

bool ft_cutchip_agrees(struct ft_cutchip *c)
{
    struct ft_cut_state now = ft_cutchip_now(c);
    return compare(c, &now);
}

/* What becomes of an operation that is under way. */
static enum fe_cut_outcome outcome_of(const struct ft_cutchip *c, fe_ppn ppn, uint32_t kind,
                                      uint64_t start_ns)
{
    if (c->chosen && c->chosen->op.ppn == ppn && c->chosen->op.kind == kind &&
        c->chosen->op.start_ns == start_ns)
        return c->chosen_outcome;
    uint64_t bits = fe_rng(c->seed, FE_RNG_TEST, ppn, kind);
    return (enum fe_cut_outcome)fe_rng_below(bits, 3);
}

static enum fe_cut_outcome choose(void *ctx, const struct fe_undo_op *op)
{
    return outcome_of(ctx, op->ppn, op->kind, op->start_ns);
}

static bool journal_agrees(struct ft_cutchip *c)
{
    struct fe_interrupted got = fe_medium_interrupted(c->dev->medium), want = c->journal;
    if (got.peb != want.peb)
        return complain(c, "the journal names block %d, not %d", (int)got.peb, (int)want.peb);
    if (want.peb == FE_PEB_NONE || (got.until == want.until &&
        (c->exact_since ? got.since == want.since : got.since <= got.until)))
        return true;
    return complain(c, "the journal of block %u: programs %" PRIu64 " to %" PRIu64 ", not %" PRIu64
                    " to %" PRIu64, got.peb, got.since, got.until, want.since, want.until);
}

bool ft_cutchip_cut(struct ft_cutchip *c, uint64_t at_ns, const struct ft_cut_op *chosen,
                    enum fe_cut_outcome outcome, uint64_t seed)
{
    struct ft_cut_state after = c->base;
    struct fe_interrupted journal = {.peb = FE_PEB_NONE};
    bool stopped[FT_CUT_DIES] = {false}, in_recovery = false;
    c->chosen = chosen;
    c->chosen_outcome = outcome;
    c->seed = seed;
    for (uint32_t i = 0; i < c->n_ops; i++) {
        const struct ft_cut_op *op = &c->ops[i];
        enum fe_cut_outcome o = FE_CUT_DONE;
        if (stopped[op->op.die] || op->op.start_ns >= at_ns)
            o = FE_CUT_NOT_BEGUN;
        else if (op->op.end_ns > at_ns)
            o = outcome_of(c, op->op.ppn, op->op.kind, op->op.start_ns);
        stopped[op->op.die] = stopped[op->op.die] || o != FE_CUT_DONE;
        in_recovery = in_recovery || (o != FE_CUT_DONE && op->in_recovery);
        if (op->op.kind == FE_OP_ERASE && o == FE_CUT_NOT_BEGUN && journal.peb == FE_PEB_NONE)
            journal = (struct fe_interrupted){
                op->op.ppn / c->geo.pages_per_block, op->since, op->seq};
        apply(c, &after, &op->op, o);
    }
    if (!in_recovery)
        c->journal = journal;
    c->dev->power.cut_ns = at_ns;
    fe_power_cut(c->dev, &(struct fe_cut){.choose = choose, .ctx = c});
    c->base = after;
    c->n_ops = 0;
    return compare(c, &after) && journal_agrees(c);
}
