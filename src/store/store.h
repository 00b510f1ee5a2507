/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of pages, by physical page number.
 *
 * A store knows nothing of flash rules: it keeps, overwrites and forgets bytes.
 * What was never written, and what was discarded, reads as zeros and takes no
 * memory (see fe_store_discard for the one delay in that).
 *
 * There are two kinds: in memory, or in an image (fe_store_image_create, _open), which
 * also keeps what a chip has beside its bytes, so that the next run finds it.
 *
 * A store without payload (fe_store_create with payload = false) keeps nothing:
 * writes are accepted, reads give zeros.  Replay uses it.
 *
 * The host's failures.  The first write to an image that fails (no space, an I/O error)
 * is the last one tried: from then on the file stays as it is, which is a state that the
 * chip has been in, and fe_store_failure says why.  Pages that were written since then are
 * lost and read as -EIO; all others can still be read.  So a function that writes has no
 * result: the owner asks fe_store_failure before it answers anybody.
 *
 * No lock: the owner serialises.
 */
#ifndef FE_STORE_STORE_H
#define FE_STORE_STORE_H

#include "flashemu/err.h"
#include "flashemu/image.h"
#include "flashemu/types.h"
#include "store/io.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_store;

/* n_pages pages of page_bytes bytes in an anonymous sparse file.  -EOVERFLOW if
 * the product does not fit, -ENOMEM or the errno of the host otherwise.  The
 * caller owns *ret and ends it with fe_store_destroy (NULL is allowed there). */
int fe_store_create(struct fe_store **ret, uint64_t n_pages, uint32_t page_bytes,
                    uint32_t pages_per_block, bool payload, struct fe_err *err);
void fe_store_destroy(struct fe_store *s);

/* Whether bytes are kept. */
bool fe_store_has_payload(const struct fe_store *s);

/* buf[0, len) = bytes [off, off + len) of the page; off + len <= page_bytes.  0, or -EIO
 * with zeros in buf if the host cannot read the page, or not the bytes that were written.
 * buf NULL reads nothing, but still says if the page is lost. */
int fe_store_read(const struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len, void *buf);

/* The page becomes base's bytes (zeros if base is FE_PPN_NONE) with data[0, len)
 * laid over [off, off + len); data NULL stands for zeros.  base != ppn. */
void fe_store_write(struct fe_store *s, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                    const void *data);

/* Bytes [off, off + len) of the page become data (zeros if NULL), the others stay. */
void fe_store_overwrite(struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len,
                        const void *data);

/* Whether a page has bytes of its own; without them it reads as zeros. */
bool fe_store_is_written(const struct fe_store *s, fe_ppn ppn);

/* Forgets pages [first, first + n).  Their memory stays until their block is discarded. */
void fe_store_forget(struct fe_store *s, fe_ppn first, uint32_t n);

/* Forgets all pages of a block.  The host's memory is given back when
 * FE_STORE_WARM_BYTES of discarded blocks have not been written again: giving it
 * back at once would cost a page fault and a cleared page for every page of a log
 * that circles through few blocks. */
#define FE_STORE_WARM_BYTES (UINT64_C(32) << 20)
void fe_store_discard(struct fe_store *s, fe_peb peb);

/* ---- images ---- */

/* What an image is an image of.  Given when it is made, found in it later. */
struct fe_store_what {
    uint64_t n_pages;
    uint32_t page_bytes, pages_per_block;
    uint32_t n_entries;        /* pages of the device's write cache */
    uint64_t capacity, seed; /* of the device; only kept here */
    const char *profile;     /* text, owned by the store once it has it */
    uint32_t profile_bytes;
};

/* Makes an image: a new file, or one whose making was interrupted.  Nothing in it is
 * erased or programmed; until fe_store_image_ready it counts as not there, and what is
 * set is gathered in memory.  -EEXIST, or the host's errno; nothing is left behind. */
int fe_store_image_create(struct fe_store **ret, const struct fe_store_file *f,
                          const struct fe_store_what *what, struct fe_err *err);
int fe_store_image_ready(struct fe_store *s, struct fe_err *err);

/* Opens an image and locks it.  -ENOENT if there is none, or one whose making was
 * interrupted; -EBUSY if another process has it; -EINVAL for what is not an image or of
 * another version; -EIO if it is damaged; else the host's errno.
 *
 * If the host has crashed since, what the disk has of it is put right first (image_crash.c). */
int fe_store_image_open(struct fe_store **ret, const struct fe_store_file *f, struct fe_err *err);

/* NULL for a store in memory. */
const struct fe_store_what *fe_store_image(const struct fe_store *s);

/* Whether the last run has ended by fe_store_image_close, and none has begun since. */
bool fe_store_is_clean(const struct fe_store *s);

/* A line on what the crash of the host has cost, for people; NULL if there was none. */
const char *fe_store_crash_note(const struct fe_store *s);

/* The end of a run: everything goes to the disk (with `sync`) and the image is clean.
 * Destroying a store without that is like killing the server, and loses as little. */
int fe_store_image_close(struct fe_store *s, struct fe_err *err);

/* Why nothing can be written any more; NULL while all is well.  *ret_errnum: ENOSPC,
 * EIO ... */
const char *fe_store_failure(const struct fe_store *s, int *ret_errnum);

/* Makes what has been written so far last through a crash of the host; with `sync` only,
 * else it does nothing.  In three steps, because the middle one takes long and needs no
 * lock: begin and end belong to the owner, with a lock held; run may go on beside
 * everything but fe_store_destroy.  end is given run's result; 0 or a negative errno. */
struct fe_store_sync fe_store_sync_begin(struct fe_store *s);
int fe_store_sync_run(const struct fe_store *s);
int fe_store_sync_end(struct fe_store *s, struct fe_store_sync sync, int result);

/* ---- what is kept beside the bytes; all of it only in an image ---- */

enum fe_store_page_state {
    FE_STORE_ERASED,
    FE_STORE_PROGRAMMED,
    FE_STORE_TORN, /* its program was interrupted: neither bytes nor OOB can be read */
    FE_STORE_RAW,  /* no flash: written by fe_store_overwrite */
};

struct fe_store_oob {
    uint64_t seq;
    fe_lpn lpn;
    uint8_t tag, state; /* the strategy's; enum fe_store_page_state */
};

struct fe_store_block {
    uint32_t erase_count;
    uint32_t flags;     /* the medium's */
    uint32_t extra[9];  /* the medium's */
};

/* Both are written at once; after the page's bytes, before anything later.  An OOB is of
 * the block's present cycle: pages of another one are erased. */
void fe_store_set_oob(struct fe_store *s, fe_ppn ppn, const struct fe_store_oob *oob);
void fe_store_set_block(struct fe_store *s, fe_peb peb, const struct fe_store_block *block);

/* An erase never happened: the OOB of all the block's pages, of the cycle before it, and then
 * the block's record.  In between the block counts as erased. */
void fe_store_put_back_oob(struct fe_store *s, fe_ppn ppn, const struct fe_store_oob *oob,
                           uint32_t cycle);

/* A block as the image has it: *ret and pages[0, pages_per_block).  -EIO with a message if
 * a record is damaged.  O(pages of the block). */
int fe_store_load_block(struct fe_store *s, fe_peb peb, struct fe_store_block *ret,
                        struct fe_store_oob *pages, struct fe_err *err);

/* The slots of the device's write cache.  put: bytes [off, off + len) of the page have come,
 * and it holds what v says now; page is all of it.  end: it was written out, or dropped.  load:
 * each once; -EIO with a message if its record, or its bytes (data, not NULL), are damaged. */
struct fe_store_entry {
    uint64_t order, sectors; /* lower is older; a bit a sector */
    fe_lpn lpn;              /* loading: FE_LPN_NONE is an empty slot */
};
void fe_store_entry_put(struct fe_store *s, uint32_t entry, const struct fe_store_entry *v,
                       uint32_t off, uint32_t len, const void *page);
void fe_store_entry_end(struct fe_store *s, uint32_t entry, bool written_out);
int fe_store_entry_load(struct fe_store *s, uint32_t entry, struct fe_store_entry *ret, void *data,
                       struct fe_err *err);

/* A bit for each logical page, n_pages of them, for the controller's list of trimmed ones:
 * `words` [first, first + n) of 64 bits.  To be loaded after all blocks.  A page that is
 * programmed leaves the list in the file by that alone, so that no kill comes between; forget
 * is for pages [first, first + n) that shall be as they were before they were trimmed. */
void fe_store_set_trims(struct fe_store *s, const uint64_t *words, uint64_t first, uint64_t n);
void fe_store_forget_trims(struct fe_store *s, uint64_t first, uint64_t n);
int fe_store_load_trims(struct fe_store *s, uint64_t *words, struct fe_err *err);

/* The highest number of a program that the image has seen, once all is loaded. */
uint64_t fe_store_last_seq(const struct fe_store *s);

/* A few bytes of the controller's own, at most FE_STORE_CONTROL_BYTES, written as one. */
#define FE_STORE_CONTROL_BYTES 256
void fe_store_set_control(struct fe_store *s, const void *data, uint32_t len);
uint32_t fe_store_get_control(const struct fe_store *s, void *data);

#endif
