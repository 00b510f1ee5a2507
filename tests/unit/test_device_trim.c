/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A long trim is done in parts: between them the device can be looked at, and parts and pauses
 * change nothing.  And what a device tells of its extents.
 */
#include "flashemu/extents.h"
#include "flashemu/pause.h"

#include "lib/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PAGES UINT64_C(60000)

struct watch {
    struct fe_device *dev;
    uint64_t page, trimmed, n;
};

static enum fe_extent_kind kind_at(const struct watch *w, uint64_t page)
{
    struct fe_extent e;
    assert_int_equal(fe_device_extent(w->dev, 0, page * w->page, w->page, &e), FE_OK);
    return e.kind;
}

/* What was trimmed so far is a hole, up to a part further than the last time. */
static void look(void *ctx)
{
    struct watch *w = ctx;
    uint64_t to = w->trimmed;
    while (to < PAGES && kind_at(w, to) == FE_EXTENT_HOLE)
        to++;
    assert_true(to > w->trimmed && to - w->trimmed <= FE_TRIM_PART_PAGES + 1024);
    assert_int_equal(kind_at(w, PAGES - 1), FE_EXTENT_ZERO);
    w->trimmed = to;
    w->n++;
}

/* Trims all but a part of the first page, after some writes; *ret_dev can be asked for more. */
static struct fe_reply trim(const char *type, const char *page_size, struct watch *w)
{
    const char *overrides[] = {type, page_size, "device.used=96M"};
    struct fe_device_options opt = {.seed = 1, .payload = true, .power_cuts = true};
    struct fe_profile p;
    struct fe_reply reply;
    struct fe_err err;
    assert_int_equal(fe_profile_load(&p, "ssd-page", overrides, 3, &err), 0);
    assert_int_equal(fe_device_create(&w->dev, &p, &opt, &err), 0);
    fe_profile_fini(&p);
    w->page = fe_device_page_bytes(w->dev);
    for (uint64_t i = 0; i < 300; i++)
        ft_device_submit(w->dev, FE_REQ_WRITE, 0, i * 199 % PAGES * w->page, w->page, NULL, false);
    struct fe_request req = {
        .type = FE_REQ_TRIM, .offset = 512, .len = PAGES * w->page - 512 - w->page};
    fe_device_reset_stats(w->dev);
    fe_device_set_pause(w->dev, w->trimmed ? look : NULL, w);
    assert_int_equal(fe_device_submit(w->dev, UINT64_C(1) << 40, &req, &reply), 0);
    return reply;
}

static void compare(const char *type, const char *page_size)
{
    struct watch with = {.trimmed = 1}, without = {.n = 0};
    struct fe_reply a = trim(type, page_size, &with), b = trim(type, page_size, &without);
    struct fe_stats sa, sb;
    struct fe_err err;

    assert_in_range(with.n, 9, PAGES / FE_TRIM_PART_PAGES + 1);
    assert_int_equal(a.status, FE_OK);
    assert_int_equal(a.complete_ns, b.complete_ns);
    fe_device_get_stats(with.dev, &sa);
    fe_device_get_stats(without.dev, &sb);
    assert_memory_equal(&sa, &sb, sizeof sa);
    assert_int_equal(sa.host[FE_REQ_TRIM].ops, 1);
    assert_int_equal(fe_device_check(with.dev, &err), 0);
    fe_device_destroy(with.dev);
    fe_device_destroy(without.dev);
}

static void test_pauses_change_nothing(void **state)
{
    (void)state;
    compare("ftl.type=page", "nand.page_size=1K");
    compare("ftl.type=norlog", "nand.page_size=1K");
    compare("ftl.type=dftl", "nand.page_size=1K");
}

/* What dftl reads and writes of its table for a trim: it reads a page of the table once, and gives it
 * up without writing it if the trim covers all of it.  A page has 384 entries here, so parts that
 * ended at multiples of FE_TRIM_PART_PAGES would cost 30 reads and 20 writes more.  The numbers are
 * those of a trim in one part. */
static void test_parts_end_with_pages_of_the_table(void **state)
{
    struct watch w = {.n = 0};
    struct fe_stats s;
    (void)state;
    struct fe_reply reply = trim("ftl.type=dftl", "nand.page_size=1536", &w);
    assert_int_equal(reply.status, FE_OK);
    fe_device_get_stats(w.dev, &s);
    assert_int_equal(s.ftl.map_reads, 152);
    assert_int_equal(s.ftl.map_writes, 1);
    fe_device_destroy(w.dev);
}

/* What a cache holds is data, though the flash has nothing of it and a cut would lose it; and from the
 * instant of a cut on nothing is told. */
static void test_extents_of_a_cached_page(void **state)
{
    (void)state;
    static const char *const overrides[] = {"cache.size=64K", "cache.volatile=yes",
                                            "cache.idle_flush=no"};
    struct fe_device_options opt = {.seed = 1, .payload = true, .power_cuts = true};
    struct watch w = {0};
    struct fe_profile p;
    struct fe_extent e;
    struct fe_err err;
    assert_int_equal(fe_profile_load(&p, "ssd-page", overrides, 3, &err), 0);
    assert_int_equal(fe_device_create(&w.dev, &p, &opt, &err), 0);
    fe_profile_fini(&p);
    w.page = fe_device_page_bytes(w.dev);
    uint64_t at = ft_device_submit(w.dev, FE_REQ_WRITE, 0, 3 * w.page, w.page, NULL, false)
                      .complete_ns + 1000;
    assert_int_equal(kind_at(&w, 2), FE_EXTENT_HOLE);
    assert_true(kind_at(&w, 3) != FE_EXTENT_HOLE);
    assert_int_equal(kind_at(&w, 4), FE_EXTENT_HOLE);
    assert_int_equal(fe_device_plan_cut(w.dev, at, 0, &err), 0);
    assert_int_equal(fe_device_extent(w.dev, at - 1, 0, w.page, &e), FE_OK);
    assert_int_equal(fe_device_extent(w.dev, at, 0, w.page, &e), FE_NO_POWER);
    fe_device_destroy(w.dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extents_of_a_cached_page),
        cmocka_unit_test(test_pauses_change_nothing),
        cmocka_unit_test(test_parts_end_with_pages_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
