/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A server that was killed leaves its socket file behind.  Connecting shows whether a file is such
 * a leftover: if nobody listens, the kernel refuses the connection.
 *
 * To look and to replace the file are two steps.  Two servers that start at the same time with the
 * same path could each take the other's new socket for a leftover.  So both steps are done under a
 * lock on the folder, which leaves no file of its own behind.  If the folder cannot be locked (it
 * is not readable, or on an unusual network file system) the steps are done without the lock.
 */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define LOCK_TRIES 50 /* of 20 ms */

/* The kernel accepts a path that leaves no room for its NUL, but other programs do not. */
#define PATH_LEN_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

static int fail(struct fe_err *err, const char *key, const char *path, int errnum)
{
    return fe_err_set(err, errnum, "%s=%.120s: %s%s", key, path, strerror(errnum),
                      errnum == ENOENT ? "; the folder must exist" : "");
}

/* Opens the folder of path and locks it if possible.  Returns its descriptor, or -1. */
static int lock_folder(const char *path)
{
    char folder[PATH_LEN_MAX + 1] = ".";
    const char *slash = strrchr(path, '/');
    if (slash) {
        size_t len = slash == path ? 1 : (size_t)(slash - path);
        memcpy(folder, path, len);
        folder[len] = '\0';
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            break;
        usleep(20000);
    }
    return fd;
}

/* The path exists.  Returns 0 if it was a leftover and has been removed. */
static int remove_leftover(const char *key, const struct sockaddr_un *addr, struct fe_err *err)
{
    const char *path = addr->sun_path;
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : fail(err, key, path, errno);
    if (!S_ISSOCK(st.st_mode))
        return fe_err_set(err, EEXIST,
                          "%s=%.120s: exists and is not a socket; allowed: a new path, or "
                          "a socket that nobody listens on", key, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(err, key, path, errno);
    int r = connect(fd, (const struct sockaddr *)addr, sizeof *addr) < 0 ? errno : 0;
    close(fd);
    if (r == 0 || r == EAGAIN) /* EAGAIN: its queue is full */
        return fe_err_set(err, EADDRINUSE,
                          "%s=%.120s: a server listens there; allowed: a new path, or a "
                          "socket that nobody listens on", key, path);
    if (r != ECONNREFUSED && r != ENOENT)
        return fail(err, key, path, r);
    return unlink(path) == 0 || errno == ENOENT ? 0 : fail(err, key, path, errno);
}

/* The umask gives the file its mode.  With a chmod afterwards others could connect before it. */
static int bind_private(int fd, const struct sockaddr_un *addr)
{
    mode_t before = umask(0177);
    int r = bind(fd, (const struct sockaddr *)addr, sizeof *addr) < 0 ? -errno : 0;
    umask(before);
    return r;
}

static int bind_and_listen(struct fe_listener *l, const char *key, const struct sockaddr_un *addr,
                           struct fe_err *err)
{
    struct stat st;
    int r = bind_private(l->fd, addr);
    if (r == -EADDRINUSE) {
        r = remove_leftover(key, addr, err);
        if (r < 0)
            return r;
        r = bind_private(l->fd, addr);
    }
    if (r < 0)
        return fail(err, key, addr->sun_path, -r);
    if (lstat(addr->sun_path, &st) < 0)
        return fail(err, key, addr->sun_path, errno);
    l->dev = st.st_dev;
    l->ino = st.st_ino;
    l->path = realpath(addr->sun_path, NULL);
    if (!l->path || listen(l->fd, BACKLOG) < 0) {
        r = errno;
        unlink(addr->sun_path);
        return fail(err, key, addr->sun_path, r);
    }
    return 0;
}

int fe_listener_open(struct fe_listener *l, const char *key, const char *path, struct fe_err *err)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};

    *l = FE_LISTENER_CLOSED;
    if (strlen(path) > PATH_LEN_MAX)
        return fe_err_set(err, ENAMETOOLONG,
                          "%s=%.80s...: the path has %zu bytes; allowed: at most %zu", key,
                          path, strlen(path), PATH_LEN_MAX);
    strcpy(addr.sun_path, path);

    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0)
        return fail(err, key, path, errno);
    int folder = lock_folder(path);
    int r = bind_and_listen(l, key, &addr, err);
    if (folder >= 0)
        close(folder);
    if (r < 0) {
        close(l->fd);
        free(l->path);
        *l = FE_LISTENER_CLOSED;
    }
    return r;
}

void fe_listener_close(struct fe_listener *l)
{
    struct stat st;
    if (l->fd < 0)
        return;
    if (lstat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
        unlink(l->path);
    close(l->fd);
    free(l->path);
    *l = FE_LISTENER_CLOSED;
}
