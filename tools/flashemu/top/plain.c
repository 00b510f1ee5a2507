/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The screens of top where there is no terminal: plain rows, without control characters.
 */
#include "tool.h"
#include "top/top.h"

#include "base/quantity.h"

#include <stdarg.h>
#include <stdio.h>

double top_number(const json_t *o, const char *path)
{
    return tool_json_number(o, path, 0);
}

const char *top_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "?";
}

double top_rate(const json_t *was, const json_t *is, const char *path)
{
    double ns = top_number(is, "device_ns") - top_number(was, "device_ns");
    double n = top_number(is, path) - top_number(was, path);
    return ns > 0 && n > 0 ? n / ns * 1e9 : 0;
}

const char *top_per_second(const json_t *was, const json_t *is, const char *path, double unit,
                           char buf[static FE_ROUNDED_MAX])
{
    double rate = top_rate(was, is, path) / unit;
    int decimals = rate >= 100 || rate == 0 ? 0 : rate >= 10 ? 1 : rate >= 1 ? 2 : 3;
    if (rate > 0 && rate < 0.001)
        snprintf(buf, FE_ROUNDED_MAX, "<0.001");
    else
        snprintf(buf, FE_ROUNDED_MAX, "%.*f", decimals, rate);
    return buf;
}

const char *top_latency(const json_t *o, const char *op, const char *which,
                                char buf[static FE_ROUNDED_MAX])
{
    const json_t *of_op = json_object_get(json_object_get(o, "latency_ns"), op);
    return top_number(of_op, "count") > 0 ? fe_time_text(top_number(of_op, which), buf) : "";
}

/* Prints one row, cut to the width of the screen so that it does not wrap. */
__attribute__((format(printf, 2, 3)))
static void print_row(int width, const char *fmt, ...)
{
    char row[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(row, sizeof row, fmt, ap);
    va_end(ap);
    printf("%.*s\n", width, row);
}

static void print_host(int width, const json_t *was, const json_t *is)
{
    static const char *const ops[] = {"read", "write", "trim", "flush"};
    print_row(width, "%-5s %9s %9s %11s %11s %9s %9s %9s", "host", "MB/s", "op/s", "bytes",
              "requests", "p50", "p99", "max");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char bytes[64], count[64], b[6][FE_ROUNDED_MAX];
        snprintf(bytes, sizeof bytes, "host.%s.bytes", ops[i]);
        snprintf(count, sizeof count, "host.%s.ops", ops[i]);
        print_row(width, "%-5s %9s %9s %11s %11.0f %9s %9s %9s", ops[i],
                  top_per_second(was, is, bytes, 1e6, b[4]),
                  top_per_second(was, is, count, 1, b[5]),
                  fe_size_text(top_number(is, bytes), b[0]), top_number(is, count),
                  top_latency(is, ops[i], "p50", b[1]), top_latency(is, ops[i], "p99", b[2]),
                  top_latency(is, ops[i], "max", b[3]));
    }
}

const char *top_waf(double programmed, double written, char buf[static FE_ROUNDED_MAX])
{
    snprintf(buf, FE_ROUNDED_MAX, written > 0 ? "%.2f" : "-", programmed / written);
    return buf;
}

/* A server that does not know `health` has no such member. */
const char *top_life(const json_t *o, char buf[static TOP_LIFE_MAX])
{
    const json_t *health = json_object_get(o, "health");
    const json_t *used = json_object_get(json_object_get(health, "sd"), "life_used_pct");
    uint32_t pre_eol = (uint32_t)top_number(health, "emmc.pre_eol_info");
    buf[0] = '\0';
    if (json_is_real(used))
        snprintf(buf, TOP_LIFE_MAX, "life %.0f %% used%s%s", json_real_value(used),
                 pre_eol > 1 ? ", reserve " : "",
                 pre_eol > 1 ? json_string_value(
                     json_object_get(json_object_get(health, "emmc"), "pre_eol")) : "");
    return buf;
}

static void print_flash(int width, const json_t *was, const json_t *is)
{
    double written = top_number(is, "host.write.bytes");
    double programmed = top_number(is, "nand.bytes_programmed");
    double now_written = written - top_number(was, "host.write.bytes");
    double now_programmed = programmed - top_number(was, "nand.bytes_programmed");
    char b[3][FE_ROUNDED_MAX], life[TOP_LIFE_MAX];
    print_row(width, "%-9s %9s reads/s %9s programs/s %7s erases/s", "chip",
              top_per_second(was, is, "nand.page_reads", 1, b[0]),
              top_per_second(was, is, "nand.page_programs", 1, b[1]),
              top_per_second(was, is, "nand.block_erases", 1, b[2]));
    print_row(width, "%-9s WAF %s now, %s in all; %.0f blocks free", "ftl",
              top_waf(now_programmed, now_written, b[0]), top_waf(programmed, written, b[1]),
              top_number(is, "ftl.free_blocks"));
    print_row(width, "%-9s %.0f collections; merges %.0f switch, %.0f partial, %.0f full", "",
              top_number(is, "ftl.gc_runs"), top_number(is, "ftl.merges.switch"),
              top_number(is, "ftl.merges.partial"), top_number(is, "ftl.merges.full"));
    print_row(width, "%-9s cycles %.0f to %.0f, mean %.1f; bad blocks %.0f factory, %.0f grown",
              "wear", top_number(is, "wear.min"), top_number(is, "wear.max"),
              top_number(is, "wear.mean"),
              top_number(is, "bad_blocks.factory"), top_number(is, "bad_blocks.grown"));
    if (*top_life(is, life))
        print_row(width, "%-9s %s", "health", life);
    print_row(width, "%-9s %.0f codewords corrected, %.0f not", "ecc",
              top_number(is, "ecc.corrected"),
              top_number(is, "ecc.uncorrectable"));
}

void top_plain(int width, const json_t *was, const json_t *is)
{
    double ns = top_number(is, "device_ns") - top_number(was, "device_ns");
    double busy = top_number(is, "busy_ns") - top_number(was, "busy_ns");
    const char *reason = json_string_value(json_object_get(is, "reason"));
    char b[3][FE_ROUNDED_MAX];
    print_row(width, "%s, clock=%s: %s of device time", top_text(is, "profile"),
              top_text(is, "clock"),
              fe_time_text(top_number(is, "device_ns"), b[0]));
    print_row(width, "state: %s%s%s", top_text(is, "state"), reason ? ", " : "",
              reason ? reason : "");
    print_row(width, "busy %.0f %% of the last %s", ns > 0 ? 100 * busy / ns : 0,
              fe_time_text(ns, b[1]));
    printf("\n");
    print_host(width, was, is);
    printf("\n");
    print_flash(width, was, is);
    const json_t *lateness = json_object_get(is, "lateness_ns");
    if (top_number(lateness, "count") > 0)
        print_row(width, "%-9s p50 %s, p99 %s, max %s after the completion%s", "lateness",
                  fe_time_text(top_number(lateness, "p50"), b[0]),
                  fe_time_text(top_number(lateness, "p99"), b[1]),
                  fe_time_text(top_number(lateness, "max"), b[2]),
                  json_is_true(json_object_get(lateness, "late")) ? "; this machine is late" : "");
}
