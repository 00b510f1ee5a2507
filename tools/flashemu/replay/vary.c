/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The number of a run has a digit for each factor, in a mixed base: the base of a digit is the
 * number of levels.
 */
#include "replay/vary.h"

#include "tool.h"

#include "base/quantity.h"
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int vary_add(struct vary *v, const char *key, const char *const *levels, uint32_t n,
             struct fe_err *err)
{
    struct factor *more = fe_table_grow(v->factors, v->n + 1, &v->room, sizeof *more);
    if (!more)
        return fe_err_nomem(err, "what is varied", (v->n + 1) * sizeof *more);
    v->factors = more;
    const char **copy = calloc(n, sizeof *copy);
    if (!copy)
        return fe_err_nomem(err, "what is varied", n * sizeof *copy);
    memcpy(copy, levels, n * sizeof *copy);
    v->factors[v->n++] = (struct factor){.key = key, .levels = copy, .n = n};
    return 0;
}

/* Cuts "KEY=V1,V2" in text into the key and n levels. */
static void cut(char *text, const char **levels)
{
    char *p = strchr(text, '=');
    for (uint32_t n = 0; p; p = strchr(p, ',')) {
        *p++ = '\0';
        levels[n++] = p;
    }
}

/* A level that stands there twice, or NULL. */
static const char *doubled(const char *const *levels, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(levels[i], levels[k]) == 0)
                return levels[i];
    return NULL;
}

int vary_parse(struct vary *v, const char *text, struct fe_err *err)
{
    const char *equals = strchr(text, '=');
    uint32_t n = 1;
    size_t len = strlen(text);

    if (!equals || equals == text || equals[1] == ',' || equals[1] == '\0' ||
        text[len - 1] == ',' || strstr(equals, ",,"))
        return fe_err_set(err, EINVAL, "--vary %.200s: expected KEY=VALUE,VALUE...", text);
    for (const char *p = equals; (p = strchr(p + 1, ',')) != NULL;)
        n++;
    for (uint32_t i = 0; i < v->n; i++)
        if (strlen(v->factors[i].key) == (size_t)(equals - text) &&
            memcmp(v->factors[i].key, text, (size_t)(equals - text)) == 0)
            return fe_err_set(err, EINVAL, "--vary %.200s: %s is varied twice", text,
                              v->factors[i].key);
    char *copy = strdup(text);
    const char **levels = calloc(n, sizeof *levels);
    if (copy && levels)
        cut(copy, levels);
    const char *twice = copy && levels && n <= VARY_MAX_RUNS ? doubled(levels, n) : NULL;
    int code = !copy || !levels ? fe_err_nomem(err, "what is varied", len + n * sizeof *levels)
               : twice          ? fe_err_set(err, EINVAL, "--vary %.200s: %.80s is given twice", text, twice)
                                : vary_add(v, copy, levels, n, err);
    free(levels);
    if (code < 0)
        free(copy);
    else
        v->factors[v->n - 1].text = copy;
    return code;
}

void vary_fini(struct vary *v)
{
    for (uint32_t i = 0; i < v->n; i++) {
        free(v->factors[i].levels);
        free(v->factors[i].text);
    }
    free(v->factors);
}

int vary_count(const struct vary *v, uint32_t *ret, struct fe_err *err)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < v->n; i++) {
        n *= v->factors[i].n;
        if (n > VARY_MAX_RUNS)
            return fe_err_set(err, EINVAL, "--vary: more than %d combinations", VARY_MAX_RUNS);
    }
    *ret = (uint32_t)n;
    return 0;
}

const char *vary_level(const struct vary *v, uint32_t factor, uint32_t run)
{
    for (uint32_t i = v->n - 1; i > factor; i--)
        run /= v->factors[i].n;
    return v->factors[factor].levels[run % v->factors[factor].n];
}

const char *vary_name(const struct vary *v, uint32_t run, char *buf, size_t len)
{
    buf[0] = '\0';
    for (uint32_t i = 0; i < v->n; i++)
        fe_text_add(buf, len, "%s%s=%s", i ? " " : "", v->factors[i].key, vary_level(v, i, run));
    return buf;
}

/* --- the table --- */

/* Bytes of the host in MB a second of device time. */
static double rate(const json_t *o, const char *path)
{
    double ns = tool_json_number(o, "elapsed_ns", 0);
    return ns > 0 ? tool_json_number(o, path, 0) * 1e3 / ns : 0;
}

static void put_digits(double value, char *buf, size_t len)
{
    char text[FE_ROUNDED_MAX];
    snprintf(buf, len, "%s", fe_digits_text(value, 4, text));
}

static void put_rate(const json_t *o, const char *path, char *buf, size_t len)
{
    put_digits(rate(o, path), buf, len);
}

static void put_reads(const json_t *o, char *buf, size_t len)
{
    put_rate(o, "host.read.bytes", buf, len);
}

static void put_writes(const json_t *o, char *buf, size_t len)
{
    put_rate(o, "host.write.bytes", buf, len);
}

static void put_iops(const json_t *o, char *buf, size_t len)
{
    put_digits(1e6 * (rate(o, "host.read.ops") + rate(o, "host.write.ops") +
                      rate(o, "host.trim.ops")), buf, len);
}

static void put_waf(const json_t *o, char *buf, size_t len)
{
    double waf = tool_json_number(o, "ftl.waf", -1);
    if (waf < 0)
        snprintf(buf, len, "-");
    else
        put_digits(waf, buf, len);
}

static void put_erases(const json_t *o, char *buf, size_t len)
{
    snprintf(buf, len, "%.0f", tool_json_number(o, "nand.block_erases", 0));
}

static void put_time(const json_t *o, char *buf, size_t len)
{
    char text[FE_ROUNDED_MAX];
    snprintf(buf, len, "%s", fe_time_text(tool_json_number(o, "elapsed_ns", 0), text));
}

static void put_score(const json_t *o, char *buf, size_t len)
{
    snprintf(buf, len, "%.4f", tool_json_number(o, "score", 0));
}

static void put_worst_error(const json_t *o, char *buf, size_t len)
{
    snprintf(buf, len, "%.3f", tool_json_number(o, "worst.error", 0));
}

static void put_worst(const json_t *o, char *buf, size_t len)
{
    const json_t *kind = json_object_get(json_object_get(o, "worst"), "kind");
    snprintf(buf, len, "%s", json_is_string(kind) ? json_string_value(kind) : "");
}

/* A negative width: what is wider than others ends the line, and begins at the left. */
struct column {
    const char *head;
    int width;
    void (*put)(const json_t *result, char *buf, size_t len);
};

static const struct column columns[] = {
    {"read MB/s", 10, put_reads}, {"write MB/s", 10, put_writes}, {"IOPS", 10, put_iops},
    {"WAF", 8, put_waf},          {"erases", 10, put_erases},     {"time", 12, put_time},
};

static const struct column columns_against[] = {
    {"score", 9, put_score}, {"error", 8, put_worst_error}, {"worst", -5, put_worst},
};

/* The columns of these results, and how many there are. */
static const struct column *columns_of(json_t *const *results, uint32_t n_runs, int *ret_n)
{
    for (uint32_t run = 0; run < n_runs; run++)
        if (json_object_get(results[run], "score")) {
            *ret_n = sizeof columns_against / sizeof *columns_against;
            return columns_against;
        }
    *ret_n = sizeof columns / sizeof *columns;
    return columns;
}

/* A percentile of a kind of request, for tables in which some run has had such requests. */
static const struct percentile {
    const char *op, *member, *head;
} percentiles[] = {
    {"read", "p99", "read p99"},     {"read", "p999", "read p99.9"},
    {"write", "p99", "write p99"},   {"write", "p999", "write p99.9"},
    {"commit", "p99", "commit p99"}, {"commit", "p999", "commit p99.9"},
};

enum { N_PERCENTILES = sizeof percentiles / sizeof *percentiles, PERCENTILE_WIDTH = 13 };

/* A member of the latencies of such requests; -1 if the run has had none. */
static double latency(const json_t *result, const struct percentile *p)
{
    const json_t *of_op = json_object_get(json_object_get(result, "latency_ns"), p->op);
    return tool_json_number(of_op, "count", 0) > 0 ? tool_json_number(of_op, p->member, -1) : -1;
}

static bool is_known(const struct percentile *p, json_t *const *results, uint32_t n_runs)
{
    for (uint32_t run = 0; run < n_runs; run++)
        if (latency(results[run], p) >= 0)
            return true;
    return false;
}

static void print_percentiles(const json_t *result, json_t *const *results, uint32_t n_runs,
                              FILE *out)
{
    char text[FE_ROUNDED_MAX];

    for (const struct percentile *p = percentiles; p < percentiles + N_PERCENTILES; p++) {
        if (!is_known(p, results, n_runs))
            continue;
        double ns = latency(result, p);
        fprintf(out, " %*s", PERCENTILE_WIDTH, !result ? p->head : ns < 0 ? "-" :
                fe_time_text(ns, text));
    }
}

static int level_width(const struct factor *f)
{
    size_t width = strlen(f->key);

    for (uint32_t i = 0; i < f->n; i++)
        width = strlen(f->levels[i]) > width ? strlen(f->levels[i]) : width;
    return width > 60 ? 60 : (int)width;
}

void vary_print_table(const struct vary *v, json_t *const *results, uint32_t n_runs, FILE *out)
{
    char text[128];
    int n;
    const struct column *shown = columns_of(results, n_runs, &n);

    for (uint32_t i = 0; i < v->n; i++)
        fprintf(out, "%-*.60s ", level_width(&v->factors[i]), v->factors[i].key);
    for (int k = 0; k < n; k++)
        fprintf(out, " %*s", shown[k].width, shown[k].head);
    print_percentiles(NULL, results, n_runs, out);
    for (uint32_t run = 0; run < n_runs; run++) {
        fputc('\n', out);
        for (uint32_t i = 0; i < v->n; i++)
            fprintf(out, "%-*.60s ", level_width(&v->factors[i]), vary_level(v, i, run));
        for (int k = 0; k < n && results[run]; k++) {
            shown[k].put(results[run], text, sizeof text);
            fprintf(out, " %*s", shown[k].width, text);
        }
        if (results[run])
            print_percentiles(results[run], results, n_runs, out);
        else
            fprintf(out, " %*s", shown[0].width, "failed");
    }
    fputc('\n', out);
}

/* Whether two results are of runs that did the same. */
static bool is_same(const json_t *a, const json_t *b)
{
    static const char *const told[] = {"device_ns", "busy_ns", "host", "nand", "wear",
                                       "latency_ns", "failed"};

    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (!json_equal(json_object_get(a, told[i]), json_object_get(b, told[i])))
            return false;
    return true;
}

bool vary_is_idle(const struct vary *v, const char *key, json_t *const *results, uint32_t n)
{
    uint32_t step = 1, i = v->n;

    while (i > 0 && strcmp(v->factors[i - 1].key, key) != 0)
        step *= v->factors[--i].n;
    if (i == 0 || v->factors[i - 1].n == 1)
        return false;
    for (uint32_t run = 0; run < n; run++) {
        uint32_t first = run - run / step % v->factors[i - 1].n * step;
        if (!results[run] || !results[first] || !is_same(results[run], results[first]))
            return false;
    }
    return true;
}
