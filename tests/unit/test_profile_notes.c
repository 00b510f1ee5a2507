/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sections of a profile that explain it: [provenance] says where each number comes from, and
 * [fidelity] lists what was published about the device.
 */
#include "test_profile.h"

#include "profile/notes.h"

static void test_parse_provenance_is_kept_in_order(void **state)
{
    struct fe_profile p, copy;
    struct fe_err err = {""};
    (void)state;
    parse_good(&p, MINIMAL "[provenance]\n"
                           "nand.tR = data sheet: 50 us\n"
                           "sources = http://example.org/a?b=c; page 3 ; a comment\n"
                           "  # a comment\n"
                           "    second line = 5 ; a comment\n"
                           "\n"
                           "\t[3] third line\n"
                           "device = \xc3\xa4 stick\n");
    assert_int_equal(p.n_provenance, 3);
    assert_string_equal(p.provenance[0].key, "nand.tR");
    assert_string_equal(p.provenance[0].value, "data sheet: 50 us");
    assert_int_equal(p.provenance[0].line, 12);
    assert_string_equal(p.provenance[1].value,
                        "http://example.org/a?b=c; page 3\nsecond line = 5\n[3] third line");
    assert_string_equal(p.provenance[2].key, "device");
    check_fixpoint(&p);

    assert_int_equal(fe_profile_copy(&copy, &p, &err), 0);
    assert_ptr_not_equal(copy.provenance[1].value, p.provenance[1].value);
    char *a = show(&p), *b = show(&copy);
    assert_string_equal(a, b);
    free(a);
    free(b);
    fe_profile_fini(&p);
    check_fixpoint(&copy);
    fe_profile_fini(&copy);

#define PROV MINIMAL "[provenance]\n"
    parse_bad(PROV "nand.tX = 5\n",
              "x.ini:12: provenance of the unknown key nand.tX; did you mean nand.tR?");
    parse_bad(PROV "a b = 5\n", "x.ini:12: key \"a b\": letters, digits and _.- only");
    parse_bad(PROV "a = 5\nb = 6\na = 7\n", "x.ini:14: a is given twice, first in line 12");
    parse_bad(PROV "a =\n", "x.ini:12: a has no value");
    parse_bad(PROV "a =;b\n", "x.ini:12: a: a ';' there begins a comment");
    parse_bad(PROV "a = ;b\n", "x.ini:12: a has no value");
    /* A continuation of a refused line is an orphan, not a part of the line before. */
    parse_bad(PROV "a = 1\nb b = 2\n  more\n",
              "x.ini:13: key \"b b\": letters, digits and _.- only");
}

static void test_parse_limits_notes(void **state)
{
    char *text = malloc(400000), *at = text;
    struct fe_profile p;
    struct fe_err err;
    (void)state;
    at += sprintf(at, "%s[provenance]\n", MINIMAL);
    for (int i = 0; i < 1001; i++)
        at += sprintf(at, "k%d = v\n", i);
    assert_int_equal(parse_with(&p, text, NULL, 0, &err), -EINVAL);
    assert_string_equal(err.text, "x.ini:1012: more than 1000 rows");

    at = text + sprintf(text, "%s[provenance]\nk = v\n", MINIMAL);
    for (int i = 0; i < 1000; i++)
        at += sprintf(at, " %0100d\n", i);
    assert_int_equal(parse_with(&p, text, NULL, 0, &err), -EINVAL);
    assert_string_equal(err.text, "x.ini:175: k is longer than 16384 bytes");
    free(text);
}

static void test_parse_fidelity_refuses_other_rows(void **state)
{
    static const struct {
        const char *row, *why;
    } bad[] = {
        {"hdparm-t", "is not PROCEDURE | VALUE UNIT | TOLERANCE% [| REASON]"},
        {"hdparm-t | 3 MB/s", "is not PROCEDURE | VALUE UNIT | TOLERANCE% [| REASON]"},
        {"hdparm-t | 3 MB/s | 5% | x | y", "is not PROCEDURE | VALUE UNIT | TOLERANCE% [| REASON]"},
        {" | 3 MB/s | 5%", "is not PROCEDURE | VALUE UNIT | TOLERANCE% [| REASON]"},
        {"hdparm-t |  | 5%", "is not PROCEDURE | VALUE UNIT | TOLERANCE% [| REASON]"},
        {"hdparm-t | 3 MB/s |", "is not PROCEDURE | VALUE UNIT | TOLERANCE% [| REASON]"},
        {"hdparm-t | 3 | 5%", "value \"3\" is not a number with MB/s, ms, us, s, count or %"},
        {"hdparm-t | 3 GB/s | 5%",
         "value \"3 GB/s\" is not a number with MB/s, ms, us, s, count or %"},
        {"hdparm-t | fast MB/s | 5%",
         "value \"fast MB/s\" is not a number with MB/s, ms, us, s, count or %"},
        {"hdparm-t | 3..4 MB/s | 5%", "value \"3..4 MB/s\" is not a number"},
        {"hdparm-t | MB/s | 5%", "value \"MB/s\" is not a number"},
        {"hdparm-t | 3 MB/s | 5", "tolerance \"5\" is not a share such as 5%"},
        {"hdparm-t | 3 MB/s | x%", "tolerance \"x%\" is not a share such as 5%"},
        {"hdparm-t | 3 MB/s | 5% | ", "is not PROCEDURE | VALUE UNIT | TOLERANCE% [| REASON]"},
        {"hdparm-t | 0 MB/s | 5%", "value 0 has no error in percent"},
        {"hdparm-t | 3 ms | 5%", "procedure hdparm-t measures in MB/s, not in ms"},
        {"hdparm-t | 3 count | 5%", "procedure hdparm-t measures in MB/s, not in count"},
        {"hdparm | 3 MB/s | 5%",
         "unknown procedure \"hdparm\"; flashemu verify --list names them"},
        {"hdparm-t x | 3 MB/s | 5%", "procedure hdparm-t has no argument x (KEY=VALUE)"},
        {"hdparm-t bs=1 | 3 MB/s | 5%", "procedure hdparm-t has no argument bs"},
        {"seq-read bs=1M | 3 MB/s | 5%", "procedure seq-read needs size="},
        {"seq-read bs=1M bs=1M | 3 MB/s | 5%", "bs is given twice"},
        {"iozone-seq-read bs=1M think=1us | 3 MB/s | 5%", "procedure iozone-seq-read needs size="},
        {"seq-read bs=1M size=x | 3 MB/s | 5%", "size=x is not a number"},
        {"seq-read bs=64M size=1M | 3 MB/s | 5%",
         "bs=64M is out of range; allowed: 512 to 32M"},
    };
    struct fe_fidelity f;
    (void)state;
    for (size_t i = 0; i < ft_array_len(bad); i++) {
        struct fe_err err = {""};
        assert_int_equal(fe_fidelity_parse(bad[i].row, &f, &err), -EINVAL);
        assert_string_equal(err.text, bad[i].why);
    }
}

static void test_parse_fidelity_takes_a_row_apart(void **state)
{
    struct fe_fidelity f;
    (void)state;
    assert_int_equal(fe_fidelity_parse("hdparm-t|3.6 MB/s| 10%", &f, NULL), 0);
    assert_string_equal(f.text, "hdparm-t");
    assert_string_equal(f.procedure->name, "hdparm-t");
    assert_string_equal(f.reason, "");
    assert_int_equal(f.quantity, FE_RATE);
    assert_int_equal(f.value, 3600000);
    assert_string_equal(f.unit, "MB/s");
    assert_int_equal(f.tolerance_ppm, 100000);
    assert_int_equal(fe_fidelity_parse(" seq-read  size=1G bs=4K | 30MB/s | 2.5% | another stick ",
                                       &f, NULL), 0);
    assert_string_equal(f.text, "seq-read  size=1G bs=4K");
    assert_int_equal(f.arg[0], 4096);
    assert_int_equal(f.arg[1], 1 << 30);
    assert_int_equal(f.arg[2], 0);
    assert_int_equal(f.tolerance_ppm, 25000);
    assert_string_equal(f.reason, "another stick");
    assert_string_equal(f.note, "");
    assert_int_equal(fe_fidelity_parse("hdparm-t | 3 MB/s | 9% | note: a part of it", &f, NULL), 0);
    assert_string_equal(f.reason, "");
    assert_string_equal(f.note, "a part of it");
}

static void test_parse_fidelity_section(void **state)
{
    struct fe_profile p;
    (void)state;
    parse_good(&p, MINIMAL "[fidelity]\nb = hdparm-t | 3 MB/s | 5%\n"
                           "  a = hdparm-t | 1 MB/s | 10%\n");
    assert_int_equal(p.n_fidelity, 2);
    assert_string_equal(p.fidelity[1].key, "a");
    assert_string_equal(p.fidelity[1].value, "hdparm-t | 1 MB/s | 10%");
    check_fixpoint(&p);
    fe_profile_fini(&p);
    parse_bad(MINIMAL "[fidelity]\nb = seq\n",
              "x.ini:12: fidelity row b: is not PROCEDURE | VALUE UNIT | TOLERANCE% [| REASON]");
    parse_bad(MINIMAL "[fidelity]\nb=hdparm-t|1 MB/s|1%\nb=hdparm-t|1 MB/s|1%\n",
              "x.ini:13: b is given twice, first in line 12");
}

static void test_parse_fidelity_refuses_a_word_that_is_too_long(void **state)
{
    (void)state;
    /* cut to 63 bytes the number would be a good one */
    char row[200] = "a = seq-read bs=";
    memset(row + strlen(row), '0', 59);
    strcat(row, "512000 size=4M | 5 MB/s | 5%\n");
    char text[400];
    snprintf(text, sizeof text, MINIMAL "[fidelity]\n%s", row);
    parse_bad(text, "x.ini:12: fidelity row a: the word \"bs=0000000000000000000000000000000000000"
                    "...\" is longer than 63 bytes");
}

/* A copy of a list can grow like the list itself: no byte behind it is written. */
static void test_notes_can_be_added_to_a_copy(void **state)
{
    struct fe_profile_note *list = NULL, *copy;
    uint32_t n = 0, n_copy;
    char key[16];

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        snprintf(key, sizeof key, "k%u", i);
        assert_int_equal(fe_note_add(&list, &n, key, "v", i, NULL), 0);
        assert_int_equal(fe_notes_copy(&copy, &n_copy, list, n, NULL), 0);
        for (uint32_t more = 0; more < 5; more++) {
            snprintf(key, sizeof key, "m%u", more);
            assert_int_equal(fe_note_add(&copy, &n_copy, key, "w", 99, NULL), 0);
        }
        assert_int_equal(n_copy, n + 5);
        assert_string_equal(copy[i].value, "v");
        fe_notes_free(copy, n_copy);
    }
    fe_notes_free(list, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_provenance_is_kept_in_order),
        cmocka_unit_test(test_parse_limits_notes),
        cmocka_unit_test(test_parse_fidelity_refuses_other_rows),
        cmocka_unit_test(test_parse_fidelity_takes_a_row_apart),
        cmocka_unit_test(test_parse_fidelity_section),
        cmocka_unit_test(test_parse_fidelity_refuses_a_word_that_is_too_long),
        cmocka_unit_test(test_notes_can_be_added_to_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
