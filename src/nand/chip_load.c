/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A chip's state from an image.
 *
 * Records that contradict each other, or this chip's geometry, are refused.  Two things are put
 * right instead, because a kill of the server leaves them: SLC mode of a block that was not
 * programmed, and a chip block that stands behind two pebs.  And a crash of the host may leave the pages
 * of a block without its SLC mode.
 */
#include "nand/chip.h"

#include "nand/chip_record.h"
#include "nand/chip_undo.h"
#include "store/image.h"
#include "store/image_check.h"
#include "store/image_extra.h"
#include "store/image_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_number(const void *va, const void *vb)
{
    const uint64_t *a = va, *b = vb;
    return *a < *b ? -1 : *a > *b;
}

static int refuse(fe_peb peb, const char *why, struct fe_err *err)
{
    return fe_err_set(err, EIO, "the image's block %u %s", peb, why);
}

/* Which chip block it is, what that has behind it, and how old the data are. */
static int take_extra(struct fe_chip *c, fe_peb peb, const struct fe_store_block *r,
                      struct fe_err *err)
{
    uint32_t block = r->extra[FE_CHIP_EXTRA_BLOCK];
    if (r->erase_count - r->extra[FE_CHIP_EXTRA_DIFFERENCE] >= FE_IMAGE_CYCLES_MAX)
        return refuse(peb, "has more cycles behind it than a block can have", err);
    if (block && !c->blocks)
        return refuse(peb, "is another block of the chip, which has no reserve", err);
    if (block > c->geo->n_chip_blocks)
        return refuse(peb, "is a block that the chip does not have", err);
    c->difference[peb] = r->extra[FE_CHIP_EXTRA_DIFFERENCE];
    c->pebs[peb].erase_count -= c->difference[peb];
    if (c->blocks)
        c->blocks[peb] = block ? block - 1 : peb;
    uint64_t since_ns = (uint64_t)r->extra[FE_CHIP_EXTRA_SINCE + 1] << 32 |
                        r->extra[FE_CHIP_EXTRA_SINCE];
    if (since_ns > FE_TIME_MAX)
        return refuse(peb, "has data from behind the end of time", err);
    bool is_dated = since_ns != 0;
    if (since_ns == FE_CHIP_DATED)
        since_ns = 0;
    c->life.clock_ns = fe_max_u64(c->life.clock_ns, since_ns);
    if (c->reads) {
        c->reads[peb] = r->extra[FE_CHIP_EXTRA_READS];
        c->since_ns[peb] = is_dated ? since_ns : FE_CHIP_UNDATED;
    }
    return 0;
}

static int take_page(struct fe_chip *c, fe_ppn ppn, const struct fe_store_oob *r,
                     struct fe_err *err)
{
    bool torn = r->state == FE_STORE_TORN;
    fe_peb peb = fe_peb_of(c->geo, ppn);
    uint8_t lost = r->tag & (FE_CHIP_TAG_LOST | FE_CHIP_TAG_SILENT);
    if (torn != (r->tag == FE_TAG_TORN))
        return refuse(peb, torn ? "has a torn page that is not marked as one"
                                : "has a programmed page that counts as torn", err);
    if (!torn && lost == (FE_CHIP_TAG_LOST | FE_CHIP_TAG_SILENT))
        return refuse(peb, "has a page that is lost in two ways", err);
    if (!torn && lost) {
        int e = fe_chip_keep_flips(c, err);
        if (e < 0)
            return e;
        c->flips[ppn] = lost & FE_CHIP_TAG_LOST ? FE_FLIPS_LOST : FE_FLIPS_SILENT;
    }
    c->oob_lpn[ppn] = torn ? FE_LPN_NONE : r->lpn;
    c->oob_seq[ppn] = torn ? 0 : r->seq;
    c->oob_tag[ppn] = torn ? FE_TAG_TORN : r->tag & FE_CHIP_TAG_MASK;
    c->seq = fe_max_u64(c->seq, c->oob_seq[ppn]);
    return 0;
}

/* pages: those of the block; raw: they are no flash, and do not belong to the chip. */
static int take_pages(struct fe_chip *c, fe_peb peb, const struct fe_store_oob *pages, bool raw,
                      struct fe_err *err)
{
    uint64_t last = 0;
    struct fe_peb_info *b = &c->pebs[peb];
    fe_ppn first = peb * c->geo->pages_per_block;
    for (uint32_t i = 0; i < c->geo->pages_per_block; i++, b->next_page++) {
        if (pages[i].state != FE_STORE_PROGRAMMED && pages[i].state != FE_STORE_TORN)
            break;
        if (peb >= c->geo->n_pebs)
            return refuse(peb, "is a spare or bad, and has programmed pages", err);
        if (pages[i].mode & ~FE_MARK_SLC)
            return refuse(peb, "has a page of a mode that there is not", err);
        int e = take_page(c, first + i, &pages[i], err);
        if (e < 0)
            return e;
        if (pages[i].state == FE_STORE_PROGRAMMED && pages[i].seq <= last)
            return refuse(peb, "has pages whose numbers do not grow", err);
        last = fe_max_u64(last, pages[i].seq);
    }
    for (uint32_t i = b->next_page; i < c->geo->pages_per_block; i++)
        if (pages[i].state == FE_STORE_RAW && !raw)
            return refuse(peb, "has pages that are no flash", err);
    return b->next_page && raw ? refuse(peb, "has pages of flash", err) : 0;
}

static int take_block(struct fe_chip *c, fe_peb peb, const struct fe_store_block *r,
                      const struct fe_store_oob *pages, bool raw, struct fe_err *err)
{
    struct fe_peb_info *b = &c->pebs[peb];
    if ((r->flags | r->kept_flags) & ~(uint32_t)FE_MARKS_SAVED)
        return refuse(peb, "has flags that this version does not know", err);
    *b = (struct fe_peb_info){.erase_count = r->erase_count, .marks = (uint8_t)r->flags};
    if (peb < c->geo->n_pebs && b->marks & FE_MARKS_BAD)
        return refuse(peb, "is bad, but none of those that were set aside", err);
    if (peb >= c->geo->n_pebs && b->marks & ~FE_MARKS_BAD)
        return refuse(peb, "is a spare or bad, and has the marks of one in use", err);
    if (raw && (r->erase_count || b->marks & (FE_MARK_SLC | FE_MARK_UNSTABLE)))
        return refuse(peb, "has been used, and its pages are no flash", err);
    int e = take_extra(c, peb, r, err);
    if (e == 0)
        e = take_pages(c, peb, pages, raw, err);
    if (e < 0)
        return e;
    if (b->next_page && pages[0].mode & FE_MARK_SLC && !(b->marks & FE_MARK_SLC))
        fe_chip_mark(c, peb, FE_MARK_SLC, true);
    if (b->marks & FE_MARK_SLC && b->next_page == 0)
        fe_chip_mark(c, peb, FE_MARK_SLC, false); /* it may be programmed in the other mode now */
    if (b->marks & FE_MARK_SLC && b->next_page > fe_slc_pages(c->geo))
        return refuse(peb, "is in SLC mode and holds more than that allows", err);
    return 0;
}

/* No two programs have the same number.  Nearly all numbers are among the latest, and each of those
 * gets a bit; older ones are sorted.
 *
 *     0 ........ since ...................... c->seq
 *        sorted       a bit each, 64 a page
 */
static int check_numbers(const struct fe_chip *c, struct fe_err *err)
{
    size_t n_pages = (size_t)c->geo->n_ppns + 1, n = 0;
    uint64_t *bits = calloc(n_pages, sizeof *bits), *older = malloc(n_pages * sizeof *older);
    uint64_t since = c->seq - fe_min_u64(c->seq, n_pages * 64 - 1), twice = 0;
    for (fe_peb peb = 0; bits && older && peb < c->geo->n_pebs; peb++)
        for (uint32_t i = 0; i < c->pebs[peb].next_page; i++) {
            uint64_t seq = c->oob_seq[peb * c->geo->pages_per_block + i];
            if (seq && seq < since) {
                older[n++] = seq;
            } else if (seq) {
                twice = fe_bit(bits, seq - since) ? seq : twice;
                fe_bit_set(bits, seq - since);
            }
        }
    if (n)
        qsort(older, n, sizeof *older, by_number);
    for (size_t i = 1; i < n; i++)
        twice = older[i] == older[i - 1] ? older[i] : twice;
    int r = !bits || !older ? fe_err_nomem(err, "numbers of programs", n_pages * 16) : 0;
    free(bits);
    free(older);
    return twice == 0 ? r
                      : fe_err_set(err, EIO, "the image has two pages that are program number %llu",
                                   (unsigned long long)twice);
}

/* A device whose power was never cut has no journal. */
static int load_journal(struct fe_chip *c, struct fe_err *err)
{
    uint8_t control[FE_STORE_CONTROL_BYTES];
    struct fe_chip_journal j;
    uint32_t n = fe_store_get_control(c->store, control);
    if (n == 0)
        return 0;
    memcpy(&j, control, sizeof j);
    if (n != sizeof j || (j.interrupted >= c->geo->n_pebs && j.interrupted != FE_PEB_NONE) ||
        j.is_off > 1 || j.is_dead > j.is_off)
        return fe_err_set(err, EIO, "the image's journal of a power cut has %u bytes and names "
                          "block %u; %zu bytes and one of %u blocks were expected",
                          n, n == sizeof j ? j.interrupted : 0, sizeof j, c->geo->n_pebs);
    if (j.n_stale > j.n || j.n >= FE_IMAGE_COUNT_MAX || j.since > j.until ||
        j.until >= FE_IMAGE_COUNT_MAX)
        return fe_err_set(err, EIO, "the image's journal of a power cut counts %llu cuts, pages of "
                          "cut %llu came back stale, and programs %llu to %llu: that cannot be",
                          (unsigned long long)j.n, (unsigned long long)j.n_stale,
                          (unsigned long long)j.since, (unsigned long long)j.until);
    c->interrupted = (struct fe_interrupted){j.interrupted, j.since, j.until};
    c->cuts = (struct fe_cut_log){
        .n = j.n, .n_stale = j.n_stale, .is_off = j.is_off, .is_dead = j.is_dead};
    return 0;
}

/* An image of an older version has no such record: its clock is what its blocks say. */
static int load_lifetime(struct fe_chip *c, struct fe_err *err)
{
    uint64_t n[FE_IMAGE_LIFETIME_NUMBERS];
    fe_store_get_lifetime(c->store, n);
    uint64_t clock_ns = n[FE_CHIP_LIFETIME_CLOCK], programs = n[FE_CHIP_LIFETIME_PROGRAMS];
    for (uint32_t i = 0; i < FE_IMAGE_LIFETIME_NUMBERS; i++)
        if (n[i] > (i == FE_CHIP_LIFETIME_CLOCK      ? FE_TIME_MAX
                    : i == FE_CHIP_LIFETIME_LAST_CUT ? clock_ns
                                                     : FE_IMAGE_COUNT_MAX - 1))
            return fe_err_set(err, EIO, "the image's clock is at %llu ns and its counter %u at %llu: "
                              "that cannot be", (unsigned long long)clock_ns, i,
                              (unsigned long long)n[i]);
    c->life = (struct fe_lifetime){
        .clock_ns = fe_max_u64(c->life.clock_ns, clock_ns),
        .last_cut_ns = n[FE_CHIP_LIFETIME_LAST_CUT],
        .n_writes = n[FE_CHIP_LIFETIME_WRITES],
        .n_erases = n[FE_CHIP_LIFETIME_ERASES],
    };
    c->unnumbered = programs - c->seq;
    return 0;
}

/* Data that were written while nobody asked for their age are as old as this power-on. */
static void date_blocks(struct fe_chip *c)
{
    for (fe_peb peb = 0; c->reads && peb < c->geo->n_chip_blocks; peb++) {
        if (c->since_ns[peb] != FE_CHIP_UNDATED)
            continue;
        c->since_ns[peb] = 0;
        if (c->pebs[peb].next_page > 0)
            fe_chip_begin_age(c, peb, c->life.clock_ns);
    }
}

/* Makes every chip block stand behind exactly one peb.  Where a kill came between the two
 * records of an exchange, the later peb, which is in the reserve, gets the chip block that is
 * left over, and a record of that: a kill, or a crash of the host, leaves one such block at most. */
static int separate_blocks(struct fe_chip *c, struct fe_err *err)
{
    uint32_t n = c->geo->n_chip_blocks;
    fe_peb *behind = malloc(n * sizeof *behind), twice = FE_PEB_NONE; /* by chip block: its peb */
    int r = behind ? 0 : fe_err_nomem(err, "blocks of the chip", n * sizeof *behind);
    for (fe_chip_block block = 0; r == 0 && block < n; block++)
        behind[block] = FE_PEB_NONE;
    for (fe_peb peb = 0; r == 0 && peb < n; peb++) {
        fe_peb *first = &behind[c->blocks[peb]];
        if (*first == FE_PEB_NONE) {
            *first = peb;
        } else if (twice != FE_PEB_NONE || peb < c->geo->n_pebs || *first >= c->geo->n_pebs) {
            r = refuse(peb, "is the same block of the chip as another one", err);
        } else {
            twice = peb;
        }
    }
    for (fe_chip_block block = 0; r == 0 && twice != FE_PEB_NONE && block < n; block++)
        if (behind[block] == FE_PEB_NONE)
            fe_chip_put_behind(c, twice, block);
    free(behind);
    return r;
}

int fe_chip_load(struct fe_chip *c, bool raw, struct fe_err *err)
{
    uint32_t n = c->geo->pages_per_block;
    struct fe_store_oob *pages = malloc(n * sizeof *pages);
    struct fe_store_block block;
    int r = pages ? 0 : fe_err_nomem(err, "OOB of a block", n * sizeof *pages);
    c->has_image = true;
    for (fe_peb peb = 0; r == 0 && peb < c->geo->n_chip_blocks; peb++) {
        r = fe_store_load_block(c->store, peb, &block, pages, err);
        if (r == 0)
            r = take_block(c, peb, &block, pages, raw, err);
    }
    free(pages);
    if (r == 0)
        r = load_journal(c, err);
    if (r == 0 && c->trims)
        r = fe_store_load_trims(c->store, c->trims, err);
    if (r == 0)
        fe_store_loaded(c->store);
    c->seq = fe_max_u64(c->seq, fe_store_last_seq(c->store));
    if (r == 0)
        r = load_lifetime(c, err);
    if (r == 0)
        r = check_numbers(c, err);
    if (r == 0)
        date_blocks(c);
    if (r == 0 && c->blocks)
        r = separate_blocks(c, err);
    return r;
}
