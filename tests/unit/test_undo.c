/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Going back to the instant of a power cut.  The test plays the scheduler: it says when each
 * operation starts and ends.
 */
#include "lib/rig.h"
#include "lib/unit.h"

#include "nand/undo.h"

enum { PAGE = 512, PER_BLOCK = 4 };

static void setup(struct ft_rig *rig, uint32_t dies, enum fe_cell cell)
{
    struct fe_nand_params p = ft_nand(dies, 4, PER_BLOCK, PAGE);
    struct fe_err err;
    fe_err_init(&err);
    p.cell = cell;
    ft_rig_init(rig, &p);
    assert_int_equal(fe_undo_create(rig->medium, &err), 0);
}

/* Operation i of those issued since the last call gets [100 i, 100 i + 100), from `from` on. */
static void place(struct ft_rig *rig, uint64_t from)
{
    uint32_t n;
    struct fe_op *ops = (struct fe_op *)ft_rig_ops(rig, &n);
    for (uint32_t i = 0; i < n; i++) {
        ops[i].start_ns = from + 100 * i;
        ops[i].end_ns = ops[i].start_ns + 100;
    }
    fe_undo_placed(rig->medium, ops, n);
    ft_rig_clear(rig);
}

static void prog(struct ft_rig *rig, fe_ppn ppn, fe_lpn lpn, int byte)
{
    uint8_t data[PAGE];
    memset(data, byte, sizeof data);
    fe_medium_prog(rig->medium, ppn, lpn, 0, FE_PPN_NONE, 0, PAGE, data);
}

static int byte_of(struct ft_rig *rig, fe_ppn ppn)
{
    uint8_t data[PAGE];
    assert_int_equal(fe_store_read(rig->store, ppn, 0, PAGE, data), 0);
    return data[17];
}

static enum fe_cut_outcome always(void *ctx, const struct fe_undo_op *op)
{
    (void)op;
    return *(enum fe_cut_outcome *)ctx;
}

static struct fe_cut_count cut(struct ft_rig *rig, uint64_t at_ns, enum fe_cut_outcome o)
{
    return fe_undo_cut(rig->medium, &(struct fe_cut){.at_ns = at_ns, .choose = always, .ctx = &o});
}

static void test_undo_ended_stay_started_are_torn_later_never_were(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    for (fe_ppn ppn = 0; ppn < 3; ppn++)
        prog(&rig, ppn, 10 + ppn, (int)ppn + 1);
    place(&rig, 0);
    struct fe_cut_count n = cut(&rig, 150, FE_CUT_TORN);
    assert_int_equal(n.done, 1);
    assert_int_equal(n.torn, 1);
    assert_int_equal(n.undone, 1);
    assert_int_equal(fe_medium_state(rig.medium, 0), FE_PAGE_PROGRAMMED);
    assert_int_equal(fe_medium_lpn(rig.medium, 0), 10);
    assert_int_equal(byte_of(&rig, 0), 1);
    assert_int_equal(fe_medium_state(rig.medium, 1), FE_PAGE_TORN);
    assert_int_equal(fe_medium_lpn(rig.medium, 1), FE_LPN_NONE);
    assert_int_equal(fe_medium_state(rig.medium, 2), FE_PAGE_ERASED);
    assert_int_equal(rig.medium->counters.page_programs, 2);
    prog(&rig, 2, 5, 9); /* the page is usable: nothing of the former program is left */
    assert_int_equal(byte_of(&rig, 2), 9);
    ft_rig_fini(&rig);
}

static void test_undo_at_the_very_end_an_operation_is_done(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    prog(&rig, 0, 1, 1);
    prog(&rig, 1, 2, 2);
    place(&rig, 0);
    cut(&rig, 100, FE_CUT_TORN); /* the first ends, the second would start */
    assert_int_equal(fe_medium_state(rig.medium, 0), FE_PAGE_PROGRAMMED);
    assert_int_equal(fe_medium_state(rig.medium, 1), FE_PAGE_ERASED);
    ft_rig_fini(&rig);
}

/* A part of a page may join a program for which the die has no time yet.  Both end together then,
 * and the operation of the later part takes no time.  The host may have been told at that very
 * time. */
static void test_undo_at_its_end_a_part_that_took_no_time_is_done(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    for (fe_ppn ppn = 0; ppn < 3; ppn++)
        prog(&rig, ppn, 10 + ppn, 1);
    uint32_t n;
    struct fe_op *ops = (struct fe_op *)ft_rig_ops(&rig, &n);
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < n; i++) {
        ops[i].start_ns = i == 0 ? 0 : 100;
        ops[i].end_ns = i == 2 ? 200 : 100;
    }
    fe_undo_placed(rig.medium, ops, n);
    ft_rig_clear(&rig);
    struct fe_cut_count count = cut(&rig, 100, FE_CUT_TORN);
    assert_int_equal(count.done, 2);
    assert_int_equal(count.undone, 1);
    assert_int_equal(fe_medium_state(rig.medium, 1), FE_PAGE_PROGRAMMED);
    assert_int_equal(fe_medium_state(rig.medium, 2), FE_PAGE_ERASED);
    ft_rig_fini(&rig);
}

static void fill_and_rewrite(struct ft_rig *rig)
{
    for (fe_ppn ppn = 0; ppn < PER_BLOCK; ppn++)
        prog(rig, ppn, ppn, (int)ppn + 1);
    place(rig, 0);
    fe_undo_settle(rig->medium, 400);
    fe_medium_erase(rig->medium, 0);
    prog(rig, 0, 7, 70);
    prog(rig, 1, 8, 80);
    place(rig, 400);
}

static void test_undo_an_erase_that_never_was_gives_everything_back(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    fill_and_rewrite(&rig);
    cut(&rig, 400, FE_CUT_TORN);
    assert_int_equal(fe_medium_next_page(rig.medium, 0), PER_BLOCK);
    assert_int_equal(fe_medium_erase_count(rig.medium, 0), 0);
    for (fe_ppn ppn = 0; ppn < PER_BLOCK; ppn++) {
        assert_int_equal(fe_medium_lpn(rig.medium, ppn), ppn);
        assert_int_equal(byte_of(&rig, ppn), (int)ppn + 1);
    }
    assert_int_equal(fe_medium_interrupted(rig.medium).peb, 0);
    ft_rig_fini(&rig);
}

/* A program that failed changed nothing: not even what its page held before the erase. */
static void test_undo_a_failed_program_gives_the_bytes_back(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    fill_and_rewrite(&rig);
    *fe_ops_add(&rig.ops) = (struct fe_op){.kind = FE_OP_PROG, .ppn = 2};
    fe_undo_note_prog(rig.medium, 2, 9);
    fe_undo_forget_last(rig.medium);
    place(&rig, 700);
    cut(&rig, 400, FE_CUT_TORN);
    assert_int_equal(fe_medium_next_page(rig.medium, 0), PER_BLOCK);
    for (fe_ppn ppn = 0; ppn < PER_BLOCK; ppn++)
        assert_int_equal(byte_of(&rig, ppn), (int)ppn + 1);
    ft_rig_fini(&rig);
}

/* An erase that failed has put another chip block behind the peb, which stays. */
static void test_undo_a_replaced_block_keeps_its_cycles(void **state)
{
    (void)state;
    struct fe_nand_params p = ft_nand(1, 5, PER_BLOCK, PAGE);
    struct fe_wear_params w = {
        .spare_blocks = 1, .fail_erase = 2, .codeword_size = PAGE, .slow_factor = 2};
    for (uint32_t cycles = 0; cycles < 2; cycles++) {
        struct ft_rig rig;
        ft_rig_init_worn(&rig, &p, &w);
        assert_int_equal(fe_undo_create(rig.medium, NULL), 0);
        assert_int_equal(fe_wear_set_cycles(rig.medium, 4, cycles, NULL), 0);
        fe_medium_erase(rig.medium, 1);
        uint32_t peb_cycle = fe_medium_erase_count(rig.medium, 1) + rig.medium->chip.difference[1];
        prog(&rig, PER_BLOCK, 7, 7);
        place(&rig, 0);
        fe_medium_erase(rig.medium, 1);
        place(&rig, 500);
        assert_int_equal(fe_medium_chip_block(rig.medium, 1), 4);
        cut(&rig, 500, FE_CUT_NOT_BEGUN);
        assert_int_equal(fe_medium_erase_count(rig.medium, 1), cycles);
        assert_int_equal(fe_medium_erase_count(rig.medium, 1) + rig.medium->chip.difference[1],
                         peb_cycle);
        assert_int_equal(byte_of(&rig, PER_BLOCK), 7);
        ft_rig_fini(&rig);
    }
}

/* Of a page that was programmed again, its copy of a lost page is taken back with it. */
static void test_undo_a_page_is_as_readable_as_before(void **state)
{
    (void)state;
    struct fe_nand_params p = ft_nand(1, 5, PER_BLOCK, PAGE);
    struct fe_wear_params w = {.correctable_bits = 1, .codeword_size = PAGE, .slow_factor = 2};
    struct ft_rig rig;
    ft_rig_init_worn(&rig, &p, &w);
    assert_int_equal(fe_undo_create(rig.medium, NULL), 0);
    prog(&rig, 0, 1, 1);
    prog(&rig, PER_BLOCK, 2, 2);
    assert_int_equal(fe_wear_flip(rig.medium, 0, 2, NULL), 0);
    place(&rig, 0);
    fe_undo_settle(rig.medium, 200);
    fe_medium_erase(rig.medium, 1);
    fe_medium_prog(rig.medium, PER_BLOCK, 1, 0, 0, 0, 0, NULL);
    place(&rig, 500);
    assert_int_equal(fe_medium_read(rig.medium, PER_BLOCK, 0, PAGE, NULL), FE_UNCORRECTABLE);
    cut(&rig, 500, FE_CUT_NOT_BEGUN);
    assert_int_equal(fe_medium_lpn(rig.medium, PER_BLOCK), 2);
    assert_int_equal(fe_medium_read(rig.medium, PER_BLOCK, 0, PAGE, NULL), FE_OK);
    ft_rig_fini(&rig);
}

/* The data of a block whose erase never was are as old, and were read as often, as before. */
static void test_undo_data_that_come_back_are_not_young(void **state)
{
    (void)state;
    struct fe_nand_params p = ft_nand(1, 4, PER_BLOCK, PAGE);
    struct fe_wear_params w = {
        .correctable_bits = 8, .codeword_size = PAGE, .slow_factor = 2, .ber.fresh = 1};
    struct ft_rig rig;
    ft_rig_init_worn(&rig, &p, &w);
    assert_int_equal(fe_undo_create(rig.medium, NULL), 0);
    rig.medium->now_ns = 70;
    prog(&rig, PER_BLOCK, 2, 2);
    place(&rig, 100);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fe_medium_read(rig.medium, PER_BLOCK, 0, PAGE, NULL), FE_OK);
    rig.medium->now_ns = 9000;
    fe_undo_settle(rig.medium, 9000);
    fe_medium_erase(rig.medium, 1);
    prog(&rig, PER_BLOCK, 3, 3);
    place(&rig, 9500);
    assert_int_equal(fe_medium_age_ns(rig.medium, 1), 0);
    cut(&rig, 9200, FE_CUT_NOT_BEGUN);
    assert_int_equal(byte_of(&rig, PER_BLOCK), 2);
    assert_int_equal(fe_medium_age_ns(rig.medium, 1), 8930);
    assert_int_equal(fe_medium_reads(rig.medium, 1), 3);
    ft_rig_fini(&rig);
}

static void test_undo_an_erase_cut_short_leaves_the_block_unstable(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    fill_and_rewrite(&rig);
    cut(&rig, 450, FE_CUT_TORN);
    assert_true(fe_medium_is_unstable(rig.medium, 0));
    assert_int_equal(fe_medium_next_page(rig.medium, 0), 0);
    fe_medium_erase(rig.medium, 0);
    prog(&rig, 0, 1, 5);
    assert_int_equal(byte_of(&rig, 0), 5);
    ft_rig_fini(&rig);
}

static void test_undo_a_final_erase_forgets_what_it_took(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    fill_and_rewrite(&rig);
    fe_undo_settle(rig.medium, 500); /* the erase, not the programs after it */
    assert_false(fe_store_is_written(rig.store, 3));
    assert_int_equal(byte_of(&rig, 0), 70);
    cut(&rig, 500, FE_CUT_TORN);
    assert_int_equal(fe_medium_next_page(rig.medium, 0), 0);
    assert_false(fe_store_is_written(rig.store, 0)); /* not what was there before the erase */
    assert_int_equal(fe_medium_interrupted(rig.medium).peb, FE_PEB_NONE);
    ft_rig_fini(&rig);
}

static void test_undo_a_die_stops_at_its_first_operation_that_is_not_done(void **state)
{
    (void)state;
    struct ft_rig rig;
    enum fe_cut_outcome done = FE_CUT_DONE;
    setup(&rig, 2, FE_CELL_SLC);
    prog(&rig, 0, 1, 1);             /* die 0 */
    prog(&rig, PER_BLOCK, 2, 2);     /* die 1 */
    prog(&rig, PER_BLOCK + 1, 3, 3); /* die 1, later */
    uint32_t n;
    struct fe_op *ops = (struct fe_op *)ft_rig_ops(&rig, &n);
    for (uint32_t i = 0; i < n; i++) {
        ops[i].start_ns = i == 2 ? 300 : 0;
        ops[i].end_ns = i == 2 ? 400 : 1000;
    }
    fe_undo_placed(rig.medium, ops, n);
    fe_undo_cut(rig.medium, &(struct fe_cut){.at_ns = 500, .choose = always, .ctx = &done});
    assert_int_equal(fe_medium_next_page(rig.medium, 1), 2); /* all said to be done */

    fe_medium_erase(rig.medium, 1);
    prog(&rig, PER_BLOCK, 2, 2);
    prog(&rig, PER_BLOCK + 1, 3, 3);
    ft_rig_clear(&rig);
    struct fe_op again[] = {
        {.kind = FE_OP_ERASE, .ppn = PER_BLOCK, .die = 1, .start_ns = 1000, .end_ns = 1100},
        {.kind = FE_OP_PROG, .ppn = PER_BLOCK, .die = 1, .start_ns = 1100, .end_ns = 1500},
        {.kind = FE_OP_PROG, .ppn = PER_BLOCK + 1, .die = 1, .start_ns = 1200, .end_ns = 1300},
    };
    fe_undo_placed(rig.medium, again, 3);
    cut(&rig, 1400, FE_CUT_TORN);
    assert_int_equal(fe_medium_next_page(rig.medium, 1), 1); /* the second never began */
    assert_int_equal(fe_medium_state(rig.medium, PER_BLOCK), FE_PAGE_TORN);
    ft_rig_fini(&rig);
}

static enum fe_cut_outcome all_but(void *ppn, const struct fe_undo_op *op)
{
    return op->ppn == *(fe_ppn *)ppn ? FE_CUT_NOT_BEGUN : FE_CUT_DONE;
}

/* Page 1 of peb 0 fails on die 1, which the peb was on, and is repeated on die 0, where the
 * peb is now.  Peb 2 is on die 0, peb 3 on die 1:
 *
 *          0     300    500    900 1000   1300   1500
 *   die 0  [2/0)                   [0/1 again--------)   2/1 comes behind
 *   die 1  [0/0----------) [0/1----)[3/0)
 */
static void cut_around_a_replacement(struct ft_rig *rig, uint64_t at_ns, fe_ppn not_begun)
{
    const struct fe_op ops[] = {
        {.kind = FE_OP_PROG, .ppn = 0, .die = 1, .start_ns = 0, .end_ns = 500},
        {.kind = FE_OP_PROG, .ppn = 2 * PER_BLOCK, .die = 0, .start_ns = 0, .end_ns = 200},
        {.kind = FE_OP_PROG, .ppn = 1, .die = 1, .start_ns = 100, .end_ns = 900},
        {.kind = FE_OP_PROG, .ppn = 1, .flags = FE_OP_AGAIN, .start_ns = 1000, .end_ns = 1500},
        {.kind = FE_OP_PROG, .ppn = 3 * PER_BLOCK, .die = 1, .start_ns = 1000, .end_ns = 1200},
        {.kind = FE_OP_PROG, .ppn = 2 * PER_BLOCK + 1, .die = 0, .start_ns = 1100,
         .end_ns = 1600},
    };
    setup(rig, 2, FE_CELL_SLC);
    prog(rig, 0, 1, 1);
    prog(rig, 2 * PER_BLOCK, 2, 2);
    prog(rig, 1, 3, 3);
    prog(rig, 3 * PER_BLOCK, 4, 4);
    prog(rig, 2 * PER_BLOCK + 1, 5, 5);
    ft_rig_clear(rig);
    fe_undo_placed(rig->medium, ops, sizeof ops / sizeof ops[0]);
    struct fe_cut how = {.at_ns = at_ns, .choose = all_but, .ctx = &not_begun};
    fe_undo_cut(rig->medium, &how);
}

static void test_undo_knows_the_die_that_an_operation_was_on(void **state)
{
    (void)state;
    struct ft_rig rig;
    cut_around_a_replacement(&rig, 300, 0);
    assert_int_equal(fe_medium_next_page(rig.medium, 0), 0); /* 0/1 comes behind 0/0 */
    assert_int_equal(fe_medium_next_page(rig.medium, 2), 1); /* what is done is done */
    assert_int_equal(fe_medium_next_page(rig.medium, 3), 0);
    ft_rig_fini(&rig);

    cut_around_a_replacement(&rig, 1300, 1);
    assert_int_equal(fe_medium_next_page(rig.medium, 0), 1);
    assert_int_equal(fe_medium_next_page(rig.medium, 2), 1); /* 2/1 comes behind 0/1 */
    assert_int_equal(fe_medium_next_page(rig.medium, 3), 1); /* on the die that 0/1 has left */
    ft_rig_fini(&rig);
}

static void test_undo_a_torn_msb_page_may_take_its_lsb_page(void **state)
{
    (void)state;
    for (uint32_t ppm = 0; ppm <= 1000000; ppm += 1000000) {
        struct ft_rig rig;
        enum fe_cut_outcome torn = FE_CUT_TORN;
        setup(&rig, 1, FE_CELL_MLC);
        for (fe_ppn ppn = 0; ppn < 3; ppn++)
            prog(&rig, ppn, ppn, 1);
        place(&rig, 0);
        fe_undo_cut(rig.medium, &(struct fe_cut){.at_ns = 250, .choose = always, .ctx = &torn,
                                                 .partner_ppm = ppm});
        assert_int_equal(fe_medium_state(rig.medium, 2), FE_PAGE_TORN);
        assert_int_equal(fe_medium_state(rig.medium, 0), ppm ? FE_PAGE_TORN : FE_PAGE_PROGRAMMED);
        assert_int_equal(fe_medium_state(rig.medium, 1), FE_PAGE_PROGRAMMED);
        ft_rig_fini(&rig);
    }
}

/* In SLC mode each page has cells of its own, whatever the chip's cells are. */
static void test_undo_pages_in_slc_mode_have_no_partners(void **state)
{
    (void)state;
    for (fe_ppn msb = 2; msb < 2 * PER_BLOCK; msb++) {
        struct ft_rig rig;
        struct fe_nand_params p = ft_nand(1, 4, 4 * PER_BLOCK, PAGE); /* 8 pages in SLC mode */
        p.cell = FE_CELL_MLC;
        ft_rig_init(&rig, &p);
        assert_int_equal(fe_undo_create(rig.medium, NULL), 0);
        fe_medium_use_slc(rig.medium, 0);
        for (fe_ppn ppn = 0; ppn <= msb; ppn++)
            prog(&rig, ppn, ppn, 1);
        place(&rig, 0);
        enum fe_cut_outcome torn = FE_CUT_TORN;
        fe_undo_cut(rig.medium, &(struct fe_cut){.at_ns = 100 * msb + 50, .choose = always,
                                                 .ctx = &torn, .partner_ppm = 1000000});
        for (fe_ppn ppn = 0; ppn < msb; ppn++)
            assert_int_equal(fe_medium_state(rig.medium, ppn), FE_PAGE_PROGRAMMED);
        assert_int_equal(fe_medium_state(rig.medium, msb), FE_PAGE_TORN);
        ft_rig_fini(&rig);
    }
}

static void test_undo_brings_back_the_log_of_trims(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_err err;
    fe_err_init(&err);
    setup(&rig, 1, FE_CELL_SLC);
    assert_int_equal(fe_chip_log_trims(&rig.medium->chip, 8, &err), 0);
    fe_chip_note_trim(&rig.medium->chip, 2, 3);
    prog(&rig, 0, 3, 1);
    prog(&rig, 1, 4, 1);
    assert_false(fe_medium_is_trimmed(rig.medium, 3));
    place(&rig, 0);
    cut(&rig, 150, FE_CUT_TORN);
    assert_false(fe_medium_is_trimmed(rig.medium, 3)); /* done */
    assert_true(fe_medium_is_trimmed(rig.medium, 4));  /* torn */
    assert_true(fe_medium_is_trimmed(rig.medium, 2));
    assert_false(fe_medium_is_trimmed(rig.medium, 5));
    ft_rig_fini(&rig);
}

/* The first program on die 0 is not done, the second one on die 1 is. */
static void test_undo_a_trim_does_not_hold_against_a_newer_page(void **state)
{
    static const enum fe_cut_outcome outcomes[] = {FE_CUT_NOT_BEGUN, FE_CUT_TORN};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ft_rig rig;
        uint32_t n;
        enum fe_cut_outcome outcome = outcomes[i];
        setup(&rig, 2, FE_CELL_SLC);
        assert_int_equal(fe_chip_log_trims(&rig.medium->chip, 10, NULL), 0);
        fe_chip_note_trim(&rig.medium->chip, 5, 2);
        prog(&rig, 0, 5, 1);
        prog(&rig, 1, 6, 1);
        prog(&rig, PER_BLOCK, 5, 2);
        struct fe_op *ops = (struct fe_op *)ft_rig_ops(&rig, &n);
        for (uint32_t k = 0; k < n; k++)
            ops[k].end_ns = k == 2 ? 100 : 1000;
        fe_undo_placed(rig.medium, ops, n);
        fe_undo_cut(rig.medium,
                    &(struct fe_cut){.at_ns = 500, .choose = always, .ctx = &outcome});
        assert_int_equal(byte_of(&rig, PER_BLOCK), 2);
        assert_false(fe_medium_is_trimmed(rig.medium, 5));
        assert_true(fe_medium_is_trimmed(rig.medium, 6)); /* which has no newer page */
        ft_rig_fini(&rig);
    }
}

/* Page 0 holds logical page 5, and is final.  Page 4, in the next block, is its newer copy, whose
 * program takes until 200. */
static void write_and_replace(struct ft_rig *rig)
{
    setup(rig, 1, FE_CELL_SLC);
    prog(rig, 0, 5, 1);
    place(rig, 0);
    fe_undo_settle(rig->medium, 100);
    prog(rig, PER_BLOCK, 5, 2);
    fe_medium_replaced(rig->medium, 0);
    place(rig, 100);
}

static void test_undo_a_replaced_page_goes_when_the_newer_one_is_final(void **state)
{
    (void)state;
    struct ft_rig rig;
    write_and_replace(&rig);
    fe_undo_settle(rig.medium, 199);
    assert_int_equal(byte_of(&rig, 0), 1);
    fe_undo_settle(rig.medium, 200);
    assert_false(fe_store_is_written(rig.store, 0));
    assert_int_equal(fe_medium_state(rig.medium, 0), FE_PAGE_PROGRAMMED); /* only its bytes went */
    assert_int_equal(byte_of(&rig, PER_BLOCK), 2);
    ft_rig_fini(&rig);
}

static void test_undo_a_replaced_page_is_there_if_the_newer_one_is_not(void **state)
{
    static const enum fe_cut_outcome outcomes[] = {FE_CUT_NOT_BEGUN, FE_CUT_TORN};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ft_rig rig;
        write_and_replace(&rig);
        cut(&rig, i == 0 ? 100 : 150, outcomes[i]);
        fe_undo_settle(rig.medium, 1000);
        assert_int_equal(byte_of(&rig, 0), 1);
        ft_rig_fini(&rig);
    }
}

/* The newer page is final, the erase of the older one's block is not and is taken back. */
static void test_undo_a_replaced_page_whose_block_is_erased_comes_back(void **state)
{
    (void)state;
    struct ft_rig rig;
    write_and_replace(&rig);
    fe_medium_erase(rig.medium, 0);
    prog(&rig, 0, 9, 90); /* the older bytes are put aside */
    place(&rig, 200);
    fe_undo_settle(rig.medium, 200);
    assert_int_equal(byte_of(&rig, 0), 90);
    cut(&rig, 200, FE_CUT_NOT_BEGUN);
    assert_int_equal(fe_medium_lpn(rig.medium, 0), 5);
    assert_int_equal(byte_of(&rig, 0), 1);
    ft_rig_fini(&rig);
}

static void test_undo_a_trimmed_page_goes_at_once(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    for (fe_ppn ppn = 0; ppn < 2; ppn++) {
        prog(&rig, ppn, ppn, 1);
        rig.medium->brings_back = ppn == 1;
        fe_medium_let_go(rig.medium, ppn);
        assert_int_equal(fe_store_is_written(rig.store, ppn), ppn == 1);
    }
    ft_rig_fini(&rig);
}

static void test_undo_a_replaced_page_stays_where_a_cut_brings_it_back(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    rig.medium->brings_back = true;
    prog(&rig, 0, 5, 1);
    prog(&rig, 1, 5, 2);
    fe_medium_replaced(rig.medium, 0);
    place(&rig, 0);
    fe_undo_settle(rig.medium, 1000);
    assert_int_equal(byte_of(&rig, 0), 1);
    ft_rig_fini(&rig);
}

static void test_undo_remembers_as_many_as_there_are(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig, 1, FE_CELL_SLC);
    prog(&rig, 0, 3, 33);
    place(&rig, 0);
    fe_undo_settle(rig.medium, 100);
    for (uint32_t i = 0; i < 500; i++) { /* 2500 operations, none of them over */
        fe_medium_erase(rig.medium, 0);
        for (fe_ppn ppn = 0; ppn < PER_BLOCK; ppn++)
            prog(&rig, ppn, ppn, (int)(i % 200) + 1);
    }
    place(&rig, 100);
    struct fe_cut_count n = cut(&rig, 100, FE_CUT_TORN);
    assert_int_equal(n.undone, 2500);
    assert_int_equal(fe_medium_next_page(rig.medium, 0), 1);
    assert_int_equal(byte_of(&rig, 0), 33);
    assert_int_equal(fe_medium_lpn(rig.medium, 0), 3);
    assert_int_equal(fe_medium_erase_count(rig.medium, 0), 0);
    ft_rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undo_ended_stay_started_are_torn_later_never_were),
        cmocka_unit_test(test_undo_at_the_very_end_an_operation_is_done),
        cmocka_unit_test(test_undo_at_its_end_a_part_that_took_no_time_is_done),
        cmocka_unit_test(test_undo_an_erase_that_never_was_gives_everything_back),
        cmocka_unit_test(test_undo_a_failed_program_gives_the_bytes_back),
        cmocka_unit_test(test_undo_a_replaced_block_keeps_its_cycles),
        cmocka_unit_test(test_undo_a_page_is_as_readable_as_before),
        cmocka_unit_test(test_undo_data_that_come_back_are_not_young),
        cmocka_unit_test(test_undo_an_erase_cut_short_leaves_the_block_unstable),
        cmocka_unit_test(test_undo_a_final_erase_forgets_what_it_took),
        cmocka_unit_test(test_undo_a_die_stops_at_its_first_operation_that_is_not_done),
        cmocka_unit_test(test_undo_knows_the_die_that_an_operation_was_on),
        cmocka_unit_test(test_undo_a_torn_msb_page_may_take_its_lsb_page),
        cmocka_unit_test(test_undo_pages_in_slc_mode_have_no_partners),
        cmocka_unit_test(test_undo_brings_back_the_log_of_trims),
        cmocka_unit_test(test_undo_a_trim_does_not_hold_against_a_newer_page),
        cmocka_unit_test(test_undo_a_replaced_page_goes_when_the_newer_one_is_final),
        cmocka_unit_test(test_undo_a_replaced_page_is_there_if_the_newer_one_is_not),
        cmocka_unit_test(test_undo_a_replaced_page_whose_block_is_erased_comes_back),
        cmocka_unit_test(test_undo_a_trimmed_page_goes_at_once),
        cmocka_unit_test(test_undo_a_replaced_page_stays_where_a_cut_brings_it_back),
        cmocka_unit_test(test_undo_remembers_as_many_as_there_are),
    };
    return cmocka_run_group_tests_name("undo", tests, NULL, NULL);
}
