/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool of units: every page of the chip belongs to one place of one unit, a unit is
 * filled in the order in which its blocks must be, and free units go round.
 */
#include "lib/abort.h"
#include "lib/rig.h"
#include "lib/unit.h"

#include "ftl/unit.h"
#include "sched/sched.h"

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
    assert_int_equal(fe_units_init(&u, rig.medium, pages, 2, &err), 0);

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
    int map[8];
    uint64_t n_copied;
};

/* 2 dies, 12 blocks of 4 pages, units of 2 blocks. */
static void setup(struct pool *p)
{
    struct fe_nand_params nand = ft_nand(2, 6, 4, 512);
    struct fe_err err;
    fe_err_init(&err);
    p->n_copied = 0;
    ft_rig_init(&p->rig, &nand);
    assert_int_equal(fe_units_init(&p->u, p->rig.medium, 8, 2, &err), 0);
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
    assert_int_equal(p.rig.medium->pebs[p.u.pebs[unit * 2]].erase_count, 1);
    assert_int_equal(p.rig.medium->pebs[p.u.pebs[unit * 2 + 1]].erase_count, 1);
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

/* Page i comes from unit 0's page map[i]; -1: padding. */
static fe_ppn source(const void *ctx, uint32_t page)
{
    const struct pool *p = ctx;
    return p->map[page] < 0 ? FE_PPN_NONE : fe_unit_ppn(&p->u, 0, (uint32_t)p->map[page]);
}

/* Copies pages up to `to` into unit 1 and says as letters what that was. */
static const char *copy_up_to(struct pool *p, uint32_t to)
{
    static char text[128];
    struct fe_copies c = {.source = source, .ctx = p, .first = 100, .tag = 1, .last_tag = 2,
                          .n_copied = &p->n_copied};
    ft_rig_clear(&p->rig);
    assert_int_equal(fe_unit_copy_up_to(&p->u, 1, to, &c), FE_OK);
    return ft_rig_text(&p->rig, text, sizeof text);
}

static void fill_unit_0(struct pool *p, uint32_t n)
{
    assert_int_equal(fe_unit_alloc(&p->u), 0);
    assert_int_equal(fe_unit_alloc(&p->u), 1);
    for (uint32_t i = 0; i < n; i++)
        fe_unit_append(&p->u, 0, i, 0, FE_PPN_NONE, 0, 512, NULL);
    for (int i = 0; i < 8; i++)
        p->map[i] = i;
}

static void test_units_a_copy_reads_the_buffer_then_programs_it(void **state)
{
    (void)state;
    struct pool p;
    setup(&p);
    fill_unit_0(&p, 5);
    assert_string_equal(copy_up_to(&p, 5), "BRRBPPBRRBPPBRBP");
    assert_int_equal(p.n_copied, 5);
    p.map[5] = -1;
    p.map[6] = 0;
    assert_string_equal(copy_up_to(&p, 7), "BRBPP"); /* padding is not read */
    assert_int_equal(p.n_copied, 6);
    assert_string_equal(copy_up_to(&p, 7), "-"); /* it is there already */
    for (uint32_t i = 0; i < 7; i++) {
        fe_ppn ppn = fe_unit_ppn(&p.u, 1, i);
        assert_int_equal(fe_medium_lpn(p.rig.medium, ppn), i == 5 ? FE_LPN_NONE : 100 + i);
        assert_int_equal(fe_medium_tag(p.rig.medium, ppn), i == 4 || i == 6 ? 2 : 1);
    }
    teardown(&p);
}

/* Where a log lies a page aside, each page comes from the other die than it goes to: the
 * dies must not wait for each other. */
static void test_units_a_shifted_copy_takes_no_longer(void **state)
{
    (void)state;
    uint64_t took[2];
    for (int shift = 0; shift < 2; shift++) {
        struct pool p;
        struct fe_sched sched;
        struct fe_err err;
        fe_err_init(&err);
        setup(&p);
        fill_unit_0(&p, 8);
        for (int i = 0; i < 8; i++)
            p.map[i] = (i + shift) % 8;
        copy_up_to(&p, 8);
        assert_int_equal(fe_sched_init(&sched, &p.rig.nand, &p.rig.geo, &err), 0);
        fe_sched_begin(&sched, 0);
        fe_sched_place(&sched, p.rig.log, p.rig.n_log);
        took[shift] = sched.all_end_ns;
        fe_sched_fini(&sched);
        teardown(&p);
    }
    assert_true(took[0] > 0);
    assert_int_equal(took[0], took[1]);
}

/* What stays in a die's register is read when it is its turn; the rest goes through the
 * buffer. */
static void test_units_copyback_does_not_fill_the_buffer(void **state)
{
    (void)state;
    struct pool p;
    setup(&p);
    p.rig.medium->copyback = true;
    fill_unit_0(&p, 5);
    assert_string_equal(copy_up_to(&p, 4), "BRpRpBRpRp");
    p.map[4] = 3; /* of the other die */
    p.map[5] = 1; /* of the same */
    assert_string_equal(copy_up_to(&p, 6), "BRBPRp");
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
        cmocka_unit_test(test_units_a_copy_reads_the_buffer_then_programs_it),
        cmocka_unit_test(test_units_a_shifted_copy_takes_no_longer),
        cmocka_unit_test(test_units_copyback_does_not_fill_the_buffer),
        cmocka_unit_test(test_units_check_finds_what_is_wrong),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
