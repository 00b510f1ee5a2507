/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that loses power: who is told what, what flush and FUA promise, what a cache
 * keeps, what recovery takes, and devices that are badly made.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "device/internal.h"

#include <errno.h>

enum { PAGE = 2048 };

static struct fe_profile make_profile(const char *strategy)
{
    struct fe_profile p = ft_device_profile(strategy);
    p.link = (struct fe_link_params){.max_transfer = 8 * PAGE, .queue_depth = 2};
    return p;
}

static struct fe_reply submit(struct fe_device *dev, enum fe_req_type type, uint64_t at,
                              uint64_t page, int byte, bool fua)
{
    static uint8_t buf[PAGE];
    struct fe_request req = {.type = type, .offset = page * PAGE, .len = PAGE, .buf = buf,
                             .fua = fua};
    struct fe_reply reply;
    memset(buf, byte, sizeof buf);
    if (type == FE_REQ_FLUSH)
        req.offset = req.len = 0;
    assert_int_equal(fe_device_submit(dev, at, &req, &reply), 0);
    return reply;
}

static int read_byte(struct fe_device *dev, uint64_t page)
{
    static uint8_t buf[PAGE];
    struct fe_request req = {.type = FE_REQ_READ, .offset = page * PAGE, .len = PAGE, .buf = buf};
    struct fe_reply reply;
    assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &req, &reply), 0);
    assert_int_equal(reply.status, FE_OK);
    return buf[5];
}

static uint64_t restart(struct fe_device *dev, uint64_t at)
{
    uint64_t ready = 0;
    assert_int_equal(fe_device_cut_power(dev, at, NULL), 0);
    assert_false(fe_device_has_power(dev));
    assert_int_equal(fe_device_power_on(dev, at, &ready, NULL), 0);
    assert_true(fe_device_has_power(dev));
    return ready;
}

static void test_power_a_request_under_a_planned_cut_ends_with_it(void **state)
{
    (void)state;
    struct fe_profile p = make_profile("page");
    struct fe_device *dev = ft_device_make(&p, true);
    assert_int_equal(fe_device_plan_cut(dev, 50000, 0, NULL), 0);
    struct fe_reply r = submit(dev, FE_REQ_WRITE, 0, 0, 7, false);
    assert_int_equal(r.status, FE_NO_POWER);
    assert_int_equal(r.complete_ns, 50000);
    r = submit(dev, FE_REQ_READ, 60000, 0, 0, false);
    assert_int_equal(r.status, FE_NO_POWER);
    assert_int_equal(r.complete_ns, 60000);
    fe_device_destroy(dev);
}

/* The clock and the busy time stop at a planned cut, and are the same after it was carried out.
 * So is the latency of a request that it interrupts. */
static void test_power_the_clock_does_not_run_backwards(void **state)
{
    (void)state;
    struct fe_profile p = make_profile("page");
    struct fe_device *dev = ft_device_make(&p, true);
    struct fe_stats before, after;
    assert_int_equal(fe_device_plan_cut(dev, 50000, 0, NULL), 0);
    assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 0, 7, false).complete_ns, 50000);
    assert_int_equal(fe_device_now(dev), 50000);
    fe_device_get_stats(dev, &before);
    assert_int_equal(before.device_ns, 50000);
    assert_int_equal(before.busy_ns, 50000);
    assert_int_equal(fe_device_latency(dev, FE_REQ_WRITE)->max, 50000);
    fe_device_idle(dev, 50000);
    assert_false(fe_device_has_power(dev));
    fe_device_get_stats(dev, &after);
    assert_int_equal(after.device_ns, 50000);
    assert_int_equal(after.busy_ns, 50000);
    fe_device_destroy(dev);
}

enum { DEEP = 40 }; /* requests at the same time: more than the deepest queue below */

/* A device with this queue depth, to which 8 pages have been written. */
static struct fe_device *make_deep(uint32_t depth)
{
    struct fe_profile p = make_profile("page");
    p.link.queue_depth = depth;
    p.link.bandwidth = 50000000;
    p.link.command_overhead_ns = 1000;
    struct fe_device *dev = ft_device_make(&p, true);
    uint64_t at = 0;
    for (uint64_t page = 0; page < 8; page++)
        at = submit(dev, FE_REQ_WRITE, at, page, 1, false).complete_ns;
    return dev;
}

/* Requests that arrive while the device recovers are completed as by an idle device that they
 * reach at the end of the recovery, whatever the queue depth. */
static void test_power_completions_after_power_on(void **state)
{
    static const uint32_t depths[] = {1, 4, 32};
    const uint64_t at = 10000000;
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct fe_device *idle = make_deep(depths[i]), *cut = make_deep(depths[i]);
        uint64_t ready;
        assert_int_equal(fe_device_cut_power(cut, at, NULL), 0);
        assert_int_equal(fe_device_power_on(cut, at, &ready, NULL), 0);
        assert_true(ready > at);
        for (uint64_t n = 0; n < DEEP; n++) {
            struct fe_reply want = submit(idle, FE_REQ_READ, at, n % 8, 0, false);
            struct fe_reply got = submit(cut, FE_REQ_READ, at, n % 8, 0, false);
            assert_int_equal(got.status, FE_OK);
            assert_int_equal(got.complete_ns - ready, want.complete_ns - at);
        }
        fe_device_destroy(idle);
        fe_device_destroy(cut);
    }
}

/* A planned cut changes no completion before it, and ends all others, whatever the queue depth. */
static void test_power_completions_before_a_cut(void **state)
{
    static const uint32_t depths[] = {1, 4, 32};
    const uint64_t at = 10000000, cut_ns = at + 1000000;
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct fe_device *whole = make_deep(depths[i]), *cut = make_deep(depths[i]);
        uint32_t n_done = 0;
        assert_int_equal(fe_device_plan_cut(cut, cut_ns, 0, NULL), 0);
        for (uint64_t n = 0; n < DEEP; n++) {
            struct fe_reply want = submit(whole, FE_REQ_READ, at, n % 8, 0, false);
            struct fe_reply got = submit(cut, FE_REQ_READ, at, n % 8, 0, false);
            bool done = want.complete_ns <= cut_ns;
            assert_int_equal(got.status, done ? FE_OK : FE_NO_POWER);
            assert_int_equal(got.complete_ns, done ? want.complete_ns : cut_ns);
            n_done += done;
        }
        assert_true(n_done > 0 && n_done < DEEP);
        fe_device_destroy(whole);
        fe_device_destroy(cut);
    }
}

static void test_power_fails_after_writes_of_the_profile(void **state)
{
    (void)state;
    struct fe_profile p = make_profile("page");
    p.power.cut_writes = 2;
    struct fe_device *dev = ft_device_make(&p, true);
    uint64_t at = 0, ready;
    for (int i = 0; i < 2; i++) {
        struct fe_reply r = submit(dev, FE_REQ_WRITE, at, (uint64_t)i, 3 + i, false);
        assert_int_equal(r.status, FE_OK);
        at = r.complete_ns;
    }
    assert_int_equal(submit(dev, FE_REQ_WRITE, at, 2, 9, false).status, FE_NO_POWER);
    assert_int_equal(fe_device_power_on(dev, at, &ready, NULL), 0);
    assert_int_equal(read_byte(dev, 0), 3);
    assert_int_equal(read_byte(dev, 1), 4);
    assert_int_equal(read_byte(dev, 2), 0);
    fe_device_destroy(dev);
}

static void test_power_flush_and_fua_of_a_volatile_cache(void **state)
{
    (void)state;
    struct fe_profile p = make_profile("page");
    p.cache = (struct fe_cache_params){.size = 4 * PAGE, .volatile_ = true};
    struct fe_device *dev = ft_device_make(&p, true);
    submit(dev, FE_REQ_WRITE, 0, 0, 1, false);
    uint64_t at = submit(dev, FE_REQ_FLUSH, 0, 0, 0, false).complete_ns;
    assert_true(at >= 200000); /* a page was programmed for it */
    submit(dev, FE_REQ_WRITE, at, 0, 2, false);
    struct fe_reply fua = submit(dev, FE_REQ_WRITE, at, 1, 3, true);
    assert_true(fua.complete_ns - fua.arrival_ns >= 200000);
    at = fua.complete_ns;
    struct fe_reply cached = submit(dev, FE_REQ_WRITE, at, 2, 4, false);
    assert_true(cached.complete_ns - cached.arrival_ns < 200000);
    restart(dev, at);
    assert_int_equal(read_byte(dev, 0), 1);
    assert_int_equal(read_byte(dev, 1), 3);
    assert_int_equal(read_byte(dev, 2), 0);
    fe_device_destroy(dev);
}

static void test_power_a_safe_cache_keeps_all_and_flushes_for_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"page", "block", "segment", "fast"};
    for (size_t i = 0; i < ft_array_len(names); i++) {
        struct fe_profile p = make_profile(names[i]);
        p.cache = (struct fe_cache_params){.size = 2 * PAGE, .volatile_ = false};
        struct fe_device *dev = ft_device_make(&p, true);
        for (uint64_t page = 0; page < 12; page++)
            submit(dev, FE_REQ_WRITE, 0, page % 8, (int)page + 1, page == 11);
        uint64_t at = fe_device_now(dev);
        assert_int_equal(submit(dev, FE_REQ_FLUSH, at, 0, 0, false).complete_ns, at);
        restart(dev, at);
        for (uint64_t page = 0; page < 8; page++)
            assert_int_equal(read_byte(dev, page), page < 4 ? (int)page + 9 : (int)page + 1);
        fe_device_destroy(dev);
    }
}

static void test_power_recovery_takes_time_and_requests_wait(void **state)
{
    (void)state;
    struct fe_profile p = make_profile("page");
    struct fe_device *dev = ft_device_make(&p, true);
    uint64_t at = 0;
    for (uint64_t page = 0; page < 10; page++)
        at = submit(dev, FE_REQ_WRITE, at, page, 1, false).complete_ns;
    uint64_t ready = restart(dev, at);
    /* a full block: one page; the other has two: each is read, tR and 2048 ns on the bus */
    assert_int_equal(ready - at, 3 * (25000 + 2048));
    struct fe_reply r = submit(dev, FE_REQ_READ, at, 40, 0, false);
    assert_int_equal(r.complete_ns, ready); /* also if no die is needed, in each queue slot */
    r = submit(dev, FE_REQ_READ, at, 41, 0, false);
    assert_int_equal(r.complete_ns, ready);
    r = submit(dev, FE_REQ_READ, at, 0, 0, false);
    assert_int_equal(r.complete_ns, ready + 25000 + 2048);
    struct fe_stats s;
    fe_device_get_stats(dev, &s);
    assert_int_equal(s.power.cuts, 1);
    assert_true(s.power.is_on);
    fe_device_destroy(dev);
}

static void test_power_trims_last_unless_the_profile_says_otherwise(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct fe_profile p = make_profile("page");
        p.device.discard = true;
        p.ftl.trim_lost = lost;
        struct fe_device *dev = ft_device_make(&p, true);
        uint64_t at = submit(dev, FE_REQ_WRITE, 0, 3, 8, false).complete_ns;
        at = submit(dev, FE_REQ_TRIM, at, 3, 0, false).complete_ns;
        assert_int_equal(read_byte(dev, 3), 0);
        restart(dev, at);
        assert_int_equal(read_byte(dev, 3), lost ? 8 : 0);
        fe_device_destroy(dev);
    }
}

static void test_power_badly_made_devices(void **state)
{
    (void)state;
    uint64_t ready;
    struct fe_profile p = make_profile("page");
    p.power.map_lost_ppm = 1000000;
    struct fe_device *dev = ft_device_make(&p, true);
    uint64_t at = submit(dev, FE_REQ_WRITE, 0, 3, 8, false).complete_ns;
    restart(dev, at);
    assert_int_equal(read_byte(dev, 3), 0);
    assert_int_equal(fe_device_check(dev, NULL), 0);
    fe_device_destroy(dev);

    p.power = (struct fe_power_params){.stale_ppm = 1000000};
    dev = ft_device_make(&p, true);
    at = submit(dev, FE_REQ_WRITE, 0, 3, 8, false).complete_ns;
    at = submit(dev, FE_REQ_WRITE, at, 4, 5, false).complete_ns;
    at = submit(dev, FE_REQ_WRITE, at, 3, 9, false).complete_ns;
    restart(dev, at);
    assert_int_equal(read_byte(dev, 3), 8);
    assert_int_equal(read_byte(dev, 4), 5); /* the only copy stays */
    fe_device_destroy(dev);

    p.power = (struct fe_power_params){.dead_ppm = 1000000};
    dev = ft_device_make(&p, true);
    assert_int_equal(fe_device_cut_power(dev, 0, NULL), 0);
    assert_int_equal(fe_device_power_on(dev, 0, &ready, NULL), -EIO);
    assert_int_equal(submit(dev, FE_REQ_READ, 0, 0, 0, false).status, FE_NO_POWER);
    fe_device_destroy(dev);
}

/* Each page is drawn by itself: of 48 with an older copy some come back and some do not, and the chance
 * that fewer than 8 do of either is 1 in 2 million. */
static void test_power_a_share_of_the_pages_comes_back_stale(void **state)
{
    (void)state;
    enum { N = 48 };
    struct fe_profile p = make_profile("page");
    p.power = (struct fe_power_params){.stale_ppm = 500000};
    struct fe_device *dev = ft_device_make(&p, true);
    uint64_t at = 0;
    int n_stale = 0;
    for (int byte = 1; byte <= 2; byte++)
        for (uint64_t page = 0; page < N; page++)
            at = submit(dev, FE_REQ_WRITE, at, page, byte, false).complete_ns;
    restart(dev, at);
    for (uint64_t page = 0; page < N; page++) {
        int byte = read_byte(dev, page);
        assert_in_range(byte, 1, 2);
        n_stale += byte == 1;
    }
    assert_in_range(n_stale, 8, N - 8);
    fe_device_destroy(dev);
}

static enum fe_cut_outcome torn(void *ctx, const struct fe_undo_op *op)
{
    (void)ctx;
    (void)op;
    return FE_CUT_TORN;
}

/* A merge that was whole stays so, though the partner of the page that was appended to it is
 * one of its own, and the small log has older copies of its pages. */
static void test_power_partner_in_a_unit_that_was_merged(void **state)
{
    (void)state;
    static const uint64_t small[] = {1, 2, 3, 8, 9, 10, 11, 12, 0, 16, 17, 18, 19, 20, 21, 22, 24};
    struct fe_profile p = make_profile("segment");
    p.nand.cell = FE_CELL_MLC;
    p.nand.tPROG_ns[1] = p.nand.tPROG_ns[0];
    p.ftl.segment.small_log = 2;
    p.ftl.segment.small_write = PAGE;
    p.power.partner_ppm = 1000000;
    struct fe_device *dev = ft_device_make(&p, true);
    for (size_t i = 0; i < ft_array_len(small); i++)
        submit(dev, FE_REQ_WRITE, fe_device_now(dev), small[i], (int)small[i] + 1, false);
    static uint8_t buf[2 * PAGE];
    struct fe_request two = {
        .type = FE_REQ_WRITE, .offset = 4 * PAGE, .len = sizeof buf, .buf = buf};
    struct fe_reply reply;
    uint64_t ready, from = fe_device_now(dev);
    assert_int_equal(fe_device_submit(dev, from, &two, &reply), 0);
    dev->power.cut_ns = from + 10000; /* in the middle of page 4, whose partner is page 1 */
    fe_power_cut(dev, &(struct fe_cut){.choose = torn});
    assert_int_equal(fe_device_power_on(dev, from + 10000, &ready, NULL), 0);
    for (size_t i = 0; i < ft_array_len(small); i++)
        assert_int_equal(read_byte(dev, small[i]), small[i] == 1 ? 0 : (int)small[i] + 1);
    assert_int_equal(read_byte(dev, 4), 0);
    assert_int_equal(read_byte(dev, 5), 0);
    fe_device_destroy(dev);
}

/* The sectors of a page that is trimmed in part become zeros in the volatile cache.  With FUA the
 * trim is answered when they are on the flash; without, a cut brings them back. */
static void test_power_fua_of_a_trim_of_part_of_a_page(void **state)
{
    (void)state;
    for (int fua = 0; fua < 2; fua++) {
        static uint8_t buf[3 * PAGE];
        struct fe_profile p = make_profile("page");
        p.cache = (struct fe_cache_params){.size = 4 * PAGE, .volatile_ = true};
        p.device.discard = true;
        struct fe_device *dev = ft_device_make(&p, true);
        for (uint64_t page = 0; page < 3; page++)
            submit(dev, FE_REQ_WRITE, fe_device_now(dev), page, 8, true);
        struct fe_request trim = {
            .type = FE_REQ_TRIM, .offset = 512, .len = 2 * PAGE + 512, .fua = fua};
        struct fe_reply reply;
        uint64_t from = fe_device_now(dev);
        assert_int_equal(fe_device_submit(dev, from, &trim, &reply), 0);
        assert_int_equal(reply.status, FE_OK);
        assert_int_equal(reply.complete_ns - from >= 200000, fua); /* a page was programmed */
        restart(dev, reply.complete_ns);
        struct fe_request read = {.type = FE_REQ_READ, .len = sizeof buf, .buf = buf};
        assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &read, &reply), 0);
        for (uint32_t i = 0; i < sizeof buf; i += 512) {
            bool trimmed = i >= 512 && i < 2 * PAGE + 1024;
            bool is_part = i / PAGE != 1; /* the trim of a whole page lasts in any case */
            assert_int_equal(buf[i], trimmed && (fua || !is_part) ? 0 : 8);
        }
        fe_device_destroy(dev);
    }
}

/* Without the bytes of pages, sequence numbers alone say which translation pages are up to date, so
 * power-on writes as many of them as with the bytes. */
static void test_power_on_of_dftl_without_payload(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 40; n++) {
        uint64_t writes[2];
        for (int payload = 0; payload < 2; payload++) {
            struct fe_profile p = make_profile("dftl");
            struct fe_device_options opt = {.seed = 1, .payload = payload, .power_cuts = true};
            struct fe_device *dev;
            struct fe_stats before, after;
            p.nand.page_size = 512; /* 128 entries */
            p.device.capacity = 150 * 512;
            p.nand.pages_per_block = 16;
            p.ftl.dftl.map_cache = 64;
            assert_int_equal(fe_device_create(&dev, &p, &opt, NULL), 0);
            for (uint64_t i = 0; i < 200 + n; i++) {
                struct fe_request req = {
                    .type = FE_REQ_WRITE, .offset = i * i % 150 * 512, .len = 512};
                struct fe_reply reply;
                assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &req, &reply), 0);
            }
            fe_device_get_stats(dev, &before);
            restart(dev, fe_device_now(dev));
            fe_device_get_stats(dev, &after);
            writes[payload] = after.ftl.map_writes - before.ftl.map_writes;
            assert_int_equal(fe_device_check(dev, NULL), 0);
            fe_device_destroy(dev);
        }
        assert_int_equal(writes[0], writes[1]);
    }
}

static void test_power_wrong_use_is_refused(void **state)
{
    (void)state;
    uint64_t ready;
    struct fe_profile p = make_profile("page");
    struct fe_device *dev = ft_device_make(&p, false);
    assert_int_equal(fe_device_cut_power(dev, 0, NULL), -ENOTSUP);
    assert_int_equal(fe_device_power_on(dev, 0, &ready, NULL), -EALREADY);
    fe_device_destroy(dev);
    dev = ft_device_make(&p, true);
    assert_int_equal(fe_device_cut_power(dev, 0, NULL), 0);
    assert_int_equal(fe_device_cut_power(dev, 0, NULL), -EALREADY);
    fe_device_destroy(dev);
}

/* A program that fails is done again on a spare: two operations, one of which has an undo. */
static void test_a_failed_program_before_a_cut(void **state)
{
    (void)state;
    struct fe_profile p = make_profile("page");
    p.wear.spare_blocks = 2;
    p.wear.fail_program = 3;
    struct fe_device *dev = ft_device_make(&p, true);
    struct fe_err err;
    uint64_t now = 0, ready;
    for (uint64_t page = 0; page < 6; page++) {
        struct fe_reply reply = submit(dev, FE_REQ_WRITE, now, page, (int)page + 1, false);
        assert_int_equal(reply.status, FE_OK);
        now = reply.complete_ns;
    }
    assert_int_equal(fe_device_cut_power(dev, now, &err), 0);
    assert_int_equal(fe_device_power_on(dev, now, &ready, &err), 0);
    for (uint64_t page = 0; page < 6; page++)
        assert_int_equal(read_byte(dev, page), (int)page + 1);
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_program_before_a_cut),
        cmocka_unit_test(test_power_a_request_under_a_planned_cut_ends_with_it),
        cmocka_unit_test(test_power_the_clock_does_not_run_backwards),
        cmocka_unit_test(test_power_completions_after_power_on),
        cmocka_unit_test(test_power_completions_before_a_cut),
        cmocka_unit_test(test_power_fails_after_writes_of_the_profile),
        cmocka_unit_test(test_power_flush_and_fua_of_a_volatile_cache),
        cmocka_unit_test(test_power_a_safe_cache_keeps_all_and_flushes_for_nothing),
        cmocka_unit_test(test_power_recovery_takes_time_and_requests_wait),
        cmocka_unit_test(test_power_trims_last_unless_the_profile_says_otherwise),
        cmocka_unit_test(test_power_badly_made_devices),
        cmocka_unit_test(test_power_a_share_of_the_pages_comes_back_stale),
        cmocka_unit_test(test_power_partner_in_a_unit_that_was_merged),
        cmocka_unit_test(test_power_fua_of_a_trim_of_part_of_a_page),
        cmocka_unit_test(test_power_on_of_dftl_without_payload),
        cmocka_unit_test(test_power_wrong_use_is_refused),
    };
    return cmocka_run_group_tests_name("power", tests, NULL, NULL);
}
