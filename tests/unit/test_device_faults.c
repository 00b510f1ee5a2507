/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a host sees of failing chips, forged capacities and bad manners.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "flashemu/faults.h"
#include "flashemu/map.h"
#include "ftl/ftl.h"
#include "nand/ops.h"

#include <errno.h>

#define PAGE   2048u
#define SECTOR 512u

static struct fe_profile make_profile(void)
{
    struct fe_profile p = ft_device_profile("page");
    p.device.capacity = 64 * PAGE + 2 * SECTOR;
    p.device.discard = true;
    p.nand.command_ns = 100;
    p.wear = (struct fe_wear_params){.codeword_size = 512, .correctable_bits = 4,
                                     .refresh_bits = 3, .slow_factor = 10};
    return p;
}

static struct fe_reply submit(struct fe_device *dev, enum fe_req_type type, uint64_t offset,
                              uint64_t len, void *buf)
{
    struct fe_request req = {.type = type, .offset = offset, .len = len, .buf = buf};
    struct fe_reply reply;
    assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &req, &reply), 0);
    return reply;
}

static enum fe_status write_bytes(struct fe_device *dev, uint64_t offset, uint64_t len, int byte)
{
    uint8_t buf[8 * PAGE];
    memset(buf, byte, len);
    return submit(dev, FE_REQ_WRITE, offset, len, buf).status;
}

static void expect_bytes(struct fe_device *dev, uint64_t offset, uint64_t len, int byte)
{
    uint8_t buf[8 * PAGE];
    memset(buf, 0x77, len);
    assert_int_equal(submit(dev, FE_REQ_READ, offset, len, buf).status, FE_OK);
    for (uint64_t i = 0; i < len; i++)
        assert_int_equal(buf[i], byte);
}

static struct fe_stats stats(const struct fe_device *dev)
{
    struct fe_stats s;
    fe_device_get_stats(dev, &s);
    return s;
}

/* A snapshot has the same numbers as the statistics, and keeps them. */
static void test_faults_snapshot(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    p.wear.spare_blocks = 4;
    struct fe_device *dev = ft_device_make(&p, false);
    for (int i = 0; i < 300; i++)
        assert_int_equal(write_bytes(dev, (uint64_t)(i % 40) * PAGE, PAGE, i), FE_OK);
    assert_int_equal(fe_device_mark_bad(dev, 0, 5, NULL), 0);
    struct fe_stats now = stats(dev), back;
    struct fe_snapshot *s = fe_snapshot_create(dev);
    assert_non_null(s);
    fe_snapshot_take(s, dev);
    write_bytes(dev, 0, PAGE, 1);
    assert_int_equal(fe_device_set_cycles(dev, 9, 1000, NULL), 0);
    fe_snapshot_stats(s, &back);
    assert_true(back.wear.max < 1000 && back.bad_grown == 1);
    assert_true(stats(dev).wear.max == 1000);
    assert_memory_equal(&back.wear, &now.wear, sizeof now.wear);
    assert_memory_equal(&back.nand, &now.nand, sizeof now.nand);
    assert_memory_equal(back.host, now.host, sizeof now.host);
    assert_int_equal(back.device_ns, now.device_ns);
    assert_int_equal(fe_snapshot_latency(s, FE_REQ_WRITE)->count, 300);
    fe_snapshot_destroy(s);
    fe_snapshot_destroy(NULL);
    fe_device_destroy(dev);
}

static void expect_condition(struct fe_device *dev, enum fe_condition want, const char *state)
{
    struct fe_tally tally;
    fe_device_get_tally(dev, &tally);
    assert_int_equal(fe_device_condition(dev), want);
    assert_int_equal(tally.condition, want);
    assert_int_equal(stats(dev).condition, want);
    assert_string_equal(fe_condition_state(want), state);
    assert_true((fe_condition_reason(want) == NULL) == (want == FE_COND_ALIVE));
}

/* What comes first when several things are wrong: power, then the bus, then the end of life. */
static void test_faults_condition(void **state)
{
    static const enum fe_condition at_end[FE_N_EOLS] = {
        [FE_EOL_READ_ONLY] = FE_COND_READ_ONLY, [FE_EOL_FULL] = FE_COND_FULL,
        [FE_EOL_DEAD] = FE_COND_DEAD, [FE_EOL_SLOW] = FE_COND_WORN, [FE_EOL_SILENT] = FE_COND_WORN};
    static const char *const name[FE_N_EOLS] = {
        [FE_EOL_READ_ONLY] = "read-only", [FE_EOL_FULL] = "full", [FE_EOL_DEAD] = "dead",
        [FE_EOL_SLOW] = "alive", [FE_EOL_SILENT] = "alive"};
    (void)state;
    for (uint32_t kind = 0; kind < FE_N_EOLS; kind++) {
        uint64_t ready;
        struct fe_profile p = make_profile();
        p.wear.end_of_life = kind;
        struct fe_device *dev = ft_device_make(&p, true);
        expect_condition(dev, FE_COND_ALIVE, "alive");
        assert_int_equal(fe_device_mark_bad(dev, 0, 5, NULL), 0);
        expect_condition(dev, at_end[kind], name[kind]);
        fe_device_disconnect(dev, fe_device_now(dev) + 1000);
        expect_condition(dev, FE_COND_DISCONNECTED, "disconnected");
        assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), NULL), 0);
        expect_condition(dev, FE_COND_NO_POWER, "no-power");
        assert_int_equal(fe_device_power_on(dev, fe_device_now(dev), &ready, NULL), 0);
        fe_device_idle(dev, fe_device_now(dev) + 1000);
        expect_condition(dev, at_end[kind], name[kind]);
        fe_device_destroy(dev);
    }
    struct fe_profile p = make_profile();
    p.power.dead_ppm = 1000000;
    struct fe_device *dev = ft_device_make(&p, true);
    uint64_t ready;
    assert_int_equal(fe_device_cut_power(dev, 0, NULL), 0);
    assert_int_equal(fe_device_power_on(dev, 0, &ready, NULL), -EIO);
    expect_condition(dev, FE_COND_DEAD_BY_CUT, "dead");
    fe_device_destroy(dev);
}

/* The end of life comes with the first block that is marked bad: there is no spare. */
static void test_faults_end_of_life_as_the_profile_says(void **state)
{
    static const enum fe_status want[FE_N_EOLS] = {
        [FE_EOL_READ_ONLY] = FE_READ_ONLY, [FE_EOL_FULL] = FE_NO_SPACE,
        [FE_EOL_DEAD] = FE_PROG_FAILED, [FE_EOL_SLOW] = FE_OK, [FE_EOL_SILENT] = FE_OK};
    (void)state;
    for (uint32_t kind = 0; kind < FE_N_EOLS; kind++) {
        struct fe_profile p = make_profile();
        p.wear.end_of_life = kind;
        struct fe_device *dev = ft_device_make(&p, false);
        bool dead = kind == FE_EOL_DEAD;
        assert_int_equal(write_bytes(dev, 0, PAGE, 1), FE_OK);
        assert_int_equal(fe_device_mark_bad(dev, 0, 5, NULL), 0);
        assert_int_equal(stats(dev).bad_grown, 1);
        assert_int_equal(write_bytes(dev, PAGE, PAGE, 2), want[kind]);
        assert_int_equal(stats(dev).host[FE_REQ_WRITE].ops, 2);
        assert_int_equal(stats(dev).host[FE_REQ_WRITE].bytes,
                         want[kind] == FE_OK ? 2 * PAGE : PAGE);
        assert_int_equal(submit(dev, FE_REQ_TRIM, 0, PAGE, NULL).status, want[kind]);
        assert_int_equal(submit(dev, FE_REQ_FLUSH, 0, 0, NULL).status, dead ? want[kind] : FE_OK);
        if (dead)
            assert_int_equal(submit(dev, FE_REQ_READ, 0, PAGE, NULL).status, FE_PROG_FAILED);
        else
            expect_bytes(dev, 0, PAGE, want[kind] == FE_OK ? 0 : 1);
        fe_device_destroy(dev);
    }
}

/* A volatile cache keeps what it could not write, and says so. */
static void test_faults_cache_at_the_end_of_life(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    p.cache = (struct fe_cache_params){.size = 4 * PAGE, .volatile_ = true};
    struct fe_device *dev = ft_device_make(&p, false);
    assert_int_equal(write_bytes(dev, 0, PAGE, 1), FE_OK);
    assert_int_equal(fe_device_mark_bad(dev, 0, 5, NULL), 0);
    assert_int_equal(submit(dev, FE_REQ_FLUSH, 0, 0, NULL).status, FE_READ_ONLY);
    assert_int_equal(write_bytes(dev, PAGE, PAGE, 2), FE_READ_ONLY);
    expect_bytes(dev, 0, PAGE, 1);
    expect_bytes(dev, PAGE, PAGE, 0);
    fe_device_destroy(dev);
}

/* Every shipped device has a spare block for the first one that becomes bad. */
static void test_faults_shipped_profiles_survive_a_bad_block(void **state)
{
    (void)state;
    static const char *const fresh[] = {"device.used=0"}; /* nothing else needs the time */
    for (const char *const *name = fe_profile_names; *name; name++) {
        struct fe_device_options opt = {.seed = 1};
        struct fe_profile p;
        struct fe_device *dev;
        struct fe_err err = {""};
        if (fe_profile_load(&p, *name, fresh, 1, &err) < 0 ||
            fe_device_create(&dev, &p, &opt, &err) < 0)
            fail_msg("%s: %s", *name, err.text);
        uint32_t unit = fe_device_page_bytes(dev);
        for (uint32_t i = 0; i < 40; i++) {
            if (i == 20 && fe_device_mark_bad(dev, fe_device_now(dev), 7, &err) < 0)
                fail_msg("%s: %s", *name, err.text);
            if (submit(dev, FE_REQ_WRITE, i * unit, unit, NULL).status != FE_OK ||
                submit(dev, FE_REQ_READ, i * unit, unit, NULL).status != FE_OK)
                fail_msg("%s: no write and read with a bad block", *name);
        }
        assert_int_equal(stats(dev).bad_grown, 1);
        fe_device_destroy(dev);
        fe_profile_fini(&p);
    }
}

static void test_faults_uncorrectable_page_gives_an_error_and_wrong_bytes(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    struct fe_device *dev = ft_device_make(&p, false);
    uint8_t buf[PAGE], wrong = 0;
    fe_ppn ppn = FE_PPN_NONE;
    assert_int_equal(write_bytes(dev, 0, PAGE, 1), FE_OK);
    for (fe_ppn i = 0; ppn == FE_PPN_NONE; i++) /* the only page that is programmed */
        if (fe_device_flip(dev, i, 4, NULL) == 0)
            ppn = i;
    expect_bytes(dev, 0, PAGE, 1);
    assert_int_equal(stats(dev).ecc_corrected, 1);
    assert_int_equal(stats(dev).ecc_uncorrectable, 0);
    assert_int_equal(fe_device_flip(dev, ppn, 1, NULL), 0);
    assert_int_equal(submit(dev, FE_REQ_READ, 0, PAGE, buf).status, FE_UNCORRECTABLE);
    for (uint32_t i = 0; i < PAGE; i++)
        wrong += buf[i] != 1;
    assert_in_range(wrong, 1, 5);
    assert_int_equal(stats(dev).ecc_uncorrectable, 1);
    assert_int_equal(write_bytes(dev, 0, PAGE, 3), FE_OK);
    expect_bytes(dev, 0, PAGE, 3);
    fe_device_reset_stats(dev);
    assert_int_equal(stats(dev).ecc_corrected, 0);
    fe_device_destroy(dev);
}

/* With a spare, the block that gave corrected bits moves when the host has its answer. */
static void test_faults_refresh_comes_after_the_answer(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    p.wear.spare_blocks = 1;
    struct fe_device *dev = ft_device_make(&p, false);
    fe_ppn ppn = 0;
    assert_int_equal(write_bytes(dev, 0, PAGE, 1), FE_OK);
    while (fe_device_flip(dev, ppn, 3, NULL) < 0)
        ppn++;
    struct fe_reply first = submit(dev, FE_REQ_READ, 0, PAGE, NULL);
    assert_int_equal(stats(dev).nand.block_erases, 1);
    assert_int_equal(fe_device_now(dev), first.complete_ns);
    assert_true(fe_device_busy_until(dev) >= first.complete_ns + 1500000);
    submit(dev, FE_REQ_READ, 0, PAGE, NULL);
    assert_int_equal(stats(dev).ecc_corrected, 2); /* when read, and when moved */
    fe_device_destroy(dev);
}

static void test_faults_factory_bad_and_spares_come_off_the_capacity(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    p.device.capacity = 0;
    p.ftl.op_ppm = 500000;
    struct fe_device *whole = ft_device_make(&p, false);
    p.wear.factory_bad_ppm = 90000; /* 2 of 24 */
    p.wear.spare_blocks = 3;
    struct fe_device *dev = ft_device_make(&p, false);
    struct fe_block_wear b[24];
    uint32_t n[4] = {0};
    assert_int_equal(fe_device_capacity(whole), 128 * PAGE);
    assert_int_equal(fe_device_capacity(dev), 101 * PAGE);
    assert_int_equal(stats(dev).bad_factory, 2);
    assert_int_equal(fe_device_blocks(dev), 24);
    fe_device_get_blocks(dev, b);
    for (int i = 0; i < 24; i++)
        n[b[i].state]++;
    assert_int_equal(n[FE_BLOCK_USED], 19);
    assert_int_equal(n[FE_BLOCK_SPARE], 3);
    assert_int_equal(n[FE_BLOCK_FACTORY_BAD], 2);
    fe_device_destroy(whole);
    fe_device_destroy(dev);
}

/* The mapping is lost with the power.  The bad block is at the place of its spare block then. */
static void test_faults_valid_pages_need_power(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    p.wear.spare_blocks = 3;
    struct fe_device *dev = ft_device_make(&p, true);
    uint16_t valid[24], sum = 0;
    uint64_t ready;
    struct fe_err err;
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(write_bytes(dev, i % 20 * PAGE, PAGE, 1), FE_OK);
    assert_int_equal(fe_device_mark_bad(dev, fe_device_now(dev), 0, &err), 0);
    fe_device_idle(dev, fe_device_now(dev) + FE_NS_PER_S);
    for (int round = 0; round < 2; round++) {
        assert_true(fe_device_knows_valid(dev));
        fe_device_get_valid(dev, 0, 24, valid);
        sum = 0;
        for (int i = 0; i < 24; i++)
            sum = (uint16_t)(sum + valid[i]);
        assert_int_equal(sum, 20);
        assert_int_equal(valid[0], 0);
        assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), &err), 0);
        assert_false(fe_device_knows_valid(dev));
        assert_int_equal(fe_device_power_on(dev, fe_device_now(dev), &ready, &err), 0);
    }
    fe_device_destroy(dev);
}

static void test_faults_forged_capacity_wraps(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    uint64_t real = p.device.capacity;
    p.device.claimed_capacity = 2 * real + 4 * SECTOR;
    struct fe_device *dev = ft_device_make(&p, false);
    assert_int_equal(fe_device_capacity(dev), 2 * real + 4 * SECTOR);
    assert_int_equal(write_bytes(dev, 0, PAGE, 1), FE_OK);
    assert_int_equal(write_bytes(dev, real - SECTOR, SECTOR, 2), FE_OK);
    assert_int_equal(write_bytes(dev, real, SECTOR, 3), FE_OK);
    expect_bytes(dev, 0, SECTOR, 3);
    expect_bytes(dev, SECTOR, PAGE - SECTOR, 1);
    expect_bytes(dev, real - SECTOR, SECTOR, 2);
    /* over the seam, into the middle of pages, in one request */
    assert_int_equal(write_bytes(dev, 2 * real - 2 * PAGE, 2 * PAGE + 4 * SECTOR, 4), FE_OK);
    expect_bytes(dev, real - 2 * PAGE, 2 * PAGE, 4);
    expect_bytes(dev, 0, 4 * SECTOR, 4);
    expect_bytes(dev, 2 * real - PAGE, PAGE + 4 * SECTOR, 4);
    assert_int_equal(submit(dev, FE_REQ_TRIM, real - PAGE, 2 * PAGE, NULL).status, FE_OK);
    expect_bytes(dev, 0, PAGE, 0);
    expect_bytes(dev, real - PAGE, PAGE, 0);
    fe_device_destroy(dev);
}

static void test_faults_forged_capacity_drops(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    uint64_t real = p.device.capacity;
    p.device.claimed_capacity = 4 * real;
    p.device.beyond = FE_BEYOND_DROP;
    struct fe_device *dev = ft_device_make(&p, false);
    assert_int_equal(write_bytes(dev, 0, PAGE, 1), FE_OK);
    assert_int_equal(write_bytes(dev, real - PAGE, 3 * PAGE, 2), FE_OK);
    assert_int_equal(write_bytes(dev, 3 * real, PAGE, 3), FE_OK);
    expect_bytes(dev, 0, PAGE, 1);
    expect_bytes(dev, real - PAGE, PAGE, 2);
    expect_bytes(dev, real, 2 * PAGE, 0);
    assert_int_equal(submit(dev, FE_REQ_TRIM, real - PAGE, 2 * PAGE, NULL).status, FE_OK);
    expect_bytes(dev, real - PAGE, PAGE, 0);
    fe_device_destroy(dev);
    p.device.claimed_capacity = real - SECTOR;
    struct fe_device_options opt = {.seed = 1};
    struct fe_err err = {""};
    assert_int_equal(fe_device_create(&dev, &p, &opt, &err), -EINVAL);
    assert_non_null(strstr(err.text, "is less than the capacity"));
}

static void test_faults_hang_and_disconnect(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    p.manners = (struct fe_manners_params){.hang_ns = 5000000000, .hang_request = 2,
                                           .gone_ns = 1000, .gone_request = 3};
    struct fe_device *dev = ft_device_make(&p, false);
    struct fe_reply r = submit(dev, FE_REQ_WRITE, 0, PAGE, NULL);
    uint64_t usual = r.complete_ns - r.arrival_ns;
    r = submit(dev, FE_REQ_WRITE, 0, PAGE, NULL);
    assert_int_equal(r.complete_ns - r.arrival_ns, usual + 5000000000);
    r = submit(dev, FE_REQ_WRITE, 0, PAGE, NULL);
    assert_int_equal(r.complete_ns - r.arrival_ns, usual);
    assert_int_equal(write_bytes(dev, 0, PAGE, 9), FE_GONE);
    fe_device_idle(dev, fe_device_now(dev) + 1000);
    expect_bytes(dev, 0, PAGE, 0);
    fe_device_hang(dev, 77);
    r = submit(dev, FE_REQ_WRITE, 0, PAGE, NULL);
    assert_int_equal(r.complete_ns - r.arrival_ns, usual + 77);
    fe_device_disconnect(dev, UINT64_MAX);
    assert_int_equal(submit(dev, FE_REQ_READ, 0, PAGE, NULL).status, FE_GONE);
    fe_device_disconnect(dev, 0);
    assert_int_equal(submit(dev, FE_REQ_READ, 0, PAGE, NULL).status, FE_OK);
    fe_device_destroy(dev);
}

static uint8_t seen_kinds[8], seen_flags[8];
static uint32_t n_seen;

static void see(void *ctx, const struct fe_op *ops, uint32_t n)
{
    (void)ctx;
    for (uint32_t i = 0; i < n; i++, n_seen++)
        if (n_seen < 8) {
            seen_kinds[n_seen] = ops[i].kind;
            seen_flags[n_seen] = ops[i].flags;
        }
}

/* A page of dftl waits for its mapping, though its program fails and the copies to a spare
 * are more operations than the list holds. */
static void test_faults_a_program_that_fails_waits_for_its_mapping(void **state)
{
    (void)state;
    struct fe_profile p = make_profile();
    struct fe_device *dev;
    p.ftl.type = (uint32_t)fe_ftl_find("dftl");
    p.nand.pages_per_block = 100;
    p.wear.spare_blocks = 1;
    p.wear.fail_program = 91; /* the cache has 8 entries: a page of the table with every 8th */
    dev = ft_device_make(&p, false);
    for (uint32_t i = 0; i < 80; i++)
        assert_int_equal(write_bytes(dev, i % 64 * PAGE, PAGE, 1), FE_OK);
    fe_device_observe(dev, see, NULL);
    n_seen = 0;
    assert_int_equal(write_bytes(dev, 16 * PAGE, PAGE, 1), FE_OK);
    assert_true(n_seen > FE_OPS_MAX);
    static const uint8_t kinds[] = {FE_OP_READ, FE_OP_PROG, FE_OP_READ, FE_OP_PROG, FE_OP_BARRIER};
    static const uint8_t waits[] = {0, FE_OP_AFTER_PREV, 0, FE_OP_AFTER_PREV, 0};
    assert_memory_equal(seen_kinds, kinds, sizeof kinds);
    assert_memory_equal(seen_flags, waits, sizeof waits);
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_end_of_life_as_the_profile_says),
        cmocka_unit_test(test_faults_condition),
        cmocka_unit_test(test_faults_snapshot),
        cmocka_unit_test(test_faults_cache_at_the_end_of_life),
        cmocka_unit_test(test_faults_shipped_profiles_survive_a_bad_block),
        cmocka_unit_test(test_faults_uncorrectable_page_gives_an_error_and_wrong_bytes),
        cmocka_unit_test(test_faults_refresh_comes_after_the_answer),
        cmocka_unit_test(test_faults_factory_bad_and_spares_come_off_the_capacity),
        cmocka_unit_test(test_faults_valid_pages_need_power),
        cmocka_unit_test(test_faults_forged_capacity_wraps),
        cmocka_unit_test(test_faults_forged_capacity_drops),
        cmocka_unit_test(test_faults_hang_and_disconnect),
        cmocka_unit_test(test_faults_a_program_that_fails_waits_for_its_mapping),
    };
    return cmocka_run_group_tests_name("device_faults", tests, NULL, NULL);
}
