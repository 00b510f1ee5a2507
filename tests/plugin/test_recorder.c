/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The recorder: records in the order of their requests, whatever the order of the answers.
 */
#include "lib/unit.h"

#include "recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[] = "/tmp/fe-recorder-XXXXXX";

static uint64_t add(struct fe_recorder *r, uint64_t n)
{
    struct fe_request req = {.type = FE_REQ_WRITE, .offset = 512 * n, .len = 512};
    struct fe_reply reply = {.arrival_ns = n, .complete_ns = n + 5, .status = FE_OK};
    return fe_recorder_add(r, &req, &reply);
}

static struct fe_recorder *open_recorder(void)
{
    struct fe_recorder *r = NULL;
    assert_int_equal(fe_recorder_open(&r, path, NULL), 0);
    return r;
}

/* The file is what it should be: n records in order, those of `failed` without power. */
static void expect_records(uint64_t n, bool (*failed)(uint64_t i))
{
    FILE *f = fopen(path, "r");
    struct fe_trace_options opt = {.format = NULL};
    struct fe_trace_reader *reader;
    struct fe_trace_rec rec;
    assert_non_null(f);
    assert_int_equal(fe_trace_reader_open(&reader, f, path, &opt, NULL), 0);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(fe_trace_read(reader, &rec, 1, NULL), 1);
        assert_int_equal(rec.offset, 512 * i);
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

/* The first request is answered last and keeps all others back, more than the ring holds. */
static void test_recorder_keeps_the_order(void **state)
{
    enum { N = 5000 };
    static uint64_t tickets[N];
    (void)state;
    struct fe_recorder *r = open_recorder();
    for (uint64_t i = 0; i < N; i++)
        tickets[i] = add(r, i);
    for (uint64_t i = N - 1; i > 0; i--)
        fe_recorder_finish(r, tickets[i], odd(i) ? FE_NO_POWER : FE_OK);
    assert_false(fe_recorder_is_due(r));
    fe_recorder_write(r, &lock);
    fe_recorder_finish(r, tickets[0], FE_OK);
    assert_true(fe_recorder_is_due(r));
    fe_recorder_write(r, &lock);
    assert_false(fe_recorder_is_due(r));
    assert_int_equal(fe_recorder_close(r, NULL), 0);
    expect_records(N, odd);
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
        expect_records(n, NULL);
    }
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
        bool due = fe_recorder_is_due(shared);
        pthread_mutex_unlock(&lock);
        if (due)
            fe_recorder_write(shared, &lock);
        pthread_mutex_lock(&lock);
        fe_recorder_finish(shared, ticket, FE_OK);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void test_recorder_many_threads(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    shared = open_recorder();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, request_again_and_again, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_null(fe_recorder_failure(shared));
    assert_int_equal(fe_recorder_close(shared, NULL), 0);
    expect_records((uint64_t)THREADS * EACH, NULL);
}

/* A full disk: said at the flush of the trace's beginning, before any request. */
static void test_recorder_full_disk(void **state)
{
    (void)state;
    struct fe_recorder *r = NULL;
    struct fe_err err = {""};
    assert_int_equal(fe_recorder_open(&r, "/dev/full", &err), -ENOSPC);
    assert_non_null(strstr(err.text, "/dev/full: No space left"));
    assert_null(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorder_keeps_the_order),
        cmocka_unit_test(test_recorder_writes_the_rest),
        cmocka_unit_test(test_recorder_many_threads),
        cmocka_unit_test(test_recorder_full_disk),
    };
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
