/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device's parts, shared by the files of this folder only.
 *
 *     look.c       an image without its profile
 *     build.c      makes the parts, in the order in which they need each other
 *     faults.c     faults of the chip on purpose, and the blocks as a user sees them
 *     device.c     carries requests through the parts, and counts
 *     power.c      cuts power and brings it back
 *     lies.c       tells the host what is not so
 *     forged.c     finds the sectors that the host is told of and that are not there
 *     ring.c       sectors in the controller's memory, for both of them
 *     stats.c      a copy of the statistics, and the wear; health.c, what devices report of it
 *     image.c      finds the image and decides whether it fits; begins and ends syncs
 *     condition.c  what the device is at this moment
 *
 * Each file calls those below it only.
 *
 * The device has two kinds of state.  The medium, the strategy and the cache hold what the device
 * contains, and this changes when a request is submitted.  The link, the scheduler and the times in
 * struct fe_device hold when that would have happened.  A power cut needs both: it takes the
 * contents back to one instant (nand/undo.h).
 *
 * The device owns every part that it points to.  Parts point to each other and to dev->ops, so a
 * struct fe_device must stay where it was allocated.
 */
#pragma once

#include "device/forged.h"
#include "device/lies.h"
#include "flashemu/commits.h"
#include "flashemu/device.h"
#include "host/behind.h"
#include "host/cache.h"
#include "host/link.h"
#include "nand/chip_lifetime.h"
#include "nand/undo.h"
#include "nand/wear.h"
#include "sched/sched.h"

/* The plans for power cuts.  They belong to a run and are not kept in an image.  What must outlive
 * the run is in the chip's log of cuts (fe_medium_cuts): the number of cuts, and whether power is
 * off or the device is dead.  And in its lifetime (fe_medium_lifetime): when power was cut last, and
 * the number of the host's writes, which addresses the draws. */
struct fe_power {
    bool can_fail;            /* the medium has an undo; only then may cut_ns be set */
    uint64_t cut_ns;          /* the next planned cut; FE_NEVER: none */
    uint64_t writes_left;     /* writes until a cut, 0: none planned */
    struct fe_cut_count last; /* what the last cut came to */
};

struct fe_device {
    struct fe_profile profile;
    uint64_t capacity; /* bytes that there are; the host may be told of more */
    struct fe_forged forged;
    struct fe_lies lies;
    uint32_t page_bytes;

    /* The parts, from the host down to the bytes.  `ftl` is replaced at power-on. */
    struct fe_link link;
    struct fe_cache *cache; /* NULL: none */
    struct fe_behind behind;
    struct fe_ftl *ftl;     /* NULL: an image of which only the chip was loaded */
    struct fe_medium *medium;
    struct fe_store *store;
    struct fe_oplist ops;   /* what the medium has done and the scheduler has not placed yet */
    struct fe_sched sched;

    /* Faults on purpose.  Requests that are refused before they reach the device do not count. */
    uint64_t n_requests;      /* since power-on; the profile names requests by this number, from 1 on */
    uint64_t hang_ns;         /* how much longer the next request takes */
    uint64_t gone_until_ns;   /* the device is off the bus before this time; UINT64_MAX: for good */
    struct fe_power power;

    /* Times.  Only a power cut sets now_ns and busy_until_ns back, because what was to end after
     * the cut does not happen.  The device of an image begins at the clock of the image. */
    uint64_t last_arrival_ns; /* arrivals never go back */
    uint64_t now_ns;          /* the latest arrival or completion */
    uint64_t busy_until_ns;   /* everything begun so far has ended; later than now_ns if pages are
                                 written behind, or in a step of idle work */

    /* Statistics since the last reset.  The medium and the strategy never reset their counters, so
     * the device remembers what the counters were at the reset and subtracts. */
    uint64_t busy_ns;         /* the sum of all intervals in which the device worked */
    struct fe_req_stats host[FE_N_REQ_TYPES];
    struct fe_hist latency[FE_N_REQ_TYPES];
    struct fe_commits commits;
    struct fe_nand_counters nand_before; /* counters at the reset */
    struct fe_ftl_counters ftl_before;

    /* Called between two parts of a long trim (flashemu/pause.h); NULL: no pauses. */
    void (*pause)(void *ctx);
    void *pause_ctx;

    /* Sees every operation after it has its times; NULL: nobody looks.  For tests. */
    void (*observe)(void *ctx, const struct fe_op *ops, uint32_t n);
    void *observe_ctx;
};

/* image.c: opens the image of opt->file, or makes it if there is none (*ret_new = true).
 * dev->capacity must be known.  dev->profile.ftl.seed becomes the seed of the image.  -EINVAL with
 * a message if the image belongs to another device; errors of the store. */
int fe_device_open_image(struct fe_device *dev, const struct fe_device_options *opt,
                         const struct fe_geometry *geo, bool *ret_new, struct fe_err *err);

/* image.c: the profile that an image was made with; the caller ends it with fe_profile_fini.
 * -ENOENT if there is no image, or none whose making was finished; errors of the store and of the
 * parser. */
int fe_device_image_profile(struct fe_profile *ret, const struct fe_store_file *file,
                            struct fe_err *err);

/* The image gets the clock and the counters.  Every function that passes time or counts ends so. */
static inline void fe_device_save_lifetime(struct fe_device *dev)
{
    fe_chip_save_lifetime(&dev->medium->chip, fe_device_now(dev));
}

/* power.c.  From now on power can be cut, and everything that was done before is final.  Forgets
 * all plans and takes those of the profile.  -ENOMEM. */
int fe_power_init(struct fe_device *dev, struct fe_err *err);

/* The device of an image is plugged in: *ret is the strategy, which has found what the last run
 * has left.  If power was cut and has not been on since, this is the power-on that follows the cut.
 * A device that is dead since the cut stays off.  Errors of fe_ftl_power_on. */
int fe_power_plug_in(struct fe_device *dev, struct fe_ftl **ret, struct fe_err *err);

/* Power-on is complete: power is on, unless the device is dead.  The chip forgets its journal of
 * the cut in an image.  Until this call a kill of the server leads to the same power-on again. */
void fe_power_end_start(struct fe_device *dev);

/* Power will not be cut before now_ns, so operations that have ended by then become final.  Call it
 * often: the memory of the undo grows with the operations that are not final. */
void fe_power_settle(struct fe_device *dev, uint64_t now_ns);

/* Power fails at power.cut_ns.  The device's idle work until then must have been done.
 * how->choose and how->ctx decide what becomes of operations under way, for tests; the other fields
 * are ignored.  how NULL: the seed decides. */
void fe_power_cut(struct fe_device *dev, const struct fe_cut *how);

/* A write has been carried out.  Counts the write, and plans a cut if power fails during the write
 * or immediately after it.  The caller must compare its completion with power.cut_ns afterwards. */
void fe_power_after_write(struct fe_device *dev, const struct fe_reply *reply);

/* condition.c.  The device answers writes that a power cut can still take.  Only then does a flush have work to
 * do.  Otherwise a write is on the flash when it is answered, or in a cache that survives the
 * cut. */
bool fe_device_is_volatile(const struct fe_device *dev);

/* The parameters of the strategy.  A write cache gathers what ftl.slc_gather would. */
struct fe_ftl_params fe_device_ftl_params(const struct fe_device *dev);

/* The logical pages that the strategy must offer; the last one may be used in part. */
static inline fe_lpn fe_device_lpns(const struct fe_device *dev)
{
    return (fe_lpn)fe_div_up(dev->capacity, dev->page_bytes);
}

/* Puts the operations listed so far on the timelines.  They belong to the batch that
 * fe_sched_begin has begun, so call this before the next fe_sched_begin and before fe_sched_end. */
static inline void fe_device_place(struct fe_device *dev)
{
    fe_ops_drain(&dev->ops);
}

/* condition.c: notes that the device works in [from, to). */
void fe_device_works(struct fe_device *dev, uint64_t from, uint64_t to);

/* The same, and moves the clock to `to`. */
static inline void fe_device_busy(struct fe_device *dev, uint64_t from, uint64_t to)
{
    fe_device_works(dev, from, to);
    dev->now_ns = fe_max_u64(dev->now_ns, to);
}

/* condition.c: whether the device is off the bus. */
bool fe_device_is_gone(const struct fe_device *dev, uint64_t now_ns);

/* Counts a request and returns how much longer this request takes because of a fault. */
uint64_t fe_device_take_hang(struct fe_device *dev);

/* The request counted last completes at complete_ns; the device leaves the bus then if the profile
 * says so. */
void fe_device_leave(struct fe_device *dev, uint64_t complete_ns);
