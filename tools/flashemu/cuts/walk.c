/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device does the work once.  Between two requests it stands still, and for each instant of that
 * window a child is forked, which has the device as it is:
 *
 *     parent   --request-- window --request-- window --     never loses power
 *                            | fork
 *     child                  x cut, power-on, read what may differ, tell
 *                                      | fork
 *     grandchild                       x cut while the device recovers, power-on, read, tell
 *
 * Copying on write makes a child cheap, and nothing that a child does has to be undone.  A child reads
 * only the pages whose place changed by the cut, and those that were in the cache: all others have the
 * bytes that the host has written last, unless the device lies.
 */
#include "cuts/walk_impl.h"

#include "base/num.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define IDLE_NS (10 * FE_NS_PER_S)

/* --- reading a state --- */

/* False if it cannot be read. */
static bool read_bytes(struct fe_device *dev, uint64_t offset, uint64_t len, uint8_t *buf)
{
    struct fe_request q = {.type = FE_REQ_READ, .offset = offset, .len = len, .buf = buf};
    struct fe_reply reply;
    return fe_device_submit(dev, fe_device_now(dev), &q, &reply) == 0 &&
           (reply.status == FE_OK || reply.status == FE_CORRECTED);
}

/* Reads [offset, offset + len), which is one page, and notes the sectors that differ. */
static void compare_page(const struct cuts_walk *w, uint64_t offset, uint64_t len, uint8_t *buf,
                         struct cuts_difference *d)
{
    uint32_t size = w->view.sector_size;
    bool whole = read_bytes(w->dev, offset, len, buf);
    for (uint64_t at = 0; at < len; at += size) {
        bool reads = whole || read_bytes(w->dev, offset + at, size, buf + at);
        cuts_difference_note(&w->view, d, offset + at, buf + at, reads);
    }
}

/* Whether a host may find other bytes in a page than before the cut, when w->places was made.  A page
 * that nobody has written has no place before and behind a cut, and that is most of a large device;
 * unless the device lies and has put there what was meant for another one. */
static bool may_differ(const struct cuts_walk *w, fe_lpn page, bool lies)
{
    if (!w->may_hold[page] && !lies)
        return false;
    const struct fe_cuts_place *was = &w->places[page], now = fe_cuts_place(w->dev, page);
    return (lies && (now.seq || w->may_hold[page])) || was->is_cached || was->ppn != now.ppn ||
           was->seq != now.seq;
}

/* All places are looked at before the first page is read, because a read may move pages. */
static void compare(const struct cuts_walk *w, struct cuts_difference *d)
{
    uint32_t n = fe_cuts_pages(w->dev), page = fe_device_page_bytes(w->dev), n_other = 0;
    fe_lpn *other = malloc(n * sizeof *other); /* what is not used of it costs nothing */
    uint8_t *buf = malloc(page);
    if (!other || !buf)
        cuts_give_up("out of memory");
    bool lies = fe_device_profile(w->dev)->lies.n > 0; /* all that may hold something is read */
    for (fe_lpn i = 0; i < n; i++)
        if (may_differ(w, i, lies))
            other[n_other++] = i;
    d->sum = w->view.sum;
    for (uint32_t i = 0; i < n_other; i++) {
        uint64_t offset = (uint64_t)other[i] * page;
        compare_page(w, offset, fe_min_u64(page, w->view.capacity - offset), buf, d);
    }
    free(other);
    free(buf);
}

/* Notes where all pages are, once in each window, for the first cut that is made there. */
static void note_places(struct cuts_walk *w)
{
    for (fe_lpn i = 0; i < fe_cuts_pages(w->dev) && !w->has_places; i++)
        if (w->may_hold[i])
            w->places[i] = fe_cuts_place(w->dev, i);
    w->has_places = true;
}

/* --- one cut --- */

static uint64_t seed_of(const struct cuts_walk *w, const struct cuts_id *id, bool second)
{
    uint64_t x = fe_rng(w->seed, FE_RNG_TEST, id->request, (uint64_t)id->op << 2 | id->outcome);
    return second ? fe_rng(x, FE_RNG_TEST, id->op2, id->outcome2) : x;
}

/* Cuts power and switches it on again.  Negative errno with message if the device does not come back. */
static int cut(struct cuts_walk *w, const struct cuts_id *id, bool second, uint64_t at_ns,
               struct fe_err *err)
{
    uint32_t op = second ? id->op2 : id->op, outcome = second ? id->outcome2 : id->outcome;
    uint64_t seed = seed_of(w, id, second), ready;
    if (op == CUTS_END || op == CUTS_IDLE)
        fe_device_idle(w->dev, at_ns);
    fe_cuts_reseed(w->dev, seed);
    fe_cuts_cut(w->dev, at_ns, op == CUTS_IDLE ? FE_CUTS_NO_OP : op, (enum fe_cut_outcome)outcome,
                seed);
    return fe_device_power_on(w->dev, at_ns, &ready, err);
}

/* The device has recovered, or not: tells what a host would find. */
static void tell_state(struct cuts_walk *w, struct cuts_found *f, int r)
{
    struct cuts_difference d = {.n = 0};
    f->kind = fe_medium_cuts(fe_device_medium(w->dev))->is_dead ? CUTS_DEAD : CUTS_FAILED;
    if (r < 0) {
        cuts_tell(w, f, NULL);
        return;
    }
    compare(w, &d);
    f->hash = d.sum;
    f->kind = w->was_told(w->ctx, d.sum, f->marks, false) ? CUTS_KNOWN : CUTS_STATE;
    f->n_ranges = f->kind == CUTS_STATE ? (uint32_t)d.n : 0;
    cuts_tell(w, f, f->n_ranges ? &d : NULL);
    free(d.ranges);
    free(d.bytes);
}

/* Waits for a child that does the rest.  False in the child. */
static bool in_parent(pid_t child)
{
    int status;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child != 0;
}

/* Power fails at each operation of the recovery, in a process of its own. */
static void cut_recovery(struct cuts_walk *w, const struct cuts_found *outer)
{
    uint32_t n = fe_cuts_can_tear(w->dev) ? fe_cuts_ops(w->dev) : 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t o = FE_CUT_NOT_BEGUN; o <= FE_CUT_DONE; o++) {
            struct cuts_found f = *outer;
            struct fe_err err = {""};
            uint64_t at;
            if (!fe_cuts_instant(w->dev, i, fe_max_u64(outer->at_ns, 1), UINT64_MAX, &at))
                continue;
            f.id.op2 = i;
            f.id.outcome2 = o;
            f.kind = CUTS_BEGUN;
            cuts_tell(w, &f, NULL);
            pid_t child = fork();
            if (child < 0)
                cuts_give_up(strerror(errno));
            if (in_parent(child))
                continue;
            int r = cut(w, &f.id, true, at, &err);
            tell_state(w, &f, r);
            _exit(0);
        }
    }
}

static void try_in_child(struct cuts_walk *w, struct cuts_found *f)
{
    struct fe_err err = {""};
    int r = cut(w, &f->id, false, f->at_ns, &err);
    uint64_t draw = fe_rng(seed_of(w, &f->id, false), FE_RNG_TEST, 2, 2);
    if (r == 0 && w->second && draw % w->second == 0)
        cut_recovery(w, f);
    tell_state(w, f, r);
}

/* --- the walk --- */

/* Whether instant number n is one of those that are wanted: they are spread evenly. */
static bool is_wanted(const struct cuts_walk *w, uint64_t n)
{
    return w->wanted >= w->total ||
           fe_muldiv(n + 1, w->wanted, w->total) > fe_muldiv(n, w->wanted, w->total);
}

static bool same_cut(const struct cuts_id *a, const struct cuts_id *b)
{
    return a->request == b->request && a->op == b->op && a->outcome == b->outcome;
}

static int try_instant(struct cuts_walk *w, const struct cuts_id *id, uint64_t at_ns, bool mine,
                       struct fe_err *err)
{
    struct cuts_found f = {.kind = CUTS_BEGUN, .id = *id, .at_ns = at_ns,
                           .marks = cuts_marks_reached(w, at_ns)};
    if (w->only) {
        w->stopped = same_cut(id, w->only);
        w->found = f;
        if (!w->stopped)
            return 0;
        note_places(w);
        return cut(w, id, false, at_ns, err);
    }
    if (f.marks < w->behind)
        return 0;
    uint64_t number = w->n_instants++;
    if (w->counts_only || !mine || !is_wanted(w, number))
        return 0;
    note_places(w);
    cuts_tell(w, &f, NULL);
    pid_t child = fork();
    if (child < 0)
        return fe_err_set(err, errno, "cuts: a process for a cut: %s", strerror(errno));
    if (in_parent(child))
        return 0;
    try_in_child(w, &f);
    _exit(0);
}

/* Tries all instants between the arrival of request r and `to`, and the one at end_ns. */
static int try_window(struct cuts_walk *w, uint32_t r, uint64_t from, uint64_t to, uint64_t end_ns,
                      bool is_last, struct fe_err *err)
{
    bool mine = r % w->jobs == w->job && !w->counts_only;
    uint32_t n = fe_cuts_can_tear(w->dev) && r ? fe_cuts_ops(w->dev) : 0;
    struct cuts_id id = {.request = r, .op2 = CUTS_NO_SECOND};
    int code = 0;
    if (w->any && r)
        code = cuts_subsets_try(w, r, CUTS_ANY, from, mine, err);
    w->has_places = false;
    for (uint32_t i = 0; i < n && code == 0 && !w->stopped; i++) {
        uint64_t at;
        id.op = i;
        if (fe_cuts_instant(w->dev, i, from, to, &at))
            for (id.outcome = 0; id.outcome <= FE_CUT_DONE && code == 0 && !w->stopped; id.outcome++)
                code = try_instant(w, &id, at, mine, err);
    }
    id.outcome = 0;
    id.op = CUTS_END;
    if (code == 0 && !w->stopped)
        code = try_instant(w, &id, end_ns, mine, err);
    id.op = CUTS_IDLE;
    if (code == 0 && !w->stopped && is_last)
        code = try_instant(w, &id, end_ns + IDLE_NS, mine, err);
    if (code == 0 && w->any && !w->stopped && is_last)
        code = cuts_subsets_try(w, r, CUTS_LAST, end_ns, mine, err);
    if (code == 0 && mine && !w->only) {
        struct cuts_found f = {.kind = CUTS_WINDOW, .id = id};
        cuts_tell(w, &f, NULL);
    }
    return code;
}

static int submit(struct cuts_walk *w, const struct fe_trace_rec *rec, uint64_t now_ns,
                  struct fe_reply *ret, struct fe_err *err)
{
    struct fe_request q = {.type = (enum fe_req_type)rec->type, .fua = rec->fua,
                           .offset = rec->offset, .len = rec->len};
    bool writes = rec->type == FE_REQ_WRITE;
    int r = writes ? fe_data_get(w->work->data, rec->data, rec->offset, rec->len, w->buf, err) : 0;
    if (r < 0)
        return r;
    q.buf = writes ? w->buf : NULL;
    if (fe_device_submit(w->dev, now_ns, &q, ret) < 0)
        return fe_err_set(err, EINVAL, "line %llu: the device refuses the request",
                          (unsigned long long)rec->line);
    if (ret->status != FE_OK && ret->status != FE_CORRECTED)
        return fe_err_set(err, EINVAL, "line %llu: the device fails here (status %d) and did not when "
                          "this was recorded; is it the same device?", (unsigned long long)rec->line,
                          (int)ret->status);
    uint32_t page = fe_device_page_bytes(w->dev);
    for (uint64_t p = rec->offset / page; writes && p * page < rec->offset + rec->len; p++)
        w->may_hold[p] = true;
    if (writes || rec->type == FE_REQ_TRIM)
        cuts_view_put(&w->view, rec->offset, rec->len, q.buf);
    return w->any ? cuts_subsets_add(w, rec, ret->arrival_ns, ret->complete_ns, err) : 0;
}

/* When a record of the trace comes, if the one before was done at last_done_ns. */
static uint64_t arrival_of(const struct cuts_walk *w, const struct fe_trace_rec *rec)
{
    if (rec->type == FE_TRACE_MARK && !w->timed)
        return w->last_done_ns;
    uint64_t a = w->timed ? w->base_ns : w->last_done_ns, b = w->timed ? rec->time_ns : rec->think_ns;
    return b > FE_TIME_MAX - a ? FE_TIME_MAX : a + b;
}

/* Notes the marks at records [i, ...), and returns the number of the next request. */
static size_t take_marks(struct cuts_walk *w, size_t i)
{
    for (; i < w->work->n && w->work->recs[i].type == FE_TRACE_MARK; i++) {
        uint64_t at = arrival_of(w, &w->work->recs[i]);
        uint64_t before = w->n_marks ? w->marks[w->n_marks - 1] : 0;
        w->marks[w->n_marks++] = fe_max_u64(at, before);
    }
    return i;
}

static int walk(struct cuts_walk *w, struct fe_err *err)
{
    const struct cuts_work *work = w->work;
    size_t i = take_marks(w, 0);
    bool is_last = i == work->n;
    int code = try_window(w, 0, 0, 0, fe_device_now(w->dev), is_last, err);
    for (uint32_t r = 1; i < work->n && code == 0 && !w->stopped; r++) {
        struct fe_reply reply;
        code = submit(w, &work->recs[i], arrival_of(w, &work->recs[i]), &reply, err);
        if (code < 0)
            return code;
        w->last_done_ns = fe_max_u64(w->last_done_ns, reply.complete_ns);
        i = take_marks(w, i + 1);
        is_last = i == work->n;
        uint64_t next = is_last ? w->last_done_ns : arrival_of(w, &work->recs[i]);
        if (is_last && w->n_marks)
            next = fe_max_u64(next, w->marks[w->n_marks - 1]);
        next = fe_max_u64(next, reply.arrival_ns);
        code = try_window(w, r, reply.arrival_ns, is_last ? UINT64_MAX : next, next, is_last, err);
    }
    return code;
}

static int begin(struct cuts_walk *w, struct fe_err *err)
{
    int r = cuts_view_init(&w->view, w->dev, err);
    uint32_t n = fe_cuts_pages(w->dev);
    w->marks = calloc((size_t)w->work->n_marks + 1, sizeof *w->marks);
    w->places = calloc((size_t)n + 1, sizeof *w->places);
    w->may_hold = calloc((size_t)n + 1, sizeof *w->may_hold);
    w->buf = malloc((size_t)w->work->longest + 1);
    w->n_marks = 0;
    w->n_instants = 0;
    w->stopped = false;
    w->base_ns = w->last_done_ns = fe_device_now(w->dev);
    if (r == 0 && (!w->marks || !w->places || !w->may_hold || !w->buf))
        r = fe_err_nomem(err, "places of pages", n * sizeof *w->places);
    for (fe_lpn i = 0; i < n && r == 0; i++)
        w->may_hold[i] = fe_cuts_place(w->dev, i).seq != 0; /* the device has been used before */
    w->n_open = 0;
    if (r == 0 && (w->subsets || (w->only && cuts_is_subset(w->only))))
        r = cuts_subsets_init(w, err);
    return r;
}

static void finish(struct cuts_walk *w)
{
    cuts_view_fini(&w->view);
    free(w->marks);
    free(w->places);
    free(w->may_hold);
    free(w->buf);
}

int cuts_walk_run(struct cuts_walk *w, struct fe_err *err)
{
    int r = begin(w, err);
    if (r == 0)
        r = walk(w, err);
    finish(w);
    cuts_subsets_fini(w);
    return r;
}

int cuts_walk_to(struct cuts_walk *w, const struct cuts_id *id, struct cuts_found *ret,
                 struct fe_err *err)
{
    uint64_t at;
    w->only = id;
    int r = begin(w, err);
    if (r == 0)
        r = walk(w, err);
    if (r == 0 && !w->stopped)
        r = fe_err_set(err, EINVAL, "there is no such cut in this recording");
    if (r == 0 && id->op2 != CUTS_NO_SECOND) {
        bool found = fe_cuts_can_tear(w->dev) && id->op2 < fe_cuts_ops(w->dev) &&
                     fe_cuts_instant(w->dev, id->op2, fe_max_u64(w->found.at_ns, 1), UINT64_MAX,
                                     &at);
        r = found ? cut(w, id, true, at, err)
                  : fe_err_set(err, EINVAL, "there is no such cut while the device recovers");
    }
    if (r == 0 && cuts_is_subset(id)) {
        *ret = w->found;
        r = cuts_subsets_hash(w, &ret->hash, err);
    } else if (r == 0) {
        struct cuts_difference d = {.n = 0};
        compare(w, &d);
        *ret = w->found;
        ret->hash = d.sum;
        free(d.ranges);
        free(d.bytes);
    }
    finish(w);
    return r;
}

void cuts_walk_fini(struct cuts_walk *w)
{
    cuts_subsets_fini(w);
}
