/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ctl: one command to a running server, one reply from it; after `events` the stream that
 * follows the reply, a line for each.
 *
 * The tool knows none of the other commands: words in, JSON out, so that a newer server needs
 * no newer tool.  Every step has the same deadline, because a server may be stopped in a
 * debugger or the socket may be somebody else's.
 */
#include "tool.h"

#include "obs/stats_json.h"
#include "profile/value.h"
#include "rt/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_MAX ((size_t)16 * 1024 * 1024)

static const char ctl_help[] =
    "usage: flashemu ctl [--raw] [--timeout TIME] [--count N] SOCKET COMMAND [ARG...]\n\n"
    "Sends one command to the server that was started with control=SOCKET and prints its\n"
    "reply.  Commands:\n\n"
    "  stats            what the device has done: requests, chip, wear, latencies\n"
    "  reset            the statistics start again from nothing\n"
    "  set KEY VALUE    time-scale, transport-overhead, or a live key of the profile\n"
    "  get KEY          those, clock, or any key of the profile\n"
    "  idle TIME        lets that much device time pass\n"
    "  mark-bad PEB     block PEB of the chip is bad from now on\n"
    "  flip PPN BITS    so many more wrong bits in page PPN of the chip\n"
    "  wear PEB CYCLES  what the block has behind it\n"
    "  hang TIME        the next request takes so much longer\n"
    "  disconnect [TIME]  off the bus, for so long or until connect\n"
    "  connect          on the bus again\n"
    "  events           prints what the device does, until interrupted: collections, merges,\n"
    "                   new bad blocks, power cuts and power-on, as lines of JSON\n"
    "  quit             ends the server\n\n"
    "  --raw            the reply as one line, as it came\n"
    "  --timeout TIME   how long to wait for the server (10s)\n"
    "  --count N        ends after so many lines of events\n\n"
    "Exit code 1 if the server answered no, 2 if there is no answer.\n";

struct ctl {
    const char *path;
    int fd;
    uint64_t deadline_ns;
    char *reply; /* one line without its newline, ended by NUL; after it what came besides */
    size_t reply_len, reply_size, reply_end;
};

static int ctl_error(const struct ctl *c, const char *what)
{
    return tool_error("ctl: %s: %s", c->path, what);
}

/* Waits until the socket is ready for events; an exit code. */
static int wait_ready(const struct ctl *c, short events)
{
    struct pollfd p = {.fd = c->fd, .events = events};
    for (;;) {
        uint64_t now_ns = fe_clock_now_ns();
        uint64_t left_ns = c->deadline_ns > now_ns ? c->deadline_ns - now_ns : 0;
        uint64_t left_ms = fe_min_u64(fe_div_up(left_ns, FE_NS_PER_MS), 1000000);
        int n = poll(&p, 1, (int)left_ms);
        if (n > 0)
            return TOOL_OK;
        if (n == 0 && left_ns == 0)
            return ctl_error(c, "the server does not answer (--timeout)");
        if (n < 0 && errno != EINTR)
            return ctl_error(c, strerror(errno));
    }
}

/* A Unix socket connects at once, or its queue is full (EAGAIN). */
static int ctl_connect(struct ctl *c)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    if (strlen(c->path) >= sizeof addr.sun_path)
        return ctl_error(c, "the path is too long for a Unix socket");
    strcpy(addr.sun_path, c->path);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return ctl_error(c, strerror(errno));
    while (connect(c->fd, (struct sockaddr *)&addr, sizeof addr) < 0) {
        if (errno == ECONNREFUSED)
            return ctl_error(c, "no server listens there");
        if (errno != EAGAIN && errno != EINTR)
            return ctl_error(c, strerror(errno));
        if (fe_clock_now_ns() > c->deadline_ns)
            return ctl_error(c, "the server does not answer (--timeout)");
        poll(NULL, 0, 10);
    }
    return TOOL_OK;
}

static int ctl_send(const struct ctl *c, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = send(c->fd, text, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return ctl_error(c, strerror(errno));
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        } else if (wait_ready(c, POLLOUT) != TOOL_OK) {
            return TOOL_USAGE;
        }
    }
    return TOOL_OK;
}

/* Makes room, and reads once. */
static int recv_more(struct ctl *c)
{
    if (c->reply_end + 1 >= c->reply_size) {
        size_t size = c->reply_size ? 2 * c->reply_size : 8192;
        char *bigger = size <= REPLY_MAX ? realloc(c->reply, size) : NULL;
        if (!bigger)
            return ctl_error(c, "the reply is too long");
        c->reply = bigger;
        c->reply_size = size;
    }
    if (wait_ready(c, POLLIN) != TOOL_OK)
        return TOOL_USAGE;
    ssize_t n = recv(c->fd, c->reply + c->reply_end, c->reply_size - 1 - c->reply_end, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return TOOL_OK;
    if (n <= 0)
        return ctl_error(c, n < 0 ? strerror(errno) : "the server closed the connection");
    c->reply_end += (size_t)n;
    return TOOL_OK;
}

/* The next line becomes the reply. */
static int ctl_recv(struct ctl *c)
{
    size_t seen = 0;
    char *end = NULL;
    if (c->reply_len < c->reply_end) { /* behind the line before and its end */
        c->reply_end -= c->reply_len + 1;
        memmove(c->reply, c->reply + c->reply_len + 1, c->reply_end);
    }
    for (;;) {
        if (c->reply_end > seen)
            end = memchr(c->reply + seen, '\n', c->reply_end - seen);
        if (end)
            break;
        seen = c->reply_end;
        int r = recv_more(c);
        if (r != TOOL_OK)
            return r;
    }
    c->reply_len = (size_t)(end - c->reply);
    *end = '\0';
    return TOOL_OK;
}

/* {"cmd":words[0],"args":[words[1],...]} and a newline; NULL if a word is not UTF-8 or
 * there is no memory. */
static char *request_line(char **words, int n)
{
    json_t *args = json_array(), *req = NULL;
    char *json = NULL, *line = NULL;
    int r = args ? 0 : -1;
    for (int i = 1; i < n && r == 0; i++)
        r = json_array_append_new(args, json_string(words[i]));
    if (r == 0)
        req = json_pack("{s:s, s:O}", "cmd", words[0], "args", args);
    if (req)
        json = json_dumps(req, JSON_COMPACT);
    if (json && asprintf(&line, "%s\n", json) < 0)
        line = NULL;
    free(json);
    json_decref(req);
    json_decref(args);
    return line;
}

/* Prints the reply; the exit code is the server's answer. */
static int print_reply(const struct ctl *c, bool raw)
{
    json_error_t err;
    json_t *reply = json_loadb(c->reply, c->reply_len, 0, &err);
    const json_t *ok = json_object_get(reply, "ok");
    if (!json_is_boolean(ok)) {
        json_decref(reply);
        return ctl_error(c, "this is no reply of a flashemu server");
    }
    int code = json_is_true(ok) ? TOOL_OK : TOOL_NO;
    if (!raw) {
        int r = tool_print_json(reply);
        return r == TOOL_OK ? code : r;
    }
    json_decref(reply);
    puts(c->reply);
    return tool_finish(code);
}

/* Prints lines as they come, `count` of them or for ever. */
static int print_events(struct ctl *c, uint64_t count)
{
    c->deadline_ns = UINT64_MAX / 2;
    for (uint64_t i = 0; i < count; i++) {
        int r = ctl_recv(c);
        if (r != TOOL_OK)
            return r;
        puts(c->reply);
        r = tool_finish(TOOL_OK);
        if (r != TOOL_OK)
            return r;
    }
    return TOOL_OK;
}

static int ctl_run(struct ctl *c, char **words, int n, bool raw, uint64_t count)
{
    bool is_events = strcmp(words[0], "events") == 0;
    char *line = request_line(words, n);
    if (!line)
        return tool_error("ctl: the command must be UTF-8");
    int r = ctl_connect(c);
    if (r == TOOL_OK)
        r = ctl_send(c, line, strlen(line));
    if (r == TOOL_OK)
        r = ctl_recv(c);
    if (r == TOOL_OK)
        r = print_reply(c, raw || is_events);
    if (r == TOOL_OK && is_events)
        r = print_events(c, count);
    free(line);
    return r;
}

int cmd_ctl(int argc, char **argv)
{
    bool raw = false;
    const char *timeout = "10s", *count_text = NULL;
    uint64_t count = UINT64_MAX;
    const struct tool_option options[] = {
        {.name = "raw", .flag = &raw},
        {.name = "timeout", .value = &timeout},
        {.name = "count", .value = &count_text},
        {0},
    };
    const struct tool_args args = {.options = options, .help = ctl_help};
    struct fe_err err = {""};
    uint64_t timeout_ns;
    int code;

    if (!tool_parse(&args, &argc, argv, &code))
        return code;
    if (argc < 3)
        return tool_error("ctl: usage: flashemu ctl SOCKET COMMAND [ARG...]");
    if (fe_value_parse(FE_TIME, timeout, &timeout_ns, &err) < 0)
        return tool_error("ctl: --timeout %s: %s", timeout, err.text);

    if (count_text && !tool_number("--count", count_text, 0, UINT64_MAX, &count))
        return TOOL_USAGE;
    if (count_text && strcmp(argv[2], "events") != 0)
        return tool_error("ctl: --count is for events");

    uint64_t now_ns = fe_clock_now_ns();
    struct ctl c = {.path = argv[1], .fd = -1};
    c.deadline_ns = now_ns + fe_min_u64(timeout_ns, UINT64_MAX - now_ns);
    code = ctl_run(&c, argv + 2, argc - 2, raw, count);
    if (c.fd >= 0)
        close(c.fd);
    free(c.reply);
    return code;
}
