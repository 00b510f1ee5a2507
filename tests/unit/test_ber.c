/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bit error model against its formula in floating point, and its draws against the
 * binomial distribution by counting.
 */
#include "lib/unit.h"

#include "base/rng.h"
#include "nand/ber.h"

#include <inttypes.h>
#include <math.h>

#define TWO_64 18446744073709551616.0

static double formula(const struct fe_ber_params *p, double c, double e, double t, double r)
{
    double sum = (double)p->fresh;
    if (e > 0)
        sum += (double)p->worn * pow(c / e, 2.05) +
               (double)p->retention * pow(c / e, 0.14) * pow(t / 31536e12, 0.54) +
               (double)p->disturb * pow(c / e, 0.33) * pow(r / 1e5, 1.71);
    return fmin(sum / 1e12, 0.5);
}

static void test_ber_rate_is_the_formula(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t u[9];
        for (uint64_t k = 0; k < 9; k++) /* each over many powers of ten */
            u[k] = fe_rng(1, FE_RNG_TEST, i, k) >> fe_rng_below(fe_rng(2, FE_RNG_TEST, i, k), 63);
        struct fe_ber_params p = {u[0] % 500000000000, u[1] % 500000000000, u[2] % 500000000000,
                                  u[3] % 500000000000};
        uint64_t c = u[4] % 1000000 + 1, e = u[5] % 1000000 + 1, t = u[6] >> 2, r = u[7] >> 32;
        double want = formula(&p, (double)c, (double)e, (double)t, (double)r);
        double got = (double)fe_ber_rate(&p, c, e, t, r) / TWO_64;
        if (fabs(got - want) > want * 1e-6 + 8 / TWO_64)
            fail_msg("c %" PRIu64 " of %" PRIu64 ", t %" PRIu64 ", r %" PRIu64 ": %.9g, formula "
                     "%.9g", c, e, t, r, got, want);
    }
}

static void test_ber_terms_are_what_the_profile_says(void **state)
{
    (void)state;
    const uint64_t one = UINT64_MAX / 1000000000 / 1000; /* 10^-12 */
    struct fe_ber_params p = {.fresh = 1000};
    assert_true(fe_ber_any(&p));
    assert_in_range(fe_ber_rate(&p, 0, 1000, 0, 0), 999 * one, 1001 * one);
    assert_int_equal(fe_ber_rate(&p, 1000000, 1000, UINT64_MAX, UINT32_MAX),
                     fe_ber_rate(&p, 0, 0, 0, 0));
    p = (struct fe_ber_params){.worn = 1000000};
    assert_in_range(fe_ber_rate(&p, 3000, 3000, 0, 0), 999990 * one, 1000010 * one);
    assert_int_equal(fe_ber_rate(&p, 3000, 0, 0, 0), 0); /* without limit nothing ages */
    p = (struct fe_ber_params){.retention = 1000000};
    assert_int_equal(fe_ber_rate(&p, 3000, 3000, 0, 0), 0);
    assert_in_range(fe_ber_rate(&p, 3000, 3000, FE_BER_YEAR_NS, 0), 999990 * one, 1000010 * one);
    p = (struct fe_ber_params){.disturb = 1000000};
    assert_in_range(fe_ber_rate(&p, 3000, 3000, 0, 100000), 999990 * one, 1000010 * one);
    p = (struct fe_ber_params){0};
    assert_false(fe_ber_any(&p));
    assert_int_equal(fe_ber_rate(&p, 3000, 3000, FE_BER_YEAR_NS, 100000), 0);
}

static double binomial(uint32_t n, double p, uint32_t k)
{
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * log(p) +
               (n - k) * log1p(-p));
}

/* Counts of k against the binomial distribution, those that are expected often enough. */
static void check_draws(uint32_t n_bits, double p)
{
    enum { DRAWS = 200000, MAX = 1000 };
    static uint32_t count[MAX + 1];
    uint64_t rate = (uint64_t)(p * TWO_64);
    double chi = 0, sum = 0;
    uint32_t classes = 0;
    memset(count, 0, sizeof count);
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint32_t k = fe_ber_draw(fe_rng(7, FE_RNG_TEST, i, n_bits), n_bits, rate, MAX);
        count[k]++;
        sum += k;
    }
    for (uint32_t k = 0; k <= n_bits && k <= MAX; k++) {
        double want = DRAWS * binomial(n_bits, p, k);
        if (want < 20)
            continue;
        chi += (count[k] - want) * (count[k] - want) / want;
        classes++;
    }
    double mean = n_bits * p, sigma = sqrt(mean * (1 - p) / DRAWS);
    print_message("%u bits at %g: mean %.5f, wanted %.5f; chi2 %.1f in %u classes\n", n_bits, p,
                  sum / DRAWS, mean, chi, classes);
    assert_true(classes > 1);
    assert_true(fabs(sum / DRAWS - mean) < 5 * sigma);
    assert_true(chi < classes + 5 * sqrt(2.0 * classes));
}

static void test_ber_draws_are_binomial(void **state)
{
    (void)state;
    check_draws(4096, 1e-5);
    check_draws(4096, 1e-3);
    check_draws(8192, 1e-2); /* P(0) is 2^-119 */
    check_draws(65536, 1e-3);
    check_draws(7, 0.5);
    check_draws(2048, 0.1);
}

static void test_ber_draw_at_its_ends(void **state)
{
    (void)state;
    assert_int_equal(fe_ber_draw(UINT64_MAX, 4096, 0, 9), 0);
    assert_int_equal(fe_ber_draw(UINT64_MAX, 0, FE_BER_MAX, 9), 0);
    assert_int_equal(fe_ber_draw(0, 4096, UINT64_C(1) << 40, 9), 0);
    assert_int_equal(fe_ber_draw(UINT64_MAX, 4096, FE_BER_MAX, 9), 9);
    assert_int_equal(fe_ber_draw(UINT64_MAX, 3, FE_BER_MAX, 9), 3);
    /* one bit in 2^64, of 2^20: only the topmost draws hit */
    assert_int_equal(fe_ber_draw(UINT64_MAX - (1 << 21), 1 << 20, 1, 9), 0);
    assert_true(fe_ber_draw(UINT64_MAX, 1 << 20, 1, 9) >= 1);
}

/* The same u at a higher rate never has fewer errors: what was wrong stays wrong. */
static void test_ber_draw_grows_with_the_rate(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t u = fe_rng(3, FE_RNG_TEST, i, 0);
        uint32_t before = 0;
        for (uint64_t rate = 1 << 20; rate < FE_BER_MAX / 8; rate += rate / 2) {
            uint32_t k = fe_ber_draw(u, 4096, rate, 4096);
            assert_true(k >= before);
            before = k;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ber_rate_is_the_formula),
        cmocka_unit_test(test_ber_terms_are_what_the_profile_says),
        cmocka_unit_test(test_ber_draws_are_binomial),
        cmocka_unit_test(test_ber_draw_at_its_ends),
        cmocka_unit_test(test_ber_draw_grows_with_the_rate),
    };
    return cmocka_run_group_tests_name("ber", tests, NULL, NULL);
}
