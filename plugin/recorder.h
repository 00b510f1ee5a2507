/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trace=FILE: every request with its completion, as a text trace (workload/trace.h) that
 * `flashemu replay` takes.
 *
 * The records stand in the order in which the device took the requests, which is the one that
 * a replay needs; what became of a request is known later, when its wait has ended.  So a
 * record is added with the request and finished with its answer, and what is finished goes to
 * the file from the oldest on.
 *
 * Thread rule: fe_recorder_add and _finish with the lock of the device held, fe_recorder_write
 * without; open and close when no request is under way.
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

/* Makes the file or empties it.  The host's error or -ENOMEM, with message.  The path stays the
 * caller's. */
int fe_recorder_open(struct fe_recorder **ret, const char *path, struct fe_err *err);

/* A request that the device has taken; the ticket for fe_recorder_finish, which has to follow.
 * Without memory the record is lost, and counted. */
uint64_t fe_recorder_add(struct fe_recorder *r, const struct fe_request *req,
                         const struct fe_reply *reply);
void fe_recorder_finish(struct fe_recorder *r, uint64_t ticket, enum fe_status status);

/* So many are finished that they should be written. */
bool fe_recorder_is_due(const struct fe_recorder *r);

/* Writes what is finished, unless another thread is at it.  `lock` protects the calls above and
 * is held for the copying only. */
void fe_recorder_write(struct fe_recorder *r, pthread_mutex_t *lock);

/* Why the file takes no records any more; NULL while it does.  Any thread. */
const char *fe_recorder_failure(const struct fe_recorder *r);

/* Writes the rest and frees.  The first error there was, with message; NULL is fine. */
int fe_recorder_close(struct fe_recorder *r, struct fe_err *err);

#endif
