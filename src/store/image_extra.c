/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What else the controller has: its write cache, its list of trimmed pages, and a few
 * bytes of its own.
 *
 * A slot of the cache is its bytes and a record.  New bytes of the same page go over old
 * ones: until the record says so, sectors that it does not name yet do not count.  When its
 * page has been programmed the record says that, and nothing else changes; with `sync`
 * it takes another page only when that program is on the disk, because until then its bytes
 * may be the only ones.
 */
#include "store/internal.h"

#include "base/num.h"

#include <errno.h>
#include <string.h>

static uint64_t slot_at(const struct fe_image *g, uint32_t slot)
{
    return g->at.slots + slot * sizeof(struct fe_image_slot);
}

static uint64_t slot_bytes_at(const struct fe_image *g, uint32_t slot)
{
    return g->at.cache + (uint64_t)slot * g->what.page_bytes;
}

void fe_store_slot_write(struct fe_store *s, uint32_t slot, uint32_t off, uint32_t len,
                         const void *data)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    assert(slot < g->what.n_slots && off <= s->page_bytes && len <= s->page_bytes - off);
    if (g->sync && g->slot_epoch[slot] > g->synced_epoch)
        fe_image_sync_now(s);
    if (!data) {
        memset(g->page, 0, len);
        data = g->page;
    }
    fe_image_put(g, data, len, slot_bytes_at(g, slot) + off, "writing the device's cache");
}

static void put_slot(struct fe_image *g, uint32_t slot)
{
    struct fe_image_slot *r = &g->slots[slot];
    if (r->state)
        r->crc = fe_image_record_crc(slot, r, sizeof *r);
    if (r->state != FE_SLOT_HELD)
        g->slot_epoch[slot] = g->epoch;
    fe_image_put(g, r, sizeof *r, slot_at(g, slot), "writing the device's cache");
}

void fe_store_slot_set(struct fe_store *s, uint32_t slot, const struct fe_store_slot *v)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    assert(slot < g->what.n_slots);
    g->slots[slot] = (struct fe_image_slot){0};
    if (v)
        g->slots[slot] = (struct fe_image_slot){.order = v->order, .sectors = v->sectors,
                                                .seq = g->seq, .lpn = v->lpn,
                                                .state = FE_SLOT_HELD};
    put_slot(g, slot);
}

void fe_store_slot_written_out(struct fe_store *s, uint32_t slot)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    assert(slot < g->what.n_slots && g->slots[slot].state == FE_SLOT_HELD);
    g->slots[slot].state = FE_SLOT_WRITTEN_OUT;
    put_slot(g, slot);
}

int fe_store_slot_load(struct fe_store *s, uint32_t slot, struct fe_store_slot *ret, void *data,
                       struct fe_err *err)
{
    struct fe_image *g = s->img;
    struct fe_image_slot *r = &g->slots[slot];
    int e = fe_io_read(g->io, g->fd, r, sizeof *r, (off_t)slot_at(g, slot));

    ret->lpn = FE_LPN_NONE;
    if (e == 0 && fe_image_is_zeros(r, sizeof *r))
        return 0;
    if (e == 0 && r->crc != fe_image_record_crc(slot, r, sizeof *r))
        return fe_err_set(err, EIO, "%.200s: the record of cache page %u is damaged", g->path,
                          slot);
    if (e == 0 && r->state == FE_SLOT_WRITTEN_OUT)
        return 0;
    if (e == 0 && data)
        e = fe_io_read(g->io, g->fd, data, s->page_bytes, (off_t)slot_bytes_at(g, slot));
    if (e < 0)
        return fe_err_set(err, -e, "%.200s: reading the device's cache: %s", g->path, strerror(-e));
    *ret = (struct fe_store_slot){.order = r->order, .sectors = r->sectors, .lpn = r->lpn};
    return 0;
}

void fe_store_set_trims(struct fe_store *s, const uint64_t *words, uint64_t first, uint64_t n)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    assert(first + n <= fe_div_up(s->n_pages, 64));
    fe_image_put(g, words, n * 8, g->at.trims + first * 8, "writing the list of trimmed pages");
}

int fe_store_load_trims(struct fe_store *s, uint64_t *words, struct fe_err *err)
{
    struct fe_image *g = s->img;
    int e = fe_io_read(g->io, g->fd, words, fe_div_up(s->n_pages, 64) * 8, (off_t)g->at.trims);
    return e < 0 ? fe_err_set(err, -e, "%.200s: reading the list of trimmed pages: %s", g->path,
                              strerror(-e))
                 : 0;
}

void fe_store_set_control(struct fe_store *s, const void *data, uint32_t len)
{
    struct fe_image *g = s->img;
    if (!g)
        return;
    assert(len <= FE_STORE_CONTROL_BYTES);
    memset(g->status.control, 0, sizeof g->status.control);
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
