/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Changes of a chip's state, each in memory and in the image.
 *
 * Three rules decide the order of writes to the image:
 *   - a page's bytes come before its OOB record, so that a page with a record has its bytes;
 *   - an erase is one write, of the block's record: a page's record counts only if it has the
 *     cycle of its block;
 *   - an erase that is taken back writes the OOB records of the old cycle first, and then the
 *     block's record that makes all of them count in one step.
 */
#include "nand/chip.h"
#include "nand/chip_lifetime.h"
#include "nand/chip_undo.h"

#include "base/table.h"
#include "nand/chip_record.h"
#include "store/image.h"
#include "store/image_extra.h"
#include "store/image_file.h"
#include "store/image_page.h"

#include <stdlib.h>
#include <string.h>

static const struct fe_interrupted none = {.peb = FE_PEB_NONE};

int fe_chip_init(struct fe_chip *c, const struct fe_geometry *geo, struct fe_store *store,
                 struct fe_err *err)
{
    uint64_t n_blocks = geo->n_chip_blocks;
    bool has_reserve = n_blocks > geo->n_pebs;
    *c = (struct fe_chip){.geo = geo, .store = store, .interrupted = none};
    c->pebs = fe_table_alloc(n_blocks, sizeof *c->pebs);
    c->difference = fe_table_alloc(n_blocks, sizeof *c->difference);
    c->oob_lpn = fe_table_alloc(geo->n_ppns, sizeof *c->oob_lpn);
    c->oob_seq = fe_table_alloc(geo->n_ppns, sizeof *c->oob_seq);
    c->oob_tag = fe_table_alloc(geo->n_ppns, sizeof *c->oob_tag);
    if (has_reserve)
        c->blocks = fe_table_alloc(n_blocks, sizeof *c->blocks);
    if (!c->pebs || !c->difference || !c->oob_lpn || !c->oob_seq || !c->oob_tag ||
        (has_reserve && !c->blocks))
        return fe_err_nomem(err, "OOB and block table of the medium",
                            geo->n_ppns * UINT64_C(13) + n_blocks * 12);
    for (fe_peb peb = 0; c->blocks && peb < n_blocks; peb++)
        c->blocks[peb] = peb;
    return 0;
}

void fe_chip_fini(struct fe_chip *c)
{
    free(c->pebs);
    free(c->blocks);
    free(c->difference);
    free(c->reads);
    free(c->since_ns);
    free(c->oob_lpn);
    free(c->oob_seq);
    free(c->oob_tag);
    free(c->flips);
    free(c->trims);
}

int fe_chip_log_trims(struct fe_chip *c, uint32_t n_lpns, struct fe_err *err)
{
    c->trims = calloc(fe_bits_words(n_lpns), sizeof *c->trims);
    if (!c->trims)
        return fe_err_nomem(err, "log of trims", n_lpns / 8);
    c->n_trims = n_lpns;
    return 0;
}

int fe_chip_keep_ages(struct fe_chip *c, struct fe_err *err)
{
    uint64_t n = c->geo->n_chip_blocks;
    c->reads = calloc(n, sizeof *c->reads);
    c->since_ns = calloc(n, sizeof *c->since_ns);
    return c->reads && c->since_ns ? 0 : fe_err_nomem(err, "reads and ages of blocks", n * 12);
}

int fe_chip_keep_flips(struct fe_chip *c, struct fe_err *err)
{
    if (!c->flips)
        c->flips = calloc(c->geo->n_ppns, sizeof *c->flips);
    return c->flips ? 0 : fe_err_nomem(err, "flipped bits of pages", c->geo->n_ppns * UINT64_C(2));
}

/* ---- records ---- */

static struct fe_store_block block_record(const struct fe_chip *c, fe_peb peb)
{
    const struct fe_peb_info *b = &c->pebs[peb];
    bool moved = c->blocks && c->blocks[peb] != peb;
    bool is_dated = c->reads && c->since_ns[peb] != FE_CHIP_UNDATED;
    uint64_t since_ns = is_dated ? fe_max_u64(c->since_ns[peb], FE_CHIP_DATED) : 0;
    return (struct fe_store_block){
        .erase_count = b->erase_count + c->difference[peb],
        .extra = {
            [FE_CHIP_EXTRA_DIFFERENCE] = c->difference[peb],
            [FE_CHIP_EXTRA_BLOCK] = moved ? c->blocks[peb] + 1 : 0,
            [FE_CHIP_EXTRA_READS] = c->reads ? c->reads[peb] : 0,
            [FE_CHIP_EXTRA_SINCE] = (uint32_t)since_ns,
            [FE_CHIP_EXTRA_SINCE + 1] = (uint32_t)(since_ns >> 32),
        },
        .flags = b->marks & FE_MARKS_SAVED,
    };
}

static void save_block(struct fe_chip *c, fe_peb peb)
{
    if (!c->has_image)
        return;
    struct fe_store_block r = block_record(c, peb);
    fe_store_set_block(c->store, peb, &r);
}

static uint8_t lost_tag(const struct fe_chip *c, fe_ppn ppn)
{
    uint16_t flips = c->flips ? c->flips[ppn] : 0;
    return flips == FE_FLIPS_LOST ? FE_CHIP_TAG_LOST
           : flips == FE_FLIPS_SILENT ? FE_CHIP_TAG_SILENT : 0;
}

/* Of a page that is programmed or torn. */
static struct fe_store_oob page_record(const struct fe_chip *c, fe_ppn ppn)
{
    bool torn = c->oob_tag[ppn] == FE_TAG_TORN;
    return (struct fe_store_oob){
        .seq = c->oob_seq[ppn],
        .lpn = c->oob_lpn[ppn],
        .tag = torn ? FE_TAG_TORN : c->oob_tag[ppn] | lost_tag(c, ppn),
        .state = torn ? FE_STORE_TORN : FE_STORE_PROGRAMMED,
        .mode = c->pebs[fe_peb_of(c->geo, ppn)].marks & FE_MARK_SLC,
    };
}

void fe_chip_save_page(struct fe_chip *c, fe_ppn ppn)
{
    if (!c->has_image)
        return;
    struct fe_store_oob r = page_record(c, ppn);
    fe_store_set_oob(c->store, ppn, &r);
}

static void save_erased_page(struct fe_chip *c, fe_ppn ppn)
{
    if (c->has_image)
        fe_store_set_oob(c->store, ppn, &(struct fe_store_oob){.state = FE_STORE_ERASED});
}

void fe_chip_begin_image(struct fe_chip *c)
{
    c->has_image = fe_store_image(c->store) != NULL;
    for (fe_peb peb = 0; peb < c->geo->n_chip_blocks; peb++)
        if (c->pebs[peb].marks & FE_MARKS_BAD || (c->blocks && c->blocks[peb] != peb))
            save_block(c, peb);
}

/* ---- trims ---- */

/* Words of the log that have bits in [first, first + n), n > 0. */
static void save_trims(struct fe_chip *c, fe_lpn first, uint32_t n)
{
    uint32_t from = first / 64, to = (first + n - 1) / 64 + 1;
    if (c->has_image)
        fe_store_set_trims(c->store, c->trims + from, from, to - from);
}

void fe_chip_note_trim(struct fe_chip *c, fe_lpn first, uint32_t n)
{
    if (!c->trims || n == 0)
        return;
    for (fe_lpn lpn = first; lpn < first + n; lpn++)
        fe_bit_set(c->trims, lpn);
    save_trims(c, first, n);
}

/* In the image the page's new copy alone ends the trim. */
void fe_chip_end_trim(struct fe_chip *c, fe_lpn lpn)
{
    fe_bit_clear(c->trims, lpn);
    save_trims(c, lpn, 1);
}

void fe_chip_forget_trims(struct fe_chip *c)
{
    if (!c->trims)
        return;
    memset(c->trims, 0, fe_bits_words(c->n_trims) * sizeof *c->trims);
    fe_store_forget_trims(c->store, 0, c->n_trims);
}

/* ---- pages ---- */

/* Programs the next n pages of a block without bytes.  Each has the data of a logical page that is
 * `step` behind that of the page before it, and was programmed as many numbers later.  Table by
 * table, because the tables lie far from each other. */
static inline void program_pages(struct fe_chip *c, fe_ppn ppn, uint32_t n, fe_lpn lpn,
                                 uint64_t seq, uint32_t step, uint8_t tag)
{
    for (uint32_t i = 0; i < n; i++)
        c->oob_lpn[ppn + i] = lpn + i * step;
    for (uint32_t i = 0; i < n; i++)
        c->oob_seq[ppn + i] = seq + (uint64_t)i * step;
    memset(&c->oob_tag[ppn], tag, n);
    c->pebs[fe_peb_of(c->geo, ppn)].next_page += (uint16_t)n;
}

void fe_chip_program_row(struct fe_chip *c, fe_ppn ppn, uint32_t n, fe_lpn lpn, uint8_t tag)
{
    assert(fe_chip_is_bare(c));
    program_pages(c, ppn, n, lpn, c->seq + 1, 1, tag);
    c->seq += n;
}

void fe_chip_program_stripe(struct fe_chip *c, const fe_peb *pebs, uint32_t n, fe_lpn first,
                            uint8_t tag)
{
    uint32_t pages = c->geo->pages_per_block, parts_log2 = c->geo->parts_log2;
    uint32_t in_row = parts_log2 ? UINT32_C(1) << parts_log2 : pages, step = parts_log2 ? 1 : n;
    assert(!c->has_image);
    for (uint32_t i = 0; i < n; i++) {
        assert(c->pebs[pebs[i]].next_page == 0);
        for (uint32_t page = 0; page < pages; page += in_row) {
            uint32_t before = page * n + (i << parts_log2);
            program_pages(c, pebs[i] * pages + page, in_row, first + before, c->seq + 1 + before,
                          step, tag);
        }
    }
    c->seq += (uint64_t)pages * n;
}

struct fe_chip_old_page fe_chip_old_page(const struct fe_chip *c, fe_ppn ppn, fe_lpn lpn)
{
    return (struct fe_chip_old_page){
        .seq = c->oob_seq[ppn],
        .lpn = c->oob_lpn[ppn],
        .flips = c->flips ? c->flips[ppn] : 0,
        .tag = c->oob_tag[ppn],
        .was_trimmed = fe_chip_is_trimmed(c, lpn),
    };
}

/* The program is being taken back; the page's OOB is still that of the program. */
static void restore_trim(struct fe_chip *c, fe_ppn ppn, const struct fe_chip_old_page *old)
{
    if (old->was_trimmed)
        fe_chip_note_trim(c, c->oob_lpn[ppn], 1);
}

void fe_chip_take_back_program(struct fe_chip *c, fe_ppn ppn, const struct fe_chip_old_page *old,
                               struct fe_aside *aside)
{
    fe_peb peb = fe_peb_of(c->geo, ppn);
    struct fe_peb_info *b = &c->pebs[peb];
    assert(b->next_page == fe_page_of(c->geo, ppn) + 1);
    b->next_page--;
    save_erased_page(c, ppn); /* erased, before its bytes become others */
    if (b->next_page == 0 && b->marks & FE_MARK_SLC)
        fe_chip_mark(c, peb, FE_MARK_SLC, false); /* the mode belongs to what has been programmed */
    restore_trim(c, ppn, old);
    c->oob_lpn[ppn] = old->lpn;
    c->oob_seq[ppn] = old->seq;
    c->oob_tag[ppn] = old->tag;
    if (c->flips)
        c->flips[ppn] = old->flips;
    fe_store_forget(c->store, ppn, 1);
    if (aside)
        fe_store_put_back(c->store, ppn, aside);
}

static void tear(struct fe_chip *c, fe_ppn ppn)
{
    c->oob_lpn[ppn] = FE_LPN_NONE;
    c->oob_seq[ppn] = 0;
    c->oob_tag[ppn] = FE_TAG_TORN;
    fe_store_forget(c->store, ppn, 1);
    fe_chip_save_page(c, ppn);
}

void fe_chip_tear_program(struct fe_chip *c, fe_ppn ppn, const struct fe_chip_old_page *old)
{
    restore_trim(c, ppn, old);
    tear(c, ppn);
}

/* To memory the trim has been over since the page was programmed; to the image it is over only
 * as long as the page is there. */
void fe_chip_lose(struct fe_chip *c, fe_ppn ppn)
{
    fe_lpn lpn = c->oob_lpn[ppn];
    if (lpn < c->n_trims && !fe_chip_is_trimmed(c, lpn))
        fe_store_forget_trims(c->store, lpn, 1);
    tear(c, ppn);
}

void fe_chip_set_flips(struct fe_chip *c, fe_ppn ppn, uint16_t flips)
{
    if (!c->flips)
        return;
    c->flips[ppn] = flips;
    fe_chip_save_page(c, ppn);
}

/* ---- blocks ---- */

/* In memory.  erase_count and marks of bad blocks go with the chip block; `difference` makes up
 * for that, so that the pebs go on counting their erases. */
static void exchange(struct fe_chip *c, fe_peb a, fe_peb b)
{
    struct fe_peb_info *x = &c->pebs[a], *y = &c->pebs[b];
    uint8_t bad = (x->marks ^ y->marks) & FE_MARKS_BAD;
    uint32_t ahead = x->erase_count - y->erase_count;
    fe_chip_block block = c->blocks[a];
    x->erase_count -= ahead;
    y->erase_count += ahead;
    x->marks ^= bad;
    y->marks ^= bad;
    c->blocks[a] = c->blocks[b];
    c->blocks[b] = block;
    c->difference[a] += ahead;
    c->difference[b] -= ahead;
}

/* The records of both pebs have to go together.  With an image that syncs, a crash of the host may
 * lose either of them, so only one exchange at a time is not on the disk yet.  The erase that comes
 * with one is never taken back: its cycle is that of the block which is not there any more. */
static void settle_before_exchange(struct fe_chip *c)
{
    if (c->has_image)
        fe_store_sync_all(c->store);
}

void fe_chip_erase(struct fe_chip *c, fe_peb peb, fe_peb spare)
{
    struct fe_peb_info *b = &c->pebs[peb];
    if (spare != FE_PEB_NONE)
        settle_before_exchange(c);
    b->erase_count++;
    b->next_page = 0;
    fe_chip_fetch(c, peb * c->geo->pages_per_block);
    b->marks &= ~(FE_MARK_SLC | FE_MARK_UNSTABLE | FE_MARK_REFRESH);
    if (c->reads)
        c->reads[peb] = 0;
    if (spare != FE_PEB_NONE) {
        exchange(c, peb, spare);
        save_block(c, spare); /* first, see fe_chip_exchange */
    }
    save_block(c, peb);
}

struct fe_chip_old_block fe_chip_old_block(const struct fe_chip *c, fe_peb peb)
{
    return (struct fe_chip_old_block){
        .info = c->pebs[peb],
        .block = c->blocks ? c->blocks[peb] : peb,
        .reads = c->reads ? c->reads[peb] : 0,
        .since_ns = c->reads ? c->since_ns[peb] : 0,
    };
}

void fe_chip_take_back_erase(struct fe_chip *c, fe_peb peb, const struct fe_chip_old_block *old)
{
    struct fe_peb_info *b = &c->pebs[peb];
    b->next_page = old->info.next_page;
    b->marks &= ~(FE_MARK_SLC | FE_MARK_UNSTABLE);
    b->marks |= old->info.marks & (FE_MARK_SLC | FE_MARK_UNSTABLE);
    /* The peb has its old cycle again.  A chip block that has come there since then did not
     * lose one. */
    bool same_block = !c->blocks || c->blocks[peb] == old->block;
    if (same_block && b->erase_count > 0)
        b->erase_count--;
    else
        c->difference[peb]--;
    if (c->reads) {
        c->reads[peb] = old->reads;
        c->since_ns[peb] = old->since_ns;
    }
    if (!c->has_image)
        return;
    struct fe_store_block block = block_record(c, peb);
    for (uint32_t i = 0; i < b->next_page; i++) {
        fe_ppn ppn = peb * c->geo->pages_per_block + i;
        struct fe_store_oob page = page_record(c, ppn);
        fe_store_put_back_oob(c->store, ppn, &page, block.erase_count);
    }
    fe_store_set_block(c->store, peb, &block);
}

/* The reserve's record is written first.  A server that is killed before the second record
 * leaves one chip block behind both pebs, and chip_load.c decides that it belongs to the peb
 * outside the reserve, whose pages it has. */
void fe_chip_exchange(struct fe_chip *c, fe_peb peb, fe_peb spare, uint64_t now_ns)
{
    settle_before_exchange(c);
    exchange(c, peb, spare);
    c->pebs[peb].marks &= ~FE_MARK_REFRESH; /* reading the old block may have asked for it again */
    if (c->reads) {
        c->reads[peb] = 0;
        c->since_ns[peb] = now_ns;
    }
    save_block(c, spare);
    save_block(c, peb);
}

void fe_chip_mark(struct fe_chip *c, fe_peb peb, enum fe_mark mark, bool on)
{
    uint8_t *marks = &c->pebs[peb].marks;
    *marks = (uint8_t)(on ? *marks | mark : *marks & ~mark);
    if (mark & FE_MARKS_SAVED)
        save_block(c, peb);
}

void fe_chip_set_cycles(struct fe_chip *c, fe_peb peb, uint32_t cycles)
{
    c->difference[peb] += c->pebs[peb].erase_count - cycles;
    c->pebs[peb].erase_count = cycles;
    save_block(c, peb);
}

void fe_chip_begin_age(struct fe_chip *c, fe_peb peb, uint64_t now_ns)
{
    c->pebs[peb].marks &= ~FE_MARK_REFRESH;
    if (!c->reads)
        return;
    c->reads[peb] = 0;
    c->since_ns[peb] = now_ns;
    save_block(c, peb);
}

void fe_chip_count_read(struct fe_chip *c, fe_peb peb)
{
    if (c->reads[peb] < UINT32_MAX)
        c->reads[peb]++;
}

fe_peb fe_chip_find_block(const struct fe_chip *c, fe_chip_block block)
{
    fe_peb peb = 0;
    while (c->blocks && peb < c->geo->n_chip_blocks && c->blocks[peb] != block)
        peb++;
    return c->blocks ? peb : block;
}

void fe_chip_put_behind(struct fe_chip *c, fe_peb peb, fe_chip_block block)
{
    c->blocks[peb] = block;
    save_block(c, peb);
}

/* ---- power cuts ---- */

static void save_journal(struct fe_chip *c, const struct fe_interrupted *interrupted)
{
    struct fe_chip_journal j = {
        .interrupted = interrupted->peb,
        .is_off = c->cuts.is_off,
        .is_dead = c->cuts.is_dead,
        .since = interrupted->since,
        .until = interrupted->until,
        .n = c->cuts.n,
        .n_stale = c->cuts.n_stale,
    };
    if (c->has_image)
        fe_store_set_control(c->store, &j, sizeof j);
}

void fe_chip_begin_cut(struct fe_chip *c, const struct fe_interrupted *interrupted)
{
    c->cuts.n++;
    c->cuts.is_off = true;
    if (interrupted)
        c->interrupted = *interrupted;
    save_journal(c, &c->interrupted);
    fe_store_sync_all(c->store);
}

void fe_chip_set_stale(struct fe_chip *c)
{
    c->cuts.n_stale = c->cuts.n;
    save_journal(c, &c->interrupted);
    fe_store_sync_all(c->store);
}

void fe_chip_set_dead(struct fe_chip *c)
{
    c->cuts.is_dead = true;
    save_journal(c, &c->interrupted);
}

void fe_chip_end_cut(struct fe_chip *c)
{
    if (c->cuts.is_off)
        fe_store_sync_all(c->store);
    c->cuts.is_off = c->cuts.is_dead;
    if (c->cuts.n)
        save_journal(c, &none);
}

/* ---- the end of a run ---- */

void fe_chip_end_run(struct fe_chip *c, uint64_t at_ns)
{
    fe_chip_save_lifetime(c, at_ns);
    for (fe_peb peb = 0; c->reads && peb < c->geo->n_chip_blocks; peb++)
        if (c->reads[peb] > 0)
            save_block(c, peb);
}
