/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two kinds of store, shared by the files of this folder only.  Each file uses only files
 * further down:
 *
 *     image.c            making, opening and closing an image
 *     image_crash.c      what a crash of the host has left is put right
 *     store.c            bytes of pages, in memory or in an image
 *     frames.c           pages in memory
 *     frame_pool.c       which of their frames are free
 *     copy_list.c        what reads of one request have to copy
 *     image_extra.c      the write cache, trims and control bytes of an image
 *     image_page.c       pages and blocks of an image
 *     image_check.c      records that no server has written
 *     image_file.c       writes to the file of an image, and syncs
 *     image_format.c     what lies where
 *     warm.c             which memory is given back to the host, and when
 *     overlay.c          the host's calls over a file that must stay as it is
 *     io.c               the host's calls
 */
#pragma once

#include "base/bits.h"
#include "base/bytes.h"
#include "store/copy_list.h"
#include "store/image_format.h"
#include "store/io.h"
#include "store/warm.h"

struct fe_store {
    uint32_t page_bytes;
    uint32_t pages_per_block;
    uint64_t n_pages;
    /* One of these two; neither without payload. */
    struct fe_frames *frames; /* in memory, with `copies` */
    struct fe_image *img;     /* in an image, with the two members below */
    uint64_t *written;        /* a bit per page: it has bytes in the file */
    struct fe_warm warm;      /* of blocks */
    struct fe_copy_list copies; /* copies of fe_store_read_later that are still to be made */
};

/* What the store remembers of a block besides its record in the file. */
struct fe_image_block_state {
    uint32_t cycle;       /* of its pages: the erase count of the block's record */
    uint32_t flags;
    uint32_t kept_cycle, kept_flags; /* see struct fe_image_block */
    uint32_t erase_epoch; /* the epoch in which it was erased */
    uint64_t erase_seq;
};

/* How many records of trims are read or written with one call of the host. */
#define FE_IMAGE_TRIMS_MAX 4096u

struct fe_image {
    struct fe_store_what what;
    char *profile; /* what.profile */
    struct fe_image_layout at;
    struct fe_image_status status;
    struct fe_image_lifetime lifetime; /* as it was written last */
    struct fe_image_block_state *blocks;
    struct fe_image_entry *entries; /* two for each cache entry, as in the file */
    uint32_t *entry_epoch; /* of each: the epoch of its last change */
    uint32_t *crc;         /* per page: of its bytes, if it is `written` and not raw */
    uint64_t *raw, *lost;  /* bits per page; lost: it cannot be read, because of the host */
    uint64_t *trims;       /* a bit per logical page, as last told */
    uint8_t *page;         /* one page, for whoever needs one for a moment */
    uint8_t *records;      /* FE_IMAGE_TRIMS_MAX records of trims, likewise */
    struct fe_image_oob *oob_of_new; /* while the image is made: all OOB records */

    const struct fe_io *io;     /* of the overlay, if there is one */
    struct fe_overlay *overlay; /* read only: what is written stays in memory; or NULL */
    char *path;
    int fd;
    int run_fd;              /* the same file, opened once more: for fe_store_sync_run; or -1 */
    bool sync, read_only, intact; /* as in struct fe_store_file */
    bool sync_runs;          /* between fe_store_sync_begin and fe_store_sync_end */
    bool was_clean;          /* when it was opened */
    bool is_status_damaged;  /* one copy of the status or of the lifetime, likewise */
    uint32_t n_torn_entries; /* of the cache entries loaded, whose bytes do not fit the record */
    bool creating, created;  /* created: the file is ours to remove if making it fails */
    uint32_t epoch, synced_epoch; /* the present one, and the last that is on the disk */
    uint32_t status_epoch;   /* the one in which the status was written that says so */
    uint32_t told_epoch;     /* the last that the status on the disk surely says to be there */
    uint64_t seq;            /* the latest program */
    uint64_t final_seq;      /* no cut takes a program up to this one back */
    uint32_t end_epoch;      /* the epoch in which a cache entry has ended last */

    int failed;          /* errno of the first write that failed, or 0 */
    struct fe_err why;   /* and its message */
    char note[400];      /* on what was put right when it was opened, for people */
};
