/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state that all connections share: one device, its lock, and the relation between device time
 * and real time.
 *
 * Here the device, which knows no clock, meets a real client.  A request gets its arrival from the
 * clock and runs under the lock.  Then its thread waits, without the lock, until the completion
 * that the device has named.
 *
 *   clock=real      arrival = the instant at which the thread got the request, in device time;
 *                   the thread waits until the completion, in real time
 *   clock=virtual   arrival = the completion of the previous request; nobody waits
 *
 * A late wake-up does not change any number of the model, because the next arrival comes from the
 * clock and not from what was planned.
 *
 * The server knows nothing of nbdkit, except that a wait may be told to stop.  Any thread may call
 * any function between fe_server_start and fe_server_destroy.
 */
#pragma once

#include "events.h"
#include "flashemu/device.h"
#include "flashemu/err.h"
#include "flashemu/extents.h"
#include "params.h"
#include "rt/delay.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct fe_server;

/* Creates the server and its device.  Starts no thread and makes nothing that a fork would break.
 * The profile is copied.  Errors of fe_device_create and fe_delay_create, with message. */
int fe_server_create(struct fe_server **ret, const struct fe_params *params,
                     const struct fe_profile *profile, struct fe_err *err);

/* Ends the image and the trace in order, before fe_server_destroy; 0 if there are none.  A negative
 * errno, with message, if the host could not keep what was written. */
int fe_server_close(struct fe_server *s, struct fe_err *err);

/* There may be no requests.  NULL is allowed. */
void fe_server_destroy(struct fe_server *s);

/* Device time starts now.  To be called after the fork and before the first request.  -EAGAIN, with
 * message, if the thread of the trace cannot be started. */
int fe_server_start(struct fe_server *s, struct fe_err *err);

/* The result of one request, for messages. */
struct fe_outcome {
    struct fe_reply reply; /* device time */
    uint64_t lateness_ns;  /* real time; 0 with clock=virtual */
};

/* Carries out one request and waits until its completion.  Returns 0 when the host may have its
 * answer, which is ret->reply.status; -EINVAL, with nothing changed, if the request does not
 * consist of whole sectors inside the capacity; -ESHUTDOWN if `coarse` ended the wait (then the
 * request has been carried out, but nobody needs its answer). */
int fe_server_submit(struct fe_server *s, const struct fe_request *req,
                     fe_delay_coarse_fn coarse, void *ctx, struct fe_outcome *ret);

/* A front end of one thread (vhost/) cannot wait in fe_server_submit.  It begins a request, and ends it
 * when it is due; others may begin meanwhile.  `at_ns` is the arrival in device time, for a host that
 * lives in it (clock=virtual), or FE_CLOCK_OWN: as the server's own clock says.  0, and then
 * fe_server_end must follow; or -EINVAL as above. */
#define FE_CLOCK_OWN UINT64_MAX
struct fe_flight {
    struct fe_reply reply;   /* device time; the status is certain after fe_server_end */
    uint64_t due_ns;         /* clock=virtual: device time; clock=real: time of rt/clock.h */
    uint64_t n_cuts, ticket; /* the server's, like the next one */
    bool recorded;
};
int fe_server_begin(struct fe_server *s, uint64_t at_ns, const struct fe_request *req,
                    struct fe_flight *ret);
void fe_server_end(struct fe_server *s, struct fe_flight *f);

/* clock=virtual: the host has come to this device time without a request; the device does its idle
 * work.  A time that is past already changes nothing. */
void fe_server_pass(struct fe_server *s, uint64_t now_ns);

/* The device's clock. */
uint64_t fe_server_now(struct fe_server *s);

/* What a read of [offset, offset + len) would meet, as fe_device_extent: calls fn for each piece in
 * order, until it returns something else than 0, which is then returned.  Pieces that follow each
 * other may be of the same kind.  The lock is given up between two pieces.  0, or a negative errno if
 * the device does not answer: -EIO, or -ESHUTDOWN off the bus. */
int fe_server_extents(struct fe_server *s, uint64_t offset, uint64_t len,
                      int (*fn)(void *ctx, uint64_t offset, const struct fe_extent *extent),
                      void *ctx);

/* The capacity that the device reports now, in bytes: what a new connection hears. */
uint64_t fe_server_capacity(struct fe_server *s);

/* What never changes while the server runs: the bytes that are programmed as one page; and one line on what was found when
 * the image was opened and is no damage, or NULL. */
uint32_t fe_server_page_bytes(const struct fe_server *s);
const char *fe_server_image_note(const struct fe_server *s);

/* The device, for tests, as long as no other thread uses the server. */
const struct fe_device *fe_server_device(const struct fe_server *s);

/* How the server waits: "io_uring" or "nanosleep"; "none" with clock=virtual. */
const char *fe_server_delay_name(const struct fe_server *s);

/* Returns, each of them once, a line that says what waiting has to do without, one that says that
 * this machine is late (rt/late.h), and one that says why the trace has ended; otherwise NULL. */
const char *fe_server_take_notice(struct fe_server *s);

/* 0 as long as the image accepts writes, and without an image; then a negative errno with why not. */
int fe_server_failure(struct fe_server *s, struct fe_err *err);

/* How long it took to open or make the image, in real time; 0 without an image. */
uint64_t fe_server_open_ns(const struct fe_server *s);

/* From now on calls fn, under the lock, with the operations of each request; for debugging. */
void fe_server_observe(struct fe_server *s,
                       void (*fn)(void *ctx, const struct fe_op *ops, uint32_t n), void *ctx);

/* The commands of the control socket.  A message in `err` includes the key. */

/* A new reference to the object that `stats` returns; NULL without memory. */
json_t *fe_server_stats(struct fe_server *s);

/* A new reference to the object that `map` returns, of at most n cells; NULL without memory.  The
 * lock is held while 12 bytes for each block are copied, and then again and again while the valid
 * pages of some blocks are counted.  So the valid pages of a device at work are those of nearly one
 * instant. */
json_t *fe_server_map(struct fe_server *s, uint32_t n);

/* What devices report of their health, and the truth (obs/health_json.h); NULL without memory. */
json_t *fe_server_health(struct fe_server *s);

/* The same numbers as OpenMetrics text (obs/metrics.h), to be freed; NULL without memory. */
char *fe_server_metrics(struct fe_server *s);
void fe_server_reset_stats(struct fe_server *s);

/* Sets a key: time-scale, transport-overhead or a live key of the profile.  A request that is
 * already waiting keeps its deadline. */
int fe_server_set(struct fe_server *s, const char *key, const char *value, struct fe_err *err);

/* Prints the value of one of those keys, of `clock`, or of any key of the profile.  -ENOENT, with
 * message, if there is no such key. */
int fe_server_get(struct fe_server *s, const char *key, char *buf, size_t len,
                  struct fe_err *err);

/* Faults on purpose: the functions of flashemu/device.h, at the device's present time.
 * *ret_after is the device's condition after the block has become bad.  A disconnection with ns 0
 * lasts until fe_server_connect.  A hang must end within the first 73 years of the device's time;
 * otherwise -EOVERFLOW with a message. */
int fe_server_mark_bad(struct fe_server *s, fe_peb peb, enum fe_condition *ret_after,
                       struct fe_err *err);
int fe_server_flip(struct fe_server *s, fe_ppn ppn, uint32_t bits, struct fe_err *err);
int fe_server_set_cycles(struct fe_server *s, fe_peb peb, uint32_t cycles, struct fe_err *err);
int fe_server_hang(struct fe_server *s, uint64_t ns, struct fe_err *err);
void fe_server_disconnect(struct fe_server *s, uint64_t ns);
void fe_server_connect(struct fe_server *s);

/* Power fails: now (if `in_ns` and `writes` are 0), after in_ns of device time, or when `writes`
 * more writes have been answered.  Requests that the device has not completed by then end with
 * FE_NO_POWER, at the time at which they would have completed.  *ret_now_ns is the device's clock.
 * Errors of fe_device_plan_cut. */
int fe_server_cut_power(struct fe_server *s, uint64_t in_ns, uint64_t writes, uint64_t *ret_now_ns,
                        struct fe_err *err);

/* Power is back.  The device works again at *ret_ready_ns.  Errors of fe_device_power_on. */
int fe_server_power_on(struct fe_server *s, uint64_t *ret_ready_ns, struct fe_err *err);

/* Events; see plugin/events.h.  The descriptor is for the one thread that serves all listeners. */
int fe_server_listen(struct fe_server *s, uint64_t *ret_next, struct fe_err *err);
void fe_server_unlisten(struct fe_server *s);
int fe_server_events_fd(const struct fe_server *s);
uint32_t fe_server_take_events(struct fe_server *s, uint64_t *next, struct fe_event *ret,
                               uint32_t max, uint64_t *ret_dropped);

/* Who says something to the server besides requests: a client, beside the threads that answer these;
 * or a guest, from the one thread that answers them, which must not wait for any of them. */
enum fe_said_by { FE_BY_CLIENT, FE_BY_GUEST };

/* Writes a mark into the trace, behind everything that has been answered; the recorder does it later.
 * *now_ns is its device time.  For a client *ret_mark is its number, and the descriptor of the events
 * becomes readable when something is known of it.  -EINVAL with message without trace= or if a mark
 * cannot have this text; why the trace has ended. */
int fe_server_mark(struct fe_server *s, const char *text, enum fe_said_by by, uint64_t *now_ns,
                   uint64_t *ret_mark, struct fe_err *err);

/* Whether it is known what has become of a client's mark.  *ret is 0 if it stands in the file, or -EIO
 * with a message why not. */
bool fe_server_knows_mark(struct fe_server *s, uint64_t mark, int *ret, struct fe_err *err);

/* Device time jumps ahead by ns, and the device does its idle work in that time.  A request that is
 * already waiting keeps its deadline.  *ret_now_ns is the device's clock afterwards.  -EOVERFLOW,
 * with message, if the clock would pass 146 years. */
int fe_server_idle(struct fe_server *s, uint64_t ns, uint64_t *ret_now_ns, struct fe_err *err);
