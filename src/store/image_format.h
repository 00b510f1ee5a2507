/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The format of an image: what lies where, byte by byte.
 *
 *   header | status | status | profile | blocks | trims | entries | cache | OOB | pages
 *    4 KiB   4 KiB    4 KiB    text     64 each  16 each  64 each   pages  32 each
 *
 * Every part starts at a multiple of 4096 bytes and is as long as the header's geometry says.
 * The file ends with the last page, and is sparse.  Numbers are little-endian.
 *
 * Records.  Each record ends in the CRC-32C of the bytes before it.  The checksum starts with
 * the record's own number, so a record in a wrong place does not pass.  A record that consists
 * of zeros only was never written.
 *
 *   page       A page is programmed if its OOB record has the cycle of its block.  So one
 *              write, of one block record, erases a block.
 *   trims      A record for each logical page.  Its number is the last program of the chip
 *              before the page was trimmed, plus one.  A copy with this number or a higher one
 *              is newer than the trim.  So the end of a trim needs no record.
 *   status     The two are written in turn.  The valid one of the higher generation counts.
 *   lifetime   The device's clock and counters, which are written often.  The two lie behind the
 *              status records, and are written in turn like these.  An older flashemu leaves that
 *              room alone, so it needs no version of its own.
 *   entries    Each cache entry is stored twice, as two halves (see image_extra.c).
 *
 * Versions.  A change of this format gets the next version.  A newer flashemu opens images of all
 * older versions, and an image keeps the version that it was made with, so that the flashemu that
 * made the image can still open it.  A flashemu refuses versions that it does not know.
 *
 *   1    A trim is its number only: 8 bytes, without a checksum.
 *   2    as above
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FE_IMAGE_MAGIC "flashemu image\n" /* with its NUL: 16 bytes */
#define FE_IMAGE_VERSION 2u /* of new images */
#define FE_IMAGE_ALIGN UINT64_C(4096)
#define FE_IMAGE_CONTROL_BYTES 256

enum fe_image_state {
    FE_IMAGE_CREATING = 1, /* nothing in it has ever been answered: it may be made anew */
    FE_IMAGE_READY = 2,
};

/* The status of an image that is being made has a lower generation. */
#define FE_IMAGE_SERVED 3

struct fe_image_header {
    char magic[16];
    uint32_t version, state;
    uint64_t n_pages, capacity, seed;
    uint32_t page_bytes, pages_per_block, n_entries;
    uint32_t profile_bytes, profile_crc;
    uint32_t crc;
};

struct fe_image_status {
    uint64_t generation;
    uint64_t synced_seq;  /* every program up to this one is on the host's disk */
    uint8_t boot_id[16];  /* of the host that the last server ran on */
    uint32_t clean;       /* 1: the last server has ended, and all is on the disk */
    uint32_t control_bytes;
    uint8_t control[FE_IMAGE_CONTROL_BYTES]; /* the controller's own, see fe_store_set_control */
    uint32_t n_open_1;    /* so many of the programs up to synced_seq, the last ones, can still be
                             taken back by a power cut, + 1; 0: written without the order that
                             image_crash.c relies on (without `sync`, or by flashemu 0.2) */
    uint32_t crc;
};

#define FE_IMAGE_LIFETIME_NUMBERS 6

struct fe_image_lifetime {
    uint64_t generation; /* the one of the higher generation counts */
    uint64_t numbers[FE_IMAGE_LIFETIME_NUMBERS]; /* the chip's own, see nand/chip_record.h */
    uint32_t reserved, crc;
};

struct fe_image_block {
    uint64_t erase_seq;   /* the last program of the chip before the erase */
    uint32_t erase_count;
    uint32_t kept_cycle;  /* the cycle whose pages are the last that the disk surely has */
    uint32_t flags, kept_flags; /* kept_flags: of that cycle */
    uint32_t extra[9];    /* see struct fe_store_block */
    uint32_t crc;
};

struct fe_image_trim {
    uint64_t seq;
    uint32_t reserved, crc;
};

enum fe_store_page_state {
    FE_STORE_ERASED,
    FE_STORE_PROGRAMMED,
    FE_STORE_TORN, /* its program was interrupted: neither bytes nor OOB can be read */
    FE_STORE_RAW,  /* no flash: written by fe_store_overwrite */
};

struct fe_image_oob {
    uint64_t seq;
    uint32_t lpn, cycle;
    uint32_t data_crc;
    uint8_t tag, state, zeros, mode; /* enum fe_store_page_state; zeros: no bytes in the file */
    uint32_t reserved, crc;
};

enum fe_image_entry_state {
    FE_ENTRY_HELD = 1,
    FE_ENTRY_ENDED,   /* written out to the flash or trimmed, which a crash of the host may undo */
    FE_ENTRY_DROPPED, /* it never comes back */
};

/* One half of a cache entry. */
struct fe_image_entry {
    uint64_t generation; /* the half of the higher generation is the valid one */
    uint64_t order, sectors;
    uint64_t seq;        /* the last program of the chip before the bytes were written */
    uint64_t out_seq;    /* what ended the entry is older than programs from this number on */
    uint32_t lpn, state; /* enum fe_image_entry_state */
    uint32_t data_crc;
    uint32_t reserved[2], crc;
};

_Static_assert(sizeof(struct fe_image_header) == 72, "header");
_Static_assert(sizeof(struct fe_image_status) == 304, "status");
_Static_assert(sizeof(struct fe_image_lifetime) == 64, "record of the lifetime");
_Static_assert(sizeof(struct fe_image_block) == 64, "block record");
_Static_assert(sizeof(struct fe_image_trim) == 16, "record of a trim");
_Static_assert(sizeof(struct fe_image_oob) == 32, "OOB record");
_Static_assert(sizeof(struct fe_image_entry) == 64, "entry record");

/* What an image is an image of.  Given when it is made, found in it later. */
struct fe_store_what {
    uint64_t n_pages;
    uint32_t page_bytes, pages_per_block;
    uint32_t n_entries;      /* pages of the device's write cache */
    uint64_t capacity, seed; /* of the device; only kept here */
    const char *profile;     /* text, owned by the store once it has it */
    uint32_t profile_bytes;
};

/* Where the parts begin, and the file ends. */
struct fe_image_layout {
    uint64_t n_blocks;
    uint64_t profile, blocks, trims, entries, cache, oob, pages, end;
    uint32_t trim_bytes; /* of one record */
};

#define FE_IMAGE_STATUS(i) (((uint64_t)(i) + 1) * FE_IMAGE_ALIGN)
#define FE_IMAGE_LIFETIME(i) (FE_IMAGE_STATUS(i) + FE_IMAGE_ALIGN / 2)

/* The version decides, too.  -EINVAL if the geometry is no geometry, -EOVERFLOW if the file would
 * be too large. */
int fe_image_layout(struct fe_image_layout *ret, const struct fe_image_header *h,
                    struct fe_err *err);

/* The checksum of a record of `bytes` bytes, the last four of which are its own. */
uint32_t fe_image_record_crc(uint64_t number, const void *record, uint32_t bytes);

/* No power cut takes back a program up to this one. */
static inline uint64_t fe_image_final_seq(const struct fe_image_status *st)
{
    uint64_t n_open = st->n_open_1 ? st->n_open_1 - 1 : 0;
    return st->synced_seq - (n_open < st->synced_seq ? n_open : st->synced_seq);
}

/* Whether a page's record is valid; false for one that was never written. */
bool fe_image_oob_is_valid(const struct fe_image_oob *r, fe_ppn ppn);
