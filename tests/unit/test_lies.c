/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a host sees of a device that lies: one test for each row of the table, by hand, in a range
 * and from an instant on; and the text of faults.lie.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "flashemu/extents.h"

#include <errno.h>

enum { PAGE = 2048, SECTOR = 512, CAPACITY = 64 * PAGE };

/* ---- the text ---- */

static void expect_text(const char *text, const char *canonical)
{
    struct fe_lies_params p, again;
    struct fe_err why = {""};
    char buf[128];
    if (fe_lies_parse(text, &p, &why) != 0)
        fail_msg("%s: %s", text, why.text);
    fe_lies_print(&p, buf, sizeof buf);
    assert_string_equal(buf, canonical);
    assert_int_equal(fe_lies_parse(buf, &again, NULL), 0);
    assert_memory_equal(&p, &again, sizeof p);
}

static void expect_refused(const char *text, const char *reason)
{
    struct fe_lies_params p = {.n = 7};
    struct fe_err why = {""};
    if (fe_lies_parse(text, &p, &why) != -EINVAL)
        fail_msg("%s: accepted", text);
    if (!strstr(why.text, reason))
        fail_msg("%s: '%s' has no '%s'", text, why.text, reason);
    assert_int_equal(p.n, 7);
}

static void test_lies_have_a_text(void **state)
{
    (void)state;
    expect_text("none", "none");
    expect_text("flush-ignored", "flush-ignored");
    expect_text("flush-late", "flush-late:700ms");
    expect_text("lost-write:10%/1G-2G@30s", "lost-write:10%/1G-2G@30s");
    expect_text("lost-write/4096-@1000", "lost-write:100%/4K-@1000");
    expect_text(" stuck-read:255 , unstable-read@1500ms",
                "stuck-read:255,unstable-read:100%@1500ms");
    expect_text("capacity:7M,mixed-queue", "capacity:7M,mixed-queue");
    expect_refused("", "unknown lie ''");
    expect_refused("lost-writes", "unknown lie 'lost-writes'");
    expect_refused("lost-write,", "unknown lie ''");
    expect_refused("capacity", "needs an argument");
    expect_refused("capacity:7M/0-1M", "takes none");
    expect_refused("flush-ignored:3", "takes none");
    expect_refused("lost-write:110%", "out of range");
    expect_refused("lost-write:x", "has an argument 'x'");
    expect_refused("stuck-read:256", "out of range");
    expect_refused("misdirected-read:700", "out of range");
    expect_refused("lost-write/1M", "not FROM-TO");
    expect_refused("lost-write/2M-1M", "empty");
    expect_refused("lost-write/100-1M", "multiple of 512");
    expect_refused("lost-write@soon", "has a begin 'soon'");
    expect_refused("stuck-read,stuck-read,stuck-read,stuck-read,stuck-read,stuck-read,stuck-read,"
                   "stuck-read,stuck-read", "more than 8");
    expect_refused("misdirected-write/1000001K-2000001K@1000001s,"
                   "misdirected-read/1000001K-2000001K@1000001s,"
                   "lost-write/1000001K-2000001K@1000001s",
                   "too long");
}

/* ---- the device ---- */

static struct fe_profile profile_with(const char *lie, const char *const *more)
{
    struct fe_profile p = ft_device_profile("page");
    struct fe_err err = {""};
    p.device.capacity = CAPACITY;
    p.device.discard = true;
    for (; more && *more; more += 2)
        if (fe_profile_set(&p, more[0], more[1], &err) < 0)
            fail_msg("%s", err.text);
    if (fe_profile_set(&p, "faults.lie", lie, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static struct fe_device *make(const char *lie, const char *const *more)
{
    struct fe_profile p = profile_with(lie, more);
    return ft_device_make(&p, true);
}

static enum fe_status submit_at(struct fe_device *dev, uint64_t at_ns, enum fe_req_type type,
                                uint64_t offset, uint64_t len, void *buf, bool fua)
{
    struct fe_request req = {.type = type, .offset = offset, .len = len, .buf = buf, .fua = fua};
    struct fe_reply reply;
    assert_int_equal(fe_device_submit(dev, at_ns, &req, &reply), 0);
    return reply.status;
}

static enum fe_status submit(struct fe_device *dev, enum fe_req_type type, uint64_t offset,
                             uint64_t len, void *buf)
{
    return submit_at(dev, fe_device_now(dev), type, offset, len, buf, false);
}

static void fill(struct fe_device *dev, uint64_t offset, uint64_t len, int byte)
{
    uint8_t buf[CAPACITY];
    memset(buf, byte, len);
    assert_int_equal(submit(dev, FE_REQ_WRITE, offset, len, buf), FE_OK);
}

static void expect(struct fe_device *dev, uint64_t offset, uint64_t len, int byte)
{
    uint8_t buf[CAPACITY];
    memset(buf, 0x77, len);
    assert_int_equal(submit(dev, FE_REQ_READ, offset, len, buf), FE_OK);
    for (uint64_t i = 0; i < len; i++)
        if (buf[i] != byte)
            fail_msg("byte %llu is %u, must be %d", (unsigned long long)(offset + i), buf[i], byte);
}

static void set(struct fe_device *dev, const char *lie)
{
    struct fe_err err = {""};
    if (fe_device_set(dev, "faults.lie", lie, &err) < 0)
        fail_msg("%s", err.text);
}

/* So often each lie has told, all others never. */
static void expect_told(struct fe_device *dev, enum fe_lie_kind kind, uint64_t n)
{
    struct fe_stats s;
    fe_device_get_stats(dev, &s);
    assert_true(s.lies);
    for (uint32_t i = 0; i < FE_N_LIES; i++)
        assert_int_equal(s.told[i], i == kind ? n : 0);
    assert_int_equal(fe_device_check(dev, NULL), 0);
}

static void power_cycle(struct fe_device *dev)
{
    uint64_t ready_ns;
    assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), NULL), 0);
    assert_int_equal(fe_device_power_on(dev, fe_device_now(dev), &ready_ns, NULL), 0);
}

static const char *const volatile_cache[] = {"cache.volatile", "yes", "cache.size", "64K",
                                               "cache.idle_flush", "no", NULL};

/* Without the lie the flushed pages are there after the cut. */
static void test_lies_flush_ignored(void **state)
{
    (void)state;
    for (int fua = 0; fua < 2; fua++)
        for (int lies = 0; lies < 2; lies++) {
            struct fe_device *dev = make(lies ? "flush-ignored@1" : "none", volatile_cache);
            uint8_t page[PAGE];
            fill(dev, 0, PAGE, 1);
            assert_int_equal(submit(dev, FE_REQ_FLUSH, 0, 0, NULL), FE_OK);
            memset(page, 2, PAGE);
            assert_int_equal(submit_at(dev, fe_device_now(dev), FE_REQ_WRITE, 0, PAGE, page, fua),
                             FE_OK);
            if (!fua)
                assert_int_equal(submit(dev, FE_REQ_FLUSH, 0, 0, NULL), FE_OK);
            if (lies)
                expect_told(dev, FE_LIE_FLUSH_IGNORED, 2);
            expect(dev, 0, PAGE, 2);
            power_cycle(dev);
            expect(dev, 0, PAGE, lies ? 0 : 2);
            fe_device_destroy(dev);
        }
}

static void test_lies_flush_late(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct fe_device *dev = make("flush-late:50ms", volatile_cache);
        fill(dev, 0, PAGE, 1);
        uint64_t at = fe_device_now(dev), ready;
        struct fe_request req = {.type = FE_REQ_FLUSH};
        struct fe_reply reply;
        assert_int_equal(fe_device_submit(dev, at, &req, &reply), 0);
        expect_told(dev, FE_LIE_FLUSH_LATE, 1);
        struct fe_stats s;
        fe_device_get_stats(dev, &s);
        assert_int_equal(s.nand.page_programs, 0);
        uint64_t cut = reply.arrival_ns + (late ? 80000000 : 49999999);
        assert_int_equal(fe_device_cut_power(dev, cut, NULL), 0);
        assert_int_equal(fe_device_power_on(dev, cut, &ready, NULL), 0);
        expect(dev, 0, PAGE, late ? 1 : 0);
        fe_device_destroy(dev);
    }
}

static void test_lies_lost_write(void **state)
{
    (void)state;
    struct fe_device *dev = make("lost-write/4K-8K", NULL);
    set(dev, "none");
    fill(dev, 0, 5 * PAGE, 3);
    set(dev, "lost-write/4608-8K"); /* from the second sector of the third page on */
    fill(dev, 0, 5 * PAGE, 4);
    expect_told(dev, FE_LIE_LOST_WRITE, 1);
    expect(dev, 0, 4608, 4);
    expect(dev, 4608, 3584, 3);
    expect(dev, 8192, PAGE, 4);
    assert_int_equal(submit(dev, FE_REQ_TRIM, 4096, 4096, NULL), FE_OK);
    expect(dev, 4608, 3584, 3);
    expect_told(dev, FE_LIE_LOST_WRITE, 2);
    power_cycle(dev);
    expect(dev, 4608, 3584, 3);
    fe_device_destroy(dev);
}

/* One name with two ranges, of which a request has a part each; it counts once. */
static void test_lies_in_two_ranges(void **state)
{
    (void)state;
    struct fe_device *dev = make("none", NULL);
    fill(dev, 0, 8 * PAGE, 1);
    set(dev, "lost-write/2K-4K,lost-write/8K-9K");
    fill(dev, 0, 8 * PAGE, 2);
    expect(dev, 0, 2048, 2);
    expect(dev, 2048, 2048, 1);
    expect(dev, 4096, 4096, 2);
    expect(dev, 8192, 1024, 1);
    expect(dev, 9216, 8 * PAGE - 9216, 2);
    expect_told(dev, FE_LIE_LOST_WRITE, 1);
    set(dev, "stale-read/0-2K,stale-read/6K-8K");
    fill(dev, 0, 4 * PAGE, 3);
    expect(dev, 0, 2048, 2);
    expect(dev, 2048, 4096, 3);
    expect(dev, 6144, 2048, 2);
    struct fe_stats s;
    fe_device_get_stats(dev, &s);
    assert_int_equal(s.told[FE_LIE_STALE_READ], 2);
    fe_device_destroy(dev);
}

/* Of 400 writes 25 % are lost; the device counts which of them. */
static void test_lies_lost_write_by_share(void **state)
{
    (void)state;
    struct fe_device *dev = make("lost-write:25%", NULL);
    uint32_t lost = 0;
    uint8_t page[PAGE];
    struct fe_stats s;
    for (int i = 0; i < 400; i++) {
        fill(dev, 0, PAGE, 1 + i % 200);
        assert_int_equal(submit(dev, FE_REQ_READ, 0, PAGE, page), FE_OK);
        lost += page[0] != 1 + i % 200;
    }
    fe_device_get_stats(dev, &s);
    assert_int_equal(s.told[FE_LIE_LOST_WRITE], lost);
    assert_in_range(lost, 75, 125);
    fe_device_destroy(dev);
}

static void test_lies_misdirected_write(void **state)
{
    (void)state;
    struct fe_device *dev = make("misdirected-write:1K/8K-12K@2", NULL);
    fill(dev, 8192, 512, 5); /* honest: two writes */
    fill(dev, 0, PAGE, 6);
    fill(dev, 8192, 512, 7);
    expect_told(dev, FE_LIE_MISDIRECTED_WRITE, 1);
    expect(dev, 8192, 512, 5);
    expect(dev, 9216, 512, 7);
    fill(dev, 4096, 4096 + 512, 8); /* the first half is honest */
    expect(dev, 4096, 4096, 8);
    expect(dev, 8192, 512, 5);
    expect(dev, 9216, 512, 8);
    set(dev, "misdirected-write:2K");
    fill(dev, CAPACITY - PAGE, PAGE, 9); /* behind the end comes the beginning */
    expect(dev, 0, PAGE, 9);
    fe_device_destroy(dev);
}

static void test_lies_misdirected_read(void **state)
{
    (void)state;
    struct fe_device *dev = make("misdirected-read:1K/0-2K", NULL);
    for (uint64_t i = 0; i < 8; i++)
        fill(dev, i * SECTOR, SECTOR, 10 + (int)i);
    expect(dev, 0, 512, 12);
    expect(dev, 1536, 512, 15);
    expect(dev, 2048, 512, 14);
    expect_told(dev, FE_LIE_MISDIRECTED_READ, 2);
    fe_device_destroy(dev);
}

/* With a cache and without: what was written last reads as it was before, until power is cut. */
static void test_lies_stale_read(void **state)
{
    (void)state;
    static const char *const kept[] = {"cache.size", "64K", "cache.volatile", "no", NULL};
    for (int cached = 0; cached < 2; cached++) {
        struct fe_device *dev = make("none", cached ? kept : NULL);
        fill(dev, 0, 8 * PAGE, 1);
        set(dev, "stale-read:4K/2K-");
        fill(dev, 0, 2 * PAGE, 2);
        expect(dev, 0, PAGE, 2); /* not in the range */
        expect(dev, PAGE, PAGE, 1);
        fill(dev, PAGE, SECTOR, 3); /* again: now the copy before is the second */
        expect(dev, PAGE, SECTOR, 2);
        expect(dev, PAGE + SECTOR, PAGE - SECTOR, 1);
        expect_told(dev, FE_LIE_STALE_READ, 3);
        fill(dev, 4 * PAGE, 2 * PAGE, 4); /* 4 KiB more: the first ones are forgotten */
        expect(dev, PAGE, SECTOR, 3);
        expect(dev, PAGE + SECTOR, PAGE - SECTOR, 2);
        expect(dev, 4 * PAGE, 2 * PAGE, 1);
        power_cycle(dev);
        expect(dev, 4 * PAGE, 2 * PAGE, 4);
        fe_device_destroy(dev);
    }
}

static void test_lies_unstable_read(void **state)
{
    (void)state;
    struct fe_device *dev = make("unstable-read/0-2K", NULL);
    uint8_t a[2 * PAGE], b[2 * PAGE];
    fill(dev, 0, 2 * PAGE, 9);
    assert_int_equal(submit(dev, FE_REQ_READ, 0, sizeof a, a), FE_OK);
    assert_int_equal(submit(dev, FE_REQ_READ, 0, sizeof b, b), FE_OK);
    for (uint32_t at = 0; at < PAGE; at += SECTOR)
        assert_memory_not_equal(a + at, b + at, SECTOR);
    assert_memory_not_equal(a, a + SECTOR, SECTOR);
    for (uint32_t at = PAGE; at < 2 * PAGE; at++)
        assert_true(a[at] == 9 && b[at] == 9);
    expect_told(dev, FE_LIE_UNSTABLE_READ, 2);
    set(dev, "unstable-read:50%"); /* half of the sectors, the same ones each time */
    uint32_t unstable = 0;
    for (uint64_t i = 0; i < 256; i++) {
        assert_int_equal(submit(dev, FE_REQ_READ, i * SECTOR, SECTOR, a), FE_OK);
        assert_int_equal(submit(dev, FE_REQ_READ, i * SECTOR, SECTOR, b), FE_OK);
        unstable += memcmp(a, b, SECTOR) != 0;
    }
    assert_in_range(unstable, 98, 158);
    set(dev, "none");
    expect(dev, 0, 2 * PAGE, 9); /* nothing has been changed */
    fe_device_destroy(dev);
}

static void test_lies_stuck_read(void **state)
{
    (void)state;
    struct fe_device *dev = make("stuck-read:255/1K-2K", NULL);
    fill(dev, 0, PAGE, 9);
    expect(dev, 0, 1024, 9);
    expect(dev, 1024, 1024, 255);
    expect_told(dev, FE_LIE_STUCK_READ, 1);
    fe_device_destroy(dev);
}

static void test_lies_capacity(void **state)
{
    (void)state;
    struct fe_device *dev = make("capacity:8K@2ms", NULL);
    assert_int_equal(fe_device_reported_capacity(dev, 0), CAPACITY);
    fill(dev, 8192, PAGE, 9);
    assert_true(fe_device_now(dev) < 2000000);
    assert_int_equal(fe_device_reported_capacity(dev, 2000000), 8192);
    assert_int_equal(fe_device_capacity(dev), CAPACITY);
    fe_device_idle(dev, 2000000);
    uint8_t page[2 * PAGE] = {0};
    assert_int_equal(submit(dev, FE_REQ_READ, 8192 - PAGE, PAGE, page), FE_OK);
    assert_int_equal(submit(dev, FE_REQ_READ, 8192 - PAGE, 2 * PAGE, page), FE_PROG_FAILED);
    assert_int_equal(submit(dev, FE_REQ_WRITE, 8192, PAGE, page), FE_PROG_FAILED);
    assert_int_equal(submit(dev, FE_REQ_TRIM, 8192, PAGE, NULL), FE_PROG_FAILED);
    expect_told(dev, FE_LIE_CAPACITY, 3);
    set(dev, "none");
    assert_int_equal(fe_device_reported_capacity(dev, fe_device_now(dev)), CAPACITY);
    expect(dev, 8192, PAGE, 9);
    fe_device_destroy(dev);
}

static void test_lies_wide_trim(void **state)
{
    (void)state;
    struct fe_device *dev = make("wide-trim:16K/16K-", NULL);
    fill(dev, 0, CAPACITY, 9);
    assert_int_equal(submit(dev, FE_REQ_TRIM, 4096, 4096, NULL), FE_OK); /* not in the range */
    expect(dev, 0, 4096, 9);
    assert_int_equal(submit(dev, FE_REQ_TRIM, 3 * 16384 - 512, 1024, NULL), FE_OK);
    expect(dev, 16384, 16384, 9);
    expect(dev, 2 * 16384, 2 * 16384, 0);
    expect(dev, 4 * 16384, 16384, 9);
    expect_told(dev, FE_LIE_WIDE_TRIM, 1);
    assert_int_equal(submit(dev, FE_REQ_TRIM, CAPACITY - 512, 512, NULL), FE_OK);
    expect(dev, CAPACITY - 16384, 16384, 0);
    fe_device_destroy(dev);
}

static void test_lies_mixed_queue(void **state)
{
    (void)state;
    static const char *const queue[] = {"link.queue_depth", "4", NULL};
    struct fe_device *dev = make("mixed-queue", queue);
    uint8_t a[PAGE], b[PAGE];
    fill(dev, 0, PAGE, 1);
    fill(dev, 8192, PAGE, 2);
    uint64_t now = fe_device_now(dev);
    assert_int_equal(submit_at(dev, now, FE_REQ_READ, 0, PAGE, a, false), FE_OK);
    assert_int_equal(submit_at(dev, now, FE_REQ_READ, 8192, PAGE, b, false), FE_OK);
    assert_int_equal(a[0], 1);
    assert_int_equal(b[PAGE - 1], 1); /* that of the first one */
    expect_told(dev, FE_LIE_MIXED_QUEUE, 1);
    expect(dev, 8192, PAGE, 2); /* alone in the device */
    expect_told(dev, FE_LIE_MIXED_QUEUE, 1);
    fe_device_destroy(dev);
}

/* A lie costs what honesty costs: the same times of everything but a flush. */
static void test_lies_take_honest_times(void **state)
{
    (void)state;
    static const char *const lies[] = {"misdirected-read:2K", "unstable-read", "stuck-read",
                                       "misdirected-write:2K", "stale-read"};
    uint64_t honest = 0;
    for (uint32_t i = 0; i <= sizeof lies / sizeof *lies; i++) {
        struct fe_device *dev = make(i ? lies[i - 1] : "none", NULL);
        uint8_t page[PAGE];
        fill(dev, 0, 8 * PAGE, 1);
        fill(dev, 4 * PAGE, PAGE, 2);
        assert_int_equal(submit(dev, FE_REQ_READ, PAGE, PAGE, page), FE_OK);
        if (i == 0)
            honest = fe_device_now(dev);
        assert_int_equal(fe_device_now(dev), honest);
        fe_device_destroy(dev);
    }
}

/* Whoever asks what is stored gets no answer that a lie would contradict. */
static void test_lies_hide_holes(void **state)
{
    (void)state;
    struct fe_device *dev = make("stuck-read:7", NULL);
    struct fe_extent e;
    assert_int_equal(fe_device_extent(dev, 0, 0, CAPACITY, &e), FE_OK);
    assert_int_equal(e.kind, FE_EXTENT_DATA);
    set(dev, "none");
    assert_int_equal(fe_device_extent(dev, 0, 0, CAPACITY, &e), FE_OK);
    assert_int_equal(e.kind, FE_EXTENT_HOLE);
    fe_device_destroy(dev);
}

static void expect_no_effect(const char *lie, const char *const *more, const char *reason)
{
    struct fe_profile p = profile_with("none", more);
    struct fe_err err = {""};
    assert_int_equal(fe_profile_set(&p, "faults.lie", lie, &err), -EINVAL);
    if (!strstr(err.text, reason))
        fail_msg("'%s' has no '%s'", err.text, reason);
}

static void test_lies_without_effect_are_refused(void **state)
{
    (void)state;
    static const char *const no_trim[] = {"device.discard", "no", NULL};
    static const char *const in_turn[] = {"link.queue_depth", "1", NULL};
    static const char *const large[] = {"device.sector_size", "2048", NULL};
    expect_no_effect("flush-ignored", NULL, "needs a volatile cache");
    expect_no_effect("flush-late", NULL, "needs a volatile cache");
    expect_no_effect("wide-trim", no_trim, "needs device.discard=yes");
    expect_no_effect("mixed-queue", in_turn, "needs link.queue_depth");
    expect_no_effect("misdirected-read:1K", large, "device.sector_size");
    expect_no_effect("stuck-read/1K-", large, "device.sector_size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lies_have_a_text),
        cmocka_unit_test(test_lies_flush_ignored),
        cmocka_unit_test(test_lies_flush_late),
        cmocka_unit_test(test_lies_lost_write),
        cmocka_unit_test(test_lies_in_two_ranges),
        cmocka_unit_test(test_lies_lost_write_by_share),
        cmocka_unit_test(test_lies_misdirected_write),
        cmocka_unit_test(test_lies_misdirected_read),
        cmocka_unit_test(test_lies_stale_read),
        cmocka_unit_test(test_lies_unstable_read),
        cmocka_unit_test(test_lies_stuck_read),
        cmocka_unit_test(test_lies_capacity),
        cmocka_unit_test(test_lies_wide_trim),
        cmocka_unit_test(test_lies_mixed_queue),
        cmocka_unit_test(test_lies_take_honest_times),
        cmocka_unit_test(test_lies_hide_holes),
        cmocka_unit_test(test_lies_without_effect_are_refused),
    };
    return cmocka_run_group_tests_name("lies", tests, NULL, NULL);
}
