/* SPDX-License-Identifier: BSD-3-Clause
 *
 * flashemu's own trace format, what all formats share, and writing.
 */
#include "test_workload.h"

/* --- text --- */

static void test_text_reads_every_field(void **state)
{
    struct loaded l = load(HEAD "\n# a comment\n"
                                "0 write 8388608 4096\n"
                                "125000 write 8392704 512 fua stream=2 depth=3 think=7\n"
                                "18446744073709551615\tread  512 \t1024\n"
                                "5 trim 0 9223372036854775296 status=no-space\n"
                                "6 flush 0 0 done=9\n");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 5);
    assert_ptr_equal(l.format, format_of("text"));
    check_rec(&l.rec[0], 0, FE_REQ_WRITE, 8388608, 4096, false);
    check_rec(&l.rec[1], 125000, FE_REQ_WRITE, 8392704, 512, true);
    assert_int_equal(l.rec[1].stream, 2);
    assert_int_equal(l.rec[1].depth, 3);
    assert_int_equal(l.rec[1].think_ns, 7);
    check_rec(&l.rec[2], UINT64_MAX, FE_REQ_READ, 512, 1024, false);
    check_rec(&l.rec[3], 5, FE_REQ_TRIM, 0, INT64_MAX - 511, false);
    assert_int_equal(l.rec[3].status, FE_NO_SPACE);
    check_rec(&l.rec[4], 6, FE_REQ_FLUSH, 0, 0, false);
    assert_int_equal(l.rec[4].done_ns, 9);
    assert_int_equal(l.rec[4].line, 8);
}

static void test_text_takes_crlf_and_a_last_line_without_end(void **state)
{
    struct loaded l = load("# flashemu trace 1\r\n0 write 0 512 fua\r\n\r\n1 read 0 512");
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 2);
    assert_true(l.rec[0].fua);
    check_rec(&l.rec[1], 1, FE_REQ_READ, 0, 512, false);
}

/* Only in front of the first line. */
static void test_a_byte_order_mark_is_skipped(void **state)
{
    (void)state;
    struct loaded l = load("\xef\xbb\xbf# flashemu trace 1\n0 write 0 512\n");
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.rec[0].line, 2);
    check_bad("\xef\xbb\xbf# flashemu trace 1\n0 wrte 0 512\n", "t:2: ", "'wrte'");
    check_bad("# flashemu trace 1\n\xef\xbb\xbf" "0 write 0 512\n", "t:2: ", "TIME_NS");
    check_bad("\xef\xbb\xbf\xef\xbb\xbf# flashemu trace 1\n", "t:1: ", "not the first line");
    check_bad("\xef\xbb", "t:1: ", "not the first line");
    check_bad("\xef\xbb\xbf", "t:1: ", "not the first line");
    l = load("\xef\xbb\xbf" "128166372003061629,host,0,Read,0,512,50\n"); /* another format */
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 1);
}

static void test_text_header_alone_is_an_empty_trace(void **state)
{
    struct loaded l = load(HEAD);
    (void)state;
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 0);
}

static void test_text_names_the_bad_line(void **state)
{
    static const char *const lines[][2] = {
        {"write 0 512", "TIME_NS"},
        {"0 wrte 0 512", "'wrte'"},
        {"0 WRITE 0 512", "'WRITE'"},
        {"0 write 0", "TIME_NS"},
        {"0 write", "TIME_NS"},
        {"0", "''"},
        {"0 write 0 512 fuax", "'fuax'"},
        {"0 write 0 512 fua fua", "'fua'"},
        {"0 read 0 512 fua", "'fua'"},
        {"0 write 0 512 stream=x", "'stream=x'"},
        {"0 write 0 512 stream=4294967296", "'stream="},
        {"0 write 0 512 depth=65536", "'depth="},
        {"9 write 0 512 done=8", "'done=8'"},
        {"0 write 0 512 colour=red", "'colour=red'"},
        {"0 write 0 512 status=fine", "'status=fine'"},
        {"0 write 0 4K", "TIME_NS"},
        {"-1 write 0 512", "TIME_NS"},
        {"0 write 0x200 512", "TIME_NS"},
        {"18446744073709551616 write 0 512", "TIME_NS"},
        {"0 write 36893488147419103232 512", "TIME_NS"},
        {"0 write 0 0", "length is 0"},
        {"0 write 1 512", "sector size 512"},
        {"0 write 512 513", "sector size 512"},
        {"0 write 9223372036854775296 512", "offset 9223372036854775296 + length 512 is more than 2^63"},
        {"0 write 18446744073709551104 512", "2^63"},
        {"0 flush 512 0", "flush"},
        {"0 write 0 512 \x01", "'?'"},
    };
    (void)state;
    for (size_t i = 0; i < ft_array_len(lines); i++) {
        char text[256];
        snprintf(text, sizeof text, "%s7 write 512 512\n%s\n8 read 0 512\n", HEAD, lines[i][0]);
        check_bad(text, "t:3: ", lines[i][1]);
        assert_int_equal(load(text).n, 1);
    }
}

static void test_text_of_another_version_is_refused(void **state)
{
    (void)state;
    check_bad("# flashemu trace 2\n0 write 0 512\n", "t:1: ", "version 1");
    check_bad("# flashemu trace 10\n", "t:1: ", "version 1");
}

static void test_text_obeys_the_sector_size(void **state)
{
    const struct fe_trace_options opt = {.sector_size = 4096};
    const char good[] = HEAD "0 write 4096 8192\n", bad[] = HEAD "0 write 512 4096\n";
    (void)state;
    assert_int_equal(load_options(good, sizeof good - 1, 1, &opt).result, 0);
    assert_int_equal(load_options(bad, sizeof bad - 1, 1, &opt).result, -EINVAL);
}

static void test_text_forced_needs_no_header(void **state)
{
    const struct fe_trace_options opt = {.format = format_of("text")};
    const char text[] = "0 write 4096 8192\n";
    (void)state;
    assert_int_equal(load_options(text, sizeof text - 1, 1, &opt).n, 1);
}

/* --- what is no trace --- */

static void test_trace_unknown_first_line_is_refused(void **state)
{
    (void)state;
    check_bad("", "t:1: ", "empty");
    check_bad("hello\n", "t:1: ", "known trace format");
    check_bad("\n" HEAD, "t:1: ", "known trace format");
    check_bad("fio version 4 iolog\n", "t:1: ", "known trace format");
    check_bad("1,2,3,Read,5,6\n", "t:1: ", "known trace format");
}

static void test_trace_line_without_end_is_refused(void **state)
{
    size_t len = 1 << 20;
    char *text = malloc(len);
    const struct fe_trace_options none = {0};
    (void)state;
    assert_non_null(text);
    memset(text, 'x', len);
    memcpy(text, HEAD, sizeof HEAD - 1);
    struct loaded l = load_options(text, len, 1, &none);
    assert_int_equal(l.result, -EINVAL);
    assert_string_equal(l.err.text, "t:2: line longer than 65536 characters");
    memset(text, 0, len);
    assert_int_equal(load_options(text, len, 1, &none).result, -EINVAL);
    free(text);
}

static void test_trace_batches_do_not_matter(void **state)
{
    const char text[] = HEAD "1 read 0 512\n2 read 0 512\n3 read 0 512\n4 oops\n";
    const struct fe_trace_options none = {0};
    (void)state;
    for (uint32_t batch = 1; batch < 8; batch++) {
        struct loaded l = load_options(text, sizeof text - 1, batch, &none);
        assert_int_equal(l.n, 3);
        assert_int_equal(l.result, -EINVAL);
        assert_int_equal(l.rec[2].time_ns, 3);
    }
}

/* Lines that end on either side of the reader's block. */
static void test_trace_longer_than_the_buffer(void **state)
{
    enum { N = 100000 };
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    struct fe_trace_reader *r;
    struct fe_trace_rec recs[1000];
    struct fe_err err;
    const struct fe_trace_options none = {0};
    uint64_t seen = 0;
    int n;
    (void)state;

    fe_err_init(&err);
    fputs(HEAD, f);
    for (uint64_t i = 0; i < N; i++)
        fprintf(f, "%llu write %llu 512\n", (unsigned long long)(i * i),
                (unsigned long long)i * 512);
    fclose(f);
    f = fmemopen(text, len, "r");
    assert_int_equal(fe_trace_reader_open(&r, f, "t", &none, &err), 0);
    while ((n = fe_trace_read(r, recs, 1000, &err)) > 0)
        for (int i = 0; i < n; i++, seen++) {
            check_rec(&recs[i], seen * seen, FE_REQ_WRITE, seen * 512, 512, false);
            assert_int_equal(recs[i].line, seen + 2);
        }
    assert_int_equal(n, 0);
    assert_int_equal(seen, N);
    assert_int_equal(fe_trace_consumed(r), len);
    fe_trace_reader_close(r);
    fclose(f);
    free(text);
}

/* --- writing --- */

static int write_all(const struct fe_trace_format *format, bool lossy, const struct fe_trace_rec *recs,
                     uint32_t n, char **ret_text, size_t *ret_len, struct fe_err *err)
{
    const struct fe_trace_writer_options opt = {.format = format, .lossy = lossy};
    struct fe_trace_writer *w;
    FILE *f = open_memstream(ret_text, ret_len);

    fe_err_init(err);
    assert_int_equal(fe_trace_writer_open(&w, f, "out", &opt, err), 0);
    int ret = fe_trace_write(w, recs, n, err);
    int closed = fe_trace_writer_close(w, err);
    fclose(f);
    return ret < 0 ? ret : closed;
}

static const struct fe_trace_rec samples[] = {
    {.time_ns = 0, .type = FE_REQ_WRITE, .offset = 0, .len = 512},
    {.time_ns = 100000, .type = FE_REQ_READ, .offset = 4096, .len = 1 << 20},
    {.time_ns = 5000000000, .type = FE_REQ_TRIM, .offset = 1 << 30, .len = 1 << 30},
    {.time_ns = 5000000000, .type = FE_REQ_FLUSH},
    {.time_ns = 5000300000, .type = FE_REQ_WRITE, .offset = INT64_MAX - 1023, .len = 512},
};

/* The samples that the format can hold, into recs; how many. */
static uint32_t samples_of(const struct fe_trace_format *format, struct fe_trace_rec *recs)
{
    struct fe_err err;
    char *text;
    size_t len;
    uint32_t n = 0;
    for (size_t i = 0; i < ft_array_len(samples); i++) {
        if (write_all(format, false, &samples[i], 1, &text, &len, &err) == 0)
            recs[n++] = samples[i];
        else if (!strstr(err.text, "cannot hold"))
            fail_msg("%s: %s", format->name, err.text);
        free(text);
    }
    return n;
}

/* Walks the table, so a new format is tested without a change here: its own first line
 * identifies it, and it gives back what it can hold, reads and writes at least. */
static void test_every_format_reads_what_it_writes(void **state)
{
    const struct fe_trace_options none = {0};
    const struct fe_trace_format *format;
    struct fe_err err;
    (void)state;
    for (unsigned k = 0; (format = fe_trace_format_at(k)) != NULL; k++) {
        const char *name = format->name;
        struct fe_trace_rec recs[ft_array_len(samples)];
        if (!format->put || format->wants_data) /* test_workload_events.c has those */
            continue;
        uint32_t n = samples_of(format, recs);
        char *text;
        size_t len;
        if (n < 3)
            fail_msg("%s: holds only %u of the samples", name, n);
        if (write_all(format, false, recs, n, &text, &len, &err) != 0)
            fail_msg("%s: %s", name, err.text);
        struct loaded l = load_options(text, len, 1, &none);
        if (l.result < 0)
            fail_msg("%s cannot read what it wrote: %s", name, l.err.text);
        if (l.format != format)
            fail_msg("%s: its first line is taken for %s", name, l.format->name);
        assert_int_equal(l.n, n);
        for (uint32_t i = 0; i < n; i++)
            check_rec(&l.rec[i], recs[i].time_ns, (enum fe_req_type)recs[i].type, recs[i].offset,
                      recs[i].len, recs[i].fua);
        free(text);
    }
}

static void test_text_and_binary_keep_every_field(void **state)
{
    struct fe_trace_rec rec = {
        .time_ns = UINT64_MAX - 1,
        .offset = 512,
        .len = 1024,
        .think_ns = UINT64_MAX,
        .done_ns = UINT64_MAX,
        .programmed = UINT64_MAX,
        .collections = UINT32_MAX,
        .merges = UINT32_MAX,
        .line = 2,
        .stream = UINT32_MAX,
        .depth = UINT16_MAX,
        .type = FE_REQ_TRIM,
        .status = FE_READ_ONLY,
        .fua = true,
    };
    const struct fe_trace_options none = {0};
    struct fe_err err;
    char *text;
    size_t len;
    (void)state;
    for (int binary = 0; binary < 2; binary++) {
        rec.line = binary ? 1 : 2;
        assert_int_equal(write_all(binary ? format_of("binary") : NULL, false, &rec, 1, &text,
                                   &len, &err), 0);
        struct loaded l = load_options(text, len, 1, &none);
        assert_int_equal(l.n, 1);
        check_same(&l.rec[0], &rec);
        free(text);
    }
}

static void test_formats_refuse_what_they_cannot_hold(void **state)
{
    const struct fe_trace_rec fua = {.type = FE_REQ_WRITE, .len = 512, .fua = true};
    const struct fe_trace_rec think = {.type = FE_REQ_READ, .len = 512, .think_ns = 1};
    const struct fe_trace_rec trim = {.type = FE_REQ_TRIM, .len = 512};
    const struct fe_trace_rec flush = {.type = FE_REQ_FLUSH};
    const struct {
        const char *format;
        const struct fe_trace_rec *rec;
        const char *what;
        int kept; /* records that a lossy writer leaves */
    } cases[] = {
        {"iolog", &fua, "FUA", 1},         {"iolog2", &fua, "FUA", 1},
        {"msr", &fua, "FUA", 1},           {"iolog", &think, "think time", 1},
        {"blkparse", &think, "think time", 1}, {"msr", &think, "think time", 1},
        {"msr", &trim, "trim", 0},         {"msr", &flush, "flush", 0},
    };
    struct fe_err err;
    char *text;
    size_t len;
    (void)state;
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        const struct fe_trace_rec recs[] = {samples[0], *cases[i].rec};
        assert_int_equal(write_all(format_of(cases[i].format), false, recs, 2, &text, &len, &err), -EINVAL);
        assert_non_null(strstr(err.text, "record 2"));
        assert_non_null(strstr(err.text, cases[i].what));
        free(text);
        assert_int_equal(write_all(format_of(cases[i].format), true, recs, 2, &text, &len, &err), 0);
        assert_int_equal(load(text).n, 1 + cases[i].kept);
        free(text);
    }
}

static void test_writers_report_a_full_disk(void **state)
{
    const struct fe_trace_format *format;
    (void)state;
    for (unsigned k = 0; (format = fe_trace_format_at(k)) != NULL; k++) {
        const struct fe_trace_writer_options opt = {.format = format};
        struct fe_trace_writer *w;
        struct fe_err err;
        FILE *f = fopen("/dev/full", "w");
        if (!f)
            skip();
        fe_err_init(&err);
        if (!format->put) {
            assert_int_equal(fe_trace_writer_open(&w, f, "out", &opt, &err), -EINVAL);
            assert_non_null(strstr(err.text, "can be read, not written"));
            fclose(f);
            continue;
        }
        assert_int_equal(fe_trace_writer_open(&w, f, "out", &opt, &err), 0);
        int ret = 0;
        for (int i = 0; i < 100000 && ret == 0; i++)
            ret = fe_trace_write(w, &samples[format->wants_data ? 3 : 0], 1, &err);
        assert_int_equal(ret, -ENOSPC);
        assert_int_equal(fe_trace_writer_close(w, &err), 0);
        fclose(f);
    }
}

static void test_format_names_are_found(void **state)
{
    const struct fe_trace_format *format, *found;
    struct fe_err err = {""};
    (void)state;
    found = format_of("msr");
    assert_int_equal(fe_trace_format_find(&found, "csv", &err), -EINVAL);
    assert_ptr_equal(found, format_of("msr"));
    assert_non_null(strstr(err.text, "format 'csv': allowed are text binary iolog"));
    for (unsigned i = 0; (format = fe_trace_format_at(i)) != NULL; i++) {
        assert_ptr_equal(format_of(format->name), format);
        assert_non_null(strstr(err.text, format->name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_reads_every_field),
        cmocka_unit_test(test_text_takes_crlf_and_a_last_line_without_end),
        cmocka_unit_test(test_a_byte_order_mark_is_skipped),
        cmocka_unit_test(test_text_header_alone_is_an_empty_trace),
        cmocka_unit_test(test_text_names_the_bad_line),
        cmocka_unit_test(test_text_of_another_version_is_refused),
        cmocka_unit_test(test_text_obeys_the_sector_size),
        cmocka_unit_test(test_text_forced_needs_no_header),
        cmocka_unit_test(test_trace_unknown_first_line_is_refused),
        cmocka_unit_test(test_trace_line_without_end_is_refused),
        cmocka_unit_test(test_trace_batches_do_not_matter),
        cmocka_unit_test(test_trace_longer_than_the_buffer),
        cmocka_unit_test(test_every_format_reads_what_it_writes),
        cmocka_unit_test(test_text_and_binary_keep_every_field),
        cmocka_unit_test(test_formats_refuse_what_they_cannot_hold),
        cmocka_unit_test(test_writers_report_a_full_disk),
        cmocka_unit_test(test_format_names_are_found),
    };
    return cmocka_run_group_tests_name("workload_trace", tests, NULL, NULL);
}
