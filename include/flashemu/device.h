/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One emulated device: the composition of link, cache, translation layer, medium and
 * scheduler.
 *
 * The device is a function of (profile, seed, sequence of (arrival, request)): it
 * reads no clock, starts no thread and prints nothing.  Time is a uint64_t of
 * nanoseconds since power-on.  It goes in as an arrival and comes out as a completion;
 * waiting until then is the adapter's business.
 *
 * Thread rule: one caller at a time; the adapter owns the lock.
 */
#ifndef FLASHEMU_DEVICE_H
#define FLASHEMU_DEVICE_H

#include "flashemu/err.h"
#include "flashemu/hist.h"
#include "flashemu/image.h"
#include "flashemu/profile.h"
#include "flashemu/request.h"
#include "flashemu/stats.h"
#include "flashemu/types.h"

#include <stdbool.h>
#include <stdint.h>

struct fe_device;
struct fe_op;

/* What an adapter may want besides the profile. */
struct fe_device_options {
    uint64_t seed;
    bool payload;    /* keep data; false for replay */
    const struct fe_store_file *file; /* the image that keeps the medium; NULL: in memory */
    bool chip_only;  /* of an image: neither mapping nor cache, for fe_device_look */
    bool power_cuts; /* power can be cut: costs a little, and memory for what is under way */
    bool seed_given; /* an image of another seed is refused; else its own seed counts */
};

/* Builds the device that the profile describes, powered on at time 0.  Checks what
 * only the parts together can know: capacity against chip and strategy.  -EINVAL,
 * -EOVERFLOW or -ENOMEM with a message.  The profile is copied.
 *
 * With an image: makes it if there is none, else the device is in the state in which the
 * last run left it, however that ended.  It must be an image of the same [nand] and [ftl] but for
 * delays, the same capacity, sector, write cache and bad blocks: -EINVAL names both
 * sides.  Errors of fe_store_image_open and _create besides.  O(pages). */
int fe_device_create(struct fe_device **ret, const struct fe_profile *profile,
                     const struct fe_device_options *opt, struct fe_err *err);
void fe_device_destroy(struct fe_device *dev);

/* The device of an image, to look at: its profile is the image's own, and nothing that is
 * done to it changes the file.  With `recover` it is the device that a server would have
 * after its start; else only the chip as it lies there, for fe_device_medium alone.
 * Messages and errors as above, -ENOENT too. */
int fe_device_look(struct fe_device **ret, const char *path, bool recover, struct fe_err *err);

/* The chip, and the store in it. */
struct fe_medium *fe_device_medium(struct fe_device *dev);

/* With an image: the end of a run, before fe_device_destroy.  Without it the image is as
 * after a kill, which loses nothing either.  0, or a negative errno and message. */
int fe_device_close(struct fe_device *dev, struct fe_err *err);

/* Makes everything that has been answered last through a crash of the host, if the image
 * was opened with `sync`: what a flush and FUA need besides their request.  begin and end
 * are calls like any other; run needs no lock and may take as long as a disk does.  end is
 * given run's result; 0 or a negative errno. */
struct fe_store_sync fe_device_sync_begin(struct fe_device *dev);
int fe_device_sync_run(const struct fe_device *dev);
int fe_device_sync_end(struct fe_device *dev, struct fe_store_sync sync, int result);

/* Why the image takes no write any more, and the errno of that; NULL while it does.  Every
 * request but reads has the status FE_HOST_FAILED then; so has a read of a page that the
 * failing request moved. */
const char *fe_device_failure(const struct fe_device *dev, int *ret_errnum);

/* What a crash of the host has cost the image, in a line; NULL if there was none. */
const char *fe_device_crash_note(const struct fe_device *dev);

/* Bytes that the host sees; a multiple of the sector size. */
uint64_t fe_device_capacity(const struct fe_device *dev);

/* Bytes of a flash page as programmed: what a host should prefer as block size. */
uint32_t fe_device_page_bytes(const struct fe_device *dev);

/* Executes one request that arrives at now_ns: state changes before this returns,
 * *ret says when the host may hear of it.  0, or -EINVAL with nothing changed if the
 * range is not whole sectors inside the capacity.  Conditions of the medium are in
 * ret->status, not in the result. */
int fe_device_submit(struct fe_device *dev, uint64_t now_ns, const struct fe_request *req,
                     struct fe_reply *ret);

/* Lets the device work for itself until now_ns. */
void fe_device_idle(struct fe_device *dev, uint64_t now_ns);

/* ---- power; needs options.power_cuts ----
 *
 * A request that was under way when power failed, or comes while it is off, has the status
 * FE_NO_POWER.  Of a cut that is planned the device knows beforehand, and completes such a
 * request at the cut.  Of one from outside it does not: whoever calls fe_device_cut_power
 * makes those fail that were to complete later than that. */
#define FE_NEVER UINT64_MAX

/* Power fails at at_ns (FE_NEVER: not for that reason), and when after_writes more writes
 * have been answered (0: not for that reason).  -ENOTSUP, -EALREADY if it is off. */
int fe_device_plan_cut(struct fe_device *dev, uint64_t at_ns, uint64_t after_writes,
                       struct fe_err *err);

/* Power fails at now_ns, or at the latest arrival if that is later. */
int fe_device_cut_power(struct fe_device *dev, uint64_t now_ns, struct fe_err *err);

/* Power is on again; the device finds its mapping and can work at *ret_ready_ns.
 * -EALREADY if it is on, -EIO if the device is dead, -ENOMEM; it stays off then. */
int fe_device_power_on(struct fe_device *dev, uint64_t now_ns, uint64_t *ret_ready_ns,
                       struct fe_err *err);
bool fe_device_has_power(const struct fe_device *dev);

/* Power cuts so far; and whether power failed, or is planned to, before a request was done
 * that got this reply when there had been n_cuts. */
uint64_t fe_device_cuts(const struct fe_device *dev);
bool fe_device_lost_power(const struct fe_device *dev, uint64_t n_cuts,
                          const struct fe_reply *reply);

/* The device's own clock: the latest completion or arrival so far. */
uint64_t fe_device_now(const struct fe_device *dev);

/* O(blocks), for the wear. */
void fe_device_get_stats(const struct fe_device *dev, struct fe_stats *ret);
void fe_device_get_tally(const struct fe_device *dev, struct fe_tally *ret); /* O(1) */
const struct fe_hist *fe_device_latency(const struct fe_device *dev, enum fe_req_type type);

/* Statistics start again from nothing; the device's state and clock stay. */
void fe_device_reset_stats(struct fe_device *dev);

/* Changes a delay of the running device: the key must be marked as live in the option
 * table.  -EINVAL or -EPERM with a message. */
int fe_device_set(struct fe_device *dev, const char *key, const char *value, struct fe_err *err);

const struct fe_profile *fe_device_profile(const struct fe_device *dev);

/* ---- blocks, and faults on purpose ---- */

/* A block of the chip. */
struct fe_block_wear {
    uint32_t cycles;
    enum { FE_BLOCK_USED, FE_BLOCK_SPARE, FE_BLOCK_FACTORY_BAD, FE_BLOCK_GROWN_BAD } state;
};

/* How many there are, and all of them: ret has room for so many. */
uint32_t fe_device_blocks(const struct fe_device *dev);
void fe_device_get_blocks(const struct fe_device *dev, struct fe_block_wear *ret);

/* Block peb of the chip is bad from now on: its data go to a spare, in the device's time;
 * without one it is the end of its life.  -EINVAL with a message if there is no such block
 * or it is bad already; so for the next two. */
int fe_device_mark_bad(struct fe_device *dev, uint64_t now_ns, fe_peb peb, struct fe_err *err);

/* That many more bits of page ppn of the chip, in its first codeword, are wrong until it is
 * programmed again.  -EINVAL also if it is erased. */
int fe_device_flip(struct fe_device *dev, fe_ppn ppn, uint32_t bits, struct fe_err *err);

/* Block peb has so many cycles behind it. */
int fe_device_set_cycles(struct fe_device *dev, fe_peb peb, uint32_t cycles, struct fe_err *err);

/* The next request takes so much longer. */
void fe_device_hang(struct fe_device *dev, uint64_t ns);

/* The device is off the bus until that time: requests get FE_GONE at once and do nothing. */
void fe_device_disconnect(struct fe_device *dev, uint64_t until_ns);

/* Every invariant of the translation layer and the medium; 0, or -EIO and what is
 * wrong.  O(pages).  None need hold while power is off, or at the end of the device's life,
 * which may have come in the middle of a step. */
int fe_device_check(const struct fe_device *dev, struct fe_err *err);

/* Calls fn with every batch of placed operations, for tests and observers. */
void fe_device_observe(struct fe_device *dev,
                       void (*fn)(void *ctx, const struct fe_op *ops, uint32_t n), void *ctx);

#endif
