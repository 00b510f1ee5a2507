/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The statistics of a device as tables: what the host asked for, and what the flash did for it.
 *
 * Rates are over busy_ns, the time in which the device had something to do.  If the object lacks a
 * member, its row is left out, so that statistics of an older version are no error.
 */
#include "report/report.h"
#include "tool.h"

#include "base/quantity.h"
#include "obs/json_text.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static double number(const json_t *o, const char *path)
{
    return tool_json_number(o, path, NAN);
}

static void print_host(FILE *out, const json_t *stats)
{
    static const char *const types[] = {"read", "write", "trim", "flush"};
    double busy_ns = number(stats, "busy_ns");
    char path[40], size[FE_ROUNDED_MAX], speed[FE_ROUNDED_MAX];

    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "host.%s.ops", types[i]);
        double ops = number(stats, path);
        snprintf(path, sizeof path, "host.%s.bytes", types[i]);
        double bytes = number(stats, path);
        if (!(ops > 0))
            continue;
        snprintf(path, sizeof path, "host: %s requests", types[i]);
        if (bytes > 0 && busy_ns > 0 && i < 2)
            report_row(out, path, "%.0f, %s, %s", ops, report_bytes(bytes, size),
                       fe_rate_text(bytes * 1e9 / busy_ns, speed));
        else if (bytes > 0)
            report_row(out, path, "%.0f, %s", ops, report_bytes(bytes, size));
        else
            report_row(out, path, "%.0f", ops);
    }
}

static void print_latency(FILE *out, const json_t *stats)
{
    static const char *const types[] = {"read", "write", "flush", "commit"};
    static const char *const names[] = {"p50", "p99", "p999", "max"};
    double values[4];
    char path[40];

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        bool known = true;
        snprintf(path, sizeof path, "latency_ns.%s.count", types[i]);
        if (!(number(stats, path) > 0))
            continue;
        for (size_t k = 0; k < 4; k++) {
            snprintf(path, sizeof path, "latency_ns.%s.%s", types[i], names[k]);
            values[k] = number(stats, path);
            known = known && isfinite(values[k]);
        }
        if (!known)
            continue;
        snprintf(path, sizeof path, "host: %s latency", types[i]);
        report_latencies(out, path, "", values[0], values[1], values[2], values[3]);
    }
}

/* Plain numbers by their path.  A zero is left out where it says nothing. */
static void print_counters(FILE *out, const json_t *stats)
{
    static const struct {
        const char *path, *name;
        int decimals;
        bool if_zero;
    } rows[] = {
        {"ftl.waf", "write amplification", 3, true},
        {"nand.page_programs", "flash: pages programmed", 0, true},
        {"nand.page_reads", "flash: pages read", 0, true},
        {"nand.block_erases", "flash: blocks erased", 0, true},
        {"ftl.pages_copied", "pages copied", 0, true},
        {"ftl.gc_runs", "collections", 0, false},
        {"ftl.merges.switch", "merges: switch", 0, false},
        {"ftl.merges.partial", "merges: partial", 0, false},
        {"ftl.merges.full", "merges: full", 0, false},
        {"ftl.map.misses", "map: entries not cached", 0, false},
        {"ftl.slc_folds", "SLC blocks folded", 0, false},
        {"ftl.wear_moves", "blocks moved by levelling", 0, false},
        {"ftl.free_blocks", "free blocks", 0, false},
        {"bad_blocks.factory", "bad blocks, factory", 0, false},
        {"bad_blocks.grown", "bad blocks, grown", 0, false},
        {"ecc.corrected", "codewords corrected", 0, false},
        {"ecc.uncorrectable", "codewords beyond correction", 0, false},
        {"power.cuts", "power cuts", 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = number(stats, rows[i].path);
        if (isfinite(value) && (value != 0 || rows[i].if_zero))
            report_row(out, rows[i].name, "%.*f", rows[i].decimals, value);
    }
}

static void print_wear(FILE *out, const json_t *stats)
{
    double min = number(stats, "wear.min"), max = number(stats, "wear.max"),
           mean = number(stats, "wear.mean"), deviation = number(stats, "wear.stddev");

    if (isfinite(min) && isfinite(max) && isfinite(mean) && isfinite(deviation))
        report_row(out, "cycles of a block", "%.0f to %.0f, mean %.2f, deviation %.2f", min, max,
                   mean, deviation);
}

/* The statistics' origin, with up to MAX_OVERRIDES overrides. */
static void print_origin(FILE *out, const json_t *stats, struct report_figures *ret)
{
    enum { MAX_OVERRIDES = 64 };
    const json_t *list = json_object_get(stats, "overrides"),
                 *image = json_object_get(stats, "image");
    const char *overrides[MAX_OVERRIDES];
    struct fe_origin o = {
        .version = json_string_value(json_object_get(stats, "version")),
        .command = json_string_value(json_object_get(stats, "command")),
        .profile = json_string_value(json_object_get(stats, "profile")),
        .image = json_string_value(json_is_object(image) ? json_object_get(image, "path") : image),
        .overrides = overrides,
    };
    o.has_seed = fe_json_to_u64(json_object_get(stats, "seed"), &o.seed);

    for (size_t i = 0; i < json_array_size(list) && o.n_overrides < MAX_OVERRIDES; i++)
        if (json_is_string(json_array_get(list, i)))
            overrides[o.n_overrides++] = json_string_value(json_array_get(list, i));
    report_origin(out, &o, ret);
}

int report_stats(FILE *out, const char *path, const json_t *stats, struct report_figures *ret,
                 struct fe_err *err)
{
    double busy_ns = number(stats, "busy_ns");
    char busy[FE_ROUNDED_MAX];

    if (!json_is_object(json_object_get(stats, "host")) || !(busy_ns >= 0))
        return fe_err_set(err, EINVAL, "%.200s: no statistics: no \"host\" or \"busy_ns\" in it",
                          path);
    report_table_begin(out);
    print_origin(out, stats, ret);
    report_row(out, "the device was busy for", "%s", fe_time_text(busy_ns, busy));
    print_host(out, stats);
    print_latency(out, stats);
    print_counters(out, stats);
    print_wear(out, stats);
    report_table_end(out);
    ret->read_rate = number(stats, "host.read.bytes") * 1e9 / busy_ns;
    ret->write_rate = number(stats, "host.write.bytes") * 1e9 / busy_ns;
    ret->span_ns = busy_ns;
    ret->waf = number(stats, "ftl.waf");
    ret->read_p99_ns = number(stats, "latency_ns.read.p99");
    ret->write_p99_ns = number(stats, "latency_ns.write.p99");
    return 0;
}
