/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The address spaces, and the status that a medium or a translation layer returns.
 *
 * Each address space has a type of its own and a sentinel that means "none".  Offsets and lengths
 * are in bytes.
 */
#pragma once

#include <stdint.h>

typedef uint32_t fe_lpn; /* logical page: host offset / page_bytes */
typedef uint32_t fe_ppn; /* physical page: peb * pages_per_block + page */
typedef uint32_t fe_peb; /* physical erase block, an address: ppn / pages_per_block */
typedef uint32_t fe_leb; /* logical block or allocation unit */

/* A block of the chip by the chip's own number: row * n_dies + die.  Bad block management
 * decides which chip block stands behind which peb; at first chip block n stands behind
 * peb n.  What users name (`ctl mark-bad`, `wear`, `flip`) are chip blocks. */
typedef uint32_t fe_chip_block;

#define FE_LPN_NONE UINT32_MAX
#define FE_PPN_NONE UINT32_MAX
#define FE_PEB_NONE UINT32_MAX
#define FE_LEB_NONE UINT32_MAX

/* A condition of the medium or of the device.  It is neither a bug nor bad input: those are asserts
 * and negative errnos. */
enum fe_status {
    FE_OK = 0,
    FE_CORRECTED,     /* the data are right, but the code had to correct bits */
    FE_UNCORRECTABLE, /* the data are lost */
    FE_PROG_FAILED,   /* the chip reports a failed program */
    FE_ERASE_FAILED,  /* the chip reports a failed erase */
    FE_NO_SPACE,      /* no block is left to write to */
    FE_READ_ONLY,     /* end of life: writes are refused */
    FE_GONE,          /* the device has left the bus */
    FE_NO_POWER,      /* power is off, or failed before the request was done */
    FE_HOST_FAILED,   /* the host could not keep the data: see fe_device_failure */
};
