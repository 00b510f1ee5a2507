/* SPDX-License-Identifier: BSD-3-Clause
 *
 * norlog against a second log, against theory, and against an array of bytes.
 *
 * In the second log a block is an array of sectors in a queue, and nothing else.  With fifo every
 * write must cost exactly the operations that it costs there.  Theory gives the write amplification
 * of uniform random writes, without headers.  With a = (B - R) b / U, for B blocks of b sectors,
 * of which R = 1 is free, and U sectors of capacity, it is
 *
 *   fifo     A = 1 / (1 - exp(-a / A))
 *   greedy   A of fifo for k a, divided by k; k = 1 + 1/(2b)
 *
 * A seed as argument runs that case of the byte property alone.
 */
#include "lib/norlog.h"
#include "lib/rand.h"

#include "ftl/registry.h"

#include <math.h>

static unsigned seed; /* of the case that is running, for messages */

/* The second log: a queue of blocks, which are arrays of sectors. */
struct second_log {
    uint32_t sectors[64][D], fill[64]; /* blocks that are not free, the oldest first */
    uint32_t n, free, copies, erases, headers;
    uint32_t newest[64 * D];           /* sequence number of the newest copy of each sector */
    uint32_t stamp[64][D], clock;
};

static void second_append(struct second_log *s, uint32_t lpn)
{
    if (s->n == 0 || s->fill[s->n - 1] == D) {
        s->fill[s->n++] = 0;
        s->free--;
        s->headers++;
    }
    uint32_t at = s->fill[s->n - 1]++;
    s->sectors[s->n - 1][at] = lpn;
    s->stamp[s->n - 1][at] = s->newest[lpn] = ++s->clock;
}

static void second_write(struct second_log *s, uint32_t lpn)
{
    while (s->free == 1 && s->fill[s->n - 1] == D) {
        for (uint32_t i = 0; i < D; i++)
            if (s->stamp[0][i] == s->newest[s->sectors[0][i]]) {
                second_append(s, s->sectors[0][i]);
                s->copies++;
            }
        s->n--;
        memmove(s->sectors, s->sectors + 1, s->n * sizeof *s->sectors);
        memmove(s->stamp, s->stamp + 1, s->n * sizeof *s->stamp);
        memmove(s->fill, s->fill + 1, s->n * sizeof *s->fill);
        s->free++;
        s->erases++;
    }
    second_append(s, lpn);
}

static void test_norlog_counts_are_those_of_a_second_log(void **state)
{
    (void)state;
    for (uint32_t i_case = 1; i_case <= 12; i_case++) {
        static struct second_log s;
        struct ft_rand r = {.seed = i_case};
        struct ft_layer l;
        struct fe_ftl_params p = ft_norlog_params(FE_GC_FIFO);
        p.clean.wear_levelling = i_case % 2 ? FE_WEAR_OFF : FE_WEAR_DYNAMIC;
        memset(&s, 0, sizeof s);
        s.free = BLOCKS;
        ft_norlog_init(&l, p);
        uint64_t hot = ft_between(&r, 1, USABLE * D);
        for (uint32_t i = 0; i < 1500; i++) {
            fe_lpn lpn = (fe_lpn)ft_below(&r, ft_chance(&r, 70) ? hot : USABLE * D);
            struct second_log before = s;
            ft_layer_clear(&l);
            ft_layer_fill(&l, lpn, 1);
            second_write(&s, lpn);
            ft_layer_expect(&l, (struct ft_cost){
                .reads = s.copies - before.copies,
                .programs = 1 + s.copies - before.copies + s.headers - before.headers,
                .erases = s.erases - before.erases,
                .copied = s.copies - before.copies}, "write");
        }
        assert_true(s.copies > 0);
        ft_layer_end(&l);
    }
}

static double theory(double a, double k)
{
    double x = 2;
    for (int i = 0; i < 500; i++)
        x = 1 / (1 - exp(-k * a / x));
    return x / k;
}

static void test_norlog_write_amplification(void **state)
{
    (void)state;
    enum { B = 256, b = 32 };
    static const uint32_t policies[] = {FE_GC_GREEDY, FE_GC_FIFO};
    for (size_t i_policy = 0; i_policy < ft_array_len(policies); i_policy++) {
        uint32_t policy = policies[i_policy];
        struct fe_nand_params np = ft_nor(B, b + 1);
        struct fe_ftl_params p = ft_params("norlog", &np, 1);
        struct ft_rig rig;
        struct fe_ftl *ftl;
        struct ft_rand r = {.seed = policy + 1};
        uint32_t u = (B - 1) * b * 100 / 125;
        p.clean.gc_policy = policy;
        ft_rig_init(&rig, &np);
        assert_int_equal(fe_ftl_create(&ftl, &fe_ftl_norlog, &p, rig.medium, u, false, NULL), 0);
        uint64_t writes = 20000, copied = 0;
        for (uint32_t i = 0; i < u + 5 * u + writes; i++) {
            if (i == 6 * u)
                copied = ftl->counters.pages_copied;
            fe_lpn lpn = i < u ? i : (fe_lpn)ft_below(&r, u);
            assert_int_equal(ftl->ops->write(ftl, lpn, 0, SECTOR, NULL), FE_OK);
            ft_rig_clear(&rig);
        }
        double wa = 1 + (double)(ftl->counters.pages_copied - copied) / (double)writes;
        double want = theory(1.25, policy == FE_GC_GREEDY ? 1 + 1 / (2.0 * b) : 1);
        print_message("    policy %u: WA %.4f, theory %.4f\n", policy, wa, want);
        if (fabs(wa / want - 1) > 0.02)
            fail_msg("policy %u: WA %.4f is not %.4f", policy, wa, want);
        fe_ftl_destroy(ftl);
        ft_rig_fini(&rig);
    }
}

/* The difference between the most and the least worn block when a few sectors are hot. */
static uint32_t spread(uint32_t levelling, uint32_t threshold, uint32_t reserve, uint64_t *moves)
{
    struct ft_layer l;
    struct fe_ftl_params p = ft_norlog_params(FE_GC_GREEDY);
    uint32_t most_apart = 0;
    p.clean.wear_levelling = levelling;
    p.clean.wl_threshold = threshold;
    p.clean.gc_reserve = reserve;
    ft_norlog_init(&l, p);
    ft_norlog_fill(&l);
    for (uint32_t i = 0; i < 4000; i++) {
        uint32_t min = UINT32_MAX, max = 0;
        ft_layer_fill(&l, i * 3 % 11, 1);
        for (fe_peb peb = 0; peb < BLOCKS; peb++) {
            uint32_t e = fe_medium_erase_count(l.rig.medium, peb);
            min = e < min ? e : min;
            max = e > max ? e : max;
        }
        most_apart = max - min > most_apart ? max - min : most_apart;
    }
    *moves = l.ftl->counters.wear_moves;
    ft_layer_end(&l);
    return most_apart;
}

static void test_norlog_static_levelling_bounds_the_spread(void **state)
{
    (void)state;
    uint64_t moves;
    uint32_t off = spread(FE_WEAR_OFF, 5, 1, &moves);
    assert_int_equal(moves, 0);
    assert_true(off > 100);
    assert_true(spread(FE_WEAR_DYNAMIC, 5, 1, &moves) > 100); /* cold blocks are never free */
    assert_int_equal(moves, 0);
    for (uint32_t threshold = 2; threshold <= 32; threshold *= 2) {
        for (uint32_t reserve = 1; reserve <= 4; reserve++) {
            uint32_t apart = spread(FE_WEAR_STATIC, threshold, reserve, &moves);
            assert_true(moves > 0);
            if (apart > threshold + 2)
                fail_msg("threshold %u, reserve %u: %u erases apart", threshold, reserve, apart);
        }
    }
}

/* The map follows from what is on the chip: it points to the newest copy of each sector. */
static void expect_map_from_chip(struct ft_layer *l)
{
    const struct fe_medium *m = l->rig.medium;
    uint32_t ppb = l->rig.geo.pages_per_block, header = 1;
    uint8_t buf[SECTOR];
    for (fe_lpn lpn = 0; lpn < l->ftl->n_lpns; lpn++) {
        fe_ppn best = FE_PPN_NONE;
        for (fe_ppn ppn = 0; ppn < l->rig.geo.n_ppns; ppn++) {
            uint32_t page = ppn % ppb;
            if (page < header || page >= fe_medium_next_page(m, ppn / ppb))
                continue;
            if (fe_medium_lpn(m, ppn) == lpn &&
                (best == FE_PPN_NONE || fe_medium_seq(m, ppn) > fe_medium_seq(m, best)))
                best = ppn;
        }
        if (best == FE_PPN_NONE)
            continue;
        fe_store_read(m->store, best, 0, SECTOR, buf);
        assert_memory_equal(buf, l->want + (size_t)lpn * SECTOR, SECTOR);
    }
}

/* Every sector that was programmed is still there or was erased; and it was written by the host, or
 * is a copy or a header. */
static void expect_conservation(struct ft_layer *l, uint64_t writes)
{
    uint32_t n, ppb = l->rig.geo.pages_per_block, held[64] = {0};
    uint64_t programs = 0, headers = 0, erased = 0, unused = 0;
    const struct fe_op *ops = ft_rig_ops(&l->rig, &n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t peb = ops[i].kind == FE_OP_BARRIER ? 0 : ops[i].ppn / ppb;
        if (ops[i].kind == FE_OP_PROG) {
            programs++;
            headers += held[peb]++ == 0;
        } else if (ops[i].kind == FE_OP_ERASE) {
            erased += held[peb];
            unused += ppb - held[peb];
            held[peb] = 0;
        }
    }
    for (fe_peb peb = 0; peb < l->rig.geo.n_pebs; peb++) {
        assert_int_equal(held[peb], fe_medium_next_page(l->rig.medium, peb));
        erased += held[peb];
    }
    assert_int_equal(programs, erased);
    assert_int_equal(programs, writes + l->ftl->counters.pages_copied + headers);
    assert_true(unused == 0 || l->ftl->counters.wear_moves > 0);
}

/* With any parameters, parts of sectors and several dies: checks the bytes, every invariant after
 * every step, and that what was programmed is still there or was erased. */
static void run_bytes(void)
{
    struct ft_rand r = {.seed = seed};
    uint32_t blocks = (uint32_t)ft_between(&r, 3, 12), sectors = (uint32_t)ft_between(&r, 2, 20);
    struct fe_nand_params np = ft_nor(blocks, sectors);
    np.dies_per_channel = (uint32_t)ft_between(&r, 1, 3);
    struct fe_ftl_params p = ft_params("norlog", &np, 1);
    struct ft_layer l;
    p.clean.gc_policy = (uint32_t)ft_below(&r, 3);
    p.clean.wear_levelling = (uint32_t)ft_below(&r, 3);
    p.clean.wl_threshold = (uint32_t)ft_between(&r, 1, 6);
    p.clean.gc_reserve = (uint32_t)ft_between(&r, 1, np.blocks_per_plane * np.dies_per_channel - 2);
    ft_layer_init(&l, &np, &p);
    uint64_t n = l.ftl->n_lpns, hot = ft_between(&r, 1, n);
    for (int i = 0; i < 800; i++) {
        fe_lpn lpn = (fe_lpn)ft_below(&r, ft_chance(&r, 60) ? hot : n);
        uint32_t off = ft_chance(&r, 60) ? 0 : (uint32_t)ft_below(&r, SECTOR);
        uint32_t len = off ? (uint32_t)ft_between(&r, 1, SECTOR - off) : SECTOR;
        assert_int_equal(ft_layer_write_part(&l, lpn, off, len), FE_OK);
        ft_layer_check(&l);
    }
    expect_map_from_chip(&l);
    expect_conservation(&l, 800);
    ft_layer_end(&l);
}

static void test_norlog_bytes_over_seeds(void **state)
{
    (void)state;
    if (seed) {
        run_bytes();
        return;
    }
    const char *env = getenv("FLASHEMU_LONG");
    unsigned n = env && strcmp(env, "1") == 0 ? 600 : 60;
    for (seed = 1; seed <= n; seed++)
        run_bytes();
    seed = 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norlog_counts_are_those_of_a_second_log),
        cmocka_unit_test(test_norlog_write_amplification),
        cmocka_unit_test(test_norlog_static_levelling_bounds_the_spread),
        cmocka_unit_test(test_norlog_bytes_over_seeds),
    };
    if (argc > 1)
        seed = (unsigned)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
