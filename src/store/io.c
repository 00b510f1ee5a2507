/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

static ssize_t host_pread(void *ctx, int fd, void *buf, size_t len, off_t off)
{
    (void)ctx;
    return pread(fd, buf, len, off);
}

static ssize_t host_pwrite(void *ctx, int fd, const void *buf, size_t len, off_t off)
{
    (void)ctx;
    return pwrite(fd, buf, len, off);
}

static int host_fdatasync(void *ctx, int fd)
{
    (void)ctx;
    return fdatasync(fd);
}

static int host_ftruncate(void *ctx, int fd, off_t len)
{
    (void)ctx;
    return ftruncate(fd, len);
}

static int host_punch(void *ctx, int fd, off_t off, off_t len)
{
    (void)ctx;
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len);
}

const struct fe_io fe_io_host = {
    .pread = host_pread,
    .pwrite = host_pwrite,
    .fdatasync = host_fdatasync,
    .ftruncate = host_ftruncate,
    .punch = host_punch,
};

/* What a call that was to move bytes has come to: *done grows, or a negative errno. */
static int moved(ssize_t n, size_t *done)
{
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    *done += (size_t)n;
    return n > 0 ? 0 : -EIO;
}

int fe_io_read(const struct fe_io *io, int fd, void *buf, size_t len, off_t off)
{
    int r = 0;
    for (size_t i = 0; i < len && r == 0;)
        r = moved(io->pread(io->ctx, fd, (uint8_t *)buf + i, len - i, off + (off_t)i), &i);
    return r;
}

int fe_io_write(const struct fe_io *io, int fd, const void *buf, size_t len, off_t off)
{
    int r = 0;
    for (size_t i = 0; i < len && r == 0;)
        r = moved(io->pwrite(io->ctx, fd, (const uint8_t *)buf + i, len - i, off + (off_t)i), &i);
    return r;
}

int fe_io_sync(const struct fe_io *io, int fd)
{
    int r;
    do
        r = io->fdatasync(io->ctx, fd) < 0 ? -errno : 0;
    while (r == -EINTR);
    return r;
}

int fe_io_truncate(const struct fe_io *io, int fd, off_t len)
{
    int r;
    do
        r = io->ftruncate(io->ctx, fd, len) < 0 ? -errno : 0;
    while (r == -EINTR);
    return r;
}
