/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happens to a request.
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
#include "server_internal.h"

#include "flashemu/pause.h"
#include "obs/origin_json.h"
#include "rt/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often a trim in its pause lets others run, if they wait for the lock.  Some 100 us, so that a
 * thread that has slept can get it. */
#define PAUSE_TURNS 1000

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

static int open_trace(struct fe_server *s, const struct fe_params *p,
                      const struct fe_origin *origin, struct fe_err *err)
{
    s->trace = strdup(p->trace);
    if (!s->trace)
        return fe_err_nomem(err, "trace", strlen(p->trace) + 1);
    int r = fe_recorder_open(&s->recorder, p->trace, p->trace_data, origin, err);
    if (r == 0)
        fe_recorder_wake(s->recorder, s->events.wake_fd);
    return r;
}

/* Keeps the origin for `stats`, and begins the trace with it. */
static int take_origin(struct fe_server *s, const struct fe_params *params, struct fe_err *err)
{
    struct fe_params_origin origin;
    int r = fe_params_origin(params, s->profile, &origin, err);

    s->origin = r == 0 ? fe_origin_json(json_object(), &origin.o) : NULL;
    if (r == 0 && !s->origin)
        r = fe_err_nomem(err, "origin", sizeof origin);
    origin.o.capacity = fe_device_capacity(s->dev);
    if (r == 0 && params->trace)
        r = open_trace(s, params, &origin.o, err);
    free(origin.overrides);
    return r;
}

/* Between two parts of a long trim: lets those have the lock who wait for it, but not for ever. */
static void pause_trim(void *ctx)
{
    struct fe_server *s = ctx;
    s->in_trim = true;
    unlock(&s->lock);
    for (int turn = 0; turn < PAUSE_TURNS && atomic_load(&s->n_waiting); turn++)
        sched_yield();
    lock(&s->lock);
}

/* A damaged image is refused before anything is written to it; one that is not there is made.  That
 * a file may not be written is said when it is opened for that. */
static int judge_image(const struct fe_store_file *file, struct fe_err *err)
{
    struct fe_err said = {""};
    if (!file->read_only && access(file->path, W_OK) < 0)
        return 0;
    int r = fe_device_judge(file, &said);
    return r == 0 || r == -ENOENT ? 0 : fe_err_set(err, -r, "%s", said.text);
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
    pthread_cond_init(&s->trim_over, NULL);
    init_lock(&s->lateness_lock);
    fe_hostq_init(&s->queue, fe_link_depth(&profile->link));
    fe_flusher_init(&s->flusher);

    uint64_t before_ns = fe_clock_now_ns();
    int r = fe_events_init(&s->events, err);
    if (r == 0 && opt.file)
        r = judge_image(&file, err);
    if (r == 0)
        r = fe_device_create(&s->dev, profile, &opt, err);
    s->image = opt.file != NULL;
    s->keeps_pages = !s->image && profile->cache.size == 0;
    s->sync = s->image && file.sync;
    s->open_ns = s->image ? fe_clock_now_ns() - before_ns : 0;
    if (r == 0) {
        s->page_bytes = fe_device_page_bytes(s->dev);
        memcpy(s->profile, fe_device_profile(s->dev)->name, sizeof s->profile);
    }
    if (r == 0)
        fe_device_set_pause(s->dev, pause_trim, s);
    if (r == 0 && !s->virtual_clock)
        r = fe_delay_create(&s->delay, &params->delay, err);
    if (r == 0)
        r = take_origin(s, params, err);
    if (r < 0) {
        fe_server_destroy(s);
        return r;
    }
    *ret = s;
    return 0;
}

int fe_server_close(struct fe_server *s, struct fe_err *err)
{
    uint64_t now_ns = fe_clock_now_ns();
    lock(&s->lock);
    if (s->is_started) /* the time since the last request is a part of the device's life */
        fe_device_idle(s->dev, s->virtual_clock ? s->virtual_now_ns
                                                : fe_timemap_device(&s->map, now_ns));
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
    json_decref(s->origin);
    fe_recorder_close(s->recorder, NULL);
    free(s->trace);
    if (s->dev)
        fe_device_destroy(s->dev);
    fe_events_fini(&s->events);
    fe_flusher_fini(&s->flusher);
    pthread_cond_destroy(&s->trim_over);
    pthread_mutex_destroy(&s->lateness_lock);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int fe_server_start(struct fe_server *s, struct fe_err *err)
{
    lock(&s->lock);
    s->map.real0_ns = fe_clock_now_ns();
    s->map.device0_ns = s->virtual_now_ns = fe_device_now(s->dev);
    s->is_started = true;
    unlock(&s->lock);
    return s->recorder ? fe_recorder_start(s->recorder, err) : 0;
}

/* The data of a whole page are copied first, into memory that the device lends and may keep.  Stores
 * past the cache take some time, and the locked instruction that unlocks waits for them
 * (base/copy.h): so the device works meanwhile.  NULL: *req stays as it is. */
static void *bring_page(struct fe_server *s, struct fe_request *req)
{
    if (!s->keeps_pages || req->type != FE_REQ_WRITE || !req->buf || req->len != s->page_bytes ||
        req->offset % s->page_bytes)
        return NULL;
    void *page = fe_device_lend(s->dev, req->buf);
    if (page)
        req->buf = page;
    return page;
}

/* As fe_device_submit. */
static int submit_page(struct fe_server *s, uint64_t arrival_ns, const struct fe_request *req,
                       struct fe_reply *ret)
{
    struct fe_request own = *req;
    void *page = bring_page(s, &own);
    int r = fe_device_submit(s->dev, arrival_ns, &own, ret);
    if (s->in_trim) {
        s->in_trim = false;
        pthread_cond_broadcast(&s->trim_over);
    }
    if (page)
        (void)fe_device_take_back(s->dev, page); /* kept or not, nothing is lent any more */
    return r;
}

/* The device's part of a request.  *ret_deadline_ns is in real time.  *ret_was is what the device
 * had done before; it is only filled in if requests are recorded. */
static int submit_locked(struct fe_server *s, uint64_t now_ns, const struct fe_request *req,
                         struct fe_reply *ret, uint64_t *ret_deadline_ns, struct fe_tally *ret_was)
{
    wait_for_trim(s);
    uint64_t arrival_ns =
        s->virtual_clock ? s->virtual_now_ns : fe_timemap_device(&s->map, now_ns);
    fe_device_fetch(s->dev, req->offset, 0); /* the device has other things to do first */
    if (s->recorder)
        fe_device_get_tally(s->dev, ret_was);
    int r = submit_page(s, arrival_ns, req, ret);
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
    lock_to_change(s);
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
 * submit_locked: enters the request into the trace with the device's work since `was`, unlocks,
 * and brings to the host's disk what has to be there when the request is answered.  Returns
 * whether a record is open, which fe_recorder_finish has to end. */
static bool carry_out(struct fe_server *s, const struct fe_request *req, int r,
                      const struct fe_tally *was, struct fe_reply *reply, uint64_t *ret_ticket)
{
    bool recorded = r == 0 && s->recorder;
    if (recorded) {
        struct fe_tally is;
        fe_device_get_tally(s->dev, &is);
        struct fe_work work = fe_work_between(was, &is);
        *ret_ticket = fe_recorder_add(s->recorder, req, reply, &work);
    }
    unlock_and_tell(s, false);
    if (r == 0 && needs_sync(s, req))
        sync_image(s, reply);
    return recorded;
}

/* clock=virtual: answered under the lock, one after another. */
static int submit_virtual(struct fe_server *s, const struct fe_request *req, struct fe_outcome *ret)
{
    uint64_t deadline_ns, ticket;
    struct fe_tally was;
    lock_device(s);
    int r = submit_locked(s, 0, req, &ret->reply, &deadline_ns, &was);
    if (carry_out(s, req, r, &was, &ret->reply, &ticket))
        fe_recorder_finish(s->recorder, ticket, ret->reply.status);
    return r;
}

/* Whether there is nothing left to wait for when the device has got the request. */
static bool is_over(const struct fe_server *s, const struct fe_request *req, int r,
                    uint64_t deadline_ns)
{
    return r < 0 || (!needs_sync(s, req) && deadline_ns <= fe_clock_now_ns());
}

/* The end of a request's time in the device, r being what became of it: gives the queue slot back.
 * The lock is held. */
static void leave_device(struct fe_server *s, int r, uint64_t n_cuts, struct fe_reply *reply)
{
    if (r == 0 && fe_device_lost_power(s->dev, n_cuts, reply))
        reply->status = FE_NO_POWER;
    fe_hostq_leave(&s->queue);
}

/* clock=real: the request goes through the host's queue into the device, and then its thread waits.
 *
 * Who holds a queue slot holds up everybody behind, so nothing but the device's time may pass
 * there.  A request that had to queue first asks whether its client is still there: otherwise a
 * server that stops would have to wait for all queued requests, one after another.  But it does not
 * sleep for that.  A request whose time is over, because the device takes none or because the slot
 * came late, gives the slot back before it gives back the lock: so no second thread has to wake up
 * late before the next one may. */
static int submit_real(struct fe_server *s, const struct fe_request *req,
                       fe_delay_coarse_fn coarse, void *ctx, struct fe_outcome *ret)
{
    uint64_t now_ns = fe_clock_now_ns(), deadline_ns = 0, ticket;
    struct fe_tally was;

    lock_device(s);
    bool queued = fe_hostq_enter(&s->queue, &s->lock, req);
    int r = submit_locked(s, now_ns, req, &ret->reply, &deadline_ns, &was);
    uint64_t n_cuts = fe_device_cuts(s->dev);
    bool over = is_over(s, req, r, deadline_ns);
    if (over)
        leave_device(s, r, n_cuts, &ret->reply);
    bool recorded = carry_out(s, req, r, &was, &ret->reply, &ticket);
    if (!over && queued && coarse && coarse(ctx, 0) != 0)
        r = -ESHUTDOWN;
    if (r == 0)
        r = fe_delay_until(s->delay, deadline_ns, coarse, ctx, &ret->lateness_ns);
    if (!over) {
        lock_device(s);
        leave_device(s, r, n_cuts, &ret->reply);
        unlock(&s->lock);
    }
    if (recorded)
        fe_recorder_finish(s->recorder, ticket, ret->reply.status);
    return r;
}

/* Enters how late an answer was. */
static void note_lateness(struct fe_server *s, const struct fe_reply *reply, uint64_t lateness_ns)
{
    lock(&s->lateness_lock);
    fe_hist_add(&s->lateness, lateness_ns);
    if (reply->complete_ns > reply->arrival_ns && fe_late_add(&s->late, lateness_ns) &&
        !s->is_known_late) {
        s->is_known_late = true;
        atomic_store_explicit(&s->late_notice_due, true, memory_order_relaxed);
    }
    unlock(&s->lateness_lock);
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
    note_lateness(s, &ret->reply, ret->lateness_ns);
    return 0;
}

int fe_server_begin(struct fe_server *s, uint64_t at_ns, const struct fe_request *req,
                    struct fe_flight *ret)
{
    uint64_t now_ns = fe_clock_now_ns();
    struct fe_tally was;

    *ret = (struct fe_flight){.due_ns = 0};
    lock_to_change(s);
    if (s->virtual_clock && at_ns != FE_CLOCK_OWN)
        s->virtual_now_ns = at_ns;
    int r = submit_locked(s, now_ns, req, &ret->reply, &ret->due_ns, &was);
    if (s->virtual_clock)
        ret->due_ns = ret->reply.complete_ns;
    ret->n_cuts = fe_device_cuts(s->dev);
    ret->recorded = carry_out(s, req, r, &was, &ret->reply, &ret->ticket);
    return r;
}

void fe_server_end(struct fe_server *s, struct fe_flight *f)
{
    uint64_t now_ns = fe_clock_now_ns();

    lock_device(s);
    if (fe_device_lost_power(s->dev, f->n_cuts, &f->reply))
        f->reply.status = FE_NO_POWER;
    unlock(&s->lock);
    if (!s->virtual_clock)
        note_lateness(s, &f->reply, now_ns > f->due_ns ? now_ns - f->due_ns : 0);
    if (f->recorded)
        fe_recorder_finish(s->recorder, f->ticket, f->reply.status);
}

void fe_server_pass(struct fe_server *s, uint64_t now_ns)
{
    lock_to_change(s);
    if (now_ns > s->virtual_now_ns) {
        s->virtual_now_ns = now_ns;
        fe_device_idle(s->dev, now_ns);
    }
    unlock_and_tell(s, false);
}

/* The time of the device at an instant of the host; needs the lock. */
static uint64_t device_time(struct fe_server *s, uint64_t now_ns)
{
    return s->virtual_clock ? s->virtual_now_ns : fe_timemap_device(&s->map, now_ns);
}

uint64_t fe_server_now(struct fe_server *s)
{
    lock_device(s);
    uint64_t now_ns = fe_max_u64(device_time(s, fe_clock_now_ns()), fe_device_now(s->dev));
    unlock(&s->lock);
    return now_ns;
}

int fe_server_extents(struct fe_server *s, uint64_t offset, uint64_t len,
                      int (*fn)(void *ctx, uint64_t offset, const struct fe_extent *extent),
                      void *ctx)
{
    int r = 0;
    for (uint64_t done = 0; r == 0 && done < len;) {
        struct fe_extent extent;
        uint64_t now_ns = fe_clock_now_ns();
        lock_device(s);
        enum fe_status st = fe_device_extent(s->dev, device_time(s, now_ns), offset + done,
                                             len - done, &extent);
        unlock(&s->lock);
        if (st != FE_OK)
            return st == FE_GONE ? -ESHUTDOWN : -EIO;
        r = fn(ctx, offset + done, &extent);
        done += extent.len;
    }
    return r;
}

int fe_server_failure(struct fe_server *s, struct fe_err *err)
{
    lock_device(s);
    int r = fe_device_failure(s->dev, err);
    unlock(&s->lock);
    return r;
}

uint64_t fe_server_open_ns(const struct fe_server *s)
{
    return s->open_ns;
}

uint64_t fe_server_capacity(struct fe_server *s)
{
    uint64_t now_ns = fe_clock_now_ns();
    lock_device(s);
    uint64_t capacity = fe_device_reported_capacity(s->dev, device_time(s, now_ns));
    unlock(&s->lock);
    return capacity;
}

uint32_t fe_server_page_bytes(const struct fe_server *s)
{
    return s->page_bytes;
}

const struct fe_device *fe_server_device(const struct fe_server *s)
{
    return s->dev;
}

const char *fe_server_image_note(const struct fe_server *s)
{
    return fe_device_image_note(s->dev);
}

const char *fe_server_delay_name(const struct fe_server *s)
{
    return s->delay ? fe_delay_kind_name(s->delay) : "none";
}

static const char late_notice[] =
    "this machine cannot keep the times of this device: of 1000 requests in a row, more than half "
    "were answered more than 10 us late (stats: lateness_ns); fewer requests at a time, other "
    "programs stopped, a larger time-scale or clock=virtual help";

const char *fe_server_take_notice(struct fe_server *s)
{
    if (s->recorder && !atomic_load_explicit(&s->trace_notice_taken, memory_order_relaxed)) {
        const char *ended = fe_recorder_ended(s->recorder);
        if (ended && !atomic_exchange(&s->trace_notice_taken, true))
            return ended;
    }
    if (atomic_load_explicit(&s->late_notice_due, memory_order_relaxed) &&
        atomic_exchange(&s->late_notice_due, false))
        return late_notice;
    if (!s->delay || atomic_load_explicit(&s->notice_taken, memory_order_relaxed))
        return NULL;
    const char *notice = fe_delay_notice(s->delay);
    return notice && !atomic_exchange(&s->notice_taken, true) ? notice : NULL;
}

void fe_server_observe(struct fe_server *s,
                       void (*fn)(void *ctx, const struct fe_op *ops, uint32_t n), void *ctx)
{
    lock_to_change(s);
    fe_device_observe(s->dev, fn, ctx);
    unlock(&s->lock);
}
