/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strategies on whole devices against formulas that know nothing of this code.  A is the write
 * amplification, b the pages of a block.
 *
 *   page, greedy   Uniform random overwrites of single pages.  A victim has Y valid pages, where
 *                  (b - Y) / (H_b - H_Y) = b / alpha, and A = b / (b - Y).  H are harmonic
 *                  numbers.  (This is the discrete form of Desnoyers 2012.)
 *   block          A = b, exactly.
 *   any            Aligned blocks rewritten in order: A = 1 and one erase a block, exactly.
 *   segment        Without switch merges A = 2, exactly; and the cliff of open units.
 *   copies         Where nothing else takes time, all that passes is copy_page for each copy.
 *
 * Here alpha = (B - R) b / U for B blocks and U logical pages; R blocks are free or open whenever
 * a victim is chosen (on one die, gc_reserve).  Other cleaning policies, and the log-block
 * strategies, have files of their own.  Every figure is printed.  Arguments choose cases by a
 * part of their name.
 */
#include "lib/rand.h"

#include "flashemu/device.h"
#include "ftl/ftl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double ops[] = {0.07, 0.10, 0.28};
static int n_failed, n_run;
static char **filters;
static bool is_long;

static bool chosen(const char *name)
{
    bool any = false, match = false;
    for (char **f = filters; *f; f++) {
        if ((*f)[0] == '-')
            continue;
        any = true;
        match = match || strstr(name, *f);
    }
    return !any || match;
}

static void expect(const char *name, double got, double want, double tolerance)
{
    double error = want != 0 ? got / want - 1 : got;
    bool good = fabs(error) <= tolerance;
    n_run++;
    n_failed += !good;
    printf("%-4s %-44s %10.4f  wanted %10.4f  %+.3f %% of %.1f %%\n", good ? "ok" : "FAIL", name,
           got, want, 100 * error, 100 * tolerance);
}

/* The harmonic number of a real index: H_x = psi(x + 1) + gamma. */
static double harmonic(double x)
{
    double sum = 0;
    x += 1;
    for (; x < 20; x++)
        sum -= 1 / x;
    double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x - y * (1. / 12 - y * (1. / 120 - y / 252)) + 0.57721566490153286;
}

static double greedy_wa(double alpha, double b)
{
    double lo = 0, hi = b * (1 - 1e-9);
    for (int i = 0; i < 200; i++) {
        double y = (lo + hi) / 2;
        if ((b - y) / (harmonic(b) - harmonic(y)) < b / alpha)
            lo = y;
        else
            hi = y;
    }
    return b / (b - lo);
}

/* Compares the formula with values from the literature and from Monte-Carlo simulation. */
static void check_formulas(void)
{
    static const struct {
        double b, op[3];
    } table[] = {
        {64, {7.000, 5.241, 2.402}},
        {128, {7.386, 5.450, 2.441}},
        {256, {7.595, 5.562, 2.461}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int k = 0; k < 3; k++) {
            char name[64];
            snprintf(name, sizeof name, "formula greedy b=%g op %g %%", table[i].b, 100 * ops[k]);
            if (chosen(name))
                expect(name, greedy_wa(1 + ops[k], table[i].b), table[i].op[k], 0.0005);
        }
}

/* A device with one die, without delays, with pages of 512 bytes. */
static struct fe_profile make_profile(const char *strategy, uint32_t blocks, uint32_t ppb)
{
    struct fe_profile p = {.name = "oracle"};
    p.device.sector_size = 512;
    p.nand = (struct fe_nand_params){.channels = 1, .dies_per_channel = 1, .planes_per_die = 1,
                                     .blocks_per_plane = blocks, .pages_per_block = ppb,
                                     .page_size = 512, .endurance = 1000000};
    p.ftl = (struct fe_ftl_params){.type = (uint32_t)fe_ftl_find(strategy),
                                   .clean.gc_d = 1,
                                   .clean.gc_reserve = 2,
                                   .unit.unit_size = ppb * 512ull,
                                   .segment.open_linear = 1,
                                   .segment.open_random = 1,
                                   .log.log_blocks = 8,
                                   .unit.switch_merge = true,
                                   .unit.copy_buffer = 16};
    p.link.max_transfer = 1 << 20;
    p.link.queue_depth = 1;
    return p;
}

static struct fe_device *make_device(const struct fe_profile *p)
{
    struct fe_device_options opt = {.seed = 1};
    struct fe_device *dev;
    struct fe_err err;
    fe_err_init(&err);
    if (fe_device_create(&dev, p, &opt, &err) < 0) {
        fprintf(stderr, "device: %s\n", err.text);
        exit(1);
    }
    return dev;
}

static void write_pages(struct fe_device *dev, uint64_t page, uint64_t n)
{
    struct fe_reply reply;
    struct fe_request req = {.type = FE_REQ_WRITE, .offset = page * 512, .len = n * 512};
    if (fe_device_submit(dev, 0, &req, &reply) < 0 || reply.status != FE_OK) {
        fprintf(stderr, "write of page %" PRIu64 " failed\n", page);
        exit(1);
    }
}

static void fill(struct fe_device *dev)
{
    uint64_t pages = fe_device_capacity(dev) / 512;
    for (uint64_t at = 0; at < pages; at += 256)
        write_pages(dev, at, pages - at < 256 ? pages - at : 256);
}

/* The write amplification of n uniform random overwrites, after n others to warm up. */
static double measure(struct fe_device *dev, uint64_t n, struct fe_stats *s)
{
    struct ft_rand rand = {.seed = 42};
    uint64_t pages = fe_device_capacity(dev) / 512;
    fill(dev);
    for (uint64_t i = 0; i < n; i++)
        write_pages(dev, ft_below(&rand, pages), 1);
    fe_device_reset_stats(dev);
    for (uint64_t i = 0; i < n; i++)
        write_pages(dev, ft_below(&rand, pages), 1);
    fe_device_get_stats(dev, s);
    return (double)s->nand.bytes_programmed / (double)s->host[FE_REQ_WRITE].bytes;
}

static void check_greedy(uint32_t blocks, uint32_t ppb, double op)
{
    char name[96];
    snprintf(name, sizeof name, "page greedy B=%u b=%u op %g %%", blocks, ppb, 100 * op);
    if (!chosen(name))
        return;
    struct fe_profile p = make_profile("page", blocks, ppb);
    uint64_t u = (uint64_t)(blocks * (double)ppb / (1 + op));
    p.device.capacity = u * 512;
    struct fe_device *dev = make_device(&p);
    struct fe_stats s;
    double wa = measure(dev, u * (is_long ? 16 : 5), &s);
    double alpha = (double)(blocks - p.ftl.clean.gc_reserve) * ppb / (double)u;
    expect(name, wa, greedy_wa(alpha, ppb), 0.02);
    snprintf(name, sizeof name, "  erases x pages of a block = programs");
    /* the two can differ only by blocks that are open when the measurement begins or ends */
    expect(name, (double)s.nand.block_erases * ppb, (double)s.nand.page_programs, 2. / blocks);
    fe_device_destroy(dev);
}

static void check_block(void)
{
    enum { N = 64 };
    struct fe_profile p = make_profile("block", 33, N);
    p.device.capacity = 32 * N * 512;
    if (!chosen("block: pages a write"))
        return;
    struct fe_device *dev = make_device(&p);
    struct fe_stats s;
    double wa = measure(dev, 2000, &s);
    expect("block: pages a write", wa, N, 0);
    expect("block: erases a write", (double)s.nand.block_erases / 2000, 1, 0);
    fe_device_destroy(dev);
}

/* Rewrites aligned blocks in order: nothing is ever copied, and each block costs one erase. */
static void check_sequential(const char *strategy)
{
    enum { N = 64, BLOCKS = 40, ROUNDS = 5 };
    char name[64];
    snprintf(name, sizeof name, "%s: sequential rewrite", strategy);
    if (fe_ftl_find(strategy) < 0 || !chosen(name))
        return;
    struct fe_profile p = make_profile(strategy, BLOCKS, N);
    p.device.capacity = 24 * N * 512;
    p.ftl.log.fast_sequential = true;
    struct fe_device *dev = make_device(&p);
    struct fe_stats s;
    fill(dev);
    for (int i = 0; i < ROUNDS; i++) /* at the beginning nothing has to be erased */
        fill(dev);
    fe_device_reset_stats(dev);
    for (int i = 0; i < ROUNDS; i++)
        for (uint64_t block = 0; block < 24; block++)
            write_pages(dev, block * N, N);
    fe_device_get_stats(dev, &s);
    expect(name, (double)s.nand.bytes_programmed / (double)s.host[FE_REQ_WRITE].bytes, 1, 0);
    snprintf(name, sizeof name, "  its erases");
    expect(name, (double)s.nand.block_erases, ROUNDS * 24, 0);
    fe_device_destroy(dev);
}

/* The segment strategy whose logs may not become data: each unit is copied once, and two units are
 * erased for it. */
static void check_segment_copies(void)
{
    enum { N = 64, ROUNDS = 5 };
    if (!chosen("segment: rewrite without switch merges"))
        return;
    struct fe_profile p = make_profile("segment", 40, N);
    p.device.capacity = 24 * N * 512;
    p.ftl.unit.switch_merge = false;
    struct fe_device *dev = make_device(&p);
    struct fe_stats s;
    fill(dev);
    fill(dev);
    fe_device_reset_stats(dev);
    for (int i = 0; i < ROUNDS; i++)
        fill(dev);
    fe_device_get_stats(dev, &s);
    expect("segment: rewrite without switch merges",
           (double)s.nand.bytes_programmed / (double)s.host[FE_REQ_WRITE].bytes, 2, 0);
    expect("  its full merges", (double)s.ftl.merges_full, ROUNDS * 24, 0);
    expect("  its erases", (double)s.nand.block_erases, 2 * ROUNDS * 24, 0);
    fe_device_destroy(dev);
}

/* The write amplification of n streams that write a page each in turn, on a device that has been
 * written before. */
static double streams_wa(const struct fe_profile *p, uint32_t n, uint32_t pages)
{
    struct fe_device *dev = make_device(p);
    struct fe_stats s;
    fill(dev);
    fe_device_reset_stats(dev);
    for (uint32_t page = 0; page < pages; page++)
        for (uint32_t i = 0; i < n; i++)
            write_pages(dev, (uint64_t)i * pages + page, 1);
    fe_device_get_stats(dev, &s);
    fe_device_destroy(dev);
    return (double)s.nand.bytes_programmed / (double)s.host[FE_REQ_WRITE].bytes;
}

/* flashbench's cliff: as many streams as there are open units cost nothing.  With one stream more
 * every write costs a merge. */
static void check_cliff(void)
{
    enum { N = 64 };
    if (!chosen("segment: streams"))
        return;
    struct fe_profile p = make_profile("segment", 40, N);
    p.device.capacity = 24 * N * 512;
    p.ftl.segment.open_linear = 5;
    p.ftl.segment.open_random = 0;
    expect("segment: streams as many as open units", streams_wa(&p, 5, N), 1, 0);
    /* a unit is closed after page i and opened for page i + 1; each time all of it is copied */
    expect("segment: streams one more, WA > pages / 2", streams_wa(&p, 6, N) > N / 2, 1, 0);
}

/* Random writes of one page, some of which skip pages that were never written, with a merge now
 * and then: each copy takes the controller's time, and padding takes none. */
static void check_copy_time(const char *strategy, uint32_t copy_buffer)
{
    enum { N = 64, WRITES = 3000, COPY_NS = 1234 };
    char name[64];
    snprintf(name, sizeof name, "copies: %s, copy_buffer=%u", strategy, copy_buffer);
    if (!chosen(name))
        return;
    struct fe_profile p = make_profile(strategy, 40, N);
    struct ft_rand rand = {.seed = 7};
    struct fe_stats s;
    p.device.capacity = 24 * N * 512;
    p.ftl.unit.copy_buffer = copy_buffer;
    p.ftl.unit.gap_fill = 3;
    p.ftl.unit.copy_page_ns = COPY_NS;
    struct fe_device *dev = make_device(&p);
    for (int i = 0; i < WRITES; i++)
        write_pages(dev, ft_below(&rand, 24 * N), 1);
    fe_device_get_stats(dev, &s);
    expect(name, (double)fe_device_now(dev), (double)s.ftl.pages_copied * COPY_NS, 0);
    expect("  pages that were copied", s.ftl.pages_copied > WRITES, 1, 0);
    fe_device_destroy(dev);
}

int main(int argc, char **argv)
{
    static const char *const layers[] = {"page", "segment", "block", "bast", "fast"};
    const char *env = getenv("FLASHEMU_LONG");
    is_long = env && strcmp(env, "1") == 0;
    for (int i = 1; i < argc; i++)
        is_long = is_long || strcmp(argv[i], "--long") == 0;
    filters = argv + 1;
    check_formulas();
    check_block();
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        check_sequential(layers[i]);
    check_segment_copies();
    check_cliff();
    for (size_t i = 1; i < sizeof layers / sizeof *layers; i++) {
        check_copy_time(layers[i], 1);
        check_copy_time(layers[i], 16);
    }
    for (int i = 0; i < 3; i++) {
        check_greedy(1024, 64, ops[i]);
        check_greedy(1024, 128, ops[i]);
    }
    check_greedy(2048, 65, 0.10);
    printf("%d figures, %d failed\n", n_run, n_failed);
    return n_failed || n_run == 0 ? 1 : 0;
}
