/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What else the controller has: its write cache, its list of trimmed pages, what the device has
 * behind it, and a few bytes of its own.
 *
 * Each cache entry is stored twice, as two halves.  A half consists of one page of bytes and
 * one record.  The half whose record has the higher generation is the valid one.
 *
 *     entry 7     half 0: generation 5, page 40, bytes ...      not valid any more
 *                 half 1: generation 6, page 40, bytes ...      valid
 *
 * Bytes are written before their record.  They go into the half that the disk does not need:
 *
 *   the valid half has changed since the last sync     into the same half
 *   it has not, so the disk may need it                into the other half
 *
 * While a sync runs that has begun since the change, the disk needs the other half, and when it has
 * ended the valid one: so another sync comes first, and then the other half takes the bytes.
 *
 * So after a kill the bytes of one entry may not fit their record: the entry that was being
 * changed in the same half.  If more entries do not fit, the image is damaged.
 *
 * The half of a page that has been written out or trimmed stays, and is marked so.  With `sync`,
 * another page comes into the cache only when all such marks are on the disk.  Until then the half
 * may be the only copy of its page, and it may hold it again after a crash of the host.  So no
 * page is ever held twice, and no entry is older than the one that has taken its place.
 *
 * The list of trims has no record of the end of a trim.  What ends a trim is a copy of the page
 * that is newer, so a list that is loaded is compared with the OOB records of all pages.
 */
#include "store/image_extra.h"

#include "base/crc32c.h"
#include "base/num.h"
#include "store/image_check.h"
#include "store/image_file.h"
#include "store/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t fe_image_entry_at(const struct fe_image *g, uint32_t entry, uint32_t half)
{
    return g->at.entries + (entry * UINT64_C(2) + half) * sizeof(struct fe_image_entry);
}

uint64_t fe_image_entry_bytes_at(const struct fe_image *g, uint32_t entry, uint32_t half)
{
    return g->at.cache + (entry * UINT64_C(2) + half) * g->what.page_bytes;
}

/* The valid half. */
static uint32_t half_of(const struct fe_image *g, uint32_t entry)
{
    const struct fe_image_entry *r = &g->entries[entry * 2];
    return r[1].generation > r[0].generation;
}

static void put_half(struct fe_image *g, uint32_t entry, uint32_t half)
{
    struct fe_image_entry *r = &g->entries[entry * 2 + half];
    r->crc = fe_image_record_crc(entry * 2 + half, r, sizeof *r);
    g->entry_epoch[entry * 2 + half] = g->epoch;
    fe_image_put(g, r, sizeof *r, fe_image_entry_at(g, entry, half), "writing the device's cache");
}

void fe_store_entry_put(struct fe_store *s, uint32_t entry, const struct fe_store_entry *v,
                       uint32_t off, uint32_t len, const void *page)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    assert(entry < g->what.n_entries && off <= s->page_bytes && len <= s->page_bytes - off);
    uint32_t half = half_of(g, entry);
    struct fe_image_entry *r = &g->entries[entry * 2 + half];
    bool same_page = r->state == FE_ENTRY_HELD && r->lpn == v->lpn;
    uint32_t changed = g->entry_epoch[entry * 2 + half];
    bool is_in_sync = changed > g->synced_epoch && changed < g->epoch;
    uint64_t generation = r->generation + 1;
    if (g->sync && (same_page ? is_in_sync : g->end_epoch > g->synced_epoch))
        fe_image_sync_now(s);
    if (!same_page || (g->sync && changed <= g->synced_epoch)) {
        half = !half;
        off = 0;
        len = s->page_bytes;
    }
    fe_image_put(g, (const uint8_t *)page + off, len, fe_image_entry_bytes_at(g, entry, half) + off,
                 "writing the device's cache");
    g->entries[entry * 2 + half] = (struct fe_image_entry){
        .generation = generation,
        .order = v->order,
        .sectors = v->sectors,
        .seq = g->seq,
        .lpn = v->lpn,
        .state = FE_ENTRY_HELD,
        .data_crc = fe_crc32c(0, page, s->page_bytes),
    };
    put_half(g, entry, half);
}

static void end_half(struct fe_image *g, uint32_t entry, uint32_t half,
                     enum fe_image_entry_state state)
{
    struct fe_image_entry *r = &g->entries[entry * 2 + half];
    r->state = state;
    r->out_seq = g->seq + 1;
    put_half(g, entry, half);
    g->end_epoch = g->epoch;
}

/* ---- records of trims ---- */

static void encode_trim(const struct fe_image *g, uint64_t lpn, uint64_t seq, uint8_t *ret)
{
    struct fe_image_trim r = {.seq = seq};
    r.crc = fe_image_record_crc(lpn, &r, sizeof r);
    memcpy(ret, &r, g->at.trim_bytes); /* version 1: only the number */
}

static uint64_t trim_at(const struct fe_image *g, uint64_t lpn)
{
    return g->at.trims + lpn * g->at.trim_bytes;
}

/* Writes the records of the trimmed pages in [from, to). */
static void put_trims(struct fe_image *g, uint64_t from, uint64_t to)
{
    uint32_t n = 0;
    for (uint64_t lpn = from; lpn < to; lpn++) {
        if (fe_bit(g->trims, lpn))
            encode_trim(g, lpn, g->seq + 1, g->records + n++ * g->at.trim_bytes);
        bool ends = lpn + 1 == to || !fe_bit(g->trims, lpn + 1) || n == FE_IMAGE_TRIMS_MAX;
        if (n == 0 || !ends)
            continue;
        fe_image_put(g, g->records, n * g->at.trim_bytes, trim_at(g, lpn + 1 - n),
                     "writing the list of trimmed pages");
        n = 0;
    }
}

/* ---- the end of an entry ---- */

void fe_store_entry_end(struct fe_store *s, uint32_t entry, bool trimmed)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    uint32_t half = half_of(g, entry);
    struct fe_image_entry *r = &g->entries[entry * 2 + half];
    assert(entry < g->what.n_entries && r->state == FE_ENTRY_HELD && r->lpn < s->n_pages);
    if (trimmed) { /* first, so that a kill leaves the page here or trimmed, and no older copy */
        fe_bit_put(g->trims, r->lpn, true);
        put_trims(g, r->lpn, r->lpn + UINT64_C(1));
    }
    end_half(g, entry, half, FE_ENTRY_ENDED);
}

void fe_store_entry_lose(struct fe_store *s, uint32_t entry)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    uint32_t half = half_of(g, entry), state = g->entries[entry * 2 + half].state;
    if (state == FE_ENTRY_HELD || state == FE_ENTRY_ENDED)
        end_half(g, entry, half, FE_ENTRY_DROPPED);
}

/* Whether the bytes can be what was written, see above.  The half that a kill has left gets a
 * record that fits its bytes, so that it does not count as damage after the next kill. */
static bool can_be(struct fe_image *g, uint32_t entry, uint32_t half, const void *data)
{
    struct fe_image_entry *r = &g->entries[entry * 2 + half];
    uint32_t crc = fe_crc32c(0, data, g->what.page_bytes);
    if (crc == r->data_crc)
        return true;
    if (g->was_clean || g->n_torn_entries++ > 0)
        return false;
    r->data_crc = crc;
    put_half(g, entry, half);
    return true;
}

int fe_store_entry_load(struct fe_store *s, uint32_t entry, struct fe_store_entry *ret, void *data,
                       struct fe_err *err)
{
    struct fe_image *g = s->img;
    struct fe_image_entry *r = &g->entries[entry * 2];
    int e = fe_image_get(g, r, 2 * sizeof *r, fe_image_entry_at(g, entry, 0), "the device's cache",
                         err);

    ret->lpn = FE_LPN_NONE;
    for (uint32_t i = 0; e == 0 && i < 2; i++) {
        if (fe_bytes_are_zeros(&r[i], sizeof r[i]))
            continue;
        if (r[i].crc != fe_image_record_crc(entry * 2 + i, &r[i], sizeof r[i]))
            return fe_err_set(err, EIO, "%.200s: the record of cache page %u is damaged", g->path,
                              entry);
        e = fe_image_check_entry(g, entry, &r[i], err);
    }
    if (e < 0)
        return e;
    uint32_t half = half_of(g, entry);
    if (r[half].state == FE_ENTRY_ENDED && !g->read_only)
        end_half(g, entry, half, FE_ENTRY_DROPPED); /* the sync of the opening has its page */
    if (r[half].state != FE_ENTRY_HELD)
        return 0;
    if (data)
        e = fe_image_get(g, data, s->page_bytes, fe_image_entry_bytes_at(g, entry, half),
                         "the device's cache", err);
    if (e < 0)
        return e;
    if (data && !can_be(g, entry, half, data))
        return fe_err_set(err, EIO, "%.200s: the bytes of cache page %u are not those written",
                          g->path, entry);
    r += half;
    *ret = (struct fe_store_entry){.order = r->order, .sectors = r->sectors, .lpn = r->lpn};
    return 0;
}

/* ---- trims ---- */

/* False if the record is damaged. */
static bool decode_trim(const struct fe_image *g, uint64_t lpn, const uint8_t *record,
                        uint64_t *ret_seq)
{
    struct fe_image_trim r = {0};
    memcpy(&r, record, g->at.trim_bytes);
    *ret_seq = r.seq;
    return g->at.trim_bytes < sizeof r || fe_bytes_are_zeros(&r, sizeof r) ||
           r.crc == fe_image_record_crc(lpn, &r, sizeof r);
}

/* From the first page that was not trimmed before to the last one.  A page in between that has
 * been trimmed before has no newer copy, so its record may be written again. */
void fe_store_set_trims(struct fe_store *s, const uint64_t *words, uint64_t first, uint64_t n)
{
    struct fe_image *g = s->img;
    uint64_t from = 0, to = 0;
    if (!g)
        return;
    assert(first + n <= fe_div_up(s->n_pages, 64));
    for (uint64_t w = first; w < first + n; w++, words++) {
        uint64_t fresh = *words & ~g->trims[w];
        g->trims[w] = *words;
        if (!fresh)
            continue;
        if (to == 0)
            from = w * 64 + (uint32_t)__builtin_ctzll(fresh);
        to = w * 64 + 64 - (uint32_t)__builtin_clzll(fresh);
    }
    put_trims(g, from, to);
}

void fe_store_forget_trims(struct fe_store *s, uint64_t first, uint64_t n)
{
    struct fe_image *g = s->img;
    for (uint64_t at = first, len; g && at < first + n; at += len) {
        len = fe_min_u64(FE_IMAGE_TRIMS_MAX, first + n - at);
        size_t bytes = len * g->at.trim_bytes;
        if (fe_io_read(g->io, g->fd, g->records, bytes, (off_t)trim_at(g, at)) < 0 ||
            !fe_bytes_are_zeros(g->records, bytes)) { /* holes stay */
            memset(g->records, 0, bytes);
            fe_image_put(g, g->records, bytes, trim_at(g, at),
                         "writing the list of trimmed pages");
        }
        for (uint64_t i = at; i < at + len; i++)
            fe_bit_put(g->trims, i, false);
    }
}

int fe_image_read_trims(struct fe_store *s, uint64_t *seqs, struct fe_err *err)
{
    struct fe_image *g = s->img;
    for (uint64_t at = 0, len; at < s->n_pages; at += len) {
        len = fe_min_u64(FE_IMAGE_TRIMS_MAX, s->n_pages - at);
        int e = fe_image_get(g, g->records, len * g->at.trim_bytes, trim_at(g, at),
                             "the list of trimmed pages", err);
        if (e < 0)
            return e;
        for (uint64_t i = 0; i < len; i++)
            if (!decode_trim(g, at + i, g->records + i * g->at.trim_bytes, &seqs[at + i]))
                return fe_err_set(err, EIO,
                                  "%.200s: the record of the trim of page %llu is damaged",
                                  g->path, (unsigned long long)(at + i));
        for (uint64_t i = 0; i < len; i++)
            if ((e = fe_image_check_trim(g, at + i, seqs[at + i], err)) < 0)
                return e;
    }
    return 0;
}

/* A page with a newer copy is not trimmed any more. */
static int drop_rewritten(struct fe_store *s, uint64_t *seqs, struct fe_err *err)
{
    struct fe_image *g = s->img;
    struct fe_image_oob r[64];
    int e = 0;
    for (uint64_t first = 0; e == 0 && first < s->n_pages; first += 64) {
        uint64_t n = fe_min_u64(64, s->n_pages - first);
        e = fe_image_get(g, r, n * sizeof r[0], g->at.oob + first * sizeof r[0],
                         "the OOB of its pages", err);
        for (uint64_t i = 0; e == 0 && i < n; i++)
            if (r[i].state == FE_STORE_PROGRAMMED && r[i].lpn < s->n_pages &&
                r[i].cycle == g->blocks[(first + i) / s->pages_per_block].cycle &&
                r[i].seq >= seqs[r[i].lpn])
                seqs[r[i].lpn] = 0;
    }
    return e;
}

int fe_store_load_trims(struct fe_store *s, uint64_t *words, struct fe_err *err)
{
    struct fe_image *g = s->img;
    uint64_t *seqs = malloc(s->n_pages * 8);
    if (!seqs)
        return fe_err_nomem(err, "list of trimmed pages", s->n_pages * 8);
    int e = fe_image_read_trims(s, seqs, err);
    for (uint64_t i = 0; e == 0 && i < s->n_pages; i++)
        g->seq = fe_max_u64(g->seq, seqs[i]); /* a crash of the host may have lost the programs */
    if (e == 0 && !fe_bytes_are_zeros(seqs, s->n_pages * 8))
        e = drop_rewritten(s, seqs, err);
    for (uint64_t i = 0; e == 0 && i < s->n_pages; i++)
        fe_bit_put(g->trims, i, seqs[i] != 0);
    free(seqs);
    if (e < 0)
        return e;
    memcpy(words, g->trims, fe_div_up(s->n_pages, 64) * 8);
    return 0;
}

/* ---- control ---- */

void fe_store_set_control(struct fe_store *s, const void *data, uint32_t len)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    assert(len <= FE_STORE_CONTROL_BYTES);
    memset(g->status.control, 0, sizeof g->status.control);
    if (len)
        memcpy(g->status.control, data, len);
    g->status.control_bytes = len;
    fe_image_write_status(g);
}

uint32_t fe_store_get_control(const struct fe_store *s, void *data)
{
    if (!s->img)
        return 0;
    memcpy(data, s->img->status.control, s->img->status.control_bytes);
    return s->img->status.control_bytes;
}

/* ---- lifetime ---- */

void fe_store_set_lifetime(struct fe_store *s, const uint64_t numbers[FE_IMAGE_LIFETIME_NUMBERS])
{
    struct fe_image *g = s->img;
    if (!g || memcmp(g->lifetime.numbers, numbers, sizeof g->lifetime.numbers) == 0)
        return;
    struct fe_image_lifetime *r = &g->lifetime;
    uint32_t place = ++r->generation % 2;
    memcpy(r->numbers, numbers, sizeof r->numbers);
    r->crc = fe_image_record_crc(place, r, sizeof *r);
    fe_image_put(g, r, sizeof *r, FE_IMAGE_LIFETIME(place), "writing the device's clock");
}

void fe_store_get_lifetime(const struct fe_store *s, uint64_t ret[FE_IMAGE_LIFETIME_NUMBERS])
{
    static const struct fe_image_lifetime none;
    const struct fe_image_lifetime *r = s->img ? &s->img->lifetime : &none;
    memcpy(ret, r->numbers, sizeof r->numbers);
}

int fe_image_load_lifetime(struct fe_image *g, bool has_crashed, struct fe_err *err)
{
    bool is_damaged = false;
    for (uint32_t place = 0; place < 2; place++) {
        struct fe_image_lifetime r;
        int e = fe_image_get(g, &r, sizeof r, FE_IMAGE_LIFETIME(place), "the device's clock", err);
        if (e < 0)
            return e;
        if (fe_bytes_are_zeros(&r, sizeof r))
            continue;
        if (r.crc != fe_image_record_crc(place, &r, sizeof r)) {
            is_damaged = true;
            continue;
        }
        e = fe_image_check_lifetime(g, place, &r, err);
        if (e < 0)
            return e;
        if (r.generation > g->lifetime.generation)
            g->lifetime = r;
    }
    if (is_damaged && g->lifetime.generation == 0)
        return fe_err_set(err, EIO, "%.200s: the record of the device's clock and counters is "
                          "damaged (checksum)", g->path);
    g->is_status_damaged |= is_damaged && !has_crashed;
    return 0;
}
