/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each strategy knows again after power-on: the order of full blocks by age, the wear of free
 * ones, the block in which the log goes on, the reserve.  No operation is interrupted here.
 */
#include "lib/layer.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include "ftl/recover.h"

enum { N = 8, PAGE = 512 };

/* The block of the first operation of this kind since the last clear; FE_PEB_NONE: none. */
static fe_peb first_block(struct ft_layer *l, enum fe_op_kind kind)
{
    uint32_t n;
    const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
    for (uint32_t i = 0; i < n; i++)
        if (ops[i].kind == kind)
            return ops[i].ppn / l->rig.geo.pages_per_block;
    return FE_PEB_NONE;
}

static void init(struct ft_layer *l, const char *strategy, uint32_t policy)
{
    bool is_nor = strcmp(strategy, "norlog") == 0;
    struct fe_nand_params nand = is_nor ? ft_nor(24, N) : ft_nand(1, 24, N, PAGE);
    struct fe_ftl_params p = ft_params(strategy, &nand, 1);
    p.clean.gc_policy = policy;
    ft_layer_init(l, &nand, &p);
}

static void write_randomly(struct ft_layer *l, uint32_t n, uint64_t seed)
{
    struct ft_rand r = {.seed = seed};
    for (uint32_t i = 0; i < n; i++)
        ft_layer_write_each(l, (fe_lpn)ft_below(&r, l->ftl->n_lpns), 1);
}

/* The full block that was written before all others. */
static fe_peb oldest(const struct ft_layer *l)
{
    fe_peb found = FE_PEB_NONE;
    uint64_t least = UINT64_MAX;
    for (fe_peb peb = 0; peb < l->rig.geo.n_pebs; peb++) {
        uint64_t seq = fe_recover_last_seq(l->rig.medium, peb);
        if (fe_medium_next_page(l->rig.medium, peb) == N && seq < least) {
            found = peb;
            least = seq;
        }
    }
    return found;
}

static void test_power_on_keeps_the_queue_of_fifo(void **state)
{
    (void)state;
    static const char *const names[] = {"page", "norlog"};
    for (size_t i = 0; i < ft_array_len(names); i++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct ft_layer l;
            init(&l, names[i], FE_GC_FIFO);
            ft_layer_write_each(&l, 0, l.ftl->n_lpns);
            write_randomly(&l, 200 + (uint32_t)seed, seed);
            ft_layer_power_cycle(&l);
            fe_peb want = oldest(&l);
            while (first_block(&l, FE_OP_ERASE) == FE_PEB_NONE)
                write_randomly(&l, 1, l.n_writes);
            assert_int_equal(first_block(&l, FE_OP_ERASE), want);
            ft_layer_end(&l);
        }
    }
}

/* Gives the erased blocks erases of their own, and returns the one that then has the fewest. */
static fe_peb wear_free_blocks(struct ft_layer *l)
{
    static const uint32_t cycles[] = {9, 7, 8, 3, 5, 4, 6};
    fe_peb least = FE_PEB_NONE;
    uint32_t n = 0;
    for (fe_peb peb = 0; peb < l->rig.geo.n_pebs; peb++) {
        struct fe_medium *m = l->rig.medium;
        if (fe_medium_next_page(m, peb))
            continue;
        fe_chip_set_cycles(&m->chip, peb, 10 + cycles[n++ % ft_array_len(cycles)]);
        if (least == FE_PEB_NONE || fe_medium_erase_count(m, peb) < fe_medium_erase_count(m, least))
            least = peb;
    }
    assert_true(n > 1);
    return least;
}

static void test_power_on_takes_the_least_worn_first(void **state)
{
    (void)state;
    static const char *const names[] = {"block", "segment", "bast", "fast", "page", "norlog"};
    for (size_t i = 0; i < ft_array_len(names); i++) {
        struct ft_layer l;
        init(&l, names[i], FE_GC_GREEDY);
        l.params.clean.wear_levelling = FE_WEAR_DYNAMIC;
        ft_layer_write_each(&l, 0, 4 * (strcmp(names[i], "norlog") ? N : N - 1)); /* whole blocks */
        fe_peb want = wear_free_blocks(&l);
        ft_layer_power_cycle(&l);
        ft_layer_write_each(&l, 0, 1);
        assert_int_equal(first_block(&l, FE_OP_PROG), want);
        ft_layer_end(&l);
    }
}

/* A block of norlog, by hand: a header and n sectors. */
static void norlog_block(struct ft_layer *l, fe_peb peb, fe_lpn first, uint32_t n)
{
    struct fe_medium *m = l->rig.medium;
    struct {
        uint32_t magic, erase_count;
        uint64_t seq;
    } h = {UINT32_C(0x474f4c4e), fe_medium_erase_count(m, peb), fe_medium_last_seq(m) + 1};
    fe_ppn ppn = peb * N;
    assert_int_equal(fe_medium_prog(m, ppn++, FE_LPN_NONE, FE_TAG_HEADER, FE_PPN_NONE, 0, sizeof h,
                                    &h), FE_OK);
    for (fe_lpn lpn = first; lpn < first + n; lpn++) {
        memset(l->want + (size_t)lpn * PAGE, (int)lpn + 1, PAGE);
        assert_int_equal(fe_medium_prog(m, ppn++, lpn, FE_TAG_DATA, FE_PPN_NONE, 0, PAGE,
                                        l->want + (size_t)lpn * PAGE), FE_OK);
    }
}

/* Of two blocks that are filled in part, the log goes on in the one that was written last, and the
 * other one takes no more. */
static void test_power_on_of_two_unfinished_logs(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        struct ft_layer l;
        fe_peb older = last ? 2 : 5, newer = last ? 5 : 2;
        init(&l, "norlog", FE_GC_GREEDY);
        norlog_block(&l, 3, 0, N - 1);
        norlog_block(&l, older, 20, 2);
        norlog_block(&l, newer, 30, 3);
        ft_layer_power_cycle(&l);
        ft_layer_write_each(&l, 40, N - 1 - 3);
        assert_int_equal(first_block(&l, FE_OP_PROG), newer);
        assert_int_equal(fe_medium_next_page(l.rig.medium, newer), N);
        ft_layer_write_each(&l, 50, 1);
        assert_int_equal(fe_medium_next_page(l.rig.medium, older), 1 + 2);
        ft_layer_end(&l);
    }
}

/* A server was killed while it emptied a block: no journal names the block, and a free block is
 * missing.  Power-on empties blocks until the reserve is whole. */
static void test_power_on_restores_the_reserve_of_page(void **state)
{
    (void)state;
    enum { RESERVE = 2 };
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct ft_layer l;
        init(&l, "page", FE_GC_GREEDY);
        ft_layer_write_each(&l, 0, l.ftl->n_lpns);
        write_randomly(&l, 100 + (uint32_t)seed, seed);
        while (l.ftl->ops->free_blocks(l.ftl) > RESERVE)
            write_randomly(&l, 1, l.n_writes);
        struct fe_medium *m = l.rig.medium;
        fe_peb to = 0, from = 0;
        while (fe_medium_next_page(m, to))
            to++;
        while (fe_medium_next_page(m, from) != N)
            from++;
        struct fe_mapping newest[24 * N];
        fe_recover_newest(m, newest, l.ftl->n_lpns, NULL);
        for (fe_ppn ppn = from * N; ppn < from * N + N; ppn++)
            if (fe_mapped(newest[fe_medium_lpn(m, ppn)]) == ppn && fe_medium_next_page(m, to) < 3)
                assert_int_equal(fe_medium_prog(m, to * N + fe_medium_next_page(m, to),
                                                fe_medium_lpn(m, ppn), FE_TAG_COPY, ppn, 0, 0,
                                                NULL), FE_OK);
        assert_true(l.ftl->ops->free_blocks(l.ftl) - 1 < RESERVE);
        ft_layer_power_cycle(&l);
        assert_true(l.ftl->ops->free_blocks(l.ftl) >= RESERVE);
        ft_layer_end(&l);
    }
}

/* The unfinished block whose first page has this tag; FE_PEB_NONE if there is none. */
static fe_peb unfinished(const struct ft_layer *l, uint8_t tag)
{
    const struct fe_medium *m = l->rig.medium;
    for (fe_peb peb = 0; peb < l->rig.geo.n_pebs; peb++)
        if (fe_medium_next_page(m, peb) % N && fe_medium_tag(m, peb * N) == tag)
            return peb;
    return FE_PEB_NONE;
}

/* Writes until a page with this tag is programmed, and returns its block.  Until then no page goes
 * to block `own`. */
static fe_peb next_with_tag(struct ft_layer *l, uint8_t tag, fe_peb own)
{
    for (int tries = 0; tries < 2000; tries++) {
        uint32_t n;
        ft_layer_clear(l);
        write_randomly(l, 1, l->n_writes);
        const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
        for (uint32_t i = 0; i < n; i++) {
            fe_peb peb = ops[i].kind == FE_OP_PROG ? ops[i].ppn / N : FE_PEB_NONE;
            if (peb != FE_PEB_NONE && fe_medium_tag(l->rig.medium, ops[i].ppn) == tag)
                return peb;
            assert_true(peb == FE_PEB_NONE || peb != own);
        }
    }
    return FE_PEB_NONE;
}

/* A block that was being filled with cold pages takes cold pages after power-on, and no others. */
static void test_power_on_keeps_pools_apart(void **state)
{
    (void)state;
    static const uint8_t tags[] = {FE_TAG_COLD_COPY, FE_TAG_STATIC};
    for (size_t i = 0; i < ft_array_len(tags); i++) {
        uint32_t n_tried = 0;
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct ft_layer l;
            struct fe_nand_params nand = ft_nand(1, 40, N, PAGE);
            struct fe_ftl_params p = ft_params("page", &nand, 1);
            p.page.hot_cold = FE_HOT_COLD_GC;
            p.clean.wear_levelling = tags[i] == FE_TAG_STATIC ? FE_WEAR_STATIC : FE_WEAR_OFF;
            p.clean.wl_threshold = 1;
            ft_layer_init(&l, &nand, &p);
            ft_layer_write_each(&l, 0, l.ftl->n_lpns);
            write_randomly(&l, 1500 + (uint32_t)seed, seed);
            ft_layer_power_cycle(&l);
            fe_peb own = unfinished(&l, tags[i]);
            if (own != FE_PEB_NONE) {
                assert_int_equal(next_with_tag(&l, tags[i], own), own);
                n_tried++;
            }
            ft_layer_end(&l);
        }
        assert_true(n_tried > 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_on_keeps_the_queue_of_fifo),
        cmocka_unit_test(test_power_on_takes_the_least_worn_first),
        cmocka_unit_test(test_power_on_of_two_unfinished_logs),
        cmocka_unit_test(test_power_on_keeps_pools_apart),
        cmocka_unit_test(test_power_on_restores_the_reserve_of_page),
    };
    return cmocka_run_group_tests_name("power-on of strategies", tests, NULL, NULL);
}
