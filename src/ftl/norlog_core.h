/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of `norlog`, shared by norlog.c and norlog_recover.c only.
 */
#ifndef FE_FTL_NORLOG_CORE_H
#define FE_FTL_NORLOG_CORE_H

#include "ftl/block_pool.h"
#include "ftl/recover.h"
#include "ftl/registry.h"
#include "ftl/victim.h"

enum nor_state { NOR_FREE, NOR_OPEN, NOR_FULL, NOR_BAD };

struct norlog {
    struct fe_ftl base;
    struct fe_ftl_params p;
    struct fe_geometry geo;
    uint32_t header_pages, data_pages; /* of a block */
    bool recovered;                    /* since power-on: full blocks may have erased sectors */
    uint32_t reserve;                  /* free blocks that only collections use */
    fe_ppn *map;                       /* lpn -> ppn */
    uint16_t *valid;                   /* per block: sectors that the map points to */
    uint8_t *state;                    /* per block: enum nor_state */
    fe_peb open;                       /* FE_PEB_NONE: the last one is full */
    uint32_t next_die;                 /* of the next block to open */
    struct fe_block_pool pool;
    struct fe_victims full;

    struct fe_heap rested;             /* static levelling: full blocks, fewest erases first */
    struct fe_heap_item *rested_items;
    uint32_t *rested_place;
    uint64_t rested_order;
};

/* The strategy with all its tables, and no block in any set yet. */
int fe_norlog_new(struct norlog **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                  uint32_t n_lpns, struct fe_err *err);

/* A block takes no more sectors: it joins the full ones. */
void fe_norlog_close_block(struct norlog *n, fe_peb peb);

/* Moves what is valid of a full block to another block, or to the log if that is FE_PEB_NONE, and
 * erases it.  The controller does one thing after the other: nothing overlaps with the erase. */
enum fe_status fe_norlog_empty(struct norlog *n, fe_peb peb, fe_peb to);

/* norlog_recover.c */
int fe_norlog_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                      uint32_t n_lpns, struct fe_err *err);

#endif
