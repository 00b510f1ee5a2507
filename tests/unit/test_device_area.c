/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device with an enhanced area: its capacity, what is refused, and the times of a command that
 * crosses the area's border.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "ftl/ftl.h"

#include <errno.h>

enum { PAGE = 2048 };

/* 24 blocks of 8 pages, or of 4 in SLC mode, with an area of `pages` pages from `first` on. */
static struct fe_profile profile_with_area(uint32_t first, uint32_t pages)
{
    struct fe_profile p = ft_device_linked("page");
    p.nand.cell = FE_CELL_MLC;
    p.nand.tR_ns[1] = p.nand.tR_ns[2] = 40000;
    p.nand.tPROG_ns[1] = p.nand.tPROG_ns[2] = 600000;
    p.nand.slc_tR_ns = 11000;
    p.nand.slc_tPROG_ns = 70000;
    p.ftl.page.enhanced_start = (uint64_t)first * PAGE;
    p.ftl.page.enhanced_size = (uint64_t)pages * PAGE;
    return p;
}

/* A page of the area counts twice: 192 pages / 1.5 are 112 pages and 16 more for the area. */
static void test_device_capacity_with_an_enhanced_area(void **state)
{
    (void)state;
    struct fe_profile p = profile_with_area(0, 16);
    p.device.capacity = 0;
    p.ftl.op_ppm = 500000;
    struct fe_device *dev = ft_device_make(&p, false);
    assert_int_equal(fe_device_capacity(dev), 112 * PAGE);
    fe_device_destroy(dev);
    p.ftl.op_ppm = 499999;
    dev = ft_device_make(&p, false); /* the same number of whole pages */
    assert_int_equal(fe_device_capacity(dev), 112 * PAGE);
    fe_device_destroy(dev);
    p.ftl.page.enhanced_start = 96 * PAGE; /* to the end */
    fe_device_destroy(ft_device_make(&p, false));
    p.ftl.page.enhanced_start = 97 * PAGE;
    ft_device_refused(&p, EINVAL, "ftl.enhanced_size:start=198656: the enhanced area would end at 231424"
                                  ", and the device at 229376; at most 196608");
    p = profile_with_area(60, 8);
    ft_device_refused(&p, EINVAL, "ftl.enhanced_size:start=122880: the enhanced area would end at 139264"
                                  ", and the device at 131072; at most 114688");
    p.device.capacity = 7 * PAGE;
    ft_device_refused(&p, EINVAL, "ftl.enhanced_size=16384: is larger than the device, which has "
                                  "14336 bytes");
}

/* 4 blocks hold the 16 pages of the area, 2 x (2 in reserve, 1 open, 1 to spare) work; 12 x 8 pages
 * are left. */
static void test_device_largest_with_an_enhanced_area(void **state)
{
    (void)state;
    struct fe_profile p = profile_with_area(0, 16);
    p.device.capacity = 112 * PAGE;
    fe_device_destroy(ft_device_make(&p, false));
    p.device.capacity += PAGE;
    ft_device_refused(&p, EINVAL, "of which ftl.type=page can offer at most 229376 with an "
                                  "enhanced area of this size");
    p.device.capacity = 0;
    p.ftl.op_ppm = 0;
    ft_device_refused(&p, EINVAL, "at most 229376, which is ftl.op=50.0000%");
}

/* One command of two pages over the border: page 3 as LSB, page 4 in SLC mode. */
static void test_device_times_over_the_border_of_the_enhanced_area(void **state)
{
    (void)state;
    struct fe_profile p = profile_with_area(4, 8);
    struct fe_device *dev = ft_device_make(&p, false);
    uint8_t buf[2 * PAGE];
    memset(buf, 5, sizeof buf);
    struct fe_reply r = ft_device_submit(dev, FE_REQ_WRITE, 0, 3 * PAGE, 2 * PAGE, buf, false);
    assert_int_equal(r.complete_ns, 10000 + 2048 + (100 + 2112 + 200000) + (100 + 2112 + 70000));
    memset(buf, 0, sizeof buf);
    r = ft_device_submit(dev, FE_REQ_READ, 1000000, 3 * PAGE, 2 * PAGE, buf, false);
    assert_int_equal(r.complete_ns, 1000000 + 10000 + (100 + 25000 + 2048) +
                                        (100 + 11000 + 2048) + 2048);
    assert_true(buf[0] == 5 && buf[2 * PAGE - 1] == 5);
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_capacity_with_an_enhanced_area),
        cmocka_unit_test(test_device_largest_with_an_enhanced_area),
        cmocka_unit_test(test_device_times_over_the_border_of_the_enhanced_area),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
