/* SPDX-License-Identifier: BSD-3-Clause */
#include "crash/bench.h"

#include "device/internal.h"
#include "store/frames.h"
#include "store/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SECTOR = 512 };

static bool complain(struct ft_crash *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static bool complain(struct ft_crash *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->wrong, sizeof c->wrong, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- devices ---- */

static struct fe_device *make_device(struct ft_crash *c)
{
    struct fe_device_options opt = {
        .seed = c->seed, .payload = true, .power_cuts = true, .file = c->file};
    struct fe_device *dev = NULL;
    struct fe_err err = {""};
    int r = fe_device_create(&dev, &c->profile, &opt, &err);
    if (r < 0 && !(r == -ENOSPC && c->profile.wear.spare_blocks)) /* device.used wore it out */
        complain(c, "no device: %s", err.text);
    return dev;
}

bool ft_crash_init(struct ft_crash *c, uint64_t seed, uint32_t geometry, uint32_t type,
                   const struct fe_store_file *file)
{
    *c = (struct ft_crash){.seed = seed, .file = file};
    snprintf(c->id, sizeof c->id, "%" PRIu64 ":%u:%s", seed, geometry, fe_ftl_registry[type]->name);
    if (!ft_crash_profile(&c->profile, seed, geometry, type))
        return false;
    for (int i = 0; i < (file ? 1 : 3); i++) {
        struct fe_device **dev = i == 0 ? &c->live : &c->cut[i - 1];
        *dev = make_device(c);
        if (!*dev)
            return false;
    }
    c->has_cache = fe_device_is_volatile(c->live);
    c->n_sectors = (uint32_t)(fe_device_capacity(c->live) / SECTOR);
    c->buf = malloc((size_t)c->n_sectors * SECTOR);
    c->done = calloc(4096, sizeof *c->done);
    c->least = calloc(c->n_sectors, sizeof *c->least);
    c->found = malloc(c->n_sectors * sizeof *c->found);
    c->last_zero = calloc(c->n_sectors, sizeof *c->last_zero);
    c->had = malloc(c->live->medium->geo.n_ppns * sizeof *c->had);
    if (!c->buf || !c->done || !c->least || !c->found || !c->last_zero || !c->had)
        abort();
    memset(c->found, 0xff, c->n_sectors * sizeof *c->found);
    return true;
}

uint64_t ft_crash_writes_left = UINT64_MAX;

static ssize_t limited_pwrite(void *ctx, int fd, const void *buf, size_t len, off_t off)
{
    if (ft_crash_writes_left == 0) {
        errno = EIO;
        return -1;
    }
    ft_crash_writes_left -= ft_crash_writes_left != UINT64_MAX;
    return fe_io_host.pwrite(ctx, fd, buf, len, off);
}

struct fe_io ft_crash_io(void)
{
    struct fe_io io = fe_io_host;
    io.pwrite = limited_pwrite;
    return io;
}

void ft_crash_image_path(char path[64])
{
    snprintf(path, 64, "%s/flashemu-crash-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"); /* memory is fast */
    int fd = mkstemp(path);
    if (fd < 0) {
        perror(path);
        abort();
    }
    close(fd);
    unlink(path); /* only the name is wanted */
}

bool ft_crash_reopen(struct ft_crash *c)
{
    fe_device_destroy(c->live);
    c->live = make_device(c);
    return c->live != NULL;
}

void ft_crash_fini(struct ft_crash *c)
{
    fe_device_destroy(c->live);
    fe_device_destroy(c->cut[0]);
    fe_device_destroy(c->cut[1]);
    free(c->buf);
    free(c->done);
    free(c->least);
    free(c->found);
    free(c->last_zero);
    free(c->had);
}

/* ---- the workload ---- */

static void fill(uint8_t *buf, uint64_t sector, uint32_t n, uint64_t version)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t at = 0; at < SECTOR; at += 16) {
            memcpy(buf + i * SECTOR + at, &(uint64_t){sector + i}, 8);
            memcpy(buf + i * SECTOR + at + 8, &version, 8);
        }
}

static struct fe_request choose(const struct ft_crash *c, struct ft_rand *r)
{
    struct fe_request q = {.type = FE_REQ_WRITE, .fua = ft_chance(r, 10)};
    uint64_t kind = ft_below(r, 100), page = c->live->page_bytes / SECTOR;
    uint64_t at = ft_below(r, c->n_sectors), n = ft_between(r, 1, 3);
    if (kind < 12) {
        q.type = FE_REQ_FLUSH;
        return q;
    }
    if (kind < 20 && c->profile.device.discard)
        q.type = FE_REQ_TRIM;
    if (kind >= 20 && kind < 45) /* one of a few busy sectors */
        at = ft_below(r, 6);
    if (kind >= 45 && kind < 60) /* in order */
        at = c->n_done * page % c->n_sectors;
    if (kind >= 60 && kind < 75) { /* whole pages */
        at -= at % page;
        n = page * ft_between(r, 1, 6);
    }
    q.offset = at * SECTOR;
    q.len = (n < c->n_sectors - at ? n : c->n_sectors - at) * SECTOR;
    return q;
}

/* Whether the device is at the end of its life, and the status is what it answers then. */
static bool is_end(const struct fe_device *dev, enum fe_status st)
{
    static const enum fe_status answers[FE_N_EOLS] = {
        [FE_EOL_READ_ONLY] = FE_READ_ONLY, [FE_EOL_FULL] = FE_NO_SPACE,
        [FE_EOL_DEAD] = FE_PROG_FAILED};
    return dev->medium->eol && st == answers[dev->profile.wear.end_of_life];
}

bool ft_crash_step(struct ft_crash *c, struct ft_rand *r, uint64_t now_ns)
{
    struct ft_crash_request *d = &c->done[c->n_done];
    struct fe_reply reply;
    d->req = choose(c, r);
    if (d->req.type == FE_REQ_WRITE) {
        d->req.buf = c->buf;
        fill(c->buf, d->req.offset / SECTOR, (uint32_t)(d->req.len / SECTOR), c->n_done + 1);
    }
    if (fe_device_submit(c->live, now_ns, &d->req, &reply) < 0 ||
        (reply.status != FE_OK && !is_end(c->live, reply.status) &&
         !(c->host_fails && reply.status == FE_HOST_FAILED)))
        return complain(c, "request %u: status %d", c->n_done, reply.status);
    d->refused = reply.status != FE_OK;
    d->arrival_ns = reply.arrival_ns;
    d->complete_ns = reply.complete_ns;
    c->n_done++;
    for (uint64_t s = d->req.offset / SECTOR; d->req.type == FE_REQ_TRIM &&
         s < (d->req.offset + d->req.len) / SECTOR; s++)
        c->last_zero[s] = c->n_done;
    return true;
}

/* ---- what is promised ---- */

/* Whether request i had been answered at that time, and was not only in a volatile cache. */
static bool is_promised(const struct ft_crash *c, uint32_t i, uint64_t at_ns)
{
    const struct ft_crash_request *d = &c->done[i];
    if (d->refused)
        return false;
    if (d->complete_ns <= at_ns && (!c->has_cache || d->req.fua))
        return true;
    for (uint32_t k = i + 1; k < c->n_done; k++)
        if (c->done[k].req.type == FE_REQ_FLUSH && !c->done[k].refused &&
            c->done[k].complete_ns <= at_ns && d->complete_ns <= c->done[k].arrival_ns)
            return true;
    return false;
}

/* ftl.trim_lost: any version may come back of the whole pages that a trim covered. */
static void lose_trim(struct ft_crash *c, const struct fe_request *q)
{
    uint64_t page = c->live->page_bytes, end = (q->offset + q->len) / page * page;
    for (uint64_t at = fe_div_up(q->offset, page) * page; at < end; at += SECTOR)
        c->least[at / SECTOR] = 0;
}

void ft_crash_expect(struct ft_crash *c, uint64_t at_ns)
{
    memset(c->least, 0, c->n_sectors * sizeof *c->least);
    for (uint32_t i = 0; i < c->n_done; i++) {
        const struct fe_request *q = &c->done[i].req;
        if (q->type != FE_REQ_FLUSH && is_promised(c, i, at_ns))
            for (uint64_t s = q->offset / SECTOR; s < (q->offset + q->len) / SECTOR; s++)
                c->least[s] = i + 1;
        if (q->type == FE_REQ_TRIM && c->profile.ftl.trim_lost)
            lose_trim(c, q);
    }
}

static uint64_t version_of(const struct ft_crash *c, uint64_t s, const uint8_t *sector)
{
    static const uint8_t zeros[SECTOR];
    uint64_t version;
    memcpy(&version, sector + 8, 8);
    return memcmp(sector, zeros, SECTOR) == 0 ? c->last_zero[s] : version;
}

/* ---- what a cut may destroy ---- */

/* An operation that begins at the cut or later has not happened, and the page still has what it had
 * before.  The oldest such operation of a page decides. */
void ft_crash_before_cut(struct ft_crash *c, const struct fe_device *dev, uint64_t at_ns)
{
    const struct fe_medium *m = dev->medium;
    const struct fe_undo *u = m->undo;
    memcpy(c->had, m->chip.oob_lpn, m->geo.n_ppns * sizeof *c->had);
    for (uint32_t i = u->n; i-- > 0;) {
        const struct fe_undo_op *op = &u->ring[(u->head + i) & (u->room - 1)];
        if (op->kind == FE_OP_PROG && op->ppn != FE_PPN_NONE && op->start_ns >= at_ns &&
            op->end_ns > at_ns)
            c->had[op->ppn] = op->old_page.lpn;
    }
}

/* The page that shares its cells with page i, in blocks of n pages: page 0 and the odd pages,
 * except the last one, come first in their cells, and the other ones follow in the same order.
 * UINT32_MAX if page i is not one of the latter. */
static uint32_t first_in_cells(uint32_t i, uint32_t n)
{
    uint32_t firsts[256], n_firsts = 0, seconds = 0;
    for (uint32_t page = 0; page < n; page++) {
        bool is_first = page == 0 || (page % 2 == 1 && page + 1 < n);
        if (is_first)
            firsts[n_firsts++] = page;
        else if (page == i)
            return firsts[seconds];
        else
            seconds++;
    }
    return UINT32_MAX;
}

/* Whether the profile lets the cut destroy this page, which is torn: a program was torn that uses
 * the same cells. */
static bool may_be_lost(const struct fe_medium *m, fe_ppn ppn)
{
    uint32_t n = m->geo.pages_per_block, page = ppn % n, parts = 1u << m->geo.parts_log2;
    if (m->geo.cell != FE_CELL_MLC || fe_medium_is_slc(m, ppn / n))
        return false;
    for (uint32_t i = page + 1; i < fe_medium_next_page(m, ppn / n); i++)
        if (first_in_cells(i / parts, n / parts) == page / parts && fe_medium_state(m, ppn - page + i) == FE_PAGE_TORN)
            return true;
    return false;
}

/* The readable copy of a page that was programmed last; FE_PPN_NONE if there is none. */
static fe_ppn newest_copy(const struct fe_medium *m, fe_lpn lpn)
{
    fe_ppn newest = FE_PPN_NONE;
    uint64_t seq = 0;
    for (fe_ppn ppn = 0; ppn < m->geo.n_ppns; ppn++) {
        if (fe_medium_state(m, ppn) != FE_PAGE_PROGRAMMED || fe_medium_lpn(m, ppn) != lpn ||
            fe_medium_is_bad(m, fe_peb_of(&m->geo, ppn)) || fe_medium_seq(m, ppn) <= seq)
            continue;
        newest = ppn;
        seq = fe_medium_seq(m, ppn);
    }
    return fe_medium_is_trimmed(m, lpn) ? FE_PPN_NONE : newest;
}

/* One copy of the page was lost: the newest one that is left is as good as the promise. */
static void lose_page(struct ft_crash *c, const struct fe_device *dev, fe_lpn lpn)
{
    uint32_t page = dev->page_bytes, per_page = page / SECTOR;
    if (lpn >= fe_div_up(c->n_sectors, per_page))
        return;
    fe_ppn newest = newest_copy(dev->medium, lpn);
    uint8_t *buf = calloc(page, 1);
    if (!buf || (newest != FE_PPN_NONE &&
                 fe_store_read(dev->medium->store, newest, 0, page, buf) < 0))
        abort();
    for (uint64_t s = lpn * per_page; s < (lpn + 1) * per_page && s < c->n_sectors; s++) {
        uint64_t has = version_of(c, s, buf + (s - lpn * per_page) * SECTOR);
        c->found[s] = fe_min_u64(c->found[s], newest == FE_PPN_NONE ? 0 : has);
    }
    free(buf);
}

void ft_crash_note_loss(struct ft_crash *c, const struct fe_device *dev)
{
    const struct fe_medium *m = dev->medium;
    for (fe_ppn ppn = 0; ppn < m->geo.n_ppns && c->profile.power.partner_ppm; ppn++) {
        if (fe_medium_state(m, ppn) == FE_PAGE_TORN && may_be_lost(m, ppn))
            lose_page(c, dev, c->had[ppn]);
    }
}

static bool check_sector(struct ft_crash *c, uint64_t s, const uint8_t *got)
{
    static const uint8_t zeros[SECTOR];
    uint8_t want[SECTOR];
    uint64_t version = version_of(c, s, got), least = fe_min_u64(c->least[s], c->found[s]);
    fill(want, s, 1, version);
    bool is_zero = memcmp(got, zeros, SECTOR) == 0;
    if (!is_zero && (memcmp(got, want, SECTOR) != 0 || version > c->n_done))
        return complain(c, "sector %" PRIu64 ": neither old nor new", s);
    if (version < least)
        return complain(c, "sector %" PRIu64 ": %s, version %" PRIu64 " at best, %" PRIu64
                        " was promised", s, is_zero ? "zeros" : "data", version, least);
    return true;
}

/* ---- state ---- */

/* What `from` has put aside of a page, which has passed through that page of `to`. */
static struct fe_aside copy_aside(struct fe_medium *to, const struct fe_medium *from,
                                  const struct fe_undo_op *op)
{
    struct fe_aside aside = {0};
    if (!op->aside.name)
        return aside;
    fe_store_forget(to->store, op->ppn, 1);
    fe_store_write(to->store, op->ppn, FE_PPN_NONE, 0, to->geo.page_bytes,
                   fe_frames_at(from->store->frames, op->aside.name));
    if (fe_store_put_aside(to->store, op->ppn, &aside) < 0)
        abort();
    return aside;
}

/* Leaves any bytes in the pages of `to`. */
static void copy_undo(struct fe_medium *to, const struct fe_medium *from)
{
    struct fe_undo *t = to->undo, *f = from->undo;
    for (uint32_t i = 0; i < t->n; i++)
        fe_store_drop_aside(to->store, &t->ring[(t->head + i) & (t->room - 1)].aside);
    if (t->room < f->room) {
        free(t->ring);
        t->ring = malloc(f->room * sizeof *t->ring);
        if (!t->ring)
            abort();
        t->room = f->room;
    }
    t->head = 0;
    t->n = t->n_timed = f->n;
    for (uint32_t i = 0; i < f->n; i++) {
        t->ring[i] = f->ring[(f->head + i) & (f->room - 1)];
        t->ring[i].aside = copy_aside(to, from, &t->ring[i]);
    }
    memcpy(t->erases, f->erases, to->geo.n_pebs * sizeof *t->erases);
}

static void copy_chip(struct fe_chip *t, const struct fe_chip *f)
{
    const struct fe_geometry *g = t->geo;
    memcpy(t->pebs, f->pebs, g->n_chip_blocks * sizeof *t->pebs);
    memcpy(t->difference, f->difference, g->n_chip_blocks * sizeof *t->difference);
    if (t->blocks)
        memcpy(t->blocks, f->blocks, g->n_chip_blocks * sizeof *t->blocks);
    memcpy(t->oob_lpn, f->oob_lpn, g->n_ppns * sizeof *t->oob_lpn);
    memcpy(t->oob_seq, f->oob_seq, g->n_ppns * sizeof *t->oob_seq);
    memcpy(t->oob_tag, f->oob_tag, g->n_ppns * sizeof *t->oob_tag);
    if (t->flips)
        memcpy(t->flips, f->flips, g->n_ppns * sizeof *t->flips);
    if (t->trims)
        memcpy(t->trims, f->trims, fe_bits_words(t->n_trims) * sizeof *t->trims);
    t->seq = f->seq;
    t->interrupted = f->interrupted;
    t->cuts = f->cuts;
    t->life = f->life;
    t->unnumbered = f->unnumbered;
}

static void copy_bytes(struct fe_store *t, const struct fe_store *f)
{
    fe_store_forget(t, 0, (uint32_t)t->n_pages);
    for (fe_ppn ppn = 0; ppn < t->n_pages; ppn++) {
        const uint8_t *bytes = fe_frames_at(f->frames, ppn);
        if (bytes)
            fe_store_write(t, ppn, FE_PPN_NONE, 0, t->page_bytes, bytes);
    }
}

void ft_crash_copy(struct fe_device *to, const struct fe_device *from)
{
    struct fe_medium *t = to->medium, *f = from->medium;
    copy_chip(&t->chip, &f->chip);
    t->wear->n_failed = f->wear->n_failed;
    t->prog_hook = f->prog_hook;
    t->eol = f->eol;
    t->in_register = f->in_register;
    t->register_read = f->register_read;
    t->emptying_since = f->emptying_since;
    t->counters = f->counters;
    copy_undo(t, f);
    copy_bytes(to->store, from->store);
    to->last_arrival_ns = from->last_arrival_ns;
    to->busy_until_ns = from->busy_until_ns;
    to->now_ns = from->now_ns;
    to->power = from->power;
}

uint64_t ft_crash_hash(const struct fe_device *dev)
{
    const struct fe_chip *chip = &dev->medium->chip;
    const struct fe_geometry *g = chip->geo;
    uint64_t h = FT_HASH_START;
    for (fe_peb peb = 0; peb < g->n_pebs; peb++) {
        const struct fe_peb_info *b = &chip->pebs[peb];
        fe_ppn first = peb * g->pages_per_block;
        uint32_t n = b->next_page;
        h = ft_hash_u64(h, (uint64_t)b->erase_count << 32 | n << 8 |
                               (b->marks & (FE_MARK_SLC | FE_MARK_UNSTABLE)));
        h = ft_hash(h, chip->oob_lpn + first, n * sizeof *chip->oob_lpn);
        h = ft_hash(h, chip->oob_seq + first, n * sizeof *chip->oob_seq);
        h = ft_hash(h, chip->oob_tag + first, n);
    }
    if (chip->trims)
        h = ft_hash(h, chip->trims, fe_bits_words(chip->n_trims) * sizeof *chip->trims);
    return h;
}

bool ft_crash_read(struct ft_crash *c, struct fe_device *dev)
{
    struct fe_request q = {.type = FE_REQ_READ, .len = fe_device_capacity(dev), .buf = c->buf};
    struct fe_reply reply;
    struct fe_err err = {""};
    if (fe_device_check(dev, &err) < 0)
        return complain(c, "%s", err.text);
    int r = fe_device_submit(dev, dev->now_ns, &q, &reply);
    if (r == 0 && reply.status == FE_PROG_FAILED && is_end(dev, reply.status))
        return true; /* a dead device gives nothing back */
    if (r < 0 || reply.status != FE_OK)
        return complain(c, "reading: status %d", reply.status);
    if (dev->profile.wear.end_of_life == FE_EOL_SILENT && dev->medium->wear->n_failed)
        return true; /* silent loss: any bytes are allowed */
    for (uint64_t s = 0; s < c->n_sectors; s++)
        if (!check_sector(c, s, c->buf + s * SECTOR))
            return false;
    return true;
}

bool ft_crash_verify(struct ft_crash *c, struct fe_device *dev)
{
    struct fe_err err = {""};
    uint64_t ready;
    if (!ft_crash_read(c, dev))
        return false;
    uint64_t before = ft_crash_hash(dev);
    if (fe_device_cut_power(dev, dev->now_ns, &err) < 0 ||
        fe_device_power_on(dev, dev->now_ns, &ready, &err) < 0)
        return complain(c, "second power-on: %s", err.text);
    if (ft_crash_hash(dev) != before)
        return complain(c, "a second power-on has changed the chip");
    return fe_device_check(dev, &err) == 0 ? true : complain(c, "second power-on: %s", err.text);
}

bool ft_crash_go_on(struct ft_crash *c, struct fe_device *dev, uint64_t seed)
{
    struct ft_rand r = {.seed = seed};
    struct fe_reply reply;
    uint8_t want[2 * SECTOR], got[2 * SECTOR];
    for (int i = 0; i < 40; i++) {
        uint64_t s = ft_below(&r, c->n_sectors - 1);
        struct fe_request q = {
            .type = FE_REQ_WRITE, .offset = s * SECTOR, .len = sizeof want, .buf = want};
        fill(want, s, 2, 1000000 + (uint64_t)i);
        int e = fe_device_submit(dev, dev->now_ns, &q, &reply);
        if (e == 0 && is_end(dev, reply.status))
            continue;
        if (e < 0 || reply.status != FE_OK)
            return complain(c, "write after power-on: status %d", reply.status);
        q.type = FE_REQ_READ;
        q.buf = got;
        e = fe_device_submit(dev, dev->now_ns, &q, &reply);
        if (e == 0 && ((dev->profile.wear.end_of_life == FE_EOL_SILENT &&
                        dev->medium->wear->n_failed) || is_end(dev, reply.status)))
            continue;
        if (e < 0 || reply.status != FE_OK || memcmp(want, got, sizeof want) != 0)
            return complain(c, "sectors %" PRIu64 " on do not read as written after power-on", s);
    }
    struct fe_err err = {""};
    return fe_device_check(dev, &err) == 0 ? true : complain(c, "after power-on: %s", err.text);
}
