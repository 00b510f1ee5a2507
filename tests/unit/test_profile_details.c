/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys with details: how a value is cut, what it leaves alone, what is refused, and what keys that
 * are details now still do.
 */
#include "test_profile.h"

#include "profile/options.h"

#define FAULTS MINIMAL "[faults]\n" /* 11 lines */

static void assert_shown(const struct fe_profile *p, const char *key, const char *want)
{
    char value[FE_VALUE_MAX];
    assert_true(fe_profile_get(p, key, value, sizeof value));
    assert_string_equal(value, want);
}

/* The canonical text names what has no default, and it is read back. */
static void test_details_in_a_file(void **state)
{
    static const struct {
        const char *line, *key, *shown;
    } cases[] = {
        {"hang = 5s,request:17\n", "faults.hang", "5s,request:17"},
        {"hang = request:17\n", "faults.hang", "60s,request:17"},
        {"hang =  5s ,  request: 17 \n", "faults.hang", "5s,request:17"},
        {"hang = 5s,request:never\n", "faults.hang", "5s"},
        {"power_cut = 2%,time:3s,writes:1000\n", "faults.power_cut", "2%,writes:1000,time:3s"},
        {"rber = none\n", "faults.rber", "none"},
        {"life_spread = rank:0%,kind:70%\n", "faults.life_spread", "0%,kind:70%,rank:0%"},
        {"life_spread = 3%,rank:50%\n", "faults.life_spread", "3%"},
        {"rber = retention:7,fresh:0\n", "faults.rber", "retention:7"},
        {"cut = partner:1%,stale:2%\n", "faults.cut", "partner:1%,stale:2%"},
        {"life_spread = shape:lognormal,\n", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fe_profile p, again;
        char text[1000];
        snprintf(text, sizeof text, FAULTS "%s", cases[i].line);
        if (!cases[i].key) {
            parse_bad(text, "x.ini:12: faults.life_spread = shape:lognormal,: has '', which is no "
                            "NAME:VALUE; allowed: 0% to 100%");
            continue;
        }
        parse_good(&p, text);
        assert_shown(&p, cases[i].key, cases[i].shown);
        char *shown = show(&p);
        parse_good(&again, shown);
        assert_shown(&again, cases[i].key, cases[i].shown);
        fe_profile_fini(&again);
        fe_profile_fini(&p);
        free(shown);
    }
}

static void test_details_that_are_refused(void **state)
{
    (void)state;
    parse_bad(FAULTS "hang = 5s,reqest:3\n",
              "x.ini:12: faults.hang = 5s,reqest:3: has no detail 'reqest' (there is request); "
              "allowed: 0 to 86400s");
    parse_bad(FAULTS "hang = request:0x\n",
              "x.ini:12: faults.hang = request:0x: has request:0x, which is not a plain number (it "
              "can be 1 to 4611686018427387904, or never); allowed: 0 to 86400s");
    parse_bad(FAULTS "hang = request:3,4s\n",
              "x.ini:12: faults.hang = request:3,4s: has '4s', which is no NAME:VALUE; allowed: 0 "
              "to 86400s");
    parse_bad(FAULTS "hang = 5s,request:3,request:4\n",
              "x.ini:12: faults.hang = 5s,request:3,request:4: has request twice; allowed: 0 to "
              "86400s");
    parse_bad(FAULTS "rber = none,worn:3\n",
              "x.ini:12: faults.rber = none,worn:3: has details behind 'none'; allowed: none, or "
              "NAME:VALUE,NAME:VALUE...");
    parse_bad(FAULTS "rber = 3\n", "x.ini:12: faults.rber = 3: is no NAME:VALUE; allowed: none, or "
                                   "NAME:VALUE,NAME:VALUE...");
    parse_bad(FAULTS "spare_blocks = 3,x:1\n",
              "x.ini:12: faults.spare_blocks = 3,x:1: is not a plain number; allowed: 0 to "
              "268435456");
    parse_bad(FAULTS "rber:worn = 3\n", "x.ini:12: faults.rber = worn = 3: is no NAME:VALUE; "
                                        "allowed: none, or NAME:VALUE,NAME:VALUE...");
}

/* Nothing is changed by a value that is refused, not even what stands in front of the mistake. */
static void test_details_are_set_together(void **state)
{
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    parse_good(&p, FAULTS "hang = 5s,request:17\n");
    assert_int_equal(fe_profile_set(&p, "faults.hang", "7s,request:x", &err), -EINVAL);
    assert_shown(&p, "faults.hang", "5s,request:17");
    assert_int_equal(fe_profile_set(&p, "faults.hang", "7s", &err), 0);
    assert_shown(&p, "faults.hang", "7s,request:17");
    assert_int_equal(fe_profile_set(&p, "faults.hang", "request:18", &err), 0);
    assert_shown(&p, "faults.hang", "7s,request:18");
    assert_int_equal(fe_profile_set(&p, "faults.hang:request", "19", &err), 0);
    assert_shown(&p, "faults.hang", "7s,request:19");
    assert_shown(&p, "faults.hang:request", "19");
    assert_int_equal(fe_profile_set(&p, "faults.hang_request", "20", &err), 0);
    assert_shown(&p, "faults.hang", "7s,request:20");
    fe_profile_fini(&p);
}

static void test_details_by_their_old_keys(void **state)
{
    static const char *const both[] = {"faults.hang_request=4", "faults.hang=9s"};
    static const char *const back[] = {"faults.hang=9s", "faults.hang_request=4"};
    static const char *const twice[] = {"faults.hang_request=4", "faults.hang=9s,request:5"};
    static const char *const again[] = {"faults.hang=9s,request:5", "faults.hang_request=4"};
    struct fe_profile p;
    struct fe_err err = {""};
    char note[200];
    (void)state;
    parse_good(&p, FAULTS "hang_request = 3\nhang = 8s\n");
    assert_shown(&p, "faults.hang", "8s,request:3");
    assert_true(fe_profile_renamed(&p, note, sizeof note));
    assert_string_equal(note, "keys of profile x have other names now: faults.hang_request is "
                              "faults.hang:request");
    fe_profile_fini(&p);
    parse_good(&p, FAULTS "hang = 8s\nhang_request = 3\nrber_worn = 7\nrber_fresh = 0\n");
    assert_shown(&p, "faults.hang", "8s,request:3");
    assert_shown(&p, "faults.rber", "worn:7");
    fe_profile_fini(&p);
    parse_bad(FAULTS "hang = 8s,request:2\nhang_request = 3\n",
              "x.ini:13: faults.hang:request is given twice, first in line 12");
    parse_bad(FAULTS "hang_request = 3\nhang = 8s,request:2\n",
              "x.ini:13: faults.hang:request is given twice, first in line 12");

    for (int i = 0; i < 2; i++) {
        assert_int_equal(parse_with(&p, FAULTS "hang = request:3\n", i ? both : back, 2, &err), 0);
        assert_shown(&p, "faults.hang", "9s,request:4");
        fe_profile_fini(&p);
    }
    assert_int_equal(parse_with(&p, FAULTS, twice, 2, &err), -EINVAL);
    assert_string_equal(err.text, "faults.hang=9s,request:5: faults.hang:request is given twice, "
                                  "first as faults.hang_request=4");
    fe_err_init(&err);
    assert_int_equal(parse_with(&p, FAULTS, again, 2, &err), -EINVAL);
    assert_string_equal(err.text, "faults.hang_request=4: faults.hang_request is given twice, first "
                                  "as faults.hang=9s,request:5");
}

/* A rule between a detail and another key names the detail. */
static void test_details_are_checked(void **state)
{
    (void)state;
    parse_bad(MINIMAL "[device]\nbeyond = drop,reach:64K\n",
              "x.ini:12: device.beyond:reach = 64K: needs device.beyond=module");
    parse_bad(FAULTS "life_spread = 3%,rank:10%\n",
              "x.ini:12: faults.life_spread:rank = 10%: needs faults.life_spread=kind:SHARE, or all "
              "devices of the kind are alike");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_details_in_a_file),
        cmocka_unit_test(test_details_that_are_refused),
        cmocka_unit_test(test_details_are_set_together),
        cmocka_unit_test(test_details_by_their_old_keys),
        cmocka_unit_test(test_details_are_checked),
    };
    return cmocka_run_group_tests_name("profile_details", tests, NULL, NULL);
}
