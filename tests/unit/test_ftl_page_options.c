/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of the page strategy one by one: what each does to a small device, and
 * which values are refused, with the numbers that would work.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "ftl/pages/page_core.h"

enum { N = 4 };

static struct ft_layer *setup(struct ft_layer *l, uint32_t dies, uint32_t blocks_per_die,
                              const struct fe_ftl_params *change)
{
    struct fe_nand_params nand = ft_nand(dies, blocks_per_die, N, 512);
    struct fe_ftl_params p = ft_params("page", &nand, 1);
    p.clean.gc_policy = change->clean.gc_policy;
    p.page.hot_cold = change->page.hot_cold;
    p.clean.wear_levelling = change->clean.wear_levelling;
    p.clean.wl_threshold = change->clean.wl_threshold;
    p.clean.idle_free = change->clean.idle_free;
    ft_layer_init(l, &nand, &p);
    return l;
}

/* A page that the host writes in full is programmed by itself, one that moves after its
 * read. */
static void test_page_cleaned_pages_have_blocks_of_their_own(void **state)
{
    (void)state;
    struct ft_layer l;
    struct ft_rand r = {.seed = 1};
    uint8_t kinds[20] = {0}; /* bit 0: holds host pages, bit 1: moved ones */
    setup(&l, 2, 10, &(struct fe_ftl_params){.page.hot_cold = FE_HOT_COLD_GC});
    uint32_t n = l.ftl->n_lpns, ops, moved_blocks = 0;
    assert_int_equal(n, (20 - 4 - 4 - 1) * N);
    ft_layer_write_each(&l, 0, n);
    for (int i = 0; i < 3000; i++)
        ft_layer_write_each(&l, (fe_lpn)ft_below(&r, n), 1);
    const struct fe_op *op = ft_rig_ops(&l.rig, &ops);
    for (uint32_t i = 0; i < ops; i++) {
        uint8_t *kind = &kinds[op[i].ppn / N];
        if (op[i].kind == FE_OP_ERASE) {
            moved_blocks += *kind == 2;
            *kind = 0;
        } else if (op[i].kind == FE_OP_PROG) {
            *kind |= op[i].flags & FE_OP_AFTER_PREV ? 2 : 1;
            assert_int_not_equal(*kind, 3);
        }
    }
    assert_true(moved_blocks > 100);
    ft_layer_end(&l);
}

/* Three quarters of the writes to 8 of 140 pages. */
static uint64_t copied_with_hot_pages(uint32_t hot_cold)
{
    struct ft_layer l;
    struct ft_rand r = {.seed = 2};
    setup(&l, 1, 40, &(struct fe_ftl_params){.page.hot_cold = hot_cold});
    ft_layer_write_each(&l, 0, 140);
    for (int i = 0; i < 6000; i++)
        ft_layer_write_each(&l, (fe_lpn)ft_below(&r, ft_chance(&r, 75) ? 8 : 140), 1);
    uint64_t copied = l.ftl->counters.pages_copied;
    ft_layer_end(&l);
    return copied;
}

static void test_page_two_pools_save_copies(void **state)
{
    (void)state;
    uint64_t one = copied_with_hot_pages(FE_HOT_COLD_OFF);
    uint64_t two = copied_with_hot_pages(FE_HOT_COLD_TWO_POOL);
    if (4 * two > 3 * one)
        fail_msg("%llu pages copied with two pools, %llu with one", (unsigned long long)two,
                 (unsigned long long)one);
}

/* A page that was written often, and has not been written for as many writes as there are pages,
 * moves to the cold pool when its block is cleaned.  If it moves earlier, it stays hot. */
static void test_page_that_falls_silent_becomes_cold(void **state)
{
    (void)state;
    uint32_t n_early = 0, n_late = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct ft_layer l;
        struct ft_rand r = {.seed = seed};
        setup(&l, 1, 40, &(struct fe_ftl_params){.page.hot_cold = FE_HOT_COLD_TWO_POOL});
        const struct page_ftl *f = (const struct page_ftl *)l.ftl;
        uint32_t n = l.ftl->n_lpns;
        ft_layer_write_each(&l, 0, n);
        for (int i = 0; i < 8; i++)
            ft_layer_write_each(&l, 5, 1);
        assert_int_equal(fe_medium_tag(l.rig.medium, fe_mapped(f->base.map[5])), FE_TAG_DATA);
        bool was_late = false;
        for (uint32_t i = 1; i < 6 * n; i++) {
            fe_ppn before = fe_mapped(f->base.map[5]);
            ft_layer_write_each(&l, 6 + (fe_lpn)ft_below(&r, n - 6), 1);
            if (fe_mapped(f->base.map[5]) == before)
                continue;
            uint8_t tag = fe_medium_tag(l.rig.medium, fe_mapped(f->base.map[5]));
            if (i == n || i == n + 1) /* the write that cleans has counted already, or not yet */
                continue;
            assert_int_equal(tag, i < n ? FE_TAG_COPY : FE_TAG_COLD_COPY);
            n_early += i < n;
            n_late += i > n && !was_late;
            was_late = i > n;
        }
        ft_layer_end(&l);
    }
    assert_true(n_early > 0 && n_late > 0);
}

static void test_page_idle_cleans_up_to_its_goal(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 1, 21, &(struct fe_ftl_params){.clean.idle_free = 6});
    uint32_t n = l.ftl->n_lpns;
    assert_int_equal(n, 17 * N);
    assert_false(l.ftl->ops->idle(l.ftl));
    ft_layer_write_each(&l, 0, 15 * N);
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), 6);
    assert_false(l.ftl->ops->idle(l.ftl));
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 0, 3); /* block 0 keeps one page, 15 has them */
    assert_false(l.ftl->ops->idle(l.ftl)); /* 3 invalid pages are not a block */
    ft_layer_write_each(&l, 4, 2); /* block 1 two; 16 is open */
    ft_layer_clear(&l);
    assert_true(l.ftl->ops->idle(l.ftl));
    ft_layer_expect(&l, (struct ft_cost){.reads = 1, .programs = 1, .erases = 1, .copied = 1},
                    "a victim a step");
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), 5);
    assert_false(l.ftl->ops->idle(l.ftl)); /* what is left would not give a block */
    ft_layer_end(&l);
}

static void test_page_without_idle_goal_rests(void **state)
{
    (void)state;
    struct ft_layer l;
    struct ft_rand r = {.seed = 3};
    setup(&l, 2, 12, &(struct fe_ftl_params){.clean.idle_free = 0});
    for (int i = 0; i < 1000; i++) {
        ft_layer_write_each(&l, (fe_lpn)ft_below(&r, l.ftl->n_lpns), 1);
        assert_false(l.ftl->ops->idle(l.ftl));
    }
    ft_layer_end(&l);
}

/* Nothing but block 5 wears, until the others lag 3 erases behind. */
static void test_page_static_levelling_moves_the_coldest_to_the_most_worn(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 1, 10,
          &(struct fe_ftl_params){
              .clean = {.wear_levelling = FE_WEAR_STATIC, .wl_threshold = 3}});
    uint32_t n = l.ftl->n_lpns;
    assert_int_equal(n, (10 - 2 - 1 - 1 - 1) * N);
    ft_layer_write_each(&l, 0, n); /* blocks 0 to 4 */
    const struct fe_peb_info *pebs = fe_medium_block(l.rig.medium, 0);
    while (l.ftl->counters.wear_moves == 0) {
        for (uint32_t i = 0; i < 5; i++)
            assert_int_equal(pebs[i].erase_count, 0);
        ft_layer_clear(&l);
        ft_layer_write_each(&l, n - 1, 1);
    }
    /* the first of the coldest, all its pages, to one of the blocks with 4 erases */
    assert_int_equal(pebs[0].erase_count, 1);
    uint32_t ops, to = FE_PEB_NONE, moved = 0;
    const struct fe_op *op = ft_rig_ops(&l.rig, &ops);
    for (uint32_t i = 0; i < ops; i++)
        if (op[i].kind == FE_OP_PROG && op[i].flags & FE_OP_AFTER_PREV &&
            fe_medium_lpn(l.rig.medium, op[i].ppn) < N) {
            to = fe_peb_of(&l.rig.geo, op[i].ppn);
            moved++;
        }
    assert_int_equal(moved, N);
    assert_int_equal(pebs[to].erase_count, 4);
    for (int i = 0; i < 4000; i++)
        ft_layer_write_each(&l, n - 1, 1);
    uint32_t min = UINT32_MAX, max = 0;
    for (fe_peb peb = 0; peb < 10; peb++) {
        min = pebs[peb].erase_count < min ? pebs[peb].erase_count : min;
        max = pebs[peb].erase_count > max ? pebs[peb].erase_count : max;
    }
    assert_true(max > 50 && max - min <= 3 + 2);
    ft_layer_end(&l);
}

static void test_page_skips_bad_blocks_and_wants_enough_good_ones(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params nand = ft_nand(2, 8, N, 512);
    struct fe_ftl_params p = ft_params("page", &nand, 1);
    struct fe_ftl *ftl;
    struct fe_err err;
    fe_err_init(&err);
    ft_rig_init(&rig, &nand);
    fe_chip_mark(&rig.medium->chip, 3, FE_MARK_FACTORY_BAD, true);
    fe_chip_mark(&rig.medium->chip, 4, FE_MARK_FACTORY_BAD, true);
    uint32_t n = (uint32_t)fe_ftl_page.max_lpns(&p, &rig.geo, &err);
    assert_int_equal(n, (16 - 2 - 2 - 1) * N);
    assert_true(fe_ftl_create(&ftl, &fe_ftl_page, &p, rig.medium, n, false, &err) < 0);
    assert_string_equal(err.text, "the chip has 14 good blocks, 44 logical pages need 16 with what "
                                  "the page strategy keeps besides them");
    fe_err_init(&err);
    n -= 2 * N;
    assert_int_equal(fe_ftl_create(&ftl, &fe_ftl_page, &p, rig.medium, n, false, &err), 0);
    for (uint32_t i = 0; i < 2000; i++)
        assert_int_equal(fe_ftl_page.write(ftl, i * 7 % n, 0, 512, NULL), FE_OK);
    assert_int_equal(fe_ftl_page.check(ftl, &err), 0);
    fe_ftl_destroy(ftl);
    ft_rig_fini(&rig);
}

static void expect_refusal(const struct fe_ftl_params *p, const struct fe_nand_params *nand,
                           const char *want)
{
    struct fe_geometry geo;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_geometry_init(&geo, nand, &err), 0);
    assert_int_equal(fe_ftl_page.max_lpns(p, &geo, &err), 0);
    if (strncmp(err.text, want, strlen(want)) != 0)
        fail_msg("\"%s\" is not \"%s...\"", err.text, want);
}

static void test_page_refuses_contradictions(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand(2, 10, N, 512);
    struct fe_ftl_params ok = ft_params("page", &nand, 1), p = ok;
    p.clean.gc_policy = FE_GC_D_CHOICES;
    p.clean.gc_d = 0;
    expect_refusal(&p, &nand, "ftl.gc_d=0: d-choices draws at least 1 block");
    p = ok;
    p.clean.wear_levelling = FE_WEAR_STATIC;
    expect_refusal(&p, &nand, "ftl.wear_levelling:threshold=0: static wear levelling");
    p = ok;
    p.page.slc_blocks = 2;
    expect_refusal(&p, &nand,
                   "ftl.slc_blocks=2: there is no SLC cache with ftl.slc_mode=off; use 0, or");
    p = ok;
    p.page.slc_run = 65536;
    expect_refusal(&p, &nand, "ftl.slc_run=65536: there is no SLC cache with ftl.slc_mode=off; use "
                              "never, or");
    p = ok;
    p.page.slc_pause = true;
    expect_refusal(&p, &nand, "ftl.slc_pause=yes: there are no runs with ftl.slc_run=never; use no, "
                              "or a size for ftl.slc_run");
    p.page.slc_pause = false;
    p.page.slc_dies = 1;
    expect_refusal(&p, &nand, "ftl.slc_dies=1: there is no SLC cache with ftl.slc_mode=off; use "
                              "all, or");
    p = ok;
    p.page.slc_gather = 65536;
    expect_refusal(&p, &nand, "ftl.slc_gather=65536: nothing goes past the SLC cache with "
                              "ftl.slc_run=never; use page, or a size for ftl.slc_run");
}

static void test_page_refuses_what_the_chip_cannot(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand(2, 10, N, 512);
    struct fe_ftl_params ok = ft_params("page", &nand, 1), p = ok;
    p.page.slc_blocks = 2;
    p.page.slc_mode = FE_SLC_DYNAMIC;
    expect_refusal(&p, &nand, "ftl.slc_mode=dynamic: only blocks of nand.cell=mlc");
    nand.cell = FE_CELL_MLC;
    p.page.slc_mode = FE_SLC_STATIC;
    p.page.slc_run = p.page.slc_gather = 1000;
    expect_refusal(&p, &nand, "ftl.slc_gather=1000: not a multiple of the flash page, 512 bytes");
    p.page.slc_run = p.page.slc_gather = 0;
    p.page.slc_blocks = 0;
    expect_refusal(&p, &nand, "ftl.slc_blocks=0: a static SLC cache has at least 1 block");
    p.page.slc_blocks = 15; /* 20 blocks: 2 open, 2 in reserve, 1 spare, 1 at least for data */
    expect_refusal(&p, &nand,
                   "ftl.slc_blocks=15: of the chip's 20 blocks the page strategy keeps 5 besides "
                   "cache and data, which leaves a static SLC cache at most 14");
    p = ok;
    p.clean.idle_free = 16;
    expect_refusal(&p, &nand,
                   "ftl.idle_free=16: the chip has 20 blocks, of which the page strategy keeps 5 "
                   "besides the data; at most 15");
    p = ok;
    p.clean.gc_reserve = 17;
    expect_refusal(&p, &nand,
                   "ftl.gc_reserve=17: with 2 dies and these options the page strategy keeps 20 "
                   "blocks besides the data, 17 of them free; the chip has 20 and needs 21");
}

/* What a refusal names does work. */
static void test_page_offers_what_it_says(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand(2, 10, N, 512);
    nand.cell = FE_CELL_MLC;
    struct fe_ftl_params ok = ft_params("page", &nand, 1), cases[3] = {ok, ok, ok};
    cases[0].page.slc_mode = FE_SLC_STATIC;
    cases[0].page.slc_blocks = 14;
    cases[1].clean.idle_free = 15;
    cases[2].clean.gc_reserve = 16;
    for (size_t k = 0; k < ft_array_len(cases); k++) {
        struct ft_layer l;
        struct ft_rand r = {.seed = k};
        ft_layer_init(&l, &nand, &cases[k]);
        assert_int_equal(l.ftl->n_lpns, k == 1 ? 15 * N : N);
        for (int i = 0; i < 500; i++) {
            ft_layer_write_each(&l, (fe_lpn)ft_below(&r, l.ftl->n_lpns), 1);
            l.ftl->ops->idle(l.ftl);
        }
        ft_layer_end(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_cleaned_pages_have_blocks_of_their_own),
        cmocka_unit_test(test_page_two_pools_save_copies),
        cmocka_unit_test(test_page_that_falls_silent_becomes_cold),
        cmocka_unit_test(test_page_idle_cleans_up_to_its_goal),
        cmocka_unit_test(test_page_without_idle_goal_rests),
        cmocka_unit_test(test_page_static_levelling_moves_the_coldest_to_the_most_worn),
        cmocka_unit_test(test_page_skips_bad_blocks_and_wants_enough_good_ones),
        cmocka_unit_test(test_page_refuses_contradictions),
        cmocka_unit_test(test_page_refuses_what_the_chip_cannot),
        cmocka_unit_test(test_page_offers_what_it_says),
    };
    return cmocka_run_group_tests_name("page options", tests, NULL, NULL);
}
