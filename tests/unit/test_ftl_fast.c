/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fast, operation by operation: what goes to the sequential log and what to the random
 * ones, what each merge costs.  The device has blocks of 8 pages, 8 of them for data, one
 * sequential log, 2 random ones and the spare one, unless a test says otherwise.
 */
#include "test_logblock.h"

static void test_fast_partial_merge_copies_the_rest(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < N; i++) {
        struct ft_layer l;
        setup_full(&l, FAST, usual(FAST));
        ft_layer_fill(&l, 2 * N, i);
        ft_layer_clear(&l);
        ft_layer_fill(&l, 5 * N, 1); /* page 0 takes the sequential log */
        ft_layer_expect_merges(&l, 0, 1, 0, N - i);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_READ), N - i);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_PROG), N - i + 1);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_ERASE), 1);
        ft_layer_end(&l);
    }
}

static void test_fast_page_0_again_starts_anew(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, FAST, usual(FAST));
    ft_layer_fill(&l, N, 6);
    assert_string_equal(ft_layer_ops_of(&l, N, 1), "BRRBPPBEBP");
    ft_layer_expect_merges(&l, 0, 1, 0, 2);
    ft_layer_end(&l);
}

/* A newer copy of a page elsewhere: the sequential log cannot become the data block. */
static void test_fast_stale_sequential_log_needs_a_full_merge(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, FAST, usual(FAST));
    ft_layer_fill(&l, N, 4);
    ft_layer_fill(&l, N + 2, 1); /* to a random log */
    ft_layer_fill(&l, N + 4, 2); /* goes on in the sequential one */
    assert_string_equal(ft_layer_ops_of(&l, 0, 1), "BRRRRRRRRBPPPPPPPPBEBEBP");
    ft_layer_expect_merges(&l, 0, 0, 1, N);
    ft_layer_end(&l);
}

/* A page ahead of the sequential log is merged with it, and so gone from the random one. */
static void test_fast_partial_merge_collects_random_pages(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, FAST, usual(FAST));
    ft_layer_fill(&l, N, 2);
    ft_layer_fill(&l, N + 5, 1);
    assert_string_equal(ft_layer_ops_of(&l, 0, 1), "BRRRRRRBPPPPPPBEBP");
    ft_layer_fill(&l, 2 * N + 1, 7);     /* the rest of the random log */
    ft_layer_fill(&l, 3 * N + 1, N - 1); /* the other one */
    ft_layer_fill(&l, 3 * N + 1, 1);
    ft_layer_expect_merges(&l, 0, 1, 0, N - 2);
    ft_layer_clear(&l);
    ft_layer_fill(&l, 3 * N + 1, 1); /* the first has pages of block 2 only */
    ft_layer_expect_merges(&l, 0, 1, 1, N - 2 + N);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_ERASE), 2);
    ft_layer_end(&l);
}

/* Fills both random logs: the first with pages of k blocks in turn, the second with
 * pages of one more block. */
static void fill_logs(struct ft_layer *l, uint32_t k)
{
    for (uint32_t i = 0; i < N; i++)
        ft_layer_fill(l, i % k * N + 1 + i / k % (N - 1), 1);
    for (uint32_t i = 0; i < N; i++)
        ft_layer_fill(l, 7 * N + 1 + i % (N - 1), 1);
    ft_layer_expect_merges(l, 0, 0, 0, 0);
    assert_int_equal(l->ftl->counters.gc_runs, 0);
}

static void test_fast_random_log_merges_all_its_blocks(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= 7; k++) {
        struct ft_layer l;
        setup_full(&l, FAST, usual(FAST));
        fill_logs(&l, k);
        ft_layer_clear(&l);
        ft_layer_fill(&l, 7 * N + 5, 1);
        assert_int_equal(l.ftl->counters.gc_runs, 1);
        ft_layer_expect_merges(&l, 0, 0, k, k * N);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_READ), k * N);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_PROG), k * N + 1);
        assert_int_equal(ft_rig_count(&l.rig, FE_OP_ERASE), k + 1);
        ft_layer_end(&l);
    }
}

static void test_fast_random_log_of_stale_pages_costs_an_erase(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, FAST, usual(FAST));
    for (uint32_t i = 0; i < 2 * N; i++)
        ft_layer_fill(&l, N + 3, 1);
    assert_string_equal(ft_layer_ops_of(&l, N + 3, 1), "BEBP");
    assert_int_equal(l.ftl->counters.gc_runs, 1);
    ft_layer_expect_merges(&l, 0, 0, 0, 0);
    ft_layer_end(&l);
}

/* What a merge takes from newer logs need not be merged again. */
static void test_fast_merge_empties_newer_logs_too(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, FAST, usual(FAST));
    ft_layer_fill(&l, N + 1, 1);
    ft_layer_fill(&l, 2 * N + 1, N - 1);
    ft_layer_fill(&l, N + 2, 6); /* the second log: block 1 again, and block 3 */
    ft_layer_fill(&l, 3 * N + 1, 2);
    ft_layer_fill(&l, 4 * N + 1, 1); /* merges blocks 1 and 2 */
    ft_layer_expect_merges(&l, 0, 0, 2, 2 * N);
    ft_layer_fill(&l, 4 * N + 2, N - 2);
    ft_layer_fill(&l, 4 * N + 1, 1);
    ft_layer_expect_merges(&l, 0, 0, 2, 2 * N);
    ft_layer_fill(&l, 5 * N + 1, 1); /* merges block 3 alone */
    ft_layer_expect_merges(&l, 0, 0, 3, 3 * N);
    assert_int_equal(l.ftl->counters.gc_runs, 2);
    ft_layer_end(&l);
}

static void test_fast_random_log_closes_the_sequential_one_of_its_block(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, FAST, usual(FAST));
    fill_logs(&l, 2);
    ft_layer_fill(&l, 0, 1); /* block 0 has pages in both sorts of log */
    ft_layer_clear(&l);
    ft_layer_fill(&l, 7 * N + 5, 1);
    ft_layer_expect_merges(&l, 0, 1, 1, N - 1 + N);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_ERASE), 3);
    assert_string_equal(ft_layer_ops_of(&l, 1, 1), "P"); /* that log is gone: to a random one */
    assert_string_equal(ft_layer_ops_of(&l, N, 1), "P");
    ft_layer_end(&l);
}

static void test_fast_without_sequential_log(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = usual(FAST);
    p.log.fast_sequential = false;
    p.log.log_blocks = 1;
    setup_full(&l, FAST, p);
    assert_string_equal(ft_layer_ops_of(&l, N, N), "PPPPPPPP"); /* in order, but in a random log */
    assert_string_equal(ft_layer_ops_of(&l, 0, 1), "BRRRRRRRRBPPPPPPPPBEBEBP");
    ft_layer_expect_merges(&l, 0, 0, 1, N);
    ft_layer_end(&l);
}

static void test_fast_pads_holes_in_a_merge(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = usual(FAST);
    p.log.fast_sequential = false;
    p.log.log_blocks = 1;
    setup(&l, FAST, p);
    ft_layer_fill(&l, 4, 1); /* no data block yet, and not its first page */
    ft_layer_fill(&l, 2, 1);
    ft_layer_fill(&l, N + 1, 6);
    assert_string_equal(ft_layer_ops_of(&l, N + 7, 1), "BRRBPPPPPBRRRRRRBPPPPPPPBEBP");
    ft_layer_expect_merges(&l, 0, 0, 2, 8);
    uint8_t buf[PAGE] = {1};
    ft_layer_clear(&l);
    assert_int_equal(l.ftl->ops->read(l.ftl, 3, 0, PAGE, buf), FE_OK);
    assert_int_equal(buf[0], 0);
    assert_string_equal(ft_layer_text(&l), "-");
    ft_layer_end(&l);
}

/* Page 2 is in the sequential log when the data block comes to it. */
static void test_fast_data_block_may_overtake_the_sequential_log(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, FAST, usual(FAST));
    ft_layer_fill(&l, 0, 2);
    ft_layer_fill(&l, 0, 3); /* 0, 1 and 2 in the log */
    ft_layer_fill(&l, 2, 1); /* 2 in the data block */
    ft_layer_fill(&l, N, 1);
    assert_string_equal(ft_layer_ops_of(&l, N, 1), "BRRRBPPPBEBEBP");
    ft_layer_expect_merges(&l, 0, 0, 1, 3);
    ft_layer_end(&l);
}

static void test_fast_part_of_a_page_keeps_the_rest(void **state)
{
    (void)state;
    struct ft_layer l;
    setup_full(&l, FAST, usual(FAST));
    for (fe_lpn lpn = 6; lpn <= 8; lpn++) { /* two to random logs, one to the other */
        for (uint32_t step = 0; step < 3; step++) {
            assert_int_equal(ft_layer_write_part(&l, lpn, 10 * step, 10), FE_OK);
            ft_layer_verify(&l);
        }
    }
    ft_layer_end(&l);
}

static void refused(uint32_t blocks, uint32_t logs, bool sequential, const char *says)
{
    struct fe_ftl_params p = usual(FAST);
    p.log.log_blocks = logs;
    p.log.fast_sequential = sequential;
    assert_refused(&p, blocks, says);
}

static void test_fast_refuses_what_contradicts_itself(void **state)
{
    (void)state;
    refused(12, 0, true, "ftl.log_blocks=0: must be 2 to 10");
    refused(12, 1, true, "ftl.log_blocks=1: fast needs at least 2, one of them for");
    refused(12, 0, false, "ftl.log_blocks=0: must be 1 to 10");
    refused(12, 11, true, "ftl.log_blocks=11: must be 2 to 10");
    refused(3, 2, true, "at least 4 are needed");
    struct ft_layer l;
    struct fe_ftl_params p = usual(FAST);
    p.log.log_blocks = 10; /* one block for data */
    setup_full(&l, FAST, p);
    ft_layer_fill(&l, 3, 1);
    ft_layer_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_partial_merge_copies_the_rest),
        cmocka_unit_test(test_fast_page_0_again_starts_anew),
        cmocka_unit_test(test_fast_stale_sequential_log_needs_a_full_merge),
        cmocka_unit_test(test_fast_partial_merge_collects_random_pages),
        cmocka_unit_test(test_fast_random_log_merges_all_its_blocks),
        cmocka_unit_test(test_fast_random_log_of_stale_pages_costs_an_erase),
        cmocka_unit_test(test_fast_merge_empties_newer_logs_too),
        cmocka_unit_test(test_fast_random_log_closes_the_sequential_one_of_its_block),
        cmocka_unit_test(test_fast_without_sequential_log),
        cmocka_unit_test(test_fast_pads_holes_in_a_merge),
        cmocka_unit_test(test_fast_data_block_may_overtake_the_sequential_log),
        cmocka_unit_test(test_fast_part_of_a_page_keeps_the_rest),
        cmocka_unit_test(test_fast_refuses_what_contradicts_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
