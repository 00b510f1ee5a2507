/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two kinds of store, shared by the files of this folder only.
 */
#ifndef FE_STORE_INTERNAL_H
#define FE_STORE_INTERNAL_H

#include "base/bits.h"
#include "store/image.h"
#include "store/store.h"

struct fe_store {
    uint32_t page_bytes;
    uint32_t pages_per_block;
    uint64_t n_pages;
    uint64_t *written; /* bit per page: has bytes, in memory or in the file */
    fe_peb *warm;      /* ring of discarded blocks, capacity n_warm_max + 1 */
    uint8_t *is_warm;  /* per block: stands in the ring */
    uint32_t n_warm_max, warm_head, n_warm;

    uint8_t *map; /* in memory; NULL: no payload, or an image */
    uint64_t map_bytes;
    struct fe_image *img; /* NULL: in memory */
};

/* What the store remembers of a block beside its record in the file. */
struct fe_image_block_state {
    uint32_t cycle;       /* the medium's erase count */
    uint32_t flags;
    uint32_t kept_cycle, kept_flags;
    uint32_t erase_epoch; /* the sync that the erase waits for */
    uint64_t erase_seq;
};

struct fe_image {
    struct fe_store_what what;
    char *profile; /* what.profile */
    struct fe_image_layout at;
    struct fe_image_status status;
    struct fe_image_block_state *blocks;
    struct fe_image_entry *entries; /* two a entry, as in the file */
    uint32_t *entry_epoch;  /* of each: the sync that its last change waits for */
    uint32_t *crc;         /* per page: of its bytes, if it is `written` and not raw */
    uint64_t *raw, *lost;  /* bits per page */
    uint64_t *trims;       /* a bit per logical page, as last told */
    uint8_t *page;         /* one page, for whoever needs one for a moment */
    struct fe_image_oob *gathered; /* while it is made: all OOB records */
    uint8_t **changed;     /* read only: the bytes of pages that were written since, or NULL */

    const struct fe_io *io;
    char *path;
    int fd;
    bool sync, read_only;
    bool was_clean;      /* when it was opened */
    uint32_t n_torn_entries; /* of those loaded, whose bytes are not the record's */
    bool creating, created; /* created: the file is ours to remove if making it fails */
    uint32_t epoch, synced_epoch;
    uint64_t seq; /* the latest program */

    int failed;          /* errno of the first write that failed, or 0 */
    struct fe_err why;   /* and its message */
    char note[160];      /* of a crash of the host */
};

/* store.c: what both kinds need, from the three numbers of the geometry. */
int fe_store_init_tables(struct fe_store *s, struct fe_err *err);

/* image.c */
void fe_image_destroy(struct fe_image *g);
int fe_image_write_status(struct fe_image *g);

/* Remembers the first failure; what was being done, in words. */
void fe_image_fail(struct fe_image *g, int errnum, const char *doing);

/* Writes unless an earlier write has failed. */
void fe_image_put(struct fe_image *g, const void *buf, size_t len, uint64_t at,
                  const char *doing);

/* fdatasync now, inside an operation, because what comes next may only follow it. */
void fe_image_sync_now(struct fe_store *s);

/* image_page.c: the functions of store.h for an image */
int fe_image_read(const struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len, void *buf);
void fe_image_write(struct fe_store *s, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                    const void *data);
void fe_image_overwrite(struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len,
                        const void *data);
void fe_image_give_back(struct fe_store *s, fe_peb peb);

/* Whether a record read from the file is what it says; false for one never written. */
bool fe_image_oob_is_valid(const struct fe_image_oob *r, fe_ppn ppn);
bool fe_image_is_zeros(const void *record, size_t bytes);

/* image_extra.c: where the record and the bytes of half [0, 2) of a entry are. */
uint64_t fe_image_entry_at(const struct fe_image *g, uint32_t entry, uint32_t half);
uint64_t fe_image_entry_bytes_at(const struct fe_image *g, uint32_t entry, uint32_t half);

/* image_crash.c */
int fe_image_mend(struct fe_store *s, struct fe_err *err);

#endif
