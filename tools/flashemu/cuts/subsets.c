/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a host must expect of any device that keeps its promise, and of no device in particular: of all
 * that was not flushed, any part may have arrived.
 *
 *     write a    flush    write b    write c    write d
 *                                           x             a, and any of b, c and d
 *
 * States are drawn, by the seed, the request and the number of the draw.  Even draws take whole writes,
 * each subset of up to 16 of them before one comes again; odd ones let sectors differ, each by itself, or
 * all of a page or of an erase block alike, and these may be torn, garbage or unreadable
 * (faults.cut_sector).
 *
 * A write is durable from the answer to a flush that came behind its own answer, or by FUA from its own.
 * For each sector `base` has the last write that is durable and that nothing in front of it can change any
 * more; what comes behind it is pending.
 */
#include "cuts/walk_impl.h"

#include "base/num.h"
#include "base/rng.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

enum outcome { OLD, NEW, TORN, GARBAGE, UNREADABLE };
enum { MOST_COUNTED = 16, ODD = 0x9e5 };

struct piece {
    uint32_t version; /* number of the record + 1 */
    uint64_t offset, len, done_ns;
    bool fua, durable;
};

struct answer {
    uint64_t arrival_ns, done_ns;
};

/* What a sector has in a draw; `below` is what was there before, of one that is torn. */
struct content {
    uint32_t version, below; /* 0: zeros */
    uint8_t outcome;         /* NEW, TORN, GARBAGE or UNREADABLE */
};

struct cuts_subsets {
    uint32_t sector_size, page_bytes;
    uint64_t block_bytes, n_sectors, seed;
    uint32_t *base;          /* of each sector, as `version` */
    struct content *drawn;   /* of each sector that something pending covers */
    uint32_t *draw_of;       /* the draw for which `drawn` holds */
    uint32_t *seen;          /* the draw in which the sector was compared */
    uint32_t draw;
    struct piece *pending;
    size_t n_pending, room_pending;
    struct answer *flushes;  /* that were not answered */
    size_t n_flushes, room_flushes;
    struct { uint32_t version; uint8_t *bytes; } cache[2];
};

bool cuts_is_subset(const struct cuts_id *id)
{
    return id->op == CUTS_ANY || id->op == CUTS_LAST;
}

int cuts_subsets_init(struct cuts_walk *w, struct fe_err *err)
{
    struct cuts_subsets *s = calloc(1, sizeof *s);
    const struct fe_profile *p = fe_device_profile(w->dev);
    w->any = s;
    if (!s)
        return fe_err_nomem(err, "states of any device", sizeof *s);
    s->sector_size = w->view.sector_size;
    s->n_sectors = w->view.n_sectors;
    s->page_bytes = fe_device_page_bytes(w->dev);
    s->block_bytes = (uint64_t)s->page_bytes * fe_max_u64(p->nand.pages_per_block, 1);
    s->seed = w->seed;
    s->base = calloc((size_t)s->n_sectors, sizeof *s->base);
    s->drawn = calloc((size_t)s->n_sectors, sizeof *s->drawn);
    s->draw_of = calloc((size_t)s->n_sectors, sizeof *s->draw_of);
    s->seen = calloc((size_t)s->n_sectors, sizeof *s->seen);
    for (int i = 0; i < 2; i++)
        s->cache[i].bytes = malloc((size_t)w->work->longest + 1);
    if (!s->base || !s->drawn || !s->draw_of || !s->seen || !s->cache[0].bytes || !s->cache[1].bytes)
        return fe_err_nomem(err, "states of any device", s->n_sectors * 24);
    return 0;
}

void cuts_subsets_fini(struct cuts_walk *w)
{
    struct cuts_subsets *s = w->any;
    w->any = NULL;
    if (!s)
        return;
    free(s->base);
    free(s->drawn);
    free(s->draw_of);
    free(s->seen);
    free(s->pending);
    free(s->flushes);
    free(s->cache[0].bytes);
    free(s->cache[1].bytes);
    free(s);
}

int cuts_subsets_add(struct cuts_walk *w, const struct fe_trace_rec *rec, uint64_t arrival_ns,
                     uint64_t done_ns, struct fe_err *err)
{
    struct cuts_subsets *s = w->any;
    if (rec->type == FE_REQ_FLUSH) {
        void *p = fe_table_grow(s->flushes, s->n_flushes + 1, &s->room_flushes, sizeof *s->flushes);
        if (!p)
            return fe_err_nomem(err, "flushes", s->n_flushes);
        s->flushes = p;
        s->flushes[s->n_flushes++] = (struct answer){arrival_ns, done_ns};
    } else if (rec->type == FE_REQ_WRITE || rec->type == FE_REQ_TRIM) {
        void *p = fe_table_grow(s->pending, s->n_pending + 1, &s->room_pending, sizeof *s->pending);
        if (!p)
            return fe_err_nomem(err, "writes that are not flushed", s->n_pending);
        s->pending = p;
        bool zeros = rec->type == FE_REQ_TRIM;
        s->pending[s->n_pending++] = (struct piece){
            .version = zeros ? 0 : (uint32_t)(rec - w->work->recs) + 1, .offset = rec->offset,
            .len = rec->len, .done_ns = done_ns, .fua = rec->fua};
    }
    return 0;
}

/* Takes what has become durable by then. */
static void settle(struct cuts_subsets *s, uint64_t at_ns)
{
    size_t kept = 0, first = 0;
    for (size_t i = 0; i < s->n_pending; i++)
        s->pending[i].durable |= s->pending[i].fua && s->pending[i].done_ns <= at_ns;
    for (size_t f = 0; f < s->n_flushes; f++) {
        const struct answer flush = s->flushes[f];
        if (flush.done_ns > at_ns)
            s->flushes[kept++] = flush;
        for (size_t i = 0; flush.done_ns <= at_ns && i < s->n_pending; i++)
            s->pending[i].durable |= s->pending[i].done_ns <= flush.arrival_ns;
    }
    s->n_flushes = kept;
    for (; first < s->n_pending && s->pending[first].durable; first++) {
        const struct piece *p = &s->pending[first];
        for (uint64_t at = 0; at < p->len; at += s->sector_size)
            s->base[(p->offset + at) / s->sector_size] = p->version;
    }
    s->n_pending -= first;
    if (first > 0 && s->n_pending > 0)
        memmove(s->pending, s->pending + first, s->n_pending * sizeof *s->pending);
}

/* --- a draw --- */

struct draw {
    uint64_t seed;     /* of this instant and this draw */
    uint64_t mask;     /* of whole writes: those that have arrived, if there are few */
    uint64_t granule;  /* bytes whose sectors have the same outcome; 0: whole writes */
    bool few, alike;   /* alike: whatever write they belong to */
    uint32_t outcomes; /* of granules: so many are possible */
    uint8_t outcome[5];
};

static struct draw begin_draw(const struct cuts_walk *w, uint32_t request, uint32_t op, uint32_t k)
{
    const struct cuts_subsets *s = w->any;
    struct draw d = {.seed = fe_rng(s->seed, FE_RNG_TEST, (uint64_t)request << 1 | (op == CUTS_LAST), k),
                     .outcomes = 2, .outcome = {OLD, NEW}};
    uint32_t sector = fe_device_profile(w->dev)->power.sector, open = 0;
    for (size_t i = 0; i < s->n_pending; i++)
        open += !s->pending[i].durable;
    for (uint32_t o = FE_CUT_SECTOR_TORN; o <= FE_CUT_SECTOR_UNREADABLE; o++)
        if (sector == o || sector == FE_CUT_SECTOR_ANY)
            d.outcome[d.outcomes++] = (uint8_t)(TORN + (o - FE_CUT_SECTOR_TORN));
    d.few = open <= MOST_COUNTED;
    if (k % 2 == 0 && (!d.few || k / 2 < UINT32_C(1) << open)) {
        d.mask = d.few ? (uint64_t)(k / 2) * ODD & ((UINT64_C(1) << open) - 1) : 0;
        return d;
    }
    uint64_t way = fe_rng_below(fe_rng(d.seed, FE_RNG_TEST, 1, 1), 3);
    d.granule = way == 0 ? s->sector_size : way == 1 ? s->page_bytes : s->block_bytes;
    d.alike = way == 2;
    return d;
}

static enum outcome outcome_of(const struct draw *d, size_t piece, uint32_t number, uint64_t offset)
{
    if (!d->granule)
        return (d->few ? d->mask >> number & 1 : fe_rng(d->seed, FE_RNG_TEST, 2, number) & 1) ? NEW : OLD;
    uint64_t x = fe_rng(d->seed, FE_RNG_TEST, d->alike ? 3 : 4 + piece, offset / d->granule);
    return d->outcome[fe_rng_below(x, d->outcomes)];
}

static void apply(struct cuts_subsets *s, const struct piece *p, uint64_t offset, enum outcome o)
{
    uint64_t sector = offset / s->sector_size;
    struct content *c = &s->drawn[sector];
    if (s->draw_of[sector] != s->draw)
        *c = (struct content){.version = s->base[sector], .outcome = NEW};
    s->draw_of[sector] = s->draw;
    if (o != OLD)
        *c = (struct content){.version = p->version, .below = c->version, .outcome = (uint8_t)o};
}

static void carry_out(struct cuts_subsets *s, const struct draw *d)
{
    uint32_t number = 0;
    s->draw++;
    for (size_t i = 0; i < s->n_pending; i++) {
        const struct piece *p = &s->pending[i];
        for (uint64_t at = 0; at < p->len; at += s->sector_size)
            apply(s, p, p->offset + at,
                  p->durable ? NEW : outcome_of(d, i, number, p->offset + at));
        number += !p->durable;
    }
}

/* --- bytes --- */

static int get(const struct cuts_walk *w, int slot, uint32_t version, uint64_t sector, uint8_t *buf,
               struct fe_err *err)
{
    struct cuts_subsets *s = w->any;
    int r = 0;
    memset(buf, 0, s->sector_size);
    if (!version)
        return 0;
    const struct fe_trace_rec *rec = &w->work->recs[version - 1];
    if (s->cache[slot].version != version)
        r = fe_data_get(w->work->data, rec->data, rec->offset, rec->len, s->cache[slot].bytes, err);
    s->cache[slot].version = r == 0 ? version : 0;
    if (r == 0)
        memcpy(buf, s->cache[slot].bytes + (sector * s->sector_size - rec->offset), s->sector_size);
    return r;
}

static int read_sector(const struct cuts_walk *w, uint64_t sector, const struct content *c,
                       uint8_t *buf, struct fe_err *err)
{
    const struct cuts_subsets *s = w->any;
    uint8_t below[65536];
    int r = get(w, 0, c->version, sector, buf, err);
    if (r == 0 && c->outcome == TORN && s->sector_size <= sizeof below) {
        uint32_t half = s->sector_size / 2;
        r = get(w, 1, c->below, sector, below, err);
        memcpy(buf + half, below + half, half);
    }
    for (uint32_t i = 0; c->outcome == GARBAGE && i < s->sector_size; i++)
        buf[i] = (uint8_t)fe_rng(s->seed, FE_RNG_TEST, sector, i);
    return r;
}

int cuts_walk_sector(const struct cuts_walk *w, uint64_t sector, uint8_t *buf, bool *ret_reads,
                     struct fe_err *err)
{
    const struct cuts_subsets *s = w->any;
    struct content c = {.version = s->base[sector], .outcome = NEW};
    if (s->draw_of[sector] == s->draw)
        c = s->drawn[sector];
    *ret_reads = c.outcome != UNREADABLE;
    return read_sector(w, sector, &c, buf, err);
}

static int compare(const struct cuts_walk *w, struct cuts_difference *d, struct fe_err *err)
{
    struct cuts_subsets *s = w->any;
    uint8_t *buf = malloc(s->sector_size);
    int r = buf ? 0 : fe_err_nomem(err, "a sector", s->sector_size);
    d->sum = w->view.sum;
    for (size_t i = 0; i < s->n_pending && r == 0; i++) {
        for (uint64_t at = 0; at < s->pending[i].len && r == 0; at += s->sector_size) {
            uint64_t sector = (s->pending[i].offset + at) / s->sector_size;
            if (s->seen[sector] == s->draw)
                continue; /* another piece has it, too */
            s->seen[sector] = s->draw;
            r = read_sector(w, sector, &s->drawn[sector], buf, err);
            if (r == 0)
                cuts_difference_note(&w->view, d, sector * s->sector_size, buf,
                                     s->drawn[sector].outcome != UNREADABLE);
        }
    }
    free(buf);
    return r;
}

int cuts_subsets_hash(const struct cuts_walk *w, struct fe_digest *ret, struct fe_err *err)
{
    struct cuts_difference d = {.n = 0};
    int r = compare(w, &d, err);
    *ret = d.sum;
    free(d.ranges);
    free(d.bytes);
    return r;
}

/* --- an instant --- */

static int tell_draw(struct cuts_walk *w, struct cuts_found *f, struct fe_err *err)
{
    struct cuts_difference d = {.n = 0};
    int r = compare(w, &d, err);
    f->hash = d.sum;
    if (r == 0) {
        f->kind = w->was_told(w->ctx, d.sum, f->marks, true) ? CUTS_KNOWN : CUTS_STATE;
        f->n_ranges = f->kind == CUTS_STATE ? (uint32_t)d.n : 0;
        cuts_tell(w, f, f->n_ranges ? &d : NULL);
    }
    free(d.ranges);
    free(d.bytes);
    return r;
}

static bool is_open(const struct cuts_subsets *s)
{
    for (size_t i = 0; i < s->n_pending; i++)
        if (!s->pending[i].durable)
            return true;
    return false;
}

int cuts_subsets_try(struct cuts_walk *w, uint32_t request, uint32_t op, uint64_t at_ns, bool mine,
                     struct fe_err *err)
{
    struct cuts_found f = {.id = {.request = request, .op = op, .op2 = CUTS_NO_SECOND},
                           .at_ns = at_ns, .marks = cuts_marks_reached(w, at_ns)};
    int r = 0;
    settle(w->any, at_ns);
    if (w->only) {
        w->stopped = w->only->request == request && w->only->op == op;
        if (w->stopped) {
            const struct draw d = begin_draw(w, request, op, w->only->outcome);
            f.id = *w->only;
            carry_out(w->any, &d);
            w->found = f;
        }
        return 0;
    }
    if (f.marks < w->behind || !is_open(w->any))
        return 0;
    uint64_t n = w->n_open++, places = w->places_of_subsets;
    if (w->counts_only || !mine)
        return 0;
    uint64_t draws = fe_muldiv(n + 1, w->subsets, places) - fe_muldiv(n, w->subsets, places);
    for (uint32_t k = 0; k < draws && r == 0; k++) {
        const struct draw d = begin_draw(w, request, op, k);
        f.id.outcome = k;
        carry_out(w->any, &d);
        r = tell_draw(w, &f, err);
    }
    return r;
}
