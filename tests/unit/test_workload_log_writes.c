/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Logs of dm-log-writes that are written, and their data; test_workload_events.c reads logs.
 */
#include "test_workload.h"

#include "workload/data.h"

#include <stdlib.h>
#include <unistd.h>

enum { DATA = 1024, LAST = 5 };

static char path[] = "/tmp/fe-log-XXXXXX";
static uint64_t place[LAST]; /* of what was written: 'a' and so on, so often */
static uint8_t log_[20000];

static struct fe_data_reader *make_data(void)
{
    struct fe_data_writer *w;
    struct fe_data_reader *r;
    FILE *f = fopen(path, "w");
    assert_int_equal(fe_data_writer_open(&w, f, "d", NULL), 0);
    for (int i = 0; i < LAST; i++) {
        uint8_t bytes[DATA];
        memset(bytes, 'a' + i, sizeof bytes);
        assert_int_equal(fe_data_put(w, 4096, DATA, bytes, &place[i], NULL), 0);
    }
    assert_int_equal(fe_data_writer_close(w, NULL), 0);
    fclose(f);
    assert_int_equal(fe_data_reader_open(&r, path, NULL), 0);
    return r;
}

static int write_log(struct fe_data_reader *data, const struct fe_trace_rec *recs, uint32_t n,
                     bool lossy, size_t *ret_len, struct fe_err *err)
{
    const struct fe_trace_writer_options to = {.format = format_of("dm-log-writes"), .data = data,
                                               .lossy = lossy};
    struct fe_trace_writer *w;
    fe_err_init(err);
    memset(log_, 0x5a, sizeof log_);
    FILE *f = fmemopen(log_, sizeof log_, "w");
    assert_int_equal(fe_trace_writer_open(&w, f, "log", &to, err), 0);
    int r = fe_trace_write(w, recs, n, err);
    assert_int_equal(fe_trace_writer_close(w, NULL), 0);
    *ret_len = (size_t)ftello(f);
    fclose(f);
    return r;
}

/* An entry of a log: its flags, its first sector, how many, and what was written or is said there. */
struct entry {
    uint8_t flags, sector, sectors, letter;
    const char *mark;
};

static void check_log(const struct entry *entries, size_t n, size_t len)
{
    static const uint8_t super[32] = "rhswfsj\0" "\1\0\0\0\0\0\0\0" "\11\0\0\0\0\0\0\0" "\0\2\0\0";
    const uint8_t *p = log_ + 512;
    assert_memory_equal(log_, super, sizeof super);
    for (size_t i = 0; i < n; i++, p += 512) {
        const struct entry *e = &entries[i];
        const char *mark = e->mark ? e->mark : "";
        const uint8_t wanted[32] = {[0] = e->sector, [8] = e->sectors, [16] = e->flags,
                                    [24] = (uint8_t)strlen(mark)};
        assert_memory_equal(p, wanted, sizeof wanted);
        assert_memory_equal(p + 32, mark, strlen(mark) + 1);
        for (size_t j = 0; e->letter && j < DATA; j++)
            assert_int_equal(p[512 + j], e->letter);
        p += e->letter ? DATA : 0;
    }
    assert_ptr_equal(p, log_ + len);
}

#define WRITE(i, t, d) \
    .type = FE_REQ_WRITE, .offset = 4096, .len = DATA, .data = place[i], .time_ns = t, .done_ns = d

/* As the kernel would have logged it. */
static void test_a_write_stands_in_front_of_the_flush_that_makes_it_durable(void **state)
{
    struct fe_data_reader *data = make_data();
    struct fe_err err;
    size_t len;
    const struct fe_trace_rec recs[] = {
        {WRITE(0, 10, 40)}, {WRITE(1, 20, 30)}, {WRITE(2, 41, 70)}, /* the third is in flight then: */
        {.type = FE_REQ_FLUSH, .time_ns = 50, .done_ns = 80},
        {.type = FE_TRACE_MARK, .time_ns = 79, .mark = "early"},
        {.type = FE_TRACE_MARK, .time_ns = 80, .mark = "late"},
        {WRITE(3, 81, 85), .fua = true},
        {.type = FE_REQ_TRIM, .time_ns = 91, .done_ns = 95, .offset = 512, .len = 17 * 512},
        {.type = FE_TRACE_MARK, .time_ns = 99, .mark = "nothing more is durable"},
    };
    static const struct entry entries[] = {
        {8, 0, 0, 0, "early"}, {0, 8, 2, 'b', NULL}, {0, 8, 2, 'a', NULL}, {1, 0, 0, 0, NULL},
        {8, 0, 0, 0, "late"}, {2, 8, 2, 'd', NULL}, {8, 0, 0, 0, "nothing more is durable"},
        {0, 8, 2, 'c', NULL}, {4, 1, 17, 0, NULL}};
    (void)state;
    assert_int_equal(write_log(data, recs, ft_array_len(recs), false, &len, &err), 0);
    check_log(entries, ft_array_len(entries), len);
    fe_data_reader_close(data);
}

/* Nothing is moved where nobody knows when requests were done: what was read from a log. */
static void test_records_without_ends_keep_their_places(void **state)
{
    struct fe_data_reader *data = make_data();
    struct fe_err err;
    size_t len;
    static const struct entry entries[] = {{0, 8, 2, 'e', NULL}, {8, 0, 0, 0, "in front"},
        {2, 8, 2, 'a', NULL}, {1, 0, 0, 0, NULL}, {0, 8, 2, 'b', NULL}, {4, 8, 2, 0, NULL},
        {8, 0, 0, 0, "x"}, {8, 0, 0, 0, "y"}, {1, 0, 0, 0, NULL}};
    struct fe_trace_rec recs[ft_array_len(entries)];
    (void)state;
    for (size_t i = 0; i < ft_array_len(entries); i++) {
        static const uint8_t types[] = {FE_REQ_WRITE, FE_REQ_FLUSH, FE_REQ_WRITE, 0, FE_REQ_TRIM, 0, 0,
                                        0, FE_TRACE_MARK};
        const struct entry *e = &entries[i];
        recs[i] = (struct fe_trace_rec){
            .type = types[e->flags], .mark = e->mark, .fua = e->flags & 2, .offset = e->sector * 512U,
            .len = e->sectors * 512U, .data = e->letter ? place[e->letter - 'a'] : 0};
    }
    assert_int_equal(write_log(data, recs, ft_array_len(recs), false, &len, &err), 0);
    check_log(entries, ft_array_len(entries), len);
    fe_data_reader_close(data);
}

static void test_the_data_of_a_log_are_kept(void **state)
{
    const struct fe_trace_options none = {.marks = true};
    struct fe_trace_options opt = none;
    struct fe_trace_rec got[3], none_left;
    struct fe_trace_reader *r;
    struct fe_err err;
    size_t len;
    uint8_t bytes[DATA];
    char kept[] = "/tmp/fe-kept-XXXXXX";
    struct fe_data_reader *data = make_data();
    const struct fe_trace_rec recs[] = {{WRITE(4, 0, 0)}, {.type = FE_REQ_FLUSH}, {WRITE(2, 0, 0)}};
    (void)state;
    assert_int_equal(write_log(data, recs, 3, false, &len, &err), 0);
    fe_data_reader_close(data);
    FILE *f = fmemopen(log_, len, "r"), *to = fdopen(mkstemp(kept), "w");
    assert_int_equal(fe_data_writer_open(&opt.data, to, "d", NULL), 0);
    assert_int_equal(fe_trace_reader_open(&r, f, "t", &opt, NULL), 0);
    assert_true(fe_trace_has_data(r));
    assert_int_equal(fe_trace_read(r, got, 3, NULL), 3);
    assert_int_equal(fe_trace_read(r, &none_left, 1, NULL), 0);
    fe_trace_reader_close(r);
    fclose(f);
    assert_int_equal(fe_data_writer_close(opt.data, NULL), 0);
    fclose(to);
    assert_int_equal(fe_data_reader_open(&data, kept, NULL), 0);
    assert_int_equal(got[1].type, FE_REQ_FLUSH);
    for (int i = 0; i < 3; i += 2) {
        check_rec(&got[i], 0, FE_REQ_WRITE, 4096, DATA, false);
        assert_int_equal(fe_data_get(data, got[i].data, 4096, DATA, bytes, &err), 0);
        for (int j = 0; j < DATA; j++)
            assert_int_equal(bytes[j], i ? 'c' : 'e');
    }
    fe_data_reader_close(data);
    unlink(kept);
    /* One that ends within the data of a write, which are read or passed over. */
    for (size_t cut = 1; cut < DATA; cut += 511)
        for (int keep = 0; keep < 2; keep++) {
            to = fopen("/dev/null", "w");
            opt = none;
            if (keep)
                assert_int_equal(fe_data_writer_open(&opt.data, to, "d", NULL), 0);
            assert_int_equal(load_options((char *)log_, len - cut, 3, &opt).result, -EINVAL);
            fe_data_writer_close(opt.data, NULL);
            fclose(to);
        }
}

static void test_what_a_log_cannot_hold(void **state)
{
    static const struct {
        const char *told;
        struct fe_trace_rec rec;
    } wrong[] = {
        {"cannot hold a read", {.type = FE_REQ_READ, .len = 512}},
        {"a write whose data the trace does not have", {.type = FE_REQ_WRITE, .len = 512}},
        {"cannot hold a request that has failed", {.type = FE_REQ_FLUSH, .status = FE_NO_SPACE}},
        {"sectors of less than 512 bytes", {.type = FE_REQ_TRIM, .offset = 256, .len = 512}}};
    const struct fe_trace_rec lost = {.type = FE_REQ_WRITE, .len = 512, .data = 9999999};
    struct fe_data_reader *data = make_data();
    struct fe_err err;
    size_t len;
    (void)state;
    for (size_t i = 0; i < ft_array_len(wrong); i++) {
        assert_int_equal(write_log(data, &wrong[i].rec, 1, false, &len, &err), -EINVAL);
        if (!strstr(err.text, wrong[i].told))
            fail_msg("'%s' is not '%s'", err.text, wrong[i].told);
        assert_int_equal(write_log(data, &wrong[i].rec, 1, true, &len, &err), 0);
        assert_int_equal(len, 512);
    }
    assert_int_equal(write_log(data, &lost, 1, true, &len, &err), -EINVAL);
    assert_non_null(strstr(err.text, "data=9999999: the file ends before that"));
    fe_data_reader_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_write_stands_in_front_of_the_flush_that_makes_it_durable),
        cmocka_unit_test(test_records_without_ends_keep_their_places),
        cmocka_unit_test(test_the_data_of_a_log_are_kept),
        cmocka_unit_test(test_what_a_log_cannot_hold),
    };
    close(mkstemp(path));
    int code = cmocka_run_group_tests_name("workload_log_writes", tests, NULL, NULL);
    unlink(path);
    return code;
}
