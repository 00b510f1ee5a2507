/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys that the strategy does not use: who is refused with one, where it stays without a
 * word, and that it is never printed.
 */
#include "test_profile.h"

#include "ftl/ftl.h"

#define SEGMENT                                                                                    \
    "[nand]\ncell = mlc\nblocks_per_plane = 64\npages_per_block = 128\npage_size = 4K\n"           \
    "tR = 50us\ntPROG = 300us/1200us\ntBERS = 2ms\n[ftl]\ntype = segment\nunit_size = 2M\n"        \
    "map_read = 5us\n"

static bool names(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

/* Every name in the column is that of a strategy, and every strategy with a chip uses the
 * chip. */
static void test_used_column_is_made_of_strategies(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < fe_n_options; i++) {
        const char *list = fe_options[i].used_by;
        size_t n = 0, words = 1;
        for (uint32_t t = 0; fe_ftl_registry[t]; t++) {
            bool named = list ? names(list, fe_ftl_registry[t]->name)
                              : !fe_options[i].on_chip || !fe_ftl_registry[t]->no_medium;
            assert_int_equal(fe_option_is_used(&fe_options[i], t), named);
            n += named;
        }
        for (const char *c = list; c && *c; c++)
            words += *c == ' ';
        assert_true(!list || n == words);
        assert_false(list && fe_options[i].on_chip);
    }
}

/* "WHERE: has no effect with ftl.type=TYPE; used by: ..." for this key.  The list is taken from the
 * table, so that a new strategy does not change this test. */
static const char *no_effect(const char *where, const char *key, const char *type)
{
    static char message[300];
    char users[128];
    fe_option_users(fe_option_find(key), users, sizeof users);
    snprintf(message, sizeof message, "%s: has no effect with ftl.type=%s; used by: %s", where, type,
             users);
    return message;
}

static void test_used_a_line_of_the_file_is_a_mistake(void **state)
{
    (void)state;
    parse_bad(SEGMENT "gc_d = 5\n", no_effect("x.ini:13: ftl.gc_d = 5", "ftl.gc_d", "segment"));
    parse_bad(MINIMAL "[step]\nread_random = 2ms\n",
              no_effect("x.ini:12: step.read_random = 2ms", "step.read_random", "page"));
    parse_bad("[device]\ncapacity = 1M\n[nand]\ntR = 5us\n[ftl]\ntype = step\n",
              no_effect("x.ini:4: nand.tR = 5us", "nand.tR", "step"));
    /* the default's own value, too: who gives it expects an effect */
    parse_bad(SEGMENT "gc_policy = greedy\n",
              no_effect("x.ini:13: ftl.gc_policy = greedy", "ftl.gc_policy", "segment"));
}

static void override_bad(const char *text, const char *const *overrides, uint32_t n,
                         const char *message)
{
    struct fe_profile p;
    struct fe_err err;
    assert_int_equal(parse_with(&p, text, overrides, n, &err), -EINVAL);
    assert_string_equal(err.text, message);
}

static void test_used_an_override_is_refused(void **state)
{
    static const char *const one[] = {"ftl.gc_d=5"};
    static const char *const both[] = {"ftl.unit_size=1M", "ftl.type=page"};
    (void)state;
    override_bad(SEGMENT, one, 1, no_effect("ftl.gc_d=5", "ftl.gc_d", "segment"));
    override_bad(SEGMENT, both, 2, no_effect("ftl.unit_size=1M", "ftl.unit_size", "page"));
}

/* The text with the first `old` replaced; the caller frees it. */
static char *replaced(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    char *ret;
    assert_non_null(at);
    assert_true(asprintf(&ret, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) >= 0);
    return ret;
}

/* Who overrides the strategy does not mean the keys of the old one; they are named. */
static void test_used_keys_of_the_file_yield_to_an_override_of_the_type(void **state)
{
    static const char *const overrides[] = {"ftl.type=page", "ftl.gc_d=5"};
    struct fe_profile p;
    struct fe_err err;
    char note[200], value[64];
    (void)state;
    assert_int_equal(parse_with(&p, SEGMENT, NULL, 0, &err), 0);
    assert_false(fe_profile_unused(&p, note, sizeof note));
    fe_profile_fini(&p);

    if (parse_with(&p, SEGMENT, overrides, 2, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(fe_profile_unused(&p, note, sizeof note));
    assert_string_equal(note, "ftl.type=page does not use these keys of profile x: ftl.unit_size");
    assert_true(fe_profile_get(&p, "ftl.unit_size", value, sizeof value));
    assert_string_equal(value, "4M"); /* the default */
    assert_true(fe_profile_get(&p, "ftl.map_read", value, sizeof value));
    assert_string_equal(value, "5us"); /* page uses it, too */
    char *text = show(&p);
    assert_null(strstr(text, "unit_size"));
    assert_null(strstr(text, "[step]"));
    assert_non_null(strstr(text, "gc_d = 5\n"));
    free(text);
    check_fixpoint(&p);
    assert_true(fe_profile_unused(&p, note, 20));
    assert_int_equal(strlen(note), 19);
    fe_profile_fini(&p);

    /* a key that has its default anyway is not worth a note, however it is written */
    for (const char *const *v = (const char *const[]){"4M", "4096K", "3M", NULL}; *v; v++) {
        snprintf(value, sizeof value, "unit_size = %s\n", *v);
        text = replaced(SEGMENT, "unit_size = 2M\n", value);
        assert_int_equal(parse_with(&p, text, overrides, 1, &err), 0);
        assert_int_equal(fe_profile_unused(&p, note, sizeof note), strcmp(*v, "3M") == 0);
        fe_profile_fini(&p);
        free(text);
    }
}

static void test_used_set(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    char value[64];
    (void)state;
    parse_good(&p, SEGMENT);
    assert_int_equal(fe_profile_set(&p, "ftl.gc_d", "5", &err), -EINVAL);
    assert_string_equal(err.text, no_effect("ftl.gc_d=5", "ftl.gc_d", "segment"));
    assert_int_equal(fe_profile_set(&p, "ftl.type", "page", NULL), 0);
    assert_int_equal(fe_profile_set(&p, "ftl.gc_d", "5", NULL), 0);
    assert_int_equal(fe_profile_set(&p, "ftl.type", "segment", NULL), 0);
    assert_true(fe_profile_get(&p, "ftl.gc_d", value, sizeof value));
    assert_string_equal(value, "10");
    assert_true(fe_profile_get(&p, "ftl.unit_size", value, sizeof value));
    assert_string_equal(value, "4M"); /* it did not come back */
    check_fixpoint(&p);
    fe_profile_fini(&p);
}

/* An image of version 0.1.0 has every key of the table. */
static void test_used_stored_profiles_may_have_them_all(void **state)
{
    struct fe_profile p, plain;
    struct fe_err err = {""};
    (void)state;
    parse_good(&plain, SEGMENT);
    if (fe_profile_parse_stored(&p, "x.ini", SEGMENT "gc_d = 5\n[step]\nstreams = 2\n",
                                sizeof SEGMENT "gc_d = 5\n[step]\nstreams = 2\n" - 1, &err) != 0)
        fail_msg("%s", err.text);
    char *a = show(&p), *b = show(&plain);
    assert_string_equal(a, b);
    free(a);
    free(b);
    fe_profile_fini(&p);
    fe_profile_fini(&plain);
    assert_int_equal(fe_profile_parse_stored(&p, "x.ini", "[step]\nstream = 2\n", 18, &err),
                     -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_used_column_is_made_of_strategies),
        cmocka_unit_test(test_used_a_line_of_the_file_is_a_mistake),
        cmocka_unit_test(test_used_an_override_is_refused),
        cmocka_unit_test(test_used_keys_of_the_file_yield_to_an_override_of_the_type),
        cmocka_unit_test(test_used_set),
        cmocka_unit_test(test_used_stored_profiles_may_have_them_all),
    };
    return cmocka_run_group_tests_name("profile_used", tests, NULL, NULL);
}
