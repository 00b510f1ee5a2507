/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces whose lines are columns, and which format a first line belongs to.
 */
#include "test_workload.h"

#include "workload/formats/columns.h"

#define SYSTOR "1456095145.133076000,0.000806000,R,3,899056122368,131072\n"
#define ALIBABA "7,W,126703661056,4096,1577808000000046\n"
#define TENCENT "1538323200,12910952,128,1,1063\n"
#define SPC "0,20941264,8192,W,0.551706\n"
#define MQSIM "4253 2 32 8 0\n"
#define DISKSIM "0.551706 2 20941264 16 0\n"
#define FIU "89966720336 4892 syslogd 904265560 8 W 6 1 531e779b4cad67e67d5aa8dd8fb3a2b6\n"
#define BIO "7053312\t8\t4096\t5\t100.000001\t100.000002\t100.000010\t100.000810\n"

static struct loaded load_device(const char *text, const char *device)
{
    const struct fe_trace_options opt = {.device = device};
    return load_options(text, strlen(text), 1, &opt);
}

static void check_times(const struct fe_trace_rec *r, uint64_t time_ns, uint64_t done_ns)
{
    assert_int_equal(r->time_ns, time_ns);
    assert_int_equal(r->done_ns, done_ns);
}

/* --- each format --- */

static void test_systor(void **state)
{
    struct loaded l = load("Timestamp,Response,IOType,LUN,Offset,Size\n" SYSTOR
                           "1456095145.133976001,,W,3,899056253440,4096\n"
                           "1456095147.133076,2.5,R,3,512,1024\r\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 3);
    assert_ptr_equal(l.format, format_of("systor"));
    check_rec(&l.rec[0], 0, FE_REQ_READ, 899056122368, 131072, false);
    check_times(&l.rec[0], 0, 806000);
    check_rec(&l.rec[1], 900001, FE_REQ_WRITE, 899056253440, 4096, false);
    check_times(&l.rec[1], 900001, 0); /* the response was not recorded */
    check_rec(&l.rec[2], 2000000000, FE_REQ_READ, 512, 1024, false);
    check_times(&l.rec[2], 2000000000, 4500000000);
}

static void test_alibaba(void **state)
{
    struct loaded l = load(ALIBABA "7,R,1024,77824,1577808000000426\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_ptr_equal(l.format, format_of("alibaba"));
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 126703661056, 4096, false);
    check_rec(&l.rec[1], 380000, FE_REQ_READ, 1024, 77824, false);
}

static void test_tencent(void **state)
{
    struct loaded l = load_device(TENCENT "1538323203,6160447,16,0,1063\n"
                                          "1538323203,0,8,0,1064\n", "1063");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.skipped, 1);
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 12910952ull * 512, 65536, false);
    check_rec(&l.rec[1], 3000000000, FE_REQ_READ, 6160447ull * 512, 8192, false);
    check_bad(TENCENT "1538323203,6160447,16,0,1064\n", "t:2: ", "second device 1064 after 1063");
    check_bad(TENCENT "1538323203,6160447,16,2,1063\n", "t:2: ", "IOType '2' is not 0 or 1");
}

static void test_spc(void **state)
{
    struct loaded l = load(SPC " 0, 3 ,512,\tr , 1.000000001,further,fields\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_ptr_equal(l.format, format_of("spc"));
    check_rec(&l.rec[0], 551706000, FE_REQ_WRITE, 20941264ull * 512, 8192, false);
    check_rec(&l.rec[1], 1000000001, FE_REQ_READ, 1536, 512, false);
    check_bad(SPC "0,3,512,r\n", "t:2: ", "5 columns or more: ASU,LBA");
    check_bad(SPC "0,3,500,r,0.6\n", "t:2: ", "sector size");
}

static void test_mqsim_and_disksim(void **state)
{
    (void)state;
    struct loaded l = load(MQSIM "10000   2\t64 16 1\n");
    assert_int_equal(l.result, 0);
    assert_ptr_equal(l.format, format_of("mqsim"));
    check_rec(&l.rec[0], 4253, FE_REQ_WRITE, 16384, 4096, false);
    check_rec(&l.rec[1], 10000, FE_REQ_READ, 32768, 8192, false);
    check_bad(MQSIM "1.5 2 64 16 1\n", "t:2: ", "TIME_NS '1.5' is not a plain number");

    l = load(DISKSIM "1 2 20939840 3 1\n2.5 2 8 16 b\n3.25 2 8 16 1e\n");
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 4);
    assert_ptr_equal(l.format, format_of("disksim"));
    check_rec(&l.rec[0], 551706, FE_REQ_WRITE, 20941264ull * 512, 8192, false);
    check_rec(&l.rec[1], 1000000, FE_REQ_READ, 20939840ull * 512, 1536, false);
    check_rec(&l.rec[2], 2500000, FE_REQ_READ, 4096, 8192, false);
    check_rec(&l.rec[3], 3250000, FE_REQ_WRITE, 4096, 8192, false);
    check_bad(DISKSIM "3.0 2 8 16 g\n", "t:2: ", "FLAGS 'g' is not a hexadecimal number");
}

/* Flags tell by their last digit whether they are odd. */
static void test_flags_of_every_digit(void **state)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    (void)state;
    for (unsigned i = 0; i < sizeof digits - 1; i++) {
        char text[64];
        snprintf(text, sizeof text, "1.0 0 8 8 0%c\n", digits[i]);
        unsigned value = (unsigned)strtoul(text + 10, NULL, 16);
        assert_int_equal(load(text).rec[0].type, value % 2 ? FE_REQ_READ : FE_REQ_WRITE);
    }
}

static void test_fiu(void **state)
{
    struct loaded l = load_device(FIU "89966720436 12 Web Content x 16 2 R 6 1 0\n"
                                      "89966720536 12 a 16 2 R 6 0 0\n", "6,1");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 2);
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 904265560ull * 512, 4096, false);
    assert_int_equal(l.rec[0].stream, 4892);
    check_rec(&l.rec[1], 100, FE_REQ_READ, 8192, 1024, false);
    assert_int_equal(l.rec[1].stream, 12);
}

static void test_biotracer(void **state)
{
    struct loaded l = load(BIO "8 9 4096 4 100.1 100.2 100.500010 100.500020\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_ptr_equal(l.format, format_of("biotracer"));
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 7053312ull * 512, 4096, false);
    check_times(&l.rec[0], 0, 800000);
    check_rec(&l.rec[1], 500000000, FE_REQ_READ, 4096, 4096, false);
    check_times(&l.rec[1], 500000000, 500010000);
}

static void test_several_devices_must_be_chosen(void **state)
{
    static const struct {
        const char *text, *first, *second;
    } cases[] = {
        {SYSTOR "1456095145.2,0.1,R,4,0,512\n", "3", "4"},
        {ALIBABA "8,R,0,512,1577808000000426\n", "7", "8"},
        {SPC "1,0,512,R,0.6\n", "0", "1"},
        {MQSIM "5000 3 0 8 1\n", "2", "3"},
        {DISKSIM "0.6 3 0 8 1\n", "2", "3"},
        {FIU "89966720337 1 x 0 8 W 6 2 0\n", "6,1", "6,2"},
    };
    (void)state;
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        char told[80];
        snprintf(told, sizeof told, "second device %s after %s; --from-device", cases[i].second,
                 cases[i].first);
        check_bad(cases[i].text, "t:2: ", told);
        assert_int_equal(load(cases[i].text).n, 1);
        struct loaded l = load_device(cases[i].text, cases[i].second);
        assert_int_equal(l.result, 0);
        assert_int_equal(l.n, 1);
        assert_int_equal(l.rec[0].line, 2);
        assert_int_equal(load_device(cases[i].text, "9").result, -EINVAL);
    }
}

/* --- numbers --- */

/* awk's favourite. */
static void test_numbers_with_an_exponent_are_refused(void **state)
{
    (void)state;
    check_bad(ALIBABA "7,R,1.57781e+16,512,1577808000000426\n", "t:2: ",
              "offset '1.57781e+16' is not a plain number");
    check_bad(SPC "0,3,512,r,1e3\n", "t:2: ", "Timestamp '1e3'");
    check_bad(SPC "0,3,512,r,-1.0\n", "t:2: ", "Timestamp '-1.0'");
    check_bad(SPC "0,3,512,r,1.\n", "t:2: ", "Timestamp '1.'");
    check_bad(SPC "0,36028797018963968,512,r,1\n", "t:2: ", "LBA '36028797018963968'");
    check_bad(SPC "0,3,512,r,18446744074\n", "t:2: ", "Timestamp '18446744074'");
}

static void test_times_round_down(void **state)
{
    uint64_t ns = 7;
    (void)state;
#define TIME(text, unit) fe_columns_time((struct fe_span){text, sizeof text - 1}, unit, true, &ns)
    assert_true(TIME("1.0000000019", 1000000000));
    assert_int_equal(ns, 1000000001);
    assert_true(TIME("0.0000019", 1000000));
    assert_int_equal(ns, 1);
    assert_true(TIME("18446744073.709551615", 1000000000));
    assert_int_equal(ns, UINT64_MAX);
    assert_false(TIME("18446744073.709551616", 1000000000));
    assert_true(TIME("0.999999999999999999", 1000000000));
    assert_int_equal(ns, 999999999);
    assert_false(TIME("0.9999999999999999999", 1000000000)); /* 19 decimals */
    assert_false(TIME(".5", 1000000000));
    assert_false(TIME("", 1000000000));
    assert_int_equal(ns, 999999999);
#undef TIME
}

/* --- detection --- */

static bool knows(const struct fe_trace_format *f, const char *text, size_t len)
{
    const char *nl = memchr(text, '\n', len);
    struct fe_span line = {text, nl ? (size_t)(nl - text) : len};

    if (f->starts)
        return f->starts((const uint8_t *)text, len);
    return f->columns ? fe_columns_detect(f->columns, line) : f->detect(line);
}

static const struct {
    const char *format, *text;
} examples[] = {
    {"text", HEAD},
    {"binary", "# flashemu binary trace 1\n"},
    {"iolog", "fio version 3 iolog\n"},
    {"iolog2", "fio version 2 iolog\n"},
    {"blkparse", "  8,0    3        1     0.000000000   697  D   W 8 + 8 [dd]\n"},
    {"blkparse", "Input file sdz.blktrace.0 added\n"},
    {"blkparse", "    0.000002000  1234  D   W 2048 + 8\n"},
    {"blktrace", "\x07tae\n"},
    {"blktrace", "eat\x07\n"},
    {"ftrace", "# tracer: nop\n"},
    {"ftrace", "cpus=4\n"},
    {"ftrace", " a b-89 [000] d..2   474.223046: block_rq_issue: 179,0 W 0 () 8 + 8 [a]\n"},
    {"ftrace", " jbd2 128 [001] 474.223046: block:block_rq_issue: 179,0 W 0 () 8 + 8 [a]\n"},
    {"ftrace", "swapper 0 [000] 4.2: sched:sched_switch: prev_comm=swapper\n"},
    {"biosnoop", "TIME(s)     COMM           PID    DISK     T SECTOR     BYTES  LAT(ms)\n"},
    {"biosnoop", "0.000000    jbd2/mmcblk0p2 128    mmcblk0   W 4717976    4096     3.21\n"},
    {"biosnoop", "0.000000    jbd2/mmcblk0p2 128    mmcblk0   W 4717976    4096  0.01 3.21\n"},
    {"dm-log-writes", "rhswfsj\0"},
    {"msr", "128166372003061629,usr,0,Read,7014609920,24576,41286\n"},
    {"msr", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"},
    {"systor", SYSTOR},
    {"systor", "Timestamp,Response,IOType,LUN,Offset,Size\n"},
    {"alibaba", ALIBABA},
    {"alibaba", "0,R,0,512,0\n"},
    {"tencent", TENCENT},
    {"tencent", "1000000000,12910952,128,0,1063\n"},
    {"tencent", "3999999999,12910952,128,0,1063\n"},
    {"spc", SPC},
    {"spc", "0,0,512,r,0.000000\n"},
    {"mqsim", MQSIM},
    {"mqsim", "0 0 0 1 1\n"},
    {"disksim", DISKSIM},
    {"disksim", "0.0 0 0 1 1\n"},
    {"fiu", FIU},
    {"biotracer", BIO},
};

/* Each example is recognised as itself and as nothing else. */
static void test_every_example_is_of_one_format(void **state)
{
    const struct fe_trace_format *f;
    (void)state;
    for (size_t i = 0; i < ft_array_len(examples); i++) {
        size_t len = strcmp(examples[i].format, "dm-log-writes") == 0 ? 8
                                                                      : strlen(examples[i].text);
        for (unsigned k = 0; (f = fe_trace_format_at(k)) != NULL; k++) {
            bool own = strcmp(f->name, examples[i].format) == 0;
            if (knows(f, examples[i].text, len) != own)
                fail_msg("%s %s '%s'", f->name, own ? "does not know" : "knows",
                         examples[i].text);
        }
    }
}

/* A format that is only read cannot be tested with what it wrote. */
static void test_formats_that_are_only_read_have_an_example(void **state)
{
    const struct fe_trace_format *f;
    (void)state;
    for (unsigned k = 0; (f = fe_trace_format_at(k)) != NULL; k++) {
        bool found = f->put != NULL;
        for (size_t i = 0; i < ft_array_len(examples); i++)
            found = found || strcmp(f->name, examples[i].format) == 0;
        if (!found)
            fail_msg("%s is read only and has no example in this test", f->name);
    }
}

/* Lines that only look like one. */
static void test_other_numbers_belong_to_no_format(void **state)
{
    static const char *const lines[] = {
        "1 2 3 4\n", "1 2 3 4 5\n", "1 2 3 0 1\n", "1,2,3,4,5\n", "5,2,3,0,1\n",
        "1538323200,12910952,0,1,1063\n", "999999999,12910952,128,0,1063\n",
        "4000000000,12910952,128,0,1063\n", "1,2,3,Read,5,6\n", "a 0 32 8 0\n", "1.5 0 32 8 x\n",
        "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8\n", "1 2 3 4 5 6 7 8\n", "0,R,0,0,5\n",
        "TIME COMM PID\n", "[0] 1.5: nothing\n",
    };
    (void)state;
    for (size_t i = 0; i < ft_array_len(lines); i++)
        check_bad(lines[i], "t:1: ", "known trace format");
}

/* What a line looks like does not matter to somebody who says what it is. */
static void test_a_named_format_is_not_detected(void **state)
{
    const char text[] = "1538323200 0 8 8 1\n"; /* DiskSim without a point: MQSim by its looks */
    const struct fe_trace_options opt = {.format = format_of("disksim")};
    (void)state;
    assert_ptr_equal(load(text).format, format_of("mqsim"));
    struct loaded l = load_options(text, sizeof text - 1, 1, &opt);
    assert_int_equal(l.result, 0);
    assert_int_equal(l.rec[0].time_ns, UINT64_C(1538323200000000));
}

/* --- files of other programs --- */

static void test_foreign_files_are_named(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *told;
    } cases[] = {
#define FILE_OF(bytes, told) {bytes, sizeof bytes - 1, told}
        FILE_OF("\xfd" "7zXZ\0\0\4", "by xz; decompress it first: xz -dc FILE | flashemu replay"),
        FILE_OF("\x28\xb5\x2f\xfd" "abc", "zstd -dc FILE"),
        FILE_OF("BZh91AY", "bzip2 -dc FILE"),
        FILE_OF("\x1f\x8b\x08", "gzip -dc FILE"),
        FILE_OF("PERFILE2", "perf script -i FILE"),
        FILE_OF("\x17\x08\x44tracing", "trace-cmd report FILE"),
        FILE_OF("\xff\xfe#\0 \0", "iconv -f UTF-16"),
        FILE_OF("fio version 1 iolog\n", "iolog of fio whose version"),
        FILE_OF("0.000002000,1234,D,W,2048,8\n", "looks like blkparse -f"),
        FILE_OF("  8,0 0.000002000 x 2048 8\n", "looks like blkparse -f"),
#undef FILE_OF
    };
    const struct fe_trace_options none = {0};
    (void)state;
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        struct loaded l = load_options(cases[i].bytes, cases[i].n, 1, &none);
        assert_int_equal(l.result, -EINVAL);
        if (strncmp(l.err.text, "t:1: ", 5) != 0 || !strstr(l.err.text, cases[i].told))
            fail_msg("'%s' is not '%s'", l.err.text, cases[i].told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systor),
        cmocka_unit_test(test_alibaba),
        cmocka_unit_test(test_tencent),
        cmocka_unit_test(test_spc),
        cmocka_unit_test(test_mqsim_and_disksim),
        cmocka_unit_test(test_flags_of_every_digit),
        cmocka_unit_test(test_fiu),
        cmocka_unit_test(test_biotracer),
        cmocka_unit_test(test_several_devices_must_be_chosen),
        cmocka_unit_test(test_numbers_with_an_exponent_are_refused),
        cmocka_unit_test(test_times_round_down),
        cmocka_unit_test(test_every_example_is_of_one_format),
        cmocka_unit_test(test_formats_that_are_only_read_have_an_example),
        cmocka_unit_test(test_other_numbers_belong_to_no_format),
        cmocka_unit_test(test_a_named_format_is_not_detected),
        cmocka_unit_test(test_foreign_files_are_named),
    };
    return cmocka_run_group_tests_name("workload_columns", tests, NULL, NULL);
}
