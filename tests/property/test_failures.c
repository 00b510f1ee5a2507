/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Failing chips against plain bytes: every strategy runs the same workload again and again, each
 * time with a failure at the next program or erase.
 *
 *   spared   There is a spare block.  No command fails, nothing is lost, all invariants hold.
 *   end      There is no spare block.  The command that fails, and all later ones, say so.
 *            Everything that was answered before reads as it was written.  Each sector of the
 *            failing command reads old or new.  Commands that are refused change nothing.
 *   chance   Programs and erases fail by chance, far more often than on any chip, and there are
 *            plenty of spare blocks.  Nothing is lost.
 *
 *     test_failures [--long] [--part K/N] [STRATEGY:WHAT:N[:SEED]...]
 *
 * A failing case prints its id.  WHAT is spared-program, spared-erase, end-program, end-erase or
 * chance.  Cases that are given as arguments run alone.
 */
#include "lib/cases.h"
#include "lib/ftl_params.h"
#include "lib/rand.h"

#include "flashemu/device.h"
#include "ftl/ftl.h"
#include "nand/wear.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE   1024u
#define SECTOR 512u
#define STEPS  130

enum what { SPARED_PROGRAM, SPARED_ERASE, END_PROGRAM, END_ERASE, CHANCE, N_WHATS };
static const char *const what_names[N_WHATS] = {"spared-program", "spared-erase", "end-program",
                                                "end-erase", "chance"};

struct run {
    struct fe_device *dev;
    uint64_t capacity, now;
    bool cached;
    uint8_t *want;  /* what must be read */
    uint8_t *other; /* what may be read instead, in the sectors of a refused command */
    uint8_t *buf;
    bool at_end;
    char id[96], wrong[300];
};

static bool say(struct run *r, const char *what, uint64_t a, uint64_t b)
{
    snprintf(r->wrong, sizeof r->wrong, "%s (%" PRIu64 ", %" PRIu64 ")", what, a, b);
    return false;
}

/* A chip with two bits in a cell and two dies, so that every option has something to do. */
static struct fe_profile make_profile(uint32_t type, uint64_t seed)
{
    struct ft_rand r = {.seed = 5000 + seed};
    struct fe_profile p = {.name = "failing"};
    p.nand = (struct fe_nand_params){
        .cell = FE_CELL_MLC, .channels = 1, .dies_per_channel = 2, .planes_per_die = 1,
        .blocks_per_plane = 18, .pages_per_block = 4, .page_size = PAGE, .oob_size = 32,
        .tR_ns = {25000, 30000}, .tPROG_ns = {200000, 600000}, .tBERS_ns = 1500000};
    p.device.sector_size = SECTOR;
    p.ftl = ft_ftl_params(type, 8 * PAGE);
    p.ftl.log.fast_sequential = seed % 2 == 0;
    p.ftl.unit.copy_buffer = 2;
    p.ftl.dftl.map_cache = 32;
    p.ftl.clean.wear_levelling = (uint32_t)(seed % FE_N_WEAR_LEVELLINGS);
    p.ftl.clean.wl_threshold = 3;
    p.ftl.clean.idle_free = 3;
    p.ftl.page.hot_cold = (uint32_t)(seed / 2 % FE_N_HOT_COLDS);
    p.ftl.page.slc_mode = seed % 4 == 3 ? FE_SLC_DYNAMIC : FE_SLC_OFF;
    p.ftl.page.enhanced_start = seed % 3 == 1 ? 2 * PAGE : 0;
    p.ftl.page.enhanced_size = seed % 3 == 1 ? 6 * PAGE : 0;
    p.ftl.segment.small_log = seed % 2;
    p.ftl.segment.small_write = SECTOR;
    p.device.discard = fe_ftl_registry[type]->trim != NULL;
    p.cache.size = seed % 3 == 2 ? 3 * PAGE : 0;
    p.cache.volatile_ = true;
    p.link = (struct fe_link_params){.type = FE_LINK_NONE, .max_transfer = 8 * PAGE,
                                     .queue_depth = 1};
    p.wear.slow_factor = 2;
    p.wear.codeword_size = 512;
    (void)ft_rand(&r);
    return p;
}

static bool set_failure(struct fe_profile *p, enum what what, uint64_t n)
{
    struct fe_geometry geo;
    switch (what) {
    case SPARED_PROGRAM:
    case END_PROGRAM:
        p->wear.fail_program = n;
        break;
    case SPARED_ERASE:
    case END_ERASE:
        p->wear.fail_erase = n;
        break;
    default:
        p->wear.program_fail_ppm = p->wear.erase_fail_ppm = 3000;
        p->wear.factory_bad_ppm = 50000;
        p->nand.blocks_per_plane += 150;
    }
    if (what == SPARED_PROGRAM || what == SPARED_ERASE)
        p->wear.spare_blocks = 1;
    if (what == CHANCE)
        p->wear.spare_blocks = 280;
    if (fe_geometry_init(&geo, &p->nand, NULL) < 0 ||
        fe_geometry_reserve(&geo, fe_wear_reserve(&p->wear, &geo), NULL) < 0)
        return false;
    uint64_t n_lpns = fe_ftl_registry[p->ftl.type]->max_lpns(&p->ftl, &geo, NULL);
    p->device.capacity = n_lpns * PAGE;
    return n_lpns > 8;
}

static bool submit(struct run *r, enum fe_req_type type, uint64_t offset, uint64_t len,
                   enum fe_status *ret)
{
    struct fe_request req = {.type = type, .offset = offset, .len = len, .buf = r->buf};
    struct fe_reply reply;
    if (fe_device_submit(r->dev, r->now, &req, &reply) < 0)
        return say(r, "request refused", offset, len);
    r->now = reply.complete_ns;
    *ret = reply.status;
    return true;
}

static bool verify(struct run *r)
{
    enum fe_status st;
    for (uint64_t at = 0; at < r->capacity; at += PAGE) {
        if (!submit(r, FE_REQ_READ, at, PAGE, &st) || st != FE_OK)
            return say(r, "a read fails", at, st);
        for (uint64_t s = 0; s < PAGE; s += SECTOR)
            if (memcmp(r->buf + s, r->want + at + s, SECTOR) != 0 &&
                memcmp(r->buf + s, r->other + at + s, SECTOR) != 0)
                return say(r, "a sector reads wrong", at + s, r->buf[s]);
    }
    return true;
}

/* Notes that a command has failed: from now on its sectors may be old or new. */
static bool take_end(struct run *r, uint64_t offset, uint64_t len, const uint8_t *after,
                     enum fe_status st)
{
    struct fe_stats s;
    fe_device_get_stats(r->dev, &s);
    if (st != FE_READ_ONLY || s.bad_grown == 0)
        return say(r, "a command fails and no block has", st, s.bad_grown);
    if (!r->at_end && len)
        memcpy(r->other + offset, after, len);
    r->at_end = true;
    return true;
}

static bool step(struct run *r, struct ft_rand *rand)
{
    uint64_t sectors = r->capacity / SECTOR;
    uint64_t at = ft_chance(rand, 50) ? ft_below(rand, sectors) : ft_below(rand, sectors / 8 + 1);
    uint64_t n = ft_chance(rand, 60) ? 1 + ft_below(rand, 4) : 1 + ft_below(rand, 24);
    if (ft_chance(rand, 40))
        at -= at % 2;
    if (at + n > sectors)
        n = sectors - at;
    uint64_t offset = at * SECTOR, len = n * SECTOR;
    bool trim = fe_device_profile(r->dev)->device.discard && ft_chance(rand, 10);
    bool flush = r->cached && ft_chance(rand, 10);
    enum fe_status st;
    if (flush)
        offset = len = 0;
    if (trim || flush)
        memset(r->buf, 0, len);
    else
        ft_fill(rand, r->buf, len);
    if (ft_chance(rand, 10))
        r->now += 5000000; /* time for the device to work on its own */
    if (len == 0 && !flush)
        return true;
    if (!submit(r, flush ? FE_REQ_FLUSH : trim ? FE_REQ_TRIM : FE_REQ_WRITE, offset, len, &st))
        return false;
    if (st != FE_OK)
        return take_end(r, offset, len, r->buf, st);
    if (r->at_end && len)
        return say(r, "a write succeeds after the end of life", offset, len);
    memcpy(r->want + offset, r->buf, len);
    memcpy(r->other + offset, r->buf, len);
    return true;
}

static bool run_steps(struct run *r, uint64_t seed)
{
    struct ft_rand rand = {.seed = seed};
    int after = 0;
    for (int i = 0; i < STEPS && after < 12; i++) {
        struct fe_err err = {""};
        if (!step(r, &rand))
            return false;
        after += r->at_end;
        if (!r->at_end && i % 8 == 0 && fe_device_check(r->dev, &err) < 0) {
            snprintf(r->wrong, sizeof r->wrong, "%.250s", err.text);
            /* the end may have come while the device worked on its own */
            struct fe_stats s;
            fe_device_get_stats(r->dev, &s);
            if (s.bad_grown == 0 || fe_device_profile(r->dev)->wear.spare_blocks)
                return false;
        }
        if (after == 1 && !verify(r))
            return false;
    }
    return verify(r);
}

static char running[160];

/* Returns false if the case failed.  *ret_reached: whether the workload reached the failure. */
static bool run_case(uint32_t type, enum what what, uint64_t n, uint64_t seed, bool *ret_reached)
{
    struct fe_profile p = make_profile(type, seed);
    struct fe_device_options opt = {.seed = seed, .payload = true};
    struct fe_err err = {""};
    struct fe_stats s;
    struct run r = {.cached = p.cache.size > 0};
    *ret_reached = false;
    snprintf(r.id, sizeof r.id, "%s:%s:%" PRIu64 ":%" PRIu64, fe_ftl_registry[type]->name,
             what_names[what], n, seed);
    snprintf(running, sizeof running, "\nABORTED in %s\n", r.id);
    if (!set_failure(&p, what, n))
        return true; /* the strategy refuses this shape */
    bool good = fe_device_create(&r.dev, &p, &opt, &err) == 0;
    if (!good)
        snprintf(r.wrong, sizeof r.wrong, "%.250s", err.text);
    if (good) {
        r.capacity = fe_device_capacity(r.dev);
        r.want = calloc(3, r.capacity);
        if (!r.want)
            abort();
        r.other = r.want + r.capacity;
        r.buf = r.other + r.capacity;
        good = run_steps(&r, seed);
        fe_device_get_stats(r.dev, &s);
        *ret_reached = s.bad_grown > 0;
    }
    if (good && r.at_end && what != END_PROGRAM && what != END_ERASE)
        good = say(&r, "the end of life with spares left", s.bad_grown, 0);
    if (!good)
        fprintf(stderr, "FAILED %s: %s\n", r.id, r.wrong);
    fe_device_destroy(r.dev);
    free(r.want);
    return good;
}

static void on_abort(int sig)
{
    ssize_t ignored = write(STDERR_FILENO, running, strlen(running));
    (void)ignored;
    signal(sig, SIG_DFL);
    raise(sig);
}

static int run_named(const char *id)
{
    char name[32], what[32];
    uint64_t n, seed = 0;
    bool reached;
    if (sscanf(id, "%31[^:]:%31[^:]:%" SCNu64 ":%" SCNu64, name, what, &n, &seed) < 3 ||
        fe_ftl_find(name) < 0) {
        fprintf(stderr, "%s: a case is STRATEGY:WHAT:N[:SEED]\n", id);
        return 2;
    }
    for (int w = 0; w < N_WHATS; w++)
        if (strcmp(what, what_names[w]) == 0)
            return run_case((uint32_t)fe_ftl_find(name), (enum what)w, n, seed, &reached) ? 0 : 1;
    return 2;
}

/* Runs N = 1, 2, 3 ... until the workload ends before the N-th program or erase.  Returns how many
 * cases failed. */
static uint32_t run_strategy(uint32_t type, uint64_t seed, uint32_t *ret_run)
{
    uint32_t failed = 0;
    for (int what = 0; what < CHANCE; what++) {
        uint32_t n_reached = 0;
        bool reached = true;
        for (uint64_t n = 1; reached && failed < 10; n++) {
            failed += !run_case(type, (enum what)what, n, seed, &reached);
            n_reached += reached;
        }
        *ret_run += n_reached;
        printf("%-8s %-15s seed %" PRIu64 ": failed at each of %u\n", fe_ftl_registry[type]->name,
               what_names[what], seed, n_reached);
    }
    for (uint64_t n = 0; n < 10; n++) {
        bool reached;
        failed += !run_case(type, CHANCE, n, seed + 100 * n, &reached);
        *ret_run += reached;
    }
    return failed;
}

/* Every parts-th seed, from the part-th on.  Returns an exit code. */
static int run_part(uint32_t part, uint32_t parts, bool is_long)
{
    uint32_t failed = 0, n_run = 0;
    for (uint32_t type = 0; fe_ftl_registry[type]; type++)
        for (uint64_t seed = part - 1; seed < (is_long ? 24 : 4); seed += parts)
            if (!fe_ftl_registry[type]->no_medium)
                failed += run_strategy(type, seed, &n_run);
    printf("%u failures, %u of them wrongly taken\n", n_run, failed);
    return failed || n_run < 1000 ? 1 : 0;
}

int main(int argc, char **argv)
{
    const char *env = getenv("FLASHEMU_LONG");
    bool is_long = env && strcmp(env, "1") == 0;
    uint32_t part = 1, parts = 1;
    int code = 0, named = 0;
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--long") == 0) {
            is_long = true;
        } else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc) {
            if (!ft_part_parse(argv[++i], &part, &parts)) {
                fprintf(stderr, "%s: K/N is wanted\n", argv[i]);
                return 2;
            }
        } else {
            int r = run_named(argv[i]);
            code = r > code ? r : code;
            named++;
        }
    }
    return named ? code : run_part(part, parts, is_long);
}
