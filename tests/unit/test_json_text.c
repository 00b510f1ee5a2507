/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text as a JSON string: UTF-8 stays as it is, other text becomes ASCII.  Numbers of 64 bits.
 */
#include "lib/unit.h"

#include "obs/json_text.h"

static void check(const char *text, size_t len, const char *expected)
{
    json_t *o = fe_json_text(text, len);
    assert_non_null(o);
    assert_string_equal(json_string_value(o), expected);
    assert_int_equal(json_string_length(o), strlen(expected));
    json_decref(o);
}

static void test_json_text_keeps_utf8(void **state)
{
    (void)state;
    check("", 0, "");
    check("plain text", 10, "plain text");
    check("gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f");
}

static void test_json_text_stops_at_its_length(void **state)
{
    (void)state;
    check("plain text", 5, "plain");
}

static void test_json_text_replaces_what_is_not_utf8(void **state)
{
    (void)state;
    check("a\xff" "b", 3, "a?b");
    check("gr\xc3\xbc\xc3", 5, "gr???"); /* cut within a character: all go */
    check("\xc3\xbc", 1, "?");
}

static void test_json_numbers_keep_all_bits(void **state)
{
    (void)state;
    const uint64_t n[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        json_t *o = fe_json_u64(n[i]);
        uint64_t back = ~n[i];
        assert_int_equal(json_is_integer(o), n[i] <= INT64_MAX);
        assert_true(fe_json_to_u64(o, &back));
        assert_int_equal(back, n[i]);
        json_decref(o);
    }
}

static void test_json_numbers_are_nothing_else(void **state)
{
    (void)state;
    const char *const texts[] = {"-1", "1.5", "true", "null", "\"\"", "\"5\"", "\"-1\"",
                                 "\"18446744073709551616\"", "\"99999999999999999999\"",
                                 "\"9223372036854775808 \"", "[1]"};
    uint64_t n = 7;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *o = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        assert_non_null(o);
        if (fe_json_to_u64(o, &n))
            fail_msg("%s is taken for a number", texts[i]);
        json_decref(o);
    }
    assert_false(fe_json_to_u64(NULL, &n));
    assert_int_equal(n, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_text_keeps_utf8),
        cmocka_unit_test(test_json_text_stops_at_its_length),
        cmocka_unit_test(test_json_text_replaces_what_is_not_utf8),
        cmocka_unit_test(test_json_numbers_keep_all_bits),
        cmocka_unit_test(test_json_numbers_are_nothing_else),
    };
    return cmocka_run_group_tests_name("json_text", tests, NULL, NULL);
}
