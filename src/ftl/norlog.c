/* SPDX-License-Identifier: BSD-3-Clause
 *
 * norlog: managed NOR, the small disks of embedded systems: sectors of 512 bytes in a log
 * over erase blocks of 128 KiB.
 *
 *                  header                 sectors
 *   erase block   | # # # | a b a' c . . . . . . . . . |
 *                   erase count, directory     ^ the log goes on here
 *
 *   log    full blocks     -> open ->     free blocks
 *        [#abxx] [#xxcx]      [#a'.. ]    [.....] [.....]
 *            |                    ^                  ftl.gc_reserve: kept for collections
 *            +- valid sectors ----+
 *
 * NOR has no OOB.  What stands in a sector is written in its block's directory, together
 * with the block's erase count the header of the block, for which its first sectors are
 * set aside.  The header is programmed when the block becomes the open one and costs the
 * programs of its sectors.  An entry of the directory is programmed with its sector:
 * nand.oob_size is how long it is, and costs programs of its own (of nand.program_unit
 * bytes each); 0, the default of nor, takes the entries for a part of the header.  The
 * medium keeps them in its OOB either way, and they, with the header, are what a map is
 * made of at power-on: the copy with the highest sequence number is the sector.
 *
 * When the open block is full and only the reserve is free, the write that comes next
 * waits for a collection: a victim's valid sectors are copied to the log, in a block of
 * the reserve, and the victim is erased, which takes about a second.
 *
 *   sectors of a block d, valid ones of the victim v:
 *     duration     a header, v copies, an erase
 *     gain         d - v sectors, so many writes until the next one
 *
 * ftl.gc_policy chooses the victim (greedy, cost-benefit or fifo: with tens of blocks there
 * is no need to draw samples).  Levelling goes by the erase counts in the headers: off uses
 * free blocks in turn, dynamic the least worn one first.  Static also lets the least worn
 * full block change places with the most worn free one, after a collection that leaves them
 * more than wl_threshold apart: what has been lying longest goes to the block that has been
 * erased most, alone, though some of its sectors may stay empty.  That wait is an erase
 * and up to d copies longer.
 *
 * There is room: R >= 1 free blocks stay before every collection, so that a victim's
 * v <= d sectors fit, and its block is free afterwards.  And there is something to win: all
 * blocks but the R are full then, for one block of sectors more than the capacity
 * (max_lpns), so at least d of them are not valid.  Levelling takes a free block and gives
 * one back.  Fifo, which also chooses blocks without
 * an invalid sector, comes round to the others.
 *
 * Not modelled: suspending an erase for a read; entries that are marked as deleted one by
 * one (the sequence numbers make that unnecessary); a block of a collection kept aside from
 * the host's.
 */
#include "ftl/norlog_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC       UINT32_C(0x474f4c4e) /* "NLOG" */
#define ENTRY_BYTES 4                    /* of the directory, a sector */

/* What the header begins with; the directory follows. */
struct header {
    uint32_t magic, erase_count;
    uint64_t seq; /* of the header's own program */
};

static struct norlog *norlog_of(struct fe_ftl *ftl)
{
    return (struct norlog *)ftl;
}

static uint32_t header_pages(const struct fe_geometry *geo)
{
    uint64_t bytes = sizeof(struct header) + (uint64_t)ENTRY_BYTES * geo->pages_per_block;
    return (uint32_t)fe_div_up(bytes, geo->page_bytes);
}

static uint32_t reserve_of(const struct fe_ftl_params *p)
{
    return p->clean.gc_reserve ? p->clean.gc_reserve : 1;
}

static enum fe_status program_header(struct norlog *n, fe_peb peb)
{
    struct fe_medium *m = n->base.medium;
    struct header h = {.magic = MAGIC,
                       .erase_count = fe_medium_erase_count(m, peb),
                       .seq = fe_medium_last_seq(m) + 1};
    fe_ppn first = peb * n->geo.pages_per_block;
    enum fe_status st =
        fe_medium_prog(m, first, FE_LPN_NONE, FE_TAG_HEADER, FE_PPN_NONE, 0,
                       (uint32_t)sizeof h, &h);
    for (uint32_t i = 1; i < n->header_pages && st == FE_OK; i++)
        st = fe_medium_prog(m, first + i, FE_LPN_NONE, FE_TAG_HEADER, FE_PPN_NONE, 0, 0, NULL);
    return st;
}

static enum fe_status open_block(struct norlog *n)
{
    fe_peb peb = fe_block_pool_take(&n->pool, n->next_die);
    if (peb == FE_PEB_NONE)
        return FE_NO_SPACE;
    n->next_die = n->next_die + 1 == n->geo.n_dies ? 0 : n->next_die + 1;
    n->state[peb] = NOR_OPEN;
    n->open = peb;
    return program_header(n, peb);
}

void fe_norlog_close_block(struct norlog *n, fe_peb peb)
{
    n->state[peb] = NOR_FULL;
    fe_victims_add(&n->full, peb);
    if (n->p.clean.wear_levelling == FE_WEAR_STATIC)
        fe_heap_push(&n->rested, peb, fe_wear_key(n->base.medium, peb, n->rested_order++));
}

/* Appends a sector to a block and maps it; base as in fe_medium_prog.  The former copy
 * still counts as valid in its block: the caller sees to that. */
static enum fe_status append_to(struct norlog *n, fe_peb peb, fe_lpn lpn, fe_ppn base,
                                uint32_t off, uint32_t len, const void *data)
{
    fe_ppn ppn = peb * n->geo.pages_per_block + fe_medium_next_page(n->base.medium, peb);
    enum fe_tag tag = base != FE_PPN_NONE && len == 0 ? FE_TAG_COPY : FE_TAG_DATA;
    enum fe_status st =
        fe_medium_prog(n->base.medium, ppn, lpn, (uint8_t)tag, base, off, len, data);
    if (st != FE_OK)
        return st;
    n->valid[peb]++;
    n->map[lpn] = ppn;
    return FE_OK;
}

/* The same, to the log. */
static enum fe_status append(struct norlog *n, fe_lpn lpn, fe_ppn base, uint32_t off,
                             uint32_t len, const void *data)
{
    enum fe_status st = n->open == FE_PEB_NONE ? open_block(n) : FE_OK;
    if (st == FE_OK)
        st = append_to(n, n->open, lpn, base, off, len, data);
    if (st == FE_OK && fe_medium_next_page(n->base.medium, n->open) == n->geo.pages_per_block) {
        fe_norlog_close_block(n, n->open);
        n->open = FE_PEB_NONE;
    }
    return st;
}

static void invalidate(struct norlog *n, fe_ppn ppn)
{
    fe_peb peb = fe_peb_of(&n->geo, ppn);
    n->valid[peb]--;
    if (n->state[peb] == NOR_FULL)
        fe_victims_invalidated(&n->full, peb);
}

/* Moves the valid sectors of a full block to another block, or to the log if that is
 * FE_PEB_NONE. */
static enum fe_status move_sectors(struct norlog *n, fe_peb peb, fe_peb to)
{
    fe_ppn first = peb * n->geo.pages_per_block;
    for (uint32_t i = n->header_pages; i < n->geo.pages_per_block && n->valid[peb]; i++) {
        fe_lpn lpn = fe_medium_lpn(n->base.medium, first + i);
        if (!fe_recover_readable(n->base.medium, first + i) || n->map[lpn] != first + i)
            continue;
        enum fe_status st = to == FE_PEB_NONE ? append(n, lpn, first + i, 0, 0, NULL)
                                              : append_to(n, to, lpn, first + i, 0, 0, NULL);
        if (st != FE_OK)
            return st;
        n->valid[peb]--;
        n->base.counters.pages_copied++;
    }
    return FE_OK;
}

enum fe_status fe_norlog_empty(struct norlog *n, fe_peb peb, fe_peb to)
{
    fe_victims_remove(&n->full, peb);
    if (n->p.clean.wear_levelling == FE_WEAR_STATIC)
        fe_heap_remove(&n->rested, peb);
    fe_medium_begin_emptying(n->base.medium);
    enum fe_status st = move_sectors(n, peb, to);
    if (st != FE_OK)
        return st;
    fe_ops_barrier(n->base.medium->ops);
    st = fe_medium_erase(n->base.medium, peb);
    if (st != FE_OK)
        return st;
    fe_ops_barrier(n->base.medium->ops);
    n->state[peb] = NOR_FREE;
    fe_block_pool_put(&n->pool, peb);
    return FE_OK;
}

/* A free block and a full one change places.  In the log the cold sectors would lie among
 * others, and the worn block be written on. */
static enum fe_status level(struct norlog *n)
{
    const struct fe_medium *m = n->base.medium;
    if (n->p.clean.wear_levelling != FE_WEAR_STATIC || n->rested.n == 0)
        return FE_OK;
    fe_peb coldest = n->rested.item[0].peb, worn = n->pool.worn.item[0].peb;
    if (fe_medium_erase_count(m, worn) <=
        fe_medium_erase_count(m, coldest) + n->p.clean.wl_threshold)
        return FE_OK;
    n->base.counters.wear_moves++;
    if (n->valid[coldest] == 0)
        return fe_norlog_empty(n, coldest, FE_PEB_NONE);
    worn = fe_block_pool_take_worn(&n->pool);
    n->state[worn] = NOR_OPEN;
    enum fe_status st = program_header(n, worn);
    if (st == FE_OK)
        st = fe_norlog_empty(n, coldest, worn);
    if (st == FE_OK)
        fe_norlog_close_block(n, worn);
    return st;
}

static enum fe_status collect(struct norlog *n)
{
    fe_peb victim = fe_victims_choose(&n->full);
    if (victim == FE_PEB_NONE)
        return FE_NO_SPACE;
    n->base.counters.gc_runs++;
    enum fe_status st = fe_norlog_empty(n, victim, FE_PEB_NONE);
    return st == FE_OK ? level(n) : st;
}

static enum fe_status norlog_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                   const void *data)
{
    struct norlog *n = norlog_of(ftl);
    enum fe_status st = FE_OK;
    while (n->open == FE_PEB_NONE && n->pool.n <= n->reserve && st == FE_OK)
        st = collect(n);
    if (st != FE_OK)
        return st;
    fe_ppn old = n->map[lpn];
    st = append(n, lpn, old, off, len, data);
    if (st == FE_OK && old != FE_PPN_NONE)
        invalidate(n, old);
    return st;
}

static enum fe_status norlog_read(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                  void *buf)
{
    struct norlog *n = norlog_of(ftl);
    if (n->map[lpn] != FE_PPN_NONE)
        return fe_medium_read(ftl->medium, n->map[lpn], off, len, buf);
    if (buf)
        memset(buf, 0, len);
    return FE_OK;
}

static enum fe_status norlog_trim(struct fe_ftl *ftl, fe_lpn first, uint32_t n_pages)
{
    struct norlog *n = norlog_of(ftl);
    for (fe_lpn lpn = first; lpn < first + n_pages; lpn++) {
        if (n->map[lpn] != FE_PPN_NONE)
            invalidate(n, n->map[lpn]);
        n->map[lpn] = FE_PPN_NONE;
    }
    return FE_OK;
}

/* Only while a whole block can be won: this ends. */
static bool norlog_idle(struct fe_ftl *ftl)
{
    struct norlog *n = norlog_of(ftl);
    return n->pool.n < n->p.clean.idle_free && n->full.n_invalid >= n->data_pages &&
           collect(n) == FE_OK;
}

static uint32_t norlog_free_blocks(const struct fe_ftl *ftl)
{
    return ((const struct norlog *)ftl)->pool.n;
}

static int check_options(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                         struct fe_err *err)
{
    uint32_t header = header_pages(geo);
    if (header >= geo->pages_per_block)
        return fe_err_set(err, EINVAL,
                          "nand.pages_per_block=%u: norlog takes %u for a block's header, with "
                          "pages of %u bytes; at least %u",
                          geo->pages_per_block, header, geo->page_bytes, header + 1);
    if (p->clean.gc_policy == FE_GC_RANDOM || p->clean.gc_policy == FE_GC_D_CHOICES)
        return fe_err_set(err, EINVAL,
                          "ftl.gc_policy=%s: norlog draws no lots, it has few blocks to look at; "
                          "use greedy, cost-benefit or fifo",
                          p->clean.gc_policy == FE_GC_RANDOM ? "random" : "d-choices");
    if (p->clean.wear_levelling == FE_WEAR_STATIC && p->clean.wl_threshold == 0)
        return fe_err_set(err, EINVAL,
                          "ftl.wl_threshold=0: static wear levelling would move a block with "
                          "every collection; at least 1");
    return 0;
}

static uint64_t norlog_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                                struct fe_err *err)
{
    uint32_t reserve = reserve_of(p);
    if (check_options(p, geo, err) < 0)
        return 0;
    if (geo->n_pebs < 3) {
        fe_err_set(err, EINVAL, "the chip has %u blocks: norlog needs 3, one of them free and one "
                   "to win space from", geo->n_pebs);
        return 0;
    }
    if (reserve > geo->n_pebs - 2) {
        fe_err_set(err, EINVAL,
                   "ftl.gc_reserve=%u: norlog keeps so many blocks free and one more beside the "
                   "data; the chip has %u, at most %u", p->clean.gc_reserve, geo->n_pebs,
                   geo->n_pebs - 2);
        return 0;
    }
    uint32_t rest = geo->n_pebs - reserve - 1;
    if (p->clean.idle_free > rest) {
        fe_err_set(err, EINVAL,
                   "ftl.idle_free=%u: the chip has %u blocks, of which norlog keeps %u beside the "
                   "data; at most %u", p->clean.idle_free, geo->n_pebs, reserve + 1, rest);
        return 0;
    }
    return (uint64_t)rest * (geo->pages_per_block - header_pages(geo));
}

static void norlog_destroy(struct fe_ftl *ftl)
{
    struct norlog *n = norlog_of(ftl);
    if (!n)
        return;
    fe_block_pool_fini(&n->pool);
    fe_victims_fini(&n->full);
    free(n->rested_items);
    free(n->rested_place);
    free(n->map);
    free(n->valid);
    free(n->state);
    free(n);
}

static int alloc_tables(struct norlog *n, struct fe_err *err)
{
    uint32_t n_pebs = n->geo.n_pebs;
    bool levels = n->p.clean.wear_levelling == FE_WEAR_STATIC;
    n->map = malloc(n->base.n_lpns * sizeof *n->map);
    n->valid = calloc(n_pebs, sizeof *n->valid);
    n->state = calloc(n_pebs, sizeof *n->state);
    if (levels) {
        n->rested_items = calloc(n_pebs, sizeof *n->rested_items);
        n->rested_place = calloc(n_pebs, sizeof *n->rested_place);
    }
    if (!n->map || !n->valid || !n->state || (levels && (!n->rested_items || !n->rested_place)))
        return fe_err_nomem(err, "map of norlog", n->base.n_lpns * 4ull + n_pebs * 23ull);
    memset(n->map, 0xff, n->base.n_lpns * sizeof *n->map);
    fe_heap_init(&n->rested, n->rested_items, n->rested_place);
    int r = fe_victims_init(&n->full, n->p.clean.gc_policy, n->p.clean.gc_d, n->p.seed, n_pebs,
                            n->data_pages, n->valid, err);
    return r == 0 ? fe_block_pool_init(&n->pool, n->base.medium, n->p.clean.wear_levelling, err) : r;
}

/* All good blocks are free. */
static int fill_pool(struct norlog *n, struct fe_err *err)
{
    const struct fe_medium *m = n->base.medium;
    for (fe_peb peb = 0; peb < n->geo.n_pebs; peb++) {
        if (fe_medium_is_bad(m, peb))
            n->state[peb] = NOR_BAD;
        else
            fe_block_pool_put(&n->pool, peb);
    }
    uint64_t need = (uint64_t)n->reserve + 1 + fe_div_up(n->base.n_lpns, n->data_pages);
    if (n->pool.n < need)
        return fe_err_set(err, EINVAL,
                          "the chip has %u good blocks, %u logical pages need %llu with what "
                          "norlog keeps beside them",
                          n->pool.n, n->base.n_lpns, (unsigned long long)need);
    return 0;
}

int fe_norlog_new(struct norlog **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                  uint32_t n_lpns, struct fe_err *err)
{
    struct norlog *n = calloc(1, sizeof *n);
    if (!n)
        return fe_err_nomem(err, "norlog translation layer", sizeof *n);
    n->base = (struct fe_ftl){.ops = &fe_ftl_norlog, .medium = m, .n_lpns = n_lpns};
    n->p = *p;
    n->geo = m->geo;
    n->header_pages = header_pages(&m->geo);
    n->data_pages = m->geo.pages_per_block - n->header_pages;
    n->reserve = reserve_of(p);
    n->open = FE_PEB_NONE;
    int r = alloc_tables(n, err);
    if (r < 0)
        norlog_destroy(&n->base);
    else
        *ret = n;
    return r;
}

static int norlog_create(struct fe_ftl **ret, const struct fe_ftl_params *p, struct fe_medium *m,
                         uint32_t n_lpns, struct fe_err *err)
{
    struct norlog *n;
    int r = fe_norlog_new(&n, p, m, n_lpns, err);
    if (r < 0)
        return r;
    r = fill_pool(n, err);
    if (r < 0)
        norlog_destroy(&n->base);
    else
        *ret = &n->base;
    return r;
}

/* The header says what the chip knows, in bytes if they are kept. */
static int check_header(const struct norlog *n, fe_peb peb, struct fe_err *err)
{
    const struct fe_medium *m = n->base.medium;
    struct header h;
    fe_ppn first = peb * n->geo.pages_per_block;
    for (uint32_t i = 0; i < n->header_pages; i++)
        if (fe_medium_lpn(m, first + i) != FE_LPN_NONE)
            return fe_err_set(err, EIO, "block %u: page %u of its header is logical page %u", peb,
                              i, fe_medium_lpn(m, first + i));
    if (!fe_recover_readable(m, first)) /* went with a sector that shares its cells */
        return 0;
    fe_store_read(m->store, first, 0, (uint32_t)sizeof h, &h);
    /* where blocks can be replaced, the erases of another one may be meant */
    bool replaceable = m->geo.n_chip_blocks > m->geo.n_pebs;
    uint32_t erases = fe_medium_erase_count(m, peb);
    uint64_t seq = fe_medium_seq(m, first);
    if (fe_store_has_payload(m->store) &&
        (h.magic != MAGIC || (!replaceable && h.erase_count != erases) || h.seq != seq))
        return fe_err_set(err, EIO, "block %u: its header says %u erases, sequence %llu; there "
                          "were %u, %llu", peb, h.erase_count, (unsigned long long)h.seq,
                          erases, (unsigned long long)seq);
    return 0;
}

/* Every copy of a sector is the mapped one or older: what is found at power-on. */
static int check_sectors(const struct norlog *n, fe_peb peb, struct fe_err *err)
{
    const struct fe_medium *m = n->base.medium;
    fe_ppn first = peb * n->geo.pages_per_block;
    uint32_t valid = 0;
    for (uint32_t i = n->header_pages; i < fe_medium_next_page(m, peb); i++) {
        fe_lpn lpn = fe_medium_lpn(m, first + i);
        if (!fe_recover_readable(m, first + i))
            continue;
        if (lpn >= n->base.n_lpns)
            return fe_err_set(err, EIO, "block %u page %u is logical page %u of %u", peb, i, lpn,
                              n->base.n_lpns);
        fe_ppn at = n->map[lpn];
        valid += at == first + i;
        if (at != FE_PPN_NONE && at != first + i &&
            fe_medium_seq(m, at) < fe_medium_seq(m, first + i))
            return fe_err_set(err, EIO, "logical page %u: page %u is newer than page %u, which is "
                              "mapped", lpn, first + i, at);
    }
    if (valid != n->valid[peb])
        return fe_err_set(err, EIO, "block %u: %u valid pages, its count says %u", peb, valid,
                          n->valid[peb]);
    return 0;
}

static int check_block(const struct norlog *n, fe_peb peb, struct fe_err *err)
{
    uint32_t end = fe_medium_next_page(n->base.medium, peb), state = n->state[peb];
    bool fits = state == NOR_FREE   ? end == 0
                : state == NOR_OPEN ? peb == n->open && end >= n->header_pages &&
                                          end < n->geo.pages_per_block
                : state == NOR_FULL ? end == n->geo.pages_per_block || (n->recovered && end) ||
                                          (n->p.clean.wear_levelling == FE_WEAR_STATIC && end)
                                    : fe_medium_is_bad(n->base.medium, peb);
    if (!fits)
        return fe_err_set(err, EIO, "block %u in state %u has %u pages programmed", peb, state,
                          end);
    int r = end ? check_header(n, peb, err) : 0;
    return r == 0 ? check_sectors(n, peb, err) : r;
}

static int norlog_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct norlog *n = (const struct norlog *)ftl;
    uint32_t count[NOR_BAD + 1] = {0}, mapped = 0, valid = 0;
    for (fe_peb peb = 0; peb < n->geo.n_pebs; peb++) {
        int r = check_block(n, peb, err);
        if (r < 0)
            return r;
        count[n->state[peb]]++;
        valid += n->valid[peb];
    }
    for (fe_lpn lpn = 0; lpn < ftl->n_lpns; lpn++)
        mapped += n->map[lpn] != FE_PPN_NONE;
    if (mapped != valid)
        return fe_err_set(err, EIO, "%u pages mapped, %u valid", mapped, valid);
    if (count[NOR_FREE] != n->pool.n || count[NOR_FULL] != n->full.n || n->pool.n < n->reserve ||
        count[NOR_OPEN] != (n->open != FE_PEB_NONE))
        return fe_err_set(err, EIO, "%u blocks free, %u open, %u full; counted are %u, %u, %u",
                          count[NOR_FREE], count[NOR_OPEN], count[NOR_FULL], n->pool.n,
                          n->open != FE_PEB_NONE, n->full.n);
    if (n->p.clean.wear_levelling == FE_WEAR_STATIC &&
        (n->rested.n != n->full.n || !fe_heap_check(&n->rested)))
        return fe_err_set(err, EIO, "%u full blocks, %u in order of their erases, or out of order",
                          n->full.n, n->rested.n);
    int r = fe_block_pool_check(&n->pool, err);
    return r == 0 ? fe_victims_check(&n->full, err) : r;
}

const struct fe_ftl_ops fe_ftl_norlog = {
    .name = "norlog",
    .summary = "a log of sectors over NOR blocks, collected while a write waits (embedded disks)",
    .max_lpns = norlog_max_lpns,
    .create = norlog_create,
    .recover = fe_norlog_recover,
    .destroy = norlog_destroy,
    .read = norlog_read,
    .write = norlog_write,
    .trim = norlog_trim,
    .idle = norlog_idle,
    .free_blocks = norlog_free_blocks,
    .check = norlog_check,
};
