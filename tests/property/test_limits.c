/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices at the limits of what a profile accepts: the largest delays, until the clock of the
 * device reaches its end, and the largest chips.  No product and no sum of sizes or times may
 * wrap.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "device/internal.h"
#include "flashemu/faults.h"
#include "lib/rand.h"

#include <errno.h>

#define SECONDS(n) (UINT64_C(n) * 1000000000)
#define GIB(n)     (UINT64_C(n) << 30)
#define HUGE_PAGE  UINT64_C(65536)

static const char *const strategies[] = {"page", "segment", "block", "bast",
                                         "fast", "norlog", "step", "dftl"};

/* Each delay is the largest that the option table allows.  A page takes 2500 programs. */
static struct fe_profile slow_profile(const char *strategy, bool cached)
{
    struct fe_profile p = ft_device_profile(strategy);
    struct fe_nand_params *n = &p.nand;
    struct fe_step_rule slow = {.random_ns = SECONDS(10), .step_ns = SECONDS(10),
                                .spike_ns = SECONDS(10), .first = 2, .again = 1};
    for (int i = 0; i < 3; i++)
        n->tR_ns[i] = n->tPROG_ns[i] = SECONDS(10);
    n->program_unit = 1;
    n->tBERS_ns = SECONDS(100);
    n->command_ns = SECONDS(1);
    n->bus_rate = 1000;
    n->cached = cached;
    p.device.capacity = 32 * n->page_size;
    p.ftl.region.map_region = n->page_size;
    p.ftl.region.map_switch_ns = p.ftl.region.map_read_ns = SECONDS(10);
    p.ftl.part.part_write_ns = p.ftl.part.tail_write_ns = p.ftl.segment.unit_read_ns = SECONDS(10);
    p.ftl.part.rest_write_ns = p.ftl.part.rest_read_ns = p.ftl.segment.end_read_ns = SECONDS(10);
    p.ftl.unit.copy_page_ns = SECONDS(10);
    p.ftl.segment.group_units = p.ftl.segment.scattered = 2;
    p.ftl.step.read = p.ftl.step.write = slow;
    p.link.bandwidth = 1000;
    p.ftl.region.stream_read_ns = SECONDS(10);
    p.link.command_overhead_ns = p.link.write_overhead_ns = SECONDS(10);
    p.manners.hang_ns = SECONDS(86400);
    p.manners.hang_request = 30;
    p.cache.size = cached ? 4 * n->page_size : 0;
    p.cache.volatile_ = p.cache.idle_flush = true;
    p.power.cut_ppm = 20000;
    return p;
}

/* One request.  Time never goes back, and a longer delay is never a shorter one. */
static struct fe_reply submit(struct fe_device *dev, struct ft_rand *r, uint64_t at_ns)
{
    static const enum fe_req_type types[] = {FE_REQ_WRITE, FE_REQ_WRITE, FE_REQ_READ, FE_REQ_FLUSH};
    struct fe_request q = {.type = types[ft_below(r, 4)], .fua = ft_chance(r, 20)};
    struct fe_reply reply;
    uint64_t before = fe_device_now(dev), page = fe_device_page_bytes(dev), ready;
    q.offset = ft_below(r, 31) * page;
    q.len = q.type == FE_REQ_FLUSH ? 0 : 2 * page;
    assert_int_equal(fe_device_submit(dev, at_ns, &q, &reply), 0);
    assert_true(reply.arrival_ns >= at_ns || at_ns > FE_TIME_MAX);
    assert_true(reply.complete_ns >= reply.arrival_ns && reply.complete_ns <= FE_TIME_MAX);
    if (fe_device_has_power(dev)) {
        assert_true(fe_device_now(dev) >= before);
    } else {
        assert_int_equal(reply.status, FE_NO_POWER);
        at_ns = ft_chance(r, 50) ? UINT64_MAX : reply.complete_ns;
        assert_int_equal(fe_device_power_on(dev, at_ns, &ready, NULL), 0);
        assert_true(ready >= reply.complete_ns && ready <= FE_TIME_MAX);
    }
    return reply;
}

/* The clock begins one request away from its end, with each distance to it. */
static void test_the_end_of_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * ft_array_len(strategies); i++) {
        struct fe_profile p = slow_profile(strategies[i / 2], i % 2);
        struct ft_rand r = {.seed = i};
        struct fe_device *dev = ft_device_make(&p, true);
        struct fe_err err;
        struct fe_reply reply = submit(dev, &r, 0);
        assert_true(reply.complete_ns >= SECONDS(10));
        for (uint64_t shift = 62; shift > 20; shift--) {
            fe_device_idle(dev, FE_TIME_MAX - (UINT64_C(1) << shift));
            for (int k = 0; k < 2; k++)
                submit(dev, &r, fe_device_now(dev));
        }
        for (int k = 0; k < 60; k++)
            submit(dev, &r, k % 2 ? UINT64_MAX : 0);
        assert_int_equal(fe_device_now(dev), FE_TIME_MAX);
        fe_err_init(&err);
        if (fe_device_check(dev, &err) < 0)
            fail_msg("%s: %s", strategies[i / 2], err.text);
        fe_device_destroy(dev);
    }
}

/* A user's hang, the profile's hang and a disconnect at the end of time. */
static void test_hang_and_disconnect_at_the_end_of_time(void **state)
{
    (void)state;
    static uint8_t buf[512];
    struct fe_request q = {.type = FE_REQ_WRITE, .len = 512, .buf = buf};
    struct fe_profile p = ft_device_profile("page");
    struct fe_reply reply;
    p.manners = (struct fe_manners_params){.hang_ns = SECONDS(86400), .hang_request = 1,
                                           .gone_ns = SECONDS(86400), .gone_request = 2};
    for (int late = 0; late < 2; late++) {
        struct fe_device *dev = ft_device_make(&p, false);
        uint64_t from = late ? FE_TIME_MAX - SECONDS(1) : 0;
        fe_device_hang(dev, UINT64_C(1) << 62);
        assert_int_equal(fe_device_submit(dev, from, &q, &reply), 0);
        if (late)
            assert_int_equal(reply.complete_ns, FE_TIME_MAX);
        else
            assert_true(reply.complete_ns >= (UINT64_C(1) << 62) + SECONDS(86400));
        fe_device_hang(dev, UINT64_MAX);
        assert_int_equal(fe_device_submit(dev, 0, &q, &reply), 0);
        assert_int_equal(reply.complete_ns, FE_TIME_MAX);
        assert_int_equal(fe_device_submit(dev, FE_TIME_MAX - SECONDS(1), &q, &reply), 0);
        assert_int_equal(reply.status, FE_GONE);
        fe_device_destroy(dev);
    }
}

/* ---- sizes ---- */

/* As many bytes as a profile allows, in large pages.  Only blocks that are used take memory. */
static struct fe_profile huge_profile(const char *strategy, uint64_t capacity, uint64_t page_size,
                                      uint32_t pages_per_block)
{
    struct fe_profile p = ft_device_profile(strategy);
    p.device.capacity = capacity;
    p.nand.page_size = (uint32_t)page_size;
    p.nand.pages_per_block = pages_per_block;
    p.nand.oob_size = 8192;
    p.nand.blocks_per_plane = (uint32_t)(capacity / page_size / pages_per_block) + 64;
    p.ftl.unit.unit_size = page_size * pages_per_block;
    p.link.max_transfer = GIB(1);
    return p;
}

/* One sector at each place, then all of them are read.  Each sector has its own address in it. */
static void write_and_read(struct fe_device *dev, const uint64_t *places, size_t n, bool payload)
{
    uint64_t buf[512 / 8];
    struct fe_request q = {.len = sizeof buf, .buf = buf};
    struct fe_reply reply;
    for (int pass = 0; pass < 2; pass++) {
        q.type = pass ? FE_REQ_READ : FE_REQ_WRITE;
        for (size_t i = 0; i < n; i++) {
            q.offset = places[i];
            for (size_t k = 0; k < ft_array_len(buf); k++)
                buf[k] = pass ? 0 : places[i] + 1;
            assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &q, &reply), 0);
            assert_int_equal(reply.status, FE_OK);
            for (size_t k = 0; k < ft_array_len(buf) && payload; k++)
                assert_int_equal(buf[k], places[i] + 1);
        }
    }
}

/* Both sides of 4 GiB, of 2^32 sectors, and of the ends of the device.  Two places that differ in
 * high bits only must not meet.  2^32 pages, whose tables need 56 GB, are left to test_geometry. */
static void check_places(const char *strategy, uint64_t capacity, uint64_t page_size,
                         uint32_t pages_per_block)
{
    const uint64_t marks[] = {512, GIB(4), GIB(8), GIB(2048), GIB(4096), capacity};
    uint64_t places[2 * ft_array_len(marks)];
    struct fe_profile p = huge_profile(strategy, capacity, page_size, pages_per_block);
    struct fe_device_options opt = {.seed = 1, .payload = true};
    struct fe_device *dev;
    struct fe_err err;
    size_t n = 0;
    fe_err_init(&err);
    for (size_t i = 0; i < ft_array_len(marks) && marks[i] <= capacity; i++) {
        places[n++] = marks[i] - 512;
        if (marks[i] < capacity)
            places[n++] = marks[i];
    }
    int r = fe_device_create(&dev, &p, &opt, &err);
    if (r == -ENOMEM || r == -ENOSPC || r == -EFBIG) {
        opt.payload = false; /* the host cannot keep so many bytes */
        fe_err_init(&err);
        r = fe_device_create(&dev, &p, &opt, &err);
    }
    if (r < 0)
        fail_msg("%s: %s", strategy, err.text);
    write_and_read(dev, places, n, opt.payload);
    fe_device_destroy(dev);
}

static void test_the_largest_capacity(void **state)
{
    (void)state;
    check_places("segment", GIB(16384), HUGE_PAGE, 64);
    check_places("step", GIB(16384), HUGE_PAGE, 64);
    check_places("fast", GIB(8200), HUGE_PAGE, 64);
    check_places("segment", GIB(5), 512, 8192);
    check_places("page", GIB(9), HUGE_PAGE, 64);
    check_places("dftl", GIB(9), HUGE_PAGE, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_end_of_time),
        cmocka_unit_test(test_hang_and_disconnect_at_the_end_of_time),
        cmocka_unit_test(test_the_largest_capacity),
    };
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
