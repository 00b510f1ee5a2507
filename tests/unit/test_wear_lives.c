/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long blocks and devices live, against the order statistics of lognormal lives; and how slow
 * they become on the way, by hand.
 */
#include "lib/rig.h"
#include "lib/unit.h"

#include <math.h>
#include <stdlib.h>

#define PAGE 512u
#define B    4u /* pages of a block */

static const struct fe_wear_params plain = {
    .spare_blocks = 2, .slow_factor = 3, .correctable_bits = 8, .codeword_size = 256,
    .refresh_bits = 6};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The p-quantile of n sorted values is median x e^(sigma z), give or take this share. */
static void expect_quantile(const uint64_t *sorted, uint32_t n, double p, double median,
                            double sigma_z, double tolerance)
{
    double want = median * exp(sigma_z), got = (double)sorted[(uint32_t)(p * n)];
    if (fabs(got / want - 1) > tolerance)
        fail_msg("quantile %g: %g, must be %g", p, got, want);
}

/* How many erases the peb of a new chip stands. */
static uint64_t life_of(const struct fe_nand_params *p, const struct fe_wear_params *w, fe_peb peb)
{
    struct ft_rig rig;
    uint64_t n = 0;
    ft_rig_init_worn(&rig, p, w);
    for (; rig.medium->counters.erase_failures == 0; n++)
        assert_int_equal(fe_medium_erase(rig.medium, peb), FE_OK);
    ft_rig_fini(&rig);
    return n - 1;
}

/* 400 blocks, sigma 0.3: of the weakest, the median of the first order statistic is at
 * 1 - 0.5^(1/400) = 0.00173, z = -2.923; it is within a fifth in 9 of 10 seeds. */
static void test_lives_of_blocks_have_their_order(void **state)
{
    (void)state;
    enum { N = 400 };
    struct fe_wear_params w = plain;
    struct fe_nand_params p = ft_nand(1, N + 2, B, PAGE);
    uint64_t lives[N];
    p.endurance = 1000;
    w.life_spread_ppm = 300000;
    w.life_shape = FE_LIFE_LOGNORMAL;
    for (fe_peb peb = 0; peb < N; peb++)
        lives[peb] = life_of(&p, &w, peb);
    qsort(lives, N, sizeof *lives, compare);
    expect_quantile(lives, N, 0, 1000, 0.3 * -2.923, 0.2);
    expect_quantile(lives, N, 0.1, 1000, 0.3 * -1.2816, 0.06);
    expect_quantile(lives, N, 0.5, 1000, 0, 0.04);
    expect_quantile(lives, N, 0.9, 1000, 0.3 * 1.2816, 0.06);
    expect_quantile(lives, N, 0.9999, 1000, 0.3 * 2.923, 0.2);
}

static void test_lives_of_devices_spread_by_seed(void **state)
{
    (void)state;
    enum { N = 20000 };
    static uint64_t lives[N];
    struct fe_wear_params w = plain;
    double mean = 0;
    assert_int_equal(fe_failures_endurance(&w, 3000, 5), 3000);
    w.device_spread_ppm = 900000;
    for (uint64_t seed = 0; seed < N; seed++) {
        lives[seed] = fe_failures_endurance(&w, 3000, seed);
        mean += (double)lives[seed] / N;
    }
    assert_int_equal(fe_failures_endurance(&w, 0, 5), 0); /* without limit */
    qsort(lives, N, sizeof *lives, compare);
    expect_quantile(lives, N, 0.01, 3000, 0.9 * -2.3263, 0.06);
    expect_quantile(lives, N, 0.25, 3000, 0.9 * -0.6745, 0.025);
    expect_quantile(lives, N, 0.5, 3000, 0, 0.025);
    expect_quantile(lives, N, 0.75, 3000, 0.9 * 0.6745, 0.025);
    expect_quantile(lives, N, 0.99, 3000, 0.9 * 2.3263, 0.06);
    assert_true(fabs(mean / (3000 * exp(0.9 * 0.9 / 2)) - 1) < 0.03);
    w.device_spread_ppm = 3000000;
    for (uint64_t seed = 0; seed < N; seed++)
        assert_true(fe_failures_endurance(&w, 1, seed) >= 1);
}

/* Quantiles of a normal distribution: one device of ten lies 1.2816 standard deviations below the
 * median or more.  A draw by the seed has the rank as its median. */
static void test_lives_of_devices_have_a_rank(void **state)
{
    (void)state;
    enum { N = 20000 };
    static uint64_t lives[N];
    static const struct {
        uint64_t rank_ppm;
        double z;
    } ranks[] = {{10000, -2.3263}, {100000, -1.2816}, {250000, -0.6745}, {900000, 1.2816}};
    struct fe_wear_params w = plain;
    w.rank_ppm = 100000;
    assert_int_equal(fe_failures_endurance(&w, 3000, 5), 3000); /* devices of this kind are alike */
    w.kind_spread_ppm = 800000;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        w.rank_ppm = ranks[i].rank_ppm;
        double life = (double)fe_failures_endurance(&w, 3000000, 5);
        assert_true(fabs(life / (3000000 * exp(0.8 * ranks[i].z)) - 1) < 0.003);
        assert_int_equal(fe_failures_endurance(&w, 3000000, 6), (uint64_t)life);
        assert_int_equal(fe_failures_endurance(&w, 0, 5), 0);
    }
    w.rank_ppm = 500000;
    assert_int_equal(fe_failures_endurance(&w, 3000, 5), 3000);
    w.kind_spread_ppm = 3000000;
    w.rank_ppm = 0;
    assert_true(fe_failures_endurance(&w, 1, 5) >= 1);
    w.rank_ppm = 1000000;
    assert_true(fe_failures_endurance(&w, 3000, 5) > 3000);
    w = (struct fe_wear_params){.kind_spread_ppm = 800000, .rank_ppm = 100000, .device_spread_ppm = 300000};
    for (uint64_t seed = 0; seed < N; seed++)
        lives[seed] = fe_failures_endurance(&w, 3000000, seed);
    qsort(lives, N, sizeof *lives, compare);
    expect_quantile(lives, N, 0.5, 3000000, 0.8 * -1.2816, 0.02);
    expect_quantile(lives, N, 0.9, 3000000, 0.8 * -1.2816 + 0.3 * 1.2816, 0.02);
}

/* The spread of the device moves every block by one factor, in SLC mode as well. */
static void test_lives_of_a_device_have_one_factor(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_wear_params w = plain;
    struct fe_nand_params p = ft_nand(2, 5, B, PAGE);
    p.endurance = 400;
    p.slc_endurance = 4000;
    w.device_spread_ppm = 500000;
    uint64_t mine = fe_failures_endurance(&w, 400, 1);
    assert_true(mine < 380 || mine > 420);
    for (fe_peb peb = 0; peb < 8; peb++)
        assert_int_equal(life_of(&p, &w, peb), mine);
    ft_rig_init_worn(&rig, &p, &w);
    assert_int_equal(rig.medium->wear->endurance, mine);
    assert_in_range(rig.medium->wear->slc_endurance, 10 * mine, 10 * mine + 10);
    ft_rig_fini(&rig);
    p.slc_endurance = 0;
    ft_rig_init_worn(&rig, &p, &w);
    assert_int_equal(rig.medium->wear->slc_endurance, mine);
    ft_rig_fini(&rig);
}

/* ---- slower with wear ---- */

/* What the cells take for a program, a read and an erase of peb 2 with so many cycles. */
static void expect_times(struct ft_rig *rig, uint32_t cycles, uint64_t prog, uint64_t read,
                         uint64_t erase)
{
    uint8_t data[PAGE] = {0};
    uint32_t n;
    assert_int_equal(fe_wear_set_cycles(rig->medium, 2, cycles, NULL), 0);
    ft_rig_clear(rig);
    assert_int_equal(fe_medium_prog(rig->medium, 2 * B, 1, 0, FE_PPN_NONE, 0, PAGE, data), FE_OK);
    assert_int_equal(fe_medium_read(rig->medium, 2 * B, 0, PAGE, data), FE_OK);
    assert_int_equal(fe_medium_erase(rig->medium, 2), FE_OK);
    const struct fe_op *ops = ft_rig_ops(rig, &n);
    assert_int_equal(n, 3);
    assert_int_equal(ops[0].cell_ns, prog);
    assert_int_equal(ops[1].cell_ns, read);
    assert_int_equal(ops[2].cell_ns, erase);
}

/* tPROG 200 us, tR 25 us, tBERS 1.5 ms; at 800 of 1000 cycles the 32nd power is 0.000792. */
static void test_lives_slow_with_the_cycles(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params p = ft_nand(2, 5, B, PAGE);
    struct fe_wear_params w = plain;
    w.end_of_life = FE_EOL_SLOW;
    p.endurance = 1000;
    p.worn = (struct fe_slowdown){.program_ppm = 500000, .read_ppm = 2000000, .erase_ppm = 100000};
    ft_rig_init_worn(&rig, &p, &w);
    expect_times(&rig, 0, 200000, 25000, 1500000);
    expect_times(&rig, 250, 225000, 37500, 1537500);
    expect_times(&rig, 800, 280000, 65000, 1620000);
    ft_rig_fini(&rig);
    p.worn = (struct fe_slowdown){.end_ppm = 10000000};
    ft_rig_init_worn(&rig, &p, &w);
    expect_times(&rig, 400, 200000, 25000, 1500000);
    expect_times(&rig, 800, 201584, 25198, 1511884); /* 10 x 0.8^32 = 0.0079228 */
    expect_times(&rig, 999, 2136982, 267122, 16027365); /* 10 x 0.999^32 = 9.684911 */
    ft_rig_fini(&rig);
}

/* The end of a device that has drawn another endurance comes with that; without limit none comes. */
static void test_lives_slow_by_their_own_endurance(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params p = ft_nand(2, 5, B, PAGE);
    struct fe_wear_params w = plain;
    p.endurance = 1000;
    p.worn = (struct fe_slowdown){.program_ppm = 1000000};
    w.device_spread_ppm = 500000;
    uint64_t mine = fe_failures_endurance(&w, 1000, 1);
    ft_rig_init_worn(&rig, &p, &w);
    expect_times(&rig, (uint32_t)(mine / 4), 200000 + 200000 * (mine / 4) / mine, 25000, 1500000);
    ft_rig_fini(&rig);
    p.endurance = 0;
    ft_rig_init_worn(&rig, &p, &plain);
    expect_times(&rig, 1000000, 200000, 25000, 1500000);
    ft_rig_fini(&rig);
}

/* A page with 7 wrong bits in its first codeword is sensed once more for each 3 of them, when it is
 * read as when it is copied. */
static void test_lives_read_again_for_wrong_bits(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params p = ft_nand(2, 5, B, PAGE);
    struct fe_wear_params w = plain;
    uint8_t data[PAGE] = {0};
    uint32_t n;
    w.ber.fresh = 1;
    w.retry_bits = 3;
    p.worn = (struct fe_slowdown){.read_ppm = 1000000};
    p.endurance = 1000;
    ft_rig_init_worn(&rig, &p, &w);
    assert_int_equal(fe_wear_set_cycles(rig.medium, 0, 500, NULL), 0);
    assert_int_equal(fe_medium_prog(rig.medium, 0, 1, 0, FE_PPN_NONE, 0, PAGE, data), FE_OK);
    for (uint32_t bits = 0; bits < 8; bits++) {
        ft_rig_clear(&rig);
        assert_true(fe_medium_read(rig.medium, 0, 0, PAGE, data) <= FE_CORRECTED);
        assert_int_equal(ft_rig_ops(&rig, &n)[0].cell_ns, 37500 * (1 + bits / 3));
        assert_int_equal(fe_wear_flip(rig.medium, 0, 1, NULL), 0);
    }
    ft_rig_clear(&rig);
    assert_int_equal(fe_medium_prog(rig.medium, B, 1, 0, 0, 0, 0, NULL), FE_OK);
    assert_int_equal(ft_rig_ops(&rig, &n)[0].cell_ns, 37500 * (1 + 8 / 3));
    ft_rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives_of_blocks_have_their_order),
        cmocka_unit_test(test_lives_of_devices_spread_by_seed),
        cmocka_unit_test(test_lives_of_devices_have_a_rank),
        cmocka_unit_test(test_lives_of_a_device_have_one_factor),
        cmocka_unit_test(test_lives_slow_with_the_cycles),
        cmocka_unit_test(test_lives_slow_by_their_own_endurance),
        cmocka_unit_test(test_lives_read_again_for_wrong_bits),
    };
    return cmocka_run_group_tests_name("wear_lives", tests, NULL, NULL);
}
