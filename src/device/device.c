/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a request flows:
 *
 *   arrival -> link: commands of at most max_transfer, each in a slot of the queue
 *           -> page by page: write cache, translation layer, medium
 *              (the state changes now; the op list says what was done)
 *           -> scheduler: when it would have been done
 *           -> link: data out -> completion
 *
 * State changes now and time comes later.  A request has had all its effects when
 * fe_device_submit returns, and the next request builds on them, although in the device's time
 * both may be under way together.  A power cut therefore has to take effects back (power.c).
 *
 * Each page of a read or write is a batch of the scheduler with a ready time of its own:
 *
 *     fe_sched_begin(ready)  ->  strategy and medium append operations  ->  fe_device_place
 *                                                                       ->  fe_sched_end
 *
 * A page of a write is ready as soon as it has crossed the link.  A page of a read is ready with
 * its command, and is sent as soon as it has been read.  There is no other pipelining.
 *
 * Background work (writing the cache out, idle cleaning) has no thread.  It runs lazily, in
 * the virtual gap before the next arrival, and may delay that arrival as it does in a real
 * device:
 *
 *     request 1     |====|
 *     idle work           |--|--|--|        steps begin while the gap lasts
 *     request 2                    |====|   arrived in the third step
 *
 * Not modelled: a device that changes the order of requests, that reads ahead, or that interrupts
 * a step of background work because a request has arrived.
 */
#include "device/internal.h"

#include "flashemu/pause.h"
#include "profile/old_keys.h"
#include "store/image_file.h"

#include <errno.h>

/* The image can no longer be written.  From then on the device does only what changes nothing.
 * Work that went on in memory would get ahead of the file. */
static bool host_has_failed(const struct fe_device *dev)
{
    return fe_medium_has_image(dev->medium) && fe_store_failure(dev->store, NULL) < 0;
}

/* One step of background work; false if there is none.  The order is the priority: endangered data
 * first, then what a power cut would take, then what only makes later writes faster.  Each step
 * must be small, because a request that arrives in it has to wait. */
static bool idle_step(struct fe_device *dev)
{
    enum fe_status st;
    if (host_has_failed(dev))
        return false;
    if (fe_wear_refresh(dev->medium))
        return true;
    if (dev->cache && dev->profile.cache.idle_flush && fe_cache_write_out(dev->cache, &st))
        return true;
    return fe_ftl_idle(dev->ftl);
}

/* Idle work in the gap from the end of all requests to now_ns.  A step that begins before now_ns
 * is finished, and the clock does not wait for its end: nobody hears of it.  The loop ends because
 * busy_until_ns grows, or because there is nothing left to do.  So a step that costs no time must
 * bring its work closer to the end. */
static void work_until(struct fe_device *dev, uint64_t now_ns)
{
    dev->medium->now_ns = now_ns;
    while (dev->busy_until_ns < now_ns) {
        uint64_t from = dev->busy_until_ns;
        fe_sched_begin(&dev->sched, from);
        bool worked = idle_step(dev);
        fe_device_place(dev);
        fe_device_works(dev, from, fe_sched_end(&dev->sched));
        if (!worked)
            break;
    }
}

/* Flush: what a power cut would take must reach the flash, in a form that power-on finds.  The
 * strategy therefore finishes what it would otherwise leave open until the end of a command. */
static enum fe_status write_all_out(struct fe_device *dev)
{
    enum fe_status st = FE_OK;
    while (dev->cache && fe_cache_write_out(dev->cache, &st))
        continue;
    return st == FE_OK ? fe_ftl_end_command(dev->ftl) : st;
}

/* A flush that was answered long ago is carried out, if it is due before power fails; nobody hears
 * how it ended. */
static void flush_late(struct fe_device *dev, uint64_t now_ns)
{
    uint64_t due = dev->lies.flush_ns;
    if (due > fe_min_u64(now_ns, dev->power.cut_ns) || !fe_device_has_power(dev))
        return;
    work_until(dev, due);
    dev->lies.flush_ns = FE_NEVER;
    uint64_t from = fe_max_u64(due, dev->busy_until_ns);
    fe_sched_begin(&dev->sched, from);
    (void)write_all_out(dev);
    fe_device_place(dev);
    fe_device_works(dev, from, fe_max_u64(from, fe_sched_end(&dev->sched)));
}

/* Everything that must happen before an arrival at now_ns: the planned cut, if it is due, and idle
 * work.  Settling comes last: it makes final what has ended by now_ns, so no cut may come before
 * now_ns from then on. */
static void pass_time(struct fe_device *dev, uint64_t now_ns)
{
    now_ns = fe_min_u64(now_ns, FE_TIME_MAX);
    flush_late(dev, now_ns);
    if (fe_device_has_power(dev) && dev->power.cut_ns <= now_ns) {
        work_until(dev, dev->power.cut_ns);
        fe_power_cut(dev, NULL);
    }
    if (fe_device_has_power(dev))
        work_until(dev, now_ns);
    fe_power_settle(dev, now_ns);
    dev->now_ns = fe_max_u64(dev->now_ns, now_ns);
    dev->last_arrival_ns = fe_max_u64(dev->last_arrival_ns, now_ns);
}

void fe_device_idle(struct fe_device *dev, uint64_t now_ns)
{
    pass_time(dev, now_ns);
    fe_device_save_lifetime(dev);
}

int fe_device_cut_power(struct fe_device *dev, uint64_t now_ns, struct fe_err *err)
{
    int r = fe_device_plan_cut(dev, now_ns, 0, err);
    if (r == 0)
        fe_device_idle(dev, dev->power.cut_ns);
    return r;
}

/* A page of a write.  At the end of life a strategy refuses, so the cache takes nothing more: the
 * host would get an answer for data that never reach the flash.  FUA writes the page through a
 * volatile cache; a cache that survives a power cut needs no such step. */
static enum fe_status write_page(struct fe_device *dev, fe_lpn lpn, uint32_t off, uint32_t len,
                                 const void *buf, bool fua)
{
    if (!dev->cache || dev->medium->eol)
        return fe_ftl_write(dev->ftl, lpn, off, len, buf);
    enum fe_status st = fe_cache_write(dev->cache, lpn, off, len, buf);
    if (st == FE_OK && fua && dev->profile.cache.volatile_)
        st = fe_cache_write_out_page(dev->cache, lpn);
    return st;
}

/* Where the device goes for the bytes from `at` on that the host names; as fe_lies_place. */
static uint64_t place_of(const struct fe_device *dev, const struct fe_request *req, uint64_t at,
                         uint64_t *len)
{
    return dev->lies.active ? fe_lies_place(dev, req, at, len) : at;
}

_Static_assert((int)FE_FETCH_PAGE == (int)FE_FETCH_STEPS, "the steps have numbers of their own");

/* Pages that follow each other may lie anywhere on the chip: what is known of those that come next
 * is asked for early, up to the page in front of end.  It is asked for four pages at a time: a
 * processor can look up several addresses in its page tables together, and waits for each one if
 * the hints come one by one.  The store asks for their bytes itself (store/copy_list.c). */
static void fetch_next(const struct fe_device *dev, fe_lpn lpn, uint64_t end)
{
    enum { GROUP = 4 };
    uint64_t next = (uint64_t)lpn + 2 * GROUP;
    if (!dev->ftl->ops->fetch || lpn % GROUP)
        return;
    for (uint64_t at = next; at < fe_min_u64(next + GROUP, end); at++)
        dev->ftl->ops->fetch(dev->ftl, (fe_lpn)at, FE_FETCH_PAGE);
}

/* A page of a read.  Reading goes on at the end of life, and so it asks the strategy directly. */
static enum fe_status read_page(struct fe_device *dev, fe_lpn lpn, uint32_t off, uint32_t len,
                                void *buf)
{
    if (dev->cache)
        return fe_cache_read(dev->cache, lpn, off, len, buf);
    return dev->ftl->ops->read(dev->ftl, lpn, off, len, buf);
}

/* The first bad status of a request is its answer.  The other pages are still carried out, as in a
 * device that learns of the failure when the data are in.  Corrected bits are not reported. */
static void note_status(struct fe_reply *reply, enum fe_status st)
{
    if (st > FE_CORRECTED && reply->status <= FE_CORRECTED)
        reply->status = st;
}

/* What the host hears at the end of life.  The layers below report different failures, depending
 * on where the last spare was missing; the profile says what such a device tells its host. */
static enum fe_status host_status(const struct fe_device *dev, enum fe_status st)
{
    if (!dev->medium->eol || st == FE_OK || st == FE_CORRECTED || st == FE_UNCORRECTABLE)
        return st;
    switch ((enum fe_end_of_life)dev->profile.wear.end_of_life) {
    case FE_EOL_FULL:
        return FE_NO_SPACE;
    case FE_EOL_DEAD:
        return FE_PROG_FAILED;
    default:
        return FE_READ_ONLY;
    }
}

/* The device has reached the end of its life, and is of the kind that then fails all requests. */
static bool is_dead(const struct fe_device *dev)
{
    return dev->medium->eol && dev->profile.wear.end_of_life == FE_EOL_DEAD;
}

/* Where the host's buffer is at a byte of the request.  NULL stays NULL: a replay has no data. */
static void *buf_at(const struct fe_request *req, uint64_t offset)
{
    return req->buf ? (uint8_t *)req->buf + (offset - req->offset) : NULL;
}

/* Whether the host hears of this write when the data are in the device. */
static bool writes_behind(const struct fe_device *dev, const struct fe_request *req)
{
    return dev->behind.n && dev->profile.cache.mode == FE_CACHE_ON && !req->fua &&
           !dev->medium->eol;
}

/* Whether the controller has more to do for this write than for others.  That each page of it is
 * old or new after a power cut holds for every write: a page that is not programmed whole is torn,
 * and the copy before it is still there. */
static bool is_reliable(const struct fe_device *dev, const struct fe_request *req)
{
    return req->fua && dev->profile.cache.reliable_ns;
}

/* Carries out as much of [at, to) as lies in one page, and returns the length of that.  *complete
 * becomes the time at which the page is done for the host: a read when its data have left, a write
 * when its operations have ended, or when it has arrived if it is written behind.  Data cross the
 * link even if the device drops them. */
static uint32_t run_page(struct fe_device *dev, const struct fe_request *req, uint64_t at,
                         uint64_t to, uint64_t start, uint64_t *complete, struct fe_reply *reply)
{
    uint64_t n = to - at, told = place_of(dev, req, at, &n);
    uint64_t real = told == FE_NOWHERE ? FE_NOWHERE : fe_forged_place(&dev->forged, told, &n);
    fe_lpn lpn = (fe_lpn)(real / dev->page_bytes);
    uint32_t off = (uint32_t)((real == FE_NOWHERE ? at : real) % dev->page_bytes);
    uint32_t len = (uint32_t)fe_min_u64(dev->page_bytes - off, n);
    void *buf = buf_at(req, at);
    enum fe_status st = FE_OK;
    if (req->type == FE_REQ_READ) {
        fe_sched_begin(&dev->sched, start);
        if (buf && real != FE_NOWHERE)
            fetch_next(dev, lpn, fe_div_up(real + n, dev->page_bytes));
        if (real != FE_NOWHERE)
            st = read_page(dev, lpn, off, len, buf);
        else if (buf)
            fe_forged_look(&dev->forged, told, len, buf);
        fe_device_place(dev);
        uint64_t sent = fe_link_send(&dev->link, fe_sched_end(&dev->sched), len, at + len < to);
        *complete = fe_max_u64(*complete, sent);
    } else {
        uint64_t in = fe_link_data(&dev->link, fe_behind_room_ns(&dev->behind), len);
        fe_sched_begin(&dev->sched, in);
        if (real != FE_NOWHERE)
            st = write_page(dev, lpn, off, len, buf, req->fua);
        else if (told != FE_NOWHERE)
            fe_forged_keep(&dev->forged, told, len, buf);
        fe_device_place(dev);
        uint64_t end = fe_sched_end(&dev->sched);
        if (dev->behind.n && end > in)
            fe_behind_put(&dev->behind, end);
        *complete = fe_max_u64(*complete, writes_behind(dev, req) ? in : end);
    }
    note_status(reply, st);
    return len;
}

/* One command: bytes [from, to) of the request.  What begin_command costs joins the batch of the
 * first page.  What end_command costs comes after the last page, so it is a batch of its own, and
 * the queue slot stays occupied until that has ended. */
static void run_command(struct fe_device *dev, const struct fe_request *req, uint64_t from,
                        uint64_t to, struct fe_reply *reply)
{
    bool is_write = req->type == FE_REQ_WRITE;
    uint64_t arrival = reply->arrival_ns;
    if (dev->ftl->hears_idle && fe_link_is_idle(&dev->link, arrival) &&
        fe_sched_all_end(&dev->sched) <= arrival)
        dev->ftl->ops->idled(dev->ftl);
    uint64_t begin = fe_link_begin(&dev->link, arrival);
    uint64_t start = fe_link_take_turn(&dev->link, begin, is_write, from, to);
    uint64_t complete = start, n = to - from, real = fe_forged_place(&dev->forged, from, &n);

    fe_medium_begin_command(dev->medium);
    if (dev->ftl->ops->begin_command && real != FE_NOWHERE && !(is_write && dev->medium->eol))
        dev->ftl->ops->begin_command(dev->ftl, is_write, real, n);
    for (uint64_t at = from; at < to;)
        at += run_page(dev, req, at, to, start, &complete, reply);
    if (is_write && (dev->ftl->ops->end_command || is_reliable(dev, req))) {
        fe_sched_begin(&dev->sched, complete);
        if (dev->ftl->ops->end_command)
            note_status(reply, fe_ftl_end_command(dev->ftl));
        if (is_reliable(dev, req))
            fe_ops_busy(&dev->ops, dev->profile.cache.reliable_ns);
        fe_device_place(dev);
        uint64_t end = fe_sched_end(&dev->sched);
        if (dev->behind.n && end > complete)
            fe_behind_keep(&dev->behind, end);
        if (!writes_behind(dev, req))
            complete = end;
    }
    if (is_write)
        complete = fe_link_asked(&dev->link, dev->link.wire_free_ns, complete);
    fe_link_end(&dev->link, complete);
    fe_link_end_turn(&dev->link, fe_max_u64(complete, fe_sched_all_end(&dev->sched)));
    reply->complete_ns = fe_max_u64(reply->complete_ns, complete);
}

/* How many pages from lpn on are trimmed before a pause. */
static uint64_t trim_part(const struct fe_device *dev, fe_lpn lpn)
{
    uint32_t unit = dev->ftl->trim_unit ? dev->ftl->trim_unit : 1;
    uint64_t part = fe_div_up(FE_TRIM_PART_PAGES, unit) * unit;
    return part - lpn % part;
}

void fe_device_set_pause(struct fe_device *dev, void (*fn)(void *ctx), void *ctx)
{
    dev->pause = fn;
    dev->pause_ctx = ctx;
}

/* Whole pages are unmapped; the sectors of a page that is trimmed in part are written
 * with zeros, so that a trimmed range always reads as zeros.
 *
 * The order for whole pages matters.  The strategy comes first, because it may refuse.  Then the
 * cache drops its newer copy.  The controller's log of trims comes last: it makes power-on ignore
 * the copies that are still on the chip. */
static enum fe_status trim_range(struct fe_device *dev, uint64_t offset, uint64_t len)
{
    uint64_t end = offset + len;
    enum fe_status st = FE_OK;
    fe_forged_forget(&dev->forged, offset, len);
    while (offset < end && st == FE_OK) {
        uint64_t there = end - offset, real = fe_forged_place(&dev->forged, offset, &there);
        if (real == FE_NOWHERE) {
            offset += there;
            continue;
        }
        fe_lpn lpn = (fe_lpn)(real / dev->page_bytes);
        uint32_t off = (uint32_t)(real % dev->page_bytes);
        uint64_t n = fe_min_u64(there / dev->page_bytes, trim_part(dev, lpn));
        if (off == 0 && n > 0) {
            st = fe_ftl_trim(dev->ftl, lpn, (uint32_t)n);
            if (dev->cache && st == FE_OK)
                fe_cache_trim(dev->cache, lpn, (uint32_t)n);
            if (st == FE_OK)
                fe_chip_note_trim(&dev->medium->chip, lpn, (uint32_t)n);
            offset += n * dev->page_bytes;
            if (dev->pause && offset < end)
                dev->pause(dev->pause_ctx);
        } else {
            uint32_t part = (uint32_t)fe_min_u64(dev->page_bytes - off, there);
            st = write_page(dev, lpn, off, part, NULL, false);
            offset += part;
        }
    }
    return st;
}

/* Trim and flush: one command without data.  All operations of it are one batch.  A flush also
 * waits for everything that was placed before, because earlier writes may have been answered from
 * the cache while their pages were still on their way to the flash. */
static void run_control(struct fe_device *dev, const struct fe_request *req, struct fe_reply *reply)
{
    uint64_t start = fe_link_begin(&dev->link, reply->arrival_ns);
    fe_sched_begin(&dev->sched, start);
    if (req->type == FE_REQ_TRIM && !fe_lies_active(dev, FE_LIE_LOST_WRITE))
        note_status(reply, trim_range(dev, req->offset, req->len));
    bool flush = (req->type == FE_REQ_FLUSH || req->fua) && fe_device_is_volatile(dev) &&
                 !fe_lies_hold_flush(dev);
    if (flush)
        note_status(reply, write_all_out(dev));
    fe_device_place(dev);
    reply->complete_ns = fe_sched_end(&dev->sched);
    if (flush) /* and all that was on its way there before */
        reply->complete_ns = fe_max_u64(reply->complete_ns, fe_sched_all_end(&dev->sched));
    fe_link_end(&dev->link, reply->complete_ns);
}

/* A dead device does not ask its flash.  The link still takes its time. */
static void run_dead(struct fe_device *dev, struct fe_reply *reply)
{
    reply->complete_ns = fe_link_begin(&dev->link, reply->arrival_ns);
    fe_link_end(&dev->link, reply->complete_ns);
    reply->status = FE_PROG_FAILED;
}

/* Blocks with too many flipped bits are refreshed when the host has its answer.  The host's next
 * request may have to wait for that. */
static void refresh_after(struct fe_device *dev, uint64_t from)
{
    fe_sched_begin(&dev->sched, from);
    if (fe_wear_refresh(dev->medium)) {
        fe_device_place(dev);
        fe_device_works(dev, from, fe_sched_end(&dev->sched));
    }
}

/* Whether the request is made of whole sectors within the capacity that the host was told of, and
 * is of a kind that the strategy of the profile has, whoever has taken its place. */
static bool range_is_valid(const struct fe_device *dev, const struct fe_request *req)
{
    if (req->type == FE_REQ_FLUSH)
        return true;
    uint32_t sector = dev->profile.device.sector_size;
    return req->len > 0 && req->len % sector == 0 && req->offset % sector == 0 &&
           req->offset <= fe_device_capacity(dev) &&
           req->len <= fe_device_capacity(dev) - req->offset &&
           (req->type != FE_REQ_TRIM || fe_ftl_registry[dev->profile.ftl.type]->trim);
}

void fe_device_fetch(const struct fe_device *dev, uint64_t offset, uint32_t step)
{
    if (fe_device_has_power(dev) && dev->ftl->ops->fetch && offset < dev->capacity)
        dev->ftl->ops->fetch(dev->ftl, (fe_lpn)(offset / dev->page_bytes), step);
}

/* Refusals that cost no time. */
static bool is_refused(const struct fe_device *dev, uint64_t arrival, const struct fe_request *req,
                       struct fe_reply *ret)
{
    if (!fe_device_has_power(dev))
        ret->status = FE_NO_POWER;
    else if (fe_device_is_gone(dev, arrival))
        ret->status = FE_GONE;
    else if (host_has_failed(dev) && req->type != FE_REQ_READ)
        ret->status = FE_HOST_FAILED;
    else
        return false;
    return true;
}

/* What the layers below do for the request. */
static void run_request(struct fe_device *dev, const struct fe_request *req, struct fe_reply *ret)
{
    if (is_dead(dev) || fe_lies_active(dev, FE_LIE_CAPACITY)) { /* it asks for more than there is left */
        run_dead(dev, ret);
    } else if (req->type == FE_REQ_READ || req->type == FE_REQ_WRITE) {
        uint64_t end = req->offset + req->len, step = dev->profile.link.max_transfer;
        for (uint64_t at = req->offset; at < end; at += fe_min_u64(step, end - at))
            run_command(dev, req, at, at + fe_min_u64(step, end - at), ret);
    } else {
        run_control(dev, req, ret);
    }
    fe_store_settle(dev->store);
}

static void carry_out(struct fe_device *dev, const struct fe_request *req, struct fe_reply *ret)
{
    uint64_t arrival = ret->arrival_ns;
    struct fe_request told = *req;
    fe_lies_begin(dev, &told, arrival);
    run_request(dev, &told, ret);
    fe_lies_end(dev, req, ret);
    uint64_t hang = fe_device_take_hang(dev);
    if (hang) {
        ret->complete_ns = fe_time_add(ret->complete_ns, hang);
        fe_link_end(&dev->link, ret->complete_ns);
    }
    fe_device_leave(dev, ret->complete_ns);
    ret->status = host_status(dev, ret->status);
    if (host_has_failed(dev) && req->type != FE_REQ_READ)
        ret->status = FE_HOST_FAILED; /* whatever the chip said: it may not be kept */
    fe_device_busy(dev, arrival, ret->complete_ns);
    if (dev->behind.n)
        fe_device_works(dev, arrival, fe_sched_all_end(&dev->sched));
    if (req->type == FE_REQ_WRITE)
        fe_power_after_write(dev, ret);
    if (dev->medium->read_hook)
        refresh_after(dev, ret->complete_ns);
    if (ret->complete_ns > dev->power.cut_ns) {
        ret->complete_ns = dev->power.cut_ns;
        ret->status = FE_NO_POWER;
    }
    fe_hist_add(&dev->latency[req->type], ret->complete_ns - arrival);
    dev->host[req->type].ops++;
    if (ret->status == FE_OK || ret->status == FE_CORRECTED) {
        dev->host[req->type].bytes += req->len;
        fe_commits_add(&dev->commits, req->type, req->fua, arrival, ret->complete_ns);
    } else if (req->type != FE_REQ_READ) {
        fe_commits_fail(&dev->commits);
    }
}

/* The order of the steps is visible to hosts and in golden traces, so it must not change:
 *
 *     planned cut, idle work                                    (pass_time)
 *     refusals that cost no time: no power, off the bus, the image cannot be written
 *     the request itself, then a hang on purpose
 *     status as the host hears it; an image that failed on the way overrules everything
 *     a write may draw a power cut; then refreshing, which begins after the answer
 *     a cut that comes before the completion makes it "no power" at the time of the cut
 *     the image gets the clock and the counters
 *
 * The effects of such a request are taken back later, when time reaches the cut. */
int fe_device_submit(struct fe_device *dev, uint64_t now_ns, const struct fe_request *req,
                     struct fe_reply *ret)
{
    if (!range_is_valid(dev, req))
        return -EINVAL;
    uint64_t arrival = fe_max_u64(fe_min_u64(now_ns, FE_TIME_MAX), dev->last_arrival_ns);
    pass_time(dev, arrival);
    *ret = (struct fe_reply){.arrival_ns = arrival, .complete_ns = arrival};
    if (!is_refused(dev, arrival, req, ret))
        carry_out(dev, req, ret);
    fe_device_save_lifetime(dev);
    return 0;
}

uint64_t fe_device_reported_capacity(const struct fe_device *dev, uint64_t now_ns)
{
    return fe_lies_capacity(dev, now_ns);
}

const struct fe_profile *fe_device_profile(const struct fe_device *dev)
{
    return &dev->profile;
}

/* ---- while it runs ---- */

/* Takes those values from the profile again that may change while the device runs, and of which a
 * part keeps a copy.  A new live key that a part copies needs a line here; keys that the device
 * reads from its profile whenever it needs them do not. */
static void apply_delays(struct fe_device *dev)
{
    const struct fe_profile *p = &dev->profile;
    fe_medium_set_times(dev->medium, &p->nand);
    if (dev->ftl->ops->set_delays)
        dev->ftl->ops->set_delays(dev->ftl, &p->ftl);
    fe_wear_set(dev->medium, &p->wear);
    fe_link_set_delays(&dev->link, &p->link);
}

int fe_device_set(struct fe_device *dev, const char *key, const char *value, struct fe_err *err)
{
    const struct fe_option *o = fe_option_or_heir(key);
    if (o && !o->live)
        return fe_err_set(err, EPERM, "%s: is built into the device and cannot change while "
                          "it runs", key);
    int r = fe_profile_set(&dev->profile, key, value, err);
    if (r < 0)
        return r;
    apply_delays(dev);
    return o && o->type == FE_OPT_LIES ? fe_lies_set(dev, err) : 0;
}

void *fe_device_lend(struct fe_device *dev, const void *data)
{
    return fe_store_lend(dev->store, data);
}

bool fe_device_take_back(struct fe_device *dev, const void *page)
{
    return fe_store_take_back(dev->store, page);
}

int fe_device_check(const struct fe_device *dev, struct fe_err *err)
{
    bool asked = fe_device_has_power(dev) && !dev->medium->eol;
    return asked ? dev->ftl->ops->check(dev->ftl, err) : 0;
}

void fe_device_observe(struct fe_device *dev,
                       void (*fn)(void *ctx, const struct fe_op *ops, uint32_t n), void *ctx)
{
    fe_ops_drain(&dev->ops);
    dev->ops.watched = fn != NULL;
    dev->observe = fn;
    dev->observe_ctx = ctx;
}
