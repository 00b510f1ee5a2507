/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash table of the pieces of the file that have been written; each is kept whole.
 *
 *     file        | a | b | c | d | e | f |        pieces of 4 KiB
 *     table             b'      d'                 a read of c to e: c d e, and then d' over d
 *
 * The table doubles before it is three quarters full, so a search takes a few steps.
 */
#include "store/overlay.h"

#include "base/num.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 4096, FIRST_SLOTS = 64 };

struct slot {
    uint64_t piece; /* number in the file */
    uint8_t *bytes; /* NULL: the slot is empty */
};

struct fe_overlay {
    const struct fe_io *below;
    struct fe_io io;
    struct slot *slots;
    uint64_t n_slots, n_used; /* n_slots: a power of two */
};

/* The slot of a piece, or the empty one where it belongs. */
static struct slot *find(struct slot *slots, uint64_t n_slots, uint64_t piece)
{
    uint64_t i = piece * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (n_slots - 1);
    while (slots[i].bytes && slots[i].piece != piece)
        i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

static int grow(struct fe_overlay *o)
{
    uint64_t n = o->n_slots * 2;
    struct slot *slots = calloc(n, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    for (uint64_t i = 0; i < o->n_slots; i++)
        if (o->slots[i].bytes)
            *find(slots, n, o->slots[i].piece) = o->slots[i];
    free(o->slots);
    o->slots = slots;
    o->n_slots = n;
    return 0;
}

/* The bytes of a piece that is about to be written; it becomes one of the table.  NULL with
 * errno. */
static uint8_t *take(struct fe_overlay *o, int fd, uint64_t piece)
{
    struct slot *s = find(o->slots, o->n_slots, piece);
    if (s->bytes)
        return s->bytes;
    if ((o->n_used + 1) * 4 > o->n_slots * 3 && grow(o) < 0) {
        errno = ENOMEM;
        return NULL;
    }
    uint8_t *bytes = calloc(1, PIECE); /* the last piece of a file may be short */
    if (!bytes) {
        errno = ENOMEM;
        return NULL;
    }
    size_t n = 0;
    ssize_t r;
    while ((r = o->below->pread(o->below->ctx, fd, bytes + n, PIECE - n,
                                (off_t)(piece * PIECE + n))) > 0 || (r < 0 && errno == EINTR))
        n += r > 0 ? (size_t)r : 0;
    if (r < 0) {
        free(bytes);
        return NULL;
    }
    *find(o->slots, o->n_slots, piece) = (struct slot){piece, bytes};
    o->n_used++;
    return bytes;
}

static ssize_t overlay_pread(void *ctx, int fd, void *buf, size_t len, off_t off)
{
    struct fe_overlay *o = ctx;
    ssize_t got = o->below->pread(o->below->ctx, fd, buf, len, off);
    uint64_t from = (uint64_t)off, end = got > 0 ? from + (uint64_t)got : from;
    for (uint64_t at = from, next; o->n_used && at < end; at = next) {
        next = fe_min_u64(end, (at / PIECE + 1) * PIECE);
        const struct slot *s = find(o->slots, o->n_slots, at / PIECE);
        if (s->bytes)
            memcpy((uint8_t *)buf + (at - from), s->bytes + at % PIECE, next - at);
    }
    return got;
}

static ssize_t overlay_pwrite(void *ctx, int fd, const void *buf, size_t len, off_t off)
{
    struct fe_overlay *o = ctx;
    uint64_t from = (uint64_t)off, end = from + len;
    for (uint64_t at = from, next; at < end; at = next) {
        next = fe_min_u64(end, (at / PIECE + 1) * PIECE);
        uint8_t *bytes = take(o, fd, at / PIECE);
        if (!bytes)
            return -1;
        memcpy(bytes + at % PIECE, (const uint8_t *)buf + (at - from), next - at);
    }
    return (ssize_t)len;
}

static int overlay_fdatasync(void *ctx, int fd)
{
    (void)ctx;
    (void)fd;
    return 0;
}

static int overlay_ftruncate(void *ctx, int fd, off_t len)
{
    (void)ctx;
    (void)fd;
    (void)len;
    errno = EROFS;
    return -1;
}

/* A hole is a saving, and there is nothing to save. */
static int overlay_punch(void *ctx, int fd, off_t off, off_t len)
{
    (void)ctx;
    (void)fd;
    (void)off;
    (void)len;
    return 0;
}

int fe_overlay_create(struct fe_overlay **ret, const struct fe_io *below, struct fe_err *err)
{
    struct fe_overlay *o = calloc(1, sizeof *o);
    struct slot *slots = calloc(FIRST_SLOTS, sizeof *slots);
    if (!o || !slots) {
        free(o);
        free(slots);
        return fe_err_nomem(err, "what is written while looking", sizeof *o);
    }
    *o = (struct fe_overlay){
        .below = below,
        .io = {o, overlay_pread, overlay_pwrite, overlay_fdatasync, overlay_ftruncate,
               overlay_punch},
        .slots = slots,
        .n_slots = FIRST_SLOTS,
    };
    *ret = o;
    return 0;
}

void fe_overlay_destroy(struct fe_overlay *o)
{
    for (uint64_t i = 0; o && i < o->n_slots; i++)
        free(o->slots[i].bytes);
    if (o)
        free(o->slots);
    free(o);
}

const struct fe_io *fe_overlay_io(const struct fe_overlay *o)
{
    return &o->io;
}
