/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power fails in the middle of cleaning, for every strategy that cleans or merges.
 *
 * A small device is full.  Writes of whole pages go to random places, until one of them makes the
 * strategy empty a block.  Power fails in the middle of each operation of this write, with each
 * outcome: the operation has not begun, is torn, or was done.  A second chip (lib/cutchip.h) says
 * what must be on the device's chip then, what the counters must say, and which block the
 * controller's journal must name.
 *
 *     fill --> random writes --> a write that cleans --x--> power-on --> the next that cleans --x
 *                                                        \x          many times in a row
 *
 * After each power-on every page must be read as it was written.  At last the whole device is
 * written again, so no cut may have cost room.  The device is as small as its strategy allows.
 */
#include "lib/cutchip.h"
#include "lib/device.h"
#include "lib/unit.h"

#include "device/internal.h"

#include <inttypes.h>
#include <stdio.h>

enum { PAGE = 512, MAX_LPNS = 512, IN_A_ROW = 60 };

struct config {
    const char *name, *strategy;
    uint32_t dies;
    bool exact_since;  /* see ft_cutchip_init */
    bool counts_erases; /* outside of recovery each erase is a cleaning, a fold or a levelling */
    void (*set)(struct fe_profile *p);
};

static void set_gc_streams(struct fe_profile *p)
{
    p->ftl.page.hot_cold = FE_HOT_COLD_GC;
}

static void set_two_pools(struct fe_profile *p)
{
    p->ftl.page.hot_cold = FE_HOT_COLD_TWO_POOL;
    p->ftl.clean.gc_policy = FE_GC_COST_BENEFIT;
}

static void set_fifo(struct fe_profile *p)
{
    p->ftl.clean.gc_policy = FE_GC_FIFO;
}

static void set_mlc(struct fe_profile *p)
{
    p->nand.cell = FE_CELL_MLC;
    p->nand.tR_ns[1] = p->nand.tR_ns[0];
    p->nand.tPROG_ns[1] = p->nand.tPROG_ns[2] = 3 * p->nand.tPROG_ns[0];
}

static void set_static_slc(struct fe_profile *p)
{
    set_mlc(p);
    p->ftl.page.slc_mode = FE_SLC_STATIC;
    p->ftl.page.slc_blocks = 3;
}

static void set_dynamic_slc(struct fe_profile *p)
{
    set_mlc(p);
    p->ftl.page.slc_mode = FE_SLC_DYNAMIC;
}

/* A part of the pages is in the area, so cuts come while either part is cleaned. */
static void set_area(struct fe_profile *p)
{
    set_mlc(p);
    p->ftl.page.enhanced_start = 8 * PAGE;
    p->ftl.page.enhanced_size = 16 * PAGE;
}

static void set_area_beside_cache(struct fe_profile *p)
{
    set_static_slc(p);
    p->ftl.page.enhanced_size = 12 * PAGE;
    p->ftl.page.hot_cold = FE_HOT_COLD_GC;
}

static void set_static_levelling(struct fe_profile *p)
{
    p->ftl.clean.wear_levelling = FE_WEAR_STATIC;
    p->ftl.clean.wl_threshold = 3;
}

static void set_dynamic_levelling(struct fe_profile *p)
{
    p->ftl.clean.wear_levelling = FE_WEAR_DYNAMIC;
}

static void set_nor(struct fe_profile *p)
{
    p->nand.cell = FE_CELL_NOR;
}

static void set_nor_levelling(struct fe_profile *p)
{
    set_nor(p);
    set_static_levelling(p);
}

static void set_nor_dynamic(struct fe_profile *p)
{
    set_nor(p);
    set_dynamic_levelling(p);
}

static void set_sequential(struct fe_profile *p)
{
    p->ftl.log.fast_sequential = true;
}

static void set_nothing(struct fe_profile *p)
{
    (void)p;
}

static const struct config configs[] = {
    {"page", "page", 1, true, true, set_nothing},
    {"page, 2 dies", "page", 2, true, true, set_gc_streams},
    {"page, two pools", "page", 1, true, true, set_two_pools},
    {"page, fifo", "page", 2, true, true, set_fifo},
    {"page, static SLC cache", "page", 1, true, true, set_static_slc},
    {"page, dynamic SLC cache", "page", 1, true, true, set_dynamic_slc},
    {"page, static levelling", "page", 1, true, true, set_static_levelling},
    {"page, enhanced area", "page", 1, true, true, set_area},
    {"page, enhanced area beside a cache", "page", 1, true, true, set_area_beside_cache},
    {"dftl", "dftl", 1, false, false, set_nothing},
    {"dftl, 2 dies", "dftl", 2, false, false, set_nothing},
    {"norlog", "norlog", 1, true, true, set_nor},
    {"norlog, static levelling", "norlog", 1, false, true, set_nor_levelling},
    {"bast", "bast", 1, false, false, set_nothing},
    {"fast", "fast", 1, false, false, set_nothing},
    {"fast, sequential log", "fast", 2, false, false, set_sequential},
    {"segment", "segment", 1, false, false, set_nothing},
    {"block", "block", 2, false, false, set_nothing},
};

struct bench {
    const struct config *config;
    struct fe_device *dev;
    struct ft_cutchip *chip;
    struct ft_rand rand;
    uint32_t n_lpns;
    uint64_t want[MAX_LPNS]; /* the version of each page */
    fe_lpn maybe;            /* a page whose last write may have been lost; FE_LPN_NONE: none */
    uint64_t version;        /* of the last write */
    uint32_t first_op;       /* of the last write, in chip->ops */
    uint64_t busy_until_ns;  /* end of the last request, or of power-on */
    uint64_t n_writes, n_reads, n_cuts, busy_ns; /* what statistics must say */
    char where[128];
};

#define fail_in(b, ...)                                                    \
    do {                                                                   \
        fprintf(stderr, "%s, %s: ", (b)->config->name, (b)->where);        \
        fail_msg(__VA_ARGS__);                                             \
    } while (0)

static struct fe_device *make_device(const struct config *config)
{
    struct fe_profile p = ft_device_profile(config->strategy);
    struct fe_geometry geo;
    struct fe_err err;
    fe_err_init(&err);
    p.nand.page_size = PAGE;
    p.nand.dies_per_channel = config->dies;
    p.nand.blocks_per_plane = 24 / config->dies;
    p.ftl.unit.unit_size = (uint64_t)PAGE * p.nand.pages_per_block;
    config->set(&p);
    assert_int_equal(fe_geometry_init(&geo, &p.nand, &err), 0);
    uint64_t n = fe_ftl_registry[p.ftl.type]->max_lpns(&p.ftl, &geo, &err);
    if (n == 0)
        fail_msg("%s: %s", config->name, err.text);
    p.device.capacity = n * PAGE;
    return ft_device_make(&p, true);
}

static struct fe_reply submit(struct bench *b, enum fe_req_type type, fe_lpn lpn, uint64_t *buf)
{
    struct fe_request req = {.type = type, .offset = (uint64_t)lpn * PAGE, .len = PAGE, .buf = buf};
    struct fe_reply reply;
    b->first_op = b->chip->n_ops;
    ft_cutchip_begin(b->chip, false);
    assert_int_equal(fe_device_submit(b->dev, fe_device_now(b->dev), &req, &reply), 0);
    if (reply.status != FE_OK)
        fail_in(b, "page %u: status %d", lpn, (int)reply.status);
    b->busy_ns += reply.complete_ns - reply.arrival_ns;
    b->busy_until_ns = reply.complete_ns;
    return reply;
}

static void write_page(struct bench *b, fe_lpn lpn)
{
    uint64_t buf[PAGE / 8];
    b->version++;
    for (size_t i = 0; i < ft_array_len(buf); i++)
        buf[i] = i % 2 ? b->version : lpn;
    submit(b, FE_REQ_WRITE, lpn, buf);
    b->want[lpn] = b->version;
    b->n_writes++;
}

static void init(struct bench *b, const struct config *config, uint64_t seed)
{
    *b = (struct bench){.config = config, .rand.seed = seed, .maybe = FE_LPN_NONE};
    b->chip = malloc(sizeof *b->chip);
    assert_non_null(b->chip);
    b->dev = make_device(config);
    b->n_lpns = fe_device_lpns(b->dev);
    assert_true(b->n_lpns <= MAX_LPNS);
    ft_cutchip_init(b->chip, b->dev, config->exact_since);
    for (fe_lpn lpn = 0; lpn < b->n_lpns; lpn++)
        write_page(b, lpn);
    for (int i = 0; i < 100; i++)
        write_page(b, (fe_lpn)ft_below(&b->rand, b->n_lpns));
}

static void fini(struct bench *b)
{
    fe_device_destroy(b->dev);
    free(b->chip);
}

/* What the host did and what the chip did must be in the statistics, neither less nor more. */
static void check_statistics(struct bench *b)
{
    struct fe_stats s;
    bool is_norlog = strcmp(b->config->strategy, "norlog") == 0;
    uint64_t headers = is_norlog ? b->chip->n_first_pages : 0;
    fe_device_get_stats(b->dev, &s);
    if (s.host[FE_REQ_WRITE].ops != b->n_writes || s.host[FE_REQ_READ].ops != b->n_reads ||
        s.host[FE_REQ_WRITE].bytes != b->n_writes * PAGE || s.power.cuts != b->n_cuts ||
        fe_device_latency(b->dev, FE_REQ_WRITE)->count != b->n_writes)
        fail_in(b, "requests or cuts are not counted right");
    if (s.busy_ns != b->busy_ns)
        fail_in(b, "busy for %" PRIu64 " ns, not %" PRIu64, s.busy_ns, b->busy_ns);
    if (b->chip->seq != b->n_writes + s.ftl.pages_copied + s.ftl.map_writes + headers)
        fail_in(b, "%" PRIu64 " programs; %" PRIu64 " writes, %" PRIu64 " copies and %" PRIu64
                " of the map are counted", b->chip->seq, b->n_writes, s.ftl.pages_copied,
                s.ftl.map_writes);
    if (b->config->counts_erases &&
        b->chip->n_erases_issued != s.ftl.gc_runs + s.ftl.slc_folds + s.ftl.wear_moves)
        fail_in(b, "%" PRIu64 " blocks emptied, %" PRIu64 " counted", b->chip->n_erases_issued,
                s.ftl.gc_runs + s.ftl.slc_folds + s.ftl.wear_moves);
}

static void verify(struct bench *b)
{
    struct fe_err err;
    fe_err_init(&err);
    for (fe_lpn lpn = 0; lpn < b->n_lpns; lpn++) {
        uint64_t buf[PAGE / 8], want = b->want[lpn];
        submit(b, FE_REQ_READ, lpn, buf);
        b->n_reads++;
        bool may_be_old = lpn == b->maybe && buf[1] < want;
        for (size_t i = 0; i < ft_array_len(buf); i++)
            if (buf[i] != (i % 2 ? buf[1] : lpn) || (buf[1] != want && !may_be_old))
                fail_in(b, "page %u is version %" PRIu64 " of %" PRIu64, lpn, buf[1], want);
        b->want[lpn] = buf[1];
    }
    b->maybe = FE_LPN_NONE;
    if (fe_device_check(b->dev, &err) < 0)
        fail_in(b, "%s", err.text);
    if (!ft_cutchip_agrees(b->chip))
        fail_in(b, "%s", b->chip->wrong);
    check_statistics(b);
}

static uint64_t middle_of(const struct ft_cut_op *op)
{
    return op->op.start_ns + (op->op.end_ns - op->op.start_ns) / 2;
}

/* Power fails in the middle of operation i, and comes back. */
static void cut(struct bench *b, uint32_t i, enum fe_cut_outcome outcome)
{
    struct fe_err err;
    struct ft_cut_op chosen = b->chip->ops[i];
    uint64_t at = middle_of(&chosen), ready;
    fe_err_init(&err);
    b->n_cuts++;
    b->busy_ns -= b->busy_until_ns - at;
    if (!ft_cutchip_cut(b->chip, at, &chosen, outcome, b->n_cuts))
        fail_in(b, "after the cut: %s", b->chip->wrong);
    ft_cutchip_begin(b->chip, true);
    if (fe_device_power_on(b->dev, at, &ready, &err) < 0)
        fail_in(b, "%s", err.text);
    ft_cutchip_begin(b->chip, false);
    b->busy_ns += ready - at;
    b->busy_until_ns = ready;
    if (!ft_cutchip_agrees(b->chip))
        fail_in(b, "after power-on: %s", b->chip->wrong);
}

/* Writes to random places, until a write makes the strategy erase something. */
static void write_until_it_cleans(struct bench *b)
{
    for (int tries = 0; tries < 1000; tries++) {
        fe_lpn lpn = (fe_lpn)ft_below(&b->rand, b->n_lpns);
        write_page(b, lpn);
        b->maybe = lpn;
        for (uint32_t i = b->first_op; i < b->chip->n_ops; i++)
            if (b->chip->ops[i].op.kind == FE_OP_ERASE)
                return;
    }
    fail_in(b, "nothing is ever cleaned");
}

static void write_all(struct bench *b)
{
    for (fe_lpn lpn = 0; lpn < b->n_lpns; lpn++)
        write_page(b, (lpn * 7) % b->n_lpns); /* 7 divides no number of pages here */
    verify(b);
}

static bool can_cut(const struct bench *b, uint32_t i)
{
    const struct fe_op *op = &b->chip->ops[i].op;
    return op->end_ns - op->start_ns > 1 && middle_of(&b->chip->ops[i]) >= b->dev->last_arrival_ns;
}

/* Each operation of one cleaning, with each outcome. */
static void test_cut_at_each_operation_of_a_cleaning(void **state)
{
    (void)state;
    for (size_t k = 0; k < ft_array_len(configs); k++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            uint32_t n = 1;
            for (uint32_t i = 0; i < 3 * n; i++) {
                struct bench b;
                init(&b, &configs[k], seed);
                write_until_it_cleans(&b);
                n = b.chip->n_ops - b.first_op;
                snprintf(b.where, sizeof b.where, "seed %" PRIu64 ", operation %u, outcome %u",
                         seed, i / 3, i % 3);
                if (can_cut(&b, b.first_op + i / 3)) {
                    cut(&b, b.first_op + i / 3, (enum fe_cut_outcome)(i % 3));
                    verify(&b);
                    write_all(&b);
                }
                fini(&b);
            }
        }
    }
}

/* A cut in the middle of what power-on has to do, if it does anything. */
static void cut_power_on(struct bench *b)
{
    for (uint32_t tries = 0; tries < 4 && b->chip->n_ops; tries++) {
        uint32_t i = (uint32_t)ft_below(&b->rand, b->chip->n_ops);
        if (can_cut(b, i))
            cut(b, i, FE_CUT_TORN);
    }
}

/* Again and again power fails while a block is emptied, and while power-on is putting that right.
 * Mostly the operation under way is torn, because torn pages are what costs room. */
static void test_many_cuts_in_a_row(void **state)
{
    (void)state;
    for (size_t k = 0; k < ft_array_len(configs); k++) {
        for (uint64_t seed = 1; seed <= 6; seed++) {
            struct bench b;
            init(&b, &configs[k], 100 + seed);
            for (int n = 0; n < IN_A_ROW; n++) {
                snprintf(b.where, sizeof b.where, "seed %" PRIu64 ", cut %d", seed, n);
                write_until_it_cleans(&b);
                uint32_t i = b.first_op +
                             (uint32_t)ft_below(&b.rand, b.chip->n_ops - b.first_op);
                if (!can_cut(&b, i))
                    continue;
                cut(&b, i, ft_chance(&b.rand, 80) ? FE_CUT_TORN : FE_CUT_NOT_BEGUN);
                if (ft_chance(&b.rand, 40))
                    cut_power_on(&b);
                verify(&b);
            }
            write_all(&b);
            fini(&b);
        }
    }
}

/* ---- wear ---- */

/* Nothing is under way when power fails. */
static void power_cycle(struct bench *b)
{
    struct fe_err err;
    uint64_t ready, now = fe_device_now(b->dev);
    fe_err_init(&err);
    b->n_cuts++;
    if (!ft_cutchip_cut(b->chip, now, NULL, FE_CUT_DONE, 0))
        fail_in(b, "after the cut: %s", b->chip->wrong);
    ft_cutchip_begin(b->chip, true);
    if (fe_device_power_on(b->dev, now, &ready, &err) < 0)
        fail_in(b, "%s", err.text);
    ft_cutchip_begin(b->chip, false);
    b->busy_ns += ready - now;
}

/* Each block that the last write began was the least worn of those that were erased. */
static void check_least_worn_first(struct bench *b)
{
    struct ft_cutchip *c = b->chip;
    uint32_t n = c->n_ops;
    for (uint32_t i = b->first_op; i < n; i++) {
        const struct fe_op *op = &c->ops[i].op;
        if (op->kind != FE_OP_PROG || op->ppn % c->geo.pages_per_block)
            continue;
        c->n_ops = i;
        struct ft_cut_state s = ft_cutchip_now(c);
        c->n_ops = n;
        uint32_t erases = s.erases[op->ppn / c->geo.pages_per_block];
        for (fe_peb peb = 0; peb < c->geo.n_pebs; peb++)
            if (s.next[peb] == 0 && s.erases[peb] < erases)
                fail_in(b, "a block with %u erases was taken before block %u with %u", erases, peb,
                        s.erases[peb]);
    }
}

/* All writes go to a few pages, and power fails after every `period` of them; 0: never.  Returns
 * how far the erases of blocks lie apart in the end. */
static uint32_t spread(const struct config *config, int period, bool least_first)
{
    struct bench b;
    uint32_t least = UINT32_MAX, most = 0;
    init(&b, config, 5);
    snprintf(b.where, sizeof b.where, "a power cycle after every %d writes", period);
    for (int i = 0; i < 12000; i++) {
        write_page(&b, (fe_lpn)ft_below(&b.rand, b.n_lpns / 8));
        if (least_first)
            check_least_worn_first(&b);
        if (period && i % period == period - 1)
            power_cycle(&b);
        b.chip->base = ft_cutchip_now(b.chip);
        b.chip->n_ops = 0; /* the list must not become full */
    }
    verify(&b);
    for (fe_peb peb = 0; peb < b.chip->geo.n_pebs; peb++) {
        uint32_t erases = fe_medium_erase_count(b.dev->medium, peb);
        least = erases < least ? erases : least;
        most = erases > most ? erases : most;
    }
    fini(&b);
    return most - least;
}

/* Levelling must know after power-on what it knew before: how often each block was erased. */
static void test_wear_over_power_cycles(void **state)
{
    (void)state;
    static const struct config off[] = {{"page", "page", 1, true, true, set_nothing},
                                        {"norlog", "norlog", 1, true, true, set_nor}};
    static const struct config on[] = {
        {"page, static levelling", "page", 1, true, true, set_static_levelling},
        {"norlog, static levelling", "norlog", 1, false, true, set_nor_levelling}};
    for (size_t i = 0; i < ft_array_len(on); i++) {
        uint32_t often = spread(&on[i], 40, false), rarely = spread(&on[i], 4000, false);
        uint32_t unlevel = spread(&off[i], 40, false);
        if (often > 3 + 3 || rarely > 3 + 3 || unlevel < 60)
            fail_msg("%s: erases lie %u apart with many power cycles, %u with few, %u without "
                     "levelling", on[i].name, often, rarely, unlevel);
    }
}

static void test_least_worn_first_over_power_cycles(void **state)
{
    (void)state;
    static const struct config on[] = {
        {"page, dynamic levelling", "page", 1, true, true, set_dynamic_levelling},
        {"norlog, dynamic levelling", "norlog", 1, true, true, set_nor_dynamic}};
    for (size_t i = 0; i < ft_array_len(on); i++)
        (void)spread(&on[i], 40, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_at_each_operation_of_a_cleaning),
        cmocka_unit_test(test_many_cuts_in_a_row),
        cmocka_unit_test(test_wear_over_power_cycles),
        cmocka_unit_test(test_least_worn_first_over_power_cycles),
    };
    return cmocka_run_group_tests_name("power cuts while cleaning", tests, NULL, NULL);
}
