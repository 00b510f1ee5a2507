/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which frame is taken next: the free ones in the order of their addresses, group by group.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "store/frame_pool.h"

enum { SHIFT = 3, GROUP = 1 << SHIFT };

static struct fe_frame_pool make(uint32_t n_frames, uint32_t shift)
{
    struct fe_frame_pool p;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_frame_pool_init(&p, n_frames, shift, &err), 0);
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
    struct fe_frame_pool p = make(3 * GROUP, SHIFT);
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
 * the group that got a free frame latest. */
static void test_groups_in_their_order(void **state)
{
    (void)state;
    struct fe_frame_pool p = make(4 * GROUP, SHIFT);
    for (uint32_t i = 0; i < 4 * GROUP; i++)
        assert_int_equal(take(&p), i);
    const uint32_t dropped[] = {5, 3, 6, 17, 11, 16}, order[] = {3, 5, 6, 11, 16, 17};
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
    struct fe_frame_pool p = make(2 * BLOCKS * PAGES, 6);
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

/* At random, against a plain list of what is used. */
static void check(uint64_t seed, uint32_t n, uint32_t shift)
{
    struct ft_rand r = {.seed = seed};
    struct fe_frame_pool p = make(n, shift);
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
        check(seed, (uint32_t)(1 + seed * 37 % 700), seed % 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_frames_come_before_fresh_ones),
        cmocka_unit_test(test_groups_in_their_order),
        cmocka_unit_test(test_stripes_stay_together),
        cmocka_unit_test(test_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
