/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What becomes of blocks at power-on, in the common core of page, dftl and norlog alone.  The
 * chip is programmed by hand, into states that power cuts leave behind.
 */
#include "test_blocks.h"

static void prog(struct owner *o, fe_peb peb, fe_lpn lpn, enum fe_tag tag)
{
    fe_ppn ppn = peb * N + fe_medium_next_page(o->rig.medium, peb);
    assert_int_equal(fe_medium_prog(o->rig.medium, ppn, lpn, (uint8_t)tag, FE_PPN_NONE, 0, 512,
                                    NULL), FE_OK);
}

static void prog_pages(struct owner *o, fe_peb peb, fe_lpn first, uint32_t n)
{
    for (fe_lpn lpn = first; lpn < first + n; lpn++)
        prog(o, peb, lpn, FE_TAG_DATA);
}

static void tear(struct owner *o, fe_ppn ppn)
{
    o->rig.medium->chip.oob_tag[ppn] = FE_TAG_TORN;
    o->rig.medium->chip.oob_lpn[ppn] = FE_LPN_NONE;
    o->rig.medium->chip.oob_seq[ppn] = 0;
}

static void find_pages(struct owner *o)
{
    fe_recover_newest(o->rig.medium, o->map, LPNS, NULL);
}

static void sort(struct owner *o, bool by_age)
{
    fe_blocks_mark_valid(&o->b, o->map, LPNS);
    assert_int_equal(fe_blocks_sort(&o->b, by_age, NULL), 0);
    assert_right(o);
}

static void test_blocks_power_on_sorts(void **state)
{
    (void)state;
    struct owner o;
    setup_on(&o, &block_ops, &plain);
    prog_pages(&o, 4, 0, N);             /* whole */
    prog_pages(&o, 3, 4, N);             /* whole, written later */
    prog_pages(&o, 0, 0, 2);             /* goes on at place 0 */
    prog_pages(&o, 2, 8, 1);             /* die 0 as well: place 1 */
    prog_pages(&o, 6, 9, 1);             /* no place left: closed */
    prog_pages(&o, 7, SPECIAL, 1);       /* its own frontier */
    prog_pages(&o, 8, 10, 1);            /* nothing readable: erased */
    tear(&o, 8 * N);
    prog_pages(&o, 9, 11, N);            /* the same, but whole */
    for (uint32_t i = 0; i < N; i++)
        tear(&o, 9 * N + i);
    o.rig.medium->chip.pebs[11].marks = FE_MARK_GROWN_BAD;
    fe_blocks_fini(&o.b);
    again(&o, &block_ops, &plain);
    find_pages(&o);
    ft_rig_clear(&o.rig);
    sort(&o, false);
    static const uint8_t want[BLOCKS] = {
        [0] = FE_BLOCK_OPEN, [2] = FE_BLOCK_OPEN, [3] = FE_BLOCK_FULL, [4] = FE_BLOCK_FULL,
        [6] = FE_BLOCK_FULL, [7] = FE_BLOCK_OPEN, [9] = FE_BLOCK_FULL, [11] = FE_BLOCK_BAD};
    assert_memory_equal(o.b.state, want, sizeof want);
    assert_int_equal(o.b.fronts[0].open[0], 0);
    assert_int_equal(o.b.fronts[0].open[1], 2);
    assert_int_equal(o.b.fronts[1].open[0], 7);
    assert_int_equal(o.b.pool.n, 4);
    assert_int_equal(o.b.valid[4], N - 2);
    assert_int_equal(ft_rig_count(&o.rig, FE_OP_ERASE), 1);
    write_pages(&o, 12, 3); /* goes on */
    teardown(&o);
}

static void test_blocks_power_on_keeps_the_order_of_age(void **state)
{
    (void)state;
    for (int by_age = 0; by_age < 2; by_age++) {
        struct owner o;
        struct fe_blocks_config fifo = plain;
        fifo.sets[0].policy = FE_GC_FIFO;
        setup_on(&o, &block_ops, &fifo);
        prog_pages(&o, 5, 0, N);
        prog_pages(&o, 1, 4, N);
        prog_pages(&o, 3, 8, 1); /* unfinished; has been chosen for place 0 of die 0 */
        prog_pages(&o, 0, 9, 1);
        find_pages(&o);
        o.b.fronts[0].open[0] = 3;
        sort(&o, by_age);
        assert_int_equal(fe_victims_oldest(&o.b.full[0]), by_age ? 5 : 1);
        assert_int_equal(o.b.fronts[0].open[0], 3);
        assert_int_equal(o.b.fronts[0].open[1], 0);
        teardown(&o);
    }
}

static void test_blocks_power_on_reopens_at_the_place_of_the_die(void **state)
{
    (void)state;
    struct owner o;
    setup_on(&o, &block_ops, &plain);
    prog_pages(&o, 1, 0, 1);
    find_pages(&o);
    sort(&o, true);
    assert_int_equal(o.b.fronts[0].open[0], FE_PEB_NONE);
    assert_int_equal(o.b.fronts[0].open[1], 1);
    teardown(&o);
}

/* No block is free, but three pages fit into the open one.  Block 0 has fewer valid pages, but
 * it is aside, and winning it would not help the pool. */
static void test_blocks_power_on_uses_the_room_of_open_blocks(void **state)
{
    (void)state;
    struct owner o;
    struct fe_blocks_config config = plain;
    config.n_aside = 1;
    config.reserve = 1;
    setup_on(&o, &block_ops, &config);
    for (fe_peb peb = 0; peb < 10; peb++)
        prog_pages(&o, peb, peb * N, N);
    static const fe_lpn written_again[] = {0, 1, 8, 12, 16};
    for (uint32_t i = 0; i < 5; i++)
        prog(&o, 10 + i / N, written_again[i], FE_TAG_DATA);
    find_pages(&o);
    sort(&o, true);
    assert_int_equal(o.b.pool.n, 0);
    assert_int_equal(o.b.valid[0], 2);
    assert_int_equal(fe_blocks_restore(&o.b, NULL), 0);
    assert_right(&o);
    assert_int_equal(o.b.pool.n, 1);
    assert_int_equal(o.n_moves, 3);
    assert_int_equal(o.moved[0], 2 * N + 1);
    teardown(&o);
}

/* No block is free, and each full block of set 0 has 3 valid pages.  Two blocks are filled in part:
 * they have room for 1 and 2 pages, which is just enough, or for 1 and 1.  The erased pages of the
 * special block are no room for plain pages. */
static void test_blocks_power_on_uses_exactly_the_room_of_two_blocks(void **state)
{
    (void)state;
    for (uint32_t room = 2; room <= 3; room++) {
        static const fe_lpn again_written[] = {0, 4, 8, 12, 16, 16};
        struct owner o;
        struct fe_blocks_config config = plain;
        config.reserve = 1;
        setup_on(&o, &block_ops, &config);
        for (fe_peb peb = 0; peb < 9; peb++)
            prog_pages(&o, peb, peb * N, N);
        prog_pages(&o, 9, 9 * N, 1);
        for (uint32_t i = 0; i < 2 * N - room; i++)
            prog(&o, 10 + i / (N - 1), again_written[i], FE_TAG_DATA);
        find_pages(&o);
        sort(&o, true);
        assert_int_equal(o.b.pool.n, 0);
        assert_int_equal(o.b.fronts[0].n_open, 2);
        assert_int_equal(o.b.fronts[1].n_open, 1);
        assert_int_equal(o.b.valid[0], 3);
        assert_int_equal(fe_blocks_restore(&o.b, NULL), 0);
        assert_right(&o);
        assert_int_equal(o.b.pool.n, room == 3);
        assert_int_equal(o.n_moves, room == 3 ? 3 : 0);
        teardown(&o);
    }
}

/* One block is free, the reserve is 2.  Two full blocks have an invalid page each, a third one
 * has two. */
static void test_blocks_power_on_restores_the_reserve(void **state)
{
    (void)state;
    struct owner o;
    struct fe_blocks_config config = plain;
    config.frontiers[0].n = 1;
    setup_on(&o, &block_ops, &config);
    for (fe_peb peb = 0; peb < 8; peb++)
        prog_pages(&o, peb, peb * N, N); /* 0 to 4 are plain, 5 to 7 special */
    prog_pages(&o, 8, SPECIAL + 12, N);
    prog_pages(&o, 9, SPECIAL + 16, N);
    static const fe_lpn twice[] = {0, 4, 8, 9}; /* of blocks 0, 1, 2 and 2 */
    for (uint32_t i = 0; i < 4; i++)
        prog(&o, 10, twice[i], FE_TAG_DATA);
    find_pages(&o);
    sort(&o, true);
    assert_int_equal(o.b.pool.n, 1);
    assert_int_equal(fe_blocks_restore(&o.b, NULL), 0);
    assert_right(&o);
    assert_int_equal(o.b.pool.n, RESERVE);
    assert_int_equal(o.n_moves, 2 + 3 + 3);
    assert_int_equal(o.moved[0], 2 * N + 2); /* the block with the fewest comes first */
    assert_int_equal(o.moved[2], 1);
    assert_int_equal(o.moved[5], N + 1);
    teardown(&o);
}

/* No block is free, and the open one has two erased pages: three do not fit. */
static void test_blocks_power_on_leaves_what_does_not_fit(void **state)
{
    (void)state;
    struct owner o;
    setup_on(&o, &block_ops, &plain);
    for (fe_peb peb = 0; peb < 10; peb++)
        prog_pages(&o, peb, peb * N, N);
    static const fe_lpn again_written[] = {0, 4, 8, 12, 16, 16};
    for (uint32_t i = 0; i < 6; i++)
        prog(&o, 10 + i / N, again_written[i], FE_TAG_DATA);
    find_pages(&o);
    sort(&o, true);
    assert_int_equal(o.b.pool.n, 0);
    assert_int_equal(o.b.valid[0], 3);
    assert_int_equal(fe_blocks_restore(&o.b, NULL), 0);
    assert_int_equal(o.n_moves, 0);
    teardown(&o);
}

/* What was moved, and the block that was being emptied. */
static void interrupted_emptying(struct owner *o)
{
    setup_on(o, &block_ops, &plain);
    for (fe_peb peb = 0; peb < BLOCKS - 2; peb++)
        prog_pages(o, peb, peb * N % LPNS, N);
    o->rig.medium->chip.interrupted.since = o->rig.medium->chip.seq;
    prog(o, 10, 4, FE_TAG_COPY);
    prog(o, 10, 5, FE_TAG_COPY);
    o->rig.medium->chip.interrupted.until = o->rig.medium->chip.seq;
    o->rig.medium->chip.interrupted.peb = 1;
}

static void test_blocks_power_on_drops_what_was_moved(void **state)
{
    (void)state;
    struct owner o;
    interrupted_emptying(&o);
    find_pages(&o);
    assert_int_equal(fe_mapped(o.map[4]), 10 * N);
    assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, false), FE_OK);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 10), 0);
    assert_int_equal(fe_mapped(o.map[4]), 4);
    teardown(&o);

    interrupted_emptying(&o);
    o.b.reserve = 1; /* which is whole */
    find_pages(&o);
    assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, false), FE_OK);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 10), 2);
    teardown(&o);

    interrupted_emptying(&o);
    prog(&o, 10, 30, FE_TAG_DATA); /* has come since */
    find_pages(&o);
    assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, true), FE_OK);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 10), 3);
    teardown(&o);

    interrupted_emptying(&o);
    tear(&o, 5); /* the interrupted block has lost one of them */
    find_pages(&o);
    assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, true), FE_OK);
    assert_int_equal(fe_medium_next_page(o.rig.medium, 10), 2);
    teardown(&o);
}

/* A block that cannot be erased is no free one. */
static void test_blocks_power_on_says_that_an_erase_failed(void **state)
{
    static const struct fe_wear_params first_erase = {.fail_erase = 1, .slow_factor = 1,
                                                      .correctable_bits = 4, .codeword_size = 256};
    (void)state;
    struct owner o;
    worn = &first_erase;
    interrupted_emptying(&o);
    worn = NULL;
    find_pages(&o);
    assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, false), FE_ERASE_FAILED);
    teardown(&o);
}

/* Whether block 10, in which the last pages were programmed, is dropped. */
static bool is_dropped(struct owner *o)
{
    find_pages(o);
    assert_int_equal(fe_blocks_drop_moved(&o->b, o->map, false), FE_OK);
    bool dropped = fe_medium_next_page(o->rig.medium, 10) == 0;
    teardown(o);
    return dropped;
}

/* Only copies that the interrupted emptying has made may go. */
static void test_blocks_power_on_keeps_what_was_not_moved(void **state)
{
    (void)state;
    struct owner o;
    struct fe_interrupted *journal;
    interrupted_emptying(&o);
    assert_true(is_dropped(&o));

    interrupted_emptying(&o);
    journal = &o.rig.medium->chip.interrupted;
    journal->since++; /* the first copy is older */
    assert_false(is_dropped(&o));

    interrupted_emptying(&o);
    journal = &o.rig.medium->chip.interrupted;
    journal->until--; /* the second copy is younger */
    assert_false(is_dropped(&o));

    interrupted_emptying(&o);
    journal = &o.rig.medium->chip.interrupted;
    prog(&o, 10, 6, FE_TAG_DATA); /* the host has written this page anew */
    journal->until++;
    assert_false(is_dropped(&o));

    interrupted_emptying(&o);
    journal = &o.rig.medium->chip.interrupted;
    journal->peb = 10; /* the block itself was emptied */
    assert_false(is_dropped(&o));
}

/* Without a journal only what nothing is mapped to may go, and only if that is asked for. */
static void test_blocks_power_on_drops_without_a_journal(void **state)
{
    (void)state;
    for (int thorough = 0; thorough < 2; thorough++) {
        struct owner o;
        interrupted_emptying(&o);
        o.rig.medium->chip.interrupted.peb = FE_PEB_NONE;
        prog(&o, 10, 6, FE_TAG_COPY);
        prog(&o, 10, 7, FE_TAG_COPY); /* all of block 1 */
        find_pages(&o);
        assert_int_equal(fe_blocks_drop_moved(&o.b, o.map, thorough), FE_OK);
        assert_int_equal(fe_medium_next_page(o.rig.medium, 10), N);
        assert_int_equal(fe_medium_next_page(o.rig.medium, 1), thorough ? 0 : N);
        teardown(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_power_on_sorts),
        cmocka_unit_test(test_blocks_power_on_keeps_the_order_of_age),
        cmocka_unit_test(test_blocks_power_on_reopens_at_the_place_of_the_die),
        cmocka_unit_test(test_blocks_power_on_uses_the_room_of_open_blocks),
        cmocka_unit_test(test_blocks_power_on_uses_exactly_the_room_of_two_blocks),
        cmocka_unit_test(test_blocks_power_on_restores_the_reserve),
        cmocka_unit_test(test_blocks_power_on_leaves_what_does_not_fit),
        cmocka_unit_test(test_blocks_power_on_drops_what_was_moved),
        cmocka_unit_test(test_blocks_power_on_says_that_an_erase_failed),
        cmocka_unit_test(test_blocks_power_on_keeps_what_was_not_moved),
        cmocka_unit_test(test_blocks_power_on_drops_without_a_journal),
    };
    return cmocka_run_group_tests_name("blocks at power-on", tests, NULL, NULL);
}
