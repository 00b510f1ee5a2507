/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device's parts, shared by the files of this folder only.
 */
#ifndef FE_DEVICE_INTERNAL_H
#define FE_DEVICE_INTERNAL_H

#include "flashemu/device.h"
#include "host/cache.h"
#include "host/link.h"
#include "nand/undo.h"
#include "nand/wear.h"
#include "sched/sched.h"

struct fe_power {
    bool can_fail;
    uint64_t cut_ns;          /* the next planned cut; FE_NEVER: none */
    uint64_t last_cut_ns;
    uint64_t writes_left;     /* writes until a cut, 0: none planned */
    uint64_t n_writes;        /* of the host since the device was made */
    struct fe_cut_count last; /* what the last cut came to */
};

struct fe_device {
    struct fe_profile profile;
    uint64_t capacity; /* bytes that there are; the host may be told of more */
    uint32_t page_bytes;

    struct fe_link link;
    struct fe_cache *cache; /* NULL: none */
    struct fe_ftl *ftl;
    struct fe_medium *medium;
    struct fe_store *store;
    struct fe_oplist ops;
    struct fe_sched sched;

    uint64_t n_requests;      /* so far, for faults on purpose */
    uint64_t hang_ns;         /* of the next one */
    uint64_t gone_until_ns;
    struct fe_power power;

    uint64_t last_arrival_ns; /* arrivals never go back */
    uint64_t now_ns;          /* the latest arrival or completion */
    uint64_t busy_until_ns;   /* everything accepted so far has ended */

    /* statistics since the last reset */
    uint64_t busy_ns;
    struct fe_req_stats host[FE_N_REQ_TYPES];
    struct fe_hist latency[FE_N_REQ_TYPES];
    struct fe_nand_counters nand_before; /* counters at the reset */
    struct fe_ftl_counters ftl_before;

    void (*observe)(void *ctx, const struct fe_op *ops, uint32_t n);
    void *observe_ctx;
};

/* image.c: the store of opt.file, opened or made (*ret_new); dev->capacity is known and
 * dev->profile.ftl.seed becomes the image's. */
int fe_device_open_image(struct fe_device *dev, const struct fe_device_options *opt,
                         const struct fe_geometry *geo, bool *ret_new, struct fe_err *err);

/* power.c.  From now on power can be cut. */
int fe_power_init(struct fe_device *dev, struct fe_err *err);

/* The device of an image is plugged in: *ret is its strategy, which finds what the last run
 * has left.  If its power was cut and not on since, this is the power-on that follows; a device
 * that is dead since then stays off.  Errors of `recover`. */
int fe_power_plug_in(struct fe_device *dev, struct fe_ftl **ret, struct fe_err *err);

/* All that power-on had to do has been done: power is on, unless the device is dead. */
void fe_power_end_start(struct fe_device *dev);

/* Power will not be cut before now_ns. */
void fe_power_settle(struct fe_device *dev, uint64_t now_ns);

/* Power fails at power.cut_ns, to which the device's time has come.  how: what becomes of
 * operations under way (`choose` and `ctx`), NULL by the seed. */
void fe_power_cut(struct fe_device *dev, const struct fe_cut *how);

/* A write has been carried out: whether power fails under it or after it. */
void fe_power_after_write(struct fe_device *dev, const struct fe_reply *reply);

/* There is a cache, and a power cut empties it. */
bool fe_device_is_volatile(const struct fe_device *dev);

static inline fe_lpn fe_device_lpns(const struct fe_device *dev)
{
    return (fe_lpn)fe_div_up(dev->capacity, dev->page_bytes);
}

/* Puts the operations gathered so far on the timelines. */
static inline void fe_device_place(struct fe_device *dev)
{
    fe_ops_drain(&dev->ops);
}

/* device.c: the device works in [from, to). */
void fe_device_busy(struct fe_device *dev, uint64_t from, uint64_t to);

/* faults.c: whether the device is off the bus, and what a request has to wait for besides. */
bool fe_device_is_gone(const struct fe_device *dev, uint64_t now_ns);
uint64_t fe_device_take_hang(struct fe_device *dev);
void fe_device_leave(struct fe_device *dev, uint64_t complete_ns);

#endif
