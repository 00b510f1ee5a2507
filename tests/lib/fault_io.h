/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host that fails as told, between a store and its file: the n-th call fails, writes are
 * short, or the host crashes and its disk keeps any part of what was not synced.
 */
#ifndef FT_FAULT_IO_H
#define FT_FAULT_IO_H

#include "store/io.h"

#include <stdbool.h>
#include <stdint.h>

enum ft_call { FT_PREAD, FT_PWRITE, FT_FDATASYNC, FT_FTRUNCATE, FT_PUNCH, FT_N_CALLS };

struct ft_undo;

struct ft_io {
    struct fe_io io; /* give this to the store */
    uint64_t n[FT_N_CALLS]; /* calls so far */

    /* The call number fail_at of this kind (the first is 1) fails with fail_errno, and with
     * fail_on all after it; 0: none. */
    enum ft_call fail_call;
    uint64_t fail_at;
    int fail_errno;
    bool fail_on;

    size_t longest;    /* a pwrite or pread takes at most so many bytes; 0: all */
    bool log;          /* remember what a crash could undo */
    struct ft_undo *undo; /* newest first */
};

void ft_io_init(struct ft_io *f);
void ft_io_fini(struct ft_io *f);

/* What the disk has after a crash: each sector (512 bytes) that was written since the last
 * fdatasync as it was before or after any of those writes, by seed.  The file at path. */
void ft_io_crash(struct ft_io *f, const char *path, uint64_t seed);

/* Changes a byte of a file; negative offsets count from its end. */
void ft_flip_byte(const char *path, int64_t offset);

#endif
