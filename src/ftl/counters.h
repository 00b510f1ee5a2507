/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a strategy counts.
 */
#pragma once

#include <stdint.h>

/* What a strategy counts itself.  Writes of the host and operations of the chip are counted
 * elsewhere. */
struct fe_ftl_counters {
    uint64_t gc_runs;         /* blocks or logs that were cleaned, groups that were gathered */
    uint64_t pages_copied;    /* for whatever reason: cleaning, merges, folds, levelling */
    uint64_t slc_folds;       /* blocks of the SLC cache that were emptied */
    uint64_t wear_moves;      /* blocks that static wear levelling has moved */
    uint64_t merges_switch, merges_partial, merges_full; /* see unit_map.h */
    uint64_t map_hits, map_misses;  /* mappings that dftl found in its cache, or did not find */
    uint64_t map_reads, map_writes; /* of translation pages; copies are not counted here */
    uint64_t map_evictions;         /* map_writes because an entry had to leave the cache */
};
