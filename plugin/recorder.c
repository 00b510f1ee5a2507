/* SPDX-License-Identifier: BSD-3-Clause
 *
 *            first        ready          next
 *              |            |              |
 *     ---------+============+==--=---------+--------->  tickets
 *     written    finished,    not all
 *                to be written finished
 *
 * A ring of records between the requests and the file.  It grows while an early request keeps
 * later ones back.  The file is written by a thread that has to wait for its completion anyway.
 * So there is no additional thread, and no system call under the device's lock.
 */
#include "recorder.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 64, /* records that are copied in one step */
    RING = 1024 /* size at the beginning; a power of two, as all later sizes */
};

#define LOST UINT64_MAX

struct entry {
    struct fe_trace_rec rec;
    bool is_finished;
};

struct fe_recorder {
    /* Protected by the caller's lock. */
    struct entry *ring;
    uint64_t size, first, ready, next, lost;

    /* Protected by `writing`, which is taken before the caller's lock. */
    pthread_mutex_t writing;
    struct fe_trace_writer *writer;
    FILE *file;
    const char *path;
    int errnum;
    struct fe_err why; /* constant once has_failed */

    atomic_bool has_failed;
};

static struct entry *at(struct fe_recorder *r, uint64_t ticket)
{
    return &r->ring[ticket & (r->size - 1)];
}

int fe_recorder_open(struct fe_recorder **ret, const char *path, struct fe_err *err)
{
    const struct fe_trace_writer_options text = {.format = NULL};
    struct fe_recorder *r = calloc(1, sizeof *r);
    if (!r)
        return fe_err_nomem(err, "recorder", sizeof *r);
    pthread_mutex_init(&r->writing, NULL);
    r->path = path;
    r->size = RING;
    r->ring = calloc(r->size, sizeof *r->ring);
    int code = r->ring ? 0 : fe_err_nomem(err, "recorder", r->size * sizeof *r->ring);
    if (code == 0) {
        r->file = fopen(path, "we");
        code = r->file ? fe_trace_writer_open(&r->writer, r->file, path, &text, err)
                       : fe_err_set(err, errno, "%s: %s", path, strerror(errno));
    }
    if (code == 0) /* otherwise a server that forks into the background writes it twice */
        code = fe_trace_flush(r->writer, err);
    if (code < 0) {
        fe_recorder_close(r, NULL);
        return code;
    }
    *ret = r;
    return 0;
}

static bool grow(struct fe_recorder *r)
{
    struct entry *ring = calloc(2 * r->size, sizeof *ring);
    if (!ring)
        return false;
    for (uint64_t t = r->first; t != r->next; t++)
        ring[t & (2 * r->size - 1)] = *at(r, t);
    free(r->ring);
    r->ring = ring;
    r->size *= 2;
    return true;
}

uint64_t fe_recorder_add(struct fe_recorder *r, const struct fe_request *req,
                         const struct fe_reply *reply)
{
    if (r->next - r->first == r->size && !grow(r)) {
        r->lost++;
        return LOST;
    }
    *at(r, r->next) = (struct entry){.rec = {
        .time_ns = reply->arrival_ns,
        .done_ns = reply->complete_ns,
        .offset = req->offset,
        .len = req->len,
        .type = (uint8_t)req->type,
        .status = (uint8_t)reply->status,
        .fua = req->fua,
    }};
    return r->next++;
}

void fe_recorder_finish(struct fe_recorder *r, uint64_t ticket, enum fe_status status)
{
    if (ticket == LOST)
        return;
    assert(ticket >= r->ready && ticket < r->next);
    at(r, ticket)->rec.status = (uint8_t)status;
    at(r, ticket)->is_finished = true;
    while (r->ready < r->next && at(r, r->ready)->is_finished)
        r->ready++;
}

bool fe_recorder_is_due(const struct fe_recorder *r)
{
    return r->ready - r->first >= BATCH;
}

static uint32_t take(struct fe_recorder *r, struct fe_trace_rec recs[static BATCH])
{
    uint32_t n = 0;
    while (n < BATCH && r->first < r->ready)
        recs[n++] = at(r, r->first++)->rec;
    return n;
}

/* After the first failure all records are thrown away, so that a trace has no holes. */
static void put(struct fe_recorder *r, const struct fe_trace_rec *recs, uint32_t n)
{
    if (r->errnum)
        return;
    r->errnum = -fe_trace_write(r->writer, recs, n, &r->why);
    if (r->errnum)
        atomic_store(&r->has_failed, true);
}

const char *fe_recorder_failure(const struct fe_recorder *r)
{
    return atomic_load_explicit(&r->has_failed, memory_order_acquire) ? r->why.text : NULL;
}

void fe_recorder_write(struct fe_recorder *r, pthread_mutex_t *lock)
{
    struct fe_trace_rec recs[BATCH];
    uint32_t n = BATCH;
    if (pthread_mutex_trylock(&r->writing) != 0)
        return;
    while (n == BATCH) {
        pthread_mutex_lock(lock);
        n = take(r, recs);
        pthread_mutex_unlock(lock);
        put(r, recs, n);
    }
    pthread_mutex_unlock(&r->writing);
}

int fe_recorder_close(struct fe_recorder *r, struct fe_err *err)
{
    struct fe_trace_rec recs[BATCH];
    if (!r)
        return 0;
    for (uint32_t n = 0; r->writer && (n = take(r, recs)) > 0;)
        put(r, recs, n);
    int closed = fe_trace_writer_close(r->writer, &r->why);
    if (r->errnum == 0)
        r->errnum = -closed;
    if (r->file && fclose(r->file) != 0 && r->errnum == 0)
        r->errnum = -fe_err_set(&r->why, errno, "%s: %s", r->path, strerror(errno));
    if (r->lost && r->errnum == 0)
        r->errnum = -fe_err_set(&r->why, ENOMEM, "%s: out of memory, %llu requests are missing",
                                r->path, (unsigned long long)r->lost);
    int code = r->errnum ? fe_err_set(err, r->errnum, "%s", r->why.text) : 0;
    pthread_mutex_destroy(&r->writing);
    free(r->ring);
    free(r);
    return code;
}
