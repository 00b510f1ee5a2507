/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sets behind the page strategy: victims for every policy, the heap, and the pool of free
 * blocks.  Each is compared with a plain copy that is searched from one end to the other.
 */
#include "lib/rand.h"
#include "lib/rig.h"
#include "lib/unit.h"

#include "ftl/blocks/pool.h"
#include "ftl/blocks/victim.h"

enum { BLOCKS = 40, PAGES = 6 };

/* A set, and what is known about it: when each block joined, when it last changed. */
struct twin {
    struct fe_victims set;
    uint16_t valid[BLOCKS];
    bool member[BLOCKS];
    uint64_t joined[BLOCKS], changed[BLOCKS], now, changes;
};

static void twin_init(struct twin *t, uint32_t policy, uint32_t d)
{
    struct fe_err err;
    memset(t, 0, sizeof *t);
    assert_int_equal(fe_victims_init(&t->set, policy, d, 9, BLOCKS, PAGES, t->valid, &err), 0);
}

static void twin_check(struct twin *t)
{
    struct fe_err err;
    fe_err_init(&err);
    if (fe_victims_check(&t->set, &err) < 0)
        fail_msg("%s", err.text);
}

static void add(struct twin *t, fe_peb peb, uint32_t valid)
{
    t->valid[peb] = (uint16_t)valid;
    t->member[peb] = true;
    t->joined[peb] = t->now++;
    t->changed[peb] = t->changes;
    fe_victims_add(&t->set, peb);
}

static void take(struct twin *t, fe_peb peb)
{
    t->member[peb] = false;
    fe_victims_remove(&t->set, peb);
}

static void invalidate(struct twin *t, fe_peb peb)
{
    t->valid[peb]--;
    t->changed[peb] = ++t->changes;
    t->now++;
    fe_victims_invalidated(&t->set, peb);
}

static void random_step(struct twin *t, struct ft_rand *r)
{
    fe_peb peb = (fe_peb)ft_below(r, BLOCKS);
    if (!t->member[peb])
        add(t, peb, (uint32_t)ft_below(r, PAGES + 1));
    else if (t->valid[peb] && ft_chance(r, 90))
        invalidate(t, peb);
    else
        take(t, peb);
}

/* Whether peb is no worse than any other member, by a score that is to be large. */
static bool is_best(const struct twin *t, fe_peb peb,
                    double (*score)(const struct twin *t, fe_peb p))
{
    for (fe_peb other = 0; other < BLOCKS; other++)
        if (t->member[other] && score(t, other) > score(t, peb) * (1 + 1e-12))
            return false;
    return t->member[peb];
}

static double fewest(const struct twin *t, fe_peb peb)
{
    return PAGES - t->valid[peb];
}

static double benefit(const struct twin *t, fe_peb peb)
{
    double u = (double)t->valid[peb] / PAGES;
    double age = (double)(t->changes - t->changed[peb] + 1);
    return u > 0 ? age * (1 - u) / (2 * u) : 1e30;
}

static double eldest(const struct twin *t, fe_peb peb)
{
    return 1 / (1.0 + (double)t->joined[peb]);
}

static double any(const struct twin *t, fe_peb peb)
{
    (void)t, (void)peb;
    return 0;
}

static void test_victims_each_policy_finds_the_best(void **state)
{
    (void)state;
    static double (*const score[FE_N_GC_POLICIES])(const struct twin *t, fe_peb peb) = {
        [FE_GC_GREEDY] = fewest,
        [FE_GC_COST_BENEFIT] = benefit,
        [FE_GC_FIFO] = eldest,
        [FE_GC_RANDOM] = any,
        [FE_GC_D_CHOICES] = any,
    };
    for (uint32_t policy = 0; policy < FE_N_GC_POLICIES; policy++) {
        if (!score[policy])
            fail_msg("gc_policy=%s has no score in this test", fe_gc_policy_names[policy]);
        struct twin t;
        struct ft_rand r = {.seed = policy};
        twin_init(&t, policy, 3);
        for (int i = 0; i < 20000; i++) {
            random_step(&t, &r);
            if (i % 16 == 0)
                twin_check(&t);
            uint64_t invalid = 0;
            for (fe_peb peb = 0; peb < BLOCKS; peb++)
                invalid += t.member[peb] ? PAGES - t.valid[peb] : 0;
            assert_int_equal(t.set.n_invalid, invalid);
            fe_peb peb = fe_victims_choose(&t.set);
            assert_true(invalid ? is_best(&t, peb, score[policy]) : peb == FE_PEB_NONE);
        }
        fe_victims_fini(&t.set);
    }
}

/* Among those with equally many, greedy takes the one that has not changed for longest. */
static void test_victims_greedy_takes_the_oldest_of_equals(void **state)
{
    (void)state;
    struct twin t;
    twin_init(&t, FE_GC_GREEDY, 1);
    add(&t, 5, 3);
    add(&t, 2, 4);
    add(&t, 7, 3);
    invalidate(&t, 2);
    assert_int_equal(fe_victims_choose(&t.set), 5);
    take(&t, 5);
    assert_int_equal(fe_victims_choose(&t.set), 7);
    take(&t, 7);
    assert_int_equal(fe_victims_choose(&t.set), 2);
    fe_victims_fini(&t.set);
}

/* With k of n blocks better than the others, d draws find one with 1 - (1 - k/n)^d. */
static void test_victims_d_choices_draws_d_blocks(void **state)
{
    (void)state;
    for (uint32_t d = 1; d <= 4; d++) {
        struct twin t;
        twin_init(&t, FE_GC_D_CHOICES, d);
        for (fe_peb peb = 0; peb < BLOCKS; peb++)
            add(&t, peb, peb < BLOCKS / 4 ? 1 : 2);
        uint32_t found = 0, each[BLOCKS] = {0};
        for (int i = 0; i < 20000; i++) {
            fe_peb peb = fe_victims_choose(&t.set);
            each[peb]++;
            found += peb < BLOCKS / 4;
        }
        double miss = 1;
        for (uint32_t i = 0; i < d; i++)
            miss *= 0.75;
        double off = found / 20000.0 - (1 - miss);
        assert_true(off < 0.015 && off > -0.015);
        for (fe_peb peb = 0; peb < BLOCKS / 4; peb++)
            assert_true(each[peb] > 400 * d / 2 && each[peb] < 800 * d);
        fe_victims_fini(&t.set);
    }
}

/* One invalid page among all: random comes to it all the same. */
static void test_victims_random_policies_are_not_fruitless_for_long(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= BLOCKS; n++) {
        struct twin t;
        twin_init(&t, n % 2 ? FE_GC_RANDOM : FE_GC_D_CHOICES, 2);
        for (fe_peb peb = 0; peb < n; peb++)
            add(&t, peb, PAGES);
        assert_int_equal(fe_victims_choose(&t.set), FE_PEB_NONE);
        invalidate(&t, n / 2);
        uint32_t choices = 1;
        while (fe_victims_choose(&t.set) != n / 2)
            choices++;
        assert_true(choices <= n + 1);
        fe_victims_fini(&t.set);
    }
}

static void test_victims_check_finds_what_is_wrong(void **state)
{
    (void)state;
    for (uint32_t policy = 0; policy < FE_N_GC_POLICIES; policy++) {
        struct twin t;
        struct fe_err err;
        twin_init(&t, policy, 2);
        add(&t, 3, 4);
        add(&t, 4, 4);
        twin_check(&t);
        t.valid[4] = 2; /* not told */
        fe_err_init(&err);
        assert_true(fe_victims_check(&t.set, &err) < 0);
        t.valid[4] = 4;
        t.set.n_invalid++;
        fe_err_init(&err);
        assert_true(fe_victims_check(&t.set, &err) < 0);
        t.set.n_invalid--;
        twin_check(&t);
        if (t.set.stamp) { /* the block that joined first says that it is the newest */
            t.set.stamp[3] = t.set.stamp[4] + 1;
            fe_err_init(&err);
            assert_true(fe_victims_check(&t.set, &err) < 0);
        }
        fe_victims_fini(&t.set);
    }
}

static void test_heap_gives_the_smallest_and_lets_others_go(void **state)
{
    (void)state;
    struct fe_heap h;
    struct fe_heap_item items[BLOCKS];
    uint32_t place[BLOCKS];
    uint64_t key[BLOCKS];
    bool in[BLOCKS] = {false};
    struct ft_rand r = {.seed = 4};
    fe_heap_init(&h, items, place);
    for (int i = 0; i < 20000; i++) {
        fe_peb peb = (fe_peb)ft_below(&r, BLOCKS);
        if (in[peb]) {
            fe_heap_remove(&h, peb);
            in[peb] = false;
        } else {
            key[peb] = ft_below(&r, 50);
            fe_heap_push(&h, peb, key[peb]);
            in[peb] = true;
        }
        assert_true(fe_heap_check(&h));
        if (i % 5)
            continue;
        fe_peb top = fe_heap_pop(&h);
        for (fe_peb p = 0; p < BLOCKS; p++)
            assert_true(!in[p] || (top != FE_PEB_NONE && key[p] >= key[top]));
        if (top != FE_PEB_NONE)
            in[top] = false;
    }
}

/* Blocks with random wear come and go; want: what take must give, by force. */
static void test_pool_orders_by_arrival_or_by_wear(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand(3, 8, 4, 512);
    for (uint32_t levelling = 0; levelling < FE_N_WEAR_LEVELLINGS; levelling++) {
        struct ft_rig rig;
        struct fe_block_pool pool;
        struct fe_err err;
        struct ft_rand r = {.seed = levelling};
        uint64_t arrival[24] = {0}, now = 0;
        bool free[24] = {false};
        fe_err_init(&err);
        ft_rig_init(&rig, &nand);
        assert_int_equal(fe_block_pool_init(&pool, rig.medium, levelling, &err), 0);
        assert_int_equal(fe_block_pool_take(&pool, 0), FE_PEB_NONE);
        for (int i = 0; i < 5000; i++) {
            fe_peb peb = (fe_peb)ft_below(&r, 24);
            if (!free[peb]) {
                rig.medium->chip.pebs[peb].erase_count = (uint32_t)ft_below(&r, 5);
                fe_block_pool_put(&pool, peb);
                free[peb] = true;
                arrival[peb] = now++;
            } else {
                uint32_t n[3] = {0}, die = (uint32_t)ft_below(&r, 3), from = die;
                for (fe_peb p = 0; p < 24; p++)
                    n[p % 3] += free[p];
                for (uint32_t d = 0; d < 3 && n[die] == 0; d++)
                    from = n[d] > n[from] ? d : from;
                fe_peb best = FE_PEB_NONE, got = fe_block_pool_take(&pool, die);
                for (fe_peb p = from; p < 24; p += 3) {
                    uint32_t e = fe_medium_erase_count(rig.medium, p);
                    uint32_t least =
                        best == FE_PEB_NONE ? 0 : fe_medium_erase_count(rig.medium, best);
                    if (free[p] && (best == FE_PEB_NONE ||
                                    (levelling != FE_WEAR_OFF && e < least) ||
                                    ((levelling == FE_WEAR_OFF || e == least) &&
                                     arrival[p] < arrival[best])))
                        best = p;
                }
                assert_int_equal(got, best);
                free[got] = false;
            }
            if (fe_block_pool_check(&pool, &err) < 0)
                fail_msg("%s", err.text);
        }
        if (levelling == FE_WEAR_STATIC)
            for (uint32_t last = UINT32_MAX; pool.n;) {
                fe_peb peb = fe_block_pool_take_worn(&pool);
                assert_true(fe_medium_erase_count(rig.medium, peb) <= last);
                last = fe_medium_erase_count(rig.medium, peb);
                assert_int_equal(fe_block_pool_check(&pool, &err), 0);
            }
        fe_block_pool_fini(&pool);
        ft_rig_fini(&rig);
    }
}

/* A pool that was filled gives what one gives that was put each block in order: with bad blocks, on
 * a new chip and on a worn one, however blocks come and go. */
static void test_pool_is_filled_as_by_putting(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand(3, 8, 4, 512);
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct ft_rig rig;
        struct fe_block_pool filled, put;
        struct fe_err err;
        struct ft_rand r = {.seed = seed};
        uint32_t levelling = (uint32_t)(seed % FE_N_WEAR_LEVELLINGS);
        bool is_worn = seed % 2;
        fe_peb first = (fe_peb)ft_below(&r, 7), taken[24];
        uint32_t n_taken = 0, most = 0;
        fe_err_init(&err);
        ft_rig_init(&rig, &nand);
        assert_int_equal(fe_block_pool_init(&filled, rig.medium, levelling, &err), 0);
        assert_int_equal(fe_block_pool_init(&put, rig.medium, levelling, &err), 0);
        for (fe_peb peb = first; peb < 24; peb++) {
            struct fe_peb_info *info = &rig.medium->chip.pebs[peb];
            info->erase_count = is_worn ? (uint32_t)ft_below(&r, 3) : 0;
            info->marks = ft_chance(&r, 15) ? FE_MARK_FACTORY_BAD : 0;
            if (info->marks)
                continue;
            fe_block_pool_put(&put, peb);
            most = info->erase_count > most ? info->erase_count : most;
        }
        assert_int_equal(fe_block_pool_fill(&filled, first, 24), most);
        for (int i = 0; i < 300; i++) {
            assert_int_equal(filled.n, put.n);
            assert_int_equal(fe_block_pool_check(&filled, &err), 0);
            if (n_taken > 0 && ft_chance(&r, 45)) {
                uint32_t k = (uint32_t)ft_below(&r, n_taken--);
                fe_peb peb = taken[k];
                taken[k] = taken[n_taken];
                rig.medium->chip.pebs[peb].erase_count++;
                fe_block_pool_put(&filled, peb);
                fe_block_pool_put(&put, peb);
                continue;
            }
            bool worn = levelling == FE_WEAR_STATIC && ft_chance(&r, 30);
            uint32_t die = (uint32_t)ft_below(&r, 3);
            fe_peb peb = worn ? fe_block_pool_take_worn(&filled) : fe_block_pool_take(&filled, die);
            assert_int_equal(peb, worn ? fe_block_pool_take_worn(&put)
                                       : fe_block_pool_take(&put, die));
            if (peb != FE_PEB_NONE)
                taken[n_taken++] = peb;
        }
        fe_block_pool_fini(&filled);
        fe_block_pool_fini(&put);
        ft_rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_victims_each_policy_finds_the_best),
        cmocka_unit_test(test_victims_greedy_takes_the_oldest_of_equals),
        cmocka_unit_test(test_victims_d_choices_draws_d_blocks),
        cmocka_unit_test(test_victims_random_policies_are_not_fruitless_for_long),
        cmocka_unit_test(test_victims_check_finds_what_is_wrong),
        cmocka_unit_test(test_heap_gives_the_smallest_and_lets_others_go),
        cmocka_unit_test(test_pool_orders_by_arrival_or_by_wear),
        cmocka_unit_test(test_pool_is_filled_as_by_putting),
    };
    return cmocka_run_group_tests_name("page sets", tests, NULL, NULL);
}
