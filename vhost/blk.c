/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of most requests are one piece of the guest's memory, and the device works on that.  What
 * is in several pieces goes through a buffer.
 */
#include "blk.h"

#include "base/num.h"
#include "offers.h"

#include <errno.h>
#include <linux/virtio_blk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR 512u /* the unit of virtio, whatever the device's sectors are */
#define HEAD ((size_t)sizeof(struct virtio_blk_outhdr))

struct fe_blk_job {
    struct fe_blk_job *next;
    struct fe_flight flight;
    bool begun;      /* the server has it; otherwise the answer is known */
    struct fe_ring *ring;
    uint16_t head;
    uint32_t written;
    uint8_t *status; /* in the guest's memory */
    uint8_t answer;  /* if not begun */
};

uint64_t fe_blk_features(const struct fe_blk *b)
{
    uint64_t f = 1ull << VIRTIO_BLK_F_SEG_MAX | 1ull << VIRTIO_BLK_F_BLK_SIZE |
                 1ull << VIRTIO_BLK_F_MQ;
    if (fe_offers_flush(b->params, b->profile))
        f |= 1ull << VIRTIO_BLK_F_FLUSH;
    if (b->profile->device.discard)
        f |= 1ull << VIRTIO_BLK_F_DISCARD | 1ull << VIRTIO_BLK_F_WRITE_ZEROES;
    return f;
}

/* The page is not told, as sticks and cards do not tell it.  A kernel that knows a physical block lets
 * each command end at one, where it would cut every 240 sectors, wherever that is in a page. */
void fe_blk_config(const struct fe_blk *b, void *ret, size_t len)
{
    uint32_t sectors = FE_MAX_TRANSFER / SECTOR;
    struct virtio_blk_config c = {
        .capacity = fe_server_capacity(b->server) / SECTOR,
        .seg_max = FE_SEGMENTS_MAX,
        .blk_size = b->profile->device.sector_size,
        .num_queues = (uint16_t)b->n_queues,
        .max_discard_sectors = sectors,
        .max_discard_seg = 1,
        .discard_sector_alignment = b->profile->device.sector_size / SECTOR,
        .max_write_zeroes_sectors = sectors,
        .max_write_zeroes_seg = 1,
        .write_zeroes_may_unmap = fe_zeroes_by_trim(b->profile),
    };
    memset(ret, 0, len);
    memcpy(ret, &c, len < sizeof c ? len : sizeof c);
}

/* ---- pieces ---- */

/* Removes n bytes at the front, and copies them if `ret` is not NULL.  False: there are fewer. */
static bool cut_front(struct iovec **v, uint32_t *n, void *ret, size_t bytes)
{
    uint8_t *to = ret;
    while (bytes && *n) {
        size_t part = bytes < (*v)->iov_len ? bytes : (*v)->iov_len;
        memcpy(to, (*v)->iov_base, part);
        to += part;
        bytes -= part;
        (*v)->iov_base = (uint8_t *)(*v)->iov_base + part;
        (*v)->iov_len -= part;
        if ((*v)->iov_len == 0) {
            ++*v;
            --*n;
        }
    }
    return bytes == 0;
}

static uint64_t total(const struct iovec *v, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += v[i].iov_len;
    return sum;
}

static void copy_pieces(const struct iovec *v, uint32_t n, uint8_t *buf, bool to_guest)
{
    for (uint32_t i = 0; i < n; buf += v[i++].iov_len)
        memcpy(to_guest ? v[i].iov_base : buf, to_guest ? buf : v[i].iov_base, v[i].iov_len);
}

/* ---- failures ---- */

static const char *const req_names[FE_N_REQ_TYPES] = {
    [FE_REQ_READ] = "read", [FE_REQ_WRITE] = "write",
    [FE_REQ_TRIM] = "trim", [FE_REQ_FLUSH] = "flush",
};

/* A guest hears only that a request has failed.  The first failure of each kind is said here. */
static void say_failure(struct fe_blk *b, enum fe_status status)
{
    struct fe_err why = {""};
    int r = status == FE_HOST_FAILED ? fe_server_failure(b->server, &why) : 0;
    if (b->reported & 1u << status)
        return;
    b->reported |= 1u << status;
    fprintf(stderr, "flashemu-vhost: a request failed: %s (the next ones are not logged)\n",
            r < 0 ? why.text : fe_status_text(status));
}

static void say_invalid(struct fe_blk *b, const struct fe_request *req)
{
    if (b->reported & 1u << 31)
        return;
    b->reported |= 1u << 31;
    fprintf(stderr, "flashemu-vhost: %s of %llu bytes at %llu: not whole sectors inside the device "
            "(the next ones are not logged)\n", req_names[req->type],
            (unsigned long long)req->len, (unsigned long long)req->offset);
}

/* ---- requests ---- */

static void enqueue(struct fe_blk *b, struct fe_blk_job *job)
{
    struct fe_blk_job **at = &b->first;
    while (*at && (*at)->flight.due_ns <= job->flight.due_ns)
        at = &(*at)->next;
    job->next = *at;
    *at = job;
}

/* Begins a request of the device; what is refused is answered at its arrival. */
static void begin(struct fe_blk *b, struct fe_blk_job *job, uint64_t at_ns,
                  const struct fe_request *req)
{
    int r = fe_server_begin(b->server, at_ns, req, &job->flight);
    job->begun = r == 0;
    if (r < 0) {
        say_invalid(b, req);
        job->answer = VIRTIO_BLK_S_IOERR;
    }
}

static void transfer(struct fe_blk *b, struct fe_blk_job *job, uint64_t at_ns, bool is_read,
                     uint64_t sector, const struct iovec *v, uint32_t n)
{
    struct fe_request req = {.type = is_read ? FE_REQ_READ : FE_REQ_WRITE, .len = total(v, n)};
    uint8_t *buf = NULL;

    job->answer = VIRTIO_BLK_S_IOERR;
    if (req.len == 0 || req.len > FE_MAX_TRANSFER || sector > UINT64_MAX / SECTOR) {
        say_invalid(b, &req);
        return;
    }
    req.offset = sector * SECTOR;
    if (n > 1) {
        buf = malloc(req.len);
        if (!buf) {
            fprintf(stderr, "flashemu-vhost: out of memory: request (%llu bytes)\n",
                    (unsigned long long)req.len);
            return;
        }
        if (!is_read)
            copy_pieces(v, n, buf, false);
    }
    req.buf = buf ? buf : v[0].iov_base;
    begin(b, job, at_ns, &req);
    if (buf && is_read && job->begun)
        copy_pieces(v, n, buf, true);
    job->written += is_read && job->begun ? (uint32_t)req.len : 0;
    free(buf);
}

/* Discard and write zeroes: one range, as the guest was told. */
static void clear(struct fe_blk *b, struct fe_blk_job *job, uint64_t at_ns, bool discard,
                  struct iovec *v, uint32_t n)
{
    struct virtio_blk_discard_write_zeroes range;
    uint64_t bytes = total(v, n);

    job->answer = VIRTIO_BLK_S_UNSUPP;
    if (bytes != sizeof range || !cut_front(&v, &n, &range, sizeof range))
        return;
    bool unmap = range.flags & VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP;
    if (range.flags & ~VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP || (discard && unmap) ||
        !b->profile->device.discard || range.num_sectors > FE_MAX_TRANSFER / SECTOR)
        return;
    struct fe_request req = {
        .type = discard || (unmap && fe_zeroes_by_trim(b->profile)) ? FE_REQ_TRIM : FE_REQ_WRITE,
        .offset = range.sector > UINT64_MAX / SECTOR ? UINT64_MAX : range.sector * SECTOR,
        .len = (uint64_t)range.num_sectors * SECTOR,
    };
    begin(b, job, at_ns, &req);
}

static void get_id(struct fe_blk *b, struct fe_blk_job *job, const struct iovec *v, uint32_t n)
{
    uint8_t id[4096] = {0};
    char text[sizeof b->profile->name + sizeof "flashemu-"] = "";

    snprintf(text, sizeof text, "flashemu-%s", b->profile->name);
    memcpy(id, text, VIRTIO_BLK_ID_BYTES);
    job->answer = VIRTIO_BLK_S_IOERR;
    if (total(v, n) < VIRTIO_BLK_ID_BYTES || total(v, n) > sizeof id)
        return;
    copy_pieces(v, n, id, true);
    job->written += VIRTIO_BLK_ID_BYTES;
    job->answer = VIRTIO_BLK_S_OK;
}

static int run_chain(struct fe_blk *b, struct fe_blk_job *job, struct fe_chain *c, uint64_t at_ns,
                     struct fe_err *err)
{
    struct virtio_blk_outhdr head;
    struct iovec *out = c->pieces, *in = c->pieces + c->n_out;
    uint32_t n_out = c->n_out, n_in = c->n_in;

    if (n_in == 0 || !cut_front(&out, &n_out, &head, HEAD))
        return fe_err_set(err, EINVAL, "the guest's ring: a request without head or status");
    struct iovec *last = &in[n_in - 1];
    job->status = (uint8_t *)last->iov_base + --last->iov_len;
    n_in -= last->iov_len == 0;
    job->written = 1;
    switch (head.type) {
    case VIRTIO_BLK_T_IN:
        transfer(b, job, at_ns, true, head.sector, in, n_in);
        break;
    case VIRTIO_BLK_T_OUT:
        transfer(b, job, at_ns, false, head.sector, out, n_out);
        break;
    case VIRTIO_BLK_T_FLUSH:
        begin(b, job, at_ns, &(struct fe_request){.type = FE_REQ_FLUSH});
        break;
    case VIRTIO_BLK_T_DISCARD:
    case VIRTIO_BLK_T_WRITE_ZEROES:
        clear(b, job, at_ns, head.type == VIRTIO_BLK_T_DISCARD, out, n_out);
        break;
    case VIRTIO_BLK_T_GET_ID:
        get_id(b, job, in, n_in);
        break;
    default:
        job->answer = VIRTIO_BLK_S_UNSUPP;
    }
    return 0;
}

int fe_blk_take(struct fe_blk *b, struct fe_ring *ring, const struct fe_memory *m, uint64_t at_ns,
                struct fe_err *err)
{
    struct fe_chain chain;
    int r;

    while ((r = fe_ring_take(ring, m, &chain, err)) > 0) {
        struct fe_blk_job *job = calloc(1, sizeof *job);
        if (!job)
            return fe_err_nomem(err, "request", sizeof *job);
        job->ring = ring;
        job->head = chain.head;
        r = run_chain(b, job, &chain, at_ns, err);
        if (r < 0) {
            free(job);
            return r;
        }
        if (!job->begun) /* with what is due first, because its answer waits for nothing */
            job->flight.due_ns = 0;
        enqueue(b, job);
    }
    return r;
}

uint64_t fe_blk_due(const struct fe_blk *b)
{
    return b->first ? b->first->flight.due_ns : UINT64_MAX;
}

static uint8_t end(struct fe_blk *b, struct fe_blk_job *job)
{
    if (!job->begun)
        return job->answer;
    fe_server_end(b->server, &job->flight);
    enum fe_status status = job->flight.reply.status;
    if (status == FE_OK || status == FE_CORRECTED)
        return VIRTIO_BLK_S_OK;
    say_failure(b, status);
    return VIRTIO_BLK_S_IOERR;
}

void fe_blk_answer(struct fe_blk *b, uint64_t until_ns)
{
    while (b->first && b->first->flight.due_ns <= until_ns) {
        struct fe_blk_job *job = b->first;
        b->first = job->next;
        *job->status = end(b, job);
        fe_ring_give(job->ring, job->head, job->written);
        free(job);
    }
}

void fe_blk_forget(struct fe_blk *b)
{
    while (b->first) {
        struct fe_blk_job *job = b->first;
        b->first = job->next;
        if (job->begun)
            fe_server_end(b->server, &job->flight);
        free(job);
    }
}
