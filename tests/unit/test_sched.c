/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Timelines computed by hand.  The chip: command 100 ns, tR 25000, tPROG 200000,
 * tBERS 1500000, the bus 1 byte a ns unless a test says otherwise.
 */
#include "lib/rig.h"
#include "lib/unit.h"

#include "sched/sched.h"

struct bench {
    struct fe_sched s;
    struct fe_geometry geo;
};

static void setup_as(struct bench *b, uint32_t channels, uint32_t dies, uint64_t bus_rate,
                     bool cached)
{
    struct fe_nand_params p = ft_nand(dies, 4, 4, 2048);
    struct fe_err err;
    fe_err_init(&err);
    p.channels = channels;
    p.bus_rate = bus_rate;
    p.cached = cached;
    assert_int_equal(fe_geometry_init(&b->geo, &p, &err), 0);
    assert_int_equal(fe_sched_init(&b->s, &p, &b->geo, &err), 0);
}

static void setup(struct bench *b, uint32_t channels, uint32_t dies, uint64_t bus_rate)
{
    setup_as(b, channels, dies, bus_rate, false);
}

static struct fe_op place(struct bench *b, enum fe_op_kind kind, uint16_t die, uint32_t bytes,
                          unsigned flags)
{
    static const uint64_t cell_ns[] = {25000, 200000, 1500000, 0, 7000};
    struct fe_op op = {.kind = (uint8_t)kind, .die = die, .bus_bytes = bytes,
                       .flags = (uint8_t)flags, .cell_ns = cell_ns[kind]};
    fe_sched_place(&b->s, &op, 1);
    return op;
}

static void expect(struct fe_op op, uint64_t start, uint64_t end)
{
    assert_int_equal(op.start_ns, start);
    assert_int_equal(op.end_ns, end);
}

static void test_sched_one_op_of_each_kind(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 1, 4, 1000000000);
    fe_sched_begin(&b.s, 1000);
    assert_int_equal(fe_sched_end(&b.s), 1000); /* no op: the ready time */
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 1000, 1000 + 100 + 25000 + 2048);
    assert_int_equal(fe_sched_end(&b.s), 28148);
    fe_sched_reset(&b.s);
    fe_sched_begin(&b.s, 1000);
    expect(place(&b, FE_OP_PROG, 1, 2112, 0), 1000, 1000 + 100 + 2112 + 200000);
    fe_sched_reset(&b.s);
    fe_sched_begin(&b.s, 1000);
    expect(place(&b, FE_OP_ERASE, 2, 0, 0), 1000, 1000 + 100 + 1500000);
    fe_sched_fini(&b.s);
}

/* An operation that would end behind the end of time ends there, and so does each one behind it. */
static void test_sched_time_ends(void **state)
{
    (void)state;
    static const enum fe_op_kind kinds[] = {FE_OP_READ, FE_OP_PROG, FE_OP_ERASE, FE_OP_BUSY};
    for (size_t i = 0; i < 2 * ft_array_len(kinds); i++) {
        for (uint64_t left = 1; left < 10000000; left *= 3) {
            struct bench b;
            enum fe_op_kind kind = kinds[i / 2];
            uint32_t bytes = kind == FE_OP_READ || kind == FE_OP_PROG ? 2048 : 0;
            setup_as(&b, 1, 1, 1000000000, i % 2);
            fe_sched_begin(&b.s, 0);
            uint64_t takes = place(&b, kind, 0, bytes, 0).end_ns;
            fe_sched_reset(&b.s);
            fe_sched_begin(&b.s, FE_TIME_MAX - left);
            struct fe_op op = place(&b, kind, 0, bytes, 0);
            expect(op, FE_TIME_MAX - left, FE_TIME_MAX - (takes < left ? left - takes : 0));
            for (int n = 0; op.end_ns < FE_TIME_MAX && n < 10; n++) {
                struct fe_op next = place(&b, FE_OP_ERASE, 0, 0, 0);
                assert_true(next.end_ns > op.end_ns);
                op = next;
            }
            place(&b, FE_OP_READ, 0, 2048, FE_OP_AFTER_PREV);
            assert_int_equal(fe_sched_end(&b.s), FE_TIME_MAX);
            assert_int_equal(fe_sched_all_end(&b.s), FE_TIME_MAX);
            fe_sched_fini(&b.s);
        }
    }
}

static void test_sched_one_die_does_one_thing_at_a_time(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 1, 1, 1000000000);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 0, 27148);
    expect(place(&b, FE_OP_READ, 0, 512, 0), 27148, 27148 + 25612);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 52760, 52760 + 202212);
    expect(place(&b, FE_OP_ERASE, 0, 0, 0), 254972, 254972 + 1500100);
    assert_int_equal(fe_sched_end(&b.s), 1755072);
    fe_sched_fini(&b.s);
}

static void test_sched_dies_of_a_channel_share_the_bus(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 1, 3, 1000000000);
    fe_sched_begin(&b.s, 0);
    /* reads: the cells work together, the data leave one after another */
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 0, 27148);
    expect(place(&b, FE_OP_READ, 1, 2048, 0), 0, 29196);
    expect(place(&b, FE_OP_READ, 2, 2048, 0), 0, 31244);
    fe_sched_reset(&b.s);
    fe_sched_begin(&b.s, 0);
    /* programs: each waits for the data of the one before, not for its cells */
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 0, 202212);
    expect(place(&b, FE_OP_PROG, 1, 2112, 0), 2212, 204424);
    expect(place(&b, FE_OP_PROG, 2, 2112, 0), 4424, 206636);
    /* an erase takes no bus, but waits for all programs before it */
    expect(place(&b, FE_OP_ERASE, 0, 0, 0), 206636, 1706736);
    expect(place(&b, FE_OP_ERASE, 1, 0, 0), 206636, 1706736);
    /* not for reads, nor holds anything back */
    expect(place(&b, FE_OP_READ, 2, 2048, 0), 206636, 206636 + 27148);
    fe_sched_fini(&b.s);
}

static void test_sched_channels_work_side_by_side(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 2, 2, 1000000000); /* dies 0 and 2 on channel 0, 1 and 3 on channel 1 */
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 0, 202212);
    expect(place(&b, FE_OP_PROG, 1, 2112, 0), 0, 202212);
    expect(place(&b, FE_OP_PROG, 2, 2112, 0), 2212, 204424);
    expect(place(&b, FE_OP_PROG, 3, 2112, 0), 2212, 204424);
    expect(place(&b, FE_OP_READ, 0, 1000, 0), 202212, 202212 + 26100);
    expect(place(&b, FE_OP_READ, 2, 1000, 0), 204424, 204424 + 26100);
    assert_int_equal(fe_sched_end(&b.s), 230524);
    fe_sched_fini(&b.s);
}

static void test_sched_read_out_waits_for_the_channel(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 1, 2, 10000000); /* 100 ns a byte: data in 211200 ns */
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 0, 100 + 211200 + 200000);
    expect(place(&b, FE_OP_READ, 1, 10, 0), 0, 211300 + 1000);
    fe_sched_fini(&b.s);
}

static void test_sched_after_prev_waits_for_the_op_before(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 2, 1, 1000000000);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_READ, 0, 2112, 0), 0, 27212);
    expect(place(&b, FE_OP_PROG, 1, 2112, FE_OP_AFTER_PREV), 27212, 27212 + 202212);
    expect(place(&b, FE_OP_READ, 0, 2112, 0), 27212, 54424); /* the next copy overlaps */
    expect(place(&b, FE_OP_PROG, 1, 2112, FE_OP_AFTER_PREV), 229424, 229424 + 202212);
    fe_sched_fini(&b.s);
}

static void test_sched_barrier_waits_for_all_and_holds_all(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 2, 1, 1000000000);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 0, 202212);
    expect(place(&b, FE_OP_READ, 1, 2048, 0), 0, 27148);
    expect(place(&b, FE_OP_BARRIER, 0, 0, 0), 202212, 202212);
    expect(place(&b, FE_OP_READ, 1, 2048, 0), 202212, 229360);
    /* later batches, too: there is one controller */
    fe_sched_begin(&b.s, 0);
    assert_int_equal(fe_sched_end(&b.s), 202212);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 202212, 229360);
    fe_sched_fini(&b.s);
}

static void test_sched_barrier_waits_for_earlier_batches(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 2, 1, 1000000000);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 0, 202212);
    fe_sched_begin(&b.s, 500);
    expect(place(&b, FE_OP_BARRIER, 0, 0, 0), 202212, 202212);
    expect(place(&b, FE_OP_ERASE, 1, 0, 0), 202212, 1702312);
    fe_sched_fini(&b.s);
}

static void test_sched_busy_is_a_barrier_that_takes_time(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 2, 1, 1000000000);
    fe_sched_begin(&b.s, 50);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 50, 27198);
    expect(place(&b, FE_OP_BUSY, 0, 0, 0), 27198, 34198);
    expect(place(&b, FE_OP_READ, 1, 2048, 0), 34198, 61346);
    expect(place(&b, FE_OP_BUSY, 0, 0, 0), 61346, 68346);
    assert_int_equal(fe_sched_end(&b.s), 68346);
    fe_sched_begin(&b.s, 0);
    assert_int_equal(fe_sched_end(&b.s), 68346);
    fe_sched_fini(&b.s);
}

static void test_sched_batches_overlap_on_different_dies(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 2, 1, 1000000000);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 0, 202212);
    fe_sched_begin(&b.s, 300);
    expect(place(&b, FE_OP_PROG, 1, 2112, 0), 300, 202512);
    fe_sched_begin(&b.s, 600);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 202212, 229360);
    assert_int_equal(fe_sched_end(&b.s), 229360);
    fe_sched_fini(&b.s);
}

/* A transfer is rounded up once, as a whole; never to nothing. */
static void test_sched_transfer_is_rounded_up_once(void **state)
{
    (void)state;
    const struct {
        uint64_t rate;
        uint32_t bytes;
        uint64_t ns;
    } cases[] = {
        {1200000000, 1, 1},          {1200000000, 6, 5},
        {1200000000, 7, 6},          {1200000000, 2048, 1707},
        {2400000000, 1, 1},          {2400000000, 2112, 880},
        {4000000000, 1, 1},          {4000000000, 16384, 4096},
        {133333333, 4, 31},          {133333333, 16384, 122881},
        {700000000, 3, 5},           {40000000, 1, 25},
        {1, 3, 3000000000},          {UINT64_MAX, 4096, 1},
        {1, UINT32_MAX, UINT64_C(4294967295000000000)},
    };
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        struct bench b;
        setup(&b, 1, 1, cases[i].rate);
        fe_sched_begin(&b.s, 0);
        expect(place(&b, FE_OP_PROG, 0, cases[i].bytes, 0), 0, 200100 + cases[i].ns);
        uint64_t from = fe_sched_end(&b.s);
        if (cases[i].ns < UINT64_C(1) << 40) {
            /* again, and another size between: what is remembered is the right one */
            expect(place(&b, FE_OP_PROG, 0, cases[i].bytes, 0), from, from + 200100 + cases[i].ns);
            from = fe_sched_end(&b.s);
            expect(place(&b, FE_OP_READ, 0, 0, 0), from, from + 25100);
            expect(place(&b, FE_OP_PROG, 0, cases[i].bytes, 0), from + 25100,
                   from + 225200 + cases[i].ns);
        }
        fe_sched_fini(&b.s);
    }
}

static void test_sched_bus_rate_0_is_infinitely_fast(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 1, 1, 0);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 0, 25100);
    fe_sched_fini(&b.s);
}

/* The next page comes in while one is being programmed: only the first transfer shows. */
static void test_sched_cached_programs_hide_their_transfers(void **state)
{
    (void)state;
    struct bench b;
    setup_as(&b, 1, 1, 1000000000, true);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 0, 2212 + 200000);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 2212, 2212 + 400000);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 202212, 2212 + 600000); /* the register is full */
    expect(place(&b, FE_OP_ERASE, 0, 0, 0), 602212, 602212 + 1500100); /* after the last of them */
    fe_sched_fini(&b.s);
}

/* The next page is read while one leaves. */
static void test_sched_cached_reads_overlap_with_the_bus(void **state)
{
    (void)state;
    struct bench b;
    setup_as(&b, 1, 1, 1000000000, true);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 0, 25100 + 2048);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 25100, 50200 + 2048); /* tR decides */
    fe_sched_fini(&b.s);

    setup_as(&b, 1, 1, 40960000, true); /* 50 us a page */
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 0, 75100);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 25100, 125100); /* the bus decides */
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 75100, 175100); /* from the register being free */
    fe_sched_fini(&b.s);
}

/* A read after a program waits for the array; its data leave through the same register. */
static void test_sched_cached_read_waits_for_the_program_before(void **state)
{
    (void)state;
    struct bench b;
    setup_as(&b, 1, 1, 1000000000, true);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_PROG, 0, 2112, 0), 0, 202212);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 202212, 202212 + 25100 + 2048);
    expect(place(&b, FE_OP_PROG, 0, 2112, FE_OP_AFTER_PREV), 229360, 229360 + 2212 + 200000);
    fe_sched_fini(&b.s);
}

/* A program that joins the one before brings more data of the same page, which is programmed when
 * they are there: the first part is in the register at 1156. */
static void test_sched_joined_programs_are_one(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 1, 2, 1000000000);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_PROG, 0, 1056, 0), 0, 1156 + 200000);
    fe_sched_begin(&b.s, 5000);
    expect(place(&b, FE_OP_PROG, 0, 1056, FE_OP_JOINS), 201156, 5000 + 1156 + 200000);
    assert_int_equal(fe_sched_end(&b.s), 206156);
    fe_sched_begin(&b.s, 0); /* the channel is free from 6156 on, and then for the other die */
    expect(place(&b, FE_OP_PROG, 0, 1056, FE_OP_JOINS), 206156, 6156 + 1156 + 200000);
    expect(place(&b, FE_OP_PROG, 1, 1056, 0), 7312, 7312 + 1156 + 200000);
    expect(place(&b, FE_OP_READ, 0, 0, 0), 207312, 207312 + 25100);
    expect(place(&b, FE_OP_BARRIER, 0, 0, 0), 232412, 232412);
    /* behind a barrier it waits for that, too */
    expect(place(&b, FE_OP_PROG, 1, 1056, FE_OP_JOINS), 232412, 232412 + 1156 + 200000);
    fe_sched_fini(&b.s);
}

/* With a cache register the second page waits for the array, and so does a part that joins it. */
static void test_sched_joined_programs_wait_for_the_array(void **state)
{
    (void)state;
    struct bench b;
    setup_as(&b, 1, 1, 1000000000, true);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_PROG, 0, 1056, 0), 0, 201156);
    expect(place(&b, FE_OP_PROG, 0, 1056, 0), 1156, 401156);
    expect(place(&b, FE_OP_PROG, 0, 1056, FE_OP_JOINS), 401156, 401156);
    fe_sched_begin(&b.s, 300000);
    expect(place(&b, FE_OP_PROG, 0, 1056, FE_OP_JOINS), 401156, 300000 + 1156 + 200000);
    fe_sched_fini(&b.s);
}

static void test_sched_reset_forgets_reservations(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, 1, 2, 1000000000);
    fe_sched_begin(&b.s, 77);
    place(&b, FE_OP_PROG, 0, 2112, 0);
    place(&b, FE_OP_BUSY, 0, 0, 0);
    fe_sched_reset(&b.s);
    assert_int_equal(fe_sched_end(&b.s), 0);
    fe_sched_begin(&b.s, 0);
    expect(place(&b, FE_OP_BARRIER, 0, 0, 0), 0, 0);
    expect(place(&b, FE_OP_READ, 0, 2048, 0), 0, 27148);
    fe_sched_fini(&b.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sched_one_op_of_each_kind),
        cmocka_unit_test(test_sched_time_ends),
        cmocka_unit_test(test_sched_one_die_does_one_thing_at_a_time),
        cmocka_unit_test(test_sched_dies_of_a_channel_share_the_bus),
        cmocka_unit_test(test_sched_channels_work_side_by_side),
        cmocka_unit_test(test_sched_read_out_waits_for_the_channel),
        cmocka_unit_test(test_sched_after_prev_waits_for_the_op_before),
        cmocka_unit_test(test_sched_barrier_waits_for_all_and_holds_all),
        cmocka_unit_test(test_sched_barrier_waits_for_earlier_batches),
        cmocka_unit_test(test_sched_busy_is_a_barrier_that_takes_time),
        cmocka_unit_test(test_sched_batches_overlap_on_different_dies),
        cmocka_unit_test(test_sched_transfer_is_rounded_up_once),
        cmocka_unit_test(test_sched_bus_rate_0_is_infinitely_fast),
        cmocka_unit_test(test_sched_cached_programs_hide_their_transfers),
        cmocka_unit_test(test_sched_cached_reads_overlap_with_the_bus),
        cmocka_unit_test(test_sched_cached_read_waits_for_the_program_before),
        cmocka_unit_test(test_sched_joined_programs_are_one),
        cmocka_unit_test(test_sched_joined_programs_wait_for_the_array),
        cmocka_unit_test(test_sched_reset_forgets_reservations),
    };
    return cmocka_run_group_tests_name("sched", tests, NULL, NULL);
}
