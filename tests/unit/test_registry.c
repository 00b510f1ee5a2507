/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of strategies, and that each refuses what it cannot do, with numbers.
 */
#include "lib/ftl_params.h"
#include "lib/layer.h"
#include "lib/unit.h"

static void test_registry_names_are_found_and_unique(void **state)
{
    (void)state;
    assert_int_equal(fe_ftl_find("page"), 0);
    int n = 0;
    for (; fe_ftl_registry[n]; n++) {
        assert_int_equal(fe_ftl_find(fe_ftl_registry[n]->name), n);
    }
    assert_true(n >= 3);
    assert_int_equal(fe_ftl_find("no-such-thing"), -1);
    assert_int_equal(fe_ftl_find(""), -1);
    assert_int_equal(fe_ftl_find("Page"), -1);
}

static void test_registry_every_strategy_has_the_required_functions(void **state)
{
    (void)state;
    for (int i = 0; fe_ftl_registry[i]; i++) {
        const struct fe_ftl_ops *o = fe_ftl_registry[i];
        const struct {
            const char *name;
            bool is_there;
        } required[] = {
            {"summary", o->summary && o->summary[0]}, {"max_lpns", o->max_lpns},
            {"size", o->size >= sizeof(struct fe_ftl)}, {"start", o->start},
            {"read", o->read}, {"write", o->write}, {"free_blocks", o->free_blocks || o->no_medium},
            {"check", o->check},
        };
        for (size_t k = 0; k < ft_array_len(required); k++)
            if (!required[k].is_there)
                fail_msg("fe_ftl_%s has no .%s", o->name, required[k].name);
    }
}

/* On a chip that shrinks to a single block every strategy either offers pages or says
 * why not; what it offers is never more than the chip has, and grows with the chip. */
static void test_registry_small_chips_are_refused_with_a_message(void **state)
{
    (void)state;
    for (int i = 0; fe_ftl_registry[i]; i++) {
        const struct fe_ftl_ops *o = fe_ftl_registry[i];
        uint64_t last = 0;
        for (uint32_t blocks = 1; blocks <= 40; blocks++) {
            struct fe_nand_params nand = ft_nand(1, blocks, 8, 512);
            struct fe_ftl_params p = ft_ftl_params((uint32_t)i, 8 * 512);
            struct fe_geometry geo;
            struct fe_err err;
            fe_err_init(&err);
            assert_int_equal(fe_geometry_init(&geo, &nand, &err), 0);
            uint64_t n = o->max_lpns(&p, &geo, &err);
            if ((n == 0) != (err.text[0] != 0) || n > geo.n_ppns || n < last)
                fail_msg("%s: %llu pages on %u blocks of 8 pages, %llu on one fewer; '%s'",
                         o->name, (unsigned long long)n, blocks, (unsigned long long)last,
                         err.text);
            last = n;
        }
        if (last == 0)
            fail_msg("%s: refuses 40 blocks with the parameters of lib/ftl_params.c", o->name);
    }
}

static void expect_refused(const struct fe_ftl_params *p, const struct fe_nand_params *nand,
                           const char *text)
{
    struct fe_geometry geo;
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_geometry_init(&geo, nand, &err), 0);
    assert_true(fe_ftl_registry[p->type]->max_lpns(p, &geo, &err) == 0);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void test_registry_unit_size_must_be_whole_blocks(void **state)
{
    (void)state;
    static const char *const mapped_by_unit[] = {"segment", "block", "bast", "fast"};
    struct fe_nand_params nand = ft_nand(1, 40, 8, 512);
    nand.planes_per_die = 2;
    nand.multiplane = true; /* a block of 8192 bytes */
    for (size_t i = 0; i < ft_array_len(mapped_by_unit); i++) {
        if (fe_ftl_find(mapped_by_unit[i]) < 0)
            continue;
        struct fe_ftl_params p = ft_params(mapped_by_unit[i], &nand, 1);
        p.unit.unit_size = 4096;
        expect_refused(&p, &nand,
                       "ftl.unit_size=4096: must be a multiple of the erase block, 8192");
        p.unit.unit_size = 8192 + 512;
        expect_refused(&p, &nand, "8192 bytes");
        p.unit.unit_size = 0;
        expect_refused(&p, &nand, "ftl.unit_size=0");
        p.unit.unit_size = UINT64_C(8192) << 40;
        expect_refused(&p, &nand, "ftl.unit_size=");
        p.unit.unit_size = UINT64_C(8192) * 41;
        expect_refused(&p, &nand, "ftl.unit_size=335872");
    }
}

static void test_registry_contradictions_name_the_keys(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand(2, 20, 8, 512);
    struct fe_ftl_params p = ft_params("segment", &nand, 1);
    p.segment.open_linear = 0;
    expect_refused(&p, &nand, "ftl.open_linear=0");
    p = ft_params("segment", &nand, 1);
    p.segment.open_random = 0;
    p.unit.switch_merge = false;
    expect_refused(&p, &nand, "ftl.switch_merge=no");
    p = ft_params("segment", &nand, 1);
    p.segment.open_linear = 40;
    expect_refused(&p, &nand, "the chip has 40 units");
    p = ft_params("page", &nand, 1);
    p.clean.gc_reserve = 37;
    expect_refused(&p, &nand, "ftl.gc_reserve=37");
    p = ft_params("block", &nand, 40);
    expect_refused(&p, &nand, "at least 2 blocks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry_names_are_found_and_unique),
        cmocka_unit_test(test_registry_every_strategy_has_the_required_functions),
        cmocka_unit_test(test_registry_small_chips_are_refused_with_a_message),
        cmocka_unit_test(test_registry_unit_size_must_be_whole_blocks),
        cmocka_unit_test(test_registry_contradictions_name_the_keys),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
