/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of `dftl`, shared by its files only:
 *
 *   dftl.c          read, write, trim: what a mapping costs
 *   dftl_place.c    where the next page goes; writing the table
 *   dftl_clean.c    emptying blocks, and what that does to mappings
 *   dftl_limits.c   how much room all that needs, and why cleaning ends
 *   dftl_check.c    every invariant
 *   dftl_recover.c  power-on
 *   map_cache.c     the mapping cache
 *   blocks.h        the states of blocks and pages, which page and norlog share
 */
#pragma once

#include "ftl/blocks/blocks.h"
#include "ftl/pages/map_cache.h"
#include "ftl/recover.h"
#include "ftl/registry.h"

/* What a block holds.  It is the number of its frontier and of its victim set. */
enum dftl_kind {
    DFTL_DATA,
    DFTL_MAP, /* pages of the table */
    DFTL_N_KINDS
};

struct dftl {
    struct fe_ftl base;
    struct fe_blocks blocks;
    uint32_t per_page;     /* entries of a page of the table */
    uint32_t n_tps;        /* pages of the table: translation pages */

    struct fe_map_cache cache;
    fe_ppn *directory;     /* translation page -> where it lies, FE_PPN_NONE if all unmapped */
    fe_ppn *table;         /* the newest mapping, n_tps * per_page entries */

    uint32_t *outdated;    /* translation pages that a cleaning has to write, each once */
    uint32_t n_outdated;
    uint8_t *is_outdated;  /* per translation page */
};

static inline struct dftl *dftl_of(struct fe_ftl *ftl)
{
    return (struct dftl *)ftl;
}

/* Whose page stands in the OOB: logical pages first, then translation pages. */
static inline fe_lpn dftl_tag(const struct dftl *f, uint32_t tp)
{
    return f->base.n_lpns + tp;
}

/* Whether translation pages have bytes.  They need some only where a power cut may make the
 * controller read its table again.  While it works it looks at `table`. */
static inline bool dftl_keeps_bytes(const struct dftl *f)
{
    const struct fe_medium *m = f->base.medium;
    return fe_store_has_payload(m->store) && !m->never_cut;
}

/* What a block holds, by the first page that can be read; data if there is none. */
static inline uint32_t dftl_kind_of(const struct fe_ftl *ftl, fe_peb peb)
{
    fe_ppn ppn = fe_recover_first(ftl->medium, peb);
    bool map = ppn != FE_PPN_NONE && fe_medium_lpn(ftl->medium, ppn) >= ftl->n_lpns;
    return map ? DFTL_MAP : DFTL_DATA;
}

/* dftl_recover.c: finds the table and puts the blocks in order.  0 or -errno. */
int fe_dftl_power_on(struct dftl *f, struct fe_err *err);

/* As in struct fe_ftl_ops. */
bool fe_dftl_may_hold(const struct fe_ftl *ftl, fe_ppn ppn);

/* dftl_place.c */

/* Programs a page at the frontier of its kind.  It is valid then, and so is its former copy
 * still.  base as in fe_medium_prog. */
enum fe_status fe_dftl_place(struct dftl *f, enum dftl_kind kind, fe_lpn tag, fe_ppn base,
                             uint32_t off, uint32_t len, const void *data, fe_ppn *ret);

/* Reads a translation page for what it holds. */
enum fe_status fe_dftl_read_tp(struct dftl *f, uint32_t tp);

/* Writes a translation page anew, with all dirty entries of the cache that belong to it. */
enum fe_status fe_dftl_write_tp(struct dftl *f, uint32_t tp);

/* dftl_clean.c */

/* Cleans until `reserve` blocks are free.  Pages may have moved afterwards, and entries of the
 * cache may have become dirty or clean; but no entry has come or gone. */
enum fe_status fe_dftl_make_room(struct dftl *f);

/* The `move` of struct fe_block_ops. */
enum fe_status fe_dftl_move(struct fe_ftl *ftl, bool is_static, fe_lpn tag, fe_ppn from);

/* dftl_limits.c */
uint32_t fe_dftl_reserve(const struct fe_ftl_params *p, const struct fe_geometry *geo);
uint64_t fe_dftl_kept(const struct fe_ftl_params *p, const struct fe_geometry *geo);
uint64_t fe_dftl_blocks_of(uint64_t n_lpns, const struct fe_geometry *geo);
uint64_t fe_dftl_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                          struct fe_err *err);

/* dftl_check.c */

/* No block holds both data and pages of the table, which cleaning relies on.  0 or -EIO. */
int fe_dftl_check_kinds(const struct dftl *f, struct fe_err *err);

/* As in struct fe_ftl_ops. */
int fe_dftl_check(const struct fe_ftl *ftl, struct fe_err *err);
