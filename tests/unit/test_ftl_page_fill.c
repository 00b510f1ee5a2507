/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fe_page_fill makes at once is what writing page by page makes: every table of the chip and
 * of the strategy, and all that random writes do afterwards.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/same_chip.h"
#include "lib/unit.h"

#include "ftl/pages/page_core.h"

#include <string.h>

struct bench {
    struct ft_rig rig;
    struct fe_ftl *ftl;
};

/* A chip of which every block whose bit is set is bad. */
static void setup(struct bench *b, const struct fe_nand_params *nand,
                  const struct fe_ftl_params *p, uint64_t bad)
{
    struct fe_err err;
    fe_err_init(&err);
    ft_rig_init(&b->rig, nand);
    uint64_t n = fe_ftl_page.max_lpns(p, &b->rig.geo, &err);
    for (fe_peb peb = 0; peb < 64 && peb < b->rig.geo.n_pebs; peb++)
        if (bad >> peb & 1) {
            b->rig.medium->chip.pebs[peb].marks |= FE_MARK_FACTORY_BAD;
            n -= b->rig.geo.pages_per_block;
        }
    if (fe_ftl_create(&b->ftl, &fe_ftl_page, p, b->rig.medium, (uint32_t)n, false, &err) < 0)
        fail_msg("%s", err.text);
}

static void teardown(struct bench *b)
{
    fe_ftl_destroy(b->ftl);
    ft_rig_fini(&b->rig);
}

static void write_to(struct bench *b, fe_lpn lpn)
{
    assert_int_equal(b->ftl->ops->write(b->ftl, lpn, 0, b->rig.geo.page_bytes, NULL), FE_OK);
}

static void assert_same(struct bench *x, struct bench *y)
{
    const struct page_ftl *f = page_of(x->ftl), *g = page_of(y->ftl);
    const struct fe_geometry *geo = &x->rig.geo;
    struct fe_err err;
    fe_err_init(&err);
    ft_assert_same_chip(&x->rig, &y->rig);
    FT_ASSERT_SAME(f->base.map, g->base.map, x->ftl->n_lpns);
    FT_ASSERT_SAME(f->blocks.valid, g->blocks.valid, geo->n_pebs);
    FT_ASSERT_SAME(f->blocks.state, g->blocks.state, geo->n_pebs);
    FT_ASSERT_SAME(f->blocks.valid_bits, g->blocks.valid_bits, fe_bits_words(geo->n_ppns));
    assert_int_equal(f->costs.side[1].last, g->costs.side[1].last);
    assert_int_equal(f->costs.side[1].n_held, g->costs.side[1].n_held);
    FT_ASSERT_SAME(f->costs.side[1].held, g->costs.side[1].held, f->costs.side[1].n_held);
    assert_int_equal(f->run_last, g->run_last);
    assert_int_equal(f->run_pages, g->run_pages);
    if (x->ftl->ops->check(x->ftl, &err) < 0)
        fail_msg("%s", err.text);
}

/* Random writes to both do the same operations. */
static void assert_same_later(struct bench *x, struct bench *y, uint64_t seed)
{
    struct ft_rand r = {.seed = seed};
    uint32_t n_x, n_y, n_lpns = x->ftl->n_lpns;
    ft_rig_clear(&x->rig);
    ft_rig_clear(&y->rig);
    for (uint32_t i = 0; i < n_lpns / 2; i++) {
        fe_lpn lpn = (fe_lpn)ft_below(&r, n_lpns);
        write_to(x, lpn);
        write_to(y, lpn);
    }
    const struct fe_op *a = ft_rig_ops(&x->rig, &n_x), *b = ft_rig_ops(&y->rig, &n_y);
    assert_int_equal(n_x, n_y);
    for (uint32_t i = 0; i < n_x; i++)
        assert_true(a[i].kind == b[i].kind && a[i].ppn == b[i].ppn && a[i].die == b[i].die);
    assert_same(x, y);
}

/* A cache in front of half of the devices.  A run goes past it early, late or never.  A dynamic one
 * may have taken so many blocks by then that pages have to be moved. */
static void draw_cache(struct ft_rand *r, struct fe_nand_params *nand, struct fe_ftl_params *p)
{
    if (ft_chance(r, 50))
        return;
    nand->cell = FE_CELL_MLC;
    bool is_static = ft_chance(r, 50);
    p->page.slc_mode = is_static ? FE_SLC_STATIC : FE_SLC_DYNAMIC;
    p->page.slc_blocks = is_static ? 2 + (uint32_t)ft_below(r, 4) : 0;
    p->page.slc_run = ft_chance(r, 80) ? UINT64_C(512) << ft_below(r, is_static ? 9 : 13) : 0;
    p->page.slc_dies = (uint32_t)ft_below(r, 2);
}

/* Half of the devices have fewer pages, in two to eight parts each. */
static void draw_parts(struct ft_rand *r, struct fe_nand_params *nand)
{
    uint32_t parts = ft_chance(r, 50) ? 1 : UINT32_C(2) << ft_below(r, 3);
    nand->page_parts = parts;
    nand->page_size *= parts;
    nand->oob_size *= parts;
    nand->pages_per_block = nand->pages_per_block / parts + 2;
}

static void test_fill_is_writing_each_page(void **state)
{
    (void)state;
    uint32_t n_filled = 0, n_partly = 0, n_behind_cache = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        struct ft_rand r = {.seed = seed};
        struct bench x, y;
        uint32_t dies = 1 + (uint32_t)ft_below(&r, 5), pages = 2 + (uint32_t)ft_below(&r, 130);
        struct fe_nand_params nand =
            ft_nand(dies, 14 + (uint32_t)ft_below(&r, 20), pages, 512);
        draw_parts(&r, &nand);
        struct fe_ftl_params p = ft_params("page", &nand, 1);
        p.op_ppm = 280000;
        p.clean.gc_policy = (uint32_t)ft_below(&r, FE_N_GC_POLICIES);
        p.clean.wear_levelling = (uint32_t)ft_below(&r, FE_N_WEAR_LEVELLINGS);
        p.clean.wl_threshold = 4;
        p.page.hot_cold = ft_chance(&r, 50) ? FE_HOT_COLD_GC : FE_HOT_COLD_OFF;
        p.region = (struct fe_region_params){
            .map_region = UINT64_C(512) << ft_below(&r, 8),
            .map_held = 1 + (uint32_t)ft_below(&r, 4),
            .map_switch_ns = ft_chance(&r, 50) ? 1000 : 0,
        };
        draw_cache(&r, &nand, &p);
        uint64_t bad = ft_chance(&r, 50) ? UINT64_C(1) << ft_below(&r, 14) : 0;
        setup(&x, &nand, &p, bad);
        setup(&y, &nand, &p, bad);
        fe_lpn n = ft_chance(&r, 50) ? x.ftl->n_lpns : (fe_lpn)ft_below(&r, x.ftl->n_lpns);
        fe_lpn filled = ft_use(x.ftl, n, x.rig.geo.page_bytes);
        assert_true(filled % (dies * x.rig.geo.pages_per_block) == 0);
        n_filled += filled > 0;
        n_partly += filled < n;
        n_behind_cache += filled > 0 && p.page.slc_mode != FE_SLC_OFF;
        for (fe_lpn lpn = 0; lpn < n; lpn++)
            write_to(&y, lpn);
        assert_same(&x, &y);
        assert_same_later(&x, &y, seed);
        teardown(&x);
        teardown(&y);
    }
    assert_true(n_filled > 700 && n_partly > 700 && n_behind_cache > 200);
}

/* Where a write does more than to program the next page, nothing is done at once. */
static void test_fill_leaves_alone_what_is_not_plain(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct fe_nand_params nand = ft_nand(2, 30, 8, 512);
        struct ft_layer l;
        nand.cell = FE_CELL_MLC;
        struct fe_ftl_params p = ft_params("page", &nand, 1);
        p.page.slc_mode = i == 1 ? FE_SLC_STATIC : FE_SLC_OFF;
        p.page.slc_blocks = i == 1 ? 4 : 0;
        p.page.hot_cold = i == 2 ? FE_HOT_COLD_TWO_POOL : FE_HOT_COLD_OFF;
        p.page.enhanced_size = i == 3 ? 16 * 512 : 0;
        ft_layer_init(&l, &nand, &p);
        l.rig.medium->prog_hook = i == 4;
        assert_int_equal(l.ftl->ops->fill(l.ftl, 0, 40), i == 0 ? 32 : 0);
        assert_int_equal(l.ftl->ops->fill(l.ftl, 1, 40), 0);
        l.rig.medium->prog_hook = false;
        ft_layer_fini(&l);
    }
}

/* Behind a run that goes past the cache, at the beginning of a stripe only, and not where several
 * pages go past it together. */
static void test_fill_behind_a_cache(void **state)
{
    (void)state;
    for (uint32_t gather = 0; gather <= 4; gather += 4) {
        struct fe_nand_params nand = ft_nand(2, 30, 8, 512);
        struct ft_layer l;
        nand.cell = FE_CELL_MLC;
        struct fe_ftl_params p = ft_params("page", &nand, 1);
        p.page.slc_mode = FE_SLC_STATIC;
        p.page.slc_blocks = 4;
        p.page.slc_run = UINT64_C(5) * 512;
        p.page.slc_gather = gather * 512;
        ft_layer_init(&l, &nand, &p);
        for (fe_lpn lpn = 0; lpn < 5; lpn++) {
            assert_int_equal(l.ftl->ops->fill(l.ftl, lpn, 40), 0);
            assert_int_equal(l.ftl->ops->write(l.ftl, lpn, 0, 512, NULL), FE_OK);
        }
        assert_int_equal(l.ftl->ops->fill(l.ftl, 5, 40), gather ? 0 : 32);
        assert_int_equal(l.ftl->ops->fill(l.ftl, gather ? 5 : 37, 38), 0);
        ft_layer_fini(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill_is_writing_each_page),
        cmocka_unit_test(test_fill_leaves_alone_what_is_not_plain),
        cmocka_unit_test(test_fill_behind_a_cache),
    };
    return cmocka_run_group_tests_name("page fill", tests, NULL, NULL);
}
