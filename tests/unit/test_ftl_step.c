/* SPDX-License-Identifier: BSD-3-Clause
 *
 * step: the published schedule by hand.  Delays are round numbers, so that a sum tells
 * what is in it: random 1000000 ns, spike 10000 ns, step 100 ns.  A block is a page of
 * 512 bytes.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "ftl/step_core.h"

#include <errno.h>

#define RANDOM 1000000
#define SPIKE  10000
#define STEP   100
#define PAGE   512
#define PAGES  4095 /* of 64 blocks of 64 pages, one is kept back */

/* The thresholds of the 32 MB stick.  Writes have nothing to pay back. */
static struct fe_ftl_params usual(void)
{
    struct fe_nand_params np = ft_nand(1, 64, 64, PAGE);
    struct fe_ftl_params p = ft_params("step", &np, 1);
    struct fe_step_rule rule = {.random_ns = RANDOM, .step_ns = STEP, .spike_ns = SPIKE};
    p.step = (struct fe_step_params){.read = rule, .write = rule};
    p.step.read.first = 32;
    p.step.read.again = 256;
    p.step.write.first = 195;
    p.step.write.again = 256;
    p.step.write.random_ns = 0;
    return p;
}

static void setup(struct ft_layer *l, struct fe_ftl_params p)
{
    struct fe_nand_params np = ft_nand(1, 64, 64, PAGE);
    ft_layer_init(l, &np, &p);
    assert_int_equal(l->ftl->n_lpns, PAGES);
}

static void teardown(struct ft_layer *l)
{
    ft_layer_check(l);
    ft_layer_fini(l);
}

/* What a command on these bytes costs. */
static uint64_t cost(struct ft_layer *l, bool write, uint64_t offset, uint64_t len)
{
    uint32_t n;
    uint64_t ns = 0;
    ft_rig_clear(&l->rig);
    l->ftl->ops->begin_command(l->ftl, write, offset, len);
    const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ops[i].kind, FE_OP_BUSY);
        ns += ops[i].cell_ns;
    }
    assert_true(n == (ns > 0));
    ft_layer_check(l);
    return ns;
}

static uint64_t read_blocks(struct ft_layer *l, uint64_t first, uint64_t n)
{
    return cost(l, false, first * PAGE, n * PAGE);
}

static uint64_t write_blocks(struct ft_layer *l, uint64_t first, uint64_t n)
{
    return cost(l, true, first * PAGE, n * PAGE);
}

/* Block after block: spikes at these lengths of the run and nowhere else. */
static void expect_spikes(struct ft_layer *l, bool write, const uint32_t *at, size_t n)
{
    assert_int_equal(cost(l, write, 7 * PAGE, PAGE), write ? 0 : RANDOM);
    for (uint64_t k = 2, i = 0; k <= 2000; k++) {
        bool spike = i < n && at[i] == k;
        assert_int_equal(cost(l, write, (6 + k) * PAGE, PAGE), STEP + (spike ? SPIKE : 0));
        i += spike;
    }
}

static void test_step_read_thresholds_double_to_the_limit(void **state)
{
    (void)state;
    /* 32, then 64, 128, 256, 256 ... more */
    static const uint32_t at[] = {32, 96, 224, 480, 736, 992, 1248, 1504, 1760};
    struct ft_layer l;
    setup(&l, usual());
    expect_spikes(&l, false, at, ft_array_len(at));
    teardown(&l);
}

static void test_step_write_thresholds_are_first_and_period(void **state)
{
    (void)state;
    static const uint32_t at[] = {195, 451, 707, 963, 1219, 1475, 1731, 1987};
    struct ft_layer l;
    setup(&l, usual());
    expect_spikes(&l, true, at, ft_array_len(at));
    teardown(&l);
}

static void test_step_limit_need_not_be_a_power(void **state)
{
    (void)state;
    static const uint32_t up[] = {3, 9, 19, 29}, down[] = {30, 40, 50}, once[] = {30};
    struct ft_layer l;
    struct fe_ftl_params p = usual();
    p.step.read = (struct fe_step_rule){.first = 3, .again = 10, .spike_ns = 1};
    setup(&l, p);
    for (uint64_t k = 1, i = 0; k < 30; k++) {
        bool spike = up[i] == k;
        assert_int_equal(read_blocks(&l, k, 1), spike);
        i += spike;
    }
    teardown(&l);
    p.step.read.first = 30; /* above the limit */
    setup(&l, p);
    for (uint64_t k = 1, i = 0; k < 50; k++) {
        bool spike = down[i] == k;
        assert_int_equal(read_blocks(&l, k, 1), spike);
        i += spike;
    }
    teardown(&l);
    p.step.read.again = 0; /* no further one */
    setup(&l, p);
    for (uint64_t k = 1; k < 1000; k++)
        assert_int_equal(read_blocks(&l, k, 1), k == once[0]);
    teardown(&l);
    p.step.read.first = 0; /* none */
    setup(&l, p);
    assert_int_equal(read_blocks(&l, 0, 4000), 0);
    teardown(&l);
}

static void test_step_random_costs_the_same_each_time(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = usual();
    p.step.write.random_ns = RANDOM;
    setup(&l, p);
    for (uint64_t i = 0; i < 50; i++) {
        assert_int_equal(read_blocks(&l, i * 37 % 97, 1), RANDOM);
        assert_int_equal(write_blocks(&l, i * 41 % 89, 1), RANDOM);
    }
    assert_int_equal(write_blocks(&l, 5, 1), RANDOM);
    assert_int_equal(write_blocks(&l, 5, 1), RANDOM); /* the same block again */
    assert_int_equal(write_blocks(&l, 4, 1), RANDOM); /* backwards */
    teardown(&l);
}

/* However the run is cut into commands. */
static void test_step_cuts_do_not_matter(void **state)
{
    (void)state;
    static const uint32_t cuts[] = {1, 2, 31, 32, 33, 64, 100, 1000};
    for (size_t i = 0; i < ft_array_len(cuts); i++) {
        struct ft_layer l;
        uint64_t reads = 0, writes = 0;
        setup(&l, usual());
        for (uint64_t at = 0; at < 3000; at += cuts[i]) {
            uint64_t n = fe_min_u64(cuts[i], 3000 - at);
            reads += read_blocks(&l, at, n);
            writes += write_blocks(&l, at, n);
        }
        /* 32 96 224, and 480 to 2784 in steps of 256; 195 to 2755 */
        assert_int_equal(reads, RANDOM + 2999 * STEP + 13 * SPIKE);
        assert_int_equal(writes, 2999 * STEP + 11 * SPIKE);
        teardown(&l);
    }
}

static void test_step_spike_falls_on_the_command_that_reaches_it(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, usual());
    assert_int_equal(write_blocks(&l, 100, 194), 193 * STEP);
    assert_int_equal(write_blocks(&l, 294, 1), STEP + SPIKE);
    assert_int_equal(write_blocks(&l, 295, 255), 255 * STEP);
    assert_int_equal(write_blocks(&l, 550, 513), 513 * STEP + 3 * SPIKE);
    teardown(&l);
}

static void test_step_parts_of_blocks_count_once(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = usual();
    p.step.read.first = 2;
    setup(&l, p);
    assert_int_equal(cost(&l, false, 64, 64), RANDOM); /* a block of the run begins there */
    for (uint64_t i = 2; i <= 8; i++)
        assert_int_equal(cost(&l, false, 64 * i, 64), 0);
    assert_int_equal(cost(&l, false, 64 * 9, 64), STEP + SPIKE);
    assert_int_equal(cost(&l, false, 64 * 10, 7 * 64), 0);
    assert_int_equal(cost(&l, false, 64 * 17, 512 + 64), 2 * STEP);
    teardown(&l);
}

static void test_step_reads_and_writes_do_not_meet(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, usual());
    assert_int_equal(read_blocks(&l, 0, 10), RANDOM + 9 * STEP);
    assert_int_equal(write_blocks(&l, 10, 10), 9 * STEP);
    assert_int_equal(read_blocks(&l, 20, 1), RANDOM); /* where the write has ended */
    assert_int_equal(write_blocks(&l, 20, 1), STEP);
    assert_int_equal(read_blocks(&l, 21, 1), STEP);
    teardown(&l);
}

/* One run of each kind is recognised: another one takes its place. */
static void test_step_one_run(void **state)
{
    (void)state;
    struct ft_layer l;
    setup(&l, usual());
    assert_int_equal(read_blocks(&l, 0, 31), RANDOM + 30 * STEP);
    assert_int_equal(read_blocks(&l, 1000, 1), RANDOM);
    assert_int_equal(read_blocks(&l, 31, 1), RANDOM); /* where the first one has ended */
    assert_int_equal(read_blocks(&l, 1001, 1), RANDOM);
    assert_int_equal(read_blocks(&l, 1002, 31), 31 * STEP + SPIKE); /* the 32nd block */
    teardown(&l);
}

static void test_step_payback(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_ftl_params p = usual();
    p.step.write.random_ns = 1050;
    setup(&l, p);
    assert_int_equal(write_blocks(&l, 0, 1), 1050);
    for (uint64_t k = 1; k <= 10; k++)
        assert_int_equal(write_blocks(&l, k, 1), 0);
    assert_int_equal(write_blocks(&l, 11, 1), 50); /* half of it is left */
    assert_int_equal(write_blocks(&l, 12, 1), STEP);
    assert_int_equal(write_blocks(&l, 5, 1), 1050); /* the next run pays and saves anew */
    assert_int_equal(write_blocks(&l, 6, 11), 50);
    assert_int_equal(write_blocks(&l, 5, 12), 1050 + 50); /* in one command */
    teardown(&l);
}

/* A long run costs its steps and spikes, as if the first block had not been a random one;
 * a short one costs what is random. */
static void test_step_payback_sums(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 4000; n += n < 240 ? 1 : 97) {
        struct ft_layer l;
        struct fe_ftl_params p = usual();
            p.step.write.random_ns = 25000; /* 150 steps and a spike */
        setup(&l, p);
        uint64_t line = (n - 1) * STEP + (n < 195 ? 0 : 1 + (n - 195) / 256) * SPIKE, sum = 0;
        for (uint64_t at = 0; at < n; at += 64)
            sum += write_blocks(&l, at, fe_min_u64(64, n - at));
        assert_int_equal(sum, line > 25000 ? line : 25000);
        teardown(&l);
    }
}

static void test_step_keeps_bytes_in_place(void **state)
{
    (void)state;
    struct ft_layer l;
    struct ft_rand r = {.seed = 3};
    uint8_t *buf;
    setup(&l, usual());
    buf = malloc(PAGE);
    assert_non_null(buf);
    for (int i = 0; i < 3000; i++) {
        fe_lpn lpn = (fe_lpn)ft_below(&r, 60) * 67;
        uint32_t off = (uint32_t)ft_below(&r, PAGE), len = (uint32_t)ft_between(&r, 1, PAGE - off);
        uint8_t *want = l.want + (size_t)lpn * PAGE + off;
        bool zeros = ft_chance(&r, 20);
        if (ft_chance(&r, 50)) {
            ft_fill(&r, want, len);
            if (zeros)
                memset(want, 0, len);
            assert_int_equal(l.ftl->ops->write(l.ftl, lpn, off, len, zeros ? NULL : want), FE_OK);
        } else {
            memset(buf, 0xa5, PAGE);
            assert_int_equal(l.ftl->ops->read(l.ftl, lpn, off, len, buf), FE_OK);
            assert_memory_equal(buf, want, len);
        }
    }
    free(buf);
    assert_int_equal(l.rig.medium->counters.bytes_programmed, 0);
    assert_int_equal(ft_rig_count(&l.rig, FE_OP_PROG) + ft_rig_count(&l.rig, FE_OP_READ), 0);
    assert_null(l.ftl->ops->free_blocks); /* it has no blocks */
    assert_null(l.ftl->ops->trim);
    ft_layer_verify(&l);
    teardown(&l);
}

/* A page whose memory is still warm from before. */
static void test_step_overwrites_a_discarded_page(void **state)
{
    (void)state;
    struct ft_rig rig;
    struct fe_nand_params np = ft_nand(1, 4, 4, PAGE);
    uint8_t page[PAGE];
    ft_rig_init(&rig, &np);
    memset(page, 0x77, PAGE);
    fe_store_overwrite(rig.store, 5, 0, PAGE, page);
    fe_store_discard(rig.store, 1);
    fe_store_overwrite(rig.store, 5, 100, 10, page);
    fe_store_read(rig.store, 5, 0, PAGE, page);
    for (uint32_t i = 0; i < PAGE; i++)
        assert_int_equal(page[i], i >= 100 && i < 110 ? 0x77 : 0);
    fe_store_overwrite(rig.store, 5, 105, 200, NULL);
    fe_store_read(rig.store, 5, 0, PAGE, page);
    for (uint32_t i = 0; i < PAGE; i++)
        assert_int_equal(page[i], i >= 100 && i < 105 ? 0x77 : 0);
    fe_store_overwrite(rig.store, 6, 0, 10, NULL); /* zeros that are there already */
    fe_store_read(rig.store, 6, 0, PAGE, page);
    assert_int_equal(page[0], 0);
    ft_rig_fini(&rig);
}

static void test_step_refuses_what_contradicts_itself(void **state)
{
    (void)state;
    struct fe_err err;
    struct fe_geometry geo;
    struct fe_nand_params np = ft_nand(1, 1, 1, PAGE);
    struct fe_ftl_params p = usual();
    fe_err_init(&err);
    assert_int_equal(fe_geometry_init(&geo, &np, &err), 0);
    assert_int_equal(fe_ftl_step.max_lpns(&p, &geo, &err), 0);
    assert_non_null(strstr(err.text, "one page is too small"));
    np.pages_per_block = 8;
    assert_int_equal(fe_geometry_init(&geo, &np, &err), 0);
    assert_int_equal(fe_ftl_step.max_lpns(&p, &geo, &err), 7);
    fe_err_init(&err);
    p.step.write.first = 1;
    assert_int_equal(fe_ftl_step.max_lpns(&p, &geo, &err), 0);
    assert_non_null(strstr(err.text, "step.write_spike:first=1: the first block"));
    assert_true(fe_ftl_step.no_medium);
}

static void test_step_check_finds_use_of_the_chip(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_err err;
    setup(&l, usual());
    fe_medium_prog(l.rig.medium, 0, 0, 0, FE_PPN_NONE, 0, PAGE, NULL);
    fe_err_init(&err);
    assert_int_equal(l.ftl->ops->check(l.ftl, &err), -EIO);
    assert_non_null(strstr(err.text, "1 programs"));
    ft_layer_fini(&l);
}

static void test_step_check_finds_a_damaged_run(void **state)
{
    (void)state;
    struct ft_layer l;
    struct fe_err err = {""};
    setup(&l, usual());
    write_blocks(&l, 10, 3);
    step_of(l.ftl)->runs[true].blocks = 7;
    assert_int_equal(l.ftl->ops->check(l.ftl, &err), -EIO);
    assert_string_equal(err.text,
                        "the run of writes: bytes [5120, 6656), 7 blocks, next spike at 195");
    step_of(l.ftl)->runs[true].blocks = 3;
    teardown(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_read_thresholds_double_to_the_limit),
        cmocka_unit_test(test_step_write_thresholds_are_first_and_period),
        cmocka_unit_test(test_step_limit_need_not_be_a_power),
        cmocka_unit_test(test_step_random_costs_the_same_each_time),
        cmocka_unit_test(test_step_cuts_do_not_matter),
        cmocka_unit_test(test_step_spike_falls_on_the_command_that_reaches_it),
        cmocka_unit_test(test_step_parts_of_blocks_count_once),
        cmocka_unit_test(test_step_reads_and_writes_do_not_meet),
        cmocka_unit_test(test_step_one_run),
        cmocka_unit_test(test_step_payback),
        cmocka_unit_test(test_step_payback_sums),
        cmocka_unit_test(test_step_keeps_bytes_in_place),
        cmocka_unit_test(test_step_overwrites_a_discarded_page),
        cmocka_unit_test(test_step_refuses_what_contradicts_itself),
        cmocka_unit_test(test_step_check_finds_use_of_the_chip),
        cmocka_unit_test(test_step_check_finds_a_damaged_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
