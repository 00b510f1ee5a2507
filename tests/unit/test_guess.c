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

static void test_words_of_one_text(void **state)
{
    char buf[FE_GUESS_MAX];
    (void)state;
    assert_string_equal(fe_guess_word("rael", 4, "real|virtual", buf), "did you mean real? ");
    assert_string_equal(fe_guess_word("fifoo", 5, "greedy, fifo, random", buf), "did you mean fifo? ");
    assert_string_equal(fe_guess_word("hostx", 4, " auto vm host none", buf), "did you mean host? ");
    assert_string_equal(fe_guess_word("xyzzy", 5, "auto vm host none", buf), "");
    assert_string_equal(fe_guess_word("x", 1, "", buf), "");
}

static void test_hyphens_and_underscores(void **state)
{
    (void)state;
    assert_true(fe_name_is("time_scale", "time-scale"));
    assert_true(fe_name_is("gc-policy", "gc_policy") && fe_name_is("op", "op"));
    assert_false(fe_name_is("timescale", "time-scale"));
    assert_false(fe_name_is("time", "time-scale") || fe_name_is("time-scale", "time"));
    assert_false(fe_name_is("time-", "time") || fe_name_is("time", "time-") || fe_name_is("a_", "ab"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest),
        cmocka_unit_test(test_words_of_one_text),
        cmocka_unit_test(test_hyphens_and_underscores),
        cmocka_unit_test(test_the_first_of_equals_and_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
