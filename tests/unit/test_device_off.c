/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device without power, or whose host cannot write the image, does nothing to its chip.  And what a cut
 * does to it is done once.
 */
#include "lib/device.h"
#include "lib/fault_io.h"
#include "lib/other_host.h"
#include "lib/unit.h"

#include "device/internal.h"
#include "flashemu/faults.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE 2048u

static uint8_t data[PAGE];

static void expect(int r, int want, const struct fe_err *err, const char *text)
{
    assert_int_equal(r, want);
    if (!strstr(err->text, text))
        fail_msg("%s, not %s", err->text, text);
}

/* Tries each fault of the chip. */
static void expect_all_refused(struct fe_device *dev, int want, const char *text)
{
    struct fe_err err = {""};
    uint64_t now = fe_device_now(dev);
    expect(fe_device_mark_bad(dev, now, 2, &err), want, &err, text);
    err.text[0] = '\0';
    expect(fe_device_flip(dev, 0, 1, &err), want, &err, text);
    err.text[0] = '\0';
    expect(fe_device_set_cycles(dev, 2, 7, &err), want, &err, text);
}

static void test_off_faults_need_power(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    struct fe_stats stats;
    struct fe_err err = {""};
    uint64_t ready;
    p.wear.spare_blocks = 2;
    p.device.capacity = 80 << 10;
    struct fe_device *dev = ft_device_make(&p, true);
    ft_device_submit(dev, FE_REQ_WRITE, 0, 0, PAGE, data, false);
    assert_int_equal(fe_device_plan_cut(dev, fe_device_now(dev) + 5, 0, &err), 0);
    expect(fe_device_mark_bad(dev, fe_device_now(dev) + 9, 2, &err), -EINVAL, &err, "power is off");
    expect_all_refused(dev, -EINVAL, "power is off");
    fe_device_get_stats(dev, &stats);
    assert_int_equal(stats.bad_grown, 0);
    assert_int_equal(fe_medium_erase_count(dev->medium, 2), 0);
    assert_int_equal(fe_device_power_on(dev, fe_device_now(dev), &ready, &err), 0);
    assert_int_equal(fe_device_mark_bad(dev, fe_device_now(dev), 2, &err), 0);
    assert_int_equal(fe_device_set_cycles(dev, 3, 7, &err), 0);
    fe_device_destroy(dev);
}

/* The host fails before power-on, or at each of its writes. */
static void test_off_host_has_failed(void **state)
{
    (void)state;
    char path[] = "/tmp/fe-off-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    bool on = false;
    for (uint64_t at = 0; !on; at++) {
        struct fe_profile p = ft_device_profile("page");
        struct fe_device *dev;
        struct fe_err err = {""};
        struct ft_io io;
        uint64_t ready, programs;
        ft_io_init(&io);
        unlink(path);
        p.power.map_lost_ppm = 1000000; /* so that power-on has much to do */
        const struct fe_store_file file = {.path = path, .io = &io.io};
        const struct fe_device_options opt = {
            .seed = 1, .payload = true, .power_cuts = true, .file = &file};
        assert_int_equal(fe_device_create(&dev, &p, &opt, &err), 0);
        for (uint64_t i = 0; i < 20; i++)
            ft_device_submit(dev, FE_REQ_WRITE, fe_device_now(dev), i * PAGE, PAGE, data, false);
        io.fail_call = FT_PWRITE;
        io.fail_errno = ENOSPC;
        io.fail_on = true;
        if (at == 0) {
            struct fe_request req = {.type = FE_REQ_WRITE, .len = PAGE, .buf = data};
            struct fe_reply reply;
            io.fail_at = io.n[FT_PWRITE] + 1;
            assert_int_equal(fe_device_submit(dev, fe_device_now(dev), &req, &reply), 0);
            assert_int_equal(reply.status, FE_HOST_FAILED);
            expect_all_refused(dev, -ENOSPC, "No space left");
        }
        assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), &err), 0);
        io.fail_at = at ? io.n[FT_PWRITE] + at : io.fail_at;
        programs = dev->medium->counters.page_programs + dev->medium->counters.block_erases;
        int r = fe_device_power_on(dev, fe_device_now(dev), &ready, &err);
        on = r == 0;
        assert_int_equal(on, fe_device_has_power(dev));
        if (!on)
            expect(r, -ENOSPC, &err, "power stays off: ");
        if (at == 0)
            assert_int_equal(dev->medium->counters.page_programs +
                             dev->medium->counters.block_erases, programs);
        fe_device_destroy(dev);
        ft_io_fini(&io);
        assert_true(at < 1000);
    }
    unlink(path);
}

/* The device of an image that has written this page four times, 11 to 14, and has lost power. */
static void make_and_cut(const struct fe_profile *p, const struct fe_device_options *opt)
{
    struct fe_device *dev;
    struct fe_err err = {""};
    if (fe_device_create(&dev, p, opt, &err) < 0)
        fail_msg("%s", err.text);
    for (int byte = 11; byte <= 14; byte++) {
        memset(data, byte, PAGE);
        ft_device_submit(dev, FE_REQ_WRITE, fe_device_now(dev), 3 * PAGE, PAGE, data, false);
    }
    assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), &err), 0);
    fe_device_destroy(dev);
}

/* A page comes back stale once for each cut: the copy in front of the newest one comes back.  The host
 * crashes at any change of the power-on, and the disk keeps any part of it, so it may be the newest, too. */
static void test_off_pages_come_back_stale_once(void **state)
{
    enum { CHANGES = 14, SEEDS = 10 };
    char path[] = "/tmp/fe-off-XXXXXX";
    int fd = mkstemp(path), n[16] = {0};
    (void)state;
    assert_true(fd >= 0 && close(fd) == 0);
    for (uint64_t k = 0; k < CHANGES * SEEDS; k++) {
        struct fe_profile p = ft_device_profile("page");
        struct fe_device *dev = NULL;
        struct fe_err err = {""};
        struct ft_io io;
        ft_io_init(&io);
        unlink(path);
        const struct fe_store_file file = {.path = path, .sync = true, .io = &io.io};
        const struct fe_device_options opt = {
            .seed = 1, .payload = true, .power_cuts = true, .file = &file};
        make_and_cut(&p, &opt);
        p.power.stale_ppm = 1000000;
        io.log = true;
        io.changes_left = k / SEEDS;
        (void)fe_device_create(&dev, &p, &opt, &err); /* the host goes down in it, or behind it */
        fe_device_destroy(dev);
        ft_io_crash(&io, path, k);
        ft_pretend_another_host(path);
        io.changes_left = UINT64_MAX;
        if (fe_device_create(&dev, &p, &opt, &err) < 0)
            fail_msg("%s", err.text);
        ft_device_submit(dev, FE_REQ_READ, fe_device_now(dev), 3 * PAGE, PAGE, data, false);
        n[data[17] % 16]++;
        fe_device_destroy(dev);
        ft_io_fini(&io);
    }
    assert_in_range(n[13], 1, CHANGES * SEEDS - 1);
    assert_int_equal(n[13] + n[14], CHANGES * SEEDS);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_faults_need_power),
        cmocka_unit_test(test_off_host_has_failed),
        cmocka_unit_test(test_off_pages_come_back_stale_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
