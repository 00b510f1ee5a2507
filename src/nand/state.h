/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a chip and its controller remember beside the pages; an image keeps the blocks and the
 * log of cuts, the counters begin anew.
 */
#ifndef FE_NAND_STATE_H
#define FE_NAND_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* All that a block has beside its pages: what an image keeps of it. */
struct fe_peb_info {
    uint32_t erase_count;
    uint16_t next_page; /* pages [0, next_page) are PROGRAMMED or TORN */
    uint8_t factory_bad : 1, grown_bad : 1;
    uint8_t slc : 1;      /* in SLC mode until the next erase */
    uint8_t unstable : 1; /* its erase was interrupted: no page of it can be used */
    uint8_t failed : 1;   /* it failed when no spare was left (nand/wear.h) */
    uint8_t refresh : 1;  /* waits for its refresh; not worth keeping in an image */
};

struct fe_nand_counters {
    uint64_t page_reads, page_programs, block_erases; /* of single planes */
    uint64_t bytes_programmed;                        /* data, without OOB */
    uint64_t ecc_corrected, ecc_uncorrectable;        /* codewords read */
    uint64_t program_failures, erase_failures;
    uint64_t refreshed, retired;                      /* blocks, because of bits that flipped */
};

/* What the controller knows of power cuts, beside the journal of the last one.  An image
 * keeps it. */
struct fe_cut_log {
    uint64_t n;       /* cuts so far: the number of a cut addresses its draws */
    uint64_t n_stale; /* n when pages came back stale; 0: never */
    bool is_off;      /* power has not been on since the last */
    bool is_dead;     /* and will not be */
};

#endif
