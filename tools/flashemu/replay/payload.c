/* SPDX-License-Identifier: BSD-3-Clause
 *
 *     generation      of each sector; counts in the order of the requests, whatever comes of them
 *     doubtful        a bit for each sector: trimmed, or its last write failed; it holds anything
 *
 * The data of a request are made when the device wants them, by the thread that drives it, in a
 * buffer that stays in the processor's cache.  A second thread that made them ahead was quick where
 * a processor was idle, and slower than one thread where none was (docs/SPEED.md): so there is none.
 * The table of generations may be larger than the cache, and payload_fetch asks for it early.
 */
#include "replay/payload.h"

#include "base/bits.h"
#include "base/fetch.h"
#include "base/table.h"
#include "replay/content.h"

#include <stdlib.h>
#include <string.h>

struct payload {
    struct content content;
    uint32_t sector_size;
    uint32_t *generation; /* 0 = never written */
    uint64_t *doubtful;
    bool has_doubts;
    uint8_t *buf; /* of the request between payload_begin and payload_end */
    size_t buf_len;
    uint64_t verified, wrong, first_wrong;
};

static uint32_t next_generation(uint32_t generation)
{
    return generation == UINT32_MAX ? 1 : generation + 1;
}

int payload_create(struct payload **ret, const struct fe_device *dev, uint64_t seed,
                   struct fe_err *err)
{
    struct payload *p = calloc(1, sizeof *p);
    uint32_t sector_size = fe_device_profile(dev)->device.sector_size;
    uint64_t n = fe_device_capacity(dev) / sector_size;

    if (!p)
        return fe_err_nomem(err, "payload", sizeof *p);
    p->sector_size = sector_size;
    p->content = content_make(sector_size, seed);
    p->generation = fe_table_alloc(n, sizeof *p->generation);
    p->doubtful = fe_table_alloc(fe_bits_words(n), sizeof *p->doubtful);
    if (!p->generation || !p->doubtful) {
        payload_destroy(p);
        return fe_err_nomem(err, "payload", n * sizeof *p->generation);
    }
    *ret = p;
    return 0;
}

void payload_destroy(struct payload *p)
{
    if (!p)
        return;
    free(p->buf);
    free(p->generation);
    free(p->doubtful);
    free(p);
}

void payload_fetch(const struct payload *p, uint64_t offset)
{
    fe_fetch(&p->generation[offset / p->sector_size]);
}

/* Gives the buffer room for `len` bytes. */
static int make_room(struct payload *p, uint64_t len, struct fe_err *err)
{
    uint8_t *buf = fe_table_grow(p->buf, len, &p->buf_len, 1);
    if (!buf)
        return fe_err_nomem(err, "data of a request", len);
    p->buf = buf;
    return 0;
}

void *payload_begin(struct payload *p, const struct fe_request *req, struct fe_err *err)
{
    if (make_room(p, req->len, err) < 0)
        return NULL;
    if (req->type == FE_REQ_READ)
        return memset(p->buf, 0xa5, req->len); /* shows what the device does not fill */
    uint32_t *generation = &p->generation[req->offset / p->sector_size];
    for (uint64_t i = 0; i < req->len; i += p->sector_size, generation++) {
        *generation = next_generation(*generation);
        content_fill(&p->content, req->offset + i, *generation, p->buf + i);
    }
    return p->buf;
}

static void compare(struct payload *p, const struct fe_request *req)
{
    for (uint64_t i = 0; i < req->len; i += p->sector_size) {
        uint64_t offset = req->offset + i, sector = offset / p->sector_size;
        if (p->has_doubts && fe_bit(p->doubtful, sector))
            continue;
        p->verified++;
        if (!content_is(&p->content, offset, p->generation[sector], p->buf + i) &&
            p->wrong++ == 0)
            p->first_wrong = offset;
    }
}

static void doubt(struct payload *p, const struct fe_request *req, bool is_doubtful)
{
    uint64_t first = req->offset / p->sector_size, n = req->len / p->sector_size;

    if (!is_doubtful && !p->has_doubts)
        return;
    p->has_doubts = true;
    for (uint64_t i = first; i < first + n; i++)
        fe_bit_put(p->doubtful, i, is_doubtful);
}

void payload_end(struct payload *p, const struct fe_request *req, enum fe_status status)
{
    bool failed = status != FE_OK && status != FE_CORRECTED;

    if (req->type == FE_REQ_TRIM || req->type == FE_REQ_WRITE)
        doubt(p, req, failed || req->type == FE_REQ_TRIM);
    else if (req->type == FE_REQ_READ && !failed)
        compare(p, req);
}

uint64_t payload_verified(const struct payload *p)
{
    return p->verified;
}

uint64_t payload_wrong(const struct payload *p, uint64_t *ret_first)
{
    *ret_first = p->first_wrong;
    return p->wrong;
}
