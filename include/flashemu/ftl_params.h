/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the translation layer: sections [ftl] and [step] of a profile.
 *
 * Each group belongs to the strategies, or to the part that several strategies share, that
 * read it.  The option table (src/profile/options.c) has the range, the default and the
 * meaning of every key, and says which strategies use it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The table of cleaning policies: how the block is chosen that is cleaned next.
 *
 *     POLICY(ID, function, name, draws)    FE_GC_ID is its number, choose_function of ftl/blocks/victim.c
 *                                          chooses, profiles write the name; draws: by random numbers */
#define FE_GC_POLICIES(POLICY)                                   \
    POLICY(GREEDY, greedy, "greedy", false)                      \
    POLICY(COST_BENEFIT, cost_benefit, "cost-benefit", false)    \
    POLICY(FIFO, fifo, "fifo", false)                            \
    POLICY(RANDOM, random, "random", true)                       \
    POLICY(D_CHOICES, d_choices, "d-choices", true)

#define FE_GC_POLICY_ID(id, function, name, draws) FE_GC_##id,
enum fe_gc_policy { FE_GC_POLICIES(FE_GC_POLICY_ID) FE_N_GC_POLICIES };
#undef FE_GC_POLICY_ID

enum fe_wear_levelling { FE_WEAR_OFF, FE_WEAR_DYNAMIC, FE_WEAR_STATIC, FE_N_WEAR_LEVELLINGS };

/* How full blocks are cleaned and blocks are levelled: page and norlog. */
struct fe_clean_params {
    uint32_t gc_policy;      /* enum fe_gc_policy */
    uint32_t gc_d;           /* choices of d-choices */
    uint32_t gc_reserve;     /* free blocks below which a write cleans first */
    uint32_t idle_free;      /* free blocks up to which idle time is used to clean */
    uint32_t wear_levelling; /* enum fe_wear_levelling */
    uint32_t wl_threshold;   /* erases that static levelling lets blocks lie apart */
};

enum fe_hot_cold {
    FE_HOT_COLD_OFF,      /* one stream */
    FE_HOT_COLD_GC,       /* pages that cleaning moves go to blocks of their own */
    FE_HOT_COLD_TWO_POOL, /* pages that are written often, and the others, have blocks each */
    FE_N_HOT_COLDS
};

enum fe_slc_mode { FE_SLC_OFF, FE_SLC_STATIC, FE_SLC_DYNAMIC, FE_N_SLC_MODES };

struct fe_page_params {
    uint32_t hot_cold;   /* enum fe_hot_cold */
    uint32_t slc_mode;   /* enum fe_slc_mode: blocks that take host pages in SLC mode */
    uint32_t slc_blocks; /* static: so many are set aside; dynamic: at most, 0 = no limit */
    uint32_t slc_dies;   /* dies that the cache fills in turn; 0: all */
    uint64_t slc_run;    /* after so many bytes in order pages go past the cache; 0: never */
    uint64_t slc_gather; /* bytes that go past the cache together; 0: each page by itself */
    bool slc_pause;      /* a run also ends when the device has nothing left to do */
    uint64_t enhanced_start, enhanced_size; /* bytes of the enhanced area; size 0: none */
};

/* The mapping cache of dftl. */
struct fe_dftl_params {
    uint64_t map_cache; /* bytes */
};

/* Which part of the map the controller holds: page and segment. */
struct fe_region_params {
    uint64_t map_region;    /* bytes of a region */
    uint32_t map_held;      /* regions whose map is held: so many for writes, and for reads */
    uint64_t map_switch_ns; /* additional time when a write goes to another region */
    uint64_t map_read_ns;   /* the same for a read */
    uint64_t stream_read_ns; /* additional time for a read command of more than 4 KiB, unless it
                                continues the one before */
};

/* What a command costs that ends inside a page: page and segment. */
struct fe_part_params {
    uint64_t part_write_ns; /* additional time for each page of which a command writes a part */
    uint64_t rest_write_ns; /* time to write a page again: a command that writes a part of a page
                             * takes the share of this that it leaves */
    uint64_t tail_write_ns; /* additional time for a write that has a tail */
    uint64_t tail_align;    /* one that ends at a multiple of this has none, nor has one that is no
                             * longer than this or than a page; 0: of the page */
    uint64_t rest_read_ns;  /* time to fetch rest_align bytes: a read that does not end at a
                             * multiple of them takes the share of this that it leaves */
    uint64_t rest_align;    /* bytes; 0: of the page */
};

/* Units of erase blocks, and how a merge fills one: block, segment, bast and fast. */
struct fe_unit_params {
    uint64_t unit_size;   /* bytes of an allocation unit or mapped block */
    uint32_t copy_buffer; /* pages that a merge holds in memory at a time */
    uint32_t gap_fill;    /* pages that a write in order may skip, by copying them */
    bool switch_merge;    /* a log that is in order may become the data unit */
    uint64_t copy_page_ns; /* additional time for each page that is copied */
};

/* The log blocks of bast and fast. */
struct fe_log_params {
    uint32_t log_blocks;
    bool fast_sequential; /* one log block of fast takes sequential writes only */
};

struct fe_segment_params {
    uint32_t open_linear;  /* allocation units open for appending */
    uint32_t open_random;  /* allocation units open in any order */
    uint32_t open_units;   /* of both sorts together; 0: no such limit */
    uint64_t random_log;   /* bytes that a unit open in any order takes; 0: as many as it has */
    uint64_t random_record; /* bytes to a multiple of which a command there is padded, behind a
                               page for its head; 0: neither */
    uint32_t small_log;    /* allocation units that log small writes page by page */
    uint64_t small_write;  /* bytes of the largest command that goes there */
    uint32_t small_pace;   /* pages that the small log gives up with each page that it takes;
                              0: a unit at once, when it is full */
    bool small_join;       /* a page that the small log has whole goes on to its open unit */
    uint32_t zone_start;   /* first unit of a zone, all of whose writes go to the small log */
    uint32_t zone_units;   /* units of the zone; 0: there is none */
    uint32_t group_units;  /* neighbouring units that are gathered together */
    uint32_t scattered;    /* units that may lie apart from their group; 0 = all */
    uint32_t scattered_stay; /* a group of which one was replaced so lately is not gathered */
    uint32_t scattered_hot;  /* commands to a group that count when one has to be gathered */
    bool group_switch;     /* a group replaced in order and whole is gathered already */
    uint64_t unit_read_ns; /* additional time when a command reads on into another unit */
    uint64_t end_read_ns;  /* the same for one that reads up to the end of its unit */
};

/* [step]: one rule each for reads and writes.  Lengths of runs are counted in blocks of 512
 * bytes; src/ftl/step.c draws what the numbers mean. */
struct fe_step_rule {
    uint64_t random_ns; /* the first block of a run */
    uint64_t step_ns;   /* each later block of writes */
    uint64_t spike_ns;  /* additional time whenever the run reaches a threshold */
    uint32_t first;     /* the first threshold in blocks, at least 2; 0: there is none */
    uint32_t again;     /* from one threshold to the next: reads double `first` up to this,
                           writes always have this; 0: there is no next one */
};

struct fe_step_params {
    struct fe_step_rule read, write;
};

struct fe_ftl_params {
    uint32_t type;   /* index in fe_ftl_registry */
    uint64_t op_ppm; /* (physical - logical) / logical */
    bool trim_lost;  /* a power cut brings trimmed pages back */
    uint64_t seed;   /* of the device; no key of the profile */
    struct fe_clean_params clean;
    struct fe_page_params page;
    struct fe_dftl_params dftl;
    struct fe_region_params region;
    struct fe_part_params part;
    struct fe_unit_params unit;
    struct fe_log_params log;
    struct fe_segment_params segment;
    struct fe_step_params step;
};
