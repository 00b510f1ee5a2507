/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text as a JSON string: UTF-8 stays as it is, other text becomes ASCII.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_text_keeps_utf8),
        cmocka_unit_test(test_json_text_stops_at_its_length),
        cmocka_unit_test(test_json_text_replaces_what_is_not_utf8),
    };
    return cmocka_run_group_tests_name("json_text", tests, NULL, NULL);
}
