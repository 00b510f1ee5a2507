/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics: counters of what a device has done.
 */
#pragma once

#include "flashemu/hist.h"
#include "flashemu/lies.h"
#include "flashemu/request.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_req_stats {
    uint64_t ops, bytes; /* bytes counts only requests that did not fail */
};

/* Whether the device works, and if not, why.  If several apply, the first of them counts. */
enum fe_condition {
    FE_COND_DEAD_BY_CUT,  /* it did not survive a power cut */
    FE_COND_NO_POWER,
    FE_COND_DISCONNECTED, /* it has left the bus */
    FE_COND_DEAD,         /* this and the next two: the end of life, as the profile wants it */
    FE_COND_FULL,
    FE_COND_READ_ONLY,
    FE_COND_HOST_FAILED,  /* the image cannot be written */
    FE_COND_WORN,         /* it works, but failed blocks stay in use */
    FE_COND_ALIVE,
    FE_N_CONDITIONS
};

/* The condition as `stats` calls it: "alive", "read-only", "full", "dead", "no-power" or
 * "disconnected".  And the reason, a part of a sentence; NULL if the device is as good as new. */
const char *fe_condition_state(enum fe_condition c);
const char *fe_condition_reason(enum fe_condition c);

/* Erases of blocks; all 0 if there are no blocks. */
struct fe_wear_stats {
    uint64_t min, max;
    double mean, stddev;
};

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

/* A snapshot.  Each field means the same as the field of that name in the output of
 * `flashemu ctl SOCKET stats`.  WAF (write amplification) is nand.bytes_programmed divided by
 * host[FE_REQ_WRITE].bytes. */
struct fe_stats {
    uint64_t device_ns, busy_ns;
    struct fe_req_stats host[FE_N_REQ_TYPES];
    struct {
        uint64_t page_reads, page_programs, block_erases, bytes_programmed;
    } nand;
    struct fe_ftl_counters ftl;
    uint64_t free_blocks;            /* of the strategy, now */
    struct fe_wear_stats wear;       /* of the blocks in use, without spares */
    struct fe_wear_stats enhanced;   /* of those among them that hold the enhanced area */
    uint64_t enhanced_blocks;        /* how many hold it; 0: there is none, and no wear of it */
    struct {
        uint64_t cuts;               /* since the device was made */
        bool is_on;
    } power;
    uint64_t bad_factory, bad_grown;
    bool lies;                   /* the device lies, or has lied since the reset */
    uint64_t told[FE_N_LIES];    /* requests on which each lie has told */
    uint64_t ecc_corrected, ecc_uncorrectable; /* codewords */
    enum fe_condition condition;
};

/* A few counters that an adapter compares before and after a call to see what the device has done.
 * They count from fe_device_create, except for the cuts, which an image keeps; a reset of the
 * statistics does not change them. */
struct fe_tally {
    uint64_t gc_runs, merges_switch, merges_partial, merges_full;
    uint64_t bytes_programmed; /* to the chip, without OOB */
    uint64_t failures;    /* failed programs, failed erases and retired blocks; while this does
                           * not change, only fe_device_mark_bad makes a block bad */
    uint64_t refresh_erases; /* of blocks whose data were moved because bits had flipped */
    uint64_t cuts;
    uint64_t last_cut_ns; /* device time of the last cut; 0 if there was none */
    bool is_on;
    enum fe_condition condition;
};

/* What a device has done between two tallies, as a trace tells it of a request.  A power cut takes
 * back programs that were not over, also those of earlier requests; what is left is at least 0. */
struct fe_work {
    uint64_t programmed; /* bytes */
    uint32_t collections, merges;
};

static inline struct fe_work fe_work_between(const struct fe_tally *was, const struct fe_tally *is)
{
    uint64_t merges = is->merges_switch - was->merges_switch + is->merges_partial -
                      was->merges_partial + is->merges_full - was->merges_full;
    return (struct fe_work){
        .programmed = is->bytes_programmed > was->bytes_programmed
                          ? is->bytes_programmed - was->bytes_programmed
                          : 0,
        .collections = (uint32_t)(is->gc_runs - was->gc_runs),
        .merges = (uint32_t)merges,
    };
}

/* What fe_device_get_stats returns, in two steps, for an adapter that wants to hold its lock for a
 * short time only.  The snapshot is created before, without the lock; NULL without memory.
 * fe_snapshot_take needs the lock.  It only copies: 8 bytes for each block, and the histograms.
 * The other functions need no lock. */
struct fe_device;
struct fe_snapshot;
struct fe_snapshot *fe_snapshot_create(const struct fe_device *dev);
void fe_snapshot_take(struct fe_snapshot *s, const struct fe_device *dev);
void fe_snapshot_stats(const struct fe_snapshot *s, struct fe_stats *ret); /* O(blocks) */
const struct fe_hist *fe_snapshot_latency(const struct fe_snapshot *s, enum fe_req_type type);
const struct fe_hist *fe_snapshot_commit_latency(const struct fe_snapshot *s);
void fe_snapshot_destroy(struct fe_snapshot *s); /* NULL is allowed */
