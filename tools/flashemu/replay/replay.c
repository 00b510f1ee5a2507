/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records are read in batches.  Each record becomes one request, or two requests if --wrap cuts
 * it at the end of the device.
 *
 * `in_flight` is a binary heap of `depth` completion times, which all equal the device's time at
 * the beginning.  The root is the earliest completion: at that time the next request arrives.
 * The completion of that request replaces the root and sinks to its place.
 *
 *              3 ms               next arrival: 3 ms (and the think time)
 *            /      \             its completion, 7 ms, takes the place of the root and sinks
 *         5 ms      4 ms
 *
 * With depth 1 that is one comparison.
 *
 * At the pace of a recorded host, with depth 1, what that host had ready arrives with the request in
 * front of it: a kernel's queue is no pause for the device, and a card with a queue takes both.
 */
#include "replay/replay.h"

#include "rt/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BATCH = 1024, /* records that are read at a time */
    GROUP = 8     /* records that are announced to the device at a time; divides BATCH */
};

static double now_seconds(void)
{
    return (double)fe_clock_now_ns() * 1e-9;
}

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

int replay_init(struct replay *r, struct fe_device *dev, const struct replay_options *opt,
                struct fe_err *err)
{
    const struct fe_profile *profile = fe_device_profile(dev);

    *r = (struct replay){
        .dev = dev,
        .opt = *opt,
        .capacity = fe_device_capacity(dev),
        .discard = profile->device.discard,
        .flush = fe_cache_offers_flush(&profile->cache),
    };
    r->in_flight = calloc(opt->depth, sizeof *r->in_flight);
    if (!r->in_flight)
        return fe_err_nomem(err, "requests in flight", opt->depth * sizeof *r->in_flight);
    replay_reset(r);
    return 0;
}

void replay_fini(struct replay *r)
{
    free(r->in_flight);
    r->in_flight = NULL;
}

void replay_reset(struct replay *r)
{
    fe_device_reset_stats(r->dev);
    r->start_ns = fe_device_now(r->dev);
    for (uint32_t i = 0; i < r->opt.depth; i++)
        r->in_flight[i] = r->start_ns;
    r->records = r->dropped_trims = r->user_bytes = r->corrected = 0;
    memset(r->failed, 0, sizeof r->failed);
    r->wall_seconds = r->cpu_seconds = r->shown_seconds = 0;
    if (r->repeat)
        repeat_begin(r->repeat);
}

/* Replaces the earliest completion by a later one. */
static void replace_earliest(struct replay *r, uint64_t complete_ns)
{
    uint64_t *heap = r->in_flight;
    uint32_t i = 0, n = r->opt.depth;

    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= complete_ns)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = complete_ns;
}

static uint64_t add_sat(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static void note(struct replay *r, struct fe_trace_rec *rec, const struct fe_reply *reply)
{
    rec->time_ns = reply->arrival_ns - r->start_ns;
    rec->done_ns = reply->complete_ns - r->start_ns;
    rec->status = (uint8_t)reply->status;
    rec->think_ns = 0; /* the recorded times include it */
    rec->data = 0;     /* the record has no file for it */
    if (reply->status == FE_CORRECTED)
        r->corrected++;
    else if (reply->status != FE_OK)
        r->failed[rec->type]++;
}

/* What the device has done for a request that is recorded: the growth since `was`. */
static void note_work(struct replay *r, struct fe_trace_rec *rec, const struct fe_tally *was)
{
    struct fe_tally is;

    fe_device_get_tally(r->dev, &is);
    struct fe_work work = fe_work_between(was, &is);
    rec->programmed = work.programmed;
    rec->collections = work.collections;
    rec->merges = work.merges;
}

static struct fe_request request_of(const struct fe_trace_rec *rec)
{
    return (struct fe_request){
        .type = (enum fe_req_type)rec->type,
        .fua = rec->fua,
        .offset = rec->offset,
        .len = rec->len,
    };
}

static bool has_data(const struct fe_trace_rec *rec)
{
    return rec->len > 0 && (rec->type == FE_REQ_READ || rec->type == FE_REQ_WRITE);
}

/* One request, inside the capacity. */
static int submit(struct replay *r, struct fe_trace_rec *rec, uint64_t arrival_ns,
                  struct fe_err *err)
{
    struct fe_request req = request_of(rec);
    struct fe_reply reply;
    struct fe_tally was;

    if (r->record)
        fe_device_get_tally(r->dev, &was);
    if (r->payload && has_data(rec)) {
        req.buf = payload_begin(r->payload, &req, err);
        if (!req.buf)
            return -ENOMEM;
    }
    if (fe_device_submit(r->dev, arrival_ns, &req, &reply) < 0)
        return fe_err_set(err, EINVAL, "the device refuses this request");
    if (r->payload)
        payload_end(r->payload, &req, reply.status);
    replace_earliest(r, fe_max_u64(reply.complete_ns, r->in_flight[0]));
    r->asked_ns = reply.arrival_ns;
    note(r, rec, &reply);
    if (!r->record || r->warming)
        return 0;
    note_work(r, rec, &was);
    return fe_trace_write(r->record, rec, 1, err);
}

static bool fits(const struct replay *r, const struct fe_trace_rec *rec)
{
    return rec->len <= r->capacity && rec->offset <= r->capacity - rec->len;
}

/* The parts inside the capacity of a record that reaches behind the end, and how many there are: it
 * wraps around if the user wants that.  0: it does not fit. */
static unsigned cut(const struct replay *r, const struct fe_trace_rec *rec,
                    struct fe_trace_rec parts[2])
{
    parts[0] = *rec;
    if (!r->opt.wrap || rec->len > r->capacity)
        return 0;
    parts[0].offset %= r->capacity;
    if (rec->len <= r->capacity - parts[0].offset)
        return 1;
    parts[0].len = r->capacity - parts[0].offset;
    parts[1] = *rec;
    parts[1].offset = 0;
    parts[1].len = rec->len - parts[0].len;
    return 2;
}

static int submit_parts(struct replay *r, struct fe_trace_rec *rec, uint64_t arrival_ns,
                        struct fe_err *err)
{
    struct fe_trace_rec parts[2];
    int code = 0;

    if (fits(r, rec))
        return submit(r, rec, arrival_ns, err);
    unsigned n = cut(r, rec, parts);
    if (n == 0)
        return fe_err_set(err, EINVAL, "offset %" PRIu64 " + length %" PRIu64 " is behind the "
                                       "capacity %" PRIu64 "%s", rec->offset, rec->len,
                          r->capacity, r->opt.wrap ? "" : "; --wrap takes it modulo that");
    for (unsigned i = 0; i < n && code == 0; i++)
        code = submit(r, &parts[i], arrival_ns, err);
    return code;
}

/* A mark is recorded behind the request in front of it. */
static int run_mark(struct replay *r, struct fe_trace_rec *rec, struct fe_err *err)
{
    uint64_t now_ns = fe_device_now(r->dev) - r->start_ns;

    if (!r->record || r->warming)
        return 0;
    if (!r->opt.timed || rec->time_ns > UINT64_MAX - r->base_ns)
        rec->time_ns = now_ns;
    return fe_trace_write(r->record, rec, 1, err);
}

/* When a closed loop asks for this record. */
static uint64_t closed_arrival(const struct replay *r, const struct source *s,
                               const struct fe_trace_rec *rec)
{
    bool paced = s->recording && s->recording->pace > 0 && r->opt.depth == 1;

    if (paced && rec->think_ns == 0)
        return fe_max_u64(r->asked_ns, r->start_ns);
    return add_sat(r->in_flight[0], rec->think_ns);
}

static int run_record(struct replay *r, const struct source *s, struct fe_trace_rec *rec,
                      struct fe_err *err)
{
    if (rec->type == FE_TRACE_MARK)
        return run_mark(r, rec, err);
    uint64_t arrival_ns = r->opt.timed ? add_sat(r->base_ns, rec->time_ns)
                                       : closed_arrival(r, s, rec);
    if (rec->type == FE_REQ_TRIM && !r->discard) {
        if (!r->opt.drop_trim)
            return fe_err_set(err, EINVAL, "trim, but the device offers none (device.discard); "
                                           "--drop-trim leaves trims out");
        r->dropped_trims++;
        return 0;
    }
    r->records++;
    return submit_parts(r, rec, arrival_ns, err);
}

/* Whether a kernel would not have sent this record to this device; takes FUA from the others.  What
 * the host thinks in front of a record that is left out, it thinks in front of the next one. */
static bool is_dropped(struct replay *r, const struct source *s, struct fe_trace_rec *rec)
{
    if (!s->recording || r->flush)
        return false;
    rec->fua = false;
    rec->think_ns = add_sat(rec->think_ns, r->think_ns);
    r->think_ns = rec->type == FE_REQ_FLUSH ? rec->think_ns : 0;
    return rec->type == FE_REQ_FLUSH;
}

/* One step for each of GROUP requests, from number `first` of a batch on. */
static void fetch_group(const struct replay *r, const struct fe_trace_rec *recs, int n, int first,
                        uint32_t step)
{
    for (int k = first; k < first + GROUP && k < n; k++) {
        fe_device_fetch(r->dev, recs[k].offset, step);
        if (r->payload && step == 0 && recs[k].offset < r->capacity)
            payload_fetch(r->payload, recs[k].offset);
    }
}

/* What the requests behind number i of a batch will need is fetched while this one runs.  Several
 * requests are announced together: a processor can look up several addresses in its page tables
 * together, and waits for each one if the hints come one by one. */
static void fetch(const struct replay *r, const struct fe_trace_rec *recs, int n, int i)
{
    if (i % GROUP == 0)
        for (int step = 0; step < FE_FETCH_STEPS; step++)
            fetch_group(r, recs, n, i + (FE_FETCH_STEPS - step) * GROUP, (uint32_t)step);
}

void replay_show_progress(struct replay *r, const struct source *s, double seconds)
{
    if (seconds - r->shown_seconds < 0.2)
        return;
    r->shown_seconds = seconds;
    fprintf(stderr, "\r%.40s ", s->name);
    if (s->total > 0)
        fprintf(stderr, "%3.0f %%, ", 100 * (double)s->done / (double)s->total);
    fprintf(stderr, "%" PRIu64 " requests, %.2f M/s \033[K", r->records,
            seconds > 0 ? (double)r->records / seconds / 1e6 : 0);
    fflush(stderr);
}

/* The records of a batch, one by one. */
static int run_batch(struct replay *r, const struct source *source, struct fe_trace_rec *recs,
                     int n, struct fe_err *err)
{
    struct fe_err reason;
    char where[256];
    int code = 0;

    fe_err_init(&reason);
    for (int i = 0; i < n && code == 0; i++) {
        fetch(r, recs, n, i);
        if (!is_dropped(r, source, &recs[i]))
            code = run_record(r, source, &recs[i], &reason);
        if (code < 0)
            fe_err_set(err, -code, "%s: %s",
                       source_where(source, &recs[i], where, sizeof where), reason.text);
    }
    return code;
}

/* Whether the work has been repeated often enough, or -ENOMEM. */
static int is_enough(struct replay *r, const struct source *source, struct fe_err *err)
{
    return r->repeat && !r->warming ? repeat_look(r->repeat, r->records, source->pattern != NULL,
                                                  err) : 0;
}

int replay_run(struct replay *r, struct source *source, struct fe_err *err)
{
    struct fe_trace_rec recs[BATCH];
    double started = now_seconds() - r->wall_seconds;
    double cpu_started = cpu_seconds() - r->cpu_seconds;
    int n, code = 0;

    r->base_ns = fe_device_now(r->dev);
    r->think_ns = 0;
    r->warming = source->recording && source->n_read < source->recording->first;
    bool again = r->repeat && r->repeat->rounds > 0;
    if (source->recording && r->flush && !source->recording->flushes)
        return fe_err_set(err, EINVAL, "%s: was recorded without flushes, which a kernel would send "
                                       "to this device, because it offers them; make it "
                                       "again: flashemu-lab record", source->name);
    while (code == 0 && (n = source_read(source, recs, BATCH, err)) != 0) {
        if (n < 0) {
            code = n;
            break;
        }
        if (again && r->warming) {
            r->warming = !source_counts_now(source);
            continue;
        }
        code = run_batch(r, source, recs, n, err);
        if (code == 0 && source_counts_now(source)) {
            replay_reset(r);
            r->warming = false;
            started = now_seconds();
            cpu_started = cpu_seconds();
        }
        int enough = code == 0 ? is_enough(r, source, err) : 0;
        code = enough < 0 ? enough : code;
        if (enough > 0)
            break;
        if (r->opt.progress)
            r->opt.progress(r, source, now_seconds() - started);
    }
    r->user_bytes += source->recording ? source->recording->bytes : 0;
    r->wall_seconds = now_seconds() - started;
    r->cpu_seconds = cpu_seconds() - cpu_started;
    if (r->opt.progress == replay_show_progress)
        fputs("\r\033[K", stderr);
    return code;
}
