/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text output of blkparse (blktrace 1.2.0: blkparse.c, blkparse_fmt.c).
 *
 *       8,0    3       11     0.009507758   697  D   W 223490 + 56 [kjournald]
 *       dev    cpu     seq    seconds       pid  act rwbs sector + sectors [process]
 *
 * event.h says which events make requests.  Sectors have 512 bytes; in events D they count from
 * the start of the whole disk.
 *
 * With -f the fields stand in any order.  A line is read if it has the time, somewhere behind it the
 * action with RWBS and the sectors right behind the action, and in front of the action nothing but
 * numbers and the device; the number right in front of the action is the process.
 *
 * blkparse also prints on standard output: lines "Input file NAME added", first on a terminal and last
 * in a pipe; and at the end, for each device, a summary of blocks "CPU0 (sda):" and "Total (sda):" of
 * indented lines "name: value", after "PROCESS (PID)" with -s.
 *
 * blkparse sorts the events of all processors; what it leaves out of order is put in order.
 */
#include "workload/formats/event.h"

#include "base/num.h"
#include "workload/number.h"

#include <ctype.h>

struct blkparse_reader {
    struct fe_trace_events events;
    bool in_summary;
};

struct header {
    struct fe_span device, action, rest;
    uint64_t time_ns, pid;
};

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

static bool is_action(struct fe_span s)
{
    static const char actions[] = "QGIDCMFARSPUTXBm";
    return s.len > 0 && s.len <= 2 && memchr(actions, s.p[0], sizeof actions - 1);
}

/* Parses what stands in front of RWBS.  Returns false if the line is no event. */
static bool parse_header(struct fe_span line, struct header *ret)
{
    bool has_time = false;

    *ret = (struct header){.device = {"", 0}};
    for (int i = 0; i < 8; i++) {
        struct fe_span word = fe_span_word(&line);
        if (has_time && is_action(word)) {
            ret->action = word;
            ret->rest = line;
            return ret->pid <= UINT32_MAX;
        }
        ret->pid = 0;
        if (!has_time && parse_time(word, &ret->time_ns))
            has_time = true;
        else if (ret->device.len == 0 && fe_trace_is_device(word))
            ret->device = word;
        else if (!fe_number_u64(word.p, word.len, &ret->pid))
            return false;
    }
    return false;
}

/* "Input file NAME added", as blkparse tells on standard output what it reads. */
static bool is_input_line(struct fe_span line)
{
    static const char begin[] = "Input file ", end[] = " added";
    size_t len = sizeof end - 1;

    return fe_span_begins(line, begin) && line.len >= sizeof begin - 1 + len &&
           memcmp(line.p + line.len - len, end, len) == 0;
}

static bool detect(struct fe_span line)
{
    struct header header;
    struct fe_trace_rwbs rwbs;
    uint64_t offset, len;

    if (is_input_line(line))
        return true;
    if (!parse_header(line, &header))
        return false;
    struct fe_span word = fe_span_word(&header.rest);
    return header.device.len > 0 || (fe_trace_parse_rwbs(word, &rwbs) &&
                                     fe_trace_parse_sectors(header.rest, &offset, &len) > 0);
}

/* Whether the line is "WORDS (NUMBER)", the head of a process in the summary. */
static bool is_process(struct fe_span line)
{
    const char *paren = memrchr(line.p, '(', line.len);
    size_t at = paren ? (size_t)(paren - line.p) : 0;
    uint64_t pid;

    return at > 1 && line.p[at - 1] == ' ' && line.p[line.len - 1] == ')' &&
           fe_number_u64(paren + 1, line.len - at - 2, &pid);
}

/* Whether this is a line of the summary at the end. */
static bool is_summary(struct blkparse_reader *s, struct fe_span line)
{
    struct fe_span rest = line, word = fe_span_word(&rest);
    bool process = is_process(line);

    if (!s->in_summary)
        s->in_summary = process || fe_span_is(word, "Total") ||
                        fe_span_is(word, "Throughput") ||
                        (word.len > 3 && memcmp(word.p, "CPU", 3) == 0 &&
                         isdigit((unsigned char)word.p[3]));
    return s->in_summary && (process || (word.len > 0 && isalpha((unsigned char)word.p[0]) &&
                                         memchr(line.p, ':', line.len)));
}

static int parse(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *rec,
                 struct fe_err *err)
{
    struct fe_span rest = line;
    struct header header;
    struct fe_trace_event event = {0};

    if (fe_span_word(&rest).len == 0 || is_input_line(line) || is_summary(r->state, line))
        return 0;
    if (((struct blkparse_reader *)r->state)->in_summary || !parse_header(line, &header))
        return fe_trace_bad(r, err, "not an event as blkparse prints it by default (MAJ,MIN CPU "
                                    "SEQ SECONDS PID ACTION RWBS ...)");
    event.kind = header.action.len == 1 ? header.action.p[0] : 0;
    if (!fe_trace_event_matters(r, event.kind))
        return fe_trace_skip(r);
    struct fe_span rwbs = fe_span_word(&header.rest);
    if (!fe_trace_parse_rwbs(rwbs, &event.rwbs))
        return fe_trace_bad(r, err, "'%.*s' is not an RWBS field", fe_span_shown(rwbs), rwbs.p);
    if (fe_trace_parse_sectors(header.rest, &event.offset, &event.len) < 0)
        return fe_trace_bad(r, err, "expected SECTOR + COUNT behind '%.*s'", fe_span_shown(rwbs),
                            rwbs.p);
    event.device = header.device;
    event.time_ns = header.time_ns;
    event.pid = (uint32_t)header.pid;
    return fe_trace_take_event(r, &event, rec, err);
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
        p += sprintf(p, "%llu + %llu ", (unsigned long long)(rec->offset / FE_SECTOR),
                     (unsigned long long)(rec->len / FE_SECTOR));
    p = fe_put_text(p, "[flashemu]\n");
    return fe_trace_used(w, p);
}

const struct fe_trace_format fe_trace_blkparse = {
    .name = "blkparse",
    .summary = "what blkparse prints (--from-device MAJ,MIN)",
    .reader_state = sizeof(struct blkparse_reader),
    .detect = detect,
    .parse = parse,
    .end = fe_trace_end_events,
    .put = put,
};
