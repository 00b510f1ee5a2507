/* SPDX-License-Identifier: BSD-3-Clause
 *
 * There are two locks.  The lock of the device is held for the microseconds that the model needs,
 * including the copying of data.  It is never held while a thread waits.  The lock of the lateness
 * histogram is taken after the wait, by threads that need nothing from the device, and so it is a
 * separate lock.  Nobody ever holds both.
 *
 * The clock is read before the lock is taken, because a thread that queues for the lock has its
 * request during all that time.  So two threads may enter in another order than they read the
 * clock.  The device handles that: an arrival is the later one of `now` and the last arrival, and
 * the model stays in order.
 *
 * With clock=virtual the arrival is read under the lock instead.  It is the completion of the
 * request that left the device last.  So requests follow each other without gaps, and two runs
 * with the same requests in the same order have equal times.
 */
#include "server.h"

#include "flusher.h"
#include "hostq.h"
#include "recorder.h"

#include "base/quantity.h"
#include "obs/json_text.h"
#include "obs/stats_json.h"
#include "rt/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The device's clock cannot be made to jump beyond this.  Completions are later than arrivals, and
 * there must be room for them. */
#define MAX_DEVICE_NS (UINT64_C(1) << 62)

/* A hang takes effect with the next request, before which the clock may jump to the limit
 * above.  Both together must fit the 63 bits that JSON has for a time. */
#define MAX_HANG_END_NS (MAX_DEVICE_NS / 2)

struct fe_server {
    bool virtual_clock;      /* constant, as are the next six */
    bool image, sync;
    uint64_t open_ns;        /* how long it took to open the image */
    uint64_t capacity;       /* copies: `set` writes to the device's profile */
    uint32_t page_bytes;
    char profile[sizeof(((struct fe_profile *)NULL)->name)];
    struct fe_delay *delay;  /* has its own locking; NULL with clock=virtual */
    struct fe_recorder *recorder; /* NULL without trace=; has its own locking */
    char *trace;             /* the path of the trace */
    atomic_bool notice_taken, trace_notice_taken;

    /* Protects the seven members below.  It is never held while a thread waits, nor during a system
     * call, except for those of the store: page faults, and reading and writing the image.  An
     * fdatasync is one of them only if the model cannot go on without it (store/image_page.c). */
    pthread_mutex_t lock;
    struct fe_hostq queue;   /* clock=real: requests that have no queue slot of the link yet */
    struct fe_device *dev;
    struct fe_timemap map;   /* clock=real: between CLOCK_MONOTONIC and device time */
    uint64_t virtual_now_ns; /* clock=virtual: completion of the last request */
    uint64_t overhead_ns;    /* transport-overhead */
    struct fe_flusher flusher;
    struct fe_events events; /* wake_fd in it is constant */

    /* Protects the histogram.  No other lock is taken while this one is held. */
    pthread_mutex_t lateness_lock;
    struct fe_hist lateness;
};

/* Locking can only fail by a bug, because the mutexes are plain and live as long as s. */
static void lock(pthread_mutex_t *m)
{
    int r = pthread_mutex_lock(m);
    assert(r == 0);
    (void)r;
}

static void unlock(pthread_mutex_t *m)
{
    int r = pthread_mutex_unlock(m);
    assert(r == 0);
    (void)r;
}

/* Unlocks after the device may have done something, and tells listeners about it. */
static void unlock_and_tell(struct fe_server *s, bool marked)
{
    bool news = fe_events_look(&s->events, s->dev, marked);
    unlock(&s->lock);
    if (news)
        fe_events_wake(&s->events);
}

/* The lock is held for less time than a context switch takes, so a thread that finds it taken
 * spins for a moment before it sleeps. */
static void init_lock(pthread_mutex_t *m)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(m, &attr);
    pthread_mutexattr_destroy(&attr);
}

static int open_trace(struct fe_server *s, const char *path, struct fe_err *err)
{
    s->trace = strdup(path);
    return s->trace ? fe_recorder_open(&s->recorder, path, err)
                    : fe_err_nomem(err, "trace", strlen(path) + 1);
}

int fe_server_create(struct fe_server **ret, const struct fe_params *params,
                     const struct fe_profile *profile, struct fe_err *err)
{
    struct fe_store_file file = {
        .path = params->file,
        .sync = !params->no_sync && !params->read_only,
        .read_only = params->read_only,
        .intact = params->read_only,
        .io = params->io,
    };
    struct fe_device_options opt = {
        .seed = params->seed,
        .payload = true,
        .power_cuts = true,
        .file = params->file ? &file : NULL,
        .seed_given = params->seed_given,
    };
    struct fe_server *s = calloc(1, sizeof *s);
    if (!s)
        return fe_err_nomem(err, "server", sizeof *s);

    s->virtual_clock = params->virtual_clock;
    s->map.scale = params->scale;
    s->overhead_ns = params->overhead_ns;
    init_lock(&s->lock);
    init_lock(&s->lateness_lock);
    fe_hostq_init(&s->queue, profile->link.queue_depth);
    fe_flusher_init(&s->flusher);

    uint64_t before_ns = fe_clock_now_ns();
    int r = fe_events_init(&s->events, err);
    if (r == 0)
        r = fe_device_create(&s->dev, profile, &opt, err);
    s->image = opt.file != NULL;
    s->sync = s->image && file.sync;
    s->open_ns = s->image ? fe_clock_now_ns() - before_ns : 0;
    if (r == 0) {
        s->capacity = fe_device_capacity(s->dev);
        s->page_bytes = fe_device_page_bytes(s->dev);
        memcpy(s->profile, fe_device_profile(s->dev)->name, sizeof s->profile);
    }
    if (r == 0 && !s->virtual_clock)
        r = fe_delay_create(&s->delay, &params->delay, err);
    if (r == 0 && params->trace)
        r = open_trace(s, params->trace, err);
    if (r < 0) {
        fe_server_destroy(s);
        return r;
    }
    *ret = s;
    return 0;
}

int fe_server_close(struct fe_server *s, struct fe_err *err)
{
    lock(&s->lock);
    int r = fe_device_close(s->dev, err);
    unlock(&s->lock);
    bool told = s->trace_notice_taken; /* of the end of the trace, and its cause */
    int closed = fe_recorder_close(s->recorder, r < 0 || told ? NULL : err);
    s->recorder = NULL;
    return r < 0 || told ? r : closed;
}

void fe_server_destroy(struct fe_server *s)
{
    if (!s)
        return;
    fe_delay_destroy(s->delay);
    fe_recorder_close(s->recorder, NULL);
    free(s->trace);
    if (s->dev)
        fe_device_destroy(s->dev);
    fe_events_fini(&s->events);
    fe_flusher_fini(&s->flusher);
    pthread_mutex_destroy(&s->lateness_lock);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int fe_server_start(struct fe_server *s, struct fe_err *err)
{
    lock(&s->lock);
    s->map.real0_ns = fe_clock_now_ns();
    s->map.device0_ns = s->virtual_now_ns = fe_device_now(s->dev);
    unlock(&s->lock);
    return s->recorder ? fe_recorder_start(s->recorder, err) : 0;
}

/* The device's part of a request.  *ret_deadline_ns is in real time. */
static int submit_locked(struct fe_server *s, uint64_t now_ns, const struct fe_request *req,
                         struct fe_reply *ret, uint64_t *ret_deadline_ns)
{
    uint64_t arrival_ns =
        s->virtual_clock ? s->virtual_now_ns : fe_timemap_device(&s->map, now_ns);
    int r = fe_device_submit(s->dev, arrival_ns, req, ret);
    if (r < 0)
        return r;
    if (s->virtual_clock) {
        s->virtual_now_ns = ret->complete_ns;
    } else {
        uint64_t at = fe_timemap_real(&s->map, ret->complete_ns);
        *ret_deadline_ns = at > s->overhead_ns ? at - s->overhead_ns : 0;
    }
    return 0;
}

/* A flush, and a write with FUA, must have reached the host's disk when they are answered. */
static void sync_image(struct fe_server *s, struct fe_reply *reply)
{
    lock(&s->lock);
    int r = fe_flusher_sync(&s->flusher, s->dev, &s->lock);
    unlock(&s->lock);
    if (r < 0)
        reply->status = FE_HOST_FAILED;
}

static bool needs_sync(const struct fe_server *s, const struct fe_request *req)
{
    return s->sync && (req->type == FE_REQ_FLUSH || (req->fua && req->type != FE_REQ_READ));
}

/* What both clocks do between the device's part of a request and its wait, r being the result of
 * submit_locked: enters the request into the trace, unlocks, and brings to the host's disk what
 * has to be there when the request is answered.  Returns whether a record is open, which
 * fe_recorder_finish has to end. */
static bool carry_out(struct fe_server *s, const struct fe_request *req, int r,
                      struct fe_reply *reply, uint64_t *ret_ticket)
{
    bool recorded = r == 0 && s->recorder;
    if (recorded)
        *ret_ticket = fe_recorder_add(s->recorder, req, reply);
    unlock_and_tell(s, false);
    if (r == 0 && needs_sync(s, req))
        sync_image(s, reply);
    return recorded;
}

/* clock=virtual: answered under the lock, one after another. */
static int submit_virtual(struct fe_server *s, const struct fe_request *req, struct fe_outcome *ret)
{
    uint64_t deadline_ns, ticket;
    lock(&s->lock);
    int r = submit_locked(s, 0, req, &ret->reply, &deadline_ns);
    if (carry_out(s, req, r, &ret->reply, &ticket))
        fe_recorder_finish(s->recorder, ticket, ret->reply.status);
    return r;
}

/* clock=real: the request goes through the host's queue into the device, and then its thread waits.
 * A request that had to queue first asks whether its client is still there.  Otherwise a server
 * that stops would have to wait for all queued requests, one after another. */
static int submit_real(struct fe_server *s, const struct fe_request *req,
                       fe_delay_coarse_fn coarse, void *ctx, struct fe_outcome *ret)
{
    uint64_t now_ns = fe_clock_now_ns(), deadline_ns = 0, ticket;

    lock(&s->lock);
    bool queued = fe_hostq_enter(&s->queue, &s->lock, req);
    int r = submit_locked(s, now_ns, req, &ret->reply, &deadline_ns);
    uint64_t n_cuts = fe_device_cuts(s->dev);
    bool recorded = carry_out(s, req, r, &ret->reply, &ticket);
    if (r == 0 && queued && coarse && coarse(ctx, 1) != 0)
        r = -ESHUTDOWN;
    if (r == 0)
        r = fe_delay_until(s->delay, deadline_ns, coarse, ctx, &ret->lateness_ns);
    lock(&s->lock);
    if (r == 0 && fe_device_lost_power(s->dev, n_cuts, &ret->reply))
        ret->reply.status = FE_NO_POWER;
    fe_hostq_leave(&s->queue);
    unlock(&s->lock);
    if (recorded)
        fe_recorder_finish(s->recorder, ticket, ret->reply.status);
    return r;
}

int fe_server_submit(struct fe_server *s, const struct fe_request *req,
                     fe_delay_coarse_fn coarse, void *ctx, struct fe_outcome *ret)
{
    ret->lateness_ns = 0;
    if (s->virtual_clock)
        return submit_virtual(s, req, ret);

    int r = submit_real(s, req, coarse, ctx, ret);
    if (r < 0)
        return r;
    lock(&s->lateness_lock);
    fe_hist_add(&s->lateness, ret->lateness_ns);
    unlock(&s->lateness_lock);
    return 0;
}

const char *fe_server_failure(struct fe_server *s, int *ret_errnum)
{
    lock(&s->lock);
    const char *why = fe_device_failure(s->dev, ret_errnum);
    unlock(&s->lock);
    return why; /* once there is a reason, it does not change */
}

uint64_t fe_server_open_ns(const struct fe_server *s)
{
    return s->open_ns;
}

uint64_t fe_server_capacity(const struct fe_server *s)
{
    return s->capacity;
}

uint32_t fe_server_page_bytes(const struct fe_server *s)
{
    return s->page_bytes;
}

const struct fe_device *fe_server_device(const struct fe_server *s)
{
    return s->dev;
}

const char *fe_server_crash_note(const struct fe_server *s)
{
    return fe_device_crash_note(s->dev);
}

const char *fe_server_delay_name(const struct fe_server *s)
{
    return s->delay ? fe_delay_kind_name(s->delay) : "none";
}

const char *fe_server_take_notice(struct fe_server *s)
{
    if (s->recorder && !atomic_load_explicit(&s->trace_notice_taken, memory_order_relaxed)) {
        struct fe_recorder_state trace;
        fe_recorder_get_state(s->recorder, &trace);
        if (trace.ended && !atomic_exchange(&s->trace_notice_taken, true))
            return trace.ended;
    }
    if (!s->delay || atomic_load_explicit(&s->notice_taken, memory_order_relaxed))
        return NULL;
    const char *notice = fe_delay_notice(s->delay);
    return notice && !atomic_exchange(&s->notice_taken, true) ? notice : NULL;
}

void fe_server_observe(struct fe_server *s,
                       void (*fn)(void *ctx, const struct fe_op *ops, uint32_t n), void *ctx)
{
    lock(&s->lock);
    fe_device_observe(s->dev, fn, ctx);
    unlock(&s->lock);
}

/* Sets stats[key] to value.  Takes over both, and returns stats; NULL without memory. */
static json_t *add(json_t *stats, const char *key, json_t *value)
{
    if (stats && json_object_set_new(stats, key, value) == 0)
        return stats;
    if (!stats)
        json_decref(value);
    json_decref(stats);
    return NULL;
}

static json_t *image_json(const struct fe_server *s)
{
    return json_pack("{s:s, s:I}", "sync", s->sync ? "flush" : "none", "open_ns",
                     (json_int_t)s->open_ns);
}

static json_t *trace_json(const struct fe_server *s)
{
    struct fe_recorder_state trace;
    fe_recorder_get_state(s->recorder, &trace);
    return json_pack("{s:o, s:I, s:I, s:o}", "file", fe_json_text(s->trace, strlen(s->trace)),
                     "records", (json_int_t)trace.records, "lost", (json_int_t)trace.lost,
                     "ended", trace.ended ? fe_json_text(trace.ended, strlen(trace.ended))
                                          : json_null());
}

json_t *fe_server_stats(struct fe_server *s)
{
    struct fe_hist *lateness = malloc(sizeof *lateness); /* 15 KiB */
    struct fe_snapshot *now = fe_snapshot_create(s->dev);
    if (!lateness || !now) {
        free(lateness);
        fe_snapshot_destroy(now);
        return NULL;
    }
    lock(&s->lateness_lock);
    *lateness = s->lateness;
    unlock(&s->lateness_lock);

    /* Let the device do the idle work that it has had time for since the last request, as the
     * next arrival would, so that the statistics include it. */
    uint64_t now_ns = s->virtual_clock ? 0 : fe_clock_now_ns();
    lock(&s->lock);
    if (!s->virtual_clock)
        fe_device_idle(s->dev, fe_timemap_device(&s->map, now_ns));
    fe_snapshot_take(now, s->dev);
    unlock_and_tell(s, false);
    json_t *o = fe_stats_json(now, s->profile, s->virtual_clock ? "virtual" : "real", lateness);
    fe_snapshot_destroy(now);
    free(lateness);
    if (s->image)
        o = add(o, "image", image_json(s));
    return s->recorder ? add(o, "trace", trace_json(s)) : o;
}

void fe_server_reset_stats(struct fe_server *s)
{
    lock(&s->lock);
    fe_device_reset_stats(s->dev);
    unlock(&s->lock);

    lock(&s->lateness_lock);
    fe_hist_reset(&s->lateness);
    unlock(&s->lateness_lock);
}

static int set_server_key(struct fe_server *s, const char *key, const char *value, bool *ret_found,
                          struct fe_err *err)
{
    struct fe_err why = {""};
    struct fe_scale scale;
    uint64_t overhead_ns;
    int r = 0;

    *ret_found = true;
    if (strcmp(key, "time-scale") == 0) {
        r = fe_scale_parse(value, &scale, &why);
        if (r == 0) {
            uint64_t now_ns = fe_clock_now_ns();
            lock(&s->lock);
            fe_timemap_rescale(&s->map, now_ns, scale);
            unlock(&s->lock);
        }
    } else if (strcmp(key, "transport-overhead") == 0) {
        r = fe_params_parse_overhead(value, &overhead_ns, &why);
        if (r == 0) {
            lock(&s->lock);
            s->overhead_ns = overhead_ns;
            unlock(&s->lock);
        }
    } else {
        *ret_found = false;
    }
    return r < 0 ? fe_err_set(err, -r, "%s=%.80s: %s", key, value, why.text) : 0;
}

int fe_server_set(struct fe_server *s, const char *key, const char *value, struct fe_err *err)
{
    bool found;
    int r = set_server_key(s, key, value, &found, err);
    if (found)
        return r;
    lock(&s->lock);
    r = fe_device_set(s->dev, key, value, err);
    unlock(&s->lock);
    return r;
}

int fe_server_get(struct fe_server *s, const char *key, char *buf, size_t len,
                  struct fe_err *err)
{
    bool found = true;

    lock(&s->lock);
    if (strcmp(key, "time-scale") == 0)
        fe_scale_print(s->map.scale, buf, len);
    else if (strcmp(key, "transport-overhead") == 0)
        fe_quantity_print(FE_TIME, s->overhead_ns, buf, len);
    else if (strcmp(key, "clock") == 0)
        snprintf(buf, len, "%s", s->virtual_clock ? "virtual" : "real");
    else
        found = fe_profile_get(fe_device_profile(s->dev), key, buf, len);
    unlock(&s->lock);
    return found ? 0 : fe_err_set(err, ENOENT, "%.80s: no such key", key);
}

/* The present in device time. */
static uint64_t now_locked(const struct fe_server *s, uint64_t real_ns)
{
    return s->virtual_clock ? s->virtual_now_ns : fe_timemap_device(&s->map, real_ns);
}

int fe_server_cut_power(struct fe_server *s, uint64_t in_ns, uint64_t writes, uint64_t *ret_now_ns,
                        struct fe_err *err)
{
    uint64_t real_ns = fe_clock_now_ns();
    lock(&s->lock);
    uint64_t now_ns = now_locked(s, real_ns);
    int r;
    if (writes)
        r = fe_device_plan_cut(s->dev, FE_NEVER, writes, err);
    else if (in_ns)
        r = fe_device_plan_cut(s->dev, now_ns + in_ns, 0, err);
    else
        r = fe_device_cut_power(s->dev, now_ns, err);
    *ret_now_ns = fe_device_now(s->dev);
    unlock_and_tell(s, false);
    return r;
}

int fe_server_power_on(struct fe_server *s, uint64_t *ret_ready_ns, struct fe_err *err)
{
    uint64_t real_ns = fe_clock_now_ns();
    lock(&s->lock);
    uint64_t now_ns = now_locked(s, real_ns);
    fe_device_idle(s->dev, now_ns); /* a planned power cut may be due by now */
    int r = fe_device_power_on(s->dev, now_ns, ret_ready_ns, err);
    if (r == 0)
        s->virtual_now_ns = fe_max_u64(s->virtual_now_ns, *ret_ready_ns);
    unlock_and_tell(s, false);
    return r;
}

int fe_server_idle(struct fe_server *s, uint64_t ns, uint64_t *ret_now_ns, struct fe_err *err)
{
    uint64_t real_ns = fe_clock_now_ns(), from;
    int r = 0;

    lock(&s->lock);
    if (s->virtual_clock) {
        from = fe_max_u64(s->virtual_now_ns, fe_device_now(s->dev));
    } else {
        fe_timemap_rescale(&s->map, real_ns, s->map.scale);
        from = s->map.device0_ns;
    }
    if (ns > MAX_DEVICE_NS || from > MAX_DEVICE_NS - ns) {
        r = fe_err_set(err, EOVERFLOW, "the device's clock would pass 146 years");
    } else {
        s->virtual_now_ns = s->map.device0_ns = from + ns;
        fe_device_idle(s->dev, from + ns);
    }
    *ret_now_ns = fe_device_now(s->dev);
    unlock_and_tell(s, false);
    return r;
}

/* With the lock held. */
static uint64_t present_ns(const struct fe_server *s)
{
    return s->virtual_clock ? fe_max_u64(s->virtual_now_ns, fe_device_now(s->dev))
                            : fe_timemap_device(&s->map, fe_clock_now_ns());
}

int fe_server_mark_bad(struct fe_server *s, fe_peb peb, enum fe_condition *ret_after,
                       struct fe_err *err)
{
    lock(&s->lock);
    int r = fe_device_mark_bad(s->dev, present_ns(s), peb, err);
    *ret_after = fe_device_condition(s->dev);
    unlock_and_tell(s, r == 0);
    return r;
}

int fe_server_flip(struct fe_server *s, fe_ppn ppn, uint32_t bits, struct fe_err *err)
{
    lock(&s->lock);
    int r = fe_device_flip(s->dev, ppn, bits, err);
    unlock(&s->lock);
    return r;
}

int fe_server_set_cycles(struct fe_server *s, fe_peb peb, uint32_t cycles, struct fe_err *err)
{
    lock(&s->lock);
    int r = fe_device_set_cycles(s->dev, peb, cycles, err);
    unlock(&s->lock);
    return r;
}

int fe_server_hang(struct fe_server *s, uint64_t ns, struct fe_err *err)
{
    int r = 0;
    lock(&s->lock);
    if (ns > MAX_HANG_END_NS || present_ns(s) > MAX_HANG_END_NS - ns)
        r = fe_err_set(err, EOVERFLOW, "hang: the device's clock would pass 73 years");
    else
        fe_device_hang(s->dev, ns);
    unlock(&s->lock);
    return r;
}

void fe_server_disconnect(struct fe_server *s, uint64_t ns)
{
    lock(&s->lock);
    fe_device_disconnect(s->dev, ns ? present_ns(s) + ns : UINT64_MAX);
    unlock_and_tell(s, false);
}

void fe_server_connect(struct fe_server *s)
{
    lock(&s->lock);
    fe_device_disconnect(s->dev, 0);
    unlock_and_tell(s, false);
}

int fe_server_listen(struct fe_server *s, uint64_t *ret_next, struct fe_err *err)
{
    lock(&s->lock);
    int r = fe_events_listen(&s->events, s->dev, ret_next, err);
    unlock(&s->lock);
    return r;
}

void fe_server_unlisten(struct fe_server *s)
{
    lock(&s->lock);
    fe_events_unlisten(&s->events);
    unlock(&s->lock);
}

int fe_server_events_fd(const struct fe_server *s)
{
    return s->events.wake_fd;
}

uint32_t fe_server_take_events(struct fe_server *s, uint64_t *next, struct fe_event *ret,
                               uint32_t max, uint64_t *ret_dropped)
{
    lock(&s->lock);
    uint32_t n = fe_events_take(&s->events, next, ret, max, ret_dropped);
    unlock(&s->lock);
    return n;
}
