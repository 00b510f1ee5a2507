/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbering, limits and page types of a chip.
 */
#include "lib/rand.h"
#include "lib/rig.h"
#include "lib/unit.h"

#include <errno.h>

static struct fe_geometry make(const struct fe_nand_params *p)
{
    struct fe_geometry geo;
    struct fe_err err;
    fe_err_init(&err);
    if (fe_geometry_init(&geo, p, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(err.text, "");
    return geo;
}

static void test_geometry_multiplane_gangs_planes(void **state)
{
    (void)state;
    struct fe_nand_params p = ft_nand(3, 10, 64, 2048);
    p.channels = 2;
    p.planes_per_die = 2;
    p.oob_size = 64;
    struct fe_geometry g = make(&p);
    assert_int_equal(g.n_dies, 6);
    assert_int_equal(g.n_channels, 2);
    assert_int_equal(g.blocks_per_die, 20);
    assert_int_equal(g.n_pebs, 120);
    assert_int_equal(g.n_ppns, 7680);
    assert_int_equal(g.page_bytes, 2048);
    assert_int_equal(g.oob_bytes, 64);
    assert_int_equal(g.planes_ganged, 1);

    p.multiplane = true;
    g = make(&p);
    assert_int_equal(g.blocks_per_die, 10);
    assert_int_equal(g.n_pebs, 60);
    assert_int_equal(g.n_ppns, 3840);
    assert_int_equal(g.page_bytes, 4096);
    assert_int_equal(g.oob_bytes, 128);
    assert_int_equal(g.planes_ganged, 2);
}

static void test_geometry_numbers_go_across_dies_first(void **state)
{
    (void)state;
    struct fe_nand_params p = ft_nand(3, 7, 65, 512);
    p.channels = 3;
    struct fe_geometry g = make(&p);
    for (fe_ppn ppn = 0; ppn < g.n_ppns; ppn++) {
        assert_int_equal(fe_peb_of(&g, ppn), ppn / 65);
        assert_int_equal(fe_page_of(&g, ppn), ppn % 65);
        assert_int_equal(fe_die_of(&g, fe_peb_of(&g, ppn)), ppn / 65 % 9);
    }
}

static void expect_overflow(struct fe_nand_params p, const char *text)
{
    struct fe_geometry geo;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_geometry_init(&geo, &p, &err), -EOVERFLOW);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void test_geometry_too_many_pages_is_eoverflow_with_the_values(void **state)
{
    (void)state;
    struct fe_nand_params p = ft_nand(1, 1 << 20, 4096, 512);
    expect_overflow(p, "channels=1 dies_per_channel=1 planes_per_die=1 blocks_per_plane=1048576 "
                       "pages_per_block=4096 page_size=512");
    p.blocks_per_plane = (1 << 20) - 1;
    assert_int_equal(make(&p).n_ppns, 4294963200u);
    p.channels = p.dies_per_channel = 1u << 31;
    p.planes_per_die = p.blocks_per_plane = 1u << 31;
    expect_overflow(p, "channels=2147483648");
    /* 2^32 - 1 pages would make the last one the sentinel */
    p = ft_nand(1, 65537, 65535, 512);
    expect_overflow(p, "blocks_per_plane=65537");
    p.blocks_per_plane = 65536;
    assert_int_equal(make(&p).n_ppns, 4294901760u);
    /* tables have a few entries more than there are blocks */
    p = ft_nand(1, (1u << 31) + 1, 1, 512);
    expect_overflow(p, "blocks_per_plane=2147483649");
    p.blocks_per_plane = 1u << 31;
    assert_int_equal(make(&p).n_pebs, 1u << 31);
}

static void test_geometry_page_above_1_gib_is_eoverflow(void **state)
{
    (void)state;
    struct fe_nand_params p = ft_nand(1, 2, 2, 1u << 30);
    assert_int_equal(make(&p).page_bytes, 1u << 30);
    p.page_size = (1u << 30) + 1;
    expect_overflow(p, "page_size=1073741825");
    p.page_size = 1u << 30;
    p.planes_per_die = 2;
    p.multiplane = true;
    expect_overflow(p, "planes_per_die=2");
}

/* next_page and valid counts have 16 bits, an op's die too. */
static void test_geometry_more_than_16_bits_of_pages_or_dies_is_eoverflow(void **state)
{
    (void)state;
    struct fe_nand_params p = ft_nand(1, 2, 65536, 512);
    expect_overflow(p, "pages_per_block=65536");
    p = ft_nand(65537, 2, 4, 512);
    expect_overflow(p, "dies_per_channel=65537");
}

static void test_geometry_without_pages_is_einval(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++) {
        struct fe_nand_params p = ft_nand(1, 2, 4, 512);
        uint32_t *field[] = {&p.channels,         &p.dies_per_channel, &p.planes_per_die,
                             &p.blocks_per_plane, &p.pages_per_block,  &p.page_size};
        if (i < 6)
            *field[i] = 0;
        else
            p.planes_per_die = 0, p.multiplane = true;
        struct fe_geometry geo;
        struct fe_err err;
        fe_err_init(&err);
        assert_int_equal(fe_geometry_init(&geo, &p, &err), -EINVAL);
        assert_true(err.text[0]);
    }
}

static void check_types(enum fe_cell cell, uint32_t ppb, const char *types, const int *partner)
{
    struct fe_nand_params p = ft_nand(1, 2, ppb, 512);
    p.cell = cell;
    struct fe_geometry g = make(&p);
    for (uint32_t page = 0; page < ppb; page++) {
        char type = "LCM"[fe_page_type(&g, page)];
        if (type != types[page])
            fail_msg("cell %d, %u pages: page %u is %c, not %c", cell, ppb, page, type,
                     types[page]);
        uint32_t bit = type == 'L' ? 0 : type == 'C' || cell == FE_CELL_MLC ? 1 : 2;
        assert_int_equal(fe_page_bit(&g, page), bit);
        uint32_t want = partner && partner[page] >= 0 ? (uint32_t)partner[page] : page;
        if (fe_page_partner(&g, page) != want)
            fail_msg("cell %d, %u pages: page %u has partner %u, not %u", cell, ppb, page,
                     fe_page_partner(&g, page), want);
    }
}

static void test_geometry_slc_and_nor_have_one_type(void **state)
{
    (void)state;
    check_types(FE_CELL_SLC, 6, "LLLLLL", NULL);
    check_types(FE_CELL_NOR, 6, "LLLLLL", NULL);
}

static void test_geometry_mlc_pairs_pages_as_all_bit_line_chips(void **state)
{
    (void)state;
    /* 0-2 1-4 3-6 5-8 ... and the last LSB page with the last page */
    const int eight[] = {-1, -1, 0, -1, 1, -1, 3, 5};
    check_types(FE_CELL_MLC, 8, "LLMLMLMM", eight);
    const int four[] = {-1, -1, 0, 1};
    check_types(FE_CELL_MLC, 4, "LLMM", four);
    const int two[] = {-1, 0};
    check_types(FE_CELL_MLC, 2, "LM", two);
    const int seven[] = {-1, -1, 0, -1, 1, -1, 3};
    check_types(FE_CELL_MLC, 7, "LLMLMLM", seven);
}

static void test_geometry_mlc_partners_are_lsb_pages_once_each(void **state)
{
    (void)state;
    for (uint32_t ppb = 2; ppb <= 260; ppb++) {
        struct fe_nand_params p = ft_nand(1, 2, ppb, 512);
        p.cell = FE_CELL_MLC;
        struct fe_geometry g = make(&p);
        uint8_t taken[260] = {0};
        uint32_t n_msb = 0;
        for (uint32_t page = 0; page < ppb; page++) {
            uint32_t partner = fe_page_partner(&g, page);
            if (fe_page_type(&g, page) != FE_PAGE_MSB) {
                assert_int_equal(partner, page);
                continue;
            }
            n_msb++;
            assert_true(partner < page);
            assert_int_equal(fe_page_type(&g, partner), FE_PAGE_LSB);
            assert_int_equal(taken[partner]++, 0);
        }
        assert_int_equal(n_msb, ppb / 2);
    }
}

static void test_geometry_tlc_repeats_three_types(void **state)
{
    (void)state;
    check_types(FE_CELL_TLC, 8, "LCMLCMLC", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geometry_multiplane_gangs_planes),
        cmocka_unit_test(test_geometry_numbers_go_across_dies_first),
        cmocka_unit_test(test_geometry_too_many_pages_is_eoverflow_with_the_values),
        cmocka_unit_test(test_geometry_page_above_1_gib_is_eoverflow),
        cmocka_unit_test(test_geometry_more_than_16_bits_of_pages_or_dies_is_eoverflow),
        cmocka_unit_test(test_geometry_without_pages_is_einval),
        cmocka_unit_test(test_geometry_slc_and_nor_have_one_type),
        cmocka_unit_test(test_geometry_mlc_pairs_pages_as_all_bit_line_chips),
        cmocka_unit_test(test_geometry_mlc_partners_are_lsb_pages_once_each),
        cmocka_unit_test(test_geometry_tlc_repeats_three_types),
    };
    return cmocka_run_group_tests_name("geometry", tests, NULL, NULL);
}
