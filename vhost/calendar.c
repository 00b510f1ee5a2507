/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The protocol has also a shared memory, which saves messages.  The answer to START offers one of a
 * version that no kernel knows, so that messages are used: a kernel that knows of it expects two
 * descriptors there, and would close others of its own without them.
 */
#include "calendar.h"

#include "base/num.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum op {
    OP_ACK, OP_START, OP_REQUEST, OP_WAIT, OP_GET, OP_UPDATE, OP_RUN, OP_FREE_UNTIL, OP_GET_TOD,
    OP_BROADCAST
};

struct message {
    uint32_t op, seq;
    uint64_t time;
};

/* How far a guest may run without asking, which saves the messages of all timers that come within that
 * time.  A guest that only sleeps hears that late that the calendar has ended. */
#define FREE_MAX_NS UINT64_C(60000000000)

void fe_calendar_open(struct fe_calendar *c, int fd, uint64_t base_ns, uint64_t date_ns)
{
    c->fd = fd;
    c->base_ns = base_ns;
    c->date_ns = date_ns;
    c->now_ns = c->free_until_ns = 0;
    c->want_ns = FE_CALENDAR_NEVER;
    c->waiting = false;
}

void fe_calendar_close(struct fe_calendar *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->waiting = false;
}

static int fail(struct fe_err *err, int r)
{
    if (r == -ECONNRESET || r == -EPIPE || r == -EINTR)
        return r; /* the guest has ended, or shall end: no message */
    return fe_err_set(err, -r, "the guest's calendar: %s", strerror(-r));
}

static int acknowledge(struct fe_calendar *c, const struct message *m, uint64_t time,
                       struct fe_err *err)
{
    struct message ack = {OP_ACK, m->seq, time};
    int r = fe_wire_write(c->fd, &ack, sizeof ack, NULL, 0);
    return r < 0 ? fail(err, r) : 0;
}

static int acknowledge_start(struct fe_calendar *c, const struct message *m, struct fe_err *err)
{
    struct message ack = {OP_ACK, m->seq, 0};
    int fds[2] = {memfd_create("no calendar", MFD_CLOEXEC), open("/dev/null", O_WRONLY | O_CLOEXEC)};
    int r = fds[0] < 0 || fds[1] < 0 || ftruncate(fds[0], 4096) < 0 ? -errno : 0;

    if (r == 0)
        r = fe_wire_write(c->fd, &ack, sizeof ack, fds, 2);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return r < 0 ? fail(err, r) : 0;
}

static int answer(struct fe_calendar *c, const struct message *m, struct fe_err *err)
{
    uint64_t time = 0;
    int r = 0;

    switch (m->op) {
    case OP_START:
        return acknowledge_start(c, m, err);
    case OP_REQUEST: /* the kernel's "for ever" is the largest signed time */
        c->want_ns = m->time >= INT64_MAX ? FE_CALENDAR_NEVER : m->time;
        break;
    case OP_WAIT:
        c->waiting = true;
        break;
    case OP_GET:
        time = c->now_ns;
        break;
    case OP_UPDATE:
        if (m->time < c->now_ns || m->time >= INT64_MAX)
            return fe_err_set(err, EPROTO, "the guest's calendar: from %llu to %llu ns",
                              (unsigned long long)c->now_ns, (unsigned long long)m->time);
        c->now_ns = m->time;
        break;
    case OP_GET_TOD:
        time = c->date_ns + c->now_ns;
        break;
    case OP_BROADCAST:
        r = c->hear ? c->hear(c->ctx, m->time, err) : 0;
        break;
    default:
        return fe_err_set(err, EPROTO, "the guest's calendar: message %u", m->op);
    }
    return r < 0 ? r : acknowledge(c, m, time, err);
}

static int receive(struct fe_calendar *c, struct message *ret, struct fe_err *err)
{
    int r = fe_wire_read(c->fd, ret, sizeof *ret, NULL, NULL);
    return r < 0 ? fail(err, r) : 0;
}

int fe_calendar_serve(struct fe_calendar *c, struct fe_err *err)
{
    struct message m;
    int r = receive(c, &m, err);
    return r < 0 ? r : answer(c, &m, err);
}

/* Sends a message and returns when the guest has acknowledged it. */
static int tell(struct fe_calendar *c, enum op op, uint64_t time, struct fe_err *err)
{
    struct message m = {op, ++c->seq, time};
    int r = fe_wire_write(c->fd, &m, sizeof m, NULL, 0);
    if (r < 0)
        return fail(err, r);
    while ((r = receive(c, &m, err)) == 0 && m.op != OP_ACK)
        if ((r = answer(c, &m, err)) < 0)
            return r;
    if (r == 0 && m.seq != c->seq)
        r = fe_err_set(err, EPROTO, "the guest's calendar: %u acknowledged, not %u", m.seq, c->seq);
    return r;
}

int fe_calendar_run(struct fe_calendar *c, uint64_t due_ns, struct fe_err *err)
{
    if (c->want_ns < c->now_ns)
        return fe_err_set(err, EPROTO, "the guest's calendar: it is %llu ns, and the guest wants %llu",
                          (unsigned long long)c->now_ns, (unsigned long long)c->want_ns);
    c->now_ns = c->want_ns;
    c->want_ns = FE_CALENDAR_NEVER;
    c->free_until_ns = fe_min_u64(due_ns, c->now_ns + FREE_MAX_NS);
    int r = tell(c, OP_FREE_UNTIL, c->free_until_ns, err);
    c->waiting = false;
    return r < 0 ? r : tell(c, OP_RUN, c->now_ns, err);
}

int fe_calendar_limit(struct fe_calendar *c, uint64_t due_ns, struct fe_err *err)
{
    if (c->waiting || due_ns >= c->free_until_ns)
        return 0;
    c->free_until_ns = due_ns;
    return tell(c, OP_FREE_UNTIL, due_ns, err);
}

void fe_calendar_pass(struct fe_calendar *c, uint64_t now_ns)
{
    c->now_ns = fe_max_u64(c->now_ns, now_ns);
}
