/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Golden traces: small fixed workloads on small fixed devices, for every strategy of the
 * registry, compared to the nanosecond with what happened before.
 *
 *     test_golden              compares each STRATEGY.txt with what happens now
 *     test_golden --update     writes the files anew.  Read the difference, and say in the
 *                              commit why it is right.
 *     test_golden STRATEGY...  does either for these strategies only
 *
 * A file has the lines of the short workloads (arrival, completion, request) as they are, and
 * of the long workload a hash of the same lines.  Each workload ends with what it cost and a
 * hash of the contents.  A difference is not wrong by itself.  It means that the devices of
 * all users behave differently from now on.
 */
#include "lib/ftl_params.h"
#include "lib/rand.h"

#include "flashemu/device.h"
#include "ftl/ftl.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIB = 1024, LONG_REQUESTS = 5000 };

struct run {
    FILE *out;
    bool quiet;     /* lines are hashed and not printed */
    uint64_t hash;
    struct fe_device *dev;
    struct ft_rand rand;
    uint64_t now, capacity;
    uint8_t *buf;
};

/* A small stick: two dies of MLC on one channel, units of 64 KiB, and 1 MiB for the host, of
 * which three quarters have been written before.  The numbers must stay as they are: each of
 * them is in the golden files. */
static struct fe_profile make_profile(const char *strategy, bool cache)
{
    struct fe_profile p = {.name = "golden"};
    p.device = (struct fe_device_params){.capacity = 1024 * KIB, .sector_size = 512,
                                         .used = 768 * KIB};
    p.nand = (struct fe_nand_params){
        .cell = FE_CELL_MLC, .channels = 1, .dies_per_channel = 2, .planes_per_die = 1,
        .blocks_per_plane = 24, .pages_per_block = 16, .page_size = 2 * KIB, .oob_size = 64,
        .tR_ns = {50000, 60000}, .tPROG_ns = {300000, 900000}, .tBERS_ns = 2000000,
        .bus_rate = 33333333, .command_ns = 200, .endurance = 5000};
    p.ftl = ft_ftl_params((uint32_t)fe_ftl_find(strategy), 64 * KIB);
    p.ftl.clean.wl_threshold = 16;
    p.ftl.segment.open_linear = 2;
    p.ftl.log.fast_sequential = true;
    p.ftl.unit.gap_fill = 2;
    p.ftl.dftl.map_cache = KIB;
    p.ftl.step = (struct fe_step_params){
        .read = {.random_ns = 900000, .step_ns = 150000, .spike_ns = 400000, .first = 32,
                 .again = 128},
        .write = {.random_ns = 15000000, .step_ns = 300000, .spike_ns = 9000000, .first = 64,
                  .again = 64}};
    if (cache)
        p.cache = (struct fe_cache_params){.size = 16 * KIB, .volatile_ = true, .idle_flush = true};
    p.link = (struct fe_link_params){
        .type = FE_LINK_USB_HS, .bandwidth = 33000000, .command_overhead_ns = 125000,
        .max_transfer = 120 * KIB, .queue_depth = 1};
    return p;
}

static void line(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(struct run *r, const char *fmt, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    r->hash = ft_hash(r->hash, text, strlen(text));
    if (!r->quiet)
        fprintf(r->out, "%s\n", text);
}

static void submit(struct run *r, enum fe_req_type type, uint64_t arrival, uint64_t offset,
                   uint64_t len, bool fua)
{
    static const char *const names[] = {"read", "write", "trim", "flush"};
    struct fe_request req = {.type = type, .fua = fua, .offset = offset, .len = len, .buf = r->buf};
    struct fe_reply reply;
    if (type == FE_REQ_WRITE)
        ft_fill(&r->rand, r->buf, len);
    if (fe_device_submit(r->dev, arrival, &req, &reply) < 0) {
        fprintf(stderr, "golden: request refused\n");
        exit(1);
    }
    r->now = reply.complete_ns;
    line(r, "%12" PRIu64 " %12" PRIu64 "  %s%s %" PRIu64 "+%" PRIu64 "%s", reply.arrival_ns,
         reply.complete_ns, names[type], fua ? " fua" : "", offset / 512, len / 512,
         reply.status == FE_OK ? "" : "  failed");
}

/* Writes everything in order, as dd does, and reads it again. */
static void fill(struct run *r)
{
    for (uint64_t at = 0; at < r->capacity; at += 128 * KIB)
        submit(r, FE_REQ_WRITE, r->now, at, 128 * KIB, false);
    for (uint64_t at = 0; at < r->capacity; at += 256 * KIB)
        submit(r, FE_REQ_READ, r->now, at, 256 * KIB, false);
}

/* Writes in order again, but from a partition that starts at sector 63. */
static void misaligned(struct run *r)
{
    for (uint64_t at = 63 * 512; at + 60 * KIB <= r->capacity; at += 60 * KIB)
        submit(r, FE_REQ_WRITE, r->now, at, 60 * KIB, false);
}

static void random_4k(struct run *r)
{
    for (int i = 0; i < 24; i++) {
        uint64_t at = ft_below(&r->rand, r->capacity / (4 * KIB)) * 4 * KIB;
        submit(r, i % 4 == 3 ? FE_REQ_READ : FE_REQ_WRITE, r->now, at, 4 * KIB, false);
    }
}

/* Four files grow simultaneously, and a FAT between them is updated.  There are pauses,
 * flushes, and requests of a thread that is late: they arrive in the past. */
static void mixed(struct run *r)
{
    for (uint64_t i = 0; i < 8; i++) {
        submit(r, FE_REQ_WRITE, r->now, (i % 4) * 256 * KIB + i / 4 * 16 * KIB, 16 * KIB, false);
        submit(r, FE_REQ_WRITE, r->now + 500, 8 * KIB + i % 3 * 512, 512, i % 4 == 1);
        if (i % 3 == 0)
            submit(r, FE_REQ_READ, r->now > 700000 ? r->now - 700000 : 0, i * 8 * KIB,
                   3 * KIB, false);
        if (i % 4 == 3)
            submit(r, FE_REQ_FLUSH, r->now, 0, 0, false);
        if (i == 5)
            r->now += 50000000;
    }
}

static void random_long(struct run *r)
{
    for (int i = 0; i < LONG_REQUESTS; i++) {
        uint64_t sectors = ft_between(&r->rand, 1, 64), n = r->capacity / 512;
        uint64_t at = ft_below(&r->rand, n - sectors) * 512;
        uint64_t wait = ft_chance(&r->rand, 5) ? ft_below(&r->rand, 20000000) : 0;
        bool write = ft_chance(&r->rand, 70), fua = ft_chance(&r->rand, 2);
        submit(r, write ? FE_REQ_WRITE : FE_REQ_READ, r->now + wait, at, sectors * 512, fua);
    }
}

static void summary(struct run *r)
{
    struct fe_stats s;
    fe_device_get_stats(r->dev, &s);
    line(r, "host: %" PRIu64 " bytes read, %" PRIu64 " written; busy %" PRIu64 " of %" PRIu64 " ns",
         s.host[FE_REQ_READ].bytes, s.host[FE_REQ_WRITE].bytes, s.busy_ns, s.device_ns);
    line(r, "nand: %" PRIu64 " reads, %" PRIu64 " programs (%" PRIu64 " bytes), %" PRIu64 " erases",
         s.nand.page_reads, s.nand.page_programs, s.nand.bytes_programmed, s.nand.block_erases);
    line(r,
         "ftl: %" PRIu64 " collections, %" PRIu64 " pages copied, merges %" PRIu64
         " switch %" PRIu64 " partial %" PRIu64 " full; %" PRIu64 " blocks free",
         s.ftl.gc_runs, s.ftl.pages_copied, s.ftl.merges_switch, s.ftl.merges_partial,
         s.ftl.merges_full, s.free_blocks);
    line(r, "wear: %" PRIu64 " to %" PRIu64, s.wear.min, s.wear.max);
    struct fe_request req = {.type = FE_REQ_READ, .len = r->capacity, .buf = r->buf};
    struct fe_reply reply;
    fe_device_submit(r->dev, r->now, &req, &reply);
    line(r, "contents: %016" PRIx64, ft_hash(FT_HASH_START, r->buf, r->capacity));
}

static void run_workload(FILE *out, const char *strategy, const char *name,
                         void (*fn)(struct run *r), bool cache, bool quiet)
{
    struct fe_profile p = make_profile(strategy, cache);
    struct fe_device_options opt = {.seed = 1, .payload = true};
    struct run r = {.out = out, .quiet = quiet, .hash = FT_HASH_START, .rand = {.seed = 1}};
    struct fe_err err;
    fe_err_init(&err);
    if (fe_device_create(&r.dev, &p, &opt, &err) < 0) {
        fprintf(stderr, "golden: %s: %s\n", strategy, err.text);
        exit(1);
    }
    r.capacity = fe_device_capacity(r.dev);
    r.buf = calloc(1, r.capacity);
    if (!r.buf)
        abort();
    fprintf(out, "\n[%s]\n", name);
    fn(&r);
    if (quiet)
        fprintf(out, "%d requests: %016" PRIx64 "\n", LONG_REQUESTS, r.hash);
    r.quiet = false;
    summary(&r);
    fe_device_destroy(r.dev);
    free(r.buf);
}

static void run_strategy(FILE *out, const char *strategy)
{
    fprintf(out, "# %s: arrival and completion in ns, request, first sector + sectors\n", strategy);
    run_workload(out, strategy, "fill", fill, false, false);
    run_workload(out, strategy, "misaligned", misaligned, false, false);
    run_workload(out, strategy, "random", random_4k, false, false);
    run_workload(out, strategy, "mixed", mixed, false, false);
    run_workload(out, strategy, "mixed, write cache", mixed, true, false);
    run_workload(out, strategy, "long", random_long, false, true);
    run_workload(out, strategy, "long, write cache", random_long, true, true);
}

/* Shows the first line that differs. */
static void show_difference(const char *strategy, const char *want, const char *got)
{
    int n = 1;
    while (*want && *got) {
        size_t a = strcspn(want, "\n"), b = strcspn(got, "\n");
        if (a != b || memcmp(want, got, a) != 0) {
            fprintf(stderr, "tests/golden/%s.txt:%d: differs\n  wanted %.*s\n  got    %.*s\n",
                    strategy, n, (int)a, want, (int)b, got);
            return;
        }
        want += a + (want[a] != 0);
        got += b + (got[b] != 0);
        n++;
    }
    fprintf(stderr, "tests/golden/%s.txt:%d: differs, one of them ends\n", strategy, n);
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t len = 0;
    if (!f || getdelim(&text, &len, '\0', f) < 0) {
        free(text);
        text = NULL;
    }
    if (f)
        fclose(f);
    return text;
}

static int update(const char *strategy, const char *path, const char *text, size_t len)
{
    FILE *f = fopen(path, "w");
    bool failed = !f || fwrite(text, 1, len, f) != len;

    failed = (f && fclose(f) != 0) || failed;
    if (failed)
        fprintf(stderr, "tests/golden/%s.txt: cannot be written\n", strategy);
    return failed;
}

static int compare(const char *strategy, const char *path, const char *got)
{
    char *want = read_file(path);
    int failed = 1;

    if (!want)
        fprintf(stderr,
                "tests/golden/%s.txt is missing: run test_golden --update %s and commit the file\n",
                strategy, strategy);
    else if (strcmp(want, got) != 0)
        show_difference(strategy, want, got);
    else
        failed = 0;
    free(want);
    return failed;
}

static int check_strategy(const char *strategy, bool updates)
{
    char path[4096], *got = NULL;
    size_t len;

    snprintf(path, sizeof path, "%s/%s.txt", GOLDEN_DIR, strategy);
    FILE *out = open_memstream(&got, &len);
    if (!out)
        abort();
    run_strategy(out, strategy);
    fclose(out);
    int failed = updates ? update(strategy, path, got, len) : compare(strategy, path, got);
    free(got);
    return failed;
}

/* A file that belongs to no strategy would be compared with nothing for ever. */
static int check_leftovers(void)
{
    DIR *dir = opendir(GOLDEN_DIR);
    struct dirent *entry;
    int failed = 0;

    while (dir && (entry = readdir(dir)) != NULL) {
        char name[64];
        size_t len = strlen(entry->d_name);
        if (len <= 4 || len >= sizeof name || strcmp(entry->d_name + len - 4, ".txt") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(len - 4), entry->d_name);
        if (fe_ftl_find(name) < 0) {
            fprintf(stderr, "tests/golden/%s: src/ftl/registry.h has no strategy %s\n",
                    entry->d_name, name);
            failed++;
        }
    }
    if (dir)
        closedir(dir);
    return failed;
}

int main(int argc, char **argv)
{
    bool updates = false;
    int failed = 0, n = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--update") == 0)
            updates = true;
        else if (argv[i][0] == '-' || fe_ftl_find(argv[i]) < 0)
            return fprintf(stderr, "usage: %s [--update] [STRATEGY...]\n", argv[0]), 2;
        else
            n++;
    }
    for (int k = 0; fe_ftl_registry[k]; k++) {
        bool chosen = n == 0;
        for (int i = 1; i < argc; i++)
            chosen = chosen || strcmp(argv[i], fe_ftl_registry[k]->name) == 0;
        if (chosen)
            failed += check_strategy(fe_ftl_registry[k]->name, updates);
    }
    if (n == 0)
        failed += check_leftovers();
    return failed ? 1 : 0;
}
