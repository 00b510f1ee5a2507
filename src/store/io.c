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

int fe_io_read(const struct fe_io *io, int fd, void *buf, size_t len, off_t off)
{
    uint8_t *p = buf;
    while (len > 0) {
        ssize_t n = io->pread(io->ctx, fd, p, len, off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        p += n;
        off += n;
        len -= (size_t)n;
    }
    return 0;
}

int fe_io_write(const struct fe_io *io, int fd, const void *buf, size_t len, off_t off)
{
    const uint8_t *p = buf;
    while (len > 0) {
        ssize_t n = io->pwrite(io->ctx, fd, p, len, off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        p += n;
        off += n;
        len -= (size_t)n;
    }
    return 0;
}
