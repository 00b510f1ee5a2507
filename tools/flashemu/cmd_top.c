/* SPDX-License-Identifier: BSD-3-Clause
 *
 * top: shows what the device of a running server does, again and again.
 *
 * A screen shows the difference between two replies to `stats`, over the device time between
 * them.  So a device in dilated or virtual time shows the rates that it has in its own time.  On a
 * terminal each screen replaces the previous one.  Elsewhere the screens follow each other,
 * without control characters.
 */
#include "client.h"
#include "tool.h"

#include "base/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char top_help[] =
    "usage: flashemu top [--interval TIME] [--count N] SOCKET\n\n"
    "Shows what the device of the server that was started with control=SOCKET does, until\n"
    "interrupted.  Rates are those of the last interval, in the time of the device.  Totals\n"
    "count from the last reset of the statistics.\n\n"
    "  --interval TIME  time between two screens (1s)\n"
    "  --count N        ends after this many screens\n\n"
    "Exit code 2 if there is no answer.\n";

#define HANG_NS UINT64_C(10000000000)

static double number(const json_t *o, const char *path)
{
    return tool_json_number(o, path, 0);
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "?";
}

/* By how much a counter has grown in each second of device time; 0 if no time has passed. */
static double rate(const json_t *was, const json_t *is, const char *path)
{
    double ns = number(is, "device_ns") - number(was, "device_ns");
    double n = number(is, path) - number(was, path);
    return ns > 0 && n > 0 ? n / ns * 1e9 : 0;
}

/* A latency as text; "" if there is none. */
static const char *latency_text(const json_t *o, const char *op, const char *which,
                                char buf[static FE_ROUNDED_MAX])
{
    const json_t *of_op = json_object_get(json_object_get(o, "latency_ns"), op);
    return number(of_op, "count") > 0 ? fe_time_text(number(of_op, which), buf) : "";
}

static void print_host(const json_t *was, const json_t *is)
{
    static const char *const ops[] = {"read", "write", "trim", "flush"};
    printf("%-9s %9s %9s %10s %12s %10s %10s %10s\n", "host", "MB/s", "op/s", "bytes", "requests",
           "p50", "p99", "max");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char bytes[64], count[64], b[4][FE_ROUNDED_MAX];
        snprintf(bytes, sizeof bytes, "host.%s.bytes", ops[i]);
        snprintf(count, sizeof count, "host.%s.ops", ops[i]);
        printf("%-9s %9.2f %9.0f %10s %12.0f %10s %10s %10s\n", ops[i], rate(was, is, bytes) / 1e6,
               rate(was, is, count), fe_size_text(number(is, bytes), b[0]), number(is, count),
               latency_text(is, ops[i], "p50", b[1]), latency_text(is, ops[i], "p99", b[2]),
               latency_text(is, ops[i], "max", b[3]));
    }
}

static void print_flash(const json_t *was, const json_t *is)
{
    double written = number(is, "host.write.bytes") - number(was, "host.write.bytes");
    double programmed = number(is, "nand.bytes_programmed") - number(was, "nand.bytes_programmed");
    printf("%-9s %9.0f reads/s %9.0f programs/s %7.0f erases/s\n", "chip",
           rate(was, is, "nand.page_reads"), rate(was, is, "nand.page_programs"),
           rate(was, is, "nand.block_erases"));
    printf("%-9s WAF ", "ftl");
    if (written > 0)
        printf("%.2f now, ", programmed / written);
    printf("%.2f in all; %.0f collections, merges %.0f switch, %.0f partial, %.0f full; "
           "%.0f blocks free\n",
           number(is, "ftl.waf"), number(is, "ftl.gc_runs"), number(is, "ftl.merges.switch"),
           number(is, "ftl.merges.partial"), number(is, "ftl.merges.full"),
           number(is, "ftl.free_blocks"));
    printf("%-9s cycles %.0f to %.0f, mean %.1f; bad blocks %.0f factory, %.0f grown; bits %.0f "
           "corrected, %.0f not\n",
           "wear", number(is, "wear.min"), number(is, "wear.max"), number(is, "wear.mean"),
           number(is, "bad_blocks.factory"), number(is, "bad_blocks.grown"),
           number(is, "ecc.corrected"), number(is, "ecc.uncorrectable"));
}

static void print_screen(const json_t *was, const json_t *is)
{
    double ns = number(is, "device_ns") - number(was, "device_ns");
    double busy = number(is, "busy_ns") - number(was, "busy_ns");
    const json_t *power = json_object_get(is, "power");
    char b[3][FE_ROUNDED_MAX];
    printf("%s, clock=%s: %s of device time, busy %.0f %% of the last %s%s\n\n",
           text(is, "profile"), text(is, "clock"), fe_time_text(number(is, "device_ns"), b[0]),
           ns > 0 ? 100 * busy / ns : 0, fe_time_text(ns, b[1]),
           json_is_false(json_object_get(power, "on")) ? "; POWER IS OFF" : "");
    print_host(was, is);
    printf("\n");
    print_flash(was, is);
    if (number(is, "lateness_ns.count") > 0)
        printf("%-9s p50 %s, p99 %s, max %s after the completion\n", "lateness",
               fe_time_text(number(is, "lateness_ns.p50"), b[0]),
               fe_time_text(number(is, "lateness_ns.p99"), b[1]),
               fe_time_text(number(is, "lateness_ns.max"), b[2]));
}

/* A new reference to the reply to `stats`; NULL after a message. */
static json_t *ask_stats(struct client *c)
{
    char stats[] = "stats";
    char *words[] = {stats};
    client_wait(c, HANG_NS);
    return client_ask(c, words, 1) == TOOL_OK ? client_reply(c) : NULL;
}

static int show(struct client *c, uint64_t interval_ns, uint64_t count)
{
    const struct timespec pause = {.tv_sec = (time_t)(interval_ns / 1000000000),
                                   .tv_nsec = (long)(interval_ns % 1000000000)};
    bool terminal = isatty(STDOUT_FILENO);
    json_t *was = ask_stats(c);
    int r = was ? TOOL_OK : TOOL_USAGE;
    for (uint64_t i = 0; i < count && r == TOOL_OK; i++) {
        nanosleep(&pause, NULL);
        json_t *is = ask_stats(c);
        if (is) {
            fputs(terminal ? "\033[H\033[J" : i > 0 ? "\n" : "", stdout);
            print_screen(was, is);
        }
        r = is ? tool_finish(TOOL_OK) : TOOL_USAGE;
        json_decref(was);
        was = is;
    }
    json_decref(was);
    return r;
}

int cmd_top(int argc, char **argv)
{
    const char *interval = "1s", *count_text = NULL;
    const struct tool_option options[] = {
        {.name = "interval", .value = &interval},
        {.name = "count", .value = &count_text},
        {0},
    };
    const struct tool_args args = {.options = options, .help = top_help};
    uint64_t interval_ns, count = UINT64_MAX;
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc != 2)
        return tool_error("top: usage: flashemu top [--interval TIME] [--count N] SOCKET");
    if (!tool_time("top", "--interval", interval, &interval_ns))
        return TOOL_USAGE;
    if (count_text && !tool_number("--count", count_text, 1, UINT64_MAX, &count))
        return TOOL_USAGE;

    struct client c = {.command = "top", .path = argv[1], .fd = -1};
    client_wait(&c, HANG_NS);
    code = client_connect(&c);
    if (code == TOOL_OK)
        code = show(&c, interval_ns, count);
    client_close(&c);
    return code;
}
