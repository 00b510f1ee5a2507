/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dftl against theory, and against an array of bytes.
 *
 * The device has B blocks of b pages on one die, and U logical pages.  All of them are written
 * once and then overwritten at random, one page at a time.  The table has T translation pages of
 * e entries each, and the cache has C entries.  All figures are for one host write.
 *
 * Cleaning is as for the page strategy.  Greedy cleaning has A = fifo(k alpha) / k with
 * k = 1 + 1/(2b), where fifo(a) is the root of A = 1 / (1 - exp(-a/A)) and
 * alpha = (B - R) b / pages in use.  Cleaning begins when 4 blocks are free; so 3 are free when
 * the victim is chosen, and one block of each kind is open.
 *
 *   all entries cached    The table is never written: R = 3 + 1, U pages in use, WA = A.
 *   few entries cached    Each host write causes w writes of the table.  The same rule, fewest
 *                         valid pages, applies to blocks of data and of the table, so both have
 *                         the same A: R = 3 + 2, U + T pages in use, WA = A (1 + w).
 *
 * Misses.  All C cached entries are equally likely to be used: the share of hits is h = C/U, and
 * that of misses q = 1 - h.  LRU keeps what was used in the last t writes: h = 1 - exp(-t/U), so
 * t = -U log q.  If a share r of the uses goes to a share f of the pages, t follows from
 *
 *   f U (1 - exp(-r t / (f U))) + (1-f) U (1 - exp(-(1-r) t / ((1-f) U))) = C
 *
 * and the hits are r (1 - exp(...)) + (1-r) (1 - exp(...)).  (Che's approximation.)
 *
 * Table writes by cleaning.  A victim has v = b - b/A valid pages.  They were written long before
 * t, so they are not cached.  They belong to T (1 - (1 - 1/T)^v) translation pages, and cleaning
 * the victim makes room for b - v host writes: g = T (1 - (1 - 1/T)^v) / (b - v).
 *
 * Table writes by entries that leave the cache.  Entries of one translation page leave at the rate
 * q/T.  An entry is dirty then if its translation page has not been written since the entry was
 * used, t ago.  Within t cleaning moves each page at most once, and not the page in question.
 * So the entry is dirty with probability S = (1 - g t/U)^(e-1).  After a write of the translation
 * page, the next dirty entry leaves t + X later, where X is exponential with the rate q/T,
 * unless a cleaning comes first, at the rate c/T with c = g (1 - 1/e).  Therefore a share
 * P = S q/(q+c) of all writes of the page is for entries that leave.  The mean time between two
 * writes is M = T ((1 - (1 - g t/U)^e)/g + S/(q+c)), and E = T P / M.
 *
 *   w = E + g      reads of the table = q + w
 *
 * The argument "--table" prints what the tests compare.  An id SHAPE:SEED of the byte property
 * runs that case again.
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

/* Writes everything once in random order.  Pages that were written in order would stay together
 * through many cleanings, and share translation pages. */
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

/* How much a counter has grown for each host operation since ft_bulk_mark. */
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

/* If all entries are cached, dftl does what the page strategy does with as many free blocks. */
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
    /* every miss finds a translation page that was written, so the counters balance exactly */
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

/* Reads change nothing, so no entry is dirty, and a miss costs one read. */
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

/* With writes in order the C cached entries are those of the last C pages.  When a dirty entry
 * leaves, the cached entries up to the end of its translation page are written with it.  So
 * each translation page is written ceil(e/C) times.  That is exact if cleaning always finds a
 * block without a valid page, which is so for C >= e.  With a smaller cache, cleaning may choose
 * the block of data that is just being overwritten. */
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
        ft_bulk_fill(&t); /* now every translation page has been written */
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

/* Only full blocks are erased, and everything that is programmed is counted. */
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

/* Among them are blocks of 1 and 2 pages and translation pages of one entry.  There the proof in
 * dftl_limits.c has the least room to spare. */
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

/* Writes everything again and again.  Each page belongs to the next translation page after that of
 * the last one, so that cleaning has to write as much of the table as possible. */
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

/* Reads alone make a dirty entry leave the cache, and trims alone make the table be written. */
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
