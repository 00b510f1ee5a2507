/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Marks, and what was written: the file beside a trace, and both in the formats that hold them.
 */
#include "test_workload.h"

#include "workload/data.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 12, LINE = sizeof FE_DATA_FIRST_LINE - 1 };

static char path[] = "/tmp/fe-data-XXXXXX";
static uint8_t bytes[3 * FE_DATA_BLOCK], got[3 * FE_DATA_BLOCK];

static struct fe_data_writer *begin(FILE **ret)
{
    struct fe_data_writer *w;
    assert_non_null(*ret = fopen(path, "w"));
    assert_int_equal(fe_data_writer_open(&w, *ret, "d", NULL), 0);
    return w;
}

static off_t end(struct fe_data_writer *w, FILE *f)
{
    struct stat st;
    assert_int_equal(fe_data_writer_close(w, NULL), 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void fill(void)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256 * 3 + 1);
}

static void test_each_block_is_there_once(void **state)
{
    uint64_t first, again, zeros, moved;
    FILE *f;
    struct fe_data_writer *w = begin(&f);
    (void)state;
    fill();
    memset(bytes + FE_DATA_BLOCK, 0, FE_DATA_BLOCK);
    assert_int_equal(fe_data_put(w, 0, sizeof bytes, bytes, &first, NULL), 0);
    assert_int_equal(first, LINE + 2 * (HEADER + FE_DATA_BLOCK)); /* the zeros are not there */
    assert_int_equal(fe_data_put(w, 1 << 20, sizeof bytes, bytes, &again, NULL), 0);
    assert_int_equal(again, first);
    assert_int_equal(fe_data_put(w, 512, 1024, NULL, &zeros, NULL), 0);
    assert_int_equal(zeros, first + HEADER + 3 * 8);
    /* Behind a sector of another block the same bytes are other blocks. */
    assert_int_equal(fe_data_put(w, FE_DATA_BLOCK - 512, 1024, bytes, &moved, NULL), 0);
    assert_int_equal(moved, zeros + HEADER + 8 + 2 * (HEADER + 512));
    assert_int_equal(end(w, f), moved + HEADER + 2 * 8);

    struct fe_data_reader *r;
    assert_int_equal(fe_data_reader_open(&r, path, NULL), 0);
    memset(got, 0xa5, sizeof got);
    assert_int_equal(fe_data_get(r, first, 0, sizeof got, got, NULL), 0);
    assert_memory_equal(got, bytes, sizeof got);
    memset(got, 0xa5, sizeof got);
    assert_int_equal(fe_data_get(r, moved, FE_DATA_BLOCK - 512, 1024, got, NULL), 0);
    assert_memory_equal(got, bytes, 1024);
    assert_int_equal(got[1024], 0xa5);
    memset(got, 0xa5, sizeof got);
    assert_int_equal(fe_data_get(r, zeros, 512, 1024, got, NULL), 0);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(got[i], 0);
    fe_data_reader_close(r);
}

static void check_refused(struct fe_data_reader *r, uint64_t ref, uint64_t offset, uint64_t len)
{
    struct fe_err err = {""};
    assert_int_equal(fe_data_get(r, ref, offset, len, got, &err), -EINVAL);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "data="));
}

static void test_what_is_not_there_is_refused(void **state)
{
    uint64_t ref, many;
    FILE *f;
    struct fe_data_writer *w = begin(&f);
    (void)state;
    fill();
    assert_int_equal(fe_data_put(w, 0, 512, bytes, &ref, NULL), 0);
    assert_int_equal(fe_data_put(w, 0, 3 * FE_DATA_BLOCK, bytes, &many, NULL), 0);
    off_t size = end(w, f);

    struct fe_data_reader *r;
    assert_int_equal(fe_data_reader_open(&r, path, NULL), 0);
    check_refused(r, 0, 0, 512);
    check_refused(r, LINE, 0, 512);       /* a block, no list */
    check_refused(r, ref + 1, 0, 512);
    check_refused(r, ref, 0, 1024);       /* the block is shorter */
    check_refused(r, ref, FE_DATA_BLOCK - 512, 1024); /* the list is shorter */
    check_refused(r, (uint64_t)size, 0, 512);
    check_refused(r, UINT64_MAX, 0, 512);
    check_refused(r, ref, 0, UINT64_C(1) << 40);
    fe_data_reader_close(r);

    assert_non_null(f = fopen(path, "r+"));
    assert_int_equal(fseek(f, LINE + HEADER + 100, SEEK_SET), 0);
    assert_int_equal(fputc(bytes[100] ^ 4, f), bytes[100] ^ 4); /* one bit of the block */
    assert_int_equal(fclose(f), 0);
    assert_int_equal(fe_data_reader_open(&r, path, NULL), 0);
    check_refused(r, ref, 0, 512);
    assert_int_equal(fe_data_get(r, many, 0, 3 * FE_DATA_BLOCK, got, NULL), 0); /* other blocks */
    assert_int_equal(truncate(path, size - 8), 0); /* while it is open */
    check_refused(r, many, 0, 3 * FE_DATA_BLOCK);
    fe_data_reader_close(r);
    assert_int_equal(fe_data_reader_open(&r, path, NULL), 0);
    check_refused(r, many, 0, 3 * FE_DATA_BLOCK);
    fe_data_reader_close(r);
}

static void test_a_file_that_is_none(void **state)
{
    struct fe_data_reader *r = NULL;
    struct fe_err err = {""};
    FILE *f = fopen(path, "w");
    (void)state;
    assert_non_null(f);
    fputs("# flashemu data 2\n", f);
    fclose(f);
    assert_int_equal(fe_data_reader_open(&r, path, &err), -EINVAL);
    assert_int_equal(fe_data_reader_open(&r, "/dev/null", &err), -EINVAL);
    fe_err_init(&err);
    assert_int_equal(fe_data_reader_open(&r, "/no/such/file", &err), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such/file"));
}

static void test_a_full_disk(void **state)
{
    struct fe_data_writer *w;
    struct fe_err err = {""};
    uint64_t ref;
    FILE *f = fopen("/dev/full", "w");
    (void)state;
    assert_non_null(f);
    setvbuf(f, NULL, _IONBF, 0);
    assert_int_equal(fe_data_writer_open(&w, f, "d", &err), -ENOSPC);
    fclose(f);
    assert_non_null(f = fopen(path, "w"));
    assert_int_equal(fe_data_writer_open(&w, f, "d", &err), 0);
    FILE *full = freopen("/dev/full", "w", f);
    assert_non_null(full);
    fill();
    while (fe_data_put(w, 0, sizeof bytes, bytes, &ref, &err) == 0)
        bytes[7]++; /* until the buffer is full, or for good measure */
    assert_int_equal(fe_data_put(w, 0, 512, bytes, &ref, &err), -ENOSPC);
    assert_non_null(strstr(err.text, "d: "));
    assert_int_equal(fe_data_writer_close(w, NULL), -ENOSPC);
    fclose(full);
}

static void test_many_blocks_are_found_again(void **state)
{
    enum { N = 3000 };
    static uint64_t refs[N];
    uint64_t again;
    FILE *f;
    struct fe_data_writer *w = begin(&f);
    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t sector[64] = {i + 1, 17};
        assert_int_equal(fe_data_put(w, 0, 512, sector, &refs[i], NULL), 0);
    }
    for (uint64_t i = 0; i < N; i++) {
        uint64_t sector[64] = {i + 1, 17};
        assert_int_equal(fe_data_put(w, 0, 512, sector, &again, NULL), 0);
        assert_int_equal(again, refs[i]);
    }
    assert_int_equal(end(w, f), LINE + N * (HEADER + 512 + HEADER + 8));
}

static const struct fe_trace_rec kept[] = {
    {.time_ns = 7, .type = FE_REQ_WRITE, .offset = 512, .len = 1024, .fua = true, .done_ns = 9,
     .data = 18},
    {.time_ns = 9, .type = FE_TRACE_MARK, .mark = "x 1: \xc3\xa4"},
    {.time_ns = 9, .type = FE_TRACE_MARK, .mark = "y"},
    {.time_ns = 70000, .type = FE_REQ_WRITE, .offset = 1536, .len = 1024, .data = UINT64_MAX},
    {.time_ns = 70000, .type = FE_REQ_FLUSH},
};

static void test_marks_and_places_in(const char *format)
{
    const struct fe_trace_writer_options to = {.format = format_of(format)};
    struct fe_trace_options from = {.marks = true};
    struct fe_trace_writer *w;
    struct fe_trace_reader *r;
    struct fe_trace_rec rec;
    size_t len;
    char *text;
    FILE *f = open_memstream(&text, &len);
    assert_int_equal(fe_trace_writer_open(&w, f, "out", &to, NULL), 0);
    assert_int_equal(fe_trace_write(w, kept, ft_array_len(kept), NULL), 0);
    assert_int_equal(fe_trace_writer_close(w, NULL), 0);
    fclose(f);
    f = fmemopen(text, len, "r");
    assert_int_equal(fe_trace_reader_open(&r, f, "t", &from, NULL), 0);
    for (size_t i = 0; i < ft_array_len(kept); i++) {
        struct fe_trace_rec want = kept[i];
        assert_int_equal(fe_trace_read(r, &rec, 1, NULL), 1);
        want.line = rec.line;
        check_same(&rec, &want);
        assert_int_equal(rec.data, want.data);
        if (want.mark)
            assert_string_equal(rec.mark, want.mark);
        else
            assert_null(rec.mark);
    }
    assert_int_equal(fe_trace_read(r, &rec, 1, NULL), 0);
    fe_trace_reader_close(r);
    fclose(f);
    from.marks = false; /* then they are passed over and counted */
    struct loaded l = load_options(text, len, 1, &from);
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, 3);
    assert_int_equal(l.skipped, 2);
    free(text);
}

static void test_formats_that_hold_marks(void **state)
{
    (void)state;
    test_marks_and_places_in("text");
    test_marks_and_places_in("binary");
}

static void test_a_format_without_marks(void **state)
{
    struct fe_trace_writer_options to = {.format = format_of("iolog")};
    struct fe_trace_writer *w;
    struct fe_err err = {""};
    FILE *f = fopen("/dev/null", "w");
    (void)state;
    assert_int_equal(fe_trace_writer_open(&w, f, "out", &to, NULL), 0);
    assert_int_equal(fe_trace_write(w, &kept[1], 1, &err), -EINVAL);
    assert_string_equal(err.text, "out: record 1: the format iolog cannot hold mark");
    fe_trace_writer_close(w, NULL);
    to.lossy = true;
    assert_int_equal(fe_trace_writer_open(&w, f, "out", &to, NULL), 0);
    assert_int_equal(fe_trace_write(w, kept, 4, NULL), 0);
    fe_trace_writer_close(w, NULL);
    fclose(f);
}

static void test_marks_that_are_none(void **state)
{
    char longest[FE_TRACE_MARK_MAX + 2];
    (void)state;
    memset(longest, 'm', sizeof longest);
    assert_true(fe_trace_mark_ok(longest, FE_TRACE_MARK_MAX));
    assert_false(fe_trace_mark_ok(longest, FE_TRACE_MARK_MAX + 1));
    assert_false(fe_trace_mark_ok("", 0));
    assert_false(fe_trace_mark_ok("a\nb", 3));
    assert_false(fe_trace_mark_ok("a\x7f", 2));
    assert_false(fe_trace_mark_ok(" a", 2));
    assert_false(fe_trace_mark_ok("a ", 2));
    check_bad(HEAD "5 mark\n", "t:2: ", "a mark is 1 to 400 bytes");
    check_bad(HEAD "5 mark  two blanks\n", "t:2: ", "a mark is 1 to 400 bytes");
    check_bad(HEAD "5 read 0 512 data=9\n", "t:2: ", "'data=9'");
    check_bad(HEAD "5 write 0 512 data=0\n", "t:2: ", "'data=0'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_block_is_there_once),
        cmocka_unit_test(test_what_is_not_there_is_refused),
        cmocka_unit_test(test_a_file_that_is_none),
        cmocka_unit_test(test_a_full_disk),
        cmocka_unit_test(test_many_blocks_are_found_again),
        cmocka_unit_test(test_formats_that_hold_marks),
        cmocka_unit_test(test_a_format_without_marks),
        cmocka_unit_test(test_marks_that_are_none),
    };
    close(mkstemp(path));
    int before = ft_next_fd();
    int failed = cmocka_run_group_tests_name("workload_data", tests, NULL, NULL);
    unlink(path);
    return failed + ft_left_open(before);
}
