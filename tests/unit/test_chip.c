/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every function that changes a chip changes its image, too: after each of many random steps
 * the image is opened again, as after a kill, and must hold what is in memory.
 */
#include "lib/fault_io.h"
#include "lib/other_host.h"
#include "lib/rand.h"
#include "lib/rig.h"
#include "lib/unit.h"

#include "nand/chip_lifetime.h"
#include "nand/chip_undo.h"
#include "store/image.h"
#include "store/image_file.h"
#include "store/image_page.h"

#include <stdio.h>
#include <unistd.h>

#define PAGE  512u
#define B     4u
#define PEBS  8u
#define ALL   10u
#define PAGES (ALL * B)

static char path[64];
static bool keeps_ages = true; /* the next chip that is started */
static struct fe_geometry geo;

struct both {
    struct fe_store *store;
    struct fe_chip chip;
};

static void check(int r, const struct fe_err *err)
{
    if (r < 0)
        fail_msg("%s", err->text);
}

static void start_on(struct both *b, bool is_new, const struct fe_io *host)
{
    struct fe_err err = {""};
    struct fe_store_file f = {.path = path, .sync = host, .io = host};
    struct fe_store_what what = {.n_pages = PAGES, .page_bytes = PAGE, .pages_per_block = B,
                                 .capacity = PAGE, .profile = "x\n", .profile_bytes = 2};
    check(is_new ? fe_store_image_create(&b->store, &f, &what, &err)
                 : fe_store_image_open(&b->store, &f, &err), &err);
    check(fe_chip_init(&b->chip, &geo, b->store, &err), &err);
    check(fe_chip_log_trims(&b->chip, PAGES, &err), &err);
    check(fe_chip_keep_flips(&b->chip, &err), &err);
    if (keeps_ages)
        check(fe_chip_keep_ages(&b->chip, &err), &err);
    if (is_new) {
        fe_chip_begin_image(&b->chip);
        check(fe_store_image_ready(b->store, &err), &err);
    } else {
        check(fe_chip_load(&b->chip, false, &err), &err);
    }
}

static void start(struct both *b, bool is_new)
{
    start_on(b, is_new, NULL);
}

static void stop(struct both *b)
{
    fe_chip_fini(&b->chip);
    fe_store_destroy(b->store);
}

static int setup(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand(2, 5, B, PAGE);
    nand.cell = FE_CELL_MLC;
    snprintf(path, sizeof path, "/tmp/fe-chip-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) < 0 || unlink(path) < 0)
        return -1;
    return fe_geometry_init(&geo, &nand, NULL) < 0 ? -1 : fe_geometry_reserve(&geo, 2, NULL);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

/* An image knows only these of all flips. */
static uint16_t lost(uint16_t flips)
{
    return flips > FE_FLIPS_MAX ? flips : 0;
}

static const char *difference_in_block(const struct fe_chip *a, const struct fe_chip *b, fe_peb peb)
{
    struct fe_peb_info x = a->pebs[peb], y = b->pebs[peb];
    if (x.erase_count != y.erase_count || x.next_page != y.next_page)
        return "count";
    if ((x.marks ^ y.marks) & FE_MARKS_SAVED)
        return "marks";
    if (a->blocks[peb] != b->blocks[peb] || a->difference[peb] != b->difference[peb])
        return "chip block";
    if (a->since_ns[peb] != b->since_ns[peb] && x.next_page > 0)
        return "age";
    for (fe_ppn ppn = peb * B; ppn < peb * B + x.next_page; ppn++)
        if (a->oob_lpn[ppn] != b->oob_lpn[ppn] || a->oob_seq[ppn] != b->oob_seq[ppn] ||
            a->oob_tag[ppn] != b->oob_tag[ppn] ||
            (a->oob_tag[ppn] != FE_TAG_TORN && lost(a->flips[ppn]) != lost(b->flips[ppn])))
            return "OOB";
    return NULL;
}

/* As after a kill between two calls of the device. */
static void reopen(struct both *b, int step)
{
    fe_chip_save_lifetime(&b->chip, b->chip.life.clock_ns + (1u << 20)); /* blocks are older */
    struct both old = *b;
    fe_store_destroy(old.store);
    start(b, false);
    for (fe_peb peb = 0; peb < ALL; peb++) {
        const char *what = difference_in_block(&old.chip, &b->chip, peb);
        if (what)
            fail_msg("step kind %d: the %s of block %u is another one", step, what, peb);
    }
    for (fe_lpn lpn = 0; lpn < PAGES; lpn++)
        if (fe_bit(old.chip.trims, lpn) != fe_bit(b->chip.trims, lpn))
            fail_msg("step kind %d: page %u is trimmed in one only", step, lpn);
    const struct fe_cut_log *x = &old.chip.cuts, *y = &b->chip.cuts;
    assert_true(x->n == y->n && x->n_stale == y->n_stale && x->is_off == y->is_off);
    assert_true(x->is_dead == y->is_dead);
    const struct fe_interrupted *i = &old.chip.interrupted, *j = &b->chip.interrupted;
    assert_true(i->peb == j->peb && i->since == j->since && i->until == j->until);
    const struct fe_lifetime *k = &old.chip.life, *l = &b->chip.life;
    assert_true(k->clock_ns == l->clock_ns && k->last_cut_ns == l->last_cut_ns);
    assert_true(k->n_writes == l->n_writes && k->n_erases == l->n_erases);
    assert_true(fe_chip_programs(&old.chip) == fe_chip_programs(&b->chip));
    fe_chip_fini(&old.chip);
}

static void program(struct both *b, fe_ppn ppn, fe_lpn lpn, uint16_t flips)
{
    uint8_t data[PAGE];
    memset(data, (int)lpn + 1, sizeof data);
    if (ppn % B == 0)
        fe_chip_begin_age(&b->chip, ppn / B, 0);
    fe_chip_program(&b->chip, ppn, (struct fe_chip_oob){.lpn = lpn, .tag = 3, .flips = flips},
                    FE_PPN_NONE, 0, PAGE, data);
}

/* Changes of the pages of a block, which may be programmed further. */
static void change_page(struct both *b, fe_peb peb, int kind, uint64_t r)
{
    struct fe_chip *c = &b->chip;
    uint32_t next = c->pebs[peb].next_page;
    fe_ppn ppn = peb * B + next;
    fe_lpn lpn = (fe_lpn)(r % 8);
    struct fe_chip_old_page old = fe_chip_old_page(c, ppn % (PEBS * B), lpn);
    bool can_program = next < (c->pebs[peb].marks & FE_MARK_SLC ? fe_slc_pages(&geo) : B);
    if (kind == 0 && can_program) {
        program(b, ppn, lpn, r & 64 ? FE_FLIPS_LOST : r & 128 ? FE_FLIPS_SILENT : 3);
    } else if (kind == 1 && can_program) {
        program(b, ppn, lpn, 0);
        fe_chip_tear_program(c, ppn, &old);
    } else if (kind == 2 && can_program) {
        program(b, ppn, lpn, 0);
        fe_chip_take_back_program(c, ppn, &old, NULL);
    } else if (kind == 3 && next > 0) {
        fe_chip_lose(c, ppn - 1);
    } else if (kind == 4 && next > 0) {
        fe_chip_set_flips(c, ppn - 1, r & 64 ? FE_FLIPS_LOST : 7);
    }
}

/* A strategy erases only copies that are dead. */
static void trim_all_of(struct both *b, fe_peb peb)
{
    for (fe_ppn ppn = peb * B; ppn < peb * B + b->chip.pebs[peb].next_page; ppn++)
        if (b->chip.oob_lpn[ppn] != FE_LPN_NONE)
            fe_chip_note_trim(&b->chip, b->chip.oob_lpn[ppn], 1);
}

/* As the undo of a power cut takes back programs behind an erase, the last one first. */
static void program_and_take_back(struct both *b, fe_peb peb, uint32_t n, fe_lpn lpn)
{
    struct fe_chip_old_page old[B];
    struct fe_aside aside[B];
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(fe_store_put_aside(b->store, peb * B + i, &aside[i]), 0);
        old[i] = fe_chip_old_page(&b->chip, peb * B + i, lpn + i);
        program(b, peb * B + i, lpn + i, 0);
    }
    while (n-- > 0)
        fe_chip_take_back_program(&b->chip, peb * B + n, &old[n], &aside[n]);
}

static void change_block(struct both *b, fe_peb peb, int kind, uint64_t r)
{
    struct fe_chip *c = &b->chip;
    fe_peb spare = PEBS + (fe_peb)(r % 2);
    struct fe_chip_old_block old = fe_chip_old_block(c, peb);
    bool spare_is_good = !(c->pebs[spare].marks & FE_MARK_GROWN_BAD);
    if (kind == 5 || kind == 6 || kind == 8)
        trim_all_of(b, peb);
    switch (kind) {
    case 5: fe_chip_erase(c, peb, FE_PEB_NONE); break;
    case 6:
        fe_chip_erase(c, peb, spare_is_good ? spare : FE_PEB_NONE);
        program_and_take_back(b, peb, (uint32_t)(r >> 3) % (B + 1), (fe_lpn)(r >> 6) % 4);
        fe_chip_take_back_erase(c, peb, &old);
        break;
    case 7:
        if (spare_is_good)
            fe_chip_exchange(c, peb, spare, r);
        break;
    case 8: fe_chip_erase(c, peb, spare_is_good ? spare : FE_PEB_NONE); break;
    case 9:
        if (old.info.next_page == 0) { /* else an image takes the mode as left by a kill */
            fe_chip_mark(c, peb, FE_MARK_SLC, true);
            program(b, peb * B, 1, 0);
        }
        break;
    case 10: fe_chip_mark(c, peb, FE_MARK_UNSTABLE, r & 1); break;
    case 11: fe_chip_mark(c, peb, FE_MARK_FAILED, true); break;
    case 12: fe_chip_set_cycles(c, peb, (uint32_t)(r % 100)); break;
    case 13: fe_chip_begin_age(c, peb, r); break;
    case 14:
        if (r % 50 == 0 && spare == PEBS)
            fe_chip_mark(c, spare, FE_MARK_GROWN_BAD, true);
        break;
    }
}

static void change_rest(struct both *b, int kind, uint64_t r)
{
    struct fe_chip *c = &b->chip;
    fe_peb peb = (fe_peb)(r % PEBS);
    switch (kind) {
    case 15: fe_chip_note_trim(c, (fe_lpn)(r % 8), (uint32_t)(r % 3)); break;
    case 16: fe_chip_forget_trims(c); break;
    case 17: fe_chip_begin_cut(c, NULL); break;
    case 18: fe_chip_begin_cut(c, &(struct fe_interrupted){peb, r % 9, 9 + r % 9}); break;
    case 19: fe_chip_set_stale(c); break;
    case 20:
        fe_chip_end_cut(c);
        if (c->cuts.n > 0) /* in memory the journal stays until the next cut */
            c->interrupted = (struct fe_interrupted){.peb = FE_PEB_NONE};
        break;
    case 21: fe_chip_count_write(c); break;
    case 22: fe_chip_count_erase(c); break;
    case 23: fe_chip_count_unnumbered(c); break;
    case 24: fe_chip_set_last_cut(c, c->life.clock_ns); break;
    }
}

static void test_chip_image_follows_every_change(void **state)
{
    (void)state;
    struct ft_rand rand = {.seed = 7};
    struct both b;
    start(&b, true);
    for (int i = 0; i < 6000; i++) {
        int kind = (int)ft_below(&rand, 40) % 25; /* more of the first ones */
        fe_peb peb = (fe_peb)ft_below(&rand, PEBS);
        uint64_t r = ft_below(&rand, 1u << 20);
        change_page(&b, peb, kind, r);
        change_block(&b, peb, kind, r);
        change_rest(&b, kind, r);
        reopen(&b, kind);
    }
    stop(&b);
}

static void test_chip_dead_is_written_down_immediately(void **state)
{
    (void)state;
    struct both b;
    start(&b, true);
    fe_chip_begin_cut(&b.chip, NULL);
    fe_chip_set_dead(&b.chip);
    reopen(&b, -1);
    assert_true(b.chip.cuts.is_dead && b.chip.cuts.is_off);
    fe_chip_end_cut(&b.chip);
    reopen(&b, -1);
    assert_true(b.chip.cuts.is_off);
    stop(&b);
}

/* A trim that a program has ended is back when the program never happened, but not when the
 * page of a program that was done is lost. */
static void test_chip_trims_follow_their_programs(void **state)
{
    (void)state;
    struct both b;
    start(&b, true);
    for (int torn = 0; torn < 2; torn++) {
        fe_ppn ppn = (fe_ppn)torn * B;
        fe_chip_note_trim(&b.chip, 5, 1);
        struct fe_chip_old_page old = fe_chip_old_page(&b.chip, ppn, 5);
        program(&b, ppn, 5, 0);
        assert_false(fe_bit(b.chip.trims, 5));
        if (torn)
            fe_chip_tear_program(&b.chip, ppn, &old);
        else
            fe_chip_take_back_program(&b.chip, ppn, &old, NULL);
        reopen(&b, -1);
        assert_true(fe_bit(b.chip.trims, 5));
    }
    program(&b, 2 * B, 5, 0);
    fe_chip_lose(&b.chip, 2 * B);
    reopen(&b, -1);
    assert_false(fe_bit(b.chip.trims, 5));
    stop(&b);
}

/* A crash of the host may lose the record of a block and not those of its pages. */
static void test_chip_slc_mode_is_kept_with_the_pages(void **state)
{
    (void)state;
    struct both b;
    start(&b, true);
    fe_chip_mark(&b.chip, 3, FE_MARK_SLC, true);
    program(&b, 3 * B, 1, 0);
    program(&b, 4 * B, 2, 0);
    fe_store_set_block(b.store, 3, &(struct fe_store_block){0});
    stop(&b);
    start(&b, false);
    assert_true(b.chip.pebs[3].marks & FE_MARK_SLC);
    assert_false(b.chip.pebs[4].marks & FE_MARK_SLC);
    stop(&b);
}

/* A kill has left the mode of a block that was never programmed, when nobody asked for the ages of blocks.
 * Whoever asks takes the mode away, and writes no time that there is not. */
static void test_chip_dates_no_block_that_it_only_loads(void **state)
{
    (void)state;
    struct both b;
    keeps_ages = false;
    start(&b, true);
    fe_chip_mark(&b.chip, 3, FE_MARK_SLC, true);
    stop(&b);
    keeps_ages = true;
    for (int again = 0; again < 2; again++) {
        start(&b, false);
        assert_false(b.chip.pebs[3].marks & FE_MARK_SLC);
        assert_int_equal(b.chip.since_ns[3], 0);
        stop(&b);
    }
}

/* What the next server finds when the host goes down now. */
static void crash(struct both *b, struct ft_io *host, uint64_t seed)
{
    stop(b);
    ft_io_crash(host, path, seed);
    ft_pretend_another_host(path);
    start_on(b, false, &host->io);
}

/* A cut tears the second page of block 1, to which block 0 was being moved; power-on throws the
 * copies away.  Whatever the disk has of that, a torn page never stands there without the journal
 * that says where its data are. */
static void test_chip_journal_of_a_cut_survives_a_crash_of_the_host(void **state)
{
    (void)state;
    const struct fe_interrupted moved = {.peb = 0, .since = 2, .until = 4};
    uint32_t n_torn[2] = {0}, n_journals[2] = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        bool is_on_again = seed % 2;
        struct ft_io host;
        struct both b;
        ft_io_init(&host);
        start_on(&b, true, &host.io);
        for (fe_lpn lpn = 0; lpn < 2; lpn++)
            program(&b, lpn, lpn, 0);
        program(&b, B, 0, 0);
        struct fe_chip_old_page old = fe_chip_old_page(&b.chip, B + 1, 1);
        program(&b, B + 1, 1, 0);
        host.log = true;
        fe_chip_begin_cut(&b.chip, &moved);
        fe_chip_tear_program(&b.chip, B + 1, &old);
        if (is_on_again) {
            fe_store_sync_all(b.store);
            fe_chip_erase(&b.chip, 1, FE_PEB_NONE);
            fe_chip_end_cut(&b.chip);
        }
        crash(&b, &host, seed);
        bool is_torn = b.chip.oob_tag[B + 1] == FE_TAG_TORN;
        bool is_known = b.chip.cuts.is_off && b.chip.interrupted.peb == moved.peb &&
                        b.chip.interrupted.until == moved.until;
        assert_true(is_known || !is_torn);
        n_torn[is_on_again] += is_torn;
        n_journals[is_on_again] += is_known;
        stop(&b);
        ft_io_fini(&host);
        unlink(path);
    }
    assert_true(n_torn[0] > 10 && n_torn[0] < 90); /* a part of what could have come about */
    assert_int_equal(n_torn[1], 0);
    assert_int_equal(n_journals[0], 100);
    assert_true(n_journals[1] > 10 && n_journals[1] < 90);
    struct both b;
    start(&b, true); /* a file for the teardown */
    stop(&b);
}

/* Two blocks go bad, and the host goes down once or twice.  Whatever the disk has of that, the image opens, and each
 * block of the chip stands behind one peb. */
static void test_chip_exchanges_survive_a_crash_of_the_host(void **state)
{
    (void)state;
    uint32_t n_exchanged = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct ft_io host;
        struct both b;
        ft_io_init(&host);
        start_on(&b, true, &host.io);
        for (fe_peb peb = 1; peb < 3; peb++)
            program(&b, peb * B, peb, 0);
        fe_store_sync_all(b.store);
        host.log = true;
        fe_chip_erase(&b.chip, 1, PEBS); /* onto a block that was never erased */
        if (seed % 3)
            crash(&b, &host, seed + 1000);
        if (seed % 2)
            fe_chip_exchange(&b.chip, 2, PEBS + 1, 0);
        else
            fe_chip_erase(&b.chip, 2, PEBS + 1);
        fe_chip_erase(&b.chip, 1, FE_PEB_NONE);
        crash(&b, &host, seed);
        uint32_t seen = 0;
        for (fe_peb peb = 0; peb < ALL; peb++)
            seen |= 1u << b.chip.blocks[peb];
        assert_int_equal(seen, (1u << ALL) - 1);
        assert_true(b.chip.pebs[1].erase_count <= 1);
        n_exchanged += b.chip.blocks[2] != 2;
        stop(&b);
        ft_io_fini(&host);
        unlink(path);
    }
    assert_true(n_exchanged > 20 && n_exchanged < 200);
    struct both b;
    start(&b, true); /* a file for the teardown */
    stop(&b);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_chip_image_follows_every_change),
        T(test_chip_dead_is_written_down_immediately),
        T(test_chip_trims_follow_their_programs),
        T(test_chip_journal_of_a_cut_survives_a_crash_of_the_host),
        T(test_chip_exchanges_survive_a_crash_of_the_host),
        T(test_chip_slc_mode_is_kept_with_the_pages),
        T(test_chip_dates_no_block_that_it_only_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
