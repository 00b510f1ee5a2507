/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cleaning policies and wear against theory.  The device has B blocks of b pages and U logical
 * pages.  All of them are written once and then overwritten at random, one page at a time.
 *
 * The theory does not know of free and open blocks.  R blocks are free or open when a victim is
 * chosen; they do not count, so alpha = (B - R) b / U.  A is the write amplification:
 *
 *   random     A = alpha / (alpha - 1)
 *   fifo       A = 1 / (1 - exp(-alpha / A))                        any b
 *   greedy     A = fifo(k alpha) / k          k = 1 + 1/(2b)
 *   d-choices  s_i is the share of blocks with i valid pages or more: s_i = s_{i+1} +
 *              c (1 - s_i^d) / i, with c such that sum s_i = b / alpha;
 *              A = b / (b - sum s_i^d)
 *
 * If a share r of the writes goes to a share f of the pages, and the two are not separated:
 *
 *   fifo       A = 1 + r / (exp(r/f alpha/A) - 1) + (1-r) / (exp((1-r)/(1-f) alpha/A) - 1)
 *   greedy     as above
 *
 * U is chosen so that alpha is 1.07, 1.10 and 1.28.  The argument "--table" prints what the tests
 * compare.
 */
#include "lib/bulk.h"
#include "lib/theory.h"
#include "lib/unit.h"

#include <math.h>
#include <stdio.h>

enum { B = 1024 };

static const double alphas[] = {1.07, 1.10, 1.28};
static bool table;

static double theory_fifo(double alpha, uint32_t b, uint32_t d)
{
    (void)b, (void)d;
    return ft_theory_fifo(alpha, 0.5, 0.5);
}

static double theory_greedy(double alpha, uint32_t b, uint32_t d)
{
    (void)d;
    return ft_theory_greedy(alpha, 0.5, 0.5, b);
}

static double theory_random(double alpha, uint32_t b, uint32_t d)
{
    (void)b, (void)d;
    return alpha / (alpha - 1);
}

/* arg: s_{i+1}, c/i, d. */
static double share_gap(double s, const double *arg)
{
    return arg[0] + arg[1] * (1 - pow(s, arg[2])) - s;
}

static double shares(double c, uint32_t b, uint32_t d, double *ret_sum_d)
{
    double s = 0, sum = 0;
    *ret_sum_d = 0;
    for (uint32_t i = b; i > 0; i--) {
        const double arg[] = {s, c / i, d};
        s = ft_root(share_gap, arg, s, 1);
        sum += s;
        *ret_sum_d += pow(s, d);
    }
    return sum;
}

static double theory_d_choices(double alpha, uint32_t b, uint32_t d)
{
    double lo = 0, hi = 1e4, sum_d = 0;
    for (int i = 0; i < 100; i++) {
        double mid = sqrt((lo + 1e-9) * hi);
        if (shares(mid, b, d, &sum_d) < b / alpha)
            lo = mid;
        else
            hi = mid;
    }
    return b / (b - sum_d);
}

struct bench {
    struct ft_bulk bulk;
    double hot_writes, hot_pages; /* 0: uniform */
};

/* There is one die, so that each stream has one open block. */
static void bench_init(struct bench *t, uint32_t b, double alpha, const struct fe_ftl_params *p)
{
    /* When a victim is chosen, each stream has an open block, and the number of free blocks is
     * one below the reserve.  The reserve is a block for each stream, and 2 if blocks that are
     * full of valid pages are moved. */
    uint32_t streams = 1 + (p->page.hot_cold != FE_HOT_COLD_OFF) +
                       (p->clean.wear_levelling == FE_WEAR_STATIC);
    bool spares_full =
        p->clean.gc_policy == FE_GC_GREEDY || p->clean.gc_policy == FE_GC_COST_BENEFIT;
    uint32_t reserve = streams > 1 || spares_full ? streams : 2;
    uint32_t n_lpns = (uint32_t)((B - streams - (reserve - 1)) * b / alpha);
    memset(t, 0, sizeof *t);
    ft_bulk_init(&t->bulk, &fe_ftl_page, B, b, 512, n_lpns, p);
    t->bulk.rand.seed = p->seed;
}

static fe_lpn draw(struct bench *t)
{
    uint32_t n = t->bulk.ftl->n_lpns, hot = (uint32_t)(n * t->hot_pages);
    if (hot == 0)
        return (fe_lpn)ft_below(&t->bulk.rand, n);
    if (ft_below(&t->bulk.rand, 1000) < t->hot_writes * 1000)
        return (fe_lpn)ft_below(&t->bulk.rand, hot);
    return hot + (fe_lpn)ft_below(&t->bulk.rand, n - hot);
}

static void overwrite(struct bench *t, double times)
{
    for (uint64_t i = 0, n = (uint64_t)(times * t->bulk.ftl->n_lpns); i < n; i++)
        ft_bulk_write(&t->bulk, draw(t));
}

/* The write amplification of `times` overwrites that follow `warm` others; both count in multiples
 * of the device. */
static double amplification(struct bench *t, double warm, double times)
{
    ft_bulk_fill(&t->bulk);
    overwrite(t, warm);
    ft_bulk_mark(&t->bulk);
    overwrite(t, times);
    return ft_bulk_amplification(&t->bulk);
}

static void compare(const char *what, uint32_t b, double alpha, double got, double want,
                    double tolerance)
{
    double error = got / want - 1;
    if (table)
        printf("%-22s b=%-4u alpha=%.2f  %8.3f  theory %8.3f  %+.2f %%\n", what, b, alpha, got,
               want, 100 * error);
    if (fabs(error) > tolerance)
        fail_msg("%s b=%u alpha=%.2f: %.3f, theory says %.3f: %+.2f %%", what, b, alpha, got, want,
                 100 * error);
}

static void test_page_write_amplification_of_uniform_writes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t policy, d;
        double (*theory)(double alpha, uint32_t b, uint32_t d);
    } cases[] = {
        {"random", FE_GC_RANDOM, 1, theory_random},
        {"fifo", FE_GC_FIFO, 1, theory_fifo},
        {"greedy", FE_GC_GREEDY, 1, theory_greedy},
        {"d-choices d=2", FE_GC_D_CHOICES, 2, theory_d_choices},
        {"d-choices d=4", FE_GC_D_CHOICES, 4, theory_d_choices},
        {"d-choices d=10", FE_GC_D_CHOICES, 10, theory_d_choices},
    };
    static const uint32_t sizes[] = {32, 64};
    for (size_t k = 0; k < ft_array_len(cases); k++)
        for (size_t s = 0; s < ft_array_len(sizes); s++)
            for (size_t a = 0; a < ft_array_len(alphas); a++) {
                struct bench t;
                struct fe_ftl_params p = {.clean.gc_policy = cases[k].policy,
                                          .clean.gc_d = cases[k].d,
                                          .seed = 1 + k};
                bench_init(&t, sizes[s], alphas[a], &p);
                double got = amplification(&t, 4, 3);
                compare(cases[k].name, sizes[s], alphas[a], got,
                        cases[k].theory(alphas[a], sizes[s], cases[k].d), 0.02);
                ft_bulk_fini(&t.bulk);
            }
}

/* 80 % of the writes to 20 % of the pages. */
static double skewed(uint32_t b, double alpha, const struct fe_ftl_params *p)
{
    struct bench t;
    bench_init(&t, b, alpha, p);
    t.hot_writes = 0.8;
    t.hot_pages = 0.2;
    double got = amplification(&t, 6, 4);
    ft_bulk_fini(&t.bulk);
    return got;
}

static void test_page_write_amplification_of_hot_and_cold_writes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {32, 64};
    for (size_t s = 0; s < ft_array_len(sizes); s++)
        for (size_t a = 0; a < ft_array_len(alphas); a++) {
            struct fe_ftl_params p = {.clean.gc_policy = FE_GC_FIFO, .seed = 3};
            compare("fifo 80/20", sizes[s], alphas[a], skewed(sizes[s], alphas[a], &p),
                    ft_theory_fifo(alphas[a], 0.8, 0.2), 0.03);
            p.clean.gc_policy = FE_GC_GREEDY;
            compare("greedy 80/20", sizes[s], alphas[a], skewed(sizes[s], alphas[a], &p),
                    ft_theory_greedy(alphas[a], 0.8, 0.2, sizes[s]), 0.03);
        }
}

/* Separation cannot be better than two devices of the best sizes, one for hot and one for cold
 * pages, each with greedy cleaning.  And it is useless if it is not better than one device. */
static void test_page_separation_lies_between_one_pool_and_the_best_two(void **state)
{
    (void)state;
    static const double best_two[] = {4.731, 3.609, 1.814};
    for (size_t a = 0; a < ft_array_len(alphas); a++) {
        double got[FE_N_HOT_COLDS][2];
        for (uint32_t hc = 0; hc < FE_N_HOT_COLDS; hc++)
            for (int cb = 0; cb < 2; cb++) {
                struct fe_ftl_params p = {.clean.gc_policy = cb ? FE_GC_COST_BENEFIT : FE_GC_GREEDY,
                                          .page.hot_cold = hc, .seed = 3};
                got[hc][cb] = skewed(64, alphas[a], &p);
                if (table)
                    printf("%-12s hot_cold=%u   alpha=%.2f  %8.3f\n",
                           cb ? "cost-benefit" : "greedy", hc, alphas[a], got[hc][cb]);
            }
        assert_true(got[FE_HOT_COLD_GC][0] < 0.98 * got[FE_HOT_COLD_OFF][0]);
        assert_true(got[FE_HOT_COLD_GC][1] < 0.86 * got[FE_HOT_COLD_OFF][1]);
        assert_true(got[FE_HOT_COLD_TWO_POOL][0] < 0.95 * got[FE_HOT_COLD_OFF][0]);
        assert_true(got[FE_HOT_COLD_TWO_POOL][1] < 0.70 * got[FE_HOT_COLD_OFF][1]);
        assert_true(got[FE_HOT_COLD_TWO_POOL][1] > 0.99 * best_two[a]);
    }
}

struct wear {
    double mean, variance;
    uint32_t spread; /* max - min */
};

static struct wear wear_of(const struct bench *t)
{
    double sum = 0, squares = 0;
    uint32_t min = UINT32_MAX, max = 0;
    for (fe_peb peb = 0; peb < B; peb++) {
        uint32_t e = fe_medium_erase_count(t->bulk.medium, peb);
        sum += e;
        squares += (double)e * e;
        min = e < min ? e : min;
        max = e > max ? e : max;
    }
    double mean = sum / B;
    return (struct wear){mean, squares / B - mean * mean, max - min};
}

/* Checks the variance over the mean.  The ranges come from independent Monte-Carlo runs.  They are
 * widened by the error that a sample of B blocks may have: 2.5 standard errors of sqrt(2/B). */
static void test_page_wear_varies_as_the_policy_says(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t policy, d;
        double hot_writes, lo, hi;
    } cases[] = {
        {"random", FE_GC_RANDOM, 1, 0, 0.97, 0.99},
        {"d-choices d=2", FE_GC_D_CHOICES, 2, 0, 0.40, 0.45},
        {"d-choices d=10", FE_GC_D_CHOICES, 10, 0, 0.04, 0.08},
        {"greedy", FE_GC_GREEDY, 1, 0, 0.02, 0.06},
        {"greedy 80/20", FE_GC_GREEDY, 1, 0.8, 0.16, 0.16},
    };
    double slack = 2.5 * sqrt(2.0 / B);
    for (size_t k = 0; k < ft_array_len(cases); k++) {
        struct fe_ftl_params p = {
            .clean.gc_policy = cases[k].policy, .clean.gc_d = cases[k].d, .seed = 3};
        struct bench t;
        bench_init(&t, 128, 1.10, &p);
        t.hot_writes = cases[k].hot_writes;
        t.hot_pages = t.hot_writes > 0 ? 0.2 : 0;
        ft_bulk_fill(&t.bulk);
        overwrite(&t, t.hot_writes > 0 ? 20 : 8);
        struct wear w = wear_of(&t);
        double got = w.variance / w.mean;
        if (table)
            printf("%-16s erases %6.1f  variance/mean %.3f  theory %.2f to %.2f\n", cases[k].name,
                   w.mean, got, cases[k].lo, cases[k].hi);
        if (got < cases[k].lo * (1 - slack) || got > cases[k].hi * (1 + slack))
            fail_msg("%s: variance/mean of erases is %.3f, not %.2f to %.2f", cases[k].name, got,
                     cases[k].lo, cases[k].hi);
        ft_bulk_fini(&t.bulk);
    }
}

/* Whatever the host writes, a fifo takes the blocks in a circle. */
static void test_page_fifo_wears_all_blocks_alike(void **state)
{
    (void)state;
    static const double hot_writes[] = {0, 0.8, 1};
    for (size_t k = 0; k < ft_array_len(hot_writes); k++) {
        struct fe_ftl_params p = {.clean.gc_policy = FE_GC_FIFO, .seed = 3};
        struct bench t;
        bench_init(&t, 16, 1.10, &p);
        t.hot_writes = hot_writes[k];
        t.hot_pages = hot_writes[k] > 0 ? 0.2 : 0;
        ft_bulk_fill(&t.bulk);
        for (int i = 0; i < 1000; i++) {
            overwrite(&t, 0.01);
            if (wear_of(&t).spread > 1)
                fail_msg("erase counts lie %u apart", wear_of(&t).spread);
        }
        assert_true(wear_of(&t).mean > 20);
        ft_bulk_fini(&t.bulk);
    }
}

/* Four fifths of the pages are never written again.  Returns the largest difference in wear, and in
 * *ret_wa the write amplification. */
static uint32_t spread_beside_static_data(const struct fe_ftl_params *p, double *ret_wa)
{
    struct bench t;
    uint32_t spread = 0;
    bench_init(&t, 16, 1.10, p);
    t.hot_writes = 1;
    t.hot_pages = 0.2;
    ft_bulk_fill(&t.bulk);
    ft_bulk_mark(&t.bulk);
    for (int i = 0; i < 1500; i++) {
        overwrite(&t, 0.01);
        uint32_t now = wear_of(&t).spread;
        spread = now > spread ? now : spread;
    }
    *ret_wa = ft_bulk_amplification(&t.bulk);
    ft_bulk_fini(&t.bulk);
    return spread;
}

/* The threshold may be exceeded by two: a block that was just erased, and one that is being
 * emptied. */
static void test_page_static_levelling_keeps_its_threshold(void **state)
{
    (void)state;
    static const uint32_t policies[] = {FE_GC_GREEDY, FE_GC_COST_BENEFIT, FE_GC_FIFO,
                                        FE_GC_D_CHOICES};
    static const uint32_t thresholds[] = {4, 16};
    for (size_t k = 0; k < ft_array_len(policies); k++) {
        struct fe_ftl_params p = {.clean.gc_policy = policies[k], .clean.gc_d = 10, .seed = 3,
                                  .clean.wear_levelling = FE_WEAR_DYNAMIC};
        double wa, wa_levelled;
        uint32_t without = spread_beside_static_data(&p, &wa);
        if (policies[k] != FE_GC_FIFO)
            assert_true(without > 60);
        p.clean.wear_levelling = FE_WEAR_STATIC;
        for (size_t i = 0; i < ft_array_len(thresholds); i++) {
            p.clean.wl_threshold = thresholds[i];
            uint32_t spread = spread_beside_static_data(&p, &wa_levelled);
            if (table)
                printf("policy %u: spread %u, with threshold %u %u; A %.3f, %.3f\n", policies[k],
                       without, thresholds[i], spread, wa, wa_levelled);
            if (spread > thresholds[i] + 2)
                fail_msg("policy %u: erase counts lie %u apart, the threshold is %u", policies[k],
                         spread, thresholds[i]);
        }
    }
}

int main(int argc, char **argv)
{
    table = argc > 1 && strcmp(argv[1], "--table") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_write_amplification_of_uniform_writes),
        cmocka_unit_test(test_page_write_amplification_of_hot_and_cold_writes),
        cmocka_unit_test(test_page_separation_lies_between_one_pool_and_the_best_two),
        cmocka_unit_test(test_page_wear_varies_as_the_policy_says),
        cmocka_unit_test(test_page_fifo_wears_all_blocks_alike),
        cmocka_unit_test(test_page_static_levelling_keeps_its_threshold),
    };
    return cmocka_run_group_tests_name("page oracles", tests, NULL, NULL);
}
