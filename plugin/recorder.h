/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trace=FILE: every request with its completion, as a text trace (workload/trace.h) that `flashemu
 * replay` can read.
 *
 * The records are in the order in which the device took the requests, because a replay needs that
 * order.  But the result of a request is known later, when its wait has ended.  So a record is
 * added when the device takes the request, and finished when the request is answered.  Finished
 * records go to the file in order, the oldest first.
 *
 * A thread of the recorder writes the file.  So a slow disk delays no request.  The thread waits for
 * the first finished record, and for 20 ms more, and writes all that are ready then.  If the disk
 * falls behind by FE_RECORDER_KEPT requests, or if one request keeps that many younger ones back, the
 * trace ends: the file keeps all requests up to there, and none of the later ones.
 *
 * With trace-data=FILE the bytes of writes go to that file (workload/data.h).  A copy of them waits
 * with the record; what waits is at most FE_RECORDER_BYTES.
 *
 * Thread rule: fe_recorder_add and fe_recorder_add_mark are called with the device's lock held, which
 * gives the records their order.  Open, wake, start and close are called when there are no requests.
 * Any thread may call the other functions.
 */
#pragma once

#include "flashemu/err.h"
#include "flashemu/request.h"
#include "flashemu/stats.h"
#include "workload/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define FE_RECORDER_KEPT  65536 /* requests; a power of two */
#define FE_RECORDER_BYTES (UINT64_C(256) << 20) /* of data that wait to be written */
#define FE_RECORDER_BATCH 1024  /* records that the host gets in one step; if it fails, none of them
                                   is in the file.  A power of two */

struct fe_recorder;

/* Makes the file, or empties it if it is a trace already.  A file with other contents, a folder and
 * a disk are refused, and stay as they are.  The file begins with `origin`; NULL: with none.  The same
 * holds for `data`, the file for what is written; NULL: nobody wants to keep that.  The host's error,
 * -EEXIST or -ENOMEM, with a message that begins with "trace=PATH: " or "trace-data=PATH: ". */
int fe_recorder_open(struct fe_recorder **ret, const char *path, const char *data,
                     const struct fe_origin *origin, struct fe_err *err);

/* Names an eventfd that becomes readable when more is known of a mark for which somebody waits. */
void fe_recorder_wake(struct fe_recorder *r, int fd);

/* Starts the thread; to be called after the fork.  -EAGAIN with message. */
int fe_recorder_start(struct fe_recorder *r, struct fe_err *err);

/* Adds a request that the device has taken, and what it did meanwhile.  Returns a ticket for
 * fe_recorder_finish, which must follow once.  After the end of the trace the request is only
 * counted.  Neither waits for the thread that writes; but a request wakes it if it is idle. */
uint64_t fe_recorder_add(struct fe_recorder *r, const struct fe_request *req,
                         const struct fe_reply *reply, const struct fe_work *work);
void fe_recorder_finish(struct fe_recorder *r, uint64_t ticket, enum fe_status status);

/* Adds a mark (fe_trace_mark_ok) at that time of the device: behind all requests that were added.
 * *ret_ticket is for fe_recorder_hurry, which must follow, or for fe_recorder_finish, if nobody waits.
 * -ENOMEM, or why the trace has ended, with message. */
int fe_recorder_add_mark(struct fe_recorder *r, uint64_t now_ns, const char *text,
                         uint64_t *ret_ticket, struct fe_err *err);

/* Finishes a mark for which somebody waits: it gets into the file as soon as the requests in front of it
 * are answered. */
void fe_recorder_hurry(struct fe_recorder *r, uint64_t ticket);

/* Whether it is known what has become of the mark, which takes as long as the requests in front of it
 * and the disk take.  *ret is 0 if it stands in the file, or -EIO with a message why not. */
bool fe_recorder_is_known(struct fe_recorder *r, uint64_t ticket, int *ret, struct fe_err *err);

struct fe_recorder_state {
    uint64_t records;  /* requests in the trace: in the file, or on their way to the file */
    uint64_t lost;     /* requests that came when the trace had ended, or were not written */
    const char *ended; /* as fe_recorder_ended */
};

/* Why the trace has ended, which lives as long as the recorder; NULL: it goes on.  If the host fails
 * after an overflow, that is the reason from then on.  No lock. */
const char *fe_recorder_ended(const struct fe_recorder *r);

void fe_recorder_get_state(struct fe_recorder *r, struct fe_recorder_state *ret);

/* Writes the rest, which takes as long as the disk takes, and frees the recorder.  Returns the
 * first error that there was, with message.  NULL is allowed. */
int fe_recorder_close(struct fe_recorder *r, struct fe_err *err);
