/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules by hand: n tasks in a queue of q places on k dies, pages that are written behind,
 * reliable writes, programs in one shot.
 *
 * Nothing takes time but the cells and, where a test says so, the link: tR is 25 us and tPROG
 * 200 us, a page is 2048 bytes, and page i lies on die i % k.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "device/internal.h"

enum { PAGE = 2048, TR = 25000, TPROG = 200000 };

static struct fe_reply submit(struct fe_device *dev, enum fe_req_type type, uint64_t now,
                              uint64_t page, uint64_t pages, bool fua)
{
    return ft_device_submit(dev, type, now, page * PAGE, pages * PAGE, NULL, fua);
}

static uint64_t busy(const struct fe_device *dev)
{
    struct fe_stats s;
    fe_device_get_stats(dev, &s);
    return s.busy_ns;
}

/* n reads of pages 0, step, 2 * step ..., all of which the host has from time 0 on.  expect[i] is
 * the completion of the i-th in tR. */
static void check_reads(uint32_t dies, uint32_t depth, uint32_t queue, uint32_t step,
                        const uint32_t *expect, uint32_t n)
{
    struct fe_profile p = ft_device_dies(dies, depth);
    p.link.queue = queue;
    struct fe_device *dev = ft_device_make(&p, false);
    for (uint32_t i = 0; i < n; i++) {
        struct fe_reply r = submit(dev, FE_REQ_READ, 0, i * step, 1, false);
        if (r.complete_ns != expect[i] * (uint64_t)TR)
            fail_msg("%u dies, depth %u, queue %u, step %u: read %u ends at %llu, not %u tR", dies,
                     depth, queue, step, i, (unsigned long long)r.complete_ns, expect[i]);
    }
    fe_device_destroy(dev);
}

static void test_queue_of_n_tasks_on_k_dies(void **state)
{
    (void)state;
    const uint32_t alone[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const uint32_t four[] = {1, 1, 1, 1, 2, 2, 2, 2};
    const uint32_t two[] = {1, 1, 2, 2, 3, 3, 4, 4};
    check_reads(4, 1, FE_QUEUE_IN_ORDER, 1, alone, 8);  /* one command at a time */
    check_reads(4, 32, FE_QUEUE_OFF, 1, alone, 8);      /* one key makes the same of a queue */
    check_reads(4, 4, FE_QUEUE_IN_ORDER, 1, four, 8);   /* a task for each die */
    check_reads(4, 32, FE_QUEUE_IN_ORDER, 1, four, 8);  /* more places, no more dies */
    check_reads(4, 2, FE_QUEUE_IN_ORDER, 1, two, 8);    /* fewer places than dies */
    check_reads(2, 32, FE_QUEUE_ANY_ORDER, 1, two, 8);
    check_reads(4, 32, FE_QUEUE_ANY_ORDER, 4, alone, 8); /* all on one die */
}

/* Tasks in turn: one after the other however many dies there are, unless each continues the one
 * before. */
static void test_queue_in_turn(void **state)
{
    (void)state;
    const uint32_t alone[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const uint32_t four[] = {1, 1, 1, 1, 2, 2, 2, 2};
    const uint32_t pairs[] = {1, 1, 2, 2, 3, 3, 4, 4};
    check_reads(4, 4, FE_QUEUE_IN_TURN, 1, four, 8);
    check_reads(4, 4, FE_QUEUE_IN_TURN, 2, alone, 8);
    check_reads(4, 4, FE_QUEUE_IN_ORDER, 2, pairs, 8); /* on two of the dies */
}

/* The data of a write wait for their turn as well, also behind a write that has been answered.  A
 * read does not continue a write. */
static void test_queue_in_turn_writes(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        struct fe_profile p = ft_device_dies(4, 4);
        uint64_t answer = behind ? 0 : TPROG, end = PAGE + TPROG;
        p.link.queue = FE_QUEUE_IN_TURN;
        p.link.bandwidth = 1000000000;
        p.cache.volatile_ = true;
        p.cache.write_behind = behind ? 8 * PAGE : 0;
        struct fe_device *dev = ft_device_make(&p, false);
        assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 0, 1, false).complete_ns, PAGE + answer);
        assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 1, 1, false).complete_ns, 2 * PAGE + answer);
        end += PAGE; /* page 1 has continued page 0; page 8 has to wait for both */
        assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 8, 1, false).complete_ns,
                         end + PAGE + answer);
        end += PAGE + TPROG;
        assert_int_equal(submit(dev, FE_REQ_READ, 0, 9, 1, false).complete_ns, end + TR + PAGE);
        fe_device_destroy(dev);
    }
}

/* A write that waits for its turn is sent then, so its overhead comes behind.  That of a read, and of
 * a write that continues the one before, passes meanwhile. */
static void test_queue_in_turn_overhead(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_dies(4, 4);
    uint64_t overhead = 3 * PAGE, end = overhead + PAGE + TPROG;
    p.link.queue = FE_QUEUE_IN_TURN;
    p.link.bandwidth = 1000000000;
    p.link.command_overhead_ns = overhead;
    struct fe_device *dev = ft_device_make(&p, false);
    assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 0, 1, false).complete_ns, end);
    assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 8, 1, false).complete_ns,
                     end + overhead + PAGE + TPROG);
    end += overhead + PAGE + TPROG;
    assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 9, 1, false).complete_ns, end + PAGE);
    assert_int_equal(submit(dev, FE_REQ_READ, 0, 1, 1, false).complete_ns, end + PAGE + TR + PAGE);
    fe_device_destroy(dev);
}

/* A read of n pages on one die whose pages are sent by twos: when it completes. */
static void test_read_buffer_is_sent_when_it_is_full(void **state)
{
    (void)state;
    const uint64_t by_one[] = {0, TR + PAGE, 2 * TR + PAGE, 3 * TR + PAGE, 4 * TR + PAGE};
    const uint64_t by_two[] = {0, TR + PAGE, 2 * TR + 2 * PAGE, 3 * TR + PAGE, 4 * TR + 2 * PAGE};
    const uint64_t by_eight[] = {0, TR + PAGE, 2 * TR + 2 * PAGE, 3 * TR + 3 * PAGE,
                                 4 * TR + 4 * PAGE};
    const uint64_t *const expect[] = {by_one, by_two, by_eight};
    static const uint64_t buffer[] = {0, 2 * PAGE, 8 * PAGE};
    for (int b = 0; b < 3; b++)
        for (uint64_t n = 1; n <= 4; n++) {
            struct fe_profile p = ft_device_dies(1, 1);
            p.link.bandwidth = 1000000000;
            p.link.read_buffer = buffer[b];
            struct fe_device *dev = ft_device_make(&p, false);
            uint64_t end = submit(dev, FE_REQ_READ, 0, 0, n, false).complete_ns;
            assert_int_equal(end, expect[b][n]);
            /* nothing is left in the buffer */
            assert_int_equal(submit(dev, FE_REQ_READ, end, 9, 1, false).complete_ns - end,
                             TR + PAGE);
            fe_device_destroy(dev);
        }
}

/* A host that keeps one request in flight gains nothing from a queue, and pays for its tasks. */
static void test_queue_costs_a_host_with_one_request(void **state)
{
    (void)state;
    for (uint32_t queue = 0; queue < FE_N_QUEUES; queue++) {
        struct fe_profile p = ft_device_dies(4, 32);
        p.link.queue = queue;
        p.link.command_overhead_ns = 1000;
        p.link.task_overhead_ns = 700;
        p.link.bandwidth = 1000000000;
        struct fe_device *dev = ft_device_make(&p, false);
        uint64_t now = 0, task = queue == FE_QUEUE_OFF ? 0 : 700;
        for (uint64_t i = 0; i < 4; i++) {
            struct fe_reply r = submit(dev, FE_REQ_READ, now, i, 1, false);
            assert_int_equal(r.complete_ns - now, 1000 + TR + task + PAGE);
            now = r.complete_ns;
        }
        fe_device_destroy(dev);
    }
}

/* The first read waits for a die that is programming, the second one does not. */
static void test_queue_in_order_waits_and_any_order_overtakes(void **state)
{
    (void)state;
    for (uint32_t queue = 0; queue < FE_QUEUE_OFF; queue++) {
        struct fe_profile p = ft_device_dies(2, 4);
        p.link.queue = queue;
        p.link.bandwidth = 1000000000;
        struct fe_device *dev = ft_device_make(&p, false);
        uint64_t end = submit(dev, FE_REQ_WRITE, 0, 0, 1, false).complete_ns;
        assert_int_equal(end, PAGE + TPROG); /* on die 0 */
        assert_int_equal(submit(dev, FE_REQ_READ, PAGE, 2, 1, false).complete_ns, end + TR + PAGE);
        assert_int_equal(submit(dev, FE_REQ_READ, PAGE, 1, 1, false).complete_ns,
                         queue == FE_QUEUE_IN_ORDER ? end + TR + 2 * PAGE : PAGE + TR + PAGE);
        fe_device_destroy(dev);
    }
}

static struct fe_profile make_behind(uint32_t pages)
{
    struct fe_profile p = ft_device_dies(1, 1);
    p.device.used = 0;
    p.link.bandwidth = 1000000000;
    p.cache = (struct fe_cache_params){.write_behind = pages * PAGE, .volatile_ = true};
    return p;
}

/* Two pages come in at the speed of the link, all others at that of the flash; a flush waits for
 * everything. */
static void test_behind_takes_m_pages_and_then_waits(void **state)
{
    (void)state;
    struct fe_profile p = make_behind(2);
    struct fe_device *dev = ft_device_make(&p, false);
    uint64_t a = PAGE + TPROG; /* the end of the first program */
    uint64_t now = submit(dev, FE_REQ_WRITE, 0, 0, 1, false).complete_ns;
    assert_int_equal(now, PAGE);
    now = submit(dev, FE_REQ_WRITE, now, 1, 1, false).complete_ns;
    assert_int_equal(now, 2 * PAGE);
    now = submit(dev, FE_REQ_WRITE, now, 2, 1, false).complete_ns;
    assert_int_equal(now, a + PAGE);
    now = submit(dev, FE_REQ_WRITE, now, 3, 1, false).complete_ns;
    assert_int_equal(now, a + TPROG + PAGE);
    assert_int_equal(busy(dev), now); /* what is still on its way comes later */
    now = submit(dev, FE_REQ_FLUSH, now, 0, 0, false).complete_ns;
    assert_int_equal(now, PAGE + 4 * TPROG);
    assert_int_equal(busy(dev), now);
    fe_device_destroy(dev);
}

static void test_behind_one_request_of_many_pages(void **state)
{
    (void)state;
    for (uint32_t m = 1; m <= 8; m++) {
        struct fe_profile p = make_behind(m);
        struct fe_device *dev = ft_device_make(&p, false);
        /* the last page comes in when page 8 - m has been written */
        uint64_t wait = m == 8 ? 8 * PAGE : PAGE + (8 - m) * TPROG + PAGE;
        if (m == 1) /* the flash waits for each page as well */
            wait = 8 * PAGE + 7 * TPROG;
        assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 0, 8, false).complete_ns, wait);
        fe_device_destroy(dev);
    }
}

static void test_behind_fua_and_off_wait_for_the_flash(void **state)
{
    (void)state;
    struct fe_profile p = make_behind(4);
    struct fe_device *dev = ft_device_make(&p, false);
    assert_true(fe_device_is_volatile(dev));
    assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 0, 1, true).complete_ns, PAGE + TPROG);
    fe_device_destroy(dev);
    p.cache.mode = FE_CACHE_OFF;
    dev = ft_device_make(&p, false);
    assert_false(fe_device_is_volatile(dev));
    uint64_t now = submit(dev, FE_REQ_WRITE, 0, 0, 1, false).complete_ns;
    assert_int_equal(now, PAGE + TPROG);
    assert_int_equal(submit(dev, FE_REQ_FLUSH, now, 0, 0, false).complete_ns, now);
    fe_device_destroy(dev);
}

/* Without a cache the buffer is as large as before: the data of page 3 wait for the end of page 1,
 * and the host asks after the last data. */
static void test_behind_off_keeps_the_buffer(void **state)
{
    (void)state;
    struct fe_profile p = make_behind(2);
    p.cache.mode = FE_CACHE_OFF;
    p.link.queue = FE_QUEUE_OFF;
    struct fe_device *dev = ft_device_make(&p, false);
    uint64_t end = PAGE + 4 * TPROG, in = PAGE + 2 * TPROG + PAGE;
    assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 0, 4, false).complete_ns, end);
    assert_int_equal(dev->link.wire_free_ns, in);
    fe_device_destroy(dev);
    p.link.busy_poll_ns = 100000;
    dev = ft_device_make(&p, false);
    assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 0, 4, false).complete_ns, in + 700000);
    assert_int_equal(submit(dev, FE_REQ_READ, in + 700000, 0, 1, false).complete_ns,
                     in + 700000 + TR + PAGE); /* a read needs no asking */
    fe_device_destroy(dev);
}

/* Statistics that start anew while a page is on its way count the rest of that way. */
static void test_behind_busy_time_is_counted_once(void **state)
{
    (void)state;
    struct fe_profile p = make_behind(4);
    struct fe_device *dev = ft_device_make(&p, false);
    submit(dev, FE_REQ_WRITE, 0, 0, 1, false);
    fe_device_reset_stats(dev);
    assert_int_equal(busy(dev), 0);
    fe_device_idle(dev, 10 * TPROG);
    assert_int_equal(busy(dev), TPROG);
    fe_device_destroy(dev);
}

/* A power cut takes what was answered and not flushed, and nothing that was flushed. */
static void test_behind_cut_takes_what_was_not_flushed(void **state)
{
    (void)state;
    struct fe_profile p = make_behind(4);
    uint8_t old[PAGE], new[PAGE], found[PAGE];
    memset(old, 1, sizeof old);
    memset(new, 2, sizeof new);
    for (int flushed = 0; flushed < 2; flushed++) {
        struct fe_device *dev = ft_device_make(&p, true);
        struct fe_request req = {.type = FE_REQ_WRITE, .len = PAGE, .buf = old, .fua = true};
        struct fe_reply r;
        uint64_t ready;
        assert_int_equal(fe_device_submit(dev, 0, &req, &r), 0);
        req.buf = new;
        req.fua = false;
        assert_int_equal(fe_device_submit(dev, r.complete_ns, &req, &r), 0);
        if (flushed)
            r = submit(dev, FE_REQ_FLUSH, r.complete_ns, 0, 0, false);
        assert_int_equal(fe_device_cut_power(dev, r.complete_ns, NULL), 0);
        assert_int_equal(fe_device_power_on(dev, r.complete_ns, &ready, NULL), 0);
        req = (struct fe_request){.type = FE_REQ_READ, .len = PAGE, .buf = found};
        assert_int_equal(fe_device_submit(dev, ready, &req, &r), 0);
        assert_memory_equal(found, flushed ? new : old, PAGE);
        fe_device_destroy(dev);
    }
}

/* One page of a run goes to the SLC cache.  The second write continues the run if it waits for the
 * first one, or if the first one has been answered but is still being programmed; it begins a new
 * run if the device has done everything. */
enum { SLC = 50000 };

static void with_runs(struct fe_profile *p)
{
    p->device.used = 0;
    p->link.bandwidth = 1000000000;
    p->nand.cell = FE_CELL_MLC;
    p->nand.slc_tPROG_ns = SLC;
    p->ftl.page.slc_mode = FE_SLC_STATIC;
    p->ftl.page.slc_blocks = 2;
    p->ftl.page.slc_run = PAGE;
    p->ftl.page.slc_pause = true;
}

static void test_pause_ends_a_run_when_nothing_is_left(void **state)
{
    (void)state;
    for (uint32_t behind = 0; behind < 2; behind++)
        for (uint64_t late = 0; late < 2; late++) {
            struct fe_profile p = behind ? make_behind(1) : ft_device_dies(1, 1);
            with_runs(&p);
            struct fe_device *dev = ft_device_make(&p, false);
            submit(dev, FE_REQ_WRITE, 0, 0, 1, false);
            uint64_t end = PAGE + SLC, at = end - 1 + late;
            submit(dev, FE_REQ_WRITE, at, 1, 1, false);
            uint64_t in = (late ? at : end) + PAGE, all = fe_sched_all_end(&dev->sched);
            assert_int_equal(all - in, late ? SLC : TPROG);
            fe_device_destroy(dev);
        }
}

/* The flash has ended, but the host has not asked yet: the next write has been waiting. */
static void test_pause_needs_a_host_that_knows(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_dies(1, 1);
    with_runs(&p);
    p.link.queue = FE_QUEUE_OFF;
    p.link.busy_poll_ns = SLC + 30000;
    struct fe_device *dev = ft_device_make(&p, false);
    uint64_t heard = submit(dev, FE_REQ_WRITE, 0, 0, 1, false).complete_ns;
    assert_int_equal(heard, PAGE + SLC + 30000);
    submit(dev, FE_REQ_WRITE, heard - 10000, 1, 1, false);
    assert_int_equal(fe_sched_all_end(&dev->sched), heard + PAGE + TPROG);
    fe_device_destroy(dev);
}

static void test_behind_cache_gathers_first(void **state)
{
    (void)state;
    struct fe_profile p = make_behind(1);
    p.cache.size = 2 * PAGE;
    struct fe_device *dev = ft_device_make(&p, false);
    uint64_t now = 0;
    for (uint64_t i = 0; i < 3; i++) /* two stay in the cache, the third one sends the first on */
        now = submit(dev, FE_REQ_WRITE, now, i, 1, false).complete_ns;
    assert_int_equal(now, 3 * PAGE);
    now = submit(dev, FE_REQ_WRITE, now, 3, 1, false).complete_ns; /* and has to wait for it */
    assert_int_equal(now, 3 * PAGE + TPROG + PAGE);
    fe_device_destroy(dev);
}

/* A page that stays in the cache takes no place: page 2 sends page 1 on, whose place is free, and
 * not to that of page 0. */
static void test_behind_cached_pages_take_no_place(void **state)
{
    (void)state;
    struct fe_profile p = make_behind(2);
    p.cache.size = PAGE;
    struct fe_device *dev = ft_device_make(&p, false);
    static const uint32_t pages[] = {0, 1, 1, 2};
    for (uint64_t i = 0, now = 0; i < 4; i++) {
        now = submit(dev, FE_REQ_WRITE, now, pages[i], 1, false).complete_ns;
        assert_int_equal(now, (i + 1) * PAGE);
    }
    fe_device_destroy(dev);
}

/* What a strategy does at the end of a command belongs to the last page: a block is replaced, and
 * the next page waits until that has ended. */
static void test_behind_the_end_of_a_command_keeps_the_place(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("block");
    p.nand.bus_rate = 0;
    p.link.bandwidth = 1000000000;
    p.link.max_transfer = 64 * PAGE;
    p.device.used = p.device.capacity;
    p.cache = (struct fe_cache_params){.write_behind = PAGE, .volatile_ = true};
    struct fe_device *dev = ft_device_make(&p, false);
    assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 0, 1, false).complete_ns, PAGE);
    uint64_t end = fe_sched_all_end(&dev->sched);
    assert_true(end > PAGE + 2 * TPROG); /* it has copied other pages */
    assert_int_equal(submit(dev, FE_REQ_WRITE, PAGE, 32, 1, false).complete_ns, end + PAGE);
    fe_device_destroy(dev);
}

/* Nothing is on its way after a power cut, so the first page does not wait for one of before. */
static void test_behind_is_empty_after_a_cut(void **state)
{
    (void)state;
    struct fe_profile p = make_behind(1);
    struct fe_device *dev = ft_device_make(&p, true);
    uint64_t ready, end = submit(dev, FE_REQ_WRITE, 0, 0, 32, false).complete_ns + TPROG;
    assert_int_equal(fe_device_cut_power(dev, PAGE, NULL), 0);
    assert_int_equal(fe_device_power_on(dev, PAGE, &ready, NULL), 0);
    assert_true(ready + PAGE < end);
    assert_int_equal(submit(dev, FE_REQ_WRITE, ready, 1, 1, false).complete_ns, ready + PAGE);
    fe_device_destroy(dev);
}

/* The write in which the device's life ends is no success, so its answer is not there before the
 * flash has failed. */
static void test_behind_end_of_life_is_no_early_answer(void **state)
{
    (void)state;
    struct fe_profile p = make_behind(4);
    p.wear.fail_program = 2;
    struct fe_device *dev = ft_device_make(&p, false);
    uint64_t now = submit(dev, FE_REQ_WRITE, 0, 0, 1, false).complete_ns;
    struct fe_request req = {.type = FE_REQ_WRITE, .offset = PAGE, .len = PAGE};
    struct fe_reply reply;
    assert_int_equal(now, PAGE);
    assert_int_equal(fe_device_submit(dev, now, &req, &reply), 0);
    assert_int_equal(reply.status, FE_READ_ONLY);
    assert_true(reply.complete_ns >= PAGE + 2 * TPROG);
    fe_device_destroy(dev);
}

/* The controller works for 70 us more, and lets everything else wait meanwhile. */
static void test_reliable_write_costs_the_controller_time(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_dies(2, 4);
    p.cache.reliable_ns = 70000;
    struct fe_device *dev = ft_device_make(&p, false);
    assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 0, 1, false).complete_ns, TPROG);
    assert_int_equal(submit(dev, FE_REQ_WRITE, TPROG, 1, 2, true).complete_ns, 2 * TPROG + 70000);
    assert_int_equal(submit(dev, FE_REQ_WRITE, TPROG, 3, 1, false).complete_ns, 3 * TPROG + 70000);
    fe_device_destroy(dev);
}

/* Of a write of two pages on two dies, each is old or new whenever power fails, and new from the
 * answer on. */
static void test_reliable_write_leaves_pages_old_or_new(void **state)
{
    enum { STEP = 10000, ANSWER = TPROG + 70000 };
    uint8_t old[2 * PAGE], new[2 * PAGE], found[2 * PAGE];
    uint32_t n_old = 0, n_new = 0;
    (void)state;
    memset(old, 1, sizeof old);
    memset(new, 2, sizeof new);
    for (uint64_t at = 0; at <= ANSWER + STEP; at += STEP) {
        struct fe_profile p = ft_device_dies(2, 4);
        p.cache.reliable_ns = 70000;
        p.link.bandwidth = UINT64_C(100000000); /* 20.48 us for a page */
        struct fe_device *dev = ft_device_make(&p, true);
        struct fe_request req = {.type = FE_REQ_WRITE, .len = sizeof old, .buf = old, .fua = true};
        struct fe_reply r;
        uint64_t ready, begin, end;
        assert_int_equal(fe_device_submit(dev, 0, &req, &r), 0);
        begin = r.complete_ns;
        req.buf = new;
        assert_int_equal(fe_device_submit(dev, begin, &req, &r), 0);
        end = r.complete_ns;
        assert_int_equal(end - begin, 40960 + ANSWER);
        assert_int_equal(fe_device_cut_power(dev, begin + at + 40960, NULL), 0);
        assert_int_equal(fe_device_power_on(dev, begin + at + 40960, &ready, NULL), 0);
        req = (struct fe_request){.type = FE_REQ_READ, .len = sizeof found, .buf = found};
        assert_int_equal(fe_device_submit(dev, ready, &req, &r), 0);
        for (uint32_t i = 0; i < 2; i++) {
            bool is_new = found[i * PAGE] == 2;
            assert_memory_equal(found + i * PAGE, is_new ? new : old, PAGE);
            assert_true(is_new || at < ANSWER);
            n_old += !is_new;
            n_new += is_new;
        }
        fe_device_destroy(dev);
    }
    assert_true(n_old > 10 && n_new > 10);
}

/* A one-shot program is in the times of the bits: the first two pages of a word line only go to the
 * registers, and the third one programs all three. */
static void test_one_shot_program(void **state)
{
    static const uint64_t expect[6] = {0, 0, 600000, 600000, 600000, 1200000};
    (void)state;
    struct fe_profile p = ft_device_dies(1, 1);
    p.nand.cell = FE_CELL_TLC;
    p.nand.tPROG_ns[0] = p.nand.tPROG_ns[1] = 0;
    p.nand.tPROG_ns[2] = 600000;
    p.nand.pages_per_block = 9;
    p.device.used = 0;
    struct fe_device *dev = ft_device_make(&p, false);
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(submit(dev, FE_REQ_WRITE, 0, i, 1, false).complete_ns, expect[i]);
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_of_n_tasks_on_k_dies),
        cmocka_unit_test(test_queue_in_turn),
        cmocka_unit_test(test_queue_in_turn_writes),
        cmocka_unit_test(test_queue_in_turn_overhead),
        cmocka_unit_test(test_read_buffer_is_sent_when_it_is_full),
        cmocka_unit_test(test_queue_costs_a_host_with_one_request),
        cmocka_unit_test(test_queue_in_order_waits_and_any_order_overtakes),
        cmocka_unit_test(test_behind_takes_m_pages_and_then_waits),
        cmocka_unit_test(test_behind_one_request_of_many_pages),
        cmocka_unit_test(test_behind_fua_and_off_wait_for_the_flash),
        cmocka_unit_test(test_behind_off_keeps_the_buffer),
        cmocka_unit_test(test_behind_busy_time_is_counted_once),
        cmocka_unit_test(test_behind_cut_takes_what_was_not_flushed),
        cmocka_unit_test(test_behind_cache_gathers_first),
        cmocka_unit_test(test_behind_cached_pages_take_no_place),
        cmocka_unit_test(test_behind_the_end_of_a_command_keeps_the_place),
        cmocka_unit_test(test_behind_is_empty_after_a_cut),
        cmocka_unit_test(test_behind_end_of_life_is_no_early_answer),
        cmocka_unit_test(test_reliable_write_costs_the_controller_time),
        cmocka_unit_test(test_reliable_write_leaves_pages_old_or_new),
        cmocka_unit_test(test_one_shot_program),
        cmocka_unit_test(test_pause_ends_a_run_when_nothing_is_left),
        cmocka_unit_test(test_pause_needs_a_host_that_knows),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
