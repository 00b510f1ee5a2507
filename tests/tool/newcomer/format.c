/* SPDX-License-Identifier: BSD-3-Clause
 *
 * toy: the smallest trace format there is, for tests/tool/test_newcomer.py.  It is not part
 * of any build of flashemu.
 *
 *     toys
 *     0 r 4096 512
 *     125000 w 8192 512
 */
#include "workload/formats/format.h"

#include "workload/number.h"

static const char header[] = "toys";

static bool detect(struct fe_span line)
{
    return fe_span_is(line, header);
}

static int parse(struct fe_trace_reader *r, struct fe_span line, struct fe_trace_rec *rec,
                 struct fe_err *err)
{
    if (r->line == 1 && detect(line))
        return 0;
    struct fe_span time = fe_span_word(&line), op = fe_span_word(&line);
    struct fe_span offset = fe_span_word(&line), len = fe_span_word(&line);
    if (!fe_number_u64(time.p, time.len, &rec->time_ns) ||
        !fe_number_u64(offset.p, offset.len, &rec->offset) ||
        !fe_number_u64(len.p, len.len, &rec->len) || (!fe_span_is(op, "r") && !fe_span_is(op, "w")))
        return fe_trace_bad(r, err, "expected TIME_NS r|w OFFSET LEN");
    rec->type = fe_span_is(op, "r") ? FE_REQ_READ : FE_REQ_WRITE;
    return 1;
}

static int begin(struct fe_trace_writer *w, struct fe_err *err)
{
    char *p = fe_trace_room(w, err);
    if (!p)
        return w->broken;
    return fe_trace_used(w, fe_put_text(fe_put_text(p, header), "\n"));
}

static int put(struct fe_trace_writer *w, const struct fe_trace_rec *rec, struct fe_err *err)
{
    if (rec->type != FE_REQ_READ && rec->type != FE_REQ_WRITE)
        return fe_trace_cannot(w, err, "trim or flush"); /* lossy: left out */
    char *p = fe_trace_room(w, err);
    if (!p)
        return w->broken;
    p += fe_number_put(p, rec->time_ns);
    p = fe_put_text(p, rec->type == FE_REQ_READ ? " r " : " w ");
    p += fe_number_put(p, rec->offset);
    p = fe_put_text(p, " ");
    p += fe_number_put(p, rec->len);
    p = fe_put_text(p, "\n");
    return fe_trace_used(w, p);
}

const struct fe_trace_format fe_trace_toy = {
    .name = "toy",
    .summary = "an example: times in ns, reads and writes only",
    .detect = detect,
    .parse = parse,
    .begin = begin,
    .put = put,
};
