/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Quantiles against a sorted array: never below the true one, at most 1/32 above it,
 * never above the maximum.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "flashemu/hist.h"

enum { N = 20000 };

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void check_against_sorted(const struct fe_hist *h, uint64_t *v, size_t n)
{
    qsort(v, n, sizeof *v, compare);
    static const uint32_t ppms[] = {0,      1,      100,    10000,  250000,  500000, 750000,
                                    900000, 990000, 999000, 999900, 999999, 1000000};
    uint64_t last = 0;
    for (size_t i = 0; i < ft_array_len(ppms); i++) {
        size_t rank = (size_t)(((unsigned __int128)n * ppms[i] + 999999) / 1000000);
        uint64_t want = v[rank ? rank - 1 : 0];
        uint64_t got = fe_hist_quantile(h, ppms[i]);
        assert_true(got >= want);
        assert_true(got - want <= want / 32);
        assert_true(got <= v[n - 1]);
        assert_true(got >= last);
        last = got;
    }
    for (unsigned e = 0; e < 64; e++) {
        uint64_t below = 0;
        for (size_t i = 0; i < n; i++)
            below += v[i] < UINT64_C(1) << e;
        assert_int_equal(fe_hist_below(h, e), below);
    }
    assert_true(fe_hist_quantile(h, 1000000) == v[n - 1]);
}

/* A few shapes of distribution over the whole range of values. */
static uint64_t draw(struct ft_rand *r, int shape)
{
    switch (shape) {
    case 0:
        return ft_below(r, 70); /* around the first bucket wider than one */
    case 1:
        return ft_below(r, 5000000);
    case 2: { /* every octave */
        uint64_t shift = ft_below(r, 64);
        return ft_rand(r) >> shift;
    }
    case 3:
        return ft_chance(r, 95) ? 200000 + ft_below(r, 100) : 1500000000;
    default:
        return 0;
    }
}

static void test_hist_quantiles_are_within_a_32nd(void **state)
{
    (void)state;
    static uint64_t v[N];
    static struct fe_hist h;
    for (int shape = 0; shape < 5; shape++) {
        struct ft_rand r = {.seed = 10 + (uint64_t)shape};
        for (size_t n = 1; n <= N; n = n * 7 + 1) {
            fe_hist_reset(&h);
            unsigned __int128 sum = 0;
            for (size_t i = 0; i < n; i++) {
                v[i] = draw(&r, shape);
                sum += v[i];
                fe_hist_add(&h, v[i]);
            }
            assert_true(h.count == n && h.sum == sum);
            assert_true(fe_hist_mean(&h) == (double)sum / (double)n);
            check_against_sorted(&h, v, n);
        }
    }
}

static void test_hist_every_edge_of_a_bucket(void **state)
{
    (void)state;
    static struct fe_hist h;
    for (unsigned bit = 0; bit < 64; bit++)
        for (int step = -1; step <= 1; step++) {
            uint64_t v = (UINT64_C(1) << bit) + (uint64_t)(int64_t)step;
            fe_hist_reset(&h);
            fe_hist_add(&h, v);
            assert_true(fe_hist_quantile(&h, 500000) == v); /* the maximum bounds it */
            fe_hist_add(&h, UINT64_MAX);
            uint64_t q = fe_hist_quantile(&h, 500000);
            assert_true(q >= v && q - v <= v / 32);
        }
}

static void test_hist_empty_gives_zeros(void **state)
{
    (void)state;
    static struct fe_hist h;
    fe_hist_reset(&h);
    assert_true(fe_hist_quantile(&h, 0) == 0 && fe_hist_quantile(&h, 1000000) == 0);
    assert_true(fe_hist_mean(&h) == 0.0);
}

static void test_hist_sum_of_large_values_does_not_overflow(void **state)
{
    (void)state;
    static struct fe_hist h;
    fe_hist_reset(&h);
    for (int i = 0; i < 1000; i++)
        fe_hist_add(&h, UINT64_MAX);
    assert_true(fe_hist_mean(&h) > 1.8446e19 && fe_hist_mean(&h) < 1.8447e19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hist_quantiles_are_within_a_32nd),
        cmocka_unit_test(test_hist_every_edge_of_a_bucket),
        cmocka_unit_test(test_hist_empty_gives_zeros),
        cmocka_unit_test(test_hist_sum_of_large_values_does_not_overflow),
    };
    return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
