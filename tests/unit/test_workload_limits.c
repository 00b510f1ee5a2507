/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Patterns with the largest values that each option takes, alone and in pairs: no sum and no
 * product of sizes, counts and times wraps.
 */
#include "test_workload.h"

#include "workload/pattern.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns_take_the_largest_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
