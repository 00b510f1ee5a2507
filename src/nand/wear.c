/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fails, and what the controller does about it:
 *
 *   program fails      the block's pages and this one go to a spare, the block is bad
 *   erase fails        a spare takes its place, the block is bad
 *   corrected bits     from refresh_bits on in a codeword: the block waits for
 *                      fe_wear_refresh, which moves its pages to a spare
 *   too many bits      uncorrectable; a copy of such a page stays uncorrectable
 *   no spare left      the end of life
 */
#include "nand/wear.h"

#include "nand/bbm.h"
#include "nand/chip_lifetime.h"
#include "nand/issue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define YOUNG_NS    (UINT64_C(86400) * FE_NS_PER_S)
#define YOUNG_READS 10000u

static uint64_t factory_bad(const struct fe_wear_params *p, const struct fe_geometry *geo)
{
    return fe_muldiv(geo->n_chip_blocks, p->factory_bad_ppm, 1000000);
}

uint64_t fe_wear_reserve(const struct fe_wear_params *p, const struct fe_geometry *geo)
{
    return fe_div_up(factory_bad(p, geo) + p->spare_blocks, geo->n_dies) * geo->n_dies;
}

/* Which of the functions of wear and failures the medium has to call. */
static void set_hooks(struct fe_medium *m)
{
    const struct fe_wear *w = m->wear;
    m->read_hook = fe_failures_of_bits(m);
    m->prog_hook = m->read_hook || w->p.program_fail_ppm || w->p.fail_program || w->n_failed;
}

int fe_wear_attach(struct fe_medium *m, const struct fe_wear_params *p,
                   const struct fe_nand_params *nand, uint64_t seed, struct fe_err *err)
{
    bool bits = fe_ber_any(&p->ber);
    struct fe_wear *w = calloc(1, sizeof *w);
    if (!w)
        return fe_err_nomem(err, "wear", sizeof *w);
    *w = (struct fe_wear){.p = *p, .seed = seed};
    w->endurance = fe_failures_endurance(p, nand->endurance, seed);
    w->slc_endurance = nand->slc_endurance ? fe_failures_endurance(p, nand->slc_endurance, seed)
                                           : w->endurance;
    m->wear = w;
    fe_bbm_init(m, (uint32_t)factory_bad(p, &m->geo), seed);
    int r = 0;
    if (bits || p->end_of_life == FE_EOL_SILENT)
        r = fe_chip_keep_flips(&m->chip, err);
    if (r == 0 && bits)
        r = fe_chip_keep_ages(&m->chip, err);
    set_hooks(m);
    return r;
}

void fe_wear_detach(struct fe_medium *m)
{
    free(m->wear);
    m->wear = NULL;
}

void fe_wear_set(struct fe_medium *m, const struct fe_wear_params *p)
{
    m->wear->p = *p;
    set_hooks(m);
}

/* ---- the end of life ---- */

static bool goes_on(const struct fe_wear *w)
{
    return w->p.end_of_life == FE_EOL_SLOW || w->p.end_of_life == FE_EOL_SILENT;
}

static bool has_failed(const struct fe_medium *m, fe_peb peb)
{
    return fe_medium_block(m, peb)->marks & FE_MARK_FAILED;
}

/* A block has failed and stays in use, or nothing is written any more. */
static void take_note_of_failed(struct fe_medium *m)
{
    m->eol = m->wear->n_failed && !goes_on(m->wear);
    set_hooks(m);
}

/* The block failed, and there is none to take its place.  Whether its operation counts as
 * done all the same. */
static bool live_on(struct fe_medium *m, fe_peb peb)
{
    m->wear->n_failed += !has_failed(m, peb);
    fe_chip_mark(&m->chip, peb, FE_MARK_FAILED, true);
    take_note_of_failed(m);
    return goes_on(m->wear);
}

void fe_wear_loaded(struct fe_medium *m)
{
    m->wear->n_failed = 0;
    for (fe_peb peb = 0; peb < m->geo.n_chip_blocks; peb++)
        m->wear->n_failed += has_failed(m, peb);
    take_note_of_failed(m);
}

/* ---- programs and erases ---- */

/* Repeats the program op until a block takes it; false at the end of life. */
static bool find_block(struct fe_medium *m, fe_peb peb, uint32_t page, struct fe_op *op)
{
    while (!has_failed(m, peb) && fe_failures_program(m, peb, page)) {
        fe_issue_count_programs(m, 1);
        fe_peb old = fe_bbm_replace(m, peb, page);
        if (old == FE_PEB_NONE)
            return live_on(m, peb);
        fe_chip_mark(&m->chip, old, FE_MARK_GROWN_BAD, true);
        op->die = (uint16_t)fe_medium_die(m, peb);
        op->flags = FE_OP_AGAIN;
        *fe_ops_add(m->ops) = *op;
    }
    return true;
}

/* FE_EOL_SLOW repeats the operation on a failed block; how often it is done in addition. */
static uint32_t repeat(struct fe_medium *m, fe_peb peb, struct fe_op op)
{
    const struct fe_wear_params *p = &m->wear->p;
    bool slow = has_failed(m, peb) && p->end_of_life == FE_EOL_SLOW;
    uint32_t n = 0;
    op.flags = FE_OP_AGAIN;
    for (; slow && n + 1 < p->slow_factor; n++)
        *fe_ops_add(m->ops) = op;
    return n;
}

enum fe_status fe_wear_programmed(struct fe_medium *m, fe_ppn ppn, uint16_t *flips)
{
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    uint32_t page = ppn - peb * m->geo.pages_per_block;
    struct fe_op op = *fe_ops_last(m->ops);
    if (!find_block(m, peb, page, &op))
        return FE_PROG_FAILED;
    for (uint32_t n = repeat(m, peb, op); n > 0; n--)
        fe_issue_count_programs(m, 1);
    if (has_failed(m, peb) && m->wear->p.end_of_life == FE_EOL_SILENT)
        *flips = FE_FLIPS_SILENT;
    if (page == 0)
        fe_chip_begin_age(&m->chip, peb, m->now_ns);
    return FE_OK;
}

bool fe_wear_erase(struct fe_medium *m, fe_peb peb)
{
    struct fe_op op = *fe_ops_last(m->ops);
    fe_chip_count_erase(&m->chip);
    bool fails = !has_failed(m, peb) && fe_failures_erase(m, peb, fe_medium_is_slc(m, peb));
    fe_peb old = fails ? fe_bbm_replace_erased(m, peb) : FE_PEB_NONE;
    if (old != FE_PEB_NONE)
        fe_chip_mark(&m->chip, old, FE_MARK_GROWN_BAD, true);
    else if (fails && !live_on(m, peb))
        return false;
    else
        fe_chip_erase(&m->chip, peb, FE_PEB_NONE);
    (void)repeat(m, peb, op);
    return true;
}

/* ---- refresh ---- */

static fe_peb next_pending(struct fe_medium *m)
{
    struct fe_wear *w = m->wear;
    while (w->n_pending > 0) {
        fe_peb peb = w->pending[0];
        memmove(w->pending, w->pending + 1, --w->n_pending * sizeof *w->pending);
        bool wanted = fe_medium_block(m, peb)->marks & FE_MARK_REFRESH &&
                      !fe_medium_is_unstable(m, peb);
        fe_chip_mark(&m->chip, peb, FE_MARK_REFRESH, false);
        if (wanted && fe_medium_next_page(m, peb) > 0)
            return peb;
    }
    return FE_PEB_NONE;
}

bool fe_wear_refresh(struct fe_medium *m)
{
    const struct fe_wear *w = m->wear;
    if (!w || w->n_pending == 0 || m->eol)
        return false;
    fe_peb peb = next_pending(m);
    if (peb == FE_PEB_NONE)
        return false;
    bool young = fe_medium_has_ages(m) && fe_medium_age_ns(m, peb) < YOUNG_NS &&
                 fe_medium_reads(m, peb) < YOUNG_READS;
    fe_peb old = fe_bbm_replace(m, peb, fe_medium_next_page(m, peb));
    if (old == FE_PEB_NONE)
        return false; /* without a spare there is nowhere to go */
    if (young) {
        fe_chip_mark(&m->chip, old, FE_MARK_GROWN_BAD, true);
        m->counters.retired++;
        return true;
    }
    fe_issue_erase(m, old, FE_PPN_NONE);
    m->counters.block_erases += m->geo.planes_ganged;
    fe_chip_count_erase(&m->chip);
    bool fails = fe_failures_erase(m, old, fe_medium_is_slc(m, peb));
    fe_chip_erase(&m->chip, old, FE_PEB_NONE);
    if (fails)
        fe_chip_mark(&m->chip, old, FE_MARK_GROWN_BAD, true);
    m->counters.refreshed++;
    return true;
}

/* ---- faults on purpose ---- */

static int find_peb(const struct fe_medium *m, fe_chip_block block, fe_peb *ret,
                    struct fe_err *err)
{
    if (block >= m->geo.n_chip_blocks)
        return fe_err_set(err, EINVAL, "block %u: the chip has blocks 0 to %u", block,
                          m->geo.n_chip_blocks - 1);
    *ret = fe_chip_find_block(&m->chip, block);
    if (fe_medium_is_bad(m, *ret) || has_failed(m, *ret))
        return fe_err_set(err, EINVAL, "block %u: is bad already", block);
    return 0;
}

int fe_wear_mark_bad(struct fe_medium *m, fe_chip_block block, struct fe_err *err)
{
    fe_peb peb = FE_PEB_NONE;
    int r = find_peb(m, block, &peb, err);
    if (r < 0)
        return r;
    fe_peb old = peb;
    if (peb < m->geo.n_pebs)
        old = fe_bbm_replace(m, peb,
                             fe_medium_is_unstable(m, peb) ? 0 : fe_medium_next_page(m, peb));
    if (old != FE_PEB_NONE)
        fe_chip_mark(&m->chip, old, FE_MARK_GROWN_BAD, true);
    else
        live_on(m, peb);
    return 0;
}

int fe_wear_flip(struct fe_medium *m, fe_ppn ppn, uint32_t bits, struct fe_err *err)
{
    uint32_t b = m->geo.pages_per_block, page = ppn % b;
    fe_peb peb = FE_PEB_NONE;
    int r = find_peb(m, ppn / b, &peb, err);
    if (r < 0)
        return r;
    if (page >= fe_medium_next_page(m, peb))
        return fe_err_set(err, EINVAL, "page %u: is erased; of block %u the first %u pages are not",
                          ppn, ppn / b, fe_medium_next_page(m, peb));
    r = fe_chip_keep_flips(&m->chip, err);
    if (r < 0)
        return r;
    uint64_t flips = fe_medium_flips(m, peb * b + page);
    if (flips <= FE_FLIPS_MAX)
        fe_chip_set_flips(&m->chip, peb * b + page,
                          (uint16_t)fe_min_u64(flips + bits, FE_FLIPS_MAX));
    set_hooks(m);
    return 0;
}

int fe_wear_set_cycles(struct fe_medium *m, fe_chip_block block, uint32_t cycles,
                       struct fe_err *err)
{
    fe_peb peb = FE_PEB_NONE;
    int r = find_peb(m, block, &peb, err);
    if (r == 0)
        fe_chip_set_cycles(&m->chip, peb, cycles);
    return r;
}
