/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the records of an image mean to the chip.  chip.c and chip_lifetime.c write them,
 * chip_load.c reads them; nobody else includes this file.
 *
 * A page's record says what the OOB of a real page says; how far a block is programmed is
 * counted from those records.  A block's record has what the controller keeps of the block
 * elsewhere on the chip: erase count and marks.
 */
#pragma once

#include <stdint.h>

/* In `extra` of a block's record.  The erase count of the record is that of the peb: by it the
 * image knows which pages are of the present cycle, and those stay where they are when another
 * chip block takes the peb.  The erase count of the chip block is told by a difference. */
enum {
    FE_CHIP_EXTRA_DIFFERENCE, /* count of the peb - count of its chip block */
    FE_CHIP_EXTRA_BLOCK,      /* the chip block behind the peb + 1; 0: itself */
    FE_CHIP_EXTRA_READS,
    FE_CHIP_EXTRA_SINCE,      /* the low half, and the high half behind it; 0: not dated */
};

/* Stands for the time 0. */
#define FE_CHIP_DATED UINT64_C(1)

/* In since_ns while an image is being loaded: the record has no time, and gets none before the load has
 * ended. */
#define FE_CHIP_UNDATED UINT64_MAX

/* The mode of a page's record is FE_MARK_SLC or 0.  The block's record has it, too, but a crash of the
 * host may leave the pages without that. */

/* In the tag of a page's record: its data are lost, and the controller knows that or not. */
enum { FE_CHIP_TAG_LOST = 0x80, FE_CHIP_TAG_SILENT = 0x40, FE_CHIP_TAG_MASK = 0x3f };

/* In the record of the lifetime: the members of struct fe_lifetime. */
enum {
    FE_CHIP_LIFETIME_CLOCK,
    FE_CHIP_LIFETIME_LAST_CUT,
    FE_CHIP_LIFETIME_WRITES,
    FE_CHIP_LIFETIME_PROGRAMS,
    FE_CHIP_LIFETIME_ERASES,
};

/* The image's control bytes: what the controller knows of power cuts. */
struct fe_chip_journal {
    uint32_t interrupted;
    uint8_t is_off, is_dead, reserved[2];
    uint64_t since, until;
    uint64_t n, n_stale;
};
