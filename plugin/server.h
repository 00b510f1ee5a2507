/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The server's shared state: one device behind all connections, its lock, and the tie
 * between device time and real time.
 *
 * This is where the device, which knows no clock, meets a real client: a request gets
 * its arrival from the clock, runs under the lock, and its thread then waits, without
 * the lock, until the completion that the device named.
 *
 *   clock=real      arrival = the instant at which the thread got the request, in
 *                   device time; wait until the completion, in real time
 *   clock=virtual   arrival = the completion of the request before; no wait
 *
 * A late wake-up changes no number of the model: the next arrival comes from the clock,
 * not from what was planned.
 *
 * Knows nothing of nbdkit except that a wait can be told to stop.  Any thread may call
 * any function between fe_server_start and fe_server_destroy.
 */
#ifndef FLASHEMU_PLUGIN_SERVER_H
#define FLASHEMU_PLUGIN_SERVER_H

#include "events.h"
#include "flashemu/device.h"
#include "flashemu/err.h"
#include "params.h"
#include "rt/delay.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct fe_server;

/* Builds the device.  No thread, nothing that a fork would break.  The profile is
 * copied.  Errors of fe_device_create and fe_delay_create, with message. */
int fe_server_create(struct fe_server **ret, const struct fe_params *params,
                     const struct fe_profile *profile, struct fe_err *err);

/* The orderly end of the image and of the trace, before the destruction; 0 without them.  A
 * negative errno, with message, if the host could not keep what was written. */
int fe_server_close(struct fe_server *s, struct fe_err *err);

/* No request may be under way.  NULL is fine. */
void fe_server_destroy(struct fe_server *s);

/* Device time 0 is now.  Before the first request, after the fork. */
void fe_server_start(struct fe_server *s);

/* What one request came to, for messages. */
struct fe_outcome {
    struct fe_reply reply; /* device time */
    uint64_t lateness_ns;  /* real time; 0 with clock=virtual */
};

/* Runs one request and waits until its completion.  0 when the host may have its
 * answer, *ret->reply.status included; -EINVAL, with nothing changed, for anything but
 * whole sectors inside the capacity; -ESHUTDOWN if `coarse` ended the wait: the request
 * has been carried out, nobody is there to hear of it. */
int fe_server_submit(struct fe_server *s, const struct fe_request *req,
                     fe_delay_coarse_fn coarse, void *ctx, struct fe_outcome *ret);

/* The device, for what never changes while running: capacity, page size and the keys of
 * the profile that cannot be set.  Everything else is read through the functions below. */
const struct fe_device *fe_server_device(const struct fe_server *s);

/* Names the way of waiting: "io_uring" or "nanosleep", or "none" with clock=virtual. */
const char *fe_server_delay_name(const struct fe_server *s);

/* A line on what waiting has to do without, or why the trace has ended, each once; else NULL. */
const char *fe_server_take_notice(struct fe_server *s);

/* Why the image takes no write any more; NULL while it does, or without one. */
const char *fe_server_failure(struct fe_server *s, int *ret_errnum);

/* How long opening or making the image took, in real time; 0 without one. */
uint64_t fe_server_open_ns(const struct fe_server *s);

/* Calls fn, under the lock, with the operations of each request: for debugging. */
void fe_server_observe(struct fe_server *s,
                       void (*fn)(void *ctx, const struct fe_op *ops, uint32_t n), void *ctx);

/* What the control socket asks for.  `err` gets what is wrong, the key included. */

/* A new reference to the object of `stats`, NULL without memory. */
json_t *fe_server_stats(struct fe_server *s);
void fe_server_reset_stats(struct fe_server *s);

/* KEY is time-scale, transport-overhead or a live key of the profile.  A request that
 * waits already keeps its deadline. */
int fe_server_set(struct fe_server *s, const char *key, const char *value, struct fe_err *err);

/* KEY is one of those, `clock`, or any key of the profile.  -ENOENT with a message. */
int fe_server_get(struct fe_server *s, const char *key, char *buf, size_t len,
                  struct fe_err *err);

/* Faults on purpose: the functions of flashemu/device.h, at the device's present time.  ns 0
 * of a disconnection is forever; a device that is off the bus comes back with connect. */
int fe_server_mark_bad(struct fe_server *s, fe_peb peb, struct fe_err *err);
int fe_server_flip(struct fe_server *s, fe_ppn ppn, uint32_t bits, struct fe_err *err);
int fe_server_set_cycles(struct fe_server *s, fe_peb peb, uint32_t cycles, struct fe_err *err);
void fe_server_hang(struct fe_server *s, uint64_t ns);
void fe_server_disconnect(struct fe_server *s, uint64_t ns);
void fe_server_connect(struct fe_server *s);

/* Power fails: now (`in_ns` 0, `writes` 0), after so much device time, or when so many more
 * writes have been answered.  Requests under way then end with FE_NO_POWER, at the time at
 * which they would have completed.  Errors of fe_device_plan_cut; *ret_now_ns is the
 * device's clock. */
int fe_server_cut_power(struct fe_server *s, uint64_t in_ns, uint64_t writes, uint64_t *ret_now_ns,
                        struct fe_err *err);

/* Power is back; the device works at *ret_ready_ns.  Errors of fe_device_power_on. */
int fe_server_power_on(struct fe_server *s, uint64_t *ret_ready_ns, struct fe_err *err);

/* Events, plugin/events.h.  The descriptor is for one thread, which serves all listeners. */
int fe_server_listen(struct fe_server *s, uint64_t *ret_next, struct fe_err *err);
void fe_server_unlisten(struct fe_server *s);
int fe_server_events_fd(const struct fe_server *s);
uint32_t fe_server_take_events(struct fe_server *s, uint64_t *next, struct fe_event *ret,
                               uint32_t max, uint64_t *ret_dropped);

/* Device time jumps ahead by ns; the device does in it what it has to do.  A request
 * that waits already keeps its deadline.  *ret_now_ns is the device's clock then.
 * -EOVERFLOW, with message, beyond 146 years. */
int fe_server_idle(struct fe_server *s, uint64_t ns, uint64_t *ret_now_ns, struct fe_err *err);

#endif
