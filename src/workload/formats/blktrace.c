/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of blktrace, NAME.blktrace.CPU, and what `blktrace -o -` prints: struct blk_io_trace of
 * include/uapi/linux/blktrace_api.h, in the byte order of the machine that recorded.
 *
 *     u32 magic 0x65617400 | version 7   u32 sequence   u64 time, ns   u64 sector of 512 bytes
 *     u32 bytes   u32 action   u32 pid   u32 device   u32 cpu   u16 error   u16 bytes that follow
 *
 * The low half of the action is what happened, the high half a set of flags.  event.h says which
 * events make requests.  Times count from the first event, as blkparse has it.
 *
 * A file has the events of one processor; the tool puts all files of a trace together.  In messages
 * the number of the event stands where other formats have the line.
 */
#include "workload/formats/event.h"

#include "base/bytes.h"

#include <errno.h>

enum { HEAD = 48, MAGIC = 0x65617400, VERSION = 7 };

/* Flags of the high half. */
enum {
    WRITE = 1 << 1, FLUSH = 1 << 2, PACKET = 1 << 9, NOTIFY = 1 << 10, DISCARD = 1 << 13,
    FUA = 1 << 15,
};

struct blktrace_reader {
    struct fe_trace_events events;
    bool known, big; /* the byte order */
    uint64_t follow; /* bytes behind the last event that have not been passed over */
};

static bool is_magic(const uint8_t *p, bool big)
{
    return (fe_bytes_get(p, 4, big) & 0xffffff00) == MAGIC;
}

static bool starts(const uint8_t *p, size_t n)
{
    return n >= 4 && (is_magic(p, false) || is_magic(p, true));
}

/* What the low half of the action is in blkparse's letters. */
static char kind_of(uint32_t action)
{
    switch (action & 0xff) {
    case 1:
        return 'Q';
    case 4:
        return 'G';
    case 7:
        return 'D';
    case 8:
        return 'C';
    case 12:
        return 'I';
    default:
        return 0;
    }
}

static int make_event(struct fe_trace_reader *r, const uint8_t *p, bool big,
                      struct fe_trace_rec *rec, struct fe_err *err)
{
    uint32_t action = (uint32_t)fe_bytes_get(p + 28, 4, big), flags = action >> 16;
    uint32_t device = (uint32_t)fe_bytes_get(p + 36, 4, big);
    uint64_t sector = fe_bytes_get(p + 16, 8, big);
    struct fe_trace_event event = {.kind = kind_of(action)};
    char name[FE_TRACE_DEVICE];

    if (flags & NOTIFY)
        return fe_trace_skip(r);
    event.time_ns = fe_trace_since_first(r, fe_bytes_get(p + 8, 8, big));
    if (!fe_trace_event_matters(r, event.kind) || (flags & PACKET))
        return fe_trace_skip(r);
    snprintf(name, sizeof name, "%u,%u", device >> 20, device & 0xfffff);
    event.device = (struct fe_span){name, strlen(name)};
    event.pid = (uint32_t)fe_bytes_get(p + 32, 4, big);
    event.len = fe_bytes_get(p + 24, 4, big);
    if (event.len > 0 && sector > FE_TRACE_MAX_END / FE_SECTOR)
        return fe_trace_bad(r, err, "sector %llu is beyond 2^63 bytes", (unsigned long long)sector);
    event.offset = event.len > 0 ? sector * FE_SECTOR : 0;
    event.rwbs = (struct fe_trace_rwbs){
        .flush = flags & FLUSH, .fua = flags & FUA,
        .op = flags & DISCARD ? 'D' : flags & WRITE ? 'W' : event.len > 0 ? 'R' : 'N',
    };
    return fe_trace_take_event(r, &event, rec, err);
}

static void pass(struct fe_trace_reader *r, size_t n)
{
    r->start += n;
    r->consumed += n;
}

static int take(struct fe_trace_reader *r, struct fe_trace_rec *rec, struct fe_err *err)
{
    struct blktrace_reader *s = r->state;
    size_t have = r->end - r->start;
    const uint8_t *p = (const uint8_t *)r->buf + r->start;

    if (s->follow > 0) {
        size_t n = have < s->follow ? have : (size_t)s->follow;
        s->follow -= n;
        pass(r, n);
        return 0;
    }
    rec->line = ++r->line;
    if (have < HEAD)
        return fe_trace_bad(r, err, "blktrace's file ends in the middle of an event");
    if (!s->known) {
        s->known = true;
        s->big = is_magic(p, true);
    }
    if (!is_magic(p, s->big))
        return fe_trace_bad(r, err, "an event of blktrace begins with 0x656174.., not 0x%08x",
                            (unsigned)fe_bytes_get(p, 4, s->big));
    if ((fe_bytes_get(p, 4, s->big) & 0xff) != VERSION)
        return fe_trace_bad(r, err, "version %u of blktrace's events, not %d; blkparse reads it",
                            (unsigned)(fe_bytes_get(p, 4, s->big) & 0xff), VERSION);
    s->follow = fe_bytes_get(p + 46, 2, s->big);
    int ret = make_event(r, p, s->big, rec, err);
    if (ret >= 0)
        pass(r, HEAD);
    return ret;
}

static int end(struct fe_trace_reader *r, struct fe_err *err)
{
    const struct blktrace_reader *s = r->state;

    if (s->follow > 0)
        return fe_trace_bad(r, err, "blktrace's file ends in the middle of an event");
    if (s->events.other && !s->events.chosen)
        return fe_err_set(err, EINVAL, "%s: blktrace's own file, without events of kind %c; blkparse "
                          "-i prints what it has", r->name, r->opt.event ? r->opt.event : 'D');
    return 0;
}

const struct fe_trace_format fe_trace_blktrace = {
    .name = "blktrace",
    .summary = "blktrace's own files, all processors (--from-device MAJ,MIN)",
    .reader_state = sizeof(struct blktrace_reader),
    .starts = starts,
    .take = take,
    .take_bytes = HEAD,
    .end = end,
};
