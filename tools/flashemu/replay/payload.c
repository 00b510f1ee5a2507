/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two threads share the work.  The one that drives the device announces the next requests; the
 * other counts their sectors' generations and makes their data, each request's in a place of its own
 * (replay/maker.h).  A write of one page gets its data in memory that the device has lent, so that
 * the device keeps it and copies nothing.
 *
 *     generation      of each sector; counts in the order of the requests, whatever comes of them
 *     doubtful        a bit for each sector: trimmed, or its last write failed; it holds anything
 *
 * The generations belong to the thread that makes data, the doubts to the other one.  A read takes
 * along the generations that it must find.
 *
 * Requests that were not announced, since they are long or there is no such thread, are made when
 * they are needed.  Then nothing is under way in the other thread.
 */
#include "replay/payload.h"

#include "base/bits.h"
#include "base/copy.h"
#include "base/fetch.h"
#include "base/table.h"
#include "replay/content.h"
#include "replay/maker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD_BYTES = 64 * 1024 }; /* of the longest request that is made ahead */

/* Where the data of a request are made, and the generations of a read. */
struct place {
    uint8_t *buf;
    uint32_t *generations;
};

struct payload {
    struct fe_device *dev;
    struct content content;
    uint32_t sector_size, page_bytes;
    uint32_t *generation; /* 0 = never written */
    uint64_t *doubtful;
    bool has_doubts;
    uint8_t *page; /* one page on its way to lent memory */

    struct maker *maker; /* NULL = nothing is made ahead */
    struct place places[MAKER_JOBS];
    struct place own; /* of a request that was not made ahead */
    uint64_t own_len;
    struct maker_job alone; /* such a request */
    struct maker_job *job;  /* between payload_begin and payload_end */
    uint64_t verified, wrong, first_wrong;
};

static uint32_t next_generation(uint32_t generation)
{
    return generation == UINT32_MAX ? 1 : generation + 1;
}

static uint64_t bytes_of(const struct payload *p, const struct maker_job *job)
{
    return (uint64_t)job->n_sectors * p->sector_size;
}

static void make(void *ctx, struct maker_job *job)
{
    struct payload *p = ctx;
    uint32_t *generation = &p->generation[job->offset / p->sector_size];

    if (!job->is_write) {
        memcpy(job->generations, generation, job->n_sectors * sizeof *generation);
        return;
    }
    uint8_t *to = job->past_cache ? p->page : job->buf;
    for (uint64_t i = 0; i < bytes_of(p, job); i += p->sector_size, generation++) {
        *generation = next_generation(*generation);
        content_fill(&p->content, job->offset + i, *generation, to + i);
    }
    if (job->past_cache)
        fe_copy_past_cache(job->buf, to, bytes_of(p, job));
}

static void ask(void *ctx, const struct maker_job *job)
{
    const struct payload *p = ctx;
    fe_fetch(&p->generation[job->offset / p->sector_size]);
}

/* Gives a place room for `len` bytes; false without memory. */
static bool make_room(const struct payload *p, struct place *place, uint64_t len)
{
    uint8_t *buf = realloc(place->buf, len);
    place->buf = buf ? buf : place->buf;
    uint32_t *g = realloc(place->generations, len / p->sector_size * sizeof *g);
    place->generations = g ? g : place->generations;
    return buf && g;
}

/* Without memory or a thread nothing is made ahead. */
static void start_maker(struct payload *p)
{
    for (unsigned i = 0; i < MAKER_JOBS; i++)
        if (!make_room(p, &p->places[i], AHEAD_BYTES))
            return;
    p->maker = maker_create(make, ask, p);
}

int payload_create(struct payload **ret, struct fe_device *dev, uint64_t seed, bool ahead,
                   struct fe_err *err)
{
    struct payload *p = calloc(1, sizeof *p);
    uint32_t sector_size = fe_device_profile(dev)->device.sector_size;
    uint64_t n = fe_device_capacity(dev) / sector_size;

    if (!p)
        return fe_err_nomem(err, "payload", sizeof *p);
    p->dev = dev;
    p->sector_size = sector_size;
    p->page_bytes = fe_device_page_bytes(dev);
    p->content = content_make(sector_size, seed);
    p->generation = fe_table_alloc(n, sizeof *p->generation);
    p->doubtful = fe_table_alloc(fe_bits_words(n), sizeof *p->doubtful);
    p->page = malloc(p->page_bytes);
    if (!p->generation || !p->doubtful || !p->page) {
        payload_destroy(p);
        return fe_err_nomem(err, "payload", n * sizeof *p->generation);
    }
    if (ahead)
        start_maker(p);
    *ret = p;
    return 0;
}

static void end_loan(struct payload *p, const struct maker_job *job)
{
    if (job->past_cache)
        (void)fe_device_take_back(p->dev, job->buf);
}

void payload_destroy(struct payload *p)
{
    if (!p)
        return;
    for (struct maker_job *job; p->maker && (job = maker_take(p->maker)); maker_done(p->maker))
        end_loan(p, job);
    maker_destroy(p->maker);
    if (p->job == &p->alone)
        end_loan(p, p->job);
    for (unsigned i = 0; i < MAKER_JOBS; i++) {
        free(p->places[i].buf);
        free(p->places[i].generations);
    }
    free(p->own.buf);
    free(p->own.generations);
    free(p->generation);
    free(p->doubtful);
    free(p->page);
    free(p);
}

/* A write that the device may keep the memory of. */
static bool is_page(const struct payload *p, const struct fe_request *req)
{
    return req->type == FE_REQ_WRITE && req->len == p->page_bytes &&
           req->offset % p->page_bytes == 0;
}

/* Other writes are not: to make data in the cache of this processor takes less time than to get them
 * there from that of the other one. */
static bool is_made_ahead(const struct payload *p, const struct fe_request *req)
{
    return req->len <= AHEAD_BYTES && (req->type == FE_REQ_READ || is_page(p, req));
}

static struct maker_job job_of(struct payload *p, const struct fe_request *req,
                               const struct place *place)
{
    void *lent = is_page(p, req) ? fe_device_lend(p->dev, NULL) : NULL;

    return (struct maker_job){
        .offset = req->offset,
        .buf = lent ? lent : place->buf,
        .generations = place->generations,
        .n_sectors = (uint32_t)(req->len / p->sector_size),
        .is_write = req->type == FE_REQ_WRITE,
        .past_cache = lent,
    };
}

bool payload_announce(struct payload *p, const struct fe_request *reqs, unsigned n)
{
    if (!p->maker || maker_room(p->maker) < n)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!is_made_ahead(p, &reqs[i]))
            return false;
    for (unsigned i = 0; i < n; i++) {
        struct maker_job job = job_of(p, &reqs[i], &p->places[maker_next(p->maker)]);
        maker_put(p->maker, &job);
    }
    return true;
}

void *payload_begin(struct payload *p, const struct fe_request *req, struct fe_err *err)
{
    p->job = p->maker ? maker_take(p->maker) : NULL;
    if (!p->job) {
        if (req->len > p->own_len && !make_room(p, &p->own, req->len)) {
            fe_err_nomem(err, "data of a request", req->len);
            return NULL;
        }
        p->own_len = req->len > p->own_len ? req->len : p->own_len;
        p->alone = job_of(p, req, &p->own);
        p->job = &p->alone;
        make(p, p->job);
    }
    assert(p->job->offset == req->offset && bytes_of(p, p->job) == req->len &&
           p->job->is_write == (req->type == FE_REQ_WRITE));
    if (req->type == FE_REQ_READ)
        memset(p->job->buf, 0xa5, req->len); /* shows what the device does not fill */
    return p->job->buf;
}

static void compare(struct payload *p, const struct maker_job *job)
{
    uint64_t sector = job->offset / p->sector_size;

    for (uint32_t i = 0; i < job->n_sectors; i++, sector++) {
        uint64_t offset = sector * p->sector_size;
        if (p->has_doubts && fe_bit(p->doubtful, sector))
            continue;
        p->verified++;
        if (!content_is(&p->content, offset, job->generations[i],
                        job->buf + (uint64_t)i * p->sector_size) && p->wrong++ == 0)
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
    if (!p->job)
        return;
    if (req->type == FE_REQ_READ && !failed)
        compare(p, p->job);
    end_loan(p, p->job);
    if (p->job != &p->alone)
        maker_done(p->maker);
    p->job = NULL;
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
