/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dftl against theory, and against an array of bytes.
 *
 * Theory.  B blocks of b pages on one die, U logical pages, all written once and then
 * overwritten at random, one page at a time; T translation pages of e entries, a cache of C
 * entries.  Figures are for each host write.
 *
 * Cleaning.  As for the page strategy: greedy has A = fifo(k alpha) / k, k = 1 + 1/(2b),
 * fifo(a) the root of A = 1 / (1 - exp(-a/A)), alpha = (B - R) b / pages in use.  Blocks
 * are cleaned when 4 are free, so 3 are at the choice, and one is open of each kind.
 *
 *   all entries cached    the table is never written: R = 3 + 1, U pages in use, WA = A
 *   few entries cached    a write is w writes of the table more.  Data and table are cleaned
 *                         by the same rule, valid pages alone, so that both meet the same
 *                         A: R = 3 + 2, U + T pages in use, WA = A (1 + w)
 *
 * Misses.  Of C cached entries each is as good as another: h = C/U, q = 1 - h.  LRU keeps
 * what was used in the last t writes, h = 1 - exp(-t/U), so t = -U log q.
 *
 *   share r of the uses to a share f of the pages: t from  f U (1 - exp(-r t / (f U))) +
 *   (1-f) U (1 - exp(-(1-r) t / ((1-f) U))) = C, hits r (1 - ...) + (1-r) (1 - ...)
 *   (Che's approximation)
 *
 * Table, by cleaning.  A victim has v = b - b/A valid pages, written long before t, so
 * uncached; they lie in T (1 - (1 - 1/T)^v) translation pages, and the cleaning makes room
 * for b - v host writes: g = T (1 - (1 - 1/T)^v) / (b - v).
 *
 * Table, by leaving entries.  Entries of one translation page leave at rate q/T.  One of
 * them is dirty if its translation page has not been written since its use, t ago.  Within
 * t cleaning moves a page once at most, and not the one in question, so the chance for that
 * is S = (1 - g t/U)^(e-1).  After each writing the next entry to leave dirty does so t + X
 * later, X exponential with rate q/T, unless a cleaning comes before, at rate c/T with
 * c = g (1 - 1/e).  Thus a share P = S q/(q+c) of all writings is for leaving entries, and
 * they come M = T ((1 - (1 - g t/U)^e)/g + S/(q+c)) apart: E = T P / M.
 *
 *   w = E + g      reads of the table = q + w
 *
 * "--table" as argument prints what the tests compare; an id of the byte property,
 * SHAPE:SEED, runs that one again.
 */
#include "lib/bulk.h"
#include "lib/layer.h"
#include "lib/theory.h"
#include "lib/unit.h"

#include "ftl/registry.h"

#include <math.h>
#include <stdio.h>

enum { B = 1024 };

static const double alphas[] = {1.07, 1.10, 1.28};
static bool table;

/* arg: C, U, r, f. */
static double cached_gap(double t, const double *arg)
{
    double u = arg[1], r = arg[2], f = arg[3];
    return arg[0] + f * u * expm1(-r * t / (f * u)) +
           (1 - f) * u * expm1(-(1 - r) * t / ((1 - f) * u));
}

static double theory_hits(double c, double u, double r, double f)
{
    const double arg[] = {c, u, r, f};
    double t = ft_root(cached_gap, arg, 0, 1000 * u);
    return -r * expm1(-r * t / (f * u)) - (1 - r) * expm1(-(1 - r) * t / ((1 - f) * u));
}

struct theory {
    double a, misses, evictions, by_cleaning, wa;
};

static struct theory theory_few(double u, double tps, double c, uint32_t b)
{
    struct theory th = {.a = ft_theory_greedy((B - 5.0) * b / (u + tps), 0.5, 0.5, b),
                        .misses = 1 - c / u};
    double q = th.misses, t = -u * log(q), v = b - b / th.a;
    double g = -tps * expm1(v * log1p(-1 / tps)) / (b - v), stays = 1 - g * t / u, e = u / tps;
    double others = g * (1 - 1 / e), none = pow(stays, e - 1);
    th.by_cleaning = g;
    th.evictions = none * q / (q + others) / ((1 - pow(stays, e)) / g + none / (q + others));
    th.wa = th.a * (1 + th.evictions + g);
    return th;
}

static void init(struct ft_bulk *t, const struct fe_ftl_ops *ftl, uint32_t b, uint32_t page,
                 uint32_t n_lpns, const struct fe_ftl_params *p)
{
    ft_bulk_init(t, ftl, B, b, page, n_lpns, p);
    t->rand.seed = b + n_lpns;
}

/* Everything once in random order: pages that were written in order would keep each other
 * company through many cleanings, and share translation pages. */
static void fill_scattered(struct ft_bulk *t)
{
    uint32_t n = t->ftl->n_lpns;
    fe_lpn *order = malloc(n * sizeof *order);
    assert_non_null(order);
    for (fe_lpn lpn = 0; lpn < n; lpn++) {
        uint32_t i = (uint32_t)ft_below(&t->rand, lpn + 1);
        order[lpn] = order[i];
        order[i] = lpn;
    }
    for (uint32_t i = 0; i < n; i++)
        ft_bulk_write(t, order[i]);
    free(order);
}

static void overwrite(struct ft_bulk *t, double times)
{
    for (uint64_t n = (uint64_t)(times * t->ftl->n_lpns); n > 0; n--)
        ft_bulk_write(t, (fe_lpn)ft_below(&t->rand, t->ftl->n_lpns));
}

/* For each host operation since ft_bulk_mark. */
static double per_host(const struct ft_bulk *t, uint64_t now, uint64_t before)
{
    return (double)(now - before) / (double)(t->host - t->host0);
}
#define PER_HOST(t, set, field) per_host(t, (t)->set.field, (t)->ftl0.field)

static void compare(const char *what, const char *of, double got, double want, double tolerance)
{
    double error = got / want - 1;
    if (table)
        printf("%-28s %-22s %8.4f  theory %8.4f  %+.2f %%\n", of, what, got, want, 100 * error);
    if (fabs(error) > tolerance)
        fail_msg("%s: %s %.4f, theory says %.4f: %+.2f %%", of, what, got, want, 100 * error);
}

/* The page strategy with as many blocks set aside is the same thing then. */
static void test_dftl_with_all_entries_cached_is_greedy(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {32, 64};
    for (size_t s = 0; s < ft_array_len(sizes); s++)
        for (size_t a = 0; a < ft_array_len(alphas); a++) {
            struct ft_bulk t;
            char of[64];
            uint32_t b = sizes[s], u = (uint32_t)((B - 4) * b / alphas[a]);
            struct fe_ftl_params p = {.dftl.map_cache = 1 << 30,
                                      .clean.gc_policy = FE_GC_GREEDY,
                                      .clean.gc_reserve = 4,
                                      .clean.wear_levelling = FE_WEAR_DYNAMIC};
            double got[2];
            snprintf(of, sizeof of, "all cached b=%u alpha=%.2f", b, alphas[a]);
            for (int k = 0; k < 2; k++) {
                init(&t, k ? &fe_ftl_page : &fe_ftl_dftl, b, 512, u, &p);
                ft_bulk_fill(&t);
                overwrite(&t, 4);
                ft_bulk_mark(&t);
                overwrite(&t, 4);
                got[k] = ft_bulk_amplification(&t);
                assert_int_equal(t.ftl->counters.map_reads + t.ftl->counters.map_writes, 0);
                ft_bulk_fini(&t);
            }
            compare("WA", of, got[0], ft_theory_greedy(alphas[a], 0.5, 0.5, b), 0.02);
            compare("WA to page's", of, got[0], got[1], 0.005);
        }
}

static void run_few(uint32_t b, uint32_t page, double alpha, double cached)
{
    struct ft_bulk t;
    char of[64];
    uint32_t e = page / 4, u = (uint32_t)((B - 5) * b / alpha * e / (e + 1));
    uint32_t tps = (u + e - 1) / e, c = (uint32_t)(cached * u);
    struct fe_ftl_params p = {.dftl.map_cache = 8ull * c};
    struct theory th = theory_few(u, tps, c, b);
    init(&t, &fe_ftl_dftl, b, page, u, &p);
    fill_scattered(&t);
    overwrite(&t, 2);
    ft_bulk_mark(&t);
    overwrite(&t, 2);
    const struct fe_ftl_counters *n = &t.ftl->counters, *n0 = &t.ftl0;
    double writes = per_host(&t, n->map_writes, n0->map_writes);
    double evictions = per_host(&t, n->map_evictions, n0->map_evictions);
    snprintf(of, sizeof of, "b=%u e=%u C/U=%.3f alpha=%.2f", b, e, cached, alpha);
    compare("misses", of, per_host(&t, n->map_misses, n0->map_misses), th.misses, 0.01);
    compare("entries written back", of, evictions, th.evictions, 0.03);
    compare("table by cleaning", of, writes - evictions, th.by_cleaning, 0.03);
    compare("table writes", of, writes, th.evictions + th.by_cleaning, 0.03);
    compare("table reads", of, per_host(&t, n->map_reads, n0->map_reads),
            th.misses + th.evictions + th.by_cleaning, 0.03);
    compare("WA", of, ft_bulk_amplification(&t), th.wa, 0.03);
    /* a page written before is there at every miss, so the books balance exactly */
    assert_int_equal(n->map_reads - n0->map_reads,
                     n->map_misses - n0->map_misses + n->map_writes - n0->map_writes);
    ft_bulk_fini(&t);
}

static void test_dftl_with_few_entries_cached(void **state)
{
    (void)state;
    for (size_t a = 0; a < ft_array_len(alphas); a++)
        run_few(64, 32, alphas[a], 0.002);
    run_few(64, 64, 1.28, 0.02);
    run_few(64, 64, 1.28, 0.05);
    run_few(64, 64, 1.28, 0.10);
    run_few(64, 128, 1.28, 0.01);
    run_few(64, 128, 1.28, 0.02);
    run_few(64, 256, 1.28, 0.01);
}

/* Reads change nothing, so no entry is dirty: a miss is one read. */
static void test_dftl_reads_cost_their_misses(void **state)
{
    (void)state;
    static const double cached[] = {0.001, 0.1, 0.5, 0.9};
    for (size_t k = 0; k < ft_array_len(cached); k++) {
        struct ft_bulk t;
        char of[64];
        uint32_t u = 40000, c = (uint32_t)(cached[k] * u);
        struct fe_ftl_params p = {.dftl.map_cache = 8ull * c};
        init(&t, &fe_ftl_dftl, 64, 64, u, &p);
        ft_bulk_fill(&t);
        for (int i = 0; i < 2; i++) { /* the first round leaves no dirty entry */
            ft_bulk_mark(&t);
            for (uint32_t n = 0; n < (i ? 2 : 6) * u; n++)
                ft_bulk_read(&t, (fe_lpn)ft_below(&t.rand, u));
        }
        snprintf(of, sizeof of, "reads C/U=%.3f", cached[k]);
        compare("misses", of, PER_HOST(&t, ftl->counters, map_misses), 1 - cached[k], 0.01);
        assert_int_equal(t.ftl->counters.map_reads - t.ftl0.map_reads,
                         t.ftl->counters.map_misses - t.ftl0.map_misses);
        assert_int_equal(t.medium->counters.page_programs, t.nand0.page_programs);
        ft_bulk_fini(&t);
    }
}

static void test_dftl_hits_of_hot_and_cold_pages(void **state)
{
    (void)state;
    static const double cached[] = {0.02, 0.05, 0.2, 0.5};
    static const double shares[][2] = {{0.8, 0.2}, {0.9, 0.1}, {0.5, 0.01}};
    for (size_t k = 0; k < ft_array_len(cached); k++)
        for (size_t s = 0; s < ft_array_len(shares); s++) {
            struct ft_bulk t;
            char of[64];
            uint32_t u = 40000, c = (uint32_t)(cached[k] * u);
            double r = shares[s][0], f = shares[s][1];
            struct fe_ftl_params p = {.dftl.map_cache = 8ull * c};
            init(&t, &fe_ftl_dftl, 64, 64, u, &p);
            ft_bulk_fill(&t);
            for (int i = 0; i < 2; i++) {
                ft_bulk_mark(&t);
                for (uint32_t n = 0; n < 6 * u; n++) {
                    uint32_t hot = (uint32_t)(f * u);
                    bool is_hot = ft_below(&t.rand, 1000) < r * 1000;
                    fe_lpn lpn = (fe_lpn)(is_hot ? ft_below(&t.rand, hot)
                                                 : hot + ft_below(&t.rand, u - hot));
                    if (ft_chance(&t.rand, 50))
                        ft_bulk_write(&t, lpn);
                    else
                        ft_bulk_read(&t, lpn);
                }
            }
            snprintf(of, sizeof of, "%.0f/%.0f C/U=%.2f", 100 * r, 100 * f, cached[k]);
            compare("hits", of, PER_HOST(&t, ftl->counters, map_hits), theory_hits(c, u, r, f),
                    0.03);
            ft_bulk_fini(&t);
        }
}

/* In order, C entries are the last C pages.  When a dirty one leaves, those up to the end
 * of its translation page go with it, as far as they are cached: ceil(e/C) times for each
 * translation page.  Exact if cleaning finds blocks without a valid page, which is so from
 * C = e on; before that it may meet the block of data that is just being overwritten. */
static void test_dftl_sequential_writes_are_batched(void **state)
{
    (void)state;
    static const uint32_t entries[] = {1, 3, 5, 16, 100};
    for (size_t k = 0; k < ft_array_len(entries); k++) {
        struct ft_bulk t;
        char of[64];
        uint32_t e = 16, c = entries[k], rounds = 4, u = 3000 * e;
        struct fe_ftl_params p = {.dftl.map_cache = 8ull * c};
        init(&t, &fe_ftl_dftl, 64, 64, u, &p);
        ft_bulk_fill(&t);
        ft_bulk_fill(&t); /* now every translation page is there */
        ft_bulk_mark(&t);
        for (uint32_t i = 0; i < rounds; i++)
            ft_bulk_fill(&t);
        const struct fe_ftl_counters *n = &t.ftl->counters, *n0 = &t.ftl0;
        double writes = ((e + c - 1) / c) / (double)e;
        snprintf(of, sizeof of, "sequential e=%u C=%u", e, c);
        compare("table writes", of, PER_HOST(&t, ftl->counters, map_writes), writes,
                c < e ? 0.002 : 0);
        compare("misses", of, PER_HOST(&t, ftl->counters, map_misses), 1, 0);
        assert_int_equal(n->map_reads - n0->map_reads,
                         n->map_misses - n0->map_misses + n->map_writes - n0->map_writes);
        if (c >= e)
            assert_int_equal(n->pages_copied, 0);
        ft_bulk_fini(&t);
    }
}

/* Only full blocks are erased, and nothing is programmed that is not counted. */
static void test_dftl_books_balance(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {7, 32, 65};
    for (size_t s = 0; s < ft_array_len(sizes); s++) {
        struct ft_bulk t;
        uint32_t b = sizes[s], u = (uint32_t)(B * b / 1.4);
        struct fe_ftl_params p = {.dftl.map_cache = 8ull * (u / 50)};
        init(&t, &fe_ftl_dftl, b, 64, u, &p);
        ft_bulk_fill(&t);
        uint64_t writes = u;
        for (uint32_t i = 0; i < 3 * u; i++) {
            fe_lpn lpn = (fe_lpn)ft_below(&t.rand, u);
            uint32_t kind = (uint32_t)ft_below(&t.rand, 20);
            if (kind == 0) {
                assert_int_equal(t.ftl->ops->trim(t.ftl, lpn, u - lpn < 9 ? 1 : 9), FE_OK);
            } else if (kind < 10) {
                ft_bulk_read(&t, lpn);
            } else {
                ft_bulk_write(&t, lpn);
                writes++;
            }
        }
        uint64_t there = 0;
        const struct fe_ftl_counters *c = &t.ftl->counters;
        for (fe_peb peb = 0; peb < B; peb++)
            there += fe_medium_next_page(t.medium, peb);
        assert_true(c->gc_runs > 100);
        assert_int_equal(t.medium->counters.page_programs,
                         writes + c->map_writes + c->pages_copied);
        assert_int_equal(t.medium->counters.block_erases, c->gc_runs);
        assert_int_equal(c->gc_runs * b, t.medium->counters.page_programs - there);
        ft_bulk_fini(&t);
    }
}

struct shape {
    uint32_t dies, blocks_per_die, pages_per_block, page, entries, reserve;
};

/* Blocks of 1 and 2 pages, an entry a translation page: where the proof of dftl_limits.c
 * has least to spare. */
static const struct shape shapes[] = {
    {1, 20, 4, 64, 3, 1},    {1, 40, 1, 4, 1, 1},   {1, 30, 2, 4, 1, 1},   {1, 26, 3, 4, 2, 1},
    {1, 24, 7, 4, 1, 1},     {3, 12, 5, 12, 10, 1}, {2, 14, 33, 64, 1, 1}, {5, 9, 3, 8, 40, 9},
    {12, 6, 2, 4, 3, 1},     {1, 16, 64, 16, 5, 1}, {1, 60, 6, 4, 7, 2},
    {4, 10, 4, 64, 1000, 1},
};

enum { SHAPES = ft_array_len(shapes), STEPS = 400 };

static void init_shape(struct ft_layer *l, const struct shape *s)
{
    struct fe_nand_params nand = ft_nand(s->dies, s->blocks_per_die, s->pages_per_block, s->page);
    struct fe_ftl_params p = ft_params("dftl", &nand, 1);
    p.dftl.map_cache = s->entries * 8ull;
    p.clean.gc_reserve = s->reserve;
    ft_layer_init(l, &nand, &p);
}

struct byte_run {
    struct ft_layer l;
    struct ft_rand rand;
    char id[32];
};

static void must_in(const struct byte_run *r, bool ok, const char *what, uint32_t i)
{
    if (!ok)
        fail_msg("%s: step %u: %s", r->id, i, what);
}

static void step(struct byte_run *r, uint32_t i)
{
    struct ft_layer *l = &r->l;
    uint8_t buf[64];
    uint32_t n = l->ftl->n_lpns, page = l->rig.geo.page_bytes;
    fe_lpn lpn = (fe_lpn)ft_below(&r->rand, ft_chance(&r->rand, 50) ? n / 5 + 1 : n);
    uint32_t len = (uint32_t)ft_between(&r->rand, 1, fe_min_u64(n - lpn, 12));

    switch (ft_below(&r->rand, 12)) {
    case 0:
        must_in(r, ft_layer_write_part(l, lpn, page / 4, page / 2) == FE_OK, "part", i);
        break;
    case 1:
        len = ft_chance(&r->rand, 10) ? n - lpn : len;
        must_in(r, l->ftl->ops->trim(l->ftl, lpn, len) == FE_OK, "trim", i);
        memset(l->want + (size_t)lpn * page, 0, (size_t)len * page);
        break;
    case 2:
    case 3:
    case 4:
        must_in(r, l->ftl->ops->read(l->ftl, lpn, 0, page, buf) == FE_OK, "read", i);
        must_in(r, memcmp(buf, l->want + (size_t)lpn * page, page) == 0, "other bytes", i);
        break;
    default:
        must_in(r, ft_layer_command(l, lpn, len) == FE_OK, "write", i);
    }
}

static void run_case(uint32_t shape, uint32_t seed)
{
    struct byte_run r = {.rand = {.seed = shape * 1000 + seed}};
    struct fe_err err;
    fe_err_init(&err);
    snprintf(r.id, sizeof r.id, "%u:%u", shape, seed);
    init_shape(&r.l, &shapes[shape]);
    if (seed % 3)
        ft_layer_write_each(&r.l, 0, r.l.ftl->n_lpns);
    for (uint32_t i = 0; i < STEPS; i++) {
        step(&r, i);
        if (r.l.ftl->ops->check(r.l.ftl, &err) < 0)
            fail_msg("%s: step %u: %s", r.id, i, err.text);
    }
    ft_layer_verify(&r.l);
    ft_layer_fini(&r.l);
}

static void test_dftl_bytes_over_shapes_and_seeds(void **state)
{
    (void)state;
    for (uint32_t shape = 0; shape < SHAPES; shape++)
        for (uint32_t seed = 0; seed < 20; seed++)
            run_case(shape, seed);
}

/* Everything again and again, each page in the translation page after the last one's, so
 * that cleaning has as much of the table to write as it can. */
static void test_dftl_full_device_never_runs_out(void **state)
{
    (void)state;
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        const struct shape *s = &shapes[shape];
        struct ft_layer l;
        init_shape(&l, s);
        uint32_t n = l.ftl->n_lpns, per_tp = s->page / 4, rows = (n + per_tp - 1) / per_tp;
        for (uint32_t round = 0; round < 8; round++) {
            for (uint32_t i = 0; i < rows * per_tp; i++) {
                fe_lpn lpn = i % rows * per_tp + i / rows;
                bool skip = round > 2 && (i * 7 + round) % 3 == 0;
                if (lpn < n && !skip && ft_layer_write(&l, lpn) != FE_OK)
                    fail_msg("shape %u round %u page %u", shape, round, lpn);
            }
            ft_layer_verify(&l);
        }
        ft_layer_fini(&l);
    }
}

/* Reads alone make an entry leave that was written, and trims alone write the table. */
static void test_dftl_reads_and_trims_make_room_too(void **state)
{
    (void)state;
    struct ft_layer l;
    init_shape(&l, &(struct shape){1, 80, 4, 16, 60, 1});
    uint32_t n = l.ftl->n_lpns;
    ft_layer_write_each(&l, 0, n);
    for (uint32_t round = 0; round < 4; round++) {
        for (fe_lpn lpn = 0; lpn < 60; lpn++)
            assert_int_equal(ft_layer_write(&l, lpn * 4 % n), FE_OK);
        for (fe_lpn lpn = 0; lpn < 60; lpn++)
            assert_int_equal(l.ftl->ops->read(l.ftl, n - 1 - lpn, 0, 16, NULL), FE_OK);
    }
    for (fe_lpn lpn = 0; lpn < n; lpn++) {
        fe_lpn other = (lpn * 7 + 3) % n;
        assert_int_equal(l.ftl->ops->trim(l.ftl, other, 1), FE_OK);
        memset(l.want + (size_t)other * 16, 0, 16);
        assert_true(l.ftl->ops->free_blocks(l.ftl) >= 2);
    }
    ft_layer_verify(&l);
    ft_layer_fini(&l);
}

int main(int argc, char **argv)
{
    unsigned shape, seed;
    table = argc > 1 && strcmp(argv[1], "--table") == 0;
    if (argc > 1 && !table) {
        if (sscanf(argv[1], "%u:%u", &shape, &seed) != 2 || shape >= SHAPES)
            return 2;
        run_case(shape, seed);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dftl_with_all_entries_cached_is_greedy),
        cmocka_unit_test(test_dftl_with_few_entries_cached),
        cmocka_unit_test(test_dftl_reads_cost_their_misses),
        cmocka_unit_test(test_dftl_hits_of_hot_and_cold_pages),
        cmocka_unit_test(test_dftl_sequential_writes_are_batched),
        cmocka_unit_test(test_dftl_books_balance),
        cmocka_unit_test(test_dftl_bytes_over_shapes_and_seeds),
        cmocka_unit_test(test_dftl_full_device_never_runs_out),
        cmocka_unit_test(test_dftl_reads_and_trims_make_room_too),
    };
    return cmocka_run_group_tests_name("dftl oracles", tests, NULL, NULL);
}
