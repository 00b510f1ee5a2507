/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lies that tell on a request are a set of bits, by their index in the profile's list, which is
 * made when the request arrives.  Everything else asks that set.
 *
 * Not modelled: flipped bits in an older copy; copies that are older than the one before.
 */
#include "device/internal.h"

#include "base/rng.h"

#include <string.h>

/* Draws of FE_RNG_LIES: by the number of a request, and by sector. */
#define DRAW_REQUEST UINT64_C(0)
#define DRAW_SECTOR  (UINT64_C(1) << 32)
#define DRAW_BYTES   (UINT64_C(2) << 32)

static uint64_t draw(const struct fe_device *dev, uint64_t a, uint64_t b)
{
    return fe_rng(dev->profile.ftl.seed, FE_RNG_LIES, a, b);
}

static bool is_write(enum fe_lie_kind kind)
{
    return kind == FE_LIE_LOST_WRITE || kind == FE_LIE_MISDIRECTED_WRITE;
}

static bool is_read(enum fe_lie_kind kind)
{
    return kind == FE_LIE_MISDIRECTED_READ || kind == FE_LIE_STALE_READ ||
           kind == FE_LIE_UNSTABLE_READ || kind == FE_LIE_STUCK_READ ||
           kind == FE_LIE_MIXED_QUEUE;
}

const struct fe_lie *fe_lies_active(const struct fe_device *dev, enum fe_lie_kind kind)
{
    for (uint32_t i = 0; i < dev->profile.lies.n; i++)
        if (dev->lies.active >> i & 1 && dev->profile.lies.lies[i].kind == kind)
            return &dev->profile.lies.lies[i];
    return NULL;
}

/* ---- the list ---- */

int fe_lies_set(struct fe_device *dev, struct fe_err *err)
{
    struct fe_lies *l = &dev->lies;
    struct fe_lies_params *p = &dev->profile.lies;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->lies[i].kind == FE_LIE_STALE_READ)
            bytes = fe_max_u64(bytes, p->lies[i].arg);
    fe_ring_fini(&l->old);
    int r = bytes ? fe_ring_init(&l->old, bytes, dev->profile.device.sector_size, l->payload,
                                 "older copies of faults.lie", err)
                  : 0;
    if (r < 0)
        p->n = 0;
    return r;
}

int fe_lies_init(struct fe_device *dev, bool payload, struct fe_err *err)
{
    dev->lies = (struct fe_lies){.payload = payload, .flush_ns = FE_NEVER};
    return fe_lies_set(dev, err);
}

void fe_lies_fini(struct fe_device *dev)
{
    fe_ring_fini(&dev->lies.old);
}

void fe_lies_forget(struct fe_device *dev)
{
    dev->lies.flush_ns = FE_NEVER;
    dev->lies.read.until_ns = 0;
    fe_ring_forget(&dev->lies.old, 0, UINT64_MAX);
}

/* ---- which lies tell on a request ---- */

static bool has_begun(const struct fe_device *dev, const struct fe_lie *lie, uint64_t arrival_ns)
{
    return arrival_ns >= lie->begin_ns &&
           fe_medium_lifetime(dev->medium).n_writes >= lie->begin_writes;
}

static bool overlaps(const struct fe_lie *lie, const struct fe_request *req)
{
    return req->type == FE_REQ_FLUSH ||
           (req->offset < lie->to && req->offset + req->len > lie->from);
}

/* Whether any sector of a read, within the lie's range, is kept in an older copy. */
static bool has_old(const struct fe_device *dev, const struct fe_lie *lie,
                    const struct fe_request *req)
{
    uint32_t size = dev->profile.device.sector_size;
    uint64_t end = fe_min_u64(req->offset + req->len, lie->to);
    for (uint64_t at = fe_max_u64(req->offset, lie->from); at < end; at += size)
        if (fe_ring_find(&dev->lies.old, at / size) != FE_NO_PLACE)
            return true;
    return false;
}

static bool wants_flush(const struct fe_device *dev, const struct fe_request *req)
{
    return (req->type == FE_REQ_FLUSH || req->fua) && fe_device_is_volatile(dev);
}

/* Whether this kind of lie has anything to tell on the request, which is in its range and time. */
static bool concerns(const struct fe_device *dev, const struct fe_lie *lie,
                     const struct fe_request *req, uint64_t arrival_ns)
{
    enum fe_lie_kind kind = (enum fe_lie_kind)lie->kind;
    if (is_read(kind) && req->type != FE_REQ_READ)
        return false;
    switch (kind) {
    case FE_LIE_FLUSH_IGNORED:
    case FE_LIE_FLUSH_LATE:
        return wants_flush(dev, req);
    case FE_LIE_LOST_WRITE:
        return (req->type == FE_REQ_WRITE || req->type == FE_REQ_TRIM) &&
               fe_rng_below(draw(dev, dev->lies.n_requests, DRAW_REQUEST), 1000000) < lie->arg;
    case FE_LIE_MISDIRECTED_WRITE:
        return req->type == FE_REQ_WRITE;
    case FE_LIE_STALE_READ:
        return has_old(dev, lie, req);
    case FE_LIE_CAPACITY:
        return req->type != FE_REQ_FLUSH && req->offset + req->len > lie->arg;
    case FE_LIE_WIDE_TRIM:
        return req->type == FE_REQ_TRIM;
    case FE_LIE_MIXED_QUEUE:
        return fe_link_depth(&dev->profile.link) > 1 && arrival_ns < dev->lies.read.until_ns &&
               req->offset != dev->lies.read.offset;
    default:
        return true;
    }
}

/* ---- older copies ---- */

/* What a read of one sector would give, without its costs. */
static void look(const struct fe_device *dev, uint64_t at, uint8_t *ret)
{
    uint32_t size = dev->profile.device.sector_size;
    uint64_t len = size, real = fe_forged_place(&dev->forged, at, &len);
    memset(ret, 0, size);
    if (real == FE_NOWHERE) {
        fe_forged_look(&dev->forged, at, size, ret);
        return;
    }
    fe_lpn lpn = (fe_lpn)(real / dev->page_bytes);
    uint32_t off = (uint32_t)(real % dev->page_bytes);
    fe_ppn ppn = dev->ftl->ops->locate(dev->ftl, lpn);
    if (ppn != FE_PPN_NONE)
        (void)fe_store_read(dev->store, ppn, off, size, ret); /* lost bytes are zeros here */
    if (dev->cache)
        fe_cache_look(dev->cache, lpn, off, size, ret);
}

/* The sectors of a write that lie in the range of a stale read keep the copy that they have now. */
static void keep_old(struct fe_device *dev, const struct fe_request *req, uint64_t arrival_ns)
{
    uint32_t size = dev->profile.device.sector_size;
    const struct fe_lies_params *p = &dev->profile.lies;
    uint8_t sector[4096];
    for (uint32_t i = 0; i < p->n; i++) {
        const struct fe_lie *lie = &p->lies[i];
        if (lie->kind != FE_LIE_STALE_READ || !has_begun(dev, lie, arrival_ns))
            continue;
        uint64_t from = fe_max_u64(req->offset, lie->from);
        uint64_t to = fe_min_u64(req->offset + req->len, lie->to);
        for (uint64_t at = from; at < to; at += size) {
            if (dev->lies.payload)
                look(dev, at, sector);
            fe_ring_put(&dev->lies.old, at / size, sector);
        }
    }
}

/* ---- requests ---- */

/* TRIM of whole pieces, as far as there are sectors. */
static void widen(const struct fe_device *dev, const struct fe_lie *lie, struct fe_request *req)
{
    uint64_t end = req->offset + req->len;
    req->offset -= req->offset % lie->arg;
    end = fe_min_u64(fe_div_up(end, lie->arg) * lie->arg, fe_device_capacity(dev));
    req->len = end - req->offset;
}

void fe_lies_begin(struct fe_device *dev, struct fe_request *req, uint64_t arrival_ns)
{
    struct fe_lies *l = &dev->lies;
    const struct fe_lies_params *p = &dev->profile.lies;
    l->active = 0;
    if (p->n == 0)
        return;
    l->n_requests++;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct fe_lie *lie = &p->lies[i];
        if (!has_begun(dev, lie, arrival_ns) || !overlaps(lie, req) ||
            !concerns(dev, lie, req, arrival_ns))
            continue;
        l->told[lie->kind] += !fe_lies_active(dev, (enum fe_lie_kind)lie->kind); /* once, in two ranges */
        l->active |= 1u << i;
    }
    const struct fe_lie *late = fe_lies_active(dev, FE_LIE_FLUSH_LATE);
    if (late && l->flush_ns == FE_NEVER)
        l->flush_ns = fe_time_add(arrival_ns, late->arg);
    if (fe_lies_hold_flush(dev))
        req->fua = false;
    if (fe_lies_active(dev, FE_LIE_WIDE_TRIM) && !fe_lies_active(dev, FE_LIE_LOST_WRITE))
        widen(dev, fe_lies_active(dev, FE_LIE_WIDE_TRIM), req);
    if (req->type == FE_REQ_WRITE && l->old.n && !fe_lies_active(dev, FE_LIE_LOST_WRITE))
        keep_old(dev, req, arrival_ns);
}

bool fe_lies_hold_flush(const struct fe_device *dev)
{
    return fe_lies_active(dev, FE_LIE_FLUSH_IGNORED) || fe_lies_active(dev, FE_LIE_FLUSH_LATE);
}

uint64_t fe_lies_capacity(const struct fe_device *dev, uint64_t now_ns)
{
    uint64_t capacity = fe_max_u64(dev->capacity, dev->profile.device.claimed_capacity);
    for (uint32_t i = 0; i < dev->profile.lies.n; i++) {
        const struct fe_lie *lie = &dev->profile.lies.lies[i];
        if (lie->kind == FE_LIE_CAPACITY && has_begun(dev, lie, now_ns))
            capacity = fe_min_u64(capacity, lie->arg);
    }
    return capacity;
}

/* `by` bytes further on, and from the start again behind the end. */
static uint64_t moved(const struct fe_device *dev, uint64_t at, uint64_t by, uint64_t *len)
{
    uint64_t capacity = fe_device_capacity(dev);
    at = (at + by % capacity) % capacity;
    *len = fe_min_u64(*len, capacity - at);
    return at;
}

/* The first lie that says where a byte is has the last word. */
uint64_t fe_lies_place(const struct fe_device *dev, const struct fe_request *req, uint64_t at,
                       uint64_t *len)
{
    const struct fe_lies *l = &dev->lies;
    uint64_t capacity = fe_device_capacity(dev);
    for (uint32_t i = 0; i < dev->profile.lies.n; i++) {
        const struct fe_lie *lie = &dev->profile.lies.lies[i];
        bool moves = is_write((enum fe_lie_kind)lie->kind) ||
                     lie->kind == FE_LIE_MISDIRECTED_READ || lie->kind == FE_LIE_MIXED_QUEUE;
        if (!(l->active >> i & 1) || !moves || at >= lie->to)
            continue;
        if (at < lie->from) {
            *len = fe_min_u64(*len, lie->from - at);
            continue;
        }
        *len = fe_min_u64(*len, lie->to - at);
        if (lie->kind == FE_LIE_LOST_WRITE)
            return FE_NOWHERE;
        if (lie->kind == FE_LIE_MIXED_QUEUE)
            return moved(dev, at, l->read.offset + capacity - req->offset, len);
        return moved(dev, at, lie->arg, len);
    }
    return at;
}

/* ---- what the host gets ---- */

static void make_unstable(const struct fe_device *dev, const struct fe_lie *lie, uint64_t sector,
                          uint8_t *ret)
{
    if (fe_rng_below(draw(dev, sector, DRAW_SECTOR), 1000000) >= lie->arg)
        return;
    for (uint32_t at = 0; at < dev->profile.device.sector_size; at += sizeof(uint64_t)) {
        uint64_t bits = draw(dev, sector * 512 + at / sizeof bits,
                             DRAW_BYTES + dev->lies.n_requests);
        memcpy(ret + at, &bits, sizeof bits);
    }
}

static void give_old(const struct fe_device *dev, uint64_t sector, uint8_t *ret)
{
    uint32_t place = fe_ring_find(&dev->lies.old, sector);
    if (place != FE_NO_PLACE)
        memcpy(ret, fe_ring_at(&dev->lies.old, place), dev->lies.old.sector_size);
}

/* In the order of the list, so that a later one overwrites what an earlier one gave. */
static void give_sector(const struct fe_device *dev, uint64_t at, uint8_t *ret)
{
    uint32_t size = dev->profile.device.sector_size;
    for (uint32_t i = 0; i < dev->profile.lies.n; i++) {
        const struct fe_lie *lie = &dev->profile.lies.lies[i];
        if (!(dev->lies.active >> i & 1) || at < lie->from || at >= lie->to)
            continue;
        if (lie->kind == FE_LIE_UNSTABLE_READ)
            make_unstable(dev, lie, at / size, ret);
        else if (lie->kind == FE_LIE_STUCK_READ)
            memset(ret, (int)lie->arg, size);
        else if (lie->kind == FE_LIE_STALE_READ)
            give_old(dev, at / size, ret);
    }
}

void fe_lies_end(struct fe_device *dev, const struct fe_request *req, const struct fe_reply *reply)
{
    uint32_t size = dev->profile.device.sector_size;
    if (req->type != FE_REQ_READ || dev->profile.lies.n == 0)
        return;
    dev->lies.read.offset = req->offset;
    dev->lies.read.until_ns = reply->complete_ns;
    if (!req->buf || !dev->lies.payload || dev->lies.active == 0)
        return;
    for (uint64_t at = 0; at < req->len; at += size)
        give_sector(dev, req->offset + at, (uint8_t *)req->buf + at);
}
