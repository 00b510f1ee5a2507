/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page strategy with greedy cleaning: which block is cleaned, what it costs, and
 * that a full device never runs out.  One die, blocks of 4 pages unless a test says
 * otherwise; cost: { reads, programs, erases, copied, switch, partial, full }.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/unit.h"

enum { N = 4 };

static void setup(struct ft_layer *l, uint32_t dies, uint32_t blocks_per_die, uint32_t ppb)
{
    struct fe_nand_params nand = ft_nand(dies, blocks_per_die, ppb, 512);
    struct fe_ftl_params p = ft_params("page", &nand, 1);
    ft_layer_init(l, &nand, &p);
}

static void test_page_keeps_frontier_reserve_and_a_block(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 1, 8, N);
    assert_int_equal(l.ftl->n_lpns, (8 - 2 - 1 - 1) * N);
    ft_layer_fini(&l);
    setup(&l, 3, 8, N);
    assert_int_equal(l.ftl->n_lpns, (24 - 3 - 3 - 1) * N);
    ft_layer_fini(&l);
}

static void test_page_unmapped_page_reads_zeros_without_an_operation(void **state)
{
    (void)state;
    struct ft_layer l;
    uint8_t buf[512];
    char text[8];
    setup(&l, 1, 8, N);
    memset(buf, 1, sizeof buf);
    assert_int_equal(l.ftl->ops->read(l.ftl, 3, 10, 20, buf), FE_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(buf[i], 0);
    assert_int_equal(buf[20], 1);
    assert_string_equal(ft_rig_text(&l.rig, text, sizeof text), "-");
    ft_layer_end(&l);
}

static void test_page_writes_go_across_dies(void **state)
{
    (void)state;
    struct ft_layer l;
    uint32_t n;
    setup(&l, 3, 8, N);
    ft_layer_write_each(&l, 0, 9);
    const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
    assert_int_equal(n, 9);
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(ops[i].die, i % 3);
    ft_layer_end(&l);
}

static uint32_t erased_block(struct ft_layer *l)
{
    uint32_t n, found = FE_PEB_NONE;
    const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
    for (uint32_t i = 0; i < n; i++)
        if (ops[i].kind == FE_OP_ERASE) {
            assert_int_equal(found, FE_PEB_NONE);
            found = fe_peb_of(&l->rig.geo, ops[i].ppn);
        }
    return found;
}

static void test_page_cleans_the_block_with_fewest_valid_pages(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 1, 9, N);
    ft_layer_write_each(&l, 0, 5 * N); /* blocks 0 to 4, 4 are free, 2 of them the reserve */
    /* block 1 loses two pages, block 2 one, block 3 three: block 5 */
    const fe_lpn first[] = {4, 5, 8, 12};
    for (size_t i = 0; i < ft_array_len(first); i++)
        ft_layer_write_each(&l, first[i], 1);
    ft_layer_write_each(&l, 13, 2);     /* block 6 */
    ft_layer_write_each(&l, 0, 2);      /* block 0 loses two: least valid is block 3 */
    ft_layer_expect(&l, (struct ft_cost){.programs = 5 * N + 2 * N}, "no cleaning yet");
    ft_layer_write_each(&l, 16, 1);     /* takes the last block that is free to take, 7 */
    ft_layer_expect(&l, (struct ft_cost){.programs = 1}, "the last free block but the reserve");
    ft_layer_write_each(&l, 17, 1);     /* block 3 has one valid page */
    assert_int_equal(erased_block(&l), 3);
    ft_layer_expect(&l, (struct ft_cost){.reads = 1, .programs = 2, .erases = 1, .copied = 1},
                    "block 3");
    ft_layer_write_each(&l, 18, 1);     /* fills block 7, the last page */
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 19, 1);     /* 8 is taken, 3 stays in reserve */
    ft_layer_expect(&l, (struct ft_cost){.programs = 1}, "a free block is there");
    ft_layer_write_each(&l, 16, 1);     /* block 4 has no valid page left */
    assert_int_equal(erased_block(&l), 4);
    ft_layer_expect(&l, (struct ft_cost){.programs = 1, .erases = 1}, "block 4");
    ft_layer_end(&l);
}

static void test_page_sequential_rewrites_copy_nothing(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 1, 32, 16);
    uint32_t n = l.ftl->n_lpns;
    for (int round = 0; round < 6; round++)
        ft_layer_write_each(&l, 0, n);
    struct ft_cost c = ft_layer_cost(&l);
    assert_int_equal(c.copied, 0);
    assert_int_equal(c.programs, 6 * n);
    assert_int_equal(c.erases, l.ftl->counters.gc_runs);
    ft_layer_end(&l);
}

/* Only full blocks are erased, so the books balance to the page. */
static void test_page_random_overwrites_balance(void **state)
{
    (void)state;
    static const uint32_t shapes[][3] = {
        {1, 16, 4}, {2, 12, 5}, {3, 9, 33}, {4, 8, 64}, {12, 4, 7}};
    for (size_t k = 0; k < ft_array_len(shapes); k++) {
        struct ft_layer l;
        struct ft_rand r = {.seed = k};
        struct fe_err err;
        fe_err_init(&err);
        setup(&l, shapes[k][0], shapes[k][1], shapes[k][2]);
        uint32_t n = l.ftl->n_lpns, writes = n + 4000;
        ft_layer_write_each(&l, 0, n);
        for (uint32_t i = 0; i < 4000; i++) {
            assert_int_equal(ft_layer_write(&l, (fe_lpn)ft_below(&r, n)), FE_OK);
            if (i % 100 == 0 && l.ftl->ops->check(l.ftl, &err) < 0)
                fail_msg("%s", err.text);
        }
        struct ft_cost c = ft_layer_cost(&l);
        uint32_t programmed = 0;
        for (fe_peb peb = 0; peb < l.rig.geo.n_pebs; peb++)
            programmed += fe_medium_next_page(l.rig.medium, peb);
        assert_int_equal(c.programs, writes + c.copied);
        assert_int_equal(c.reads, c.copied);
        assert_int_equal(c.erases, l.ftl->counters.gc_runs);
        assert_int_equal(c.erases * shapes[k][2], c.programs - programmed);
        ft_layer_end(&l);
    }
}

static void test_page_trim_unmaps_and_makes_cleaning_free(void **state)
{
    (void)state;
    struct ft_layer l;
    struct ft_rand r = {.seed = 7};
    setup(&l, 1, 16, 8);
    uint32_t n = l.ftl->n_lpns;
    ft_layer_write_each(&l, 0, n);
    for (int i = 0; i < 500; i++)
        ft_layer_write_each(&l, (fe_lpn)ft_below(&r, n), 1);
    ft_layer_clear(&l);
    assert_int_equal(l.ftl->ops->trim(l.ftl, 0, n), FE_OK);
    char text[8];
    assert_string_equal(ft_rig_text(&l.rig, text, sizeof text), "-");
    memset(l.want, 0, (size_t)n * 512);
    ft_layer_verify(&l);
    ft_layer_write_each(&l, 0, n / 2); /* every victim is empty now */
    assert_int_equal(ft_layer_cost(&l).copied, 0);
    assert_int_equal(l.ftl->ops->trim(l.ftl, 3, 5), FE_OK);
    memset(l.want + 3 * 512, 0, 5 * 512);
    ft_layer_end(&l);
}

static void test_page_part_of_a_page_reads_the_old_copy(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 1, 8, N);
    ft_layer_write_part(&l, 2, 100, 10);
    ft_layer_expect(&l, (struct ft_cost){.programs = 1}, "no old copy");
    ft_layer_write_part(&l, 2, 105, 10);
    ft_layer_expect(&l, (struct ft_cost){.reads = 1, .programs = 1}, "old copy");
    ft_layer_end(&l);
}

static void test_page_check_finds_what_is_wrong(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_err err;
    setup(&l, 1, 8, N);
    ft_layer_write_each(&l, 0, 10);
    fe_err_init(&err);
    assert_int_equal(l.ftl->ops->check(l.ftl, &err), 0);
    l.rig.medium->chip.oob_lpn[6] = 7;
    assert_true(l.ftl->ops->check(l.ftl, &err) < 0);
    assert_non_null(strstr(err.text, "logical page 6"));
    l.rig.medium->chip.oob_lpn[6] = 6;
    l.rig.medium->chip.pebs[7].next_page = 1;
    fe_err_init(&err);
    assert_true(l.ftl->ops->check(l.ftl, &err) < 0);
    assert_non_null(strstr(err.text, "block 7"));
    l.rig.medium->chip.pebs[7].next_page = 0;
    ft_layer_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_keeps_frontier_reserve_and_a_block),
        cmocka_unit_test(test_page_unmapped_page_reads_zeros_without_an_operation),
        cmocka_unit_test(test_page_writes_go_across_dies),
        cmocka_unit_test(test_page_cleans_the_block_with_fewest_valid_pages),
        cmocka_unit_test(test_page_sequential_rewrites_copy_nothing),
        cmocka_unit_test(test_page_random_overwrites_balance),
        cmocka_unit_test(test_page_trim_unmaps_and_makes_cleaning_free),
        cmocka_unit_test(test_page_part_of_a_page_reads_the_old_copy),
        cmocka_unit_test(test_page_check_finds_what_is_wrong),
    };
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
