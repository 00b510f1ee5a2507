/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ring of events: exactly as many are kept as plugin/events.h promises.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "events.h"

static struct fe_event got[2 * FE_EVENTS_KEPT];

/* One event: power fails, or is back. */
static void add_one(struct fe_events *ev, struct fe_device *dev)
{
    uint64_t ready;
    if (fe_device_has_power(dev))
        assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), NULL), 0);
    else
        assert_int_equal(fe_device_power_on(dev, fe_device_now(dev), &ready, NULL), 0);
    assert_true(fe_events_look(ev, dev, false));
    assert_false(fe_events_look(ev, dev, false)); /* nothing new */
}

/* A listener that starts at event `from` when there are n events. */
static void expect(const struct fe_events *ev, uint64_t n, uint64_t from, uint64_t dropped)
{
    uint64_t next = from, lost;
    uint32_t count = fe_events_take(ev, &next, got, 2 * FE_EVENTS_KEPT, &lost);
    assert_int_equal(lost, dropped);
    assert_int_equal(count, n - from - dropped);
    assert_int_equal(next, n);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = from + dropped + i; /* even events are cuts */
        assert_int_equal(got[i].kind, number % 2 ? FE_EVENT_POWER_ON : FE_EVENT_POWER_CUT);
        assert_int_equal(got[i].number, number / 2 + 1);
    }
}

static void test_events_exactly_as_many_as_are_kept(void **state)
{
    struct fe_profile p = ft_device_profile("page");
    struct fe_device *dev = ft_device_make(&p, true);
    struct fe_events ev;
    uint64_t first;
    (void)state;
    assert_int_equal(fe_events_init(&ev, NULL), 0);
    assert_int_equal(fe_events_listen(&ev, dev, &first, NULL), 0);
    assert_int_equal(first, 0);
    for (uint64_t n = 1; n <= 2 * FE_EVENTS_KEPT + 1; n++) {
        add_one(&ev, dev);
        if (n < FE_EVENTS_KEPT - 1)
            continue;
        expect(&ev, n, 0, n > FE_EVENTS_KEPT ? n - FE_EVENTS_KEPT : 0);
        expect(&ev, n, n - FE_EVENTS_KEPT + (n < FE_EVENTS_KEPT), 0);
        expect(&ev, n, n, 0);
    }
    fe_events_unlisten(&ev);
    fe_events_fini(&ev);
    fe_device_destroy(dev);
}

/* A few at a time, as the control socket takes them. */
static void test_events_in_portions(void **state)
{
    struct fe_profile p = ft_device_profile("page");
    struct fe_device *dev = ft_device_make(&p, true);
    struct fe_events ev;
    uint64_t next, dropped, n = 0;
    (void)state;
    assert_int_equal(fe_events_init(&ev, NULL), 0);
    assert_int_equal(fe_events_listen(&ev, dev, &next, NULL), 0);
    for (int i = 0; i < 10; i++)
        add_one(&ev, dev);
    for (uint32_t count; (count = fe_events_take(&ev, &next, got, 3, &dropped)) > 0; n += count) {
        assert_int_equal(dropped, 0);
        assert_int_equal(count, n < 9 ? 3 : 1);
        assert_int_equal(next, n + count);
    }
    assert_int_equal(n, 10);
    fe_events_unlisten(&ev);
    fe_events_fini(&ev);
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_exactly_as_many_as_are_kept),
        cmocka_unit_test(test_events_in_portions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
