/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One emulated device: it consists of link, write cache, translation layer, medium (the chip) and
 * scheduler.
 *
 *     adapter --- (arrival, request) --> fe_device_submit --- (completion, status) --> adapter
 *
 * The device is a pure function of the profile, the seed, and the sequence of arrivals and
 * requests.  It reads no clock, starts no thread and prints nothing.  Time is a uint64_t in
 * nanoseconds since the first power-on of the new device; an image keeps it, and what is counted
 * since then (src/nand/chip_lifetime.h says what is left of that after which end of a run).  Each request goes in with its arrival time and comes out
 * with its completion time.  Waiting until then is the task of the adapter (the nbdkit plugin,
 * the replay tool).
 *
 * Thread rule: one caller at a time; the adapter owns the lock.
 */
#pragma once

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

/* What an adapter chooses in addition to the profile. */
struct fe_device_options {
    uint64_t seed;
    bool payload;    /* keep the data; replay does without */
    const struct fe_store_file *file; /* the image that keeps the medium; NULL: in memory */
    bool chip_only;  /* of an image load only the chip, no mapping and no cache (fe_device_look) */
    bool power_cuts; /* power can be cut; costs a little time, and memory for pending operations */
    bool seed_given; /* true: an image with another seed is refused; false: its seed is used */
};

/* Builds the device that the profile describes, powered on at time 0, or at the time of its image.  The profile is copied.
 * Checks what depends on several parts, such as the capacity against chip and strategy.  -EINVAL,
 * -EOVERFLOW or -ENOMEM with a message.  O(pages).
 *
 * With an image: makes the image if there is none.  Else the device continues in the state in which
 * the last run left it, however that run ended.  The image must have been made with the same [nand]
 * and [ftl], except for delays, and with the same capacity, sector size, write cache and bad
 * blocks.  If not, -EINVAL and the message names both values.  Errors of fe_store_image_open and
 * fe_store_image_create are possible as well. */
int fe_device_create(struct fe_device **ret, const struct fe_profile *profile,
                     const struct fe_device_options *opt, struct fe_err *err);
void fe_device_destroy(struct fe_device *dev);

/* Opens the device of an image, to look at it.  The profile is that of the image, and nothing that
 * is done to the device changes the file.  With `recover` it is the device that a server would have
 * after its start.  Without `recover` there is only the chip as it lies in the image, and only
 * fe_device_medium may be called.  Errors as above, and -ENOENT. */
int fe_device_look(struct fe_device **ret, const char *path, bool recover, struct fe_err *err);

/* Whether a server can use the image: every record is what the device could have written, the
 * strategy finds its mapping, and all its invariants hold.  The one judgement of everybody who opens
 * an image.  Whoever is going to write asks for it before fe_device_create, which may write to a
 * damaged file before it refuses it; a device that only reads its image asks by itself.  0, or a
 * message as above; -ENOENT if there is none, or none whose making was finished.  The file is not
 * changed. */
int fe_device_judge(const struct fe_store_file *file, struct fe_err *err);

/* The chip; its store comes with it. */
struct fe_medium *fe_device_medium(struct fe_device *dev);

/* Ends a run on an image; call it before fe_device_destroy.  Without this call the image looks as
 * after a kill, and nothing is lost then either but how often blocks were read.  0, or a negative errno with a message. */
int fe_device_close(struct fe_device *dev, struct fe_err *err);

/* A sync makes everything that has been answered survive a crash of the host, if the image was
 * opened with `sync`.  Flush and FUA need it in addition to their request.  begin and end need the
 * lock like any other call.  run needs no lock, and may take as long as the disk takes.  end gets
 * the result of run, and returns 0 or a negative errno.  The next begin comes after this end. */
struct fe_store_sync fe_device_sync_begin(struct fe_device *dev);
int fe_device_sync_run(const struct fe_device *dev);
int fe_device_sync_end(struct fe_device *dev, struct fe_store_sync sync, int result);

/* 0 as long as the image can be written.  Otherwise a negative errno with the reason, and every
 * request except a read has the status FE_HOST_FAILED.  So has a read of a page that the failing
 * request was moving. */
int fe_device_failure(const struct fe_device *dev, struct fe_err *err);

/* One line on what was found when the image was opened and is no damage, such as what a crash of the
 * host has cost; NULL if there was nothing. */
const char *fe_device_image_note(const struct fe_device *dev);

/* The capacity that the host sees, in bytes; a multiple of the sector size. */
uint64_t fe_device_capacity(const struct fe_device *dev);

/* What the device tells a host that asks for its capacity at now_ns: less, if it lies.  A host that
 * has asked before may still send requests beyond it, which fail. */
uint64_t fe_device_reported_capacity(const struct fe_device *dev, uint64_t now_ns);

/* Bytes that are programmed as one flash page: the block size that a host should prefer. */
uint32_t fe_device_page_bytes(const struct fe_device *dev);

/* Executes one request that arrives at now_ns.  The state of the device changes before this
 * function returns; *ret says when the host may be told.  Returns 0, or -EINVAL with nothing
 * changed if the range is not made of whole sectors within the capacity.  Conditions of the
 * medium are in ret->status and not in the result. */
int fe_device_submit(struct fe_device *dev, uint64_t now_ns, const struct fe_request *req,
                     struct fe_reply *ret);

/* Lends the memory of one page (fe_device_page_bytes) to the caller, who fills it.  `data` is copied
 * there if it is not NULL.  If the caller then writes one page with req->buf at that memory, the
 * device may keep the memory instead of copying from it, even if the write fails.  Returns NULL if
 * the device has an image or no payload, or has lent 256 pages already. */
void *fe_device_lend(struct fe_device *dev, const void *data);

/* Ends the loan, after that write and before anything else is lent.  From now on the memory is the
 * device's.  Returns false if the device has kept it as the page's: nobody else may change it then. */
bool fe_device_take_back(struct fe_device *dev, const void *page);

/* A hint, which changes nothing: a request at this offset comes soon, so what it needs of large
 * tables is fetched while others run.  Each step in [0, FE_FETCH_STEPS) needs what the step before
 * has fetched: some eight requests should lie between two steps, and behind the last one.  Hints
 * for several requests cost less when they come together. */
enum { FE_FETCH_STEPS = 3 };
void fe_device_fetch(const struct fe_device *dev, uint64_t offset, uint32_t step);

/* The host leaves the device alone until now_ns: the device does its idle work. */
void fe_device_idle(struct fe_device *dev, uint64_t now_ns);

/* ---- power; needs options.power_cuts ----
 *
 * A request that was under way when power failed, or that arrives while power is off, has the
 * status FE_NO_POWER.  The device knows a planned cut beforehand and completes such a request at
 * the time of the cut.  It cannot know a cut from outside.  So whoever calls fe_device_cut_power
 * must fail the requests that were to complete later than the cut. */
#define FE_NEVER UINT64_MAX

/* Plans cuts: power will fail at at_ns (FE_NEVER: no such plan), and when after_writes more writes
 * have been answered (0: no such plan).  -ENOTSUP without options.power_cuts, -EALREADY if power is
 * off. */
int fe_device_plan_cut(struct fe_device *dev, uint64_t at_ns, uint64_t after_writes,
                       struct fe_err *err);

/* Cuts power at now_ns, or at the latest arrival if that is later.  Errors as above. */
int fe_device_cut_power(struct fe_device *dev, uint64_t now_ns, struct fe_err *err);

/* Switches power on again.  The device recovers its mapping and can work from *ret_ready_ns on.
 * -EALREADY if power is on; -EIO if the device is dead, the host's errno if the image cannot be
 * written, or -ENOMEM, and then power stays off. */
int fe_device_power_on(struct fe_device *dev, uint64_t now_ns, uint64_t *ret_ready_ns,
                       struct fe_err *err);
bool fe_device_has_power(const struct fe_device *dev);

/* The number of power cuts so far.  And for a request that got this reply when the number of cuts
 * was n_cuts: whether power failed, or is planned to fail, before the request was done. */
uint64_t fe_device_cuts(const struct fe_device *dev);
bool fe_device_lost_power(const struct fe_device *dev, uint64_t n_cuts,
                          const struct fe_reply *reply);

/* The clock of the device: the latest completion or arrival so far, but not later than a planned
 * power cut. */
uint64_t fe_device_now(const struct fe_device *dev);

/* When all that the device has begun so far has ended, idle work included, if that is later than its
 * clock. */
uint64_t fe_device_busy_until(const struct fe_device *dev);

/* O(blocks), because of the wear. */
void fe_device_get_stats(const struct fe_device *dev, struct fe_stats *ret);
void fe_device_get_tally(const struct fe_device *dev, struct fe_tally *ret); /* O(1) */
const struct fe_hist *fe_device_latency(const struct fe_device *dev, enum fe_req_type type);

/* Of commits, as flashemu/commits.h has them; those with a request that failed are left out. */
void fe_device_commit_latency(const struct fe_device *dev, struct fe_hist *ret);

/* Statistics start again at zero; the state and the clock of the device stay. */
void fe_device_reset_stats(struct fe_device *dev);

/* Changes a delay or a fault of the running device.  -EPERM if the option table does not mark the
 * key as live, -EINVAL for an unknown key or a wrong value; both with a message. */
int fe_device_set(struct fe_device *dev, const char *key, const char *value, struct fe_err *err);

const struct fe_profile *fe_device_profile(const struct fe_device *dev);

/* Whether the device works at its present time.  O(1). */
enum fe_condition fe_device_condition(const struct fe_device *dev);

/* Checks every invariant of the translation layer and of the medium: 0, or -EIO and what is wrong.
 * O(pages).  The invariants need not hold while power is off, nor at the end of the device's life,
 * because that may come in the middle of a step. */
int fe_device_check(const struct fe_device *dev, struct fe_err *err);

/* Calls fn with every batch of operations that the scheduler has placed.  For tests. */
void fe_device_observe(struct fe_device *dev,
                       void (*fn)(void *ctx, const struct fe_op *ops, uint32_t n), void *ctx);
