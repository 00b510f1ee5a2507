/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writing to the file of an image, and epochs.
 *
 * An epoch is the interval between two fdatasyncs of the image.  What changes in an epoch may
 * be on the disk in any part until the sync that ends the epoch has succeeded:
 *
 *     epoch          1            2                3
 *                ----------+---------------+----------------->  writes
 *     sync                 begin   end     begin
 *     synced_epoch         0       1       1
 *
 * The end of a sync writes a status that tells of it, and the next sync takes that to the disk: what
 * the status on the disk surely says to be there is told_epoch.
 *
 * Writes after `begin` belong to the next epoch, although the sync is still under way.  So
 * whoever must know that something is on the disk notes the present epoch, and compares it
 * with synced_epoch later.
 *
 * fdatasync reports lost data only once for each open file.  If two calls ran at the same time for
 * one open file, the first one could take the error, and the second one would report success for
 * the same data.  So the file is open twice.  Each of the two is synced by one caller at a time:
 *
 *     fd        fe_image_sync_now, inside an operation, with the owner's lock
 *     run_fd    fe_store_sync_run, without the lock, once between begin and end
 *
 * Everything goes through pread and pwrite: with a mapping, a full disk or a bad sector would
 * be a SIGBUS.  What has been written is in the host's page cache, so a kill of the server
 * loses nothing of it.
 */
#include "store/image_file.h"

#include "base/num.h"
#include "store/internal.h"
#include "store/overlay.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fe_image_fail(struct fe_image *g, int errnum, const char *doing)
{
    if (g->failed)
        return;
    g->failed = errnum;
    fe_err_set(&g->why, errnum, "%.200s: %s: %s; the image stays as it is from here on", g->path,
               doing, strerror(errnum));
}

int fe_image_get(const struct fe_image *g, void *buf, size_t len, uint64_t at, const char *what,
                 struct fe_err *err)
{
    int r = fe_io_read(g->io, g->fd, buf, len, (off_t)at);
    return r < 0 ? fe_err_set(err, -r, "%.200s: reading %s: %s", g->path, what, strerror(-r)) : 0;
}

void fe_image_put(struct fe_image *g, const void *buf, size_t len, uint64_t at, const char *doing)
{
    if (g->failed)
        return;
    int r = fe_io_write(g->io, g->fd, buf, len, (off_t)at);
    if (r < 0)
        fe_image_fail(g, -r, doing);
}

int fe_store_failure(const struct fe_store *s, struct fe_err *err)
{
    const struct fe_image *g = s->img;
    return g && g->failed ? fe_err_set(err, g->failed, "%s", g->why.text) : 0;
}

int fe_image_write_status(struct fe_image *g)
{
    struct fe_image_status *st = &g->status;
    st->generation++;
    st->crc = fe_image_record_crc(0, st, sizeof *st);
    fe_image_put(g, st, sizeof *st, FE_IMAGE_STATUS(st->generation % 2), "writing its status");
    return -g->failed;
}

static struct fe_store_sync next_epoch(struct fe_image *g)
{
    return (struct fe_store_sync){
        .seq = g->seq, .final = fe_min_u64(g->seq, g->final_seq), .epoch = g->epoch++};
}

void fe_store_sync_all(struct fe_store *s)
{
    if (s->img)
        fe_image_sync_and_tell(s);
}

void fe_store_set_final(struct fe_store *s, uint64_t seq)
{
    if (s->img)
        s->img->final_seq = seq;
}

/* 0 or a negative errno. */
static int sync_file(const struct fe_image *g, int fd)
{
    if (!g->sync || g->read_only)
        return 0;
    return fe_io_sync(g->io, fd);
}

/* The epoch has ended.  A failed fdatasync is final: the host may have forgotten what it could not
 * write. */
static int end_epoch(struct fe_image *g, struct fe_store_sync sync, int result)
{
    if (!g->sync)
        return 0;
    if (result < 0)
        fe_image_fail(g, -result, "fdatasync");
    if (g->failed)
        return -g->failed;
    bool is_told = sync.epoch >= g->status_epoch; /* the status as it is has been synced */
    if (is_told)
        g->told_epoch = g->synced_epoch;
    if (sync.epoch > g->synced_epoch)
        g->synced_epoch = sync.epoch;
    uint64_t synced = fe_max_u64(g->status.synced_seq, sync.seq);
    uint64_t final = fe_max_u64(fe_image_final_seq(&g->status), sync.final);
    uint32_t n_open_1 = 0; /* only whoever begins a run can say that it is in order */
    if (g->status.n_open_1)
        n_open_1 = (uint32_t)fe_min_u64(synced - final, UINT32_MAX - 1) + 1;
    if (is_told && synced == g->status.synced_seq && n_open_1 == g->status.n_open_1) {
        g->told_epoch = g->synced_epoch;
        return 0;
    }
    g->status.synced_seq = synced;
    g->status.n_open_1 = n_open_1;
    g->status_epoch = g->epoch;
    return fe_image_write_status(g);
}

struct fe_store_sync fe_store_sync_begin(struct fe_store *s)
{
    if (!s->img)
        return (struct fe_store_sync){0};
    assert(!s->img->sync_runs);
    s->img->sync_runs = true;
    return next_epoch(s->img);
}

int fe_store_sync_run(const struct fe_store *s)
{
    return s->img ? sync_file(s->img, s->img->run_fd) : 0;
}

int fe_store_sync_end(struct fe_store *s, struct fe_store_sync sync, int result)
{
    if (!s->img)
        return 0;
    assert(s->img->sync_runs);
    s->img->sync_runs = false;
    return end_epoch(s->img, sync, result);
}

void fe_image_sync_now(struct fe_store *s)
{
    struct fe_store_sync sync = next_epoch(s->img);
    end_epoch(s->img, sync, sync_file(s->img, s->img->fd));
}

void fe_image_sync_and_tell(struct fe_store *s)
{
    uint32_t epoch = s->img->epoch;
    while (s->img->sync && !s->img->failed && s->img->told_epoch < epoch)
        fe_image_sync_now(s);
}

void fe_image_destroy(struct fe_image *g)
{
    if (!g)
        return;
    if (g->created && g->creating)
        (void)unlink(g->path); /* whoever could not make it has said so already */
    if (g->fd >= 0)
        close(g->fd);
    if (g->run_fd >= 0)
        close(g->run_fd);
    fe_overlay_destroy(g->overlay);
    free(g->oob_of_new);
    free(g->blocks);
    free(g->entries);
    free(g->entry_epoch);
    free(g->crc);
    free(g->raw);
    free(g->lost);
    free(g->trims);
    free(g->page);
    free(g->records);
    free(g->profile);
    free(g->path);
    free(g);
}
