/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/unit.h"

#include "flashemu/err.h"

#include <errno.h>

static void test_err_formats_and_returns_minus_errno(void **state)
{
    (void)state;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_err_set(&err, EINVAL, "key=%d: %s", 7, "too small"), -EINVAL);
    assert_string_equal(err.text, "key=7: too small");
}

static void test_err_first_message_wins(void **state)
{
    (void)state;
    struct fe_err err;
    fe_err_init(&err);
    fe_err_set(&err, EINVAL, "the place that knows best");
    assert_int_equal(fe_err_set(&err, EIO, "a caller"), -EIO);
    assert_string_equal(err.text, "the place that knows best");
    fe_err_init(&err);
    assert_string_equal(err.text, "");
}

static void test_err_may_be_null(void **state)
{
    (void)state;
    assert_int_equal(fe_err_set(NULL, ENOSPC, "nobody reads this"), -ENOSPC);
    assert_int_equal(fe_err_nomem(NULL, "x", 1), -ENOMEM);
}

static void test_err_long_message_is_cut_with_dots(void **state)
{
    (void)state;
    struct fe_err err;
    char name[1000];
    for (size_t len = sizeof err.text - 3; len < sizeof err.text + 3; len++) {
        memset(name, 'x', sizeof name);
        name[len] = '\0';
        fe_err_init(&err);
        fe_err_set(&err, EINVAL, "%s", name);
        size_t got = strlen(err.text);
        if (len < sizeof err.text) {
            assert_int_equal(got, len);
            assert_int_equal(err.text[got - 1], 'x');
        } else {
            assert_int_equal(got, sizeof err.text - 1);
            assert_string_equal(err.text + got - 4, "x...");
        }
    }
}

static void test_err_control_characters_become_question_marks(void **state)
{
    (void)state;
    struct fe_err err;
    fe_err_init(&err);
    fe_err_set(&err, EINVAL, "%s", "a\nb\r\x1b[31m\x7f\tc \xc3\xa9");
    assert_string_equal(err.text, "a?b??[31m??c \xc3\xa9");
}

static void test_err_nomem_names_what_and_how_much(void **state)
{
    (void)state;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_err_nomem(&err, "page map", 4096), -ENOMEM);
    assert_string_equal(err.text, "out of memory: page map (4096 bytes)");
}

/* For every length of the buffer: what fits of the pieces, one behind the other, and no byte more. */
static void test_err_pieces_of_a_text_are_left_out_behind_its_end(void **state)
{
    static const char all[] = "page norlog: 17";
    (void)state;
    for (size_t len = 1; len < sizeof all + 3; len++) {
        char buf[sizeof all + 4];
        memset(buf, '#', sizeof buf);
        buf[0] = '\0';
        fe_text_add(buf, len, "%s", "page");
        fe_text_add(buf, len, " %s", "norlog");
        fe_text_add(buf, len, ": %d", 17);
        size_t fits = len - 1 < strlen(all) ? len - 1 : strlen(all);
        assert_int_equal(strlen(buf), fits);
        assert_memory_equal(buf, all, fits);
        assert_int_equal(buf[len], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_err_formats_and_returns_minus_errno),
        cmocka_unit_test(test_err_first_message_wins),
        cmocka_unit_test(test_err_may_be_null),
        cmocka_unit_test(test_err_long_message_is_cut_with_dots),
        cmocka_unit_test(test_err_control_characters_become_question_marks),
        cmocka_unit_test(test_err_nomem_names_what_and_how_much),
        cmocka_unit_test(test_err_pieces_of_a_text_are_left_out_behind_its_end),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
