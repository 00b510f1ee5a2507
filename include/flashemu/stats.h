/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device has done, counted.
 */
#ifndef FLASHEMU_STATS_H
#define FLASHEMU_STATS_H

#include "flashemu/request.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_req_stats {
    uint64_t ops, bytes; /* bytes: of those that did not fail */
};

/* A snapshot; the meaning of each field is the one of the same name in the
 * interface's `stats`.  WAF = nand_bytes_programmed / write bytes. */
struct fe_stats {
    uint64_t device_ns, busy_ns;
    struct fe_req_stats host[FE_N_REQ_TYPES];
    struct {
        uint64_t page_reads, page_programs, block_erases, bytes_programmed;
    } nand;
    struct {
        uint64_t gc_runs, pages_copied, merges_switch, merges_partial, merges_full;
        uint64_t slc_folds, wear_moves; /* blocks */
        uint64_t map_hits, map_misses, map_reads, map_writes, map_evictions; /* dftl */
        uint64_t free_blocks;
    } ftl;
    struct {
        uint64_t min, max;
        double mean, stddev;
    } wear;                          /* erase counts over blocks in use, spares left out */
    struct {
        uint64_t cuts;               /* since the device was made */
        bool is_on;
    } power;
    uint64_t bad_factory, bad_grown;
    uint64_t ecc_corrected, ecc_uncorrectable; /* codewords */
};

/* What an adapter compares to see what the device has done.  Since it was made: a reset of
 * the statistics changes nothing. */
struct fe_tally {
    uint64_t gc_runs, merges_switch, merges_partial, merges_full;
    uint64_t failures;    /* of programs and erases, and blocks retired: without one of these
                           * only fe_device_mark_bad makes a block bad */
    uint64_t cuts;
    uint64_t last_cut_ns; /* device time of the last; 0 without */
    bool is_on;
};

#endif
