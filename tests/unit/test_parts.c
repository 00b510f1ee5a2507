/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages that are programmed in parts (nand.page_parts): how they are numbered, which parts share a
 * program or a read of the cells, and schedules by hand of a small log that packs writes.
 *
 * The chip has pages of 2048 bytes, with 64 of OOB, in four parts.  tR is 25 us, tPROG 200 us and
 * tBERS 1.5 ms; the bus transfers 1 byte a ns, so a part with its OOB takes 528 ns.
 */
#include "lib/device.h"
#include "lib/rig.h"
#include "lib/unit.h"

#include "device/internal.h"
#include "ftl/units/unit.h"
#include "nand/series.h"
#include "nand/undo.h"

#include <errno.h>

enum { PARTS = 4, PART = 512, BUS = 528, TR = 25000, TPROG = 200000, TBERS = 1500000 };

static struct fe_nand_params chip_of(uint32_t cell, uint32_t dies, uint32_t parts)
{
    struct fe_nand_params p = ft_nand(dies, 6, 8, 2048);
    p.cell = cell;
    p.page_parts = parts;
    return p;
}

static struct fe_geometry geometry_of(uint32_t cell, uint32_t dies, uint32_t parts)
{
    struct fe_nand_params p = chip_of(cell, dies, parts);
    struct fe_geometry g;
    struct fe_err err = {""};
    assert_int_equal(fe_geometry_init(&g, &p, &err), 0);
    return g;
}

/* A part has the type of its page; an interrupted program takes all parts of the partner along. */
static void test_parts_belong_to_pages_of_the_cells(void **state)
{
    (void)state;
    for (uint32_t cell = FE_CELL_SLC; cell <= FE_CELL_TLC; cell++) {
        struct fe_geometry whole = geometry_of(cell, 2, 1), g = geometry_of(cell, 2, PARTS);
        assert_int_equal(g.n_pebs, whole.n_pebs);
        assert_int_equal(g.n_ppns, PARTS * whole.n_ppns);
        assert_int_equal(g.page_bytes, PART);
        assert_int_equal(g.oob_bytes, 16);
        assert_int_equal(fe_slc_pages(&g), PARTS * fe_slc_pages(&whole));
        for (uint32_t i = 0; i < g.pages_per_block; i++) {
            uint32_t page = i / PARTS, partner = fe_page_partner(&whole, page);
            assert_int_equal(fe_part_of(&g, i), i % PARTS);
            assert_int_equal(fe_page_type(&g, i), fe_page_type(&whole, page));
            assert_int_equal(fe_page_bit(&g, i), fe_page_bit(&whole, page));
            assert_int_equal(fe_page_partner(&g, i), partner == page ? i : PARTS * partner);
        }
    }
}

static void test_parts_must_divide_the_page(void **state)
{
    (void)state;
    static const struct {
        uint32_t page, oob, parts;
        int result;
    } cases[] = {{2048, 64, 64, 0}, {2048, 64, 3, -EINVAL}, {2048, 4, 8, -EINVAL},
                 {520, 16, 16, -EINVAL}, {2048, 0, 4, 0}};
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        struct fe_nand_params p = ft_nand(1, 4, 4, cases[i].page);
        struct fe_geometry g;
        struct fe_err err = {""};
        p.oob_size = cases[i].oob;
        p.page_parts = cases[i].parts;
        assert_int_equal(fe_geometry_init(&g, &p, &err), cases[i].result);
        assert_int_equal(!strstr(err.text, "nand.page_parts"), cases[i].result == 0);
    }
    struct fe_nand_params p = ft_nand(1, 4, 2048, 2048); /* 65536 parts in a block */
    struct fe_geometry g;
    p.page_parts = 32;
    assert_int_equal(fe_geometry_init(&g, &p, NULL), -EOVERFLOW);
}

/* Where a page lies does not depend on its parts. */
static void test_parts_of_a_page_stay_on_their_block(void **state)
{
    (void)state;
    for (uint32_t dies = 1; dies <= 3; dies++) {
        struct ft_rig rig, whole_rig;
        struct fe_units u, whole;
        struct fe_err err = {""};
        struct fe_nand_params p = chip_of(FE_CELL_SLC, dies, PARTS);
        ft_rig_init(&rig, &p);
        p.page_parts = 1;
        ft_rig_init(&whole_rig, &p);
        assert_int_equal(fe_units_init(&u, rig.medium, 6 * 8 * PARTS, &err), 0);
        assert_int_equal(fe_units_init(&whole, whole_rig.medium, 6 * 8, &err), 0);
        for (uint32_t i = 0; i < u.unit_pages; i++)
            assert_int_equal(fe_unit_ppn(&u, 1 % u.n_units, i),
                             fe_unit_ppn(&whole, 1 % u.n_units, i / PARTS) * PARTS + i % PARTS);
        fe_units_fini(&u);
        fe_units_fini(&whole);
        ft_rig_fini(&rig);
        ft_rig_fini(&whole_rig);
    }
}

static void prog(struct ft_rig *rig, fe_ppn ppn)
{
    assert_int_equal(fe_medium_prog(rig->medium, ppn, ppn, 0, FE_PPN_NONE, 0, PART, NULL), FE_OK);
}

static void expect_flags(struct ft_rig *rig, const unsigned *flags, uint32_t n)
{
    uint32_t had;
    const struct fe_op *ops = ft_rig_ops(rig, &had);
    assert_int_equal(had, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ops[i].flags, flags[i]);
        assert_int_equal(ops[i].cell_ns, TPROG);
        assert_int_equal(ops[i].bus_bytes, BUS);
    }
    ft_rig_clear(rig);
}

/* A program joins the one in front of it in the same page and the same command, if nothing else has
 * used a register between them. */
static void test_parts_that_follow_each_other_are_one_program(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params p = chip_of(FE_CELL_SLC, 2, PARTS);
    const unsigned in_order[] = {0, FE_OP_JOINS, FE_OP_JOINS, FE_OP_JOINS, 0, FE_OP_JOINS};
    const unsigned apart[] = {0}, pair[] = {0, FE_OP_JOINS}, other[] = {0, 0, 0};
    ft_rig_init(&rig, &p);
    for (fe_ppn ppn = 0; ppn < 6; ppn++)
        prog(&rig, ppn);
    expect_flags(&rig, in_order, 6);

    fe_medium_begin_command(rig.medium);
    prog(&rig, 6);
    expect_flags(&rig, apart, 1);
    fe_medium_read(rig.medium, 0, 0, PART, NULL);
    ft_rig_clear(&rig);
    prog(&rig, 7);
    expect_flags(&rig, apart, 1);

    prog(&rig, 32); /* another block, and back */
    prog(&rig, 8);
    prog(&rig, 33);
    expect_flags(&rig, other, 3);
    prog(&rig, 9);
    prog(&rig, 10);
    expect_flags(&rig, pair, 2);
    assert_int_equal(fe_medium_erase(rig.medium, 1), FE_OK);
    ft_rig_clear(&rig);
    prog(&rig, 11);
    expect_flags(&rig, apart, 1);
    ft_rig_fini(&rig);
}

static void expect_read(struct ft_rig *rig, fe_ppn ppn, uint64_t cell_ns)
{
    uint32_t n;
    ft_rig_clear(rig);
    fe_medium_read(rig->medium, ppn, 0, PART, NULL);
    const struct fe_op *ops = ft_rig_ops(rig, &n);
    assert_int_equal(n, 1);
    if (ops->cell_ns != cell_ns)
        fail_msg("page %u takes %llu ns", ppn, (unsigned long long)ops->cell_ns);
}

static void test_parts_of_a_page_are_read_at_once(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params p = chip_of(FE_CELL_SLC, 2, PARTS);
    ft_rig_init(&rig, &p);
    for (fe_ppn ppn = 0; ppn < 8; ppn++)
        prog(&rig, ppn);
    expect_read(&rig, 7, TR); /* it was programmed, not read */
    expect_read(&rig, 5, 0);
    expect_read(&rig, 5, 0);
    expect_read(&rig, 3, TR);
    expect_read(&rig, 0, 0);
    expect_read(&rig, 4, TR);
    fe_medium_begin_command(rig.medium);
    expect_read(&rig, 4, TR);
    prog(&rig, 8);
    expect_read(&rig, 5, TR);
    ft_rig_fini(&rig);
}

static void expect_run(struct ft_rig *rig, uint32_t i, uint32_t n_runs, uint32_t n,
                       uint32_t bus_bytes, uint64_t cell_ns)
{
    uint32_t had;
    const struct fe_op *ops = ft_rig_ops(rig, &had);
    assert_int_equal(had, n_runs);
    assert_int_equal(ops[i].kind, FE_OP_SERIES);
    assert_int_equal(ops[i].n, n);
    assert_int_equal(ops[i].bus_bytes, bus_bytes);
    assert_int_equal(ops[i].cell_ns, cell_ns);
}

/* A run knows what was in the register before it, and leaves what it had there. */
static void test_parts_are_sensed_and_joined_in_runs(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params p = chip_of(FE_CELL_SLC, 1, PARTS);
    struct fe_series run = {0};
    ft_rig_init(&rig, &p);
    for (fe_ppn ppn = 0; ppn < 8; ppn++)
        prog(&rig, ppn);
    expect_read(&rig, 1, TR);
    ft_rig_clear(&rig);
    fe_series_barrier(rig.medium);
    fe_series_read(rig.medium, &run, 2); /* sensed with 1 */
    fe_series_read(rig.medium, &run, 3);
    fe_series_prog(rig.medium, &run, 2, 32, 2, 0);
    fe_series_prog(rig.medium, &run, 3, 33, 3, 0);
    fe_series_end(rig.medium, &run);
    expect_run(&rig, 0, 1, 4, BUS, TPROG);
    expect_read(&rig, 3, TR); /* the register was programmed from */

    ft_rig_clear(&rig);
    fe_series_read(rig.medium, &run, 5);
    fe_series_prog(rig.medium, &run, 5, 34, 5, 0); /* 33 is in the array */
    fe_series_barrier(rig.medium);
    fe_series_prog(rig.medium, &run, FE_PPN_NONE, 35, FE_LPN_NONE, 0); /* 34 is as well */
    fe_series_prog(rig.medium, &run, FE_PPN_NONE, 36, FE_LPN_NONE, 0); /* another page */
    fe_series_end(rig.medium, &run);
    expect_run(&rig, 0, 1, 4, BUS, TR + 3 * TPROG);
    assert_int_equal(rig.medium->counters.page_reads - rig.before.page_reads, 1);
    assert_int_equal(rig.medium->counters.page_programs - rig.before.page_programs, 3);
    ft_rig_fini(&rig);
}

/* Copies stay on the die, and padding comes over the bus: it joins the copy in front of it,
 * although it begins a run of its own. */
static void test_parts_join_across_runs(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params p = chip_of(FE_CELL_SLC, 1, PARTS);
    struct fe_series run = {0};
    p.copyback = true;
    ft_rig_init(&rig, &p);
    prog(&rig, 0);
    ft_rig_clear(&rig);
    fe_series_read(rig.medium, &run, 0);
    fe_series_prog(rig.medium, &run, 0, 32, 0, 0);
    fe_series_prog(rig.medium, &run, FE_PPN_NONE, 33, FE_LPN_NONE, 0);
    fe_series_end(rig.medium, &run);
    expect_run(&rig, 0, 2, 2, 0, TR + TPROG);
    expect_run(&rig, 1, 2, 1, BUS, 0);
    ft_rig_fini(&rig);
}

/* Without parts, pages never share anything. */
static void test_parts_none_by_default(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params p = chip_of(FE_CELL_SLC, 1, 0);
    ft_rig_init(&rig, &p);
    assert_int_equal(rig.geo.page_bytes, 2048);
    fe_medium_prog(rig.medium, 0, 0, 0, FE_PPN_NONE, 0, 2048, NULL);
    fe_medium_prog(rig.medium, 1, 1, 0, FE_PPN_NONE, 0, 2048, NULL);
    for (int i = 0; i < 2; i++) {
        fe_medium_read(rig.medium, 1, 0, 2048, NULL);
        assert_int_equal(fe_ops_last(&rig.ops)->cell_ns, TR);
    }
    assert_int_equal(ft_rig_count(&rig, FE_OP_PROG), 2);
    assert_int_equal(rig.log[1].flags, 0);
    ft_rig_fini(&rig);
}

static enum fe_cut_outcome torn(void *ctx, const struct fe_undo_op *op)
{
    (void)ctx;
    (void)op;
    return FE_CUT_TORN;
}

/* The third page of MLC shares its cells with the first one.  Power fails while its second part is
 * programmed: that part is torn, the one before it stays, and the whole partner is lost. */
static void test_parts_of_the_partner_are_lost_together(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params p = chip_of(FE_CELL_MLC, 1, PARTS);
    uint32_t n;
    ft_rig_init(&rig, &p);
    assert_int_equal(fe_undo_create(rig.medium, NULL), 0);
    for (fe_ppn ppn = 0; ppn < 2 * PARTS + 3; ppn++)
        prog(&rig, ppn);
    struct fe_op *ops = (struct fe_op *)ft_rig_ops(&rig, &n);
    for (uint32_t i = 0; i < n; i++) {
        ops[i].start_ns = 100 * i;
        ops[i].end_ns = 100 * i + 100;
    }
    fe_undo_placed(rig.medium, ops, n);
    fe_undo_cut(rig.medium, &(struct fe_cut){.at_ns = 100 * (2 * PARTS + 1) + 50, .choose = torn,
                                             .partner_ppm = 1000000});
    for (fe_ppn ppn = 0; ppn < 2 * PARTS + 3; ppn++) {
        bool is_torn = ppn < PARTS || ppn == 2 * PARTS + 1;
        assert_int_equal(fe_medium_state(rig.medium, ppn),
                         ppn == 2 * PARTS + 2 ? FE_PAGE_ERASED
                         : is_torn            ? FE_PAGE_TORN
                                              : FE_PAGE_PROGRAMMED);
    }
    ft_rig_fini(&rig);
}

/* A strategy that maps pages one by one fills a page before the other die has its turn. */
static void test_parts_go_to_one_die_until_the_page_is_full(void **state)
{
    (void)state;
    struct fe_profile p = ft_device_profile("page");
    p.nand.page_parts = PARTS;
    p.nand.dies_per_channel = 2;
    p.nand.blocks_per_plane = 12;
    struct fe_device *dev = ft_device_make(&p, false);
    struct fe_reply r =
        ft_device_submit(dev, FE_REQ_WRITE, 0, 0, 2 * PARTS * PART, NULL, false);
    assert_int_equal(r.complete_ns, 2 * PARTS * BUS + TPROG); /* both dies at the same time */
    fe_device_idle(dev, r.complete_ns);
    uint64_t from = r.complete_ns;
    for (uint32_t i = 0; i < PARTS; i++, from = r.complete_ns) {
        r = ft_device_submit(dev, FE_REQ_WRITE, from, i * PART, PART, NULL, false);
        assert_int_equal(r.complete_ns - from, BUS + TPROG);
        fe_device_idle(dev, r.complete_ns);
    }
    r = ft_device_submit(dev, FE_REQ_READ, from, 0, PARTS * PART, NULL, false);
    assert_int_equal(r.complete_ns - from, TR + PARTS * PART); /* they share a page */
    fe_device_destroy(dev);
}

/* A stick with a small log of one unit, which is a block of 8 pages or 32 parts. */
static struct fe_device *make_device(uint32_t parts)
{
    struct fe_profile p = ft_device_profile("segment");
    p.nand.page_parts = parts;
    p.ftl.segment.small_log = 1;
    p.ftl.segment.small_write = 2048;
    p.ftl.unit.copy_buffer = parts;
    p.device.used = 0;
    return ft_device_make(&p, false);
}

/* Bytes, at an offset in parts; takes `expect` ns from when the request before has ended. */
static void takes(struct fe_device *dev, enum fe_req_type type, uint64_t at, uint64_t n,
                  uint64_t expect)
{
    struct fe_reply r = ft_device_submit(dev, type, fe_device_now(dev), at * PART, n * PART, NULL,
                                         false);
    if (r.complete_ns - r.arrival_ns != expect)
        fail_msg("%llu parts at %llu: %llu ns, not %llu", (unsigned long long)n,
                 (unsigned long long)at, (unsigned long long)(r.complete_ns - r.arrival_ns),
                 (unsigned long long)expect);
    fe_device_idle(dev, r.complete_ns);
}

/* The log's pages        | 5 | 9 10 | 40 |   | 41 | 20 21 | . |   | ...
 * Each write goes behind the one before, and costs as many programs as pages that it touches. */
static void test_parts_small_log_packs_writes(void **state)
{
    (void)state;
    struct fe_device *dev = make_device(PARTS);
    takes(dev, FE_REQ_WRITE, 5, 1, BUS + TPROG);
    takes(dev, FE_REQ_WRITE, 9, 2, 2 * BUS + TPROG);
    takes(dev, FE_REQ_WRITE, 40, 2, 2 * (BUS + TPROG));
    takes(dev, FE_REQ_WRITE, 20, 2, 2 * BUS + TPROG);
    takes(dev, FE_REQ_READ, 9, 2, TR + 2 * PART);  /* in one page */
    takes(dev, FE_REQ_READ, 40, 2, 2 * (TR + PART)); /* in two */
    takes(dev, FE_REQ_READ, 5, 1, TR + PART);
    fe_device_destroy(dev);
}

/* The log is full after 32 parts, not after 32 pages.  The merge copies page by page: with a buffer
 * of a page, each is one read and one program. */
static void test_parts_full_log_is_merged_by_pages(void **state)
{
    (void)state;
    struct fe_device *dev = make_device(PARTS);
    for (uint64_t i = 0; i < 32; i++)
        takes(dev, FE_REQ_WRITE, i, 1, BUS + TPROG);
    uint64_t copies = 8 * (TR + 4 * BUS + 4 * BUS + TPROG);
    takes(dev, FE_REQ_WRITE, 77, 1, copies + TBERS + BUS + TPROG);
    takes(dev, FE_REQ_WRITE, 78, 1, BUS + TPROG);
    fe_device_destroy(dev);
}

/* The same without parts: each write takes a page of the log, so the ninth finds it full. */
static void test_parts_otherwise_each_write_takes_a_page(void **state)
{
    (void)state;
    struct fe_device *dev = make_device(1);
    uint64_t page = 4 * BUS + TPROG;
    takes(dev, FE_REQ_WRITE, 0, 1, page);
    for (uint64_t i = 1; i < 8; i++) /* a part of a page that the log has: read it first */
        takes(dev, FE_REQ_WRITE, i % 4, 1, TR + 4 * BUS + page);
    takes(dev, FE_REQ_WRITE, 77, 1, TR + 4 * BUS + page + TBERS + page);
    fe_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_belong_to_pages_of_the_cells),
        cmocka_unit_test(test_parts_must_divide_the_page),
        cmocka_unit_test(test_parts_of_a_page_stay_on_their_block),
        cmocka_unit_test(test_parts_that_follow_each_other_are_one_program),
        cmocka_unit_test(test_parts_of_a_page_are_read_at_once),
        cmocka_unit_test(test_parts_are_sensed_and_joined_in_runs),
        cmocka_unit_test(test_parts_join_across_runs),
        cmocka_unit_test(test_parts_none_by_default),
        cmocka_unit_test(test_parts_of_the_partner_are_lost_together),
        cmocka_unit_test(test_parts_go_to_one_die_until_the_page_is_full),
        cmocka_unit_test(test_parts_small_log_packs_writes),
        cmocka_unit_test(test_parts_full_log_is_merged_by_pages),
        cmocka_unit_test(test_parts_otherwise_each_write_takes_a_page),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
