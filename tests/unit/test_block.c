/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the block strategy costs: a whole block for every overwrite, however small, and
 * nothing but the pages for what is appended.  Mapped blocks of 8 pages; cost:
 * { reads, programs, erases, copied, switch, partial, full }.
 */
#include "lib/layer.h"
#include "lib/unit.h"

enum { N = 8 };

static void setup(struct ft_layer *l)
{
    struct fe_nand_params nand = ft_nand(1, 6, N, 512);
    struct fe_ftl_params p = ft_params("block", &nand, 1);
    ft_layer_init(l, &nand, &p);
}

static void expect_ops(struct ft_layer *l, const char *want)
{
    char text[256];
    assert_string_equal(ft_rig_text(&l->rig, text, sizeof text), want);
}

static void test_block_offers_all_but_one_block(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    assert_int_equal(l.ftl->n_lpns, 5 * N);
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), 6);
    ft_layer_write_each(&l, 0, 5 * N);
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), 1);
    ft_layer_end(&l);
}

static void test_block_appending_costs_the_pages_only(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 0, 2 * N);
    ft_layer_expect(&l, (struct ft_cost){.programs = 2 * N}, "in order");
    ft_layer_write_each(&l, 2 * N + 3, 1);
    ft_layer_expect(&l, (struct ft_cost){.programs = 4}, "three pages of padding");
    ft_layer_write_each(&l, 2 * N + 4, 4);
    ft_layer_expect(&l, (struct ft_cost){.programs = 4}, "in order again");
    ft_layer_end(&l);
}

/* Nothing waits for anything: pages of one command may lie on several dies. */
static void test_block_appending_has_no_barriers(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    assert_int_equal(ft_layer_command(&l, 0, N), FE_OK);
    expect_ops(&l, "PPPPPPPP");
    ft_layer_end(&l);
}

static void test_block_overwrite_copies_the_rest_of_the_block(void **state)
{
    (void)state;
    for (uint32_t page = 0; page < N; page++) {
        struct ft_layer l;
        setup(&l);
        ft_layer_write_each(&l, 0, 2 * N);
        ft_layer_clear(&l);
        ft_layer_write_each(&l, page, 1);
        ft_layer_expect(&l, (struct ft_cost){.reads = N - 1, .programs = N, .erases = 1,
                                             .copied = N - 1, .partials = 1}, "one page");
        ft_layer_write_part(&l, N + page, 100, 1);
        ft_layer_expect(&l, (struct ft_cost){.reads = N, .programs = N, .erases = 1,
                                             .copied = N - 1, .partials = 1}, "one byte");
        ft_layer_end(&l);
    }
}

static void test_block_overwrite_of_a_run_copies_what_is_left(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 0, N);
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_command(&l, 2, 3), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.reads = 5, .programs = N, .erases = 1, .copied = 5,
                                         .partials = 1}, "pages 2 to 4");
    assert_int_equal(ft_layer_command(&l, 0, N), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.programs = N, .erases = 1, .switches = 1}, "all");
    ft_layer_end(&l);
}

static void test_block_overwrite_of_a_short_block_copies_what_it_has(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 0, 4);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 1, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = 3, .programs = 4, .erases = 1, .copied = 3,
                                         .partials = 1}, "4 pages");
    ft_layer_write_each(&l, 4, 4);
    ft_layer_expect(&l, (struct ft_cost){.programs = 4}, "the new block is appended to");
    /* over the end: what follows is appended to the replacement */
    ft_layer_write_each(&l, N, 2);
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_command(&l, N + 1, 4), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.reads = 1, .programs = 5, .erases = 1, .copied = 1,
                                         .partials = 1}, "overwrite that goes on");
    ft_layer_end(&l);
}

static void test_block_command_across_blocks_replaces_both(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 0, 2 * N);
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_command(&l, N - 1, 2), FE_OK);
    ft_layer_expect(&l, (struct ft_cost){.reads = 2 * N - 2, .programs = 2 * N, .erases = 2,
                                         .copied = 2 * N - 2, .partials = 2}, "two pages");
    ft_layer_end(&l);
}

static void test_block_copies_wait_and_the_old_block_goes_last(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 0, N);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 3, 1);
    char text[64];
    const char *ops = ft_rig_text(&l.rig, text, sizeof text);
    /* 3 copies two at a time, the host's page, 4 copies, and the erase alone */
    assert_string_equal(ops, "BRRBPPBRBPBPBRRBPPBRRBPPBEB");
    ft_layer_end(&l);
}

static void test_block_padding_is_not_copied_as_data(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 6, 1); /* pages 0 to 5 are padding */
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 2, 1);
    ft_layer_expect(&l, (struct ft_cost){.reads = 1, .programs = 7, .erases = 1, .copied = 1,
                                         .partials = 1}, "padding again");
    ft_layer_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_offers_all_but_one_block),
        cmocka_unit_test(test_block_appending_costs_the_pages_only),
        cmocka_unit_test(test_block_appending_has_no_barriers),
        cmocka_unit_test(test_block_overwrite_copies_the_rest_of_the_block),
        cmocka_unit_test(test_block_overwrite_of_a_run_copies_what_is_left),
        cmocka_unit_test(test_block_overwrite_of_a_short_block_copies_what_it_has),
        cmocka_unit_test(test_block_command_across_blocks_replaces_both),
        cmocka_unit_test(test_block_copies_wait_and_the_old_block_goes_last),
        cmocka_unit_test(test_block_padding_is_not_copied_as_data),
    };
    return cmocka_run_group_tests_name("block", tests, NULL, NULL);
}
