/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of `dftl`, shared by its files only:
 *
 *   dftl.c          read, write, trim: what a mapping costs
 *   dftl_place.c    frontiers: where the next page goes; writing the table
 *   dftl_clean.c    emptying blocks, and what that does to mappings
 *   dftl_limits.c   how much room all that needs, and why cleaning ends
 *   dftl_check.c    every invariant
 *   dftl_recover.c  power-on
 *   map_cache.c     the mapping cache
 *
 * Free blocks and full ones are kept by the page strategy's helpers (block_pool.c,
 * victim.c).
 */
#ifndef FE_FTL_DFTL_CORE_H
#define FE_FTL_DFTL_CORE_H

#include "ftl/map_cache.h"
#include "ftl/block_pool.h"
#include "ftl/recover.h"
#include "ftl/registry.h"
#include "ftl/victim.h"

/* What a block holds, and so where it is written and how it is cleaned. */
enum dftl_kind {
    DFTL_DATA,
    DFTL_MAP, /* pages of the table */
    DFTL_N_KINDS
};

enum dftl_state {
    DFTL_FREE, /* in the pool */
    DFTL_OPEN, /* in a slot of a frontier, or just being emptied */
    DFTL_BAD,
    DFTL_FULL, /* + kind: among the victims of that kind */
};

struct dftl_front {
    fe_peb *slots; /* a die each: an open block, or FE_PEB_NONE; filled in turn */
    uint32_t n_open, turn;
};

struct dftl {
    struct fe_ftl base;
    struct fe_geometry geo;
    bool recovered;        /* since power-on: full blocks may have pages that are still erased */
    uint32_t reserve;      /* free blocks below which cleaning comes first */
    uint32_t per_page;     /* entries of a page of the table */
    uint32_t n_tps;        /* pages of the table: translation pages */

    struct fe_map_cache cache;
    fe_ppn *directory;     /* translation page -> where it lies, FE_PPN_NONE if all unmapped */
    fe_ppn *table;         /* what the translation pages hold, n_tps * per_page entries */

    uint64_t *valid_bits;  /* bit per ppn */
    uint16_t *valid;       /* per block: how many of them */
    uint8_t *state;        /* per block: enum dftl_state */
    struct fe_block_pool pool;
    struct dftl_front fronts[DFTL_N_KINDS];
    struct fe_victims full[DFTL_N_KINDS];

    uint32_t *outdated;    /* translation pages that a cleaning has to write, each once */
    uint32_t n_outdated;
    uint8_t *is_outdated;  /* per translation page */
};

static inline struct dftl *dftl_of(struct fe_ftl *ftl)
{
    return (struct dftl *)ftl;
}

static inline bool dftl_is_valid(const struct dftl *f, fe_ppn ppn)
{
    return fe_bit(f->valid_bits, ppn);
}

/* Whose page stands in the OOB: logical pages first, then translation pages. */
static inline fe_lpn dftl_tag(const struct dftl *f, uint32_t tp)
{
    return f->base.n_lpns + tp;
}

/* What a block holds, by the first page that can be read; data if there is none. */
static inline enum dftl_kind dftl_kind_of(const struct dftl *f, fe_peb peb)
{
    fe_ppn ppn = fe_recover_first(f->base.medium, peb);
    bool map = ppn != FE_PPN_NONE && fe_medium_lpn(f->base.medium, ppn) >= f->base.n_lpns;
    return map ? DFTL_MAP : DFTL_DATA;
}

/* The page is valid no more. */
static inline void dftl_invalidate(struct dftl *f, fe_ppn ppn)
{
    fe_peb peb = fe_peb_of(&f->geo, ppn);
    fe_bit_clear(f->valid_bits, ppn);
    f->valid[peb]--;
    if (f->state[peb] >= DFTL_FULL)
        fe_victims_invalidated(&f->full[f->state[peb] - DFTL_FULL], peb);
}

/* dftl.c: the strategy with all its tables, and no block in any set yet. */
int fe_dftl_new(struct dftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                uint32_t n_lpns, struct fe_err *err);

/* dftl_recover.c */
int fe_dftl_recover(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                    uint32_t n_lpns, struct fe_err *err);

/* dftl_place.c */

/* Programs a page at its kind's frontier; it is valid then, and its former copy is still.
 * base as in fe_medium_prog. */
enum fe_status fe_dftl_place(struct dftl *f, enum dftl_kind kind, fe_lpn tag, fe_ppn base,
                             uint32_t off, uint32_t len, const void *data, fe_ppn *ret);

/* Reads a translation page for what it holds. */
enum fe_status fe_dftl_read_tp(struct dftl *f, uint32_t tp);

/* Writes a translation page anew, with all dirty entries of the cache that belong to it. */
enum fe_status fe_dftl_write_tp(struct dftl *f, uint32_t tp);

/* dftl_clean.c: cleans until `reserve` blocks are free.  Pages may have moved afterwards,
 * entries may have become dirty or clean; none has come or gone. */
enum fe_status fe_dftl_make_room(struct dftl *f);

/* dftl_limits.c */
uint32_t fe_dftl_reserve(const struct fe_ftl_params *p, const struct fe_geometry *geo);
uint64_t fe_dftl_kept(const struct fe_ftl_params *p, const struct fe_geometry *geo);
uint64_t fe_dftl_blocks_of(uint64_t n_lpns, const struct fe_geometry *geo);
uint64_t fe_dftl_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                          struct fe_err *err);

/* dftl_check.c */
int fe_dftl_check(const struct fe_ftl *ftl, struct fe_err *err);

#endif
