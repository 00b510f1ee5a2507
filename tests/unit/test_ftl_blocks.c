/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common core of page, dftl and norlog alone: states and counts, emptying with a plain
 * callback, and whether the check finds what is wrong.
 */
#include "test_blocks.h"

static void test_blocks_live_from_free_to_full(void **state)
{
    (void)state;
    struct owner o;
    setup(&o);
    assert_int_equal(o.b.n_good, BLOCKS);
    assert_int_equal(o.b.pool.n, BLOCKS);
    write_pages(&o, 0, 2 * N - 1); /* in turn: blocks 0 and 1 */
    assert_int_equal(o.b.state[0], FE_BLOCK_FULL);
    assert_int_equal(o.b.state[1], FE_BLOCK_OPEN);
    assert_int_equal(o.b.fronts[0].n_open, 1);
    assert_int_equal(o.b.fronts[0].open[1], 1);
    assert_int_equal(o.b.full[0].n, 1);
    assert_int_equal(o.b.pool.n, BLOCKS - 2);
    write_pages(&o, SPECIAL, N); /* its frontier has one place */
    assert_int_equal(o.b.state[2], FE_BLOCK_FULL + 1);
    assert_int_equal(o.b.full[1].n, 1);
    write_pages(&o, 0, 1);
    assert_int_equal(o.b.valid[0], N - 1);
    assert_int_equal(o.b.full[0].n_invalid, 1);
    assert_int_equal(fe_victims_choose(&o.b.full[0]), 0);
    fe_blocks_trim(&o.b, o.map, 0, 3);
    assert_int_equal(fe_mapped(o.map[1]), FE_PPN_NONE);
    assert_int_equal(o.b.valid[0], N - 2); /* pages 1 and the new 0 lay in blocks 1 and 3 */
    assert_right(&o);
    teardown(&o);
}

static void test_blocks_emptying_moves_in_order_and_frees(void **state)
{
    (void)state;
    struct owner o;
    char text[32];
    setup(&o);
    write_pages(&o, 0, 2 * N); /* block 0: 0 2 4 6 */
    write_pages(&o, 2, 1);
    o.rig.medium->emptying_since = 0;
    uint64_t seq = o.rig.medium->chip.seq;
    ft_rig_clear(&o.rig);
    assert_int_equal(fe_blocks_empty(&o.b, 0, true), FE_OK);
    assert_string_equal(ft_rig_text(&o.rig, text, sizeof text), "RpRpRpE");
    assert_int_equal(o.rig.medium->emptying_since, seq);
    assert_int_equal(o.n_moves, 3);
    assert_true(o.rest);
    assert_int_equal(o.moved[0], 0);
    assert_int_equal(o.moved[1], 2);
    assert_int_equal(o.moved[2], 3);
    assert_int_equal(o.base.counters.pages_copied, 3);
    assert_int_equal(o.b.state[0], FE_BLOCK_FREE);
    assert_int_equal(o.b.valid[0], 0);
    assert_int_equal(o.b.most_erases, 1);
    assert_right(&o);
    teardown(&o);
}

static void test_blocks_emptying_stops_where_a_move_fails(void **state)
{
    (void)state;
    struct owner o;
    setup(&o);
    write_pages(&o, 0, 2 * N);
    o.fails_at = 3;
    assert_int_equal(fe_blocks_empty(&o.b, 0, false), FE_NO_SPACE);
    assert_false(o.rest);
    assert_int_equal(o.b.valid[0], 2);
    assert_int_equal(o.b.state[0], FE_BLOCK_OPEN);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 0), N); /* not erased */
    assert_int_equal(o.b.full[0].n, 1);
    teardown(&o);
}

static void test_blocks_erase_alone_is_between_barriers(void **state)
{
    (void)state;
    struct owner o;
    char text[32];
    setup_on(&o, &alone_ops, &plain);
    assert_int_equal(fe_blocks_fill(&o.b, BLOCKS, NULL), 0);
    write_pages(&o, 0, 2 * N);
    fe_blocks_trim(&o.b, o.map, 2, 1);
    ft_rig_clear(&o.rig);
    assert_int_equal(fe_blocks_empty(&o.b, 0, false), FE_OK);
    assert_string_equal(ft_rig_text(&o.rig, text, sizeof text), "RpRpRpBEB");
    teardown(&o);
}

static void test_blocks_fill_needs_good_blocks_and_sets_some_aside(void **state)
{
    (void)state;
    struct owner o;
    struct fe_err err;
    struct fe_blocks_config config = plain;
    config.n_aside = 3;
    fe_err_init(&err);
    setup(&o);
    fe_blocks_fini(&o.b);
    o.rig.medium->chip.pebs[1].marks = FE_MARK_FACTORY_BAD;
    again(&o, &block_ops, &config);
    assert_int_equal(o.b.aside_end, 4); /* 0, 2, 3 */
    assert_int_equal(fe_blocks_fill(&o.b, BLOCKS, &err), -EINVAL);
    assert_string_equal(err.text, "the chip has 11 good blocks, 40 logical pages need 12 with what "
                                  "the test strategy keeps besides them");
    assert_int_equal(o.b.aside.n, 3);
    assert_int_equal(o.b.pool.n, BLOCKS - 4);
    assert_int_equal(o.b.state[1], FE_BLOCK_BAD);
    assert_right(&o);
    teardown(&o);
}

static void test_blocks_levelling_finds_the_one_that_lags(void **state)
{
    (void)state;
    struct owner o;
    struct fe_blocks_config config = plain;
    config.levelling = FE_WEAR_STATIC;
    config.threshold = 2;
    setup_on(&o, &block_ops, &config);
    assert_int_equal(fe_blocks_fill(&o.b, BLOCKS, NULL), 0);
    assert_int_equal(fe_blocks_lagging(&o.b, UINT32_MAX), FE_PEB_NONE); /* nothing is full */
    o.rig.medium->chip.pebs[0].erase_count = 1;
    write_pages(&o, 0, 2 * N);
    assert_int_equal(fe_blocks_lagging(&o.b, 2), FE_PEB_NONE);
    assert_int_equal(fe_blocks_lagging(&o.b, 3), 1);
    assert_int_equal(fe_blocks_empty(&o.b, 1, true), FE_OK);
    assert_right(&o);
    teardown(&o);
}

/* ---- the check ---- */

static void assert_wrong(struct owner *o, const char *says)
{
    struct fe_err err;
    assert_int_equal(check(o, &err), -EIO);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
}

/* Changes a value, looks what the check says, and changes it back. */
#define WRONG(o, where, value, says)        \
    do {                                    \
        __typeof__(where) was_ = (where);   \
        (where) = (value);                  \
        assert_wrong(o, says);              \
        (where) = was_;                     \
        assert_right(o);                    \
    } while (0)

static void test_blocks_check_finds_what_is_wrong(void **state)
{
    (void)state;
    struct owner o;
    struct fe_blocks_config config = plain;
    config.levelling = FE_WEAR_STATIC;
    config.n_aside = 2;
    setup_on(&o, &block_ops, &config);
    assert_int_equal(fe_blocks_fill(&o.b, BLOCKS, NULL), 0);
    write_pages(&o, 0, 2 * N + 1); /* blocks 2 and 3 full, 4 open */
    write_pages(&o, SPECIAL, N);   /* block 6 full */
    struct fe_blocks *b = &o.b;
    struct fe_medium *m = o.rig.medium;
    WRONG(&o, o.map[0].ppn_plus_1, 2 * N + 2, "logical page 0 is mapped to 9");
    WRONG(&o, o.map[0].ppn_plus_1, BLOCKS * N + 1, "logical page 0 is mapped to 48");
    WRONG(&o, o.map[0].ppn_plus_1, 0, "12 pages mapped, 13 valid");
    WRONG(&o, m->chip.oob_lpn[2 * N], 3, "logical page 0 is mapped to 8");
    WRONG(&o, b->valid_bits[0], b->valid_bits[0] & ~(1ull << 8), "logical page 0");
    WRONG(&o, b->valid_bits[0], b->valid_bits[0] | 1ull << 17,
          "block 4: page 1 is valid and erased");
    WRONG(&o, b->valid_bits[0], b->valid_bits[0] | 1, "block 0: page 0 is valid and erased");
    WRONG(&o, b->valid[2], 3, "block 2: 4 valid pages, its count says 3");
    WRONG(&o, b->state[2], FE_BLOCK_FREE, "block 2 in state 0");
    WRONG(&o, b->state[2], FE_BLOCK_OPEN, "block 2 in state 1");
    WRONG(&o, b->state[2], FE_BLOCK_BAD, "block 2 in state 2");
    WRONG(&o, b->state[2], FE_BLOCK_FULL + 1, "block 2 in state 4");
    WRONG(&o, b->state[4], FE_BLOCK_FULL, "block 4 in state 3");
    WRONG(&o, b->state[7], FE_BLOCK_OPEN, "7 blocks free");
    WRONG(&o, m->chip.pebs[7].next_page, 1, "block 7 in state 0");
    WRONG(&o, m->chip.pebs[2].next_page, 3, "block 2: page 3 is valid and erased");
    WRONG(&o, b->fronts[0].open[0], FE_PEB_NONE, "0 open blocks in frontier 0, 1 counted");
    WRONG(&o, b->fronts[0].open[0], 7, "block 7 in frontier 0");
    WRONG(&o, b->fronts[0].set, 1, "block 2 in state 3");
    WRONG(&o, b->fronts[0].n_open, 2, "1 open blocks in frontier 0, 2 counted");
    WRONG(&o, b->full[0].n, 3, "counted are 8, 3 and 1");
    WRONG(&o, b->full[0].n_invalid, 1, "invalid pages");
    WRONG(&o, b->full[1].n_invalid, 1, "invalid pages");
    WRONG(&o, b->pool.n, 5, "counted are 7, 2 and 1");
    WRONG(&o, b->pool.worn.n, 5, "free blocks");
    WRONG(&o, b->aside.n, 1, "counted are 7, 2 and 1");
    WRONG(&o, b->aside.n_new[0], 2, "1 new blocks on die 0, counted are 2");
    WRONG(&o, b->pool.next_new[0], 2, "new block 2 is not erased");
    WRONG(&o, b->least_worn.n, 1, "2 full blocks, 1 in order");
    WRONG(&o, b->least_worn.item[0].key, UINT64_MAX, "out of order");
    assert_int_equal(fe_blocks_empty(b, 2, false), FE_OK);
    WRONG(&o, b->pool.fresh[2 % DIES].item[0].peb, 3, "free block 3 is not");
    b->closes_early = true;
    WRONG(&o, b->state[4], FE_BLOCK_FULL, "counted are 8, 1 and 1");
    teardown(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_live_from_free_to_full),
        cmocka_unit_test(test_blocks_emptying_moves_in_order_and_frees),
        cmocka_unit_test(test_blocks_emptying_stops_where_a_move_fails),
        cmocka_unit_test(test_blocks_erase_alone_is_between_barriers),
        cmocka_unit_test(test_blocks_fill_needs_good_blocks_and_sets_some_aside),
        cmocka_unit_test(test_blocks_levelling_finds_the_one_that_lags),
        cmocka_unit_test(test_blocks_check_finds_what_is_wrong),
    };
    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
