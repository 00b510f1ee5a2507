/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections and their requests: what nbdkit hands over becomes requests of the device.
 *
 *     nbdkit                            device
 *     read, of any length               one read of the sectors around it
 *     write, trim, of whole sectors     the same
 *     zero, where a hole is allowed     trim, if the device has it and a power cut keeps it
 *     any other zero                    writes of zeros, as a client could make them
 *     cache                             reads of which nobody takes the data
 *
 * A stick has no command for a part of a sector.  A host that wants one reads the sector, and so
 * does this file.  A part of a sector that is written, trimmed or zeroed fails with EINVAL:
 * `block_size` tells clients what to do, and for those that ignore it there is
 * nbdkit-blocksize-filter(1).
 *
 * While the server serves, the client hears of its own mistakes and of the conditions of the
 * medium, as an errno.  The log gets only the first failure of each kind, because a stick at its
 * end of life refuses every write of a run that may last for days.
 */
#include "adapter.h"
#include "base/num.h"
#include "debug.h"
#include "exports.h"
#include "offers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A bit for each kind of failure that is in the log already. */
static atomic_uint reported;

/* ---- connections ---- */

/* A connection.  When its client vanishes, all its waiting requests end at the same time, and each
 * of them tries to answer.  nbdkit before 1.34 may abort then: the first answer fails and closes
 * the socket, and the second answer finds it closed (fixed by nbdkit's commit 9d82aa4f).  So the
 * requests leave one by one, with a pause in which nbdkit notices that the client is gone. */
struct connection {
    struct fe_server *server;    /* of the export that the client has named */
    pthread_mutex_t leave_lock; /* held during the pause; protects n_left */
    unsigned n_left;
};

#define LEAVE_PAUSE_NS (10 * 1000 * 1000)

static void leave_one_by_one(struct connection *c)
{
    static const struct timespec pause = {.tv_nsec = LEAVE_PAUSE_NS};
    pthread_mutex_lock(&c->leave_lock);
    if (c->n_left++)
        nanosleep(&pause, NULL);
    pthread_mutex_unlock(&c->leave_lock);
}

void *fe_requests_open(int readonly)
{
    struct connection *c = calloc(1, sizeof *c);
    const char *name = nbdkit_export_name();
    struct fe_err err = {""};
    (void)readonly;
    if (!c) {
        nbdkit_error("out of memory: connection (%zu bytes)", sizeof *c);
        return NULL;
    }
    if (fe_exports_find(&c->server, name ? name : "", &err) < 0) {
        nbdkit_error("%s", err.text);
        free(c);
        return NULL;
    }
    pthread_mutex_init(&c->leave_lock, NULL);
    return c;
}

void fe_requests_close(void *handle)
{
    struct connection *c = handle;
    pthread_mutex_destroy(&c->leave_lock);
    free(c);
}

/* ---- requests ---- */

/* nbdkit polls for its own end and the client's: with a time of 0 it looks, and does not sleep. */
static int coarse_sleep(void *ctx, uint64_t ns)
{
    (void)ctx;
    return nbdkit_nanosleep((unsigned)(ns / FE_NS_PER_S), (unsigned)(ns % FE_NS_PER_S));
}

static int errno_of(enum fe_status status)
{
    switch (status) {
    case FE_OK:
    case FE_CORRECTED:
        return 0;
    case FE_NO_SPACE:
        return ENOSPC;
    case FE_READ_ONLY:
        return EROFS;
    case FE_GONE:
        return ESHUTDOWN; /* the only error of the protocol that means this */
    case FE_NO_POWER:
    case FE_UNCORRECTABLE:
    case FE_PROG_FAILED:
    case FE_ERASE_FAILED:
    case FE_HOST_FAILED:
        break;
    }
    return EIO;
}

static const char *const req_names[FE_N_REQ_TYPES] = {
    [FE_REQ_READ] = "read",
    [FE_REQ_WRITE] = "write",
    [FE_REQ_TRIM] = "trim",
    [FE_REQ_FLUSH] = "flush",
};

/* Tells the client about a failure, and the log if it is the first one of this kind. */
static int fail(const struct fe_request *req, int errnum, unsigned kind, const char *why)
{
    unsigned bit = 1u << kind;
    bool is_new = !(atomic_load_explicit(&reported, memory_order_relaxed) & bit) &&
                  !(atomic_fetch_or(&reported, bit) & bit);
    if (is_new)
        nbdkit_error("%s of %llu bytes at %llu: %s (the next ones are not logged)",
                     req_names[req->type], (unsigned long long)req->len,
                     (unsigned long long)req->offset, why);
    nbdkit_set_error(errnum);
    return -1;
}

/* The kinds of failure are the statuses of a request, and these. */
enum { KIND_INVALID = 16, KIND_SHUTDOWN = 17 };

/* The host's file has failed.  The message is the image's own.  The client gets the host's errno if
 * the client can make use of it, otherwise EIO. */
static int fail_host(struct fe_server *s, const struct fe_request *req)
{
    struct fe_err why = {""};
    int r = fe_server_failure(s, &why);
    return fail(req, r == -ENOSPC ? ENOSPC : EIO, FE_HOST_FAILED, r < 0 ? why.text : "unknown");
}

static int refuse_parts(const struct fe_request *req)
{
    return fail(req, EINVAL, KIND_INVALID, "not whole sectors inside the device");
}

static int submit(struct connection *c, const struct fe_request *req)
{
    struct fe_outcome out;
    int r = fe_server_submit(c->server, req, coarse_sleep, NULL, &out);

    if (r == -EINVAL)
        return refuse_parts(req);
    if (r < 0) {
        leave_one_by_one(c);
        return fail(req, -r, KIND_SHUTDOWN, "wait ended early");
    }
    fe_adapter_report_notice(c->server);
    if (flashemu_debug_request)
        nbdkit_debug("request: %s offset %llu len %llu%s arrival %llu complete %llu status %d "
                     "late %llu ns",
                     req_names[req->type], (unsigned long long)req->offset,
                     (unsigned long long)req->len, req->fua ? " fua" : "",
                     (unsigned long long)out.reply.arrival_ns,
                     (unsigned long long)out.reply.complete_ns, out.reply.status,
                     (unsigned long long)out.lateness_ns);
    if (out.reply.status == FE_HOST_FAILED)
        return fail_host(c->server, req);
    int errnum = errno_of(out.reply.status);
    return errnum ? fail(req, errnum, out.reply.status, fe_status_text(out.reply.status)) : 0;
}

/* The sectors around a range.  They are in the device, because its capacity is whole sectors. */
static struct fe_request read_around(uint64_t offset, uint64_t count)
{
    uint64_t sector = adapter.profile.device.sector_size, from = offset - offset % sector;
    return (struct fe_request){
        .type = FE_REQ_READ,
        .offset = from,
        .len = fe_div_up(offset + count, sector) * sector - from,
    };
}

int fe_requests_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct fe_request req = read_around(offset, count);
    (void)flags;
    if (req.len == count) {
        req.buf = buf;
        return submit(handle, &req);
    }
    uint8_t *sectors = malloc(req.len);
    if (!sectors) {
        nbdkit_error("out of memory: read (%llu bytes)", (unsigned long long)req.len);
        nbdkit_set_error(ENOMEM);
        return -1;
    }
    req.buf = sectors;
    int r = submit(handle, &req);
    if (r == 0)
        memcpy(buf, sectors + (offset - req.offset), count);
    free(sectors);
    return r;
}

/* Casting const away is fine, because the device does not change the buffer of a write. */
int fe_requests_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset,
                           uint32_t flags)
{
    struct fe_request req = {
        .type = FE_REQ_WRITE,
        .fua = flags & NBDKIT_FLAG_FUA,
        .offset = offset,
        .len = count,
        .buf = (void *)buf,
    };
    return submit(handle, &req);
}

int fe_requests_flush(void *handle, uint32_t flags)
{
    struct fe_request req = {.type = FE_REQ_FLUSH};
    (void)flags;
    return submit(handle, &req);
}

int fe_requests_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct fe_request req = {
        .type = FE_REQ_TRIM,
        .fua = flags & NBDKIT_FLAG_FUA,
        .offset = offset,
        .len = count,
    };
    return submit(handle, &req);
}

/* Carries out a request without data in pieces that a client could ask for, one after another; each
 * of them has the request's flags. */
static int submit_pieces(struct connection *c, const struct fe_request *req)
{
    for (uint64_t done = 0; done < req->len;) {
        struct fe_request piece = *req;
        piece.offset += done;
        piece.len = fe_min_u64(req->len - done, FE_MAX_TRANSFER);
        if (submit(c, &piece) < 0)
            return -1;
        done += piece.len;
    }
    return 0;
}

/* Whether a trim of the range saves writing: it contains a whole page. */
static bool has_page(uint64_t offset, uint64_t count)
{
    uint64_t page = fe_server_page_bytes(adapter.server);
    return (fe_div_up(offset, page) + 1) * page <= offset + count;
}

/* A client that forbids a hole gets zeros on the flash.  So does each client of a device without
 * TRIM, which has no command for zeros: the host writes them. */
int fe_requests_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct fe_request req = {
        .type = FE_REQ_WRITE,
        .fua = flags & NBDKIT_FLAG_FUA,
        .offset = offset,
        .len = count,
    };
    uint64_t sector = adapter.profile.device.sector_size;
    bool by_trim = (flags & NBDKIT_FLAG_MAY_TRIM) && fe_zeroes_by_trim(&adapter.profile);
    if (offset % sector || count % sector) /* before anything is done */
        return refuse_parts(&req);
    if ((flags & NBDKIT_FLAG_FAST_ZERO) && !(by_trim && has_page(offset, count))) {
        nbdkit_set_error(EOPNOTSUPP);
        return -1;
    }
    return by_trim ? fe_requests_trim(handle, count, offset, flags) : submit_pieces(handle, &req);
}

/* The device has no memory for what is read ahead of a client, so the host reads it, and whoever
 * wants to keep it does so in front of the device (nbdkit-cache-filter(1)). */
int fe_requests_cache(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct fe_request req = read_around(offset, count);
    (void)flags;
    return submit_pieces(handle, &req);
}

/* What nbdkit collects, and the flags of the request. */
struct collecting {
    struct nbdkit_extents *extents;
    bool one;                  /* only the first extent is wanted */
    enum fe_extent_kind first; /* its kind, once n > 0 */
    uint32_t n;
};

/* Hands a piece to nbdkit, which joins pieces of one kind.  1: that was enough. */
static int add_extent(void *ctx, uint64_t offset, const struct fe_extent *extent)
{
    static const uint32_t type[] = {
        [FE_EXTENT_DATA] = 0,
        [FE_EXTENT_ZERO] = NBDKIT_EXTENT_ZERO,
        [FE_EXTENT_HOLE] = NBDKIT_EXTENT_HOLE | NBDKIT_EXTENT_ZERO,
    };
    struct collecting *g = ctx;
    if (g->n++ == 0)
        g->first = extent->kind;
    else if (g->one && extent->kind != g->first)
        return 1;
    if (nbdkit_add_extent(g->extents, offset, extent->len, type[extent->kind]) < 0)
        return -errno;
    return 0;
}

int fe_requests_extents(void *handle, uint32_t count, uint64_t offset, uint32_t flags,
                        struct nbdkit_extents *extents)
{
    struct collecting g = {.extents = extents, .one = flags & NBDKIT_FLAG_REQ_ONE};
    struct connection *c = handle;
    int r = fe_server_extents(c->server, offset, count, add_extent, &g);
    if (r < 0)
        nbdkit_set_error(-r);
    return r < 0 ? -1 : 0;
}
