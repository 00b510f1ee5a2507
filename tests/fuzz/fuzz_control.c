/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control socket with a device behind it, but without nbdkit.  Clients connect to the real
 * poll loop through real sockets.  The device has a virtual clock.
 *
 * There is no second thread.  plugin/control.c is compiled so that it calls ft_poll instead of
 * poll(), and its loop runs in the thread of the caller (see meson.build).  Whenever the loop
 * would have to wait, ft_poll lets the clients read.  If there was nothing to read, the server
 * is idle, and ft_poll executes the next part of the script.  Therefore every run of an input is
 * the same, and "the server did not answer" is a state that can be seen without a timeout.
 *
 *     control_thread -- poll --> ft_poll -- nothing to do --> clients read -- nothing --> script
 *           '<------------------------------ something to do ----------------------------'
 *
 * The first byte of the input chooses the strategy.  The other bytes are what up to four clients
 * send, except the bytes up to 0x08, which are directions.  A file without directions is what one
 * client sends.
 *
 *     0x00 .. 0x03   the bytes that follow come from this client
 *     0x04           send the bytes so far, and let the server act; a line can arrive in parts
 *     0x05           the same, and then let the host make requests; 2 bytes choose which
 *     0x06           the client shuts down its side of the connection
 *     0x07           the client closes the connection
 *     0x08           send so many bytes that the line is too long
 *
 * What is checked:
 *
 *   - each line gets one reply, which is one line with one JSON object: {"ok":true,...} without
 *     negative numbers, or {"ok":false,"error":TEXT};
 *   - events come only to clients that may have asked for them, and in order;
 *   - the server closes the connection of a client that has shut down its side;
 *   - at the end the invariants of the device hold, before and after a last power-on;
 *   - a page that can be read was written as it reads: no page is a mixture of two.
 */
#include "files.h"
#include "small.h"

#include "commands.h"
#include "control.h"
#include "debug.h"
#include "ftl/ftl.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { PAGE = FT_SMALL_PAGE, LPNS = FT_SMALL_LPNS, N_CLIENTS = 4 };

/* In the plugin, plugin.c has these for nbdkit.  Debugging is on, so that the lines are formatted;
 * they are not shown. */
int flashemu_debug_control = 1, flashemu_debug_request, flashemu_debug_nand;

void fe_debug(const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
}

struct client {
    int fd;              /* -1: not connected */
    char out[4096];      /* not sent yet */
    size_t n_out;
    size_t line_len;     /* bytes of the last line, which has no end yet */
    uint64_t due, got;   /* replies that have to come, and that came */
    bool may_listen;     /* the client may have sent the command `events` */
    bool over;           /* a line was too long, so the server ignores everything after it */
    bool shut;
    bool eof;            /* the server has closed the connection */
    uint64_t next_event;
    char *in;            /* the line that is coming in */
    size_t n_in, room;
};

/* The loop of plugin/control.c, and what it calls instead of the system's functions. */
int ft_poll(struct pollfd *p, nfds_t n, int timeout_ms);
int ft_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int ft_thread_join(pthread_t thread, void **ret);
static void *(*loop)(void *);
static void *loop_arg;

/* The script. */
static struct {
    struct fe_server *server;
    struct ft_bytes bytes;
    struct client *cl;   /* the client that sends the next bytes */
    bool request;        /* the next part begins with requests of the host */
    enum { PLAYING, SHUT, GONE } stage;
} script;

static struct client clients[N_CLIENTS];
static char path[FT_PATH_MAX];
static uint64_t last_arrival_ns;
static volatile bool quit_was_asked;

static void on_quit(void)
{
    quit_was_asked = true;
}

/* ---- the device ---- */

static struct fe_server *make_server(uint32_t type)
{
    struct fe_profile profile = ft_small_profile(type);
    struct fe_server *s;
    struct fe_params params;
    struct fe_err err = {""};
    profile.device.discard = fe_ftl_registry[type]->trim;
    profile.cache.idle_flush = true;
    fe_params_init(&params);
    params.virtual_clock = true;
    params.seed = 1;
    FT_MUST(fe_server_create(&s, &params, &profile, &err) == 0, "%s", err.text);
    fe_params_fini(&params);
    FT_MUST(fe_server_start(s, &err) == 0, "%s", err.text);
    return s;
}

/* One request for page lpn.  All bytes of a page are written with the same value, so whatever
 * happens to the device, a page that can be read has equal bytes. */
static void request(struct fe_server *s, enum fe_req_type type, uint32_t lpn, bool fua,
                    uint8_t value)
{
    uint8_t buf[PAGE];
    struct fe_request req = {.type = type, .offset = (uint64_t)lpn * PAGE, .len = PAGE,
                             .buf = buf, .fua = fua};
    struct fe_outcome out;
    if (type == FE_REQ_FLUSH)
        req.offset = req.len = 0;
    memset(buf, value, sizeof buf);
    FT_MUST(fe_server_submit(s, &req, NULL, NULL, &out) == 0, "refused");
    FT_MUST(out.reply.complete_ns >= out.reply.arrival_ns, "done before it arrived");
    FT_MUST(out.reply.arrival_ns >= last_arrival_ns, "the clock runs backwards");
    last_arrival_ns = out.reply.arrival_ns;
    if (type != FE_REQ_READ || out.reply.status > FE_CORRECTED)
        return;
    for (uint32_t i = 1; i < PAGE; i++)
        FT_MUST(buf[i] == buf[0], "page %u is neither old nor new", lpn);
}

static void host_request(struct fe_server *s, uint8_t what, uint8_t lpn)
{
    bool trim = fe_device_profile(fe_server_device(s))->device.discard;
    enum fe_req_type type = (enum fe_req_type)(what % FE_N_REQ_TYPES);
    uint32_t n = 1 + (what >> 3 & 15);
    for (uint32_t i = 0; i < n; i++)
        request(s, type == FE_REQ_TRIM && !trim ? FE_REQ_WRITE : type, (lpn + i * 37u) % LPNS,
                type == FE_REQ_WRITE && what & 4, (uint8_t)(lpn + i));
}

/* ---- replies ---- */

static void check_numbers(const json_t *o)
{
    const char *key;
    json_t *value;
    if (json_is_number(o))
        FT_MUST(json_number_value(o) >= 0, "a negative number");
    json_object_foreach((json_t *)o, key, value)
        check_numbers(value);
}

static void check_event(struct client *cl, const json_t *o, const char *kind)
{
    const json_t *seq = json_object_get(o, "seq"), *dropped = json_object_get(o, "dropped");
    FT_MUST(cl->may_listen, "an event for nobody");
    if (strcmp(kind, "dropped") == 0) {
        FT_MUST(json_integer_value(dropped) > 0, "nothing was dropped");
        cl->next_event += (uint64_t)json_integer_value(dropped);
        return;
    }
    uint64_t n = (uint64_t)json_integer_value(seq);
    FT_MUST(json_is_integer(seq) && n >= cl->next_event, "event %llu after %llu",
            (unsigned long long)n, (unsigned long long)cl->next_event);
    cl->next_event = n + 1;
}

static void check_reply(struct client *cl, const char *line, size_t len)
{
    json_error_t why;
    json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
    const char *kind = json_string_value(json_object_get(o, "event"));
    const char *error = json_string_value(json_object_get(o, "error"));
    const json_t *ok = json_object_get(o, "ok");
    FT_MUST(json_is_object(o), "no object: %.*s: %s", (int)len, line, why.text);
    check_numbers(o);
    if (!ok) {
        FT_MUST(kind, "neither reply nor event: %.*s", (int)len, line);
        check_event(cl, o, kind);
    } else {
        cl->got++;
        FT_MUST(cl->got <= cl->due, "a reply to nothing: %.*s", (int)len, line);
        FT_MUST(json_is_true(ok) || (error && error[0] && json_object_size(o) == 2), "%.*s",
                (int)len, line);
    }
    json_decref(o);
}

static void take_bytes(struct client *cl, const char *bytes, size_t n)
{
    if (cl->n_in + n > cl->room) {
        cl->room = 2 * (cl->n_in + n);
        cl->in = realloc(cl->in, cl->room);
        FT_MUST(cl->in, "no memory");
    }
    memcpy(cl->in + cl->n_in, bytes, n);
    cl->n_in += n;
    for (char *end; (end = memchr(cl->in, '\n', cl->n_in)) != NULL;) {
        size_t len = (size_t)(end - cl->in);
        check_reply(cl, cl->in, len);
        cl->n_in -= len + 1;
        memmove(cl->in, end + 1, cl->n_in);
    }
}

/* Reads what has arrived.  Returns false if there was nothing. */
static bool receive(struct client *cl)
{
    char buf[8192];
    if (cl->fd < 0 || cl->eof)
        return false;
    ssize_t n = recv(cl->fd, buf, sizeof buf, MSG_DONTWAIT);
    if (n > 0)
        take_bytes(cl, buf, (size_t)n);
    cl->eof = n == 0 || (n < 0 && errno == ECONNRESET);
    FT_MUST(!cl->eof || cl->over || (cl->shut && cl->got == cl->due),
            "closed by the server after %llu of %llu replies", (unsigned long long)cl->got,
            (unsigned long long)cl->due);
    FT_MUST(!cl->eof || cl->n_in == 0, "a reply without its end");
    return n > 0;
}

/* Checks what must be true of a client while the server has nothing to do. */
static void check_settled(const struct client *cl)
{
    FT_MUST(cl->fd < 0 || cl->got == cl->due, "%llu of %llu replies, and then no more",
            (unsigned long long)cl->got, (unsigned long long)cl->due);
    FT_MUST(cl->fd < 0 || !cl->shut || cl->eof || cl->may_listen, "kept after its end");
}

/* ---- clients ---- */

static void connect_client(struct client *cl)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    char *in = cl->in;
    size_t room = cl->room;
    *cl = (struct client){.in = in, .room = room};
    strcpy(addr.sun_path, path);
    cl->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FT_MUST(cl->fd >= 0 && connect(cl->fd, (struct sockaddr *)&addr, sizeof addr) == 0,
            "no connection: %s", strerror(errno));
}

static void count_byte(struct client *cl, char c)
{
    if (cl->over)
        return;
    cl->line_len = c == '\n' ? 0 : cl->line_len + 1;
    cl->over = cl->line_len > FE_CONTROL_LINE_MAX;
    cl->due += c == '\n' || cl->over;
    cl->may_listen = cl->may_listen || c == '\\' || c == 'v'; /* of "events" */
}

static void send_out(struct client *cl)
{
    size_t done = 0;
    while (cl->fd >= 0 && done < cl->n_out) {
        ssize_t n = send(cl->fd, cl->out + done, cl->n_out - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        FT_MUST(n > 0 || cl->over, "cannot send: %s", strerror(errno));
        done = n > 0 ? done + (size_t)n : cl->n_out;
    }
    cl->n_out = 0;
}

static void put(struct client *cl, char c)
{
    if (cl->fd < 0)
        connect_client(cl);
    if (cl->shut)
        return;
    count_byte(cl, c);
    cl->out[cl->n_out++] = c;
    if (cl->n_out == sizeof cl->out)
        send_out(cl);
}

static void shut(struct client *cl)
{
    if (cl->fd < 0 || cl->shut)
        return;
    send_out(cl);
    cl->due += !cl->over && cl->line_len > 0;
    cl->shut = true;
    shutdown(cl->fd, SHUT_WR);
}

static void leave(struct client *cl)
{
    if (cl->fd >= 0)
        close(cl->fd);
    cl->fd = -1;
    cl->n_out = 0;
}

/* ---- the script ---- */

/* Executes one byte of the script.  Returns true if the server shall act now. */
static bool play_byte(uint8_t c)
{
    switch (c) {
    case 0x04:
    case 0x05:
        script.request = c == 0x05;
        return true;
    case 0x06:
        shut(script.cl);
        return true;
    case 0x07:
        send_out(script.cl);
        leave(script.cl);
        return true;
    case 0x08:
        for (int i = 0; i <= FE_CONTROL_LINE_MAX && !script.cl->over; i++)
            put(script.cl, 'x');
        return true;
    default:
        if (c < N_CLIENTS)
            script.cl = &clients[c];
        else
            put(script.cl, (char)c);
        return false;
    }
}

/* Executes the next part of the script.  When the bytes are used up, all clients shut down their
 * sides, and then they close.  Returns false after that. */
static bool play(void)
{
    if (script.request) {
        uint8_t what = ft_u8(&script.bytes);
        host_request(script.server, what, ft_u8(&script.bytes));
        script.request = false;
    }
    while (script.bytes.p < script.bytes.end)
        if (play_byte(ft_u8(&script.bytes)))
            break;
    bool over = script.stage == PLAYING && script.bytes.p == script.bytes.end && !script.request;
    for (int i = 0; i < N_CLIENTS; i++) {
        send_out(&clients[i]);
        if (over)
            shut(&clients[i]);
        if (script.stage == SHUT)
            leave(&clients[i]);
    }
    if (script.stage == GONE)
        return false;
    if (over || script.stage == SHUT)
        script.stage++;
    return true;
}

int ft_poll(struct pollfd *p, nfds_t n, int timeout_ms)
{
    for (;;) {
        bool taken = false;
        int r = poll(p, n, 0);
        if (r != 0 || timeout_ms >= 0)
            return r;
        for (int i = 0; i < N_CLIENTS; i++)
            while (receive(&clients[i]))
                taken = true;
        if (taken)
            continue;
        for (int i = 0; i < N_CLIENTS; i++)
            check_settled(&clients[i]);
        if (!play()) {
            p[0].revents = POLLIN; /* stop_fd: the loop returns */
            return 1;
        }
    }
}

int ft_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    (void)attr;
    *thread = pthread_self();
    loop = fn;
    loop_arg = arg;
    return 0;
}

int ft_thread_join(pthread_t thread, void **ret)
{
    (void)thread;
    (void)ret;
    return 0;
}

/* Checks the device after the loop has ended. */
static void check_device(struct fe_server *s)
{
    const struct fe_device *dev = fe_server_device(s);
    struct fe_err err = {""};
    uint64_t ready_ns;
    FT_MUST(fe_device_check(dev, &err) == 0, "%s", err.text);
    fe_server_connect(s);
    int r = fe_server_power_on(s, &ready_ns, &err);
    FT_MUST(r == 0 || r == -EALREADY || r == -EIO, "power-on: %d, %s", r, err.text);
    for (uint32_t i = 0; i < LPNS; i++)
        request(s, FE_REQ_READ, i, false, 0);
    for (uint32_t i = 0; i < LPNS; i += 5)
        request(s, FE_REQ_WRITE, i, false, (uint8_t)i);
    err.text[0] = '\0';
    FT_MUST(fe_device_check(dev, &err) == 0, "%s", err.text);
    json_t *stats = fe_server_stats(s);
    FT_MUST(stats, "no statistics");
    check_numbers(stats);
    json_decref(stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ft_bytes b = {data, data + size};
    struct fe_control *control;
    struct fe_err err = {""};
    uint32_t n_types = 0;
    while (fe_ftl_registry[n_types])
        n_types++;
    ft_file_path(path, "control");
    struct fe_server *s = make_server(ft_u8(&b) % n_types);
    FT_MUST(fe_control_create(&control, s, path, &err) == 0 &&
                fe_control_start(control, on_quit, &err) == 0, "%s", err.text);
    for (int i = 0; i < N_CLIENTS; i++)
        clients[i].fd = -1;
    last_arrival_ns = 0;
    script.server = s;
    script.bytes = b;
    script.cl = &clients[0];
    script.request = false;
    script.stage = PLAYING;
    loop(loop_arg);
    fe_control_destroy(control);
    check_device(s);
    FT_MUST(fe_server_close(s, &err) == 0, "%s", err.text);
    fe_server_destroy(s);
    for (int i = 0; i < N_CLIENTS; i++)
        free(clients[i].in), clients[i].in = NULL, clients[i].room = 0;
    return 0;
}
