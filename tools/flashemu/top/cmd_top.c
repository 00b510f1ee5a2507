/* SPDX-License-Identifier: BSD-3-Clause
 *
 * top: shows what the device of a running server does, again and again.
 *
 * A screen shows the difference between two replies to `stats`, over the device time between
 * them.  So a device in dilated or virtual time shows the rates that it has in its own time.  On a
 * terminal each screen replaces the previous one (screen.c), and keys are commands.  Elsewhere the
 * screens follow each other, without control characters.
 */
#include "client.h"
#include "tool.h"
#include "top/top.h"

#include "base/num.h"
#include "base/quantity.h"
#include "rt/clock.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static const char top_help[] =
    "usage: flashemu top [--interval TIME] [--count N] SOCKET\n\n"
    "Shows what the device of the server that was started with control=SOCKET does, until\n"
    "you type q.  On a terminal it fills the window, from 40x12 on, and follows its size.\n"
    "Rates are those of the last interval, in the time of the device.  Totals count from the last\n"
    "reset of the statistics.  Each column of the lines of latencies is the mean of an interval,\n"
    "the newest one on the right.  Without a terminal the screens follow each other.\n\n"
    "  q quits; p pauses the screen; r resets the statistics; c cuts the power, after a\n"
    "  question; o: power on\n\n"
    "  --interval TIME  time between two screens (1s)\n"
    "  --count N        ends after this many screens\n\n"
    "Exit code 2 if there is no answer.\n";

#define HANG_NS UINT64_C(10000000000)

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

static volatile sig_atomic_t resized;

static void note_resize(int sig)
{
    (void)sig;
    resized = 1;
}

enum wake { WAKE_TIME, WAKE_RESIZE, WAKE_KEY };

/* Waits until end_ns, for a key, or for another size of the terminal.  SIGWINCH comes only here. */
static enum wake wait_until(uint64_t end_ns, bool *keys, char *ret_key)
{
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
        uint64_t now_ns = fe_clock_now_ns(), left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
        struct pollfd p = {.fd = *keys ? STDIN_FILENO : -1, .events = POLLIN};
        const struct timespec pause = {.tv_sec = (time_t)(left_ns / FE_NS_PER_S),
                                       .tv_nsec = (long)(left_ns % FE_NS_PER_S)};
        if (ppoll(&p, 1, &pause, &none) > 0) {
            *keys = read(STDIN_FILENO, ret_key, 1) == 1;
            if (*keys)
                return WAKE_KEY;
        }
        if (resized)
            return WAKE_RESIZE;
        if (fe_clock_now_ns() >= end_ns)
            return WAKE_TIME;
    }
}

static bool is_utf8(void)
{
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"}, *value = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && (!value || !*value); i++)
        value = getenv(names[i]);
    return value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8"));
}

/* The size of the screen; 80x24 without a terminal, and at least 20x6. */
static void measure(struct top_view *v)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    v->columns = known ? size.ws_col : 80;
    v->rows = known ? size.ws_row : 24;
    v->columns = v->columns < 20 ? 20 : v->columns;
    v->rows = v->rows < 6 ? 6 : v->rows;
}

/* ---- the server ---- */

struct top {
    struct client *server;
    struct client events; /* fd -1: not connected */
    struct top_view view; /* owns was, is, map_was and map */
    uint64_t interval_ns;
    bool terminal, keys;
    bool asks; /* whether the power is to be cut; the note is the question */
    char note[160];
};

/* A new reference to the reply to a command of one or two words; NULL after a message. */
static json_t *ask(struct client *c, const char *command, const char *arg)
{
    char text[2][32], *words[] = {text[0], text[1]};
    snprintf(text[0], sizeof text[0], "%s", command);
    snprintf(text[1], sizeof text[1], "%s", arg ? arg : "");
    client_wait(c, HANG_NS);
    return client_ask(c, words, arg ? 2 : 1) == TOOL_OK ? client_reply(c) : NULL;
}

/* The reply to `map`, for the size of the screen.  A server that does not know it: {"ok":false}. */
static json_t *ask_map(struct top *t)
{
    char cells[16];
    measure(&t->view);
    snprintf(cells, sizeof cells, "%u", top_cells(t->view.columns, t->view.rows));
    return ask(t->server, "map", cells);
}

/* The reply to `stats`, with that to `health` as its member `health`. */
static json_t *ask_stats(struct top *t)
{
    json_t *stats = ask(t->server, "stats", NULL);
    json_t *health = stats ? ask(t->server, "health", NULL) : NULL;
    if (health && json_object_set_new(stats, "health", health) == 0)
        return stats;
    json_decref(stats);
    return NULL;
}

static void take_events(struct top *t)
{
    client_wait(&t->events, HANG_NS);
    while (t->events.fd >= 0 && client_has_line(&t->events) &&
           client_recv(&t->events) == TOOL_OK) {
        json_t *event = json_loads(t->events.reply, 0, NULL);
        memmove(t->view.event[0], t->view.event[1], sizeof t->view.event - TOP_EVENT_MAX);
        top_event(event, t->view.event[TOP_EVENTS - 1]);
        json_decref(event);
    }
}

/* Appends the mean latencies of the last interval to the history. */
static void take_latencies(struct top_view *v)
{
    static const char *const ops[TOP_SPARKS] = {"read", "write", "flush"};
    for (int w = 0; w < TOP_SPARKS; w++) {
        char path[2][40];
        snprintf(path[0], sizeof path[0], "latency_ns.%s.count", ops[w]);
        snprintf(path[1], sizeof path[1], "latency_ns.%s.mean", ops[w]);
        double n_was = top_number(v->was, path[0]), n = top_number(v->is, path[0]);
        double sum = n * top_number(v->is, path[1]) - n_was * top_number(v->was, path[1]);
        memmove(v->latency[w], v->latency[w] + 1, sizeof v->latency[w] - sizeof v->latency[w][0]);
        v->latency[w][TOP_HISTORY - 1] = n > n_was && sum > 0 ? sum / (n - n_was) : 0;
    }
}

/* Moves *is to *was and a new reply to *is.  False if there is none. */
static bool next(json_t **was, json_t **is, json_t *reply)
{
    json_decref(*was);
    *was = *is;
    *is = reply;
    return reply;
}

static void draw(struct top *t)
{
    measure(&t->view);
    if (!t->view.was || !t->view.is)
        return;
    if (t->terminal)
        top_screen(&t->view);
    else
        top_plain(t->view.columns, t->view.was, t->view.is);
    fflush(stdout);
}

/* Asks for everything and draws it. */
static int refresh(struct top *t, bool first)
{
    if (!next(&t->view.was, &t->view.is, ask_stats(t)))
        return TOOL_USAGE;
    if (t->terminal) {
        if (!next(&t->view.map_was, &t->view.map, ask_map(t)))
            return TOOL_USAGE;
        take_events(t);
        if (!first)
            take_latencies(&t->view);
    }
    if (!first)
        draw(t);
    if (!t->asks)
        t->note[0] = '\0';
    return tool_finish(TOOL_OK);
}

/* Sends what a key means, and notes the answer. */
static int send_key(struct top *t, const char *command, const char *done)
{
    json_t *reply = ask(t->server, command, NULL);
    if (!reply)
        return TOOL_USAGE;
    const char *error = json_string_value(json_object_get(reply, "error"));
    snprintf(t->note, sizeof t->note, "%s", error ? error : done);
    json_decref(reply);
    return TOOL_OK;
}

static void ask_cut(struct top *t)
{
    t->asks = true;
    snprintf(t->note, sizeof t->note, "Cut the power?  y: yes");
}

static int answer(struct top *t, char key)
{
    t->asks = false;
    if (key == 'y' || key == 'Y')
        return send_key(t, "power-cut", "The power is cut; o brings it back.");
    snprintf(t->note, sizeof t->note, "The power stays on.");
    return TOOL_OK;
}

static int press(struct top *t, char key, bool *ret_end)
{
    int r = TOOL_OK;
    if (key == 'q' || key == 'Q')
        *ret_end = true;
    else if (t->asks)
        r = answer(t, key);
    else if (key == 'p')
        t->view.paused = !t->view.paused;
    else if (key == 'r')
        r = send_key(t, "reset", "The statistics begin again.");
    else if (key == 'c')
        ask_cut(t);
    else if (key == 'o')
        r = send_key(t, "power-on", "The power is back.");
    if (r != TOOL_OK || *ret_end)
        return r;
    if (t->terminal)
        draw(t);
    else if (*t->note)
        fprintf(stderr, "%s\n", t->note);
    return r;
}

static int show(struct top *t, uint64_t count)
{
    bool end = false;
    char key;
    int r = refresh(t, true);
    uint64_t next_ns = fe_clock_now_ns() + t->interval_ns;

    for (uint64_t shown = 0; shown < count && r == TOOL_OK && !end;) {
        uint64_t until_ns = t->view.paused && t->keys ? UINT64_MAX : next_ns;
        switch (wait_until(until_ns, &t->keys, &key)) {
        case WAKE_KEY:
            r = press(t, key, &end);
            break;
        case WAKE_RESIZE:
            resized = 0;
            draw(t);
            break;
        case WAKE_TIME:
            if (shown > 0 && !t->terminal)
                printf("\n");
            r = refresh(t, false);
            next_ns = fe_clock_now_ns() + t->interval_ns;
            shown++;
            break;
        }
    }
    return r;
}

/* Prepares the terminal and the events; the server is connected. */
static int run(struct client *server, uint64_t interval_ns, uint64_t count)
{
    struct client events = {.command = "top", .path = server->path, .fd = -1};
    struct top *t = calloc(1, sizeof *t);
    if (!t)
        return tool_error("top: out of memory");
    *t = (struct top){.server = server, .events = events, .interval_ns = interval_ns,
                      .terminal = isatty(STDOUT_FILENO)};
    bool restore = t->keys = read_keys();
    const char *no_colour = getenv("NO_COLOR");
    t->view.colour = !no_colour || !*no_colour;
    t->view.utf8 = is_utf8();
    t->view.has_keys = t->keys;
    t->view.note = t->note;
    if (t->terminal) {
        sigset_t winch;
        sigemptyset(&winch);
        sigaddset(&winch, SIGWINCH);
        sigprocmask(SIG_BLOCK, &winch, NULL);
        signal(SIGWINCH, note_resize);
        client_wait(&t->events, HANG_NS);
        json_t *listens = client_connect(&t->events) == TOOL_OK ? ask(&t->events, "events", NULL)
                                                                : NULL;
        json_decref(listens);
    }
    int r = show(t, count);
    if (t->terminal && r == TOOL_OK)
        printf("\n");
    for (int i = 0; i < 2; i++) { /* whatever is left becomes old, and is given back */
        next(&t->view.was, &t->view.is, NULL);
        next(&t->view.map_was, &t->view.map, NULL);
    }
    client_close(&t->events);
    if (restore)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    free(t);
    return r == TOOL_OK ? tool_finish(r) : r;
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
        code = run(&c, interval_ns, count);
    client_close(&c);
    return code;
}
