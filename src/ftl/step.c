/* SPDX-License-Identifier: BSD-3-Clause
 *
 * step: no translation layer and no chip, only delays as somebody has measured them (Aderhold and
 * Field, for a 32 MB stick).
 *
 * A command that begins where an earlier one has ended continues the run of that command.  Every
 * other command begins a new run.  This is what a run of reads costs with first = 4 and again = 16:
 *
 *   block    1  2  3  4  5  6 ... 12 ... 28 ... 44 ...
 *   random   #                                              when the run begins
 *   spike             |           |      |      |           after 4, 8, 16, 16, ... blocks
 *
 * Between them, reads cost nothing.  In a run of writes each later block costs a step, and spikes are
 * always `again` blocks apart.  So the time for the first n blocks, drawn over n, is a staircase or a
 * line with steps.  Later blocks of writes cost nothing until they have paid back the time of `random`:
 * the curve starts high, stays level, and finally is where it would be without `random`.
 *
 *   ms |          . '
 *      |- - - -.'              a long run costs its steps and spikes, a short one `random`
 *      |    . '
 *      +------------- blocks
 *
 * Everything is counted in blocks of 512 bytes of the run, from its first byte on.  So it does not
 * matter how a host cuts the run into commands.  A block costs its step when a command begins it; the
 * command that completes the block pays nothing for it.
 *
 * There is one run of reads and one of writes.  A new run takes the place of the one before, and what
 * that had not yet saved is forgotten.
 *
 * There is no chip, so there are no rules of a medium.  A page lies where its address says and is
 * overwritten there, which the store does by itself.  The medium only provides its op list and the
 * number of its pages.  So nothing is programmed: bytes programmed and the WAF are 0, nothing
 * wears, and nothing is ever collected.  All of a command's delay stands at its beginning, as work
 * of the controller.
 *
 * Not modelled: any cause.  The delay does not depend on what was written before or where, nor on
 * how full the device is.
 */
#include "ftl/step_core.h"

#include <errno.h>

/* Goes on to the next threshold; UINT64_MAX if there are no more. */
static void set_next_spike(struct step_run *r, const struct fe_step_rule *rule, bool write)
{
    if (rule->again == 0) {
        r->next_spike = UINT64_MAX;
        return;
    }
    r->interval = write ? rule->again : fe_min_u64(2 * r->interval, rule->again);
    r->next_spike += r->interval;
}

/* Returns what the first block costs. */
static uint64_t begin_run(struct step_run *r, const struct fe_step_rule *rule, bool write,
                          uint64_t offset)
{
    *r = (struct step_run){
        .start = offset,
        .end = offset,
        .blocks = 1,
        .next_spike = rule->first ? rule->first : UINT64_MAX,
        .interval = rule->first,
        .owed_ns = write ? rule->random_ns : 0,
    };
    return rule->random_ns;
}

/* Returns what the blocks cost that have been added to the run since the last call. */
static uint64_t continue_run(struct step_run *r, const struct fe_step_rule *rule, bool write)
{
    uint64_t blocks = fe_div_up(r->end - r->start, FE_STEP_BLOCK);
    uint64_t ns = (blocks - r->blocks) * rule->step_ns;
    r->blocks = blocks;
    while (blocks >= r->next_spike) {
        ns += rule->spike_ns;
        set_next_spike(r, rule, write);
    }
    uint64_t back = fe_min_u64(ns, r->owed_ns);
    r->owed_ns -= back;
    return ns - back;
}

static void step_begin_command(struct fe_ftl *ftl, bool write, uint64_t offset, uint64_t len)
{
    struct step_ftl *s = step_of(ftl);
    const struct fe_step_rule *rule = write ? &s->p.write : &s->p.read;
    struct step_run *r = &s->runs[write];
    uint64_t ns = 0;

    if (r->blocks == 0 || r->end != offset)
        ns = begin_run(r, rule, write, offset);
    r->end += len;
    ns += continue_run(r, rule, write);
    if (ns)
        fe_ops_busy(ftl->medium->ops, ns);
}

static enum fe_status step_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                void *buf)
{
    fe_store_read(ftl->medium->store, lpn, off, len, buf);
    return FE_OK;
}

static fe_ppn step_locate(const struct fe_ftl *ftl, fe_lpn lpn)
{
    return fe_store_is_written(ftl->medium->store, lpn) ? lpn : FE_PPN_NONE;
}

static enum fe_status step_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *data)
{
    fe_store_overwrite(ftl->medium->store, lpn, off, len, data);
    return FE_OK;
}

static int check_rule(const char *kind, const struct fe_step_rule *r, struct fe_err *err)
{
    if (r->first == 1)
        return fe_err_set(err, EINVAL,
                          "step.%s_spike:first=1: the first block of a run costs step.%s_random; must "
                          "be 2 or more, or never",
                          kind, kind);
    return 0;
}

/* One page less than the chip has, because no strategy may offer all pages. */
static uint64_t step_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                              struct fe_err *err)
{
    if (check_rule("read", &p->step.read, err) < 0 || check_rule("write", &p->step.write, err) < 0)
        return 0;
    if (geo->n_ppns == 1)
        fe_err_set(err, EINVAL, "ftl.type=step: a chip of one page is too small");
    return geo->n_ppns - 1;
}

/* On a used medium there is nothing to find: a page lies where its number says. */
static int step_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                      struct fe_err *err)
{
    (void)used;
    (void)err;
    step_of(ftl)->p = p->step;
    return 0;
}

/* What a run still gives back is a part of the random delay, which may now be shorter. */
static void set_rule(struct step_ftl *s, bool write, struct fe_step_rule *rule,
                     const struct fe_step_rule *from)
{
    *rule = *from;
    s->runs[write].owed_ns = fe_min_u64(s->runs[write].owed_ns, rule->random_ns);
}

static void step_set_delays(struct fe_ftl *ftl, const struct fe_ftl_params *p)
{
    struct step_ftl *s = (struct step_ftl *)ftl;
    set_rule(s, false, &s->p.read, &p->step.read);
    set_rule(s, true, &s->p.write, &p->step.write);
}

static int check_run(const struct step_ftl *s, bool write, struct fe_err *err)
{
    const struct step_run *r = &s->runs[write];
    const struct fe_step_rule *rule = write ? &s->p.write : &s->p.read;
    if (r->blocks == 0)
        return 0;
    if (r->end <= r->start || r->blocks != fe_div_up(r->end - r->start, FE_STEP_BLOCK) ||
        r->next_spike <= r->blocks || r->owed_ns > rule->random_ns)
        return fe_err_set(err, EIO,
                          "the run of %s: bytes [%llu, %llu), %llu blocks, next spike at %llu",
                          write ? "writes" : "reads", (unsigned long long)r->start,
                          (unsigned long long)r->end, (unsigned long long)r->blocks,
                          (unsigned long long)r->next_spike);
    return 0;
}

static int step_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct step_ftl *s = (const struct step_ftl *)ftl;
    const struct fe_medium *m = ftl->medium;
    int r = check_run(s, false, err);
    if (r == 0)
        r = check_run(s, true, err);
    if (r == 0 && (m->counters.page_programs || m->counters.block_erases))
        r = fe_err_set(err, EIO, "the chip has been used: %llu programs, %llu erases",
                       (unsigned long long)m->counters.page_programs,
                       (unsigned long long)m->counters.block_erases);
    return r;
}

const struct fe_ftl_ops fe_ftl_step = {
    .name = "step",
    .summary = "no chip, only measured delays for sequential and random commands ([nand] may be "
               "left out)",
    .no_medium = true,
    .max_lpns = step_max_lpns,
    .size = sizeof(struct step_ftl),
    .start = step_start,
    .read = step_read,
    .locate = step_locate,
    .write = step_write,
    .begin_command = step_begin_command,
    .set_delays = step_set_delays,
    .check = step_check,
};
