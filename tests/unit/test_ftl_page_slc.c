/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The SLC cache of the page strategy: which blocks are in SLC mode, what a write costs
 * while it is empty and when it is full, and that folding keeps every byte.  One die
 * unless a test says otherwise.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "ftl/pages/page_core.h"

#include <errno.h>

static void setup(struct ft_layer *l, const struct fe_nand_params *nand, uint32_t mode,
                  uint32_t blocks)
{
    struct fe_ftl_params p = ft_params("page", nand, 1);
    p.page.slc_mode = mode;
    p.page.slc_blocks = blocks;
    ft_layer_init(l, nand, &p);
}

static void expect_text(struct ft_layer *l, const char *want)
{
    char text[512];
    struct fe_err err;
    fe_err_init(&err);
    if (l->ftl->ops->check(l->ftl, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(ft_rig_text(&l->rig, text, sizeof text), want);
    ft_layer_clear(l);
}

static void test_slc_static_cache_fills_fast_then_folds(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 12);
    setup(&l, &nand, FE_SLC_STATIC, 2); /* blocks 0 and 1 */
    /* 2 of the cache, 2 in reserve, 1 open, 1 spare */
    assert_int_equal(l.ftl->n_lpns, (12 - 2 - 2 - 1 - 1) * 8);

    ft_layer_write_each(&l, 0, 8);
    for (uint32_t i = 0; i < 8; i++)
        ft_layer_expect_op(&l, i, FE_OP_PROG, i / 4, i % 4, FT_SLC_PROG);
    expect_text(&l, "PPPPPPPP");

    ft_layer_write_each(&l, 8, 1); /* block 0 is folded into block 2, pages 0 to 3 */
    const uint64_t tPROG[] = {200000, 200000, 600000, 200000}; /* LSB LSB MSB LSB */
    for (uint32_t i = 0; i < 4; i++) {
        ft_layer_expect_op(&l, 2 * i, FE_OP_READ, 0, i, FT_SLC_R);
        ft_layer_expect_op(&l, 2 * i + 1, FE_OP_PROG, 2, i, tPROG[i]);
    }
    ft_layer_expect_op(&l, 8, FE_OP_ERASE, 0, 0, nand.tBERS_ns);
    ft_layer_expect_op(&l, 9, FE_OP_PROG, 0, 0, FT_SLC_PROG);
    expect_text(&l, "RpRpRpRpEP");
    assert_int_equal(l.ftl->counters.slc_folds, 1);
    assert_int_equal(l.ftl->counters.gc_runs, 0);

    ft_layer_write_each(&l, 9, 3); /* block 0 is full again */
    expect_text(&l, "PPP");
    ft_layer_write_each(&l, 5, 2); /* in block 1, which is folded into the rest of 2 */
    expect_text(&l, "RpRpRpRpEPP");
    ft_layer_end(&l);
}

/* A block that the cache has lost is found, and the message counts what there is. */
static void test_slc_check_counts_the_blocks_of_the_cache(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_err err = {""};
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 12);
    setup(&l, &nand, FE_SLC_STATIC, 3);
    ft_layer_write_each(&l, 0, 1); /* one block is open, two are free */
    ft_layer_check(&l);
    page_of(l.ftl)->p.page.slc_blocks = 4;
    assert_int_equal(l.ftl->ops->check(l.ftl, &err), -EIO);
    assert_string_equal(err.text, "2 free blocks of the SLC cache and 1 in use are not 4");
    page_of(l.ftl)->p.page.slc_blocks = 3;
    ft_layer_check(&l);
    ft_layer_fini(&l);
}

static void test_slc_fold_moves_valid_pages_only(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 12);
    setup(&l, &nand, FE_SLC_STATIC, 2);
    ft_layer_write_each(&l, 0, 4);
    ft_layer_write_each(&l, 0, 3); /* block 0 keeps page 3 only */
    ft_layer_write_each(&l, 7, 1);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 8, 1);
    expect_text(&l, "RpEP");
    assert_int_equal(l.ftl->ops->trim(l.ftl, 0, 3), FE_OK);
    memset(l.want, 0, 3 * 512);
    assert_int_equal(l.ftl->ops->trim(l.ftl, 7, 1), FE_OK);
    memset(l.want + 7 * 512, 0, 512);
    ft_layer_write_each(&l, 9, 3);
    ft_layer_write_each(&l, 12, 1); /* of block 1 nothing is left */
    expect_text(&l, "PPPEP");
    ft_layer_end(&l);
}

static void test_slc_part_of_a_page_survives_the_fold_of_its_block(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 12);
    setup(&l, &nand, FE_SLC_STATIC, 1);
    ft_layer_write_each(&l, 0, 4);
    ft_layer_clear(&l);
    ft_layer_write_part(&l, 2, 100, 50); /* its base moves first */
    expect_text(&l, "RpRpRpRpERp");
    ft_layer_end(&l);
}

static void test_slc_idle_folds_a_block_a_step(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 16);
    setup(&l, &nand, FE_SLC_STATIC, 3);
    assert_false(l.ftl->ops->idle(l.ftl));
    ft_layer_write_each(&l, 0, 10); /* two blocks and a half */
    uint32_t free = l.ftl->ops->free_blocks(l.ftl);
    ft_layer_clear(&l);
    assert_true(l.ftl->ops->idle(l.ftl));
    expect_text(&l, "RpRpRpRpE");
    assert_true(l.ftl->ops->idle(l.ftl));
    expect_text(&l, "RpRpRpRpE");
    assert_false(l.ftl->ops->idle(l.ftl));
    expect_text(&l, "-");
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), free + 2 - 1);
    ft_layer_write_each(&l, 10, 10); /* the burst after it is fast */
    expect_text(&l, "PPPPPPPPPP");
    ft_layer_end(&l);
}

/* A dynamic cache takes all blocks but the reserve, then shrinks as they fill up. */
static void test_slc_dynamic_cache_uses_what_is_free(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_TLC, 1, 21);
    setup(&l, &nand, FE_SLC_DYNAMIC, 0);
    /* 2 in reserve, 1 open and 1 open in SLC mode, 1 spare */
    assert_int_equal(l.ftl->n_lpns, (21 - 2 - 1 - 1 - 1) * 9);
    ft_layer_write_each(&l, 0, 19 * 3);
    struct ft_cost c = ft_layer_cost(&l);
    assert_int_equal(c.programs, 19 * 3);
    assert_int_equal(c.reads + c.erases, 0);
    for (fe_peb peb = 0; peb < 19; peb++)
        assert_true(fe_medium_is_slc(l.rig.medium, peb));
    ft_layer_clear(&l);

    /* the fold of block 0 opens one of the last two free blocks; the other and block 0 are the
     * reserve then, so this page is not for the cache */
    ft_layer_write_each(&l, 19 * 3, 1);
    expect_text(&l, "RpRpRpEP");
    assert_false(fe_medium_is_slc(l.rig.medium, 19));
    assert_int_equal(fe_medium_next_page(l.rig.medium, 19), 4);
    ft_layer_write_each(&l, 19 * 3 + 1, 1); /* the fold of block 1 leaves one to spare */
    expect_text(&l, "RpRpRpEP");
    assert_true(fe_medium_is_slc(l.rig.medium, 20));
    assert_int_equal(fe_medium_next_page(l.rig.medium, 19), 7);

    ft_layer_write_each(&l, 19 * 3 + 2, l.ftl->n_lpns - 19 * 3 - 2);
    ft_layer_verify(&l);
    struct ft_rand r = {.seed = 5};
    for (int i = 0; i < 2000; i++)
        ft_layer_write_each(&l, (fe_lpn)ft_below(&r, l.ftl->n_lpns), 1);
    ft_layer_end(&l);
}

static void test_slc_dynamic_cache_keeps_its_limit(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 2, 20);
    setup(&l, &nand, FE_SLC_DYNAMIC, 4);
    ft_layer_write_each(&l, 0, 16);
    expect_text(&l, "PPPPPPPPPPPPPPPP");
    for (uint32_t i = 16; i < 96; i++) {
        ft_layer_write_each(&l, i, 1);
        uint32_t slc = 0;
        for (fe_peb peb = 0; peb < l.rig.geo.n_pebs; peb++)
            slc += fe_medium_is_slc(l.rig.medium, peb);
        assert_true(slc <= 4);
    }
    /* what came into the full cache pushed as much out of it: 20 blocks of 4 pages */
    assert_int_equal(l.ftl->counters.slc_folds, 20);
    assert_int_equal(l.ftl->counters.pages_copied, 80);
    ft_layer_end(&l);
}

/* Why a stick is fast for the first gigabytes only: the same pages, program times alone. */
static void test_slc_sustained_writes_collapse(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_TLC, 1, 60);
    setup(&l, &nand, FE_SLC_STATIC, 10);
    uint64_t ns[2] = {0, 0};
    for (int part = 0; part < 2; part++) {
        ft_layer_clear(&l);
        ft_layer_write_each(&l, (fe_lpn)part * 90, part ? 90 : 30);
        uint32_t n;
        const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
        for (uint32_t i = 0; i < n; i++)
            ns[part] += ops[i].cell_ns;
    }
    assert_int_equal(ns[0], 30 * FT_SLC_PROG);
    /* 90 pages in, 90 out of SLC into 10 blocks of 30 LSB, 30 CSB, 30 MSB, 30 erases */
    assert_int_equal(ns[1], 90 * (FT_SLC_PROG + FT_SLC_R) + 30 * (200000 + 600000 + 900000) +
                            30 * nand.tBERS_ns);
    ft_layer_end(&l);
}

static void test_slc_mode_ends_with_the_erase(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 4);
    nand.slc_tPROG_ns = 0; /* the first bit's */
    ft_rig_init(&rig, &nand);
    assert_int_equal(fe_slc_pages(&rig.geo), 4);
    fe_medium_use_slc(rig.medium, 1);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(fe_medium_prog(rig.medium, 8 + i, i, 0, FE_PPN_NONE, 0, 0, NULL), FE_OK);
    fe_medium_erase(rig.medium, 1);
    assert_false(fe_medium_is_slc(rig.medium, 1));
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(fe_medium_prog(rig.medium, 8 + i, i, 0, FE_PPN_NONE, 0, 0, NULL), FE_OK);
    uint32_t n;
    const struct fe_op *ops = ft_rig_ops(&rig, &n);
    assert_int_equal(ops[2].cell_ns, 200000);
    assert_int_equal(ops[5 + 2].cell_ns, 600000);
    ft_rig_fini(&rig);
}

/* Two pages of a run go to the cache and the others past it, until the run ends; a page that is
 * written again in parts does not end it. */
static void test_slc_long_runs_go_past_the_cache(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 20);
    struct fe_ftl_params p = ft_params("page", &nand, 1);
    p.page.slc_mode = FE_SLC_STATIC;
    p.page.slc_blocks = 4;
    p.page.slc_run = 2 * 512;
    ft_layer_init(&l, &nand, &p);
    ft_layer_write_each(&l, 0, 5);
    const uint64_t first[] = {FT_SLC_PROG, FT_SLC_PROG, 200000, 200000, 600000};
    const fe_peb block[] = {0, 0, 4, 4, 4};
    const uint32_t page[] = {0, 1, 0, 1, 2};
    for (uint32_t i = 0; i < 5; i++)
        ft_layer_expect_op(&l, i, FE_OP_PROG, block[i], page[i], first[i]);
    ft_layer_clear(&l);
    ft_layer_write_part(&l, 5, 0, 100); /* the run goes on */
    ft_layer_write_part(&l, 5, 100, 412);
    ft_layer_write_each(&l, 6, 1);
    ft_layer_expect_op(&l, 0, FE_OP_PROG, 4, 3, 200000);
    ft_layer_expect_op(&l, 2, FE_OP_PROG, 4, 4, 600000);
    ft_layer_expect_op(&l, 3, FE_OP_PROG, 4, 5, 200000);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 20, 3); /* a new one begins */
    ft_layer_expect_op(&l, 0, FE_OP_PROG, 0, 2, FT_SLC_PROG);
    ft_layer_expect_op(&l, 1, FE_OP_PROG, 0, 3, FT_SLC_PROG);
    ft_layer_expect_op(&l, 2, FE_OP_PROG, 4, 6, 600000);
    ft_layer_end(&l);
}

/* With slc_pause a run ends while the device has nothing to do; without it the run goes on. */
static void test_slc_pause_ends_a_run(void **state)
{
    (void)state;
    for (int pause = 0; pause < 2; pause++) {
        struct ft_layer l;
        struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 20);
        struct fe_ftl_params p = ft_params("page", &nand, 1);
        p.page.slc_mode = FE_SLC_STATIC;
        p.page.slc_blocks = 4;
        p.page.slc_run = 2 * 512;
        p.page.slc_pause = pause;
        ft_layer_init(&l, &nand, &p);
        ft_layer_write_each(&l, 0, 3);
        assert_int_equal(l.ftl->hears_idle, pause);
        if (l.ftl->hears_idle)
            l.ftl->ops->idled(l.ftl);
        ft_layer_write_each(&l, 3, 3);
        /* a block takes the pages of MLC's two bits in turn: 200 us, 200 us, 600 us */
        const uint64_t want[2][6] = {{FT_SLC_PROG, FT_SLC_PROG, 200000, 200000, 600000, 200000},
                                     {FT_SLC_PROG, FT_SLC_PROG, 200000, FT_SLC_PROG, FT_SLC_PROG,
                                      200000}};
        uint32_t n;
        const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
        assert_int_equal(n, 6);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(ops[i].cell_ns, want[pause][i]);
        ft_layer_end(&l);
    }
}

/* The die of each of the first six pages; four fill a block in SLC mode. */
static void test_slc_dies_limit_the_dies_in_turn(void **state)
{
    static const uint32_t want[][6] = {{0, 1, 2, 0, 1, 2}, {0, 0, 0, 0, 0, 0}, {0, 1, 0, 1, 0, 1},
                                       {0, 1, 2, 0, 1, 2}};
    static const uint32_t slc_dies[] = {0, 1, 2, 9};
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct ft_layer l;
        struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 3, 20);
        struct fe_ftl_params p = ft_params("page", &nand, 1);
        p.page.slc_mode = FE_SLC_STATIC;
        p.page.slc_blocks = 9;
        p.page.slc_dies = slc_dies[k];
        ft_layer_init(&l, &nand, &p);
        ft_layer_write_each(&l, 0, 6);
        uint32_t n;
        const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
        assert_int_equal(n, 6);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(ops[i].cell_ns, FT_SLC_PROG);
            assert_int_equal(fe_die_of(&l.rig.geo, ops[i].ppn / l.rig.geo.pages_per_block),
                             want[k][i]);
        }
        ft_layer_end(&l);
    }
}

/* A full cache is folded for pages that go there, and not for those that go past it. */
static void test_slc_runs_past_a_full_cache_fold_nothing(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 20);
    struct fe_ftl_params p = ft_params("page", &nand, 1);
    p.page.slc_mode = FE_SLC_STATIC;
    p.page.slc_blocks = 1;
    p.page.slc_run = 4 * 512;
    ft_layer_init(&l, &nand, &p);
    ft_layer_write_each(&l, 0, 20);
    assert_int_equal(l.ftl->counters.slc_folds, 0);
    ft_layer_write_each(&l, 30, 1);
    assert_int_equal(l.ftl->counters.slc_folds, 1);
    ft_layer_end(&l);
}

/* A run can be longer than 4 GiB, and stays a long one. */
static void test_slc_runs_may_be_very_long(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 12);
    struct fe_ftl_params p = ft_params("page", &nand, 1);
    struct ft_layer l;
    p.page.slc_mode = FE_SLC_DYNAMIC;
    p.page.slc_run = 4 * 512;
    ft_layer_init(&l, &nand, &p);
    for (uint32_t pages = 4; pages >= 4; pages *= 2) { /* up to 2^31 */
        page_of(l.ftl)->run_pages = pages;
        assert_false(fe_page_wants_cache(page_of(l.ftl)));
    }
    page_of(l.ftl)->run_pages = 3;
    assert_true(fe_page_wants_cache(page_of(l.ftl)));
    ft_layer_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slc_static_cache_fills_fast_then_folds),
        cmocka_unit_test(test_slc_check_counts_the_blocks_of_the_cache),
        cmocka_unit_test(test_slc_fold_moves_valid_pages_only),
        cmocka_unit_test(test_slc_part_of_a_page_survives_the_fold_of_its_block),
        cmocka_unit_test(test_slc_idle_folds_a_block_a_step),
        cmocka_unit_test(test_slc_dynamic_cache_uses_what_is_free),
        cmocka_unit_test(test_slc_dynamic_cache_keeps_its_limit),
        cmocka_unit_test(test_slc_sustained_writes_collapse),
        cmocka_unit_test(test_slc_mode_ends_with_the_erase),
        cmocka_unit_test(test_slc_long_runs_go_past_the_cache),
        cmocka_unit_test(test_slc_pause_ends_a_run),
        cmocka_unit_test(test_slc_dies_limit_the_dies_in_turn),
        cmocka_unit_test(test_slc_runs_may_be_very_long),
        cmocka_unit_test(test_slc_runs_past_a_full_cache_fold_nothing),
    };
    return cmocka_run_group_tests_name("page slc", tests, NULL, NULL);
}
