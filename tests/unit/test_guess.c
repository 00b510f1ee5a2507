/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/unit.h"

#include "base/guess.h"

static const char *guess(const char *typed, const char *const *names)
{
    struct fe_guess g = FE_GUESS_NONE;
    for (; *names; names++)
        fe_guess_try(&g, typed, strlen(typed), *names);
    return g.name ? g.name : "";
}

static void test_the_nearest(void **state)
{
    static const char *const names[] = {"replay", "report", "top", "transcend8g", "o", NULL};
    (void)state;
    assert_string_equal(guess("reply", names), "replay");
    assert_string_equal(guess("reprot", names), "report");        /* two neighbours */
    assert_string_equal(guess("transcend8gb", names), "transcend8g");
    assert_string_equal(guess("TOP", names), "");                 /* three of three letters */
    assert_string_equal(guess("tip", names), "top");
    assert_string_equal(guess("repeat", names), "replay");        /* 2 edits; report has 3 */
    assert_string_equal(guess("", names), "");
    assert_string_equal(guess("verify", names), "");
}

static void test_the_first_of_equals_and_long_names(void **state)
{
    static const char *const names[] = {"aab", "aac", NULL};
    static const char *const longest[] = {"0123456789012345678901234567890123456789x", NULL};
    (void)state;
    assert_string_equal(guess("aaa", names), "aab");
    assert_string_equal(guess("0123456789012345678901234567890123456789", longest), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest),
        cmocka_unit_test(test_the_first_of_equals_and_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
