/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/host.h"

#include "device/internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool complain(struct ft_host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool complain(struct ft_host *h, const char *fmt, ...)
{
    if (!h->wrong[0]) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(h->wrong, sizeof h->wrong, fmt, ap);
        va_end(ap);
    }
    return false;
}

bool ft_host_init(struct ft_host *h, const struct ft_case *c, uint64_t device_seed, bool payload)
{
    struct fe_device_options opt = {.seed = device_seed, .payload = payload};
    struct fe_err err;
    fe_err_init(&err);
    *h = (struct ft_host){.payload = payload, .hash = FT_HASH_START};
    int r = fe_device_create(&h->dev, &c->profile, &opt, &err);
    if (r < 0)
        return complain(h, "no device (%d): %s", r, err.text);
    h->capacity = fe_device_capacity(h->dev);
    h->unit = c->profile.ftl.unit.unit_size;
    h->sector = c->profile.device.sector_size;
    h->behind = c->profile.cache.write_behind > 0;
    h->bytes = calloc(1, h->capacity);
    h->buf = malloc(h->capacity);
    if (!h->bytes || !h->buf)
        abort();
    ft_chip_init(&h->chip, h->dev);
    return true;
}

void ft_host_fini(struct ft_host *h)
{
    if (!h->dev)
        return;
    fe_device_destroy(h->dev);
    ft_chip_fini(&h->chip);
    free(h->bytes);
    free(h->buf);
}

static bool check_reply(struct ft_host *h, enum fe_req_type type, uint64_t arrival)
{
    const struct fe_reply *r = &h->reply;
    uint64_t want = arrival > h->last_arrival ? arrival : h->last_arrival;
    if (r->status > FE_CORRECTED)
        return complain(h, "request %d: status %d", type, r->status);
    if (r->arrival_ns != want)
        return complain(h, "arrival %" PRIu64 " at %" PRIu64 " became %" PRIu64, arrival,
                        h->last_arrival, r->arrival_ns);
    if (r->complete_ns < r->arrival_ns)
        return complain(h, "complete at %" PRIu64 ", before its arrival at %" PRIu64,
                        r->complete_ns, r->arrival_ns);
    if (r->complete_ns < h->chip.max_end && (!h->behind || type == FE_REQ_FLUSH))
        return complain(h, "complete at %" PRIu64 ", but an operation ends at %" PRIu64,
                        r->complete_ns, h->chip.max_end);
    h->last_arrival = r->arrival_ns;
    uint64_t from = r->arrival_ns > h->busy_until ? r->arrival_ns : h->busy_until;
    if (r->complete_ns > from) {
        h->busy += r->complete_ns - from;
        h->busy_until = r->complete_ns;
    }
    h->now = r->complete_ns > h->now ? r->complete_ns : h->now;
    if (fe_device_now(h->dev) < h->now)
        return complain(h, "device's clock is at %" PRIu64 ", a request completed at %" PRIu64,
                        fe_device_now(h->dev), h->now);
    h->hash = ft_hash_u64(h->hash, r->arrival_ns);
    h->hash = ft_hash_u64(h->hash, r->complete_ns);
    h->hash = ft_hash_u64(h->hash, r->status);
    return true;
}

static bool compare(struct ft_host *h, uint64_t offset, uint64_t len)
{
    const uint8_t *want = h->bytes + offset;
    if (!h->payload || memcmp(h->buf, want, len) == 0)
        return true;
    uint64_t at = 0;
    while (h->buf[at] == want[at])
        at++;
    return complain(h, "read of %" PRIu64 "+%" PRIu64 ": byte %" PRIu64 " (page %" PRIu64
                    ") is %02x, not %02x", offset, len, offset + at,
                    (offset + at) / fe_device_page_bytes(h->dev), h->buf[at], want[at]);
}

static uint64_t clamp(const struct ft_host *h, uint64_t arrival)
{
    return arrival > h->last_arrival ? arrival : h->last_arrival;
}

bool ft_host_submit(struct ft_host *h, enum fe_req_type type, uint64_t arrival, uint64_t offset,
                    uint64_t len, bool fua, uint64_t data)
{
    struct fe_request req = {.type = type, .fua = fua, .offset = offset, .len = len};
    if (type == FE_REQ_WRITE) {
        struct ft_rand fill = {.seed = data};
        if (data)
            ft_fill(&fill, h->buf, len);
        else
            memset(h->buf, 0, len);
        memcpy(h->bytes + offset, h->buf, len);
    } else if (type == FE_REQ_TRIM) {
        memset(h->bytes + offset, 0, len);
    }
    if (type == FE_REQ_READ || (type == FE_REQ_WRITE && data))
        req.buf = h->buf;
    /* Lets the device do its idle work first.  Then all operations of the call below belong to the
     * request. */
    uint64_t before = h->chip.hash;
    fe_device_idle(h->dev, clamp(h, arrival));
    h->idle_work = h->idle_work || h->chip.hash != before;
    h->chip.max_end = 0;
    if (fe_device_submit(h->dev, arrival, &req, &h->reply) < 0)
        return complain(h, "request %d at %" PRIu64 "+%" PRIu64 " is refused", type, offset, len);
    h->ops[type]++;
    h->op_bytes[type] += len;
    if (!check_reply(h, type, arrival))
        return false;
    return type == FE_REQ_READ ? compare(h, offset, len) : true;
}

bool ft_host_verify(struct ft_host *h)
{
    return ft_host_submit(h, FE_REQ_READ, h->now, 0, h->capacity, false, 0);
}

bool ft_host_check(struct ft_host *h)
{
    struct fe_err err;
    fe_err_init(&err);
    if (h->chip.wrong[0])
        return complain(h, "%s", h->chip.wrong);
    if (fe_device_check(h->dev, &err) < 0)
        return complain(h, "check: %s", err.text);
    return true;
}

static uint64_t aligned_below(struct ft_rand *r, uint64_t n, uint64_t align)
{
    uint64_t at = ft_below(r, n);
    return at - at % align;
}

void ft_workload_init(struct ft_workload *w, const struct ft_host *h, uint64_t seed)
{
    *w = (struct ft_workload){.rand = {.seed = fe_mix64(seed + 1)}};
    for (int i = 0; i < 3; i++)
        w->stream[i] = aligned_below(&w->rand, h->capacity, h->sector);
    w->hot = aligned_below(&w->rand, h->capacity, h->sector);
}

static void choose_range(struct ft_workload *w, const struct ft_host *h, struct ft_step *s)
{
    struct ft_rand *r = &w->rand;
    uint64_t page = fe_device_page_bytes(h->dev), sectors = ft_between(r, 1, 40);
    uint64_t *stream = &w->stream[ft_below(r, 3)];
    switch (ft_below(r, 8)) {
    case 0: case 1: /* a stream goes on */
        s->offset = *stream;
        s->len = ft_chance(r, 50) ? sectors * h->sector : page * ft_between(r, 1, 9);
        *stream = s->offset + s->len < h->capacity ? s->offset + s->len : 0;
        if (ft_chance(r, 5))
            *stream = aligned_below(r, h->capacity, h->unit);
        break;
    case 2: /* whole units */
        s->offset = aligned_below(r, h->capacity, h->unit);
        s->len = h->unit * ft_between(r, 1, 2);
        break;
    case 3: case 4: /* a small hot part */
        s->offset = w->hot + ft_below(r, 8) * page;
        s->len = ft_chance(r, 50) ? h->sector : page;
        break;
    case 5: /* whole pages anywhere */
        s->offset = aligned_below(r, h->capacity, page);
        s->len = page * ft_between(r, 1, 3);
        break;
    default:
        s->offset = aligned_below(r, h->capacity, h->sector);
        s->len = sectors * h->sector;
    }
    if (s->offset >= h->capacity)
        s->offset = 0;
    if (s->len > h->capacity - s->offset)
        s->len = h->capacity - s->offset;
}

struct ft_step ft_workload_next(struct ft_workload *w, const struct ft_host *h)
{
    struct ft_rand *r = &w->rand;
    struct ft_step s = {.type = FE_REQ_WRITE, .fua = ft_chance(r, 8)};
    uint64_t kind = ft_below(r, 100);
    if (kind >= 62 && kind < 92)
        s.type = FE_REQ_READ;
    else if (kind >= 92 && kind < 96)
        s.type = FE_REQ_FLUSH;
    else if (kind >= 96 && fe_device_profile(h->dev)->device.discard)
        s.type = FE_REQ_TRIM;
    choose_range(w, h, &s);
    if (s.type == FE_REQ_FLUSH)
        s.offset = s.len = 0;
    s.data = ft_chance(r, 4) ? 0 : ft_rand(r) | 1;
    if (ft_chance(r, 10))
        s.wait = (int64_t)ft_below(r, 50000000);
    else if (ft_chance(r, 20))
        s.wait = -(int64_t)ft_below(r, 3000000);
    return s;
}

bool ft_host_step(struct ft_host *h, const struct ft_step *s)
{
    uint64_t arrival = h->now;
    if (s->wait >= 0)
        arrival += (uint64_t)s->wait;
    else
        arrival -= (uint64_t)-s->wait < arrival ? (uint64_t)-s->wait : arrival;
    return ft_host_submit(h, s->type, arrival, s->offset, s->len, s->fua, s->data);
}
