/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which frame is taken next: the free ones in the order of their addresses, group by group.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "store/frame_pool.h"

enum { SHIFT = 3, GROUP = 1 << SHIFT };

static struct fe_frame_pool make(uint32_t n_frames, uint32_t shift, uint32_t max_spare)
{
    struct fe_frame_pool p;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_frame_pool_init(&p, n_frames, shift, max_spare, &err), 0);
    return p;
}

static uint32_t take(struct fe_frame_pool *p)
{
    bool is_fresh;
    return fe_frame_pool_take(p, &is_fresh);
}

static void test_free_frames_come_before_fresh_ones(void **state)
{
    (void)state;
    struct fe_frame_pool p = make(3 * GROUP, SHIFT, 0);
    bool is_fresh;
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(fe_frame_pool_take(&p, &is_fresh), i);
        assert_true(is_fresh);
    }
    fe_frame_pool_drop(&p, 4);
    assert_int_equal(fe_frame_pool_take(&p, &is_fresh), 4);
    assert_false(is_fresh);
    assert_int_equal(fe_frame_pool_take(&p, &is_fresh), 10);
    assert_true(is_fresh);
    fe_frame_pool_fini(&p);
}

/* The present group goes on behind what was taken last, and from its beginning at its end.  Then comes
 * the group that has most free frames; of several the one that became so latest. */
static void test_groups_in_their_order(void **state)
{
    (void)state;
    struct fe_frame_pool p = make(4 * GROUP, SHIFT, 0);
    for (uint32_t i = 0; i < 4 * GROUP; i++)
        assert_int_equal(take(&p), i);
    const uint32_t dropped[] = {5, 3, 6, 17, 11, 30, 16}, order[] = {3, 5, 6, 16, 17, 30, 11};
    for (size_t i = 0; i < ft_array_len(dropped); i++)
        fe_frame_pool_drop(&p, dropped[i]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(take(&p), order[i]);
    fe_frame_pool_drop(&p, 0); /* behind the search: comes when the rest of the group has */
    fe_frame_pool_drop(&p, 4);
    assert_int_equal(take(&p), 6);
    assert_int_equal(take(&p), 0);
    assert_int_equal(take(&p), 4);
    for (size_t i = 3; i < ft_array_len(order); i++)
        assert_int_equal(take(&p), order[i]);
    fe_frame_pool_fini(&p);
}

/* Blocks in stripes, written in order and given back block by block, round after round: neighbours
 * stay neighbours. */
static void test_stripes_stay_together(void **state)
{
    (void)state;
    enum { BLOCKS = 8, PAGES = 64, ROUNDS = 20 };
    struct fe_frame_pool p = make(2 * BLOCKS * PAGES, 6, 0);
    uint32_t old[BLOCKS * PAGES], now[BLOCKS * PAGES], apart = 0;
    for (uint32_t i = 0; i < BLOCKS * PAGES; i++)
        old[i] = take(&p);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < BLOCKS * PAGES; i++) {
            now[i] = take(&p);
            apart += i > 0 && now[i] != now[i - 1] + 1;
        }
        for (uint32_t block = 0; block < BLOCKS; block++)
            for (uint32_t i = block; i < BLOCKS * PAGES; i += BLOCKS)
                fe_frame_pool_drop(&p, old[i]);
        memcpy(old, now, sizeof old);
    }
    assert_in_range(apart, 0, ROUNDS * BLOCKS); /* of ROUNDS * 511 */
    fe_frame_pool_fini(&p);
}

/* There is one spare frame for each 32 that are used, up to the limit. */
static void test_spare_frames(void **state)
{
    (void)state;
    struct fe_frame_pool p = make(1000, SHIFT, 2);
    bool is_fresh;
    for (uint32_t i = 0; i < 63; i++)
        take(&p);
    fe_frame_pool_drop(&p, 5); /* 62 are used: this is the spare one */
    assert_int_equal(fe_frame_pool_take(&p, &is_fresh), 5);
    fe_frame_pool_drop(&p, 5);
    for (uint32_t i = 63; i < 66; i++)
        take(&p);
    fe_frame_pool_drop(&p, 7);
    assert_int_equal(fe_frame_pool_take(&p, &is_fresh), 65);
    assert_true(is_fresh);
    for (uint32_t i = 66; i < 200; i++)
        take(&p);
    for (uint32_t i = 0; i < 2; i++)
        fe_frame_pool_drop(&p, 10 + i);
    (void)fe_frame_pool_take(&p, &is_fresh); /* six may be, but two are the limit */
    assert_false(is_fresh);
    fe_frame_pool_fini(&p);
}

/* Many free frames are twice the spare ones. */
static void test_whole_groups_come_last_if_many_are_free(void **state)
{
    (void)state;
    for (uint32_t max_spare = 5; max_spare <= 6; max_spare++) {
        struct fe_frame_pool p = make(10 * GROUP, SHIFT, max_spare);
        bool is_fresh;
        for (uint32_t i = 0; i < 10 * GROUP; i++)
            assert_int_equal(take(&p), i);
        fe_frame_pool_drop(&p, 0); /* the present group */
        assert_int_equal(take(&p), 0);
        for (uint32_t i = 0; i < GROUP; i++)
            fe_frame_pool_drop(&p, 2 * GROUP + i);
        for (uint32_t i = 0; i < 3; i++)
            fe_frame_pool_drop(&p, 4 * GROUP + i);
        uint32_t first = max_spare == 5 ? 4 * GROUP : 2 * GROUP;
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(fe_frame_pool_take(&p, &is_fresh), first + i);
        fe_frame_pool_fini(&p);
    }
}

/* Pages that were written at random lie at random.  When they are overwritten in order again and
 * again, they lie in order in the end. */
static void test_order_comes_back(void **state)
{
    (void)state;
    enum { PAGES = 8192, ROUNDS = 30 };
    struct ft_rand r = {.seed = 1};
    struct fe_frame_pool p = make(2 * PAGES, 4, PAGES);
    static uint32_t frame[PAGES];
    uint32_t n_next = 0;
    for (uint32_t i = 0; i < PAGES; i++)
        frame[i] = take(&p);
    for (uint32_t i = 0; i < 10 * PAGES; i++) {
        uint32_t page = (uint32_t)ft_below(&r, PAGES), now = take(&p);
        fe_frame_pool_drop(&p, frame[page]);
        frame[page] = now;
    }
    for (uint32_t i = 0; i < ROUNDS * PAGES; i++) {
        uint32_t now = take(&p);
        fe_frame_pool_drop(&p, frame[i % PAGES]);
        frame[i % PAGES] = now;
    }
    for (uint32_t i = 1; i < PAGES; i++)
        n_next += frame[i] == frame[i - 1] + 1;
    assert_true(n_next > PAGES * 9 / 10); /* 15 of 16 in the best case */
    assert_true(p.n_fresh <= PAGES + PAGES / 32 + 1);
    fe_frame_pool_fini(&p);
}

/* At random, against a plain list of what is used. */
static void check(uint64_t seed, uint32_t n, uint32_t shift, uint32_t max_spare)
{
    struct ft_rand r = {.seed = seed};
    struct fe_frame_pool p = make(n, shift, max_spare);
    bool *used = calloc(n, sizeof *used), *touched = calloc(n, sizeof *touched), is_fresh;
    uint32_t n_used = 0;
    assert_true(used && touched);
    for (int step = 0; step < 5000; step++) {
        unsigned percent = step / 1000 % 2 ? 30 : 70; /* fills, and empties again */
        if (n_used < n && (n_used == 0 || ft_chance(&r, percent))) {
            uint32_t f = fe_frame_pool_take(&p, &is_fresh);
            assert_true(f < n && !used[f]);
            assert_int_equal(is_fresh, !touched[f]);
            used[f] = touched[f] = true;
            n_used++;
        } else {
            uint32_t f = (uint32_t)ft_below(&r, n);
            while (!used[f])
                f = (f + 1) % n;
            used[f] = false;
            n_used--;
            fe_frame_pool_drop(&p, f);
        }
    }
    fe_frame_pool_fini(&p);
    free(used);
    free(touched);
}

static void test_at_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        check(seed, (uint32_t)(1 + seed * 37 % 700), seed % 10, (uint32_t)(seed % 4 * 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_frames_come_before_fresh_ones),
        cmocka_unit_test(test_groups_in_their_order),
        cmocka_unit_test(test_stripes_stay_together),
        cmocka_unit_test(test_spare_frames),
        cmocka_unit_test(test_whole_groups_come_last_if_many_are_free),
        cmocka_unit_test(test_order_comes_back),
        cmocka_unit_test(test_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
