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
 *
 * A block's erase fails for certain once it has its life behind it: endurance cycles,
 * more or less by life_spread, or weak_cycles.  Beside that programs and erases fail by
 * chance.  All draws are addressed by block, page and cycle: a read again gives the same
 * wrong bits until the rate has grown.
 *
 * Bits that flip by themselves are drawn when a page is read; the store always keeps what
 * was written.  Their place in the codeword is i x stride + start, which meets no place twice.
 *
 * Not modelled: read retry, errors of the OOB (it has a code of its own), program and erase
 * times that change with wear, reads that disturb other blocks.
 */
#include "nand/wear.h"

#include "base/rng.h"
#include "nand/bbm.h"
#include "nand/medium_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define YOUNG_NS    (UINT64_C(86400) * FE_NS_PER_S)
#define YOUNG_READS 10000u

uint64_t fe_wear_reserve(const struct fe_wear_params *p, const struct fe_geometry *chip)
{
    uint64_t bad = fe_muldiv(chip->n_chip_blocks, p->factory_bad_ppm, 1000000);
    return fe_div_up(bad + p->spare_blocks, chip->n_dies) * chip->n_dies;
}

static fe_peb block_of(const struct fe_medium *m, fe_peb slot)
{
    return m->phys ? m->phys[slot] : slot;
}

static bool reads_fail(const struct fe_wear *w)
{
    return w->reads || w->flips;
}

/* Which of its functions the medium has to call. */
static void set_hooks(struct fe_medium *m)
{
    const struct fe_wear *w = m->wear;
    const struct fe_wear_params *p = &w->p;
    m->read_hook = reads_fail(w);
    m->prog_hook = reads_fail(w) || p->program_fail_ppm || p->fail_program || w->n_failed;
}

static int make_flips(struct fe_medium *m, struct fe_err *err)
{
    struct fe_wear *w = m->wear;
    if (!w->flips)
        w->flips = calloc(m->geo.n_ppns, sizeof *w->flips);
    return w->flips ? 0 : fe_err_nomem(err, "flipped bits of pages", m->geo.n_ppns * 2ull);
}

int fe_wear_make_difference(struct fe_medium *m, struct fe_err *err)
{
    struct fe_wear *w = m->wear;
    if (!w->difference)
        w->difference = calloc(m->geo.n_chip_blocks, sizeof *w->difference);
    return w->difference ? 0 : fe_err_nomem(err, "cycles of slots", m->geo.n_chip_blocks * 4ull);
}

int fe_wear_attach(struct fe_medium *m, const struct fe_wear_params *p, uint64_t endurance,
                   uint64_t seed, struct fe_err *err)
{
    uint64_t n_bad = fe_muldiv(m->geo.n_chip_blocks, p->factory_bad_ppm, 1000000);
    struct fe_wear *w = calloc(1, sizeof *w);
    if (!w)
        return fe_err_nomem(err, "wear", sizeof *w);
    *w = (struct fe_wear){.p = *p, .seed = seed, .endurance = endurance};
    m->wear = w;
    int r = 0;
    if (m->geo.n_chip_blocks > m->geo.n_pebs)
        r = fe_wear_make_difference(m, err);
    if (r == 0)
        r = fe_bbm_init(m, (uint32_t)n_bad, seed, err);
    if (r == 0 && (fe_ber_any(&p->ber) || p->end_of_life == FE_EOL_SILENT))
        r = make_flips(m, err);
    if (r == 0 && fe_ber_any(&p->ber)) {
        w->reads = calloc(m->geo.n_pebs, sizeof *w->reads);
        w->since_ns = calloc(m->geo.n_pebs, sizeof *w->since_ns);
        if (!w->reads || !w->since_ns)
            r = fe_err_nomem(err, "reads and ages of blocks", m->geo.n_pebs * 12ull);
    }
    if (r == 0)
        set_hooks(m);
    return r;
}

void fe_wear_save(struct fe_medium *m)
{
    for (fe_peb slot = 0; slot < m->geo.n_chip_blocks; slot++)
        if (fe_medium_is_bad(m, slot) || block_of(m, slot) != slot)
            fe_medium_save_block(m, slot);
}

void fe_wear_detach(struct fe_medium *m)
{
    struct fe_wear *w = m->wear;
    if (!w)
        return;
    free(w->reads);
    free(w->since_ns);
    free(w->flips);
    free(w->difference);
    free(w);
    m->wear = NULL;
}

void fe_wear_set(struct fe_medium *m, const struct fe_wear_params *p)
{
    m->wear->p = *p;
    set_hooks(m);
}

/* --- the end of life --- */

static bool goes_on(const struct fe_wear *w)
{
    return w->p.end_of_life == FE_EOL_SLOW || w->p.end_of_life == FE_EOL_SILENT;
}

/* The block in this slot failed, and there is none to take its place.  Whether its
 * operation counts as done all the same. */
static bool live_on(struct fe_medium *m, fe_peb slot)
{
    struct fe_wear *w = m->wear;
    if (!m->pebs[slot].failed)
        w->n_failed++;
    m->pebs[slot].failed = 1;
    m->eol = !goes_on(w);
    set_hooks(m);
    fe_medium_save_block(m, slot);
    return goes_on(w);
}

/* Never used again. */
static void put_away(struct fe_medium *m, fe_peb slot)
{
    m->pebs[slot].grown_bad = 1;
    fe_medium_save_block(m, slot);
}

/* --- programs and erases --- */

static bool by_chance(const struct fe_medium *m, uint64_t ppm, fe_peb slot, uint32_t page)
{
    uint64_t a = (uint64_t)block_of(m, slot) << 32 | page;
    uint64_t u = fe_rng(m->wear->seed, FE_RNG_FAILURE, a, m->pebs[slot].erase_count);
    return ppm && fe_rng_below(u, 1000000) < ppm;
}

/* Page number of an erase in draws. */
#define ERASE_PAGE UINT32_MAX

static bool program_fails(struct fe_medium *m, fe_peb slot, uint32_t page)
{
    struct fe_wear *w = m->wear;
    bool fails = ++w->n_programs == w->p.fail_program ||
                 by_chance(m, w->p.program_fail_ppm, slot, page);
    m->counters.program_failures += fails;
    return fails;
}

static uint64_t life_of(const struct fe_wear *w, fe_peb block)
{
    uint64_t life = w->endurance ? w->endurance : UINT64_MAX;
    if (w->endurance && w->p.life_spread_ppm) {
        uint64_t half = fe_muldiv(life, w->p.life_spread_ppm, 1000000);
        uint64_t u = fe_rng(w->seed, FE_RNG_FAILURE, block, UINT64_MAX);
        life = life + fe_rng_below(u, 2 * half + 1) - half;
    }
    return w->p.weak_cycles && block == w->p.weak_block ? fe_min_u64(life, w->p.weak_cycles) : life;
}

static bool erase_fails(struct fe_medium *m, fe_peb slot)
{
    struct fe_wear *w = m->wear;
    bool fails = ++w->n_erases == w->p.fail_erase ||
                 m->pebs[slot].erase_count > life_of(w, block_of(m, slot)) ||
                 by_chance(m, w->p.erase_fail_ppm, slot, ERASE_PAGE);
    m->counters.erase_failures += fails;
    return fails;
}

static void set_flips(struct fe_medium *m, fe_ppn ppn, uint16_t flips)
{
    if (m->wear->flips)
        m->wear->flips[ppn] = flips;
}

bool fe_wear_copy_fails(struct fe_medium *m, fe_peb spare, uint32_t page)
{
    return program_fails(m, spare, page);
}

void fe_wear_moved(struct fe_medium *m, fe_ppn ppn)
{
    if (!reads_fail(m->wear))
        return;
    set_flips(m, ppn, fe_wear_copied(m, ppn));
    fe_medium_save_page(m, ppn);
}

void fe_wear_renewed(struct fe_medium *m, fe_peb slot)
{
    m->pebs[slot].refresh = 0; /* reading the old block may have asked for it again */
    if (!m->wear->reads)
        return;
    m->wear->reads[slot] = 0;
    m->wear->since_ns[slot] = m->now_ns;
    fe_medium_save_block(m, slot);
}

/* A program that came to nothing, or had to be repeated. */
static void count_program(struct fe_medium *m)
{
    m->counters.page_programs += m->geo.planes_ganged;
    m->counters.bytes_programmed += m->geo.page_bytes;
}

/* Repeats the program op until a block takes it; false at the end of life. */
static bool find_block(struct fe_medium *m, fe_peb slot, uint32_t page, struct fe_op *op)
{
    while (!m->pebs[slot].failed && program_fails(m, slot, page)) {
        count_program(m);
        fe_peb old = fe_bbm_replace(m, slot, page);
        if (old == FE_PEB_NONE)
            return live_on(m, slot);
        put_away(m, old);
        op->die = (uint16_t)fe_medium_die(m, slot);
        op->flags = FE_OP_AGAIN;
        *fe_ops_add(m->ops) = *op;
    }
    return true;
}

enum fe_status fe_wear_programmed(struct fe_medium *m, fe_ppn ppn, uint16_t flips)
{
    const struct fe_wear_params *p = &m->wear->p;
    fe_peb slot = fe_peb_of(&m->geo, ppn);
    uint32_t page = ppn - slot * m->geo.pages_per_block;
    struct fe_op op = *fe_ops_last(m->ops);
    if (!find_block(m, slot, page, &op))
        return FE_PROG_FAILED;
    if (m->pebs[slot].failed && p->end_of_life == FE_EOL_SLOW)
        for (uint32_t i = 1; i < p->slow_factor; i++) {
            op.flags = FE_OP_AGAIN;
            *fe_ops_add(m->ops) = op;
            count_program(m);
        }
    if (m->pebs[slot].failed && p->end_of_life == FE_EOL_SILENT)
        flips = FE_FLIPS_SILENT;
    set_flips(m, ppn, flips);
    if (page == 0)
        fe_wear_renewed(m, slot);
    return FE_OK;
}

enum fe_status fe_wear_erased(struct fe_medium *m, fe_peb slot)
{
    struct fe_op op = *fe_ops_last(m->ops);
    m->pebs[slot].refresh = 0;
    if (!m->pebs[slot].failed && erase_fails(m, slot)) {
        fe_peb old = fe_bbm_replace(m, slot, 0);
        if (old == FE_PEB_NONE && !goes_on(m->wear))
            m->pebs[slot].erase_count--; /* before that is saved: its pages are of this cycle */
        if (old != FE_PEB_NONE)
            put_away(m, old);
        else if (!live_on(m, slot))
            return FE_ERASE_FAILED;
    }
    op.flags = FE_OP_AGAIN;
    if (m->pebs[slot].failed && m->wear->p.end_of_life == FE_EOL_SLOW)
        for (uint32_t i = 1; i < m->wear->p.slow_factor; i++)
            *fe_ops_add(m->ops) = op;
    if (m->wear->reads)
        m->wear->reads[slot] = 0;
    return FE_OK;
}

/* --- reads --- */

/* What one read finds. */
struct look {
    struct fe_medium *m;
    fe_ppn ppn;
    fe_peb slot;
    uint64_t rate;
    uint16_t flips;
};

static struct look look_at(struct fe_medium *m, fe_ppn ppn)
{
    struct fe_wear *w = m->wear;
    fe_peb slot = fe_peb_of(&m->geo, ppn);
    struct look l = {.m = m, .ppn = ppn, .slot = slot, .flips = w->flips ? w->flips[ppn] : 0};
    if (w->reads) {
        uint64_t since = w->since_ns[slot], age = m->now_ns > since ? m->now_ns - since : 0;
        l.rate = fe_ber_rate(&w->p.ber, m->pebs[slot].erase_count + 1ull, w->endurance, age,
                             w->reads[slot]);
        if (w->reads[slot] < UINT32_MAX)
            w->reads[slot]++;
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
    uint32_t page = l->ppn - l->slot * l->m->geo.pages_per_block;
    return (uint64_t)block_of(l->m, l->slot) << 32 | page << 16 | codeword;
}

/* How many bits of the codeword are wrong; no more than what matters. */
static uint32_t wrong_bits(const struct look *l, uint32_t codeword)
{
    const struct fe_wear *w = l->m->wear;
    uint32_t bits = codeword_bits(l->m, codeword), t = w->p.correctable_bits;
    if (l->flips == FE_FLIPS_LOST || l->flips == FE_FLIPS_SILENT)
        return (uint32_t)fe_min_u64(t + 1, bits);
    uint64_t u = fe_rng(w->seed, FE_RNG_BIT_ERRORS, address(l, codeword),
                        l->m->pebs[l->slot].erase_count);
    uint32_t n = fe_ber_draw(u, bits, l->rate, t ? t + 1 : bits);
    return (uint32_t)fe_min_u64(n + (codeword ? 0u : l->flips), bits);
}

static void ask_for_refresh(struct fe_medium *m, fe_peb slot)
{
    struct fe_wear *w = m->wear;
    if (m->pebs[slot].refresh || w->n_pending == FE_REFRESH_MAX)
        return; /* the next read asks again */
    m->pebs[slot].refresh = 1;
    w->pending[w->n_pending++] = slot;
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
        ask_for_refresh(l->m, l->slot);
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
                        l->m->pebs[l->slot].erase_count);
    uint32_t at = (uint32_t)fe_rng_below(u, bits), stride = (uint32_t)(u % bits) | 1;
    while (common_divisor(stride, bits) != 1)
        stride += 2;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bit = first + (at + (uint64_t)i * stride) % bits, byte = bit / 8;
        if (byte >= off && byte - off < len)
            buf[byte - off] ^= (uint8_t)(1u << bit % 8);
    }
}

enum fe_status fe_wear_read(struct fe_medium *m, fe_ppn ppn, uint32_t off, uint32_t len,
                            uint8_t *buf)
{
    if (len == 0)
        return FE_OK;
    struct look l = look_at(m, ppn);
    uint32_t size = m->wear->p.codeword_size, last = (off + len - 1) / size;
    enum fe_status worst = FE_OK;
    for (uint32_t codeword = off / size; codeword <= last; codeword++) {
        uint32_t n = wrong_bits(&l, codeword);
        enum fe_status st = correct(&l, n);
        if (n && buf && st != FE_CORRECTED)
            spoil(&l, codeword, n, off, len, buf);
        if (st > worst)
            worst = st;
    }
    return worst;
}

uint16_t fe_wear_copied(struct fe_medium *m, fe_ppn base)
{
    struct look l = look_at(m, base);
    uint32_t n_codewords = (uint32_t)fe_div_up(m->geo.page_bytes, m->wear->p.codeword_size);
    uint64_t unseen = 0;
    bool lost = false;
    for (uint32_t codeword = 0; codeword < n_codewords; codeword++) {
        uint32_t n = wrong_bits(&l, codeword);
        lost |= correct(&l, n) == FE_UNCORRECTABLE;
        unseen += n;
    }
    if (lost || l.flips == FE_FLIPS_SILENT)
        return lost ? FE_FLIPS_LOST : FE_FLIPS_SILENT;
    return m->wear->p.correctable_bits ? 0 : (uint16_t)fe_min_u64(unseen, FE_FLIPS_MAX);
}

/* --- refresh --- */

static fe_peb next_pending(struct fe_medium *m)
{
    struct fe_wear *w = m->wear;
    while (w->n_pending > 0) {
        fe_peb slot = w->pending[0];
        memmove(w->pending, w->pending + 1, --w->n_pending * sizeof *w->pending);
        bool wanted = m->pebs[slot].refresh && !m->pebs[slot].unstable;
        m->pebs[slot].refresh = 0;
        if (wanted && m->pebs[slot].next_page > 0)
            return slot;
    }
    return FE_PEB_NONE;
}

bool fe_wear_refresh(struct fe_medium *m)
{
    struct fe_wear *w = m->wear;
    if (!w || w->n_pending == 0 || m->eol)
        return false;
    fe_peb slot = next_pending(m);
    if (slot == FE_PEB_NONE)
        return false;
    bool young = w->reads && m->now_ns - w->since_ns[slot] < YOUNG_NS &&
                 w->reads[slot] < YOUNG_READS;
    fe_peb old = fe_bbm_replace(m, slot, m->pebs[slot].next_page);
    if (old == FE_PEB_NONE)
        return false; /* without a spare there is nowhere to go */
    if (young) {
        put_away(m, old);
        m->counters.retired++;
        return true;
    }
    fe_medium_add_erase(m, old);
    m->pebs[old].erase_count++;
    m->pebs[old].grown_bad = erase_fails(m, old);
    fe_medium_save_block(m, old);
    m->counters.refreshed++;
    return true;
}

/* --- from an image --- */

int fe_wear_restore_page(struct fe_medium *m, fe_ppn ppn, bool lost, bool silent,
                         struct fe_err *err)
{
    if (m->wear && (lost || silent)) {
        int r = make_flips(m, err);
        if (r < 0)
            return r;
    }
    if (m->wear)
        set_flips(m, ppn, lost ? FE_FLIPS_LOST : silent ? FE_FLIPS_SILENT : 0);
    return 0;
}

void fe_wear_restored(struct fe_medium *m)
{
    struct fe_wear *w = m->wear;
    w->n_failed = 0;
    for (fe_peb slot = 0; slot < m->geo.n_chip_blocks; slot++)
        w->n_failed += m->pebs[slot].failed;
    m->eol = w->n_failed && !goes_on(w);
    if (m->phys)
        fe_bbm_restore(m);
    set_hooks(m);
}

/* --- faults on purpose --- */

static int find_slot(const struct fe_medium *m, fe_peb peb, fe_peb *ret, struct fe_err *err)
{
    if (peb >= m->geo.n_chip_blocks)
        return fe_err_set(err, EINVAL, "block %u: the chip has blocks 0 to %u", peb,
                          m->geo.n_chip_blocks - 1);
    *ret = fe_bbm_slot(m, peb);
    if (fe_medium_is_bad(m, *ret) || m->pebs[*ret].failed)
        return fe_err_set(err, EINVAL, "block %u: is bad already", peb);
    return 0;
}

int fe_wear_mark_bad(struct fe_medium *m, fe_peb peb, struct fe_err *err)
{
    fe_peb slot;
    int r = find_slot(m, peb, &slot, err);
    if (r < 0)
        return r;
    if (slot >= m->geo.n_pebs) {
        put_away(m, slot);
        return 0;
    }
    fe_peb old = fe_bbm_replace(m, slot, m->pebs[slot].unstable ? 0 : m->pebs[slot].next_page);
    if (old != FE_PEB_NONE)
        put_away(m, old);
    else
        live_on(m, slot);
    return 0;
}

int fe_wear_flip(struct fe_medium *m, fe_ppn ppn, uint32_t bits, struct fe_err *err)
{
    uint32_t b = m->geo.pages_per_block, page = ppn % b;
    fe_peb slot;
    int r = find_slot(m, ppn / b, &slot, err);
    if (r < 0)
        return r;
    if (page >= m->pebs[slot].next_page)
        return fe_err_set(err, EINVAL, "page %u: is erased; of block %u the first %u pages are not",
                          ppn, ppn / b, m->pebs[slot].next_page);
    r = make_flips(m, err);
    if (r < 0)
        return r;
    uint16_t *flips = &m->wear->flips[slot * b + page];
    if (*flips <= FE_FLIPS_MAX)
        *flips = (uint16_t)fe_min_u64((uint64_t)*flips + bits, FE_FLIPS_MAX);
    set_hooks(m);
    return 0;
}

int fe_wear_set_cycles(struct fe_medium *m, fe_peb peb, uint32_t cycles, struct fe_err *err)
{
    fe_peb slot = 0;
    int r = find_slot(m, peb, &slot, err);
    if (r == 0)
        r = fe_wear_make_difference(m, err);
    if (r < 0)
        return r;
    m->wear->difference[slot] += m->pebs[slot].erase_count - cycles;
    m->pebs[slot].erase_count = cycles;
    fe_medium_save_block(m, slot);
    return 0;
}
