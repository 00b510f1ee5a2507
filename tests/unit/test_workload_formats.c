/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The trace formats of other programs: good files, and files with one mistake each.
 */
#include "test_workload.h"

#include "base/rng.h"

#define IOLOG2 "fio version 2 iolog\n/dev/x add\n/dev/x open\n"
#define IOLOG3 "fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n"
#define BLK   "  8,0    3        1     0.000000000   697  "
#define BLK2  "  8,0    3        2     1.500000001   697  "
#define MSR   "128166372003061629,usr,0,"

/* --- iolog --- */

static void test_iolog2_waits_make_the_times(void **state)
{
    struct loaded l = load(IOLOG2 "/dev/x write 4096 8192\n/dev/x wait 500 0\n"
                                  "/dev/x read 0 512\n/dev/x wait 99 0\n/dev/x trim 512 512\n"
                                  "/dev/x wait 100 0\n/dev/x sync 4096 8192\n"
                                  "/dev/x datasync 0 0\n/dev/x close\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 5);
    assert_ptr_equal(l.format, format_of("iolog2"));
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 4096, 8192, false);
    check_rec(&l.rec[1], 500000, FE_REQ_READ, 0, 512, false);
    check_rec(&l.rec[2], 500000, FE_REQ_TRIM, 512, 512, false);
    check_rec(&l.rec[3], 600000, FE_REQ_FLUSH, 0, 0, false);
    check_rec(&l.rec[4], 600000, FE_REQ_FLUSH, 0, 0, false);
}

static void test_iolog3_as_fio_writes_it(void **state)
{
    struct loaded l = load("fio version 3 iolog\n29 /data/f add\n199 /data/f open\n"
                           "204 /data/f read 61440 4096\n1045 /data/f write 774144 4096\n"
                           "40614 /data/f sync 884736 0\n180897 /data/f close\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 3);
    check_rec(&l.rec[0], 204000, FE_REQ_READ, 61440, 4096, false);
    check_rec(&l.rec[1], 1045000, FE_REQ_WRITE, 774144, 4096, false);
    check_rec(&l.rec[2], 40614000, FE_REQ_FLUSH, 0, 0, false);
}

static void test_iolog_names_the_bad_line(void **state)
{
    (void)state;
    check_bad(IOLOG2 "/dev/x write 0 512 9\n", "t:4: ", "FILE ACTION OFFSET LENGTH");
    check_bad(IOLOG2 "/dev/x\n", "t:4: ", "FILE ACTION");
    check_bad(IOLOG2 "/dev/x scribble 0 512\n", "t:4: ", "'scribble'");
    check_bad(IOLOG2 "/dev/x rename\n", "t:4: ", "'rename'");
    check_bad(IOLOG2 "/dev/x write x 512\n", "t:4: ", "plain numbers");
    check_bad(IOLOG2 "/dev/x write 0 18446744073709551616\n", "t:4: ", "plain numbers");
    check_bad(IOLOG2 "/dev/x write 0 100\n", "t:4: ", "sector size");
    check_bad(IOLOG2 "/dev/y write 0 512\n", "t:4: ", "not added and opened");
    check_bad(IOLOG2 "/dev/y open\n", "t:4: ", "not added");
    check_bad(IOLOG2 "/dev/x close\n/dev/x write 0 512\n", "t:5: ", "not added and opened");
    check_bad(IOLOG2 "/dev/x wait 18446744073709551615 0\n", "t:4: ", "2^64 ns");
    check_bad(IOLOG3 "5 /dev/x wait 500 0\n", "t:4: ", "wait is not allowed");
    check_bad(IOLOG3 "/dev/x write 0 512\n", "t:4: ", "microseconds");
    check_bad(IOLOG3 "18446744073709552 /dev/x write 0 512\n", "t:4: ", "microseconds");
}

static void test_iolog_second_file_must_be_chosen(void **state)
{
    const char text[] = IOLOG3 "0 /dev/y add\n0 /dev/y open\n1 /dev/x read 0 512\n"
                               "2 /dev/y read 512 512\n";
    const struct fe_trace_options y = {.device = "/dev/y"}, z = {.device = "/dev/z"};
    (void)state;
    check_bad(text, "t:7: ", "second file '/dev/y'");
    struct loaded l = load_options(text, sizeof text - 1, 1, &y);
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.skipped, 1);
    check_rec(&l.rec[0], 2000, FE_REQ_READ, 512, 512, false);
    assert_int_equal(load_options(text, sizeof text - 1, 1, &z).result, -EINVAL);
}

/* A name is not a string. */
static void test_iolog_file_name_with_nul(void **state)
{
    const char text[] = "fio version 2 iolog\na\0bcdefghijkl add\na\0bcdefghijkl open\n"
                        "a\0bcdefghijkm open\n";
    const struct fe_trace_options none = {0};
    (void)state;
    struct loaded l = load_options(text, sizeof text - 1, 1, &none);
    assert_int_equal(l.result, -EINVAL);
    assert_memory_equal(l.err.text, "t:4: ", 5);
}

/* --- blkparse --- */

static void test_blkparse_takes_issued_requests(void **state)
{
    struct loaded l = load(BLK "A   W 8 + 8 <- (8,1) 0\n"
                           BLK "Q   W 8 + 8 [dd]\n"
                           BLK "G   W 8 + 8 [dd]\n"
                           BLK "P   N [dd]\n"
                           BLK "I   W 8 + 8 [dd]\n"
                           BLK "UT  N [swapper] 1\n"
                           BLK "D   W 8 + 8 (     123) [dd]\n"
                           BLK2 "D  WS 16 + 8 [dd]\n"
                           BLK2 "D  RM 24 + 1 [dd]\n"
                           BLK2 "D   D 32 + 2048 [fstrim]\n"
                           BLK2 "C   W 8 + 8 [0]\n"
                           BLK2 "m   N cfq123 hello\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 4);
    assert_ptr_equal(l.format, format_of("blkparse"));
    assert_int_equal(l.skipped, 8);
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 8 * 512, 8 * 512, false);
    check_rec(&l.rec[1], 1500000001, FE_REQ_WRITE, 16 * 512, 8 * 512, false);
    check_rec(&l.rec[2], 1500000001, FE_REQ_READ, 24 * 512, 512, false);
    check_rec(&l.rec[3], 1500000001, FE_REQ_TRIM, 32 * 512, 2048 * 512, false);
    assert_int_equal(l.rec[0].stream, 697);
}

static void test_blkparse_flush_and_fua(void **state)
{
    struct loaded l = load(BLK "D  FN [kworker]\n"
                           BLK "D FWS [jbd2]\n"
                           BLK "D WFS 8 + 8 [jbd2]\n"
                           BLK "D FWFS 16 + 8 [jbd2]\n"
                           BLK "D   R 36 (12 00 00 00 24 00 ..) [udevd]\n"
                           BLK "D   N 0 [udevd]\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 5);
    check_rec(&l.rec[0], 0, FE_REQ_FLUSH, 0, 0, false);
    check_rec(&l.rec[1], 0, FE_REQ_FLUSH, 0, 0, false);
    check_rec(&l.rec[2], 0, FE_REQ_WRITE, 8 * 512, 8 * 512, true);
    check_rec(&l.rec[3], 0, FE_REQ_FLUSH, 0, 0, false);
    check_rec(&l.rec[4], 0, FE_REQ_WRITE, 16 * 512, 8 * 512, true);
    assert_int_equal(l.rec[4].line, 4);
    assert_int_equal(l.skipped, 2);
}

static void test_blkparse_summary_ends_the_events(void **state)
{
    const char *summary = "CPU0 (sda):\n"
                          " Reads Queued:           0,        0KiB\t Writes Queued:  2,  8KiB\n"
                          " IO unplugs:             1        \t Timer unplugs:           0\n"
                          "\n"
                          "Total (sda):\n"
                          "Throughput (R/W): 0KiB/s / 8KiB/s\n"
                          "Events (sda): 12 entries\n"
                          "Skips: 0 forward (0 -   0.0%)\n";
    char text[1024];
    (void)state;
    snprintf(text, sizeof text, "%s%s", BLK "D W 8 + 8 [dd]\n", summary);
    assert_int_equal(load(text).result, 0);
    assert_int_equal(load(text).n, 1);
    snprintf(text, sizeof text, "%s%s%s", BLK "D W 8 + 8 [dd]\n", summary, BLK "D W 8 + 8 [x]\n");
    check_bad(text, "t:10: ", "not an event");
}

static void test_blkparse_other_kinds_of_event(void **state)
{
    const char text[] = BLK "Q   W 8 + 8 [dd]\n" BLK2 "C   W 8 + 8 [0]\n";
    const struct fe_trace_options q = {.event = 'Q'}, c = {.event = 'C'};
    (void)state;
    check_bad(text, "t: ", "no events of kind D");
    assert_int_equal(load_options(text, sizeof text - 1, 1, &q).rec[0].time_ns, 0);
    assert_int_equal(load_options(text, sizeof text - 1, 1, &c).rec[0].time_ns, 1500000001);
}

static void test_blkparse_names_the_bad_line(void **state)
{
    const struct fe_trace_options other = {.device = "8,16"};
    const char two[] = BLK "D W 8 + 8 [x]\n  8,16   0  3  2.000000000  1  D   R 0 + 8 [x]\n";
    (void)state;
    check_bad(BLK "D W 8 + 8 [x]\nhello world\n", "t:2: ", "not an event");
    check_bad(BLK "D W 8 + 8 [x]\n" BLK "D X 8 + 8 [x]\n", "t:2: ", "RWBS");
    check_bad(BLK "D W 8 + 8 [x]\n" BLK "D WZ 8 + 8 [x]\n", "t:2: ", "RWBS");
    check_bad(BLK "D W 8 + 8 [x]\n" BLK "D W 8 - 8 [x]\n", "t:2: ", "SECTOR + COUNT");
    check_bad(BLK "D W 8 + 8 [x]\n" BLK "D W 8 +\n", "t:2: ", "SECTOR + COUNT");
    check_bad(BLK "D W 8 + 8 [x]\n" BLK "D W 36028797018963968 + 8 [x]\n", "t:2: ",
              "SECTOR + COUNT");
    check_bad(BLK "D W 8 + 8 [x]\n  8,0  0  1  1.5  1  D W 8 + 8 [x]\n", "t:2: ",
              "not an event");
    check_bad(two, "t:2: ", "second device 8,16");
    assert_int_equal(load_options(two, sizeof two - 1, 1, &other).n, 1);
}

/* A device's numbers have 31 characters at most. */
static void test_blkparse_takes_devices_that_are_kept(void **state)
{
    const char longest[] = "8,00000000000000000000000000000 0 3 0.000000000 697 D W 8 + 8 [x]\n";
    const char too_long[] = "8,000000000000000000000000000000 0 3 0.000000000 697 D W 8 + 8 [x]\n";
    (void)state;
    assert_int_equal(load(longest).n, 1);
    check_bad(too_long, "t:1: ", "");
}

/* A NUL is not an action, an operation or a flag, although it ends every string of them. */
static void test_blkparse_refuses_a_nul(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } bad[] = {
#define NUL_AT(text) {text, sizeof text - 1}
        NUL_AT(BLK "D W 8 + 8 [x]\n" BLK "\0 W 8 + 8 [x]\n"),
        NUL_AT(BLK "D W 8 + 8 [x]\n" BLK "D \0 8 + 8 [x]\n"),
        NUL_AT(BLK "D W 8 + 8 [x]\n" BLK "D W\0 8 + 8 [x]\n"),
#undef NUL_AT
    };
    const struct fe_trace_options none = {0};
    (void)state;
    for (size_t i = 0; i < ft_array_len(bad); i++) {
        struct loaded l = load_options(bad[i].text, bad[i].len, 1, &none);
        assert_int_equal(l.result, -EINVAL);
        assert_int_equal(l.n, 1);
    }
}

/* --- MSR --- */

static void test_msr_times_start_at_the_first_request(void **state)
{
    struct loaded l = load("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"
                           "128166372003061629,usr,0,Read,7014609920,24576,41286\n"
                           "128166372003061630,usr,0,Write,1024,512,10\r\n"
                           "128166372003061620,usr,0,Write,1024,512,10\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 3);
    assert_ptr_equal(l.format, format_of("msr"));
    check_rec(&l.rec[0], 0, FE_REQ_READ, 7014609920, 24576, false);
    assert_int_equal(l.rec[0].done_ns, 4128600);
    check_rec(&l.rec[1], 100, FE_REQ_WRITE, 1024, 512, false);
    check_rec(&l.rec[2], 0, FE_REQ_WRITE, 1024, 512, false);
}

static void test_msr_names_the_bad_line(void **state)
{
    const struct fe_trace_options one = {.device = "usr.1"};
    const char two[] = MSR "Read,0,512,1\n128166372003061629,usr,1,Read,512,512,1\n";
    (void)state;
    check_bad(MSR "Read,0,512,1\n" MSR "Read,0,512\n", "t:2: ", "7 columns");
    check_bad(MSR "Read,0,512,1\n" MSR "Read,0,512,1,2\n", "t:2: ", "7 columns");
    check_bad(MSR "Read,0,512,1\n" MSR "Trim,0,512,1\n", "t:2: ", "'Trim'");
    check_bad(MSR "Read,0,512,1\n" MSR "Read,zero,512,1\n", "t:2: ", "plain number");
    check_bad(MSR "Read,0,512,1\n" MSR "Read,0,100,1\n", "t:2: ", "sector size");
    check_bad(MSR "Read,0,512,1\n18446744073709551615,usr,0,Read,0,512,1\n", "t:2: ", "2^64 ns");
    check_bad(MSR "Read,0,512,1\n128166372003061629,,0,Read,0,512,1\n", "t:2: ", "empty");
    check_bad(two, "t:2: ", "second device usr.1");
    struct loaded l = load_options(two, sizeof two - 1, 1, &one);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.rec[0].offset, 512);
}

/* --- whatever is in a file --- */

/* Damages a text in a few places: bytes, lost pieces, doubled pieces, huge numbers. */
static size_t damage(char *text, size_t len, size_t max, uint64_t i)
{
    static const char huge[] = "18446744073709551616";
    uint64_t draw = 0;
    for (uint64_t k = 1 + fe_rng(1, FE_RNG_TEST, i, draw++) % 4; k > 0; k--) {
        uint64_t bits = fe_rng(1, FE_RNG_TEST, i, draw++);
        size_t at = bits % (len + 1), n = bits >> 32 & 31;
        if (n > len - at)
            n = len - at;
        if (bits >> 62 == 0 && at < len) {
            text[at] = (char)(bits >> 40);
        } else if (bits >> 62 == 1) {
            memmove(text + at, text + at + n, len - at - n);
            len -= n;
        } else {
            const char *piece = bits >> 62 == 2 ? huge : text + at;
            n = bits >> 62 == 2 ? sizeof huge - 1 : n;
            if (len + n > max)
                continue;
            memmove(text + at + n, text + at, len - at);
            memmove(text + at, piece == huge ? huge : text + at + n, n);
            len += n;
        }
    }
    return len;
}

/* Every file is either read, and then all its records are sound, or refused with one line
 * that names it. */
static void test_damaged_files_are_read_or_refused(void **state)
{
    static const char *const texts[] = {
        HEAD "0 write 0 512 fua stream=1\n5 trim 512 1024 done=7 status=ok\n6 flush 0 0\n",
        IOLOG2 "/dev/x write 0 512\n/dev/x wait 500 0\n/dev/x sync 0 0\n/dev/x close\n",
        IOLOG3 "5 /dev/x trim 0 512\n6 /dev/x read 512 512\n7 /dev/x close\n",
        BLK "D FWFS 16 + 8 [x]\n" BLK "Q R 8 + 8 [x]\n" BLK "D FN [x]\nTotal (sda):\n a: 1\n",
        MSR "Read,0,512,1\n" MSR "Write,512,1024,2\n",
    };
    unsigned n_formats = 0;
    (void)state;
    while (fe_trace_format_at(n_formats))
        n_formats++;
    for (uint64_t i = 0; i < 20000; i++) {
        const struct fe_trace_options opt = {
            .format = i % 3 ? NULL : fe_trace_format_at((unsigned)(i / 3 % (n_formats + 1))),
        };
        char text[1024];
        size_t len = strlen(texts[i % ft_array_len(texts)]);
        memcpy(text, texts[i % ft_array_len(texts)], len);
        len = damage(text, len, sizeof text, i);
        struct loaded l = load_options(text, len, 1 + i % 5, &opt);
        for (int k = 0; k < l.n; k++) {
            const struct fe_trace_rec *r = &l.rec[k];
            assert_true(r->type == FE_REQ_FLUSH ? r->len == 0 : r->len > 0);
            assert_int_equal((r->offset | r->len) % 512, 0);
            assert_true(r->offset <= FE_TRACE_MAX_END - r->len);
        }
        if (l.result < 0) {
            assert_memory_equal(l.err.text, "t:", 2);
            assert_null(strchr(l.err.text, '\n'));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iolog2_waits_make_the_times),
        cmocka_unit_test(test_iolog3_as_fio_writes_it),
        cmocka_unit_test(test_iolog_names_the_bad_line),
        cmocka_unit_test(test_iolog_second_file_must_be_chosen),
        cmocka_unit_test(test_iolog_file_name_with_nul),
        cmocka_unit_test(test_blkparse_takes_issued_requests),
        cmocka_unit_test(test_blkparse_flush_and_fua),
        cmocka_unit_test(test_blkparse_summary_ends_the_events),
        cmocka_unit_test(test_blkparse_other_kinds_of_event),
        cmocka_unit_test(test_blkparse_names_the_bad_line),
        cmocka_unit_test(test_blkparse_takes_devices_that_are_kept),
        cmocka_unit_test(test_blkparse_refuses_a_nul),
        cmocka_unit_test(test_msr_times_start_at_the_first_request),
        cmocka_unit_test(test_msr_names_the_bad_line),
        cmocka_unit_test(test_damaged_files_are_read_or_refused),
    };
    return cmocka_run_group_tests_name("workload_formats", tests, NULL, NULL);
}
