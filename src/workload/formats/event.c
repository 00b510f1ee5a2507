/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/formats/event.h"

#include "base/num.h"
#include "workload/number.h"
#include "workload/formats/hold.h"

#include <errno.h>

enum { MAX_DEVICE = 32 };

bool fe_trace_is_device(struct fe_span s)
{
    const char *comma = memchr(s.p, ',', s.len);
    uint64_t major, minor;

    return comma && s.len < MAX_DEVICE &&
           fe_number_u64(s.p, (size_t)(comma - s.p), &major) &&
           fe_number_u64(comma + 1, s.len - (size_t)(comma - s.p) - 1, &minor);
}

/* Whether c is one of the characters of set.  strchr() would find a NUL in every set, and a line
 * may hold one. */
static bool is_one_of(char c, const char *set)
{
    return memchr(set, c, strlen(set)) != NULL;
}

bool fe_trace_parse_rwbs(struct fe_span s, struct fe_trace_rwbs *ret)
{
    size_t i = 0;

    *ret = (struct fe_trace_rwbs){0};
    if (s.len > 0 && s.p[0] == 'F') {
        ret->flush = true;
        i = 1;
    }
    if (i == s.len || !is_one_of(s.p[i], ret->flush ? "DWRNF" : "DWRN"))
        return false;
    ret->op = s.p[i] == 'F' ? 'N' : s.p[i];
    for (i++; i < s.len; i++) {
        if (s.p[i] == 'F')
            ret->fua = true;
        else if (!is_one_of(s.p[i], "ABSMEU"))
            return false;
    }
    return true;
}

int fe_trace_parse_sectors(struct fe_span rest, uint64_t *ret_offset, uint64_t *ret_len)
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
    if (!fe_span_is(plus, "+") || !fe_number_u64(count.p, count.len, &n))
        return -1;
    if (n == 0) /* a flush has no sector, and the kernel prints -1 */
        return 0;
    return fe_mul_ok(sector, FE_SECTOR, ret_offset) && fe_mul_ok(n, FE_SECTOR, ret_len) ? 1 : -1;
}

static char chosen_kind(const struct fe_trace_reader *r)
{
    return r->opt.event ? r->opt.event : 'D';
}

bool fe_trace_event_matters(struct fe_trace_reader *r, char kind)
{
    struct fe_trace_events *s = r->state;
    bool chosen = kind == chosen_kind(r);

    s->chosen = s->chosen || chosen;
    s->other = s->other || !chosen;
    return chosen || kind == 'C';
}

/* A completion.  The request may belong to a device that nobody asked for; then no record fits. */
static int take_completion(struct fe_trace_reader *r, const struct fe_trace_event *event,
                           const struct fe_trace_rec *io)
{
    const char *device = r->opt.device ? r->opt.device : r->device;

    if (event->device.len == 0 || fe_span_is(event->device, device))
        fe_trace_complete(r, io, event->time_ns);
    return fe_trace_skip(r);
}

int fe_trace_take_event(struct fe_trace_reader *r, const struct fe_trace_event *event,
                        const struct fe_trace_rec *rec, struct fe_err *err)
{
    const struct fe_trace_rwbs *rwbs = &event->rwbs;
    struct fe_trace_rec io = *rec, flush = *rec;
    bool data = event->len > 0 && rwbs->op != 'N';

    if (!rwbs->flush && !data)
        return fe_trace_skip(r);
    io.time_ns = flush.time_ns = event->time_ns;
    io.stream = flush.stream = event->pid;
    flush.type = FE_REQ_FLUSH;
    if (data) {
        io.type = rwbs->op == 'D' ? FE_REQ_TRIM : rwbs->op == 'W' ? FE_REQ_WRITE : FE_REQ_READ;
        io.fua = rwbs->fua && io.type != FE_REQ_READ;
        io.offset = event->offset;
        io.len = event->len;
    }
    if (event->kind != chosen_kind(r))
        return take_completion(r, event, data ? &io : &flush);
    int ret = fe_trace_wanted(r, event->device, err);
    if (ret <= 0)
        return ret < 0 ? ret : fe_trace_skip(r);
    bool waits = event->kind != 'C';
    if (rwbs->flush)
        ret = fe_trace_hold(r, &flush, waits && !data, err);
    if (ret >= 0 && data)
        ret = fe_trace_hold(r, &io, waits, err);
    return ret < 0 ? ret : 0;
}

int fe_trace_end_events(struct fe_trace_reader *r, struct fe_err *err)
{
    const struct fe_trace_events *s = r->state;

    if (s->other && !s->chosen)
        return fe_err_set(err, EINVAL, "%s: has no events of kind %c; choose another kind",
                          r->name, chosen_kind(r));
    return 0;
}
