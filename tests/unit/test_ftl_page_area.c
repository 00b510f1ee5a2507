/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The enhanced area of the page strategy: which pages are programmed and read with the times of SLC
 * mode, that the area is cleaned and wears in blocks of its own, what power-on finds again, and
 * which areas fit.  One die and 8 pages a block unless a test says otherwise: 4 in SLC mode.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "ftl/pages/area.h"
#include "ftl/pages/page_core.h"

#include <errno.h>

enum { PAGE = FT_SLC_PAGE };

static struct fe_ftl_params with_area(const struct fe_nand_params *nand, uint32_t first,
                                      uint32_t pages)
{
    struct fe_ftl_params p = ft_params("page", nand, 1);
    p.page.enhanced_start = (uint64_t)first * PAGE;
    p.page.enhanced_size = (uint64_t)pages * PAGE;
    return p;
}

/* Pages [4, 12) are the area.  2 blocks hold them, 2 are in reserve, 1 is open, 1 is to spare: the
 * area has blocks 0 to 5, the others begin with block 6. */
enum { FIRST = 4, AREA = 8, AREA_BLOCKS = 6 };

static void setup(struct ft_layer *l, uint32_t blocks)
{
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, blocks);
    struct fe_ftl_params p = with_area(&nand, FIRST, AREA);
    ft_layer_init(l, &nand, &p);
}

static void read_page(struct ft_layer *l, fe_lpn lpn)
{
    uint8_t got[PAGE];
    assert_int_equal(l->ftl->ops->read(l->ftl, lpn, 0, PAGE, got), FE_OK);
    assert_memory_equal(got, l->want + (size_t)lpn * PAGE, PAGE);
}

/* ---- where pages go, and what that costs ---- */

/* Two pages before the border, two behind it; then the other border. */
static void test_area_a_write_over_the_border_has_both_times(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 20);
    /* 20 - 6 blocks of the area - 2 in reserve, 1 open, 1 to spare */
    assert_int_equal(l.ftl->n_lpns, 10 * 8 + AREA);
    assert_int_equal(ft_layer_command(&l, 2, 4), FE_OK);
    ft_layer_expect_op(&l, 0, FE_OP_PROG, 6, 0, 200000); /* LSB, LSB */
    ft_layer_expect_op(&l, 1, FE_OP_PROG, 6, 1, 200000);
    ft_layer_expect_op(&l, 2, FE_OP_PROG, 0, 0, FT_SLC_PROG);
    ft_layer_expect_op(&l, 3, FE_OP_PROG, 0, 1, FT_SLC_PROG);
    assert_int_equal(ft_layer_command(&l, 10, 4), FE_OK);
    ft_layer_expect_op(&l, 4, FE_OP_PROG, 0, 2, FT_SLC_PROG);
    ft_layer_expect_op(&l, 5, FE_OP_PROG, 0, 3, FT_SLC_PROG);
    ft_layer_expect_op(&l, 6, FE_OP_PROG, 6, 2, 600000); /* MSB, LSB */
    ft_layer_expect_op(&l, 7, FE_OP_PROG, 6, 3, 200000);
    assert_string_equal(ft_layer_text(&l), "PPPPPPPP");
    ft_layer_clear(&l);
    static const fe_lpn lpns[] = {3, 4, 5, 11, 12};
    static const uint64_t tR[] = {25000, FT_SLC_R, FT_SLC_R, FT_SLC_R, 40000};
    for (uint32_t i = 0; i < ft_array_len(lpns); i++)
        read_page(&l, lpns[i]);
    for (uint32_t i = 0; i < ft_array_len(lpns); i++) {
        uint32_t n;
        assert_int_equal(ft_rig_ops(&l.rig, &n)[i].cell_ns, tR[i]);
    }
    ft_layer_clear(&l);
    ft_layer_write_part(&l, 4, 100, 50); /* the base is read in SLC mode, too */
    ft_layer_expect_op(&l, 0, FE_OP_READ, 0, 0, FT_SLC_R);
    ft_layer_expect_op(&l, 1, FE_OP_PROG, 1, 0, FT_SLC_PROG);
    ft_layer_end(&l);
}

static void test_area_of_tlc_has_a_third_of_the_pages(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_TLC, 1, 20);
    struct fe_ftl_params p = with_area(&nand, 0, 6);
    ft_layer_init(&l, &nand, &p);
    assert_int_equal(l.ftl->n_lpns, (20 - (2 + 4) - 4) * 9 + 6);
    ft_layer_write_each(&l, 0, 7);
    for (uint32_t i = 0; i < 6; i++)
        ft_layer_expect_op(&l, i, FE_OP_PROG, i / 3, i % 3, FT_SLC_PROG);
    ft_layer_expect_op(&l, 6, FE_OP_PROG, 6, 0, 200000);
    ft_layer_end(&l);
}

/* The area's own blocks: 0 to 3 are written, then 4, and that leaves one of two free blocks.  Block
 * 0 has no valid page any more. */
static void test_area_is_cleaned_in_blocks_of_its_own(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 20);
    ft_layer_write_each(&l, 12, 30);
    uint32_t free = l.ftl->ops->free_blocks(l.ftl);
    ft_layer_clear(&l);
    for (int i = 0; i < 2; i++)
        ft_layer_write_each(&l, FIRST, AREA);
    assert_string_equal(ft_layer_ops_of(&l, FIRST, 1), "P");
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), free - 5);
    assert_string_equal(ft_layer_ops_of(&l, FIRST + 1, 1), "EP");
    ft_layer_expect_op(&l, 0, FE_OP_ERASE, 0, 0, l.rig.nand.tBERS_ns);
    ft_layer_expect_op(&l, 1, FE_OP_PROG, 4, 1, FT_SLC_PROG);
    assert_int_equal(l.ftl->counters.gc_runs, 1);
    assert_int_equal(l.ftl->ops->free_blocks(l.ftl), free - 4);
    ft_layer_end(&l);
}

/* A page that cleaning moves stays in SLC mode: block 0 keeps one of its pages. */
static void test_area_pages_move_in_slc_mode(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 20);
    ft_layer_write_each(&l, FIRST, AREA);
    while (l.ftl->counters.pages_copied == 0) {
        ft_layer_clear(&l);
        for (fe_lpn lpn = FIRST + 1; lpn < FIRST + AREA && l.ftl->counters.pages_copied == 0; lpn++)
            if (lpn != FIRST + 4) /* this one and the first stay: a page in each block */
                ft_layer_write_each(&l, lpn, 1);
    }
    uint32_t n, moved = 0;
    const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
    for (uint32_t i = 0; i + 1 < n; i++) {
        if (ops[i].kind != FE_OP_READ)
            continue;
        assert_int_equal(ops[i].cell_ns, FT_SLC_R);
        assert_int_equal(ops[i + 1].cell_ns, FT_SLC_PROG);
        assert_true(ops[i + 1].ppn < AREA_BLOCKS * 8);
        moved++;
    }
    assert_true(moved > 0);
    ft_layer_end(&l);
}

static uint32_t erases_of(const struct ft_layer *l, fe_peb from, fe_peb end)
{
    uint32_t n = 0;
    for (fe_peb peb = from; peb < end; peb++)
        n += fe_medium_erase_count(l->rig.medium, peb);
    return n;
}

/* Whatever the policies are, writes inside wear the area's blocks only, and writes outside only the
 * others. */
static void test_area_wears_alone(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < FE_N_GC_POLICIES * FE_N_HOT_COLDS * FE_N_WEAR_LEVELLINGS; k++) {
        struct ft_layer l;
        struct ft_rand r = {.seed = k};
        struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 2, 25);
        struct fe_ftl_params p = with_area(&nand, FIRST, AREA);
        p.clean.gc_policy = k % FE_N_GC_POLICIES;
        p.page.hot_cold = k / FE_N_GC_POLICIES % FE_N_HOT_COLDS;
        p.clean.wear_levelling = k / (FE_N_GC_POLICIES * FE_N_HOT_COLDS);
        p.clean.wl_threshold = 4;
        ft_layer_init(&l, &nand, &p);
        uint32_t n = l.ftl->n_lpns, all = l.rig.geo.n_pebs;
        uint32_t end = (uint32_t)fe_page_area_blocks(&p, &l.rig.geo);
        ft_layer_write_each(&l, 0, n);
        uint32_t inside = erases_of(&l, 0, end);
        for (int i = 0; i < 900; i++)
            ft_layer_write_each(&l, FIRST + AREA + (fe_lpn)ft_below(&r, n - FIRST - AREA), 1);
        assert_int_equal(erases_of(&l, 0, end), inside);
        uint32_t outside = erases_of(&l, end, all);
        assert_true(outside > 0);
        for (int i = 0; i < 900; i++)
            ft_layer_write_each(&l, FIRST + (fe_lpn)ft_below(&r, AREA), 1);
        assert_int_equal(erases_of(&l, end, all), outside);
        assert_true(erases_of(&l, 0, end) > inside + 100);
        ft_layer_end(&l);
    }
}

/* Static levelling inside the area: one page is written, the others rest, and no block lags. */
static void test_area_is_levelled(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 24);
    struct fe_ftl_params p = with_area(&nand, FIRST, AREA);
    p.clean.wear_levelling = FE_WEAR_STATIC;
    p.clean.wl_threshold = 3;
    ft_layer_init(&l, &nand, &p);
    ft_layer_write_each(&l, 0, l.ftl->n_lpns);
    for (int i = 0; i < 2000; i++)
        ft_layer_write_each(&l, FIRST, 1);
    uint32_t end = (uint32_t)fe_page_area_blocks(&p, &l.rig.geo), min = UINT32_MAX, max = 0;
    for (fe_peb peb = 0; peb < end; peb++) {
        uint32_t n = fe_medium_erase_count(l.rig.medium, peb);
        min = n < min ? n : min;
        max = n > max ? n : max;
    }
    assert_true(max > 30 && max - min <= 3 + 2);
    ft_layer_end(&l);
}

static void test_area_trim_over_both_borders(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 20);
    uint32_t n = l.ftl->n_lpns;
    for (fe_lpn first = 0; first <= FIRST + AREA; first++)
        for (fe_lpn end = first; end <= FIRST + AREA + 2; end++) {
            ft_layer_write_each(&l, 0, FIRST + AREA + 4);
            assert_int_equal(l.ftl->ops->trim(l.ftl, first, end - first), FE_OK);
            memset(l.want + (size_t)first * PAGE, 0, (size_t)(end - first) * PAGE);
            ft_layer_verify(&l);
        }
    assert_int_equal(l.ftl->ops->trim(l.ftl, 0, n), FE_OK);
    memset(l.want, 0, (size_t)n * PAGE);
    for (fe_peb peb = 0; peb < 20; peb++)
        assert_int_equal(l.ftl->ops->valid_pages(l.ftl, peb), 0);
    ft_layer_end(&l);
}

/* Two invalid pages in each of two full blocks give a block; idle time wins it, in the area as
 * elsewhere. */
static void test_area_is_cleaned_in_idle_time(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 24);
    struct fe_ftl_params p = with_area(&nand, FIRST, AREA);
    p.clean.idle_free = 9;
    ft_layer_init(&l, &nand, &p);
    ft_layer_write_each(&l, FIRST, AREA);
    assert_false(l.ftl->ops->idle(l.ftl));
    ft_layer_write_each(&l, FIRST, 2);
    assert_false(l.ftl->ops->idle(l.ftl)); /* 2 invalid pages are not a block */
    ft_layer_write_each(&l, FIRST + 4, 1);
    ft_layer_write_each(&l, FIRST + 5, 1);
    ft_layer_clear(&l);
    assert_true(l.ftl->ops->idle(l.ftl));
    assert_string_equal(ft_layer_text(&l), "RpRpE");
    ft_layer_end(&l);
}

/* ---- beside an SLC cache ---- */

/* Outside, the cache takes what the host writes and folds it; inside, pages are at home in SLC mode
 * and never move because of a fold. */
static void test_area_goes_past_the_cache(void **state)
{
    (void)state;
    for (uint32_t mode = FE_SLC_STATIC; mode < FE_N_SLC_MODES; mode++) {
        struct ft_layer l;
        struct ft_rand r = {.seed = mode};
        struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 40);
        struct fe_ftl_params p = with_area(&nand, FIRST, AREA);
        p.page.slc_mode = mode;
        p.page.slc_blocks = mode == FE_SLC_STATIC ? 3 : 0;
        ft_layer_init(&l, &nand, &p);
        const struct page_ftl *f = page_of(l.ftl);
        assert_int_equal(fe_page_area_blocks(&p, &l.rig.geo), AREA_BLOCKS);
        ft_layer_write_each(&l, FIRST - 1, 2);
        ft_layer_expect_op(&l, 0, FE_OP_PROG, 6, 0, FT_SLC_PROG);
        ft_layer_expect_op(&l, 1, FE_OP_PROG, 0, 0, FT_SLC_PROG);
        assert_int_equal(fe_medium_tag(l.rig.medium, 6 * 8), FE_TAG_SLC);
        assert_int_equal(fe_medium_tag(l.rig.medium, 0), FE_TAG_DATA);
        for (int i = 0; i < 3000; i++) {
            ft_layer_write_each(&l, (fe_lpn)ft_below(&r, l.ftl->n_lpns), 1);
            for (fe_lpn lpn = 0; lpn < l.ftl->n_lpns; lpn++)
                if (fe_mapped(f->base.map[lpn]) != FE_PPN_NONE)
                    assert_int_equal(fe_mapped(f->base.map[lpn]) < AREA_BLOCKS * 8,
                                     lpn >= FIRST && lpn < FIRST + AREA);
        }
        assert_true(l.ftl->counters.slc_folds > 0);
        ft_layer_end(&l);
    }
}

/* A full cache is folded for a page that goes there, and not for a page of the area. */
static void test_area_folds_no_full_cache(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 40);
    struct fe_ftl_params p = with_area(&nand, FIRST, AREA);
    p.page.slc_mode = FE_SLC_STATIC;
    p.page.slc_blocks = 2;
    ft_layer_init(&l, &nand, &p);
    ft_layer_write_each(&l, FIRST + AREA, 8);
    assert_string_equal(ft_layer_ops_of(&l, FIRST, 1), "P");
    assert_int_equal(l.ftl->counters.slc_folds, 0);
    assert_string_equal(ft_layer_ops_of(&l, 0, 1), "RpRpRpRpEP");
    assert_int_equal(l.ftl->counters.slc_folds, 1);
    ft_layer_end(&l);
}

/* ---- power-on ---- */

static void test_area_power_on_finds_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct ft_layer l;
        struct ft_rand r = {.seed = seed};
        setup(&l, 24);
        for (uint32_t i = 0; i < 40 + 17 * seed; i++) {
            bool inside = ft_chance(&r, 60);
            fe_lpn lpn = inside ? FIRST + (fe_lpn)ft_below(&r, AREA)
                                : (fe_lpn)ft_below(&r, l.ftl->n_lpns);
            ft_layer_write_each(&l, lpn, 1);
        }
        uint32_t free = l.ftl->ops->free_blocks(l.ftl), n;
        ft_layer_power_cycle(&l);
        uint32_t now = l.ftl->ops->free_blocks(l.ftl);
        assert_true(now >= free && now <= free + 2); /* each part has its reserve again */
        assert_true(page_of(l.ftl)->area.pool.n >= 2 && page_of(l.ftl)->blocks.pool.n >= 2);
        ft_layer_verify(&l);
        ft_layer_clear(&l);
        ft_layer_write_each(&l, FIRST, 1);
        const struct fe_op *ops = ft_rig_ops(&l.rig, &n);
        assert_true(ops[n - 1].kind == FE_OP_PROG && ops[n - 1].cell_ns == FT_SLC_PROG);
        ft_layer_end(&l);
    }
}

/* Programs the next page of a block of the area, as if the host had written zeros. */
static void prog(struct ft_layer *l, fe_peb peb, fe_lpn lpn, enum fe_tag tag)
{
    struct fe_medium *m = l->rig.medium;
    uint32_t page = fe_medium_next_page(m, peb);
    if (page == 0)
        fe_medium_use_slc(m, peb);
    assert_int_equal(fe_medium_prog(m, peb * 8 + page, lpn, (uint8_t)tag, FE_PPN_NONE, 0, PAGE,
                                    NULL), FE_OK);
}

/* Power failed while block 1 was emptied: two of its pages are in block 4 already, and only block 5
 * is free.  The other blocks of the chip are erased, and count for nothing here.  What was moved
 * goes away again, and that makes the second free block. */
static void test_area_power_on_drops_what_was_moved(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, 20);
    struct fe_chip *chip = &l.rig.medium->chip;
    static const fe_lpn first[] = {4, 8, 4, 4};
    for (fe_peb peb = 0; peb < 4; peb++)
        for (fe_lpn lpn = first[peb]; lpn < first[peb] + 4; lpn++)
            prog(&l, peb, lpn, FE_TAG_DATA);
    chip->interrupted.since = chip->seq;
    prog(&l, 4, 8, FE_TAG_COPY);
    prog(&l, 4, 9, FE_TAG_COPY);
    chip->interrupted.until = chip->seq;
    chip->interrupted.peb = 1;
    ft_layer_power_cycle(&l);
    assert_int_equal(fe_medium_next_page(l.rig.medium, 4), 0);
    assert_int_equal(fe_medium_next_page(l.rig.medium, 0), 4); /* nothing else was erased */
    assert_int_equal(fe_mapped(page_of(l.ftl)->base.map[8]), 1 * 8);
    assert_int_equal(page_of(l.ftl)->area.pool.n, 2);
    ft_layer_end(&l);
}

/* ---- what the check finds ---- */

static void test_area_check_finds_damage(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_err err;
    setup(&l, 20);
    ft_layer_write_each(&l, 0, 20);
    ft_layer_check_finds_damage(&l);
    struct page_ftl *f = page_of(l.ftl);
    fe_err_init(&err);
    f->base.map[FIRST] = f->base.map[0]; /* valid, and on the wrong side */
    assert_int_equal(l.ftl->ops->check(l.ftl, &err), -EIO);
    fe_err_init(&err);
    f->base.map[FIRST] = fe_mapping(0);
    ft_layer_check(&l);
    fe_chip_mark(&l.rig.medium->chip, 0, FE_MARK_SLC, false); /* a full block of the area */
    assert_int_equal(l.ftl->ops->check(l.ftl, &err), -EIO);
    fe_chip_mark(&l.rig.medium->chip, 0, FE_MARK_SLC, true);
    ft_layer_end(&l);
}

/* ---- which areas fit ---- */

static uint64_t max_lpns(const struct fe_ftl_params *p, const struct fe_nand_params *nand,
                         struct fe_err *err)
{
    struct fe_geometry geo;
    fe_err_init(err);
    assert_int_equal(fe_geometry_init(&geo, nand, err), 0);
    return fe_ftl_page.max_lpns(p, &geo, err);
}

static void expect_refusal(const struct fe_ftl_params *p, const struct fe_nand_params *nand,
                           const char *want)
{
    struct fe_err err;
    assert_int_equal(max_lpns(p, nand, &err), 0);
    assert_string_equal(err.text, want);
}

static void test_area_refuses_contradictions(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 20);
    struct fe_nand_params slc = ft_nand_slc(FE_CELL_SLC, 1, 20);
    struct fe_ftl_params p = with_area(&nand, 4, 0);
    expect_refusal(&p, &nand, "ftl.enhanced_size:start=2048: there is no enhanced area with "
                              "ftl.enhanced_size=none; use 0, or a size");
    p = with_area(&nand, 4, 8);
    expect_refusal(&p, &slc, "ftl.enhanced_size=4096: only blocks of nand.cell=mlc (2 pages or "
                             "more) or tlc (3 or more) can be used in SLC mode; use none");
    nand.page_size = 4096;
    nand.multiplane = true;
    nand.planes_per_die = 2;
    p.page.enhanced_start = 8192;
    p.page.enhanced_size = 4096;
    expect_refusal(&p, &nand,
                   "ftl.enhanced_size=4096: must be a multiple of the flash page, 8192 bytes");
    p.page.enhanced_start = 4096;
    expect_refusal(&p, &nand,
                   "ftl.enhanced_size:start=4096: must be a multiple of the flash page, 8192 bytes");
    nand = ft_nand_slc(FE_CELL_MLC, 1, 20);
    /* 4 blocks for the other data's work and 1 for data, so 15 remain, 4 of them for its own */
    p = with_area(&nand, 0, 11 * 4 + 1);
    expect_refusal(&p, &nand, "ftl.enhanced_size=23040: takes 16 blocks in SLC mode; of the chip's "
                              "20 the page strategy keeps 4 besides the other data, which leaves "
                              "15; at most 22528 bytes");
    p = with_area(&nand, 10 * 8 + 1, 8);
    expect_refusal(&p, &nand, "ftl.enhanced_size:start=41472: the enhanced area would end at 45568, and "
                              "the device at 45056; at most 40960");
}

/* The bound of the message is the bound: what it names is accepted, a page more is not. */
static void test_area_refusals_name_what_fits(void **state)
{
    (void)state;
    uint32_t n_refused = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct ft_rand r = {.seed = seed};
        struct fe_nand_params nand =
            ft_nand_slc(ft_chance(&r, 50) ? FE_CELL_MLC : FE_CELL_TLC,
                        (uint32_t)ft_between(&r, 1, 4), (uint32_t)ft_between(&r, 20, 60));
        nand.pages_per_block = (uint32_t)ft_between(&r, 4, 40);
        struct fe_ftl_params p = with_area(&nand, 0, 1);
        p.op_ppm = ft_below(&r, 400000);
        p.page.hot_cold = (uint32_t)ft_below(&r, FE_N_HOT_COLDS);
        p.page.enhanced_size = UINT64_C(1) << 40;
        struct fe_err err;
        assert_int_equal(max_lpns(&p, &nand, &err), 0);
        const char *most = strstr(err.text, "at most ");
        assert_non_null(most);
        p.page.enhanced_size = strtoull(most + 8, NULL, 10);
        if (p.page.enhanced_size == 0)
            continue;
        assert_true(max_lpns(&p, &nand, &err) >= p.page.enhanced_size / PAGE);
        p.page.enhanced_size += PAGE;
        assert_int_equal(max_lpns(&p, &nand, &err), 0);
        n_refused++;
    }
    assert_true(n_refused > 250);
}

/* Over-provisioning of the area: what ftl.op says, in blocks of 4 pages, where that is more than
 * what the strategy needs. */
static void test_area_has_its_share_of_over_provisioning(void **state)
{
    (void)state;
    struct fe_nand_params nand = ft_nand_slc(FE_CELL_MLC, 1, 400);
    struct fe_geometry geo;
    assert_int_equal(fe_geometry_init(&geo, &nand, NULL), 0);
    struct fe_ftl_params p = with_area(&nand, 8, 400);
    p.op_ppm = 250000;
    assert_int_equal(fe_page_area_blocks(&p, &geo), 125);
    assert_int_equal(fe_area_extra_bytes(&p, FE_CELL_MLC, 8), 400 * PAGE);
    assert_int_equal(fe_area_extra_bytes(&p, FE_CELL_MLC, 5), 600 * PAGE); /* 2 of 5 pages */
    assert_int_equal(fe_area_extra_bytes(&p, FE_CELL_TLC, 9), 800 * PAGE);
    assert_int_equal(fe_area_extra_bytes(&p, FE_CELL_SLC, 8), 0);
    p.op_ppm = 10000;
    assert_int_equal(fe_page_area_blocks(&p, &geo), 100 + 4);
}

/* With the largest area that a shape allows, every page can be written for ever. */
static void test_area_as_large_as_possible_never_runs_out(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct ft_layer l;
        struct ft_rand r = {.seed = seed};
        struct fe_nand_params nand =
            ft_nand_slc(seed % 2 ? FE_CELL_MLC : FE_CELL_TLC, (uint32_t)ft_between(&r, 1, 3), 24);
        struct fe_ftl_params p = with_area(&nand, 0, 1);
        p.op_ppm = 0;
        p.clean.gc_policy = (uint32_t)ft_below(&r, FE_N_GC_POLICIES);
        p.page.hot_cold = (uint32_t)ft_below(&r, FE_N_HOT_COLDS);
        struct fe_err err;
        p.page.enhanced_size = UINT64_C(1) << 40;
        assert_int_equal(max_lpns(&p, &nand, &err), 0);
        p.page.enhanced_size = strtoull(strstr(err.text, "at most ") + 8, NULL, 10);
        ft_layer_init(&l, &nand, &p);
        ft_layer_write_each(&l, 0, l.ftl->n_lpns);
        for (int i = 0; i < 3000; i++)
            ft_layer_write_each(&l, (fe_lpn)ft_below(&r, l.ftl->n_lpns), 1);
        ft_layer_end(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_area_a_write_over_the_border_has_both_times),
        cmocka_unit_test(test_area_of_tlc_has_a_third_of_the_pages),
        cmocka_unit_test(test_area_is_cleaned_in_blocks_of_its_own),
        cmocka_unit_test(test_area_pages_move_in_slc_mode),
        cmocka_unit_test(test_area_wears_alone),
        cmocka_unit_test(test_area_is_levelled),
        cmocka_unit_test(test_area_trim_over_both_borders),
        cmocka_unit_test(test_area_is_cleaned_in_idle_time),
        cmocka_unit_test(test_area_goes_past_the_cache),
        cmocka_unit_test(test_area_folds_no_full_cache),
        cmocka_unit_test(test_area_power_on_finds_the_same),
        cmocka_unit_test(test_area_power_on_drops_what_was_moved),
        cmocka_unit_test(test_area_check_finds_damage),
        cmocka_unit_test(test_area_refuses_contradictions),
        cmocka_unit_test(test_area_refusals_name_what_fits),
        cmocka_unit_test(test_area_has_its_share_of_over_provisioning),
        cmocka_unit_test(test_area_as_large_as_possible_never_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
