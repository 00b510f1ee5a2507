/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's calls that an image is kept with: five functions in a struct, so that a
 * test can put itself between store and host (short writes, EIO, a full disk, a crash).
 *
 * They behave as the system calls of the same names: they return -1 and set errno, or return a
 * result.  The store makes all its calls for an image through this struct, except opening,
 * locking and removing the file.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct fe_io {
    void *ctx;
    ssize_t (*pread)(void *ctx, int fd, void *buf, size_t len, off_t off);
    ssize_t (*pwrite)(void *ctx, int fd, const void *buf, size_t len, off_t off);
    int (*fdatasync)(void *ctx, int fd);
    int (*ftruncate)(void *ctx, int fd, off_t len);
    int (*punch)(void *ctx, int fd, off_t off, off_t len); /* a hole, the size stays */
};

/* The host itself. */
extern const struct fe_io fe_io_host;

/* All of buf[0, len), however many calls that takes.  0, or a negative errno: -EIO at an
 * end of file and when the host writes nothing without saying why. */
int fe_io_read(const struct fe_io *io, int fd, void *buf, size_t len, off_t off);
int fe_io_write(const struct fe_io *io, int fd, const void *buf, size_t len, off_t off);

/* These two are repeated as well when a signal has interrupted them.  0 or a negative errno. */
int fe_io_sync(const struct fe_io *io, int fd);
int fe_io_truncate(const struct fe_io *io, int fd, off_t len);
