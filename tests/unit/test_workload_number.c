/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The digits of traces: what is a number, and what is not.
 */
#include "lib/unit.h"

#include "workload/number.h"

#include <stdio.h>

static void test_number_u64_takes_digits_only(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        uint64_t value;
    } samples[] = {
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
    for (size_t i = 0; i < ft_array_len(samples); i++) {
        uint64_t value = 0xdead;
        bool ok = fe_number_u64(samples[i].text, strlen(samples[i].text), &value);
        if (ok != samples[i].ok || value != (ok ? samples[i].value : 0xdead))
            fail_msg("'%s': %s %llu", samples[i].text, ok ? "taken as" : "refused",
                     (unsigned long long)value);
    }
}

static void test_number_u64_stops_at_its_length(void **state)
{
    uint64_t n = 0;
    (void)state;
    assert_true(fe_number_u64("12345", 3, &n));
    assert_int_equal(n, 123);
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

static void expect_put(uint64_t n)
{
    char mine[32], libc[32];
    mine[fe_number_put(mine, n)] = '\0';
    snprintf(libc, sizeof libc, "%llu", (unsigned long long)n);
    assert_string_equal(mine, libc);
}

/* All pairs of digits at all places, and where the number of digits changes. */
static void test_number_put_agrees_with_printf(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 10000; n++)
        expect_put(n);
    for (int bit = 0; bit < 64; bit++)
        for (int step = -1; step <= 1; step++)
            expect_put((UINT64_C(1) << bit) + (uint64_t)step);
    for (uint64_t power = 10; power <= UINT64_MAX / 10; power *= 10)
        for (int step = -1; step <= 1; step++)
            expect_put(power + (uint64_t)step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number_u64_takes_digits_only),
        cmocka_unit_test(test_number_u64_stops_at_its_length),
        cmocka_unit_test(test_number_i64_takes_one_minus),
        cmocka_unit_test(test_number_put_agrees_with_printf),
    };
    return cmocka_run_group_tests_name("workload_number", tests, NULL, NULL);
}
