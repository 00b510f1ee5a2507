/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The image: the file in which a device keeps its chip from one run to the next.
 *
 * This header has what an adapter needs to know about images: how to open one, and the token of a
 * sync.  src/store/store.h describes what an image holds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fe_io; /* src/store/io.h */

/* Which file, and how to use it. */
struct fe_store_file {
    const char *path;
    bool sync;               /* what was synced also survives a crash of the host */
    bool read_only;          /* the file is only read: the lock is a shared one, and what is
                                written is kept in memory until the store is destroyed */
    bool intact;             /* with read_only: an image that would have to be put right first
                                is refused, instead of being shown as it lies there */
    const struct fe_io *io;  /* the calls of the host; NULL: those of the system */
};

/* A sync that has begun: fe_device_sync_begin returns it, fe_device_sync_end takes it. */
struct fe_store_sync {
    uint64_t seq;   /* everything up to this program is meant */
    uint64_t final; /* and no power cut takes back a program up to this one */
    uint32_t epoch; /* the epoch of the image that this sync ends */
};
