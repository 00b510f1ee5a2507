/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules by hand of reads that do not overlap because they are long (link.turn_read).
 *
 * Nothing takes time but the cells: tR is 25 us and tPROG 200 us, a page is 2048 bytes, and page i
 * lies on die i % k.
 */
#include "lib/device.h"
#include "lib/unit.h"

enum { PAGE = 2048, TR = 25000, TPROG = 200000 };

static struct fe_reply submit(struct fe_device *dev, enum fe_req_type type, uint64_t now,
                              uint64_t page, uint64_t pages, bool fua)
{
    return ft_device_submit(dev, type, now, page * PAGE, pages * PAGE, NULL, fua);
}

/* Long reads wait for the one before, also one that they continue; short ones and writes do not.
 * expect[i] is the completion of the i-th read in tR, all of which the host has from time 0 on. */
static void test_turn_read_of_long_reads(void **state)
{
    (void)state;
    static const struct {
        uint64_t turn_read, pages;
        uint32_t queue, expect[4];
    } cases[] = {
        {0, 2, FE_QUEUE_IN_ORDER, {1, 1, 2, 2}},           /* two of four dies each */
        {2 * PAGE, 2, FE_QUEUE_IN_ORDER, {1, 1, 2, 2}},    /* not longer than that */
        {2 * PAGE - 512, 2, FE_QUEUE_IN_ORDER, {1, 2, 3, 4}},
        {PAGE, 1, FE_QUEUE_IN_ORDER, {1, 1, 1, 1}},
        {PAGE, 2, FE_QUEUE_ANY_ORDER, {1, 2, 3, 4}},
        {0, 2, FE_QUEUE_IN_TURN, {1, 1, 2, 2}},            /* each continues the one before */
        {PAGE, 2, FE_QUEUE_IN_TURN, {1, 2, 3, 4}},
        {PAGE, 2, FE_QUEUE_OFF, {1, 2, 3, 4}},
    };
    for (size_t c = 0; c < ft_array_len(cases); c++) {
        struct fe_profile p = ft_device_dies(4, 4);
        p.link.queue = cases[c].queue;
        p.link.turn_read = cases[c].turn_read;
        struct fe_device *dev = ft_device_make(&p, false);
        for (uint32_t i = 0; i < 4; i++) {
            uint64_t n = cases[c].pages;
            struct fe_reply r = submit(dev, FE_REQ_READ, 0, i * n, n, false);
            if (r.complete_ns != cases[c].expect[i] * (uint64_t)TR)
                fail_msg("case %zu, read %u: %llu ns", c, i, (unsigned long long)r.complete_ns);
        }
        fe_device_destroy(dev);
    }
    struct fe_profile p = ft_device_dies(4, 4);
    p.link.turn_read = PAGE;
    struct fe_device *dev = ft_device_make(&p, false);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(submit(dev, FE_REQ_WRITE, 0, 2 * i, 2, false).complete_ns, TPROG);
    assert_int_equal(submit(dev, FE_REQ_READ, 0, 8, 2, false).complete_ns, TPROG + TR);
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turn_read_of_long_reads),
    };
    return cmocka_run_group_tests_name("turn_read", tests, NULL, NULL);
}
