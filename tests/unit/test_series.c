/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of pages that are copied in a run: schedules by hand, and the same rows page by page.
 *
 * tR is 25 us for the first page of a cell and 40 us for the second, tPROG 200 and 600 us.  A page
 * of 2048 bytes with 64 of OOB takes the bus for 2112 bytes, a quarter of it for 528.
 */
#include "lib/rand.h"
#include "lib/rig.h"
#include "lib/same_chip.h"
#include "lib/unit.h"

#include "nand/series.h"

enum { PAGES = 16, PARTS = 4, BUS = 2112, TR = 25000, TR_MSB = 40000, TPROG = 200000,
       TPROG_MSB = 600000, TAG = 3, LAST_TAG = 5, DATA_TAG = 1 };

/* A chip without payload: the second of its blocks takes what is copied. */
static void start(struct ft_rig *rig, uint32_t cell, uint32_t parts, bool copyback)
{
    struct fe_nand_params p = ft_nand(1, 3, PAGES, 2048);
    p.cell = cell;
    p.page_parts = parts;
    p.copyback = copyback;
    ft_rig_init_bare(rig, &p);
    rig->ops.watched = false;
}

static void prog(struct ft_rig *rig, fe_ppn first, uint32_t n)
{
    for (fe_ppn ppn = first; ppn < first + n; ppn++)
        assert_int_equal(fe_medium_prog(rig->medium, ppn, 100 + ppn, DATA_TAG, FE_PPN_NONE, 0,
                                        rig->geo.page_bytes, NULL), FE_OK);
}

/* The first `n` pages from page `at` of block 0 go to block 1, which has the pages before them. */
static struct fe_series_row row_of(const struct ft_rig *rig, uint32_t at, uint32_t n, uint32_t buffer)
{
    return (struct fe_series_row){.from = at, .to = rig->geo.pages_per_block + at, .n = n,
                               .buffer = buffer, .lpn = 100 + at, .tag = TAG,
                               .last_tag = LAST_TAG};
}

static void copy(struct ft_rig *rig, uint32_t at, uint32_t n, uint32_t buffer)
{
    struct fe_series run = {0};
    const struct fe_series_row row = row_of(rig, at, n, buffer);
    fe_series_copy(rig->medium, &run, &row);
    fe_series_end(rig->medium, &run);
}

static void expect_one(struct ft_rig *rig, uint32_t n, uint32_t bus_bytes, uint64_t cell_ns)
{
    uint32_t had;
    const struct fe_op *op = ft_rig_ops(rig, &had);
    assert_int_equal(had, 1);
    assert_int_equal(op->kind, FE_OP_SERIES);
    assert_int_equal(op->n, n);
    assert_int_equal(op->bus_bytes, bus_bytes);
    assert_int_equal(op->cell_ns, cell_ns);
}

/* Every page is read and programmed in its own time, and the chip has the copies afterwards. */
static void test_run_row_of_whole_pages(void **state)
{
    (void)state;
    struct ft_rig rig;
    start(&rig, FE_CELL_MLC, 1, false);
    prog(&rig, 0, 6);
    prog(&rig, PAGES, 1);
    ft_rig_clear(&rig);
    uint64_t seq = fe_medium_last_seq(rig.medium), ns = 0;
    for (uint32_t page = 1; page < 6; page++)
        ns += fe_page_bit(&rig.geo, page) ? TR_MSB + TPROG_MSB : TR + TPROG;
    copy(&rig, 1, 5, 2);
    expect_one(&rig, 10, BUS, ns);
    for (uint32_t i = 0; i < 5; i++) {
        fe_ppn ppn = PAGES + 1 + i;
        assert_int_equal(fe_medium_lpn(rig.medium, ppn), 101 + i);
        assert_int_equal(fe_medium_tag(rig.medium, ppn), i == 4 ? LAST_TAG : TAG);
        assert_int_equal(fe_medium_seq(rig.medium, ppn), seq + 1 + i);
    }
    assert_int_equal(fe_medium_next_page(rig.medium, 1), 6);
    assert_int_equal(fe_medium_last_seq(rig.medium), seq + 5);
    assert_int_equal(rig.medium->counters.page_reads - rig.before.page_reads, 5);
    assert_int_equal(rig.medium->counters.page_programs - rig.before.page_programs, 5);
    assert_int_equal(rig.medium->counters.bytes_programmed - rig.before.bytes_programmed, 5 * 2048);
    ft_rig_fini(&rig);
}

/* Parts that are in the buffer together are sensed once and programmed once.  The first page is in
 * the register before, and the last one is afterwards: what is programmed behind it joins it. */
static void test_run_row_of_parts(void **state)
{
    (void)state;
    struct ft_rig rig;
    start(&rig, FE_CELL_SLC, PARTS, false);
    prog(&rig, 0, 12);
    prog(&rig, PARTS * PAGES, 1);
    assert_int_equal(fe_medium_read(rig.medium, 0, 0, 512, NULL), FE_OK);
    ft_rig_clear(&rig);
    copy(&rig, 1, 10, 5); /* 1 to 3, 4 and 5 | 6 and 7, 8 to 10 */
    expect_one(&rig, 20, BUS / PARTS, 4 * (TR + TPROG) - TR);

    struct fe_series run = {0};
    ft_rig_clear(&rig);
    fe_series_prog(rig.medium, &run, FE_PPN_NONE, PARTS * PAGES + 11, FE_LPN_NONE, 0);
    fe_series_end(rig.medium, &run);
    expect_one(&rig, 1, BUS / PARTS, 0);
    ft_rig_fini(&rig);
}

/* A copy that stays on the die takes no bus, and each part is programmed behind its own read. */
static void test_run_row_on_the_die(void **state)
{
    (void)state;
    struct ft_rig rig;
    start(&rig, FE_CELL_SLC, PARTS, true);
    prog(&rig, 0, 8);
    ft_rig_clear(&rig);
    copy(&rig, 0, 6, 4);
    expect_one(&rig, 12, 0, 6 * (TR + TPROG));
    ft_rig_fini(&rig);
}

static void copy_by_pages(struct ft_rig *rig, uint32_t at, uint32_t n, uint32_t buffer)
{
    struct fe_medium *m = rig->medium;
    const struct fe_series_row row = row_of(rig, at, n, buffer);
    struct fe_series run = {0};
    for (uint32_t i = 0; i < n; i += buffer) {
        uint32_t end = n - i < buffer ? n : i + buffer;
        fe_series_barrier(m);
        for (uint32_t k = i; k < end && !m->copyback; k++)
            fe_series_read(m, &run, row.from + k);
        for (uint32_t k = i; k < end; k++) {
            if (m->copyback)
                fe_series_read(m, &run, row.from + k);
            fe_series_prog(m, &run, row.from + k, row.to + k, row.lpn + k,
                        k + 1 == n ? row.last_tag : row.tag);
        }
    }
    fe_series_end(m, &run);
}

static void expect_equal(struct ft_rig *a, struct ft_rig *b)
{
    uint32_t n, n_b;
    const struct fe_op *op = ft_rig_ops(a, &n), *op_b = ft_rig_ops(b, &n_b);
    assert_int_equal(n, n_b);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(op[i].n, op_b[i].n);
        assert_int_equal(op[i].cell_ns, op_b[i].cell_ns);
        assert_int_equal(op[i].bus_bytes, op_b[i].bus_bytes);
    }
    ft_assert_same_chip(a, b);
}

/* Any row is what its pages are one by one. */
static void test_run_row_is_its_pages(void **state)
{
    (void)state;
    struct ft_rand r = {.seed = 20261127};
    for (uint32_t round = 0; round < 1000; round++) {
        uint32_t parts = UINT32_C(1) << ft_below(&r, 3), pages = PAGES * parts;
        uint32_t cell = ft_chance(&r, 50) ? FE_CELL_MLC : FE_CELL_SLC;
        uint32_t at = (uint32_t)ft_below(&r, pages), read = (uint32_t)ft_below(&r, pages);
        uint32_t n = (uint32_t)ft_between(&r, 1, pages - at);
        uint32_t buffer = (uint32_t)ft_between(&r, 1, 9);
        bool copyback = ft_chance(&r, 30), reads = ft_chance(&r, 50);
        struct ft_rig rig[2];
        for (int i = 0; i < 2; i++) {
            start(&rig[i], cell, parts, copyback);
            prog(&rig[i], 0, pages);
            prog(&rig[i], pages, at);
            if (reads)
                assert_int_equal(fe_medium_read(rig[i].medium, read, 0, 1, NULL), FE_OK);
            ft_rig_clear(&rig[i]);
        }
        copy(&rig[0], at, n, buffer);
        copy_by_pages(&rig[1], at, n, buffer);
        expect_equal(&rig[0], &rig[1]);
        ft_rig_fini(&rig[0]);
        ft_rig_fini(&rig[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_row_of_whole_pages),
        cmocka_unit_test(test_run_row_of_parts),
        cmocka_unit_test(test_run_row_on_the_die),
        cmocka_unit_test(test_run_row_is_its_pages),
    };
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
