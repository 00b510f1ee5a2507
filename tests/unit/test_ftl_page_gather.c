/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes past the SLC cache together (ftl.slc_gather).  One die of MLC unless a test says
 * otherwise; four pages are gathered, and a run passes the cache after its first page.
 *
 * A page in SLC mode takes FT_SLC_PROG; the pages of a block take 200, 200, 600 and 200 us in turn.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "ftl/pages/page_core.h"

enum { GATHER = 4, PAGE = 512, SLC = FT_SLC_PROG };

static struct fe_ftl_params gathering(const struct fe_nand_params *nand, uint32_t mode)
{
    struct fe_ftl_params p = ft_params("page", nand, 1);
    p.page.slc_mode = mode;
    p.page.slc_blocks = mode == FE_SLC_STATIC ? 4 : 0;
    p.page.slc_run = PAGE;
    p.page.slc_gather = GATHER * PAGE;
    return p;
}

static void setup(struct ft_layer *l)
{
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 20);
    struct fe_ftl_params p = gathering(&nand, FE_SLC_STATIC);
    ft_layer_init(l, &nand, &p);
}

/* The operations since the last call are programs that take so long, and nothing is read. */
static void expect_programs(struct ft_layer *l, const uint64_t *want, uint32_t n_want)
{
    uint32_t n;
    const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
    assert_int_equal(n, n_want);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ops[i].kind, FE_OP_PROG);
        assert_int_equal(ops[i].cell_ns, want[i]);
    }
    ft_layer_clear(l);
}

#define EXPECT_PROGRAMS(l, ...)                                                                \
    expect_programs(l, (const uint64_t[]){__VA_ARGS__},                                        \
                    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* The pages of [first, first + n) that are in the cache, as a text of 0 and 1. */
static const char *cached(const struct ft_layer *l, fe_lpn first, uint32_t n)
{
    static char text[64];
    const struct page_ftl *f = page_of(l->ftl);
    for (uint32_t i = 0; i < n; i++) {
        fe_ppn ppn = fe_mapped(f->base.map[first + i]);
        text[i] = ppn == FE_PPN_NONE ? '-'
                  : fe_medium_is_slc(f->base.medium, fe_peb_of(&f->blocks.geo, ppn)) ? '1' : '0';
    }
    text[n] = '\0';
    return text;
}

static void test_the_last_page_takes_the_others_along(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 0, 3);
    EXPECT_PROGRAMS(&l, SLC, SLC, SLC);
    assert_string_equal(cached(&l, 0, 4), "111-");
    fe_ppn old = fe_mapped(page_of(l.ftl)->base.map[0]);
    assert_true(fe_store_is_written(l.rig.store, old));
    ft_layer_write_each(&l, 3, 1);
    EXPECT_PROGRAMS(&l, 200000, 200000, 600000, 200000);
    assert_string_equal(cached(&l, 0, 4), "0000");
    assert_false(fe_store_is_written(l.rig.store, old));
    assert_int_equal(l.ftl->counters.pages_copied, 3);
    ft_layer_write_each(&l, 4, 6);
    EXPECT_PROGRAMS(&l, SLC, SLC, SLC, 600000, 200000, 600000, 600000, SLC, SLC);
    assert_string_equal(cached(&l, 4, 6), "000011");
    assert_int_equal(l.ftl->counters.slc_folds, 0);
    ft_layer_end(&l);
}

/* One command that brings all of them goes past the cache, but for the first page of the run. */
static void test_a_command_that_brings_all_waits_for_nothing(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    assert_int_equal(ft_layer_command(&l, 0, 8), FE_OK);
    assert_string_equal(cached(&l, 0, 8), "10000000");
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_command(&l, 8, 6), FE_OK); /* four, and two that wait */
    assert_string_equal(cached(&l, 8, 6), "000011");
    assert_int_equal(ft_layer_command(&l, 14, 5), FE_OK); /* the others, and three of the next */
    assert_string_equal(cached(&l, 8, 11), "00000000111");
    ft_layer_end(&l);
}

/* What a run has not brought from the first page on stays where it is. */
static void test_a_run_that_begins_inside_takes_nothing_along(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 2, 6);
    assert_string_equal(cached(&l, 0, 8), "--110000");
    ft_layer_write_each(&l, 20, 3); /* another run; */
    ft_layer_write_each(&l, 21, 1); /* page 21 again ends it */
    ft_layer_write_each(&l, 22, 2);
    assert_string_equal(cached(&l, 20, 4), "1111");
    ft_layer_end(&l);
}

/* A part of the last page waits as well; with its rest it is complete. */
static void test_a_page_in_parts_waits_for_its_rest(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 0, 3);
    assert_int_equal(ft_layer_write_part(&l, 3, 0, PAGE / 2), FE_OK);
    assert_string_equal(cached(&l, 0, 4), "1111");
    ft_layer_clear(&l);
    assert_int_equal(ft_layer_write_part(&l, 3, PAGE / 2, PAGE / 2), FE_OK);
    assert_string_equal(cached(&l, 0, 4), "0000");
    assert_string_equal(ft_layer_text(&l), "PPPRp"); /* only the page with parts is read */
    ft_layer_end(&l);
}

static void test_a_page_that_is_gone_is_not_taken_along(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 0, 3);
    assert_int_equal(l.ftl->ops->trim(l.ftl, 1, 1), FE_OK);
    memset(l.want + PAGE, 0, PAGE);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 3, 1);
    EXPECT_PROGRAMS(&l, 200000, 200000, 600000);
    assert_string_equal(cached(&l, 0, 4), "0-00");
    ft_layer_end(&l);
}

/* A page that folding has moved already is where it should be. */
static void test_a_page_that_was_folded_is_not_taken_along(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    ft_layer_write_each(&l, 12, 1);
    ft_layer_write_each(&l, 0, 3); /* fills the block of four pages */
    while (l.ftl->ops->idle(l.ftl))
        ;
    assert_string_equal(cached(&l, 0, 3), "000");
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 3, 1);
    uint32_t n;
    (void)ft_rig_ops(&l.rig, &n);
    assert_int_equal(n, 1);
    assert_string_equal(cached(&l, 0, 4), "0000");
    ft_layer_end(&l);
}

/* A part of a page was written over one that could not be read: the rest is lost, and stays so. */
static void test_what_is_lost_stays_lost(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    struct fe_medium *m = l.rig.medium;
    struct page_ftl *f = page_of(l.ftl);
    struct fe_err err;
    assert_int_equal(fe_chip_keep_flips(&m->chip, &err), 0);
    ft_layer_write_each(&l, 0, 3);
    fe_chip_set_flips(&m->chip, fe_mapped(f->base.map[0]), FE_FLIPS_SILENT);
    fe_chip_set_flips(&m->chip, fe_mapped(f->base.map[1]), FE_FLIPS_LOST);
    fe_chip_set_flips(&m->chip, fe_mapped(f->base.map[2]), 7); /* of the cells, not of the data */
    ft_layer_write_each(&l, 3, 1);
    assert_string_equal(cached(&l, 0, 4), "0000");
    assert_int_equal(fe_medium_flips(m, fe_mapped(f->base.map[0])), FE_FLIPS_SILENT);
    assert_int_equal(fe_medium_flips(m, fe_mapped(f->base.map[1])), FE_FLIPS_LOST);
    assert_int_equal(fe_medium_flips(m, fe_mapped(f->base.map[2])), 0);
    ft_layer_fini(&l);
}

/* A read that begins between a write command and its pages: the write still brings all of them. */
static void test_a_read_does_not_shorten_a_write(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l);
    const struct fe_ftl_ops *ops = l.ftl->ops;
    ops->begin_command(l.ftl, true, 8 * PAGE, 4 * PAGE);
    ops->begin_command(l.ftl, false, 0, PAGE);
    for (fe_lpn lpn = 8; lpn < 12; lpn++) {
        memset(l.want + lpn * (size_t)PAGE, (int)lpn, PAGE);
        assert_int_equal(ops->write(l.ftl, lpn, 0, PAGE, l.want + lpn * (size_t)PAGE), FE_OK);
        assert_string_equal(cached(&l, lpn, 1), lpn == 8 ? "1" : "0");
    }
    ft_layer_end(&l);
}

/* All dies program at the same time: nothing is read between two programs. */
static void test_all_dies_take_their_pages_at_once(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 4, 20);
    struct fe_ftl_params p = gathering(&nand, FE_SLC_STATIC);
    ft_layer_init(&l, &nand, &p);
    ft_layer_write_each(&l, 0, 3);
    ft_layer_clear(&l);
    ft_layer_write_each(&l, 3, 1);
    uint32_t n, dies = 0;
    const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
    assert_int_equal(n, 4);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ops[i].kind, FE_OP_PROG);
        assert_int_equal(ops[i].flags & FE_OP_AFTER_PREV, 0);
        dies |= 1u << fe_die_of(&l.rig.geo, ops[i].ppn / l.rig.geo.pages_per_block);
    }
    assert_int_equal(dies, 15);
    ft_layer_end(&l);
}

/* Whatever commands come, on one die or several, in a cache of either kind: every byte is right,
 * and the tables are. */
static void test_random_commands_keep_every_byte(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        struct ft_rand r = {seed, 0};
        struct ft_layer l;
        uint32_t dies = 1 + ft_below(&r, 4);
        struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, dies, 20);
        struct fe_ftl_params p = gathering(&nand, ft_chance(&r, 50) ? FE_SLC_STATIC
                                                                    : FE_SLC_DYNAMIC);
        p.page.slc_gather = (1 + ft_below(&r, 9)) * PAGE;
        p.page.slc_run = (1 + ft_below(&r, 6)) * PAGE;
        ft_layer_init(&l, &nand, &p);
        fe_lpn at = 0, n_lpns = l.ftl->n_lpns;
        for (uint32_t i = 0; i < 400; i++) {
            if (ft_chance(&r, 30) || at >= n_lpns)
                at = ft_below(&r, n_lpns);
            uint32_t n = 1 + ft_below(&r, 12);
            if (n > n_lpns - at)
                n = n_lpns - at;
            if (ft_chance(&r, 20))
                assert_int_equal(ft_layer_write_part(&l, at, PAGE / 4, PAGE / 4), FE_OK);
            else
                assert_int_equal(ft_layer_command(&l, at, n), FE_OK);
            at += n;
            ft_layer_check(&l);
            if (ft_chance(&r, 5))
                l.ftl->ops->idle(l.ftl);
        }
        ft_layer_end(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_page_takes_the_others_along),
        cmocka_unit_test(test_a_command_that_brings_all_waits_for_nothing),
        cmocka_unit_test(test_a_run_that_begins_inside_takes_nothing_along),
        cmocka_unit_test(test_a_page_in_parts_waits_for_its_rest),
        cmocka_unit_test(test_a_page_that_is_gone_is_not_taken_along),
        cmocka_unit_test(test_a_page_that_was_folded_is_not_taken_along),
        cmocka_unit_test(test_what_is_lost_stays_lost),
        cmocka_unit_test(test_a_read_does_not_shorten_a_write),
        cmocka_unit_test(test_all_dies_take_their_pages_at_once),
        cmocka_unit_test(test_random_commands_keep_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
