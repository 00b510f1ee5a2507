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
 * Thread rule: fe_recorder_add and fe_recorder_finish are called with the device's lock held, and
 * fe_recorder_write without it.  Open and close are called when there are no requests.
 */
#ifndef FLASHEMU_PLUGIN_RECORDER_H
#define FLASHEMU_PLUGIN_RECORDER_H

#include "flashemu/err.h"
#include "flashemu/request.h"
#include "workload/trace.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct fe_recorder;

/* Makes the file, or empties it.  The host's error or -ENOMEM, with message.  The caller keeps
 * path, which must outlive the recorder. */
int fe_recorder_open(struct fe_recorder **ret, const char *path, struct fe_err *err);

/* Adds a request that the device has taken.  Returns a ticket for fe_recorder_finish, which must
 * follow.  Without memory the record is lost; fe_recorder_close reports how many are. */
uint64_t fe_recorder_add(struct fe_recorder *r, const struct fe_request *req,
                         const struct fe_reply *reply);
void fe_recorder_finish(struct fe_recorder *r, uint64_t ticket, enum fe_status status);

/* Whether so many records are finished that they should be written. */
bool fe_recorder_is_due(const struct fe_recorder *r);

/* Writes the finished records, unless another thread is doing so.  `lock` is the device's lock; it
 * is taken only while records are copied. */
void fe_recorder_write(struct fe_recorder *r, pthread_mutex_t *lock);

/* Why no more records can be written to the file; NULL as long as they can.  Any thread. */
const char *fe_recorder_failure(const struct fe_recorder *r);

/* Writes the rest and frees the recorder.  Returns the first error that there was, with message.
 * NULL is allowed. */
int fe_recorder_close(struct fe_recorder *r, struct fe_err *err);

#endif
