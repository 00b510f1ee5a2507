/* SPDX-License-Identifier: BSD-3-Clause
 *
 * After a crash of the host.
 *
 * The disk has everything up to the last fdatasync, and any part of what was written later.  The
 * chip goes back to an instant in its life, as if power had failed then: everything up to one
 * program counts, and nothing behind it.  So power-on has to understand no state but those that
 * power cuts leave.
 *
 *     programs       ... 40 41 42 43 | 44 45 46 .. 48 49        43: status.synced_seq
 *     on the disk         x  x  x  x |  x  x  x     x           46: the last one that counts
 *     erase of a block                     ^44       ^48        the second is taken back
 *
 * Programs are numbered without a gap.  Whatever has a number above synced_seq is found in the
 * record of its page, because nothing destroys such a record or its bytes:
 *   - A block is programmed after an erase only when the status on the disk has the number of the
 *     last program before that erase (image_page.c).
 *   - A power cut takes programs back.  Before it does so, and when it is done, the status on the
 *     disk gets the number of the last program of all (nand/undo.c).  The first time it also gets
 *     the journal of the cut, which goes when the disk has all that power-on has done: a torn page
 *     without its journal would be a state that no power cut leaves.
 *   - If numbers are left out because a server starts, the status gets the last one as well, before
 *     anything can be synced.
 * So the first number that is missing is that of a program that was lost, and it was never synced.
 * And a page that was synced, with one before it in its block that is missing, is no trace of a crash:
 * such an image is damaged, and is refused (fe_device_judge, before anything is written to it).
 *
 * Bytes are compared with the checksum of their record if the program may have been taken back by
 * a cut (status.n_open_1): what it has overwritten is put back first, and the record is erased in
 * any order with that.
 *
 * A cache entry that has ended holds its page again unless something newer is known of the page: a
 * copy on flash, a trim, or another entry.  Nothing newer can have been synced then.  A page
 * enters the cache only when the ends of all others are on the disk (image_extra.c), so entries
 * that were used again since, or that hold the same page, cannot both come back.
 *
 * All of this may be cut short by another crash.  The status changes last, so mending begins again
 * and comes to the same last program.
 *
 * An image that was served without `sync`, or by flashemu 0.2, has other gaps.  There the pages are
 * kept that have their bytes, and an erase is taken back if a page of the block has no newer copy
 * that was synced.
 */
#include "store/image_crash.h"

#include "base/crc32c.h"
#include "base/num.h"
#include "store/image_check.h"
#include "store/image_extra.h"
#include "store/image_file.h"
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct mend {
    struct fe_store *s;
    struct fe_image_oob *oob; /* of one block */
    bool in_order;       /* the image was served in such a way that last_seq can be found */
    uint64_t synced_seq; /* everything up to this program was synced */
    uint64_t final_seq;  /* and no cut has taken it back */
    uint64_t last_seq;   /* the last program that counts */
    uint64_t *present;   /* a bit for each program from synced_seq + 1 on: the disk has it */
    uint64_t *synced;    /* by logical page: the number of its newest copy that was synced, */
    uint64_t *newest;    /* and of its newest copy of all, or of its trim */
    uint64_t n_dropped, n_taken_back, n_held;
    struct fe_err *err;
};

static int read_at(struct mend *m, void *buf, size_t len, uint64_t at)
{
    return fe_image_get(m->s->img, buf, len, at, "its records", m->err);
}

static int read_block(struct mend *m, fe_peb peb, struct fe_image_block *ret)
{
    const struct fe_image *g = m->s->img;
    uint32_t n = m->s->pages_per_block;
    int r = read_at(m, ret, sizeof *ret, g->at.blocks + peb * sizeof *ret);
    if (r == 0)
        r = read_at(m, m->oob, n * sizeof *m->oob,
                    g->at.oob + (uint64_t)peb * n * sizeof *m->oob);
    if (r == 0 && ret->crc != fe_image_record_crc(peb, ret, sizeof *ret) &&
        !fe_bytes_are_zeros(ret, sizeof *ret))
        r = fe_err_set(m->err, EIO, "%.200s: the record of block %u is damaged", g->path, peb);
    return r;
}

static bool is_of(const struct fe_image_oob *r, fe_ppn ppn, uint32_t cycle)
{
    return fe_image_oob_is_valid(r, ppn) && r->cycle == cycle;
}

/* Whether the page's bytes are those of its record. */
static bool has_its_bytes(struct mend *m, const struct fe_image_oob *r, fe_ppn ppn)
{
    struct fe_image *g = m->s->img;
    if (r->zeros || r->state != FE_STORE_PROGRAMMED)
        return true;
    return fe_io_read(g->io, g->fd, g->page, m->s->page_bytes,
                      (off_t)(g->at.pages + (uint64_t)ppn * m->s->page_bytes)) == 0 &&
           fe_crc32c(0, g->page, m->s->page_bytes) == r->data_crc;
}

static void put_record(struct mend *m, fe_ppn ppn, const struct fe_image_oob *r)
{
    struct fe_image *g = m->s->img;
    fe_image_put(g, r, sizeof *r, g->at.oob + ppn * sizeof *r, "mending an OOB record");
}

/* A record that is damaged, or of an erase that the disk has lost: when the block is erased again,
 * the page would count as programmed. */
static bool is_of_no_cycle(const struct fe_image_oob *r, fe_ppn ppn, uint32_t cycle)
{
    return fe_image_oob_is_valid(r, ppn) ? r->cycle > cycle : !fe_bytes_are_zeros(r, sizeof *r);
}

/* A page that was synced stands behind one that is missing, which was programmed before it.  No crash
 * leaves that, so the image is damaged. */
static int refuse_gap(struct mend *m, fe_peb peb, uint32_t page, uint64_t seq)
{
    return fe_err_set(m->err, EIO, "%.200s: block %u has page %u, program %llu, which was synced, and "
                      "lacks a page before it", m->s->img->path, peb, page, (unsigned long long)seq);
}

/* Looks at the pages of one cycle in order.  From the first page on that is missing, that is behind
 * the last program which counts, or that is newer than sure_seq and lacks its bytes, no page was
 * programmed: their records are erased.  -EIO with a message if that cannot be what a crash has left. */
static int mend_pages(struct mend *m, fe_peb peb, uint32_t cycle, uint64_t sure_seq)
{
    static const struct fe_image_oob erased;
    fe_ppn first = peb * m->s->pages_per_block;
    bool good = true;
    for (uint32_t p = 0; p < m->s->pages_per_block; p++) {
        const struct fe_image_oob *r = &m->oob[p];
        bool is_page = is_of(r, first + p, cycle);
        if (is_page && r->state == FE_STORE_RAW)
            continue;
        good = good && is_page && r->seq <= m->last_seq &&
               (r->seq <= sure_seq || has_its_bytes(m, r, first + p));
        bool was_synced = is_page && r->state == FE_STORE_PROGRAMMED && r->seq <= sure_seq;
        if (!good && was_synced && m->in_order)
            return refuse_gap(m, peb, p, r->seq);
        if (!good && (is_page || is_of_no_cycle(r, first + p, cycle))) {
            put_record(m, first + p, &erased);
            m->n_dropped++;
        } else if (good && r->state == FE_STORE_PROGRAMMED && r->lpn < m->s->n_pages) {
            m->newest[r->lpn] = fe_max_u64(m->newest[r->lpn], r->seq);
            if (r->seq <= m->synced_seq)
                m->synced[r->lpn] = fe_max_u64(m->synced[r->lpn], r->seq);
        }
    }
    return 0;
}

/* Whether the block has a page of this cycle. */
static bool is_programmed(const struct mend *m, fe_peb peb, uint32_t cycle)
{
    fe_ppn first = peb * m->s->pages_per_block;
    for (uint32_t p = 0; p < m->s->pages_per_block; p++)
        if (is_of(&m->oob[p], first + p, cycle))
            return true;
    return false;
}

/* Whether the block has been erased, after a cycle that may be needed, and not programmed since. */
static bool is_erased(const struct mend *m, fe_peb peb, const struct fe_image_block *b)
{
    return b->kept_cycle != b->erase_count && !is_programmed(m, peb, b->erase_count);
}

/* Whether a page of this cycle has no newer copy that the disk surely has. */
static bool is_needed(const struct mend *m, fe_peb peb, uint32_t cycle)
{
    fe_ppn first = peb * m->s->pages_per_block;
    for (uint32_t p = 0; p < m->s->pages_per_block; p++) {
        const struct fe_image_oob *r = &m->oob[p];
        if (is_of(r, first + p, cycle) && r->lpn != FE_LPN_NONE &&
            (r->lpn >= m->s->n_pages || m->synced[r->lpn] <= r->seq))
            return true;
    }
    return false;
}

/* Whether the erase comes after the last program that counts. */
static bool is_taken_back(const struct mend *m, fe_peb peb, const struct fe_image_block *b)
{
    if (!is_erased(m, peb, b))
        return false;
    return m->in_order ? b->erase_seq > m->last_seq
                       : b->erase_seq > m->synced_seq && is_needed(m, peb, b->kept_cycle);
}

/* Without a word in the status: it stays what the crash has left until all is mended. */
static void sync_file(struct mend *m)
{
    struct fe_image *g = m->s->img;
    int r = g->sync ? fe_io_sync(g->io, g->fd) : 0;
    if (r < 0)
        fe_image_fail(g, -r, "fdatasync");
}

/* The block has the cycle again whose pages the disk surely has. */
static int take_back(struct mend *m, fe_peb peb, struct fe_image_block *b)
{
    struct fe_image *g = m->s->img;
    uint64_t before = m->n_dropped;
    int r = mend_pages(m, peb, b->kept_cycle, 0);
    if (r < 0)
        return r;
    if (m->n_dropped > before)
        sync_file(m); /* before the record: a second mending would not drop them */
    b->erase_count = b->kept_cycle;
    b->flags = b->kept_flags;
    b->crc = fe_image_record_crc(peb, b, sizeof *b);
    fe_image_put(g, b, sizeof *b, g->at.blocks + peb * sizeof *b, "mending a block record");
    m->n_taken_back++;
    return 0;
}

/* Marks the programs behind the last sync that the disk has. */
static void mark_present(struct mend *m, fe_peb peb, const struct fe_image_block *b)
{
    fe_ppn first = peb * m->s->pages_per_block;
    uint32_t cycle = is_erased(m, peb, b) ? b->kept_cycle : b->erase_count;
    for (uint32_t p = 0; p < m->s->pages_per_block; p++) {
        const struct fe_image_oob *r = &m->oob[p];
        uint64_t i = r->seq - m->synced_seq - 1;
        if (is_of(r, first + p, cycle) && r->state == FE_STORE_PROGRAMMED &&
            r->seq > m->synced_seq && i < m->s->n_pages && has_its_bytes(m, r, first + p))
            fe_bit_set(m->present, i);
    }
}

/* Records of pages that no server has written would be dropped like those of programs that were lost. */
static int check_pages(struct mend *m, fe_peb peb, const struct fe_image_block *b)
{
    fe_ppn first = peb * m->s->pages_per_block;
    int r = 0;
    for (uint32_t p = 0; r == 0 && p < m->s->pages_per_block; p++)
        if (is_of(&m->oob[p], first + p, b->erase_count))
            r = fe_image_check_oob(m->s->img, first + p, &m->oob[p], b->erase_count, m->err);
    return r;
}

/* Before a block is programmed after an erase, the status on the disk has the number of that erase.  One
 * that has not is damaged: what it says would drop what was synced.  -EIO with a message then.  An erase
 * that a mending has taken back already leaves its number in the record. */
static int check_erase(struct mend *m, fe_peb peb, const struct fe_image_block *b)
{
    if (b->erase_seq <= m->synced_seq || b->kept_cycle == b->erase_count ||
        !is_programmed(m, peb, b->erase_count))
        return 0;
    return fe_err_set(m->err, EIO, "%.200s: block %u was erased behind program %llu, and programmed "
                      "since, but the status says that only %llu programs were synced",
                      m->s->img->path, peb, (unsigned long long)b->erase_seq,
                      (unsigned long long)m->synced_seq);
}

/* The last program that counts: the one before the first that the disk lacks. */
static int find_last(struct mend *m)
{
    struct fe_image *g = m->s->img;
    struct fe_image_block b;
    int r = 0;
    uint64_t n = 0;
    for (fe_peb peb = 0; r == 0 && peb < g->at.n_blocks; peb++) {
        r = read_block(m, peb, &b);
        if (r < 0)
            return r;
        g->seq = fe_max_u64(g->seq, b.erase_seq); /* no number is used twice */
        r = check_pages(m, peb, &b);
        if (r == 0 && m->in_order) {
            mark_present(m, peb, &b);
            r = check_erase(m, peb, &b);
        }
    }
    while (n < m->s->n_pages && fe_bit(m->present, n))
        n++;
    m->last_seq = m->in_order ? m->synced_seq + n : UINT64_MAX;
    return r;
}

/* Whether the half's bytes are those of its record. */
static bool half_is_good(struct mend *m, uint32_t entry, uint32_t half,
                         const struct fe_image_entry *r)
{
    struct fe_image *g = m->s->img;
    return r->crc == fe_image_record_crc(entry * 2 + half, r, sizeof *r) &&
           fe_io_read(g->io, g->fd, g->page, m->s->page_bytes,
                      (off_t)fe_image_entry_bytes_at(g, entry, half)) == 0 &&
           fe_crc32c(0, g->page, m->s->page_bytes) == r->data_crc;
}

/* A half that lacks its bytes does not count. */
static int read_entry(struct mend *m, uint32_t entry)
{
    static const struct fe_image_entry none;
    struct fe_image *g = m->s->img;
    struct fe_image_entry *r = &g->entries[entry * 2];
    int e = read_at(m, r, 2 * sizeof *r, fe_image_entry_at(g, entry, 0));
    for (uint32_t half = 0; e == 0 && half < 2; half++)
        if (!fe_bytes_are_zeros(&r[half], sizeof r[half]) &&
            !half_is_good(m, entry, half, &r[half])) {
            r[half] = none;
            fe_image_put(g, &none, sizeof none, fe_image_entry_at(g, entry, half),
                         "mending the device's cache");
        }
    return e;
}

/* The valid half. */
static struct fe_image_entry *half_of(const struct mend *m, uint32_t entry)
{
    struct fe_image_entry *r = &m->s->img->entries[entry * 2];
    return r[1].generation > r[0].generation ? r + 1 : r;
}

/* What is known of an entry's page makes the trims, and entries that have come later, newer than
 * an entry that was written out. */
static void note_entry(struct mend *m, const struct fe_image_entry *r)
{
    struct fe_image *g = m->s->img;
    g->seq = fe_max_u64(g->seq, r->out_seq); /* later programs have higher numbers */
    if (r->lpn >= m->s->n_pages)
        return;
    if (r->state == FE_ENTRY_HELD)
        m->newest[r->lpn] = UINT64_MAX;
    else if (r->state == FE_ENTRY_ENDED)
        m->newest[r->lpn] = fe_max_u64(m->newest[r->lpn], r->out_seq - (r->out_seq > 0));
}

/* Whether the page may be missing on flash: it was written out after the last sync, and nothing is
 * newer. */
static bool may_be_missing(const struct mend *m, const struct fe_image_entry *r)
{
    return r->state == FE_ENTRY_ENDED && r->out_seq > m->final_seq &&
           r->lpn < m->s->n_pages && m->newest[r->lpn] < r->out_seq;
}

static void hold_again(struct mend *m, uint32_t entry, struct fe_image_entry *r)
{
    struct fe_image *g = m->s->img;
    uint32_t half = r != &g->entries[entry * 2];
    r->state = FE_ENTRY_HELD;
    r->crc = fe_image_record_crc(entry * 2 + half, r, sizeof *r);
    fe_image_put(g, r, sizeof *r, fe_image_entry_at(g, entry, half), "mending the device's cache");
    m->n_held++;
}

/* Goes round the ring, from behind its newest entry on.  An entry with a newer one in front of it
 * has been used again since: its end is on the disk, and the page too. */
static void hold_missing(struct mend *m)
{
    uint32_t n = m->s->img->what.n_entries, newest = n;
    for (uint32_t i = 0; i < n; i++)
        if ((half_of(m, i)->state == FE_ENTRY_HELD || may_be_missing(m, half_of(m, i))) &&
            (newest == n || half_of(m, i)->order > half_of(m, newest)->order))
            newest = i;
    uint64_t last = 0;
    for (uint32_t k = 1; newest < n && k <= n; k++) {
        uint32_t i = (uint32_t)((newest + (uint64_t)k) % n);
        struct fe_image_entry *r = half_of(m, i);
        bool missing = may_be_missing(m, r);
        if (!missing && r->state != FE_ENTRY_HELD)
            continue;
        if (missing && r->order > last)
            hold_again(m, i, r);
        last = fe_max_u64(last, r->order);
    }
}

static int mend_entries(struct mend *m)
{
    uint32_t n = m->s->img->what.n_entries;
    int e = 0;
    for (uint32_t i = 0; e == 0 && i < n; i++) {
        e = read_entry(m, i);
        if (e == 0)
            note_entry(m, half_of(m, i));
    }
    if (e == 0)
        hold_missing(m);
    return e;
}

static int mend_all(struct mend *m)
{
    struct fe_image *g = m->s->img;
    struct fe_image_block b;
    int r = fe_image_read_trims(m->s, m->newest, m->err);
    if (r == 0)
        r = find_last(m);
    for (fe_peb peb = 0; r == 0 && peb < g->at.n_blocks; peb++) {
        r = read_block(m, peb, &b);
        if (r == 0)
            r = mend_pages(m, peb, b.erase_count, m->final_seq);
    }
    for (fe_peb peb = 0; r == 0 && peb < g->at.n_blocks; peb++) {
        r = read_block(m, peb, &b);
        if (r == 0 && is_taken_back(m, peb, &b))
            r = take_back(m, peb, &b);
    }
    if (r == 0)
        r = mend_entries(m);
    return r == 0 ? fe_store_failure(m->s, m->err) : r;
}

/* What has been done, for people.  What is only looked at was put right in memory. */
static void note_crash(const struct mend *m)
{
    struct fe_image *g = m->s->img;
    bool looks = g->read_only, any = m->n_dropped || m->n_taken_back || m->n_held;
    const char *more = looks ? " since this image was served; it is shown as the next server puts "
                               "it right" : "";
    if (looks && !any)
        snprintf(g->note, sizeof g->note,
                 "the host has crashed or is another one since this image was served; it is shown "
                 "as it lies on the disk, the next server puts it right");
    else
        snprintf(g->note, sizeof g->note,
                 "the host has crashed or is another one%s: %llu pages dropped, %llu erases and "
                 "%llu cache pages taken back", more,
                 (unsigned long long)m->n_dropped, (unsigned long long)m->n_taken_back,
                 (unsigned long long)m->n_held);
}

int fe_image_mend(struct fe_store *s, struct fe_err *err)
{
    struct fe_image *g = s->img;
    if (g->read_only && g->intact)
        return fe_err_set(err, EROFS,
                          "%.200s: the host has crashed or is another one since this image was "
                          "served; a server that may write must put it right first",
                          g->path);
    struct mend m = {
        .s = s,
        .oob = malloc((size_t)s->pages_per_block * sizeof *m.oob),
        .in_order = g->status.n_open_1 > 0,
        .synced_seq = g->status.synced_seq,
        .final_seq = fe_image_final_seq(&g->status),
        .present = calloc(fe_bits_words(s->n_pages), 8),
        .synced = calloc(s->n_pages, 8),
        .newest = calloc(s->n_pages, 8),
        .err = err,
    };
    int r = m.oob && m.present && m.synced && m.newest
                ? mend_all(&m)
                : fe_err_nomem(err, "mending the image", s->n_pages * 16);
    free(m.oob);
    free(m.present);
    free(m.synced);
    free(m.newest);
    note_crash(&m);
    return r;
}
