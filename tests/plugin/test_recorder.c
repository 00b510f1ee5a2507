/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The recorder: records in the order of their requests, whatever the order of the answers.
 */
#include "lib/unit.h"

#include "recorder.h"

#include "workload/data.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The device's lock: it gives the records their order. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[] = "/tmp/fe-recorder-XXXXXX";

static uint64_t add(struct fe_recorder *r, uint64_t n)
{
    struct fe_request req = {.type = FE_REQ_WRITE, .offset = 512 * n, .len = 512};
    struct fe_reply reply = {.arrival_ns = n, .complete_ns = n + 5, .status = FE_OK};
    struct fe_work work = {.programmed = 4096 * n, .collections = (uint32_t)n % 3,
                           .merges = (uint32_t)n % 5};
    return fe_recorder_add(r, &req, &reply, &work);
}

static struct fe_recorder *open_recorder(void)
{
    struct fe_recorder *r = NULL;
    assert_int_equal(fe_recorder_open(&r, path, NULL, NULL, NULL), 0);
    return r;
}

/* What the recorder says about itself; `ended` is a part of the reason, or NULL. */
static void expect_state(struct fe_recorder *r, uint64_t records, uint64_t lost, const char *ended)
{
    struct fe_recorder_state state;
    fe_recorder_get_state(r, &state);
    assert_int_equal(state.records, records);
    assert_int_equal(state.lost, lost);
    if (ended)
        assert_non_null(strstr(state.ended, ended));
    else
        assert_null(state.ended);
}

/* The file is what it should be: n records in order, those of `failed` without power. */
static void expect_records(const char *file, uint64_t n, bool (*failed)(uint64_t i))
{
    FILE *f = fopen(file, "r");
    struct fe_trace_options opt = {.format = NULL};
    struct fe_trace_reader *reader;
    struct fe_trace_rec rec;
    assert_non_null(f);
    assert_int_equal(fe_trace_reader_open(&reader, f, file, &opt, NULL), 0);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(fe_trace_read(reader, &rec, 1, NULL), 1);
        assert_int_equal(rec.offset, 512 * i);
        assert_int_equal(rec.programmed, 4096 * i);
        assert_int_equal(rec.collections, i % 3);
        assert_int_equal(rec.merges, i % 5);
        assert_int_equal(rec.status, failed && failed(i) ? FE_NO_POWER : FE_OK);
    }
    assert_int_equal(fe_trace_read(reader, &rec, 1, NULL), 0);
    fe_trace_reader_close(reader);
    fclose(f);
}

static bool odd(uint64_t i)
{
    return i % 2 == 1;
}

/* Fills the ring: the first request is answered last and keeps all others back. */
static void test_recorder_keeps_the_order(void **state)
{
    enum { N = FE_RECORDER_KEPT };
    static uint64_t tickets[N];
    (void)state;
    for (int with_thread = 0; with_thread < 2; with_thread++) {
        struct fe_recorder *r = open_recorder();
        if (with_thread)
            assert_int_equal(fe_recorder_start(r, NULL), 0);
        for (uint64_t i = 0; i < N; i++)
            tickets[i] = add(r, i);
        for (uint64_t i = N; i-- > 0;)
            fe_recorder_finish(r, tickets[i], odd(i) ? FE_NO_POWER : FE_OK);
        expect_state(r, N, 0, NULL);
        assert_int_equal(fe_recorder_close(r, NULL), 0);
        expect_records(path, N, odd);
    }
}

static off_t size_of_file(void)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* One request more than the ring holds ends the trace, and nothing comes after the hole. */
static void test_recorder_one_request_too_many(void **state)
{
    enum { N = FE_RECORDER_KEPT };
    static uint64_t tickets[N];
    struct fe_err err = {""};
    (void)state;
    struct fe_recorder *r = open_recorder();
    off_t empty = size_of_file();
    assert_int_equal(fe_recorder_start(r, NULL), 0);
    for (uint64_t i = 0; i < N; i++)
        tickets[i] = add(r, i);
    expect_state(r, N, 0, NULL);
    uint64_t late = add(r, N);
    expect_state(r, N, 1, "ends after 65536 requests");
    for (uint64_t i = N; i-- > 0;)
        fe_recorder_finish(r, tickets[i], FE_OK);
    fe_recorder_finish(r, late, FE_OK);
    while (size_of_file() == empty) /* a batch in the file has left the ring: there is room again */
        usleep(1000);
    fe_recorder_finish(r, add(r, N + 1), FE_OK);
    expect_state(r, N, 2, "ends after 65536 requests");
    assert_int_equal(fe_recorder_close(r, &err), -ENOBUFS);
    assert_non_null(strstr(err.text, "ends after 65536 requests"));
    expect_records(path, N, NULL);
}

/* What is finished when the recorder is closed is there, written before or not. */
static void test_recorder_writes_the_rest(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 300; n += 37) {
        struct fe_recorder *r = open_recorder();
        for (uint64_t i = 0; i < n; i++)
            fe_recorder_finish(r, add(r, i), FE_OK);
        assert_int_equal(fe_recorder_close(r, NULL), 0);
        expect_records(path, n, NULL);
    }
}

static uint64_t lines_of_file(void)
{
    uint64_t n = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int c; (c = fgetc(f)) != EOF;)
        n += c == '\n';
    fclose(f);
    return n;
}

/* Until all n records are in the file behind its head.  Nothing but time makes them get there. */
static void await_lines(uint64_t head, uint64_t n)
{
    while (lines_of_file() != head + n)
        usleep(1000);
}

/* Records that come one by one, each as soon as the file has the one before, when the writer is
 * about to wait: none of them stays in memory. */
static void test_recorder_wakes_up(void **state)
{
    enum { N = 30 };
    (void)state;
    struct fe_recorder *r = open_recorder();
    assert_int_equal(fe_recorder_start(r, NULL), 0);
    for (uint64_t n = 0; n < N; n++) {
        off_t before = size_of_file();
        fe_recorder_finish(r, add(r, n), FE_OK);
        while (size_of_file() == before)
            continue;
    }
    assert_int_equal(fe_recorder_close(r, NULL), 0);
    expect_records(path, N, NULL);
}

/* What is finished gets to the file while the recorder is open.  A record that was alone shifts the
 * later batches, so that one of them reaches past the end of the ring. */
static void test_recorder_is_not_far_behind(void **state)
{
    static const uint64_t ends[] = {1, 2, 3 * FE_RECORDER_BATCH, 3 * FE_RECORDER_BATCH + 1,
                                    FE_RECORDER_KEPT + FE_RECORDER_BATCH};
    uint64_t n = 0;
    (void)state;
    struct fe_recorder *r = open_recorder();
    uint64_t head = lines_of_file();
    assert_int_equal(fe_recorder_start(r, NULL), 0);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        for (; n < ends[i]; n++)
            fe_recorder_finish(r, add(r, n), FE_OK);
        await_lines(head, n);
    }
    expect_records(path, n, NULL);
    assert_int_equal(fe_recorder_close(r, NULL), 0);
    expect_records(path, n, NULL);
}

/* A request that takes long keeps the later ones back, and the writer's pauses pass meanwhile.  When
 * it is finished, all get to the file, and so does what comes next. */
static void test_recorder_one_request_takes_long(void **state)
{
    enum { BEHIND = 3 * FE_RECORDER_BATCH + 5 };
    (void)state;
    struct fe_recorder *r = open_recorder();
    uint64_t head = lines_of_file();
    assert_int_equal(fe_recorder_start(r, NULL), 0);
    uint64_t n = 0, first = add(r, n++);
    for (int part = 0; part < 3; part++) {
        for (int i = 0; i < BEHIND; i++, n++)
            fe_recorder_finish(r, add(r, n), FE_OK);
        usleep(60000); /* longer than a pause of the writer */
        assert_int_equal(lines_of_file(), head);
    }
    fe_recorder_finish(r, first, FE_OK);
    await_lines(head, n);
    fe_recorder_finish(r, add(r, n++), FE_OK);
    await_lines(head, n);
    assert_int_equal(fe_recorder_close(r, NULL), 0);
    expect_records(path, n, NULL);
}

enum { THREADS = 8, EACH = 4000 };

static struct fe_recorder *shared;
static uint64_t n_added; /* under the lock */

static void *request_again_and_again(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++) {
        pthread_mutex_lock(&lock);
        uint64_t ticket = add(shared, n_added++);
        pthread_mutex_unlock(&lock);
        fe_recorder_finish(shared, ticket, FE_OK);
    }
    return NULL;
}

/* Again and again, so that each place of the ring is used several times.  The file catches up in
 * between, so that the ring never becomes full, however slow the disk is. */
static void test_recorder_many_threads(void **state)
{
    enum { ROUNDS = 6 };
    pthread_t threads[THREADS];
    (void)state;
    n_added = 0;
    shared = open_recorder();
    uint64_t head = lines_of_file();
    assert_int_equal(fe_recorder_start(shared, NULL), 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, request_again_and_again, NULL), 0);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(n_added, (uint64_t)(round + 1) * THREADS * EACH);
        expect_state(shared, n_added, 0, NULL);
        await_lines(head, n_added);
    }
    assert_true(n_added > 2 * FE_RECORDER_KEPT);
    assert_int_equal(fe_recorder_close(shared, NULL), 0);
    expect_records(path, n_added, NULL);
}

/* A full disk: said at the flush of the trace's beginning, before any request. */
static void test_recorder_full_disk(void **state)
{
    (void)state;
    struct fe_recorder *r = NULL;
    struct fe_err err = {""};
    assert_int_equal(fe_recorder_open(&r, "/dev/full", NULL, NULL, &err), -ENOSPC);
    assert_non_null(strstr(err.text, "trace=/dev/full: No space left"));
    assert_null(r);
}

/* Reads everything from a pipe into the file; the pipe's other end is open. */
static void *drain(void *arg)
{
    int from = *(int *)arg, to = open(path, O_WRONLY | O_TRUNC);
    char buf[65536];
    for (ssize_t n; (n = read(from, buf, sizeof buf)) > 0;)
        assert_int_equal(write(to, buf, (size_t)n), n);
    close(to);
    return NULL;
}

/* The disk stalls: a pipe that nobody reads for now.  Requests are added and finished without
 * waiting, the trace ends when the ring is full, and what is in the trace is whole. */
static void test_recorder_stalled_disk(void **state)
{
    static char pipe_path[] = "/tmp/fe-recorder-pipe-XXXXXX";
    struct fe_recorder *r = NULL;
    struct fe_recorder_state last;
    pthread_t reader;
    (void)state;
    close(mkstemp(pipe_path));
    unlink(pipe_path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    int fd = open(pipe_path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(fe_recorder_open(&r, pipe_path, NULL, NULL, NULL), 0);
    assert_int_equal(fcntl(fd, F_SETFL, 0), 0); /* from now on reading waits */
    assert_int_equal(fe_recorder_start(r, NULL), 0);
    for (uint64_t i = 0; i < 2 * FE_RECORDER_KEPT; i++)
        fe_recorder_finish(r, add(r, i), FE_OK);
    fe_recorder_get_state(r, &last);
    assert_non_null(strstr(last.ended, "wait to be written"));
    assert_true(last.records >= FE_RECORDER_KEPT && last.lost > 0);
    assert_int_equal(last.records + last.lost, 2 * FE_RECORDER_KEPT);
    assert_int_equal(pthread_create(&reader, NULL, drain, &fd), 0);
    assert_int_equal(fe_recorder_close(r, NULL), -ENOBUFS);
    assert_int_equal(pthread_join(reader, NULL), 0);
    expect_records(path, last.records, NULL);
    close(fd);
    unlink(pipe_path);
}

/* The file cannot be longer than `limit` bytes: the trace ends with the last whole batch. */
static uint64_t records_within(uint64_t limit, uint64_t n)
{
    struct rlimit old, small;
    struct fe_recorder_state last;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = limit, .rlim_max = old.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    struct fe_recorder *r = open_recorder();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (uint64_t i = 0; i < n; i++)
        fe_recorder_finish(r, add(r, i), FE_OK);
    expect_state(r, n < FE_RECORDER_KEPT ? n : FE_RECORDER_KEPT,
                 n < FE_RECORDER_KEPT ? 0 : n - FE_RECORDER_KEPT,
                 n <= FE_RECORDER_KEPT ? NULL : "wait to be written");
    assert_int_equal(fe_recorder_start(r, NULL), 0);
    do /* until the thread has found out */
        fe_recorder_get_state(r, &last);
    while (!last.ended || !strstr(last.ended, "File too large"));
    assert_true(last.records % FE_RECORDER_BATCH == 0);
    assert_int_equal(last.records + last.lost, n);
    fe_recorder_finish(r, add(r, n), FE_OK);
    expect_state(r, last.records, last.lost + 1, "File too large");
    assert_int_equal(fe_recorder_close(r, NULL), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, before);
    expect_records(path, last.records, NULL);
    return last.records;
}

/* The disk becomes full in the middle of a record, in some batch or in the first one.  What is left
 * is a trace in either case. */
static void test_recorder_disk_becomes_full(void **state)
{
    (void)state;
    assert_true(records_within(100000, 10000) > 0);
    assert_int_equal(records_within(10000, 10000), 0);
}

/* First the ring was full, and then the disk: less is in the file than the first reason said. */
static void test_recorder_disk_becomes_full_after_the_end(void **state)
{
    (void)state;
    assert_true(records_within(100000, FE_RECORDER_KEPT + 5) > 0);
}

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Only an empty file and an older trace may be overwritten.  What is refused stays as it is. */
static void test_recorder_overwrites_only_traces(void **state)
{
    static const char *const others[] = {"x", "# flashemu trac", "FLASHEMU image", "\n"};
    struct fe_recorder *r = NULL;
    char back[64];
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct fe_err err = {""};
        write_file(others[i]);
        assert_int_equal(fe_recorder_open(&r, path, NULL, NULL, &err), -EEXIST);
        assert_memory_equal(err.text, "trace=/tmp/fe-recorder-", 23);
        assert_non_null(strstr(err.text, "is not a flashemu trace"));
        FILE *f = fopen(path, "r");
        assert_int_equal(fread(back, 1, sizeof back, f), strlen(others[i]));
        assert_memory_equal(back, others[i], strlen(others[i]));
        fclose(f);
    }
    write_file("# flashemu trace 1\n0 read 0 512 done=1\n");
    assert_int_equal(fe_recorder_close(open_recorder(), NULL), 0);
    expect_records(path, 0, NULL);
    write_file("");
    assert_int_equal(fe_recorder_close(open_recorder(), NULL), 0);
    expect_records(path, 0, NULL);
}

static void test_recorder_paths_that_are_no_file(void **state)
{
    struct fe_recorder *r = NULL;
    (void)state;
    struct fe_err err = {""};
    assert_int_equal(fe_recorder_open(&r, "/tmp", NULL, NULL, &err), -EISDIR);
    assert_string_equal(err.text, "trace=/tmp: Is a directory");
    fe_err_init(&err);
    assert_int_equal(fe_recorder_open(&r, "/no/such/file", NULL, NULL, &err), -ENOENT);
    assert_string_equal(err.text, "trace=/no/such/file: No such file or directory");
    assert_null(r);
}

/* Whether the descriptor becomes readable within a time that is only waited for if it does not. */
static bool hears(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t n;
    return poll(&p, 1, ms) == 1 && read(fd, &n, sizeof n) == sizeof n;
}

static void read_text(const char *file, char *buf, size_t len)
{
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    buf[fread(buf, 1, len - 1, f)] = '\0';
    fclose(f);
}

static void test_a_mark_stands_behind_what_was_answered(void **state)
{
    char data[64], text[500];
    uint8_t sector[512] = {3, 1, 4}, buf[512];
    struct fe_recorder *r = NULL;
    struct fe_request req = {.type = FE_REQ_WRITE, .offset = 1024, .len = 512, .buf = sector};
    struct fe_reply reply = {.arrival_ns = 4, .complete_ns = 6, .status = FE_OK};
    struct fe_work work = {0};
    uint64_t mark;
    int fd = eventfd(0, EFD_NONBLOCK), result = 1;
    (void)state;
    snprintf(data, sizeof data, "%s.data", path);
    assert_int_equal(fe_recorder_open(&r, path, data, NULL, NULL), 0);
    fe_recorder_wake(r, fd);
    assert_int_equal(fe_recorder_start(r, NULL), 0);
    uint64_t ticket = fe_recorder_add(r, &req, &reply, &work);
    memset(sector, 0xee, sizeof sector); /* the caller's from now on */
    assert_int_equal(fe_recorder_add_mark(r, 6, "kept", &mark, NULL), 0);
    fe_recorder_hurry(r, mark);
    assert_false(hears(fd, 60)); /* the write in front of it is not answered yet */
    assert_false(fe_recorder_is_known(r, mark, &result, NULL));
    fe_recorder_finish(r, ticket, FE_OK);
    while (!fe_recorder_is_known(r, mark, &result, NULL))
        assert_true(hears(fd, 60000));
    assert_int_equal(result, 0);
    read_text(path, text, sizeof text); /* in the file before anything is closed */
    assert_non_null(strstr(text, "# data: "));
    assert_non_null(strstr(text, "4 write 1024 512 done=6 data=542\n6 mark kept\n"));
    assert_int_equal(fe_recorder_close(r, NULL), 0);
    close(fd);

    struct fe_data_reader *reader;
    assert_int_equal(fe_data_reader_open(&reader, data, NULL), 0);
    assert_int_equal(fe_data_get(reader, 542, 1024, 512, buf, NULL), 0);
    assert_int_equal(buf[0] << 16 | buf[1] << 8 | buf[2], 0x030104);
    fe_data_reader_close(reader);
    unlink(data);
}

static void test_a_mark_of_a_trace_that_has_ended(void **state)
{
    struct fe_recorder *r = open_recorder();
    struct fe_err err = {""};
    uint64_t ticket;
    (void)state;
    for (uint64_t i = 0; i < FE_RECORDER_KEPT; i++)
        fe_recorder_finish(r, add(r, i), FE_OK);
    assert_int_equal(fe_recorder_add_mark(r, 1, "late", &ticket, &err), -EIO);
    assert_non_null(strstr(err.text, "the trace ends"));
    fe_recorder_close(r, NULL);
}

static void test_more_data_than_may_wait(void **state)
{
    enum { MAX = 32 << 20 };
    char data[64];
    struct fe_recorder *r = NULL;
    void *buf = calloc(1, MAX);
    struct fe_request req = {.type = FE_REQ_WRITE, .len = MAX, .buf = buf};
    struct fe_reply reply = {.complete_ns = 6};
    struct fe_work work = {0};
    uint64_t tickets[8];
    (void)state;
    assert_non_null(buf);
    snprintf(data, sizeof data, "%s.data", path);
    assert_int_equal(fe_recorder_open(&r, path, data, NULL, NULL), 0); /* and nobody writes */
    for (int i = 0; i < 8; i++)
        tickets[i] = fe_recorder_add(r, &req, &reply, &work);
    assert_null(fe_recorder_ended(r));
    fe_recorder_finish(r, fe_recorder_add(r, &req, &reply, &work), FE_OK);
    assert_non_null(strstr(fe_recorder_ended(r), "after 8 requests"));
    for (int i = 0; i < 8; i++)
        fe_recorder_finish(r, tickets[i], FE_OK);
    assert_int_equal(fe_recorder_close(r, NULL), -ENOBUFS);
    free(buf);
    unlink(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorder_keeps_the_order),
        cmocka_unit_test(test_recorder_writes_the_rest),
        cmocka_unit_test(test_recorder_is_not_far_behind),
        cmocka_unit_test(test_recorder_wakes_up),
        cmocka_unit_test(test_recorder_one_request_takes_long),
        cmocka_unit_test(test_recorder_many_threads),
        cmocka_unit_test(test_recorder_full_disk),
        cmocka_unit_test(test_recorder_one_request_too_many),
        cmocka_unit_test(test_recorder_stalled_disk),
        cmocka_unit_test(test_recorder_disk_becomes_full),
        cmocka_unit_test(test_recorder_disk_becomes_full_after_the_end),
        cmocka_unit_test(test_recorder_overwrites_only_traces),
        cmocka_unit_test(test_recorder_paths_that_are_no_file),
        cmocka_unit_test(test_a_mark_stands_behind_what_was_answered),
        cmocka_unit_test(test_a_mark_of_a_trace_that_has_ended),
        cmocka_unit_test(test_more_data_than_may_wait),
    };
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int before = ft_next_fd();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed + ft_left_open(before);
}
