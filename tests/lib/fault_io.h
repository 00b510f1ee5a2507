/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host that fails as a test wants, between a store and its file.  The n-th call fails, or writes
 * are short, or the host crashes and its disk keeps any part of what was not synced.
 */
#pragma once

#include "store/io.h"

#include <stdbool.h>
#include <stdint.h>

enum ft_call { FT_PREAD, FT_PWRITE, FT_FDATASYNC, FT_FTRUNCATE, FT_PUNCH, FT_N_CALLS };

#define FT_MAX_FD 256 /* of files whose loss is told */

struct ft_undo;

struct ft_io {
    struct fe_io io; /* give this to the store */
    uint64_t n[FT_N_CALLS]; /* calls so far */

    /* Call number fail_at of this kind fails with fail_errno.  The first call has number 1; 0: no
     * call fails.  With fail_on all later calls fail, too. */
    enum ft_call fail_call;
    uint64_t fail_at;
    int fail_errno;
    bool fail_on;

    /* The host has lost data.  As a kernel does, it tells one fdatasync of each open file. */
    bool lost;
    bool told[FT_MAX_FD];

    /* The host goes down after so many more changes (pwrite, fdatasync and punch): no later change
     * happens, and each of them fails with EIO.  UINT64_MAX: it stays up. */
    uint64_t changes_left;

    size_t longest;    /* a pwrite or pread takes at most this many bytes; 0: all */
    bool log;          /* remember what a crash could undo */
    struct ft_undo *undo; /* the newest one first */
};

void ft_io_init(struct ft_io *f);
void ft_io_fini(struct ft_io *f);

/* Makes the file at path what a disk has after a crash of the host: each sector (512 bytes) that
 * was written since the last fdatasync is as it was before or after any of these writes.  The seed
 * decides. */
void ft_io_crash(struct ft_io *f, const char *path, uint64_t seed);

/* Changes a byte of a file.  A negative offset counts from the end. */
void ft_flip_byte(const char *path, int64_t offset);
