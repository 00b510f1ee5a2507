/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages and their numbers are those of the protocol.  A message whose length or contents are not
 * what they must be ends the connection, because nobody knows what the guest means after that.
 */
#include "user.h"

#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <string.h>
#include <unistd.h>

enum request {
    GET_FEATURES = 1, SET_FEATURES = 2, SET_OWNER = 3, RESET_OWNER = 4, SET_MEM_TABLE = 5,
    SET_VRING_NUM = 8, SET_VRING_ADDR = 9, SET_VRING_BASE = 10, GET_VRING_BASE = 11,
    SET_VRING_KICK = 12, SET_VRING_CALL = 13, SET_VRING_ERR = 14, GET_PROTOCOL_FEATURES = 15,
    SET_PROTOCOL_FEATURES = 16, GET_QUEUE_NUM = 17, SET_VRING_ENABLE = 18, SET_BACKEND_REQ_FD = 21,
    GET_CONFIG = 24, SET_CONFIG = 25, VRING_KICK = 35
};
enum { BACKEND_VRING_CALL = 4 };
enum { FLAG_VERSION = 1, FLAG_VERSION_MASK = 3, FLAG_REPLY = 4, FLAG_NEED_REPLY = 8 };

#define F_PROTOCOL 30 /* a feature of the transport: there are features of the protocol */
#define P(n) (UINT64_C(1) << (n))
#define P_MQ P(0)
#define P_REPLY_ACK P(3)
#define P_BACKEND_REQ P(5)
#define P_CONFIG P(9)
#define P_INBAND P(14)
#define PROTOCOL (P_MQ | P_REPLY_ACK | P_BACKEND_REQ | P_CONFIG | P_INBAND)

#define NO_FD 0x100 /* in the number of a ring: no descriptor comes with it */
#define CONFIG_MAX 256

struct head {
    uint32_t request, flags, size;
};

struct message {
    struct head head;
    union {
        uint64_t number;
        struct {
            uint32_t index, num;
        } state;
        struct {
            uint32_t index, flags;
            uint64_t desc, used, avail, log;
        } addr;
        struct {
            uint32_t n, padding;
            struct fe_region_wire regions[FE_REGIONS_MAX];
        } memory;
        struct {
            uint32_t offset, size, flags;
            uint8_t bytes[CONFIG_MAX];
        } config;
    } u;
    int fds[FE_REGIONS_MAX];
    uint32_t n_fds;
};

#define CONFIG_HEAD 12u /* bytes of u.config in front of its contents */

void fe_user_init(struct fe_user *u, struct fe_blk *blk, struct fe_calendar *calendar)
{
    *u = (struct fe_user){.blk = blk, .calendar = calendar, .fd = -1, .call_fd = -1};
    for (uint32_t i = 0; i < FE_QUEUES_MAX; i++)
        u->rings[i] = (struct fe_ring){.kick_fd = -1, .call_fd = -1};
}

void fe_user_open(struct fe_user *u, int fd)
{
    u->fd = fd;
}

static void replace_fd(int *fd, int by)
{
    if (*fd >= 0)
        close(*fd);
    *fd = by;
}

void fe_user_close(struct fe_user *u)
{
    fe_blk_forget(u->blk);
    fe_memory_drop(&u->memory);
    replace_fd(&u->fd, -1);
    replace_fd(&u->call_fd, -1);
    for (uint32_t i = 0; i < FE_QUEUES_MAX; i++) {
        replace_fd(&u->rings[i].kick_fd, -1);
        replace_fd(&u->rings[i].call_fd, -1);
    }
    fe_user_init(u, u->blk, u->calendar);
}

/* ---- calls ---- */

static int fail(struct fe_err *err, int r)
{
    if (r == -ECONNRESET || r == -EPIPE || r == -EINTR)
        return r;
    return fe_err_set(err, -r, "the guest's connection: %s", strerror(-r));
}

/* Waits for the guest's answer to a call, and tells it the time meanwhile. */
static int await_reply(struct fe_user *u, struct fe_err *err)
{
    struct {
        struct head head;
        uint64_t number;
    } __attribute__((packed)) reply;

    for (;;) {
        struct pollfd fds[2] = {{.fd = u->call_fd, .events = POLLIN},
                                {.fd = u->calendar->fd, .events = POLLIN}};
        int r = fe_wire_wait(fds, 2, UINT64_MAX);
        if (r < 0)
            return fail(err, r);
        if (fds[1].revents) {
            r = fe_calendar_serve(u->calendar, err);
            if (r < 0)
                return r;
        } else if (fds[0].revents) {
            r = fe_wire_read(u->call_fd, &reply, sizeof reply, NULL, NULL);
            return r < 0 ? fail(err, r) : 0;
        }
    }
}

/* A guest with a time of its own is not waited for: it may be waiting itself, for the answer to a kick
 * that is not read yet. */
static int call(struct fe_user *u, uint32_t i, struct fe_err *err)
{
    bool reply = u->calendar->fd >= 0;
    struct {
        struct head head;
        uint32_t index, num;
    } m = {{BACKEND_VRING_CALL, FLAG_VERSION | (reply ? FLAG_NEED_REPLY : 0), 8}, i, 0};
    uint64_t one = 1;

    /* QEMU accepts calls in the band and does not know them; it gives a descriptor, as is usual.  One that
     * is not read yet, so that its counter is full, is as good as called. */
    if (u->rings[i].call_fd >= 0)
        return write(u->rings[i].call_fd, &one, sizeof one) < 0 && errno != EAGAIN
                   ? fe_err_set(err, errno, "the guest's call: %s", strerror(errno)) : 0;
    if (!(u->protocol & P_INBAND) || u->call_fd < 0)
        return 0;
    int r = fe_wire_write(u->call_fd, &m, sizeof m, NULL, 0);
    return r < 0 ? fail(err, r) : reply ? await_reply(u, err) : 0;
}

int fe_user_answer(struct fe_user *u, uint64_t until_ns, struct fe_err *err)
{
    fe_blk_answer(u->blk, until_ns);
    for (uint32_t i = 0; i < FE_QUEUES_MAX; i++)
        if (u->rings[i].must_call && fe_ring_wants_call(&u->rings[i])) {
            int r = call(u, i, err);
            if (r < 0)
                return r;
        }
    return 0;
}

/* ---- kicks ---- */

static int take(struct fe_user *u, uint32_t i, struct fe_err *err)
{
    struct fe_ring *ring = &u->rings[i];
    struct fe_calendar *c = u->calendar;
    uint64_t at_ns = c->fd < 0 ? FE_CLOCK_OWN : c->base_ns + c->now_ns;

    if (!ring->enabled || !ring->num || !ring->desc)
        return 0;
    int r = fe_blk_take(u->blk, ring, &u->memory, at_ns, err);
    if (r < 0 || c->fd < 0)
        return r;
    uint64_t due_ns = fe_blk_due(u->blk);
    return fe_calendar_limit(c, due_ns > c->base_ns ? due_ns - c->base_ns : 0, err);
}

int fe_user_kicked(struct fe_user *u, uint32_t i, struct fe_err *err)
{
    uint64_t n;
    if (read(u->rings[i].kick_fd, &n, sizeof n) < 0 && errno != EAGAIN)
        return fe_err_set(err, errno, "the guest's kick: %s", strerror(errno));
    return take(u, i, err);
}

/* ---- messages ---- */

static uint64_t features(const struct fe_user *u)
{
    return fe_blk_features(u->blk) | P(VIRTIO_F_VERSION_1) | P(VIRTIO_RING_F_INDIRECT_DESC) |
           P(F_PROTOCOL);
}

static int refuse(const struct message *m, struct fe_err *err)
{
    return fe_err_set(err, EPROTO, "the guest's message %u of %u bytes makes no sense here",
                      m->head.request, m->head.size);
}

/* Before its ring or its memory changes, a guest waits for no answer any more, or will never get one. */
static int drain(struct fe_user *u, struct fe_err *err)
{
    return fe_user_answer(u, UINT64_MAX, err);
}

static int set_memory(struct fe_user *u, struct message *m, struct fe_err *err)
{
    if (m->u.memory.n > FE_REGIONS_MAX || m->n_fds != m->u.memory.n ||
        m->head.size < 8 + m->u.memory.n * sizeof m->u.memory.regions[0])
        return refuse(m, err);
    int r = drain(u, err);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < FE_QUEUES_MAX; i++)
        u->rings[i].desc = NULL; /* it is in the old memory */
    m->n_fds = 0;
    return fe_memory_set(&u->memory, m->u.memory.regions, m->fds, m->u.memory.n, err);
}

static int set_addr(struct fe_user *u, const struct message *m, struct fe_err *err)
{
    struct fe_ring *ring = &u->rings[m->u.addr.index];
    uint64_t n = ring->num;

    if (n == 0)
        return refuse(m, err);
    ring->desc = fe_memory_user(&u->memory, m->u.addr.desc, n * sizeof *ring->desc);
    ring->avail = fe_memory_user(&u->memory, m->u.addr.avail, 4 + n * 2);
    ring->used = fe_memory_user(&u->memory, m->u.addr.used, 4 + n * sizeof *ring->used->ring);
    if (!ring->desc || !ring->avail || !ring->used || m->u.addr.desc % 16 || m->u.addr.avail % 2 ||
        m->u.addr.used % 4)
        return fe_err_set(err, EPROTO, "the guest's ring is not in its memory");
    ring->used_idx = ring->used->idx;
    return 0;
}

/* Its parts are somewhere else from now on: SET_VRING_ADDR must say where. */
static int set_num(struct fe_user *u, struct fe_ring *ring, const struct message *m,
                   struct fe_err *err)
{
    uint32_t n = m->u.state.num;
    int r = drain(u, err);
    if (r < 0)
        return r;
    if (n == 0 || n > FE_RING_MAX || n & (n - 1))
        return fe_err_set(err, EPROTO, "the guest's ring: %u descriptors; allowed: a power of two up "
                          "to %d", n, FE_RING_MAX);
    ring->num = n;
    ring->desc = NULL;
    return 0;
}

/* A descriptor for kicks or calls of a ring; without one there are none. */
static int set_fd(struct fe_user *u, struct message *m, struct fe_err *err)
{
    uint64_t i = m->u.number & ~(uint64_t)NO_FD;
    if (i >= u->blk->n_queues || m->n_fds != !(m->u.number & NO_FD))
        return refuse(m, err);
    int fd = m->n_fds ? m->fds[0] : -1;
    m->n_fds = 0;
    if (fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) < 0) { /* who does not read must not stop the others */
        int r = fe_err_set(err, errno, "the guest's descriptor: %s", strerror(errno));
        close(fd);
        return r;
    }
    if (m->head.request == SET_VRING_KICK)
        replace_fd(&u->rings[i].kick_fd, fd);
    else if (m->head.request == SET_VRING_CALL)
        replace_fd(&u->rings[i].call_fd, fd);
    else if (fd >= 0)
        close(fd); /* nothing is said there */
    if (m->head.request == SET_VRING_KICK && !(u->features & P(F_PROTOCOL)))
        u->rings[i].enabled = true;
    return m->head.request == SET_VRING_KICK && fd >= 0 ? take(u, (uint32_t)i, err) : 0;
}

static int set_state(struct fe_user *u, struct message *m, struct fe_err *err)
{
    uint32_t i = m->u.state.index;
    if (m->head.size != sizeof m->u.state || i >= u->blk->n_queues)
        return refuse(m, err);
    struct fe_ring *ring = &u->rings[i];
    int r = 0;
    switch (m->head.request) {
    case SET_VRING_NUM:
        return set_num(u, ring, m, err);
    case SET_VRING_BASE:
        ring->next = (uint16_t)m->u.state.num;
        return 0;
    case SET_VRING_ENABLE:
        ring->enabled = m->u.state.num;
        return ring->enabled && ring->kick_fd >= 0 ? take(u, i, err) : 0;
    case GET_VRING_BASE: /* the ring stops */
        r = drain(u, err);
        m->u.state.num = ring->next;
        ring->enabled = false;
        ring->desc = NULL;
        replace_fd(&ring->kick_fd, -1);
        return r;
    default: /* a kick */
        return take(u, i, err);
    }
}

static int set_backend(struct fe_user *u, struct message *m, struct fe_err *err)
{
    if (m->n_fds != 1)
        return refuse(m, err);
    m->n_fds = 0;
    replace_fd(&u->call_fd, m->fds[0]);
    return 0;
}

/* Without calls in the band, time would go on before the guest knows that it has an answer. */
static int set_protocol(struct fe_user *u, const struct message *m, struct fe_err *err)
{
    uint64_t need = P_INBAND | P_BACKEND_REQ | P_REPLY_ACK;
    if (m->u.number & ~PROTOCOL)
        return refuse(m, err);
    if (u->calendar->fd >= 0 && (m->u.number & need) != need)
        return fe_err_set(err, EPROTO, "a guest that shares its time needs in-band notifications");
    u->protocol = m->u.number;
    return 0;
}

static int get_config(struct fe_user *u, struct message *m, struct fe_err *err)
{
    uint8_t all[CONFIG_MAX];
    uint32_t from = m->u.config.offset, size = m->u.config.size;
    if (m->head.size < CONFIG_HEAD || size > CONFIG_MAX || from > CONFIG_MAX - size ||
        m->head.size != CONFIG_HEAD + size)
        return refuse(m, err);
    fe_blk_config(u->blk, all, sizeof all);
    memcpy(m->u.config.bytes, all + from, size);
    return 0;
}

/* Does what a message says.  *ret_answers: it is an answer by now, of head.size bytes. */
static int obey(struct fe_user *u, struct message *m, bool *ret_answers, struct fe_err *err)
{
    *ret_answers = false;
    switch (m->head.request) {
    case GET_FEATURES:
    case GET_PROTOCOL_FEATURES:
    case GET_QUEUE_NUM:
        m->u.number = m->head.request == GET_FEATURES            ? features(u)
                      : m->head.request == GET_PROTOCOL_FEATURES ? PROTOCOL
                                                                 : u->blk->n_queues;
        m->head.size = sizeof m->u.number;
        *ret_answers = true;
        return 0;
    case SET_FEATURES:
        u->features = m->u.number;
        return m->u.number & ~features(u) ? refuse(m, err) : 0;
    case SET_PROTOCOL_FEATURES:
        return set_protocol(u, m, err);
    case SET_OWNER:
    case RESET_OWNER:
        return 0;
    case SET_MEM_TABLE:
        return set_memory(u, m, err);
    case SET_VRING_ADDR:
        return m->head.size != sizeof m->u.addr || m->u.addr.index >= u->blk->n_queues
                   ? refuse(m, err) : set_addr(u, m, err);
    case GET_VRING_BASE:
        *ret_answers = true;
        return set_state(u, m, err);
    case SET_VRING_NUM:
    case SET_VRING_BASE:
    case SET_VRING_ENABLE:
    case VRING_KICK:
        return set_state(u, m, err);
    case SET_VRING_KICK:
    case SET_VRING_CALL:
    case SET_VRING_ERR:
        return set_fd(u, m, err);
    case SET_BACKEND_REQ_FD:
        return set_backend(u, m, err);
    case GET_CONFIG:
        *ret_answers = true;
        return get_config(u, m, err);
    default: /* SET_CONFIG among them: nothing there can be set */
        return refuse(m, err);
    }
}

static int reply(struct fe_user *u, struct message *m, struct fe_err *err)
{
    m->head.flags = FLAG_VERSION | FLAG_REPLY;
    uint8_t bytes[sizeof m->head + sizeof m->u];
    memcpy(bytes, &m->head, sizeof m->head);
    memcpy(bytes + sizeof m->head, &m->u, m->head.size);
    int r = fe_wire_write(u->fd, bytes, sizeof m->head + m->head.size, NULL, 0);
    return r < 0 ? fail(err, r) : 0;
}

int fe_user_serve(struct fe_user *u, struct fe_err *err)
{
    struct message m = {.n_fds = FE_REGIONS_MAX};
    bool answers = false;

    int r = fe_wire_read(u->fd, &m.head, sizeof m.head, m.fds, &m.n_fds);
    if (r < 0)
        return fail(err, r);
    if ((m.head.flags & FLAG_VERSION_MASK) != FLAG_VERSION || m.head.size > sizeof m.u)
        r = refuse(&m, err);
    if (r == 0 && (r = fe_wire_read(u->fd, &m.u, m.head.size, NULL, NULL)) < 0)
        r = fail(err, r);
    if (r == 0)
        r = obey(u, &m, &answers, err);
    for (uint32_t i = 0; i < m.n_fds; i++)
        close(m.fds[i]); /* nobody has taken it */
    if (r < 0)
        return r;
    if (!answers && m.head.flags & FLAG_NEED_REPLY && u->protocol & P_REPLY_ACK) {
        m.head.size = sizeof m.u.number;
        m.u.number = 0;
        answers = true;
    }
    return answers ? reply(u, &m, err) : 0;
}
