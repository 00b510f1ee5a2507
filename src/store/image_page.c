/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages and blocks of an image.
 *
 *   program    bytes of the page, then its OOB record      two writes, in this order
 *   erase      the block's record, with the next cycle     one write
 *
 *     block record    cycle 5
 *     OOB records     [cycle 5] [cycle 5] [cycle 4] [cycle 4]
 *                     programmed          erased: of the cycle before
 *
 * If the server is killed between any two writes, the file is a state that the chip has been
 * in, because a page without its record is an erased page.  `written` says which pages have
 * bytes; a page of zeros has a record only.  The record has a checksum of the bytes, and a read
 * compares it: what the host has garbled is an error and not data.
 *
 * With `sync`, the bytes and records of an erased block stay until the block is programmed
 * again, since they may be the last copy that the disk has.  So the first program after an
 * erase waits until the status on the disk says that everything before the erase was synced, and
 * a hole is not punched before that either.
 *
 * A power cut takes operations back, newest first: the erase of a block before the programs that
 * copied its pages.  With `sync` an fdatasync comes in between, and another one before the block's
 * record, so that the pages which count again have their bytes.
 */
#include "store/image_page.h"

#include "base/crc32c.h"
#include "base/num.h"
#include "store/image_check.h"
#include "store/image_file.h"
#include "store/internal.h"

#include <errno.h>
#include <string.h>

static uint64_t bytes_at(const struct fe_store *s, fe_ppn ppn)
{
    return s->img->at.pages + (uint64_t)ppn * s->page_bytes;
}

static uint64_t oob_at(const struct fe_store *s, fe_ppn ppn)
{
    return s->img->at.oob + (uint64_t)ppn * sizeof(struct fe_image_oob);
}

/* ---- bytes ---- */

/* The whole page, which has bytes and a checksum.  0, or -EIO. */
static int read_whole(const struct fe_store *s, fe_ppn ppn, void *buf)
{
    const struct fe_image *g = s->img;
    int r = fe_io_read(g->io, g->fd, buf, s->page_bytes, (off_t)bytes_at(s, ppn));
    return r < 0 || fe_crc32c(0, buf, s->page_bytes) != g->crc[ppn] ? -EIO : 0;
}

int fe_image_read(const struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len, void *buf)
{
    const struct fe_image *g = s->img;
    bool lost = fe_bit(g->lost, ppn);
    int r = lost ? -EIO : 0;

    if (!buf || len == 0)
        return r;
    if (lost || !fe_bit(s->written, ppn)) {
        memset(buf, 0, len);
    } else if (fe_bit(g->raw, ppn)) {
        r = fe_io_read(g->io, g->fd, buf, len, (off_t)(bytes_at(s, ppn) + off)) < 0 ? -EIO : 0;
    } else if (len == s->page_bytes) {
        r = read_whole(s, ppn, buf);
    } else {
        r = read_whole(s, ppn, g->page);
        memcpy(buf, g->page + off, len);
    }
    if (r < 0)
        memset(buf, 0, len);
    return r;
}

/* What the disk has of this block is about to be overwritten: the erase before must be there
 * first, and the status must say so. */
static void before_program(struct fe_store *s, fe_ppn ppn)
{
    struct fe_image *g = s->img;
    if (g->sync && g->blocks[ppn / s->pages_per_block].erase_epoch > g->told_epoch)
        fe_image_sync_and_tell(s);
}

static void put_page(struct fe_store *s, fe_ppn ppn, const void *page)
{
    struct fe_image *g = s->img;
    fe_image_put(g, page, s->page_bytes, bytes_at(s, ppn), "writing a page");
    fe_bit_put(s->written, ppn, true);
    fe_bit_put(g->raw, ppn, false);
    fe_bit_put(g->lost, ppn, g->failed);
    g->crc[ppn] = fe_crc32c(0, page, s->page_bytes);
}

void fe_image_write(struct fe_store *s, fe_ppn ppn, fe_ppn base, uint32_t off, uint32_t len,
                    const void *data)
{
    struct fe_image *g = s->img;
    bool from_base = len < s->page_bytes && base != FE_PPN_NONE &&
                     (fe_bit(s->written, base) || fe_bit(g->lost, base));

    before_program(s, ppn);
    if (!from_base && (!data || len == 0)) {
        fe_bit_put(g->lost, ppn, g->failed);
        return;
    }
    if (data && len == s->page_bytes) {
        put_page(s, ppn, data);
        return;
    }
    if (!from_base)
        memset(g->page, 0, s->page_bytes);
    else if (fe_image_read(s, base, 0, s->page_bytes, g->page) < 0)
        fe_image_fail(g, EIO, "copying a page that cannot be read, or has not the bytes written");
    if (data)
        memcpy(g->page + off, data, len);
    else
        memset(g->page + off, 0, len);
    put_page(s, ppn, g->page);
}

static void put_oob(struct fe_store *s, fe_ppn ppn, struct fe_image_oob *r)
{
    struct fe_image *g = s->img;
    r->crc = fe_image_record_crc(ppn, r, sizeof *r);
    if (g->oob_of_new)
        g->oob_of_new[ppn] = *r;
    else
        fe_image_put(g, r, sizeof *r, oob_at(s, ppn), "writing an OOB record");
}

/* Bytes that are no flash page.  They change in place, and therefore have no checksum. */
void fe_image_overwrite(struct fe_store *s, fe_ppn ppn, uint32_t off, uint32_t len,
                        const void *data)
{
    struct fe_image *g = s->img;
    struct fe_image_oob r = {.lpn = ppn, .state = FE_STORE_RAW};

    if (!data)
        memset(g->page, 0, len);
    if (fe_bit(s->written, ppn)) {
        assert(fe_bit(g->raw, ppn));
        fe_image_put(g, data ? data : g->page, len, bytes_at(s, ppn) + off, "writing a page");
        fe_bit_put(g->lost, ppn, g->failed || fe_bit(g->lost, ppn));
        return;
    }
    if (!data) {
        fe_bit_put(g->lost, ppn, g->failed);
        return;
    }
    memset(g->page, 0, s->page_bytes);
    memcpy(g->page + off, data, len);
    put_page(s, ppn, g->page);
    fe_bit_put(g->raw, ppn, true);
    put_oob(s, ppn, &r);
    fe_bit_put(g->lost, ppn, g->failed);
}

/* A hole is a saving: where the host refuses it, the bytes stay. */
void fe_image_give_back(struct fe_store *s, fe_peb peb)
{
    struct fe_image *g = s->img;
    uint64_t block_bytes = (uint64_t)s->page_bytes * s->pages_per_block;
    if (g->failed || (g->sync && g->blocks[peb].erase_epoch > g->told_epoch))
        return;
    (void)g->io->punch(g->io->ctx, g->fd, (off_t)bytes_at(s, peb * s->pages_per_block),
                       (off_t)block_bytes);
}

/* ---- what is besides the bytes ---- */

void fe_store_put_back_oob(struct fe_store *s, fe_ppn ppn, const struct fe_store_oob *oob,
                           uint32_t cycle)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    before_program(s, ppn);
    struct fe_image_oob r = {0};
    if (oob->state == FE_STORE_ERASED) {
        assert(!g->oob_of_new); /* no program is taken back while an image is made */
        fe_image_put(g, &r, sizeof r, oob_at(s, ppn), "writing an OOB record");
        return;
    }
    r.seq = oob->seq;
    r.lpn = oob->lpn;
    r.cycle = cycle;
    r.tag = oob->tag;
    r.state = oob->state;
    r.mode = oob->mode;
    r.zeros = !fe_bit(s->written, ppn);
    r.data_crc = r.zeros ? 0 : g->crc[ppn];
    put_oob(s, ppn, &r);
    if (g->failed)
        fe_bit_put(g->lost, ppn, true);
    g->seq = fe_max_u64(g->seq, oob->seq);
}

void fe_store_set_oob(struct fe_store *s, fe_ppn ppn, const struct fe_store_oob *oob)
{
    if (s->img)
        fe_store_put_back_oob(s, ppn, oob, s->img->blocks[ppn / s->pages_per_block].cycle);
}

void fe_store_set_block(struct fe_store *s, fe_peb peb, const struct fe_store_block *block)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    struct fe_image_block_state *b = &g->blocks[peb];
    bool taken_back = block->erase_count < b->cycle;
    if (block->erase_count > b->cycle) {
        if (b->erase_epoch <= g->told_epoch) {
            b->kept_cycle = b->cycle;
            b->kept_flags = b->flags;
        }
        b->erase_seq = g->seq;
        b->erase_epoch = g->creating ? 0 : g->epoch;
    } else if (taken_back) {
        b->kept_cycle = block->erase_count;
        b->kept_flags = block->flags;
        b->erase_epoch = 0;
    }
    b->cycle = block->erase_count;
    b->flags = block->flags;

    struct fe_image_block r = {
        .erase_seq = b->erase_seq,
        .erase_count = b->cycle,
        .kept_cycle = b->kept_cycle,
        .flags = b->flags,
        .kept_flags = b->kept_flags,
    };
    memcpy(r.extra, block->extra, sizeof r.extra);
    r.crc = fe_image_record_crc(peb, &r, sizeof r);
    if (taken_back)
        fe_image_sync_now(s); /* before its pages count again: what they were is put back */
    fe_image_put(g, &r, sizeof r, g->at.blocks + peb * sizeof r, "writing a block record");
    if (taken_back)
        fe_image_sync_now(s); /* before the copies of its pages go */
}

/* ---- loading ---- */

static int damaged(const struct fe_image *g, const char *what, uint64_t number,
                   struct fe_err *err)
{
    return fe_err_set(err, EIO, "%.200s: the record of %s %llu is damaged", g->path, what,
                      (unsigned long long)number);
}

static int load_record(struct fe_store *s, fe_peb peb, struct fe_store_block *ret,
                       struct fe_err *err)
{
    struct fe_image *g = s->img;
    struct fe_image_block r;
    int e = fe_io_read(g->io, g->fd, &r, sizeof r, (off_t)(g->at.blocks + peb * sizeof r));
    if (e < 0)
        return fe_err_set(err, -e, "%.200s: reading the record of block %u: %s", g->path, peb,
                          strerror(-e));
    *ret = (struct fe_store_block){0};
    g->blocks[peb] = (struct fe_image_block_state){0};
    if (fe_bytes_are_zeros(&r, sizeof r))
        return 0;
    if (r.crc != fe_image_record_crc(peb, &r, sizeof r))
        return damaged(g, "block", peb, err);
    e = fe_image_check_block(g, peb, &r, err);
    if (e < 0)
        return e;
    ret->erase_count = r.erase_count;
    ret->flags = r.flags;
    ret->kept_flags = r.kept_flags;
    memcpy(ret->extra, r.extra, sizeof ret->extra);
    g->blocks[peb] = (struct fe_image_block_state){
        .cycle = r.erase_count,
        .flags = r.flags,
        .kept_cycle = r.kept_cycle,
        .kept_flags = r.kept_flags,
        .erase_seq = r.erase_seq,
    };
    g->seq = fe_max_u64(g->seq, r.erase_seq); /* a number is not used twice */
    return 0;
}

static void take_page(struct fe_store *s, fe_ppn ppn, const struct fe_image_oob *r,
                      struct fe_store_oob *ret)
{
    struct fe_image *g = s->img;
    *ret = (struct fe_store_oob){
        .seq = r->seq, .lpn = r->lpn, .tag = r->tag, .state = r->state, .mode = r->mode};
    fe_bit_put(s->written, ppn, !r->zeros && r->state != FE_STORE_TORN);
    fe_bit_put(g->raw, ppn, r->state == FE_STORE_RAW);
    g->crc[ppn] = r->data_crc;
    g->seq = fe_max_u64(g->seq, r->seq);
}

int fe_store_load_block(struct fe_store *s, fe_peb peb, struct fe_store_block *ret,
                        struct fe_store_oob *pages, struct fe_err *err)
{
    struct fe_image *g = s->img;
    fe_ppn first = peb * s->pages_per_block;
    struct fe_image_oob r[64];
    bool erased = false;
    int e = load_record(s, peb, ret, err);

    for (uint32_t p = 0; e == 0 && p < s->pages_per_block; p++) {
        uint32_t n = (uint32_t)fe_min_u64(64, s->pages_per_block - p), i = p % 64;
        if (i == 0 && (e = fe_io_read(g->io, g->fd, r, n * sizeof r[0],
                                      (off_t)oob_at(s, first + p))) < 0)
            return fe_err_set(err, -e, "%.200s: reading the OOB of block %u: %s", g->path, peb,
                              strerror(-e));
        pages[p] = (struct fe_store_oob){.lpn = FE_LPN_NONE};
        fe_bit_put(s->written, first + p, false);
        if (!fe_image_oob_is_valid(&r[i], first + p)) {
            if (!fe_bytes_are_zeros(&r[i], sizeof r[i]))
                return damaged(g, "page", first + p, err);
            erased = true;
        } else if ((e = fe_image_check_oob(g, first + p, &r[i], ret->erase_count, err)) < 0) {
            return e;
        } else if (r[i].cycle != ret->erase_count) {
            erased = true;
        } else if (erased && r[i].state != FE_STORE_RAW) {
            return fe_err_set(err, EIO,
                              "%.200s: page %u is programmed, and a page before it in block %u "
                              "is not",
                              g->path, first + p, peb);
        } else {
            take_page(s, first + p, &r[i], &pages[p]);
        }
    }
    return e;
}
