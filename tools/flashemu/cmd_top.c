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

#include "base/num.h"
#include "base/quantity.h"
#include "rt/clock.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static const char top_help[] =
    "usage: flashemu top [--interval TIME] [--count N] SOCKET\n\n"
    "Shows what the device of the server that was started with control=SOCKET does, until\n"
    "you type q.  Rates are those of the last interval, in the time of the device.  Totals\n"
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
        char bytes[64], count[64], b[4][FE_ROUNDED_MAX];
        snprintf(bytes, sizeof bytes, "host.%s.bytes", ops[i]);
        snprintf(count, sizeof count, "host.%s.ops", ops[i]);
        print_row(width, "%-5s %9.2f %9.0f %11s %11.0f %9s %9s %9s", ops[i],
                  rate(was, is, bytes) / 1e6, rate(was, is, count),
                  fe_size_text(number(is, bytes), b[0]), number(is, count),
                  latency_text(is, ops[i], "p50", b[1]), latency_text(is, ops[i], "p99", b[2]),
                  latency_text(is, ops[i], "max", b[3]));
    }
}

/* The write amplification of an interval or of all time; "-" if nothing was written. */
static const char *waf_text(double programmed, double written, char buf[static FE_ROUNDED_MAX])
{
    snprintf(buf, FE_ROUNDED_MAX, written > 0 ? "%.2f" : "-", programmed / written);
    return buf;
}

static void print_flash(int width, const json_t *was, const json_t *is)
{
    double written = number(is, "host.write.bytes");
    double programmed = number(is, "nand.bytes_programmed");
    double now_written = written - number(was, "host.write.bytes");
    double now_programmed = programmed - number(was, "nand.bytes_programmed");
    char b[2][FE_ROUNDED_MAX];
    print_row(width, "%-9s %9.0f reads/s %9.0f programs/s %7.0f erases/s", "chip",
              rate(was, is, "nand.page_reads"), rate(was, is, "nand.page_programs"),
              rate(was, is, "nand.block_erases"));
    print_row(width, "%-9s WAF %s now, %s in all; %.0f blocks free", "ftl",
              waf_text(now_programmed, now_written, b[0]), waf_text(programmed, written, b[1]),
              number(is, "ftl.free_blocks"));
    print_row(width, "%-9s %.0f collections; merges %.0f switch, %.0f partial, %.0f full", "",
              number(is, "ftl.gc_runs"), number(is, "ftl.merges.switch"),
              number(is, "ftl.merges.partial"), number(is, "ftl.merges.full"));
    print_row(width, "%-9s cycles %.0f to %.0f, mean %.1f; bad blocks %.0f factory, %.0f grown",
              "wear", number(is, "wear.min"), number(is, "wear.max"), number(is, "wear.mean"),
              number(is, "bad_blocks.factory"), number(is, "bad_blocks.grown"));
    print_row(width, "%-9s %.0f codewords corrected, %.0f not", "ecc", number(is, "ecc.corrected"),
              number(is, "ecc.uncorrectable"));
}

static void print_screen(int width, const json_t *was, const json_t *is)
{
    double ns = number(is, "device_ns") - number(was, "device_ns");
    double busy = number(is, "busy_ns") - number(was, "busy_ns");
    const char *reason = json_string_value(json_object_get(is, "reason"));
    char b[3][FE_ROUNDED_MAX];
    print_row(width, "%s, clock=%s: %s of device time", text(is, "profile"), text(is, "clock"),
              fe_time_text(number(is, "device_ns"), b[0]));
    print_row(width, "state: %s%s%s", text(is, "state"), reason ? ", " : "", reason ? reason : "");
    print_row(width, "busy %.0f %% of the last %s", ns > 0 ? 100 * busy / ns : 0,
              fe_time_text(ns, b[1]));
    printf("\n");
    print_host(width, was, is);
    printf("\n");
    print_flash(width, was, is);
    if (number(is, "lateness_ns.count") > 0)
        print_row(width, "%-9s p50 %s, p99 %s, max %s after the completion", "lateness",
                  fe_time_text(number(is, "lateness_ns.p50"), b[0]),
                  fe_time_text(number(is, "lateness_ns.p99"), b[1]),
                  fe_time_text(number(is, "lateness_ns.max"), b[2]));
}

/* ---- the terminal ---- */

static struct termios before; /* of the terminal, if keys are read */

static void restore_and_die(int sig)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    signal(sig, SIG_DFL);
    raise(sig);
}

/* From now on the terminal delivers each key immediately.  Whether it does. */
static bool read_keys(void)
{
    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &before) < 0)
        return false;
    struct termios raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    signal(SIGINT, restore_and_die);
    signal(SIGTERM, restore_and_die);
    return tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

/* Pauses for ns.  Returns true, and earlier, if somebody types `q`. */
static bool pause_or_quit(bool keys, uint64_t ns)
{
    uint64_t start_ns = fe_clock_now_ns(), passed_ns = 0;
    while (passed_ns < ns) {
        struct pollfd p = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
        uint64_t left_ns = ns - passed_ns;
        const struct timespec pause = {.tv_sec = (time_t)(left_ns / FE_NS_PER_S),
                                       .tv_nsec = (long)(left_ns % FE_NS_PER_S)};
        char key;
        if (ppoll(&p, 1, &pause, NULL) > 0) {
            keys = read(STDIN_FILENO, &key, 1) == 1;
            if (keys && (key == 'q' || key == 'Q'))
                return true;
        }
        passed_ns = fe_clock_now_ns() - start_ns;
    }
    return false;
}

/* The columns of the screen; 80 without a terminal. */
static int screen_width(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
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
    bool terminal = isatty(STDOUT_FILENO), keys = read_keys();
    json_t *was = ask_stats(c);
    int r = was ? TOOL_OK : TOOL_USAGE;
    for (uint64_t i = 0; i < count && r == TOOL_OK && !pause_or_quit(keys, interval_ns); i++) {
        json_t *is = ask_stats(c);
        if (is) {
            fputs(terminal ? "\033[H\033[J" : i > 0 ? "\n" : "", stdout);
            print_screen(screen_width(), was, is);
        }
        r = is ? tool_finish(TOOL_OK) : TOOL_USAGE;
        json_decref(was);
        was = is;
    }
    json_decref(was);
    if (keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
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
