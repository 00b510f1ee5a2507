/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Powers, logarithms and quantiles by integers, against floating point.
 */
#include "lib/unit.h"

#include "base/powers.h"
#include "base/rng.h"

#include <inttypes.h>
#include <math.h>

#define ONE    16777216.0
#define TWO_64 18446744073709551616.0

static void near(double got, double want, double tolerance, const char *what, double of)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%s of %.17g: %.9g, must be %.9g", what, of, got, want);
}

static void test_powers_log2(void **state)
{
    (void)state;
    assert_int_equal(fe_log2_fine(1), 0);
    assert_int_equal(fe_log2_fine(1024), 10 << FE_LOG_BITS);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t x = (fe_rng(1, FE_RNG_TEST, i, 0) >> i % 64) | 1;
        near((double)fe_log2_fine(x) / ONE, log2((double)x), 2 / ONE, "log2", (double)x);
    }
}

static void test_powers_times_exp2(void **state)
{
    (void)state;
    const int64_t one = INT64_C(1) << FE_LOG_BITS;
    assert_int_equal(fe_times_exp2(0, 90 * one), 0);
    assert_int_equal(fe_times_exp2(7, 0), 7);
    assert_int_equal(fe_times_exp2(7, 3 * one), 56);
    assert_int_equal(fe_times_exp2(7, -one), 3); /* rounded down */
    assert_int_equal(fe_times_exp2(UINT64_MAX, 0), UINT64_MAX);
    assert_int_equal(fe_times_exp2(UINT64_MAX, 1), UINT64_MAX);
    assert_int_equal(fe_times_exp2(1, 63 * one), UINT64_C(1) << 63);
    assert_int_equal(fe_times_exp2(1, 64 * one), UINT64_MAX);
    assert_int_equal(fe_times_exp2(3, 63 * one), UINT64_MAX);
    assert_int_equal(fe_times_exp2(3, one / 2 + 4 * one), 67); /* 67.88, no bit is lost early */
    assert_int_equal(fe_times_exp2(UINT64_MAX, -64 * one), 0);
    assert_int_equal(fe_times_exp2(UINT64_MAX, -200 * one), 0);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t x = fe_rng(1, FE_RNG_TEST, i, 0) >> (4 + i % 60);
        int64_t log = (int64_t)fe_rng_below(fe_rng(2, FE_RNG_TEST, i, 0), 1u << 29) - (1 << 28);
        double want = (double)x * exp2((double)log / ONE);
        if (want < 1e19)
            near((double)fe_times_exp2(x, log), want, 1 + want * 1e-6, "x 2^log", (double)x);
    }
}

/* P(Z < z). */
static double phi(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* By bisection. */
static double quantile(double p)
{
    double low = -10, high = 10;
    for (int i = 0; i < 80; i++) {
        double z = (low + high) / 2;
        if (phi(z) < p)
            low = z;
        else
            high = z;
    }
    return low;
}

static void test_powers_normal(void **state)
{
    (void)state;
    /* 2^-65, the smallest share, is erfc(9.1553 / sqrt 2) / 2 */
    near((double)fe_normal(0) / ONE, -9.1553, 1e-2, "z", 0);
    for (int k = 2; k <= 64; k++) {
        uint64_t u = k == 64 ? 1 : UINT64_C(1) << (64 - k);
        double want = quantile((double)u / TWO_64);
        if (k < 62) {
            near((double)fe_normal(u) / ONE, want, k < 40 ? 5e-4 : 1e-2, "z", (double)u);
            near((double)fe_normal(-u) / ONE, -want, k < 40 ? 5e-4 : 1e-2, "z", -(double)u);
        }
    }
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t u = fe_rng(1, FE_RNG_TEST, i, 0);
        near((double)fe_normal(u) / ONE, quantile((double)u / TWO_64), 5e-4, "z", (double)u);
        assert_int_equal(fe_normal(u), -fe_normal(~u));
    }
}

static void test_powers_lognormal(void **state)
{
    (void)state;
    assert_int_equal(fe_lognormal(0, 3000, 0), 3000);
    assert_int_equal(fe_lognormal(UINT64_MAX, 3000, 0), 3000);
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t u = fe_rng(3, FE_RNG_TEST, i, 0), sigma = i * 1500;
        double want = 1e9 * exp((double)sigma / 1e6 * quantile((double)u / TWO_64));
        near((double)fe_lognormal(u, 1000000000, sigma), want, 1 + want * 0.0019, "lognormal",
             (double)u);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers_log2),
        cmocka_unit_test(test_powers_times_exp2),
        cmocka_unit_test(test_powers_normal),
        cmocka_unit_test(test_powers_lognormal),
    };
    return cmocka_run_group_tests_name("powers", tests, NULL, NULL);
}
