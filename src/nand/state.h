/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a chip (nand/chip.h) keeps of one page, of one block, and of power cuts.
 */
#pragma once

#include "flashemu/types.h"

#include <stdbool.h>
#include <stdint.h>

/* The tag of a page whose program was interrupted: neither data nor OOB can be read, its
 * logical page is FE_LPN_NONE and its sequence number 0.  All other tags are the
 * strategy's (enum fe_tag in ftl/ftl.h). */
#define FE_TAG_TORN 0xff

/* Marks of a block, as the flags of its record in an image have them, too. */
enum fe_mark {
    FE_MARK_FACTORY_BAD = 1,
    FE_MARK_GROWN_BAD = 2,
    FE_MARK_SLC = 4,       /* in SLC mode until the next erase */
    FE_MARK_UNSTABLE = 8,  /* its erase was interrupted: no page of it can be used */
    FE_MARK_FAILED = 16,   /* it failed when no spare was left (nand/wear.h) */
    FE_MARK_REFRESH = 32,  /* it waits for its refresh; not in an image */
    FE_MARKS_BAD = FE_MARK_FACTORY_BAD | FE_MARK_GROWN_BAD,
    FE_MARKS_SAVED = FE_MARK_REFRESH - 1,
};

/* What is kept of a block besides its pages.  When another chip block takes the peb,
 * erase_count and FE_MARKS_BAD go with the chip block, and the rest stays with the peb. */
struct fe_peb_info {
    uint32_t erase_count;
    uint16_t next_page; /* pages [0, next_page) are PROGRAMMED or TORN */
    uint8_t marks;      /* enum fe_mark */
};

/* Pages whose data could not be read when they were copied, in `flips`. */
#define FE_FLIPS_LOST   UINT16_MAX       /* and the controller knows: uncorrectable */
#define FE_FLIPS_SILENT (UINT16_MAX - 1) /* the controller does not know: wrong bytes, no error */
#define FE_FLIPS_MAX    (UINT16_MAX - 2) /* the largest number of bits */

/* What the controller knows of power cuts in general. */
struct fe_cut_log {
    uint64_t n;       /* cuts so far: the number of a cut addresses its draws */
    uint64_t n_stale; /* n when pages came back stale; 0: never */
    bool is_off;      /* power has not been on since the last cut */
    bool is_dead;     /* and will not be */
};

/* What the device has behind it, counted from the first power-on of a new device
 * (nand/chip_lifetime.h).  What `device.used` has written is not counted. */
struct fe_lifetime {
    uint64_t clock_ns;    /* device time; at least what any block says (fe_chip.since_ns) */
    uint64_t last_cut_ns; /* when power was cut last; 0: never */
    uint64_t n_writes;    /* of the host */
    uint64_t n_programs;  /* of pages, with copies to spares, and with those that failed or that a
                             cut has taken back */
    uint64_t n_erases;    /* of blocks, likewise */
};

/* The controller's journal of the last cut: the block that was next to be erased, and
 * therefore still holds all that it did, while copies of its pages may be elsewhere.  In
 * memory the journal stays until the next cut, in an image until power-on is complete. */
struct fe_interrupted {
    fe_peb peb;            /* FE_PEB_NONE: no block was */
    uint64_t since, until; /* sequence numbers when its emptying began, and when it was done */
};
