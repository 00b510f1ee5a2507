/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What bast and fast have in common: data blocks that are appended to, logs that become
 * data blocks, and what check() finds.
 */
#include "test_logblock.h"

static void test_logblock_fresh_blocks_are_appended_to(void **state)
{
    (void)state;
    for (enum strategy i = 0; i < N_STRATEGIES; i++) {
        struct ft_layer l;
        setup(&l, i, usual(i));
        assert_string_equal(ft_layer_ops_of(&l, 0, 2 * N), "PPPPPPPPPPPPPPPP");
        ft_layer_expect_merges(&l, 0, 0, 0, 0);
        assert_int_equal(free_blocks(&l), strategies[i].blocks - 2);
        ft_layer_end(&l);
    }
}

static void test_logblock_switch_merge_costs_one_erase(void **state)
{
    (void)state;
    for (enum strategy i = 0; i < N_STRATEGIES; i++) {
        struct ft_layer l;
        setup_full(&l, i, usual(i));
        assert_string_equal(ft_layer_ops_of(&l, N, N), "PPPPPPPPBEB");
        ft_layer_expect_merges(&l, 1, 0, 0, 0);
        assert_int_equal(free_blocks(&l), strategies[i].logs + 1);
        ft_layer_end(&l);
    }
}

static void test_logblock_without_switch_merge_copies_always(void **state)
{
    (void)state;
    for (enum strategy i = 0; i < N_STRATEGIES; i++) {
        struct ft_layer l;
        struct fe_ftl_params p = usual(i);
        p.unit.switch_merge = false;
        setup_full(&l, i, p);
        assert_string_equal(ft_layer_ops_of(&l, N, N), "PPPPPPPPBRRRRRRRRBPPPPPPPPBEBEB");
        ft_layer_expect_merges(&l, 0, 0, 1, N);
        ft_layer_end(&l);
    }
}

static void test_logblock_unmapped_pages_read_as_zeros_at_no_cost(void **state)
{
    (void)state;
    for (enum strategy i = 0; i < N_STRATEGIES; i++) {
        struct ft_layer l;
        uint8_t buf[PAGE], zeros[PAGE] = {0};
        setup(&l, i, usual(i));
        ft_layer_fill(&l, 0, 1);
        memset(buf, 1, sizeof buf);
        ft_layer_clear(&l);
        assert_int_equal(l.ftl->ops->read(l.ftl, 1, 0, PAGE, buf), FE_OK);
        assert_int_equal(l.ftl->ops->read(l.ftl, N, 0, PAGE, NULL), FE_OK);
        assert_memory_equal(buf, zeros, PAGE);
        assert_string_equal(ft_layer_text(&l), "-");
        ft_layer_end(&l);
    }
}

/* Each programmed page in turn claims to be of another logical page: data blocks, logs in
 * order and not. */
static void test_logblock_check_finds_damage(void **state)
{
    (void)state;
    for (enum strategy i = 0; i < N_STRATEGIES; i++) {
        struct ft_layer l;
        setup_full(&l, i, usual(i));
        ft_layer_fill(&l, 3, 2);
        ft_layer_fill(&l, N, 3);
        ft_layer_check_finds_damage(&l);
        ft_layer_end(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logblock_fresh_blocks_are_appended_to),
        cmocka_unit_test(test_logblock_switch_merge_costs_one_erase),
        cmocka_unit_test(test_logblock_without_switch_merge_copies_always),
        cmocka_unit_test(test_logblock_unmapped_pages_read_as_zeros_at_no_cost),
        cmocka_unit_test(test_logblock_check_finds_damage),
    };
    return cmocka_run_group_tests_name("logblock", tests, NULL, NULL);
}
