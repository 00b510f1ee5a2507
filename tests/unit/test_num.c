/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The quick division is compared with `/` where it could go wrong: around every
 * multiple of the divisor and at the ends of the range, for all small divisors and
 * those around powers of two.
 */
#include "lib/abort.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "base/num.h"

static void check_div(uint32_t n, uint32_t d, struct fe_fastdiv f)
{
    if (fe_fastdiv(n, f) != n / d || fe_fastmod(n, f) != n % d)
        fail_msg("%u / %u: %u rest %u", n, d, fe_fastdiv(n, f), fe_fastmod(n, f));
}

static void check_divisor(uint32_t d, struct ft_rand *rand)
{
    struct fe_fastdiv f = fe_fastdiv_init(d);
    uint32_t most = UINT32_MAX / d; /* multiples */
    for (uint32_t k = 0; k < 64; k++) {
        uint32_t small = (k <= most ? k : most) * d, large = (most - (k <= most ? k : most)) * d;
        uint32_t some = (uint32_t)ft_below(rand, (uint64_t)most + 1) * d;
        for (int step = -1; step <= 1; step++) {
            check_div(small + (uint32_t)step, d, f);
            check_div(large + (uint32_t)step, d, f);
            check_div(some + (uint32_t)step, d, f);
        }
        check_div(k, d, f);
        check_div(UINT32_MAX - k, d, f);
        check_div((uint32_t)ft_rand(rand), d, f);
    }
}

static void test_num_fastdiv_equals_division(void **state)
{
    (void)state;
    struct ft_rand rand = {.seed = 1};
    for (uint32_t d = 1; d <= 5000; d++)
        check_divisor(d, &rand);
    for (unsigned bit = 12; bit < 32; bit++)
        for (int step = -2; step <= 2; step++)
            check_divisor((UINT32_C(1) << bit) + (uint32_t)step, &rand);
    for (uint32_t k = 0; k < 8; k++)
        check_divisor(UINT32_MAX - k, &rand);
    for (int i = 0; i < 2000; i++)
        check_divisor((uint32_t)ft_rand(&rand) | 1, &rand);
}

static void test_num_fastdiv_equals_division_for_every_small_number(void **state)
{
    (void)state;
    const uint32_t divisors[] = {1, 2, 3, 7, 12, 64, 65, 130, 641, 65535, 65536, 65537};
    for (size_t i = 0; i < ft_array_len(divisors); i++) {
        struct fe_fastdiv f = fe_fastdiv_init(divisors[i]);
        for (uint32_t n = 0; n < (1u << 18); n++)
            check_div(n, divisors[i], f);
        for (uint32_t n = 0; n < UINT32_MAX - 65521; n += 65521)
            check_div(n, divisors[i], f);
    }
}

static void test_num_muldiv_rounds_once_and_uses_128_bits(void **state)
{
    (void)state;
    assert_int_equal(fe_muldiv(7, 3, 4), 5);
    assert_int_equal(fe_muldiv_up(7, 3, 4), 6);
    assert_int_equal(fe_muldiv_up(8, 3, 4), 6);
    assert_int_equal(fe_muldiv_up(0, 5, 3), 0);
    assert_int_equal(fe_muldiv_up(1, 1, UINT64_MAX), 1);
    assert_int_equal(fe_muldiv(1, 1, UINT64_MAX), 0);
    assert_true(fe_muldiv(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
    assert_true(fe_muldiv_up(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
    assert_true(fe_muldiv_up(UINT64_MAX, 1, 2) == UINT64_C(1) << 63); /* the product fits, but */
    assert_true(fe_muldiv_up(UINT64_MAX, 1, 3) == UINT64_MAX / 3);
    assert_true(fe_muldiv_up(UINT64_MAX - 1, 1, 2) == UINT64_MAX / 2);
    assert_true(fe_muldiv_up(UINT64_MAX - 1, UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    assert_true(fe_muldiv(UINT64_C(1) << 40, UINT64_C(1) << 40, UINT64_C(1) << 20) ==
                UINT64_C(1) << 60);
    assert_true(fe_muldiv_up((UINT64_C(1) << 40) + 1, 1000000000, 1000000000) ==
                (UINT64_C(1) << 40) + 1);
}

static void test_num_muldiv_agrees_with_small_numbers(void **state)
{
    (void)state;
    for (uint64_t a = 0; a < 40; a++)
        for (uint64_t b = 0; b < 40; b++)
            for (uint64_t c = 1; c < 40; c++) {
                assert_true(fe_muldiv(a, b, c) == a * b / c);
                assert_true(fe_muldiv_up(a, b, c) == (a * b + c - 1) / c);
            }
}

static void overflow_up(void *ctx)
{
    (void)ctx;
    volatile uint64_t big = UINT64_MAX;
    fe_muldiv_up(big, 2, 1);
}

static void overflow_down(void *ctx)
{
    (void)ctx;
    volatile uint64_t big = UINT64_MAX;
    fe_muldiv(big, 3, 2);
}

static void divide_by_zero(void *ctx)
{
    (void)ctx;
    volatile uint32_t zero = 0;
    fe_fastdiv_init(zero);
}

static void test_num_result_that_does_not_fit_aborts(void **state)
{
    (void)state;
    assert_true(ft_aborts(overflow_up, NULL));
    assert_true(ft_aborts(overflow_down, NULL));
    assert_true(ft_aborts(divide_by_zero, NULL));
}

static void test_num_mul_ok_sees_overflow(void **state)
{
    (void)state;
    uint64_t r;
    assert_true(fe_mul_ok(UINT32_MAX, UINT32_MAX, &r));
    assert_true(r == (uint64_t)UINT32_MAX * UINT32_MAX);
    assert_true(fe_mul_ok(UINT64_MAX, 1, &r));
    assert_true(fe_mul_ok(UINT64_MAX, 0, &r) && r == 0);
    assert_false(fe_mul_ok(UINT64_MAX, 2, &r));
    assert_false(fe_mul_ok(UINT64_C(1) << 32, UINT64_C(1) << 32, &r));
}

static void test_num_small_helpers(void **state)
{
    (void)state;
    assert_true(fe_div_up(0, 5) == 0);
    assert_true(fe_div_up(5, 5) == 1);
    assert_true(fe_div_up(6, 5) == 2);
    assert_true(fe_div_up(UINT64_MAX, 2) == UINT64_C(1) << 63);
    assert_true(fe_min_u64(3, 4) == 3 && fe_max_u64(3, 4) == 4);
    assert_true(fe_min_u64(UINT64_MAX, 0) == 0 && fe_max_u64(UINT64_MAX, 0) == UINT64_MAX);
    assert_false(fe_is_pow2(0));
    assert_false(fe_is_pow2(3));
    for (unsigned i = 0; i < 64; i++) {
        assert_true(fe_is_pow2(UINT64_C(1) << i));
        assert_int_equal(fe_log2(UINT64_C(1) << i), i);
        assert_int_equal(fe_log2((UINT64_C(1) << i) | 1), i);
    }
    assert_int_equal(fe_log2(UINT64_MAX), 63);
}

static void test_num_time_ends(void **state)
{
    (void)state;
    assert_int_equal(fe_time_add(5, 7), 12);
    assert_int_equal(fe_time_add(FE_TIME_MAX - 7, 7), FE_TIME_MAX);
    assert_int_equal(fe_time_add(FE_TIME_MAX - 7, 8), FE_TIME_MAX);
    assert_int_equal(fe_time_add(FE_TIME_MAX - 7, 9), FE_TIME_MAX);
    assert_int_equal(fe_time_add(UINT64_MAX, UINT64_MAX), FE_TIME_MAX);
    assert_int_equal(fe_time_mul(5, 7), 35);
    assert_int_equal(fe_time_mul(FE_TIME_MAX / 2, 2), FE_TIME_MAX);
    assert_int_equal(fe_time_mul(FE_TIME_MAX / 2, 3), FE_TIME_MAX);
    assert_int_equal(fe_time_mul(UINT64_MAX, 1), FE_TIME_MAX);
    assert_int_equal(fe_time_mul(UINT64_MAX, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_num_time_ends),
        cmocka_unit_test(test_num_fastdiv_equals_division),
        cmocka_unit_test(test_num_fastdiv_equals_division_for_every_small_number),
        cmocka_unit_test(test_num_muldiv_rounds_once_and_uses_128_bits),
        cmocka_unit_test(test_num_muldiv_agrees_with_small_numbers),
        cmocka_unit_test(test_num_result_that_does_not_fit_aborts),
        cmocka_unit_test(test_num_mul_ok_sees_overflow),
        cmocka_unit_test(test_num_small_helpers),
    };
    return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
