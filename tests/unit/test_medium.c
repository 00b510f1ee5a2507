/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip's rules, each broken once, and what every operation leaves behind: bytes,
 * OOB, counters and the op list, exactly.
 */
#include "lib/abort.h"
#include "lib/rig.h"
#include "lib/unit.h"

/* 2 dies, 4 blocks each, 4 pages of 512 bytes with 16 of OOB. */
static void setup(struct ft_rig *rig)
{
    struct fe_nand_params p = ft_nand(2, 4, 4, 512);
    ft_rig_init(rig, &p);
}

static void prog(struct ft_rig *rig, fe_ppn ppn, fe_lpn lpn)
{
    assert_int_equal(fe_medium_prog(rig->medium, ppn, lpn, 0, FE_PPN_NONE, 0, 512, NULL), FE_OK);
}

static void assert_op(const struct fe_op *op, const struct fe_op *want)
{
    assert_int_equal(op->kind, want->kind);
    assert_int_equal(op->flags, want->flags);
    assert_int_equal(op->ppn, want->ppn);
    assert_int_equal(op->die, want->die);
    assert_int_equal(op->cell_ns, want->cell_ns);
    assert_int_equal(op->bus_bytes, want->bus_bytes);
}

static void test_medium_prog_writes_one_op(void **state)
{
    (void)state;
    struct ft_rig rig;
    uint32_t n;
    setup(&rig);
    prog(&rig, 4, 77); /* block 1, page 0 */
    const struct fe_op *ops = ft_rig_ops(&rig, &n);
    assert_int_equal(n, 1);
    assert_op(ops, &(struct fe_op){.kind = FE_OP_PROG, .ppn = 4, .die = 1, .cell_ns = 200000,
                                   .bus_bytes = 528});
    assert_int_equal(fe_medium_next_page(rig.medium, 1), 1);
    assert_int_equal(fe_medium_next_page(rig.medium, 0), 0);
    assert_int_equal(fe_medium_lpn(rig.medium, 4), 77);
    ft_rig_fini(&rig);
}

static void test_medium_read_writes_one_op_with_the_bytes_asked_for(void **state)
{
    (void)state;
    struct ft_rig rig;
    uint32_t n;
    setup(&rig);
    prog(&rig, 8, 1);
    ft_rig_clear(&rig);
    fe_medium_read(rig.medium, 8, 100, 50, NULL);
    const struct fe_op *ops = ft_rig_ops(&rig, &n);
    assert_int_equal(n, 1);
    assert_op(ops, &(struct fe_op){.kind = FE_OP_READ, .ppn = 8, .die = 0, .cell_ns = 25000,
                                   .bus_bytes = 50});
    ft_rig_fini(&rig);
}

static void test_medium_erase_writes_one_op_and_wears_the_block(void **state)
{
    (void)state;
    struct ft_rig rig;
    uint32_t n;
    setup(&rig);
    for (fe_ppn p = 12; p < 16; p++)
        prog(&rig, p, p);
    ft_rig_clear(&rig);
    assert_int_equal(fe_medium_erase(rig.medium, 3), FE_OK);
    const struct fe_op *ops = ft_rig_ops(&rig, &n);
    assert_int_equal(n, 1);
    assert_op(ops, &(struct fe_op){.kind = FE_OP_ERASE, .ppn = 12, .die = 1, .cell_ns = 1500000});
    assert_int_equal(fe_medium_next_page(rig.medium, 3), 0);
    assert_int_equal(fe_medium_erase_count(rig.medium, 3), 1);
    assert_int_equal(fe_medium_erase_count(rig.medium, 2), 0);
    prog(&rig, 12, 5); /* and it can be written again */
    ft_rig_fini(&rig);
}

static void test_medium_partial_prog_reads_the_whole_base_first(void **state)
{
    (void)state;
    struct ft_rig rig;
    uint32_t n;
    uint8_t data[512], buf[512];
    setup(&rig);
    memset(data, 1, sizeof data);
    fe_medium_prog(rig.medium, 0, 9, 0, FE_PPN_NONE, 0, 512, data);
    ft_rig_clear(&rig);
    memset(data, 2, sizeof data);
    fe_medium_prog(rig.medium, 4, 9, 0, 0, 10, 20, data);
    const struct fe_op *ops = ft_rig_ops(&rig, &n);
    assert_int_equal(n, 2);
    assert_op(&ops[0], &(struct fe_op){.kind = FE_OP_READ, .ppn = 0, .die = 0, .cell_ns = 25000,
                                       .bus_bytes = 528});
    assert_op(&ops[1], &(struct fe_op){.kind = FE_OP_PROG, .flags = FE_OP_AFTER_PREV, .ppn = 4,
                                       .die = 1, .cell_ns = 200000, .bus_bytes = 528});
    fe_medium_read(rig.medium, 4, 0, 512, buf);
    for (int i = 0; i < 512; i++)
        assert_int_equal(buf[i], i >= 10 && i < 30 ? 2 : 1);
    ft_rig_fini(&rig);
}

static void test_medium_whole_page_needs_no_base(void **state)
{
    (void)state;
    struct ft_rig rig;
    char text[16];
    setup(&rig);
    prog(&rig, 0, 1);
    ft_rig_clear(&rig);
    fe_medium_prog(rig.medium, 1, 1, 0, 0, 0, 512, NULL);
    assert_string_equal(ft_rig_text(&rig, text, sizeof text), "P");
    ft_rig_clear(&rig);
    fe_medium_prog(rig.medium, 2, 1, 0, 1, 0, 0, NULL); /* a copy */
    assert_string_equal(ft_rig_text(&rig, text, sizeof text), "Rp");
    ft_rig_clear(&rig);
    fe_medium_prog(rig.medium, 3, 1, 0, FE_PPN_NONE, 0, 100, NULL);
    assert_string_equal(ft_rig_text(&rig, text, sizeof text), "P");
    ft_rig_fini(&rig);
}

/* With copyback a copy inside a die leaves its bytes in the register; one to another die, and
 * one that changes bytes, cross the channel both ways. */
static void test_medium_copyback_stays_in_the_die(void **state)
{
    (void)state;
    static const struct {
        fe_ppn to;
        uint32_t len, bus_bytes;
    } cases[] = {{8, 0, 0}, {4, 0, 512 + 64}, {9, 20, 512 + 64}};
    for (int copyback = 0; copyback < 2; copyback++) {
        struct ft_rig rig;
        struct fe_nand_params p = ft_nand(2, 4, 4, 512);
        p.oob_size = 64;
        p.copyback = copyback;
        ft_rig_init(&rig, &p);
        fe_medium_prog(rig.medium, 0, 7, 0, FE_PPN_NONE, 0, 512, NULL);
        for (size_t i = 0; i < ft_array_len(cases); i++) {
            uint32_t n, want = copyback ? cases[i].bus_bytes : 512 + 64;
            ft_rig_clear(&rig);
            fe_medium_prog(rig.medium, cases[i].to, 7, 0, 0, 0, cases[i].len, NULL);
            const struct fe_op *ops = ft_rig_ops(&rig, &n);
            assert_int_equal(n, 2);
            assert_int_equal(ops[0].bus_bytes, want);
            assert_int_equal(ops[1].bus_bytes, want);
            assert_true(ops[1].flags & FE_OP_AFTER_PREV);
        }
        ft_rig_fini(&rig);
    }
}

static void test_medium_counters_count_planes_and_data_bytes(void **state)
{
    (void)state;
    struct fe_nand_params p = ft_nand(1, 4, 4, 512);
    p.planes_per_die = 2;
    p.multiplane = true;
    struct ft_rig rig;
    ft_rig_init(&rig, &p);
    fe_medium_prog(rig.medium, 0, 0, 0, FE_PPN_NONE, 0, 1024, NULL);
    fe_medium_prog(rig.medium, 1, 0, 0, 0, 0, 512, NULL);
    fe_medium_read(rig.medium, 1, 0, 1, NULL);
    fe_medium_erase(rig.medium, 0);
    const struct fe_nand_counters *c = &rig.medium->counters;
    assert_int_equal(c->page_programs, 4);
    assert_int_equal(c->page_reads, 4);
    assert_int_equal(c->block_erases, 2);
    assert_int_equal(c->bytes_programmed, 2048);
    ft_rig_fini(&rig);
}

static void test_medium_sequence_number_grows_with_every_program(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig);
    const fe_ppn order[] = {0, 4, 1, 8, 5, 2};
    uint64_t last = 0;
    for (size_t i = 0; i < ft_array_len(order); i++) {
        prog(&rig, order[i], (fe_lpn)i);
        assert_true(fe_medium_seq(rig.medium, order[i]) > last);
        last = fe_medium_seq(rig.medium, order[i]);
    }
    ft_rig_fini(&rig);
}

static void check_cell_times(enum fe_cell cell, const char *bits)
{
    struct fe_nand_params p = ft_nand(1, 2, 8, 512);
    p.cell = cell;
    struct ft_rig rig;
    uint32_t n;
    ft_rig_init(&rig, &p);
    for (fe_ppn ppn = 0; ppn < 8; ppn++) {
        fe_medium_prog(rig.medium, ppn, ppn, 0, FE_PPN_NONE, 0, 512, NULL);
        fe_medium_read(rig.medium, ppn, 0, 512, NULL);
    }
    const struct fe_op *ops = ft_rig_ops(&rig, &n);
    assert_int_equal(n, 16);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(ops[2 * i].cell_ns, p.tPROG_ns[bits[i] - '0']);
        assert_int_equal(ops[2 * i + 1].cell_ns, p.tR_ns[bits[i] - '0']);
    }
    ft_rig_fini(&rig);
}

static void test_medium_times_follow_the_bit_of_the_cell(void **state)
{
    (void)state;
    check_cell_times(FE_CELL_SLC, "00000000");
    check_cell_times(FE_CELL_NOR, "00000000");
    check_cell_times(FE_CELL_MLC, "00101011");
    check_cell_times(FE_CELL_TLC, "01201201");
}

static void test_medium_op_list_drains_when_it_is_full(void **state)
{
    (void)state;
    struct ft_rig rig;
    uint32_t n;
    setup(&rig);
    prog(&rig, 0, 0);
    ft_rig_clear(&rig);
    for (int i = 0; i < FE_OPS_MAX; i++)
        fe_medium_read(rig.medium, 0, 0, (uint32_t)i, NULL);
    assert_int_equal(rig.n_log, 0);
    fe_ops_barrier(rig.medium->ops);
    assert_int_equal(rig.n_log, FE_OPS_MAX);
    fe_ops_busy(rig.medium->ops, 123);
    const struct fe_op *ops = ft_rig_ops(&rig, &n);
    assert_int_equal(n, FE_OPS_MAX + 2);
    for (uint32_t i = 0; i < FE_OPS_MAX; i++)
        assert_int_equal(ops[i].bus_bytes, i);
    assert_int_equal(ops[n - 2].kind, FE_OP_BARRIER);
    assert_int_equal(ops[n - 1].kind, FE_OP_BUSY);
    assert_int_equal(ops[n - 1].cell_ns, 123);
    ft_rig_fini(&rig);
}

/* One way of breaking a rule: what to do on a medium whose block 0 has pages 0 and 1,
 * whose block 1 is whole and whose block 2 is bad (with a page in it). */
enum breach {
    PROG_TWICE, PROG_WITH_GAP, PROG_NOT_FIRST, PROG_FULL, PROG_BAD, PROG_OUTSIDE, PROG_TOO_LONG,
    PROG_BASE_ERASED, PROG_BASE_OUTSIDE, READ_ERASED, READ_AFTER_ERASE, READ_BAD, READ_OUTSIDE,
    READ_TOO_LONG, ERASE_BAD, ERASE_OUTSIDE, PROG_TAG_TORN, COPY_TORN, PROG_UNSTABLE,
    READ_UNSTABLE, N_BREACHES
};

struct breach_case {
    struct ft_rig *rig;
    enum breach what;
};

static void commit_breach(void *ctx)
{
    struct breach_case *c = ctx;
    struct fe_medium *m = c->rig->medium;
    static uint8_t buf[1024];
    switch (c->what) {
    case PROG_TWICE: fe_medium_prog(m, 1, 0, 0, FE_PPN_NONE, 0, 512, NULL); break;
    case PROG_WITH_GAP: fe_medium_prog(m, 3, 0, 0, FE_PPN_NONE, 0, 512, NULL); break;
    case PROG_NOT_FIRST: fe_medium_prog(m, 13, 0, 0, FE_PPN_NONE, 0, 512, NULL); break;
    case PROG_FULL: fe_medium_prog(m, 4, 0, 0, FE_PPN_NONE, 0, 512, NULL); break;
    case PROG_BAD: fe_medium_prog(m, 9, 0, 0, FE_PPN_NONE, 0, 512, NULL); break;
    case PROG_OUTSIDE: fe_medium_prog(m, 32, 0, 0, FE_PPN_NONE, 0, 512, NULL); break;
    case PROG_TOO_LONG: fe_medium_prog(m, 2, 0, 0, FE_PPN_NONE, 500, 13, NULL); break;
    case PROG_BASE_ERASED: fe_medium_prog(m, 2, 0, 0, 3, 0, 0, NULL); break;
    case PROG_BASE_OUTSIDE: fe_medium_prog(m, 2, 0, 0, 32, 0, 0, NULL); break;
    case READ_ERASED: fe_medium_read(m, 2, 0, 512, buf); break;
    case READ_AFTER_ERASE: fe_medium_erase(m, 1); fe_medium_read(m, 4, 0, 512, buf); break;
    case READ_BAD: fe_medium_read(m, 8, 0, 512, buf); break;
    case READ_OUTSIDE: fe_medium_read(m, 32, 0, 512, buf); break;
    case READ_TOO_LONG: fe_medium_read(m, 0, 1, 512, buf); break;
    case ERASE_BAD: fe_medium_erase(m, 2); break;
    case ERASE_OUTSIDE: fe_medium_erase(m, 8); break;
    case PROG_TAG_TORN:
        fe_medium_prog(m, 2, 0, FE_TAG_TORN, FE_PPN_NONE, 0, 512, NULL);
        break;
    case COPY_TORN:
        fe_chip_lose(&m->chip, 1);
        fe_medium_prog(m, 2, 0, 0, 1, 0, 0, NULL);
        break;
    case PROG_UNSTABLE:
        fe_chip_mark(&m->chip, 3, FE_MARK_UNSTABLE, true);
        fe_medium_prog(m, 12, 0, 0, FE_PPN_NONE, 0, 512, NULL);
        break;
    case READ_UNSTABLE:
        fe_chip_mark(&m->chip, 0, FE_MARK_UNSTABLE, true);
        fe_medium_read(m, 0, 0, 512, buf);
        break;
    case N_BREACHES: break;
    }
}

static void test_medium_breaking_a_rule_aborts(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig);
    for (fe_ppn p = 0; p < 2; p++)
        prog(&rig, p, p);
    for (fe_ppn p = 4; p < 9; p++)
        prog(&rig, p, p);
    fe_chip_mark(&rig.medium->chip, 2, FE_MARK_GROWN_BAD, true);
    for (int i = 0; i < N_BREACHES; i++) {
        struct breach_case c = {&rig, (enum breach)i};
        if (!ft_aborts(commit_breach, &c))
            fail_msg("breach %d was let pass", i);
    }
    struct breach_case none = {&rig, N_BREACHES};
    assert_false(ft_aborts(commit_breach, &none));
    ft_rig_fini(&rig);
}

static void test_medium_pages_are_erased_programmed_or_torn(void **state)
{
    (void)state;
    struct ft_rig rig;
    uint8_t buf[512];
    setup(&rig);
    fe_medium_prog(rig.medium, 0, 7, 3, FE_PPN_NONE, 0, 512, NULL);
    fe_medium_prog(rig.medium, 1, 8, 4, FE_PPN_NONE, 0, 512, NULL);
    assert_int_equal(fe_medium_tag(rig.medium, 0), 3);
    assert_int_equal(fe_medium_tag(rig.medium, 1), 4);
    rig.medium->chip.oob_tag[1] = FE_TAG_TORN;
    assert_int_equal(fe_medium_state(rig.medium, 0), FE_PAGE_PROGRAMMED);
    assert_int_equal(fe_medium_state(rig.medium, 1), FE_PAGE_TORN);
    assert_int_equal(fe_medium_state(rig.medium, 2), FE_PAGE_ERASED);
    assert_int_equal(fe_medium_read(rig.medium, 0, 0, 512, buf), FE_OK);
    assert_int_equal(fe_medium_read(rig.medium, 1, 0, 512, buf), FE_UNCORRECTABLE);

    fe_chip_mark(&rig.medium->chip, 0, FE_MARK_UNSTABLE, true);
    fe_medium_erase(rig.medium, 0);
    assert_false(fe_medium_is_unstable(rig.medium, 0));
    assert_int_equal(fe_medium_state(rig.medium, 1), FE_PAGE_ERASED);
    ft_rig_fini(&rig);
}

static void test_medium_factory_bad_block_is_bad(void **state)
{
    (void)state;
    struct ft_rig rig;
    setup(&rig);
    assert_false(fe_medium_is_bad(rig.medium, 2));
    fe_chip_mark(&rig.medium->chip, 2, FE_MARK_FACTORY_BAD, true);
    assert_true(fe_medium_is_bad(rig.medium, 2));
    struct breach_case c = {&rig, ERASE_BAD};
    assert_true(ft_aborts(commit_breach, &c));
    ft_rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_medium_prog_writes_one_op),
        cmocka_unit_test(test_medium_read_writes_one_op_with_the_bytes_asked_for),
        cmocka_unit_test(test_medium_erase_writes_one_op_and_wears_the_block),
        cmocka_unit_test(test_medium_partial_prog_reads_the_whole_base_first),
        cmocka_unit_test(test_medium_whole_page_needs_no_base),
        cmocka_unit_test(test_medium_copyback_stays_in_the_die),
        cmocka_unit_test(test_medium_counters_count_planes_and_data_bytes),
        cmocka_unit_test(test_medium_sequence_number_grows_with_every_program),
        cmocka_unit_test(test_medium_times_follow_the_bit_of_the_cell),
        cmocka_unit_test(test_medium_op_list_drains_when_it_is_full),
        cmocka_unit_test(test_medium_breaking_a_rule_aborts),
        cmocka_unit_test(test_medium_pages_are_erased_programmed_or_torn),
        cmocka_unit_test(test_medium_factory_bad_block_is_bad),
    };
    return cmocka_run_group_tests_name("medium", tests, NULL, NULL);
}
