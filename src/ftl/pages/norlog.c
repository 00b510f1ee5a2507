/* SPDX-License-Identifier: BSD-3-Clause
 *
 * norlog: managed NOR, as in the small disks of embedded systems.  Sectors of 512 bytes form
 * a log over erase blocks of 128 KiB.
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
 * NOR has no OOB.  The directory of a block says what its sectors hold.  The directory and the
 * erase count of the block are its header, for which the first sectors of the block are set
 * aside.  The header is programmed when the block becomes the open one, and costs the programs
 * of its sectors.  An entry of the directory is programmed with its sector.  nand.oob_size is
 * the length of an entry, which costs programs of its own, of nand.program_unit bytes each;
 * with 0, the default of nor, the entries are part of the header.  The medium keeps entries in
 * its OOB either way.  At power-on the map is made of entries and headers: the copy with the
 * highest sequence number is the sector.
 *
 * When the open block is full and only the reserve is free, the next write waits for a
 * collection.  The valid sectors of a victim are copied to the log, in a block of the reserve,
 * and the victim is erased, which takes about a second.  With d sectors in a block, v of them
 * valid in the victim:
 *
 *     duration     a header, v copies, an erase
 *     gain         d - v sectors, so many writes until the next collection
 *
 * ftl.gc_policy chooses the victim: greedy, cost-benefit or fifo.  With tens of blocks there
 * is no need to draw samples.
 *
 * Levelling goes by the erase counts in the headers.  `off` uses free blocks in turn, and
 * `dynamic` uses the least worn one first.  `static` also lets the least worn full block
 * change places with the most worn free one, after a collection that leaves them more than
 * wl_threshold apart.  What has been lying longest then goes to the block that has been erased
 * most.  Nothing else goes there, although some of its sectors may stay empty.  The wait for
 * such a collection is an erase and up to d copies longer.
 *
 * There is room: R >= 1 free blocks are left before every collection.  So the v <= d valid
 * sectors of a victim fit, and its block is free afterwards.  And there is something to win:
 * all blocks except the R are full then, and they have at least d sectors more than the
 * capacity (max_lpns), so at least d of their sectors are invalid.  Levelling takes a free
 * block and gives one back.  Fifo also chooses blocks without an invalid sector, but it comes
 * round to the others.
 *
 * At power-on the unfinished block that was written last goes on as the open one, and the
 * other ones are closed as they are.  If the reserve is not whole, power failed during a
 * collection.  Then the copies that it made are thrown away, because the victim still has all
 * those sectors; so no power cut costs room, however often power fails.  If no journal names
 * the victim because the server of an image was killed, collecting goes on: no sector is torn
 * then, so the rest of the victim fits into the block that its copies go to.
 *
 * Not modelled: suspending an erase for a read; entries that are marked as deleted one by
 * one (the sequence numbers make that unnecessary); a block for collections apart from the
 * host's.
 */
#include "ftl/blocks/recover.h"
#include "ftl/recover.h"
#include "ftl/registry.h"

#include <errno.h>
#include <stdlib.h>

#define MAGIC       UINT32_C(0x474f4c4e) /* "NLOG" */
#define ENTRY_BYTES 4                    /* of the directory, a sector */

/* What the header begins with; the directory follows. */
struct header {
    uint32_t magic, erase_count;
    uint64_t seq; /* of the header's own program */
};

/* The frontiers.  Each has one open block. */
enum { LOG, STATIC }; /* STATIC: the worn block that static levelling fills with static data */

struct norlog {
    struct fe_ftl base;
    struct fe_ftl_params p;
    struct fe_blocks blocks;
    uint32_t header_pages, data_pages; /* of a block */
    uint32_t next_die;                 /* of the next block of the log */
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

/* A block that was taken from the pool becomes the open one of a frontier, with a header. */
static enum fe_status open_block(struct norlog *n, int frontier, fe_peb peb)
{
    struct fe_medium *m = n->base.medium;
    struct header h = {.magic = MAGIC,
                       .erase_count = fe_medium_erase_count(m, peb),
                       .seq = fe_medium_last_seq(m) + 1};
    fe_ppn first = peb * n->blocks.geo.pages_per_block;
    fe_blocks_open(&n->blocks, &n->blocks.fronts[frontier], peb);
    enum fe_status st =
        fe_medium_prog(m, first, FE_LPN_NONE, FE_TAG_HEADER, FE_PPN_NONE, 0,
                       (uint32_t)sizeof h, &h);
    for (uint32_t i = 1; i < n->header_pages && st == FE_OK; i++)
        st = fe_medium_prog(m, first + i, FE_LPN_NONE, FE_TAG_HEADER, FE_PPN_NONE, 0, 0, NULL);
    return st;
}

static enum fe_status open_next(struct norlog *n)
{
    fe_peb peb = fe_block_pool_take(&n->blocks.pool, n->next_die);
    if (peb == FE_PEB_NONE)
        return FE_NO_SPACE;
    n->next_die = n->next_die + 1 == n->blocks.geo.n_dies ? 0 : n->next_die + 1;
    return open_block(n, LOG, peb);
}

/* Appends a sector to the log, or to the block for static data, and maps it; base as in
 * fe_medium_prog.  The former copy stays valid: the caller invalidates it. */
static enum fe_status append(struct norlog *n, bool is_static, fe_lpn lpn, fe_ppn base,
                             uint32_t off, uint32_t len, const void *data)
{
    struct fe_frontier *front = &n->blocks.fronts[is_static ? STATIC : LOG];
    enum fe_tag tag = base != FE_PPN_NONE && len == 0 ? FE_TAG_COPY : FE_TAG_DATA;
    enum fe_status st = !is_static && front->n_open == 0 ? open_next(n) : FE_OK;
    if (st != FE_OK)
        return st;
    fe_ppn ppn;
    st = fe_blocks_append(&n->blocks, front, lpn, tag, base, off, len, data, &ppn);
    if (st == FE_OK)
        n->base.map[lpn] = fe_mapping(ppn);
    return st;
}

static enum fe_status norlog_move(struct fe_ftl *ftl, bool is_static, fe_lpn lpn, fe_ppn from)
{
    return append(norlog_of(ftl), is_static, lpn, from, 0, 0, NULL);
}

/* A free block and a full one change places.  In the log the cold sectors would lie among
 * others, and writing would go on in the worn block. */
static enum fe_status level(struct norlog *n)
{
    struct fe_blocks *b = &n->blocks;
    if (!b->levels)
        return FE_OK;
    fe_peb worn = b->pool.worn.item[0].peb;
    fe_peb coldest = fe_blocks_lagging(b, fe_medium_erase_count(n->base.medium, worn));
    if (coldest == FE_PEB_NONE)
        return FE_OK;
    n->base.counters.wear_moves++;
    if (b->valid[coldest] == 0)
        return fe_blocks_empty(b, coldest, false);
    enum fe_status st = open_block(n, STATIC, fe_block_pool_take_worn(&b->pool));
    if (st == FE_OK)
        st = fe_blocks_empty(b, coldest, true);
    if (st == FE_OK && b->fronts[STATIC].n_open)
        fe_blocks_close(b, &b->fronts[STATIC]);
    return st;
}

static enum fe_status collect(struct norlog *n)
{
    fe_peb victim = fe_victims_choose(&n->blocks.full[0]);
    if (victim == FE_PEB_NONE)
        return FE_NO_SPACE;
    n->base.counters.gc_runs++;
    enum fe_status st = fe_blocks_empty(&n->blocks, victim, false);
    return st == FE_OK ? level(n) : st;
}

static enum fe_status norlog_write(struct fe_ftl *ftl, fe_lpn lpn, uint32_t off, uint32_t len,
                                   const void *data)
{
    struct norlog *n = norlog_of(ftl);
    const struct fe_blocks *b = &n->blocks;
    enum fe_status st = FE_OK;
    while (b->fronts[LOG].n_open == 0 && b->pool.n <= b->reserve && st == FE_OK)
        st = collect(n);
    if (st != FE_OK)
        return st;
    fe_ppn old = fe_mapped(n->base.map[lpn]);
    st = append(n, false, lpn, old, off, len, data);
    if (st == FE_OK && old != FE_PPN_NONE)
        fe_blocks_replaced(&n->blocks, old);
    return st;
}

static enum fe_status norlog_trim(struct fe_ftl *ftl, fe_lpn first, uint32_t n_pages)
{
    struct norlog *n = norlog_of(ftl);
    fe_blocks_trim(&n->blocks, n->base.map, first, n_pages);
    return FE_OK;
}

/* Collects only while a whole block can be won, so this ends. */
static bool norlog_idle(struct fe_ftl *ftl)
{
    struct norlog *n = norlog_of(ftl);
    return n->blocks.pool.n < n->p.clean.idle_free &&
           n->blocks.full[0].n_invalid >= n->data_pages && collect(n) == FE_OK;
}

static uint32_t norlog_free_blocks(const struct fe_ftl *ftl)
{
    return ((const struct norlog *)ftl)->blocks.pool.n;
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
    if (fe_gc_policy_draws[p->clean.gc_policy])
        return fe_err_set(err, EINVAL,
                          "ftl.gc_policy=%s: norlog draws no lots, it has few blocks to look at; "
                          "use greedy, cost-benefit or fifo",
                          fe_gc_policy_names[p->clean.gc_policy]);
    if (p->clean.wear_levelling == FE_WEAR_STATIC && p->clean.wl_threshold == 0)
        return fe_err_set(err, EINVAL,
                          "ftl.wear_levelling:threshold=0: static wear levelling would move a block with "
                          "every collection; at least 1");
    return 0;
}

static uint64_t norlog_max_lpns(const struct fe_ftl_params *p, const struct fe_geometry *geo,
                                struct fe_err *err)
{
    uint32_t reserve = reserve_of(p);
    if (check_options(p, geo, err) < 0)
        return 0;
    if (geo->n_pebs < 3)
        return fe_no_pages(err, "the chip has %u blocks: norlog needs 3, one of them free and one "
                                "to win space from", geo->n_pebs);
    if (reserve > geo->n_pebs - 2)
        return fe_no_pages(err, "ftl.gc_reserve=%u: norlog keeps so many blocks free and one more "
                                "besides the data; the chip has %u, at most %u",
                                p->clean.gc_reserve, geo->n_pebs, geo->n_pebs - 2);
    uint32_t rest = geo->n_pebs - reserve - 1;
    if (p->clean.idle_free > rest)
        return fe_no_pages(err, "ftl.idle_free=%u: the chip has %u blocks, of which norlog keeps "
                                "%u besides the data; at most %u", p->clean.idle_free, geo->n_pebs,
                                reserve + 1, rest);
    return (uint64_t)rest * (geo->pages_per_block - header_pages(geo));
}

static void norlog_fini(struct fe_ftl *ftl)
{
    fe_blocks_fini(&norlog_of(ftl)->blocks);
}

static uint32_t norlog_frontier_of(const struct fe_ftl *ftl, fe_peb peb)
{
    (void)ftl;
    (void)peb;
    return LOG;
}

static int init(struct norlog *n, struct fe_err *err)
{
    static const struct fe_block_ops block_ops = {
        .move = norlog_move,
        .frontier_of = norlog_frontier_of,
        .erases_alone = true,
    };
    const struct fe_clean_params *p = &n->p.clean;
    const struct fe_geometry *g = &n->base.medium->geo;
    n->header_pages = header_pages(g);
    n->data_pages = g->pages_per_block - n->header_pages;
    struct fe_blocks_config config = {
        .reserve = reserve_of(&n->p),
        .levelling = p->wear_levelling,
        .threshold = p->wl_threshold,
        .seed = n->p.seed,
        .sets = {{p->gc_policy, p->gc_d, n->data_pages}},
        .frontiers = {[LOG] = {1, g->pages_per_block, 0}, [STATIC] = {1, g->pages_per_block, 0}},
    };
    n->base.map = calloc(n->base.n_lpns, sizeof *n->base.map);
    if (!n->base.map)
        return fe_err_nomem(err, "map of norlog", n->base.n_lpns * 4ull);
    int r = fe_blocks_init(&n->blocks, &n->base, &block_ops, &config, err);
    n->blocks.closes_early = n->blocks.levels;
    return r;
}

/* Erases blocks that hold nothing but their header, or a part of it. */
static enum fe_status erase_headers(struct norlog *n)
{
    struct fe_medium *m = n->base.medium;
    enum fe_status st = FE_OK;
    for (fe_peb peb = 0; peb < n->blocks.geo.n_pebs && st == FE_OK; peb++)
        if (!fe_medium_is_bad(m, peb) && fe_medium_next_page(m, peb) &&
            fe_medium_next_page(m, peb) <= n->header_pages)
            st = fe_medium_erase(m, peb);
    return st;
}

/* The unfinished block that was written last; FE_PEB_NONE if there is none. */
static fe_peb newest_unfinished(const struct norlog *n)
{
    const struct fe_medium *m = n->base.medium;
    fe_peb newest = FE_PEB_NONE;
    uint64_t newest_seq = 0;
    for (fe_peb peb = 0; peb < n->blocks.geo.n_pebs; peb++) {
        uint64_t seq = fe_medium_is_bad(m, peb) ? 0 : fe_recover_last_seq(m, peb);
        if (seq > newest_seq && fe_medium_next_page(m, peb) < n->blocks.geo.pages_per_block) {
            newest = peb;
            newest_seq = seq;
        }
    }
    return newest;
}

/* The header comes first, and sectors behind it. */
static bool norlog_may_hold(const struct fe_ftl *ftl, fe_ppn ppn)
{
    const struct norlog *n = (const struct norlog *)ftl;
    fe_lpn lpn = fe_medium_lpn(ftl->medium, ppn);
    uint8_t tag = fe_medium_tag(ftl->medium, ppn);
    if (fe_page_of(&n->blocks.geo, ppn) < n->header_pages)
        return tag == FE_TAG_HEADER && lpn == FE_LPN_NONE;
    return (tag == FE_TAG_DATA || tag == FE_TAG_COPY) && lpn < ftl->n_lpns;
}

static int power_on(struct norlog *n, struct fe_err *err)
{
    struct fe_medium *m = n->base.medium;
    int r = fe_recover_check(&n->base, err);
    if (r < 0)
        return r;
    enum fe_status st = fe_recover_scan(m);
    fe_recover_newest(m, n->base.map, n->base.n_lpns, NULL);
    if (st == FE_OK)
        st = erase_headers(n);
    if (st == FE_OK)
        st = fe_blocks_drop_moved(&n->blocks, n->base.map, true);
    if (st != FE_OK)
        return fe_blocks_power_on_result(st, err);
    fe_blocks_mark_valid(&n->blocks, n->base.map, n->base.n_lpns);
    n->blocks.fronts[LOG].open[0] = newest_unfinished(n); /* fe_blocks_sort keeps this place */
    r = fe_blocks_sort(&n->blocks, true, err);
    return r == 0 ? fe_blocks_restore(&n->blocks, err) : r;
}

static int norlog_start(struct fe_ftl *ftl, const struct fe_ftl_params *p, bool used,
                        struct fe_err *err)
{
    struct norlog *n = norlog_of(ftl);
    n->p = *p;
    int r = init(n, err);
    if (r == 0)
        r = used ? power_on(n, err)
                 : fe_blocks_fill(&n->blocks, reserve_of(p) + 1 +
                                  fe_div_up(ftl->n_lpns, n->data_pages), err);
    return r;
}

/* The header of a block says what the chip knows.  Its bytes are compared if they are kept. */
static int check_header(const struct norlog *n, fe_peb peb, struct fe_err *err)
{
    const struct fe_medium *m = n->base.medium;
    struct header h;
    fe_ppn first = peb * n->blocks.geo.pages_per_block;
    for (uint32_t i = 0; i < n->header_pages; i++)
        if (fe_medium_lpn(m, first + i) != FE_LPN_NONE)
            return fe_err_set(err, EIO, "block %u: page %u of its header is logical page %u", peb,
                              i, fe_medium_lpn(m, first + i));
    if (!fe_recover_readable(m, first)) /* lost with a sector that shares its cells */
        return 0;
    fe_store_read(m->store, first, 0, (uint32_t)sizeof h, &h);
    /* if blocks can be replaced, the header may say the erases of the former block */
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

/* Every copy of a sector is the mapped one or older: so power-on finds the mapped one. */
static int check_sectors(const struct norlog *n, fe_peb peb, struct fe_err *err)
{
    const struct fe_medium *m = n->base.medium;
    fe_ppn first = peb * n->blocks.geo.pages_per_block;
    for (uint32_t i = n->header_pages; i < fe_medium_next_page(m, peb); i++) {
        fe_lpn lpn = fe_medium_lpn(m, first + i);
        if (!fe_recover_readable(m, first + i))
            continue;
        if (lpn >= n->base.n_lpns)
            return fe_err_set(err, EIO, "block %u page %u is logical page %u of %u", peb, i, lpn,
                              n->base.n_lpns);
        fe_ppn at = fe_mapped(n->base.map[lpn]);
        if (at != FE_PPN_NONE && fe_medium_seq(m, at) < fe_medium_seq(m, first + i))
            return fe_err_set(err, EIO, "logical page %u: page %u is newer than page %u, which is "
                              "mapped", lpn, first + i, at);
    }
    return 0;
}

static int norlog_check(const struct fe_ftl *ftl, struct fe_err *err)
{
    const struct norlog *n = (const struct norlog *)ftl;
    const struct fe_blocks *b = &n->blocks;
    uint64_t n_mapped = 0;
    int r = 0;
    for (fe_lpn lpn = 0; lpn < ftl->n_lpns && r == 0; lpn++)
        r = fe_blocks_check_entry(b, "logical", lpn, fe_mapped(n->base.map[lpn]), lpn, &n_mapped, err);
    for (fe_peb peb = 0; peb < b->geo.n_pebs && r == 0; peb++) {
        if (b->state[peb] != FE_BLOCK_BAD && fe_medium_next_page(ftl->medium, peb))
            r = check_header(n, peb, err);
        if (r == 0)
            r = check_sectors(n, peb, err);
    }
    if (r == 0 && b->pool.n < b->reserve)
        r = fe_err_set(err, EIO, "%u blocks free, the reserve is %u", b->pool.n, b->reserve);
    return r == 0 ? fe_blocks_check(b, n_mapped, err) : r;
}

const struct fe_ftl_ops fe_ftl_norlog = {
    .name = "norlog",
    .summary = "a log of sectors over NOR blocks, collected while a write waits (embedded disks)",
    .max_lpns = norlog_max_lpns,
    .size = sizeof(struct norlog),
    .start = norlog_start,
    .fini = norlog_fini,
    .may_hold = norlog_may_hold,
    .read = fe_mapped_read,
    .locate = fe_mapped_locate,
    .write = norlog_write,
    .trim = norlog_trim,
    .idle = norlog_idle,
    .free_blocks = norlog_free_blocks,
    .check = norlog_check,
};
