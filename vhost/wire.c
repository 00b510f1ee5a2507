/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FDS_MAX 8
#define NS_PER_S UINT64_C(1000000000)

static volatile sig_atomic_t shall_end;
static sigset_t open_mask; /* during a wait */

static void on_signal(int sig)
{
    (void)sig;
    shall_end = 1;
}

int fe_wire_init(struct fe_err *err)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    static const int ignored[] = {SIGPIPE, SIGXFSZ}; /* the call fails, and says why */
    struct sigaction act = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
    sigset_t closed;

    sigemptyset(&closed);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (sigaction(ignored[i], &ignore, NULL) < 0)
            return fe_err_set(err, errno, "signals: %s", strerror(errno));
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        sigaddset(&closed, ends[i]);
        if (sigaction(ends[i], &act, NULL) < 0)
            return fe_err_set(err, errno, "signals: %s", strerror(errno));
    }
    if (sigprocmask(SIG_BLOCK, &closed, &open_mask) < 0)
        return fe_err_set(err, errno, "signals: %s", strerror(errno));
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sigdelset(&open_mask, ends[i]);
    return 0;
}

int fe_wire_wait(struct pollfd *fds, uint32_t n, uint64_t timeout_ns)
{
    struct timespec t = {(time_t)(timeout_ns / NS_PER_S), (long)(timeout_ns % NS_PER_S)};
    if (shall_end)
        return -EINTR;
    int r = ppoll(fds, n, timeout_ns == UINT64_MAX ? NULL : &t, &open_mask);
    if (r >= 0)
        return r;
    return errno == EINTR && !shall_end ? 0 : -errno;
}

/* Descriptors of a message: as many as fit are kept, and the others closed. */
static int take_fds(struct msghdr *msg, int *fds, uint32_t max, uint32_t *n)
{
    bool too_many = msg->msg_flags & MSG_CTRUNC;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (*n < max) {
                fds[(*n)++] = fd;
            } else {
                close(fd);
                too_many = true;
            }
        }
    }
    return too_many ? -EPROTO : 0;
}

static ssize_t receive(int fd, void *buf, size_t len, int *fds, uint32_t max, uint32_t *n)
{
    union {
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {buf, len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return -errno;
    int r = take_fds(&msg, fds, max, n);
    return r < 0 ? r : got;
}

int fe_wire_read(int fd, void *buf, size_t len, int *fds, uint32_t *n_fds)
{
    uint32_t max = fds ? *n_fds : 0, n = 0;
    int r = 0;

    for (size_t done = 0; r >= 0 && done < len;) {
        ssize_t got = receive(fd, (char *)buf + done, len - done, fds, max, &n);
        if (got == -EAGAIN || got == -EINTR)
            r = fe_wire_wait(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, UINT64_MAX);
        else if (got == 0)
            r = -ECONNRESET;
        else if (got < 0)
            r = (int)got;
        else
            done += (size_t)got;
    }
    for (uint32_t i = 0; r < 0 && i < n; i++)
        close(fds[i]);
    if (n_fds)
        *n_fds = r < 0 ? 0 : n;
    return r < 0 ? r : 0;
}

int fe_wire_write(int fd, const void *buf, size_t len, const int *fds, uint32_t n_fds)
{
    union {
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct cmsghdr head;
    } control = {.bytes = {0}};

    assert(n_fds <= FDS_MAX);
    for (size_t done = 0; done < len;) {
        struct iovec iov = {(char *)(uintptr_t)buf + done, len - done};
        struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
        if (n_fds && done == 0) {
            msg.msg_control = &control;
            msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
            control.head.cmsg_level = SOL_SOCKET;
            control.head.cmsg_type = SCM_RIGHTS;
            control.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
            memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
        }
        ssize_t put = sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
        int r = put < 0 ? -errno : 0;
        if (r == -EAGAIN || r == -EINTR)
            r = fe_wire_wait(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, UINT64_MAX);
        if (r < 0)
            return r;
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}
