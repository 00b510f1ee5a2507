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
 */
#include "workload/formats/format.h"
#include "workload/formats/hold.h"

#include "base/num.h"

enum { SUPER = 28, ENTRY = 32, VERSION = 1, MIN_SECTOR = 512, MAX_SECTOR = 1 << 16 };
enum { FLUSH = 1, FUA = 2, DISCARD = 4, MARK = 8, METADATA = 16 };

#define MAGIC UINT64_C(0x6a736677736872)

struct log_reader {
    uint32_t sector_size; /* 0 = the first sector has not been read */
    uint64_t entries;     /* that are left */
    uint64_t follow;      /* bytes of the last entry that have not been passed over */
};

static uint64_t number(const uint8_t *p, unsigned bytes)
{
    uint64_t n = 0;

    for (unsigned i = bytes; i-- > 0;)
        n = n << 8 | p[i];
    return n;
}

static bool starts(const uint8_t *p, size_t n)
{
    return n >= 8 && number(p, 8) == MAGIC;
}

static int take_super(struct fe_trace_reader *r, const uint8_t *p, size_t have, struct fe_err *err)
{
    struct log_reader *s = r->state;

    if (have < SUPER || !starts(p, have))
        return fe_trace_bad(r, err, "does not begin as a log of dm-log-writes does");
    uint64_t version = number(p + 8, 8), size = number(p + 24, 4);
    if (version != VERSION)
        return fe_trace_bad(r, err, "version %llu of dm-log-writes, not %d",
                            (unsigned long long)version, VERSION);
    if (size < MIN_SECTOR || size > MAX_SECTOR || (size & (size - 1)))
        return fe_trace_bad(r, err, "sector size %llu is not a power of two from %d to %d",
                            (unsigned long long)size, MIN_SECTOR, MAX_SECTOR);
    s->sector_size = (uint32_t)size;
    s->entries = number(p + 16, 8);
    s->follow = size;
    return 0;
}

/* The text follows the entry, in the same sector. */
static int take_mark(struct fe_trace_reader *r, const uint8_t *p, size_t have,
                     struct fe_trace_rec *rec, struct fe_err *err)
{
    const struct log_reader *s = r->state;
    uint64_t len = number(p + 24, 8);

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
    uint64_t sectors = number(p + 8, 8), flags = number(p + 16, 8), bytes;
    if (flags & ~(uint64_t)(FLUSH | FUA | DISCARD | MARK | METADATA))
        return fe_trace_bad(r, err, "flags 0x%llx are not those of an entry",
                            (unsigned long long)flags);
    if (!fe_mul_ok(sectors, s->sector_size, &bytes) || bytes > FE_TRACE_MAX_END ||
        !fe_mul_ok(number(p, 8), s->sector_size, &rec->offset))
        return fe_trace_bad(r, err, "sector or number of sectors is beyond 2^63 bytes");
    s->follow = s->sector_size + (flags & DISCARD ? 0 : bytes);
    s->entries--;
    if (flags & MARK)
        return take_mark(r, p, have, rec, err);
    if (bytes == 0 && !(flags & FLUSH))
        return fe_trace_skip(r);
    rec->len = bytes;
    rec->type = flags & DISCARD ? FE_REQ_TRIM : FE_REQ_WRITE;
    rec->fua = flags & FUA;
    if (!(flags & FLUSH))
        return 1;
    const struct fe_trace_rec flush = {.type = FE_REQ_FLUSH, .line = rec->line};
    int ret = fe_trace_hold(r, &flush, false, err);
    return ret == 0 && bytes > 0 ? fe_trace_hold(r, rec, false, err) : ret;
}

static int take(struct fe_trace_reader *r, struct fe_trace_rec *rec, struct fe_err *err)
{
    struct log_reader *s = r->state;
    size_t have = r->end - r->start, n = have;
    const uint8_t *p = (const uint8_t *)r->buf + r->start;
    int ret = 0;

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

    if (s->follow > 0 || s->entries > 0)
        return fe_trace_bad(r, err, "the log ends before its last entry");
    return 0;
}

const struct fe_trace_format fe_trace_dmlogwrites = {
    .name = "dm-log-writes",
    .summary = "the log of the device mapper's log-writes, without times and reads",
    .reader_state = sizeof(struct log_reader),
    .starts = starts,
    .take = take,
    .take_bytes = ENTRY + FE_TRACE_MARK_MAX,
    .end = end,
};
