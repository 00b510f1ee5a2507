/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The block events of ftrace, trace-cmd report and perf script: include/trace/events/block.h of Linux.
 *
 *     jbd2/mmcblk0p2-89 [000] d..2 474.223046: block_rq_issue: 179,0 WS 4096 () 4717976 + 8 [jbd2]
 *     <idle>-0          [000] ..s2 474.492701: block_rq_complete: 179,0 WS () 4717976 + 8 [0]
 *     jbd2/mmcblk0p2-   128 [001]  474.223046: block:block_rq_issue: 179,0 WS 4096 () 4717976 + 8 [jbd2]
 *
 * block_rq_issue is the D of blkparse, and the others have letters as well; event.h says which
 * of them make requests.  Events with other names are counted and skipped, and so are lines that are
 * no event: comments with '#', and what trace-cmd prints first.
 *
 * Behind the event's name stand the device, RWBS, and in front of '+' and behind it the sector and the
 * number of sectors of 512 bytes.  What stands between, bytes and a command, depends on the event.
 *
 * Times are in seconds since the host's start, so the first event is the start of the trace.  `trace`
 * has the events of all processors in order; a raw file of one processor does not.
 *
 * WFS is a write with FUA (blk_fill_rwbs of Linux), as O_DSYNC sends it.  But what a journal commits
 * is always a flush and a write with FUA, which the block layer issues as two requests: FF, then WFS.
 * People filter events by bytes, or paste the slow one alone, and then the flush is missing that the
 * device got.  So a write with FUA of jbd2 has it in front, unless the trace has one; and so has one of
 * mmcqd, which issued the requests of everybody while no host sent FUA for O_DSYNC (up to 4.15).
 */
#include "workload/formats/event.h"

#include "workload/formats/columns.h"
#include "workload/number.h"

static const struct {
    char kind;
    const char *name;
} names[] = {
    {'D', "block_rq_issue"}, {'C', "block_rq_complete"}, {'I', "block_rq_insert"},
    {'Q', "block_bio_queue"}, {'G', "block_getrq"},
};

struct line {
    struct fe_span event, rest; /* the event's name without "block:", and what stands behind */
    uint64_t time_ns, pid;
};

struct ftrace_reader {
    struct fe_trace_events events;
    bool flushed; /* there was a flush behind the last write with FUA */
};

static struct fe_span without_colon(struct fe_span s)
{
    return (struct fe_span){s.p, s.len > 0 && s.p[s.len - 1] == ':' ? s.len - 1 : 0};
}

/* The process: digits behind the last hyphen (ftrace), or the whole word (perf). */
static bool take_pid(struct fe_span word, uint64_t *ret)
{
    const char *end = word.p + word.len, *p = end;

    while (p > word.p && p[-1] >= '0' && p[-1] <= '9')
        p--;
    if (p == end || (p > word.p && p[-1] != '-' && p[-1] != '/'))
        return false;
    return fe_number_u64(p, (size_t)(end - p), ret) && *ret <= UINT32_MAX;
}

/* Finds "[CPU] ... TIME: EVENT:".  Returns false if the line is no event. */
static bool split(struct fe_span text, struct line *ret)
{
    struct fe_span word, last = {"", 0};
    bool has_cpu = false;

    *ret = (struct line){0};
    for (int i = 0; i < 24 && (word = fe_span_word(&text)).len > 0; i++) {
        if (!has_cpu && word.len > 2 && word.p[0] == '[' && word.p[word.len - 1] == ']') {
            uint64_t cpu;
            has_cpu = fe_number_u64(word.p + 1, word.len - 2, &cpu);
            continue;
        }
        if (!has_cpu)
            take_pid(word, &ret->pid);
        struct fe_span time = without_colon(last);
        if (has_cpu && memchr(time.p, '.', time.len) && without_colon(word).len > 0 &&
            fe_columns_time(time, 1000000000, true, &ret->time_ns)) {
            ret->event = without_colon(word);
            ret->rest = text;
            if (ret->event.len > 6 && memcmp(ret->event.p, "block:", 6) == 0)
                ret->event = (struct fe_span){ret->event.p + 6, ret->event.len - 6};
            return true;
        }
        last = word;
    }
    return false;
}

static bool is_preamble(struct fe_span line)
{
    static const char *const first[] = {"#", "cpus=", "version", "CPU", "trace-cmd"};
    struct fe_span word = fe_span_word(&line);

    if (word.len == 0)
        return true;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (fe_span_begins(word, first[i]))
            return true;
    return false;
}

static bool detect(struct fe_span line)
{
    struct line l;

    return fe_span_begins(line, "# tracer: ") || fe_span_begins(line, "cpus=") || split(line, &l);
}

static char kind_of(struct fe_span event)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fe_span_is(event, names[i].name))
            return names[i].kind;
    return 0;
}

/* Finds "SECTOR + COUNT" behind RWBS. */
static bool find_sectors(struct fe_span rest, uint64_t *ret_offset, uint64_t *ret_len)
{
    struct fe_span before = rest;

    while (before.len > 0) {
        struct fe_span here = before, word = fe_span_word(&before), after = before;
        if (word.len > 0 && fe_span_is(fe_span_word(&after), "+"))
            return fe_trace_parse_sectors(here, ret_offset, ret_len) >= 0;
    }
    return false;
}

/* Whether the line is of a process whose writes with FUA are those of a journal. */
static bool is_journal(struct fe_span text)
{
    struct fe_span word = fe_span_word(&text);

    return fe_span_begins(word, "jbd2/") || fe_span_begins(word, "mmcqd/");
}

/* Gives a commit the flush that the trace does not have. */
static void complete_commit(struct ftrace_reader *s, struct fe_span text, struct fe_trace_event *event)
{
    struct fe_trace_rwbs *rwbs = &event->rwbs;
    bool commits = event->kind == 'D' && rwbs->op == 'W' && rwbs->fua && event->len > 0;

    if (commits && !s->flushed && is_journal(text))
        rwbs->flush = true;
    if (event->kind == 'D' && (commits || rwbs->flush))
        s->flushed = !commits;
}

static int parse(struct fe_trace_reader *r, struct fe_span text, struct fe_trace_rec *rec,
                 struct fe_err *err)
{
    struct fe_trace_event event = {0};
    struct line l;

    if (!split(text, &l)) {
        if (is_preamble(text))
            return 0;
        return fe_trace_bad(r, err, "not an event as ftrace, trace-cmd report or perf script print "
                                    "it (TASK-PID [CPU] SECONDS: EVENT: ...)");
    }
    event.kind = kind_of(l.event);
    if (!event.kind)
        return fe_trace_skip(r);
    if (!fe_trace_event_matters(r, event.kind))
        return fe_trace_skip(r);
    event.device = fe_span_word(&l.rest);
    struct fe_span rwbs = fe_span_word(&l.rest);
    if (!fe_trace_is_device(event.device))
        return fe_trace_bad(r, err, "expected MAJ,MIN behind '%.*s'", fe_span_shown(l.event),
                            l.event.p);
    if (!fe_trace_parse_rwbs(rwbs, &event.rwbs))
        return fe_trace_bad(r, err, "'%.*s' is not an RWBS field", fe_span_shown(rwbs), rwbs.p);
    if (!find_sectors(l.rest, &event.offset, &event.len))
        return fe_trace_bad(r, err, "expected SECTOR + COUNT behind '%.*s'", fe_span_shown(rwbs),
                            rwbs.p);
    event.time_ns = fe_trace_since_first(r, l.time_ns);
    event.pid = (uint32_t)l.pid;
    complete_commit(r->state, text, &event);
    return fe_trace_take_event(r, &event, rec, err);
}

const struct fe_trace_format fe_trace_ftrace = {
    .name = "ftrace",
    .summary = "block events of ftrace, trace-cmd and perf script (--from-device MAJ,MIN)",
    .reader_state = sizeof(struct ftrace_reader),
    .detect = detect,
    .parse = parse,
    .end = fe_trace_end_events,
};
