/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bast, operation by operation: what goes to which block, what each merge costs, which
 * log has to go.  The device has blocks of 8 pages, 6 of them for data, 2 logs and the
 * spare one, unless a test says otherwise.
 */
#include "test_logblock.h"

static void test_bast_overwrites_go_to_a_log(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, BAST, usual(BAST));
    assert_int_equal(free_blocks(&l), 3);
    assert_string_equal(ft_layer_ops_of(&l, 3, 2), "PP");
    assert_string_equal(ft_layer_ops_of(&l, 3, 1), "P");
    assert_int_equal(free_blocks(&l), 2);
    ft_layer_expect_merges(&l, 0, 0, 0, 0);
    ft_layer_end(&l);
}

static void test_bast_partial_merge_copies_the_rest(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < N; i++) {
        struct ft_layer l;
        setup_full(&l, BAST, usual(BAST));
        ft_layer_fill(&l, 0, i);
        ft_layer_fill(&l, N, 1);
        ft_layer_expect_merges(&l, 0, 0, 0, 0);
        ft_layer_clear(&l);
        ft_layer_fill(&l, 2 * N, 1); /* the oldest log is the one of block 0 */
        ft_layer_expect_merges(&l, 0, 1, 0, N - i);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_READ), N - i);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_PROG), N - i + 1);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_ERASE), 1);
        ft_layer_end(&l);
    }
}

static void test_bast_full_merge_copies_all(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, BAST, usual(BAST));
    ft_layer_fill(&l, 5, 1);
    ft_layer_fill(&l, N, 1);
    assert_string_equal(ft_layer_ops_of(&l, 2 * N, 1), "BRRRRRRRRBPPPPPPPPBEBEBP");
    ft_layer_expect_merges(&l, 0, 0, 1, N);
    ft_layer_end(&l);
}

static void test_bast_copies_in_the_rhythm_of_the_buffer(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = usual(BAST);
    p.unit.copy_buffer = 3;
    setup_full(&l, BAST, p);
    ft_layer_fill(&l, 5, 1);
    ft_layer_fill(&l, N, 1);
    assert_string_equal(ft_layer_ops_of(&l, 2 * N, 1), "BRRRBPPPBRRRBPPPBRRBPPBEBEBP");
    ft_layer_end(&l);
}

/* The controller's time comes between the reads and the programs of each buffer, for each page. */
static void test_bast_copies_take_the_controllers_time(void **state)
{
    (void)state;
    static const uint64_t busy_ns[] = {3000, 3000, 2000};
    struct ft_layer l;
    struct fe_ftl_params p = usual(BAST);
    uint32_t n, found = 0;
    p.unit.copy_buffer = 3;
    p.unit.copy_page_ns = 1000;
    setup_full(&l, BAST, p);
    ft_layer_fill(&l, 5, 1);
    ft_layer_fill(&l, N, 1);
    assert_string_equal(ft_layer_ops_of(&l, 2 * N, 1), "BRRRYPPPBRRRYPPPBRRYPPBEBEBP");
    const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
    for (uint32_t i = 0; i < n; i++)
        if (ops[i].kind == FE_OP_BUSY)
            assert_int_equal(ops[i].cell_ns, busy_ns[found++]);
    assert_int_equal(found, 3);
    ft_layer_end(&l);
}

static void test_bast_full_log_is_merged_by_the_next_write(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, BAST, usual(BAST));
    for (int i = 0; i < N; i++)
        assert_string_equal(ft_layer_ops_of(&l, 6, 1), "P");
    assert_string_equal(ft_layer_ops_of(&l, N, 1), "P"); /* a full log does not disturb others */
    ft_layer_expect_merges(&l, 0, 0, 0, 0);
    assert_string_equal(ft_layer_ops_of(&l, 6, 1), "BRRRRRRRRBPPPPPPPPBEBEBP");
    ft_layer_expect_merges(&l, 0, 0, 1, N);
    ft_layer_end(&l);
}

static void test_bast_log_out_of_order_is_no_switch(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, BAST, usual(BAST));
    ft_layer_fill(&l, 1, N - 1);
    ft_layer_fill(&l, 0, 1); /* whole, but not in place */
    ft_layer_expect_merges(&l, 0, 0, 0, 0);
    ft_layer_fill(&l, 0, 1);
    ft_layer_expect_merges(&l, 0, 0, 1, N);
    ft_layer_end(&l);
}

static void test_bast_replaces_the_log_used_longest_ago(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, BAST, usual(BAST));
    ft_layer_fill(&l, 0, 2);
    ft_layer_fill(&l, N, 3);
    ft_layer_fill(&l, 2, 1);     /* block 0 was used last */
    ft_layer_fill(&l, 2 * N, 1); /* so block 1 goes, with 3 pages in order */
    ft_layer_expect_merges(&l, 0, 1, 0, N - 3);
    ft_layer_fill(&l, 3 * N, 1); /* then block 0, with 3 */
    ft_layer_expect_merges(&l, 0, 2, 0, 2 * (N - 3));
    ft_layer_fill(&l, 4 * N, 1); /* then block 2, with 1 */
    ft_layer_expect_merges(&l, 0, 3, 0, 2 * (N - 3) + N - 1);
    ft_layer_end(&l);
}

/* Four logs, and each of them has been used again since it was opened.  The logs have different
 * lengths, so the number of copies tells which of them is given up. */
static void test_bast_gives_up_logs_by_their_last_use(void **state)
{
    (void)state;
    static const fe_leb used[] = {0, 1, 2, 3, 1, 0, 1, 3, 2, 0, 1, 0, 0, 1, 1};
    static const fe_leb given_up[] = {3, 2, 0, 1};
    struct ft_layer l;
    struct fe_nand_params np = ft_nand(1, 16, N, PAGE);
    struct fe_ftl_params p = ft_params("bast", &np, 1);
    uint32_t fill[4] = {0}, partials = 0, copied = 0;
    p.log.log_blocks = 4;
    ft_layer_init(&l, &np, &p);
    ft_layer_fill(&l, 0, l.ftl->n_lpns);
    for (size_t i = 0; i < ft_array_len(used); i++) {
        ft_layer_fill(&l, used[i] * N + fill[used[i]], 1);
        fill[used[i]]++;
    }
    for (uint32_t i = 0; i < ft_array_len(given_up); i++) {
        ft_layer_fill(&l, (4 + i) * N, 1);
        copied += N - fill[given_up[i]];
        ft_layer_expect_merges(&l, 0, ++partials, 0, copied);
    }
    ft_layer_end(&l);
}

static void test_bast_log_that_was_switched_is_free_for_others(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, BAST, usual(BAST));
    ft_layer_fill(&l, 0, 1);
    ft_layer_fill(&l, N, N); /* switched: block 0 is older, but its log stays */
    ft_layer_fill(&l, 2 * N, 1);
    ft_layer_expect_merges(&l, 1, 0, 0, 0);
    ft_layer_fill(&l, 3 * N, 1);
    ft_layer_expect_merges(&l, 1, 1, 0, N - 1);
    ft_layer_end(&l);
}

static void test_bast_pads_holes_in_a_merge(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, BAST, usual(BAST));
    assert_string_equal(ft_layer_ops_of(&l, 4, 1), "P"); /* neither data yet nor page 0 */
    assert_string_equal(ft_layer_ops_of(&l, 2, 1), "P");
    ft_layer_fill(&l, N + 1, 1);
    assert_string_equal(ft_layer_ops_of(&l, 2 * N + 1, 1), "BRRBPPPPPBEBP");
    ft_layer_expect_merges(&l, 0, 0, 1, 2);
    uint8_t buf[PAGE] = {1};
    ft_layer_clear(&l);
    assert_int_equal(l.ftl->ops->read(l.ftl, 3, 0, PAGE, buf), FE_OK);
    assert_int_equal(buf[0], 0);
    assert_string_equal(ft_layer_text(&l), "-");
    assert_string_equal(ft_layer_ops_of(&l, 5, 1), "P"); /* behind the merged pages */
    ft_layer_end(&l);
}

static void test_bast_gap_fill_pads_a_data_block(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = usual(BAST);
    p.unit.gap_fill = 2;
    setup(&l, BAST, p);
    assert_string_equal(ft_layer_ops_of(&l, 2, 1), "PPP");
    assert_string_equal(ft_layer_ops_of(&l, 5, 1), "PPP");
    assert_string_equal(ft_layer_ops_of(&l, N + 3, 1), "P"); /* too far: to a log */
    assert_int_equal(free_blocks(&l), 7);
    ft_layer_expect_merges(&l, 0, 0, 0, 0);
    ft_layer_end(&l);
}

/* Page 2 is in the log, in order, when the data block comes to it. */
static void test_bast_data_block_may_overtake_the_log(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, BAST, usual(BAST));
    ft_layer_fill(&l, 0, 2);
    ft_layer_fill(&l, 0, 3); /* 0, 1 and 2 in the log */
    ft_layer_fill(&l, 2, 1); /* 2 in the data block */
    assert_int_equal(free_blocks(&l), 7);
    ft_layer_fill(&l, N + 3, 1);
    assert_string_equal(ft_layer_ops_of(&l, 2 * N + 3, 1), "BRRRBPPPBEBEBP");
    ft_layer_expect_merges(&l, 0, 0, 1, 3);
    ft_layer_end(&l);
}

static void test_bast_part_of_a_page_keeps_the_rest(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, BAST, usual(BAST));
    for (uint32_t step = 0; step < 3; step++) {
        ft_layer_clear(&l);
        assert_int_equal(ft_layer_write_part(&l, 7, 10 * step, 10), FE_OK);
        assert_string_equal(ft_layer_text(&l), "Rp");
        ft_layer_verify(&l);
    }
    ft_layer_end(&l);
}

static void refused(uint32_t blocks, uint32_t logs, uint64_t unit_size, const char *says)
{
    struct fe_ftl_params p = usual(BAST);
    p.log.log_blocks = logs;
    p.unit.unit_size = unit_size;
    assert_refused(&p, blocks, says);
}

static void test_bast_refuses_what_contradicts_itself(void **state)
{
    (void)state;
    refused(9, 0, N * PAGE, "ftl.log_blocks=0: must be 1 to 7");
    refused(9, 8, N * PAGE, "ftl.log_blocks=8: must be 1 to 7");
    refused(9, UINT32_MAX, N * PAGE, "must be 1 to 7");
    refused(2, 1, N * PAGE, "at least 3 are needed");
    refused(9, 1, 4 * N * PAGE, "the chip has 2 blocks of that size");
    refused(9, 1, N * PAGE + 1, "must be a multiple of the erase block, 512 bytes");
    struct ft_layer l;
    struct fe_ftl_params p = usual(BAST);
    p.log.log_blocks = 7; /* one block for data */
    setup_full(&l, BAST, p);
    ft_layer_fill(&l, 3, 1);
    ft_layer_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bast_overwrites_go_to_a_log),
        cmocka_unit_test(test_bast_partial_merge_copies_the_rest),
        cmocka_unit_test(test_bast_full_merge_copies_all),
        cmocka_unit_test(test_bast_copies_in_the_rhythm_of_the_buffer),
        cmocka_unit_test(test_bast_copies_take_the_controllers_time),
        cmocka_unit_test(test_bast_full_log_is_merged_by_the_next_write),
        cmocka_unit_test(test_bast_log_out_of_order_is_no_switch),
        cmocka_unit_test(test_bast_replaces_the_log_used_longest_ago),
        cmocka_unit_test(test_bast_gives_up_logs_by_their_last_use),
        cmocka_unit_test(test_bast_log_that_was_switched_is_free_for_others),
        cmocka_unit_test(test_bast_pads_holes_in_a_merge),
        cmocka_unit_test(test_bast_gap_fill_pads_a_data_block),
        cmocka_unit_test(test_bast_data_block_may_overtake_the_log),
        cmocka_unit_test(test_bast_part_of_a_page_keeps_the_rest),
        cmocka_unit_test(test_bast_refuses_what_contradicts_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
