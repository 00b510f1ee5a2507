/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Patterns: where they go, how often, and what they refuse.
 *
 * The random ones have a fixed seed, so a chi-square value is a constant of the program;
 * the limits are the quantiles that a right generator stays below for most seeds.
 */
#include "test_workload.h"

#include "workload/lfsr.h"
#include "workload/pattern_impl.h"
#include "workload/zipf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static struct fe_pattern *create(const char *spec, uint64_t capacity)
{
    const struct fe_pattern_env env = {.capacity = capacity};
    struct fe_pattern *p = NULL;
    struct fe_err err;

    fe_err_init(&err);
    if (fe_pattern_create(&p, spec, NULL, 0, &env, &err) != 0)
        fail_msg("%s: %s", spec, err.text);
    return p;
}

/* All records of a short pattern. */
static uint32_t all(const char *spec, uint64_t capacity, struct fe_trace_rec *recs, uint32_t max)
{
    struct fe_pattern *p = create(spec, capacity);
    uint32_t n = fe_pattern_next(p, recs, max);

    assert_int_equal(fe_pattern_next(p, recs + n, max - n), 0);
    if (fe_pattern_count(p) != UINT64_MAX)
        assert_in_range(n, 0, fe_pattern_count(p));
    fe_pattern_destroy(p);
    return n;
}

static void check_offsets(const char *spec, uint64_t unit, const int *expected, uint32_t n)
{
    struct fe_trace_rec recs[64];
    assert_int_equal(all(spec, 0, recs, 64), n);
    for (uint32_t i = 0; i < n; i++)
        if (recs[i].offset != (uint64_t)expected[i] * unit)
            fail_msg("%s: record %u goes to %llu", spec, i, (unsigned long long)recs[i].offset);
}

/* --- all of them --- */

static void test_every_pattern_stays_inside_and_repeats(void **state)
{
    enum { N = 20000 };
    const uint64_t capacity = 1003u << 20;
    static struct fe_trace_rec once[N], again[N];
    const struct fe_pattern_kind *kind;
    (void)state;
    for (unsigned i = 0; (kind = fe_pattern_kind_at(i)) != NULL; i++) {
        const char *name = kind->name;
        struct fe_pattern *p = create(name, capacity), *q = create(name, capacity);
        uint32_t n = fe_pattern_next(p, once, N), m = 0, got;
        while (m < n && (got = fe_pattern_next(q, again + m, 1 + m % 7 < n - m ? 1 + m % 7
                                                                             : n - m)) > 0)
            m += got;
        assert_true(n > 0);
        assert_int_equal(n, m);
        for (uint32_t k = 0; k < n; k++) {
            check_same(&once[k], &again[k]);
            assert_int_equal(once[k].line, k + 1);
            assert_int_equal((once[k].offset | once[k].len) % 512, 0);
            if (once[k].len == 0 || once[k].offset + once[k].len > capacity)
                fail_msg("%s: record %u leaves the device", name, k);
        }
        fe_pattern_destroy(p);
        fe_pattern_destroy(q);
    }
}

static void test_common_options(void **state)
{
    struct fe_trace_rec r[16];
    (void)state;
    assert_int_equal(all("sequential,op=write,count=4,fua=yes,flush=2,think=1us,interval=1ms,"
                         "offset=8K,bs=1K", 0, r, 16), 6);
    static const uint8_t types[] = {FE_REQ_WRITE, FE_REQ_WRITE, FE_REQ_FLUSH,
                                    FE_REQ_WRITE, FE_REQ_WRITE, FE_REQ_FLUSH};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(r[i].type, types[i]);
        assert_int_equal(r[i].fua, types[i] == FE_REQ_WRITE);
        assert_int_equal(r[i].think_ns, 1000);
        assert_int_equal(r[i].time_ns, 1000u * (i + 1) + 1000000u * i);
    }
    assert_int_equal(r[0].offset, 8192);
    assert_int_equal(r[3].offset, 8192 + 2048);
}

static void test_reads_share(void **state)
{
    struct fe_trace_rec recs[1000];
    struct fe_pattern *p = create("random,op=write,reads=30%,count=100000", 0);
    uint32_t n, reads = 0;
    (void)state;
    while ((n = fe_pattern_next(p, recs, 1000)) > 0)
        for (uint32_t i = 0; i < n; i++)
            reads += recs[i].type == FE_REQ_READ;
    fe_pattern_destroy(p);
    assert_in_range(reads, 29600, 30400); /* 2.7 sigma */
}

static void test_mistakes_are_named(void **state)
{
    static const char *const cases[][2] = {
        {"", "there is no pattern ''"},
        {"nope", "there is no pattern 'nope'; known: sequential random "},
        {"random,foo=1", "pattern random has no option 'foo'; flashemu gen random --options "},
        {"random,theta=1", "no option 'theta'"},
        {"random,", "no option ''"},
        {"random,bs", "expected bs="},
        {"random,bs=", "expected bs="},
        {"random,bs=4X", "bs=4X: expected bs=a size"},
        {"random,bs=0", "allowed is 1 to"},
        {"random,bs=2G", "allowed is 1 to"},
        {"random,bs=1000", "bs=1000 must be a multiple of the sector size 512"},
        {"random,size=1000", "size=1000 must be a multiple"},
        {"random,offset=1", "offset=1 must be a multiple"},
        {"random,size=1K", "bs=4096 is larger than size=1024"},
        {"random,bs=4K,bs=8K", "given twice"},
        {"random,op=erase", "op=read|write|trim"},
        {"random,fua=maybe", "yes or no"},
        {"random,reads=130%", "a share"},
        {"random,reads=30", "a share"},
        {"random,count=0", "allowed is 1"},
        {"random,think=5", "a time"},
        {"random,size=9223372036854775807", "must be a multiple"},
        {"random,offset=8388607T,size=8388607T", "end behind"},
        {"zipf,theta=11", "allowed is"},
        {"zipf,theta=-1", "a number such as"},
        {"zipf,theta=0.0000001", "a number such as"},
        {"random,reads=100.0001%", "a share"},
        {"hotcold,size=4K", "at least 2 blocks"},
        {"uflip-alignment,shift=100", "multiple of the sector size"},
        {"uflip-alignment,size=32K,shift=512", "no room"},
        {"uflip-partitioning,size=64K,partitions=3", "only 2 blocks"},
        {"uflip-order,incr=2000000000", "-2^30"},
        {"flashbench-open-au,erasesize=3M,bs=16K", "power of two"},
        {"flashbench-open-au,size=1M", "must fit the device"},
        {"flashbench-open-au,erasesize=64M,bs=512,random=yes", "65535 chunks"},
        {"flashbench-align,bs=512", "half of it"},
        {"flashbench-scatter,scatter-order=7", "allowed is 8 to 16"},
        {"fat-append,cluster=3K", "powers of two"},
        {"fat-append,bs=48K", "bs must divide"},
        {"fat-append,sync=33K", "multiple of bs"},
        {"fat-append,files=1024", "do not fit"},
        {"fat-append,size=4M", "cannot reach"},
    };
    const struct fe_pattern_env env = {0};
    (void)state;
    for (size_t i = 0; i < ft_array_len(cases); i++) {
        struct fe_pattern *p;
        struct fe_err err;
        fe_err_init(&err);
        if (fe_pattern_create(&p, cases[i][0], NULL, 0, &env, &err) != -EINVAL)
            fail_msg("'%s' is taken", cases[i][0]);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("'%s': '%s' has no '%s'", cases[i][0], err.text, cases[i][1]);
    }
}

static void test_region_follows_the_capacity(void **state)
{
    const struct fe_pattern_env env = {.capacity = 1 << 20, .sector_size = 4096};
    const char *past[] = {"offset=1M"}, *over[] = {"offset=512K", "size=516K"};
    struct fe_trace_rec recs[512];
    struct fe_pattern *p;
    struct fe_err err;
    (void)state;
    fe_err_init(&err);
    assert_int_equal(fe_pattern_create(&p, "sequential", past, 1, &env, &err), -EINVAL);
    fe_err_init(&err);
    assert_int_equal(fe_pattern_create(&p, "sequential", over, 2, &env, &err), -EINVAL);
    assert_int_equal(fe_pattern_create(&p, "sequential", over, 1, &env, NULL), 0);
    assert_int_equal(fe_pattern_next(p, recs, 512), 128);
    assert_int_equal(recs[127].offset, (1 << 20) - 4096);
    fe_pattern_destroy(p);
}

/* --- distributions --- */

/* Counts of requests to each of n_blocks blocks of 4K. */
static void count_blocks(const char *spec, double *counts, uint32_t n_blocks)
{
    struct fe_trace_rec recs[1000];
    struct fe_pattern *p = create(spec, (uint64_t)n_blocks * 4096);
    uint32_t n;

    memset(counts, 0, n_blocks * sizeof *counts);
    while ((n = fe_pattern_next(p, recs, 1000)) > 0)
        for (uint32_t i = 0; i < n; i++) {
            assert_in_range(recs[i].offset / 4096, 0, n_blocks - 1);
            counts[recs[i].offset / 4096]++;
        }
    fe_pattern_destroy(p);
}

static double chi_square(const double *counts, const double *expected, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
    return sum;
}

/* Mean n, standard deviation sqrt(2 n) for n degrees of freedom: within 3 sigma. */
static void check_chi_square(const double *counts, const double *expected, uint32_t n)
{
    double chi = chi_square(counts, expected, n), free = n - 1;
    if (fabs(chi - free) > 3 * sqrt(2 * free))
        fail_msg("chi-square %g for %g degrees of freedom", chi, free);
}

static void test_random_is_uniform(void **state)
{
    double counts[1000], expected[1000];
    (void)state;
    for (int i = 0; i < 1000; i++)
        expected[i] = 1000;
    count_blocks("random,count=1000000", counts, 1000);
    check_chi_square(counts, expected, 1000);
    count_blocks("zipf,theta=0,count=1000000", counts, 1000);
    check_chi_square(counts, expected, 1000);
}

static void test_hotcold_has_its_shares(void **state)
{
    double counts[1000], expected[1000];
    (void)state;
    for (int i = 0; i < 1000; i++)
        expected[i] = i < 200 ? 800000.0 / 200 : 200000.0 / 800;
    count_blocks("hotcold,count=1000000", counts, 1000);
    check_chi_square(counts, expected, 1000);
    for (int i = 0; i < 1000; i++)
        expected[i] = i < 500 ? 600000.0 / 500 : 400000.0 / 500;
    count_blocks("hotcold,share=60%,fraction=50%,count=1000000", counts, 1000);
    check_chi_square(counts, expected, 1000);
}

static void test_zipf_is_exact(void **state)
{
    static const char *const thetas[] = {"0.5", "0.99", "1", "1.2", "3"};
    double counts[100], expected[100], sum;
    char spec[64];
    (void)state;
    for (size_t t = 0; t < ft_array_len(thetas); t++) {
        sum = 0;
        for (int k = 0; k < 100; k++)
            sum += expected[k] = pow(k + 1, -atof(thetas[t]));
        for (int k = 0; k < 100; k++)
            expected[k] *= 1e6 / sum;
        snprintf(spec, sizeof spec, "zipf,scatter=no,theta=%s,count=1000000", thetas[t]);
        count_blocks(spec, counts, 100);
        /* Ranks that are too rare for chi-square count as one. */
        int n = 100;
        for (; expected[n - 1] < 20; n--) {
            expected[n - 2] += expected[n - 1];
            counts[n - 2] += counts[n - 1];
        }
        check_chi_square(counts, expected, (uint32_t)n);
    }
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void test_zipf_scatter_only_moves_the_ranks(void **state)
{
    double in_order[97], scattered[97];
    (void)state;
    count_blocks("zipf,scatter=no,count=100000", in_order, 97);
    count_blocks("zipf,scatter=yes,count=100000", scattered, 97);
    assert_true(scattered[0] != in_order[0]);
    qsort(in_order, 97, sizeof *in_order, descending);
    qsort(scattered, 97, sizeof *scattered, descending);
    assert_memory_equal(in_order, scattered, sizeof in_order);
}

static uint64_t high_and_low(const void *ctx, uint64_t i)
{
    (void)i;
    return *(const uint64_t *)ctx;
}

static void test_zipf_ends_of_the_draw(void **state)
{
    uint64_t low = 0, high = UINT64_MAX;
    struct fe_zipf z;
    (void)state;
    for (uint64_t n = 1; n <= UINT64_C(1) << 40; n *= 4) {
        fe_zipf_init(&z, n, 1);
        assert_int_equal(fe_zipf_sample(&z, high_and_low, &high), 0);
        assert_in_range(fe_zipf_sample(&z, high_and_low, &low), n - 1 - n / 1000, n - 1);
    }
}

/* --- uFLIP --- */

static void test_uflip_orders(void **state)
{
    static const int reverse[] = {0, 3, 2, 1, 0, 3}, in_place[] = {0, 0, 0},
                     gaps[] = {0, 3, 2, 1, 0}, parts[] = {0, 4, 1, 5, 2, 6, 3, 7, 0},
                     shifted[] = {1, 9, 17, 1};
    (void)state;
    check_offsets("uflip-order,size=128K,count=6", 32768, reverse, 6);
    check_offsets("uflip-order,size=128K,incr=0,count=3", 32768, in_place, 3);
    check_offsets("uflip-order,size=128K,incr=3,count=5", 32768, gaps, 5);
    check_offsets("uflip-partitioning,size=256K,partitions=2,count=9", 32768, parts, 9);
    check_offsets("uflip-alignment,base=sw,bs=4K,size=16K,shift=512,count=4", 512, shifted, 4);
}

static void test_uflip_mix_has_its_ratio(void **state)
{
    struct fe_trace_rec r[16];
    static const int offsets[] = {4, 0, 1, 2, 5, 3, 0, 1, 6};
    (void)state;
    assert_int_equal(all("uflip-mix,size=256K,ratio=3,count=9", 0, r, 16), 9);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(r[i].type, i % 4 == 0 ? FE_REQ_READ : FE_REQ_WRITE);
        assert_int_equal(r[i].stream, i % 4 == 0 ? 2 : 1);
        assert_int_equal(r[i].offset, offsets[i] * 32768);
    }
}

static void test_uflip_parallel_processes_have_their_own_parts(void **state)
{
    struct fe_trace_rec r[400];
    (void)state;
    assert_int_equal(all("uflip-parallelism,parallel=4,size=4M,count=400", 0, r, 400), 400);
    for (int i = 0; i < 400; i++) {
        assert_int_equal(r[i].stream, i % 4 + 1);
        assert_int_equal(r[i].offset >> 20, i % 4);
        assert_int_equal(r[i].depth, 4);
    }
}

static void test_uflip_pauses(void **state)
{
    struct fe_trace_rec r[16];
    (void)state;
    assert_int_equal(all("uflip-pause,count=4,pause=2ms", 0, r, 16), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(r[i].think_ns, i ? 2000000 : 0);
    assert_int_equal(all("uflip-burst,count=9,burst=3", 0, r, 16), 9);
    for (int i = 0; i < 9; i++)
        assert_int_equal(r[i].think_ns, i && i % 3 == 0 ? 100000000 : 0);
    assert_int_equal(r[8].time_ns, 200000000);
}

/* --- flashbench --- */

static void test_lfsr_visits_every_number_once(void **state)
{
    static uint8_t seen[1 << FE_LFSR_MAX_BITS];
    (void)state;
    for (unsigned bits = FE_LFSR_MIN_BITS; bits <= FE_LFSR_MAX_BITS; bits++) {
        uint32_t v = 0, n = 1u << bits;
        memset(seen, 0, sizeof seen);
        for (uint32_t i = 0; i < n; i++) {
            v = fe_lfsr_next(v, bits);
            assert_true(v < n);
            assert_int_equal(seen[v]++, 0);
        }
        assert_int_equal(v, 0);
    }
    assert_int_equal(fe_lfsr_bits(1), 8);
    assert_int_equal(fe_lfsr_bits(255), 8);
    assert_int_equal(fe_lfsr_bits(256), 9);
}

/* What flashbench itself writes, in units of 16K. */
static void test_flashbench_open_au_order(void **state)
{
    static const int linear[] = {1120, 1072, 1024, 1120, 1072, 1024, 1122, 1074, 1026};
    static const int random[] = {1072, 1024, 1074, 1026, 1072, 1024, 1074,
                                 1026, 1073, 1025, 1075, 1027, 1072, 1024};
    (void)state;
    check_offsets("flashbench-open-au,open-au-nr=3,erasesize=64K,bs=32K", 16384, linear, 9);
    check_offsets("flashbench-open-au,open-au-nr=2,erasesize=64K,bs=16K,random=yes", 16384,
                  random, 14);
}

static void test_flashbench_find_fat_order(void **state)
{
    static const int order[] = {0, 4, 0, 2, 4, 6, 0, 1, 2, 3, 4, 5, 6, 7};
    (void)state;
    check_offsets("flashbench-find-fat,fat-nr=2,erasesize=64K,bs=16K", 16384, order, 14);
}

static void test_flashbench_align_reads_around_powers_of_two(void **state)
{
    static struct fe_trace_rec r[1000];
    const uint64_t size = 15 << 20; /* 7 x 2M < 15M: largest alignment 4M */
    uint32_t n = all("flashbench-align,bs=1M,rounds=1", size, r, 1000), i = 0;
    (void)state;
    for (uint64_t align = 4 << 20; align >= 2 << 20; align /= 2)
        for (int place = 0; place < 3; place++)
            for (uint64_t k = 0; k < 7; k++) {
                uint64_t at = align - (place == 0 ? 1 << 20 : place == 1 ? 1 << 19 : 0);
                at = (at + k * (4 << 20)) % size;
                uint64_t first = at + (1 << 20) > size ? size - at : 1 << 20;
                assert_int_equal(r[i].offset, at);
                assert_int_equal(r[i++].len, first);
                if (first < 1 << 20) {
                    assert_int_equal(r[i].offset, 0);
                    assert_int_equal(r[i++].len, (1 << 20) - first);
                }
            }
    assert_int_equal(i, n);
    /* 7 x 2M = 14M: largest alignment 2M */
    (void)all("flashbench-align,bs=1M,rounds=1", 14 << 20, r, 1000);
    assert_int_equal(r[0].offset, 1 << 20);
    assert_int_equal(r[1].offset, 3 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_stays_inside_and_repeats),
        cmocka_unit_test(test_common_options),
        cmocka_unit_test(test_reads_share),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_region_follows_the_capacity),
        cmocka_unit_test(test_random_is_uniform),
        cmocka_unit_test(test_hotcold_has_its_shares),
        cmocka_unit_test(test_zipf_is_exact),
        cmocka_unit_test(test_zipf_scatter_only_moves_the_ranks),
        cmocka_unit_test(test_zipf_ends_of_the_draw),
        cmocka_unit_test(test_uflip_orders),
        cmocka_unit_test(test_uflip_mix_has_its_ratio),
        cmocka_unit_test(test_uflip_parallel_processes_have_their_own_parts),
        cmocka_unit_test(test_uflip_pauses),
        cmocka_unit_test(test_lfsr_visits_every_number_once),
        cmocka_unit_test(test_flashbench_open_au_order),
        cmocka_unit_test(test_flashbench_find_fat_order),
        cmocka_unit_test(test_flashbench_align_reads_around_powers_of_two),
    };
    return cmocka_run_group_tests_name("workload_pattern", tests, NULL, NULL);
}
