/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The socket never blocks.  poll() waits with the deadline before each step.
 */
#include "client.h"

#include "base/num.h"
#include "rt/clock.h"
#include "tool.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_MAX ((size_t)16 * 1024 * 1024)

int client_error(const struct client *c, const char *what)
{
    return tool_error("%s: %s: %s", c->command, c->path, what);
}

/* Waits until the socket is ready for events: 1; 0 if it is not at the deadline; a negative errno. */
static int poll_until(const struct client *c, short events)
{
    struct pollfd p = {.fd = c->fd, .events = events};
    for (;;) {
        uint64_t now_ns = fe_clock_now_ns();
        uint64_t left_ns = c->deadline_ns > now_ns ? c->deadline_ns - now_ns : 0;
        uint64_t left_ms = fe_min_u64(fe_div_up(left_ns, FE_NS_PER_MS), 1000000);
        int n = poll(&p, 1, (int)left_ms);
        if (n > 0 || (n == 0 && left_ns == 0))
            return n;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

/* Returns an exit code. */
static int wait_ready(const struct client *c, short events)
{
    int r = poll_until(c, events);
    if (r > 0)
        return TOOL_OK;
    return client_error(c, r == 0 ? "the server does not answer (--timeout)" : strerror(-r));
}

/* A Unix socket connects immediately, unless the server's queue is full (EAGAIN). */
int client_connect(struct client *c)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    if (strlen(c->path) >= sizeof addr.sun_path)
        return client_error(c, "the path is too long for a Unix socket");
    strcpy(addr.sun_path, c->path);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return client_error(c, strerror(errno));
    while (connect(c->fd, (struct sockaddr *)&addr, sizeof addr) < 0) {
        if (errno == ECONNREFUSED)
            return client_error(c, "no server listens there; nbdkit's control=PATH makes one");
        if (errno == ENOENT)
            return client_error(c, "No such file or directory; nbdkit's control=PATH makes it");
        if (errno != EAGAIN && errno != EINTR)
            return client_error(c, strerror(errno));
        if (fe_clock_now_ns() > c->deadline_ns)
            return client_error(c, "the server does not answer (--timeout)");
        poll(NULL, 0, 10);
    }
    return TOOL_OK;
}

static int send_all(const struct client *c, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = send(c->fd, text, len, MSG_NOSIGNAL);
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return TOOL_OK; /* the server has closed its end; it may have said why */
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return client_error(c, strerror(errno));
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        } else if (wait_ready(c, POLLOUT) != TOOL_OK) {
            return TOOL_USAGE;
        }
    }
    return TOOL_OK;
}

/* Makes room and reads once. */
static int recv_more(struct client *c)
{
    if (c->reply_end + 1 >= c->reply_size) {
        size_t size = c->reply_size ? 2 * c->reply_size : 8192;
        char *bigger = size <= REPLY_MAX ? realloc(c->reply, size) : NULL;
        if (!bigger)
            return client_error(c, "the reply is too long");
        c->reply = bigger;
        c->reply_size = size;
    }
    if (wait_ready(c, POLLIN) != TOOL_OK)
        return TOOL_USAGE;
    ssize_t n = recv(c->fd, c->reply + c->reply_end, c->reply_size - 1 - c->reply_end, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return TOOL_OK;
    if (n == 0 || (n < 0 && errno == ECONNRESET))
        return client_error(c, "the server has ended, or has closed the connection");
    if (n < 0)
        return client_error(c, strerror(errno));
    c->reply_end += (size_t)n;
    return TOOL_OK;
}

int client_recv(struct client *c)
{
    size_t seen = 0;
    char *end = NULL;
    if (c->reply_len < c->reply_end) { /* bytes behind the last line and its NUL */
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

bool client_ends(const struct client *c)
{
    char scrap[256];
    ssize_t n;
    do {
        if (poll_until(c, POLLIN) <= 0)
            return false;
        n = recv(c->fd, scrap, sizeof scrap, 0);
    } while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
    return true;
}

bool client_has_line(const struct client *c)
{
    char first;
    return c->reply_end > c->reply_len + 1 ||
           recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* {"cmd":words[0],"args":[words[1],...]} and a newline.  NULL if a word is not UTF-8, and without
 * memory. */
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

int client_ask(struct client *c, char **words, int n)
{
    char *line = request_line(words, n);
    if (!line)
        return tool_error("%s: the command must be UTF-8", c->command);
    int r = send_all(c, line, strlen(line));
    free(line);
    return r == TOOL_OK ? client_recv(c) : r;
}

json_t *client_reply(const struct client *c)
{
    json_error_t err;
    json_t *reply = json_loadb(c->reply, c->reply_len, 0, &err);
    if (json_is_boolean(json_object_get(reply, "ok")))
        return reply;
    json_decref(reply);
    client_error(c, "this is no reply of a flashemu server");
    return NULL;
}

void client_wait(struct client *c, uint64_t ns)
{
    uint64_t now_ns = fe_clock_now_ns();
    c->deadline_ns = now_ns + fe_min_u64(ns, UINT64_MAX - now_ns);
}

void client_close(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->reply);
}
