/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fe_seg_fill_units makes at once is what writing page by page makes: every table of the chip
 * and of the strategy, and all that commands do afterwards.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/same_chip.h"
#include "lib/unit.h"

#include "ftl/units/segment_core.h"

struct bench {
    struct ft_rig rig;
    struct fe_ftl *ftl;
};

static bool setup(struct bench *b, const struct fe_nand_params *nand,
                  const struct fe_ftl_params *p)
{
    struct fe_err err;
    fe_err_init(&err);
    ft_rig_init(&b->rig, nand);
    uint64_t n = fe_ftl_segment.max_lpns(p, &b->rig.geo, &err);
    return n && fe_ftl_create(&b->ftl, &fe_ftl_segment, p, b->rig.medium, (uint32_t)n, false, &err) == 0;
}

static void teardown(struct bench *b)
{
    if (b->ftl)
        fe_ftl_destroy(b->ftl);
    ft_rig_fini(&b->rig);
}

static void write_whole(struct bench *b, fe_lpn lpn)
{
    assert_int_equal(b->ftl->ops->write(b->ftl, lpn, 0, b->rig.geo.page_bytes, NULL), FE_OK);
}

static void assert_same_map(const struct fe_unit_map *f, const struct fe_unit_map *g)
{
    FT_ASSERT_SAME(f->data, g->data, f->n_lebs);
    FT_ASSERT_SAME(f->newer, g->newer, f->n_lebs * f->units.unit_pages);
    FT_ASSERT_SAME(f->logs, g->logs, f->n_logs);
    FT_ASSERT_SAME(f->units.fill, g->units.fill, f->units.n_units);
    FT_ASSERT_SAME(f->units.queue, g->units.queue, f->units.n_units);
    assert_int_equal(f->units.head, g->units.head);
    assert_int_equal(f->units.n_free, g->units.n_free);
}

static void assert_same_open(const struct segment *s, const struct segment *t)
{
    assert_int_equal(s->tick, t->tick);
    for (uint32_t i = 0; i < s->n_open_max; i++) {
        const struct open_unit *o = &s->open[i], *u = &t->open[i];
        assert_int_equal(o->kind, u->kind);
        if (o->kind == OPEN_NOT)
            continue;
        assert_true(o->in_order == u->in_order && o->leb == u->leb && o->unit == u->unit &&
                    o->used == u->used && o->record == u->record);
    }
}

static void assert_same(const struct bench *x, const struct bench *y)
{
    const struct segment *s = seg_of(x->ftl), *t = seg_of(y->ftl);
    struct fe_err err;
    fe_err_init(&err);
    ft_assert_same_chip(&x->rig, &y->rig);
    assert_same_map(&s->map, &t->map);
    assert_same_open(s, t);
    assert_int_equal(s->costs.side[1].last, t->costs.side[1].last);
    assert_int_equal(s->costs.side[1].n_held, t->costs.side[1].n_held);
    FT_ASSERT_SAME(s->costs.side[1].held, t->costs.side[1].held, s->costs.side[1].n_held);
    assert_int_equal(s->scatter.n, t->scatter.n);
    if (s->scatter.hot)
        FT_ASSERT_SAME(s->scatter.writes, t->scatter.writes,
                       s->map.n_lebs / s->scatter.group_units);
    assert_int_equal(s->small.head, t->small.head);
    assert_int_equal(s->small.n, t->small.n);
    if (x->ftl->ops->check(x->ftl, &err) < 0)
        fail_msg("%s", err.text);
}

/* Commands of a few pages to both do the same operations. */
static void assert_same_later(struct bench *x, struct bench *y, uint64_t seed)
{
    struct bench *both[] = {x, y};
    struct ft_rand r = {.seed = seed};
    uint32_t n_x, n_y, n_lpns = x->ftl->n_lpns, page = x->rig.geo.page_bytes;
    ft_rig_clear(&x->rig);
    ft_rig_clear(&y->rig);
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t n = 1 + (uint32_t)ft_below(&r, 4);
        fe_lpn first = (fe_lpn)ft_below(&r, n_lpns - n);
        for (int k = 0; k < 2; k++) {
            fe_medium_begin_command(both[k]->rig.medium);
            both[k]->ftl->ops->begin_command(both[k]->ftl, true, (uint64_t)first * page,
                                             (uint64_t)n * page);
            for (fe_lpn lpn = first; lpn < first + n; lpn++)
                write_whole(both[k], lpn);
        }
    }
    const struct fe_op *a = ft_rig_ops(&x->rig, &n_x), *b = ft_rig_ops(&y->rig, &n_y);
    assert_int_equal(n_x, n_y);
    for (uint32_t i = 0; i < n_x; i++)
        assert_true(a[i].kind == b[i].kind && a[i].ppn == b[i].ppn && a[i].die == b[i].die &&
                    a[i].cell_ns == b[i].cell_ns && a[i].flags == b[i].flags);
    assert_same(x, y);
}

/* A device of 20 to 39 units of some blocks on one to five dies. */
static struct fe_nand_params draw(struct ft_rand *r, struct fe_ftl_params *p)
{
    uint32_t dies = 1 + (uint32_t)ft_below(r, 5), blocks = dies * (1 + (uint32_t)ft_below(r, 3));
    uint32_t units = 20 + (uint32_t)ft_below(r, 20);
    struct fe_nand_params nand = ft_nand(dies, units * blocks / dies, 4 << ft_below(r, 3), 2048);
    nand.page_parts = ft_chance(r, 40) ? 4 : 1;
    *p = ft_params("segment", &nand, blocks);
    p->segment.open_linear = 1 + (uint32_t)ft_below(r, 4);
    p->segment.open_random = (uint32_t)ft_below(r, 3);
    p->unit.switch_merge = true;
    p->segment.open_units = ft_chance(r, 30) ? p->segment.open_linear + 1 : 0;
    p->segment.small_log = ft_chance(r, 50) ? 2 : 0;
    p->segment.small_write = p->segment.small_log ? 2048 : 0;
    p->segment.zone_start = p->segment.small_log ? (uint32_t)ft_below(r, 3) : 0;
    p->segment.zone_units = p->segment.small_log ? (uint32_t)ft_below(r, 4) : 0;
    p->segment.group_units = ft_chance(r, 50) ? 2 : 1;
    p->segment.scattered = p->segment.group_units > 1 ? 6 : 0;
    p->segment.scattered_hot = p->segment.scattered && ft_chance(r, 50) ? 4 : 0;
    p->region.map_switch_ns = ft_chance(r, 50) ? 1000 : 0;
    p->region.map_region = UINT64_C(2048) << ft_below(r, 8);
    p->region.map_held = 1 + (uint32_t)ft_below(r, 4);
    return nand;
}

static void test_segment_fill_is_writing_each_page(void **state)
{
    (void)state;
    uint32_t n_cases = 0, n_partly = 0, n_none = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct ft_rand r = {.seed = seed};
        struct bench x = {.ftl = NULL}, y = {.ftl = NULL};
        struct fe_ftl_params p;
        const struct fe_nand_params nand = draw(&r, &p);
        if (setup(&x, &nand, &p) && setup(&y, &nand, &p)) {
            fe_lpn n = ft_chance(&r, 50) ? x.ftl->n_lpns : (fe_lpn)ft_below(&r, x.ftl->n_lpns);
            fe_lpn at_once = ft_use(x.ftl, n, x.rig.geo.page_bytes);
            n_cases++;
            n_none += at_once == 0;
            n_partly += at_once > 0 && at_once < n;
            for (fe_lpn lpn = 0; lpn < n; lpn++)
                write_whole(&y, lpn);
            assert_same(&x, &y);
            assert_same_later(&x, &y, seed);
            teardown(&y);
        }
        teardown(&x);
    }
    assert_true(n_cases > 300 && n_partly > 100 && n_none < 30);
}

/* Where a write does more than to program the next page, nothing is done at once. */
static void test_segment_fill_leaves_alone_what_is_not_plain(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct fe_nand_params nand = ft_nand(2, 30, 4, 2048);
        struct ft_layer l;
        struct fe_ftl_params p = ft_params("segment", &nand, 2);
        p.segment.small_log = p.segment.zone_units = i == 1;
        ft_layer_init(&l, &nand, &p);
        l.rig.medium->prog_hook = i == 2;
        uint32_t pages = seg_of(l.ftl)->map.units.unit_pages;
        assert_int_equal(l.ftl->ops->fill(l.ftl, 0, 2 * pages - 1), i == 0 ? pages : 0);
        if (i == 0) { /* less than a unit is left */
            assert_int_equal(l.ftl->ops->fill(l.ftl, pages, 2 * pages - 1), 0);
            ft_layer_write_each(&l, pages, 1);
            assert_int_equal(l.ftl->ops->fill(l.ftl, pages + 1, 4 * pages), 0);
        }
        l.rig.medium->prog_hook = false;
        ft_layer_fini(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segment_fill_is_writing_each_page),
        cmocka_unit_test(test_segment_fill_leaves_alone_what_is_not_plain),
    };
    return cmocka_run_group_tests_name("segment fill", tests, NULL, NULL);
}
