/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three clocks, and what comes next by each of them:
 *
 *     calendar   while the guest waits: the device's next answer or the time that the guest wants,
 *                whichever is earlier, and the answer if both are at the same instant
 *     real       the device's next answer, when its time has come
 *     virtual    each answer at once
 *
 * With a calendar nothing happens while the guest runs, except for what it asks.  So the order of all
 * that the two do is a function of what they do, and not of the speed of this machine.
 */
#include "front.h"

#include "base/num.h"
#include "rt/clock.h"
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DEVICE, TIME, USER, CALENDAR, N_FIXED };

static bool is_gone(int r)
{
    return r == -ECONNRESET || r == -EPIPE;
}

/* The guest's connection ends.  A guest that has shared its time cannot live without either. */
static void drop(struct fe_front *f)
{
    if (f->calendar.fd >= 0)
        fe_server_pass(f->blk.server, f->calendar.base_ns + f->calendar.now_ns);
    fe_user_close(&f->user);
    fe_calendar_close(&f->calendar);
}

/* What is wrong with a guest ends its connection, and not the server. */
static int judge(struct fe_front *f, int r, struct fe_err *err)
{
    if (r >= 0 || r == -EINTR)
        return r;
    if (!is_gone(r))
        fprintf(stderr, "flashemu-vhost: %s\n", err->text);
    fe_err_init(err);
    drop(f);
    return 0;
}

static int accept_one(const struct fe_listener *l, bool is_taken, int *ret, struct fe_err *err)
{
    *ret = -1;
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED
                   ? 0 : fe_err_set(err, errno, "%s: %s", l->path, strerror(errno));
    if (is_taken)
        close(fd); /* one guest at a time */
    else
        *ret = fd;
    return 0;
}

static int accept_device(struct fe_front *f, struct fe_err *err)
{
    int fd, r = accept_one(&f->device, f->user.fd >= 0, &fd, err);
    if (fd >= 0)
        fe_user_open(&f->user, fd);
    return r;
}

static int accept_time(struct fe_front *f, struct fe_err *err)
{
    int fd, r = accept_one(&f->time, f->calendar.fd >= 0, &fd, err);
    if (fd < 0)
        return r;
    uint64_t now_ns = fe_server_now(f->blk.server);
    fe_calendar_open(&f->calendar, fd, now_ns, f->date_ns + now_ns);
    return 0;
}

/* ---- time ---- */

/* When the device answers next, in the guest's time. */
static uint64_t next_due(const struct fe_front *f)
{
    uint64_t due_ns = fe_blk_due(&f->blk), base_ns = f->calendar.base_ns;
    if (due_ns == UINT64_MAX)
        return FE_CALENDAR_NEVER;
    return due_ns > base_ns ? due_ns - base_ns : 0;
}

/* Lets the waiting guest have what comes next, until it runs. */
static int go_on(struct fe_front *f, struct fe_err *err)
{
    struct fe_calendar *c = &f->calendar;
    int r = 0;

    while (r == 0 && c->fd >= 0 && c->waiting) {
        uint64_t due_ns = next_due(f);
        if (due_ns == FE_CALENDAR_NEVER && c->want_ns == FE_CALENDAR_NEVER)
            return fe_err_set(err, EDEADLK, "the guest sleeps for ever: it waits for nothing of its "
                              "own and of the device, at %llu ns", (unsigned long long)c->now_ns);
        if (due_ns <= c->want_ns) {
            fe_calendar_pass(c, due_ns);
            r = fe_user_answer(&f->user, c->base_ns + c->now_ns, err);
        } else {
            r = fe_calendar_run(c, due_ns, err);
        }
    }
    return r;
}

/* Answers what is due by the server's own clock.  *ret_wait_ns: until then nothing is. */
static int answer_due(struct fe_front *f, uint64_t *ret_wait_ns, struct fe_err *err)
{
    uint64_t now_ns = f->blk.params->virtual_clock ? UINT64_MAX : fe_clock_now_ns();
    int r = 0;

    *ret_wait_ns = UINT64_MAX;
    if (fe_blk_due(&f->blk) <= now_ns && f->blk.first)
        r = fe_user_answer(&f->user, now_ns, err);
    if (f->blk.first)
        *ret_wait_ns = fe_blk_due(&f->blk) - now_ns;
    return r;
}

/* ---- the loop ---- */

static uint32_t watch(const struct fe_front *f, struct pollfd *fds)
{
    fds[DEVICE] = (struct pollfd){.fd = f->device.fd, .events = POLLIN};
    fds[TIME] = (struct pollfd){.fd = f->time.fd, .events = POLLIN}; /* poll skips -1 */
    fds[USER] = (struct pollfd){.fd = f->user.fd, .events = POLLIN};
    fds[CALENDAR] = (struct pollfd){.fd = f->calendar.fd, .events = POLLIN};
    for (uint32_t i = 0; i < f->blk.n_queues; i++)
        fds[N_FIXED + i] = (struct pollfd){.fd = f->user.rings[i].kick_fd, .events = POLLIN};
    return N_FIXED + f->blk.n_queues;
}

/* One thing at a time: it may end a connection that has more to say. */
static int serve_one(struct fe_front *f, const struct pollfd *fds, struct fe_err *err)
{
    if (fds[CALENDAR].revents)
        return judge(f, fe_calendar_serve(&f->calendar, err), err);
    if (fds[USER].revents)
        return judge(f, fe_user_serve(&f->user, err), err);
    for (uint32_t i = 0; i < f->blk.n_queues; i++)
        if (fds[N_FIXED + i].revents)
            return judge(f, fe_user_kicked(&f->user, i, err), err);
    if (fds[TIME].revents)
        return accept_time(f, err);
    return fds[DEVICE].revents ? accept_device(f, err) : 0;
}

int fe_front_serve(struct fe_front *f, struct fe_err *err)
{
    struct pollfd fds[N_FIXED + FE_QUEUES_MAX];
    int r = 0;

    while (r >= 0) {
        uint64_t wait_ns = UINT64_MAX;
        r = f->calendar.fd >= 0 ? go_on(f, err) : answer_due(f, &wait_ns, err);
        r = judge(f, r, err);
        if (r == 0)
            r = fe_wire_wait(fds, watch(f, fds), wait_ns);
        if (r > 0)
            r = serve_one(f, fds, err);
        const char *notice = fe_server_take_notice(f->blk.server);
        if (notice)
            fprintf(stderr, "flashemu-vhost: note: %s\n", notice);
    }
    drop(f);
    return r == -EINTR ? 0 : r;
}
