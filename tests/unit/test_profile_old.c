/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys that went: what is accepted, what is refused, what their heirs get, and that no image is
 * refused because of one.
 */
#include "test_profile.h"

#include "profile/old_keys.h"

#define CACHE MINIMAL "slc_mode = static\nslc_blocks = 4\n" /* 12 lines, the last ones of [ftl] */
#define DIRECT_READ_WENT                                                                           \
    "there is no such key any more: a command that reads up to 4K begins no stream on any card; "  \
    "allowed: page, 4K"

/* Nobody can have both names of a key, and each row can be understood. */
static void test_old_table_is_sound(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < fe_n_old_keys; i++) {
        const struct fe_old_key *old = &fe_old_keys[i];
        const struct fe_option *heir = old->heir ? fe_option_find(old->heir) : NULL;
        char name[64];
        const struct fe_option *row = old->was ? old->was : heir;
        snprintf(name, sizeof name, "%s.%s", fe_section_name(old->section), old->key);
        assert_null(fe_option_find(name));
        assert_ptr_equal(fe_old_key_find(name), old);
        assert_non_null(row);
        assert_true(fe_option_is_default(row, row->def));
        assert_int_equal(!old->heir, !!old->why);
        assert_int_equal(!old->heir, !heir);
        assert_true(!heir || heir->type == row->type);
    }
    assert_null(fe_old_key_find("ftl.slc_run"));
    assert_null(fe_old_key_find("slc_write"));
    assert_null(fe_old_key_find("ftl.slc_writes"));
    assert_null(fe_old_key_find("x.slc_write"));
}

/* In each way to write it, and so that the profile is the same as without it. */
static void test_old_defaults_say_nothing(void **state)
{
    static const char *const lines[] = {
        "direct_read = page\n", "direct_read = 0\n", "direct_read = 4K\n", "direct_read = 4096\n",
        "slc_write = any\n", "slc_write = 0\n", "[link]\npacked = 1\n",
        "[nand]\nprogram_passes = 1\n", "[provenance]\nftl.slc_write = fitted\n",
    };
    (void)state;
    struct fe_profile plain, p;
    parse_good(&plain, CACHE);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[1000], note[200];
        snprintf(text, sizeof text, "%s%s", CACHE, lines[i]);
        parse_good(&p, text);
        assert_false(fe_profile_renamed(&p, note, sizeof note));
        p.n_provenance = 0; /* it is compared by nobody here, and freed below */
        char *a = show(&p), *b = show(&plain);
        assert_string_equal(a, b);
        free(a);
        free(b);
        p.n_provenance = p.provenance ? 1 : 0;
        fe_profile_fini(&p);
    }
    fe_profile_fini(&plain);
}

static void test_old_values_are_refused(void **state)
{
    (void)state;
    parse_bad(CACHE "direct_read = 8K\n", "x.ini:13: ftl.direct_read = 8K: " DIRECT_READ_WENT);
    parse_bad(CACHE "direct_read = x\n", "x.ini:13: ftl.direct_read = x: " DIRECT_READ_WENT);
    parse_bad(CACHE "[link]\npacked = 8\n",
              "x.ini:14: link.packed = 8: there is no such key any more: no host packs writes any "
              "more, and no figure was measured with it; allowed: 1");
    parse_bad(CACHE "slc_write = 3\n",
              "x.ini:13: ftl.slc_write = 3: is out of range; allowed: 512 to 1G, or any");
    parse_bad(CACHE "direct_read = 4K\ndirect_read = 4K\n",
              "x.ini:14: ftl.direct_read is given twice, first in line 13");
    parse_bad("[link]\ndirect_read = 4K\n" CACHE,
              "x.ini:2: unknown key link.direct_read; 'flashemu help' lists all keys");
}

/* The value goes on under the new name, with one note. */
static void test_old_keys_set_their_heirs(void **state)
{
    (void)state;
    struct fe_profile p;
    char value[32], note[200];
    parse_good(&p, CACHE "slc_write = 64K\n");
    assert_true(fe_profile_renamed(&p, note, sizeof note));
    assert_string_equal(note, "keys of profile x have other names now: ftl.slc_write is "
                              "ftl.slc_run");
    assert_int_equal(p.ftl.page.slc_run, 65536);
    assert_true(fe_profile_get(&p, "ftl.slc_write", value, sizeof value));
    assert_string_equal(value, "64K");
    assert_false(fe_profile_get(&p, "ftl.direct_read", value, sizeof value));
    char *text = show(&p);
    assert_null(strstr(text, "slc_write"));
    fe_profile_fini(&p);
    parse_good(&p, text);
    assert_false(fe_profile_renamed(&p, note, sizeof note));
    assert_int_equal(p.ftl.page.slc_run, 65536);
    fe_profile_fini(&p);
    free(text);

    parse_good(&p, CACHE "slc_write = any\nslc_run = 128K\n");
    assert_int_equal(p.ftl.page.slc_run, 131072);
    fe_profile_fini(&p);
    parse_bad(CACHE "slc_write = 64K\nslc_run = 128K\n",
              "x.ini:14: ftl.slc_run is given twice, first in line 13");
    parse_bad(CACHE "slc_run = 128K\nslc_write = 64K\n",
              "x.ini:14: ftl.slc_run is given twice, first in line 13");
    parse_bad(MINIMAL "slc_write = 64K\n[nand]\nslc_write = 64K\n",
              "x.ini:13: unknown key nand.slc_write; 'flashemu help' lists all keys");
}

static void test_old_overrides(void **state)
{
    static const char *const same[] = {"ftl.direct_read=4096", "ftl.slc_write=any"};
    static const char *const heir[] = {"ftl.slc_write=32K"};
    static const char *const twice[] = {"ftl.slc_write=32K", "ftl.slc_run=64K"};
    static const char *const wrong[] = {"ftl.direct_read=8K"};
    (void)state;
    struct fe_profile p;
    struct fe_err err;
    char note[200];
    assert_int_equal(parse_with(&p, CACHE "slc_run = 8K\n", same, 2, &err), 0);
    assert_int_equal(p.ftl.page.slc_run, 8192);
    fe_profile_fini(&p);
    assert_int_equal(parse_with(&p, CACHE "slc_run = 8K\n", heir, 1, &err), 0);
    assert_int_equal(p.ftl.page.slc_run, 32768);
    assert_true(fe_profile_renamed(&p, note, sizeof note));
    assert_int_equal(fe_profile_set(&p, "ftl.slc_write", "any", &err), 0);
    assert_int_equal(p.ftl.page.slc_run, 32768);
    assert_int_equal(fe_profile_set(&p, "ftl.slc_write", "16K", &err), 0);
    assert_int_equal(p.ftl.page.slc_run, 16384);
    assert_int_equal(fe_profile_set(&p, "ftl.direct_read", "8K", &err), -EINVAL);
    assert_string_equal(err.text, "ftl.direct_read=8K: " DIRECT_READ_WENT);
    fe_profile_fini(&p);
    assert_int_equal(parse_with(&p, CACHE, twice, 2, &err), -EINVAL);
    assert_string_equal(err.text, "ftl.slc_run=64K: ftl.slc_run is given twice, first as "
                                  "ftl.slc_write=32K");
    assert_int_equal(parse_with(&p, CACHE, wrong, 1, &err), -EINVAL);
    assert_string_equal(err.text, "ftl.direct_read=8K: " DIRECT_READ_WENT);
}

/* The profile in an image has every key of its time, also those at their defaults, and is read
 * whatever these say. */
static void test_old_images_are_read(void **state)
{
    static const struct {
        const char *lines;
        uint64_t slc_run;
    } cases[] = {
        {"direct_read = 8K\nslc_run = 128K\n", 131072},
        {"direct_read = nonsense\n", 0},
        {"slc_write = nonsense\n", 0},
        {"slc_run = never\nslc_write = any\n", 0},
        {"slc_run = 128K\nslc_write = any\n", 131072},
        {"slc_run = never\nslc_write = 64K\n", 65536},
        {"slc_write = 64K\nslc_run = never\n", 65536},
        {"slc_run = 128K\nslc_write = 64K\n", 131072},
        {"slc_write = 64K\nslc_run = 128K\n", 131072},
        {"slc_write = any\nslc_run = 128K\n", 131072},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fe_profile p;
        struct fe_err err = {""};
        char text[1000];
        int n = snprintf(text, sizeof text, "%s%s[link]\npacked = 8\n", CACHE, cases[i].lines);
        if (fe_profile_parse_stored(&p, "x.ini", text, (size_t)n, &err) != 0)
            fail_msg("%s: %s", cases[i].lines, err.text);
        assert_int_equal(p.ftl.page.slc_run, cases[i].slc_run);
        fe_profile_fini(&p);
    }
}

/* Who asks for one is told what became of it. */
static void test_old_keys_are_explained(void **state)
{
    (void)state;
    char hint[200];
    fe_option_hint(FE_N_SECTIONS, "ftl.slc_write", hint, sizeof hint);
    assert_string_equal(hint, "; it is ftl.slc_run now");
    fe_option_hint(FE_SEC_FTL, "direct_read", hint, sizeof hint);
    assert_string_equal(hint, "; there is no such key any more: a command that reads up to 4K begins "
                              "no stream on any card");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_table_is_sound),
        cmocka_unit_test(test_old_defaults_say_nothing),
        cmocka_unit_test(test_old_values_are_refused),
        cmocka_unit_test(test_old_keys_set_their_heirs),
        cmocka_unit_test(test_old_overrides),
        cmocka_unit_test(test_old_images_are_read),
        cmocka_unit_test(test_old_keys_are_explained),
    };
    return cmocka_run_group_tests_name("profile_old", tests, NULL, NULL);
}
