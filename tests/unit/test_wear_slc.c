/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How blocks in SLC mode wear: how many cycles they live for, what a refresh makes of them, and how
 * their bit errors grow.
 */
#include "lib/rig.h"
#include "lib/unit.h"

enum { B = 4, PAGE = 512 };

static const struct fe_wear_params plain = {
    .spare_blocks = 2, .slow_factor = 3, .correctable_bits = 4, .codeword_size = 256,
    .refresh_bits = 3};

/* One die of MLC: 10 cycles, 25 in SLC mode.  The mode of the cycle that an erase ends decides. */
static void setup_slc(struct ft_rig *rig, const struct fe_wear_params *w, uint64_t slc_endurance)
{
    struct fe_nand_params p = ft_nand(1, 10, B, PAGE);
    p.cell = FE_CELL_MLC;
    p.endurance = 10;
    p.slc_endurance = slc_endurance;
    ft_rig_init_worn(rig, &p, w);
}

/* Erases that succeed until the first one fails.  In every `every`-th cycle the block is in SLC
 * mode; 0: never. */
static uint32_t life_in_slc_mode(uint64_t slc_endurance, uint32_t every)
{
    struct ft_rig rig;
    uint32_t n = 0;
    setup_slc(&rig, &plain, slc_endurance);
    for (; rig.medium->counters.erase_failures == 0; n++) {
        if (every && n % every == every - 1)
            fe_medium_use_slc(rig.medium, 2);
        assert_int_equal(ft_rig_prog(&rig, 2 * B), FE_OK);
        assert_int_equal(fe_medium_erase(rig.medium, 2), FE_OK);
    }
    ft_rig_fini(&rig);
    return n - 1;
}

static void test_wear_blocks_in_slc_mode_live_longer(void **state)
{
    (void)state;
    assert_int_equal(life_in_slc_mode(25, 0), 10);
    assert_int_equal(life_in_slc_mode(25, 1), 25);
    assert_int_equal(life_in_slc_mode(0, 1), 10); /* auto */
    assert_int_equal(life_in_slc_mode(7, 1), 7);
    assert_int_equal(life_in_slc_mode(25, 2), 10); /* the 11th cycle has all bits */
}

/* A block that is refreshed in SLC mode is as good as one that is erased in it. */
static void test_wear_refresh_in_slc_mode_counts_as_slc(void **state)
{
    (void)state;
    for (int slc = 0; slc < 2; slc++) {
        struct ft_rig rig;
        setup_slc(&rig, &plain, 25);
        assert_int_equal(fe_wear_set_cycles(rig.medium, 2, 12, NULL), 0);
        if (slc)
            fe_medium_use_slc(rig.medium, 2);
        assert_int_equal(ft_rig_prog(&rig, 2 * B), FE_OK);
        assert_int_equal(fe_wear_flip(rig.medium, 2 * B, 3, NULL), 0);
        assert_int_equal(ft_rig_wrong_bits(&rig, 2 * B, FE_CORRECTED), 0);
        rig.medium->now_ns = 2 * UINT64_C(86400) * FE_NS_PER_S; /* not young: it is not retired */
        assert_true(fe_wear_refresh(rig.medium));
        assert_int_equal(rig.medium->counters.refreshed, 1);
        assert_int_equal(rig.medium->counters.erase_failures, !slc);
        assert_int_equal(fe_medium_is_slc(rig.medium, 2), slc);
        ft_rig_fini(&rig);
    }
}

/* Bit errors grow with the share of its life that a block has behind it: the same cycles are less
 * of a life in SLC mode. */
static void test_wear_bit_errors_in_slc_mode(void **state)
{
    (void)state;
    uint32_t wrong[2] = {0, 0};
    for (int slc = 0; slc < 2; slc++) {
        struct ft_rig rig;
        struct fe_wear_params w = plain;
        w.correctable_bits = w.refresh_bits = 0;
        w.ber.worn = UINT64_C(20000000000);
        setup_slc(&rig, &w, 100);
        for (fe_peb peb = 0; peb < 8; peb++) {
            assert_int_equal(fe_wear_set_cycles(rig.medium, peb, 9, NULL), 0);
            if (slc)
                fe_medium_use_slc(rig.medium, peb);
            for (uint32_t i = 0; i < B / 2; i++) {
                assert_int_equal(ft_rig_prog(&rig, peb * B + i), FE_OK);
                wrong[slc] += ft_rig_wrong_bits(&rig, peb * B + i, FE_OK);
            }
        }
        ft_rig_fini(&rig);
    }
    /* 10 cycles of 10, and of 100: a factor of 10^2.05 */
    assert_true(wrong[0] > 100 && wrong[1] > 0 && wrong[1] < wrong[0] / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wear_blocks_in_slc_mode_live_longer),
        cmocka_unit_test(test_wear_refresh_in_slc_mode_counts_as_slc),
        cmocka_unit_test(test_wear_bit_errors_in_slc_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
