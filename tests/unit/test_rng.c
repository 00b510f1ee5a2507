/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mixing is compared with splitmix64's published sequence; the rest are properties
 * that the models rely on: addressed, uniform, independent of neighbours.
 */
#include "lib/unit.h"

#include "base/rng.h"

#include <stdbool.h>

static void test_rng_mixes_as_splitmix64(void **state)
{
    (void)state;
    const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);
    /* the first outputs of splitmix64 from state 0 */
    assert_true(fe_mix64(gamma) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(fe_mix64(2 * gamma) == UINT64_C(0x6e789e6aa1b965f4));
    assert_true(fe_mix64(3 * gamma) == UINT64_C(0x06c45d188009454f));
}

static void test_rng_is_a_function_of_its_address(void **state)
{
    (void)state;
    uint64_t x = fe_rng(1, FE_RNG_TEST, 2, 3);
    assert_true(x == fe_rng(1, FE_RNG_TEST, 2, 3));
    assert_true(x != fe_rng(2, FE_RNG_TEST, 2, 3));
    assert_true(x != fe_rng(1, FE_RNG_WORKLOAD, 2, 3));
    assert_true(x != fe_rng(1, FE_RNG_TEST, 3, 3));
    assert_true(x != fe_rng(1, FE_RNG_TEST, 2, 4));
    assert_true(x != fe_rng(1, FE_RNG_TEST, 3, 2));
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void test_rng_small_addresses_never_collide(void **state)
{
    (void)state;
    enum { N = 32 };
    static uint64_t draws[4 * 4 * N * N];
    size_t n = 0;
    for (uint64_t seed = 0; seed < 4; seed++)
        for (int stream = 1; stream <= 4; stream++)
            for (uint64_t a = 0; a < N; a++)
                for (uint64_t b = 0; b < N; b++)
                    draws[n++] = fe_rng(seed, (enum fe_rng_stream)stream, a, b);
    qsort(draws, n, sizeof *draws, compare);
    for (size_t i = 1; i < n; i++)
        assert_true(draws[i - 1] != draws[i]);
}

static void test_rng_below_is_in_range_and_uniform(void **state)
{
    (void)state;
    const uint64_t ns[] = {1, 2, 3, 10, 64, 100};
    enum { DRAWS = 100000 };
    for (size_t k = 0; k < ft_array_len(ns); k++) {
        uint64_t count[100] = {0};
        for (uint64_t i = 0; i < DRAWS; i++) {
            uint64_t v = fe_rng_below(fe_rng(5, FE_RNG_TEST, i, k), ns[k]);
            assert_true(v < ns[k]);
            count[v]++;
        }
        double chi2 = 0, want = (double)DRAWS / (double)ns[k];
        for (uint64_t v = 0; v < ns[k]; v++)
            chi2 += ((double)count[v] - want) * ((double)count[v] - want) / want;
        /* mean n - 1, variance 2 (n - 1): more than six deviations off is no chance */
        double df = (double)ns[k] - 1;
        assert_true(chi2 <= df + 9 + 9 * df / 4);
    }
    assert_true(fe_rng_below(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    assert_true(fe_rng_below(0, UINT64_MAX) == 0);
}

static void test_rng_every_bit_flips_half_of_the_result(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        unsigned flips = 0;
        for (uint64_t i = 0; i < 256; i++)
            flips += (unsigned)__builtin_popcountll(
                fe_rng(1, FE_RNG_TEST, i, 0) ^ fe_rng(1, FE_RNG_TEST, i ^ (UINT64_C(1) << bit), 0));
        /* 16384 coins: deviation 64 */
        assert_in_range(flips, 8192 - 6 * 64, 8192 + 6 * 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rng_mixes_as_splitmix64),
        cmocka_unit_test(test_rng_is_a_function_of_its_address),
        cmocka_unit_test(test_rng_small_addresses_never_collide),
        cmocka_unit_test(test_rng_below_is_in_range_and_uniform),
        cmocka_unit_test(test_rng_every_bit_flips_half_of_the_result),
    };
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
