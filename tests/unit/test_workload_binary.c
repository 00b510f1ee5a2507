/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The compact form of traces: its bytes, which do not change any more, and what is refused.
 */
#include "test_workload.h"

#define START "# flashemu binary trace 1\n# requests\n"

/* The bytes of a trace; the sizes of literals, which may contain NULs. */
#define LOAD(bytes) load_bytes(START bytes, sizeof(START bytes) - 1)

static struct loaded load_bytes(const char *bytes, size_t len)
{
    const struct fe_trace_options none = {0};
    return load_options(bytes, len, 1, &none);
}

static char *written(const struct fe_trace_rec *recs, uint32_t n, size_t *ret_len)
{
    const struct fe_trace_writer_options opt = {.format = format_of("binary")};
    struct fe_trace_writer *w;
    struct fe_err err = {""};
    char *bytes;
    FILE *f = open_memstream(&bytes, ret_len);

    assert_int_equal(fe_trace_writer_open(&w, f, "out", &opt, &err), 0);
    assert_int_equal(fe_trace_write(w, recs, n, &err), 0);
    assert_int_equal(fe_trace_writer_close(w, &err), 0);
    fclose(f);
    return bytes;
}

/* Written and read, the records are the same but for their numbers. */
static void check_round(const struct fe_trace_rec *recs, uint32_t n)
{
    size_t len;
    char *bytes = written(recs, n, &len);
    struct loaded l = load_bytes(bytes, len);

    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, n);
    for (uint32_t i = 0; i < n; i++) {
        struct fe_trace_rec want = recs[i];
        want.line = i + 1;
        check_same(&l.rec[i], &want);
    }
    free(bytes);
}


/* Two writes of a sector, one behind the other. */
static const char example[] =
    START
    "\x55\x02" "\xe8\x03" "\x08\x00" "\x01\x00" /* 1000 write 4096 512 */
    "\x01\x02"                                     /* 1000 write 4608 512 */;

static void test_the_bytes_are_those_of_version_1(void **state)
{
    const struct fe_trace_rec recs[] = {
        {.time_ns = 1000, .type = FE_REQ_WRITE, .offset = 4096, .len = 512},
        {.time_ns = 1000, .type = FE_REQ_WRITE, .offset = 4608, .len = 512},
    };
    size_t len;
    char *bytes = written(recs, 2, &len);
    (void)state;
    assert_int_equal(len, sizeof START - 1 + 10);
    assert_memory_equal(bytes, example, len);
    free(bytes);
}

static void test_numbers_of_every_size(void **state)
{
    static const uint64_t some[] = {0, 1, 512, 65535, 65536, 512 * 65535ull, 512 * 65536ull,
                                    UINT32_MAX, UINT32_MAX + 1ull, 512ull << 32, 1ull << 60};
    enum { N = ft_array_len(some) };
    struct fe_trace_rec recs[N * 4];
    const struct fe_trace_options byte = {.sector_size = 1};
    (void)state;
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < 4; k++)
            recs[4 * i + k] = (struct fe_trace_rec){
                .time_ns = some[(i * 7 + k) % N], .type = k == 3 ? FE_REQ_READ : FE_REQ_WRITE,
                .offset = some[(i + k) % N], .len = some[(i * 3 + k) % N] + (k == 2),
                .think_ns = some[(i + 5) % N], .done_ns = some[(i * 7 + k) % N] + some[i],
                .programmed = some[k], .stream = (uint32_t)some[i], .depth = (uint16_t)some[k],
                .status = (uint8_t)(k % 2), .collections = (uint32_t)some[i % 8],
                .merges = (uint32_t)some[k], .fua = k == 1,
            };
        for (size_t k = 0; k < 4; k++)
            recs[4 * i + k].len += recs[4 * i + k].len == 0;
    }
    size_t len;
    char *bytes = written(recs, N * 4, &len);
    struct loaded l = load_options(bytes, len, 1, &byte);
    assert_int_equal(l.result, 0);
    assert_int_equal(l.n, N * 4);
    for (uint32_t i = 0; i < N * 4; i++) {
        recs[i].line = i + 1;
        check_same(&l.rec[i], &recs[i]);
    }
    free(bytes);
}

static void test_requests_that_follow_each_other(void **state)
{
    const struct fe_trace_rec recs[] = {
        {.type = FE_REQ_READ, .offset = 0, .len = 512}, /* where a trace begins */
        {.type = FE_REQ_READ, .offset = 512, .len = 512},
        {.type = FE_REQ_FLUSH, .time_ns = 9, .think_ns = 1},
        {.type = FE_REQ_WRITE, .offset = 1024, .len = 512, .time_ns = 3}, /* time runs back */
        {.type = FE_REQ_WRITE, .offset = 0, .len = 512},
        {.type = FE_REQ_WRITE, .offset = 0, .len = 1024},
        {.type = FE_REQ_WRITE, .done_ns = UINT64_MAX, .offset = 0, .len = 1024},
        {.type = FE_REQ_WRITE, .time_ns = UINT64_MAX, .done_ns = UINT64_MAX, .offset = 0,
         .len = 1024},
    };
    (void)state;
    check_round(recs, ft_array_len(recs));
}

/* Every prefix of a file is read up to a border between records, or refused. */
static void test_a_file_that_is_cut(void **state)
{
    const size_t first = sizeof START - 1;
    static const size_t borders[] = {0, 8, 10};
    (void)state;
    for (size_t len = 0; len < first + 10; len++) {
        struct loaded l = load_bytes(example, len);
        if (len < first) {
            assert_true(l.result < 0 || l.n == 0);
            continue;
        }
        bool border = false;
        for (size_t i = 0; i < ft_array_len(borders); i++)
            border |= len - first == borders[i];
        assert_int_equal(l.n, len - first >= 8);
        assert_int_equal(l.result, border ? 0 : -EINVAL);
        if (!border)
            assert_string_equal(l.err.text, l.n ? "t:2: the trace ends in the middle of a record"
                                                : "t:1: the trace ends in the middle of a record");
    }
}

static void test_damaged_records_are_refused(void **state)
{
    (void)state;
    const struct loaded l[] = {
        LOAD("\x00\x08"),                         /* a bit that means nothing */
        LOAD("\x03\x01"),                         /* a flush with FUA */
        LOAD("\x13\x00\x01\x00"),                 /* a flush with an offset */
        LOAD("\x03\x02"),                         /* a flush in sectors */
        LOAD("\x50\x03\x00\x00\x01\x00"),         /* a read with FUA */
        LOAD("\xd1\x02\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00"), /* 2^63 and more */
        LOAD("\x51\x06\x00\x00\x01\x00" "\x00\x04" "\xff\x00"),   /* a status that is none */
        LOAD("\x51\x06\x00\x00\x01\x00" "\x00\x02" "\x00\x00\x01\x00"), /* a depth of 65536 */
        LOAD("\x5d\x06\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x01\x00" "\x04\x00" "\x02\x00"),
    };
    for (size_t i = 0; i < ft_array_len(l); i++) {
        if (l[i].result != -EINVAL || l[i].n != 0)
            fail_msg("case %zu: taken, or %d records", i, l[i].n);
        assert_string_equal(l[i].err.text, "t:1: a damaged record of a binary trace");
    }
    check_bad("# flashemu binary trace 2\n", "t:1: ", "version 1");
    check_bad("# flashemu binary trace 1\n0 read 0 512\n", "t:2: ", "'# requests'");
    struct loaded none = LOAD("\x40\x02\x01\x00" "\x40\x02\x00\x00");
    assert_int_equal(none.n, 1); /* the good records are delivered first; then a length of 0 */
    assert_string_equal(none.err.text, "t:2: length is 0");
}

static void test_a_trace_for_a_device_that_has_none(void **state)
{
    const struct fe_trace_options opt = {.device = "x"};
    (void)state;
    struct loaded l = load_options(START, sizeof START - 1, 1, &opt);
    assert_int_equal(l.result, -EINVAL);
    assert_string_equal(l.err.text, "t: has no requests of 'x'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bytes_are_those_of_version_1),
        cmocka_unit_test(test_numbers_of_every_size),
        cmocka_unit_test(test_requests_that_follow_each_other),
        cmocka_unit_test(test_a_file_that_is_cut),
        cmocka_unit_test(test_damaged_records_are_refused),
        cmocka_unit_test(test_a_trace_for_a_device_that_has_none),
    };
    return cmocka_run_group_tests_name("workload_binary", tests, NULL, NULL);
}
