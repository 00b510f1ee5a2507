/* SPDX-License-Identifier: BSD-3-Clause
 *
 * norlog by hand: headers, what a collection costs and how many writes lie between two of
 * them.  (Seeds and theory: property/test_oracles_norlog.c.)
 *
 * Cost: { reads, programs, erases, copied, switch, partial, full }; letters as in ft_rig_text.
 */
#include "lib/norlog.h"

#include "ftl/registry.h"
#include "sched/sched.h"

#include <errno.h>

/* How long the operations since the last clear take on their own. */
static uint64_t duration(struct ft_layer *l)
{
    struct fe_sched s;
    uint32_t n;
    const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
    assert_int_equal(fe_sched_init(&s, &l->rig.nand, &l->rig.geo, NULL), 0);
    fe_sched_begin(&s, 0);
    for (uint32_t i = 0; i < n; i++) {
        struct fe_op op = ops[i];
        fe_sched_place(&s, &op, 1);
    }
    uint64_t end = fe_sched_end(&s);
    fe_sched_fini(&s);
    return end;
}

static void test_norlog_header_comes_first(void **state)
{
    (void)state;
    struct ft_layer l;
    ft_norlog_init(&l, ft_norlog_params(FE_GC_GREEDY));
    ft_layer_fill(&l, 3, 1);
    assert_string_equal(ft_layer_text(&l), "PP");
    assert_int_equal(fe_medium_lpn(l.rig.medium, 0), FE_LPN_NONE);
    assert_int_equal(fe_medium_lpn(l.rig.medium, 1), 3);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 4, D - 1);
    assert_string_equal(ft_layer_text(&l), "PPPPPPPPP");
    ft_layer_clear(&l);
    ft_layer_fill(&l, 30, 1);
    assert_string_equal(ft_layer_text(&l), "PP");
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), BLOCKS - 2);
    ft_layer_end(&l);
}

/* 16 bytes and 4 for each page of the block. */
static void test_norlog_header_has_room_for_the_directory(void **state)
{
    (void)state;
    static const struct {
        uint32_t sectors, header;
    } cases[] = {{2, 1}, {124, 1}, {125, 2}, {252, 2}, {253, 3}, {256, 3}};
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        struct fe_nand_params np = ft_nor(5, cases[i].sectors);
        struct fe_ftl_params p = ft_params("norlog", &np, 1);
        struct ft_layer l;
        ft_layer_init(&l, &np, &p);
        assert_int_equal(l.ftl->n_lpns, 3 * (cases[i].sectors - cases[i].header));
        ft_layer_fill(&l, 0, 1);
        ft_layer_expect(&l, (struct ft_cost){.programs = cases[i].header + 1}, "first write");
        ft_layer_end(&l);
    }
}

static void test_norlog_header_holds_the_erase_count(void **state)
{
    (void)state;
    struct ft_layer l;
    uint32_t words[2];
    ft_norlog_init(&l, ft_norlog_params(FE_GC_GREEDY));
    ft_norlog_fill(&l);
    for (uint32_t i = 0; i < 500; i++)
        ft_layer_fill(&l, i % 7, 1);
    uint32_t most = 0;
    for (fe_peb peb = 0; peb < BLOCKS; peb++) {
        if (fe_medium_next_page(l.rig.medium, peb) == 0)
            continue;
        fe_store_read(l.rig.store, peb * (D + 1), 0, sizeof words, words);
        assert_int_equal(words[0], 0x474f4c4e);
        assert_int_equal(words[1], fe_medium_erase_count(l.rig.medium, peb));
        most = words[1] > most ? words[1] : most;
    }
    assert_true(most > 10);
    ft_layer_end(&l);
}

/* tPROG is the datasheet's figure for one buffer. */
static void test_norlog_programs_by_buffers(void **state)
{
    (void)state;
    static const struct {
        uint32_t unit, oob;
        uint64_t programs;
    } cases[] = {{0, 0, 1}, {0, 16, 1}, {32, 0, 16}, {512, 0, 1}, {500, 0, 2}, {1, 0, 512},
                 {32, 4, 17}, {32, 33, 18}, {65536, 0, 1}};
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        struct fe_nand_params np = ft_nor(BLOCKS, D + 1);
        struct fe_ftl_params p = ft_params("norlog", &np, 1);
        struct ft_layer l;
        np.program_unit = cases[i].unit;
        np.oob_size = cases[i].oob;
        ft_layer_init(&l, &np, &p);
        ft_layer_fill(&l, 0, 1);
        ft_layer_clear(&l);
        ft_layer_fill(&l, 1, 1);
        assert_int_equal(duration(&l), cases[i].programs * 218000);
        ft_layer_clear(&l);
        assert_int_equal(l.ftl->ops->read(l.ftl, 1, 0, SECTOR, NULL), FE_OK);
        assert_int_equal(duration(&l), 150);
        np.tPROG_ns[0] = 1000;
        fe_medium_set_times(l.rig.medium, &np);
        ft_layer_clear(&l);
        ft_layer_fill(&l, 2, 1);
        assert_int_equal(duration(&l), cases[i].programs * 1000);
        ft_layer_end(&l);
    }
}

/* Fills everything, and the one block that is left with overwrites of the first `k` sectors
 * in turn: the oldest block keeps D - k valid ones. */
static void prepare(struct ft_layer *l, uint32_t k)
{
    ft_norlog_fill(l);
    for (uint32_t i = 0; i < D; i++)
        ft_layer_fill(l, i % k, 1);
    assert_int_equal(l->ftl->counters.gc_runs, 0);
    assert_int_equal(l->ftl->ops->free_blocks(l->ftl), 1);
    ft_layer_clear(l);
}

/* Duration: a header, v copies, an erase, and the write itself.  Gain: D - v writes. */
static void test_norlog_collection_by_hand(void **state)
{
    (void)state;
    for (uint32_t v = 0; v < D; v++) {
        struct ft_layer l;
        uint64_t program = 16 * 218000, n = 0;
        ft_norlog_init(&l, ft_norlog_params(FE_GC_FIFO));
        prepare(&l, D - v);
        ft_layer_fill(&l, 40, 1);
        assert_int_equal(l.ftl->counters.gc_runs, 1);
        assert_int_equal(duration(&l), (1 + v + 1) * program + v * 150 + 1000000000);
        ft_layer_expect(&l, (struct ft_cost){.reads = v, .programs = 1 + v + 1, .erases = 1,
                                             .copied = v}, "collection");
        while (l.ftl->counters.gc_runs == 1) {
            n++;
            ft_layer_fill(&l, 41, 1);
        }
        assert_int_equal(n, D - v);
        ft_layer_end(&l);
    }
}

static void test_norlog_collection_in_letters(void **state)
{
    (void)state;
    struct ft_layer l;
    ft_norlog_init(&l, ft_norlog_params(FE_GC_FIFO));
    prepare(&l, D - 3);
    ft_layer_fill(&l, 40, 1);
    assert_string_equal(ft_layer_text(&l), "PRpRpRpBEBP");
    ft_layer_end(&l);
    ft_norlog_init(&l, ft_norlog_params(FE_GC_FIFO));
    prepare(&l, D);
    ft_layer_fill(&l, 40, 1); /* nothing to copy: the next block is opened after the erase */
    assert_string_equal(ft_layer_text(&l), "BEBPP");
    ft_layer_end(&l);
    ft_norlog_init(&l, ft_norlog_params(FE_GC_FIFO));
    prepare(&l, D - 3);
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_write_part(&l, 8, 100, 10), FE_OK); /* one that moves meanwhile */
    assert_string_equal(ft_layer_text(&l), "PRpRpRpBEBRp");
    ft_layer_end(&l);
}

/* One sector again and again: the block that is full of it has one valid sector. */
static void test_norlog_greedy_period(void **state)
{
    (void)state;
    struct ft_layer l;
    ft_norlog_init(&l, ft_norlog_params(FE_GC_GREEDY));
    ft_norlog_fill(&l);
    for (uint32_t i = 1; i <= 20 * D; i++) {
        ft_layer_fill(&l, 17, 1);
        uint32_t runs = i <= D ? 0 : 1 + (i - D - 1) / (D - 1);
        assert_int_equal(l.ftl->counters.gc_runs, runs);
        assert_int_equal(l.ftl->counters.pages_copied, runs);
    }
    ft_layer_end(&l);
}

/* The same in order, whole rounds: fifo never copies, and collects every D writes. */
static void test_norlog_fifo_in_order_copies_nothing(void **state)
{
    (void)state;
    struct ft_layer l;
    ft_norlog_init(&l, ft_norlog_params(FE_GC_FIFO));
    ft_norlog_fill(&l);
    for (uint32_t i = 0; i < 10 * USABLE * D; i++) {
        ft_layer_fill(&l, i % (USABLE * D), 1);
        assert_int_equal(l.ftl->counters.gc_runs, i / D);
    }
    assert_int_equal(l.ftl->counters.pages_copied, 0);
    uint32_t min = UINT32_MAX, max = 0;
    for (fe_peb peb = 0; peb < BLOCKS; peb++) {
        uint32_t e = fe_medium_erase_count(l.rig.medium, peb);
        min = e < min ? e : min;
        max = e > max ? e : max;
    }
    assert_true(max - min <= 1);
    ft_layer_end(&l);
}

/* A block full of valid sectors is copied for nothing, and then the next is collected. */
static void test_norlog_fifo_moves_full_blocks(void **state)
{
    (void)state;
    struct ft_layer l;
    ft_norlog_init(&l, ft_norlog_params(FE_GC_FIFO));
    ft_norlog_fill(&l);
    for (uint32_t i = 0; i < D; i++)
        ft_layer_fill(&l, 2 * D + i % 5, 1); /* in the third block */
    ft_layer_clear(&l);
    ft_layer_fill(&l, 0, 1);
    assert_int_equal(l.ftl->counters.gc_runs, 3);
    ft_layer_expect(&l, (struct ft_cost){.reads = 2 * D + 5, .programs = 3 + 2 * D + 5 + 1,
                                         .erases = 3, .copied = 2 * D + 5}, "three collections");
    ft_layer_end(&l);
}

static void test_norlog_reserve_stays_free(void **state)
{
    (void)state;
    for (uint32_t reserve = 1; reserve <= 4; reserve++) {
        struct ft_layer l;
        struct fe_ftl_params p = ft_norlog_params(FE_GC_GREEDY);
        p.clean.gc_reserve = reserve;
        ft_norlog_init(&l, p);
        ft_norlog_fill(&l);
        for (uint32_t i = 0; i < 300; i++) {
            ft_layer_fill(&l, i * 7 % 13, 1);
            assert_in_range(l.ftl->ops->free_blocks(l.ftl), reserve, reserve + 1);
        }
        ft_layer_end(&l);
    }
}

/* Blocks that had a life before: the least worn full one and the most worn free one. */
static void test_norlog_levelling_exchanges_blocks(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = ft_norlog_params(FE_GC_FIFO);
    p.clean.gc_reserve = 3;
    p.clean.wear_levelling = FE_WEAR_STATIC;
    p.clean.wl_threshold = 59;
    ft_norlog_init(&l, p);
    fe_ftl_destroy(l.ftl);
    for (fe_peb peb = 0; peb < BLOCKS; peb++)
        l.rig.medium->chip.pebs[peb].erase_count = 10 * peb;
    assert_int_equal(fe_ftl_create(&l.ftl, &fe_ftl_norlog, &p, l.rig.medium, 4 * D, false, NULL), 0);
    ft_norlog_fill(&l); /* blocks 0 to 3 */
    for (uint32_t i = 0; i < D; i++)
        ft_layer_fill(&l, i % 3, 1); /* block 4 */
    ft_layer_clear(&l);
    ft_layer_fill(&l, 39, 1);
    /* block 0 to 5 and then the write; block 1 (10 erases) to 7 (70) */
    assert_string_equal(ft_layer_text(&l), "PRpRpRpRpRpRpRpBEBPRpRpRpRpRpRpRpRpRpRpBEBP");
    assert_int_equal(l.ftl->counters.wear_moves, 1);
    for (uint32_t i = 0; i < D; i++)
        assert_int_equal(fe_medium_lpn(l.rig.medium, 7 * (D + 1) + 1 + i), D + i);
    assert_int_equal(fe_medium_lpn(l.rig.medium, 5 * (D + 1) + 1 + D - 3), 39);
    assert_int_equal(fe_medium_erase_count(l.rig.medium, 1), 11);
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), 3);
    ft_layer_fill(&l, 20, 1); /* 60 to 20 is too near now */
    while (l.ftl->counters.gc_runs == 1)
        ft_layer_fill(&l, 20, 1);
    assert_int_equal(l.ftl->counters.wear_moves, 1);
    ft_layer_end(&l);
}

static void test_norlog_trim_frees_sectors(void **state)
{
    (void)state;
    struct ft_layer l;
    uint8_t buf[SECTOR];
    ft_norlog_init(&l, ft_norlog_params(FE_GC_GREEDY));
    ft_norlog_fill(&l);
    assert_int_equal(l.ftl->ops->trim(l.ftl, 5, 2 * D), FE_OK);
    assert_int_equal(l.ftl->ops->trim(l.ftl, 5, 1), FE_OK);
    memset(l.want + 5 * SECTOR, 0, 2 * D * SECTOR);
    ft_layer_clear(&l);
    assert_int_equal(l.ftl->ops->read(l.ftl, 5, 0, SECTOR, buf), FE_OK);
    assert_string_equal(ft_layer_text(&l), "-");
    for (uint32_t i = 0; i < D; i++)
        ft_layer_fill(&l, 50, 1);
    ft_layer_clear(&l);
    ft_layer_fill(&l, 50, 1);
    assert_string_equal(ft_layer_text(&l), "BEBPP"); /* block 1 has nothing left */
    ft_layer_end(&l);
}

static void test_norlog_idle_collects_whole_blocks(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = ft_norlog_params(FE_GC_GREEDY);
    ft_norlog_init(&l, p);
    ft_norlog_fill(&l);
    assert_false(l.ftl->ops->idle(l.ftl)); /* not asked for */
    ft_layer_fini(&l);
    p.clean.idle_free = 3;
    ft_norlog_init(&l, p);
    ft_norlog_fill(&l); /* 2 blocks free */
    assert_false(l.ftl->ops->idle(l.ftl)); /* nothing to win */
    for (uint32_t i = 0; i < D; i++)
        ft_layer_fill(&l, i, 1);
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), 1);
    ft_layer_clear(&l);
    assert_true(l.ftl->ops->idle(l.ftl));
    assert_string_equal(ft_layer_text(&l), "BEB");
    assert_false(l.ftl->ops->idle(l.ftl));
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), 2);
    ft_layer_clear(&l);
    ft_layer_fill(&l, 1, 1);
    assert_string_equal(ft_layer_text(&l), "PP"); /* no wait */
    ft_layer_end(&l);
}

static void assert_refused(struct fe_nand_params np, struct fe_ftl_params p, const char *says)
{
    struct fe_err err;
    struct fe_geometry geo;
    fe_err_init(&err);
    assert_int_equal(fe_geometry_init(&geo, &np, &err), 0);
    assert_int_equal(fe_ftl_norlog.max_lpns(&p, &geo, &err), 0);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void test_norlog_refuses_what_contradicts_itself(void **state)
{
    (void)state;
    struct fe_ftl_params p = ft_norlog_params(FE_GC_GREEDY);
    assert_refused(ft_nor(2, 11), p, "the chip has 2 blocks: norlog needs 3");
    assert_refused(ft_nor(8, 1), p, "nand.pages_per_block=1: norlog takes 1 for a block's header, "
                                 "with pages of 512 bytes; at least 2");
    p.clean.gc_reserve = 7;
    assert_refused(ft_nor(8, 11), p,
                   "ftl.gc_reserve=7: norlog keeps so many blocks free and one more "
                                  "besides the data; the chip has 8, at most 6");
    p = ft_norlog_params(FE_GC_GREEDY);
    p.clean.idle_free = 7;
    assert_refused(ft_nor(8, 11), p,
                   "ftl.idle_free=7: the chip has 8 blocks, of which norlog keeps 2 "
                                  "besides the data; at most 6");
    p = ft_norlog_params(FE_GC_RANDOM);
    assert_refused(ft_nor(8, 11), p, "ftl.gc_policy=random: norlog draws no lots");
    p = ft_norlog_params(FE_GC_D_CHOICES);
    assert_refused(ft_nor(8, 11), p, "ftl.gc_policy=d-choices");
    p = ft_norlog_params(FE_GC_FIFO);
    p.clean.wear_levelling = FE_WEAR_STATIC;
    p.clean.wl_threshold = 0;
    assert_refused(ft_nor(8, 11), p, "ftl.wear_levelling:threshold=0");
    struct ft_layer l;
    p = ft_norlog_params(FE_GC_GREEDY);
    p.clean.gc_reserve = 6; /* one block for data */
    ft_norlog_init(&l, p);
    ft_norlog_fill(&l);
    for (uint32_t i = 0; i < 50; i++)
        ft_layer_fill(&l, i % 3, 1);
    ft_layer_end(&l);
}

static void test_norlog_bad_blocks_are_not_used(void **state)
{
    (void)state;
    struct fe_nand_params np = ft_nor(BLOCKS, D + 1);
    struct fe_ftl_params p = ft_norlog_params(FE_GC_GREEDY);
    struct ft_rig rig;
    struct fe_ftl *ftl;
    struct fe_err err;
    fe_err_init(&err);
    ft_rig_init(&rig, &np);
    fe_chip_mark(&rig.medium->chip, 2, FE_MARK_FACTORY_BAD, true);
    fe_chip_mark(&rig.medium->chip, 5, FE_MARK_FACTORY_BAD, true);
    assert_int_equal(fe_ftl_create(&ftl, &fe_ftl_norlog, &p, rig.medium, 5 * D, false, &err), -EINVAL);
    assert_non_null(strstr(err.text, "6 good blocks"));
    assert_int_equal(fe_ftl_create(&ftl, &fe_ftl_norlog, &p, rig.medium, 4 * D, false, &err), 0);
    for (uint32_t i = 0; i < 400; i++) {
        fe_err_init(&err);
        assert_int_equal(ftl->ops->write(ftl, i * 7 % (4 * D), 0, SECTOR, NULL), FE_OK);
        assert_int_equal(ftl->ops->check(ftl, &err), 0);
    }
    fe_ftl_destroy(ftl);
    ft_rig_fini(&rig);
}

static void expect_damage(struct ft_layer *l)
{
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(l->ftl->ops->check(l->ftl, &err), -EIO);
    assert_true(err.text[0]);
}

static void test_norlog_check_finds_damage(void **state)
{
    (void)state;
    struct ft_layer l;
    ft_norlog_init(&l, ft_norlog_params(FE_GC_GREEDY));
    ft_norlog_fill(&l);
    ft_layer_fill(&l, 3, 1);
    struct fe_medium *m = l.rig.medium;
    for (fe_ppn ppn = 0; ppn < l.rig.geo.n_ppns; ppn++) {
        if (ppn % (D + 1) >= fe_medium_next_page(m, ppn / (D + 1)))
            continue;
        fe_lpn was = fe_medium_lpn(m, ppn);
        m->chip.oob_lpn[ppn] = was == FE_LPN_NONE ? 0 : was ? was - 1 : 1;
        if (was != 3 || ppn == 6 * (D + 1) + 1) /* the older copy of 3 may be anything old */
            expect_damage(&l);
        m->chip.oob_lpn[ppn] = was;
        ft_layer_check(&l);
    }
    m->chip.pebs[3].erase_count++;
    expect_damage(&l);
    m->chip.pebs[3].erase_count--;
    uint8_t byte = 0, right;
    fe_store_read(m->store, D + 1, 2, 1, &right);
    fe_store_overwrite(m->store, D + 1, 2, 1, &byte);
    expect_damage(&l);
    fe_store_overwrite(m->store, D + 1, 2, 1, &right);
    ft_layer_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norlog_header_comes_first),
        cmocka_unit_test(test_norlog_header_has_room_for_the_directory),
        cmocka_unit_test(test_norlog_header_holds_the_erase_count),
        cmocka_unit_test(test_norlog_programs_by_buffers),
        cmocka_unit_test(test_norlog_collection_by_hand),
        cmocka_unit_test(test_norlog_collection_in_letters),
        cmocka_unit_test(test_norlog_greedy_period),
        cmocka_unit_test(test_norlog_fifo_in_order_copies_nothing),
        cmocka_unit_test(test_norlog_fifo_moves_full_blocks),
        cmocka_unit_test(test_norlog_reserve_stays_free),
        cmocka_unit_test(test_norlog_levelling_exchanges_blocks),
        cmocka_unit_test(test_norlog_trim_frees_sectors),
        cmocka_unit_test(test_norlog_idle_collects_whole_blocks),
        cmocka_unit_test(test_norlog_refuses_what_contradicts_itself),
        cmocka_unit_test(test_norlog_bad_blocks_are_not_used),
        cmocka_unit_test(test_norlog_check_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
