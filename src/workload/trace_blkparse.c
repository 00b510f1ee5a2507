/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The default text output of blkparse.
 *
 *       8,0    3       11     0.009507758   697  D   W 223490 + 56 [kjournald]
 *       dev    cpu     seq    seconds       pid  act rwbs sector + sectors [process]
 *
 * A request passes through many events: it is queued, merged, issued and completed.  Only one
 * kind of event makes records.  By default that is D, the moment at which the driver gets the
 * request, because that is what a device sees.  Events of other kinds are counted as skipped.
 * Sectors have 512 bytes; in events D they count from the start of the whole disk.
 *
 * The field RWBS consists of
 *
 *     [F]           a flush in front of the rest
 *     D W R or N    discard, write, read, nothing
 *     letters       F FUA, A readahead, B barrier, S sync, M metadata, E secure erase
 *
 * So FWFS with sectors gives two records, a flush and a FUA write.  FN or FWS without sectors
 * gives one flush.  Packet commands have no sectors and are skipped.
 *
 * blkparse ends with a summary of indented lines "name: value".
 */
#include "workload/trace_format.h"

#include "base/num.h"
#include "workload/number.h"

#include <ctype.h>
#include <errno.h>

enum { SECTOR = 512, MAX_DEVICE = 32 };

struct blkparse_reader {
    char device[MAX_DEVICE]; /* the device of all requests so far; empty = none yet */
    bool in_summary;
    bool other_events, chosen_events;
};

struct event {
    struct fe_span device, action, rwbs, rest;
    uint64_t time_ns, pid;
};

static bool is_device(struct fe_span s)
{
    const char *comma = memchr(s.p, ',', s.len);
    uint64_t major, minor;

    return comma && s.len < MAX_DEVICE &&
           fe_number_u64(s.p, (size_t)(comma - s.p), &major) &&
           fe_number_u64(comma + 1, s.len - (size_t)(comma - s.p) - 1, &minor);
}

/* Parses SECONDS.NNNNNNNNN.  Returns false if it is something else, or 2^64 ns and more. */
static bool parse_time(struct fe_span s, uint64_t *ret_ns)
{
    const char *dot = memchr(s.p, '.', s.len);
    uint64_t sec, ns;

    if (!dot || s.len - (size_t)(dot - s.p) != 10 ||
        !fe_number_u64(s.p, (size_t)(dot - s.p), &sec) || !fe_number_u64(dot + 1, 9, &ns) ||
        !fe_mul_ok(sec, FE_NS_PER_S, &sec))
        return false;
    return !__builtin_add_overflow(sec, ns, ret_ns);
}

/* Whether c is one of the characters of set.  strchr() would find a NUL in every set, and a line
 * may hold one. */
static bool is_one_of(char c, const char *set)
{
    return memchr(set, c, strlen(set)) != NULL;
}

/* Parses the seven fields that every event has.  Returns false if the line is no event. */
static bool parse_header(struct fe_span line, struct event *ret)
{
    struct fe_span word[5];
    uint64_t n;

    for (int i = 0; i < 5; i++)
        word[i] = fe_span_word(&line);
    ret->device = word[0];
    ret->action = fe_span_word(&line);
    ret->rwbs = fe_span_word(&line);
    ret->rest = line;
    return is_device(word[0]) && fe_number_u64(word[1].p, word[1].len, &n) &&
           fe_number_u64(word[2].p, word[2].len, &n) && parse_time(word[3], &ret->time_ns) &&
           fe_number_u64(word[4].p, word[4].len, &ret->pid) && ret->pid <= UINT32_MAX &&
           ret->action.len > 0 &&
           ret->action.len <= 2 && is_one_of(ret->action.p[0], "QGIDCMFARSPUTXBm");
}

static bool detect(struct fe_span line)
{
    struct event event;
    return parse_header(line, &event);
}

struct rwbs {
    bool flush, fua;
    char op; /* D, W, R or N */
};

static bool parse_rwbs(struct fe_span s, struct rwbs *ret)
{
    size_t i = 0;

    *ret = (struct rwbs){0};
    if (s.len > 0 && s.p[0] == 'F') {
        ret->flush = true;
        i = 1;
    }
    if (i == s.len || !is_one_of(s.p[i], "DWRN"))
        return false;
    ret->op = s.p[i++];
    for (; i < s.len; i++) {
        if (s.p[i] == 'F')
            ret->fua = true;
        else if (!is_one_of(s.p[i], "ABSME"))
            return false;
    }
    return true;
}

/* Parses "SECTOR + COUNT ...".  Returns 1, 0 if the event has no sectors, or -1 if this is
 * neither. */
static int parse_sectors(struct fe_span rest, uint64_t *ret_offset, uint64_t *ret_len)
{
    struct fe_span first = fe_span_word(&rest);
    struct fe_span plus = fe_span_word(&rest);
    struct fe_span count = fe_span_word(&rest);
    uint64_t sector, n;

    if (first.len > 0 && first.p[0] == '[')
        return 0;
    if (!fe_number_u64(first.p, first.len, &sector))
        return -1;
    if (plus.len > 0 && (plus.p[0] == '[' || plus.p[0] == '('))
        return 0;
    if (!fe_span_is(plus, "+") || !fe_number_u64(count.p, count.len, &n) ||
        !fe_mul_ok(sector, SECTOR, ret_offset) || !fe_mul_ok(n, SECTOR, ret_len))
        return -1;
    return n > 0;
}

/* Returns 1 if requests of this device are wanted, 0 if not, or -EINVAL with message. */
static int wanted(struct fe_trace_reader *r, struct fe_span device, struct fe_err *err)
{
    struct blkparse_reader *s = r->state;

    if (r->opt.device)
        return fe_span_is(device, r->opt.device);
    if (s->device[0] == '\0')
        memcpy(s->device, device.p, device.len);
    if (!fe_span_is(device, s->device))
        return fe_trace_bad(r, err, "requests of a second device %.*s after %s; say which one",
                            fe_span_shown(device), device.p, s->device);
    return 1;
}

/* Makes the records of an event of the chosen kind.  Returns what parse returns. */
static int make_records(struct fe_trace_reader *r, const struct event *event,
                        struct fe_trace_rec *rec, struct fe_err *err)
{
    struct rwbs rwbs;
    struct fe_trace_rec io = *rec;

    if (!parse_rwbs(event->rwbs, &rwbs))
        return fe_trace_bad(r, err, "'%.*s' is not an RWBS field", fe_span_shown(event->rwbs),
                            event->rwbs.p);
    int sectors = parse_sectors(event->rest, &io.offset, &io.len);
    if (sectors < 0)
        return fe_trace_bad(r, err, "expected SECTOR + COUNT behind '%.*s'",
                            fe_span_shown(event->rwbs), event->rwbs.p);
    if (rwbs.op == 'N')
        sectors = 0;
    if (!rwbs.flush && sectors == 0)
        return fe_trace_skip(r);
    int ret = wanted(r, event->device, err);
    if (ret <= 0)
        return ret < 0 ? ret : fe_trace_skip(r);

    io.type = rwbs.op == 'D' ? FE_REQ_TRIM : rwbs.op == 'W' ? FE_REQ_WRITE : FE_REQ_READ;
    io.fua = rwbs.fua && io.type != FE_REQ_READ;
    if (!rwbs.flush) {
        *rec = io;
        return 1;
    }
    rec->type = FE_REQ_FLUSH;
    if (sectors)
        fe_trace_push(r, &io);
    return 1;
}

/* Whether this is a line of the summary at the end. */
static bool is_summary(struct blkparse_reader *s, struct fe_span line)
{
    struct fe_span rest = line, word = fe_span_word(&rest);

    if (!s->in_summary)
        s->in_summary = fe_span_is(word, "Total") ||
                        (word.len > 3 && memcmp(word.p, "CPU", 3) == 0 &&
                         isdigit((unsigned char)word.p[3]));
    return s->in_summary && word.len > 0 && isalpha((unsigned char)word.p[0]) &&
           memchr(line.p, ':', line.len);
}

static int parse(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *rec,
                 struct fe_err *err)
{
    struct blkparse_reader *s = r->state;
    struct fe_span rest = line;
    struct event event;

    if (fe_span_word(&rest).len == 0)
        return 0;
    if (is_summary(s, line))
        return 0;
    if (s->in_summary || !parse_header(line, &event))
        return fe_trace_bad(r, err, "not an event as blkparse prints it by default (MAJ,MIN CPU "
                                    "SEQ SECONDS PID ACTION RWBS ...)");
    char chosen = r->opt.event ? r->opt.event : 'D';
    if (event.action.len != 1 || event.action.p[0] != chosen) {
        s->other_events = true;
        return fe_trace_skip(r);
    }
    s->chosen_events = true;
    rec->time_ns = event.time_ns;
    rec->stream = (uint32_t)event.pid;
    return make_records(r, &event, rec, err);
}

static int end(struct fe_trace_reader *r, struct fe_err *err)
{
    struct blkparse_reader *s = r->state;

    if (s->other_events && !s->chosen_events)
        return fe_err_set(err, EINVAL, "%s: has no events of kind %c; choose another kind",
                          r->name, r->opt.event ? r->opt.event : 'D');
    return 0;
}

static int put(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err)
{
    static const char *const rwbs[] = {
        [FE_REQ_READ] = "R",
        [FE_REQ_WRITE] = "W",
        [FE_REQ_TRIM] = "D",
        [FE_REQ_FLUSH] = "FN",
    };
    int code = rec->think_ns ? fe_trace_cannot(w, err, "think time") : 0;
    char *p = fe_trace_room(w, err);

    if (code < 0 || !p)
        return code < 0 ? code : w->broken;
    p += sprintf(p, "%3d,%-3d %2d %8llu %5llu.%09llu %5u %2s %3s ", 8, 0, 0,
                 (unsigned long long)w->n_written + 1,
                 (unsigned long long)(rec->time_ns / FE_NS_PER_S),
                 (unsigned long long)(rec->time_ns % FE_NS_PER_S), rec->stream, "D",
                 rec->fua ? (rec->type == FE_REQ_TRIM ? "DF" : "WF") : rwbs[rec->type]);
    if (rec->type != FE_REQ_FLUSH)
        p += sprintf(p, "%llu + %llu ", (unsigned long long)(rec->offset / SECTOR),
                     (unsigned long long)(rec->len / SECTOR));
    p = fe_put_text(p, "[flashemu]\n");
    return fe_trace_used(w, p);
}

const struct fe_trace_format fe_trace_blkparse = {
    .name = "blkparse",
    .summary = "what blkparse prints by default (--from-device MAJ,MIN)",
    .reader_state = sizeof(struct blkparse_reader),
    .detect = detect,
    .parse = parse,
    .end = end,
    .put = put,
};
