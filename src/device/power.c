/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Power fails and comes back.
 *
 *      request 1    |=========|
 *      request 2              |=======x           answered at the cut: no power
 *      cut                            |
 *      request 3                        x         no power
 *      power on                              |~~ recovery ~~|
 *      request 4                                 |. . . . . .|======|
 *
 * What becomes of each part:
 *
 *                       at the cut                            at power-on
 *     link, scheduler   nothing is under way any more         free when recovery has ended
 *     volatile cache    is emptied, in an image as well       goes on empty
 *     other cache       is kept (there is a capacitor)        goes on
 *     forged sectors    those that were kept are gone         none are kept
 *     lies              older copies and a late flush are     go on
 *                       forgotten
 *     strategy          stays, but does no more work          is made again from the chip
 *     medium            goes back to that instant             is scanned and put in order
 *     chip's cut log    off, one cut more                     on (fe_power_end_start)
 *     plans of cuts     the one that was carried out is gone  go on
 *
 * The medium can go back because it remembers the operations that are not over (nand/undo.h).  With
 * a capacitor nothing goes back: what has been issued is finished.  The old strategy is kept until
 * the new one exists, so that power-on can fail and be tried again.
 *
 * A cut is planned for a time, drawn by a write, or comes from outside now.  A cut that is
 * known in advance is carried out when time reaches it, which is when the next request
 * arrives.  A request that would complete after the cut gets its answer at the cut.  A newly
 * planned time replaces the planned one; a drawn or counted cut can only make it earlier.
 *
 * Badly made devices can do more.  It is drawn by the number of the cut, at power-on, so that
 * a server that is killed in between draws the same again:
 *
 *   dead         the device does not come back
 *   map lost     everything is erased, and the device starts as new
 *   stale        of some pages the newest copy is lost, and the copy before it comes back
 *
 * Power-on may happen in the same run (fe_device_power_on), or in the next run on an image
 * (fe_power_plug_in).  Both do the same with the chip.  They differ in time: the first one takes
 * time of the device and can be cut itself; the second one is over before time begins.
 *
 * Not modelled: voltage that sinks slowly, and a capacitor that is too small or has aged.
 */
#include "device/internal.h"

#include "base/rng.h"
#include "ftl/read_only.h"
#include "ftl/recover.h"
#include "nand/undo.h"

#include <errno.h>
#include <stdlib.h>

/* Addresses of draws in FE_RNG_POWER_CUT.  Those of nand/undo.c are smaller.  The low 32 bits are
 * free for a logical page.  These numbers are part of what a seed means: changing one changes the
 * result of every run with power cuts. */
#define DRAW_DEAD     (UINT64_C(1) << 40)
#define DRAW_MAP_LOST (UINT64_C(2) << 40)
#define DRAW_STALE    (UINT64_C(3) << 40)
#define DRAW_WRITE    (UINT64_C(4) << 40)
#define DRAW_INSTANT  (UINT64_C(5) << 40)

/* A random number that depends on the seed and on (a, b) only, never on how many draws came before.
 * a counts: the number of the cut, or of the write.  b is an address from above. */
static uint64_t draw(const struct fe_device *dev, uint64_t a, uint64_t b)
{
    return fe_rng(dev->profile.ftl.seed, FE_RNG_POWER_CUT, a, b);
}

/* Whether something happens whose share is ppm millionths. */
static bool happens(const struct fe_device *dev, uint64_t a, uint64_t b, uint64_t ppm)
{
    return ppm && fe_rng_below(draw(dev, a, b), 1000000) < ppm;
}

int fe_power_init(struct fe_device *dev, struct fe_err *err)
{
    const struct fe_power_params *p = &dev->profile.power;
    dev->power = (struct fe_power){
        .can_fail = true,
        .cut_ns = p->cut_time_ns > dev->now_ns ? p->cut_time_ns : FE_NEVER, /* else it is over */
        .writes_left = p->cut_writes,
    };
    return fe_undo_create(dev->medium, err);
}

void fe_power_settle(struct fe_device *dev, uint64_t now_ns)
{
    if (dev->medium->undo)
        fe_undo_settle(dev->medium, now_ns);
}

/* The capacitor lasts until the controller has finished what it is doing.  How long this takes is
 * not counted, since nobody can see a device without power.  After the settling there is nothing
 * that could be taken back. */
static void finish(struct fe_device *dev)
{
    fe_sched_begin(&dev->sched, dev->power.cut_ns);
    (void)fe_ftl_end_command(dev->ftl);
    fe_device_place(dev);
    fe_undo_settle(dev->medium, UINT64_MAX);
}

/* From the cut on, nothing is under way on dies, channels and the link.  Time that was planned
 * after the cut does not count as busy.  now_ns may go back, but never behind an arrival. */
static void stop(struct fe_device *dev, uint64_t at_ns)
{
    struct fe_link_params link = dev->link.p;
    fe_link_init(&dev->link, &link);
    fe_behind_reset(&dev->behind);
    fe_sched_reset(&dev->sched);
    if (dev->busy_until_ns > at_ns) {
        dev->busy_ns -= fe_min_u64(dev->busy_ns, dev->busy_until_ns - at_ns);
        dev->busy_until_ns = at_ns;
    }
    dev->last_arrival_ns = fe_max_u64(dev->last_arrival_ns, at_ns);
    dev->now_ns = dev->last_arrival_ns;
}

/* Operations still in the list must be placed first: the undo needs the time of each one.  A
 * volatile cache loses its pages in an image as well; otherwise the next start would bring them
 * back.  Without `can_fail` there is no undo, so this function must not be called. */
void fe_power_cut(struct fe_device *dev, const struct fe_cut *how)
{
    struct fe_power *w = &dev->power;
    struct fe_cut cut = how ? *how : (struct fe_cut){0};
    cut.at_ns = w->cut_ns;
    cut.seed = dev->profile.ftl.seed;
    cut.number = fe_device_cuts(dev);
    cut.partner_ppm = (uint32_t)dev->profile.power.partner_ppm;
    fe_device_place(dev);
    if (dev->cache && !dev->profile.cache.volatile_) {
        finish(dev);
        fe_chip_begin_cut(&dev->medium->chip, &(struct fe_interrupted){.peb = FE_PEB_NONE});
    } else {
        w->last = fe_undo_cut(dev->medium, &cut);
        if (dev->cache)
            fe_cache_lose(dev->cache);
    }
    fe_forged_forget(&dev->forged, 0, UINT64_MAX);
    fe_lies_forget(dev);
    stop(dev, w->cut_ns);
    fe_chip_set_last_cut(&dev->medium->chip, w->cut_ns);
    w->cut_ns = FE_NEVER;
}

/* ---- plans ---- */

/* A counted cut comes at the completion, so the write itself is answered.  A drawn cut comes at any
 * instant from arrival to completion, and the draw is made for every write, whatever is planned
 * already.  So a plan does not change the draws of later writes. */
void fe_power_after_write(struct fe_device *dev, const struct fe_reply *reply)
{
    struct fe_power *w = &dev->power;
    uint64_t n = fe_medium_lifetime(dev->medium).n_writes;
    fe_chip_count_write(&dev->medium->chip);
    if (!w->can_fail)
        return;
    if (w->writes_left && --w->writes_left == 0)
        w->cut_ns = fe_min_u64(w->cut_ns, reply->complete_ns);
    if (!happens(dev, n, DRAW_WRITE, dev->profile.power.cut_ppm))
        return;
    uint64_t span = reply->complete_ns - reply->arrival_ns + 1;
    uint64_t at = fe_rng_below(draw(dev, n, DRAW_INSTANT), span);
    w->cut_ns = fe_min_u64(w->cut_ns, reply->arrival_ns + at);
}

/* A time that is over becomes the earliest possible one: state cannot go back behind an arrival,
 * since everything that ended before is final. */
int fe_device_plan_cut(struct fe_device *dev, uint64_t at_ns, uint64_t after_writes,
                       struct fe_err *err)
{
    if (!dev->power.can_fail)
        return fe_err_set(err, ENOTSUP, "power cuts: the device was built without");
    if (!fe_device_has_power(dev))
        return fe_err_set(err, EALREADY, "power is off");
    if (at_ns != FE_NEVER)
        dev->power.cut_ns = fe_max_u64(at_ns, dev->last_arrival_ns);
    if (after_writes)
        dev->power.writes_left = after_writes;
    return 0;
}

/* An adapter asks this while a request waits for its completion, which may be after a cut that came
 * from outside.  The device remembers the time of the last cut only.  After two cuts it assumes
 * that the first one came before the completion. */
bool fe_device_lost_power(const struct fe_device *dev, uint64_t n_cuts,
                          const struct fe_reply *reply)
{
    uint64_t n = fe_device_cuts(dev) - n_cuts; /* since then */
    return reply->complete_ns > dev->power.cut_ns || n > 1 ||
           (n == 1 && reply->complete_ns > fe_medium_lifetime(dev->medium).last_cut_ns);
}

/* ---- power-on ---- */

/* Of each logical page that has two copies and is drawn, the newest copy can no longer be read.
 * This happens once a cut, even if power-on has to be tried again because memory was short or
 * the server was killed: n_stale remembers the cut.  A second time would take the copy before, too.
 * Pages with one copy are spared, because a missing page is another fault than a stale one. */
static int lose_newest(struct fe_device *dev, struct fe_err *err)
{
    struct fe_medium *m = dev->medium;
    uint32_t n = fe_device_lpns(dev);
    if (fe_medium_cuts(m)->n_stale == fe_medium_cuts(m)->n)
        return 0;
    struct fe_mapping *newest = malloc(n * sizeof *newest);
    uint8_t *copies = calloc(n, 1);
    if (!newest || !copies) {
        free(newest);
        free(copies);
        return fe_err_nomem(err, "pages that come back stale", n * 5ull);
    }
    fe_chip_set_stale(&m->chip);
    fe_recover_newest(m, newest, n, NULL);
    for (fe_ppn ppn = 0; ppn < m->geo.n_ppns; ppn++)
        if (fe_medium_state(m, ppn) == FE_PAGE_PROGRAMMED && fe_medium_lpn(m, ppn) < n &&
            copies[fe_medium_lpn(m, ppn)] < 2)
            copies[fe_medium_lpn(m, ppn)]++;
    for (fe_lpn lpn = 0; lpn < n; lpn++)
        if (copies[lpn] == 2 && fe_mapped(newest[lpn]) != FE_PPN_NONE &&
            happens(dev, fe_device_cuts(dev), DRAW_STALE | lpn, dev->profile.power.stale_ppm))
            fe_chip_lose(&m->chip, fe_mapped(newest[lpn]));
    free(newest);
    free(copies);
    return 0;
}

/* The map is lost: a new strategy on an erased chip.  Blocks that are erased already are left
 * alone, so a second try after a kill goes on where the first one ended.  An unstable block only
 * looks erased.  -EIO if a block cannot be erased, which is the end of the device's life. */
static int start_as_new(struct fe_device *dev, struct fe_ftl **ret, struct fe_err *err)
{
    struct fe_medium *m = dev->medium;
    for (fe_peb peb = 0; peb < m->geo.n_pebs; peb++)
        if (!fe_medium_is_bad(m, peb) &&
            (fe_medium_next_page(m, peb) || fe_medium_is_unstable(m, peb)) &&
            fe_medium_erase(m, peb) != FE_OK)
            return fe_err_set(err, EIO, "power-on: block %u cannot be erased", peb);
    fe_ops_barrier(m->ops);
    const struct fe_ftl_params p = fe_device_ftl_params(dev);
    return fe_ftl_create(ret, fe_ftl_registry[p.type], &p, m, fe_device_lpns(dev), false, err);
}

/* The strategy that power-on has made takes the place of the old one, and goes on counting where
 * the old one was.  All counters are uint64_t, so the structure is added as an array. */
static void take_over(struct fe_device *dev, struct fe_ftl *ftl)
{
    uint64_t *to = (uint64_t *)&ftl->counters;
    const uint64_t *from = (const uint64_t *)&dev->ftl->counters;
    for (size_t i = 0; i < sizeof ftl->counters / sizeof *to; i++)
        to[i] += from[i];
    fe_ftl_destroy(dev->ftl);
    dev->ftl = ftl;
    if (dev->cache)
        fe_cache_use(dev->cache, ftl);
}

/* What power-on does: first the oddities of a badly made device, then the strategy finds its map
 * again.  A device at the end of its life writes no map, so it loses none.  -EIO if the device
 * is dead.
 *
 * May be called again for the same cut, and must then come to the same result: each oddity is drawn
 * by the number of the cut, and leaves a trace on the chip or finds nothing left to do.  If life
 * ends while the chip is erased, what is left of the data can still be read. */
static int recover(struct fe_device *dev, struct fe_ftl **ret, struct fe_err *err)
{
    const struct fe_power_params *p = &dev->profile.power;
    struct fe_medium *m = dev->medium;
    if (happens(dev, fe_device_cuts(dev), DRAW_DEAD, p->dead_ppm))
        fe_chip_set_dead(&m->chip);
    if (fe_medium_cuts(m)->is_dead)
        return fe_err_set(err, EIO, "the device is dead since the power cut (faults.power_cut:dead)");
    if (dev->profile.ftl.trim_lost) /* not at the cut: the server may have been killed since then */
        fe_chip_forget_trims(&m->chip);
    if (!m->eol && happens(dev, fe_device_cuts(dev), DRAW_MAP_LOST, p->map_lost_ppm)) {
        int r = start_as_new(dev, ret, err);
        if (!m->eol)
            return r;
    } else if (!m->eol && p->stale_ppm) {
        int r = lose_newest(dev, err);
        if (r < 0)
            return r;
    }
    const struct fe_ftl_params ftl = fe_device_ftl_params(dev);
    return fe_ftl_power_on(ret, &ftl, m, fe_device_lpns(dev), err);
}

/* Power may be on in the image: the run before was killed or has ended while power was on.  The
 * strategy must find its map then, too, but no oddity happens. */
int fe_power_plug_in(struct fe_device *dev, struct fe_ftl **ret, struct fe_err *err)
{
    const struct fe_ftl_params ftl = fe_device_ftl_params(dev);
    struct fe_medium *m = dev->medium;
    int r;
    if (fe_device_has_power(dev))
        return fe_ftl_power_on(ret, &ftl, m, fe_device_lpns(dev), err);
    r = recover(dev, ret, err);
    if (fe_medium_cuts(m)->is_dead) /* no request will reach it, but there must be a strategy */
        r = fe_ftl_read_only(ret, m, fe_device_lpns(dev), err);
    return r;
}

void fe_power_end_start(struct fe_device *dev)
{
    fe_chip_end_cut(&dev->medium->chip);
}

/* Recovery programs and erases.  In an image that cannot be written it would get ahead of the file,
 * and lose what it moves. */
static int check_image(const struct fe_device *dev, struct fe_err *err)
{
    struct fe_err why = {""};
    int r = fe_device_failure(dev, &why);
    return r < 0 ? fe_err_set(err, -r, "power stays off: %s", why.text) : 0;
}

/* Recovery begins at `at` and runs on the timelines like any other work.  No command starts before
 * its end, which is why every queue slot is occupied until then.  The operations of recovery carry
 * a mark in the undo: a cut in the middle of them must keep the journal of the cut before. */
int fe_device_power_on(struct fe_device *dev, uint64_t now_ns, uint64_t *ret_ready_ns,
                       struct fe_err *err)
{
    struct fe_ftl *ftl = NULL;
    if (fe_device_has_power(dev))
        return fe_err_set(err, EALREADY, "power is on");
    int r = check_image(dev, err);
    if (r < 0)
        return r;
    uint64_t at = fe_max_u64(fe_min_u64(now_ns, FE_TIME_MAX), dev->last_arrival_ns);
    dev->last_arrival_ns = at;
    dev->medium->now_ns = at;
    fe_sched_begin(&dev->sched, at);
    dev->medium->undo->recovering = true;
    r = recover(dev, &ftl, err);
    if (r == 0 && (r = check_image(dev, err)) < 0)
        fe_ftl_destroy(ftl);
    fe_device_place(dev);
    dev->medium->undo->recovering = false;
    uint64_t end = fe_max_u64(at, fe_sched_all_end(&dev->sched));
    fe_link_hold(&dev->link, end);
    fe_device_busy(dev, at, end);
    *ret_ready_ns = end;
    if (r == 0) {
        take_over(dev, ftl);
        dev->n_requests = 0;
    }
    if (r == 0 || fe_medium_cuts(dev->medium)->is_dead)
        fe_power_end_start(dev);
    fe_device_save_lifetime(dev);
    return r;
}
