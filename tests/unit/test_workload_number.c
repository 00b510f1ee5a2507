/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of options and traces: tables of what is one and what is none.
 */
#include "lib/unit.h"

#include "workload/number.h"

#include <stdio.h>

struct sample {
    const char *text;
    bool ok;
    uint64_t value;
};

static void check(bool (*parse)(const char *, size_t, uint64_t *), const struct sample *samples,
                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct sample *s = &samples[i];
        uint64_t value = 0xdead;
        bool ok = parse(s->text, strlen(s->text), &value);
        if (ok != s->ok || value != (s->ok ? s->value : 0xdead))
            fail_msg("'%s': %s %llu", s->text, ok ? "taken as" : "refused",
                     (unsigned long long)value);
    }
}

static void test_number_u64_takes_digits_only(void **state)
{
    static const struct sample samples[] = {
        {"0", true, 0},
        {"007", true, 7},
        {"18446744073709551615", true, UINT64_MAX},
        {"00000000000000000000000000000001", true, 1},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"+1", false, 0},
        {"-1", false, 0},
        {"0x10", false, 0},
        {"1K", false, 0},
        {"1.0", false, 0},
        {"1\n", false, 0},
    };
    (void)state;
    check(fe_number_u64, samples, ft_array_len(samples));
}

static void test_number_u64_stops_at_its_length(void **state)
{
    uint64_t n = 0;
    (void)state;
    assert_true(fe_number_u64("12345", 3, &n));
    assert_int_equal(n, 123);
}

static void test_number_size_has_the_suffixes_of_the_interface(void **state)
{
    static const struct sample samples[] = {
        {"512", true, 512},
        {"4K", true, 4096},
        {"4KiB", true, 4096},
        {"4k", true, 4096},
        {"2M", true, 2 << 20},
        {"8G", true, UINT64_C(8) << 30},
        {"1T", true, UINT64_C(1) << 40},
        {"1KB", true, 1000},
        {"16MB", true, 16000000},
        {"8GB", true, UINT64_C(8000000000)},
        {"2TB", true, UINT64_C(2000000000000)},
        {"1.5K", true, 1536},
        {"0.5KB", true, 500},
        {"16777215T", true, UINT64_C(16777215) << 40},
        {"16777216T", false, 0},
        {"1.5", false, 0},
        {"0.3K", false, 0},
        {"K", false, 0},
        {"", false, 0},
        {"4 K", false, 0},
        {"4Kb", false, 0},
        {"4KK", false, 0},
        {"-4K", false, 0},
        {"4.K", false, 0},
        {".5K", false, 0},
        {"1e3", false, 0},
        {"1,5K", false, 0},
    };
    (void)state;
    check(fe_number_size, samples, ft_array_len(samples));
}

static void test_number_time_needs_a_unit(void **state)
{
    static const struct sample samples[] = {
        {"0", true, 0},
        {"1ns", true, 1},
        {"25us", true, 25000},
        {"1.5ms", true, 1500000},
        {"2s", true, UINT64_C(2000000000)},
        {"18446744073s", true, UINT64_C(18446744073000000000)},
        {"18446744074s", false, 0},
        {"0.5ns", false, 0},
        {"1", false, 0},
        {"1 s", false, 0},
        {"1m", false, 0},
        {"1sec", false, 0},
    };
    (void)state;
    check(fe_number_time, samples, ft_array_len(samples));
}

static void test_number_decimal_is_exact(void **state)
{
    static const struct sample samples[] = {
        {"0.99", true, 990000},     {"1", true, 1000000},     {"1.000001", true, 1000001},
        {"0.0000001", false, 0},    {"0.9900000", true, 990000}, {"1.", false, 0},
        {".9", false, 0},           {"nan", false, 0},        {"inf", false, 0},
    };
    (void)state;
    check(fe_number_decimal, samples, ft_array_len(samples));
}

static void test_number_share_goes_to_100_percent(void **state)
{
    uint32_t ppm = 7;
    (void)state;
    assert_true(fe_number_share("12.5%", 5, &ppm));
    assert_int_equal(ppm, 125000);
    assert_true(fe_number_share("0.0001%", 7, &ppm));
    assert_int_equal(ppm, 1);
    assert_true(fe_number_share("100%", 4, &ppm));
    assert_int_equal(ppm, 1000000);
    assert_false(fe_number_share("100.0001%", 9, &ppm));
    assert_false(fe_number_share("50", 2, &ppm));
    assert_false(fe_number_share("%", 1, &ppm));
    assert_false(fe_number_share("0.00001%", 8, &ppm));
    assert_int_equal(ppm, 1000000);
}

static void test_number_i64_takes_one_minus(void **state)
{
    int64_t n = 7;
    (void)state;
    assert_true(fe_number_i64("-12", 3, &n));
    assert_int_equal(n, -12);
    assert_true(fe_number_i64("9223372036854775807", 19, &n));
    assert_true(n == INT64_MAX);
    assert_false(fe_number_i64("9223372036854775808", 19, &n));
    assert_false(fe_number_i64("--1", 3, &n));
    assert_false(fe_number_i64("-", 1, &n));
    assert_false(fe_number_i64("", 0, &n));
}

static void test_number_put_agrees_with_printf(void **state)
{
    char mine[32], libc[32];
    (void)state;
    for (int bit = 0; bit < 64; bit++) {
        for (int step = -1; step <= 1; step++) {
            uint64_t n = (UINT64_C(1) << bit) + (uint64_t)step;
            mine[fe_number_put(mine, n)] = '\0';
            snprintf(libc, sizeof libc, "%llu", (unsigned long long)n);
            assert_string_equal(mine, libc);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number_u64_takes_digits_only),
        cmocka_unit_test(test_number_u64_stops_at_its_length),
        cmocka_unit_test(test_number_size_has_the_suffixes_of_the_interface),
        cmocka_unit_test(test_number_time_needs_a_unit),
        cmocka_unit_test(test_number_decimal_is_exact),
        cmocka_unit_test(test_number_share_goes_to_100_percent),
        cmocka_unit_test(test_number_i64_takes_one_minus),
        cmocka_unit_test(test_number_put_agrees_with_printf),
    };
    return cmocka_run_group_tests_name("workload_number", tests, NULL, NULL);
}
