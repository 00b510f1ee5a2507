/* SPDX-License-Identifier: BSD-3-Clause
 *
 * After a crash of the host.
 *
 * The disk has everything up to the last fdatasync, and any part of what was written later.
 * With `sync` the image was written in such a way that this can be put right:
 *
 *   what the disk lacks                              what is done
 *   a page's bytes, though it has the record         The page, and all later pages of the
 *     (the checksum tells)                             block, were not programmed.
 *   a page's record, though it has later ones        The same.
 *     of the block
 *   copies of what an erased block held, though      The erase is taken back.
 *     it has the erase
 *   the page on flash, though the cache entry        The entry holds the page again.
 *     counts as written out
 *
 * When is an erase taken back?  Each page that the block held must have a newer copy that the
 * disk surely has, which is one with a number of at most status.synced_seq.  If one page lacks
 * such a copy, the whole block comes back.  That may bring back more than needed; old copies
 * do no harm, since the newest one counts.  The block's bytes and records are still there,
 * because its next program would have waited for an fdatasync.
 *
 * Without `sync` the same is done as far as it goes.
 */
#include "store/image_crash.h"

#include "base/crc32c.h"
#include "base/num.h"
#include "store/image_extra.h"
#include "store/image_file.h"
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mend {
    struct fe_store *s;
    struct fe_image_oob *oob; /* of one block */
    uint64_t *synced, *newest; /* by logical page: the number of the newest copy that
                                  was synced, and of the newest copy of all */
    uint64_t n_dropped, n_taken_back, n_held;
    struct fe_err *err;
};

static int read_at(struct mend *m, void *buf, size_t len, uint64_t at)
{
    const struct fe_image *g = m->s->img;
    int r = fe_io_read(g->io, g->fd, buf, len, (off_t)at);
    return r < 0 ? fe_err_set(m->err, -r, "%.200s: reading its records: %s", g->path, strerror(-r))
                 : 0;
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
        !fe_image_is_zeros(ret, sizeof *ret))
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

/* Looks at the pages of one cycle in order.  From the first page on that is missing, or that is
 * newer than sure_seq and lacks its bytes, no page was programmed: their records are erased.
 * With `count`, the pages before that one are entered into `newest` and `synced`. */
static void mend_pages(struct mend *m, fe_peb peb, uint32_t cycle, uint64_t sure_seq, bool count)
{
    static const struct fe_image_oob erased;
    fe_ppn first = peb * m->s->pages_per_block;
    bool good = true;
    for (uint32_t p = 0; p < m->s->pages_per_block; p++) {
        const struct fe_image_oob *r = &m->oob[p];
        bool is_page = is_of(r, first + p, cycle);
        if (is_page && r->state == FE_STORE_RAW)
            continue;
        good = good && is_page && (r->seq <= sure_seq || has_its_bytes(m, r, first + p));
        if (!good && (is_page || (!fe_image_oob_is_valid(r, first + p) &&
                                  !fe_image_is_zeros(r, sizeof *r)))) {
            put_record(m, first + p, &erased);
            m->n_dropped++;
        } else if (count && good && r->state == FE_STORE_PROGRAMMED && r->lpn < m->s->n_pages) {
            m->newest[r->lpn] = fe_max_u64(m->newest[r->lpn], r->seq);
            if (r->seq <= sure_seq)
                m->synced[r->lpn] = fe_max_u64(m->synced[r->lpn], r->seq);
        }
    }
}

/* Whether the block was erased after the last sync and not programmed since. */
static bool is_doubtful(const struct mend *m, fe_peb peb, const struct fe_image_block *b)
{
    fe_ppn first = peb * m->s->pages_per_block;
    if (b->kept_cycle == b->erase_count || b->erase_seq <= m->s->img->status.synced_seq)
        return false;
    for (uint32_t p = 0; p < m->s->pages_per_block; p++)
        if (is_of(&m->oob[p], first + p, b->erase_count))
            return false;
    return true;
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

/* The block has the cycle again whose pages the disk surely has. */
static void take_back(struct mend *m, fe_peb peb, struct fe_image_block *b)
{
    struct fe_image *g = m->s->img;
    uint64_t before = m->n_dropped;
    mend_pages(m, peb, b->kept_cycle, 0, false);
    if (m->n_dropped > before)
        fe_image_sync_now(m->s); /* before the record: a second mending would not drop them */
    b->erase_count = b->kept_cycle;
    b->flags = b->kept_flags;
    b->crc = fe_image_record_crc(peb, b, sizeof *b);
    fe_image_put(g, b, sizeof *b, g->at.blocks + peb * sizeof *b, "mending a block record");
    m->n_taken_back++;
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

/* A half that lacks its bytes does not count.  A page that was written out after the last sync,
 * and is not on flash, is held again. */
static void mend_entry(struct mend *m, uint32_t entry, struct fe_image_entry r[2])
{
    static const struct fe_image_entry none;
    struct fe_image *g = m->s->img;
    for (uint32_t half = 0; half < 2; half++)
        if (!fe_image_is_zeros(&r[half], sizeof r[half]) &&
            !half_is_good(m, entry, half, &r[half])) {
            r[half] = none;
            fe_image_put(g, &none, sizeof none, fe_image_entry_at(g, entry, half),
                         "mending the device's cache");
        }
    uint32_t half = r[1].generation > r[0].generation;
    r += half;
    if (r->state != FE_ENTRY_WRITTEN_OUT || r->out_seq <= g->status.synced_seq ||
        r->lpn >= m->s->n_pages || m->newest[r->lpn] > r->seq)
        return;
    r->state = FE_ENTRY_HELD;
    r->crc = fe_image_record_crc(entry * 2 + half, r, sizeof *r);
    fe_image_put(g, r, sizeof *r, fe_image_entry_at(g, entry, half), "mending the device's cache");
    m->n_held++;
}

static int mend_entrys(struct mend *m)
{
    struct fe_image *g = m->s->img;
    struct fe_image_entry r[2];
    int e = 0;
    for (uint32_t i = 0; e == 0 && i < g->what.n_entries; i++) {
        e = read_at(m, r, sizeof r, fe_image_entry_at(g, i, 0));
        if (e == 0)
            mend_entry(m, i, r);
    }
    return e;
}

static int mend_all(struct mend *m)
{
    struct fe_image *g = m->s->img;
    struct fe_image_block b;
    int r = 0;
    for (fe_peb peb = 0; r == 0 && peb < g->at.n_blocks; peb++) {
        r = read_block(m, peb, &b);
        if (r == 0)
            mend_pages(m, peb, b.erase_count, g->status.synced_seq, true);
    }
    for (fe_peb peb = 0; r == 0 && peb < g->at.n_blocks; peb++) {
        r = read_block(m, peb, &b);
        if (r == 0 && is_doubtful(m, peb, &b) && is_needed(m, peb, b.kept_cycle))
            take_back(m, peb, &b);
    }
    if (r == 0)
        r = mend_entrys(m);
    return r == 0 && g->failed ? fe_err_set(m->err, g->failed, "%s", g->why.text) : r;
}

int fe_image_mend(struct fe_store *s, struct fe_err *err)
{
    struct fe_image *g = s->img;
    if (g->read_only && g->intact)
        return fe_err_set(err, EROFS,
                          "%.200s: the host has crashed or is another one since this image was "
                          "served; a server that may write must put it right first",
                          g->path);
    if (g->read_only) {
        snprintf(g->note, sizeof g->note,
                 "the host has crashed or is another one since this image was served; it is shown "
                 "as it lies on the disk, the next server puts it right");
        return 0;
    }
    struct mend m = {
        .s = s,
        .oob = malloc((size_t)s->pages_per_block * sizeof *m.oob),
        .synced = calloc(s->n_pages, 8),
        .newest = calloc(s->n_pages, 8),
        .err = err,
    };
    int r = m.oob && m.synced && m.newest
                ? mend_all(&m)
                : fe_err_nomem(err, "mending the image", s->n_pages * 16);
    free(m.oob);
    free(m.synced);
    free(m.newest);
    snprintf(g->note, sizeof g->note,
             "the host has crashed or is another one: %llu pages dropped, %llu erases and %llu "
             "cache pages taken back",
             (unsigned long long)m.n_dropped, (unsigned long long)m.n_taken_back,
             (unsigned long long)m.n_held);
    return r;
}
