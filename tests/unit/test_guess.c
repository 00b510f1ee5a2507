/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/unit.h"

#include "base/guess.h"

#include <stdio.h>

static const char *examples; /* the path of tests/data/guesses.tsv */

/* Takes the line apart: what was typed, the names, the one that was meant. */
static void check_example(char *line)
{
    struct fe_guess g = FE_GUESS_NONE;
    const char *typed = strtok(line, "\t\n");
    char *names = strtok(NULL, "\t\n");
    const char *meant = strtok(NULL, "\t\n");

    assert_non_null(meant);
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " "))
        fe_guess_try(&g, typed, strlen(typed), name);
    if (strcmp(g.name ? g.name : "-", meant) != 0)
        fail_msg("%s: %s instead of %s", typed, g.name ? g.name : "-", meant);
}

static void test_examples(void **state)
{
    char line[256];
    int n = 0;
    FILE *f = fopen(examples, "r");

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (line[0] != '#') {
            check_example(line);
            n++;
        }
    fclose(f);
    assert_int_equal(n, 30);
}

static void test_nothing_typed(void **state)
{
    struct fe_guess g = FE_GUESS_NONE;
    (void)state;
    fe_guess_try(&g, "", 0, "a");
    assert_null(g.name);
    fe_guess_try(&g, "replayer", 5, "replay"); /* the length decides */
    assert_string_equal(g.name, "replay");
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_nothing_typed),
        cmocka_unit_test(test_words_of_one_text),
        cmocka_unit_test(test_hyphens_and_underscores),
    };
    if (argc != 2)
        return 2;
    examples = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
