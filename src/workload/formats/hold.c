/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records that are held: until their completion is known, or because earlier ones may still come.
 *
 * Events of the block layer come as the processors of the host wrote them down, so an event may stand
 * behind a later one, and the end of a request stands behind its beginning.  A few thousand records
 * are kept in order of time.  Equal times keep the order of the file.
 *
 * A trace that is out of order by more than that is delivered as it is; the times then run backwards,
 * which every reader of records has to expect.
 */
#include "workload/formats/hold.h"

#include <stdlib.h>

enum { MOST = 4096, ROOM = 2 * MOST };

struct fe_trace_held {
    size_t first, n; /* rec[first] is the earliest */
    struct {
        struct fe_trace_rec rec;
        bool waits;
    } entry[ROOM];
};

int fe_trace_hold(struct fe_trace_reader *r, const struct fe_trace_rec *rec, bool waits,
                  struct fe_err *err)
{
    if (!r->held)
        r->held = calloc(1, sizeof *r->held);
    struct fe_trace_held *h = r->held;
    if (!h)
        return fe_err_nomem(err, "requests that wait for their end", sizeof *h);
    if (h->first + h->n == ROOM) {
        memmove(h->entry, h->entry + h->first, h->n * sizeof h->entry[0]);
        h->first = 0;
    }
    size_t at = h->first + h->n;
    while (at > h->first && h->entry[at - 1].rec.time_ns > rec->time_ns) {
        h->entry[at] = h->entry[at - 1];
        at--;
    }
    h->entry[at].rec = *rec;
    h->entry[at].waits = waits;
    h->n++;
    return 0;
}

void fe_trace_complete(struct fe_trace_reader *r, const struct fe_trace_rec *request,
                       uint64_t done_ns)
{
    struct fe_trace_held *h = r->held;

    for (size_t i = 0; h && i < h->n; i++) {
        struct fe_trace_rec *rec = &h->entry[h->first + i].rec;
        if (h->entry[h->first + i].waits && rec->type == request->type &&
            rec->offset == request->offset && rec->len == request->len &&
            rec->time_ns <= done_ns) {
            rec->done_ns = done_ns;
            h->entry[h->first + i].waits = false;
            return;
        }
    }
}

bool fe_trace_release(struct fe_trace_reader *r, struct fe_trace_rec *ret)
{
    struct fe_trace_held *h = r->held;

    if (!h || h->n == 0 || (h->entry[h->first].waits && h->n < MOST && !r->ended))
        return false;
    *ret = h->entry[h->first].rec;
    h->first++;
    h->n--;
    return true;
}

void fe_trace_unhold(struct fe_trace_reader *r)
{
    free(r->held);
    r->held = NULL;
}
