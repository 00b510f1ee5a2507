/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A chip block's erase fails for certain once the block has its life behind it: the device's
 * endurance in cycles, more or less by life_spread, or weak_cycles.  A device has the endurance of
 * its rank among its kind, draws its own from device_spread, and a block its life, both draws by the
 * seed alone.  Lives of devices that were worn
 * out on purpose spread over three powers of ten; a lognormal distribution has such long tails, and
 * no life below zero.  Besides that, programs and erases fail by chance.
 *
 * A block in SLC mode has a longer life (nand.slc_endurance), because its cells have to tell two
 * states apart instead of four or eight.  Cycles are counted alike in both modes: the mode in which
 * a block ends a cycle says how many it may have.
 *
 * Bits that flip by themselves are drawn when a page is read; the store always keeps what
 * was written.  The i-th wrong bit of a codeword is at (start + i x stride) mod bits.  The
 * stride has no common divisor with the number of bits, so no place is met twice.
 *
 * A worn block is slower.  What its operations take grows in proportion to its cycles, and steeply
 * in the last tenth of its life: cards that were written to their end lost a third of their speed
 * on the way, and became ten times slower in the last days.
 *
 * Not modelled: errors of the OOB (it has a code of its own), reads that disturb other blocks, and
 * that a retry mends what the code could not.
 */
#include "nand/failures.h"

#include "base/powers.h"
#include "base/rng.h"
#include "nand/chip_lifetime.h"
#include "nand/issue.h"

/* ---- programs and erases ---- */

static bool by_chance(const struct fe_medium *m, uint64_t ppm, fe_peb peb, uint32_t page,
                      uint32_t cycle)
{
    uint64_t a = (uint64_t)fe_medium_chip_block(m, peb) << 32 | page;
    uint64_t u = fe_rng(m->wear->seed, FE_RNG_FAILURE, a, cycle);
    return ppm && fe_rng_below(u, 1000000) < ppm;
}

/* A fault with a number strikes.  Its operation has been counted, and the image learns that first:
 * a server that is killed now must not meet the fault again. */
static void strike(struct fe_medium *m)
{
    fe_chip_save_lifetime(&m->chip, m->now_ns);
}

bool fe_failures_program(struct fe_medium *m, fe_peb peb, uint32_t page)
{
    const struct fe_wear *w = m->wear;
    bool strikes = fe_chip_programs(&m->chip) + 1 == w->p.fail_program;
    bool fails = strikes ||
                 by_chance(m, w->p.program_fail_ppm, peb, page, fe_medium_erase_count(m, peb));
    if (fails)
        fe_chip_count_unnumbered(&m->chip);
    if (strikes)
        strike(m);
    m->counters.program_failures += fails;
    return fails;
}

static uint64_t endurance_of(const struct fe_wear *w, bool slc)
{
    return slc ? w->slc_endurance : w->endurance;
}

uint64_t fe_failures_endurance(const struct fe_wear_params *p, uint64_t cycles, uint64_t seed)
{
    if (cycles == 0)
        return 0;
    if (p->kind_spread_ppm && p->rank_ppm != FE_MEDIAN_PPM) {
        uint64_t u = fe_muldiv(p->rank_ppm, UINT64_MAX, 1000000);
        cycles = fe_max_u64(fe_lognormal(u, cycles, p->kind_spread_ppm), 1);
    }
    if (p->device_spread_ppm == 0)
        return cycles;
    uint64_t u = fe_rng(seed, FE_RNG_FAILURE, UINT64_MAX, UINT64_MAX);
    return fe_max_u64(fe_lognormal(u, cycles, p->device_spread_ppm), 1);
}

/* The life of a block with so many cycles of endurance that has drawn u. */
static uint64_t spread(const struct fe_wear_params *p, uint64_t endurance, uint64_t u)
{
    if (p->life_shape == FE_LIFE_LOGNORMAL)
        return fe_lognormal(u, endurance, p->life_spread_ppm);
    uint64_t half = fe_muldiv(endurance, p->life_spread_ppm, 1000000);
    return endurance - half + fe_rng_below(u, 2 * half + 1);
}

static uint64_t life_of(const struct fe_wear *w, fe_chip_block block, bool slc)
{
    uint64_t endurance = endurance_of(w, slc), life = endurance ? endurance : UINT64_MAX;
    if (endurance && w->p.life_spread_ppm)
        life = spread(&w->p, endurance, fe_rng(w->seed, FE_RNG_FAILURE, block, UINT64_MAX));
    return w->p.weak_cycles && block == w->p.weak_block ? fe_min_u64(life, w->p.weak_cycles) : life;
}

/* 1 in numbers of 2^-32. */
#define ONE (UINT64_C(1) << 32)

/* x^32, for x of at most 1. */
static uint64_t power_32(uint64_t x)
{
    for (int i = 0; i < 5; i++)
        x = (uint64_t)((unsigned __int128)x * x >> 32);
    return x;
}

uint64_t fe_failures_slowed(const struct fe_medium *m, fe_peb peb, uint64_t ns, uint64_t ppm)
{
    uint64_t endurance = endurance_of(m->wear, fe_medium_is_slc(m, peb));
    if (endurance == 0)
        return ns;
    uint64_t cycles = fe_min_u64(fe_medium_erase_count(m, peb), endurance);
    uint64_t share = power_32(fe_muldiv(cycles, ONE, endurance));
    uint64_t worn = fe_muldiv(fe_muldiv(ns, ppm, 1000000), cycles, endurance);
    uint64_t end = fe_muldiv(fe_muldiv(ns, m->worn.end_ppm, 1000000), share, ONE);
    return fe_time_add(ns, fe_time_add(worn, end));
}

/* Page number of an erase in draws. */
#define ERASE_PAGE UINT32_MAX

bool fe_failures_erase(struct fe_medium *m, fe_peb peb, bool slc)
{
    const struct fe_wear *w = m->wear;
    uint32_t cycle = fe_medium_erase_count(m, peb) + 1;
    bool strikes = fe_medium_lifetime(m).n_erases == w->p.fail_erase;
    if (strikes)
        strike(m);
    bool fails = strikes || cycle > life_of(w, fe_medium_chip_block(m, peb), slc) ||
                 by_chance(m, w->p.erase_fail_ppm, peb, ERASE_PAGE, cycle);
    m->counters.erase_failures += fails;
    return fails;
}

/* ---- reads ---- */

/* What one read finds. */
struct look {
    struct fe_medium *m;
    fe_ppn ppn;
    fe_peb peb;
    uint64_t rate;
    uint16_t flips;
};

static struct look look_at(struct fe_medium *m, fe_ppn ppn)
{
    const struct fe_wear *w = m->wear;
    fe_peb peb = fe_peb_of(&m->geo, ppn);
    struct look l = {.m = m, .ppn = ppn, .peb = peb, .flips = fe_medium_flips(m, ppn)};
    if (fe_medium_has_ages(m)) {
        l.rate = fe_ber_rate(&w->p.ber, fe_medium_erase_count(m, peb) + UINT64_C(1),
                             endurance_of(w, fe_medium_is_slc(m, peb)),
                             fe_medium_age_ns(m, peb), fe_medium_reads(m, peb));
        fe_chip_count_read(&m->chip, peb);
    }
    return l;
}

static uint32_t codeword_bits(const struct fe_medium *m, uint32_t codeword)
{
    uint32_t size = m->wear->p.codeword_size, from = codeword * size;
    return 8 * (uint32_t)fe_min_u64(size, m->geo.page_bytes - from);
}

/* The block, page and codeword of a draw. */
static uint64_t address(const struct look *l, uint32_t codeword)
{
    uint32_t page = l->ppn - l->peb * l->m->geo.pages_per_block;
    return (uint64_t)fe_medium_chip_block(l->m, l->peb) << 32 | page << 16 | codeword;
}

/* How many bits of the codeword are wrong; no more than what matters. */
static uint32_t wrong_bits(const struct look *l, uint32_t codeword)
{
    const struct fe_wear *w = l->m->wear;
    uint32_t bits = codeword_bits(l->m, codeword), t = w->p.correctable_bits;
    if (l->flips == FE_FLIPS_LOST || l->flips == FE_FLIPS_SILENT)
        return (uint32_t)fe_min_u64(t + 1, bits);
    uint64_t u = fe_rng(w->seed, FE_RNG_BIT_ERRORS, address(l, codeword),
                        fe_medium_erase_count(l->m, l->peb));
    uint32_t n = fe_ber_draw(u, bits, l->rate, t ? t + 1 : bits);
    return (uint32_t)fe_min_u64(n + (codeword ? 0u : l->flips), bits);
}

static void ask_for_refresh(struct fe_medium *m, fe_peb peb)
{
    struct fe_wear *w = m->wear;
    if (fe_medium_block(m, peb)->marks & FE_MARK_REFRESH || w->n_pending == FE_REFRESH_MAX)
        return; /* the next read asks again */
    fe_chip_mark(&m->chip, peb, FE_MARK_REFRESH, true);
    w->pending[w->n_pending++] = peb;
}

/* What the code makes of so many wrong bits. */
static enum fe_status correct(const struct look *l, uint32_t n)
{
    const struct fe_wear_params *p = &l->m->wear->p;
    if (n == 0 || p->correctable_bits == 0 || l->flips == FE_FLIPS_SILENT)
        return FE_OK;
    if (n > p->correctable_bits) {
        l->m->counters.ecc_uncorrectable++;
        return FE_UNCORRECTABLE;
    }
    l->m->counters.ecc_corrected++;
    if (p->refresh_bits && n >= p->refresh_bits)
        ask_for_refresh(l->m, l->peb);
    return FE_CORRECTED;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* Flips n bits of the codeword, those of them that lie in buf = bytes [off, off + len). */
static void spoil(const struct look *l, uint32_t codeword, uint32_t n, uint32_t off, uint32_t len,
                  uint8_t *buf)
{
    uint32_t bits = codeword_bits(l->m, codeword);
    uint64_t first = 8ull * codeword * l->m->wear->p.codeword_size;
    uint64_t u = fe_rng(l->m->wear->seed, FE_RNG_BIT_PLACES, address(l, codeword),
                        fe_medium_erase_count(l->m, l->peb));
    uint32_t at = (uint32_t)fe_rng_below(u, bits), stride = (uint32_t)(u % bits) | 1;
    while (common_divisor(stride, bits) != 1)
        stride += 2;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bit = first + (at + (uint64_t)i * stride) % bits, byte = bit / 8;
        if (byte >= off && byte - off < len)
            buf[byte - off] ^= (uint8_t)(1u << bit % 8);
    }
}

/* The page is sensed once more for each retry_bits of the wrong bits: the operation that was issued
 * last takes as much longer. */
static void retry(struct fe_medium *m, const struct look *l, uint32_t wrong)
{
    uint32_t step = m->wear->p.retry_bits, page = l->ppn - l->peb * m->geo.pages_per_block;
    if (step == 0 || wrong < step)
        return;
    uint64_t tR_ns = fe_medium_is_slc(m, l->peb) ? m->slc_tR_ns : m->tR_ns[m->page_bit[page]];
    tR_ns = fe_issue_worn(m, l->peb, tR_ns, m->worn.read_ppm);
    struct fe_op *op = fe_ops_last(m->ops);
    op->cell_ns = fe_time_add(op->cell_ns, fe_time_mul(tR_ns, wrong / step));
}

enum fe_status fe_failures_read(struct fe_medium *m, fe_ppn ppn, uint32_t off, uint32_t len,
                                uint8_t *buf)
{
    if (len == 0)
        return FE_OK;
    struct look l = look_at(m, ppn);
    uint32_t size = m->wear->p.codeword_size, last = (off + len - 1) / size;
    enum fe_status worst = FE_OK;
    uint32_t most = 0;
    for (uint32_t codeword = off / size; codeword <= last; codeword++) {
        uint32_t n = wrong_bits(&l, codeword);
        most = n > most ? n : most;
        enum fe_status st = correct(&l, n);
        if (n && buf && st != FE_CORRECTED)
            spoil(&l, codeword, n, off, len, buf);
        if (st > worst)
            worst = st;
    }
    retry(m, &l, most);
    return worst;
}

uint16_t fe_failures_copied(struct fe_medium *m, fe_ppn base)
{
    struct look l = look_at(m, base);
    uint32_t n_codewords = (uint32_t)fe_div_up(m->geo.page_bytes, m->wear->p.codeword_size);
    uint64_t unseen = 0;
    uint32_t most = 0;
    bool lost = false;
    for (uint32_t codeword = 0; codeword < n_codewords; codeword++) {
        uint32_t n = wrong_bits(&l, codeword);
        lost |= correct(&l, n) == FE_UNCORRECTABLE;
        unseen += n;
        most = n > most ? n : most;
    }
    retry(m, &l, most);
    if (lost || l.flips == FE_FLIPS_SILENT)
        return lost ? FE_FLIPS_LOST : FE_FLIPS_SILENT;
    return m->wear->p.correctable_bits ? 0 : (uint16_t)fe_min_u64(unseen, FE_FLIPS_MAX);
}
