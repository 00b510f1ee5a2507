/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is taken from a trace for `replay --against`: the host's rule, kinds and blocks; and the errors
 * of a device, by hand.
 */
#include "replay/conversation.h"
#include "replay/judge.h"
#include "lib/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NONE CONVERSATION_NO_CAUSE

/* Reads this text, behind the first line of a trace. */
static int load(struct conversation *c, const char *text, struct fe_err *err)
{
    static const struct fe_trace_options options = {.marks = true};
    char path[] = "/tmp/test-conversation-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    fprintf(f, "# flashemu trace 1\n%s", text);
    assert_int_equal(fclose(f), 0);
    fe_err_init(err);
    int code = conversation_load(c, path, &options, err);
    unlink(path);
    return code;
}

static struct conversation loaded(const char *text)
{
    struct conversation c;
    struct fe_err err;
    int code = load(&c, text, &err);

    if (code < 0)
        fail_msg("%s", err.text);
    return c;
}

static void refused(const char *text, const char *message)
{
    struct conversation c;
    struct fe_err err;

    assert_int_equal(load(&c, text, &err), -EINVAL);
    conversation_fini(&c);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
}

static void assert_said(const struct conversation *c, uint32_t i, uint32_t cause, uint64_t pause_ns,
                        uint64_t took_ns)
{
    assert_int_equal(c->said[i].cause, cause);
    assert_int_equal(c->said[i].pause_ns, pause_ns);
    assert_int_equal(c->said[i].took_ns, took_ns);
}

static void test_each_waits_for_the_one_before(void **state)
{
    (void)state;
    struct conversation c = loaded("70 write 0 512 done=100\n"
                                   "100 write 512 512 done=230\n"
                                   "241 flush 0 0 done=300\n"
                                   "1307 read 4096 1024 done=1320\n");
    assert_int_equal(c.n, 4);
    assert_said(&c, 0, NONE, 70, 30);
    assert_said(&c, 1, 0, 0, 130);
    assert_said(&c, 2, 1, 11, 59);
    assert_said(&c, 3, 2, 1007, 13);
    conversation_fini(&c);
}

/* Three in flight: 2 waits for the earliest completion, which is that of 1; 3 for 0; 4 comes when all
 * are done, of which 2 was the last. */
static void test_requests_in_flight(void **state)
{
    (void)state;
    struct conversation c = loaded("0 read 0 512 done=90\n"
                                   "5 read 8192 512 done=40\n"
                                   "42 read 16384 512 done=170\n"
                                   "97 read 32768 512 done=110\n"
                                   "200 read 65536 512 done=260\n");
    assert_said(&c, 0, NONE, 0, 90);
    assert_said(&c, 1, NONE, 5, 35);
    assert_said(&c, 2, 1, 2, 128);
    assert_said(&c, 3, 0, 7, 13);
    assert_said(&c, 4, 2, 30, 60);
    /* 0 and 4 alone, the others with one more in flight */
    assert_int_equal(c.n_kinds, 2);
    assert_int_equal(c.kinds[0].n, 2);
    assert_int_equal(c.kinds[1].n, 3);
    assert_int_equal(c.kinds[0].deep, 1);
    assert_int_equal(c.kinds[1].shallow, 2);
    conversation_fini(&c);
}

/* A time that runs backwards is that of the request before: a device takes them in turn. */
static void test_times_that_run_backwards(void **state)
{
    (void)state;
    struct conversation c = loaded("500 read 0 512 done=900\n"
                                   "350 read 8192 512 done=470\n"
                                   "920 read 0 512 done=940\n");
    assert_said(&c, 1, NONE, 0, 120);
    assert_said(&c, 2, 0, 20, 20);
    conversation_fini(&c);
}

static void assert_kind(const struct conversation *c, uint32_t i, const char *name, uint32_t n,
                        uint32_t n_blocks)
{
    char buf[SAID_KIND_NAME];

    assert_string_equal(said_kind_name(&c->kinds[i], buf), name);
    assert_int_equal(c->kinds[i].n, n);
    assert_int_equal(c->kinds[i].n_blocks, n_blocks);
}

static void test_kinds(void **state)
{
    (void)state;
    struct conversation c = loaded("0 write 0 4096 done=1\n"       /* the first has none before it */
                                   "1 write 4096 4096 done=2\n"
                                   "2 read 8192 4096 done=3\n"
                                   "3 write 8192 6144 done=4\n"    /* in order all the same */
                                   "4 read 0 4608 done=5\n"
                                   "5 flush 0 0 done=6\n"
                                   "6 trim 0 65536 done=7\n"
                                   "7 write 14336 8192 done=8\n"
                                   "8 flush 0 0 done=9\n");
    assert_int_equal(c.n_kinds, 6);
    assert_kind(&c, 0, "writes apart by 4 KiB", 1, 1);
    assert_kind(&c, 1, "writes in order by 4 KiB to 6 KiB", 2, 1);
    assert_kind(&c, 2, "reads apart by 4 KiB to 4.5 KiB", 2, 1);
    assert_kind(&c, 3, "flushes", 2, 1);
    assert_kind(&c, 4, "trims apart by 64 KiB", 1, 1);
    assert_kind(&c, 5, "writes in order by 8 KiB", 1, 1);
    conversation_fini(&c);
}

/* Requests number 0, `step`, 2 `step`... are writes, and the others are flushes. */
static struct conversation alternating(int n, int step)
{
    char text[8192];
    size_t at = 0;

    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               i % step == 0 ? "%d write 0 512 done=%d\n" : "%d flush 0 0 done=%d\n",
                               10 * i, 10 * i + 3);
    return loaded(text);
}

static void test_blocks(void **state)
{
    (void)state;
    struct conversation c = alternating(35, 1); /* 16, 16 and 3 */
    assert_int_equal(c.n_blocks, 3);
    assert_int_equal(c.said[15].block, 0);
    assert_int_equal(c.said[16].block, 1);
    assert_int_equal(c.blocks[1].recorded_ns, 48);
    assert_int_equal(c.blocks[2].recorded_ns, 9);
    conversation_fini(&c);

    c = alternating(40, 2); /* 20 of each: a flush between two writes ends no block */
    assert_int_equal(c.n_blocks, 4);
    assert_int_equal(c.kinds[0].n_blocks, 2);
    conversation_fini(&c);

    c = alternating(33, 16); /* 15 others between two of three writes */
    assert_int_equal(c.kinds[0].n_blocks, 1);
    conversation_fini(&c);
    c = alternating(35, 17); /* 16 others do end it */
    assert_int_equal(c.kinds[0].n_blocks, 3);
    conversation_fini(&c);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    refused("0 write 0 512 done=9\n10 write 0 512\n", ":3: has no completion; allowed: ");
    refused("", "has no requests");
    refused("0 write 0 512\n0 read 0 512\n", "no request took any time");
    refused("# version: 1\n0 write 0 512 done=9\n9 write 0 512 do", "the file ends within this line");
    refused("# version: 1\n0 write 0 512 done=9\n9 write 0 512 done=12", "requests are missing at its end");
    refused("# end: the last line is '# end'\n0 write 0 512 done=9\n", "requests are missing at its end");

    /* a mark is no request, and the first request may be over at once */
    struct conversation c = loaded("# seed: 77\n# version: 1\n# capacity: 123392\n0 flush 0 0\n"
                                   "0 mark now\n4 read 0 512 done=6\n");
    assert_int_equal(c.n, 2);
    assert_true(c.has_seed);
    assert_int_equal(c.seed, 77);
    assert_int_equal(c.capacity, 123392);
    conversation_fini(&c);
}

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) < 5e-6))
        fail_msg("%.7f for %.7f", got, want);
}

static void test_the_error_of_a_block(void **state)
{
    (void)state;
    assert_true(judge_error(123456789, 123456789, 7) == 0);
    assert_true(judge_error(0, 69999, 7) == 0);                 /* 7 times 10 us each */
    assert_near(judge_error(10000000, 10510000, 16), 0.0453654);    /* ln 1.051 = 0.0497421 */
    assert_near(judge_error(10510000, 10000000, 16), 0.0453654);
    assert_near(judge_error(0, 140000, 7), 0.3319404);              /* ln 2 = 0.6931472 */
    assert_near(judge_error(10000, 10000000000, 1), 1.0075050);     /* ln 10^6 = 13.8155106 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_waits_for_the_one_before),
        cmocka_unit_test(test_requests_in_flight),
        cmocka_unit_test(test_times_that_run_backwards),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_the_error_of_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
