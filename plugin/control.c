/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A poll loop over the listening socket, an eventfd that ends the loop, an eventfd that reports
 * events of the device, and the clients.
 *
 * A client is always in one of these states, which says for what it is polled:
 *
 *   a reply is not yet taken     write.  Nothing is read, so that a client that does not
 *                                read its replies delays only its own requests.
 *   a mark is not yet known      nothing: the eventfd of the events tells.  Requests in front of the
 *                                mark may take long, and delay only the client that waits for it.
 *   a complete line is there     nothing: its turn comes in the next round without waiting.
 *   there are events for it      nothing: some of the events go out.  It may fall behind by as
 *                                many as plugin/events.h keeps, and is told what it missed.
 *   closing                      the reply has gone out, and our side is shut down.  What the
 *                                client still sends is read and thrown away until it ends, too:
 *                                if we closed the connection with unread data, the client
 *                                would lose the reply.
 *   otherwise                    read; or nothing if it listens to events and has shut down
 *                                its side.
 */
#include "control.h"

#include "commands.h"
#include "debug.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listener.h"

#define TURNED_AWAY 16 /* clients that are too many and have not closed their side yet */
#define PLACES (FE_CONTROL_CLIENTS + TURNED_AWAY)
#define FIRST_CLIENT 3 /* the index of the first client in the array for poll */
#define DISCARD_MAX (1024u * 1024) /* how many bytes of a closing client are thrown away */

struct client {
    int fd;
    char *in;           /* FE_CONTROL_LINE_MAX + 1 bytes: room for the longest line, newline */
    size_t in_len;
    char *out;          /* the reply that is being sent, or NULL */
    size_t out_len, out_done;
    char *held;         /* the reply to `mark`, until it is known what has become of that; or NULL */
    uint64_t mark;
    bool eof;           /* the client has shut down its side */
    bool closing;       /* no more requests are accepted */
    bool is_away;       /* it was one client too many; `in` is NULL */
    bool quit;          /* the reply that is being sent is the one to `quit` */
    bool listens;       /* to events */
    bool news;          /* there may be events from next_event on */
    uint64_t next_event;
    size_t discarded;
};

struct fe_control {
    struct fe_server *server;
    struct fe_listener listener;
    int stop_fd; /* readable when the thread shall end */
    bool running;
    pthread_t thread;
    void (*quit)(void);

    /* Only for the thread. */
    struct client client[PLACES];
    size_t n_clients;
    bool accept_failed; /* no descriptor or memory was left: wait before the next attempt */
};

static void client_free(struct fe_control *c, struct client *cl)
{
    if (cl->listens)
        fe_server_unlisten(c->server);
    close(cl->fd);
    free(cl->in);
    free(cl->out);
    free(cl->held);
}

/* The end of the first line, or NULL if there is no complete line.  The last line of a client
 * counts as complete even without a newline. */
static const char *line_end(const struct client *cl)
{
    const char *end = memchr(cl->in, '\n', cl->in_len);
    return !end && cl->eof && cl->in_len ? cl->in + cl->in_len : end;
}

static bool has_turn(const struct client *cl)
{
    return !cl->out && !cl->held && !cl->closing &&
           (line_end(cl) || cl->in_len > FE_CONTROL_LINE_MAX || (cl->eof && !cl->listens));
}

/* The client has shut down its side and only listens: there is nothing to read from it. */
static bool is_only_listening(const struct client *cl)
{
    return cl->eof && cl->listens && !cl->held && !cl->closing && !line_end(cl);
}

static bool has_news(const struct client *cl)
{
    return cl->listens && cl->news && !cl->out && !cl->closing;
}

/* Takes over the reply.  If it is NULL, because there is no memory, the client is closed. */
static void set_reply(struct client *cl, char *reply)
{
    cl->out = reply;
    cl->out_len = reply ? strlen(reply) : 0;
    cl->out_done = 0;
    if (!reply) {
        cl->closing = true;
        shutdown(cl->fd, SHUT_WR);
    }
}

/* Sends as much as the kernel takes; false if the client is gone. */
static bool client_send(struct fe_control *c, struct client *cl)
{
    while (cl->out) {
        ssize_t n = send(cl->fd, cl->out + cl->out_done, cl->out_len - cl->out_done,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        cl->out_done += (size_t)n;
        if (cl->out_done < cl->out_len)
            continue;
        free(cl->out);
        cl->out = NULL;
        if (cl->quit)
            c->quit();
        cl->quit = false;
        if (cl->closing)
            shutdown(cl->fd, SHUT_WR);
    }
    return true;
}

/* Makes the client a listener; returns the reply to `events`. */
static char *start_listening(struct fe_control *c, struct client *cl, char *reply)
{
    struct fe_err err = {""};
    if (cl->listens || fe_server_listen(c->server, &cl->next_event, &err) == 0) {
        cl->listens = true;
        return reply;
    }
    free(reply);
    return fe_command_error(err.text);
}

/* Sends the reply to the mark if it is known what has become of that; false if the client is gone. */
static bool client_mark(struct fe_control *c, struct client *cl, short revents)
{
    struct fe_err err = {""};
    int r;
    if (revents & (POLLERR | POLLHUP))
        return false;
    if (!fe_server_knows_mark(c->server, cl->mark, &r, &err))
        return true;
    char *reply = cl->held;
    cl->held = NULL;
    if (r < 0) {
        free(reply);
        reply = fe_command_error(err.text);
    }
    set_reply(cl, reply);
    return client_send(c, cl);
}

/* Sends the client some of its events; false if it is gone. */
static bool client_events(struct fe_control *c, struct client *cl)
{
    char *lines;
    cl->news = fe_command_events(c->server, &cl->next_event, &lines);
    if (!cl->news)
        return true;
    set_reply(cl, lines);
    return client_send(c, cl);
}

/* Carries out the client's next line; false if the client is done. */
static bool client_turn(struct fe_control *c, struct client *cl)
{
    const char *end = line_end(cl);
    if (end && end - cl->in <= FE_CONTROL_LINE_MAX) {
        size_t len = (size_t)(end - cl->in);
        if (flashemu_debug_control)
            fe_debug("control: request %.*s", (int)len, cl->in);
        struct fe_command_wish wish;
        char *reply = fe_command_run(c->server, cl->in, len, FE_BY_CLIENT, &wish);
        cl->quit = wish.what == FE_WISH_QUIT;
        if (wish.what == FE_WISH_EVENTS)
            reply = start_listening(c, cl, reply);
        if (wish.what == FE_WISH_MARK && reply) {
            cl->held = reply;
            cl->mark = wish.mark;
        } else {
            set_reply(cl, reply);
        }
        len += end < cl->in + cl->in_len; /* the newline, if there is one */
        memmove(cl->in, cl->in + len, cl->in_len - len);
        cl->in_len -= len;
    } else if (cl->in_len > FE_CONTROL_LINE_MAX) {
        set_reply(cl, fe_command_error("the line is too long; allowed: 65536 bytes"));
        cl->closing = true;
    } else {
        return false; /* the client has ended, and no request is left */
    }
    if (flashemu_debug_control && cl->out)
        fe_debug("control: reply %.*s", (int)cl->out_len - 1, cl->out);
    return client_send(c, cl);
}

/* Reads once; false if the client is gone. */
static bool client_recv(struct client *cl)
{
    char scrap[4096];
    char *to = cl->closing ? scrap : cl->in + cl->in_len;
    size_t room = cl->closing ? sizeof scrap : FE_CONTROL_LINE_MAX + 1 - cl->in_len;
    ssize_t n = recv(cl->fd, to, room, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (cl->closing) {
        cl->discarded += (size_t)n;
        return n > 0 && cl->discarded <= DISCARD_MAX;
    }
    cl->in_len += (size_t)n;
    cl->eof = n == 0;
    return true;
}

/* One step for one client; false to close it. */
static bool client_step(struct fe_control *c, struct client *cl, short revents)
{
    if (cl->out)
        return !(revents & (POLLOUT | POLLERR | POLLHUP)) || client_send(c, cl);
    if (cl->held && !client_mark(c, cl, revents))
        return false;
    if (is_only_listening(cl) && (revents & (POLLERR | POLLHUP)))
        return false;
    if (!has_turn(cl) && !is_only_listening(cl) && !cl->held && revents && !client_recv(cl))
        return false;
    if (has_turn(cl) && !client_turn(c, cl))
        return false;
    return !has_news(cl) || client_events(c, cl);
}

/* Ends the connection of the client that was turned away first. */
static void drop_oldest_away(struct fe_control *c)
{
    size_t i = 0;
    while (!c->client[i].is_away)
        i++;
    client_free(c, &c->client[i]);
    c->n_clients--;
    memmove(&c->client[i], &c->client[i + 1], (c->n_clients - i) * sizeof c->client[0]);
}

/* Tells a client why it is not served.  It becomes a client that is closing: if the connection were
 * closed now, and the client has sent a request already, it would lose the line. */
static void turn_away(struct fe_control *c, int fd, const char *why)
{
    if (c->n_clients == PLACES)
        drop_oldest_away(c);
    struct client *cl = &c->client[c->n_clients++];
    *cl = (struct client){.fd = fd, .closing = true, .is_away = true};
    set_reply(cl, fe_command_error(why));
    client_send(c, cl);
}

static void accept_client(struct fe_control *c)
{
    int fd = accept4(c->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        c->accept_failed = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
        return;
    }
    size_t n_served = 0;
    for (size_t i = 0; i < c->n_clients; i++)
        n_served += !c->client[i].is_away;
    char *in = n_served < FE_CONTROL_CLIENTS ? malloc(FE_CONTROL_LINE_MAX + 1) : NULL;
    if (n_served == FE_CONTROL_CLIENTS)
        turn_away(c, fd, "too many clients; allowed: 64");
    else if (!in)
        turn_away(c, fd, "out of memory");
    else
        c->client[c->n_clients++] = (struct client){.fd = fd, .in = in};
}

/* Waits until there is something to do.  p[0] is the eventfd that ends the loop, p[1] the listening
 * socket, p[2] the eventfd of the device's events; the clients follow.  The wait does not last if
 * a client still has a turn, and not for long if accepting a client has failed. */
static void wait_for_work(struct fe_control *c, struct pollfd *p)
{
    int timeout_ms = c->accept_failed ? 100 : -1;
    p[0] = (struct pollfd){.fd = c->stop_fd, .events = POLLIN};
    p[1] = (struct pollfd){.fd = c->accept_failed ? -1 : c->listener.fd, .events = POLLIN};
    p[2] = (struct pollfd){.fd = fe_server_events_fd(c->server), .events = POLLIN};
    c->accept_failed = false;
    for (size_t i = 0; i < c->n_clients; i++) {
        const struct client *cl = &c->client[i];
        short idle = is_only_listening(cl) || cl->held ? 0 : POLLIN;
        p[FIRST_CLIENT + i] = (struct pollfd){.fd = cl->fd, .events = cl->out ? POLLOUT : idle};
        if (has_turn(cl) || has_news(cl))
            timeout_ms = 0;
    }
    /* An error can only be a lack of memory, as all signals are blocked here.  Then nothing is
     * done in this round. */
    if (poll(p, FIRST_CLIENT + c->n_clients, timeout_ms) < 0)
        for (size_t i = 0; i < FIRST_CLIENT + c->n_clients; i++)
            p[i].revents = 0;
}

/* The device has done something: all clients that listen look for news. */
static void hear(struct fe_control *c)
{
    uint64_t n;
    (void)!read(fe_server_events_fd(c->server), &n, sizeof n);
    for (size_t i = 0; i < c->n_clients; i++)
        c->client[i].news = true;
}

static void *control_thread(void *arg)
{
    struct fe_control *c = arg;
    struct pollfd p[FIRST_CLIENT + PLACES];

    for (;;) {
        wait_for_work(c, p);
        if (p[0].revents)
            return NULL;
        if (p[2].revents)
            hear(c);
        size_t n_kept = 0;
        for (size_t i = 0; i < c->n_clients; i++) {
            struct client *cl = &c->client[i];
            if (client_step(c, cl, p[FIRST_CLIENT + i].revents)) {
                c->client[n_kept++] = *cl;
                continue;
            }
            if (cl->quit) /* it has asked for the end, but has not waited for the reply */
                c->quit();
            client_free(c, cl);
        }
        c->n_clients = n_kept;
        if (p[1].revents)
            accept_client(c);
    }
}

int fe_control_create(struct fe_control **ret, struct fe_server *s, const char *path,
                      struct fe_err *err)
{
    struct fe_control *c = calloc(1, sizeof *c);
    if (!c)
        return fe_err_nomem(err, "control", sizeof *c);
    c->server = s;
    c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->stop_fd < 0) {
        int errnum = errno;
        free(c);
        return fe_err_set(err, errnum, "eventfd: %s", strerror(errnum));
    }
    int r = fe_listener_open(&c->listener, "control", path, err);
    if (r < 0) {
        close(c->stop_fd);
        free(c);
        return r;
    }
    *ret = c;
    return 0;
}

int fe_control_start(struct fe_control *c, void (*quit)(void), struct fe_err *err)
{
    sigset_t all, before;

    c->quit = quit;
    /* Signals are for nbdkit's main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&c->thread, NULL, control_thread, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r)
        return fe_err_set(err, r, "control thread: %s", strerror(r));
    c->running = true;
    return 0;
}

void fe_control_stop(struct fe_control *c)
{
    if (!c || !c->running)
        return;
    (void)!write(c->stop_fd, &(uint64_t){1}, sizeof(uint64_t));
    pthread_join(c->thread, NULL);
    c->running = false;
}

void fe_control_destroy(struct fe_control *c)
{
    if (!c)
        return;
    fe_control_stop(c);
    for (size_t i = 0; i < c->n_clients; i++)
        client_free(c, &c->client[i]);
    fe_listener_close(&c->listener);
    close(c->stop_fd);
    free(c);
}
