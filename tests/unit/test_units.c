/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool of units: every page of the chip belongs to one place of one unit, a unit is
 * filled in the order in which its blocks must be, and free units go round.
 */
#include "lib/abort.h"
#include "lib/rig.h"
#include "lib/unit.h"

#include "ftl/units/unit.h"

#include <errno.h>

static void check_mapping(uint32_t channels, uint32_t dies, uint32_t blocks, uint32_t ppb,
                          uint32_t unit_blocks)
{
    struct fe_nand_params p = ft_nand(dies, blocks, ppb, 512);
    struct ft_rig rig;
    struct fe_units u;
    struct fe_err err;
    fe_err_init(&err);
    p.channels = channels;
    ft_rig_init(&rig, &p);
    uint32_t pages = fe_units_pages(&rig.geo, (uint64_t)unit_blocks * ppb * 512, &err);
    assert_int_equal(pages, unit_blocks * ppb);
    assert_int_equal(fe_units_count(&rig.geo, pages), rig.geo.n_pebs / unit_blocks);
    assert_int_equal(fe_units_init(&u, rig.medium, pages, &err), 0);

    uint8_t *taken = calloc(rig.geo.n_ppns, 1);
    uint16_t *next = calloc(rig.geo.n_pebs, sizeof *next);
    assert_true(taken && next);
    assert_int_equal(u.unit_pages % u.stripe, 0);
    assert_true(u.stripe <= rig.geo.n_dies && unit_blocks % u.stripe == 0);
    for (uint32_t unit = 0; unit < u.n_units; unit++)
        for (uint32_t i = 0; i < pages; i++) {
            fe_ppn ppn = fe_unit_ppn(&u, unit, i);
            assert_true(ppn < rig.geo.n_ppns);
            assert_int_equal(taken[ppn]++, 0);
            fe_peb peb = fe_peb_of(&rig.geo, ppn);
            assert_int_equal(fe_page_of(&rig.geo, ppn), next[peb]++); /* in order */
            /* the pages of a row lie on different dies */
            uint32_t row = i - i % u.stripe;
            for (uint32_t k = row; k < i; k++)
                assert_true(fe_die_of(&rig.geo, fe_peb_of(&rig.geo, fe_unit_ppn(&u, unit, k))) !=
                            fe_die_of(&rig.geo, peb));
        }
    free(taken);
    free(next);
    fe_units_fini(&u);
    ft_rig_fini(&rig);
}

static void test_units_mapping_is_a_bijection(void **state)
{
    (void)state;
    check_mapping(1, 1, 8, 4, 1);
    check_mapping(1, 1, 9, 65, 4);   /* a block is left over */
    check_mapping(2, 2, 6, 7, 4);
    check_mapping(4, 2, 12, 5, 12);  /* two rows of 6 */
    check_mapping(3, 3, 7, 13, 5);
    check_mapping(1, 3, 11, 130, 2); /* units begin on different dies */
    check_mapping(4, 3, 3, 33, 7);
    check_mapping(2, 1, 16, 64, 16);
    check_mapping(3, 1, 8, 96, 24);
}

struct pool {
    struct ft_rig rig;
    struct fe_units u;
};

/* 2 dies, 12 blocks of 4 pages, units of 2 blocks. */
static void setup(struct pool *p)
{
    struct fe_nand_params nand = ft_nand(2, 6, 4, 512);
    struct fe_err err;
    fe_err_init(&err);
    ft_rig_init(&p->rig, &nand);
    assert_int_equal(fe_units_init(&p->u, p->rig.medium, 8, &err), 0);
    assert_int_equal(p->u.n_units, 6);
}

static void teardown(struct pool *p)
{
    fe_units_fini(&p->u);
    ft_rig_fini(&p->rig);
}

static void test_units_free_units_go_round(void **state)
{
    (void)state;
    struct pool p;
    setup(&p);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(fe_unit_alloc(&p.u), i);
    assert_int_equal(fe_unit_alloc(&p.u), FE_UNIT_NONE);
    const uint32_t order[] = {3, 0, 5};
    for (int i = 0; i < 3; i++)
        assert_int_equal(fe_unit_release(&p.u, order[i]), FE_OK);
    assert_int_equal(p.u.n_free, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fe_unit_alloc(&p.u), order[i]);
    assert_int_equal(fe_unit_alloc(&p.u), FE_UNIT_NONE);
    teardown(&p);
}

static void test_units_release_waits_and_erases_every_block(void **state)
{
    (void)state;
    struct pool p;
    char text[16];
    setup(&p);
    uint32_t unit = fe_unit_alloc(&p.u);
    fe_unit_append(&p.u, unit, 0, 0, FE_PPN_NONE, 0, 512, NULL);
    ft_rig_clear(&p.rig);
    fe_unit_release(&p.u, unit);
    assert_string_equal(ft_rig_text(&p.rig, text, sizeof text), "BEEB");
    assert_int_equal(p.u.fill[unit], 0);
    assert_int_equal(fe_medium_erase_count(p.rig.medium, fe_unit_peb(&p.u, unit, 0)), 1);
    assert_int_equal(fe_medium_erase_count(p.rig.medium, fe_unit_peb(&p.u, unit, 1)), 1);
    teardown(&p);
}

static void test_units_append_goes_across_dies(void **state)
{
    (void)state;
    struct pool p;
    uint32_t n;
    setup(&p);
    uint32_t unit = fe_unit_alloc(&p.u);
    for (uint32_t i = 0; i < 8; i++)
        fe_unit_append(&p.u, unit, i, 0, FE_PPN_NONE, 0, 512, NULL);
    const struct fe_op *ops = ft_rig_ops(&p.rig, &n);
    assert_int_equal(n, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(ops[i].die, i % 2);
        assert_int_equal(ops[i].ppn, (i % 2) * 4 + i / 2);
    }
    assert_int_equal(p.u.fill[unit], 8);
    teardown(&p);
}

static void overfill(void *ctx)
{
    struct pool *p = ctx;
    for (int i = 0; i < 9; i++)
        fe_unit_append(&p->u, 0, 0, 0, FE_PPN_NONE, 0, 512, NULL);
}

static void test_units_overfilling_aborts(void **state)
{
    (void)state;
    struct pool p;
    setup(&p);
    fe_unit_alloc(&p.u);
    assert_true(ft_aborts(overfill, &p));
    teardown(&p);
}

static void expect_wrong(struct pool *p, const char *text)
{
    struct fe_err err;
    fe_err_init(&err);
    assert_int_equal(fe_units_check(&p->u, &err), -EIO);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void test_units_check_finds_what_is_wrong(void **state)
{
    (void)state;
    struct pool p;
    struct fe_err err;
    setup(&p);
    fe_err_init(&err);
    uint32_t unit = fe_unit_alloc(&p.u);
    fe_unit_append(&p.u, unit, 0, 0, FE_PPN_NONE, 0, 512, NULL);
    assert_int_equal(fe_units_check(&p.u, &err), 0);
    p.u.fill[unit]++;
    expect_wrong(&p, "unit 0: fill is 2, its blocks hold 1 pages");
    p.u.fill[unit]--;
    p.u.fill[3] = 1;
    expect_wrong(&p, "free unit 3 holds 1 pages");
    p.u.fill[3] = 0;
    p.u.queue[p.u.head] = 2; /* now twice in the queue, and unit 1 not at all */
    expect_wrong(&p, "unit 2 is free twice");
    teardown(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_mapping_is_a_bijection),
        cmocka_unit_test(test_units_free_units_go_round),
        cmocka_unit_test(test_units_release_waits_and_erases_every_block),
        cmocka_unit_test(test_units_append_goes_across_dies),
        cmocka_unit_test(test_units_overfilling_aborts),
        cmocka_unit_test(test_units_check_finds_what_is_wrong),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
