/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The link's arithmetic by hand: slots, the wire, rounding once for each run of bytes.
 */
#include "lib/unit.h"

#include "base/num.h"
#include "host/link.h"

#include <string.h>

static struct fe_link make(uint64_t bandwidth, uint64_t overhead, uint32_t depth)
{
    struct fe_link l;
    struct fe_link_params p = {.type = FE_LINK_USB_HS, .bandwidth = bandwidth,
                               .command_overhead_ns = overhead, .max_transfer = 122880,
                               .queue_depth = depth};
    fe_link_init(&l, &p);
    return l;
}

static void test_link_one_slot_runs_commands_one_after_another(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 100, 1);
    assert_int_equal(fe_link_begin(&l, 1000), 1100);
    assert_int_equal(fe_link_data(&l, 0, 512), 1612);
    assert_int_equal(fe_link_data(&l, 0, 512), 2124);
    fe_link_end(&l, 50000);
    assert_int_equal(fe_link_begin(&l, 1000), 50100);
    assert_int_equal(fe_link_data(&l, 0, 512), 50612);
    fe_link_end(&l, 50700);
    assert_int_equal(fe_link_begin(&l, 60000), 60100); /* idle in between */
}

static void test_link_time_ends(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 100, 1);
    assert_int_equal(fe_link_begin(&l, FE_TIME_MAX - 99), FE_TIME_MAX);
    assert_int_equal(fe_link_data(&l, 0, 512), FE_TIME_MAX);
    fe_link_end(&l, FE_TIME_MAX);
    l = make(1000000000, 100, 1);
    assert_int_equal(fe_link_begin(&l, FE_TIME_MAX - 700), FE_TIME_MAX - 600);
    assert_int_equal(fe_link_data(&l, 0, 512), FE_TIME_MAX - 88);
    assert_int_equal(fe_link_data(&l, 0, 512), FE_TIME_MAX);
    assert_int_equal(fe_link_data(&l, FE_TIME_MAX - 5, 512), FE_TIME_MAX);
}

static void test_link_slots_overlap_but_share_the_wire(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 100, 2);
    assert_int_equal(fe_link_begin(&l, 0), 100);
    assert_int_equal(fe_link_data(&l, 0, 1000), 1100);
    fe_link_end(&l, 9000);
    assert_int_equal(fe_link_begin(&l, 0), 100);         /* the other slot */
    assert_int_equal(fe_link_data(&l, 0, 1000), 2100);   /* after the first one's data */
    fe_link_end(&l, 5000);
    assert_int_equal(fe_link_begin(&l, 0), 5100);        /* the slot that is free first */
    assert_int_equal(fe_link_data(&l, 0, 1000), 6100);
    fe_link_end(&l, 7000);
    assert_int_equal(fe_link_begin(&l, 0), 7100);
    fe_link_end(&l, 20000);
    assert_int_equal(fe_link_begin(&l, 0), 9100);
}

static void test_link_reads_are_sent_as_soon_as_they_are_ready(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 0, 1);
    assert_int_equal(fe_link_begin(&l, 0), 0);
    assert_int_equal(fe_link_data(&l, 5000, 1000), 6000);
    assert_int_equal(fe_link_data(&l, 5500, 1000), 7000);  /* the wire is busy */
    assert_int_equal(fe_link_data(&l, 7000, 1000), 8000);  /* just in time */
    assert_int_equal(fe_link_data(&l, 20000, 1000), 21000); /* the flash is late */
    fe_link_end(&l, 21000);
}

static void test_link_rounds_up_once_for_a_run_of_bytes(void **state)
{
    (void)state;
    struct fe_link l = make(300000000, 0, 1); /* 10/3 ns a byte */
    fe_link_begin(&l, 0);
    uint64_t bytes = 0;
    for (int i = 0; i < 1000; i++) {
        bytes += 512;
        assert_int_equal(fe_link_data(&l, 0, 512), (bytes * 10 + 2) / 3);
    }
    fe_link_end(&l, 0);
    l = make(300000000, 0, 1);
    fe_link_begin(&l, 0);
    bytes = 0;
    for (int i = 0; i < 1000; i++) {
        bytes += 512;
        assert_int_equal(fe_link_data(&l, 7, 512), 7 + (bytes * 10 + 2) / 3);
    }
}

static void test_link_bandwidth_0_is_infinite(void **state)
{
    (void)state;
    struct fe_link l = make(0, 250, 1);
    assert_int_equal(fe_link_begin(&l, 0), 250);
    assert_int_equal(fe_link_data(&l, 0, 1 << 20), 250);
    assert_int_equal(fe_link_data(&l, 900, 1 << 20), 900);
}

static void test_link_faster_than_a_byte_a_ns_is_never_free(void **state)
{
    (void)state;
    struct fe_link l = make(UINT64_C(5000000000), 0, 1);
    fe_link_begin(&l, 0);
    assert_int_equal(fe_link_data(&l, 0, 1), 1);
    assert_int_equal(fe_link_data(&l, 0, 1), 1);
    assert_int_equal(fe_link_data(&l, 0, 510), 103);
}

static void test_link_deepest_queue_takes_every_slot_once(void **state)
{
    (void)state;
    struct fe_link l = make(0, 0, FE_LINK_MAX_DEPTH);
    for (uint64_t i = 0; i < FE_LINK_MAX_DEPTH; i++) {
        assert_int_equal(fe_link_begin(&l, 0), 0);
        fe_link_end(&l, 1000 + i);
    }
    for (uint64_t i = 0; i < FE_LINK_MAX_DEPTH; i++) {
        assert_int_equal(fe_link_begin(&l, 0), 1000 + i);
        fe_link_end(&l, 5000);
    }
}

/* Four commands of 1000 bytes arrive simultaneously.  Their overheads pass at the same time, the
 * other half of what a command costs does not. */
static void test_link_tasks_occupy_the_wire(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 100, 4);
    l.p.task_overhead_ns = 50;
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(fe_link_begin(&l, 0), 100);
        assert_int_equal(fe_link_data(&l, 0, 600), 100 + i * 1050 + 650);
        assert_int_equal(fe_link_data(&l, 0, 400), 100 + i * 1050 + 1050); /* once a command */
        fe_link_end(&l, 100 + i * 1050 + 1050);
    }
    l = make(1000000000, 100, 4); /* the task is started when the flash is ready */
    l.p.task_overhead_ns = 50;
    assert_int_equal(fe_link_begin(&l, 0), 100);
    assert_int_equal(fe_link_data(&l, 5000, 1000), 6050);
}

/* A write takes 30 ns more, with the queue and without; it pays them once, like the task. */
static void test_link_writes_occupy_the_wire_longer(void **state)
{
    static const enum fe_queue queues[] = {FE_QUEUE_IN_ORDER, FE_QUEUE_ANY_ORDER, FE_QUEUE_IN_TURN,
                                           FE_QUEUE_OFF};
    (void)state;
    for (size_t i = 0; i < ft_array_len(queues); i++) {
        struct fe_link l = make(1000000000, 100, 4);
        uint64_t task = queues[i] == FE_QUEUE_OFF ? 0 : 50, end = 100 + task + 30 + 1000;
        l.p.queue = queues[i];
        l.p.task_overhead_ns = 50;
        l.p.write_overhead_ns = 30;
        assert_int_equal(fe_link_take_turn(&l, fe_link_begin(&l, 0), true, 0, 1000), 100);
        assert_int_equal(fe_link_data(&l, 0, 600), end - 400);
        assert_int_equal(fe_link_data(&l, 0, 400), end);
        fe_link_end(&l, end);
        uint64_t start = fe_link_begin(&l, end); /* a read pays for its task only */
        assert_int_equal(fe_link_take_turn(&l, start, false, 5000, 6000), end + 100);
        assert_int_equal(fe_link_data(&l, 0, 1000), end + 100 + task + 1000);
    }
}

/* It is idle when no command is in a slot and nothing is on the wire. */
static void test_link_is_idle_when_all_has_ended(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 100, 2);
    assert_true(fe_link_is_idle(&l, 0));
    fe_link_begin(&l, 0);
    fe_link_data(&l, 0, 1000);
    fe_link_end(&l, 5000); /* slot 0 */
    fe_link_begin(&l, 0);
    fe_link_data(&l, 0, 1000);
    fe_link_end(&l, 3000); /* slot 1 */
    assert_false(fe_link_is_idle(&l, 4999));
    assert_true(fe_link_is_idle(&l, 5000));
    fe_link_begin(&l, 5000); /* answered when half of its data are in */
    fe_link_data(&l, 0, 1000);
    fe_link_end(&l, 5600);
    assert_false(fe_link_is_idle(&l, 6099));
    assert_true(fe_link_is_idle(&l, 6100));
}

/* After a hold no command starts before its time, and it is idle from then on, even if commands that
 * have been given up would have ended later. */
static void test_link_holds_until_a_time(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 100, 2);
    fe_link_begin(&l, 0);
    fe_link_end(&l, 9000);
    fe_link_hold(&l, 7000);
    assert_false(fe_link_is_idle(&l, 6999));
    assert_true(fe_link_is_idle(&l, 7000));
    assert_int_equal(fe_link_begin(&l, 100), 7100);
    fe_link_end(&l, 7200);
    assert_int_equal(fe_link_begin(&l, 100), 7100); /* the other slot */
}

/* Data of the same length take another time when the bandwidth has changed. */
static void test_link_takes_new_delays(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 100, 1);
    fe_link_begin(&l, 0);
    assert_int_equal(fe_link_data(&l, 0, 1000), 1100);
    fe_link_end(&l, 1100);
    struct fe_link_params p = l.p;
    p.bandwidth = 500000000;
    p.command_overhead_ns = 200;
    fe_link_set_delays(&l, &p);
    fe_link_begin(&l, 1100);
    assert_int_equal(fe_link_data(&l, 0, 1000), 1300 + 2000);
}

static void test_link_without_its_queue_has_one_slot(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 100, 32);
    l.p.task_overhead_ns = 50;
    l.p.queue = FE_QUEUE_OFF;
    assert_int_equal(fe_link_depth(&l.p), 1);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(fe_link_begin(&l, 0), i * 5000 + 100);
        assert_int_equal(fe_link_data(&l, 0, 1000), i * 5000 + 1100);
        fe_link_end(&l, (i + 1) * 5000);
    }
}

/* Data that the flash has at `ready` and 1000 ns of wire: when they have reached the host. */
static uint64_t read_ready(struct fe_link *l, uint64_t now, uint64_t ready)
{
    fe_link_begin(l, now);
    uint64_t end = fe_link_data(l, ready, 1000);
    fe_link_end(l, end);
    return end;
}

static void test_link_order_decides_who_waits(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 0, 8);
    assert_int_equal(read_ready(&l, 0, 9000), 10000);
    assert_int_equal(read_ready(&l, 0, 500), 11000);  /* in-order: behind the slow one */

    l = make(1000000000, 0, 8);
    l.p.queue = FE_QUEUE_ANY_ORDER;
    assert_int_equal(read_ready(&l, 0, 9000), 10000);
    assert_int_equal(read_ready(&l, 0, 500), 1500);   /* free: [0, 500) and [1500, 9000) */
    assert_int_equal(read_ready(&l, 0, 0), 2500);     /* the first one is too short */
    assert_int_equal(read_ready(&l, 0, 8001), 11000); /* 999 ns are left of it */
    assert_int_equal(read_ready(&l, 0, 8000), 9000);  /* fits exactly */
    assert_int_equal(read_ready(&l, 0, 3000), 4000);
    assert_int_equal(read_ready(&l, 0, 20000), 21000);
    assert_int_equal(read_ready(&l, 0, 0), 5000);
    assert_int_equal(read_ready(&l, 12000, 12000), 13000); /* [11000, 20000) is still free */
}

/* A host that must ask does so 1, 3, 7, 15 ... times 32 us after the data. */
static void test_link_asks_after_twice_as_long(void **state)
{
    static const uint64_t ended[] = {0, 1, 32000, 32001, 96000, 96001, 400000, 480001, 992000};
    static const uint64_t asked[] = {0, 32000, 32000, 96000, 96000, 224000, 480000, 992000, 992000};
    struct fe_link l = make(0, 0, 8);
    (void)state;
    for (size_t i = 0; i < ft_array_len(ended); i++) {
        l.p.queue = FE_QUEUE_OFF;
        l.p.busy_poll_ns = 32000;
        assert_int_equal(fe_link_asked(&l, 5000, 5000 + ended[i]), 5000 + asked[i]);
        l.p.busy_poll_ns = 0;
        assert_int_equal(fe_link_asked(&l, 5000, 5000 + ended[i]), 5000 + ended[i]);
        l.p.busy_poll_ns = 32000;
        l.p.queue = FE_QUEUE_IN_ORDER; /* a queue tells the host */
        assert_int_equal(fe_link_asked(&l, 5000, 5000 + ended[i]), 5000 + ended[i]);
    }
}

/* Each question takes its time, the first one behind the data as well, and tells what was true when
 * it was asked. */
static void test_link_asks_as_long_as_it_takes(void **state)
{
    static const uint64_t ended[] = {0, 1, 40000, 40001, 112000, 112001, 248000, 248001};
    static const uint64_t heard[] = {8000, 48000, 48000, 120000, 120000, 256000, 256000, 520000};
    struct fe_link l = make(0, 0, 8);
    (void)state;
    l.p.busy_ask_ns = 8000;
    for (size_t i = 0; i < ft_array_len(ended); i++) {
        l.p.queue = FE_QUEUE_OFF;
        l.p.busy_poll_ns = 32000;
        assert_int_equal(fe_link_asked(&l, 5000, 5000 + ended[i]), 5000 + heard[i]);
        l.p.busy_poll_ns = 0; /* a device that tells is asked nothing, and so is one with a queue */
        assert_int_equal(fe_link_asked(&l, 5000, 5000 + ended[i]), 5000 + ended[i]);
        l.p.busy_poll_ns = 32000;
        l.p.queue = FE_QUEUE_IN_ORDER;
        assert_int_equal(fe_link_asked(&l, 5000, 5000 + ended[i]), 5000 + ended[i]);
    }
}

/* A host that sleeps too long asks later: each wait is longer by a share of 0 to 100 %, all shares
 * are drawn, and the answer depends on the two times alone. */
static void test_link_asks_a_little_later(void **state)
{
    (void)state;
    struct fe_link l = make(0, 0, 8);
    uint64_t lowest[2] = {UINT64_MAX, UINT64_MAX}, highest[2] = {0, 0};
    l.p.queue = FE_QUEUE_OFF;
    l.p.busy_poll_ns = 32000;
    l.p.busy_late_ppm = 1000000;
    for (uint64_t in = 0; in < 2000; in++) {
        for (uint64_t i = 0; i < 2; i++) { /* ended before the first question, or behind it */
            uint64_t asked = fe_link_asked(&l, in, in + 1 + i * 64000) - in;
            assert_int_equal(fe_link_asked(&l, in, in + 1 + i * 64000) - in, asked);
            lowest[i] = fe_min_u64(lowest[i], asked);
            highest[i] = fe_max_u64(highest[i], asked);
        }
    }
    assert_in_range(lowest[0], 32000, 32500);
    assert_in_range(highest[0], 63500, 64000);
    assert_in_range(lowest[1], 96000, 100000);
    assert_in_range(highest[1], 188000, 192000);
    l.p.busy_late_ppm = 0;
    assert_int_equal(fe_link_asked(&l, 7, 8), 32007);
}

/* The pieces of one command stay in order. */
static void test_link_any_order_keeps_the_order_of_a_command(void **state)
{
    (void)state;
    struct fe_link l = make(1000000000, 0, 8);
    l.p.queue = FE_QUEUE_ANY_ORDER;
    l.p.task_overhead_ns = 50;
    fe_link_begin(&l, 0);
    assert_int_equal(fe_link_data(&l, 5000, 100), 5150);
    assert_int_equal(fe_link_data(&l, 0, 100), 5250);
    fe_link_end(&l, 5250);
    assert_int_equal(fe_link_begin(&l, 5100), 5100);
    assert_int_equal(fe_link_data(&l, 0, 100), 5400);
}

/* A wire with more gaps than there is room for forgets some of them, and never transfers two things
 * at the same time. */
static void test_link_any_order_never_doubles_the_wire(void **state)
{
    enum { N = 400 };
    static uint64_t ends[N];
    struct fe_link l = make(1000000000, 0, FE_LINK_MAX_DEPTH);
    uint64_t x = 1;
    (void)state;
    l.p.queue = FE_QUEUE_ANY_ORDER;
    for (int i = 0; i < N; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t ready = (uint64_t)i * 100 + (x >> 40) % 1000000;
        ends[i] = read_ready(&l, (uint64_t)i * 100, ready);
        assert_true(ends[i] >= ready + 1000);
        assert_true(l.n_gaps <= FE_LINK_MAX_DEPTH);
        for (int k = 0; k < i; k++)
            assert_true(ends[k] >= ends[i] + 1000 || ends[i] >= ends[k] + 1000);
    }
}

/* The first gap is forgotten when there is no room, and the others stay as they are. */
static void test_link_any_order_forgets_the_first_gap(void **state)
{
    enum { N = FE_LINK_MAX_DEPTH + 1 };
    struct fe_link l = make(1000000000, 0, FE_LINK_MAX_DEPTH);
    (void)state;
    l.p.queue = FE_QUEUE_ANY_ORDER;
    for (uint64_t i = 0; i < N; i++) /* free: [0, 1000), [2000, 3000) ... */
        assert_int_equal(read_ready(&l, 0, i * 2000 + 1000), (i + 1) * 2000);
    memset(l.slot_free_ns, 0, sizeof l.slot_free_ns); /* no slot is waited for */
    for (uint64_t i = 1; i < N; i++)
        assert_int_equal(read_ready(&l, 0, 0), i * 2000 + 1000);
    memset(l.slot_free_ns, 0, sizeof l.slot_free_ns);
    assert_int_equal(read_ready(&l, 0, 0), N * 2000 + 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link_one_slot_runs_commands_one_after_another),
        cmocka_unit_test(test_link_time_ends),
        cmocka_unit_test(test_link_slots_overlap_but_share_the_wire),
        cmocka_unit_test(test_link_reads_are_sent_as_soon_as_they_are_ready),
        cmocka_unit_test(test_link_rounds_up_once_for_a_run_of_bytes),
        cmocka_unit_test(test_link_bandwidth_0_is_infinite),
        cmocka_unit_test(test_link_faster_than_a_byte_a_ns_is_never_free),
        cmocka_unit_test(test_link_deepest_queue_takes_every_slot_once),
        cmocka_unit_test(test_link_tasks_occupy_the_wire),
        cmocka_unit_test(test_link_writes_occupy_the_wire_longer),
        cmocka_unit_test(test_link_is_idle_when_all_has_ended),
        cmocka_unit_test(test_link_holds_until_a_time),
        cmocka_unit_test(test_link_takes_new_delays),
        cmocka_unit_test(test_link_without_its_queue_has_one_slot),
        cmocka_unit_test(test_link_asks_after_twice_as_long),
        cmocka_unit_test(test_link_asks_as_long_as_it_takes),
        cmocka_unit_test(test_link_asks_a_little_later),
        cmocka_unit_test(test_link_order_decides_who_waits),
        cmocka_unit_test(test_link_any_order_keeps_the_order_of_a_command),
        cmocka_unit_test(test_link_any_order_never_doubles_the_wire),
        cmocka_unit_test(test_link_any_order_forgets_the_first_gap),
    };
    return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
