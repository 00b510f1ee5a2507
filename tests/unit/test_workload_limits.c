/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Patterns with the largest values that each option takes, alone and in pairs: no sum and no
 * product of sizes, counts and times wraps.  And which values each option takes.
 */
#include "test_workload.h"

#include "workload/pattern_impl.h"

#include <stdio.h>
#include <string.h>

enum { RECORDS = 300, MAX_KEYS = 40 };

/* Larger ones first: the first one that an option takes is its largest, or close to it. */
static const char *const values[] = {
    "18446744073709551615ns", "18446744073709551615", "9223372036854775807", "4611686018427387904",
    "1073741824", "1048576", "100%", "99.9999%", "65536", "65535", "1024", "16", "10", "yes", NULL};

/* The names of a pattern's options, from its help.  Returns their number. */
static unsigned keys_of(const char *kind, char (*keys)[24])
{
    char *text = NULL, *line, *save;
    size_t size = 0;
    unsigned n = 0;
    FILE *f = open_memstream(&text, &size);

    assert_int_equal(fe_pattern_help(f, kind, NULL), 0);
    fclose(f);
    strtok_r(text, "\n", &save);
    while ((line = strtok_r(NULL, "\n", &save)) != NULL && n < MAX_KEYS) {
        line += strspn(line, " ");
        snprintf(keys[n++], sizeof keys[0], "%.*s", (int)strcspn(line, "="), line);
    }
    free(text);
    return n;
}

/* Creates the pattern with these options; false if it refuses them. */
static bool create(struct fe_pattern **ret, const char *kind, const char *const *options,
                   unsigned n)
{
    const struct fe_pattern_env env = {.sector_size = 512,
                                       .capacity = FE_TRACE_MAX_END / 512 * 512};
    struct fe_err err = {""};
    int r = fe_pattern_create(ret, kind, options, n, &env, &err);
    assert_true(r == 0 || (r == -EINVAL && err.text[0]) || r == -ENOMEM);
    return r == 0;
}

/* The largest value that the option takes besides those of options[0..n); false if there is
 * none. */
static bool find_largest(const char *kind, const char **options, unsigned n, const char *key,
                         char *buf, size_t size)
{
    struct fe_pattern *p;

    for (const char *const *v = values; *v; v++) {
        snprintf(buf, size, "%.23s=%s", key, *v);
        options[n] = buf;
        if (create(&p, kind, options, n + 1)) {
            fe_pattern_destroy(p);
            return true;
        }
    }
    return false;
}

static void check_records(const char *kind, const char *const *options, unsigned n)
{
    struct fe_trace_rec recs[RECORDS];
    struct fe_pattern *p;
    uint64_t before_ns = 0, end;

    if (!create(&p, kind, options, n))
        return;
    uint32_t got = fe_pattern_next(p, recs, RECORDS);
    for (uint32_t i = 0; i < got; i++) {
        bool good = recs[i].time_ns >= before_ns;
        before_ns = recs[i].time_ns;
        if (recs[i].type != FE_REQ_FLUSH)
            good = good && recs[i].len > 0 &&
                   !__builtin_add_overflow(recs[i].offset, recs[i].len, &end) &&
                   end <= FE_TRACE_MAX_END && recs[i].offset % 512 == 0;
        if (!good)
            fail_msg("%s %s %s: record %u: %llu ns, %llu + %llu", kind, options[0],
                     n > 1 ? options[1] : "", i, (unsigned long long)recs[i].time_ns,
                     (unsigned long long)recs[i].offset, (unsigned long long)recs[i].len);
    }
    fe_pattern_destroy(p);
}

static void test_patterns_take_the_largest_values(void **state)
{
    char keys[MAX_KEYS][24], first[64], second[64], *save;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    (void)state;
    assert_int_equal(fe_pattern_help(f, NULL, NULL), 0);
    fclose(f);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        line[strcspn(line, " ")] = '\0';
        unsigned n = keys_of(line, keys);
        const char *options[2];
        for (unsigned i = 0; i < n; i++) {
            if (!find_largest(line, options, 0, keys[i], first, sizeof first))
                continue;
            check_records(line, options, 1);
            for (unsigned k = 0; k < n; k++) {
                if (k == i || !find_largest(line, options, 1, keys[k], second, sizeof second))
                    continue;
                check_records(line, options, 2);
            }
        }
    }
    free(text);
}

/* The least and the largest value that each option takes, and what it refuses next to them. */
static const char *const limits[][4] = {
    {"bs", "1", "1G", "0 1073741825"},
    {"size", "1", "9223372036854775807", "0 9223372036854775808"},
    {"offset", "0", "9223372036854775807", "9223372036854775808"},
    {"count", "1", "18446744073709551615", "0"},
    {"seed", "0", "18446744073709551615", ""},
    {"reads", "0%", "100%", "100.0001%"},
    {"flush", "0", "18446744073709551615", ""},
    {"think", "0", "18446744073709551615ns", ""},
    {"interval", "0", "18446744073709551615ns", ""},
    {"theta", "0", "10", "10.000001"},
    {"share", "0%", "100%", "100.0001%"},
    {"fraction", "0.0001%", "99.9999%", "0% 100%"},
    {"shift", "0", "1G", "1073741825"},
    {"partitions", "1", "1048576", "0 1048577"},
    {"incr", "-1073741824", "1073741824", "-1073741825 1073741825"},
    {"parallel", "1", "65536", "0 65537"},
    {"ratio", "1", "1048576", "0 1048577"},
    {"pause", "0", "18446744073709551615ns", ""},
    {"burst", "1", "18446744073709551615", "0"},
    {"erasesize", "1", "1G", "0 1073741825"},
    {"open-au-nr", "1", "65535", "0 65536"},
    {"fat-nr", "1", "65535", "0 65536"},
    {"scatter-order", "8", "16", "7 17"},
    {"scatter-span", "1", "1024", "0 1025"},
    {"rounds", "1", "1048576", "0 1048577"},
    {"cluster", "512", "1M", "511 1048577"},
    {"start", "0", "9223372036854775807", "9223372036854775808"},
    {"align", "512", "1G", "511 1073741825"},
    {"sync", "1", "9223372036854775807", "0 9223372036854775808"},
    {"files", "1", "1024", "0 1025"},
    {"meta", "1", "1M", "0 1048577"},
};

static bool takes(const char *key, const char *value)
{
    static const struct fe_pattern_kind all = {.name = "all", .keys = UINT64_MAX};
    struct fe_pattern_values o = {.given = 0};
    char text[64];
    int len = snprintf(text, sizeof text, "%s=%s", key, value);
    return fe_pattern_set(&all, &o, text, (size_t)len, NULL) == 0;
}

static void test_the_limits_of_each_option(void **state)
{
    unsigned n = 0, with_words = 0;
    (void)state;
    for (; n < ft_array_len(limits); n++) {
        char refused[64], *save;
        for (int i = 1; i <= 2; i++)
            if (!takes(limits[n][0], limits[n][i]))
                fail_msg("%s=%s is refused", limits[n][0], limits[n][i]);
        snprintf(refused, sizeof refused, "%s", limits[n][3]);
        for (char *v = strtok_r(refused, " ", &save); v; v = strtok_r(NULL, " ", &save))
            if (takes(limits[n][0], v))
                fail_msg("%s=%s is taken", limits[n][0], v);
    }
    for (const char *const *w = (const char *const[]){"op", "fua", "scatter", "base", "base2",
                                                      "random", "layout", "fsinfo", NULL}; *w; w++)
        with_words += !takes(*w, "1");
    assert_int_equal(n + with_words, FE_N_PATTERN_KEYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns_take_the_largest_values),
                                       cmocka_unit_test(test_the_limits_of_each_option)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
