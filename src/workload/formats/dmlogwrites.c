/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The log of the device mapper's target log-writes (drivers/md/dm-log-writes.c of Linux): the log
 * device itself, or a copy of it.
 *
 *     first sector   u64 magic 0x6a736677736872   u64 version 1   u64 entries   u32 sector size
 *     then for each entry
 *     one sector     u64 sector   u64 sectors   u64 flags   u64 bytes of a mark
 *     the data       so many sectors, but none of a discard
 *
 * All numbers are little endian, and sectors have the size that the first one tells.  An entry with
 * FLUSH and sectors gives a flush and a write.  The text of a mark follows its entry in the same sector.
 *
 * The log has no times and no reads: all requests have time 0, in the order in which they were
 * completed.  Behind the last entry the log device holds anything, which is not read.  In messages the
 * number of the entry stands where other formats have the line.
 *
 * What a log is for decides about the order in which one is written.  Whoever replays it up to an entry
 * wants what was durable then, so a write stands behind those that were, and in front of the flush that
 * has made it so, as the kernel logs it:
 *
 *     trace   write a   write b   flush.........   write c         done:  b, a, flush, c
 *     log     write b   write a   flush   (write c in front of the next flush, or at the end)
 *
 * A write with FUA, a flush and a mark stand where they were done.  Records that do not say when they
 * were done keep their place.
 */
#include "workload/formats/format.h"
#include "workload/formats/hold.h"

#include "base/bytes.h"
#include "base/num.h"
#include "base/table.h"
#include "workload/data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

enum { SUPER = 28, ENTRY = 32, VERSION = 1, MIN_SECTOR = 512, MAX_SECTOR = 1 << 16 };
enum { FLUSH = 1, FUA = 2, DISCARD = 4, MARK = 8, METADATA = 16 };

#define MAGIC UINT64_C(0x6a736677736872)

struct log_reader {
    uint32_t sector_size; /* 0 = the first sector has not been read */
    uint64_t entries;     /* that are left */
    uint64_t follow;      /* bytes of the last entry that have not been passed over */
    struct fe_trace_rec write; /* whose data come next */
    uint64_t wanted;      /* its bytes; 0 = none are read */
    uint8_t *bytes;       /* that have come */
    size_t n_bytes, room;
};

static bool starts(const uint8_t *p, size_t n)
{
    return n >= 8 && fe_bytes_get(p, 8, false) == MAGIC;
}

static int take_super(struct fe_trace_reader *r, const uint8_t *p, size_t have, struct fe_err *err)
{
    struct log_reader *s = r->state;

    if (have < SUPER || !starts(p, have))
        return fe_trace_bad(r, err, "does not begin as a log of dm-log-writes does");
    uint64_t version = fe_bytes_get(p + 8, 8, false), size = fe_bytes_get(p + 24, 4, false);
    if (version != VERSION)
        return fe_trace_bad(r, err, "version %llu of dm-log-writes, not %d",
                            (unsigned long long)version, VERSION);
    if (size < MIN_SECTOR || size > MAX_SECTOR || (size & (size - 1)))
        return fe_trace_bad(r, err, "sector size %llu is not a power of two from %d to %d",
                            (unsigned long long)size, MIN_SECTOR, MAX_SECTOR);
    s->sector_size = (uint32_t)size;
    s->entries = fe_bytes_get(p + 16, 8, false);
    s->follow = size;
    return 0;
}

/* The text follows the entry, in the same sector. */
static int take_mark(struct fe_trace_reader *r, const uint8_t *p, size_t have,
                     struct fe_trace_rec *rec, struct fe_err *err)
{
    const struct log_reader *s = r->state;
    uint64_t len = fe_bytes_get(p + 24, 8, false);

    if (!r->opt.marks)
        return fe_trace_skip(r);
    if (len > s->sector_size - ENTRY)
        return fe_trace_bad(r, err, "a mark of %llu bytes does not fit its sector",
                            (unsigned long long)len);
    if (len > FE_TRACE_MARK_MAX)
        return fe_trace_bad(r, err, "a mark of %llu bytes; at most %d are read",
                            (unsigned long long)len, FE_TRACE_MARK_MAX);
    if (have < ENTRY + len)
        return fe_trace_bad(r, err, "the log ends before its last entry");
    return fe_trace_take_mark(r, (struct fe_span){(const char *)p + ENTRY, (size_t)len}, rec, err);
}

static int take_entry(struct fe_trace_reader *r, const uint8_t *p, size_t have,
                      struct fe_trace_rec *rec, struct fe_err *err)
{
    struct log_reader *s = r->state;

    rec->line = ++r->line;
    if (have < ENTRY)
        return fe_trace_bad(r, err, "the log ends before its last entry");
    uint64_t sectors = fe_bytes_get(p + 8, 8, false), flags = fe_bytes_get(p + 16, 8, false), bytes;
    if (flags & ~(uint64_t)(FLUSH | FUA | DISCARD | MARK | METADATA))
        return fe_trace_bad(r, err, "flags 0x%llx are not those of an entry",
                            (unsigned long long)flags);
    if (!fe_mul_ok(sectors, s->sector_size, &bytes) || bytes > FE_TRACE_MAX_END ||
        !fe_mul_ok(fe_bytes_get(p, 8, false), s->sector_size, &rec->offset))
        return fe_trace_bad(r, err, "sector or number of sectors is beyond 2^63 bytes");
    uint64_t follows = flags & DISCARD ? 0 : bytes;
    bool reads = r->opt.data && follows > 0 && !(flags & MARK);
    s->follow = s->sector_size + (reads ? 0 : follows);
    s->entries--;
    if (flags & MARK)
        return take_mark(r, p, have, rec, err);
    if (bytes == 0 && !(flags & FLUSH))
        return fe_trace_skip(r);
    rec->len = bytes;
    rec->type = flags & DISCARD ? FE_REQ_TRIM : FE_REQ_WRITE;
    rec->fua = flags & FUA;
    const struct fe_trace_rec flush = {.type = FE_REQ_FLUSH, .line = rec->line};
    int ret = flags & FLUSH ? fe_trace_hold(r, &flush, false, err) : 0;
    if (ret == 0 && reads) {
        s->write = *rec;
        s->wanted = bytes;
        s->n_bytes = 0;
        return 0;
    }
    if (ret == 0 && (flags & FLUSH))
        return bytes > 0 ? fe_trace_hold(r, rec, false, err) : 0;
    return ret < 0 ? ret : 1;
}

/* Takes what has come of the data of a write.  Memory grows as they come, because an entry may say
 * anything.  *ret_n is how much was taken. */
static int take_data(struct fe_trace_reader *r, const uint8_t *p, size_t have, size_t *ret_n,
                     struct fe_trace_rec *rec, struct fe_err *err)
{
    struct log_reader *s = r->state;
    size_t n = (size_t)fe_min_u64(have, s->wanted - s->n_bytes);

    uint8_t *bytes = fe_table_grow(s->bytes, s->n_bytes + n, &s->room, 1);
    if (!bytes)
        return fe_err_nomem(err, r->name, s->n_bytes + n);
    s->bytes = bytes;
    memcpy(s->bytes + s->n_bytes, p, n);
    s->n_bytes += n;
    *ret_n = n;
    if (s->n_bytes < s->wanted)
        return 0;
    s->wanted = 0;
    *rec = s->write;
    int ret = fe_data_put(r->opt.data, rec->offset, rec->len, s->bytes, &rec->data, err);
    return ret < 0 ? ret : 1;
}

static int take(struct fe_trace_reader *r, struct fe_trace_rec *rec, struct fe_err *err)
{
    struct log_reader *s = r->state;
    size_t have = r->end - r->start, n = have;
    const uint8_t *p = (const uint8_t *)r->buf + r->start;
    int ret = 0;

    if (s->sector_size && s->follow == 0 && s->wanted > 0) {
        ret = take_data(r, p, have, &n, rec, err);
        r->start += ret < 0 ? 0 : n;
        r->consumed += ret < 0 ? 0 : n;
        return ret;
    }
    if (s->sector_size && s->follow == 0 && s->entries > 0)
        ret = take_entry(r, p, have, rec, err);
    else if (!s->sector_size)
        ret = take_super(r, p, have, err);
    if (s->follow > 0) /* otherwise this is behind the last entry */
        n = have < s->follow ? have : (size_t)s->follow;
    if (ret >= 0) {
        s->follow -= s->follow > 0 ? n : 0;
        r->start += n;
        r->consumed += n;
    }
    return ret;
}

static int end(struct fe_trace_reader *r, struct fe_err *err)
{
    const struct log_reader *s = r->state;

    if (s->follow > 0 || s->wanted > 0 || s->entries > 0)
        return fe_trace_bad(r, err, "the log ends before its last entry");
    return 0;
}

static void free_reader(void *state)
{
    free(((struct log_reader *)state)->bytes);
}

/* --- writing --- */

/* A request that is not done, or is done and not durable. */
struct waiting {
    struct fe_trace_rec rec;
    uint64_t number; /* of a write that is done: how many were before; of a flush: how many were done
                        when it began */
};

struct waiting_list {
    struct waiting *at;
    size_t n, room;
};

struct log_writer {
    off_t begin;      /* of the log in its file */
    uint64_t entries; /* that are written */
    uint64_t n_done;  /* writes and trims so far */
    struct waiting_list open, loose; /* not done; done and not flushed.  In the order of their ends */
    uint8_t *bytes;   /* of the write that is written */
    size_t room;
};

/* Adds a request behind those that were done no later. */
static int add(struct waiting_list *l, const struct fe_trace_rec *rec, uint64_t number,
               struct fe_err *err)
{
    struct waiting *at = fe_table_grow(l->at, l->n + 1, &l->room, sizeof *at);
    if (!at)
        return fe_err_nomem(err, "requests that are not durable", (l->n + 1) * sizeof *at);
    l->at = at;
    size_t i = l->n++;
    for (; i > 0 && l->at[i - 1].rec.done_ns > rec->done_ns; i--)
        l->at[i] = l->at[i - 1];
    l->at[i] = (struct waiting){*rec, number};
    return 0;
}

static void drop_first(struct waiting_list *l, size_t n)
{
    l->n -= n;
    if (n > 0)
        memmove(l->at, l->at + n, l->n * sizeof *l->at);
}

/* The writer's buffer has room for lines, and is not used here. */
static int put_bytes(struct fe_trace_writer *w, const void *p, size_t len, struct fe_err *err)
{
    errno = 0;
    if (fwrite(p, 1, len, w->file) == len)
        return 0;
    w->broken = -(errno ? errno : EIO);
    return fe_err_set(err, -w->broken, "%s: %s", w->name, strerror(-w->broken));
}

static int seek_to(struct fe_trace_writer *w, off_t at, struct fe_err *err)
{
    int ret = fe_trace_flush(w, err);
    errno = 0;
    if (ret == 0 && fseeko(w->file, at, SEEK_SET) < 0)
        return fe_err_set(err, errno ? errno : EIO, "%s: %s", w->name, strerror(errno ? errno : EIO));
    return ret;
}

static int put_super(struct fe_trace_writer *w, uint64_t entries, struct fe_err *err)
{
    uint8_t sector[MIN_SECTOR] = {0};
    fe_bytes_put(sector, 8, MAGIC);
    fe_bytes_put(sector + 8, 8, VERSION);
    fe_bytes_put(sector + 16, 8, entries);
    fe_bytes_put(sector + 24, 4, MIN_SECTOR);
    return put_bytes(w, sector, sizeof sector, err);
}

static int begin(struct fe_trace_writer *w, struct fe_err *err)
{
    struct log_writer *s = w->state;
    int flags = fcntl(fileno(w->file), F_GETFL); /* -1: it is no file of the host */
    s->begin = ftello(w->file);
    if (s->begin < 0 || (flags != -1 && (flags & O_APPEND)))
        return fe_err_set(err, EINVAL, "%s: a log of dm-log-writes is a file, because its first "
                          "sector counts the entries; -o FILE writes one", w->name);
    return put_super(w, 0, err);
}

/* Writes the entry of a record, with its data. */
static int log_rec(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err)
{
    struct log_writer *s = w->state;
    uint8_t sector[MIN_SECTOR] = {0};
    uint64_t flags = rec->type == FE_REQ_FLUSH ? FLUSH : rec->type == FE_REQ_TRIM ? DISCARD : 0;
    int ret = 0;

    if (rec->type == FE_REQ_WRITE) {
        uint8_t *bytes = fe_table_grow(s->bytes, rec->len, &s->room, 1);
        if (!bytes)
            return fe_err_nomem(err, "what a request wrote", rec->len);
        s->bytes = bytes;
        ret = fe_data_get(w->opt.data, rec->data, rec->offset, rec->len, s->bytes, err);
    }
    fe_bytes_put(sector, 8, rec->offset / MIN_SECTOR);
    fe_bytes_put(sector + 8, 8, rec->len / MIN_SECTOR);
    fe_bytes_put(sector + 16, 8, rec->type == FE_TRACE_MARK ? MARK : flags | (rec->fua ? FUA : 0));
    if (rec->type == FE_TRACE_MARK) {
        fe_bytes_put(sector + 24, 8, strlen(rec->mark));
        memcpy(sector + ENTRY, rec->mark, strlen(rec->mark));
    }
    if (ret == 0)
        ret = put_bytes(w, sector, sizeof sector, err);
    if (ret == 0 && rec->type == FE_REQ_WRITE)
        ret = put_bytes(w, s->bytes, (size_t)rec->len, err);
    s->entries++;
    return ret;
}

/* Writes what was done before the write of this number, and is not written yet. */
static int log_loose(struct fe_trace_writer *w, uint64_t before, struct fe_err *err)
{
    struct waiting_list *l = &((struct log_writer *)w->state)->loose;
    size_t n = 0;
    int ret = 0;
    while (ret == 0 && n < l->n && l->at[n].number < before)
        ret = log_rec(w, &l->at[n++].rec, err);
    drop_first(l, n);
    return ret;
}

/* A request is done. */
static int complete(struct fe_trace_writer *w, const struct waiting *one, struct fe_err *err)
{
    struct log_writer *s = w->state;
    if (one->rec.type != FE_REQ_FLUSH && !one->rec.fua)
        return add(&s->loose, &one->rec, s->n_done++, err);
    int ret = one->rec.type == FE_REQ_FLUSH ? log_loose(w, one->number, err) : 0;
    return ret == 0 ? log_rec(w, &one->rec, err) : ret;
}

/* Completes what was done by then. */
static int complete_until(struct fe_trace_writer *w, uint64_t time_ns, struct fe_err *err)
{
    struct waiting_list *l = &((struct log_writer *)w->state)->open;
    size_t n = 0;
    int ret = 0;
    while (ret == 0 && n < l->n && l->at[n].rec.done_ns <= time_ns)
        ret = complete(w, &l->at[n++], err);
    drop_first(l, n);
    return ret;
}

/* What of a record the format cannot hold; NULL = nothing. */
static const char *refused(const struct fe_trace_writer *w, const struct fe_trace_rec *rec)
{
    if (rec->type == FE_REQ_READ)
        return "a read";
    if (rec->type == FE_REQ_WRITE && (!rec->data || !w->opt.data))
        return "a write whose data the trace does not have (trace-data=FILE of the server records "
               "them)";
    if (rec->status != FE_OK && rec->status != FE_CORRECTED)
        return "a request that has failed";
    return (rec->offset | rec->len) % MIN_SECTOR ? "sectors of less than 512 bytes" : NULL;
}

static int put(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err)
{
    struct log_writer *s = w->state;
    const char *what = refused(w, rec);
    if (what)
        return fe_trace_cannot(w, err, what);
    int ret = complete_until(w, rec->time_ns, err);
    if (ret < 0)
        return ret;
    return rec->type == FE_TRACE_MARK || !rec->done_ns ? log_rec(w, rec, err)
                                                       : add(&s->open, rec, s->n_done, err);
}

static int finish(struct fe_trace_writer *w, struct fe_err *err)
{
    struct log_writer *s = w->state;
    int ret = complete_until(w, UINT64_MAX, err);
    if (ret == 0)
        ret = log_loose(w, UINT64_MAX, err);
    off_t end = ftello(w->file);
    if (ret == 0)
        ret = seek_to(w, s->begin, err);
    if (ret == 0)
        ret = put_super(w, s->entries, err);
    return ret == 0 ? seek_to(w, end, err) : ret;
}

static void free_writer(void *state)
{
    struct log_writer *s = state;
    free(s->open.at);
    free(s->loose.at);
    free(s->bytes);
}

const struct fe_trace_format fe_trace_dmlogwrites = {
    .name = "dm-log-writes",
    .summary = "the log of the device mapper's log-writes, without times and reads",
    .reader_state = sizeof(struct log_reader),
    .writer_state = sizeof(struct log_writer),
    .starts = starts,
    .take = take,
    .take_bytes = ENTRY + FE_TRACE_MARK_MAX,
    .end = end,
    .free_state = free_reader,
    .holds_marks = true,
    .wants_data = true,
    .begin = begin,
    .put = put,
    .finish = finish,
    .free_writer = free_writer,
};
