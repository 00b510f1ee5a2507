/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device as a whole: what is refused and how that is said, times by hand through link,
 * chip and cache, trims, flushes, idle work, a used device, delays that change.
 *
 * The device is lib/device.h's, the link 1 byte a ns, 100 ns a command on the chip and 10 us
 * on the link.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "device/internal.h"
#include "device/snapshot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum { PAGE = 2048 };

static struct fe_stats stats(const struct fe_device *dev)
{
    struct fe_stats s;
    fe_device_get_stats(dev, &s);
    return s;
}

static void test_device_refuses_what_does_not_fit_together(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    p.device.sector_size = 4096;
    ft_device_refused(&p, EINVAL,
                      "device.sector_size=4096: must divide the flash page, 2048 bytes");
    p = ft_device_linked("page");
    p.device.capacity += 100;
    ft_device_refused(&p, EINVAL, "device.capacity=131172: must be a multiple of the sector");
    p.device.capacity = 192 * PAGE;
    ft_device_refused(&p, EINVAL, "device.capacity=393216: the chip has 393216 bytes, of which "
                                  "ftl.type=page can offer at most");
    p = ft_device_linked("page");
    p.link.max_transfer = 1000;
    ft_device_refused(&p, EINVAL, "link.max_transfer=1000");
    p.link.max_transfer = 0;
    ft_device_refused(&p, EINVAL, "link.max_transfer=0");
    p = ft_device_linked("page");
    p.cache.size = PAGE - 1;
    ft_device_refused(&p, EINVAL, "cache.size=2047: none, or at least a flash page, 2048 bytes");
    p = ft_device_linked("block");
    p.device.discard = true;
    ft_device_refused(&p, EINVAL, "ftl.type=block has no TRIM");
    p = ft_device_linked("page");
    p.nand.page_size = 1u << 31;
    ft_device_refused(&p, EOVERFLOW, "page_size=2147483648");
    p = ft_device_linked("page");
    p.nand.page_size = 65 * 512;
    p.cache.size = 1 << 20;
    ft_device_refused(&p, EINVAL, "at most 64 sectors");
}

static void test_device_capacity_follows_from_op(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    p.device.capacity = 0;
    p.ftl.op_ppm = 500000; /* 192 pages / 1.5 */
    struct fe_device *dev = ft_device_make(&p, false);
    assert_int_equal(fe_device_capacity(dev), 128 * PAGE);
    assert_int_equal(fe_device_page_bytes(dev), PAGE);
    fe_device_destroy(dev);
}

/* The message about too small an over-provisioning names one that works, and none that
 * gives more than a page more does. */
static void test_device_suggested_op_works(void **state)
{
    (void)state;
    for (int type = 0; fe_ftl_registry[type]; type++) {
        struct fe_profile p = ft_device_linked(fe_ftl_registry[type]->name);
        struct fe_device_options opt = {.seed = 1};
        struct fe_device *dev = NULL;
        struct fe_err err;
        fe_err_init(&err);
        p.device.capacity = 0;
        p.ftl.op_ppm = 0;
        int r = fe_device_create(&dev, &p, &opt, &err);
        if (r == 0) { /* a strategy that needs no room of its own */
            fe_device_destroy(dev);
            continue;
        }
        assert_int_equal(r, -EINVAL);
        const char *hint = strstr(err.text, "which is ftl.op=");
        assert_non_null(hint);
        unsigned whole, fraction;
        assert_int_equal(sscanf(hint, "which is ftl.op=%u.%4u%%", &whole, &fraction), 2);
        p.ftl.op_ppm = whole * 10000ull + fraction;
        dev = ft_device_make(&p, false);
        uint64_t pages = fe_device_capacity(dev) / PAGE;
        fe_device_destroy(dev);
        p.ftl.op_ppm = 192 * 1000000ull / (pages + 2) - 1000000;
        ft_device_refused(&p, EINVAL, hint);
    }
}

static void test_device_bad_requests_change_nothing(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("block");
    struct fe_device *dev = ft_device_make(&p, false);
    uint64_t cap = fe_device_capacity(dev);
    ft_device_submit(dev, FE_REQ_WRITE, 5, 0, 512, NULL, false);
    const struct fe_request bad[] = {
        {.type = FE_REQ_READ, .offset = 0, .len = 0},
        {.type = FE_REQ_READ, .offset = 100, .len = 512},
        {.type = FE_REQ_READ, .offset = 0, .len = 100},
        {.type = FE_REQ_READ, .offset = cap, .len = 512},
        {.type = FE_REQ_WRITE, .offset = cap - 512, .len = 1024},
        {.type = FE_REQ_WRITE, .offset = 512, .len = UINT64_MAX - 511},
        {.type = FE_REQ_WRITE, .offset = UINT64_MAX - 511, .len = 1024},
        {.type = FE_REQ_TRIM, .offset = 0, .len = 512}, /* block has none */
    };
    struct fe_stats before = stats(dev);
    for (size_t i = 0; i < ft_array_len(bad); i++) {
        struct fe_reply reply;
        assert_int_equal(fe_device_submit(dev, UINT64_C(1) << 40, &bad[i], &reply), -EINVAL);
    }
    struct fe_stats after = stats(dev);
    assert_memory_equal(&before, &after, sizeof before);
    /* the last sector is there */
    ft_device_submit(dev, FE_REQ_READ, 0, cap - 512, 512, NULL, false);
    fe_device_destroy(dev);
}

static void test_device_times_of_one_command(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    struct fe_device *dev = ft_device_make(&p, false);
    uint8_t buf[PAGE];
    memset(buf, 7, sizeof buf);
    /* overhead, 2048 in; command, 2112 on the bus, tPROG */
    struct fe_reply r = ft_device_submit(dev, FE_REQ_WRITE, 1000, 0, PAGE, buf, false);
    assert_int_equal(r.arrival_ns, 1000);
    assert_int_equal(r.complete_ns, 1000 + 10000 + 2048 + 100 + 2112 + 200000);
    memset(buf, 0, sizeof buf);
    /* overhead; command, tR, 2048 on the bus; 2048 out */
    r = ft_device_submit(dev, FE_REQ_READ, 300000, 0, PAGE, buf, false);
    assert_int_equal(r.complete_ns, 300000 + 10000 + 100 + 25000 + 2048 + 2048);
    assert_int_equal(buf[PAGE - 1], 7);
    r = ft_device_submit(dev, FE_REQ_READ, 400000, 512, 512, buf, false);
    assert_int_equal(r.complete_ns, 400000 + 10000 + 100 + 25000 + 512 + 512);
    r = ft_device_submit(dev, FE_REQ_READ, 500000, 8 * PAGE, PAGE, buf, false); /* never written */
    assert_int_equal(r.complete_ns, 500000 + 10000 + 2048);
    assert_int_equal(buf[0], 0);
    r = ft_device_submit(dev, FE_REQ_FLUSH, 600000, 0, 0, NULL, false);
    assert_int_equal(r.complete_ns, 610000);
    /* part of a page: the old copy is read whole, then the program */
    r = ft_device_submit(dev, FE_REQ_WRITE, 700000, 512, 512, buf, false);
    assert_int_equal(r.complete_ns,
                     700000 + 10000 + 512 + 100 + 25000 + 2112 + 100 + 2112 + 200000);
    assert_int_equal(fe_device_now(dev), r.complete_ns);
    fe_device_destroy(dev);
}

static void test_device_large_request_is_cut_into_commands(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    struct fe_device *dev = ft_device_make(&p, false);
    /* 2 commands of 2 pages; the second one begins when the first has completed */
    struct fe_reply r = ft_device_submit(dev, FE_REQ_WRITE, 0, 0, 4 * PAGE, NULL, false);
    assert_int_equal(r.complete_ns, 2 * (10000 + 2048 + 2 * 202212));
    fe_device_destroy(dev);
    p.link.queue_depth = 2; /* with two slots it only waits for wire and die */
    dev = ft_device_make(&p, false);
    r = ft_device_submit(dev, FE_REQ_WRITE, 0, 0, 4 * PAGE, NULL, false);
    assert_int_equal(r.complete_ns, 10000 + 2048 + 4 * 202212);
    fe_device_destroy(dev);
}

static void test_device_arrivals_never_go_back(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    p.link.queue_depth = 4;
    struct fe_device *dev = ft_device_make(&p, false);
    ft_device_submit(dev, FE_REQ_WRITE, 1000000, 0, PAGE, NULL, false);
    struct fe_reply r = ft_device_submit(dev, FE_REQ_READ, 999999, 8 * PAGE, PAGE, NULL, false);
    assert_int_equal(r.arrival_ns, 1000000);
    r = ft_device_submit(dev, FE_REQ_READ, 1000001, 8 * PAGE, PAGE, NULL, false);
    assert_int_equal(r.arrival_ns, 1000001);
    fe_device_idle(dev, 5000000);
    r = ft_device_submit(dev, FE_REQ_READ, 2000000, 8 * PAGE, PAGE, NULL, false);
    assert_int_equal(r.arrival_ns, 5000000);
    fe_device_destroy(dev);
}

static void test_device_statistics_count_and_start_anew(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    struct fe_device *dev = ft_device_make(&p, false);
    struct fe_reply w = ft_device_submit(dev, FE_REQ_WRITE, 1000, 0, 3 * PAGE, NULL, false);
    struct fe_reply r = ft_device_submit(dev, FE_REQ_READ, 5000000, 0, 512, NULL, false);
    ft_device_submit(dev, FE_REQ_FLUSH, 6000000, 0, 0, NULL, false);
    struct fe_stats s = stats(dev);
    assert_int_equal(s.host[FE_REQ_WRITE].ops, 1);
    assert_int_equal(s.host[FE_REQ_WRITE].bytes, 3 * PAGE);
    assert_int_equal(s.host[FE_REQ_READ].bytes, 512);
    assert_int_equal(s.host[FE_REQ_FLUSH].ops, 1);
    assert_int_equal(s.nand.page_programs, 3);
    assert_int_equal(s.nand.bytes_programmed, 3 * PAGE); /* WAF is 1 */
    assert_int_equal(s.nand.page_reads, 1);
    assert_int_equal(s.busy_ns, w.complete_ns - 1000 + r.complete_ns - 5000000 + 10000);
    assert_int_equal(s.device_ns, 6010000);
    assert_int_equal(fe_device_latency(dev, FE_REQ_WRITE)->max, w.complete_ns - 1000);
    fe_device_reset_stats(dev);
    s = stats(dev);
    assert_int_equal(s.busy_ns + s.host[FE_REQ_WRITE].ops + s.nand.page_programs, 0);
    assert_int_equal(fe_device_latency(dev, FE_REQ_WRITE)->count, 0);
    assert_int_equal(s.device_ns, 6010000); /* the clock goes on */
    r = ft_device_submit(dev, FE_REQ_READ, 0, 0, 512, NULL, false);
    assert_int_equal(r.arrival_ns, 6000000);
    assert_int_equal(stats(dev).busy_ns, r.complete_ns - 6010000); /* what was busy is counted */
    fe_device_destroy(dev);
}

/* Requests that take no time move the end of work all the same: what a merge holds back
 * much later must not count as work from time 0 on. */
static void test_device_without_delays_is_never_busy(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("block");
    p.nand.tR_ns[0] = p.nand.tPROG_ns[0] = p.nand.tBERS_ns = p.nand.bus_rate =
        p.nand.command_ns = 0;
    p.link.bandwidth = p.link.command_overhead_ns = 0;
    struct fe_device *dev = ft_device_make(&p, false);
    for (uint64_t i = 1; i <= 5; i++) {
        struct fe_reply r = ft_device_submit(dev, FE_REQ_WRITE, i * 1000000, 0, PAGE, NULL, false);
        assert_int_equal(r.complete_ns, i * 1000000);
    }
    assert_int_equal(stats(dev).busy_ns, 0);
    assert_int_equal(stats(dev).device_ns, 5000000);
    fe_device_destroy(dev);
}

static void test_device_trim_reads_zeros_to_the_sector(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    p.device.discard = true;
    p.cache.volatile_ = true;
    for (int cached = 0; cached < 2; cached++) {
        static uint8_t buf[6 * PAGE];
        p.cache.size = cached ? 4 * PAGE : 0;
        struct fe_device *dev = ft_device_make(&p, false);
        memset(buf, 9, sizeof buf);
        ft_device_submit(dev, FE_REQ_WRITE, 0, 0, sizeof buf, buf, false);
        ft_device_submit(dev, FE_REQ_FLUSH, 0, 0, 0, NULL, false);
        fe_device_reset_stats(dev);
        ft_device_submit(dev, FE_REQ_TRIM, 0, PAGE, 2 * PAGE, NULL, false);
        assert_int_equal(stats(dev).nand.page_programs, 0); /* whole pages are only forgotten */
        ft_device_submit(dev, FE_REQ_TRIM, 0, 3 * PAGE + 512, 2 * PAGE, NULL, true);
        assert_int_equal(stats(dev).nand.page_programs, 2); /* parts of pages are written */
        ft_device_submit(dev, FE_REQ_READ, 0, 0, sizeof buf, buf, false);
        for (size_t i = 0; i < sizeof buf; i++) {
            bool trimmed = (i >= PAGE && i < 3 * PAGE) ||
                           (i >= 3 * PAGE + 512 && i < 5 * PAGE + 512);
            assert_int_equal(buf[i], trimmed ? 0 : 9);
        }
        assert_int_equal(stats(dev).host[FE_REQ_TRIM].ops, 2);
        fe_device_destroy(dev);
    }
}

static void test_device_cache_absorbs_and_flush_pays(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    p.cache = (struct fe_cache_params){.size = 4 * PAGE, .volatile_ = true};
    struct fe_device *dev = ft_device_make(&p, false);
    struct fe_reply r = ft_device_submit(dev, FE_REQ_WRITE, 0, 0, PAGE, NULL, false);
    assert_int_equal(r.complete_ns, 10000 + 2048);
    r = ft_device_submit(dev, FE_REQ_WRITE, 100000, PAGE, 512, NULL, false);
    assert_int_equal(r.complete_ns, 110512);
    assert_int_equal(stats(dev).nand.page_programs, 0);
    r = ft_device_submit(dev, FE_REQ_READ, 200000, 0, PAGE, NULL, false); /* from memory */
    assert_int_equal(r.complete_ns, 210000 + 2048);
    r = ft_device_submit(dev, FE_REQ_FLUSH, 300000, 0, 0, NULL, false);
    assert_int_equal(r.complete_ns, 310000 + 2 * 202212);
    r = ft_device_submit(dev, FE_REQ_WRITE, 1000000, 4 * PAGE, PAGE, NULL, true); /* FUA */
    assert_int_equal(r.complete_ns, 1010000 + 2048 + 202212);
    assert_int_equal(stats(dev).nand.page_programs, 3);
    for (uint64_t i = 0; i < 5; i++) /* four pages of room: the oldest one has to go */
        r = ft_device_submit(dev, FE_REQ_WRITE, 2000000 + i * 100000, (10 + i) * PAGE, PAGE, NULL,
                             false);
    assert_int_equal(stats(dev).nand.page_programs, 4);
    assert_int_equal(r.complete_ns, 2400000 + 10000 + 2048 + 202212);
    fe_device_destroy(dev);
}

static void test_device_idle_time_writes_the_cache_out(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    p.cache = (struct fe_cache_params){.size = 4 * PAGE, .volatile_ = true, .idle_flush = true};
    struct fe_device *dev = ft_device_make(&p, false);
    for (uint64_t i = 0; i < 3; i++)
        ft_device_submit(dev, FE_REQ_WRITE, 0, i * PAGE, PAGE, NULL, false);
    uint64_t busy = stats(dev).busy_ns;
    assert_int_equal(busy, 3 * 12048);
    fe_device_idle(dev, 36144 + 202212 + 1); /* the second one begins 1 ns before */
    assert_int_equal(stats(dev).nand.page_programs, 2);
    assert_int_equal(stats(dev).busy_ns, busy + 202212 + 1);
    assert_int_equal(fe_device_now(dev), 238357);
    assert_int_equal(fe_device_busy_until(dev), 36144 + 2 * 202212);
    struct fe_reply r = ft_device_submit(dev, FE_REQ_READ, 36144 + 202212 + 2, 8 * PAGE, PAGE, NULL,
                                         false);
    assert_int_equal(r.arrival_ns, 238358);
    r = ft_device_submit(dev, FE_REQ_READ, 300000, 0, PAGE, NULL, false); /* waits for the die */
    assert_int_equal(r.complete_ns, 36144 + 2 * 202212 + 100 + 25000 + 2048 + 2048);
    fe_device_idle(dev, 100000000);
    assert_int_equal(stats(dev).nand.page_programs, 3);
    assert_int_equal(fe_device_now(dev), 100000000);
    fe_device_destroy(dev);
}

/* A step of idle work begins when the step before has ended, also on another die that has been
 * free for longer. */
static void test_device_idle_steps_follow_each_other_on_two_dies(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    p.nand.channels = 2;
    p.nand.blocks_per_plane /= 2;
    p.cache = (struct fe_cache_params){.size = 4 * PAGE, .volatile_ = true, .idle_flush = true};
    struct fe_device *dev = ft_device_make(&p, false);
    for (uint64_t i = 0; i < 3; i++)
        ft_device_submit(dev, FE_REQ_WRITE, 0, i * PAGE, PAGE, NULL, false);
    fe_device_idle(dev, 36144 + 202212 + 1);
    assert_int_equal(stats(dev).nand.page_programs, 2);
    assert_int_equal(stats(dev).busy_ns, 36144 + 202212 + 1);
    fe_device_destroy(dev);
}

/* A reset in the middle of a step of 202212 ns: what is left of it counts from then on, no instant is
 * counted twice, and the clock stands still. */
static void test_device_statistics_start_anew_in_an_idle_step(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("page");
    p.cache = (struct fe_cache_params){.size = 4 * PAGE, .volatile_ = true, .idle_flush = true};
    struct fe_device *dev = ft_device_make(&p, false);
    ft_device_submit(dev, FE_REQ_WRITE, 0, 0, PAGE, NULL, false);
    fe_device_idle(dev, 12048 + 70000);
    fe_device_reset_stats(dev);
    assert_int_equal(stats(dev).busy_ns, 0);
    assert_int_equal(stats(dev).device_ns, 82048);
    assert_int_equal(fe_device_busy_until(dev), 214260);
    fe_device_idle(dev, 12048 + 71000);
    assert_int_equal(stats(dev).busy_ns, 1000);
    fe_device_idle(dev, 5000000);
    assert_int_equal(stats(dev).busy_ns, 202212 - 70000);
    assert_int_equal(fe_device_busy_until(dev), 5000000);
    fe_device_destroy(dev);
}

static void test_device_used_part_is_written_before_time_0(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_linked("segment");
    p.ftl.unit.switch_merge = false;
    uint8_t buf[512];
    for (int used = 0; used < 3; used++) {
        p.device.used = used == 0 ? 0 : used == 1 ? 16 * PAGE : UINT64_C(1) << 40;
        struct fe_device *dev = ft_device_make(&p, false);
        struct fe_stats s = stats(dev);
        assert_int_equal(s.busy_ns + s.device_ns + s.nand.page_programs, 0);
        memset(buf, 1, sizeof buf);
        struct fe_reply r = ft_device_submit(dev, FE_REQ_READ, 0, 0, 512, buf, false);
        assert_int_equal(buf[0], 0);
        /* nothing of that life is still under way */
        assert_int_equal(r.complete_ns, used ? 10000 + 100 + 25000 + 512 + 512 : 10000 + 512);
        ft_device_submit(dev, FE_REQ_WRITE, 0, 0, 24 * PAGE, NULL, false);
        /* a used unit is copied when the next one is opened */
        assert_int_equal(stats(dev).ftl.merges_full, used == 0 ? 0 : used == 1 ? 1 : 2);
        fe_device_destroy(dev);
    }
}

static const char profile_text[] =
    "[nand]\ncell = tlc\nblocks_per_plane = 40\npages_per_block = 12\npage_size = 2K\n"
    "tR = 50us/60us/70us\ntPROG = 500us/900us/1500us\ntBERS = 3ms\n"
    "[ftl]\ntype = page\nslc_mode = static\nslc_blocks = 4\nop = 100%\n";

static struct fe_device *make_from_text(void)
{
    struct fe_profile p;
    struct fe_err err;
    fe_err_init(&err);
    if (fe_profile_parse(&p, "text", profile_text, strlen(profile_text), NULL, 0, &err) < 0)
        fail_msg("%s", err.text);
    struct fe_device *dev = ft_device_make(&p, false);
    fe_profile_fini(&p);
    return dev;
}

static void test_device_delays_change_while_it_runs(void **state)
{
    (void)state;
    struct fe_device *dev = make_from_text();
    struct fe_err err;
    fe_err_init(&err);
    struct fe_reply r = ft_device_submit(dev, FE_REQ_WRITE, 0, 0, PAGE, NULL, false);
    assert_int_equal(r.complete_ns, 500000); /* a block in SLC mode: as the first bit */
    assert_int_equal(fe_device_set(dev, "nand.tPROG", "300us/400us/500us", &err), 0);
    r = ft_device_submit(dev, FE_REQ_WRITE, 1000000, 0, PAGE, NULL, false);
    assert_int_equal(r.complete_ns, 1300000);
    assert_int_equal(fe_device_set(dev, "link.command_overhead", "20us", &err), 0);
    r = ft_device_submit(dev, FE_REQ_WRITE, 2000000, 0, PAGE, NULL, false);
    assert_int_equal(r.complete_ns, 2320000);
    assert_string_equal(err.text, "");
    fe_device_destroy(dev);
}

/* A random write of 10 ms, then 2 ms each, 3 ms less until the 10 ms are paid back. */
static void test_device_delays_of_the_step_model_change_while_it_runs(void **state)
{
    (void)state;
    static const char text[] = "[device]\ncapacity = 1M\n[ftl]\ntype = step\n"
                               "[step]\nwrite_random = 10ms\nwrite_step = 3ms\n";
    struct fe_err err;
    struct fe_profile p;
    fe_err_init(&err);
    if (fe_profile_parse(&p, "text", text, strlen(text), NULL, 0, &err) < 0)
        fail_msg("%s", err.text);
    struct fe_device *dev = ft_device_make(&p, false);
    fe_profile_fini(&p);
    struct fe_reply r = ft_device_submit(dev, FE_REQ_WRITE, 0, 0, 512, NULL, false);
    assert_int_equal(r.complete_ns, 10000000);
    assert_int_equal(fe_device_set(dev, "step.write_random", "1ms", &err), 0);
    r = ft_device_submit(dev, FE_REQ_WRITE, 20000000, 512, 512, NULL, false);
    assert_int_equal(r.complete_ns, 20000000 + 3000000 - 1000000); /* no more than is random now */
    assert_int_equal(fe_device_set(dev, "step.write_step", "7ms", &err), 0);
    r = ft_device_submit(dev, FE_REQ_WRITE, 40000000, 1024, 512, NULL, false);
    assert_int_equal(r.complete_ns, 47000000);
    r = ft_device_submit(dev, FE_REQ_WRITE, 60000000, 65536, 512, NULL, false);
    assert_int_equal(r.complete_ns, 61000000);
    assert_int_equal(fe_device_set(dev, "step.read_random", "4ms", &err), 0);
    r = ft_device_submit(dev, FE_REQ_READ, 80000000, 0, 512, NULL, false);
    assert_int_equal(r.complete_ns, 84000000);
    assert_int_equal(fe_device_check(dev, &err), 0);
    assert_string_equal(err.text, "");
    fe_device_destroy(dev);
}

static void test_device_what_is_built_in_cannot_change(void **state)
{
    (void)state;
    struct fe_device *dev = make_from_text();
    static const struct {
        const char *key, *value;
        int errnum;
    } cases[] = {
        {"nand.page_size", "4K", EPERM}, {"ftl.type", "block", EPERM},
        {"nand.tR", "50", EINVAL},       {"nand.tR", "fast", EINVAL},
        {"nand.tX", "50us", EINVAL},     {"nothing", "1", EINVAL},
    };
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        struct fe_err err;
        fe_err_init(&err);
        assert_int_equal(fe_device_set(dev, cases[i].key, cases[i].value, &err), -cases[i].errnum);
        assert_non_null(strstr(err.text, cases[i].key));
    }
    struct fe_reply r = ft_device_submit(dev, FE_REQ_WRITE, 0, 0, PAGE, NULL, false);
    assert_int_equal(r.complete_ns, 500000);
    fe_device_destroy(dev);
}

/* A wrong entry anywhere between host and chip is found in every strategy. */
static void test_device_check_finds_a_page_of_somebody_else(void **state)
{
    (void)state;
    for (int type = 0; fe_ftl_registry[type]; type++) {
        struct fe_profile p = ft_device_linked(fe_ftl_registry[type]->name);
        struct fe_device *dev = ft_device_make(&p, false);
        struct fe_err err;
        fe_err_init(&err);
        ft_device_submit(dev, FE_REQ_WRITE, 0, 0, 20 * PAGE, NULL, false);
        if (fe_device_check(dev, &err) < 0)
            fail_msg("%s: %s", fe_ftl_registry[type]->name, err.text);
        fe_ppn ppn = 0;
        while (ppn < dev->medium->geo.n_ppns && fe_medium_next_page(dev->medium, ppn / 8) == 0)
            ppn++;
        if (ppn < dev->medium->geo.n_ppns) {
            dev->medium->chip.oob_lpn[ppn] += 1000;
            if (fe_device_check(dev, &err) != -EIO || !err.text[0])
                fail_msg("%s: nothing found", fe_ftl_registry[type]->name);
        }
        fe_device_destroy(dev);
    }
}

/* The reserve and all bad blocks are left out of the wear, and counted as bad wherever they are. */
static void test_device_wear_is_that_of_blocks_in_use(void **state)
{
    (void)state;
    enum { N = 8, IN_USE = 6 };
    const struct fe_peb_info blocks[N] = {
        {.erase_count = 5}, {.erase_count = 1, .marks = FE_MARK_FACTORY_BAD},
        {.erase_count = 9}, {.erase_count = 2, .marks = FE_MARK_GROWN_BAD},
        {.erase_count = 7, .marks = FE_MARK_SLC}, {.erase_count = 7},
        {.erase_count = 0, .marks = FE_MARK_FAILED}, {.erase_count = 99, .marks = FE_MARK_FACTORY_BAD},
    };
    struct fe_stats s = {0}, none = {0};
    fe_device_wear_stats(blocks, N, IN_USE, &s);
    assert_int_equal(s.bad_factory, 2);
    assert_int_equal(s.bad_grown, 2);
    assert_int_equal(s.wear.min, 5);
    assert_int_equal(s.wear.max, 9);
    assert_true(s.wear.mean == 7);
    assert_true(fabs(s.wear.stddev - sqrt(2)) < 1e-9);
    fe_device_wear_stats(blocks + 1, 1, 1, &none);
    assert_int_equal(none.wear.min, 0);
    assert_int_equal(none.wear.max, 0);
    /* cmocka takes a NaN for equal to any number */
    assert_true(none.wear.mean == 0 && none.wear.stddev == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_refuses_what_does_not_fit_together),
        cmocka_unit_test(test_device_capacity_follows_from_op),
        cmocka_unit_test(test_device_suggested_op_works),
        cmocka_unit_test(test_device_bad_requests_change_nothing),
        cmocka_unit_test(test_device_times_of_one_command),
        cmocka_unit_test(test_device_large_request_is_cut_into_commands),
        cmocka_unit_test(test_device_arrivals_never_go_back),
        cmocka_unit_test(test_device_statistics_count_and_start_anew),
        cmocka_unit_test(test_device_wear_is_that_of_blocks_in_use),
        cmocka_unit_test(test_device_without_delays_is_never_busy),
        cmocka_unit_test(test_device_trim_reads_zeros_to_the_sector),
        cmocka_unit_test(test_device_cache_absorbs_and_flush_pays),
        cmocka_unit_test(test_device_idle_time_writes_the_cache_out),
        cmocka_unit_test(test_device_idle_steps_follow_each_other_on_two_dies),
        cmocka_unit_test(test_device_statistics_start_anew_in_an_idle_step),
        cmocka_unit_test(test_device_used_part_is_written_before_time_0),
        cmocka_unit_test(test_device_delays_change_while_it_runs),
        cmocka_unit_test(test_device_delays_of_the_step_model_change_while_it_runs),
        cmocka_unit_test(test_device_what_is_built_in_cannot_change),
        cmocka_unit_test(test_device_check_finds_a_page_of_somebody_else),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
