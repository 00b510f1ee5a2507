/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sequence of requests: the first bytes choose a device, the others are requests with
 * their times.  The device must read as an array of bytes, keep the rules of the chip and
 * its own invariants.  Requests that are no requests must be refused and change nothing.
 */
#include "fuzz.h"

#include "ftl/ftl.h"
#include "lib/host.h"

#define N_GEOMETRIES 16
#define MAX_STEPS 200
#define MAX_RAW_BYTES (1u << 20)

static uint32_t n_strategies(void)
{
    uint32_t n = 0;
    while (fe_ftl_registry[n])
        n++;
    return n;
}

/* The case that the numbers choose, on one of the small shapes; false if there is none. */
static bool choose(struct ft_case *c, uint32_t type, uint32_t geometry, uint64_t seed)
{
    static uint32_t shape[N_GEOMETRIES], n;
    for (uint32_t g = 0; n < N_GEOMETRIES; g++) {
        struct fe_geometry geo;
        if (ft_case_make(c, 1, g, (uint32_t)fe_ftl_find("page")) &&
            fe_geometry_init(&geo, &c->profile.nand, NULL) == 0 &&
            (uint64_t)geo.n_ppns * geo.page_bytes <= MAX_RAW_BYTES)
            shape[n++] = g;
    }
    return ft_case_make(c, seed, shape[geometry % N_GEOMETRIES], type);
}

/* Refused exactly if it is not whole sectors inside the capacity. */
static void submit_anything(struct ft_host *h, struct ft_bytes *b)
{
    static uint8_t sink[1 << 16];
    struct fe_request req = {.type = FE_REQ_READ, .offset = ft_u32(b), .len = ft_u16(b),
                             .buf = sink};
    struct fe_reply reply;
    bool valid = req.len > 0 && req.len % h->sector == 0 && req.offset % h->sector == 0 &&
                 req.offset + req.len <= h->capacity;
    if (ft_u8(b) & 1)
        req.offset = UINT64_MAX - req.offset, valid = false;
    if (valid)
        return; /* the other requests are such */
    FT_MUST(fe_device_submit(h->dev, h->now, &req, &reply) < 0, "%llu+%llu is taken",
            (unsigned long long)req.offset, (unsigned long long)req.len);
}

static bool step(struct ft_host *h, struct ft_bytes *b, bool can_trim)
{
    uint8_t what = ft_u8(b);
    uint64_t sectors = h->capacity / h->sector, offset = ft_u16(b) * sectors / 65536;
    uint64_t len = 1 + (what & 0x40 ? ft_u16(b) : ft_u8(b)) % (sectors - offset);
    uint64_t wait = (uint64_t)ft_u8(b) << (what >> 3 & 7) * 4;
    uint64_t arrival = what & 0x80 && h->now > wait ? h->now - wait : h->now + wait;
    enum fe_req_type type = FE_REQ_WRITE;
    switch (what & 7) {
    case 0:
        submit_anything(h, b);
        return true;
    case 1:
        type = FE_REQ_READ;
        break;
    case 2:
        return ft_host_submit(h, FE_REQ_FLUSH, arrival, 0, 0, false, 0);
    case 3:
        type = can_trim ? FE_REQ_TRIM : FE_REQ_READ;
        break;
    default:
        break;
    }
    return ft_host_submit(h, type, arrival, offset * h->sector, len * h->sector,
                          (what & 7) == 4, type == FE_REQ_WRITE ? ft_u8(b) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ft_bytes b = {data, data + size};
    struct ft_case c;
    struct ft_host h;
    uint32_t type = ft_u8(&b) % n_strategies(), geometry = ft_u8(&b);
    if (!choose(&c, type, geometry, ft_u16(&b)))
        return 0;
    FT_MUST(ft_host_init(&h, &c, 1, true), "%s: %s", c.id, h.wrong);
    bool can_trim = c.profile.device.discard;
    bool ok = true;
    for (int i = 0; i < MAX_STEPS && b.p < b.end && ok; i++)
        ok = step(&h, &b, can_trim);
    ok = ok && ft_host_check(&h) && ft_host_verify(&h);
    FT_MUST(ok, "%s: %s", c.id, h.wrong);
    ft_host_fini(&h);
    return 0;
}
