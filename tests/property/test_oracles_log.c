/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The log-block strategies against theory, and against an array of bytes.
 *
 * A block has N pages, and there are K data blocks.  The device is full, and single pages are
 * overwritten, uniformly at random.
 *
 *   bast, L log blocks    h = L/K     WA = 1 + (1-h)(N - 1/N)     erases a write = (1-h)(2 - 1/N)
 *
 * A write finds a log of its block with probability h.  Otherwise the oldest log is merged.  That
 * log nearly always holds one page.  So the merge is a full one, except if the page is page 0:
 * then it is a partial merge with N-1 copies and 1 erase.
 *
 *   fast, R random logs   k = N K / (K + (R-1/2)N)     WA = 1 + k     erases a write = (k+1)/N
 *
 * After its merge a logical block is written again K writes later on average.  It is merged
 * (R-1/2)N writes after that, when the page is in the oldest log.  This gives the merges for each
 * write; a merge copies N pages.
 *
 * With the sequential log, one write in N goes there.  It ends the sequential log before it with
 * a partial merge of N-1 copies.  That merge also takes what the random logs hold of its logical
 * block, before the fifo does.  Let lambda = (1-1/N)/K be the rate of random writes to a logical
 * block, mu = 1/(NK) the rate of its sequential merges, and D = (R-1/2)N / (1-1/N) the time that
 * a page waits in the logs.  Then the random merges for each write are
 *
 *   K exp(-mu D) / (1/lambda + (1 - exp(-mu D))/mu)
 *
 * The argument "STRATEGY:CASE:SEED" runs one case of the byte property again.
 */
#include "lib/rand.h"
#include "lib/rig.h"
#include "lib/unit.h"

#include "ftl/registry.h"

#include <math.h>
#include <stdio.h>

/* "STRATEGY:CASE:SEED: " of the byte property while it runs, for messages. */
static char id[48];

struct tally {
    uint64_t progs, erases, unused; /* unused: erased pages that were not programmed */
};

struct bench {
    struct ft_rig rig;
    struct fe_ftl *ftl;
    uint32_t n_lpns;
    uint16_t *held; /* for each block the pages that it holds, according to the op list */
    struct tally now, before;
    uint64_t copied_before, held_before;
};

static void drain(void *ctx, struct fe_op *ops, uint32_t n)
{
    struct bench *b = ctx;
    uint32_t ppb = b->rig.geo.pages_per_block;
    for (uint32_t i = 0; i < n; i++) {
        if (ops[i].kind == FE_OP_PROG) {
            b->now.progs++;
            b->held[ops[i].ppn / ppb]++;
        } else if (ops[i].kind == FE_OP_ERASE) {
            b->now.erases++;
            b->now.unused += ppb - b->held[ops[i].ppn / ppb];
            b->held[ops[i].ppn / ppb] = 0;
        }
    }
}

static uint64_t held(struct bench *b)
{
    uint64_t n = 0;
    fe_ops_drain(&b->rig.ops);
    for (fe_peb peb = 0; peb < b->rig.geo.n_pebs; peb++) {
        assert_int_equal(b->held[peb], fe_medium_next_page(b->rig.medium, peb));
        n += b->held[peb];
    }
    return n;
}

static void check(struct bench *b)
{
    struct fe_err err;
    fe_err_init(&err);
    if (b->ftl->ops->check(b->ftl, &err) < 0)
        fail_msg("%s%s", id, err.text);
}

/* The largest device of this strategy on this chip, with `less` pages fewer. */
static void bench_init(struct bench *b, const struct fe_ftl_ops *ops,
                       const struct fe_nand_params *np, const struct fe_ftl_params *p,
                       uint32_t less)
{
    struct fe_err err;
    fe_err_init(&err);
    memset(b, 0, sizeof *b);
    ft_rig_init(&b->rig, np);
    fe_ops_init(&b->rig.ops, drain, b);
    b->rig.ops.watched = true;
    b->held = calloc(b->rig.geo.n_pebs, sizeof *b->held);
    assert_non_null(b->held);
    b->n_lpns = (uint32_t)ops->max_lpns(p, &b->rig.geo, &err);
    b->n_lpns -= b->n_lpns > less ? less : 0;
    if (b->n_lpns == 0 || fe_ftl_create(&b->ftl, ops, p, b->rig.medium, b->n_lpns, false, &err) < 0)
        fail_msg("%s", err.text);
}

static void bench_fini(struct bench *b)
{
    check(b);
    fe_ftl_destroy(b->ftl);
    ft_rig_fini(&b->rig);
    free(b->held);
}

/* A device with K data blocks and this many logs; a unit is one block, on one die. */
static void bench_simple(struct bench *b, const struct fe_ftl_ops *ops, uint32_t k, uint32_t n,
                         uint32_t logs, bool sequential)
{
    struct fe_nand_params np = ft_nand(1, k + logs + 1, n, 512);
    struct fe_ftl_params p = {.unit.unit_size = n * 512ull,
                              .log.log_blocks = logs,
                              .log.fast_sequential = sequential,
                              .unit.switch_merge = true,
                              .unit.copy_buffer = 16};
    bench_init(b, ops, &np, &p, 0);
    assert_int_equal(b->n_lpns, k * n);
}

static void put(struct bench *b, fe_lpn lpn)
{
    enum fe_status st =
        b->ftl->ops->write(b->ftl, lpn, 0, b->rig.geo.page_bytes, NULL);
    assert_int_equal(st, FE_OK);
}

static void fill_up(struct bench *b)
{
    for (fe_lpn lpn = 0; lpn < b->n_lpns; lpn++)
        put(b, lpn);
    assert_int_equal(b->ftl->counters.pages_copied, 0);
}

static void start_counting(struct bench *b)
{
    b->held_before = held(b);
    b->before = b->now;
    b->copied_before = b->ftl->counters.pages_copied;
}

/* Checks what has happened on a full device since start_counting: only what the host writes and
 * what is copied is programmed, and pages disappear only by erases. */
static void stop_counting(struct bench *b, uint64_t writes, struct tally *ret)
{
    uint64_t h = held(b), ppb = b->rig.geo.pages_per_block;
    ret->progs = b->now.progs - b->before.progs;
    ret->erases = b->now.erases - b->before.erases;
    ret->unused = b->now.unused - b->before.unused;
    assert_int_equal(ret->progs, writes + b->ftl->counters.pages_copied - b->copied_before);
    assert_int_equal(ret->erases * ppb - ret->unused, ret->progs - (h - b->held_before));
}

static void uniform(struct bench *b, uint64_t writes, struct ft_rand *r)
{
    for (uint64_t i = 0; i < writes; i++)
        put(b, (fe_lpn)ft_below(r, b->n_lpns));
}

static void compare(const char *what, double got, double want, double tolerance)
{
    print_message("    %-36s %9.4f, theory %9.4f, %+.2f %%\n", what, got, want,
                  100 * (got / want - 1));
    if (fabs(got / want - 1) > tolerance)
        fail_msg("%s: %.4f is more than %.1f %% from %.4f", what, got, 100 * tolerance, want);
}

struct uniform_case {
    uint32_t k, n, logs;
    uint64_t writes;
};

static void run_uniform(const struct fe_ftl_ops *ops, const struct uniform_case *c, bool sequential,
                        double wa, double erases)
{
    struct bench b;
    struct ft_rand r = {.seed = c->k + c->logs};
    struct tally t;
    char what[64];
    bench_simple(&b, ops, c->k, c->n, c->logs, sequential);
    fill_up(&b);
    uniform(&b, 6ull * (c->logs * c->n + c->k), &r);
    start_counting(&b);
    uniform(&b, c->writes, &r);
    stop_counting(&b, c->writes, &t);
    if (ops == &fe_ftl_fast && !sequential)
        assert_int_equal(t.unused, 0); /* every erased block was full */
    snprintf(what, sizeof what, "%s%s K=%u N=%u logs=%u: WA", ops->name, sequential ? "+seq" : "",
             c->k, c->n, c->logs);
    compare(what, (double)t.progs / (double)c->writes, wa, 0.02);
    snprintf(what, sizeof what, "%s%s K=%u N=%u logs=%u: erases", ops->name,
             sequential ? "+seq" : "", c->k, c->n, c->logs);
    compare(what, (double)t.erases / (double)c->writes, erases, 0.02);
    bench_fini(&b);
}

static void test_bast_uniform_writes(void **state)
{
    (void)state;
    static const struct uniform_case cases[] = {
        {256, 64, 4, 40000}, {256, 64, 32, 40000}, {128, 32, 16, 40000}, {512, 16, 24, 40000}};
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        const struct uniform_case *c = &cases[i];
        double h = (double)c->logs / c->k, n = c->n;
        run_uniform(&fe_ftl_bast, c, false, 1 + (1 - h) * (n - 1 / n),
                    (1 - h) * (2 - 1 / n));
    }
}

static void test_fast_uniform_writes(void **state)
{
    (void)state;
    static const struct uniform_case cases[] = {
        {1024, 64, 8, 60000}, {256, 32, 4, 60000}, {512, 64, 32, 60000}};
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        const struct uniform_case *c = &cases[i];
        double k = c->k, n = c->n, merges = n * k / (k + (c->logs - 0.5) * n);
        run_uniform(&fe_ftl_fast, c, false, 1 + merges, (merges + 1) / n);
    }
}

static void test_fast_uniform_writes_with_sequential_log(void **state)
{
    (void)state;
    static const struct uniform_case cases[] = {
        {1024, 64, 9, 60000}, {256, 32, 5, 60000}, {512, 64, 33, 60000}};
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        const struct uniform_case *c = &cases[i];
        double k = c->k, n = c->n, q = 1 - 1 / n;
        double lambda = q / k, mu = 1 / (n * k), d = (c->logs - 1.5) * n / q;
        double merges = k * exp(-mu * d) / (1 / lambda + (1 - exp(-mu * d)) / mu);
        run_uniform(&fe_ftl_fast, c, true, 1 + n * merges + (n - 1) / n,
                    merges + q / n + 1 / n);
    }
}

/* Rewrites aligned blocks in order: each costs one erase and no copy. */
static void run_sequential(const struct fe_ftl_ops *ops, uint32_t logs, bool sequential)
{
    struct bench b;
    struct tally t;
    bench_simple(&b, ops, 32, 16, logs, sequential);
    fill_up(&b);
    start_counting(&b);
    for (uint32_t round = 0; round < 5; round++)
        for (fe_lpn lpn = 0; lpn < b.n_lpns; lpn++)
            put(&b, lpn);
    stop_counting(&b, 5ull * b.n_lpns, &t);
    assert_int_equal(t.progs, 5 * b.n_lpns);
    assert_int_equal(t.erases, 5 * 32);
    assert_int_equal(t.unused, 0);
    assert_int_equal(b.ftl->counters.merges_switch, 5 * 32);
    bench_fini(&b);
}

static void test_sequential_rewrite_has_no_amplification(void **state)
{
    (void)state;
    run_sequential(&fe_ftl_bast, 1, false);
    run_sequential(&fe_ftl_bast, 5, false);
    run_sequential(&fe_ftl_fast, 2, true);
    run_sequential(&fe_ftl_fast, 5, true);
}

/* Several streams take turns and write a page each, each stream in its own part of the device,
 * until every stream has rewritten `rounds` blocks.  Returns how many pages were programmed. */
static uint64_t run_streams(struct bench *b, uint32_t streams, uint32_t rounds, uint32_t n)
{
    struct tally t;
    uint32_t per_stream = b->n_lpns / n / streams;
    start_counting(b);
    for (uint32_t i = 0; i < rounds * n; i++)
        for (uint32_t s = 0; s < streams; s++)
            put(b, (s * per_stream + i / n % per_stream) * n + i % n);
    stop_counting(b, (uint64_t)rounds * n * streams, &t);
    return t.progs;
}

/* As many streams as there are logs cost nothing.  With one stream more every write causes a merge,
 * because the log of its stream has been closed.  The merge is a partial one if that log held
 * only page 0, and otherwise a full one. */
static void test_bast_streams_find_the_cliff(void **state)
{
    (void)state;
    const uint32_t n = 16, logs = 4, rounds = 6;
    for (uint32_t streams = 1; streams <= logs + 2; streams++) {
        struct bench b;
        bench_simple(&b, &fe_ftl_bast, 60, n, logs, false);
        fill_up(&b);
        uint64_t host = (uint64_t)streams * rounds * n;
        if (streams <= logs) {
            assert_int_equal(run_streams(&b, streams, rounds, n), host);
            assert_int_equal(b.ftl->counters.merges_switch, streams * rounds);
        } else {
            run_streams(&b, streams, 1, n); /* from here on all logs are in use */
            uint64_t merges = b.ftl->counters.merges_partial + b.ftl->counters.merges_full;
            assert_int_equal(merges, streams * n - logs);
            uint64_t progs = run_streams(&b, streams, rounds, n);
            assert_int_equal(progs, host + streams * rounds * (n - 1 + (n - 1) * n));
        }
        bench_fini(&b);
    }
}

/* One stream has the sequential log for itself.  A second stream takes it away whenever it begins a
 * block.  The rest of the first stream's block goes to random logs and is merged once. */
static void test_fast_streams_find_the_cliff(void **state)
{
    (void)state;
    const uint32_t n = 16, rounds = 20;
    for (uint32_t streams = 1; streams <= 2; streams++) {
        struct bench b;
        bench_simple(&b, &fe_ftl_fast, 60, n, 5, true);
        fill_up(&b);
        run_streams(&b, streams, 10, n);
        uint64_t host = (uint64_t)streams * rounds * n, progs = run_streams(&b, streams, rounds, n);
        uint64_t copies = streams == 1 ? 0 : (uint64_t)rounds * (n - 1 + n);
        assert_int_equal(progs, host + copies);
        bench_fini(&b);
    }
}

/* Without the sequential log a stream is merged like all other writes: once for each block. */
static void test_fast_without_sequential_log_copies_a_stream_once(void **state)
{
    (void)state;
    struct bench b;
    bench_simple(&b, &fe_ftl_fast, 40, 16, 4, false);
    fill_up(&b);
    run_streams(&b, 1, 10, 16);
    assert_int_equal(run_streams(&b, 1, 20, 16), 2 * 20 * 16);
    bench_fini(&b);
}

/* --- bytes ------------------------------------------------------------------ */

struct shape {
    uint32_t dies, blocks_per_die, ppb, page, blocks_per_unit, logs, gap_fill;
    bool fast_sequential, switch_merge;
};

static const struct shape shapes[] = {
    {1, 9, 8, 64, 1, 2, 0, true, true},   {1, 6, 1, 32, 1, 2, 0, true, true},
    {3, 9, 5, 48, 1, 5, 2, true, true},   {2, 12, 3, 64, 4, 2, 0, false, true},
    {3, 16, 7, 16, 6, 3, 50, true, true}, {4, 15, 4, 40, 12, 2, 1, false, true},
    {1, 20, 4, 16, 1, 17, 0, true, true}, {2, 10, 6, 24, 2, 3, 3, true, false},
    {5, 4, 2, 56, 1, 1, 0, false, true},  {1, 5, 16, 32, 1, 2, 1000, true, true},
};

struct bytes_case {
    const struct fe_ftl_ops *ops;
    uint32_t shape;
    uint64_t seed;
};

static void verify_page(struct bench *b, const uint8_t *model, fe_lpn lpn)
{
    uint8_t buf[64];
    uint32_t page = b->rig.geo.page_bytes;
    memset(buf, 0xa5, sizeof buf);
    assert_int_equal(b->ftl->ops->read(b->ftl, lpn, 0, page, buf), FE_OK);
    if (memcmp(buf, model + (size_t)lpn * page, page) != 0)
        fail_msg("%spage %u has other bytes", id, lpn);
}

/* Where the next write begins: anywhere, near the last one, behind it, or at a block. */
static fe_lpn next_lpn(struct bench *b, struct ft_rand *r, fe_lpn last, uint32_t unit_pages)
{
    switch (ft_below(r, 8)) {
    case 0:
    case 1:
        return (fe_lpn)ft_below(r, b->n_lpns);
    case 2:
        return (fe_lpn)(last / unit_pages * unit_pages);
    case 3:
        return (fe_lpn)fe_min_u64(last + ft_below(r, 4), b->n_lpns - 1);
    case 4:
        return (fe_lpn)(ft_below(r, b->n_lpns) / unit_pages * unit_pages);
    default:
        return last + 1 < b->n_lpns ? last + 1 : 0;
    }
}

static void random_write(struct bench *b, struct ft_rand *r, uint8_t *model, fe_lpn lpn)
{
    uint32_t page = b->rig.geo.page_bytes, off = 0, len = page;
    uint8_t data[64];
    if (ft_chance(r, 30)) {
        off = (uint32_t)ft_below(r, page);
        len = (uint32_t)ft_between(r, 1, page - off);
    }
    bool zeros = ft_chance(r, 5);
    if (zeros)
        memset(data, 0, len);
    else
        ft_fill(r, data, len);
    assert_int_equal(b->ftl->ops->write(b->ftl, lpn, off, len, zeros ? NULL : data), FE_OK);
    memcpy(model + (size_t)lpn * page + off, data, len);
}

static void run_bytes(const struct bytes_case *c)
{
    const struct shape *s = &shapes[c->shape];
    struct fe_nand_params np = ft_nand(s->dies, s->blocks_per_die, s->ppb, s->page);
    struct fe_ftl_params p = {.unit.unit_size = (uint64_t)s->page * s->ppb * s->blocks_per_unit,
                              .log.log_blocks = s->logs,
                              .unit.gap_fill = s->gap_fill,
                              .log.fast_sequential = s->fast_sequential,
                              .unit.switch_merge = s->switch_merge,
                              .unit.copy_buffer = 3};
    struct bench b;
    struct ft_rand r = {.seed = c->seed};
    snprintf(id, sizeof id, "%s:%u:%llu: ", c->ops->name, c->shape, (unsigned long long)c->seed);
    uint32_t unit_pages = s->ppb * s->blocks_per_unit;
    bench_init(&b, c->ops, &np, &p, (uint32_t)(c->seed % 2 * ft_below(&r, unit_pages)));
    uint8_t *model = calloc(b.n_lpns, s->page);
    assert_non_null(model);

    fe_lpn lpn = 0;
    uint64_t steps = 20ull * b.n_lpns + 200;
    for (uint64_t i = 0; i < steps; i++) {
        lpn = next_lpn(&b, &r, lpn, unit_pages);
        random_write(&b, &r, model, lpn);
        check(&b);
        verify_page(&b, model, lpn);
        verify_page(&b, model, (fe_lpn)ft_below(&r, b.n_lpns));
        if (i % 97 == 0 || i + 1 == steps)
            for (fe_lpn l = 0; l < b.n_lpns; l++)
                verify_page(&b, model, l);
    }
    held(&b);
    free(model);
    bench_fini(&b);
    id[0] = '\0';
}

static void test_bytes_survive_any_writes(void **state)
{
    (void)state;
    static const struct fe_ftl_ops *const both[] = {&fe_ftl_bast, &fe_ftl_fast};
    for (size_t i = 0; i < 2; i++)
        for (uint32_t shape = 0; shape < ft_array_len(shapes); shape++)
            for (uint64_t seed = 1; seed <= 4; seed++)
                run_bytes(&(struct bytes_case){both[i], shape, seed});
}

static struct bytes_case one_case;

static void test_one_case(void **state)
{
    (void)state;
    run_bytes(&one_case);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bast_uniform_writes),
        cmocka_unit_test(test_fast_uniform_writes),
        cmocka_unit_test(test_fast_uniform_writes_with_sequential_log),
        cmocka_unit_test(test_sequential_rewrite_has_no_amplification),
        cmocka_unit_test(test_bast_streams_find_the_cliff),
        cmocka_unit_test(test_fast_streams_find_the_cliff),
        cmocka_unit_test(test_fast_without_sequential_log_copies_a_stream_once),
        cmocka_unit_test(test_bytes_survive_any_writes),
    };
    const struct CMUnitTest one[] = {cmocka_unit_test(test_one_case)};
    char name[8];
    unsigned long long seed;
    if (argc < 2)
        return cmocka_run_group_tests(tests, NULL, NULL);
    if (sscanf(argv[1], "%7[^:]:%u:%llu", name, &one_case.shape, &seed) != 3 ||
        one_case.shape >= ft_array_len(shapes)) {
        fprintf(stderr, "usage: %s [STRATEGY:CASE:SEED]\n", argv[0]);
        return 2;
    }
    one_case.ops = strcmp(name, "fast") == 0 ? &fe_ftl_fast : &fe_ftl_bast;
    one_case.seed = seed;
    return cmocka_run_group_tests(one, NULL, NULL);
}
