/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What devices report of their health, by hand.
 */
#include "lib/device.h"
#include "lib/unit.h"

#include "flashemu/faults.h"
#include "flashemu/health.h"
#include "flashemu/map.h"

enum { PAGE = 2048, CHIP = 36, RESERVE = 10 };

static void test_health_life_in_steps(void **state)
{
    (void)state;
    assert_int_equal(fe_life_step(0, 3000), 1);
    assert_int_equal(fe_life_step(299.9, 3000), 1);
    assert_int_equal(fe_life_step(301, 3000), 2);
    assert_int_equal(fe_life_step(2699, 3000), 9);
    assert_int_equal(fe_life_step(2701, 3000), 10);
    assert_int_equal(fe_life_step(3000, 3000), 10);
    assert_int_equal(fe_life_step(3001, 3000), 11);
    assert_int_equal(fe_life_step(13590, 3000), 11);
    assert_int_equal(fe_life_step(1e9, 0), 0);
}

static struct fe_device *make(uint64_t spread_ppm, uint32_t spares)
{
    struct fe_profile p = ft_device_profile("page");
    p.device.capacity = 64 * PAGE;
    p.nand.blocks_per_plane = CHIP;
    p.nand.endurance = 3000;
    p.wear = (struct fe_wear_params){.codeword_size = 512, .slow_factor = 10,
                                     .factory_bad_ppm = 60000, /* 2 of 36 */
                                     .spare_blocks = spares, .device_spread_ppm = spread_ppm};
    return ft_device_make(&p, true);
}

static struct fe_health health(const struct fe_device *dev)
{
    struct fe_health h;
    struct fe_snapshot *s = fe_snapshot_create(dev);
    assert_non_null(s);
    fe_snapshot_take(s, dev);
    fe_snapshot_health(s, &h);
    fe_snapshot_destroy(s);
    return h;
}

/* Gives all good blocks so many cycles; one of them two more. */
static void wear(struct fe_device *dev, uint32_t cycles)
{
    struct fe_block_wear blocks[CHIP];
    bool first = true;
    fe_device_get_blocks(dev, blocks);
    for (fe_chip_block b = 0; b < CHIP; b++) {
        if (blocks[b].state != FE_BLOCK_USED)
            continue;
        assert_int_equal(fe_device_set_cycles(dev, b, cycles + (first ? 2 : 0), NULL), 0);
        first = false;
    }
}

static void test_health_of_a_card(void **state)
{
    (void)state;
    struct fe_device *dev = make(0, RESERVE);
    wear(dev, 1601);
    struct fe_health h = health(dev);
    assert_int_equal(h.blocks, CHIP);
    assert_int_equal(h.bad_factory, 2);
    assert_int_equal(h.reserve, RESERVE);
    assert_int_equal(h.spare, RESERVE);
    assert_int_equal(h.others.blocks, CHIP - RESERVE - 2);
    assert_int_equal(h.total_erases, 1601 * (CHIP - RESERVE - 2) + 2);
    assert_int_equal(h.others.cycles.min, 1601);
    assert_int_equal(h.others.cycles.max, 1603);
    assert_int_equal(h.life_a, 0); /* no block is in SLC mode */
    assert_int_equal(h.life_b, 6); /* 53 % */
    assert_int_equal(h.pre_eol, FE_PRE_EOL_NORMAL);
    assert_int_equal(h.others.endurance, 3000);
    assert_int_equal(h.others.own, 3000);
    assert_int_equal(h.power_ups, 1);
    uint64_t ready_ns;
    assert_int_equal(fe_device_cut_power(dev, fe_device_now(dev), NULL), 0);
    assert_int_equal(health(dev).power_ups, 1);
    assert_int_equal(fe_device_power_on(dev, fe_device_now(dev), &ready_ns, NULL), 0);
    h = health(dev);
    assert_true(h.power_ups == 2 && h.cuts == 1);
    fe_device_destroy(dev);
}

/* 8 of 10 spare blocks are a warning, 9 of them urgent, and so is the end of life. */
static void test_health_of_the_reserve(void **state)
{
    (void)state;
    struct fe_device *dev = make(0, RESERVE);
    struct fe_block_wear blocks[CHIP];
    uint32_t n = 0;
    for (fe_chip_block b = 0; n <= RESERVE; b++) {
        fe_device_get_blocks(dev, blocks);
        if (blocks[b].state != FE_BLOCK_USED)
            continue;
        struct fe_health h = health(dev);
        assert_int_equal(h.spare, RESERVE - n);
        assert_int_equal(h.bad_grown, n);
        assert_int_equal(h.pre_eol, n < 8    ? FE_PRE_EOL_NORMAL
                                    : n == 8 ? FE_PRE_EOL_WARNING
                                             : FE_PRE_EOL_URGENT);
        assert_int_equal(fe_device_mark_bad(dev, fe_device_now(dev), b, NULL), 0);
        n++;
    }
    assert_int_equal(health(dev).condition, FE_COND_READ_ONLY);
    assert_int_equal(health(dev).pre_eol, FE_PRE_EOL_URGENT);
    fe_device_destroy(dev);
    dev = make(0, 0);
    assert_int_equal(health(dev).pre_eol, FE_PRE_EOL_UNDEFINED);
    fe_device_destroy(dev);
}

/* The device reports what its cells are built for, not what it has drawn. */
static void test_health_does_not_know_the_draw(void **state)
{
    (void)state;
    struct fe_device *dev = make(900000, RESERVE);
    wear(dev, 1501);
    struct fe_health h = health(dev);
    assert_int_equal(h.life_b, 6);
    assert_int_equal(h.others.endurance, 3000);
    assert_true(h.others.own != 3000 && h.others.own > 0);
    fe_device_destroy(dev);
}

/* With an enhanced area, type A is its blocks, against the endurance of SLC mode. */
static void test_health_of_slc_blocks(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    p.nand.cell = FE_CELL_MLC;
    p.device.capacity = 64 * PAGE;
    p.ftl.page.enhanced_size = 16 * PAGE;
    p.nand.blocks_per_plane = CHIP;
    p.nand.endurance = 3000;
    p.nand.slc_endurance = 30000;
    struct fe_device *dev = ft_device_make(&p, false);
    uint8_t page[PAGE] = {1};
    for (uint64_t i = 0; i < 64; i++)
        ft_device_submit(dev, FE_REQ_WRITE, fe_device_now(dev), i * PAGE, PAGE, page, false);
    wear(dev, 4000);
    struct fe_health h = health(dev);
    assert_true(h.slc.blocks >= 2);
    assert_int_equal(h.life_a, 2);  /* 13 % of 30 000 */
    assert_int_equal(h.life_b, 11); /* more than 3000 */
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_health_life_in_steps),
        cmocka_unit_test(test_health_of_a_card),
        cmocka_unit_test(test_health_of_the_reserve),
        cmocka_unit_test(test_health_does_not_know_the_draw),
        cmocka_unit_test(test_health_of_slc_blocks),
    };
    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
