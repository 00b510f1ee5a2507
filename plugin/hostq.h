/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's request queue: it decides which request comes next when the link has a free queue
 * slot.
 *
 * Why there is such a queue.  nbdkit hands the requests of a connection to several threads, and
 * these threads may overtake each other before they reach the device.  A host in front of a real
 * stick does not let that happen: it keeps its requests in a queue of its own, and sends one when
 * the device can take it.  So a small disorder among sequential requests never reaches a real
 * device.  Here it would, and it would turn a sequential stream into random writes.
 *
 * How it chooses.  A request that finds all queue slots taken waits in this queue.  When a queue
 * slot becomes free, the first of these rules that applies chooses the next request:
 *
 *   1. The oldest request, if FE_HOSTQ_BATCH younger ones have overtaken it.
 *   2. The request that begins where the last one ended.
 *   3. The oldest request.  If other waiting requests lead up to it without a gap, the first of
 *      them goes instead, because a host's queue is sorted.
 *
 * (A simpler limit would be to let the oldest request in after so many others in a row.  But the
 * oldest request may be one whose predecessor is a moment late in the midst of a stream.)
 *
 * Times do not change: the device itself would have let the request wait for the queue slot, and
 * it computes the completion from the time at which the slot is free, however late the request is
 * handed over.
 *
 * The caller owns the lock that protects the queue, and holds it in every call.
 */
#pragma once

#include "flashemu/device.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define FE_HOSTQ_BATCH 16 /* the same as in Linux' deadline schedulers */

struct fe_hostq_entry; /* a waiting request, on the stack of its thread */

struct fe_hostq {
    uint32_t slots, in_device;            /* queue slots of the link; how many are taken */
    struct fe_hostq_entry *first, **last; /* in order of arrival */
    uint64_t next_offset;                 /* where the last request that was let in ends */
    enum fe_req_type next_type;           /* and its type */
};

void fe_hostq_init(struct fe_hostq *q, uint32_t slots);

/* Returns when the request may enter the device.  If it has to wait, the lock is released
 * meanwhile, and the result is true.  Each call must be followed by one call of fe_hostq_leave,
 * whatever becomes of the request. */
bool fe_hostq_enter(struct fe_hostq *q, pthread_mutex_t *lock, const struct fe_request *req);

/* A request has left the device: lets the next one in. */
void fe_hostq_leave(struct fe_hostq *q);
