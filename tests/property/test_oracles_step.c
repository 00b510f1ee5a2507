/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The step strategy against a second reading of what was published.  Both get the same requests,
 * for many sequences and sets of parameters; the strategy runs in a device that is made from a
 * profile.  The source says:
 *
 *   "a delay each time a run of sequential reads reaches 32, then 64, 128, 256, 256...
 *   blocks; one fixed delay for a random read"; "linear with a spike after the first 195
 *   sequential blocks and then every 256; one fixed delay for a random write; the random
 *   delay charged to the first write of a run is paid back out of the next sequential
 *   delays" (published.csv, gen32-model-*)
 *
 * The reading in this file goes through a command sector by sector.  Block by block it counts down to the next spike, and a debt down to zero.
 *
 * A case is its seed.  A seed as argument runs that case alone.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "base/num.h"
#include "flashemu/device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define SECTOR 512

/* Parameters as the profile gives them; [1] is for writes. */
struct model {
    uint64_t random_ns[2], step_ns[2], spike_ns[2], first[2], again[2];
    struct published_run {
        uint64_t next_byte, bytes, left, distance, debt_ns;
    } runs[2];
};

/* What one sector of a run costs. */
static uint64_t sector_ns(struct model *m, int w, struct published_run *r)
{
    uint64_t ns = 0;
    bool is_first = r->bytes == 0;
    r->bytes += SECTOR;
    r->next_byte += SECTOR;
    if (r->left > 0 && --r->left == 0) {
        ns += m->spike_ns[w];
        r->distance = w ? m->again[1] : 2 * r->distance;
        if (r->distance > m->again[w])
            r->distance = m->again[w];
        r->left = r->distance;
    }
    if (is_first) {
        r->debt_ns = w ? m->random_ns[w] : 0;
        return m->random_ns[w];
    }
    ns += m->step_ns[w];
    while (ns > 0 && r->debt_ns > 0) {
        uint64_t part = ns < r->debt_ns ? ns : r->debt_ns;
        ns -= part;
        r->debt_ns -= part;
    }
    return ns;
}

/* The run of a command: it goes on, or another one begins. */
static struct published_run *run_for(struct model *m, int w, uint64_t offset)
{
    struct published_run *r = &m->runs[w];
    if (r->bytes == 0 || r->next_byte != offset)
        *r = (struct published_run){.next_byte = offset, .left = m->first[w],
                                    .distance = m->first[w]};
    return r;
}

static uint64_t command_ns(struct model *m, int w, uint64_t offset, uint64_t len)
{
    struct published_run *r = run_for(m, w, offset);
    uint64_t ns = 0;
    for (; len > 0; len -= SECTOR)
        ns += sector_ns(m, w, r);
    return ns;
}

static void add(char *text, size_t size, const char *key, uint64_t value, const char *unit)
{
    size_t at = strlen(text);
    snprintf(text + at, size - at, "%s = %" PRIu64 "%s\n", key, value, unit);
}

/* Writes the profile of a model, without [nand]. */
static void write_profile(const struct model *m, uint64_t capacity, uint64_t max_transfer,
                          char *text, size_t size)
{
    static const char *const keys[2][4] = {
        {"read_random", NULL, "read_spike", "limit"},
        {"write_random", "write_step", "write_spike", "period"}};
    text[0] = '\0';
    snprintf(text, size, "[device]\ncapacity = %" PRIu64 "\n[link]\nmax_transfer = %" PRIu64
             "\n[ftl]\ntype = step\n[step]\n", capacity, max_transfer);
    for (int w = 0; w < 2; w++) {
        add(text, size, keys[w][0], m->random_ns[w], "ns");
        if (keys[w][1])
            add(text, size, keys[w][1], m->step_ns[w], "ns");
        size_t at = strlen(text);
        char first[24] = "never", again[24] = "never";
        if (m->first[w])
            snprintf(first, sizeof first, "%" PRIu64, m->first[w]);
        if (m->again[w])
            snprintf(again, sizeof again, "%" PRIu64, m->again[w]);
        snprintf(text + at, size - at, "%s = %" PRIu64 "ns,first:%s,%s:%s\n", keys[w][2],
                 m->spike_ns[w], first, keys[w][3], again);
    }
}

static struct fe_device *make_device(const char *text)
{
    struct fe_device_options opt = {.seed = 1, .payload = true};
    struct fe_profile p;
    struct fe_device *dev = NULL;
    struct fe_err err;
    fe_err_init(&err);
    if (fe_profile_parse(&p, "step.ini", text, strlen(text), NULL, 0, &err) < 0 ||
        fe_device_create(&dev, &p, &opt, &err) < 0)
        fail_msg("%s\n%s", err.text, text);
    fe_profile_fini(&p);
    return dev;
}

static uint64_t submit(struct fe_device *dev, uint64_t now, bool write, uint64_t offset,
                       uint64_t len, void *buf)
{
    struct fe_request req = {.type = write ? FE_REQ_WRITE : FE_REQ_READ, .offset = offset,
                             .len = len, .buf = buf};
    struct fe_reply reply;
    assert_int_equal(fe_device_submit(dev, now, &req, &reply), 0);
    assert_int_equal(reply.status, FE_OK);
    return reply.complete_ns - reply.arrival_ns;
}

static struct model random_model(struct ft_rand *r)
{
    static const uint64_t few[] = {0, 1, 2, 7};
    struct model m = {.random_ns = {0}};
    for (int w = 0; w < 2; w++) {
        m.random_ns[w] = ft_chance(r, 10) ? 0 : ft_below(r, 20000000);
        m.step_ns[w] = w == 0 || ft_chance(r, 20) ? 0 : ft_below(r, 300000);
        m.spike_ns[w] = ft_chance(r, 20) ? 0 : ft_below(r, 5000000);
        m.first[w] = ft_chance(r, 10) ? 0 : ft_between(r, 2, ft_chance(r, 50) ? 9 : 300);
        m.again[w] = ft_chance(r, 30) ? few[ft_below(r, 4)] : ft_between(r, 1, 400);
    }
    return m;
}

struct host {
    struct fe_device *dev;
    struct model m;
    uint64_t capacity, max_transfer, now;
    uint8_t *bytes, *buf;
    uint64_t ends[4];
};

/* Chooses a range: where one of some streams goes on, or anywhere. */
static void choose(struct host *h, struct ft_rand *r, uint64_t *offset, uint64_t *len)
{
    uint64_t sectors = h->capacity / SECTOR, *end = &h->ends[ft_below(r, 4)];
    *offset = ft_chance(r, 75) ? *end : ft_below(r, sectors) * SECTOR;
    *len = ft_between(r, 1, ft_chance(r, 20) ? 600 : 12) * SECTOR;
    if (*offset >= h->capacity)
        *offset = 0;
    if (*len > h->capacity - *offset)
        *len = h->capacity - *offset;
    *end = *offset + *len;
}

static void run_requests(struct host *h, struct ft_rand *r, uint64_t seed)
{
    for (int i = 0; i < 250; i++) {
        uint64_t offset, len, want = 0;
        bool write = ft_chance(r, 50);
        choose(h, r, &offset, &len);
        for (uint64_t at = 0; at < len; at += h->max_transfer)
            want += command_ns(&h->m, write, offset + at, fe_min_u64(h->max_transfer, len - at));
        if (write) {
            ft_fill(r, h->bytes + offset, len);
            memcpy(h->buf, h->bytes + offset, len);
        }
        uint64_t got = submit(h->dev, h->now, write, offset, len, h->buf);
        if (got != want)
            fail_msg("seed %" PRIu64 ", request %d: %s of %" PRIu64 "+%" PRIu64 " takes %" PRIu64
                     " ns, published %" PRIu64, seed, i, write ? "write" : "read", offset, len, got,
                     want);
        if (memcmp(h->buf, h->bytes + offset, len) != 0)
            fail_msg("seed %" PRIu64 ", request %d: bytes differ", seed, i);
        h->now += got + (ft_chance(r, 30) ? ft_below(r, 1000000) : 0);
    }
}

static void run_case(uint64_t seed)
{
    struct ft_rand r = {.seed = seed};
    struct host h = {.m = random_model(&r), .capacity = ft_between(&r, 1, 9000) * SECTOR};
    struct fe_stats stats;
    struct fe_err err;
    char text[1200];
    h.max_transfer = SECTOR * (ft_chance(&r, 50) ? 65536 : ft_between(&r, 1, 240));
    write_profile(&h.m, h.capacity, h.max_transfer, text, sizeof text);
    h.dev = make_device(text);
    h.bytes = calloc(1, h.capacity);
    h.buf = malloc(h.capacity);
    assert_true(h.bytes && h.buf);
    assert_int_equal(fe_device_capacity(h.dev), h.capacity);
    run_requests(&h, &r, seed);
    fe_err_init(&err);
    if (fe_device_check(h.dev, &err) < 0)
        fail_msg("seed %" PRIu64 ": %s", seed, err.text);
    fe_device_get_stats(h.dev, &stats);
    assert_int_equal(stats.nand.bytes_programmed + stats.nand.page_reads, 0);
    assert_int_equal(stats.wear.max, 0);
    free(h.bytes);
    free(h.buf);
    fe_device_destroy(h.dev);
}

static uint64_t only_seed;

static void test_oracle_step_every_request_as_published(void **state)
{
    (void)state;
    const char *env = getenv("FLASHEMU_LONG");
    uint64_t n = env && strcmp(env, "1") == 0 ? 2000 : 200;
    if (only_seed) {
        run_case(only_seed);
        return;
    }
    for (uint64_t seed = 1; seed <= n; seed++)
        run_case(seed);
}

/* The stick of 32 MB: the defaults, and numbers of the size that its curves have. */
#define STICK                                                                                      \
    "[device]\ncapacity = 32M\n[ftl]\ntype = step\n[step]\n"                                       \
    "read_random = 9ms\nread_spike = 5ms\nwrite_random = 30ms\nwrite_step = 600us\n"               \
    "write_spike = 40ms\n"

/* dd from offset 0, with growing amounts.  Each dd begins as a new run. */
static void test_oracle_step_curves_of_dd(void **state)
{
    (void)state;
    static const uint64_t stairs[] = {32, 96, 224, 480, 736, 992, 1248, UINT64_MAX};
    struct fe_device *dev = make_device(STICK);
    uint64_t steps = 0, ms = FE_NS_PER_MS;
    for (uint64_t n = 1; n <= 1400; n += n < 500 ? 1 : 31) {
        while (stairs[steps] <= n)
            steps++;
        uint64_t reads = 0, writes = 0, spikes = n < 195 ? 0 : 1 + (n - 195) / 256;
        for (uint64_t at = 0; at < n; at += 8) {
            uint64_t len = fe_min_u64(8, n - at) * SECTOR;
            reads += submit(dev, fe_device_now(dev), false, at * SECTOR, len, NULL);
            writes += submit(dev, fe_device_now(dev), true, at * SECTOR, len, NULL);
        }
        assert_int_equal(reads, 9 * ms + steps * 5 * ms);
        uint64_t line = (n - 1) * 600 * FE_NS_PER_US + spikes * 40 * ms;
        assert_int_equal(writes, fe_max_u64(30 * ms, line));
        /* the next dd begins a new run */
        submit(dev, fe_device_now(dev), false, 65530 * SECTOR, SECTOR, NULL);
        submit(dev, fe_device_now(dev), true, 65530 * SECTOR, SECTOR, NULL);
    }
    fe_device_destroy(dev);
}

static int parse(struct fe_profile *p, const char *text, const char *override, struct fe_err *err)
{
    fe_err_init(err);
    return fe_profile_parse(p, "step.ini", text, strlen(text), &override, override != NULL, err);
}

/* A profile needs no chip, and when it is printed it still has none. */
static void test_oracle_step_profile_needs_no_chip(void **state)
{
    (void)state;
    struct fe_profile p, again;
    struct fe_err err;
    char *text = NULL, *text2 = NULL;
    size_t len;
    if (parse(&p, STICK, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(p.nand.page_size, 4096);
    assert_int_equal(p.nand.tPROG_ns[2] + p.nand.tR_ns[1] + p.nand.tBERS_ns, 0);
    assert_int_equal(p.ftl.step.read.first, 32);
    assert_int_equal(p.ftl.step.write.first, 195);
    FILE *out = open_memstream(&text, &len);
    assert_true(out && fe_profile_print(&p, out, &err) == 0 && fclose(out) == 0);
    if (parse(&again, text, NULL, &err) < 0)
        fail_msg("%s\n%s", err.text, text);
    out = open_memstream(&text2, &len);
    assert_true(out && fe_profile_print(&again, out, &err) == 0 && fclose(out) == 0);
    assert_string_equal(text, text2);
    assert_memory_equal(&p.ftl, &again.ftl, sizeof p.ftl);
    free(text);
    free(text2);
    fe_profile_fini(&p);
    fe_profile_fini(&again);
}

static void expect_bad(const char *text, const char *override, const char *says)
{
    struct fe_profile p;
    struct fe_err err;
    assert_int_equal(parse(&p, text, override, &err), -EINVAL);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void test_oracle_step_profile_says_what_is_missing(void **state)
{
    (void)state;
    expect_bad(STICK, "ftl.type=page", "nand.cell is missing");
    expect_bad("[ftl]\ntype = step\n", NULL,
               "nand.blocks_per_plane is missing (it follows if device.capacity is given)");
    expect_bad(STICK, "step.read_spike=first:1", "it can be 2 to ");
    expect_bad(STICK, "step.readspike=3", "did you mean step.read_spike?");
    struct fe_profile p;
    struct fe_err err;
    if (parse(&p, STICK, "nand.page_size=2K", &err) < 0) /* a chip that is given counts */
        fail_msg("%s", err.text);
    assert_int_equal(p.nand.page_size, 2048);
    assert_int_equal(fe_profile_set(&p, "step.read_random", "3ms", &err), 0);
    assert_int_equal(p.ftl.step.read.random_ns, 3000000);
    fe_profile_fini(&p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle_step_every_request_as_published),
        cmocka_unit_test(test_oracle_step_curves_of_dd),
        cmocka_unit_test(test_oracle_step_profile_needs_no_chip),
        cmocka_unit_test(test_oracle_step_profile_says_what_is_missing),
    };
    if (argc > 1)
        only_seed = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
