/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dftl: every page is mapped by itself, but the table lies on flash and memory holds a few
 * entries of it (Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing
 * demand-based selective caching of page-level address mappings", 2009).
 *
 *   memory   cache      [9: 130*] [40: 77] [3: 52] [41: 91*]    ftl.map_cache, * = dirty
 *            directory  translation page   0: 900   1: 640  ...
 *                                           |        |
 *   flash    table      page 900 | 0: 7  1: 12 .. |  page 640 | 40: 77  41: 60 .. |
 *            data       page 77  | bytes of logical page 40 |
 *
 * A translation page has page_bytes / 4 entries.  An entry takes 8 bytes of the cache, and a
 * translation page takes 4 bytes of the directory.  What an access costs besides its own page:
 *
 *   the entry is cached                     nothing
 *   the entry is not cached                 1 read of its translation page
 *   and a dirty entry has to leave for it   1 read and 1 program of that entry's
 *
 * That program writes all dirty entries of the same translation page.  They stay in the cache,
 * and are clean.  If a translation page does not exist, all its pages are unmapped, and
 * nothing is read to find that out; to find that another page is unmapped costs the look-up.
 * The program of a translation page waits for its read, and the host's page waits for its
 * mapping.  All other operations wait only for dies and channels.
 *
 * Entries leave in plain order of use.  The paper names a segmented LRU but not the sizes of
 * its segments, and without those nobody can repeat its figures.  With plain LRU the hit
 * ratio follows from the workload alone, so this file can be compared with theory.
 *
 * trim unmaps cached entries in the cache.  For the others it reads the translation page, and
 * writes it if that has changed it.  A translation page is given up when all its pages are
 * trimmed.
 *
 * `table` has the newest mapping of all pages.  A translation page on flash says the same, except
 * for its entries that are dirty in the cache.
 *
 * Not modelled: loading the neighbours of an entry with it, or keeping the last translation
 * page that was read in a buffer (both in later work: TPFTL, S-FTL); memory for the links
 * of the cache; cleaning in idle time.  Free blocks are used in order of wear.
 */
#include "base/table.h"
#include "ftl/pages/dftl_core.h"

#include <stdlib.h>
#include <string.h>

/* Whether a dirty entry would have to leave for an entry that is loaded now. */
static bool must_write_back(const struct dftl *f)
{
    fe_lpn lpn = fe_map_leaves_next(&f->cache);
    return lpn != FE_LPN_NONE && fe_map_is_dirty(&f->cache, lpn);
}

/* Loads the entry of a logical page if the cache does not have it.  *ret_waits: the next
 * operation has to wait for that.  There must be room if an entry has to be written. */
static enum fe_status fetch(struct dftl *f, fe_lpn lpn, bool *ret_waits)
{
    uint32_t tp = fe_map_page(&f->cache, lpn);
    enum fe_status st = FE_OK;
    *ret_waits = false;
    if (fe_map_has(&f->cache, lpn)) {
        f->base.counters.map_hits++;
        fe_map_touch(&f->cache, lpn);
        return FE_OK;
    }
    f->base.counters.map_misses++;
    if (must_write_back(f)) {
        f->base.counters.map_evictions++;
        st = fe_dftl_write_tp(f, fe_map_page(&f->cache, fe_map_leaves_next(&f->cache)));
    }
    if (st == FE_OK && f->directory[tp] != FE_PPN_NONE) {
        st = fe_dftl_read_tp(f, tp);
        *ret_waits = true;
    }
    if (st == FE_OK)
        fe_map_add(&f->cache, lpn);
    return st;
}

static enum fe_status dftl_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *data)
{
    struct dftl *f = dftl_of(ftl);
    bool waits;
    enum fe_status st = fe_dftl_make_room(f);
    if (st == FE_OK)
        st = fetch(f, lpn, &waits);
    if (st != FE_OK)
        return st;
    fe_ppn old = f->table[lpn], ppn;
    if (waits)
        fe_ops_wait(ftl->medium->ops);
    st = fe_dftl_place(f, DFTL_DATA, lpn, old, off, len, data, &ppn);
    if (st != FE_OK)
        return st;
    if (old != FE_PPN_NONE)
        fe_blocks_replaced(&f->blocks, old);
    f->table[lpn] = ppn;
    fe_map_mark(&f->cache, lpn);
    return FE_OK;
}

/* A read at the end of life: no entry can be written back then, so none enters the cache. */
static enum fe_status read_uncached(struct dftl *f, fe_lpn lpn, uint32_t off, uint32_t len,
                                    void *buf)
{
    uint32_t tp = fe_map_page(&f->cache, lpn);
    if (!fe_map_has(&f->cache, lpn) && f->directory[tp] != FE_PPN_NONE)
        fe_dftl_read_tp(f, tp);
    return fe_read_mapped(f->base.medium, f->table[lpn], off, len, buf);
}

static enum fe_status dftl_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                void *buf)
{
    struct dftl *f = dftl_of(ftl);
    bool waits, cached = fe_map_has(&f->cache, lpn);
    enum fe_status st = FE_OK;
    if (ftl->medium->eol)
        return read_uncached(f, lpn, off, len, buf);
    if (!cached && f->directory[fe_map_page(&f->cache, lpn)] == FE_PPN_NONE)
        return fe_read_mapped(ftl->medium, FE_PPN_NONE, off, len, buf);
    if (!cached && must_write_back(f))
        st = fe_dftl_make_room(f);
    if (st == FE_OK)
        st = fetch(f, lpn, &waits);
    if (st != FE_OK)
        return ftl->medium->eol ? read_uncached(f, lpn, off, len, buf) : st;
    fe_ppn ppn = f->table[lpn];
    if (waits && ppn != FE_PPN_NONE)
        fe_ops_wait(ftl->medium->ops);
    return fe_read_mapped(ftl->medium, ppn, off, len, buf);
}

/* The table is right where the cache knows it, or where the chip has a page of it. */
static fe_ppn dftl_locate(const struct fe_ftl *ftl, fe_lpn lpn)
{
    const struct dftl *f = (const struct dftl *)ftl;
    bool known = fe_map_has(&f->cache, lpn) ||
                 f->directory[fe_map_page(&f->cache, lpn)] != FE_PPN_NONE;
    return known ? f->table[lpn] : FE_PPN_NONE;
}

/* Unmaps those of pages [from, to) that the cache knows; returns whether it knows them all.  If the
 * table cannot be written afterwards, the trim fails, and the pages read as zeros all the same. */
static bool trim_cached(struct dftl *f, fe_lpn from, fe_lpn to)
{
    bool all = true;
    for (fe_lpn lpn = from; lpn < to; lpn++) {
        if (!fe_map_has(&f->cache, lpn)) {
            all = false;
        } else if (f->table[lpn] != FE_PPN_NONE) {
            fe_blocks_trimmed(&f->blocks, f->table[lpn]);
            f->table[lpn] = FE_PPN_NONE;
            fe_map_mark(&f->cache, lpn);
        }
    }
    return all;
}

/* Unmaps the others in the table; returns whether one was mapped. */
static bool trim_others(struct dftl *f, fe_lpn from, fe_lpn to)
{
    bool any = false;
    for (fe_lpn lpn = from; lpn < to; lpn++) {
        if (fe_map_has(&f->cache, lpn) || f->table[lpn] == FE_PPN_NONE)
            continue;
        fe_blocks_trimmed(&f->blocks, f->table[lpn]);
        f->table[lpn] = FE_PPN_NONE;
        any = true;
    }
    return any;
}

/* No page of a translation page is mapped any more, so the translation page is not needed. */
static void give_up(struct dftl *f, uint32_t tp)
{
    fe_map_write_back(&f->cache, tp);
    if (f->directory[tp] != FE_PPN_NONE)
        fe_blocks_trimmed(&f->blocks, f->directory[tp]);
    f->directory[tp] = FE_PPN_NONE;
}

/* Trims pages [from, to), which all belong to one translation page. */
static enum fe_status trim_part(struct dftl *f, uint32_t tp, fe_lpn from, fe_lpn to)
{
    bool whole = from == tp * f->per_page && (to - from == f->per_page || to == f->base.n_lpns);
    bool changed = false;
    enum fe_status st = whole ? FE_OK : fe_dftl_make_room(f);
    if (st != FE_OK)
        return st;
    if (!trim_cached(f, from, to) && f->directory[tp] != FE_PPN_NONE) {
        st = fe_dftl_read_tp(f, tp);
        if (st != FE_OK)
            return st;
        changed = trim_others(f, from, to);
    }
    if (whole)
        give_up(f, tp);
    else if (changed)
        st = fe_dftl_write_tp(f, tp);
    return st;
}

static void dftl_fetch(const struct fe_ftl *ftl, fe_lpn lpn, uint32_t step)
{
    const struct dftl *f = (const struct dftl *)ftl;
    if (step == 0) {
        fe_fetch(&f->table[lpn]);
        fe_fetch(&f->cache.entry_of[lpn]);
        return;
    }
    if (f->table[lpn] != FE_PPN_NONE)
        fe_blocks_fetch(&f->blocks, f->table[lpn], step);
    if (step == 1 && fe_map_has(&f->cache, lpn))
        fe_fetch(&f->cache.entries[f->cache.entry_of[lpn]]);
}

static enum fe_status dftl_trim(struct fe_ftl *ftl, fe_lpn first, uint32_t n)
{
    struct dftl *f = dftl_of(ftl);
    enum fe_status st = FE_OK;
    for (fe_lpn end = first + n; first < end && st == FE_OK;) {
        uint32_t tp = fe_map_page(&f->cache, first);
        fe_lpn to = (fe_lpn)fe_min_u64(end, (tp + 1ull) * f->per_page);
        st = trim_part(f, tp, first, to);
        first = to;
    }
    return st;
}

static uint32_t dftl_valid_pages(const struct fe_ftl *ftl, fe_peb peb)
{
    return ((const struct dftl *)ftl)->blocks.valid[peb];
}

static uint32_t dftl_free_blocks(const struct fe_ftl *ftl)
{
    return ((const struct dftl *)ftl)->blocks.pool.n;
}

static void dftl_fini(struct fe_ftl *ftl)
{
    struct dftl *f = dftl_of(ftl);
    fe_blocks_fini(&f->blocks);
    fe_map_cache_fini(&f->cache);
    free(f->directory);
    free(f->table);
    free(f->outdated);
    free(f->is_outdated);
}

static int alloc_tables(struct dftl *f, struct fe_err *err)
{
    size_t n_entries = (size_t)f->n_tps * f->per_page;
    f->directory = malloc(f->n_tps * sizeof *f->directory);
    f->table = fe_table_alloc(n_entries, sizeof *f->table);
    f->outdated = calloc(f->n_tps, sizeof *f->outdated);
    f->is_outdated = calloc(f->n_tps, 1);
    if (!f->directory || !f->table || !f->outdated || !f->is_outdated)
        return fe_err_nomem(err, "tables of dftl", n_entries * 4 + f->n_tps * 9ull);
    memset(f->directory, 0xff, f->n_tps * sizeof *f->directory);
    memset(f->table, 0xff, n_entries * sizeof *f->table);
    return 0;
}

static int init(struct dftl *f, const struct fe_ftl_params *p, struct fe_err *err)
{
    static const struct fe_block_ops block_ops = {
        .move = fe_dftl_move,
        .frontier_of = dftl_kind_of,
    };
    const struct fe_geometry *g = &f->base.medium->geo;
    struct fe_blocks_config config = {
        .reserve = fe_dftl_reserve(p, g), .levelling = FE_WEAR_DYNAMIC, .seed = p->seed};
    for (uint32_t kind = 0; kind < DFTL_N_KINDS; kind++) {
        config.sets[kind] = (struct fe_set_config){FE_GC_GREEDY, 1, g->pages_per_block};
        config.frontiers[kind] = (struct fe_frontier_config){g->n_dies, g->pages_per_block, kind};
    }
    f->per_page = g->page_bytes / (uint32_t)sizeof *f->table;
    f->base.trim_unit = f->per_page;
    f->n_tps = (uint32_t)fe_div_up(f->base.n_lpns, f->per_page);
    uint32_t n = (uint32_t)fe_min_u64(p->dftl.map_cache / FE_MAP_ENTRY_BYTES, f->base.n_lpns);
    int r = alloc_tables(f, err);
    if (r == 0)
        r = fe_map_cache_init(&f->cache, n, f->base.n_lpns, f->per_page, err);
    return r == 0 ? fe_blocks_init(&f->blocks, &f->base, &block_ops, &config, err) : r;
}

static int dftl_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                      struct fe_err *err)
{
    struct dftl *f = dftl_of(ftl);
    const struct fe_geometry *g = &ftl->medium->geo;
    int r = init(f, p, err);
    if (r == 0)
        r = used ? fe_dftl_power_on(f, err)
                 : fe_blocks_fill(&f->blocks, fe_dftl_kept(p, g) +
                                  fe_dftl_blocks_of(ftl->n_lpns, g), err);
    return r;
}

const struct fe_ftl_ops fe_ftl_dftl = {
    .name = "dftl",
    .summary = "every page mapped by itself, the table on flash and a part of it cached",
    .max_lpns = fe_dftl_max_lpns,
    .size = sizeof(struct dftl),
    .start = dftl_start,
    .fini = dftl_fini,
    .may_hold = fe_dftl_may_hold,
    .read = dftl_read,
    .locate = dftl_locate,
    .write = dftl_write,
    .trim = dftl_trim,
    .fetch = dftl_fetch,
    .free_blocks = dftl_free_blocks,
    .valid_pages = dftl_valid_pages,
    .check = fe_dftl_check,
};
